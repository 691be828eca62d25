"""The command `ballots fit`: votes -> strengths of the items, with what is uncertain about them."""

from __future__ import annotations

from typing import Any, Final

import click

from adaptive.cli.output import emit, print_note
from adaptive.cli.vote_files import FILES_HELP, Reading, model_options, read_files, vote_options
from adaptive.model.comparisons import Comparisons
from adaptive.model.estimators import MODELS, BordaScores, fit_named
from adaptive.model.strengths import Strengths
from adaptive.tables import csv_text, item_cells, item_columns
from rankcorr import OptionError
from rankcorr.checks import counted
from rankcorr.cli.console import print_json, print_table
from rankcorr.io.records import printable

_SHOWN: Final = 20
_EXAMPLE = """\b
Example:
  ballots fit votes.csv
  ballots fit votes1.csv votes2.csv --voters --out ranking.csv
  ballots fit voting.db --top 10
"""


@click.command(
    "fit",
    epilog=_EXAMPLE,
    short_help="Votes -> strengths: a ranking with its uncertainty.",
    help=f"""Fit strengths to all votes of the VOTES files, and rank the items by them.

    A win over a strong item counts more than one over a weak item, and the standard errors say how sure each strength
    is. The CSV of --out has the columns item (or item_1, item_2, ...), rank, strength, standard_error, presentations,
    wins, ties and losses; with --model borda, score in place of strength and standard_error. Whatever a reader of the
    ranking should know is on stderr.
    {FILES_HELP}""",
)
@click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
@vote_options
@model_options(list(MODELS))
@click.option("--top", type=click.IntRange(min=1), help=f"The best N items.  [default: {_SHOWN} printed, all in files]")
@click.option("--out", metavar="FILE", help="Write the ranking here, as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all that was fitted.")
def fit_command(
    votes: tuple[str, ...], reading: Reading, items: str | None, model: Any, top: int | None, out: str | None,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit strengths; the text of the help is above."""
    if as_json and out is not None:
        raise OptionError("--json and --out exclude each other: --out writes CSV")
    comparisons = read_files(votes, reading, items).votes
    found = fit_named(comparisons, model, **options)
    content = found.to_dict()
    content["items"] = content["items"][:top]
    notes = _notes(found)
    if as_json:
        print_json({**_summary(comparisons), "model": model, **content})
    elif out is not None:
        header = [*item_columns("item", found.items), *list(content["items"][0])[1:]]
        rows = [[*item_cells(_label(row["item"])), *list(row.values())[1:]] for row in content["items"]]
        emit(csv_text(header, rows), out, f"{len(rows):,} items written to {out}")
    else:
        click.echo(_counts(comparisons))
        click.echo(_model(found, model) + "\n")
        _print_items(content["items"][: _SHOWN if top is None else top], comparisons.n_items)
    for note in notes:
        print_note(note)


def _summary(comparisons: Comparisons) -> dict[str, Any]:
    voters = None if comparisons.voters is None else comparisons.n_voters
    names = ("n_items", "n_comparisons", "n_ties", "n_unanswered")
    return {**{name: getattr(comparisons, name) for name in names}, "n_voters": voters}


def _notes(found: Strengths | BordaScores) -> tuple[str, ...]:
    if isinstance(found, Strengths):
        return found.warnings
    n_never = len(found.never_compared)
    return (f"items never compared are last, without a score: {n_never:,}",) if n_never else ()


def _counts(comparisons: Comparisons) -> str:
    """What was read, in one line."""
    n_ties, n_silent = comparisons.n_ties, comparisons.n_unanswered
    parts = [
        counted(comparisons.n_items, "item"),
        counted(comparisons.n_comparisons, "vote") + (f" ({counted(n_ties, 'tie')})" if n_ties else ""),
        *([f"{counted(n_silent, 'comparison')} without an answer"] if n_silent else []),
        "voters not known" if comparisons.voters is None else counted(comparisons.n_voters, "voter"),
    ]
    return ", ".join(parts)


def _model(found: Strengths | BordaScores, model: str) -> str:
    """What was fitted, in one line."""
    if isinstance(found, BordaScores):
        return "borda: wins and half the ties, by presentations"
    steps = counted(found.n_iterations, "iteration")
    parts = [
        f"{model}: {'converged in' if found.converged else 'not converged after'} {steps}",
        f"prior sd {found.prior_sd:.3g}" + (" (from the votes)" if found.prior.sd is None else ""),
        *([f"tie parameter {found.tie_parameter:.3g}"] if found.tie_parameter else []),
        *([f"side bias {found.side_bias:+.3g}"] if found.model.side_bias else []),
    ]
    return ", ".join(parts)


def _print_items(rows: list[dict[str, Any]], n_items: int) -> None:
    names = [name.replace("_", " ") for name in rows[0]]
    print_table(names, [[printable(", ".join(item_cells(_label(row["item"])))), *_cells(row)] for row in rows])
    if n_items > len(rows):
        click.echo(f"... and {n_items - len(rows):,} more: --top N prints them, --out FILE writes them")


def _cells(row: dict[str, Any]) -> list[str]:
    texts = []
    for name, value in list(row.items())[1:]:
        if name == "rank":
            texts.append(f"{value:g}")
        else:
            texts.append("-" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}")
    return texts


def _label(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item
