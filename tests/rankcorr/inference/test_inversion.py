"""Inverted tests give the intervals that are known in closed form."""

import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from rankcorr.inference._copula import MIN_RESAMPLES, inverted, stage_sizes
from rankcorr.inference._resampling import Draws

N_RESAMPLES = 20_000


def interval(draw, observed, start=0.0, level=0.95, n_resamples=N_RESAMPLES, **options):
    chosen = {"seed": 0} | options
    return inverted(draw, observed, start, level=level, numbers_each=1_000, draws=Draws(n_resamples, **chosen))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize(("spread", "start"), [(1.0, 0.3), (0.02, 0.0), (0.5, 1.5)])
def test_a_normal_value_gives_the_textbook_interval(spread, start, level):
    found = interval(lambda rng, means: rng.normal(means, spread), 0.3, start, level)
    quantile = scipy.stats.norm.ppf((1 + level) / 2)
    # An end comes from some 3,000 values near it: 0.03 to 0.06 standard deviations, and a third of that at the middle.
    assert_allclose((found.low, found.high), (0.3 - quantile * spread, 0.3 + quantile * spread), atol=0.2 * spread)
    assert_allclose(found.standard_error, spread, rtol=0.08)
    assert found.n_undefined == 0


def test_a_skew_value_gives_the_exact_interval():
    # A gamma variable of shape 4 times exp(parameter); its mean is 4 exp(parameter). Observed 3: 3 / q and so on.
    found = interval(lambda rng, logs: rng.gamma(4.0, np.exp(logs)), 3.0)
    low, high = 4 * 3.0 / scipy.stats.gamma(4.0).ppf([0.975, 0.025])
    assert_allclose((found.low, found.high), (low, high), rtol=0.08)


def test_half_of_the_values_that_equal_the_observed_one_count():
    # 3 successes of 10: the mid-P interval, which solves P(X > 3) + P(X = 3) / 2 = 0.025 and 0.975.
    def draw(rng, logits):
        return rng.binomial(10, 1 / (1 + np.exp(-logits))) / 10

    def excess(p):
        return scipy.stats.binom.sf(3, 10, p) + scipy.stats.binom.pmf(3, 10, p) / 2

    found = interval(draw, 0.3)
    assert_allclose((excess(found.low), excess(found.high)), (0.025, 0.975), rtol=0, atol=0.005)


def test_an_observed_value_at_the_end_of_its_range():
    def draw(rng, logits):
        return rng.binomial(5, 1 / (1 + np.exp(-np.clip(logits, -700, 700)))) / 5

    found = interval(draw, 1.0)
    # P(X = 5) / 2 = 0.025.
    assert_allclose((found.low, found.high), (0.05**0.2, 1.0), rtol=0, atol=0.03)
    assert found.high == 1.0
    found = interval(draw, 0.0)
    assert_allclose((found.low, found.high), (0.0, 1 - 0.05**0.2), rtol=0, atol=0.03)


def test_undefined_values_are_left_out_and_counted():
    def draw(rng, means):
        values = rng.normal(means)
        return np.where(rng.random(means.size) < 0.1, math.nan, values)

    found = interval(draw, 0.0)
    assert_allclose((found.low, found.high), (-1.96, 1.96), rtol=0, atol=0.2)
    assert abs(found.n_undefined - 2_000) < 5 * math.sqrt(1_800)


def test_without_defined_values_there_is_no_interval():
    found = interval(lambda _, means: np.full(means.size, math.nan), 0.0, n_resamples=MIN_RESAMPLES)
    assert np.isnan([found.low, found.high, found.standard_error]).all()
    assert found.n_undefined == MIN_RESAMPLES


@pytest.mark.parametrize("n_resamples", [MIN_RESAMPLES, 1_999, 12_345])
def test_all_resamples_are_drawn_and_reported(n_resamples):
    done, drawn = [], []

    def draw(rng, means):
        drawn.append(means.size)
        return rng.normal(means)

    interval(draw, 0.0, n_resamples=n_resamples, progress=done.append)
    assert sum(done) == sum(drawn) == sum(stage_sizes(n_resamples)) == n_resamples
    done.clear()
    found = interval(lambda _, means: np.zeros(means.size), 0.0, n_resamples=n_resamples, progress=done.append)
    assert sum(done) == n_resamples
    assert (found.low, found.high, found.standard_error) == (0, 0, 0)
    assert min(stage_sizes(n_resamples)) > 0
