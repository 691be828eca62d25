import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import (
    LabelError,
    LabelMismatchError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    Ranking,
    TooFewItemsError,
)
from rankcorr.measures import RelevanceError, average_precision
from tests import naive
from tests.strategies import grouped, untied_pairs


@st.composite
def judged(draw):
    """A list with ties, and the relevance of its items, at least one of which is relevant."""
    groups = draw(grouped())
    items = naive.items(groups)
    relevant = draw(st.sets(st.sampled_from(items), min_size=1))
    return groups, {item: int(item in relevant) for item in sorted(items)}


@given(judged())
def test_average_precision_is_the_mean_over_all_ways_to_break_ties(case):
    groups, relevance = case
    values = [naive.mean_precision(relevance, order) for order in naive.breakings(groups)]
    found = average_precision(relevance, Ranking.from_order(groups))
    assert_allclose(found, float(sum(values) / len(values)), rtol=1e-14)


@given(untied_pairs(), st.integers(1, 3))
def test_average_precision_is_the_mean_precision_at_the_relevant_items(pair, n_relevant):
    scores, system = pair
    gold = scores >= min(scores.size - n_relevant, scores.size - 1)
    places = np.flatnonzero(gold[np.argsort(-system)]) + 1
    precision = np.arange(1, places.size + 1) / places
    assert_allclose(average_precision(gold, system), precision.mean(), rtol=1e-14)


def test_one_item():
    assert average_precision({"a": 1}, ["a"]) == average_precision([1], [0.5]) == 1
    assert average_precision({"a": 1}, ["b", "a"], missing="intersection") == 1
    assert average_precision({"a": 1}, ["b", "a"], missing="bottom") == 0.5
    with pytest.raises(TooFewItemsError, match=r"must have at least one label in common; .* 0 in common"):
        average_precision({"a": 1}, ["b"], missing="intersection")


def test_by_hand():
    # The relevant items come 1st, 3rd and 4th: (1/1 + 2/3 + 3/4)/3.
    assert average_precision([1, 0, 1, 1], [9, 8, 7, 6]) == pytest.approx(29 / 36, rel=1e-15, abs=0)
    # All tied, one of n relevant: the mean of 1/place, (1 + 1/2 + 1/3 + 1/4)/4.
    assert average_precision([0, 0, 1, 0], [5, 5, 5, 5]) == pytest.approx(25 / 48, rel=1e-15, abs=0)


def test_all_relevant_is_perfect_whatever_the_ties():
    assert average_precision([1] * 7, [3, 3, 3, 2, 2, 1, 0]) == 1
    assert average_precision(np.ones(1000, bool), np.zeros(1000)) == 1


def test_missing_items():
    gold, system = {"a": 1, "b": 0, "c": 1}, {"a": 0.9, "x": 0.5, "b": 0.1}
    with pytest.raises(LabelMismatchError, match="labels in gold only: 'c'; labels in system only: 'x'"):
        average_precision(gold, system)
    # The system's order is a, x, b, c: x is not relevant, and c comes last.
    assert average_precision(gold, system, missing="bottom") == pytest.approx((1 + 2 / 4) / 2, rel=1e-15, abs=0)
    assert average_precision(gold, system, missing="intersection") == 1
    with pytest.raises(RelevanceError, match="gold must have a relevant item; none of its 2 items is"):
        average_precision({"a": 0, "b": 0, "c": 1}, system, missing="intersection")


def test_relevance_that_is_not_binary():
    with pytest.raises(RelevanceError, match=r"must be 0 or 1; got 2.0; wrong at: 'b', 'c'"):
        average_precision({"a": 1, "b": 2, "c": 0.5}, {"a": 1, "b": 2, "c": 3})
    with pytest.raises(RelevanceError, match=r"must be 0 or 1; got -1; wrong at: 1"):
        average_precision([1, -1], [1, 2])
    with pytest.raises(RelevanceError, match=r"must be 0 or 1; got inf; wrong at: 1"):
        average_precision([1, math.inf], [1, 2])
    with pytest.raises(RelevanceError, match=r"must be 0 or 1; got 1000.*; wrong at: 'b'"):
        average_precision({"a": 1, "b": 10**400}, {"a": 1, "b": 2})


def test_no_relevant_item():
    with pytest.raises(RelevanceError, match="gold must have a relevant item; none of its 2 items is"):
        average_precision([0, 0], [1, 2])


def test_inputs_that_do_not_fit():
    with pytest.raises(LengthError, match="gold has 2 items and system has 3"):
        average_precision([1, 0], [1, 2, 3])
    with pytest.raises(LabelError, match="system has labels and gold has none"):
        average_precision([1, 0], {"a": 1, "b": 2})
    with pytest.raises(OptionError, match="gold: scores are needed; a Ranking keeps only their order"):
        average_precision(Ranking.from_scores([1, 0]), [1, 2])
    with pytest.raises(MissingValueError, match=r"gold: every item needs a score .*; nan: scores\[1\]"):
        average_precision([1, math.nan], [1, 2])
    with pytest.raises(NonNumericError, match="gold: every score must be a real number"):
        average_precision(["1", "0"], [1, 2])
