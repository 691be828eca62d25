"""`rankcorr evaluate`: runs against qrels by query, with tests over queries."""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from rankcorr import _checks as checks
from rankcorr._cli import console, options
from rankcorr._cli.console import FigureFile, label_text, number_text, progress_bar, pvalue_text, text_columns, whole
from rankcorr._cli.options import Weights
from rankcorr._coefficients import Coefficient, TauW
from rankcorr._io.trec import FORMATS
from rankcorr._output.report import percent_text, save_reports
from rankcorr._output.tables import TableNotes, best_places
from rankcorr._weights import Uniform
from rankcorr._workers import Draws, Progress
from rankcorr.errors import OptionError, RankingError
from rankcorr.evaluation._columns import DUPLICATES
from rankcorr.evaluation._comparison import compare
from rankcorr.evaluation._comparison.query_tests import TESTS
from rankcorr.evaluation._comparison.results import HOLM, STEP_DOWN, RunComparison
from rankcorr.evaluation._evaluate import Evaluation, evaluate_matches
from rankcorr.evaluation._matching import Coverage, Matched, Policies, match_runs
from rankcorr.evaluation._metrics import METRIC_NAMES, Metric, as_metrics, name_of
from rankcorr.evaluation._nulls import RESAMPLES as NULL_RESAMPLES
from rankcorr.evaluation._nulls import chance_level
from rankcorr.evaluation._partitions.evaluator import QueryEvaluator
from rankcorr.evaluation._qrels import Qrels, Run
from rankcorr.evaluation._reports import reports_of_tests
from rankcorr.evaluation._scores.sample_size import needed_items
from rankcorr.evaluation._sources import grouped_queries, qrels_of, read_groups, read_qrels, read_run, runs_of
from rankcorr.plots._queries import plot_pairs

RESAMPLES: Final = checks.default_of(compare.compare_evaluated, "n_resamples")
EXIT_WORSE: Final = 3
WORSE_AND_BETTER: Final[tuple[compare.Direction, ...]] = ("worse", "better")


class Level(click.types.FloatParamType):
    """A level that may be omitted: a file right after the option is then read as the level."""

    name = "level; to use the option without a level, put it after the files"


def repeated_documents_option() -> Any:
    """Option --duplicates of runs and qrels."""
    return console.choice_option(
        DUPLICATES, "Documents repeated in a query: report an error, or use the first or the largest value."
    )


