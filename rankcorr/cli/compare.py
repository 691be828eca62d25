"""`rankcorr compare`: the coefficients of each system against gold, and on request more about each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from rankcorr import OptionError
from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.options import (
    DEFAULT_LEVEL,
    DEFAULT_SEED,
    Command,
    Files,
    Named,
    Weights,
    coefficient_option,
    file_options,
    gathered,
    json_option,
    level_option,
    resamples_option,
    seed_option,
    weight_options,
)
from rankcorr.cli.output import (
    Note,
    coverage_lines,
    described,
    errors_of,
    gold_line,
    label_json,
    label_text,
    left_aligned,
    match_items,
    notes_of,
    percent_text,
    permutations_text,
    print_notes,
    rank_text,
    resamples_text,
)
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.contributions import ItemContribution, contributions
from rankcorr.correlation import correlate
from rankcorr.errors import collected_notices
from rankcorr.inference.bootstrap import METHODS, bootstrap_interval
from rankcorr.inference.copula import MIN_RESAMPLES
from rankcorr.inference.permutation import permutation_test
from rankcorr.results import RankCorrelation
from rankcorr.workers import Progress, progress_bar

CI_RESAMPLES: Final = 2_000
PERMUTATIONS: Final = 10_000

_EXAMPLE = """\b
Example:
  rankcorr compare gold.csv system_a.csv system_b.csv
  rankcorr compare --id word1,word2 --score gold --score lch pairs.tsv pairs.tsv
  rankcorr compare gold.csv system_a.csv --ci --standardize --worst 10
