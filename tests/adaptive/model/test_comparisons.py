"""Comparisons by any way in: from labels, ballots, protocols and pairs; what goes in comes out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import ComparisonError, Comparisons, Vote, VoteError, draw_ballot, plan_ballots
from adaptive._scores import tally
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED
from tests.adaptive.ballots import PLAN, SEEDS, answers_to, run_and_watch
from tests.adaptive.model.votes import LABELS, comparisons, rows_of, small
from tests.adaptive.votings import Voting

ANN, BOB = "Ann", "Bob"


# --- from labels -----------------------------------------------------------------------------------------------------


@given(comparisons(labels=st.just(LABELS)))
def test_labels_come_out_as_they_went_in(votes):
    rows = rows_of(votes)
    voter, left, right, winner = ([row[place] for row in rows] for place in range(4))
    known = {} if votes.voter is None else {"voter": voter, "voters": votes.voters}
    assert Comparisons.from_labels(left, right, winner, items=votes.items, **known) == votes
    assert Comparisons.from_labels(left, right, votes.winner, items=votes.items, answers="codes", **known) == votes
    found = Comparisons.from_labels(left, right, winner, voter=None if votes.voter is None else voter)
    assert found.items == tuple(dict.fromkeys(label for pair in zip(left, right, strict=True) for label in pair))
    assert rows_of(found) == rows
    assert found.voters is None or found.voters == tuple(dict.fromkeys(voter))


@pytest.mark.parametrize("kind", [list, tuple, iter, np.array])
def test_columns_may_be_of_any_kind(kind):
    votes = Comparisons.from_labels(kind(["a", "b"]), kind(["b", "c"]), kind(["left", "tie"]), voter=kind([7, 8]))
    assert votes == small(voters=(7, 8))
    assert all(type(label) in {str, int} for label in (*votes.items, *votes.voters))


@pytest.mark.parametrize("winners", [[1, 0], ["left", 0], [np.int64(1), "tie"], np.array([1, 0]), [1.0, 0.0]])
def test_codes_are_winners_where_they_are_asked_for(winners):
    votes = Comparisons.from_labels(["a", "b"], ["b", "c"], winners, answers="codes")
    assert votes.winner.tolist() == [LEFT, TIE]
    with pytest.raises(VoteError, match=r"winner\[[01]\]: .* got .*The option answers says what"):
        Comparisons.from_labels(["a", "b"], ["b", "c"], winners)


def test_votes_are_winners():
    assert Comparisons.from_labels(["a", "b"], ["b", "c"], [Vote.LEFT, Vote.TIE]).winner.tolist() == [LEFT, TIE]
    assert Comparisons.from_labels(["a"], ["b"], [Vote.UNANSWERED]).n_unanswered == 1


def test_unanswered_comparisons_are_counted_and_their_items_kept():
    votes = Comparisons.from_labels(["a", "b"], ["b", "c"], [UNANSWERED, RIGHT], voter=[ANN, BOB], answers="codes")
    assert (votes.items, votes.never_compared, votes.n_unanswered) == (("a", "b", "c"), ("a",), 1)
    assert rows_of(votes) == [(BOB, "b", "c", "right")]
    assert votes.voters == (ANN, BOB)


def test_numbers_are_items():
    votes = Comparisons.from_labels([2, 0], [1, 2], ["left", "left"], items=4, voter=[0, 1], voters=2)
    assert (votes.items, votes.left.tolist(), votes.voters) == (range(4), [2, 0], range(2))


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"items": ["a", "b"]}, ComparisonError, r"right\[1\]: 'c' is not one of the 2 items"),
        ({"voters": [ANN]}, ComparisonError, r"voter\[1\]: 'Bob' is not 'Ann', the only voter"),
        ({"voter": None, "voters": [ANN]}, ComparisonError, "voters without voter: it is not known who"),
        ({"right": ["b", "b"]}, ComparisonError, r"right\[1\]: item 'b' is compared with itself"),
        ({"right": ["b", "b"], "winner": ["left", None]}, ComparisonError, r"right\[1\]: item 'b' is compared with"),
        ({"left": ["a", None]}, ComparisonError, r"left\[1\]: None is missing; every comparison needs its item"),
        ({"right": [float("nan"), "c"]}, ComparisonError, r"right\[0\]: nan is missing"),
        ({"right": ["b", ("c", None)]}, ComparisonError, r"right\[1\]: \('c', None\) is missing"),
        ({"voter": [ANN, None]}, ComparisonError, r"voter\[1\]: None is missing; every comparison needs its voter"),
        ({"left": ["a", ["b"]]}, ComparisonError, r"left\[1\]: \['b'\] is no label: labels are hashable"),
        ({"left": ["a", ["b"]], "items": ["a"]}, ComparisonError, r"left\[1\]: \['b'\] is no label"),
        ({"left": ["a"]}, ComparisonError, "left has 1, right has 2, winner has 2, voter has 2"),
        ({"left": "ab"}, ComparisonError, "left must be a list with an entry for each comparison; got 'ab'"),
        ({"left": {"a", "b"}}, ComparisonError, "left must be a list"),
        ({"left": np.array([["a", "b"]])}, ComparisonError, "left must have one dimension; got 2"),
        (
            {"winner": ["left", "Tie"]},
            VoteError,
            r"winner\[1\]: a winner is 'left', 'right', 'tie', 'cannot say'; got 'Tie'\. The option answers says",
        ),
        ({"winner": ["", "drawn"]}, VoteError, r"winner\[1\]: .* got 'drawn'"),
        ({"winner": ["tie", ["tie"]]}, VoteError, r"winner\[1\]: .* got \['tie'\]"),
        ({"winner": [True, 0], "answers": "codes"}, VoteError, r"winner\[0\]: .* got True"),
        ({"winner": [1, 0.5], "answers": "codes"}, VoteError, r"winner\[1\]: .* got 0.5"),
        ({"winner": np.array([1, -3]), "answers": "codes"}, VoteError, r"winner\[1\]: .* got -3"),
        ({"items": ["a", "b", "c", "a"]}, ComparisonError, "items must be unique"),
    ],
)
def test_labels_that_cannot_be_are_refused_with_their_place(columns, error, message):
    given_columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": [ANN, BOB], **columns}
    with pytest.raises(error, match=message):
        Comparisons.from_labels(**given_columns)


# --- from ballots, protocols and pairs -------------------------------------------------------------------------------


@given(SEEDS)
def test_ballots_are_counted_together(seed):
    result, seen = run_and_watch(PLAN, seed)
    votes = Comparisons.from_ballots(seen)
    assert votes.items == range(PLAN.n_items)
    assert votes == Comparisons.from_ballots(seen, n_items=PLAN.n_items) == Comparisons.from_ballots(seen, items=8)
    for name in ("wins", "ties", "losses"):
        assert_array_equal(getattr(votes, name), getattr(result, name))
    unanswered = sum(np.count_nonzero(answers == UNANSWERED) for _, answers in seen)
    assert votes.n_unanswered == unanswered
    assert votes.n_comparisons + unanswered == PLAN.n_comparisons


@given(SEEDS)
def test_one_ballot_has_its_own_tally(seed):
    ballot = draw_ballot(["x", "y", ("z", 1)], 4, [ANN, BOB], np.random.default_rng(seed))
    answers = answers_to(ballot, seed)
    votes = Comparisons.from_ballots([(ballot, answers)])
    counts = tally(ballot, answers)
    assert (votes.items, votes.voters) == (ballot.items, ballot.voters)
    assert_array_equal(votes.presentations, counts.answered)
    assert_array_equal(votes.voter, ballot.voter[answers != UNANSWERED])


def test_items_and_voters_of_ballots_are_in_the_order_of_appearance():
    rng = np.random.default_rng(0)
    ballots = [draw_ballot(list(items), 1, voters, rng) for items, voters in (("ab", [BOB]), ("cb", [ANN, BOB]))]
    votes = Comparisons.from_ballots([(ballot, [LEFT]) for ballot in ballots])
    assert (votes.items, votes.voters) == (("a", "b", "c"), (BOB, ANN))
    assert {row[1:3] for row in rows_of(votes)} <= {("a", "b"), ("b", "a"), ("c", "b"), ("b", "c")}
    assert Comparisons.from_ballots([], items=["a", "b"]).n_comparisons == 0
    assert Comparisons.from_ballots([]).items == ()


def test_ballots_that_do_not_fit_are_refused():
    ballot = draw_ballot(["a", "b"], 1, [ANN], np.random.default_rng(0))
    with pytest.raises(ComparisonError, match="items and n_items exclude each other"):
        Comparisons.from_ballots([(ballot, [LEFT])], items=["a", "b"], n_items=2)
    with pytest.raises(ComparisonError, match=r"ballots\[0\]: 'b' is not one of the 2 items"):
        Comparisons.from_ballots([(ballot, [LEFT])], items=["a", "c"])
    with pytest.raises(ComparisonError, match=r"ballots\[0\]: 'Ann' is not 'Bob', the only voter"):
        Comparisons.from_ballots([(ballot, [LEFT])], voters=[BOB])
    with pytest.raises(ComparisonError, match=r"ballots\[0\] must be a Ballot and its answers; got <Ballot of"):
        Comparisons.from_ballots([ballot])
    with pytest.raises(VoteError, match=r"ballots\[1\]: answers\[0\] is 5; an answer is"):
        Comparisons.from_ballots([(ballot, [LEFT]), (ballot, [5])])


@given(SEEDS)
def test_ballots_of_a_voting_give_the_answers_of_closed_and_open_ones(seed):
    plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=3)
    voting = Voting(plan, list("hgfedcba"), [ANN, BOB], seed)
    known = {"items": voting.items, "voters": voting.voters}
    assert Comparisons.from_ballots(voting.voted, **known).n_comparisons == 0
    assert Comparisons.from_ballots(voting.voted, **known).items == tuple("hgfedcba")
    cast = []
    for n_left_out in (0, 2):
        voting.open_ballot()
        for place, shown in enumerate(voting.comparisons()):
            if place >= n_left_out:
                word = "left" if shown.left < shown.right else "tie"
                voting.record({shown.id: word})
                cast.append((shown.voter, shown.left, shown.right, word))
        if not n_left_out:
            voting.close_ballot()
    votes = Comparisons.from_ballots(voting.voted, **known)
    assert rows_of(votes) == cast
    assert votes.n_unanswered == 2
    assert (votes.items, votes.voters) == (voting.items, voting.voters)


@given(comparisons())
def test_pairs_are_wins_of_the_left(votes):
    won = votes.select(votes.winner == LEFT)
    pairs = np.stack([won.left, won.right], axis=1)
    again = Comparisons.from_pairs(pairs, votes.n_items)
    assert again == Comparisons.from_pairs(pairs.tolist(), votes.n_items)
    assert (again.items, again.winner.tolist()) == (range(votes.n_items), [LEFT] * len(pairs))
    assert_array_equal(again.wins, won.wins)
    assert_array_equal(again.losses, won.losses)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1), (1, 1)], "comparison 1: item 1 is compared with itself"),
        ([(0, 3)], r"right\[0\] is 3; the 3 items"),
        ([(0, 1, 2)], r"pairs must be of shape \(n_comparisons, 2\); got \(1, 3\)"),
        ([0, 1], r"got \(2,\)"),
        ([(0, 1), (1,)], r"pairs must be a list of pairs \(winner, loser\); got"),
        ([(0.0, 1.0)], "left must be whole numbers"),
    ],
)
def test_pairs_that_cannot_be(pairs, message):
    with pytest.raises(ComparisonError, match=message):
        Comparisons.from_pairs(pairs, 3)
