"""Means over queries with their intervals, and tests of the differences between runs.

Columns are runs or differences of runs; nan marks a query without a value. Each column uses only its own queries.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import alpha_of
from rankcorr._input.numbers import ROUNDING
from rankcorr._workers import Draws, Values
from rankcorr.evaluation._comparison.results import GroupComparison, PairedDifference, RunScore, Verdict, correct_pairs
from rankcorr.inference._exchange_distribution import MAX_EXACT, POWER, ExchangeDistribution, all_swaps, power_margin
from rankcorr.inference._multiple_tests import PairTests, holm, judge_pairs, step_down
from rankcorr.inference._system_comparison import N_LEFT_OUT, LeftOut

Test: TypeAlias = Literal["randomization", "t", "bootstrap"]
Clusters: TypeAlias = NDArray[np.intp] | None  # number of the cluster of each query, from 0

TESTS: Final[tuple[Test, ...]] = get_args(Test)
RANDOMIZATION: Final = "randomization"
T: Final = "t"
BOOTSTRAP: Final = "bootstrap"
COLUMNS, PAIRS, GROUPS = range(3)  # independent parts of the random numbers
PAIRED, LEFT_OUT = 0, 2  # parts of PAIRS and of each group
MOST_COLUMNS: Final = 256  # kept in memory at a time, with all their resamples


class Plan(NamedTuple):
    """The runs to compare, the queries, and the options of the tests."""

    names: tuple[str, ...]
    queries: Sequence[Hashable]
    test: Test
    baseline: str | None
    level: float
    draws: Draws
    bound: float  # largest possible difference
    clusters: Clusters
    margin: float | None = None  # of equivalence


def compare_columns(
    values: Values, groups: dict[Hashable, list[int]], plan: Plan
) -> tuple[list[int], tuple[RunScore, ...], tuple[PairedDifference, ...], tuple[GroupComparison, ...]]:
    """Compare runs by their values, shape (n_queries, n_runs).

    Returns
    -------
    tuple
        The runs from best to worst, and in this order their rows; the pairs; the comparisons within groups.
    """
    summary = Means.of(values, plan.clusters)
    order = np.argsort(-summary.means, kind="stable").tolist()  # nan sorts last
    ranked = [run for run in order if not math.isnan(summary.means[run])]
    low, high = bounds(summary, studentize(values, plan.draws.of_part(COLUMNS), plan.clusters), plan.level)
    draws = plan.draws.of_part(PAIRS)
    all_pairs = list(combinations(order, 2))
    pairs = all_pairs
    if plan.baseline is not None:
        base = plan.names.index(plan.baseline)
        pairs = [(run, base) for run in order if run != base]
    differences = _compare_pairs(values, pairs, plan._replace(draws=draws))
    pair_pvalues = np.array([pair.pvalue for pair in differences])
    if plan.baseline is None:
        paired = pair_pvalues
    else:
        one, other = np.array(all_pairs).T
        paired = pvalues(values[:, one] - values[:, other], plan.test, draws.of_part(PAIRED), plan.clusters)
    is_ranked = np.array([run in ranked and other in ranked for run, other in all_pairs])
    joint = draws.of_part(PAIRED).limit(draws.n_resamples)
    tests = judge_runs(values[:, ranked], paired[is_ranked], plan.level, joint, plan.clusters)
    rows = [
        RunScore(
            run=plan.names[run],
            mean=float(summary.means[run]),
            low=float(low[run]),
            high=float(high[run]),
            n_queries=int(summary.n[run]),
            **place,
        )
        for run, place in zip(order, tests.row_fields(summary.means[order]), strict=True)
    ]
    if plan.baseline is None:
        places = {run: place for place, run in enumerate(ranked)}
        corrected = [
            tests.corrected[places[one], places[other]] if pair_is_ranked else math.nan
            for (one, other), pair_is_ranked in zip(pairs, is_ranked, strict=True)
        ]
    else:
        corrected = corrected_pvalues(values, pairs, joint, pair_pvalues, plan.clusters).tolist()
    compared_groups = _compare_groups(values, order, pairs, groups, plan)
    return order, tuple(rows), correct_pairs(differences, iter(corrected)), compared_groups


def _compare_groups(
    values: Values, order: Sequence[int], pairs: list[tuple[int, int]], groups: dict[Hashable, list[int]], plan: Plan
) -> tuple[GroupComparison, ...]:
    """Compare the pairs within each group of queries; their p-values are corrected over all groups."""
    parts = []
    for number, members in enumerate(groups.values()):
        queries, draws = [plan.queries[member] for member in members], plan.draws.of_part(GROUPS, number)
        group_values = values[members]
        clusters = None if plan.clusters is None else np.unique(plan.clusters[members], return_inverse=True)[1]
        group_plan = plan._replace(queries=queries, draws=draws, clusters=clusters)
        parts.append((group_values, _compare_pairs(group_values, pairs, group_plan)))
    corrected = iter(holm([pair.pvalue for _, group_pairs in parts for pair in group_pairs]))
    return tuple(
        GroupComparison(
            group=group,
            n_queries=len(group_values),
            means=tuple(Means.of(group_values).means[order].tolist()),
            pairs=correct_pairs(group_pairs, corrected),
        )
        for group, (group_values, group_pairs) in zip(groups, parts, strict=True)
    )


def _compare_pairs(values: Values, pairs: Sequence[tuple[int, int]], plan: Plan) -> list[PairedDifference]:
    """Return the differences of pairs of runs, without corrected p-values."""
    one, other = np.array(pairs).T
    differences = np.asarray(values[:, one] - values[:, other])
    summary = Means.of(differences)
    tests = compute_tests(differences, plan.test, plan.level, plan.draws.of_part(PAIRED), plan.bound, plan.clusters)
    judged: list[Verdict | None] = [None] * len(pairs)
    if plan.margin is not None:
        draws = plan.draws.of_part(PAIRED)
        inner = compute_tests(differences, plan.test, 2 * plan.level - 1, draws, plan.bound, plan.clusters)
        judged = [*judge_differences(tests, inner, summary.means, plan.margin, plan.level)]
    sizes = effect_sizes(differences)
    better, worse = (differences > ROUNDING).sum(axis=0), (differences < -ROUNDING).sum(axis=0)
    left_out = remove_extremes(differences, plan.queries, plan.test, plan.draws.of_part(LEFT_OUT), plan.clusters)
    alpha = alpha_of(plan.level)
    return [
        PairedDifference(
            first=plan.names[first],
            second=plan.names[second],
            difference=float(summary.means[pair]),
            low=float(tests.lows[pair]),
            high=float(tests.highs[pair]),
            pvalue=float(tests.pvalues[pair]),
            corrected_pvalue=math.nan,
            effect_size=float(sizes[pair]),
            n_queries=int(summary.n[pair]),
            n_better=int(better[pair]),
            n_worse=int(worse[pair]),
            detectable=float(tests.detectable[pair]),
            least=left_out[pair][0],
            most=left_out[pair][1],
            fragile=any(
                (left_out_query.pvalue <= alpha) != (tests.pvalues[pair] <= alpha)
                for left_out_query in left_out[pair]
                if left_out_query is not None
            ),
            verdict=judged[pair],
        )
        for pair, (first, second) in enumerate(pairs)
    ]


@dataclass(frozen=True, slots=True)
class Means:
    """Mean, standard error and number of queries `n` of each column.

    The mean is nan without queries, and the standard error is nan for fewer than two. `n_units` is the number of
    clusters that have a value; without clusters, of queries.
    """

    means: Values
    errors: Values
    n: Values
    n_units: Values

    @classmethod
    def of(cls, columns: Values, clusters: Clusters = None) -> Means:
        """Summarize a matrix with a row for each query; standard errors allow for clusters."""
        known = ~np.isnan(columns)
        n = known.sum(axis=0).astype(np.float64)
        sums = np.where(known, columns, 0.0).sum(axis=0)
        means = divide(sums, n)
        squares = by_cluster(np.where(known, columns - means, 0.0), clusters) ** 2
        n_units = (by_cluster(known, clusters) > 0).sum(axis=0).astype(np.float64)
        errors = np.sqrt(divide(squares.sum(axis=0) * n_units, n**2 * (n_units - 1)))
        return cls(means, errors, n, n_units)


def by_cluster(columns: NDArray[Any], clusters: Clusters) -> Values:
    """Return the sum of the rows of each cluster; without clusters, the rows themselves."""
    if clusters is None:
        return columns.astype(np.float64)
    sums = np.zeros((int(clusters.max()) + 1, *columns.shape[1:]))
    np.add.at(sums, clusters, columns)
    return sums


def studentize(columns: Values, draws: Draws, clusters: Clusters = None) -> Values:
    """Return bootstrap t statistics of each column, shape (n_resamples, n_columns).

    Each is the mean of a resample minus the mean, divided by the standard error of the resample. A statistic is nan if
    fewer than two drawn queries have a value. If all values drawn are equal, it is 0 if they equal the mean, and
    infinite otherwise.
    """
    return ratios_of(*resample_means(columns, draws, clusters))


def ratios_of(means: Values, variances: Values) -> Values:
    """Return means divided by the roots of their variances; without variance, 0 or infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = means / np.sqrt(variances)
    ratios[(variances == 0) & (np.abs(means) <= ROUNDING)] = 0.0
    return np.asarray(ratios)