@dataclass(frozen=True)
class QueryOptions:
    """Metrics and options for the evaluation of runs."""

    metrics: tuple[str, ...] = console.several_option(
        "--metric",
        "NAME",
        f"Metric: {', '.join(METRIC_NAMES)}, or one of ir_measures, such as rr; may be repeated.",
        default=("tau_w",),
    )
    unjudged: Any = console.declared_option(Policies, "unjudged")
    unretrieved: Any = console.declared_option(Policies, "unretrieved")
    depth: int | None = console.declared_option(Policies, "depth", metavar="K")
    self_hits: Any = console.declared_option(Policies, "self_hits")
    undefined: Any = console.declared_option(QueryEvaluator, "undefined")
    standardized: bool = console.flag_option(
        "Also standardize rank correlations, so that chance averages 0 for each query."
    )
    by_query: bool = console.flag_option(
        "Print the values of each query, a column for each run; with --table csv only this table goes to stdout."
    )
    folds: tuple[str, ...] = console.several_option(
        "--fold",
        "QRELS",
        "Qrels of another cross-validation fold; may be repeated. Queries of all folds are pooled, "
        "and RUN files of the same name are parts of one run.",
    )
    versus: str | None = console.text_option(
        "RUN", "Test the other runs against this one: a file or its name in tables."
    )
    fail_if_worse: float | None = console.text_option(
        "[LEVEL]",
        f"Exit with {EXIT_WORSE} if a run is significantly worse than the run of --versus by any metric (corrected p "
        "at most LEVEL, by default 0.05), or lacks a value for a query where that run has one. Put the option after "
        "the files.",
        type=Level(),
        is_flag=False,
        flag_value=0.05,
    )
    names: tuple[str, ...] = options.names_option("run")
    test: Any = console.choice_option(TESTS, "Paired test over queries.")
    groups: str | None = console.text_option(
        "FILE", "Also evaluate each group of queries, such as a genre: CSV or TSV with the columns query and group."
    )
    clusters: str | None = console.text_option(
        "FILE",
        "Queries that are not independent, such as variants: CSV or TSV with the columns query and cluster. Tests flip "
        "whole clusters.",
    )
    worst: int | None = console.count_option(
        "List the K queries where each run is worst, and the K where it is best, compared with the run of --versus, "
        "with the documents that cause the differences.",
        metavar="K",
    )
    equivalent_within: float | None = console.text_option(
        "MARGIN",
        "Give a verdict on each difference from the run of --versus: equivalent if one-sided tests show that it is "
        "smaller than MARGIN, else better, worse or undecided.",
        type=float,
    )
    needed: float | None = console.text_option(
        "DIFFERENCE",
        "Estimate how many queries a test needs to find this difference from the run of --versus (power 0.8).",
        type=float,
    )
    plot: str | None = console.figure_option("Draw the differences from the run of --versus by query")
    level: float = options.level_option()
    resamples: int = options.resamples_option(RESAMPLES)
    seed: int = console.seed_option()
    form: Any = console.option(
        *("--form", "--format"),
        type=click.Choice(FORMATS),
        help="Format of all text files; scores is for runs only.  [default: detected for each file]",
    )
    duplicates: Any = repeated_documents_option()

    def __post_init__(self) -> None:
        flags = ("--worst", "--plot", "--fail-if-worse", "--equivalent-within", "--needed")
        options.check_owner("--versus", self.versus is not None, *flags)
        if self.fail_if_worse is not None:
            checks.checked_level(self.fail_if_worse, "--fail-if-worse")

    def read(self, qrels: str, runs: Sequence[str]) -> tuple[Qrels, dict[str, Run], str | None]:
        """Qrels, runs by name, and the name of the one to test against."""
        options.check_stdin([qrels, *self.folds, *runs, *([] if self.groups is None else [self.groups])])
        options.check_names(self.names, len(runs), "run", unique=not self.folds)
        form: dict[str, Any] = {"form": self.form, "duplicates": self.duplicates}
        gold = qrels_of([read_qrels(path, **form) for path in (qrels, *self.folds)])
        read = [read_run(path, **form) for path in runs]
        names = self.names or self._names(runs, read)
        parts: dict[str, list[Run]] = {}
        for name, run in zip(names, read, strict=True):
            parts.setdefault(name, []).append(run)
        joined_runs = runs_of(parts)
        if self.versus is None:
            return gold, joined_runs, None
        if len(joined_runs) < 2:
            raise OptionError("--versus needs at least two runs")
        if self.versus in joined_runs:
            return gold, joined_runs, self.versus
        if runs.count(self.versus) == 1:
            return gold, joined_runs, names[list(runs).index(self.versus)]
        files = "" if self.versus in runs or list(joined_runs) == list(runs) else ", or the file of one"
        raise OptionError(f"--versus must be one of the runs, {', '.join(joined_runs)}{files}; got '{self.versus}'")

    def _names(self, runs: Sequence[str], read: Sequence[Run]) -> list[str]:
        """Names of runs: their file names, or their paths if two names are the same and there are no folds."""
        names = [str(run.name) for run in read]
        if self.folds or not (again := checks.repeated(names)):
            return names
        if same := checks.repeated(runs):
            listed = ", ".join(map(str, same))
            raise OptionError(
                f"each run can be given only once, unless --name gives each a different name; repeated: {listed}"
            )
        listed = ", ".join(map(str, again))
        message = f"more than one run is called {listed}, so runs are named by their paths; --name gives other names"
        checks.give_notice(message, UserWarning)
        return list(runs)


