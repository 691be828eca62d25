import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import LabelError, LabelMismatchError, LengthError, OptionError, Ranking, UndefinedCorrelationWarning
from rankcorr.measures import vigna_tau
from tests.rankcorr.measures import naive
from tests.strategies import SYMMETRIC_SCHEME, distinguishing_pairs

COMBINE = {"additive": lambda a, b: a + b, "multiplicative": lambda a, b: a * b}


@given(distinguishing_pairs(30), SYMMETRIC_SCHEME)
def test_vigna_tau_is_scipy_weightedtau_of_the_scores(pair, scheme):
    additive = scheme == "additive"
    x, y = pair
    for ranked_by, peer in (
        ("both", scipy.stats.weightedtau(x, y, additive=additive)),
        ("x", scipy.stats.weightedtau(x, y, rank=None, additive=additive)),
        ("y", scipy.stats.weightedtau(y, x, rank=None, additive=additive)),
    ):
        result = vigna_tau(x, y, ranked_by=ranked_by, scheme=scheme)
        assert_allclose(result.statistic, peer.statistic, rtol=0, atol=1e-14)


@given(distinguishing_pairs(30), SYMMETRIC_SCHEME, st.data())
def test_ranks_by_position_and_ranks_that_are_given_are_those_of_scipy(pair, scheme, data):
    x, y = pair
    ranks = data.draw(st.permutations(range(1, len(x) + 1)))
    for options, rank in (({"ranked_by": "position"}, False), ({"ranks": ranks}, np.array(ranks) - 1)):
        peer = scipy.stats.weightedtau(x, y, rank=rank, additive=scheme == "additive")
        result = vigna_tau(x, y, **options, scheme=scheme)
        assert_allclose(result.statistic, peer.statistic, rtol=0, atol=1e-14)
        assert result.variant == ("position" if rank is False else "ranks")


@given(distinguishing_pairs(), SYMMETRIC_SCHEME, st.data())
def test_ranks_that_are_given_weigh_the_pairs_of_the_double_sum(pair, scheme, data):
    x, y = pair
    ranks = data.draw(st.lists(st.integers(1, 9) | st.just(2.5), min_size=len(x), max_size=len(x)))
    expected = naive.vigna_tau(x, y, COMBINE[scheme], ranks)
    labels = range(len(x))
    labelled = [Ranking.from_scores(scores, labels) for scores in (x, y)]
    assert_allclose(vigna_tau(x, y, ranks=ranks, scheme=scheme).statistic, expected, rtol=0, atol=1e-13)
    by_label = dict(reversed(list(zip(labels, ranks, strict=True)))) | {"another": 1}
    assert_allclose(vigna_tau(*labelled, ranks=by_label, scheme=scheme).statistic, expected, rtol=0, atol=1e-13)


def test_ranks_may_be_a_ranking():
    x, y = Ranking.from_order(["a", "b", "c", "d"]), Ranking.from_order(["b", "a", "d", "c"])
    assert vigna_tau(x, y, ranks=x) == pytest.approx(vigna_tau(x, y, ranked_by="x"))
    tied = Ranking.from_order([["a", "b"], "c", "d"])
    assert vigna_tau(x, y, ranks=tied) == vigna_tau(x, y, ranks={"d": 4, "c": 3, "b": 1.5, "a": 1.5})


@pytest.mark.parametrize(
    ("ranks", "error", "message"),
    [
        ([1, 2], LengthError, "ranks must have a number for each of 3 items; got 2"),
        ([0, 1, 2], OptionError, "ranks must be numbers of at least 1; got: 0"),
        ([1, 0.5, math.inf], OptionError, r"of at least 1; got: 0\.5, inf"),
        ([1, "2", None], OptionError, "of at least 1; got: '2', None"),
        ({"a": 1, "b": 2, "c": 3}, LabelError, "ranks and rankings must both have labels, or neither"),
    ],
)
def test_ranks_that_cannot_be_used(ranks, error, message):
    with pytest.raises(error, match=message):
        vigna_tau([1, 2, 3], [1, 3, 2], ranks=ranks)


def test_ranks_that_lack_an_item_or_come_twice():
    scores = {"a": 1, "b": 2, "c": 3}
    with pytest.raises(LabelMismatchError, match="labels of the rankings that ranks lack: 'b', 'c'"):
        vigna_tau(scores, scores, ranks={"a": 1})
    with pytest.raises(OptionError, match="ranked_by and ranks exclude each other; got 'x' and ranks"):
        vigna_tau(scores, scores, ranked_by="x", ranks=scores)


@given(distinguishing_pairs(), SYMMETRIC_SCHEME)
def test_vigna_tau_is_the_double_sum(pair, scheme):
    x, y = pair
    forth, back = (naive.vigna_tau(*order, COMBINE[scheme]) for order in ((x, y), (y, x)))
    values = [vigna_tau(x, y, ranked_by=by, scheme=scheme).statistic for by in ("x", "y", "both")]
    assert_allclose(values, [forth, back, (forth + back) / 2], rtol=0, atol=1e-13)


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
    options = "scheme='additive', weigher='hyperbolic', variant='both', missing='bottom', n_missing=2)"
    assert repr(result).endswith(f"coefficient='vigna_tau', {options}")
    assert vigna_tau(x, x, ranked_by="y").variant == "y"


def test_vigna_tau_of_tied_items_is_undefined():
    with pytest.warns(UndefinedCorrelationWarning, match="all items are tied in one ranking") as caught:
        assert math.isnan(vigna_tau([1, 2, 3], [5, 5, 5]).statistic)
    assert caught[0].filename == __file__


def test_vigna_tau_options():
    with pytest.raises(OptionError, match="ranked_by must be one of 'both', 'x', 'y', 'position'; got True"):
        vigna_tau([1, 2], [1, 2], ranked_by=True)
    with pytest.raises(OptionError, match="scheme must be one of 'additive', 'multiplicative'; got 'first'"):
        vigna_tau([1, 2], [1, 2], scheme="first")
