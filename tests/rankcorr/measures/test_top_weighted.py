"""Blest's nu, and the top-down correlation of Iman and Conover."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from rankcorr import OptionError, Ranking, UndefinedCorrelationWarning
from rankcorr.measures import blest_nu, top_down_correlation
from tests import naive
from tests.strategies import distinguishing_pairs


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
    assert_allclose(np.var(top_down), 1 / (n - 1), rtol=1e-12)  # Iman and Conover 1987, as of any scores
    assert max(nu) == pytest.approx(1)
    assert min(nu) == pytest.approx(-1)
    assert max(top_down) == pytest.approx(1)


def test_opposite_rankings_tend_to_the_published_limit():
    order = np.arange(100_000)
    assert top_down_correlation(order, -order).statistic == pytest.approx(1 - math.pi**2 / 6, abs=1e-4)


@pytest.mark.parametrize("function", [blest_nu, top_down_correlation])
def test_missing_labels_and_order(function):
    x, y = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["b", "a", "d"])
    result = function(x, y, missing="bottom")
    assert result.statistic == function([4, 3, 2, 1], [3, 4, 1, 2]).statistic
    assert (result.missing, result.n_missing, result.n_items) == ("bottom", 2, 4)


def test_names_and_undefined_values():
    assert blest_nu([1, 2], [1, 2]).coefficient == "blest_nu"
    assert blest_nu([1, 2], [1, 2], symmetric=True).coefficient == "blest_xi"
    assert blest_nu([1, 2, 3], [5, 5, 5]).statistic == pytest.approx(0)
    with pytest.warns(UndefinedCorrelationWarning, match="all items are tied in one ranking") as warned:
        assert math.isnan(top_down_correlation([1, 2, 3], [5, 5, 5]).statistic)
    assert warned[0].filename == __file__
    with pytest.raises(OptionError, match="symmetric must be True or False; got 'no'"):
        blest_nu([1, 2], [1, 2], symmetric="no")
