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
from rankcorr.measures import pearson
from tests.strategies import distinguishing_pairs


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
    with pytest.warns(UndefinedCorrelationWarning, match="all scores in x or all in y are equal") as caught:
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
    with pytest.raises(OptionError, match="x: scores are needed; a Ranking keeps only their order"):
        pearson(Ranking.from_scores([1, 2]), [1, 2])
    with pytest.raises(OptionError, match="missing must be one of 'raise', 'intersection'; got 'bottom'"):
        pearson([1, 2], [1, 2], missing="bottom")