def resample_means(columns: Values, draws: Draws, clusters: Clusters = None) -> tuple[Values, Values]:
    """Return the mean of each resample minus the mean, and its squared standard error, shape (n_resamples, n_columns).

    Queries, or whole clusters of them, are resampled, and all columns use the same resamples. Both are nan if fewer
    than two drawn queries have a value.
    """
    from rankcorr.evaluation._query_kernels import draw_counts

    known = ~np.isnan(columns)
    centred = np.where(known, columns - Means.of(columns).means, 0.0)
    # Rounding errors must not make a column of equal values vary.
    centred[np.abs(centred) < ROUNDING] = 0.0
    unit_sums, sizes = by_cluster(centred, clusters), by_cluster(known, clusters)
    parts = [unit_sums, unit_sums**2, sizes]
    if clusters is not None:
        parts += [unit_sums * sizes, sizes**2, np.sign(sizes)]
    matrix, n_rows = np.ascontiguousarray(np.hstack(parts)), len(unit_sums)

    def task(rng: np.random.Generator, size: int) -> Values:
        counts = np.empty((size, n_rows))
        draw_counts(rng, counts)
        sums, squares, n, *others = np.hsplit(_sum_rows(counts, matrix), len(parts))
        products, size_squares, n_units = others or (sums, n, n)
        means = divide(sums, n)
        spread = squares - 2 * means * products + means**2 * size_squares
        spread[spread <= ROUNDING * squares] = 0.0  # all values drawn are equal
        variances = divide(spread * n_units, n**2 * (n_units - 1))
        return np.asarray(np.where(n_units > 1, [means, variances], math.nan))

    # The block size depends on rows alone, so all columns get the same draws.
    means, variances = np.concatenate(draws.in_blocks(task, n_rows), axis=1)
    return means, variances


