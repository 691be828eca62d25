"""`rankcorr compare` and `rankcorr test`: systems against gold, by coefficients and by tests.

`compare` can add intervals, standardized values and the items that cost a system most. `test` tells whether a system
is better than chance, or than another system.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from rankcorr import OptionError
from rankcorr._checks import collected_notices, default_of
from rankcorr._cli import console, options
from rankcorr._cli.console import detectable_text, label_text, progress_bar, pvalue_text, text_columns, values_of, whole
from rankcorr._cli.options import Files, Named, Weights
from rankcorr._coefficients import COEFFICIENTS, Pearson
from rankcorr._output.report import Report, percent_text
from rankcorr._output.tables import TableNotes, best_places, significance_notes
from rankcorr._workers import Progress
from rankcorr.inference._exchange_distribution import MAX_EXACT
from rankcorr.inference._gold_comparison import compare_with_gold
from rankcorr.inference._interval import METHODS, correlation_interval
from rankcorr.inference._multiple_tests import holm
from rankcorr.inference._null import PermutationTest, permutation_test
from rankcorr.inference._system_comparison import ComparedPair, SystemComparison, SystemComparisons, compare_systems

Result = TypeVar("Result")

CI_RESAMPLES: Final = default_of(correlation_interval, "n_resamples")
PERMUTATIONS: Final = default_of(permutation_test, "n_resamples")
TEST_RESAMPLES: Final = default_of(compare_systems, "n_resamples")


@dataclass(frozen=True)
class Details:
    """Optional parts of the output of `rankcorr compare`."""

    worst: int | None = console.count_option("List the K items that cost each system most.", metavar="K")
    coefficient: Any = options.coefficient_option("Coefficient of --worst.")
    ci: bool = console.flag_option("Add the confidence interval of each coefficient.")
    standardize: bool = console.flag_option(
        "Add each coefficient on a scale where chance averages 0, and its percentile among random orders."
    )
    level: float = options.level_option("Confidence level of --ci.")
    method: Any = console.choice_option(METHODS, "Method of --ci.")
    resamples: int | None = options.resamples_option(
        None, f"Resamples of --ci and permutations of --standardize.  [default: {CI_RESAMPLES:,} and {PERMUTATIONS:,}]"
    )
    seed: int = console.seed_option("Random seed of --ci and --standardize.")

    def check(self) -> None:
        """Raise an error for an option that has no effect because the option it belongs to is missing."""
        options.check_owner("--worst", self.worst is not None, "--coefficient")
        options.check_owner("--ci", self.ci, "--level", "--method")
        options.check_owner("--ci or --standardize", self.by_coefficient, "--resamples", "--seed")

    @property
    def by_coefficient(self) -> bool:
        """Whether each coefficient has a separate row."""
        return self.ci or self.standardize

    @property
    def n_resamples_each(self) -> int:
        """Resamples and permutations of one coefficient of one system."""
        return sum(draws["resamples"] for draws in self._draws.values())

    def to_dict(self) -> dict[str, Any]:
        """The options that were given, ready for JSON."""
        worst = {} if self.worst is None else {"worst": {"k": self.worst, "coefficient": self.coefficient}}
        return worst | self._draws

    @property
    def _draws(self) -> dict[str, dict[str, Any]]:
        """Options of the draws of --ci and of --standardize, if given."""
        draws: dict[str, dict[str, Any]] = {}
        if self.ci:
            draws["ci"] = {"level": self.level, "method": self.method}
            draws["ci"] |= {"resamples": self.resamples or CI_RESAMPLES, "seed": self.seed}
        if self.standardize:
            draws["standardize"] = {"resamples": self.resamples or PERMUTATIONS, "seed": self.seed}
        return draws

    def compare(
        self, gold: Named, system: Named, files: Files, weights: Weights, progress: Progress
    ) -> tuple[dict[str, Any], list[console.Note]]:
        """Row of the table for one system, ready for JSON, and the warnings of the library."""
        with options.errors_of(gold, system):
            comparison = compare_with_gold(
                gold.ranking,
                system.ranking,
                [weights.of(name) for name in COEFFICIENTS],
                missing=files.missing,
                names=(gold.name, system.name),
                worst=self.worst,
                costly=[weights.of(self.coefficient)],
                test=_in_calls(self._draws.get("standardize")),
                interval=_in_calls(self._draws.get("ci")),
                progress=progress,
            )
        row: dict[str, Any] = {"system": system.name, **comparison.coefficients, "n": comparison.n_items}
        if self.by_coefficient:
            row["coefficients"] = {name: {"statistic": value} for name, value in comparison.coefficients.items()}
            for name, test in comparison.tests.items():
                row["coefficients"][name] |= {"chance": test.null.mean}
                row["coefficients"][name] |= values_of(test, "standardized", "percentile", "zscore")
            for name, interval in comparison.intervals.items():
                ends = ("low", "high", "standard_error", "jackknife_share", "jackknife_item")
                row["coefficients"][name] |= values_of(interval, *ends)
        if self.worst is not None:
            (items,) = comparison.worst.values()
            row["worst"] = None if items is None else [item for item in items if item["cost"]]
        messages = [(notice.message, notice.coefficients) for notice in comparison.warnings]
        return row, [note for message, names in messages for note in console.notes_of([message], names, system.name)]

    def headings(self, sizes: Sequence[int]) -> list[str]:
        """Lines above the table of coefficients that explain its columns; `sizes` are the numbers of items."""
        lines = []
        if draws := self._draws.get("standardize"):
            draw_text = options.permutations_text(draws["resamples"], draws["seed"], sizes)
            lines.append(f"standardized: chance averages 0; percentile: % of chance values below ({draw_text})")
        if draws := self._draws.get("ci"):
            draw_text = console.resamples_text(draws["resamples"], draws["seed"], "the items")
            lines.append(f"low, high: {percent_text(draws['level'])} interval ({draws['method']}, {draw_text})")
        return lines

    def print_table(self, rows: list[dict[str, Any]]) -> None:
        """Print one row for each system and coefficient."""
        of_coefficients = [
            {**row, "coefficient": name, **row["coefficients"][name]} for row in rows for name in COEFFICIENTS
        ]
        columns: dict[str, console.Column] = text_columns(whole, "system", "coefficient")
        columns |= {"value": ("statistic", "{:z.4f}")}
        if self.standardize:
            columns |= text_columns("{:z.4f}", "standardized") | text_columns("{:.2f}", "percentile")
        columns |= text_columns("{:z.4f}", *["low", "high"] * self.ci) | text_columns("{}", "n", "ties")
        names = [row["coefficient"] for row in of_coefficients]
        best = best_places([row["statistic"] for row in of_coefficients], 2, names)
        notes = TableNotes(f"Agreement with gold{'. Bold: best.' * bool(best)}", best)
        console.print_rows(of_coefficients, columns, notes)

    def print_worst(self, title: str, row: Mapping[str, Any]) -> None:
        """Print the items that cost a system most, below the other tables."""
        name, items = self.coefficient, row["worst"]
        if not items:
            why = "undefined, and cannot be taken apart" if items is None else "1: no item costs anything"
            click.echo(f"\n{title}: {name} is {why}")
            return
        total = math.fsum(item["cost"] for item in items)
        form = "z.4f" if items[0]["cost"] >= 0.001 else ".2e"
        heading = (
            f"{title}: {name} is {1 - row[name]:{form}} below 1; {len(items):,} of {row['n']:,} items cost "
            f"{total:{form}} of that"
        )
        click.echo(f"\n{heading}")
        ranks = {f"{role} rank": (f"{role}_rank", console.rank_text) for role in ("gold", "system")}
        figures = text_columns(f"{{:{form}}}", "weight", "contribution", "cost")
        console.print_rows(items, {"item": ("label", label_text), **ranks, **figures}, TableNotes(heading))


@console.command(short_help="Compute the coefficients of systems with gold.")
def compare(
    gold: str = console.argument(),
    systems: tuple[str, ...] = options.systems_argument(),
    files: Files = console.options_of(Files),
    weights: Weights = console.options_of(Weights),
    details: Details = console.options_of(Details),
    as_json: bool = console.output_options(),
) -> None:
    """Compare the rankings in the SYSTEM files with the one in GOLD.

    Files are CSV or TSV in UTF-8 ('-' is stdin) and are matched by id. rho_w and tau_w weigh the top most; rho and
    tau weigh all items alike. Ties are the compared items that share their score with another.

    With --ci or --standardize each coefficient has a separate row.

    Example:
      rankcorr compare gold.csv system_a.csv system_b.csv
      rankcorr compare --id word1,word2 --score gold --score lch pairs.tsv pairs.tsv
      rankcorr compare gold.csv system_a.csv --ci --standardize --worst 10
    """
    weighing = weights.to_dict()
    details.check()
    reference, *others = files.read([gold], systems)
    matches = [options.match_items(reference, other, files.missing) for other in others]
    rows: list[dict[str, Any]] = []
    notes = options.reading_notes([reference, *others])
    n_steps = len(others) * len(COEFFICIENTS) * details.n_resamples_each
    with progress_bar(n_steps, "resample", "coefficients") as advance:
        for other, match in zip(others, matches, strict=True):
            row, messages = details.compare(reference, other, files, weights, advance)
            rows.append(row | match.to_dict())
            notes += messages
    if as_json:
        option_values = {**files.to_dict(), **weighing, **details.to_dict()}
        console.print_json(
            {"gold": options.describe_ranking(reference), "options": option_values, "systems": rows, "warnings": notes}
        )
        return
    lines = [options.gold_line(reference), *options.coverage_lines(matches, others, files.missing)]
    click.echo("\n".join([*lines, *details.headings([row["n"] for row in rows]), ""]))
    if details.by_coefficient:
        details.print_table(rows)
    else:
        best = {
            place
            for column, name in enumerate(COEFFICIENTS, start=1)
            for place in best_places([row[name] for row in rows], column)
        }
        columns = text_columns(whole, "system") | text_columns("{:.4f}", *COEFFICIENTS)
        columns |= text_columns("{}", "n", "ties")
        caption = f"Agreement with {reference.text}{'. Bold: best.' * (len(rows) > 1)}"
        console.print_rows(rows, columns, TableNotes(caption, best))
    if details.worst is not None:
        for other, row in zip(others, rows, strict=True):
            details.print_worst(other.text, row)
    console.print_notes(notes)


def _in_calls(draws: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return options of random draws under the names that the library's functions use."""
    names = {"resamples": "n_resamples"}
    return None if draws is None else {names.get(name, name): value for name, value in draws.items()}


