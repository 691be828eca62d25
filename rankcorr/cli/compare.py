"""`rankcorr compare`: the coefficients of each system against gold."""

from __future__ import annotations

import math
from typing import Any

import click

from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.details import Details, detail_options
from rankcorr.cli.options import Files, Named, Weights, file_options, weight_options
from rankcorr.cli.output import (
    Note,
    compared,
    coverage_lines,
    described,
    errors_of,
    gold_line,
    left_aligned,
    notes_of,
    print_notes,
)
from rankcorr.cli.resampling import json_option
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.correlation import correlate
from rankcorr.notices import collected_notices
from rankcorr.progress import progress_bar
from rankcorr.results import RankCorrelation
from rankcorr.workers import Progress

_EXAMPLE = """\b
Example:
  rankcorr compare gold.csv system_a.csv system_b.csv
  rankcorr compare --id word1,word2 --score gold --score lch pairs.tsv pairs.tsv
  rankcorr compare gold.csv system_a.csv --ci --standardize --worst 10
"""


@click.command(epilog=_EXAMPLE)
@click.argument("gold")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...")
@file_options
@weight_options
@detail_options
@json_option()
def compare(
    gold: str, systems: tuple[str, ...], files: Files, weights: Weights, details: Details, as_json: bool
) -> None:
    """Compare the rankings in the SYSTEM files with the one in GOLD.

    Files are CSV or TSV in UTF-8 ('-' is stdin) and are matched by id. rho_w and tau_w weigh the top most; rho and
    tau weigh all items alike. Ties are the compared items that share their score with another.

    With --ci or --standardize each coefficient has a row of its own.
    """
    options = weights.described()
    details.check()
    reference, *others = files.read([gold], systems)
    matches = [compared(reference, other, files.missing) for other in others]
    rows, notes = [], []
    with progress_bar(len(others) * len(COEFFICIENTS) * details.n_resamples_each, "resample") as advance:
        for other, match in zip(others, matches, strict=True):
            row, messages = _compared(reference, other, files, weights, details, advance)
            rows.append(row | match.described())
            notes += messages
    if as_json:
        chosen = {**files.described(), **options, **details.described()}
        print_json({"gold": described(reference), "options": chosen, "systems": rows, "warnings": notes})
        return
    lines = [gold_line(reference), *coverage_lines(matches, others, files.missing)]
    click.echo("\n".join([*lines, *details.headings([row["n"] for row in rows]), ""]))
    if details.by_coefficient:
        header, cells = details.table([other.shown for other in others], rows)
        header[1], *names = left_aligned([header[1], *(row[1] for row in cells)])
        print_table(header, [[row[0], name, *row[2:]] for row, name in zip(cells, names, strict=True)])
    else:
        print_table(
            ["system", *COEFFICIENTS, "n", "ties"],
            [
                [other.shown, *(f"{row[name]:.4f}" for name in COEFFICIENTS), str(row["n"]), str(row["ties"])]
                for other, row in zip(others, rows, strict=True)
            ],
        )
    if details.worst is not None:
        for other, row in zip(others, rows, strict=True):
            details.print_worst(other.shown, row)
    print_notes(notes)


def _compared(
    gold: Named, system: Named, files: Files, weights: Weights, details: Details, progress: Progress
) -> tuple[dict[str, Any], list[Note]]:
    """Row of the table for one system, and what the library warned of."""
    with errors_of(gold, system):
        with collected_notices() as notices:
            found = correlate(
                gold.ranking,
                system.ranking,
                coefficients=[weights.of(name) for name in COEFFICIENTS],
                names=(gold.name, system.name),
                missing=files.missing,
            )
            results: dict[str, RankCorrelation] = {coefficient.name: result for coefficient, result in found.items()}
        more, notes = details.of(gold, system, results, files=files, weights=weights, progress=progress)
    row: dict[str, Any] = {"system": system.name}
    row |= {name: result.statistic for name, result in results.items()}
    row |= {"n": next(iter(results.values())).n_items}
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    return row | more, notes_of(notices, undefined, system.name) + notes