def _groups_of(path: str | None, queries: tuple[Hashable, ...]) -> dict[str, str] | None:
    """Groups or clusters of the queries of qrels; every query needs one. Errors name the file."""
    if path is None:
        return None
    groups = read_groups(path)
    try:
        grouped_queries(groups, queries)
    except RankingError as error:
        first = checks.offending("; the file has", list(groups)) if groups.keys().isdisjoint(queries) else ""
        raise OptionError(f"{path}: {error}{first}") from error
    return groups


@console.command("evaluate", short_help="Evaluate runs by query against qrels.")
def evaluate_command(
    qrels: str = console.argument(),
    runs: tuple[str, ...] = console.argument(nargs=-1, required=True, metavar="RUN..."),
    settings: QueryOptions = console.options_of(QueryOptions),
    figure: FigureFile = console.options_of(FigureFile, "out"),
    weights: Weights = console.options_of(Weights),
    report_path: str | None = console.report_option(),
    as_json: bool = console.output_options(),
) -> None:
    """Evaluate the RUN files by query against QRELS.

    Files have the format of TREC, MS MARCO or BEIR, or are CSV with a header, JSON, Parquet or Arrow, and may be
    compressed by gzip ('-' is stdin). AP, P@k and nDCG are those of trec_eval. Intervals and tests are over queries:
    --versus tests which runs differ from the one it names, and by how much.

    Example:
      rankcorr evaluate qrels.txt bm25.run lsa.run --metric tau_w --metric ndcg@10
      rankcorr evaluate qrels.txt bm25.run lsa.run --metric ndcg@10 --versus bm25.run
      rankcorr evaluate qrels.txt bm25.run lsa.run --name BM25 --name LSA --by-query --table csv
      rankcorr evaluate fold1.txt bm25.run lsa.run --fold fold2.txt
      rankcorr evaluate qrels.txt bm25.run lsa.run --versus bm25.run --groups genres.csv --worst 5 --plot queries.png
    """
    metrics = options.metrics_of(settings.metrics, weights)
    with checks.collected_notices() as notices:
        gold, joined_runs, baseline = settings.read(qrels, runs)
        groups = _groups_of(settings.groups, gold.queries)
        with progress_bar(len(joined_runs), "run", "evaluation") as advance:
            evaluation, pairs_of_runs = _evaluate(gold, joined_runs, metrics, settings, advance)
        comparisons = () if baseline is None else _comparisons(evaluation, baseline, groups, settings)
        worst = []
        if baseline is not None and settings.worst is not None:
            find = partial(compare.worst_evaluated, gold, pairs_of_runs, evaluation, k=settings.worst)
            worst = _worst(find, evaluation, metrics, baseline)
        pairs = [(comparison, pair.first, pair.second) for comparison in comparisons for pair in comparison.pairs]
        worse = _worse(pairs, settings.fail_if_worse)
        needed = _needed(comparisons, settings.needed)
        font_warnings = []
        if settings.plot is not None:
            font_warnings = replace(figure, out=settings.plot).save(lambda: plot_pairs(pairs))
    notes = [*console.notes_of(notices, []), *({"message": message} for message in font_warnings)]
    if report_path is not None:
        of_tests = (comparison.report() for comparison in comparisons)
        save_reports(reports_of_tests(evaluation.report(), of_tests), report_path)
    if as_json:
        content = evaluation.to_dict()
        shared = ("values", "queries", "coverage", "metric")  # with the evaluation
        of_metrics = {
            comparison.metric: {name: value for name, value in comparison.to_dict().items() if name not in shared}
            for comparison in comparisons
        }
        content |= {
            "groups": None if groups is None else evaluation.group_table(groups),
            "options": {**content["options"], "clusters": settings.clusters},
            "comparisons": of_metrics or None,
            "worst": worst or None,
            "needed": needed or None,
            "worse": None if settings.fail_if_worse is None else worse,
        }
        console.print_json({**content, "weights": weights.to_dict(), "warnings": notes})
        _fail_if(worse)
        return
    judged = f"{checks.counted(gold.n_queries, 'query', 'queries')}, {checks.counted(len(gold), 'judgement')}"
    click.echo(f"qrels: {', '.join(map(whole, (qrels, *settings.folds)))} ({judged})")
    console.put_tables_aside(settings.by_query)
    if groups is not None:
        others = [query for query in groups if query not in gold.places]
        more = f"; {checks.offending('queries that qrels do not have', others)}" if others else ""
        n_groups = len({group for query, group in groups.items() if query in gold.places})
        click.echo(f"groups: {whole(settings.groups)} ({checks.counted(n_groups, 'group')}{whole(more)})")
    if settings.clusters is not None:
        click.echo(f"clusters: {whole(settings.clusters)}; tests flip whole clusters")
    _print_means(evaluation, comparisons)
    _print_chance(pairs_of_runs, evaluation, metrics)
    for comparison in comparisons:
        explanation = f"{console.DETECTABLE}\n" if comparison is comparisons[0] else ""
        _print_differences(comparison, needed, explanation, has_verdict=settings.equivalent_within is not None)
    if groups is not None:
        click.echo()
        _print_rows(evaluation.group_table(groups), ("group", "run", "metric"), "Means of each group of queries.")
        for comparison in comparisons:
            _print_group_differences(comparison)
    for losses in worst:
        _print_worst(losses)
    console.put_tables_aside(False)
    if settings.by_query:
        _print_queries(evaluation)
    if settings.plot is not None:
        click.echo()
        click.echo(whole(Path(settings.plot)))
    console.print_notes(notes)
    _fail_if(worse)