def bounds(summary: Means, ratios: Values, level: float) -> tuple[Values, Values]:
    """Return bootstrap-t intervals of the mean of each column, from the t statistics of `studentize`.

    They are nan for fewer than two queries. With two or three queries, an interval at level 0.95 is unbounded, with
    infinite ends. With a few more queries it can be unbounded if values repeat. If all values of a column are equal,
    its interval has width 0 if flips of their signs could reject a mean at this level, and is unbounded otherwise; at
    level 0.95 this takes six queries.
    """
    low, high = np.full(summary.n.size, math.nan), np.full(summary.n.size, math.nan)
    for column in np.flatnonzero(summary.n_units > 1).tolist():
        mean, error = summary.means[column], summary.errors[column]
        if error <= ROUNDING:
            is_sure = 2.0 ** (1 - summary.n_units[column]) <= alpha_of(level)
            low[column], high[column] = (mean, mean) if is_sure else (-math.inf, math.inf)
            continue
        known = ratios[~np.isnan(ratios[:, column]), column]
        below, above = np.quantile(known, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        low[column], high[column] = mean - above * error, mean - below * error
    return low, high


class MeanTests(NamedTuple):
    """Two-sided tests of the mean of each column against 0, with the intervals that invert them; nan if undefined."""

    pvalues: Values
    lows: Values
    highs: Values
    detectable: Values

    def set_equal(self, column: int, mean: float, least: float, level: float) -> None:
        """Set the test of a column of equal values, whose smallest possible p-value is `least`."""
        mean = 0.0 if abs(mean) <= ROUNDING else mean
        self.pvalues[column] = least if mean else 1.0
        ends = (mean, mean) if least <= alpha_of(level) else (-math.inf, math.inf)
        self.lows[column], self.highs[column] = ends


def compute_tests(
    columns: Values, test: Test, level: float, draws: Draws, bound: float = math.inf, clusters: Clusters = None
) -> MeanTests:
    """Test the mean of each column against 0; detectable differences above `bound` are nan.

    - "randomization": the signs of the differences are flipped at random; up to 12 queries, all flips are enumerated.
      See `rankcorr.inference._exchange_distribution` for the interval.
    - "t": Student's test of the mean; nan for a single query.
    - "bootstrap": the t statistic of the mean is compared with those of resampled queries, centred at the observed
      mean. This is a test of equal means, which does not assume that differences are symmetric.

    If all n differences are equal, the last two have no noise to compare the mean with. Their p-value is then that of
    the randomization test, 2^(1 - n), or 1 if the differences are 0.
    """
    summary = Means.of(columns, clusters)
    if test == BOOTSTRAP:
        return _bootstrap_tests(columns, summary, level, draws, bound, clusters)
    if test == T:
        from scipy.special import nctdtrinc, stdtr, stdtrit

        freedom = np.where(summary.n_units > 1, summary.n_units - 1, math.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = 2 * stdtr(freedom, -np.abs(summary.means / summary.errors))
        half = stdtrit(freedom, (1 + level) / 2) * summary.errors
        shifts = nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, (1 + level) / 2))  # of a noncentral t
        differences = shifts * power_margin(freedom) * summary.errors
        detectable = np.where((summary.errors > ROUNDING) & (differences < bound), differences, math.nan)
        tests = MeanTests(tails, summary.means - half, summary.means + half, detectable)
        for column in np.flatnonzero(summary.errors <= ROUNDING).tolist():
            tests.set_equal(column, float(summary.means[column]), 2.0 ** (1 - summary.n_units[column]), level)
        return tests
    tests = MeanTests(*np.full((4, columns.shape[1]), math.nan))
    for column, flips in flip_distributions(columns, draws, clusters):
        tests.pvalues[column], tests.detectable[column] = flips.pvalue(), flips.detectable(level, bound)
        tests.lows[column], tests.highs[column] = flips.interval(level)
    return tests


