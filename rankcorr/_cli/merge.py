"""`rankcorr merge`: several rankings of the same items -> one, and the agreement of each with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from rankcorr._checks import collected_notices, counted, offending, real_text
from rankcorr._cli import console, options
from rankcorr._cli.console import gathered, label_text, number_text, whole
from rankcorr._cli.options import Files, Named, Weights
from rankcorr.aggregate._rankings import ABSENT, MERGE_METHODS, MergedRanking, merge
from rankcorr.errors import OptionError


@dataclass(frozen=True)
class MergedFiles(Files):
    """How files of rankings to merge are read."""

    missing: Any = console.choice_setting(
        "--missing",
        ABSENT,
        "Items that a ranking lacks: report an error, leave them out, tie them last, or skip the ranking for them.",
    )
    names: tuple[str, ...] = console.setting(options.names_option("ranking"))


@console.command("merge", short_help="Merge rankings into one.")
@click.argument("rankings", nargs=-1, required=True, metavar="RANKING RANKING...")
@console.choice_option(
    "--method",
    tuple(MERGE_METHODS),
    "Mean Borda points, mean rank, sums of 1/(k + rank), fewest discordant pairs, or largest mean --coefficient.",
)
@console.option("--k", type=float, help="Offset of reciprocal_rank_fusion: rank r gives 1/(k + r).  [default: 60]")
@console.option(
    "--weight", "shares", multiple=True, metavar="NAME=NUMBER", help="Weight of a ranking; give one for each, or none."
)
@options.coefficient_option(
    help_text="Coefficient of each ranking with the result, whose mean is largest for consensus."
)
@gathered("files", MergedFiles)
@options.weight_options
@console.table_option()
@console.json_option()
def merge_command(
    rankings: tuple[str, ...],
    method: str,
    k: float | None,
    shares: tuple[str, ...],
    coefficient: str,
    files: MergedFiles,
    weights: Weights,
    as_json: bool,
) -> None:
    """Merge the RANKING files into one ranking of their items, and show how far each of them agrees with it.

    A file that has several rankings is given once for each, with a --score for each.

    Example:
      rankcorr merge judge_a.csv judge_b.csv judge_c.csv
      rankcorr merge judge_a.csv judge_b.csv --method consensus --weight judge_a.csv=2 --weight judge_b.csv=1
      rankcorr merge judges.csv judges.csv --id item --score first --score second --method kemeny
    """
    read = files.read([], rankings)
    named = options.by_name(read)
    shares_by_name = _shares(shares, read) if shares else None
    with collected_notices() as notices:
        merged = merge(
            named, method, k=k, weights=shares_by_name, missing=files.missing, coefficient=weights.of_one(coefficient)
        )
    notes = options.reading_notes(read) + console.notes_of(notices, [coefficient])
    if as_json:
        option_values = {**files.to_dict(), **weights.to_dict(coefficient), "k": k}
        console.print_json({**merged.to_dict(), "options": option_values, "warnings": notes})
        return
    _print(merged)
    console.print_notes(notes)


def _shares(texts: Sequence[str], rankings: Sequence[Named]) -> dict[str, float]:
    """Weights by the names of the rankings, from texts such as judge.csv=2."""
    names = {text: ranking.name for ranking in rankings for text in (ranking.short, ranking.name)}
    shares: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if name not in names:
            raise OptionError(offending("--weight must name rankings, as in a.csv=2; unknown", [name or text]))
        if not real_text(number):
            raise OptionError(f"--weight of {name}: {number!r} is not a number")
        if names[name] in shares:
            raise OptionError(f"--weight gives {name} two weights")
        shares[names[name]] = float(number)
    return shares


def _print(merged: MergedRanking) -> None:
    search = "" if merged.exact else ", by local search: a better ranking may exist"
    size = f"{counted(len(merged.weights), 'ranking')}, {counted(merged.ranking.n_items, 'item')}"
    click.echo(f"{merged.method}: {size}{search}\n")
    has_scores = merged.scores is not None
    columns: dict[str, console.Column] = {"rank": ("rank", console.rank_text), "item": ("item", label_text)}
    console.print_rows(merged.table(), columns | ({"score": ("score", number_text)} if has_scores else {}))
    click.echo(f"\n{merged.coefficient} of each ranking with the result\n")
    rows = [
        {"ranking": name, "agreement": agreement, "weight": merged.weights[name]}
        for name, agreement in merged.agreements.items()
    ]
    columns = {
        "ranking": ("ranking", whole),
        merged.coefficient: ("agreement", "{:z.4f}"),
        "weight": ("weight", "{:.4f}"),
    }
    console.print_rows(rows, columns)
