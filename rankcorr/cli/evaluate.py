"""`rankcorr evaluate`: runs against qrels by query, with tests over queries."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from rankcorr.checks import counted, offending, repeated
from rankcorr.cli import console, options
from rankcorr.cli.console import choice_setting, gathered, label_text, number_text, pvalue_text, setting, whole
from rankcorr.cli.options import Weights
from rankcorr.coefficients import Coefficient, TauW
from rankcorr.errors import OptionError, RankingError, collected_notices, give_notice
from rankcorr.evaluation.columns import DUPLICATES
from rankcorr.evaluation.compare import RunComparison, compare_evaluated, corrected_together
from rankcorr.evaluation.evaluate import Evaluation, evaluate
from rankcorr.evaluation.files import FORMATS, read_groups, read_qrels, read_run
from rankcorr.evaluation.matching import UNJUDGED, UNRETRIEVED, Coverage
from rankcorr.evaluation.metrics import Metric, name_of
from rankcorr.evaluation.qrels import Qrels, Run, grouped_queries
from rankcorr.evaluation.query_tests import TESTS, PairedDifference
from rankcorr.evaluation.values import UNDEFINED
from rankcorr.evaluation.worst import QueryDifference, matches_of, worst_evaluated
from rankcorr.plots.queries import plot_pairs
from rankcorr.workers import progress_bar

RESAMPLES: Final = 10_000

_DIFFERENCES = (
    *("difference", "low", "high", "p", "p (corrected)", "detectable", "effect size", "better", "worse", "queries"),
)


@dataclass(frozen=True)
class QueryOptions:
    """What runs are evaluated by."""

    metrics: tuple[str, ...] = setting(
        "--metric",
        multiple=True,
        default=("tau_w",),
        metavar="NAME",
        help="Metric: tau_w, rho_w, tau, rho, ap, p@10, tau_ap, rbo, or of ir_measures, as ndcg@10; may be repeated.",
    )
    unjudged: Any = choice_setting(
        "--unjudged", UNJUDGED, "A retrieved document without a judgement: of relevance 0, left out, or an error."
    )
    unretrieved: Any = choice_setting(
        "--unretrieved", UNRETRIEVED, "A judged document that a run did not retrieve: last, or left out."
    )
    depth: int | None = setting(
        "--depth", type=click.IntRange(min=1), metavar="K", help="Keep the first K documents of each query."
    )
    undefined: Any = choice_setting(
        "--undefined", UNDEFINED, "A query for which a metric does not exist: left out of the mean, 0, or an error."
    )
    standardized: bool = setting(
        "--standardized", is_flag=True, help="Also standardize rank correlations: chance gives 0 for each query."
    )
    by_query: bool = setting(
        "--by-query", is_flag=True, help="Print the values of each query, those of two runs side by side."
    )
    versus: str | None = setting(
        "--versus", metavar="RUN", help="Test the other runs against this one: a file or its name in tables."
    )
    names: tuple[str, ...] = setting(options.names_option("run"))
    test: Any = choice_setting("--test", TESTS, "Paired test over queries.")
    groups: str | None = setting(
        "--groups",
        metavar="FILE",
        help="Also judge each group of queries, such as a genre, alone: CSV or TSV with the columns query and group.",
    )
    worst: int | None = setting(
        "--worst",
        type=click.IntRange(min=1),
        metavar="K",
        help="List the K queries on which a run differs most from that of --versus, and the documents that make the "
        "difference.",
    )
    plot: str | None = setting(
        console.figure_option("--plot", "Draw the differences from the run of --versus by query")
    )
    level: float = setting(options.level_option())
    resamples: int = setting(
        options.resamples_option(RESAMPLES, "Number of resamples of each interval and of each test.")
    )
    seed: int = setting(console.seed_option())
    form: Any = setting("--format", type=click.Choice(FORMATS), help="Form of all files.  [default: told from each]")
    duplicates: Any = choice_setting(
        "--duplicates",
        DUPLICATES,
        "A document that a query has more than once: an error, or the first or the largest value counts.",
    )

    def __post_init__(self) -> None:
        options.check_owner("--versus", self.versus is not None, {"--worst": self.worst, "--plot": self.plot})

    def read(self, qrels: str, runs: Sequence[str]) -> tuple[Qrels, dict[str, Run], str | None]:
        """Qrels, runs by name, and the name of the one to test against."""
        options.check_stdin([qrels, *runs, *([] if self.groups is None else [self.groups])])
        options.check_names(self.names, len(runs), "run")
        gold = read_qrels(qrels, form=self.form, duplicates=self.duplicates)
        read = [read_run(path, form=self.form, duplicates=self.duplicates) for path in runs]
        found = dict(zip(self.names or self._names(runs, read), read, strict=True))
        if self.versus is None:
            return gold, found, None
        if len(found) < 2:
            raise OptionError("--versus needs at least two runs")
        names = list(found)
        if self.versus in names:
            return gold, found, self.versus
        if runs.count(self.versus) == 1:
            return gold, found, names[list(runs).index(self.versus)]
        files = "" if self.versus in runs or names == list(runs) else ", or the file of one"
        raise OptionError(f"--versus must be one of the runs, {', '.join(names)}{files}; got '{self.versus}'")

    @staticmethod
    def _names(runs: Sequence[str], read: Sequence[Run]) -> list[str]:
        """Names of runs: those of their files, or where two of these are the same, the paths."""
        names = [str(run.name) for run in read]
        if not (again := repeated(names)):
            return names
        if same := repeated(runs):
            listed = ", ".join(map(str, same))
            raise OptionError(f"each run can be given only once, unless --name names it; more than once: {listed}")
        listed = ", ".join(map(str, again))
        message = f"more than one run is called {listed}, so runs are named by their paths; --name gives other names"
        give_notice(message, UserWarning)
        return list(runs)

    def read_groups(self, queries: tuple[Hashable, ...]) -> dict[str, str] | None:
        """Groups of the queries of qrels, each of which needs one; the file is named by errors."""
        if self.groups is None:
            return None
        groups = read_groups(self.groups)
        try:
            grouped_queries(groups, queries)
        except RankingError as error:
            first = offending("; the file has", list(groups)) if groups.keys().isdisjoint(queries) else ""
            raise OptionError(f"{self.groups}: {error}{first}") from error
        return groups


@console.command("evaluate", short_help="Evaluate runs by query against qrels.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@gathered("asked", QueryOptions)
@console.theme_option
@options.weight_options
@console.table_option()
@console.json_option()
def evaluate_command(qrels: str, runs: tuple[str, ...], asked: QueryOptions, weights: Weights, as_json: bool) -> None:
    """Evaluate the RUN files by query against QRELS.

    Files are TREC's, MS MARCO's or BEIR's, or JSON, perhaps compressed by gzip ('-' is stdin). AP and P@k are those of
    trec_eval. Intervals and tests are over queries: --versus says which runs differ from one, and by how much.

    Example:
      rankcorr evaluate qrels.txt bm25.run lsa.run --metric tau_w --metric ndcg@10
      rankcorr evaluate qrels.txt bm25.run lsa.run --metric ndcg@10 --versus bm25.run
      rankcorr evaluate qrels.txt bm25.run lsa.run --name BM25 --name LSA --by-query
      rankcorr evaluate qrels.txt bm25.run lsa.run --versus bm25.run --groups genres.csv --worst 5 --plot queries.png
    """
    metrics = options.metrics_of(asked.metrics, weights)
    with collected_notices() as notices:
        gold, found, baseline = asked.read(qrels, runs)
        groups = asked.read_groups(gold.queries)
        policies = ("unjudged", "unretrieved", "depth", "undefined", "seed", "standardized")
        chosen: dict[str, Any] = {name: getattr(asked, name) for name in policies}
        with progress_bar(len(found), "run", "evaluation") as advance:
            evaluation = evaluate(gold, found, metrics=metrics, progress=advance, **chosen)
        comparisons = [] if baseline is None else _comparisons(evaluation, metrics, baseline, groups, asked)
        worst = [] if baseline is None else _worst(gold, found, evaluation, metrics, baseline, asked.worst)
        pairs = [(comparison, pair.first, pair.second) for comparison in comparisons for pair in comparison.pairs]
        lacking = [] if asked.plot is None else console.saved_figure(lambda: plot_pairs(pairs), asked.plot)
    notes = [*console.notes_of(notices, []), *({"message": message} for message in lacking)]
    if as_json:
        content = evaluation.to_dict()
        content["groups"] = None if groups is None else evaluation.group_table(groups)
        known = ("values", "queries", "coverage", "metric")  # of the evaluation
        content["comparisons"] = {
            each.metric: {name: value for name, value in each.to_dict().items() if name not in known}
            for each in comparisons
        } or None
        content["worst"] = worst or None
        console.print_json({**content, "weights": weights.described(), "warnings": notes})
        return
    click.echo(
        f"qrels: {whole(qrels)} ({counted(gold.n_queries, 'query', 'queries')}, {counted(len(gold), 'judgement')})"
    )
    if groups is not None:
        others = sum(query not in gold.places for query in groups)
        more = f"; {others:,} queries that qrels do not have" * bool(others)
        click.echo(f"groups: {whole(asked.groups)} ({len(set(groups.values())):,} groups{more})")
    _print_means(evaluation)
    for comparison in comparisons:
        click.echo(f"\n{_heading(comparison)}\n")
        cells = [[whole(pair.first), *_difference_cells(pair)] for pair in comparison.pairs]
        console.print_table(["run", *_DIFFERENCES], cells)
        for pair in comparison.pairs:
            if pair.fragile:
                decides = options.decisive_text("query", pair.pvalue, (pair.least, pair.most), comparison.level)
                click.echo(f"{whole(pair.first)}: {decides}")
    if groups is not None:
        click.echo()
        _print_rows(evaluation.group_table(groups), ("group", "run", "metric"))
        for comparison in comparisons:
            _print_group_differences(comparison)
    for each in worst:
        _print_worst(each)
    if asked.by_query and len(evaluation.runs) == 2:
        _print_side_by_side(evaluation, baseline or evaluation.runs[0])
    elif asked.by_query:
        _print_queries(evaluation)
    if asked.plot is not None:
        click.echo()
        click.echo(whole(Path(asked.plot)))
    console.print_notes(notes)


def _comparisons(
    evaluation: Evaluation, metrics: Sequence[Metric], baseline: str, groups: dict[str, str] | None, asked: QueryOptions
) -> tuple[RunComparison, ...]:
    found = []
    for metric in metrics:
        with progress_bar(None, "resample", f"tests against {whole(baseline)}") as advance:
            found.append(
                compare_evaluated(
                    evaluation,
                    name_of(metric),
                    standardized=asked.standardized and isinstance(metric, Coefficient),
                    baseline=baseline,
                    groups=groups,
                    test=asked.test,
                    level=asked.level,
                    n_resamples=asked.resamples,
                    seed=asked.seed,
                    progress=advance,
                )
            )
    return corrected_together(found)


def _worst(
    gold: Qrels, runs: dict[str, Run], evaluation: Evaluation, metrics: Sequence[Metric], baseline: str, k: int | None
) -> list[PairedQueries]:
    """The queries on which each other run differs most from the baseline, by each metric."""
    if k is None:
        return []
    matches = matches_of(gold, runs, evaluation)
    return [
        PairedQueries(
            name_of(metric),
            name_of(metric if isinstance(metric, Coefficient) else TauW()),
            run,
            baseline,
            worst_evaluated(gold, matches, evaluation, metric, run, baseline, k=k),
        )
        for metric in metrics
        for run in runs
        if run != baseline
    ]


@dataclass(frozen=True)
class PairedQueries:
    """The queries on which two runs differ most by a metric; `coefficient` is what documents cost parts of."""

    metric: str
    coefficient: str
    first: str
    second: str
    queries: tuple[QueryDifference, ...]


def _print_means(evaluation: Evaluation) -> None:
    for run, coverage in zip(evaluation.runs, evaluation.coverage, strict=True):
        click.echo(f"{whole(run)}: {_coverage_text(coverage, evaluation.options)}")
    for each in evaluation.undefined:
        shown = ", ".join(label_text(query) for query in each.queries[:5]) + ", ..." * (len(each.queries) > 5)
        queries = counted(len(each.queries), "query", "queries")
        fate = {"omit": "left out of the mean", "zero": "counted as 0", "error": ""}[evaluation.options["undefined"]]
        click.echo(f"{whole(each.run)}: no {each.metric} for {queries} ({fate}), {each.reason}: {shown}")
    click.echo()
    _print_rows(evaluation.table(), ("run", "metric"))


def _print_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """A table of means; the columns `names` come first, aligned to the left."""
    columns = [column for column in ("mean", "standardized") if column in rows[0]]
    cells = [
        [
            *(whole(row[name]) for name in names),
            *(number_text(row[column]) for column in columns),
            f"{row['n_queries']:,}",
        ]
        for row in rows
    ]
    console.print_table([*names, *columns, "queries"], cells, left=range(len(names)))


def _coverage_text(coverage: Coverage, policies: dict[str, Any]) -> str:
    """What of a run was compared, on one line."""
    unjudged = {"zero": "of relevance 0", "omit": "left out", "error": ""}[policies["unjudged"]]
    unretrieved = {"last": "last", "omit": "left out"}[policies["unretrieved"]]
    parts = [
        f"{coverage.n_compared:,} documents compared",
        f"{coverage.n_unjudged:,} unjudged ({unjudged})" if coverage.n_unjudged else "",
        f"{coverage.n_unretrieved:,} not retrieved ({unretrieved})" if coverage.n_unretrieved else "",
        f"{coverage.n_cut:,} beyond the depth" if coverage.n_cut else "",
        f"{counted(len(coverage.not_in_run), 'query', 'queries')} not in the run" if coverage.not_in_run else "",
        f"{counted(len(coverage.not_in_qrels), 'query', 'queries')} not in qrels, left out"
        if coverage.not_in_qrels
        else "",
        f"{coverage.n_negative:,} negative judgements" if coverage.n_negative else "",
    ]
    return ", ".join(part for part in parts if part)


def _heading(comparison: RunComparison, within: str = "") -> str:
    """What a table of differences shows."""
    standardized = ", standardized" * comparison.standardized
    drawn = console.resamples_text(comparison.n_resamples, comparison.seed, "queries")
    baseline = whole(comparison.baseline)
    return (
        f"{comparison.metric}{standardized}: difference from {baseline} over the queries{within} that both have, "
        f"{console.percent_text(comparison.level)} intervals, {comparison.test} test ({drawn})"
    )


def _difference_cells(pair: PairedDifference) -> list[str]:
    return [
        *(number_text(value) for value in (pair.difference, pair.low, pair.high)),
        pvalue_text(pair.pvalue),
        pvalue_text(pair.corrected_pvalue),
        number_text(pair.detectable),
        number_text(pair.effect_size),
        *(f"{number:,}" for number in (pair.n_better, pair.n_worse, pair.n_queries)),
    ]


def _print_group_differences(comparison: RunComparison) -> None:
    """Differences within each group; p-values are corrected over all of them."""
    click.echo(f"\n{_heading(comparison, ' of each group')}\n")
    rows = [
        [label_text(group.group), whole(pair.first), *_difference_cells(pair)]
        for group in comparison.groups
        for pair in group.pairs
    ]
    console.print_table(["group", "run", *_DIFFERENCES], rows, left=[1])


def _print_worst(found: PairedQueries) -> None:
    """Queries with their documents; what the two runs score stands in the first line of a query."""
    first, second = whole(found.first), whole(found.second)
    click.echo(f"\n{found.metric}: queries on which {first} and {second} differ most, and their documents")
    click.echo(f"cost: how much more {found.coefficient} the place of a document costs {first} than {second}\n")
    header = ["query", first, second, "difference", "document", "relevance", f"rank in {first}", f"rank in {second}"]
    console.print_table([*header, "cost"], _worst_rows(found.queries), left=[4])


def _worst_rows(queries: Iterable[QueryDifference]) -> Iterable[list[str]]:
    for each in queries:
        head = [label_text(each.query), *(number_text(value) for value in (each.first, each.second, each.difference))]
        if not each.documents:
            yield [*head, "-", "-", "-", "-", "-"]
        for row in each.documents:
            ranks = console.rank_text(row.first_rank), console.rank_text(row.second_rank)
            relevance = "unjudged" if math.isnan(row.relevance) else f"{row.relevance:g}"
            yield [*head, label_text(row.document), relevance, *ranks, number_text(row.cost)]
            head = ["", "", "", ""]


def _print_side_by_side(evaluation: Evaluation, second: str) -> None:
    """A table of queries for each metric: values of both runs, and how much the first is above the second."""
    columns, n_queries = evaluation.by_query(), len(evaluation.queries)
    (first,) = (run for run in evaluation.runs if run != second)
    starts = {run: place * n_queries for place, run in enumerate(evaluation.runs)}
    for metric, values in columns.items():
        if metric in ("run", "query"):
            continue
        click.echo(f"\n{metric} by query; difference: {whole(first)} minus {whole(second)}\n")
        ours, theirs = (values[starts[run] : starts[run] + n_queries] for run in (first, second))
        console.print_table(
            ["query", whole(first), whole(second), "difference"],
            [
                [label_text(query), *map(number_text, (own, other, own - other))]
                for query, own, other in zip(evaluation.queries, ours, theirs, strict=True)
            ],
        )


def _print_queries(evaluation: Evaluation) -> None:
    columns = evaluation.by_query()
    click.echo()
    others = [name for name in columns if name not in ("run", "query")]
    rows = zip(columns["run"], columns["query"], *(columns[name] for name in others), strict=True)
    cells = [[whole(run), label_text(query), *map(number_text, values)] for run, query, *values in rows]
    console.print_table(["run", "query", *others], cells, left=[1])