def _evaluate(
    gold: Qrels, runs: Mapping[str, Run], metrics: Sequence[Metric], settings: QueryOptions, advance: Progress
) -> tuple[Evaluation, dict[str, Matched]]:
    """Evaluate runs, and return also their documents matched with qrels, which is done once."""
    policies = Policies(settings.unjudged, settings.unretrieved, settings.depth, settings.self_hits)
    draws = Draws.checked(NULL_RESAMPLES, settings.seed, None, lambda _: advance(0))
    matches, matched = match_runs(gold, runs, policies, draws.workers, draws.progress), dict[str, Matched]()
    choices: dict[str, Any] = {"undefined": settings.undefined, "standardized": settings.standardized}
    choices |= {"advance": advance, "matched": matched}
    return evaluate_matches(gold, matches, as_metrics(metrics), policies, draws, **choices), matched


def _worse(pairs: Iterable[tuple[RunComparison, str, str]], level: float | None) -> list[str]:
    """Sentences on the runs that are significantly worse than the baseline, or lack queries that it has.

    An undefined p-value is an error.
    """
    if level is None:
        return []
    worse_runs = []
    for comparison, first, second in pairs:
        pair, names = comparison.pair(first, second), f"{first} and {second} by {comparison.metric}"
        if math.isnan(pair.corrected_pvalue):
            raise OptionError(f"--fail-if-worse cannot compare {names}: no query has a value for both")
        if pair.difference < 0 and pair.corrected_pvalue <= level:
            worse_runs.append(f"{first} is worse than {second} by {comparison.metric}")
        one, other = (comparison.values[comparison.runs.index(name)] for name in (first, second))
        if n_lost := int(np.count_nonzero(np.isnan(one) & ~np.isnan(other))):
            queries = checks.counted(n_lost, "query", "queries")
            worse_runs.append(f"{first} has no {comparison.metric} for {queries} for which {second} has one")
    return worse_runs


