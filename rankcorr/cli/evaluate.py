"""`rankcorr evaluate`: runs against qrels by query, with tests over queries."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from rankcorr.checks import offending, repeated
from rankcorr.cli.evaluated import Evaluated, PairedQueries
from rankcorr.cli.figures import figure_option, print_path, saved_figure
from rankcorr.cli.options import (
    Command,
    Weights,
    check_names,
    check_stdin,
    choice_option,
    duplicates_option,
    gathered,
    names_option,
    weight_options,
)
from rankcorr.cli.output import notes_of, print_notes
from rankcorr.cli.resampling import json_option, level_option, resamples_option, seed_option
from rankcorr.coefficients import COEFFICIENTS, Coefficient, TauW
from rankcorr.errors import OptionError, RankingError
from rankcorr.evaluation.columns import DUPLICATES
from rankcorr.evaluation.compare import compare_evaluated
from rankcorr.evaluation.comparison import RunComparison
from rankcorr.evaluation.errors import MissingMeasuresError
from rankcorr.evaluation.evaluate import UNDEFINED, evaluate
from rankcorr.evaluation.evaluation import Evaluation
from rankcorr.evaluation.files import FORMATS, read_qrels, read_run
from rankcorr.evaluation.judgements import Qrels, Run
from rankcorr.evaluation.matching import UNJUDGED, UNRETRIEVED
from rankcorr.evaluation.metrics import Metric, as_metric, check_different, name_of
from rankcorr.evaluation.query_groups import grouped_queries, read_groups
from rankcorr.evaluation.query_tests import TESTS
from rankcorr.evaluation.worst import worst_evaluated
from rankcorr.notices import collected_notices, give_notice
from rankcorr.plots.queries import plot_pairs
from rankcorr.progress import progress_bar

RESAMPLES: Final = 10_000

_EXAMPLE = """\b
Example:
  rankcorr evaluate qrels.txt bm25.run lsa.run --metric tau_w --metric ndcg@10
  rankcorr evaluate qrels.txt bm25.run lsa.run --metric ndcg@10 --versus bm25.run
  rankcorr evaluate qrels.txt bm25.run lsa.run --name BM25 --name LSA --by-query
  rankcorr evaluate qrels.txt bm25.run lsa.run --versus bm25.run --groups genres.csv --worst 5 --plot differences.png
