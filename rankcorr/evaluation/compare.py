"""Runs by query -> means with intervals, tests of pairs, groups of runs that cannot be told apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from rankcorr.checks import check_choice, checked_flag, checked_level, shown
from rankcorr.coefficients import Coefficient
from rankcorr.errors import OptionError
from rankcorr.evaluation.compared import Options, compared
from rankcorr.evaluation.comparison import RunComparison
from rankcorr.evaluation.evaluate import RESAMPLES, RunsLike, UndefinedPolicy, evaluate, runs_of
from rankcorr.evaluation.evaluation import Evaluation
from rankcorr.evaluation.judgements import QrelsLike
from rankcorr.evaluation.matching import Unjudged, Unretrieved
from rankcorr.evaluation.metrics import MetricLike, as_metrics
from rankcorr.evaluation.query_groups import grouped_queries
from rankcorr.evaluation.query_tests import RANDOMIZATION, TESTS, Test
from rankcorr.inference.resampling import Draws
from rankcorr.workers import Progress


def compare_runs(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metric: MetricLike = "tau_w",
    standardized: bool = False,
    test: Test = RANDOMIZATION,
    baseline: str | None = None,
    groups: Mapping[Any, Hashable] | Any = None,
    unjudged: Unjudged = "zero",
    unretrieved: Unretrieved = "last",
    depth: int | None = None,
    undefined: UndefinedPolicy = "omit",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RunComparison:
    """Compare runs over queries: which is better, by how much, and how sure that is.

    The unit is the query: queries are resampled, and runs exchange whole queries, so that the figures speak of further
    queries of the same kind. A test that resamples documents would call 35 of 100 pairs of equally good runs different
    at the level of 5 %.

    - Intervals are bootstrap-t intervals of means, and of mean differences, from resampled queries; with up to four
      queries they may have no end.
    - Tests are paired and two-sided. "randomization" flips the signs of the differences, all of them up to 12 queries;
      "t" is Student's test; "bootstrap" compares the studentized mean with those of resampled queries.
    - P-values of pairs are corrected by Holm's method. Those against the best run, and the groups, are those of
      `leaderboard`: they allow for a best run that was found by looking, by the range of all runs when they exchange
      places within queries.

    Measured for exchangeable runs whose difficulty differs by query (benchmarks/evaluation_levels.py; 2,000 data sets
    each): the share of p-values up to 0.05 is 0.043 to 0.058 for 30, 100 and 1,000 queries and the three tests.

    Parameters
    ----------
    qrels, runs, unjudged, unretrieved, depth, undefined
        As in `evaluate`. Pairs are compared over the queries for which both have a value.
    metric : str, Coefficient or measure of ir_measures
        One metric of `evaluate`.
    standardized : bool, default False
        Compare standardized values, for a rank correlation.
    test : {"randomization", "t", "bootstrap"}
    baseline : str, optional
        Name of a run; pairs are then of each other run with it.
    groups : mapping of query to group, or data frame, optional
        Such as genre or language; every query of qrels needs one. Pairs are compared within each group too. A frame has
        a column of queries, called as in `Qrels.from_frame`, and either one other column or one called "group".
    level : float, default 0.95
    n_resamples : int, default 10,000
        Number of resamples of intervals and tests.
    seed : int
    workers : int, optional
    progress : callable, optional
        Called with 1 after each run is evaluated, and with the number of resamples done since the last call.

    Returns
    -------
    RunComparison

    Raises
    ------
    RankingError
        As `evaluate`; `OptionError` for fewer than two runs, an unknown baseline, or queries without a group.

    References
    ----------
    M. D. Smucker, J. Allan and B. Carterette, A comparison of statistical significance tests for information retrieval
    evaluation, CIKM 2007.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> qrels = {f"q{q}": {f"d{d}": int(rng.integers(3)) for d in range(10)} for q in range(30)}
    >>> runs = {
    ...     name: {q: {d: rel + noise * rng.normal() for d, rel in found.items()} for q, found in qrels.items()}
    ...     for name, noise in {"careful": 0.5, "hasty": 2.0}.items()
    ... }
    >>> comparison = compare_runs(qrels, runs)
    >>> pair = comparison.pair("careful", "hasty")
    >>> pair.difference > 0.3, pair.pvalue < 0.001, pair.low > 0.2
    (True, True, True)
    """
    named = as_metrics(metric)
    if len(named) != 1:
        raise OptionError(f"one metric is wanted to compare runs; got {shown(metric)}")
    ((name, chosen),) = named.items()
    wanted = checked_flag(standardized, "standardized")
    if wanted and not isinstance(chosen, Coefficient):
        raise OptionError(f"only rank correlations can be standardized; got {shown(metric)}")
    found = _checked(runs_of(runs), test, baseline)
    checked_level(level)
    Draws.checked(n_resamples, seed, workers, None)
    evaluation = evaluate(
        qrels,
        found,
        metrics=[chosen],
        unjudged=unjudged,
        unretrieved=unretrieved,
        depth=depth,
        undefined=undefined,
        standardized=wanted,
        n_resamples=RESAMPLES,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    return compare_evaluated(
        evaluation,
        name,
        standardized=wanted,
        test=test,
        baseline=baseline,
        groups=groups,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        workers=workers,
        progress=progress,
    )


def compare_evaluated(
    evaluation: Evaluation,
    metric: str | None = None,
    *,
    standardized: bool = False,
    test: Test = RANDOMIZATION,
    baseline: str | None = None,
    groups: Mapping[Any, Hashable] | Any = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RunComparison:
    """Compare runs whose values are known: what `compare_runs` does, without evaluating again.

    Parameters
    ----------
    evaluation : Evaluation
        Of two runs or more.
    metric : str, optional
        One of its metrics; not needed where it has only one.
    standardized, test, baseline, groups, level, n_resamples, seed, workers, progress
        As in `compare_runs`.

    Raises
    ------
    OptionError
        As `compare_runs`; values were not standardized, or the evaluation has no such metric.

    Examples
    --------
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(3)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {name: dict.fromkeys(qrels, own) for name, own in {"good": good, "poor": poor}.items()}
    >>> comparison = compare_evaluated(evaluate(qrels, runs, metrics=["tau_w", "ap"]), "ap")
    >>> comparison.pairs[0].difference == comparison.rows[0].mean - comparison.rows[1].mean
    True
    """
    _checked(evaluation.runs, test, baseline)
    confidence, draws = checked_level(level), Draws.checked(n_resamples, seed, workers, progress)
    wanted = checked_flag(standardized, "standardized")
    if wanted and metric is not None and metric not in {each.metric for each in evaluation.chance}:
        raise OptionError(f"only rank correlations can be standardized; got {shown(metric)}")
    columns = np.array([evaluation.of(metric, run, standardized=wanted) for run in evaluation.runs])
    parts = grouped_queries(groups, evaluation.queries)
    options = Options(test, baseline, confidence, draws)
    order, rows, pairs, by_group = compared(columns.T, evaluation.runs, parts, options)
    ordered = np.ascontiguousarray(columns[order])
    ordered.flags.writeable = False
    return RunComparison(
        rows=rows,
        pairs=pairs,
        groups=by_group,
        queries=evaluation.queries,
        values=ordered,
        coverage=tuple(evaluation.coverage[run] for run in order),
        metric=evaluation.metrics[0] if metric is None else metric,
        standardized=wanted,
        test=test,
        unit="queries",
        baseline=baseline,
        level=confidence,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
    )


def _checked(runs: Any, test: str, baseline: str | None) -> Any:
    """Refuse runs, a test or a baseline that cannot be compared; return the runs."""
    check_choice("test", test, TESTS)
    if len(runs) < 2:
        raise OptionError(f"at least two runs are wanted to compare; got {', '.join(map(shown, runs))}")
    if baseline is not None:
        check_choice("baseline", baseline, tuple(runs))
    return runs