def _needed(comparisons: Iterable[RunComparison], difference: float | None) -> list[dict[str, Any]]:
    """How many queries each difference needs; None where the pilot cannot tell."""
    if difference is None:
        return []
    needed = []
    for comparison in comparisons:
        for pair in comparison.pairs:
            is_known = not math.isnan(pair.detectable)
            queries = needed_items(pair, difference, level=comparison.level).to_dict() if is_known else None
            needed.append({"metric": comparison.metric, "first": pair.first, "queries": queries})
    return needed


def _fail_if(worse: Sequence[str]) -> None:
    """Print on stderr which runs are worse, and exit; the tables have the figures."""
    for line in worse:
        click.echo(f"rankcorr: {whole(line)}", err=True)
    if worse:
        click.get_current_context().exit(EXIT_WORSE)


def _comparisons(
    evaluation: Evaluation, baseline: str, groups: dict[str, str] | None, settings: QueryOptions
) -> tuple[RunComparison, ...]:
    shared = console.values_of(settings, "test", "level", "seed", "equivalent_within", "standardized")
    shared |= {"baseline": baseline, "groups": groups, "n_resamples": settings.resamples}
    shared["clusters"] = _groups_of(settings.clusters, evaluation.queries)
    with progress_bar(None, "resample", f"tests against {whole(baseline)}") as advance:
        return compare.compare_metrics(evaluation, **shared, progress=advance)


def _worst(
    find: Callable[..., Any], evaluation: Evaluation, metrics: Sequence[Metric], baseline: str
) -> list[dict[str, Any]]:
    """Find the queries on which each other run loses most against the baseline, and gains most, by each metric."""
    return [
        {
            "metric": name_of(metric),
            "coefficient": name_of(metric if isinstance(metric, Coefficient) else TauW()),
            "first": run,
            "second": baseline,
            **{direction: find(metric, run, baseline, direction=direction) for direction in WORSE_AND_BETTER},
        }
        for metric in metrics
        for run in evaluation.runs
        if run != baseline
    ]


def _print_means(evaluation: Evaluation, comparisons: Sequence[RunComparison]) -> None:
    for run, coverage in zip(evaluation.runs, evaluation.coverage, strict=True):
        click.echo(f"{whole(run)}: {_coverage_text(coverage, evaluation.options)}")
    for gap in evaluation.undefined:
        query_names = checks.first_few(list(map(label_text, gap.queries)))
        queries = checks.counted(len(gap.queries), "query", "queries")
        fate = {"omit": "left out of the mean", "zero": "counted as 0", "error": ""}[evaluation.options["undefined"]]
        click.echo(f"{whole(gap.run)}: {gap.metric} is undefined for {queries} ({fate}; {gap.reason}): {query_names}")
    click.echo()
    queries = checks.counted(len(evaluation.queries), "query", "queries")
    caption = f"Mean {', '.join(evaluation.metrics)} over {queries}."
    differing = [
        (pair.first, comparison.metric, comparison.standardized)
        for comparison in comparisons
        for pair in comparison.pairs
        if pair.corrected_pvalue <= checks.alpha_of(comparison.level)
    ]
    if comparisons:
        alpha, baseline = checks.alpha_of(comparisons[0].level), comparisons[0].baseline
        caption += f" †: differs significantly from {baseline} (corrected p at most {alpha:.3g})."
    _print_rows(evaluation.table(), ("run", "metric"), caption, differing)


