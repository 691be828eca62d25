"""The columns of votes and what is counted from them; nothing that cannot be is kept."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from adaptive import ComparisonError, Comparisons, VoteError
from adaptive._votes import LEFT, UNANSWERED
from adaptive.model._columns import ShownPairs
from tests.adaptive import naive
from tests.adaptive.model.votes import comparisons, small, spelt_out

ANN, BOB = "Ann", "Bob"


def test_the_columns_are_small_and_read_only():
    votes = small()
    columns = {"left": np.int32, "right": np.int32, "winner": np.int8, "voter": np.int32}
    for name, dtype in columns.items():
        column = getattr(votes, name)
        assert column.dtype == dtype
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    assert votes.items == ("a", "b", "c")
    assert small(items=3, voters=2).items == range(3)
    assert small(items=3, voters=2).voters == range(2)
    assert (votes.n_items, votes.n_comparisons, votes.n_voters, votes.n_ties) == (3, 2, 2, 1)
    assert replace(votes, voters=None, voter=None).n_voters == 0


def test_it_keeps_copies_of_what_it_is_given():
    left = np.array([0, 1], np.int32)
    votes = small(left=left)
    left[0] = 2
    assert votes.left.tolist() == [0, 1]


def test_it_may_be_empty():
    votes = Comparisons(3, [], [], [])
    assert (votes.n_comparisons, votes.n_ties, votes.parts) == (0, 0, 3)
    assert votes.never_compared == (0, 1, 2)
    assert votes.presentations.tolist() == [0, 0, 0]
    nothing = Comparisons.from_labels([], [], [])
    assert (nothing.items, nothing.parts, nothing.never_compared) == ((), 0, ())
    assert nothing.to_csv() == "comparison,left,right,winner\n"


@given(comparisons())
def test_counts_are_those_of_the_comparisons(votes):
    items, triples = spelt_out(votes)
    for name in ("wins", "ties", "losses"):
        assert getattr(votes, name).tolist() == [naive.count(item, triples)[name] for item in items]
    assert_array_equal(votes.presentations, votes.wins + votes.ties + votes.losses)
    assert votes.presentations.sum() == 2 * votes.n_comparisons
    assert votes.n_ties == sum(winner == "tie" for *_, winner in triples)
    assert votes.never_compared == tuple(item for item in items if not any(item in triple[:2] for triple in triples))


@given(comparisons())
def test_parts_are_those_that_comparisons_join(votes):
    items, triples = spelt_out(votes)
    parts = naive.parts(items, triples)
    assert votes.parts == len(parts)
    numbers = dict(zip(items, votes.part.tolist(), strict=True))
    assert {frozenset(part) for part in parts} == {
        frozenset(item for item in items if numbers[item] == number) for number in range(votes.parts)
    }


def test_the_repr_counts():
    assert repr(small()) == "<Comparisons of 3 items: 2 comparisons, 1 tie, 2 voters>"
    votes = Comparisons(1000, [0], [1], [LEFT], 1, [0], n_unanswered=2)
    assert repr(votes) == "<Comparisons of 1,000 items: 1 comparison, 0 ties, 1 voter, 2 unanswered>"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"left": [0, 3]}, ComparisonError, r"left\[1\] is 3; the 3 items have the indices from 0 to 2"),
        ({"right": [-1, 2]}, ComparisonError, r"right\[0\] is -1; the 3 items"),
        ({"voter": [0, 2]}, ComparisonError, r"voter\[1\] is 2; the 2 voters have the indices from 0 to 1"),
        ({"right": [0, 2]}, ComparisonError, r"comparison 0: item 'a' is compared with itself"),
        ({"winner": [LEFT, 2]}, VoteError, r"winner\[1\] is 2; it must be 1 \(left\), 0 \(tie\) or -1 \(right\)$"),
        ({"winner": [UNANSWERED, LEFT]}, VoteError, r"winner\[0\] is -2; .* comparison is counted, not kept"),
        ({"winner": ["left", "tie"]}, ComparisonError, r"winner must be whole numbers in one dimension; got <U4 of"),
        ({"winner": [True, False]}, ComparisonError, r"winner must be whole numbers .* got bool of shape \(2,\)"),
        ({"left": [0.0, 1.0]}, ComparisonError, r"left must be whole numbers .* got float64"),
        ({"left": [[0, 1]]}, ComparisonError, r"left must be .* in one dimension; got int64 of shape \(1, 2\)"),
        ({"left": [[0], [1, 2]]}, ComparisonError, r"left must be a list of whole numbers; got \[\[0\], \[1, 2\]\]"),
        ({"left": [0]}, ComparisonError, "left has 1, right has 2, winner has 2, voter has 2"),
        ({"voter": [0]}, ComparisonError, "winner has 2, voter has 1"),
        ({"voter": None}, ComparisonError, "by name and by comparison, or not at all; got voters without voter"),
        ({"voters": None}, ComparisonError, "or not at all; got voter without voters"),
        ({"items": ("a", "b", "a")}, ComparisonError, "items must be unique; more than once: 'a'"),
        ({"voters": (ANN, ANN)}, ComparisonError, "voters must be unique; more than once: 'Ann'"),
        ({"items": "abc"}, ComparisonError, "items must be a number or a list of labels; got 'abc'"),
        ({"items": -1}, ComparisonError, "items must be from 0 to .* got -1"),
        ({"n_unanswered": -1}, ComparisonError, "n_unanswered must be a whole number, not negative; got -1"),
        ({"n_unanswered": 1.5}, ComparisonError, "n_unanswered must be .* got 1.5"),
    ],
)
def test_what_cannot_be_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        small(**changes)


# --- comparisons without an answer -----------------------------------------------------------------------------------


def pairs_of(shown):
    """Rows of `ShownPairs` as tuples of voter and the two items."""
    voter = [None] * len(shown) if shown.voter is None else shown.voter.tolist()
    return list(zip(voter, shown.left.tolist(), shown.right.tolist(), strict=True))


def test_rows_without_an_answer_are_kept_apart():
    labels = {"left": ["a", "c", "b"], "right": ["b", "a", "c"], "winner": ["left", None, "tie"]}
    votes = Comparisons.from_labels(**labels, voter=[ANN, BOB, BOB])
    assert (votes.n_comparisons, votes.n_unanswered, len(votes.unanswered)) == (2, 1, 1)
    assert pairs_of(votes.unanswered) == [(1, 2, 0)]
    assert pairs_of(votes.shown_pairs) == [(0, 0, 1), (1, 1, 2), (1, 2, 0)]
    assert pairs_of(Comparisons.from_labels(**labels).unanswered) == [(None, 2, 0)]
    assert votes.presentations.tolist() == [1, 2, 1]
    assert repr(votes.unanswered) == "<ShownPairs: 1>"
    with pytest.raises(ValueError, match="read-only"):
        votes.unanswered.left[0] = 1
    assert json.loads(votes.to_json())["unanswered"] == {"voter": [BOB], "left": ["c"], "right": ["a"]}
    assert votes.select([0]).unanswered is None


def test_joining_keeps_rows_without_an_answer_by_name():
    first = Comparisons.from_labels(["a", "b"], ["b", "c"], [None, "left"], voter=[ANN, BOB], items=list("abc"))
    then = Comparisons.from_labels(["c"], ["b"], [None], voter=[BOB], items=list("abc"))
    assert pairs_of(first.joined(then).unanswered) == [(0, 0, 1), (1, 2, 1)]
    assert pairs_of(then.joined(first).unanswered) == [(0, 2, 1), (1, 0, 1)]
    assert pairs_of(small().joined(then).unanswered) == [(1, 2, 1)]
    assert small().joined(small()).unanswered is None


@pytest.mark.parametrize(
    ("left", "voter", "n_unanswered", "message"),
    [
        ([0], [0], 0, "n_unanswered is 0, less than the 1 rows of unanswered"),
        ([3], [0], 1, r"unanswered.left\[0\] is 3; the 3 items have the indices from 0 to 2"),
        ([0], [2], 1, r"unanswered.voter\[0\] is 2; the 2 voters"),
        ([0, 0], [0], 2, "every comparison needs one entry in each column; unanswered.left has 2, unanswered.right"),
        ([0], None, 1, "unanswered must be ShownPairs with voters, as the comparisons are; got <ShownPairs: 1>"),
    ],
)
def test_rows_without_an_answer_that_cannot_be(left, voter, n_unanswered, message):
    pairs = ShownPairs(np.array(left), np.array([1]), None if voter is None else np.array(voter))
    with pytest.raises(ComparisonError, match=message):
        small(n_unanswered=n_unanswered, unanswered=pairs)


def test_rows_without_an_answer_are_shown_pairs():
    with pytest.raises(ComparisonError, match=r"unanswered must be ShownPairs with voters, .* got \[\(0, 1\)\]"):
        small(n_unanswered=1, unanswered=[(0, 1)])


@pytest.mark.parametrize(
    ("items", "message"),
    [(1, r"left\[0\] is 2; the only item has the index 0"), (0, r"left\[0\] is 2; there are no items")],
)
def test_messages_count_in_words(items, message):
    with pytest.raises(ComparisonError, match=message):
        Comparisons(items, [2], [1], [LEFT])