def judge_differences(tests: MeanTests, inner: MeanTests, means: Values, margin: float, level: float) -> list[Verdict]:
    """Return a verdict for each difference.

    Two runs are equivalent if two one-sided tests reject that the difference is at most -margin, and that it is at
    least margin. This is the case if the interval of `inner`, at level 2 level - 1, lies between -margin and margin.
    Otherwise the two-sided test decides.
    """
    alpha = alpha_of(level)
    judged: list[Verdict] = []
    for pvalue, mean, low, high in zip(tests.pvalues, means, inner.lows, inner.highs, strict=True):
        if -margin < low and high < margin:
            judged.append("equivalent")
        elif pvalue <= alpha:
            judged.append("better" if mean > 0 else "worse")
        else:
            judged.append("undecided")
    return judged


def _bootstrap_tests(
    columns: Values, summary: Means, level: float, draws: Draws, bound: float, clusters: Clusters
) -> MeanTests:
    """Return bootstrap-t tests: twice the smaller share of resamples at least as extreme as the observed value."""
    from scipy.special import ndtri

    tests = MeanTests(*np.full((4, columns.shape[1]), math.nan))
    alpha = alpha_of(level)
    for start in range(0, columns.shape[1], MOST_COLUMNS):
        part = slice(start, start + MOST_COLUMNS)
        ratios = studentize(columns[:, part], draws, clusters)
        for column, row in enumerate(ratios.T, start):
            mean, error = float(summary.means[column]), float(summary.errors[column])
            if not summary.n_units[column] > 1:
                continue
            if error <= ROUNDING:
                least = max(2.0 ** (1 - summary.n_units[column]), 2 / (1 + row.size))
                tests.set_equal(column, mean, least, level)
                continue
            # An undefined resample counts as extreme on both sides.
            known = np.sort(row[~np.isnan(row)])
            n_undefined, observed = row.size - known.size, mean / error
            above = known.size - np.searchsorted(known, observed - ROUNDING) + n_undefined
            below = np.searchsorted(known, observed + ROUNDING, side="right") + n_undefined
            tests.pvalues[column] = min(1.0, 2 * (1 + min(above, below)) / (1 + row.size))
            # The smallest number of extreme resamples with which the test does not reject.
            n_extreme = math.floor(alpha * (1 + row.size) / 2 + ROUNDING) - n_undefined
            low, high = math.inf, -math.inf
            if 0 < n_extreme <= known.size:
                low, high = known[-n_extreme], known[n_extreme - 1]
            ends = (mean - low * error, mean - high * error)
            tests.lows[column], tests.highs[column] = (0.0 if abs(end) <= ROUNDING else end for end in ends)
            margin = power_margin(float(summary.n_units[column] - 1))
            difference = margin * error * ((low - high) / 2 + ndtri(POWER))
            tests.detectable[column] = difference if difference < bound else math.nan
    return tests