"""
_OPTIONS = (
    click.option(
        "--worst", type=click.IntRange(min=1), metavar="K", help="List the K items that cost each system most."
    ),
    coefficient_option(None, "Coefficient of --worst.  [default: tau_w]"),
    click.option("--ci", is_flag=True, help="Add the confidence interval of each coefficient."),
    click.option(
        "--standardize",
        is_flag=True,
        help="Add each coefficient on a scale where chance gives 0, and its percentile among the values of chance.",
    ),
    level_option(None, f"Level of confidence of --ci.  [default: {DEFAULT_LEVEL}]"),
    click.option("--method", type=click.Choice(METHODS), help=f"Method of --ci.  [default: {METHODS[0]}]"),
    resamples_option(
        None,
        f"Resamples of --ci and permutations of --standardize.  [default: {CI_RESAMPLES:,} and {PERMUTATIONS:,}]",
    ),
    seed_option(None, f"Same seed, same numbers of --ci and --standardize.  [default: {DEFAULT_SEED}]"),
)


def detail_options(command: Command) -> Command:
    """Add the options of what is added on request; the command takes them as a `Details` named `details`."""
    return gathered(command, _OPTIONS, "details", Details)


@dataclass(frozen=True)
class Details:
    """What is added on request."""

    worst: int | None
    coefficient: Any
    ci: bool
    standardize: bool
    level: float | None
    method: Any
    resamples: int | None
    seed: int | None

    def check(self) -> None:
        """Refuse an option that has no effect, because what it belongs to is missing."""
        for option, value, owner, present in (
            ("--coefficient", self.coefficient, "--worst", self.worst is not None),
            ("--level", self.level, "--ci", self.ci),
            ("--method", self.method, "--ci", self.ci),
            ("--resamples", self.resamples, "--ci or --standardize", self.by_coefficient),
            ("--seed", self.seed, "--ci or --standardize", self.by_coefficient),
        ):
            if value is not None and not present:
                raise OptionError(f"{option} belongs to {owner}, which is missing")

    @property
    def by_coefficient(self) -> bool:
        """Whether each coefficient has a row of its own."""
        return self.ci or self.standardize

    @property
    def n_resamples_each(self) -> int:
        """Resamples and permutations of one coefficient of one system."""
        n_permutations = 0 if self._standardize is None else self._standardize["resamples"]
        return n_permutations + (0 if self._ci is None else _n_drawn(self._ci))

    @property
    def taken_apart(self) -> Any:
        """Coefficient of --worst."""
        return self.coefficient or "tau_w"

    def described(self) -> dict[str, Any]:
        """What was asked for, ready for JSON."""
        worst = None if self.worst is None else {"k": self.worst, "coefficient": self.taken_apart}
        asked = {"worst": worst, "ci": self._ci, "standardize": self._standardize}
        return {name: options for name, options in asked.items() if options is not None}

    @property
    def _ci(self) -> dict[str, Any] | None:
        if not self.ci:
            return None
        level = DEFAULT_LEVEL if self.level is None else self.level
        return {"level": level, "method": self.method or METHODS[0], **self._draws(CI_RESAMPLES)}

    @property
    def _standardize(self) -> dict[str, Any] | None:
        return self._draws(PERMUTATIONS) if self.standardize else None

    def _draws(self, default: int) -> dict[str, Any]:
        return {"resamples": self.resamples or default, "seed": self.seed or DEFAULT_SEED}

    def of(
        self,
        gold: Named,
        system: Named,
        results: Mapping[str, RankCorrelation],
        *,
        files: Files,
        weights: Weights,
        progress: Progress,
    ) -> tuple[dict[str, Any], list[Note]]:
        """What is added to the row of a system, ready for JSON, and what the library warned of."""
        row: dict[str, Any] = {}
        notes: dict[str, list[str]] = {}  # coefficients by message
        if self.by_coefficient:
            row["coefficients"] = {}
            for name, result in results.items():
                with collected_notices() as notices:
                    options = {"coefficient": weights.of(name), "missing": files.missing}
                    row["coefficients"][name] = self._inferred(gold, system, result.statistic, options, progress)
                for message in dict.fromkeys(notices):
                    notes.setdefault(message, []).append(name)
        if self.worst is not None:
            with collected_notices():  # those of the coefficient itself have been reported
                parts = contributions(
                    gold.ranking, system.ranking, coefficient=weights.of(self.taken_apart), missing=files.missing
                )
            undefined = math.isnan(parts.statistic)
            row["worst"] = None if undefined else [_described(each) for each in parts.worst(self.worst) if each.cost]
        return row, [note for message, names in notes.items() for note in notes_of([message], names, system.name)]

    def _inferred(
        self, gold: Named, system: Named, statistic: float, options: Mapping[str, Any], progress: Progress
    ) -> dict[str, Any]:
        """Interval and standardized value of one coefficient; nan where it is undefined, which the caller reports."""
        found: dict[str, Any] = {"statistic": statistic}
        defined = not math.isnan(statistic)
        if self._standardize is not None:
            figures = ("standardized", "percentile", "zscore")
            found |= dict.fromkeys(("chance", *figures), math.nan)
            if defined:
                drawn = {"n_resamples": self._standardize["resamples"], "seed": self._standardize["seed"]}
                test = permutation_test(gold.ranking, system.ranking, **options, **drawn, progress=progress)
                found |= {"chance": test.null.mean} | {name: getattr(test, name) for name in figures}
        if self._ci is not None:
            found |= {"low": math.nan, "high": math.nan, "standard_error": math.nan}
            if defined:
                drawn = {"n_resamples" if name == "resamples" else name: value for name, value in self._ci.items()}
                interval = bootstrap_interval(gold.ranking, system.ranking, **options, **drawn, progress=progress)
                found |= {name: getattr(interval, name) for name in ("low", "high", "standard_error")}
        return found

    def headings(self, sizes: Sequence[int]) -> list[str]:
        """Lines above the table of coefficients that explain its columns; `sizes` are the numbers of items."""
        lines = []
        if (draws := self._standardize) is not None:
            drawn = permutations_text(draws["resamples"], draws["seed"], sizes)
            lines.append(f"standardized: chance is 0; percentile: per cent of chance below the value ({drawn})")
        if (draws := self._ci) is not None:
            model = draws["method"] == METHODS[0]
            drawn = resamples_text(_n_drawn(draws), draws["seed"], None if model else "the items")
            lines.append(f"low, high: {percent_text(draws['level'])} interval ({draws['method']}, {drawn})")
        return lines

    def table(self, names: list[str], rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
        """Header and cells: one row for each system and coefficient."""
        columns = ["standardized", "percentile"] * self.standardize + ["low", "high"] * self.ci
        cells = [
            [
                shown,
                name,
                *(
                    f"{figures[column]:{'.2f' if column == 'percentile' else 'z.4f'}}"
                    for figures in [row["coefficients"][name]]
                    for column in ("statistic", *columns)
                ),
                str(row["n"]),
                str(row["ties"]),
            ]
            for shown, row in zip(names, rows, strict=True)
            for name in COEFFICIENTS
        ]
        return ["system", "coefficient", "value", *columns, "n", "ties"], cells

    def print_worst(self, shown: str, row: Mapping[str, Any]) -> None:
        """Print the items that cost a system most, below the other tables."""
        name, items = self.taken_apart, row["worst"]
        if not items:
            why = "undefined, and cannot be taken apart" if items is None else "1: no item costs anything"
            click.echo(f"\n{shown}: {name} is {why}")
            return
        total = math.fsum(item["cost"] for item in items)
        form = "z.4f" if items[0]["cost"] >= 0.001 else ".2e"
        click.echo(
            f"\n{shown}: {len(items):,} of {row['n']:,} items cost {total:{form}} of the {1 - row[name]:{form}} that "
            f"{name} is short of 1"
        )
        print_table(
            ["item", "gold rank", "system rank", "weight", "contribution", "cost"],
            [
                [
                    label_text(tuple(item["label"]) if isinstance(item["label"], list) else item["label"]),
                    rank_text(item["gold_rank"]),
                    rank_text(item["system_rank"]),
                    *(f"{item[column]:{form}}" for column in ("weight", "contribution", "cost")),
                ]
                for item in items
            ],
        )


def _described(item: ItemContribution) -> dict[str, Any]:
    """An item, ready for JSON."""
    return {
        "label": label_json(item.label),
        "gold_rank": item.x_rank,
        "system_rank": item.y_rank,
        "weight": item.weight,
        "contribution": item.contribution,
        "cost": item.cost,
    }


def _n_drawn(ci: dict[str, Any]) -> int:
    """Number of resamples of an interval, which is more than was asked for where few would not do."""
    number: int = ci["resamples"]
    return max(number, MIN_RESAMPLES) if ci["method"] == METHODS[0] else number


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
    matches = [match_items(reference, other, files.missing) for other in others]
    rows, notes = [], []
    with progress_bar(len(others) * len(COEFFICIENTS) * details.n_resamples_each, "resample") as advance:
        for other, match in zip(others, matches, strict=True):
            row, messages = _row(reference, other, files, weights, details, advance)
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


def _row(
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
