"""Further correlations: tau_AP, Vigna's tau, Blest's nu, and the top-down correlation of Iman and Conover."""

import itertools
import math
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import LabelMismatchError, Ranking
from rankcorr.measures import blest_nu, tau_ap, top_down_correlation, vigna_tau
from tests import naive
from tests.strategies import SYMMETRIC_SCHEME, distinguishing_pairs, pairs_in_groups, tied_pairs, untied_pairs

# tests/testthat/helper_data.R and test_tauAP.R of the R package ircor of Urbano and Marrero, which tests to 5e-5.
SCORES = [
    (
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
        [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
    ),
    (
        [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
        [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
        [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
    ),
    (
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
        [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
        [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
    ),
]
# tauAP(x, y), tauAP_a(x, tied y), tauAP_b(x, y), tauAP_b(tied x, tied y)
FIGURES = [(0.8519, 0.7454, 0.8333, 0.7321), (0.2504, 0.2692, 0.2880, 0.2970), (-0.6971, -0.5558, -0.6680, -0.7047)]


@pytest.mark.parametrize(("scores", "figures"), list(zip(SCORES, FIGURES, strict=True)))
def test_values_of_the_package_by_urbano_and_marrero(scores, figures):
    x, y, tied_x, tied_y = scores
    values = [tau_ap(x, y), tau_ap(x, tied_y), tau_ap(x, y, ties="b"), tau_ap(tied_x, tied_y, ties="b")]
    assert_allclose([value.statistic for value in values], figures, rtol=0, atol=5e-5)


@given(pairs_in_groups())
def test_a_is_the_mean_over_all_ways_to_break_ties(pair):
    values = [naive.tau_ap(*broken) for broken in itertools.product(*map(naive.breakings, pair))]
    result = tau_ap(*map(Ranking.from_order, pair))
    assert_allclose(result.statistic, float(sum(values) / len(values)), rtol=0, atol=1e-14)


@given(untied_pairs())
def test_without_ties_a_is_the_definition_and_b_the_mean_of_both_directions(pair):
    x, y = pair
    forth, back = tau_ap(x, y).statistic, tau_ap(y, x).statistic
    orders = [np.argsort(-scores).tolist() for scores in pair]
    assert_allclose(forth, float(naive.tau_ap(*orders)), rtol=0, atol=1e-14)
    assert_allclose(tau_ap(x, y, ties="b").statistic, (forth + back) / 2, rtol=0, atol=1e-14)


@given(distinguishing_pairs(30))
def test_b_is_the_double_sum(pair):
    result = tau_ap(*pair, ties="b")
    assert_allclose(result.statistic, float(naive.tau_ap_b(*pair)), rtol=0, atol=1e-14)
    assert_allclose(result.statistic, tau_ap(*pair[::-1], ties="b").statistic, rtol=0, atol=1e-15)


@given(tied_pairs(30), st.randoms(use_true_random=False))
def test_items_may_come_in_any_order(pair, random):
    labelled = [dict(enumerate(scores.tolist())) for scores in pair]
    items = list(labelled[1].items())
    random.shuffle(items)
    expected = tau_ap(*pair).statistic
    assert_allclose(tau_ap(labelled[0], dict(items)).statistic, expected, rtol=0, atol=1e-14)
    assert -1 <= expected <= 1


def test_tau_ap_is_0_if_all_items_are_tied():
    assert tau_ap([1, 2, 3], [1, 1, 1]).statistic == pytest.approx(0, rel=0, abs=1e-15)


def test_results_record_their_options():
    gold, system = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["b", "a", "d"])
    with pytest.raises(LabelMismatchError, match="labels in gold only: 'c'; labels in system only: 'd'"):
        tau_ap(gold, system)
    result = tau_ap(gold, system, missing="intersection")
    assert (result.statistic, result.n_items) == (-1, 2)
    assert repr(result).endswith("coefficient='tau_ap', variant='a', missing='intersection', n_missing=2)")
    options = "scheme='additive', weigher='hyperbolic', missing='bottom', n_missing=2)"
    assert repr(vigna_tau(gold, system, missing="bottom")).endswith(f"coefficient='vigna_tau', {options}")


@given(distinguishing_pairs(30), SYMMETRIC_SCHEME)
def test_vigna_tau_is_scipy_weightedtau_of_the_scores(pair, scheme):
    additive = scheme == "additive"
    x, y = pair
    peer = scipy.stats.weightedtau(x, y, additive=additive)
    assert_allclose(vigna_tau(x, y, scheme=scheme).statistic, peer.statistic, rtol=0, atol=1e-14)


@given(distinguishing_pairs(), st.randoms(use_true_random=False))
def test_vigna_tau_does_not_depend_on_the_order_of_items(pair, random):
    items = list(enumerate(pair[1].tolist()))
    random.shuffle(items)
    labelled = dict(enumerate(pair[0].tolist()))
    assert_allclose(vigna_tau(labelled, dict(items)).statistic, vigna_tau(*pair).statistic, rtol=0, atol=1e-14)


@given(distinguishing_pairs(5))
def test_blest_nu_is_the_mean_over_the_ways_to_break_ties(pair):
    x, y = (column.tolist() for column in pair)
    assert_allclose(blest_nu(x, y).statistic, naive.blest_nu(x, y), rtol=0, atol=1e-12)
    both = (naive.blest_nu(x, y) + naive.blest_nu(y, x)) / 2
    assert_allclose(blest_nu(x, y, symmetric=True).statistic, both, rtol=0, atol=1e-12)


@given(distinguishing_pairs(6))
def test_top_down_correlation_is_pearson_of_mean_savage_scores(pair):
    x, y = (column.tolist() for column in pair)
    assert_allclose(top_down_correlation(x, y).statistic, naive.top_down(x, y), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_variances_over_all_rankings_are_the_published_ones(n):
    rankings = [list(order) for order in permutations(range(n))]
    nu = [blest_nu(rankings[0], other).statistic for other in rankings]
    # Genest and Plante 2003, proposition 1
    assert_allclose(np.var(nu), (2 * n + 1) * (8 * n + 11) / (15 * (n + 1) ** 2 * (n - 1)), rtol=1e-12)
    top_down = [top_down_correlation(rankings[0], other).statistic for other in rankings]
    assert_allclose(np.var(top_down), 1 / (n - 1), rtol=1e-12)  # Iman and Conover 1987; true for any scores
    assert max(nu) == pytest.approx(1)
    assert min(nu) == pytest.approx(-1)
    assert max(top_down) == pytest.approx(1)


def test_opposite_rankings_tend_to_the_published_limit():
    order = np.arange(100_000)
    assert top_down_correlation(order, -order).statistic == pytest.approx(1 - math.pi**2 / 6, abs=1e-4)


@pytest.mark.parametrize("function", [blest_nu, top_down_correlation, vigna_tau, tau_ap])
def test_missing_labels_are_at_the_bottom(function):
    x, y = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["b", "a", "d"])
    result = function(x, y, missing="bottom")
    assert result.statistic == function([4, 3, 2, 1], [3, 4, 1, 2]).statistic
    assert (result.missing, result.n_missing, result.n_items) == ("bottom", 2, 4)


def test_names_and_tied_values_of_blest():
    assert blest_nu([1, 2], [1, 2]).coefficient == "blest_nu"
    assert blest_nu([1, 2], [1, 2], symmetric=True).coefficient == "blest_xi"
    assert blest_nu([1, 2, 3], [5, 5, 5]).statistic == pytest.approx(0)
