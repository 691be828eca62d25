"""Comparisons of a ballot, codes of votes, and the check of a ballot's answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._draw import Ballot
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED, Comparison, Vote, checked_answers, comparisons_of
from adaptive.errors import VoteError

BALLOT = Ballot(range(4), 2, range(1), [0, 1, 2, 3], [1, 2, 3, 0], [0, 0, 0, 0])


def test_comparisons_have_labels_and_the_number_of_their_ballot():
    ballot = Ballot(["a", "b", "c"], 2, ["Ann", "Bob"], [0, 1, 2], [1, 2, 0], [1, 0, 1])
    assert comparisons_of(ballot, 12) == (
        Comparison("12-0", "Bob", "a", "b"),
        Comparison("12-1", "Ann", "b", "c"),
        Comparison("12-2", "Bob", "c", "a"),
    )


def test_codes_are_those_of_the_contract():
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


def test_unsigned_answers_are_answers():
    assert checked_answers(BALLOT, np.array([0, 1, 1, 0], np.uint8)).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([1, 0, -1], "4 comparisons need as many answers; got 3"),
        ([[1, 0, -1, 0]], r"4 comparisons need as many answers; got an array of shape \(1, 4\)"),
        ([[1], [1, 0], 1, 1], r"answers must be a list of codes; got \[\[1\], \[1, 0\], 1, 1\]"),
        ([1, 2, 0, 0], r"answers\[1\] is 2; an answer is 1 \(left\), 0 \(tie\), -1 \(right\) or -2 \(unanswered\)"),
        ([1, 1, 0, -3], r"answers\[3\] is -3; an answer is"),
        (np.array([0, 0, 255, 0], np.uint8), r"answers\[2\] is 255; an answer is"),
        ([1.0, 0.0, 0.0, 0.0], "answers must be whole numbers, .*; got float64"),
        ([True, False, False, True], "answers must be whole numbers, .*; got bool"),
        (["left", "tie", "tie", "left"], "answers must be whole numbers, .*; got <U4"),
        ([None, 1, 1, 1], "answers must be whole numbers, .*; got object"),
    ],
)
def test_bad_answers(answers, message):
    with pytest.raises(VoteError, match=message):
        checked_answers(BALLOT, answers)