"""
_OPTIONS = (
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        default=("tau_w",),
        show_default=True,
        metavar="NAME",
        help="tau_w, rho_w, tau, rho, ap, p@10, tau_ap, rbo, or one of ir_measures, as ndcg@10; may be repeated.",
    ),
    choice_option(
        "--unjudged",
        UNJUDGED,
        "A retrieved document without a judgement: of relevance 0, left out, or an error.",
    ),
    choice_option(
        "--unretrieved",
        UNRETRIEVED,
        "A judged document that a run did not retrieve: last, or left out.",
    ),
    click.option("--depth", type=click.IntRange(min=1), metavar="K", help="Keep the first K documents of each query."),
    choice_option(
        "--undefined",
        UNDEFINED,
        "A query for which a metric does not exist: left out of the mean, 0, or an error.",
    ),
    click.option(
        "--standardized", is_flag=True, help="Also standardize rank correlations: chance gives 0 for each query."
    ),
    click.option("--by-query", is_flag=True, help="Print the values of each query, those of two runs side by side."),
    click.option("--versus", metavar="RUN", help="Test the other runs against this one: a file or its name in tables."),
    names_option("run"),
    choice_option("--test", TESTS, "Paired test over queries."),
    click.option(
        "--groups",
        metavar="FILE",
        help="Also judge each group of queries, such as a genre, alone: CSV or TSV with the columns query and group.",
    ),
    click.option(
        "--worst",
        type=click.IntRange(min=1),
        metavar="K",
        help="List the K queries on which a run differs most from that of --versus, and the documents that make the "
        "difference.",
    ),
    figure_option("--plot", "Draw the differences from the run of --versus by query"),
    level_option(),
    resamples_option(RESAMPLES, "Number of resamples of each interval and of each test."),
    seed_option(),
    click.option("--format", "form", type=click.Choice(FORMATS), help="Form of all files.  [default: told from each]"),
    duplicates_option(
        DUPLICATES, "A document that a query has more than once: an error, or the first or the largest value counts."
    ),
)


@dataclass(frozen=True)
class QueryOptions:
    """What runs are evaluated by."""

    metrics: tuple[str, ...]
    unjudged: Any
    unretrieved: Any
    depth: int | None
    undefined: Any
    standardized: bool
    by_query: bool
    versus: str | None
    names: tuple[str, ...]
    test: Any
    groups: str | None
    worst: int | None
    plot: str | None
    level: float
    resamples: int
    seed: int
    form: Any
    duplicates: Any

    def __post_init__(self) -> None:
        for option, value in (("--worst", self.worst), ("--plot", self.plot)):
            if value is not None and self.versus is None:
                raise OptionError(f"{option} belongs to --versus, which is missing")

    @property
    def policies(self) -> dict[str, Any]:
        """Options that `evaluate` and `compare_runs` share."""
        names = ("unjudged", "unretrieved", "depth", "undefined", "seed")
        return {name: getattr(self, name) for name in names}

    def chosen(self, weights: Weights) -> list[Metric]:
        """Metrics by name, coefficients with the options of weights."""
        lower = [name.strip().lower() for name in self.metrics]
        pairs = zip(lower, self.metrics, strict=True)
        found = [weights.of(low) if low in COEFFICIENTS else name for low, name in pairs]
        try:
            metrics = [as_metric(each) for each in found]
        except MissingMeasuresError as error:
            raise click.ClickException(str(error)) from error
        check_different(metrics, self.metrics)
        return metrics

    def read(self, qrels: str, runs: Sequence[str]) -> tuple[Qrels, dict[str, Run], str | None]:
        """Qrels, runs by name, and the name of the one to test against."""
        check_stdin([qrels, *runs, *([] if self.groups is None else [self.groups])])
        check_names(self.names, len(runs), "run")
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


def query_options(command: Command) -> Command:
    """Add the options of an evaluation; the command takes them as a `QueryOptions` named `options`."""
    return gathered(command, _OPTIONS, "options", QueryOptions)


@click.command("evaluate", epilog=_EXAMPLE, short_help="Evaluate runs by query against qrels.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@query_options
@weight_options
@json_option()
def evaluate_command(qrels: str, runs: tuple[str, ...], options: QueryOptions, weights: Weights, as_json: bool) -> None:
    """Evaluate the RUN files by query against QRELS.

    Files are TREC's, MS MARCO's or BEIR's, or JSON, perhaps compressed by gzip ('-' is stdin). AP and P@k are those of
    trec_eval. Intervals and tests are over queries: --versus says which runs differ from one, and by how much.
    """
    metrics = options.chosen(weights)
    with collected_notices() as notices:
        gold, found, baseline = options.read(qrels, runs)
        groups = options.read_groups(gold.queries)
        with progress_bar(len(found), "run") as advance:
            evaluation = evaluate(
                gold,
                found,
                metrics=metrics,
                standardized=options.standardized,
                progress=advance,
                **options.policies,
            )
        comparisons = [] if baseline is None else _comparisons(evaluation, metrics, baseline, groups, options)
        worst = [] if baseline is None else _worst(gold, found, evaluation, metrics, baseline, options.worst)
        lacking = [] if options.plot is None else _plot(comparisons, options.plot)
    answer = Evaluated(evaluation, tuple(comparisons), groups, tuple(worst))
    notes = [*notes_of(notices, []), *({"message": message} for message in lacking)]
    if as_json:
        answer.print_json(weights.described(), notes)
        return
    answer.print(gold, qrels, options.groups, by_query=options.by_query, baseline=baseline)
    if options.plot is not None:
        click.echo()
        print_path(options.plot)
    print_notes(notes)


def _comparisons(
    evaluation: Evaluation,
    metrics: Sequence[Metric],
    baseline: str,
    groups: dict[str, str] | None,
    options: QueryOptions,
) -> list[RunComparison]:
    found = []
    for metric in metrics:
        with progress_bar(None, "resample") as advance:
            found.append(
                compare_evaluated(
                    evaluation,
                    name_of(metric),
                    standardized=options.standardized and isinstance(metric, Coefficient),
                    baseline=baseline,
                    groups=groups,
                    test=options.test,
                    level=options.level,
                    n_resamples=options.resamples,
                    seed=options.seed,
                    progress=advance,
                )
            )
    return found


def _worst(
    gold: Qrels,
    runs: dict[str, Run],
    evaluation: Evaluation,
    metrics: Sequence[Metric],
    baseline: str,
    k: int | None,
) -> list[PairedQueries]:
    """The queries on which each other run differs most from the baseline, by each metric."""
    if k is None:
        return []
    return [
        PairedQueries(
            name_of(metric),
            name_of(metric if isinstance(metric, Coefficient) else TauW()),
            run,
            baseline,
            worst_evaluated(gold, runs, evaluation, metric, run, baseline, k=k),
        )
        for metric in metrics
        for run in runs
        if run != baseline
    ]


def _plot(comparisons: Sequence[RunComparison], path: str) -> list[str]:
    """Draw each pair of each comparison; return what matplotlib warned of."""
    pairs = [(comparison, pair.first, pair.second) for comparison in comparisons for pair in comparison.pairs]
    return saved_figure(lambda: plot_pairs(pairs), path)
