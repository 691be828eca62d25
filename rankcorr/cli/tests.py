"""`rankcorr test`: whether a system is better than chance, or than another system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from rankcorr import OptionError
from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.options import (
    DEFAULT_LEVEL,
    Files,
    Named,
    Weights,
    alternative_option,
    coefficient_option,
    file_options,
    json_option,
    level_option,
    resamples_option,
    seed_option,
    swap_option,
    weight_options,
)
from rankcorr.cli.output import (
    Note,
    coverage_lines,
    decisive_text,
    described,
    errors_of,
    gold_line,
    match_items,
    notes_of,
    percent_text,
    permutations_text,
    print_notes,
    pvalue_text,
)
from rankcorr.errors import collected_notices
from rankcorr.inference.exchange import SWAPS
from rankcorr.inference.orbit import MAX_EXACT
from rankcorr.inference.paired import SystemComparison, compare_systems, holm
from rankcorr.inference.permutation import PermutationTest, permutation_test
from rankcorr.results import json_ready
from rankcorr.workers import progress_bar

RESAMPLES: Final = 10_000

_EXAMPLE = """\b
Example:
  rankcorr test gold.csv system_a.csv
  rankcorr test gold.csv system_a.csv system_b.csv --versus
"""


@click.command("test", epilog=_EXAMPLE, short_help="Test systems against chance, or against each other.")
@click.argument("gold")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...")
@click.option("--versus", is_flag=True, help="Test the first SYSTEM against each other one, over the same items.")
@file_options
@coefficient_option()
@weight_options
@alternative_option("the system beats chance, or with --versus the first one beats the other")
@swap_option(None, f"What two systems exchange in a test of --versus.  [default: {SWAPS[0]}]")
@level_option(None, f"Level of confidence of the intervals of --versus.  [default: {DEFAULT_LEVEL}]")
@resamples_option(RESAMPLES, "Number of random permutations, or of swaps with --versus.")
@seed_option()
@json_option()
def run_tests(
    gold: str,
    systems: tuple[str, ...],
    versus: bool,
    files: Files,
    coefficient: str,
    weights: Weights,
    alternative: Any,
    swap: Any,
    level: float | None,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Test whether the SYSTEM rankings agree with GOLD better than chance does.

    The ranks of a system are permuted, those of ties too. Two unrelated rankings do not give 0: 'chance' is the mean
    of the permutations, 'standardized' the coefficient on a scale where chance is 0, and -1 and 1 stay, and
    'percentile' the percentage of the permutations below it.

    With --versus, test whether two systems differ: the scores, or the places, that they give an item are swapped at
    random. The interval holds the differences that the test does not reject, and 'detectable' is the least true
    difference that it finds with a power of 0.8. P-values of several tests are also corrected by Holm's method.
    """
    if versus and len(systems) < 2:
        raise OptionError("--versus needs at least two SYSTEM files; got one")
    for option, value in (("--swap", swap), ("--level", level)):
        if value is not None and not versus:
            raise OptionError(f"{option} belongs to --versus, which is missing")
    paired = {"swap": SWAPS[0] if swap is None else swap, "level": DEFAULT_LEVEL if level is None else level}
    options = {"coefficient": weights.of_one(coefficient), "missing": files.missing}
    asked = {"alternative": alternative, "n_resamples": resamples, "seed": seed}
    reference, *others = files.read([gold], systems)
    matches = [match_items(reference, other, files.missing) for other in others]
    chosen = {
        **files.described(),
        "coefficient": coefficient,
        **weights.described(coefficient),
        "alternative": alternative,
        **(paired if versus else {}),
        "resamples": resamples,
        "seed": seed,
    }
    document: dict[str, Any] = {"gold": described(reference), "options": chosen}
    if versus:
        first, *rest = others
        results, notes = _differences(reference, first, rest, {**options, **asked, **paired})
        rows = _difference_rows(rest, results)
        document |= {"a": described(first), "comparisons": rows, "warnings": notes}
    else:
        tests, notes = _tests(reference, others, {**options, **asked})
        rows = [
            _test_row(other, test) | match.described()
            for other, test, match in zip(others, tests, matches, strict=True)
        ]
        document |= {"systems": rows, "warnings": notes}
    if as_json:
        print_json(document)
        return
    click.echo("\n".join([gold_line(reference), *coverage_lines(matches, others, files.missing)]))
    if versus:
        _print_differences(others, rows, results, chosen)
    else:
        _print_tests(others, rows, chosen)
    print_notes(notes)