def _print_rows(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    caption: str,
    differing: Collection[tuple[str, str, bool]] = (),
) -> None:
    """Print a table of means that begins with the columns `names`, aligned to the left.

    Runs that are `differing` by a metric, standardized or not, are marked in LaTeX.
    """
    columns = [column for column in ("mean", "standardized") if column in rows[0]]
    best: set[tuple[int, int]] = set()
    significant: set[tuple[int, int]] = set()
    for place, column in enumerate(columns, start=len(names)):
        best |= best_places([row[column] for row in rows], place, [(row.get("group"), row["metric"]) for row in rows])
        tests = [(row["run"], row["metric"], column == "standardized") for row in rows]
        significant |= {(number, place) for number, test in enumerate(tests) if test in differing}
    if best:
        caption += " Bold: best by each metric."
    table_columns = text_columns(whole, *names) | text_columns(number_text, *columns)
    table_columns["queries"] = ("n_queries", "{:,}")
    console.print_rows(rows, table_columns, TableNotes(caption, best, significant))


def _coverage_text(coverage: Coverage, policies: dict[str, Any]) -> str:
    """Return one line on the documents of a run: how many were compared, left out or missing."""
    unjudged = {"zero": "of relevance 0", "omit": "left out", "error": ""}[policies["unjudged"]]
    unretrieved = {"last": "last", "omit": "left out"}[policies["unretrieved"]]
    self_hits = "left out" if policies["self_hits"] == "omit" else "counted"
    absent, unknown = (
        checks.counted(len(missing), "query", "queries") for missing in (coverage.not_in_run, coverage.not_in_qrels)
    )
    parts = [
        f"{checks.counted(coverage.n_compared, 'document')} compared",
        f"{coverage.n_unjudged:,} unjudged ({unjudged})" if coverage.n_unjudged else "",
        f"{coverage.n_unretrieved:,} not retrieved ({unretrieved})" if coverage.n_unretrieved else "",
        f"{coverage.n_cut:,} beyond the depth" if coverage.n_cut else "",
        f"{coverage.n_self_hits:,} with the id of the query ({self_hits})" if coverage.n_self_hits else "",
        f"{absent} not in the run" if coverage.not_in_run else "",
        f"{unknown} not in qrels, left out" if coverage.not_in_qrels else "",
        checks.counted(coverage.n_negative, "negative judgement") if coverage.n_negative else "",
    ]
    return ", ".join(part for part in parts if part)


def _heading(comparison: RunComparison, place: str = "") -> str:
    """Return the heading of a table of differences."""
    standardized = ", standardized" * comparison.standardized
    draw_text = console.resamples_text(comparison.n_resamples, comparison.seed, comparison.unit)
    baseline = whole(comparison.baseline)
    return (
        f"{comparison.metric}{standardized}: difference from {baseline} over the queries{place} where both have a "
        f"value, {percent_text(comparison.level)} intervals, {comparison.test} test ({draw_text})"
    )


def test_columns(correction: str) -> dict[str, console.Column]:
    """Return the columns of tests of differences; the heading of the corrected p-values names the method."""
    return {
        "p (two-sided)": ("pvalue", pvalue_text),
        {STEP_DOWN: "p (step-down)", HOLM: "p (Holm)"}[correction]: ("corrected_pvalue", pvalue_text),
        "detectable": (("detectable", "pvalue"), console.detectable_text),
    }


def _difference_columns(correction: str, *, has_verdict: bool = False) -> dict[str, console.Column]:
    """Return the columns of a table of differences."""
    return {
        "run": ("first", whole),
        **text_columns(number_text, "difference", "low", "high"),
        **({"verdict": "{}"} if has_verdict else {}),
        **test_columns(correction),
        "effect size": ("effect_size", number_text),
        **{name: (f"n_{name}", "{:,}") for name in ("better", "worse", "queries")},
    }


def _print_differences(
    comparison: RunComparison, needed: Sequence[Mapping[str, Any]], explanation: str, *, has_verdict: bool
) -> None:
    """Print the differences from the baseline, with what makes them uncertain."""
    columns = _difference_columns(comparison.correction, has_verdict=has_verdict)
    console.print_tests(_heading(comparison), comparison.pairs, columns, comparison.level, explanation)
    console.print_too_few(comparison.pairs, comparison, "difference", "n_queries")
    for pair in comparison.pairs:
        if pair.fragile:
            decides = options.decisive_text("query", pair.pvalue, (pair.least, pair.most), comparison.level)
            click.echo(f"{whole(pair.first)}: {decides}")
    for entry in needed:
        if entry["metric"] == comparison.metric:
            click.echo(f"{whole(entry['first'])}: {console.needed_text(entry['queries'], 'queries')}")


