import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import OptionError, Ranking, UndefinedCorrelationWarning
from rankcorr.measures import vigna_tau
from tests import naive
from tests.strategies import SYMMETRIC_SCHEME, distinguishing_pairs

COMBINE = {"additive": lambda a, b: a + b, "multiplicative": lambda a, b: a * b}


@given(distinguishing_pairs(30), SYMMETRIC_SCHEME)
def test_vigna_tau_is_scipy_weightedtau_of_the_scores(pair, scheme):
    additive = scheme == "additive"
    x, y = pair
    peer = scipy.stats.weightedtau(x, y, additive=additive)
    assert_allclose(vigna_tau(x, y, scheme=scheme).statistic, peer.statistic, rtol=0, atol=1e-14)


@given(distinguishing_pairs(), SYMMETRIC_SCHEME)
def test_vigna_tau_is_the_double_sum(pair, scheme):
    x, y = pair
    forth, back = (naive.vigna_tau(*order, COMBINE[scheme]) for order in ((x, y), (y, x)))
    assert_allclose(vigna_tau(x, y, scheme=scheme).statistic, (forth + back) / 2, rtol=0, atol=1e-13)


@given(distinguishing_pairs(), st.randoms(use_true_random=False))
def test_vigna_tau_does_not_depend_on_the_order_of_items(pair, random):
    items = list(enumerate(pair[1].tolist()))
    random.shuffle(items)
    labelled = dict(enumerate(pair[0].tolist()))
    assert_allclose(vigna_tau(labelled, dict(items)).statistic, vigna_tau(*pair).statistic, rtol=0, atol=1e-14)


def test_vigna_tau_takes_rankings_and_missing_labels():
    x, y = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["b", "a", "d"])
    result = vigna_tau(x, y, missing="bottom")
    assert result.statistic == vigna_tau([4, 3, 2, 1], [3, 4, 1, 2]).statistic
    options = "scheme='additive', weigher='hyperbolic', missing='bottom', n_missing=2)"
    assert repr(result).endswith(f"coefficient='vigna_tau', {options}")


def test_vigna_tau_of_tied_items_is_undefined():
    with pytest.warns(UndefinedCorrelationWarning, match="all items are tied in one ranking") as caught:
        assert math.isnan(vigna_tau([1, 2, 3], [5, 5, 5]).statistic)
    assert caught[0].filename == __file__


def test_vigna_tau_options():
    with pytest.raises(OptionError, match="scheme must be one of 'additive', 'multiplicative'; got 'first'"):
        vigna_tau([1, 2], [1, 2], scheme="first")
