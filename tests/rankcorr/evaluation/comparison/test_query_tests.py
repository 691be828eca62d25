import importlib
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import OptionError
from rankcorr._checks import alpha_of
from rankcorr._workers import Draws
from rankcorr.evaluation import PairedDifference, leaderboard_of_scores, needed_items
from rankcorr.evaluation._comparison.query_tests import (
    TESTS,
    Means,
    bounds,
    by_cluster,
    compute_tests,
    corrected_pvalues,
    effect_sizes,
    flip_distributions,
    judge_differences,
    judge_runs,
    pvalues,
    studentize,
)
from rankcorr.evaluation._query_kernels import draw_signs
from tests import naive
from tests.repository import ROOT

DRAWS = Draws(20_000, 0)
DRAWS_99 = Draws(99, 0)
VALUES = st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.0, 0.25, 0.5, 0.75, 1.0, math.nan])


def columns(least, most):
    """Differences of three pairs of runs; many are equal."""
    row = st.lists(VALUES, min_size=3, max_size=3)
    return st.lists(row, min_size=least, max_size=most).map(np.array)


# For some inputs all flips are enumerated, for others they are drawn.
COLUMNS = st.one_of(columns(1, 9), columns(14, 18))


@pytest.fixture
def designs(monkeypatch):
    """The benchmark that measures the levels."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # the scripts import their shared modules from there
    return importlib.import_module("bank_of_designs")


def column(*values):
    return np.array(values, float)[:, np.newaxis]


def test_means_ignore_missing_values():
    result = Means.of(np.array([[1.0, math.nan, math.nan], [3.0, 2.0, math.nan], [5.0, math.nan, math.nan]]))
    np.testing.assert_allclose(result.means, [3.0, 2.0, math.nan])
    np.testing.assert_allclose(result.errors, [2 / math.sqrt(3), math.nan, math.nan])
    assert result.n.tolist() == [3, 1, 0]


def test_many_queries_draw_signs():
    rng = np.random.default_rng(0)
    values = rng.normal(0.3, 1, (40, 3)) * [1, 0.5, 0]
    values[::5, 1] = math.nan
    result = pvalues(values, "randomization", DRAWS)
    for place in range(2):
        known = values[~np.isnan(values[:, place]), place]
        pair = known, np.zeros(known.size)
        options = {"permutation_type": "samples", "n_resamples": 20_000, "rng": 1}
        expected = scipy.stats.permutation_test(pair, lambda a, b, axis: np.mean(a - b, axis=axis), **options).pvalue
        assert result[place] == pytest.approx(expected, abs=0.015)
    assert result[2] == 1.0
    again = pvalues(values[:, :1], "randomization", DRAWS)
    assert again[0] == result[0]  # the same signs, whatever the other columns are


def test_students_test_is_scipys():
    rng = np.random.default_rng(1)
    values = rng.normal(0.2, 1, (30, 2))
    values[3, 1] = math.nan
    expected = scipy.stats.ttest_1samp(values, 0, nan_policy="omit").pvalue
    np.testing.assert_allclose(pvalues(values, "t", DRAWS), expected, rtol=1e-12)


def test_wear_of_shoes_counts_equal_sums_as_extreme():
    """Data of Box, Hunter and Hunter, Statistics for Experimenters (1978): sums of differences that rounding parts."""
    a = [13.2, 8.2, 10.9, 14.3, 10.7, 6.6, 9.5, 10.8, 8.8, 13.3]
    b = [14.0, 8.8, 11.2, 14.2, 11.8, 6.4, 9.8, 11.3, 9.3, 13.6]
    tenths = [round(10 * y) - round(10 * x) for x, y in zip(a, b, strict=True)]
    sums = [sum(flips) for flips in itertools.product(*((tenth, -tenth) for tenth in tenths))]
    assert (sum(total > 41 for total in sums), sum(total == 41 for total in sums)) == (3, 4)
    best, other = leaderboard_of_scores({"a": dict(enumerate(a)), "b": dict(enumerate(b))}).rows
    assert (best.system, other.pvalue) == ("b", 14 / 1024)
    result = compute_tests(column(*b) - column(*a), "t", 0.95, DRAWS_99)
    expected = scipy.stats.ttest_rel(b, a)
    assert result.pvalues[0] == pytest.approx(expected.pvalue, rel=1e-12)
    ends = expected.confidence_interval()
    assert (result.lows[0], result.highs[0]) == pytest.approx((ends.low, ends.high), rel=1e-12)


def test_intervals_of_normal_values_are_those_of_students_test():
    values = np.random.default_rng(2).normal(0.3, 1, (60, 1))
    ends = scipy.stats.ttest_1samp(values[:, 0], 0).confidence_interval(0.95)
    low, high = bounds(Means.of(values), studentize(values, DRAWS), 0.95)
    assert (low[0], high[0]) == pytest.approx((ends.low, ends.high), abs=0.03)
    result = compute_tests(values, "t", 0.95, DRAWS)
    assert (result.lows[0], result.highs[0]) == pytest.approx((ends.low, ends.high), rel=1e-12)
    flipped = compute_tests(values, "randomization", 0.95, DRAWS)
    assert (flipped.lows[0], flipped.highs[0]) == pytest.approx((ends.low, ends.high), abs=0.03)


@given(columns(1, 7), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_interval_for_few_queries_uses_all_flips(values, level):
    result = compute_tests(values, "randomization", level, DRAWS_99)
    for place, column in enumerate(values.T):
        known = column[~np.isnan(column)].tolist()
        if not known:
            assert np.isnan([result.pvalues[place], result.lows[place], result.highs[place]]).all()
            continue
        zeros = [0.0] * len(known)
        # A flip exchanges a value with 0: the difference is unchanged or negated.
        exchanges = naive.exchanges(known, zeros)
        flips = [(sum(first) / len(known) - sum(second) / len(known), m) for first, second, m in exchanges]
        observed = sum(known) / len(known)
        assert result.pvalues[place] == naive.share_as_extreme(0.0, observed, flips)
        low, high = naive.differences_not_rejected(alpha_of(level), observed, flips, bound=1e3)
        ends = np.clip([result.lows[place], result.highs[place]], -1e3, 1e3)
        np.testing.assert_allclose(ends, (low, high), rtol=0, atol=1e-9)


@given(COLUMNS, st.sampled_from(TESTS), st.sampled_from([0.5, 0.8, 0.95]))
def test_an_interval_excludes_0_exactly_if_the_test_rejects(values, test, level):
    result = compute_tests(values, test, level, DRAWS_99)
    np.testing.assert_array_equal((result.lows > 0) | (result.highs < 0), result.pvalues <= alpha_of(level))
    np.testing.assert_array_equal(np.isnan(result.lows), np.isnan(result.pvalues))
    turned = compute_tests(-values, test, level, DRAWS_99)
    np.testing.assert_array_equal(turned.pvalues, result.pvalues)
    np.testing.assert_array_equal((-turned.highs, -turned.lows), (result.lows, result.highs))
    np.testing.assert_allclose(turned.detectable, result.detectable, rtol=1e-9)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [2, 5, 6, 9])
@pytest.mark.parametrize("difference", [0.25, -0.25, 0.0, 0.3 - 0.2 - 0.1])  # the last is 0 up to rounding
def test_equal_differences_have_the_p_value_of_flipped_signs(test, n, difference):
    noise = np.where(np.arange(n) % 2, 0.0, 1e-17)[:, np.newaxis]  # rounding errors are no evidence
    result = compute_tests(difference + noise, test, 0.95, DRAWS)
    expected = float(scipy.stats.binomtest(n, n).pvalue) if abs(difference) > 0.1 else 1.0  # the sign test
    assert result.pvalues[0] == pytest.approx(expected)
    ends = (difference, difference) if scipy.stats.binomtest(n, n).pvalue <= 0.05 else (-math.inf, math.inf)
    assert (result.lows[0], result.highs[0]) == pytest.approx(ends)
    assert math.isnan(result.detectable[0])


@pytest.mark.parametrize("n", [6, 8, 12, 25])
def test_detectable_differences_of_few_queries_are_found_in_four_of_five_samples(n):
    sample, other = np.random.default_rng(n).standard_normal((2, n, 4_000))
    detectable = compute_tests(sample, "t", 0.95, DRAWS_99).detectable
    share = (pvalues(other + detectable, "t", DRAWS_99) <= 0.05).mean()
    assert share == pytest.approx(0.8, abs=0.01 + 3 * math.sqrt(0.16 / 4_000))


@pytest.mark.wide
def test_detectable_differences_are_found_in_four_of_five_cases():
    rng = np.random.default_rng(6)
    (detectable,) = compute_tests(rng.normal(0, 0.2, (1_000, 1)), "t", 0.95, DRAWS_99).detectable / math.sqrt(
        50 / 1_000
    )
    noise = rng.normal(0, 0.2, (50, 400))
    for test in TESTS:
        result = compute_tests(noise, test, 0.95, Draws(499, 0)).detectable
        assert result.mean() == pytest.approx((1 + 0.9 / 49) * detectable, rel=0.05)
        share = (pvalues(noise + detectable, test, Draws(499, 0)) <= 0.05).mean()
        assert share == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 400))


def test_flips_do_not_depend_on_the_workers():
    values = np.random.default_rng(0).normal(size=(400, 3))
    one, other = (flip_distributions(values, Draws(500, 0, workers=workers)) for workers in (1, 2))
    for (_, first), (_, second) in zip(one, other, strict=True):
        np.testing.assert_array_equal(first.differences, second.differences)
        np.testing.assert_array_equal(first.net_shares, second.net_shares)


def test_an_interval_of_skewed_values_is_skewed():
    values = np.random.default_rng(3).exponential(1, (50, 1))
    low, high = bounds(Means.of(values), studentize(values, DRAWS), 0.95)
    assert high[0] - values.mean() > 1.15 * (values.mean() - low[0])


def test_extreme_inputs_have_the_limits_of_figures():
    assert math.isnan(effect_sizes(column(0.5, 0.5, 0.5, 0.5))[0])
    none = np.full((3, 1), math.nan)
    alone = column(0.5, math.nan, math.nan)
    for test in TESTS:
        assert math.isnan(pvalues(none, test, DRAWS)[0])
        assert pvalues(column(*[0.0] * 20), test, DRAWS)[0] == 1.0
    assert pvalues(alone, "randomization", DRAWS)[0] == 1.0
    assert math.isnan(pvalues(alone, "t", DRAWS)[0])
    assert np.isnan(bounds(Means.of(alone), studentize(alone, DRAWS), 0.95)).all()
    few = column(0.5, 0.7, 0.1)
    assert np.isinf(bounds(Means.of(few), studentize(few, DRAWS), 0.95)).all()
    assert effect_sizes(column(1.0, 2.0, 3.0))[0] == pytest.approx(2.0)


def judge_values(values, draws, level=0.95):
    first, second = np.triu_indices(values.shape[1], 1)
    return judge_runs(values, pvalues(values[:, first] - values[:, second], "randomization", draws), level, draws)


@given(st.one_of(columns(1, 6), columns(13, 15)))
def test_p_values_are_corrected_by_the_largest_difference_of_the_same_flips(values):
    pairs = [(0, 1), (0, 2), (1, 2)]
    differences = np.array([values[:, one] - values[:, other] for one, other in pairs])
    known, draws = ~np.isnan(differences), Draws(40, 3)
    paired = pvalues(differences.T, "randomization", draws)
    is_exact = len(values) <= 12
    signs = list(itertools.product((1, -1), repeat=len(values)))
    if not is_exact:
        signs = np.array(draws.in_blocks(lambda rng, size: sign_matrix(rng, size, len(values)), len(values)))[0]
    filled = np.nan_to_num(differences)
    squares = [(row**2).sum() / max(1, n) ** 2 for row, n in zip(filled, known.sum(axis=1), strict=True)]
    typical = np.mean([square for square, n in zip(squares, known.sum(axis=1), strict=True) if n] or [0.0])
    scales = [n * math.sqrt(square + typical) or 1.0 for square, n in zip(squares, known.sum(axis=1), strict=True)]

    def statistics(query_signs):
        # Rounded: equal statistics must not differ in their last digit.
        return [round(abs(float(query_signs @ row)) / scale, 9) for row, scale in zip(filled, scales, strict=True)]

    expected = naive.step_down(statistics(np.ones(len(values))), [statistics(np.array(row)) for row in signs], is_exact)
    result = corrected_pvalues(values, pairs, draws, paired)
    np.testing.assert_allclose(result, np.maximum(expected, paired), rtol=0, atol=1e-12)


def sign_matrix(rng, size, n_queries):
    signs = np.empty((size, n_queries))
    draw_signs(rng, signs)
    return signs


def test_near_duplicates_do_not_make_other_runs_significant():
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        values = rng.normal(0, 1, (10, 20))
        values[:, :16] = values[:, :1] + rng.normal(0, 0.1, (10, 16))
        values = values[:, np.argsort(-values.mean(axis=0))]
        wrong += judge_values(values, Draws(199, seed)).least_ranks[-1] > 1
    assert wrong <= 60 * 0.05 + 3.1 * math.sqrt(60 * 0.05 * 0.95)


def test_a_pair_without_a_common_query_is_not_tested():
    values = np.array([[1.0, 0.0, math.nan], [1.0, math.nan, 0.0]] * 5)
    result = judge_values(values, Draws(200, 0))
    assert result.pvalues[1:].tolist() == [2 / 2**5] * 2
    assert math.isnan(result.corrected[1, 2])
    assert (result.corrected[0, 1:] >= result.pvalues[1:]).all()


@pytest.mark.wide
@pytest.mark.figures
def test_the_level_is_kept(designs):
    for name, draw in designs.QUERY_DESIGNS.items():
        for n_queries in (15, 30, 100):
            result = [designs.one_of_queries(draw, n_queries, "randomization", 199, seed) for seed in range(1_000)]
            share = np.mean(np.array(result) <= 0.05)
            assert 0.03 <= share <= 0.07, (name, n_queries, share)


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("name", ["tau_w by query", "bad queries 10 %"])
def test_the_level_is_roughly_kept_in_few_data_sets(designs, name):
    draw = designs.QUERY_DESIGNS[name]
    for test in TESTS:
        result = [designs.one_of_queries(draw, 30, test, 199, seed) for seed in range(200)]
        assert np.mean(np.array(result) <= 0.05) < 0.11
    values = np.column_stack([np.diff(draw(np.random.default_rng([1, seed]), 30, 2))[:, 0] for seed in range(200)])
    low, high = bounds(Means.of(values), studentize(values, Draws(199, 0)), 0.95)
    assert ((low <= 0) & (high >= 0)).mean() > 0.89


@given(COLUMNS, st.sampled_from(TESTS), st.integers(0, 99))
def test_clusters_of_one_query_change_nothing(values, test, seed):
    order = np.random.default_rng(seed).permutation(len(values))
    alone, single = (compute_tests(values, test, 0.9, DRAWS_99, clusters=ids) for ids in (None, np.arange(len(values))))
    for result, expected in zip(single, alone, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
    assert np.isfinite(by_cluster(np.nan_to_num(values), order)).all()


@given(columns(2, 5), st.sampled_from(TESTS))
def test_a_cluster_of_copies_counts_as_one_query(values, test):
    copies, clusters = np.repeat(values, 3, axis=0), np.repeat(np.arange(len(values)), 3)
    result, expected = (
        compute_tests(copies, test, 0.9, DRAWS_99, clusters=clusters),
        compute_tests(values, test, 0.9, DRAWS_99),
    )
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_students_test_of_clusters_has_their_robust_error():
    """By vcovCL of R's sandwich 3.0-2, type HC1, for the mean, with Student's t of 5 degrees of freedom."""
    values = column(0.3, 0.1, -0.2, 0.5, 0.4, 0.2, -0.1, 0.6, 0.05, 0.15, 0.35, -0.3)
    clusters = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 4, 5])
    assert Means.of(values, clusters).errors[0] == pytest.approx(0.0489531616654, abs=1e-12)
    result = compute_tests(values, "t", 0.95, DRAWS_99, clusters=clusters)
    assert result.pvalues[0] == pytest.approx(0.0174754969641, abs=1e-12)
    assert (result.lows[0], result.highs[0]) == pytest.approx((0.0449952251593, 0.2966714415073), abs=1e-12)


def test_clusters_of_different_sizes_are_flipped_as_a_whole():
    values, clusters = np.array([0.5, 0.25, -0.5, 1.0, 0.75, 0.25]), np.array([0, 0, 1, 2, 2, 2])
    flips = []
    for signs in itertools.product((1, -1), repeat=3):
        query_signs = np.array(signs)[clusters]
        flips.append((float(np.mean(query_signs * values)), float(np.mean(query_signs))))
    result = compute_tests(values[:, np.newaxis], "randomization", 0.5, DRAWS_99, clusters=clusters)
    assert result.pvalues[0] == naive.share_as_extreme(0.0, values.mean(), flips)
    np.testing.assert_allclose(
        (result.lows[0], result.highs[0]), naive.differences_not_rejected(0.5, values.mean(), flips, bound=1e3)
    )


def test_the_detectable_difference_does_not_depend_on_the_order_of_queries():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(12, 1))
    first, *others = (
        compute_tests(rng.permutation(values), "randomization", 0.95, DRAWS_99).detectable[0] for _ in range(4)
    )
    assert others == pytest.approx([first] * 3, rel=1e-12)


@pytest.mark.parametrize("n_queries", [2, 3, 5, 6, 20])
def test_p_values_of_equal_differences_by_bootstrap_are_not_below_those_by_flips(n_queries):
    values = np.full((n_queries, 1), -0.25)
    result = compute_tests(values, "bootstrap", 0.95, DRAWS)
    (pvalue,) = result.pvalues
    assert pvalue == max(2 / 2**n_queries, 2 / (1 + DRAWS.n_resamples))
    ends = (-0.25, -0.25) if n_queries > 5 else (-math.inf, math.inf)
    assert (result.lows[0], result.highs[0]) == ends
    equal_runs = compute_tests(0 * values, "bootstrap", 0.95, DRAWS)
    assert equal_runs.pvalues[0] == 1.0
    assert (equal_runs.lows[0], equal_runs.highs[0]) == ((0.0, 0.0) if n_queries > 5 else ends)
    low, high = bounds(Means.of(values), studentize(values, DRAWS), 0.95)
    assert (low[0], high[0]) == ends


def test_the_bootstrap_test_agrees_with_its_interval():
    values = np.random.default_rng(3).exponential(1, (50, 1)) - 0.6
    result, means = compute_tests(values, "bootstrap", 0.95, DRAWS), Means.of(values)
    low, high = bounds(means, studentize(values, DRAWS), 0.95)
    assert (result.lows[0], result.highs[0]) == pytest.approx((low[0], high[0]), abs=0.01)
    known = np.sort(studentize(values, DRAWS)[:, 0])
    beyond = np.sum(known >= means.means[0] / means.errors[0])
    assert result.pvalues[0] == 2 * (1 + min(beyond, known.size - beyond)) / (1 + known.size)


@pytest.mark.parametrize("test", TESTS)
def test_verdicts_follow_from_two_one_sided_tests(test):
    """Tests of scipy decide whether a difference lies within the margin of 0.2."""
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.3, (30, 1))
    differences = np.hstack([noise - noise.mean() + shift for shift in (0.02, 0.5, -1.0, 0.16)])
    outer, inner = (compute_tests(differences, test, level, Draws(2_000, 0)) for level in (0.95, 0.9))
    judged = judge_differences(outer, inner, differences.mean(axis=0), 0.2, 0.95)
    assert judged == ["equivalent", "better", "worse", "better"]
    for column, verdict in zip(differences.T, judged, strict=True):
        above = scipy.stats.ttest_1samp(column, -0.2, alternative="greater").pvalue
        below = scipy.stats.ttest_1samp(column, 0.2, alternative="less").pvalue
        assert (max(above, below) < 0.05) == (verdict == "equivalent")
    unsure = judge_differences(outer, inner, differences.mean(axis=0), 0.05, 0.95)
    assert unsure[0] == "undecided"
    nothing = compute_tests(np.full((1, 1), math.nan), test, 0.95, DRAWS_99)
    assert judge_differences(nothing, nothing, np.array([math.nan]), 0.2, 0.95) == ["undecided"]


def test_runs_that_differ_by_the_margin_are_rarely_equivalent():
    rng = np.random.default_rng(4)
    differences = 0.3 + rng.normal(size=(25, 2_000))
    outer, inner = (compute_tests(differences, "t", level, DRAWS_99) for level in (0.95, 0.9))
    share = judge_differences(outer, inner, differences.mean(axis=0), 0.3, 0.95).count("equivalent") / 2_000
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)


def pilot_of(differences, draws=DRAWS_99):
    result = compute_tests(differences[:, np.newaxis], "randomization", 0.95, draws)
    ends = (0.0,) * 6
    return PairedDifference("a", "b", *ends, len(differences), 0, 0, float(result.detectable[0]), None, None, False)


@pytest.mark.parametrize(("n_pilot", "difference", "power"), [(30, 0.5, 0.8), (60, 0.3, 0.9)])
def test_the_needed_number_of_queries_has_the_power(n_pilot, difference, power):
    """For normal differences, by the noncentral t distribution, over 60 pilots."""
    rng, powers = np.random.default_rng(5), []
    truth = next(n for n in range(4, 999) if power_of_t(n, difference) >= power)
    n_covered = 0
    for _ in range(60):
        needed = needed_items(pilot_of(rng.normal(size=n_pilot), Draws(999, 0)), -difference, power=power)
        powers.append(power_of_t(needed.n, difference))
        n_covered += needed.low <= truth <= needed.high
        assert needed.low <= needed.n <= needed.high
    assert np.mean(powers) == pytest.approx(power, abs=0.03)
    assert n_covered >= 50


def power_of_t(n, difference):
    critical = scipy.stats.t.ppf(0.975, n - 1)
    return scipy.stats.nct.sf(critical, n - 1, difference * math.sqrt(n))


def test_the_number_needed_for_the_detectable_difference_is_that_of_the_pilot():
    rng = np.random.default_rng(6)
    pilot = pilot_of(rng.normal(size=40), DRAWS)
    assert needed_items(pilot, pilot.detectable).n == 40
    assert needed_items(pilot, pilot.detectable / 2).n == pytest.approx(160, abs=5)
    assert needed_items(pilot, 1e9).n == 6  # 2^(1 - 5) exceeds 0.05
    table = {name: {f"t{task}": float(x) for task, x in enumerate(rng.normal(size=20))} for name in "ab"}
    board = leaderboard_of_scores(table)
    assert needed_items(board, board.detectable).n == 20


@pytest.mark.parametrize(
    ("pilot", "arguments", "message"),
    [
        (0.5, (1,), "pilot must be a comparison of two runs or systems, or a leaderboard of scores; got 0.5"),
        (pilot_of(np.arange(20.0)), (0,), "difference must be a finite number other than 0; got 0"),
        (pilot_of(np.arange(20.0)), (math.nan,), "difference must be a finite number"),
        (pilot_of(np.arange(20.0)), (1e-9,), "difference must be larger; with the noise of this pilot, 1e-09 needs"),
        (pilot_of(np.arange(20.0)), (1e-200,), "difference must be larger"),
        (pilot_of(np.zeros(20)), (1,), "the pilot has no detectable difference"),
    ],
)
def test_pilots_without_a_needed_number(pilot, arguments, message):
    with pytest.raises(OptionError, match=message):
        needed_items(pilot, *arguments)
