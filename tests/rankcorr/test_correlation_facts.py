"""The facts that the paper states about the coefficients, as properties of rankings in which ties are common."""

import math

import numpy as np
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import Uniform, weighted_rho, weighted_tau
from tests.results import statistic_of
from tests.strategies import (
    N0S,
    SCHEME,
    SYMMETRIC_SCHEME,
    TIED_WEIGHT,
    distinguishing_pairs,
    tied_pairs,
    tied_scores,
    untied_pairs,
)

BOTH = weighted_rho, weighted_tau


@given(tied_pairs(40), N0S, SYMMETRIC_SCHEME, TIED_WEIGHT)
def test_symmetric_in_x_and_y(pair, n0, scheme, tied_weights):
    options = {"n0": n0, "scheme": scheme, "tied_weights": tied_weights}
    for coefficient in BOTH:
        there, back = (statistic_of(coefficient, *rankings, **options) for rankings in (pair, pair[::-1]))
        assert_allclose(there, back, atol=1e-13)


@given(tied_scores(40), N0S, SCHEME)
def test_one_for_a_ranking_with_itself(scores, n0, scheme):
    assume(np.ptp(scores) > 0)
    for coefficient in BOTH:
        assert_allclose(coefficient(scores, scores, n0=n0, scheme=scheme).statistic, 1, rtol=4e-16)


@given(tied_scores(40), N0S, SCHEME)
def test_minus_one_against_its_reverse(scores, n0, scheme):
    assume(np.ptp(scores) > 0)
    for coefficient in BOTH:
        assert_allclose(coefficient(scores, -scores, n0=n0, scheme=scheme).statistic, -1, rtol=1e-13)


@given(distinguishing_pairs(40), N0S)
def test_strictly_increasing_maps_of_scores_change_nothing(pair, n0):
    x, y = pair
    for coefficient in BOTH:
        assert coefficient(x, y, n0=n0) == coefficient(np.exp(x / 1000), y**3 - 5, n0=n0)


@given(distinguishing_pairs(40), st.randoms(use_true_random=False), N0S)
def test_permuting_items_changes_nothing(pair, random, n0):
    items = list(range(pair[0].size))
    random.shuffle(items)
    for coefficient in BOTH:
        shuffled = coefficient(pair[0][items], pair[1][items], n0=n0).statistic
        assert_allclose(shuffled, coefficient(*pair, n0=n0).statistic, atol=1e-13)


@given(distinguishing_pairs(40))
def test_uniform_weights_give_spearman_and_kendall(pair):
    rho, tau = (coefficient(*pair, weigher=Uniform()).statistic for coefficient in BOTH)
    assert_allclose(rho, scipy.stats.spearmanr(*pair)[0], rtol=0, atol=1e-13)
    assert_allclose(tau, scipy.stats.kendalltau(*pair)[0], rtol=0, atol=1e-13)


@given(distinguishing_pairs(40), SCHEME)
def test_large_offsets_tend_to_uniform_weights(pair, scheme):
    for coefficient in BOTH:
        plain = coefficient(*pair, weigher=Uniform()).statistic
        distances = [abs(coefficient(*pair, n0=n0, scheme=scheme).statistic - plain) for n0 in (1e3, 1e6, 1e9)]
        # Weights are within a factor (1 + 40/n0)^4 of equal.
        assert distances[1] < 1e-3
        assert distances[2] < 1e-6


@given(untied_pairs(40), N0S)
def test_variants_agree_without_ties(pair, n0):
    both = [weighted_tau(*pair, n0=n0, variant=variant).statistic for variant in ("a", "b")]
    assert_allclose(*both, rtol=0, atol=1e-13)


@given(st.integers(3, 200), st.floats(-0.9, 50))
def test_swapping_the_top_costs_more_than_swapping_the_bottom(n_items, n0):
    gold = np.arange(n_items, 0.0, -1)
    top, bottom = gold.copy(), gold.copy()
    top[:2], bottom[-2:] = top[1::-1], bottom[:-3:-1]
    assert weighted_tau(gold, top, n0=n0).statistic < weighted_tau(gold, bottom, n0=n0).statistic
    assert weighted_rho(gold, top, n0=n0).statistic < weighted_rho(gold, bottom, n0=n0).statistic


@given(tied_pairs(60), N0S, SCHEME)
def test_never_outside_one(pair, n0, scheme):
    for coefficient in BOTH:
        value = statistic_of(coefficient, *pair, n0=n0, scheme=scheme)
        assert math.isnan(value) or -1 <= value <= 1