@console.command("test", short_help="Test systems against chance, or against each other.")
def run_tests(
    gold: str = console.argument(),
    systems: tuple[str, ...] = options.systems_argument(),
    versus: bool = console.flag_option("Test the first SYSTEM against each other one, over the same items."),
    files: Files = console.options_of(Files),
    coefficient: str = options.coefficient_option(choices=options.SYSTEM_COEFFICIENTS),
    weights: Weights = console.options_of(Weights),
    alternative: Any = options.alternative_option(
        "the system beats chance, or with --versus the first one beats the other"
    ),
    swap: Any = options.swap_option("a test with --versus"),
    clusters: str | None = options.clusters_option(),
    level: float = options.level_option("Confidence level of the intervals of --versus."),
    resamples: int = options.resamples_option(
        TEST_RESAMPLES, "Number of random permutations, or of swaps with --versus."
    ),
    seed: int = console.seed_option(),
    report_path: str | None = console.report_option(),
    as_json: bool = console.output_options(),
) -> None:
    """Test whether the SYSTEM rankings agree with GOLD better than chance does.

    All ranks of a system, tied ones included, are permuted. Unrelated rankings do not average 0: 'chance' is the mean
    of the permutations. 'standardized' is the coefficient on a scale where chance is 0, and -1 and 1 stay. 'percentile'
    is the percentage of permutations below it; equal ones count half.

    With --versus, test whether two systems differ, by swapping their scores or ranks at random, item by item. This
    assumes independent items; see --clusters. The interval holds the differences that the test does not reject.
    'detectable' is the smallest true difference that it finds four times out of five (a power of 0.8). P-values of
    several tests are also corrected by Holm's method.

    Example:
      rankcorr test gold.csv system_a.csv
      rankcorr test gold.csv system_a.csv system_b.csv --versus
    """
    if versus and len(systems) < 2:
        raise OptionError("--versus needs at least two SYSTEM files; got one")
    if coefficient == Pearson.name and not versus:
        raise OptionError("--coefficient pearson compares systems with each other: add --versus")
    options.check_owner("--versus", versus, "--swap", "--level", "--clusters", "--report")
    paired = {"swap": swap, "level": level}
    shared = {"coefficient": weights.of_one(coefficient), "missing": files.missing}
    test_options = {"alternative": alternative, "n_resamples": resamples, "seed": seed}
    reference, *others = files.read([gold], systems)
    matches = [options.match_items(reference, other, files.missing) for other in others]
    option_values = {**files.to_dict(), "coefficient": coefficient, **weights.to_dict(coefficient)}
    option_values |= {"alternative": alternative, **(paired if versus else {}), "resamples": resamples, "seed": seed}
    document: dict[str, Any] = {"gold": options.describe_ranking(reference), "options": option_values}
    if versus:
        first, *rest = others
        shared["clusters"] = files.read_clusters(clusters)
        triples, title = [(reference, first, other) for other in rest], f"tests against {first.text}"
        results, notes = _tests(compare_systems, triples, "swap", title, {**shared, **test_options, **paired})
        rows = _difference_rows(rest, results)
        if report_path is not None:
            _report(reference, first, rest, results, rows).save(report_path)
        document |= {"a": options.describe_ranking(first), "comparisons": rows}
        option_values["clusters"] = clusters
    else:
        pairs, title = [(reference, other) for other in others], "tests against chance"
        tests, notes = _tests(permutation_test, pairs, "permutation", title, {**shared, **test_options})
        rows = [
            _test_row(other, test) | match.to_dict() for other, test, match in zip(others, tests, matches, strict=True)
        ]
        document |= {"systems": rows}
    notes = options.reading_notes([reference, *others]) + notes
    document |= {"warnings": notes}
    if as_json:
        console.print_json(document)
        return
    click.echo("\n".join([options.gold_line(reference), *options.coverage_lines(matches, others, files.missing)]))
    if versus:
        if clusters is not None:
            click.echo(f"clusters: {whole(clusters)}; tests exchange whole clusters")
        _print_differences(others, rows, option_values)
    else:
        _print_tests(rows, option_values)
    console.print_notes(notes)