def pvalues(columns: Values, test: Test, draws: Draws, clusters: Clusters = None) -> Values:
    """Return two-sided p-values of the mean of each column against 0; nan if there are too few queries."""
    if test != RANDOMIZATION:
        return compute_tests(columns, test, 0.5, draws, clusters=clusters).pvalues
    tails = np.full(columns.shape[1], math.nan)
    for column, flips in flip_distributions(columns, draws, clusters):
        tails[column] = flips.pvalue()
    return tails


def remove_extremes(
    differences: Values, queries: Sequence[Hashable], test: Test, draws: Draws, clusters: Clusters
) -> list[tuple[LeftOut | None, LeftOut | None]]:
    """Return each difference without its largest value, and without its smallest; None with fewer than two queries."""
    filled = [np.where(np.isnan(differences), missing, differences) for missing in (-math.inf, math.inf)]
    removed = np.array([filled[0].argmax(axis=0), filled[1].argmin(axis=0)])
    columns = np.arange(differences.shape[1])
    left_out: list[list[LeftOut | None]] = []
    for places in removed:
        rest = differences.copy()
        rest[places, columns] = math.nan
        means = Means.of(rest).means.tolist()
        tails = pvalues(rest, test, draws.limit(N_LEFT_OUT), clusters).tolist()
        rows = zip(places.tolist(), means, tails, strict=True)
        left_out.append(
            [None if math.isnan(mean) else LeftOut(queries[place], mean, tail) for place, mean, tail in rows]
        )
    return list(zip(*left_out, strict=True))


def effect_sizes(columns: Values) -> Values:
    """Return the mean of each column divided by its standard deviation; nan if that is 0 or undefined."""
    summary = Means.of(columns)
    spread = summary.errors * np.sqrt(summary.n)
    return np.asarray(divide(summary.means, np.where(spread > ROUNDING, spread, 0.0)))


def flip_distributions(
    columns: Values, draws: Draws, clusters: Clusters = None
) -> Iterator[tuple[int, ExchangeDistribution]]:
    """Yield the number of each column that has values, and the distribution of its mean over random flips of signs.

    All queries of a cluster get the same sign. All columns with more than 12 queries, or clusters, use the same random
    signs. They are computed in parts, because 10,000 flips for the 1,770 pairs of 60 runs would take 300 MB.
    """
    known = ~np.isnan(columns)
    sums_of_units, sizes = by_cluster(np.where(known, columns, 0.0), clusters), by_cluster(known, clusters)
    n = known.sum(axis=0)
    n_units = (sizes > 0).sum(axis=0)
    means = Means.of(columns).means.tolist()
    for column in np.flatnonzero((n_units > 0) & (n_units <= MAX_EXACT)).tolist():
        has = sizes[:, column] > 0
        signs = 1.0 - 2.0 * all_swaps(int(n_units[column]))
        flipped, net_shares = signs @ sums_of_units[has, column] / n[column], signs @ sizes[has, column] / n[column]
        yield column, ExchangeDistribution(means[column], flipped[np.newaxis], net_shares, True)
    left = np.flatnonzero(n_units > MAX_EXACT)
    for start in range(0, left.size, MOST_COLUMNS):
        part = left[start : start + MOST_COLUMNS]
        kinds, kind_of = np.unique(sizes[:, part], axis=1, return_inverse=True)
        sums = _flip_signs(np.hstack([sums_of_units[:, part], kinds]), None, draws)
        for number, column in enumerate(part.tolist()):
            net_shares = sums[:, part.size + kind_of.ravel()[number]] / n[column]
            flipped = sums[:, [number]].T / n[column]
            yield column, ExchangeDistribution(means[column], flipped, net_shares, False)


def divide(numerator: Values, denominator: Values) -> Values:
    """Return quotients; nan where the denominator is 0."""
    undefined = np.full(numerator.shape, math.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator != 0))


