"""Selection against a sort, and ties at the cut that are broken evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._scores import BallotScores, select_again, select_by_mean, select_top
from adaptive.errors import ProtocolError
from tests.adaptive import naive
from tests.adaptive.ballots import SEEDS


@given(st.lists(st.integers(0, 3).map(float), min_size=1, max_size=12), st.data(), SEEDS)
def test_the_largest_scores_are_selected_best_first(scores, data, seed):
    n_selected = data.draw(st.integers(1, len(scores)))
    selection = select_top(scores, n_selected, np.random.default_rng(seed))
    chosen = selection.places.tolist()
    assert len(set(chosen)) == n_selected
    assert [scores[place] for place in chosen] == sorted(scores, reverse=True)[:n_selected]
    assert selection.n_tied_at_cut == naive.n_tied_at_cut(scores, n_selected)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=9, unique=True), SEEDS)
def test_the_generator_is_used_for_ties_alone(scores, seed):
    rng = np.random.default_rng(seed)
    before = rng.bit_generator.state
    select_top(scores, 1, rng)
    assert rng.bit_generator.state == before


def test_ties_at_the_cut_are_broken_evenly():
    rng = np.random.default_rng(0)
    counts = np.zeros(5)
    for _ in range(3000):
        selection = select_top([1, 2, 1, 1, 0], 3, rng)
        assert selection.n_tied_at_cut == 3
        counts[selection.places] += 1
    assert counts[1] == 3000
    assert counts[4] == 0
    # 2 of 3 go on: 2000 each, with a standard deviation of sqrt(3000 * 2/3 * 1/3) = 26
    assert np.abs(counts[[0, 2, 3]] - 2000).max() < 4 * 26


def test_infinite_scores_have_an_order():
    assert select_top([-np.inf, 0.0, np.inf], 2, np.random.default_rng(0)).places.tolist() == [2, 1]


def test_select_by_mean_looks_at_the_mean():
    x, y, ybar = np.array([0.9, 0.1]), np.array([0.8, 0.2]), np.array([0.3, 0.7])
    scores = BallotScores(None, x, y, 1.0, ybar)
    assert select_by_mean(scores, 1, np.random.default_rng(0)).places.tolist() == [1]


@pytest.mark.parametrize(
    ("scores", "n_selected", "message"),
    [
        ([0.5, np.nan], 1, "one score for each item; got shape .* with 1 nan"),
        ([[0.5, 0.5]], 1, r"one score for each item; got shape \(1, 2\)"),
        ([0.5, 0.6], 0, "cannot select 0 of 2 items"),
        ([0.5, 0.6], 3, "cannot select 3 of 2 items"),
    ],
)
def test_what_cannot_be_selected(scores, n_selected, message):
    with pytest.raises(ProtocolError, match=message):
        select_top(scores, n_selected, np.random.default_rng(0))


def scores_of(ybar):
    return BallotScores(None, None, None, 1.0, np.array(ybar))


@given(st.lists(st.integers(0, 3).map(float), min_size=1, max_size=12), st.data(), SEEDS)
def test_a_selection_can_be_repeated_without_its_generator(ybar, data, seed):
    n_selected = data.draw(st.integers(1, len(ybar)))
    made = select_top(ybar, n_selected, np.random.default_rng(seed))
    again = select_again(made.places, made.n_tied_at_cut)(scores_of(ybar), n_selected, None)
    assert (again.places.tolist(), again.n_tied_at_cut) == (made.places.tolist(), made.n_tied_at_cut)


@pytest.mark.parametrize(
    ("chosen", "n_tied_at_cut", "message"),
    [
        ([], 3, "2 different items must be selected; got 0"),
        ([1, 1], 3, "2 different items must be selected; got 2"),
        ([1, 0, 2], 3, "2 different items must be selected; got 3"),
        ([0, 1], 3, "the items selected are not the best by the votes"),
        ([0, 2], 3, "the items selected are not the best by the votes"),
        ([1, 3], 2, "the votes leave 3 items tied at the cut; got 2"),
        ([1, 3], 0, "the votes leave 3 items tied at the cut; got 0"),
    ],
)
def test_a_selection_that_the_scores_do_not_give(chosen, n_tied_at_cut, message):
    select = select_again(np.array(chosen, np.intp), n_tied_at_cut)
    with pytest.raises(ProtocolError, match=message):
        select(scores_of([0.4, 0.9, 0.4, 0.4]), 2, np.random.default_rng(0))