def _tests(gold: Named, systems: Sequence[Named], options: dict[str, Any]) -> tuple[list[PermutationTest], list[Note]]:
    """Each system against chance, and what the library warned of."""
    tests, notes = [], []
    with progress_bar(len(systems) * options["n_resamples"], "permutation") as advance:
        for system in systems:
            with errors_of(gold, system), collected_notices() as notices:
                tests.append(permutation_test(gold.ranking, system.ranking, **options, progress=advance))
            notes += notes_of(notices, [options["coefficient"].name], system.name)
    return tests, notes


def _test_row(system: Named, test: PermutationTest) -> dict[str, Any]:
    return {
        "system": system.name,
        "statistic": test.statistic,
        "chance": test.null.mean,
        "standardized": test.standardized,
        "percentile": test.percentile,
        "zscore": test.zscore,
        "pvalue": test.pvalue,
        "exact": test.null.exact,
        "permutations": test.null.n_resamples,
        "n": test.n_items,
    }


def _print_tests(systems: Sequence[Named], rows: Sequence[dict[str, Any]], chosen: dict[str, Any]) -> None:
    drawn = permutations_text(chosen["resamples"], chosen["seed"], [row["n"] for row in rows])
    click.echo(f"{chosen['coefficient']} against chance, {chosen['alternative']} ({drawn})\n")
    print_table(
        ["system", chosen["coefficient"], "chance", "standardized", "percentile", "p", "n", "ties"],
        [
            [
                system.shown,
                *(f"{row[name]:z.4f}" for name in ("statistic", "chance", "standardized")),
                f"{row['percentile']:.2f}",
                pvalue_text(row["pvalue"]),
                str(row["n"]),
                str(row["ties"]),
            ]
            for system, row in zip(systems, rows, strict=True)
        ],
    )


def _differences(
    gold: Named, first: Named, others: Sequence[Named], options: dict[str, Any]
) -> tuple[list[SystemComparison], list[Note]]:
    """The first system against each other one, and what the library warned of."""
    results, notes = [], []
    number = options["n_resamples"]
    with progress_bar(len(others) * number, "swap") as advance:
        for other in others:
            with errors_of(gold, first, other), collected_notices() as notices:
                given = [each.exchanging(options["swap"]) for each in (first, other)]
                results.append(compare_systems(gold.ranking, *given, **options, progress=advance))
            notes += notes_of(notices, [options["coefficient"].name], other.name)
    return results, notes


def _difference_rows(others: Sequence[Named], results: Sequence[SystemComparison]) -> list[dict[str, Any]]:
    corrected = holm([result.pvalue for result in results]).tolist()
    return [
        {
            "b": other.name,
            "statistic_a": result.statistic_a,
            "statistic_b": result.statistic_b,
            "difference": result.difference,
            "low": result.low,
            "high": result.high,
            "pvalue": result.pvalue,
            "corrected_pvalue": corrected_pvalue,
            "exact": result.exact,
            "swap": result.swap,
            "detectable": result.detectable,
            "least": json_ready(result.least),
            "most": json_ready(result.most),
            "fragile": result.fragile,
            "n": result.n_items,
        }
        for other, result, corrected_pvalue in zip(others, results, corrected, strict=True)
    ]


def _print_differences(
    systems: Sequence[Named],
    rows: Sequence[dict[str, Any]],
    results: Sequence[SystemComparison],
    chosen: dict[str, Any],
) -> None:
    first, *others = systems
    name, several = chosen["coefficient"], len(rows) > 1
    exact = [row["exact"] for row in rows]
    swapped = " or ".join(dict.fromkeys(row["swap"] for row in rows))
    swaps = f"{'all' if all(exact) else format(chosen['resamples'], ',') + ' random'} swaps of {swapped}"
    if any(exact) and not all(exact):
        swaps += f", all of {MAX_EXACT} items or fewer"
    click.echo(gold_line(first, "a"))
    seed = "" if all(exact) else f", seed {chosen['seed']}"
    click.echo(f"p: {chosen['alternative']}, paired test of {name} ({swaps}{seed}){'; corrected by Holm' * several}")
    click.echo(f"low, high: {percent_text(chosen['level'])} interval of a - b, by the same test")
    click.echo("detectable: least true difference that the test finds with a power of 0.8\n")
    print_table(
        ["b", f"{name} of a", "of b", "a - b", "low", "high", "p", *(["p (Holm)"] * several), "detectable", "n"],
        [
            [
                other.shown,
                *(f"{row[column]:z.4f}" for column in ("statistic_a", "statistic_b", "difference", "low", "high")),
                *(pvalue_text(row[column]) for column in ["pvalue", *(["corrected_pvalue"] * several)]),
                f"{row['detectable']:.4f}",
                str(row["n"]),
            ]
            for other, row in zip(others, rows, strict=True)
        ],
    )
    for other, result in zip(others, results, strict=True):
        if result.fragile:
            decides = decisive_text("item", result.pvalue, (result.least, result.most), result.level)
            click.echo(f"{other.shown}: {decides}")