def corrected_pvalues(
    values: Values, pairs: Sequence[tuple[int, int]], draws: Draws, paired: Values, clusters: Clusters = None
) -> Values:
    """Return p-values of pairs of runs, corrected for all these pairs together; nan without a test.

    The differences of all pairs get the same random signs, one for each query, and each is compared with the largest of
    all pairs (`step_down`). Each difference is first divided by the root of the sum of two numbers that do not depend
    on signs: its own sum of squares, so that near-duplicates do not make other pairs look extreme, and the average one,
    so that no divisor is near 0. No p-value is below `paired`, the p-value without correction.

    Parameters
    ----------
    values : ndarray of float64, shape (n_queries, n_runs)
        nan if a query has no value; each pair is compared over the queries with a value for both runs.
    pairs : sequence of tuple of int
        Columns of the first and the second run of each pair.
    draws : Draws
        The draws of the paired tests, so that all tests use the same signs.
    paired : ndarray of float64, shape (n_pairs,)
        P-values without correction.
    """
    if len(pairs) < 2:
        return paired
    first, second = np.array(pairs).T
    differences = values[:, first] - values[:, second]
    n_known = (~np.isnan(differences)).sum(axis=0)
    is_complete = not np.isnan(values).any()
    differences = by_cluster(np.nan_to_num(differences), clusters)
    squares = (differences**2).sum(axis=0) / np.maximum(1, n_known) ** 2
    scales = n_known * np.sqrt(squares + squares[n_known > 0].mean()) if n_known.any() else np.ones(n_known.size)
    scales[scales <= ROUNDING] = 1.0
    is_exact = len(differences) <= MAX_EXACT
    signs = np.asarray(1.0 - 2.0 * all_swaps(len(differences)), np.float64) if is_exact else None
    # If no value is missing, the difference of the sums of two runs is the sum of their differences.
    centred = values - values.mean(axis=1, keepdims=True)
    sums = np.ascontiguousarray(_flip_signs(by_cluster(centred, clusters), signs, draws).T) if is_complete else None

    def exchanged(part: NDArray[np.intp]) -> Values:
        if sums is not None:
            flipped = sums[first[part]] - sums[second[part]]
        else:
            flipped = np.ascontiguousarray(_flip_signs(differences[:, part], signs, draws).T)
        return np.asarray((np.abs(flipped) / scales[part][:, np.newaxis])[:, np.newaxis])

    observed = np.abs(differences.sum(axis=0)) / scales
    return np.maximum(step_down(observed, exchanged, is_exact=is_exact), paired)  # nan stays nan


def _flip_signs(columns: Values, signs: Values | None, draws: Draws) -> Values:
    """Return the sums of columns with the given signs, or with random ones, shape (n_draws, n_columns)."""
    from rankcorr.evaluation._query_kernels import draw_signs

    rows = np.ascontiguousarray(columns)
    if signs is not None:
        return _sum_rows(signs, rows)

    def task(rng: np.random.Generator, size: int) -> Values:
        random_signs = np.empty((size, len(rows)))
        draw_signs(rng, random_signs)
        return _sum_rows(random_signs, rows)

    return np.concatenate(draws.in_blocks(task, len(rows)))


def _sum_rows(weights: Values, rows: Values) -> Values:
    """Return ``weights @ rows`` without BLAS, whose threads wait for each other on a busy machine.

    For 655 resamples of 50 queries of 10 runs this takes 0.1 ms, BLAS with threads 16 ms, and with one thread 0.05 ms.
    """
    from rankcorr.evaluation._query_kernels import sum_rows

    sums = np.empty((len(weights), rows.shape[1]))
    sum_rows(weights, rows, sums)
    return sums


def judge_runs(values: Values, paired: Values, level: float, draws: Draws, clusters: Clusters = None) -> PairTests:
    """Return the results of all tests of runs, the columns of `values`, which are ordered from best to worst.

    `paired` are the p-values of all pairs, in the order of `itertools.combinations`.
    """
    number = values.shape[1]
    pairs = list(combinations(range(number), 2))
    corrected, leads = np.full((number, number), math.nan), np.zeros((number, number))
    if pairs:
        first, second = np.array(pairs).T
        leads[first, second] = np.nan_to_num(Means.of(values[:, first] - values[:, second]).means)
        leads -= leads.T
        corrected[first, second] = corrected_pvalues(values, pairs, draws, paired, clusters)
        corrected[second, first] = corrected[first, second]
    return judge_pairs(np.array([math.nan, *paired[: number - 1]][:number]), corrected, leads, level)
