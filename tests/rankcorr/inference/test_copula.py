"""Resamples from a fitted copula have the dependence and the ties of the rankings."""

import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr.inference import _kernels as kernels
from rankcorr.inference._copula import (
    DEGREES,
    STRONGEST,
    TCopula,
    before_ranking,
    log_likelihood,
    quantiles,
    score_correlations,
    without_rounding,
)
from tests.rankcorr.inference.cases import sorted_items

FIVE = [-1.2, -0.4, 0.4, 1.2]


def dependent(n_items, r=0.5, degrees=math.inf, seed=0, n_others=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_items)
    others = r * x + math.sqrt(1 - r * r) * rng.normal(size=(n_others, n_items))
    scale = 1.0 if math.isinf(degrees) else np.sqrt(degrees / rng.chisquare(degrees, n_items))
    return x * scale, *(others * scale)


def correlations(*rankings):
    return without_rounding(score_correlations(sorted_items(*rankings)), len(rankings[0]))


def fitted(items):
    return TCopula.fitted(items).degrees


@pytest.mark.parametrize("r", [-0.8, 0.0, 0.3, 0.95])
@pytest.mark.parametrize("degrees", [2.0, 9.0, math.inf])
def test_tau_of_an_elliptical_copula(r, degrees):
    # Kendall's tau is 2 asin(r) / pi whatever the degrees of freedom (Lindskog, McNeil and Schmock 2003).
    items = sorted_items(*dependent(40), coefficient="tau")
    strengths = np.full((1_500, 1), np.arctanh(r))
    drawn = TCopula(items, strengths[0], degrees).draw(np.random.default_rng(1), strengths)[:, 0]
    assert abs(drawn.mean() - 2 * math.asin(r) / math.pi) < 4 * drawn.std() / math.sqrt(drawn.size)


def test_ties_are_as_frequent_as_they_were():
    rng = np.random.default_rng(0)
    x, y = (np.digitize(scores, FIVE) for scores in dependent(200))
    half = np.where(rng.random(200) < 0.5, 0.0, rng.normal(size=200))
    for degrees in (2.0, math.inf):
        copula = TCopula(sorted_items(x, y, half), np.zeros(2), degrees)
        keys = copula.drawn_keys(np.random.default_rng(0), np.zeros((400, 2)))
        for row, scores in enumerate((x, y, half)):
            expected = np.sort(np.unique(scores, return_counts=True)[1])[-5:].mean()
            largest = [np.sort(np.unique(each[row], return_counts=True)[1])[-5:].mean() for each in keys]
            assert_allclose(np.mean(largest), expected, rtol=0.05)
        assert (np.diff(keys[:, 0], axis=1) >= 0).all()
        assert_array_equal(keys[:, 0, 0], 0)


def test_rankings_without_ties_never_tie():
    x, y = dependent(100)
    keys = TCopula.fitted(sorted_items(x, y)).drawn_keys(np.random.default_rng(0), np.full((50, 1), 3.0))
    assert_array_equal(keys[:, 0], np.tile(np.arange(100), (50, 1)))
    assert_array_equal(np.sort(keys[:, 1]), np.tile(np.arange(100), (50, 1)))


def test_keys_number_the_groups_in_the_order_of_the_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 2, 17))
    scales = rng.uniform(0.5, 2.0, (3, 17))
    strengths = rng.normal(size=(3, 1))
    packed = np.empty(scores.shape, np.int64)
    kernels.packed_scores(scores, scales, strengths, 5, packed)
    packed.sort(axis=-1)
    keys = np.empty(scores.shape, np.int32)
    kernels.drawn_keys(packed, 5, np.array([-0.5, 0.5, 0.3, 1.0]), np.array([0, 2, 4]), keys)
    for draw in range(3):
        r = math.tanh(strengths[draw, 0])
        x = scores[draw, 0] * scales[draw]
        y = (r * scores[draw, 0] + math.sqrt(1 - r * r) * scores[draw, 1]) * scales[draw]
        x = np.where((x >= -0.5) & (x < 0.5), 0.0, x)
        y = np.where((y >= 0.3) & (y < 1.0), 0.5, y)
        order = np.lexsort((x,))
        assert_array_equal(keys[draw, 0], scipy.stats.rankdata(x, "min")[np.argsort(x, kind="stable")] - 1)
        ranks = scipy.stats.rankdata(y, "min") - 1
        for key in np.unique(keys[draw, 0]):  # within a tie of x the order is free
            at = keys[draw, 0] == key
            assert_array_equal(np.sort(keys[draw, 1][at]), np.sort(ranks[order][at]))