def _tests(
    test: Callable[..., Result], compared: Sequence[tuple[Named, ...]], unit: str, title: str, arguments: dict[str, Any]
) -> tuple[list[Result], list[console.Note]]:
    """Results of a test of gold and one system or two, and the warnings of the library, which name the last one."""
    results, notes = [], []
    with progress_bar(len(compared) * arguments["n_resamples"], unit, title) as advance:
        for files in compared:
            with options.errors_of(*files), collected_notices() as notices:
                results.append(test(*(file.ranking for file in files), **arguments, progress=advance))
            notes += console.notes_of(notices, [arguments["coefficient"].name], files[-1].name)
    return results, notes


def _test_row(system: Named, test: PermutationTest) -> dict[str, Any]:
    figures = values_of(test, "standardized", "percentile", "zscore", "pvalue")
    null = {"exact": test.null.exact, "permutations": test.null.n_resamples, "n": test.n_items}
    return {"system": system.name, "statistic": test.statistic, "chance": test.null.mean, **figures, **null}


def _print_tests(rows: Sequence[dict[str, Any]], option_values: dict[str, Any]) -> None:
    draw_text = options.permutations_text(option_values["resamples"], option_values["seed"], [row["n"] for row in rows])
    coefficient, side = option_values["coefficient"], option_values["alternative"]
    click.echo(f"{coefficient} against chance, {side} ({draw_text})\n")
    columns: dict[str, console.Column] = {"system": whole, coefficient: ("statistic", "{:z.4f}")}
    columns |= {**text_columns("{:z.4f}", "chance", "standardized"), **text_columns("{:.2f}", "percentile")}
    console.print_rows(
        rows,
        {**columns, f"p ({side})": ("pvalue", pvalue_text), **text_columns("{}", "n", "ties")},
        significance_notes(
            f"{coefficient} against chance. Bold: best;",
            [row["pvalue"] for row in rows],
            1,
            options.DEFAULT_LEVEL,
            best=best_places([row["statistic"] for row in rows], 1),
            tested="p",
        ),
    )


