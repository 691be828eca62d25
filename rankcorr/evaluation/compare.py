"""Runs by query -> means with intervals, tests of pairs, groups of runs that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rankcorr.checks import check_choice, checked_flag, checked_level, offending, shown
from rankcorr.coefficients import Coefficient
from rankcorr.errors import OptionError
from rankcorr.evaluation.comparison import GroupComparison, PairedDifference, RunComparison, RunScore
from rankcorr.evaluation.evaluate import RESAMPLES, RunsLike, UndefinedPolicy, evaluate, runs_of
from rankcorr.evaluation.judgements import QrelsLike
from rankcorr.evaluation.matching import Unjudged, Unretrieved
from rankcorr.evaluation.metrics import MetricLike, as_metrics
from rankcorr.evaluation.query_contest import PAIRED, QueryContest
from rankcorr.evaluation.query_tests import (
    RANDOMIZATION,
    TESTS,
    Means,
    Test,
    Values,
    effect_sizes,
    intervals,
    pvalues,
    studentized,
)
from rankcorr.inference.holm import holm
from rankcorr.inference.inversion import ROUNDING
from rankcorr.inference.leaderboard_groups import contested
from rankcorr.inference.resampling import Draws
from rankcorr.scores import midranks
from rankcorr.workers import Progress

COLUMNS, PAIRS, GROUPS = range(3)


def compare_runs(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metric: MetricLike = "tau_w",
    standardized: bool = False,
    test: Test = RANDOMIZATION,
    baseline: str | None = None,
    groups: Mapping[Any, Hashable] | None = None,
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
    groups : mapping of query to group, optional
        Such as genre or language; every query of qrels needs one. Pairs are compared within each group too.
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
    check_choice("test", test, TESTS)
    confidence, draws = checked_level(level), Draws.checked(n_resamples, seed, workers, progress)
    found = runs_of(runs)
    if len(found) < 2:
        raise OptionError(f"at least two runs are wanted to compare; got {', '.join(map(shown, found))}")
    if baseline is not None:
        check_choice("baseline", baseline, tuple(found))
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
    values = evaluation.values if evaluation.standardized is None else evaluation.standardized
    parts = _groups(groups, evaluation.queries)
    options = Options(test, baseline, confidence, draws)
    order, rows, pairs, by_group = compared(values[:, 0].T, tuple(found), parts, options)
    ordered = np.ascontiguousarray(values[order, 0])
    ordered.flags.writeable = False
    return RunComparison(
        rows=rows,
        pairs=pairs,
        groups=by_group,
        queries=evaluation.queries,
        values=ordered,
        coverage=tuple(evaluation.coverage[run] for run in order),
        metric=name,
        standardized=wanted,
        test=test,
        unit="queries",
        baseline=baseline,
        level=confidence,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
    )


class Options(NamedTuple):
    """How runs are compared."""

    test: Test
    baseline: str | None
    level: float
    draws: Draws


def compared(
    values: Values, names: tuple[str, ...], groups: dict[Hashable, list[int]], options: Options
) -> tuple[list[int], tuple[RunScore, ...], tuple[PairedDifference, ...], tuple[GroupComparison, ...]]:
    """Compare columns of values, shape (n_queries, n_runs): order of the runs, rows, pairs and groups of queries."""
    found = Means.of(values)
    order = np.argsort(-found.means, kind="stable").tolist()  # nan sorts last
    ranked = [run for run in order if not math.isnan(found.means[run])]
    ratios = studentized(values, options.draws.of_part(COLUMNS))
    low, high = intervals(values, ratios, options.level)
    contest = QueryContest(values[:, ranked], options.test, options.draws.of_part(PAIRS))
    tests = contested(contest, options.level)
    ranks = midranks(np.round(found.means[ranked], 12), descending=True)[0] if ranked else np.empty(0)
    rows = []
    for place, run in enumerate(order):
        known = place < len(ranked)
        rows.append(
            RunScore(
                run=names[run],
                rank=float(ranks[place]) if known else math.nan,
                group=tests[2][place] if known else None,
                mean=float(found.means[run]),
                low=float(low[run]),
                high=float(high[run]),
                n_queries=int(found.n[run]),
                pvalue=float(tests[0][place]) if known else math.nan,
                corrected_pvalue=float(tests[1][place]) if known else math.nan,
            )
        )
    pairs = _paired_runs(order, names, options.baseline)
    differences = _differences(values, pairs)
    whole = _pairs(differences, pairs, names, options, options.draws.of_part(PAIRS))
    corrected = holm([pair.pvalue for pair in whole])
    by_group = _by_group(values, order, pairs, names, groups, options)
    return order, tuple(rows), _corrected(whole, corrected), by_group


def _paired_runs(order: Sequence[int], names: tuple[str, ...], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(order, 2))
    base = names.index(baseline)
    return [(run, base) for run in order if run != base]


def _differences(values: Values, pairs: Sequence[tuple[int, int]]) -> Values:
    first, second = np.array(pairs).T
    return np.asarray(values[:, first] - values[:, second])


def _pairs(
    differences: Values, pairs: Sequence[tuple[int, int]], names: tuple[str, ...], options: Options, draws: Draws
) -> list[PairedDifference]:
    """Differences of pairs of runs, without correction of their p-values."""
    found = Means.of(differences)
    ratios = studentized(differences, draws.of_part(PAIRED))
    low, high = intervals(differences, ratios, options.level)
    tails = pvalues(differences, options.test, draws.of_part(PAIRED), ratios)
    sizes = effect_sizes(differences)
    better, worse = (differences > ROUNDING).sum(axis=0), (differences < -ROUNDING).sum(axis=0)
    return [
        PairedDifference(
            first=names[first],
            second=names[second],
            difference=float(found.means[pair]),
            low=float(low[pair]),
            high=float(high[pair]),
            pvalue=float(tails[pair]),
            corrected_pvalue=math.nan,
            effect_size=float(sizes[pair]),
            n_queries=int(found.n[pair]),
            n_better=int(better[pair]),
            n_worse=int(worse[pair]),
        )
        for pair, (first, second) in enumerate(pairs)
    ]


def _corrected(pairs: Sequence[PairedDifference], corrected: Values) -> tuple[PairedDifference, ...]:
    return tuple(replace(pair, corrected_pvalue=float(p)) for pair, p in zip(pairs, corrected, strict=True))


def _by_group(
    values: Values,
    order: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    names: tuple[str, ...],
    groups: dict[Hashable, list[int]],
    options: Options,
) -> tuple[GroupComparison, ...]:
    parts = []
    for number, queries in enumerate(groups.values()):
        own = values[queries]
        draws = options.draws.of_part(GROUPS, number)
        parts.append((own, _pairs(_differences(own, pairs), pairs, names, options, draws)))
    corrected = holm([pair.pvalue for _, found in parts for pair in found])
    return tuple(
        GroupComparison(
            group=group,
            n_queries=len(own),
            means=tuple(Means.of(own).means[order].tolist()),
            pairs=_corrected(found, corrected[number * len(pairs) : (number + 1) * len(pairs)]),
        )
        for number, (group, (own, found)) in enumerate(zip(groups, parts, strict=True))
    )


def _groups(groups: Mapping[Any, Hashable] | None, queries: tuple[Hashable, ...]) -> dict[Hashable, list[int]]:
    """Queries of each group, by their places; groups in the order of their first queries."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise OptionError(f"groups must be a mapping of query to group; got {shown(groups)}")
    if lacking := [query for query in queries if query not in groups]:
        raise OptionError(offending("every query of qrels needs a group; without one", lacking))
    found: dict[Hashable, list[int]] = {}
    for place, query in enumerate(queries):
        found.setdefault(groups[query], []).append(place)
    return found