@pytest.mark.parametrize("degrees", [2.0, 5.0, math.inf])
def test_the_likelihood_is_that_of_scipy(degrees):
    x, y = dependent(20)
    strength = 0.7
    r = math.tanh(strength)
    shape = np.array([[1, r], [r, 1]])
    if math.isinf(degrees):
        joint = scipy.stats.multivariate_normal(cov=shape)
        one = scipy.stats.norm()
    else:
        joint = scipy.stats.multivariate_t(shape=shape, df=degrees)
        one = scipy.stats.t(degrees)
    expected = (joint.logpdf(np.stack([x, y], axis=1)) - one.logpdf(x) - one.logpdf(y)).sum()
    assert_allclose(log_likelihood(x, y, strength, degrees), expected, rtol=1e-10)
    assert_allclose(quantiles(np.array([0.0, 0.3, 1.0]), degrees), one.ppf([0.0, 0.3, 1.0]), rtol=1e-10)


@pytest.mark.parametrize("coefficient", ["tau", "tau_w"])
def test_the_degrees_of_freedom_are_found(coefficient):
    found = [
        fitted(sorted_items(*dependent(1_000, 0.7, degrees), coefficient=coefficient))
        for degrees in (2.0, 5.0, math.inf)
    ]
    assert found[0] < found[1] < found[2]
    assert set(found) <= set(DEGREES)


def test_only_the_better_half_decides_for_a_top_weighted_coefficient():
    # Clayton's copula: low scores go together, high ones do not.
    u, v = np.random.default_rng(0).random((2, 1_000))
    y = ((v**-0.8 - 1) * u**-4.0 + 1) ** -0.25
    assert fitted(sorted_items(u, y)) > fitted(sorted_items(u, y, coefficient="tau"))


@pytest.mark.parametrize("r", [0.9, 0.99, 0.9999, -0.99])
@pytest.mark.parametrize("n_items", [20, 65])
def test_correlations_are_those_before_the_rounding_to_ranks(r, n_items):
    found, raw = [], []
    for seed in range(200):
        x, y = dependent(n_items, r, seed=seed)
        scores = scipy.stats.norm.ppf((scipy.stats.rankdata([x, y], axis=1) - 0.5) / n_items)
        raw.append(np.corrcoef(scores)[0, 1])
        found.append(correlations(x, y)[0])
    expected, biased, noise = (np.sqrt(2 - 2 * np.abs(each)).mean() for each in (r, raw, found))
    assert abs(noise - expected) < 0.12 * expected
    assert abs(noise - expected) < 0.7 * abs(biased - expected)


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.5])
def test_rounding_does_not_change_the_mean_of_moderate_correlations(r):
    found = [correlations(*dependent(65, r, seed=seed))[0] for seed in range(200)]
    assert abs(np.mean(found) - r) < 0.03


def test_correlations_of_equal_and_reversed_rankings():
    x = np.arange(10.0)
    assert_allclose(correlations(x, x, -x), [1, -1], rtol=0, atol=1e-15)
    assert_allclose(TCopula.fitted(sorted_items(x, x, -x)).strengths, [STRONGEST, -STRONGEST])


@pytest.mark.parametrize("r", [0.6, 0.98, -0.9])
@pytest.mark.parametrize("kind", ["five levels", "tenths", "one of two"])
def test_correlations_are_those_before_the_scores_were_rounded(r, kind):
    found, raw = [], []
    for seed in range(40):
        x, y = dependent(65, r, seed=seed)
        if kind != "one of two":
            y = np.digitize(y, FIVE) if kind == "five levels" else np.round(y, 1)
        x = np.digitize(x, FIVE) if kind != "tenths" else np.round(x, 1)
        items = sorted_items(x, y)
        raw.append(score_correlations(items)[0])
        found.append(before_ranking(items, score_correlations(items))[0])
    expected, biased, noise = (np.sqrt(2 - 2 * np.abs(each)).mean() for each in (r, raw, found))
    # A single data set is off by up to a half; their mean has a standard error of at most 0.08.
    assert abs(noise - expected) < max(0.15 * expected, 0.4 * abs(biased - expected))


def test_ties_that_draws_may_lack_leave_a_correlation_as_it_is():
    x = np.zeros(5_000)
    x[0] = 1
    assert_allclose(before_ranking(sorted_items(x, x), np.array([0.3]))[0], 0.3)


def test_resamples_are_draws_with_the_fitted_correlations():
    copula = TCopula.fitted(sorted_items(*dependent(40, 0.6, n_others=3), coefficient="tau"))
    found = copula.draw(np.random.default_rng(3), np.tile(copula.strengths, (600, 1)))
    assert found.shape == (600, 3)
    # Means within 4 standard errors of 2 asin(r) / pi; of ranks, r is off by about 1 / n.
    expected = 2 * np.arcsin(np.tanh(copula.strengths)) / math.pi
    assert_allclose(found.mean(axis=0), expected, rtol=0, atol=4 * found.std() / math.sqrt(600) + 0.01)
