"""P-value and interval are one test: both count exchanges that are as extreme, spelt out in `naive`."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr._checks import alpha_of
from rankcorr.inference._exchange_distribution import ExchangeDistribution, all_swaps
from tests import naive

ALTERNATIVES = st.sampled_from(["two-sided", "greater", "less"])
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95])
EIGHTHS = st.integers(-8, 8).map(lambda number: number / 8)


@st.composite
def distributions(draw):
    """Few different values, many equal; keeping all gives the difference, and exchanging all its negative."""
    observed, number = draw(EIGHTHS), draw(st.integers(1, 30))
    kept = [1.0, *(draw(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0])) for _ in range(number - 1))]
    rows = [
        [m * observed if abs(m) == 1 else draw(st.one_of(EIGHTHS, EIGHTHS, st.just(math.nan))) for m in kept]
        for _ in range(draw(st.integers(1, 2)))
    ]
    return ExchangeDistribution(observed, np.array(rows), np.array(kept), draw(st.booleans()))


@given(distributions(), ALTERNATIVES)
def test_the_p_value_is_the_share_of_exchanges_that_are_as_extreme(distribution, alternative):
    pairs = [list(zip(row, distribution.net_shares.tolist(), strict=True)) for row in distribution.differences.tolist()]
    expected = max(
        naive.share_as_extreme(0.0, distribution.observed, row, alternative, distribution.is_exact) for row in pairs
    )
    assert_allclose(distribution.pvalue(alternative), expected, rtol=1e-12)


@given(distributions(), ALTERNATIVES, LEVELS)
def test_the_interval_holds_the_differences_that_are_not_rejected(distribution, alternative, level):
    pairs = [list(zip(row, distribution.net_shares.tolist(), strict=True)) for row in distribution.differences.tolist()]
    arguments = (alternative, distribution.is_exact)
    ends = [naive.differences_not_rejected(alpha_of(level), distribution.observed, row, *arguments) for row in pairs]
    expected = min(low for low, _ in ends), max(high for _, high in ends)
    low, high = distribution.interval(level, alternative, 2.0)
    assert_allclose((low, high), expected, rtol=0, atol=1e-9)
    assert (low > 0 or high < 0) == (distribution.pvalue(alternative) <= alpha_of(level))
    # Between the ends no p-value is at most alpha, and beyond them each one is.
    for true in np.linspace(-2, 2, 33).tolist():
        shares = [
            naive.share_as_extreme(true, distribution.observed, row, alternative, distribution.is_exact)
            for row in pairs
        ]
        if min(abs(true - low), abs(true - high)) > 1e-6:
            assert (max(shares) > alpha_of(level)) == (low < true < high)


@given(distributions(), LEVELS)
def test_the_mirror_image_has_the_mirrored_interval(distribution, level):
    turned = ExchangeDistribution(
        -distribution.observed, -distribution.differences, distribution.net_shares, distribution.is_exact
    )
    for one, other in (("two-sided", "two-sided"), ("greater", "less"), ("less", "greater")):
        assert distribution.pvalue(one) == turned.pvalue(other)
        low, high = distribution.interval(level, one)
        assert (-high, -low) == turned.interval(level, other)


def test_an_undefined_difference_is_never_rejected():
    distribution = ExchangeDistribution(math.nan, np.array([[0.1, math.nan, 0.3]]), np.array([1.0, 0.0, -0.5]), True)
    assert (distribution.pvalue(), distribution.interval(0.5, bound=2.0), distribution.n_undefined) == (
        1.0,
        (-2.0, 2.0),
        1,
    )
    scales = ExchangeDistribution(0.1, np.array([[0.1, math.nan, 0.3], [math.nan, math.nan, 0.1]]), np.zeros(3), True)
    assert scales.n_undefined == 2


def test_too_few_exchanges_never_reject():
    distribution = ExchangeDistribution(0.7, np.array([[0.1] * 9]), np.zeros(9), False)
    assert distribution.pvalue() == 0.1
    assert distribution.interval(0.9) != distribution.interval(0.95) == (-math.inf, math.inf)


def test_the_detectable_difference_of_normal_exchanges_is_that_of_a_normal_test():
    values = np.random.default_rng(0).normal(0, 0.3, 100_000)
    expected = 0.3 * (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8))
    distribution = ExchangeDistribution(0.2, values[np.newaxis], np.zeros(values.size), False)
    assert_allclose(distribution.detectable(0.95), expected, rtol=0.02)
    twice = ExchangeDistribution(0.2, np.array([values, 2 * values]), np.zeros(values.size), False)
    assert twice.detectable(0.95) == pytest.approx(2 * distribution.detectable(0.95))


def test_exchanges_that_change_nothing_detect_nothing():
    for is_exact in (False, True):
        assert math.isnan(ExchangeDistribution(0.0, np.zeros((1, 4)), np.zeros(4), is_exact).detectable(0.95))
        assert math.isnan(ExchangeDistribution(0.0, np.full((1, 4), math.nan), np.zeros(4), is_exact).detectable(0.95))


def flips(values, observed=0.0):
    """The mean of some values plus a difference, and its values after all flips of signs."""
    signs = 1.0 - 2.0 * all_swaps(len(values))
    values = np.array(values) - np.mean(values) + observed
    return ExchangeDistribution(float(observed), (signs @ values / len(values))[np.newaxis], signs.mean(axis=1), True)


@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]), min_size=6, max_size=6), st.sampled_from([0.9, 0.95])
)
def test_the_detectable_difference_is_significant_in_four_of_five_flips(values, level):
    noise = (1 + 0.9 / 5) * math.sqrt(6 / 5) * (np.array(values) - np.mean(values))
    least = flips(values).detectable(level)
    for observed in (-1.5, 3.0):
        assert_allclose(flips(values, observed).detectable(level), least, rtol=1e-9)
        assert_array_equal(flips(values, observed).detectable(level, bound=1e-3), math.nan)
    if np.abs(noise).max() <= 1e-9:
        assert math.isnan(least)
        return

    def power(difference):
        signs = list(itertools.product((1, -1), repeat=6))
        found = [
            naive.share_as_extreme(0.0, float(np.mean(data)), naive_flips(data)) for data in signs * noise + difference
        ]
        return np.mean(np.array(found) <= 1 - level + 1e-12)

    assert power(least + 1e-6) >= 0.8
    assert power(least - 1e-6) < 0.8 + 1e-9


def naive_flips(data):
    """Mean after each flip of signs, and the share kept less that flipped."""
    return [(float(np.mean(own * data)), float(np.mean(own))) for own in itertools.product((1, -1), repeat=len(data))]


def test_five_queries_detect_nothing():
    assert math.isnan(flips([0.1, 0.3, -0.2, 0.4, 0.0]).detectable(0.95))
    assert math.isnan(flips([0.1]).detectable(0.95))


def test_a_p_value_of_three_in_sixty_is_not_above_a_twentieth():
    assert 1 - 0.95 > 0.05
    assert alpha_of(0.95) == 3 / 60


def test_all_swaps_are_the_product():
    assert_array_equal(sorted(all_swaps(4).tolist()), sorted(map(list, itertools.product([0, 1], repeat=4))))
