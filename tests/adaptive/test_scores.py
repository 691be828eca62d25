"""Counts, Borda scores and rescaled scores against the formulas in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive._draw import Ballot, draw_ballot
from adaptive._scores import (
    BallotScores,
    borda_scores,
    rescale,
    running_mean,
    score_ballot,
    select_again,
    select_top,
    tally,
)
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED, Comparison, Vote, checked_answers, comparisons_of
from adaptive.errors import ProtocolError, VoteError
from tests.adaptive import naive
from tests.adaptive.strategies import SEEDS, answers_to, naive_ballot

SHARES = st.sampled_from(sorted({Fraction(n, d) for d in range(1, 21) for n in range(d + 1)}))


def draw_items(n_items, presentations, seed):
    return draw_ballot([f"item {i}" for i in range(n_items)], presentations, 3, np.random.default_rng(seed))


@given(st.integers(2, 9), st.integers(1, 6), SEEDS)
def test_counts_and_scores_are_those_of_the_comparisons(n_items, presentations, seed):
    ballot = draw_items(n_items, presentations, seed)
    answers = answers_to(ballot, seed)
    items, comparisons = naive_ballot(ballot, answers)
    counts = tally(ballot, answers)
    for name in ("wins", "ties", "losses", "unanswered"):
        assert getattr(counts, name).tolist() == [naive.count(item, comparisons)[name] for item in items]
    assert_array_equal(counts.presentations, counts.answered + counts.unanswered)
    assert counts.presentations.sum() == 2 * ballot.n_comparisons
    expected = naive.borda_scores(items, comparisons)
    assert_allclose(borda_scores(ballot, answers), [float(expected[item]) for item in items], rtol=1e-15)


@given(st.integers(2, 9), st.integers(1, 6), SEEDS)
def test_swapping_the_sides_changes_nothing(n_items, presentations, seed):
    ballot = draw_items(n_items, presentations, seed)
    answers = answers_to(ballot, seed)
    swapped = type(ballot)(ballot.items, ballot.presentations, ballot.voters, ballot.right, ballot.left, ballot.voter)
    mirrored = np.where(answers == UNANSWERED, UNANSWERED, -answers)
    assert_array_equal(borda_scores(swapped, mirrored), borda_scores(ballot, answers))


def test_items_without_any_answer_are_named():
    ballot = draw_items(4, 1, 0)
    answers = np.zeros(2, int)
    answers[0] = UNANSWERED
    names = sorted(ballot.items[place] for place in (ballot.left[0], ballot.right[0]))
    with pytest.raises(VoteError, match=f"every item needs an answered comparison .* without any: '{names[0]}', "):
        borda_scores(ballot, answers)
    with pytest.raises(VoteError, match=r"'item 4', \.\.\. \(8 in all\)"):
        borda_scores(draw_items(8, 1, 0), np.full(4, UNANSWERED))


@pytest.mark.parametrize("score", [tally, borda_scores])
@pytest.mark.parametrize("answers", [[LEFT], [LEFT, 7], [[LEFT, LEFT]], [0.5, 1.0]])
def test_answers_must_fit_the_ballot(score, answers):
    with pytest.raises(VoteError, match="answers"):
        score(draw_items(4, 1, 0), answers)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=12).filter(lambda rows: any(x < 1 for x, _ in rows)))
def test_rescaling_is_eq_6(rows):
    x, means = ({place: row[column] for place, row in enumerate(rows)} for column in (0, 1))
    rescaled = rescale([float(v) for v in x.values()], [float(v) for v in means.values()])
    assert_allclose(rescaled.b, float(naive.slope(x, means)), rtol=1e-12, atol=1e-12)
    expected = [float(y) for y in naive.rescale(x, means).values()]
    assert_allclose(rescaled.y, expected, rtol=1e-12, atol=1e-12 * (1 + rescaled.b))
    assert all(y == 1 for y, (score, _) in zip(rescaled.y, rows, strict=True) if score == 1)
    assert (rescaled.y <= 1).all()


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=40), SEEDS)
def test_the_order_of_the_items_does_not_matter(pairs, seed):
    x, means = np.array(pairs, float).T
    assume(x.min() < 1)
    order = np.random.default_rng(seed).permutation(x.size)
    straight, shuffled = rescale(x, means), rescale(x[order], means[order])
    assert shuffled.b == straight.b
    assert_array_equal(shuffled.y, straight.y[order])


@pytest.mark.parametrize(
    ("x", "means", "message"),
    [
        ([0.5], [0.5, 0.5], r"one number for each item; got shapes \(1,\) and \(2,\)"),
        ([[0.5]], [[0.5]], "one number for each item"),
        ([0.5, 1.5], [0.5, 0.5], "every x must lie between 0 and 1; got: 1.5"),
        ([0.5, 0.5], [0.5, 1.5], "every previous mean must be finite and at most 1; got: 1.5"),
        ([0.5, 0.5], [0.5, -np.inf], "every previous mean must be finite and at most 1; got: -inf"),
        ([1.0, 1.0, 1.0], [0.5, 0.5, 1.0], "the slope b of Eq. 6 is undefined: x is 1 for each of 3 items"),
    ],
)
def test_invalid_scores_are_not_rescaled(x, means, message):
    with pytest.raises(ProtocolError, match=message):
        rescale(x, means)


@given(st.lists(SHARES, min_size=1, max_size=10))
def test_the_running_mean_is_the_mean(shares):
    mean = np.array([float(shares[0])])
    for k, y in enumerate(shares[1:], start=2):
        mean = running_mean(mean, np.array([float(y)]), k)
    assert_allclose(mean, float(sum(shares, Fraction(0)) / len(shares)), rtol=1e-13, atol=1e-15)


@given(st.integers(2, 9), st.integers(1, 6), SEEDS)
def test_ballot_1_is_not_rescaled(n_items, presentations, seed):
    ballot = draw_items(n_items, presentations, seed)
    answers = answers_to(ballot, seed)
    scores = score_ballot(ballot, answers, ballot_number=1, previous_mean=None)
    assert scores.b == 1
    for values in (scores.x, scores.y, scores.ybar):
        assert_array_equal(values, borda_scores(ballot, answers))
        assert not values.flags.writeable


@pytest.mark.parametrize("average", [lambda _mean, y, _k: y[1:], lambda _mean, y, _k: y * np.nan])
def test_an_average_must_have_one_finite_number_for_each_item(average):
    ballot = draw_items(4, 2, 0)
    with pytest.raises(ProtocolError, match="average must return one finite number for each of 4 items"):
        score_ballot(ballot, [TIE] * 4, ballot_number=2, previous_mean=np.full(4, 0.5), average=average)


@given(st.lists(st.integers(0, 3).map(float), min_size=1, max_size=12), st.data(), SEEDS)
def test_the_largest_scores_are_selected_best_first(scores, data, seed):
    n_selected = data.draw(st.integers(1, len(scores)))
    selection = select_top(scores, n_selected, np.random.default_rng(seed))
    places = selection.places.tolist()
    assert len(set(places)) == n_selected
    assert [scores[place] for place in places] == sorted(scores, reverse=True)[:n_selected]
    assert selection.n_tied_at_cut == naive.n_tied_at_cut(scores, n_selected)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=9, unique=True), SEEDS)
def test_the_generator_is_used_only_for_ties(scores, seed):
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
    # 2 of 3 are selected: 2000 times each, with a standard deviation of sqrt(3000 * 2/3 * 1/3) = 26
    assert np.abs(counts[[0, 2, 3]] - 2000).max() < 4 * 26


def test_infinite_scores_have_an_order():
    assert select_top([-np.inf, 0.0, np.inf], 2, np.random.default_rng(0)).places.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("scores", "n_selected", "message"),
    [
        ([0.5, np.nan], 1, "one score for each item; got shape .* with 1 nan"),
        ([[0.5, 0.5]], 1, r"one score for each item; got shape \(1, 2\)"),
        ([0.5, 0.6], 0, "cannot select 0 of 2 items"),
        ([0.5, 0.6], 3, "cannot select 3 of 2 items"),
    ],
)
def test_invalid_selections_are_refused(scores, n_selected, message):
    with pytest.raises(ProtocolError, match=message):
        select_top(scores, n_selected, np.random.default_rng(0))


def scores_of(ybar):
    return BallotScores(None, None, None, 1.0, np.array(ybar))


@given(st.lists(st.integers(0, 3).map(float), min_size=1, max_size=12), st.data(), SEEDS)
def test_a_selection_can_be_verified_without_its_generator(ybar, data, seed):
    n_selected = data.draw(st.integers(1, len(ybar)))
    selection = select_top(ybar, n_selected, np.random.default_rng(seed))
    again = select_again(selection.places, selection.n_tied_at_cut)(scores_of(ybar), n_selected, None)
    assert (again.places.tolist(), again.n_tied_at_cut) == (selection.places.tolist(), selection.n_tied_at_cut)


@pytest.mark.parametrize(
    ("places", "n_tied_at_cut", "message"),
    [
        ([], 3, "2 different items must be selected; got 0"),
        ([1, 1], 3, "2 different items must be selected; got 2"),
        ([0, 1], 3, "the items selected are not the best by the votes"),
        ([0, 2], 3, "the items selected are not the best by the votes"),
        ([1, 3], 2, "the votes leave 3 items tied at the cut; got 2"),
    ],
)
def test_a_selection_that_contradicts_the_scores_is_refused(places, n_tied_at_cut, message):
    select = select_again(np.array(places, np.intp), n_tied_at_cut)
    with pytest.raises(ProtocolError, match=message):
        select(scores_of([0.4, 0.9, 0.4, 0.4]), 2, np.random.default_rng(0))


BALLOT = Ballot(range(4), 2, range(1), [0, 1, 2, 3], [1, 2, 3, 0], [0, 0, 0, 0])


def test_comparisons_have_labels_and_the_number_of_their_ballot():
    ballot = Ballot(["a", "b", "c"], 2, ["Ann", "Bob"], [0, 1, 2], [1, 2, 0], [1, 0, 1])
    assert comparisons_of(ballot, 12) == (
        Comparison("12-0", "Bob", "a", "b"),
        Comparison("12-1", "Ann", "b", "c"),
        Comparison("12-2", "Bob", "c", "a"),
    )


def test_answer_codes_are_fixed_integers():
    assert (LEFT, TIE, RIGHT, UNANSWERED) == (1, 0, -1, -2)
    assert [vote.value for vote in (Vote.LEFT, Vote.TIE, Vote.RIGHT, Vote.UNANSWERED)] == [1, 0, -1, -2]
    assert all(type(code) is int for code in (LEFT, TIE, RIGHT, UNANSWERED))


@given(
    st.lists(st.sampled_from([1, 0, -1, -2]), min_size=4, max_size=4),
    st.sampled_from(
        [list, tuple, np.array, lambda codes: np.array(codes, np.int8), lambda codes: [Vote(code) for code in codes]]
    ),
)
def test_answers_become_int8_codes(codes, container):
    answers = checked_answers(BALLOT, container(codes))
    assert answers.dtype == np.int8
    assert answers.tolist() == codes
    assert not answers.flags.writeable


def test_answers_are_copied():
    given_answers = np.zeros(4, np.int8)
    answers = checked_answers(BALLOT, given_answers)
    given_answers[0] = 1
    assert answers.tolist() == [0, 0, 0, 0]


def test_unsigned_integers_are_answers():
    assert checked_answers(BALLOT, np.array([0, 1, 1, 0], np.uint8)).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([1, 0, -1], "4 comparisons need as many answers; got 3"),
        ([[1, 0, -1, 0]], r"4 comparisons need as many answers; got an array of shape \(1, 4\)"),
        ([[1], [1, 0], 1, 1], r"answers must be a list of codes; got \[\[1\], \[1, 0\], 1, 1\]"),
        ([1, 1, 0, -3], r"answers\[3\] is -3; an answer is"),
        (np.array([0, 0, 255, 0], np.uint8), r"answers\[2\] is 255; an answer is"),
        ([1.0, 0.0, 0.0, 0.0], "answers must be whole numbers, .*; got float64"),
        ([True, False, False, True], "answers must be whole numbers, .*; got bool"),
    ],
)
def test_invalid_answers_are_refused(answers, message):
    with pytest.raises(VoteError, match=message):
        checked_answers(BALLOT, answers)