def _print_group_differences(comparison: RunComparison) -> None:
    """Differences within each group; p-values are corrected over all of them."""
    rows = [{"group": group.group, **vars(pair)} for group in comparison.groups for pair in group.pairs]
    columns = {**text_columns(label_text, "group"), **_difference_columns(HOLM)}
    console.print_tests(_heading(comparison, " of each group"), rows, columns, comparison.level)
    pairs = [pair for group in comparison.groups for pair in group.pairs]
    console.print_too_few(pairs, comparison, "difference", "n_queries")


def _print_worst(entry: Mapping[str, Any]) -> None:
    """Print queries with their documents; the first line of each query has the values of both runs."""
    metric, first, second = entry["metric"], whole(entry["first"]), whole(entry["second"])
    header = ["query", first, second, "difference", "document", "relevance", f"rank in {first}", f"rank in {second}"]
    for direction in WORSE_AND_BETTER:
        title = f"{metric}: queries on which {first} is {direction} than {second}, largest differences first"
        click.echo(f"\n{title}{'' if entry[direction] else ': none'}")
        if entry[direction]:
            cost = f"cost: {entry['coefficient']} lost through this document by {first}, minus that lost by {second}"
            click.echo(f"{cost}\n")
            notes = TableNotes(f"{title}; {cost}")
            console.print_table([*header, "cost"], _worst_rows(entry[direction]), left=[4], notes=notes)


def _worst_rows(queries: Iterable[compare.QueryDifference]) -> Iterable[list[str]]:
    for query in queries:
        head = [label_text(query.query), *map(number_text, (query.first, query.second, query.difference))]
        if not query.documents:
            yield [*head, "-", "-", "-", "-", "-"]
        for row in query.documents:
            ranks = console.rank_text(row.first_rank), console.rank_text(row.second_rank)
            relevance = "unjudged" if math.isnan(row.relevance) else f"{row.relevance:g}"
            yield [*head, label_text(row.document), relevance, *ranks, number_text(row.cost)]
            head = ["", "", "", ""]


def _print_queries(evaluation: Evaluation) -> None:
    """A row for each metric and query, and a column for each run."""
    columns, n_queries = evaluation.by_query(), len(evaluation.queries)
    rows = [
        [metric, label_text(query), *values[place::n_queries]]
        for metric, values in columns.items()
        if metric not in ("run", "query")
        for place, query in enumerate(evaluation.queries)
    ]
    click.echo()
    notes = TableNotes("Values of each query.")
    console.print_table(["metric", "query", *map(whole, evaluation.runs)], rows, left=[1], notes=notes)


def _print_chance(pairs_of_runs: Mapping[str, Matched], evaluation: Evaluation, metrics: Sequence[Metric]) -> None:
    """Add the mean of a random order to each negative mean: it is not 0 if the top has more weight."""
    if evaluation.standardized is not None:
        return
    for metric in metrics:
        if not isinstance(metric, Coefficient) or type(metric.weighting.weigher) is Uniform:
            continue
        for name, pairs in pairs_of_runs.items():
            if not evaluation.mean(name_of(metric), name) < 0:
                continue
            level = chance_level(metric, pairs.x, pairs.y, pairs.offsets, evaluation.options["seed"])
            if abs(level) < 0.005:  # as with two documents
                continue
            click.echo(
                f"{whole(name)}: a random order of its documents would have a mean {name_of(metric)} of about "
                f"{level:z.2f}, not 0; --standardized also prints values with a chance level of 0"
            )
