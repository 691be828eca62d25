"""`rankcorr compare`: the coefficients of each system against gold."""

from __future__ import annotations

import math
from typing import Any

import click

from rankcorr import RankingError
from rankcorr.cli_options import Files, Named, Weights, file_options, weight_options
from rankcorr.console import print_json, print_table
from rankcorr.correlation import COEFFICIENTS
from rankcorr.notices import collected_notices
from rankcorr.records import printable
from rankcorr.summary import correlate

_EXAMPLE = """\b
Example:
  rankcorr compare gold.csv system_a.csv system_b.csv
  rankcorr compare --id word1,word2 --score gold --score lch pairs.tsv pairs.tsv
"""


@click.command(epilog=_EXAMPLE)
@click.argument("gold")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...")
@file_options
@weight_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined.")
def compare(gold: str, systems: tuple[str, ...], files: Files, weights: Weights, as_json: bool) -> None:
    """Compare the rankings in the SYSTEM files with the one in GOLD.

    Files are CSV or TSV in UTF-8 ('-' is stdin) and are matched by id. rho_w and tau_w weigh the top most; rho and
    tau weigh all items alike. Ties are the items that share their score with another.
    """
    options = weights.described()
    reference, *others = files.read([gold, *systems])
    rows, notes = [], []
    for other in others:
        row, messages = _compared(reference, other, files, weights)
        rows.append(row)
        notes += messages
    if as_json:
        named = {"name": reference.name, "n": reference.ranking.n_items, "ties": reference.ranking.n_ties}
        chosen = {**files.described(), **options}
        print_json({"gold": named, "options": chosen, "systems": rows, "warnings": notes})
        return
    click.echo(f"gold: {reference.shown} ({reference.ranking.n_items} items, {reference.ranking.n_ties} ties)\n")
    print_table(
        ["system", *COEFFICIENTS, "n", "ties"],
        [
            [other.shown, *(f"{row[name]:.4f}" for name in COEFFICIENTS), str(row["n"]), str(row["ties"])]
            for other, row in zip(others, rows, strict=True)
        ],
    )
    for note in notes:
        text = f"{note['system']}: {', '.join(note['coefficients'])}: {note['message']}"
        click.echo(f"rankcorr: note: {printable(text, limit=None)}", err=True)


def _compared(
    gold: Named, system: Named, files: Files, weights: Weights
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Row of the table for one system, and what the library warned of."""
    with collected_notices() as notices:
        try:
            results = correlate(
                gold.ranking, system.ranking, names=(gold.name, system.name), missing=files.missing, **weights.of()
            )
        except RankingError as error:
            raise click.ClickException(f"{gold.name} and {system.name}: {error}") from error
    row: dict[str, Any] = {"system": system.name}
    row |= {name: result.statistic for name, result in results.items()}
    row |= {"n": next(iter(results.values())).n_items, "ties": system.ranking.n_ties}
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    return row, [{"system": system.name, "coefficients": undefined, "message": message} for message in notices]
