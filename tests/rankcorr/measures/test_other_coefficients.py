import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import (
    LabelMismatchError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    Ranking,
    UndefinedCorrelationWarning,
)
from rankcorr.measures import pearson, vigna_tau
from tests.rankcorr.measures import naive
from tests.strategies import distinguishing_pairs

COMBINE = {"additive": lambda a, b: a + b, "multiplicative": lambda a, b: a * b}
SCHEME = st.sampled_from(["additive", "multiplicative"])


@given(distinguishing_pairs(30), SCHEME)
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


@given(distinguishing_pairs(), SCHEME)
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
    assert repr(result).endswith(
        "coefficient='vigna_tau', scheme='additive', weigher='hyperbolic', variant='both', missing='bottom', "
        "n_missing=2)"
    )
    assert vigna_tau(x, x, ranked_by="y").variant == "y"


def test_vigna_tau_of_tied_items_is_undefined():
    with pytest.warns(UndefinedCorrelationWarning, match="all items are tied in one ranking") as caught:
        assert math.isnan(vigna_tau([1, 2, 3], [5, 5, 5]).statistic)
    assert caught[0].filename == __file__


def test_vigna_tau_options():
    with pytest.raises(OptionError, match="ranked_by must be one of 'both', 'x', 'y'; got True"):
        vigna_tau([1, 2], [1, 2], ranked_by=True)
    with pytest.raises(OptionError, match="scheme must be one of 'additive', 'multiplicative'; got 'first'"):
        vigna_tau([1, 2], [1, 2], scheme="first")


def exact_pearson(x, y):
    """Exact sums; the square root and the division round."""
    x, y = ([Fraction(float(score)) for score in scores] for scores in (x, y))
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    top = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    bottom = sum((a - x_mean) ** 2 for a in x) * sum((b - y_mean) ** 2 for b in y)
    return math.copysign(math.sqrt(top**2 / bottom), top)


@given(distinguishing_pairs(30))
def test_pearson_is_that_of_numpy_and_scipy(pair):
    value = pearson(*pair).statistic
    assert_allclose(value, np.corrcoef(*pair)[0, 1], rtol=0, atol=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nearly constant input
        assert_allclose(value, scipy.stats.pearsonr(*pair).statistic, rtol=0, atol=1e-14)
    assert_allclose(value, exact_pearson(*pair), rtol=0, atol=1e-14)


SCALES = st.sampled_from([1e-300, 1e-3, 1.0, 1e9, 1e300])


@given(distinguishing_pairs(), SCALES, SCALES)
def test_pearson_at_any_scale(pair, x_scale, y_scale):
    x, y = pair[0] * x_scale, pair[1] * -y_scale
    assert_allclose(pearson(x, y).statistic, -pearson(*pair).statistic, rtol=0, atol=1e-13)


@given(distinguishing_pairs(), st.sampled_from([-1e12, 0, 1e15]))
def test_pearson_far_from_zero(pair, offset):
    assert_allclose(pearson(pair[0] + offset, pair[1]).statistic, pearson(*pair).statistic, rtol=0, atol=1e-13)


def test_pearson_near_the_largest_float():
    assert pearson([1.7e308, -1.7e308, 0], [1, -1, 0]).statistic == 1
    assert pearson([5e-324, 0, 0], [1, 0, 0]).statistic == 1


def test_pearson_by_label():
    y = pd.Series({"c": 9, "b": 5, "a": 2})
    result = pearson({"a": Decimal(1), "b": Fraction(2), "c": 4}, y)
    assert result.statistic == pytest.approx(96 / math.sqrt(42 * 222), rel=1e-15, abs=0)
    assert repr(result).endswith("n_items=3, coefficient='pearson')")
    with pytest.raises(LabelMismatchError, match="labels in y only, which x lacks: 'd'"):
        pearson({"a": 1, "b": 2, "c": 4}, {"a": 2, "d": 100, "c": 9, "b": 5})
    left_out = pearson({"a": 1, "b": 2, "c": 4}, {"a": 2, "d": 100, "c": 9, "b": 5}, missing="intersection")
    assert (left_out.statistic, left_out.n_items, left_out.n_missing) == (result.statistic, 3, 1)


def test_pearson_of_equal_scores_is_undefined():
    with pytest.warns(UndefinedCorrelationWarning, match="all scores of one are equal") as caught:
        assert math.isnan(pearson([1, 2, 3], [0.1, 0.1, 0.1]).statistic)
    assert caught[0].filename == __file__


def test_pearson_of_bad_scores():
    with pytest.raises(MissingValueError, match=r"y: every item needs a score; nan: scores\[1\]"):
        pearson([1, 2], [1, math.nan])
    with pytest.raises(MissingValueError, match="x: every score must be finite; not finite: 1"):
        pearson([1, math.inf], [1, 2])
    with pytest.raises(MissingValueError, match="y: every score must be finite; not finite: 'b'"):
        pearson({"a": 1, "b": 2}, {"a": 1, "b": 10**400})
    with pytest.raises(NonNumericError, match="x: every score must be a real number"):
        pearson(["1", "2"], [1, 2])
    with pytest.raises(LengthError, match="x has 2 items and y has 3"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(OptionError, match="x: scores are needed; a Ranking keeps their order alone"):
        pearson(Ranking.from_scores([1, 2]), [1, 2])
    with pytest.raises(OptionError, match="missing must be one of 'raise', 'intersection'; got 'bottom'"):
        pearson([1, 2], [1, 2], missing="bottom")
