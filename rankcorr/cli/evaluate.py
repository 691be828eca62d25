"""`rankcorr evaluate`: runs against qrels by query, with tests over queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import click

from rankcorr.cli.console import print_json, print_table
from rankcorr.cli.options import Weights, gathered, weight_options
from rankcorr.cli.output import (
    label_text,
    left_aligned,
    notes_of,
    percent_text,
    print_notes,
    pvalue_text,
    resamples_text,
)
from rankcorr.cli.resampling import json_option, level_option, resamples_option, seed_option
from rankcorr.coefficients import COEFFICIENTS
from rankcorr.errors import OptionError
from rankcorr.evaluation.columns import DUPLICATES
from rankcorr.evaluation.compare import compare_runs
from rankcorr.evaluation.comparison import RunComparison
from rankcorr.evaluation.errors import MissingMeasuresError
from rankcorr.evaluation.evaluate import UNDEFINED, evaluate
from rankcorr.evaluation.evaluation import Evaluation
from rankcorr.evaluation.files import FORMATS, read_qrels, read_run
from rankcorr.evaluation.judgements import Qrels, Run
from rankcorr.evaluation.matching import UNJUDGED, UNRETRIEVED, Coverage
from rankcorr.evaluation.metrics import as_metric
from rankcorr.evaluation.query_tests import TESTS
from rankcorr.io.records import printable
from rankcorr.notices import collected_notices
from rankcorr.progress import progress_bar

Command = TypeVar("Command", bound=Callable[..., Any])

RESAMPLES: Final = 10_000

_EXAMPLE = """\b
Example:
  rankcorr evaluate qrels.txt bm25.run lsa.run --metric tau_w --metric ndcg@10
  rankcorr evaluate qrels.txt bm25.run lsa.run --metric ndcg@10 --versus bm25.run
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
    click.option(
        "--unjudged",
        type=click.Choice(UNJUDGED),
        default=UNJUDGED[0],
        show_default=True,
        help="A retrieved document without a judgement: of relevance 0, left out, or an error.",
    ),
    click.option(
        "--unretrieved",
        type=click.Choice(UNRETRIEVED),
        default=UNRETRIEVED[0],
        show_default=True,
        help="A judged document that a run did not retrieve: last, or left out.",
    ),
    click.option("--depth", type=click.IntRange(min=1), metavar="K", help="Keep the first K documents of each query."),
    click.option(
        "--undefined",
        type=click.Choice(UNDEFINED),
        default=UNDEFINED[0],
        show_default=True,
        help="A query for which a metric does not exist: left out of the mean, 0, or an error.",
    ),
    click.option(
        "--standardized", is_flag=True, help="Also standardize rank correlations: chance gives 0 for each query."
    ),
    click.option("--by-query", is_flag=True, help="Print the values of each query."),
    click.option("--versus", metavar="RUN", help="Test the other runs against this one: a file or its name in tables."),
    click.option(
        "--test", type=click.Choice(TESTS), default=TESTS[0], show_default=True, help="Paired test over queries."
    ),
    level_option(),
    resamples_option(RESAMPLES, "Number of resamples of each interval and of each test."),
    seed_option(),
    click.option("--format", "form", type=click.Choice(FORMATS), help="Form of all files.  [default: told from each]"),
    click.option(
        "--duplicates",
        type=click.Choice(DUPLICATES),
        default=DUPLICATES[0],
        show_default=True,
        help="A document that a query has more than once: an error, or the first or the largest value counts.",
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
    test: Any
    level: float
    resamples: int
    seed: int
    form: Any
    duplicates: Any

    @property
    def policies(self) -> dict[str, Any]:
        """Options that `evaluate` and `compare_runs` share."""
        names = ("unjudged", "unretrieved", "depth", "undefined", "seed")
        return {name: getattr(self, name) for name in names}

    def chosen(self, weights: Weights) -> list[Any]:
        """Metrics by name, coefficients with the options of weights."""
        lower = [name.strip().lower() for name in self.metrics]
        pairs = zip(lower, self.metrics, strict=True)
        found = [weights.of(low) if low in COEFFICIENTS else name for low, name in pairs]
        try:
            return [as_metric(each) for each in found]
        except MissingMeasuresError as error:
            raise click.ClickException(str(error)) from error

    def read(self, qrels: str, runs: Sequence[str]) -> tuple[Qrels, dict[str, Run], str | None]:
        """Qrels, runs by name, and the name of the one to test against."""
        if [qrels, *runs].count("-") > 1:
            raise OptionError("'-' (standard input) can be given only once")
        gold = read_qrels(qrels, form=self.form, duplicates=self.duplicates)
        read = [read_run(path, form=self.form, duplicates=self.duplicates) for path in runs]
        short = len({run.name for run in read}) == len(read)
        found = {str(run.name) if short else path: run for path, run in zip(runs, read, strict=True)}
        if len(found) < len(read):
            raise OptionError("each run can be given only once")
        if self.versus is None:
            return gold, found, None
        if len(found) < 2:
            raise OptionError("--versus needs at least two runs")
        names = list(found)
        if self.versus in names:
            return gold, found, self.versus
        if self.versus in runs:
            return gold, found, names[list(runs).index(self.versus)]
        raise OptionError(f"--versus must be one of the runs, {', '.join(runs)}; got '{self.versus}'")


def query_options(command: Command) -> Command:
    """Add the options of an evaluation; the command takes them as a `QueryOptions` named `options`."""
    return cast(Command, gathered(command, _OPTIONS, "options", QueryOptions))


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
        with progress_bar(len(found), "run") as advance:
            evaluation = evaluate(
                gold,
                found,
                metrics=metrics,
                standardized=options.standardized,
                progress=advance,
                **options.policies,
            )
        comparisons = [] if baseline is None else _comparisons(gold, found, metrics, baseline, options)
    notes = notes_of(notices, [])
    if as_json:
        content = evaluation.to_dict()
        compared = {comparison.metric: _compared_json(comparison) for comparison in comparisons}
        print_json({**content, "comparisons": compared or None, "weights": weights.described(), "warnings": notes})
        return
    _print(evaluation, gold, qrels)
    for comparison in comparisons:
        _print_comparison(comparison, options)
    if options.by_query:
        _print_queries(evaluation)
    print_notes(notes)


def _comparisons(
    gold: Qrels, runs: dict[str, Run], metrics: Sequence[Any], baseline: str, options: QueryOptions
) -> list[RunComparison]:
    found = []
    for metric in metrics:
        is_coefficient = getattr(metric, "name", "") in COEFFICIENTS
        with progress_bar(None, "resample") as advance:
            found.append(
                compare_runs(
                    gold,
                    runs,
                    metric=metric,
                    standardized=options.standardized and is_coefficient,
                    baseline=baseline,
                    test=options.test,
                    level=options.level,
                    n_resamples=options.resamples,
                    progress=advance,
                    **options.policies,
                )
            )
    return found


def _compared_json(comparison: RunComparison) -> dict[str, Any]:
    """A comparison without the values by query, which the evaluation has."""
    content = comparison.to_dict()
    return {name: content[name] for name in content if name not in ("values", "queries", "coverage", "metric")}


def _print(evaluation: Evaluation, gold: Qrels, qrels: str) -> None:
    click.echo(f"qrels: {printable(qrels, limit=None)} ({gold.n_queries:,} queries, {len(gold):,} judgements)")
    for run, coverage in zip(evaluation.runs, evaluation.coverage, strict=True):
        click.echo(f"{printable(run, limit=None)}: {_coverage_text(coverage, evaluation.options)}")
    for each in evaluation.undefined:
        shown = ", ".join(label_text(query) for query in each.queries[:5]) + ", ..." * (len(each.queries) > 5)
        queries = "1 query" if len(each.queries) == 1 else f"{len(each.queries):,} queries"
        click.echo(f"{printable(each.run, limit=None)}: no {each.metric} for {queries}, {each.reason}: {shown}")
    click.echo()
    rows = evaluation.table()
    run, *names = left_aligned(["metric", *(row["metric"] for row in rows)])
    standardized = "standardized" in rows[0]
    print_table(
        ["run", run, "mean", *(["standardized"] * standardized), "queries"],
        [
            [
                printable(row["run"], limit=None),
                name,
                number_text(row["mean"]),
                *([number_text(row["standardized"])] if standardized else []),
                f"{row['n_queries']:,}",
            ]
            for name, row in zip(names, rows, strict=True)
        ],
    )


def _coverage_text(coverage: Coverage, options: dict[str, Any]) -> str:
    """What of a run was compared, on one line."""
    unjudged = {"zero": "of relevance 0", "omit": "left out", "error": ""}[options["unjudged"]]
    unretrieved = {"last": "last", "omit": "left out"}[options["unretrieved"]]
    parts = [
        f"{coverage.n_compared:,} documents compared",
        f"{coverage.n_unjudged:,} unjudged ({unjudged})" if coverage.n_unjudged else "",
        f"{coverage.n_unretrieved:,} not retrieved ({unretrieved})" if coverage.n_unretrieved else "",
        f"{coverage.n_cut:,} beyond the depth" if coverage.n_cut else "",
        f"{len(coverage.not_in_run):,} queries not in the run" if coverage.not_in_run else "",
        f"{len(coverage.not_in_qrels):,} queries not in qrels, left out" if coverage.not_in_qrels else "",
        f"{coverage.n_negative:,} negative judgements" if coverage.n_negative else "",
    ]
    return ", ".join(part for part in parts if part)


def _print_comparison(comparison: RunComparison, options: QueryOptions) -> None:
    standardized = ", standardized" * comparison.standardized
    drawn = resamples_text(options.resamples, options.seed, "queries")
    baseline = printable(str(comparison.baseline), limit=None)
    click.echo(
        f"\n{comparison.metric}{standardized}: difference from {baseline} over queries, "
        f"{percent_text(comparison.level)} intervals, {comparison.test} test ({drawn})\n"
    )
    print_table(
        ["run", "difference", "low", "high", "p", "p (corrected)", "effect size", "better", "worse", "queries"],
        [
            [
                printable(pair.first, limit=None),
                *(number_text(value) for value in (pair.difference, pair.low, pair.high)),
                pvalue_text(pair.pvalue),
                pvalue_text(pair.corrected_pvalue),
                number_text(pair.effect_size),
                *(f"{number:,}" for number in (pair.n_better, pair.n_worse, pair.n_queries)),
            ]
            for pair in comparison.pairs
        ],
    )


def _print_queries(evaluation: Evaluation) -> None:
    columns = evaluation.by_query()
    click.echo()
    query, *names = left_aligned(["query", *map(label_text, columns["query"])])
    others = [name for name in columns if name not in ("run", "query")]
    print_table(
        ["run", query, *others],
        [
            [printable(run, limit=None), name, *(number_text(columns[other][row]) for other in others)]
            for row, (run, name) in enumerate(zip(columns["run"], names, strict=True))
        ],
    )


def number_text(value: float) -> str:
    """Four decimals; "-" where there is no value."""
    return "-" if math.isnan(value) else f"{value:z.4f}"
