"""Compare runs over queries: means with intervals, tests of pairs, groups of runs, and what causes differences."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from rankcorr import _checks as checks
from rankcorr._coefficients import Coefficient, TauW
from rankcorr._contributions import contributions
from rankcorr._output.results import Result, ResultRows, read_only
from rankcorr._ranking import Ranking
from rankcorr._workers import Draws, Progress
from rankcorr.errors import OptionError
from rankcorr.evaluation._columns import rows_of
from rankcorr.evaluation._comparison.query_tests import RANDOMIZATION, TESTS, Plan, Test, compare_columns
from rankcorr.evaluation._comparison.results import HOLM, STEP_DOWN, RunComparison, correct_pairs
from rankcorr.evaluation._evaluate import Evaluation, evaluate, evaluate_matches
from rankcorr.evaluation._matching import Matched, Policies, SelfHits, Unjudged, Unretrieved, match_runs
from rankcorr.evaluation._metric_values import UndefinedPolicy
from rankcorr.evaluation._metrics import Metric, MetricLike, as_metrics, largest_difference, name_of, table_name
from rankcorr.evaluation._nulls import RESAMPLES
from rankcorr.evaluation._qrels import Qrels, with_common_ids
from rankcorr.evaluation._sources import QrelsLike, RunsLike, cluster_numbers, grouped_queries, qrels_of, runs_of
from rankcorr.inference._multiple_tests import holm


def compare_runs(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metric: MetricLike = "tau_w",
    standardized: bool = False,
    test: Test = RANDOMIZATION,
    baseline: str | None = None,
    groups: Mapping[Any, Hashable] | Any = None,
    clusters: Mapping[Any, Hashable] | Any = None,
    equivalent_within: float | None = None,
    unjudged: Unjudged = "zero",
    unretrieved: Unretrieved = "last",
    depth: int | None = None,
    self_hits: SelfHits = "warn",
    undefined: UndefinedPolicy = "omit",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RunComparison:
    """Compare runs over queries, with intervals, tests and groups.

    The unit is the query: queries are resampled, and runs exchange whole queries. The results therefore apply to
    further queries of the same kind. A test that resampled documents would reject for about a third of all pairs of
    equally good runs at the 5 % level.

    - Tests are paired and two-sided. "randomization" flips the signs of the differences, and enumerates all flips for
      up to 12 queries. "t" is Student's test. If all n differences are equal, "t" and "bootstrap" have no noise to
      compare them with, and their p-value is that of the randomization test, 2^(1 - n). The interval of a difference
      inverts its test; with few queries it can be unbounded.
    - The interval of a run's mean is a bootstrap-t interval from resampled queries. It applies to further queries of
      the same kind, and does not compare runs.
    - P-values are corrected for all pairs, or with a baseline for all pairs that include it, by a step-down method: the
      signs of all pairs are flipped together, and each difference is compared with the largest difference in each flip.
      Ranks, groups and p-values against the best run are based on this correction for all pairs with every `test`.

    docs/results/levels.md has the measured levels of the tests, also for runs that fail on a few queries.

    Parameters
    ----------
    qrels, runs, unjudged, unretrieved, depth, self_hits, undefined
        As in `evaluate`. Pairs are compared over the queries with a value for both.
    metric : str, Coefficient or measure of ir_measures
        One metric of `evaluate`.
    standardized : bool, default False
        Compare standardized values, for a rank correlation.
    test : {"randomization", "t", "bootstrap"}
        "randomization" and corrected p-values assume that queries are independent and that runs are exchangeable on
        each query, so that differences are symmetric about 0. Equal means are not enough. "bootstrap" tests equal
        means by a bootstrap-t interval, and needs more queries.
    baseline : str, optional
        Name of a run. Each other run is then compared with it, instead of all pairs.
    groups : mapping of query to group, or data frame, optional
        The group of each query of qrels, such as its genre or language. Pairs are also compared within each group. A
        frame has a column of queries, named as in `Qrels.from_frame`, and either one other column or one called
        "group".
    clusters : mapping of query to cluster, or data frame, optional
        The cluster of each query, if queries are not independent, such as the variants of one information need; in the
        form of `groups`. Whole clusters are then flipped and resampled.
    equivalent_within : float, optional
        A margin in the units of the metric. Each pair then has a `verdict`: "equivalent" if two one-sided tests at
        1 - level show that the difference lies within the margin; otherwise "better" or "worse" if its two-sided test
        rejects, and "undecided" if it does not. Verdicts are not corrected for the number of pairs. The level must be
        above 0.5.
    level : float, default 0.95
        Level of confidence.
    n_resamples : int, default 10,000
        Number of resamples of intervals and tests; at least 2 / (1 - level) - 1.
    seed : int, default 0
        The same seed gives the same result; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The result does not depend on it.
    progress : callable, optional
        Called with 1 after each run is evaluated, and with the number of resamples done since the last call.

    Returns
    -------
    RunComparison

    Raises
    ------
    RankingError
        As `evaluate`; `OptionError` for fewer than two runs, an unknown baseline, or queries without a group.

    See Also
    --------
    evaluate : The values themselves.
    compare_evaluated : The same for runs that are already evaluated.
    worst : The queries on which two runs differ most.
    rankcorr.plots.plot_queries : Draw the differences by query.

    References
    ----------
    M. D. Smucker, J. Allan and B. Carterette, A comparison of statistical significance tests for information retrieval
    evaluation, CIKM 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr.evaluation import compare_runs
    >>> rng = np.random.default_rng(0)
    >>> qrels = {f"q{q}": {f"d{d}": int(rng.integers(3)) for d in range(10)} for q in range(30)}
    >>> runs = {
    ...     name: {q: {d: rel + noise * rng.normal() for d, rel in rels.items()} for q, rels in qrels.items()}
    ...     for name, noise in {"careful": 0.5, "hasty": 2.0}.items()
    ... }
    >>> comparison = compare_runs(qrels, runs)
    >>> pair = comparison.pair("careful", "hasty")
    >>> pair.difference > 0.3, pair.pvalue < 0.001, pair.low > 0.2
    (True, True, True)
    """
    named = as_metrics(metric)
    if len(named) != 1:
        raise OptionError(f"one metric is needed to compare runs; got {checks.shown(metric)}")
    ((name, measure),) = named.items()
    # Check the options of the comparison before the evaluation, which takes longer.
    is_standardized, named_runs = checks.checked_flag(standardized, "standardized"), runs_of(runs)
    if is_standardized and not isinstance(measure, Coefficient):
        raise OptionError(f"only rank correlations can be standardized; got {checks.shown(metric)}")
    confidence = _checked_level(named_runs, test, baseline, level)
    Draws.checked(n_resamples, seed, workers, progress).check_reach(confidence)
    checks.checked_margin(equivalent_within, confidence)
    policies: dict[str, Any] = {"unjudged": unjudged, "unretrieved": unretrieved, "depth": depth}
    policies["self_hits"] = self_hits
    tested: dict[str, Any] = {"test": test, "baseline": baseline, "level": level, "n_resamples": n_resamples}
    tested["equivalent_within"] = equivalent_within
    shared: dict[str, Any] = {"standardized": is_standardized, "seed": seed, "workers": workers, "progress": progress}
    evaluation = evaluate(
        qrels, named_runs, metrics=[measure], undefined=undefined, n_resamples=RESAMPLES, **policies, **shared
    )
    return compare_evaluated(evaluation, name, groups=groups, clusters=clusters, **tested, **shared)


def compare_evaluated(
    evaluation: Evaluation,
    metric: MetricLike | None = None,
    *,
    standardized: bool = False,
    test: Test = RANDOMIZATION,
    baseline: str | None = None,
    groups: Mapping[Any, Hashable] | Any = None,
    clusters: Mapping[Any, Hashable] | Any = None,
    equivalent_within: float | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RunComparison:
    """Compare runs that are already evaluated, as `compare_runs` does.

    Parameters
    ----------
    evaluation : Evaluation
        An evaluation of two or more runs.
    metric : str, coefficient or measure of ir_measures, optional
        One of its metrics; may be omitted if it has only one.
    standardized, test, baseline, groups, clusters, equivalent_within, level, n_resamples, seed, workers, progress
        As in `compare_runs`.

    Raises
    ------
    OptionError
        As `compare_runs`, and if the evaluation lacks the metric or standardized values.

    See Also
    --------
    compare_runs : Evaluate and compare in one call.
    corrected_together : Correct the p-values of several metrics together.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_evaluated, evaluate
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(3)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {name: dict.fromkeys(qrels, scores) for name, scores in {"good": good, "poor": poor}.items()}
    >>> comparison = compare_evaluated(evaluate(qrels, runs, metrics=["tau_w", "ap"]), "ap")
    >>> comparison.pairs[0].difference == comparison.rows[0].mean - comparison.rows[1].mean
    True
    """
    if not isinstance(evaluation, Evaluation):
        raise OptionError(f"evaluation must be an Evaluation, as evaluate returns; got {checks.shown(evaluation)}")
    draws = Draws.checked(n_resamples, seed, workers, progress)
    confidence = _checked_level(evaluation.runs, test, baseline, level)
    draws.check_reach(confidence)
    is_standardized = checks.checked_flag(standardized, "standardized")
    name = None if metric is None else table_name(evaluation.metrics, metric)
    if is_standardized and name is not None and name not in {chance.metric for chance in evaluation.chance}:
        raise OptionError(f"only rank correlations can be standardized; got {checks.shown(name)}")
    columns = np.array([evaluation.of(name, run, standardized=is_standardized) for run in evaluation.runs])
    parts = grouped_queries(groups, evaluation.queries)
    name = evaluation.metrics[0] if name is None else name
    bound = largest_difference(name)
    numbers = cluster_numbers(clusters, evaluation.queries)
    margin = checks.checked_margin(equivalent_within, confidence)
    plan = Plan(evaluation.runs, evaluation.queries, test, baseline, confidence, draws, bound, numbers, margin)
    order, rows, pairs, by_group = compare_columns(columns.T, parts, plan)
    return RunComparison(
        rows=rows,
        pairs=pairs,
        groups=by_group,
        queries=evaluation.queries,
        values=read_only(np.ascontiguousarray(columns[order])),
        coverage=tuple(evaluation.coverage[run] for run in order),
        metric=name,
        standardized=is_standardized,
        test=test,
        unit="queries" if clusters is None else "clusters",
        baseline=baseline,
        correction=STEP_DOWN,
        level=confidence,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
    )


def corrected_together(comparisons: Iterable[RunComparison]) -> tuple[RunComparison, ...]:
    """Correct the p-values of several comparisons, such as those of several metrics, together by Holm's method.

    Pairs over all queries are one family of tests, and pairs within groups of queries another. A single comparison is
    returned unchanged.

    See Also
    --------
    compare_evaluated : The comparison for one metric.
    rankcorr.holm : The correction alone.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_evaluated, corrected_together, evaluate
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {name: dict.fromkeys(qrels, scores) for name, scores in {"good": good, "poor": poor}.items()}
    >>> evaluation = evaluate(qrels, runs, metrics=["tau_w", "ap"])
    >>> comparisons = corrected_together(compare_evaluated(evaluation, metric) for metric in evaluation.metrics)
    >>> [(c.metric, c.pairs[0].pvalue, c.pairs[0].corrected_pvalue) for c in comparisons]
    [('tau_w', 0.03125, 0.0625), ('ap', 0.03125, 0.0625)]
    """
    family = tuple(comparisons)
    if len(family) == 1:
        return family
    overall_pvalues = iter(holm([pair.pvalue for comparison in family for pair in comparison.pairs]))
    group_pvalues = iter(
        holm([pair.pvalue for comparison in family for group in comparison.groups for pair in group.pairs])
    )
    return tuple(
        replace(
            comparison,
            pairs=correct_pairs(comparison.pairs, overall_pvalues),
            groups=tuple(
                replace(group, pairs=correct_pairs(group.pairs, group_pvalues)) for group in comparison.groups
            ),
            correction=HOLM,
        )
        for comparison in family
    )


def compare_metrics(evaluation: Evaluation, *, standardized: bool = False, **options: Any) -> tuple[RunComparison, ...]:
    """Compare runs by each metric of an evaluation, with one correction for all (`corrected_together`).

    Parameters
    ----------
    evaluation : Evaluation
    standardized : bool, default False
        Compare the standardized values of rank correlations; other metrics have none.
    **options
        Options of `compare_evaluated`.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {"good": dict.fromkeys(qrels, good), "poor": dict.fromkeys(qrels, poor)}
    >>> [comparison.correction for comparison in compare_metrics(evaluate(qrels, runs, metrics=["tau_w", "ap"]))]
    ['holm', 'holm']
    """
    correlations = {chance.metric for chance in evaluation.chance} if standardized else set()
    return corrected_together(
        compare_evaluated(evaluation, metric, standardized=metric in correlations, **options)
        for metric in evaluation.metrics
    )


def _checked_level(runs: Collection[str], test: Test, baseline: str | None, level: float) -> float:
    """Check the options of a comparison of these runs, and return the level of confidence."""
    checks.check_choice("test", test, TESTS)
    if len(runs) < 2:
        raise OptionError(f"at least two runs are needed to compare; got {', '.join(map(checks.shown, runs))}")
    if baseline is not None:
        checks.check_choice("baseline", baseline, tuple(runs))
    return checks.checked_level(level)


Direction: TypeAlias = Literal["either", "worse", "better"]

DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)
N_DOCUMENTS: Final = 5


@dataclass(frozen=True, eq=False)
class DocumentDifference(Result):
    """A document of a query, with its ranks in two runs.

    Attributes
    ----------
    document : str or int
    relevance : float
        nan for a document without a judgement; with ``unjudged="zero"`` it counts as 0.
    first_rank, second_rank : float
        Mid-ranks among the documents compared; documents that a run did not retrieve are tied in last place. nan if the
        document is not compared for this run.
    cost : float
        The cost of the document for the first run minus its cost for the second, as defined in `worst`.

    See Also
    --------
    worst : Lists them by query.
    QueryDifference : The query they belong to.

    Examples
    --------
    >>> from rankcorr.evaluation import worst
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> runs = {"old": {"q2": {"a": 1, "d": 2}}, "new": {"q2": {"a": 2, "d": 1}}}
    >>> for loss in worst(qrels, runs, k=1)[0].documents:
    ...     print(loss.document, loss.relevance, loss.first_rank, loss.second_rank, round(loss.cost, 4))
    a 0.0 2.0 1.0 -1.0
    d 1.0 1.0 2.0 -1.0
    """

    document: Hashable
    relevance: float
    first_rank: float
    second_rank: float
    cost: float


@dataclass(frozen=True, eq=False)
class QueryDifference(Result):
    """A query, its values for two runs, and the documents that cause the difference.

    Attributes
    ----------
    query : str or int
    first, second, difference : float
        Values of the two runs, and the first minus the second.
    documents : tuple of DocumentDifference
        Documents with the largest differences in cost, in either direction; empty if the coefficient is undefined for
        one of the runs, for example because it lacks the query.

    See Also
    --------
    worst : Returns them.
    DocumentDifference : The type of its documents.

    Examples
    --------
    >>> from rankcorr.evaluation import worst
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> runs = {"old": {"q2": {"a": 1, "d": 2}}, "new": {"q2": {"a": 2, "d": 1}}}
    >>> query = worst(qrels, runs, k=1)[0]
    >>> query.query, query.first, query.second, query.difference
    ('q2', 1.0, -1.0, 2.0)
    """

    query: Hashable
    first: float
    second: float
    difference: float
    documents: tuple[DocumentDifference, ...]


def worst(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metric: MetricLike = "tau_w",
    first: str | None = None,
    second: str | None = None,
    k: int = 10,
    direction: Direction = "either",
    unjudged: Unjudged = "zero",
    unretrieved: Unretrieved = "last",
    depth: int | None = None,
    self_hits: SelfHits = "warn",
) -> tuple[QueryDifference, ...]:
    """List the queries with the largest difference between two runs, and up to five documents that cause it.

    The cost of a document for a run is its part of 1 - tau_w, as in `contributions`. If the metric is another rank
    correlation, the cost is its part of 1 minus that.

    Parameters
    ----------
    qrels, runs, metric, unjudged, unretrieved, depth, self_hits
        As in `compare_runs`.
    first, second : str, optional
        Names of the two runs; may be omitted if there are only two.
    k : int, default 10
        Number of queries.
    direction : {"either", "worse", "better"}
        List the queries with the largest differences in either direction, or only those for which the first run is
        worse, or better, than the second.

    Returns
    -------
    tuple of QueryDifference
        The largest difference first. Queries without a value for one of the runs are not listed.

    Raises
    ------
    RankingError
        As `compare_runs`.

    See Also
    --------
    compare_runs : Tests of the differences.
    rankcorr.contributions : The parts of the items of one ranking.

    Examples
    --------
    >>> from rankcorr.evaluation import worst
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> runs = {
    ...     "old": {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1, "d": 2}},
    ...     "new": {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 2, "d": 1}},
    ... }
    >>> query = worst(qrels, runs, k=1)[0]
    >>> query.query, query.difference, [loss.document for loss in query.documents]
    ('q2', 2.0, ['a', 'd'])
    """
    (measure,) = as_metrics([metric]).values()
    k = checks.checked_count(k, "k")
    checks.check_choice("direction", direction, DIRECTIONS)
    gold, named_runs = with_common_ids(qrels_of(qrels), runs_of(runs))
    names = tuple(named_runs)
    if first is None and second is None and len(names) == 2:
        first, second = names
    checks.check_choice("first", first, names)
    checks.check_choice("second", second, names)
    pair = {str(first): named_runs[str(first)], str(second): named_runs[str(second)]}
    if len(pair) < 2:
        raise OptionError(f"two different runs are needed; got {checks.shown(first)} twice")
    policies = Policies(unjudged, unretrieved, depth, self_hits)
    draws = Draws.checked(RESAMPLES, 0, None, None)
    matches = list(match_runs(gold, pair, policies, draws.workers))
    evaluation = evaluate_matches(gold, matches, {name_of(measure): measure}, policies, draws)
    pairs = {match.name: match.pairs for match in matches}
    return worst_evaluated(gold, pairs, evaluation, measure, str(first), str(second), k=k, direction=direction)


def worst_evaluated(
    gold: Qrels,
    matches: Mapping[str, Matched],
    evaluation: Evaluation,
    metric: Metric,
    first: str,
    second: str,
    *,
    k: int,
    direction: Direction,
) -> tuple[QueryDifference, ...]:
    """Return the result of `worst` for runs that are already matched and evaluated; arguments are not checked."""
    values = [evaluation.of(name_of(metric), run) for run in (first, second)]
    differences = values[0] - values[1]
    is_listed = {"either": ~np.isnan(differences), "worse": differences < 0, "better": differences > 0}[direction]
    order = np.argsort(np.where(is_listed, -np.abs(differences), 1), kind="stable")[: np.count_nonzero(is_listed)]
    coefficient = metric if isinstance(metric, Coefficient) else TauW()
    return ResultRows(
        QueryDifference(
            query=gold.queries[query],
            first=float(values[0][query]),
            second=float(values[1][query]),
            difference=float(differences[query]),
            documents=_documents(gold, [matches[first], matches[second]], coefficient, query),
        )
        for query in order[:k].tolist()
    )


def _documents(
    gold: Qrels, matches: list[Matched], coefficient: Coefficient, query: int
) -> tuple[DocumentDifference, ...]:
    """Return the compared documents of a query, those with the largest difference in cost between the runs first."""
    parts = [_places(pairs, coefficient, query) for pairs in matches]
    if not all(parts):
        return ()
    relevance = gold[gold.queries[query]]
    nothing = (float("nan"), 0.0)
    rows = []
    for document in dict.fromkeys([*parts[0], *parts[1]]):
        (first_rank, first_cost), (second_rank, second_cost) = (part.get(document, nothing) for part in parts)
        cost = first_cost - second_cost
        rows.append(DocumentDifference(document, relevance.get(document, float("nan")), first_rank, second_rank, cost))
    return ResultRows(sorted(rows, key=lambda row: -abs(row.cost))[:N_DOCUMENTS])


def _places(pairs: Matched, coefficient: Coefficient, query: int) -> dict[Hashable, tuple[float, float]]:
    """Return the rank and cost of each document of a query; empty if the coefficient is undefined."""
    rows = rows_of(pairs.offsets, query)
    if rows.stop - rows.start < 2:
        return {}
    x, y = Ranking.from_scores(pairs.x[rows]), Ranking.from_scores(pairs.y[rows])
    with checks.collected_notices() as notices:
        parts = contributions(x, y, coefficient=coefficient)
    if notices:
        return {}
    documents = [pairs.documents[code] for code in pairs.codes[rows].tolist()]
    return dict(zip(documents, zip(y.ranks.tolist(), parts.cost.tolist(), strict=True), strict=True))