def _report(
    gold: Named, first: Named, others: Sequence[Named], results: Sequence[SystemComparison], rows: list[dict[str, Any]]
) -> Report:
    """Return the report of one comparison, or of a table of several."""
    if len(results) == 1:
        return results[0].report(first.short, others[0].short)
    pairs = (
        ComparedPair(gold.short, result.coefficient, first.short, other.short, result, row["corrected_pvalue"])
        for other, result, row in zip(others, results, rows, strict=True)
    )
    return SystemComparisons(tuple(pairs)).report()


def _difference_rows(others: Sequence[Named], results: Sequence[SystemComparison]) -> list[dict[str, Any]]:
    corrected = holm([result.pvalue for result in results]).tolist()
    figures = ("statistic_a", "statistic_b", "difference", "low", "high", "pvalue", "corrected_pvalue")
    names = (*figures, "exact", "swap", "detectable", "least", "most", "fragile")
    rows = []
    for other, result, corrected_pvalue in zip(others, results, corrected, strict=True):
        content = {**vars(result), "corrected_pvalue": corrected_pvalue}
        rows.append({"b": other.name, **{name: content[name] for name in names}, "n": result.n_items})
    return rows


def _print_differences(systems: Sequence[Named], rows: list[dict[str, Any]], option_values: dict[str, Any]) -> None:
    first, *others = systems
    name, has_several = option_values["coefficient"], len(rows) > 1
    exact = [row["exact"] for row in rows]
    swapped = " or ".join(dict.fromkeys(row["swap"] for row in rows))
    swaps = f"{'all' if all(exact) else format(option_values['resamples'], ',') + ' random'} swaps of {swapped}"
    if any(exact) and not all(exact):
        swaps += f", all of {MAX_EXACT} items or fewer"
    seed = "" if all(exact) else f", seed {option_values['seed']}"
    click.echo(options.gold_line(first, "a"))
    click.echo(
        f"p: {option_values['alternative']}, paired test of {name} ({swaps}{seed}){'; corrected by Holm' * has_several}"
    )
    click.echo(f"low, high: {percent_text(option_values['level'])} interval of a - b, by the same test")
    click.echo(f"{console.DETECTABLE}\n")
    columns: dict[str, console.Column] = {"b": whole}
    columns |= {f"{name} of a": ("statistic_a", "{:z.4f}"), "of b": ("statistic_b", "{:z.4f}")}
    columns |= {"a - b": ("difference", "{:z.4f}"), **text_columns("{:z.4f}", "low", "high")}
    columns |= {f"p ({option_values['alternative']})": ("pvalue", pvalue_text)}
    columns |= {"p (Holm)": ("corrected_pvalue", pvalue_text)} if has_several else {}
    columns |= {"detectable": (("detectable", "pvalue"), detectable_text), "n": "{}"}
    pvalues, tested = [row["corrected_pvalue"] for row in rows], "corrected p" if has_several else "p"
    caption = f"{name} of a = {first.text} and of b."
    console.print_rows(rows, columns, significance_notes(caption, pvalues, 3, option_values["level"], tested=tested))
    for other, row in zip(others, rows, strict=True):
        if row["fragile"]:
            decides = options.decisive_text("item", row["pvalue"], (row["least"], row["most"]), option_values["level"])
            click.echo(f"{other.text}: {decides}")
