import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import LabelError, LabelMismatchError, LengthError, OptionError, Ranking
from rankcorr.measures import RelevanceError, average_precision, precision_at
from tests.rankcorr.measures import naive
from tests.rankcorr.measures.strategies import grouped
from tests.strategies import untied_pairs


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
    values = [naive.average_precision(relevance, order) for order in naive.breakings(groups)]
    assert_allclose(
        average_precision(relevance, Ranking.from_order(groups)), float(sum(values) / len(values)), rtol=1e-14
    )


@given(judged(), st.data())
def test_precision_is_the_mean_over_all_ways_to_break_ties(case, data):
    groups, relevance = case
    k = data.draw(st.integers(1, len(relevance)))
    values = [sum(relevance[item] for item in order[:k]) / k for order in naive.breakings(groups)]
    assert_allclose(precision_at(relevance, Ranking.from_order(groups), k), np.mean(values), rtol=0, atol=1e-14)


@given(untied_pairs(), st.integers(1, 3))
def test_average_precision_is_the_mean_precision_at_the_relevant_items(pair, n_relevant):
    scores, system = pair
    gold = scores >= min(scores.size - n_relevant, scores.size - 1)
    places = np.flatnonzero(gold[np.argsort(-system)]) + 1
    values = [precision_at(gold, system, int(place)) for place in places]
    assert_allclose(average_precision(gold, system), np.mean(values), rtol=1e-14)


def test_by_hand():
    # The relevant items come 1st, 3rd and 4th: (1/1 + 2/3 + 3/4)/3.
    assert average_precision([1, 0, 1, 1], [9, 8, 7, 6]) == pytest.approx(29 / 36, rel=1e-15, abs=0)
    # All tied, one of n relevant: the mean of 1/place, (1 + 1/2 + 1/3 + 1/4)/4.
    assert average_precision([0, 0, 1, 0], [5, 5, 5, 5]) == pytest.approx(25 / 48, rel=1e-15, abs=0)
    assert [precision_at([1, 0, 1, 1], [9, 8, 7, 6], k) for k in (1, 2, 3, 4)] == [1, 0.5, 2 / 3, 0.75]


def test_all_relevant_is_perfect_whatever_the_ties():
    assert average_precision([1] * 7, [3, 3, 3, 2, 2, 1, 0]) == 1
    assert average_precision(np.ones(1000, bool), np.zeros(1000)) == 1


def test_missing_items():
    gold, system = {"a": 1, "b": 0, "c": 1}, {"a": 0.9, "x": 0.5, "b": 0.1}
    with pytest.raises(LabelMismatchError, match="labels in gold only: 'c'; labels in system only: 'x'"):
        average_precision(gold, system)
    # The system's order is a, x, b, c: x is not relevant, and c comes last.
    assert average_precision(gold, system, missing="bottom") == pytest.approx((1 + 2 / 4) / 2, rel=1e-15, abs=0)
    assert precision_at(gold, system, 4, missing="bottom") == 0.5
    assert average_precision(gold, system, missing="intersection") == 1
    with pytest.raises(RelevanceError, match="gold must have a relevant item; none of its 2 items is"):
        average_precision({"a": 0, "b": 0, "c": 1}, system, missing="intersection")


def test_relevance_that_is_not_binary():
    with pytest.raises(RelevanceError, match=r"must be 0 or 1; got 2; wrong at: 'b', 'c'"):
        average_precision({"a": 1, "b": 2, "c": 0.5}, {"a": 1, "b": 2, "c": 3})
    with pytest.raises(RelevanceError, match=r"must be 0 or 1; got -1; wrong at: 1"):
        precision_at([1, -1], [1, 2], 1)


@pytest.mark.parametrize("measure", [average_precision, lambda gold, system: precision_at(gold, system, 1)])
def test_no_relevant_item(measure):
    with pytest.raises(RelevanceError, match="gold must have a relevant item; none of its 2 items is"):
        measure([0, 0], [1, 2])


def test_inputs_that_do_not_fit():
    with pytest.raises(LengthError, match="gold has 2 items and system has 3"):
        average_precision([1, 0], [1, 2, 3])
    with pytest.raises(LabelError, match="system has labels and gold has none"):
        average_precision([1, 0], {"a": 1, "b": 2})
    with pytest.raises(OptionError, match="gold: scores are needed; a Ranking keeps only their order"):
        average_precision(Ranking.from_scores([1, 0]), [1, 2])


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", True])
def test_invalid_k(k):
    with pytest.raises(OptionError, match="k must be a positive whole number; got"):
        precision_at([1, 0], [1, 2], k)


def test_k_beyond_the_list():
    with pytest.raises(OptionError, match="k must be at most the number of items, 2; got 3"):
        precision_at([1, 0], [1, 2], 3)
