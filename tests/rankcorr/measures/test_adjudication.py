"""Intervals of alpha, and decisions on disputed ratings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import NonNumericError, OptionError, UndefinedCorrelationWarning
from rankcorr.measures import AnnotatorError, adjudicate, alpha_interval, krippendorff_alpha

NAN = math.nan
RATINGS = {"ann": {"a": 4, "b": 1, "c": 2, "d": 3}, "bob": {"a": 3.5, "b": 3, "c": 2.5}, "cat": {"a": 4, "c": 3}}


def jackknife(matrix, level):
    """Ends of the interval, written out."""
    from scipy.stats import t

    n = matrix.shape[1]
    logs = [math.log(1 - krippendorff_alpha(np.delete(matrix, item, axis=1), level=level)) for item in range(n)]
    error = math.sqrt((n - 1) / n * sum((value - sum(logs) / n) ** 2 for value in logs))
    center, reach = math.log(1 - krippendorff_alpha(matrix, level=level)), t.ppf(0.95, n - 1) * error
    return 1 - math.exp(center + reach), 1 - math.exp(center - reach)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@given(seed=st.integers(0, 10_000))
def test_interval_is_the_jackknife_of_the_logarithm(level, seed):
    rng = np.random.default_rng(seed)
    matrix = np.clip(np.round(rng.normal(3, 1.2, 8) + rng.normal(0, 0.6, (3, 8))), 0, 6)
    matrix[0, 0] = NAN
    alphas = [krippendorff_alpha(np.delete(matrix, item, axis=1), level=level) for item in range(8)]
    if max(alphas) == 1 or any(map(math.isnan, alphas)):
        return
    interval = alpha_interval(matrix, level=level, confidence=0.9)
    assert (interval.low, interval.high) == pytest.approx(jackknife(matrix, level), abs=1e-9)
    assert interval.alpha == krippendorff_alpha(matrix, level=level)
    assert interval.low <= interval.alpha <= interval.high


def test_more_confidence_is_wider_and_many_items_are_left_out_in_blocks():
    rng = np.random.default_rng(1)
    matrix = np.round(rng.normal(3, 1, 900) + rng.normal(0, 0.5, (4, 900)))
    narrow, wide = (alpha_interval(matrix, level="interval", confidence=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.alpha < narrow.high < wide.high
    assert wide.n_items == 900
    assert wide.high - wide.low < 0.15


def test_perfect_and_undefined_agreement():
    perfect = alpha_interval([[1, 2, 3], [1, 2, 3]], level="interval")
    assert (perfect.alpha, perfect.low, perfect.high) == (1, 1, 1)
    with pytest.warns(UndefinedCorrelationWarning, match="all ratings of items with two ratings are equal"):
        undefined = alpha_interval([[1, 1, 1], [1, 1, 1]])
    assert undefined.to_dict()["low"] is None
    assert math.isnan(alpha_interval([[1, 2], [2, 2]]).low)
    with pytest.raises(OptionError, match="confidence must be a number above 0 and below 1"):
        alpha_interval([[1, 2], [2, 2]], confidence=95)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_single_disagreement_has_a_finite_interval(confidence):
    interval = alpha_interval([[1, 2, 3, 4, 5], [1, 2, 3, 4, 4]], level="interval", confidence=confidence)
    assert math.isfinite(interval.low)
    assert interval.low < interval.alpha < interval.high <= 1


def test_decisions_replace_means_of_disputed_items():
    open_items = adjudicate(RATINGS)
    assert open_items.scores == {"a": pytest.approx(11.5 / 3), "d": 3.0}
    assert open_items.disputed == {"b": (1.0, 3.0), "c": (2.0, 2.5, 3.0)}
    decided = adjudicate(RATINGS, {"b": 1, "c": 2.5})
    assert decided.scores == {"a": pytest.approx(11.5 / 3), "b": 1.0, "c": 2.5, "d": 3.0}
    assert decided.n_decided == 2
    assert list(decided.scores) == ["a", "b", "c", "d"]
    assert adjudicate(RATINGS, {"b": 1}, limit=1.5).scores["c"] == 2.5
    assert adjudicate([[1, 2], [1, NAN]]).scores == {0: 1.0, 1: 2.0}


@pytest.mark.parametrize(
    ("decisions", "limit", "error", "message"),
    [
        (
            {"a": 3},
            1,
            AnnotatorError,
            "no two ratings of these differ by 1 or more, and yet a decision is given on: 'a'",
        ),
        ({"z": 3}, 1, AnnotatorError, "decision is given on: 'z'"),
        ({"b": NAN}, 1, NonNumericError, "decisions must be finite numbers; not those on: 'b'"),
        ([1], 1, OptionError, "decisions must map items to ratings"),
        ({}, 0, OptionError, "limit must be a positive number; got 0"),
    ],
)
def test_bad_decisions_are_named(decisions, limit, error, message):
    with pytest.raises(error, match=message):
        adjudicate(RATINGS, decisions, limit=limit)
