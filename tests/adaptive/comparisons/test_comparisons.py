"""Comparisons from labels, ballots, protocols and pairs, and their conversion back."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import ComparisonError, Comparisons, Vote, VoteError, draw_ballot, plan_ballots
from adaptive._scores import tally
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED
from rankcorr import DimensionError, OptionError
from tests.adaptive.strategies import (
    CELLS,
    LABELS,
    PLAN,
    SEEDS,
    WORDS,
    Voting,
    answers_to,
    comparisons,
    rows_of,
    run_and_watch,
    small_comparisons,
)

ANN, BOB = "Ann", "Bob"


@given(comparisons(labels=st.just(LABELS)))
def test_labels_survive_the_round_trip(votes):
    rows = rows_of(votes)
    voter, left, right, winner = ([row[place] for row in rows] for place in range(4))
    known = {} if votes.voter is None else {"voter": voter, "voters": votes.voters}
    assert Comparisons.from_labels(left, right, winner, items=votes.items, **known) == votes
    assert Comparisons.from_labels(left, right, votes.winner, items=votes.items, answers="codes", **known) == votes
    result = Comparisons.from_labels(left, right, winner, voter=None if votes.voter is None else voter)
    assert result.items == tuple(dict.fromkeys(label for pair in zip(left, right, strict=True) for label in pair))
    assert rows_of(result) == rows
    assert result.voters is None or result.voters == tuple(dict.fromkeys(voter))


@pytest.mark.parametrize("kind", [list, tuple, iter, np.array])
def test_columns_may_be_any_sequence(kind):
    votes = Comparisons.from_labels(kind(["a", "b"]), kind(["b", "c"]), kind(["left", "tie"]), voter=kind([7, 8]))
    assert votes == small_comparisons(voters=(7, 8))
    assert all(type(label) in {str, int} for label in (*votes.items, *votes.voters))


def test_times_of_numpy_are_labels():
    days = np.array(["2026-01-30", "2026-01-31"], "M8[ns]")
    votes = Comparisons.from_labels(days[:1], days[1:], ["left"], items=days, voter=days[:1])
    assert (votes.items, votes.voters) == (tuple(pd.DatetimeIndex(days)), (datetime.datetime(2026, 1, 30),))
    assert votes == Comparisons.from_labels(list(days[:1]), list(days[1:]), ["left"], voter=list(days[:1]))


@pytest.mark.parametrize("winners", [[1, 0], ["left", 0], [np.int64(1), "tie"], np.array([1, 0]), [1.0, 0.0]])
def test_codes_are_winners_on_request(winners):
    votes = Comparisons.from_labels(["a", "b"], ["b", "c"], winners, answers="codes")
    assert votes.winner.tolist() == [LEFT, TIE]
    with pytest.raises(VoteError, match=r"winner\[[01]\]: .* got .* set answers="):
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
        ({"voter": None, "voters": [ANN]}, ComparisonError, "voters= needs voter=, which says who"),
        ({"right": ["b", "b"], "winner": ["left", None]}, ComparisonError, r"right\[1\]: item 'b' is compared with"),
        ({"left": ["a", None]}, ComparisonError, r"left\[1\]: None is missing; every comparison needs its item"),
        ({"right": ["b", ("c", None)]}, ComparisonError, r"right\[1\]: \('c', None\) is missing"),
        ({"voter": [ANN, None]}, ComparisonError, r"voter\[1\]: None is missing; every comparison needs its voter"),
        ({"left": ["a", ["b"]]}, ComparisonError, r"left\[1\]: \['b'\] is not a valid label: use text, whole numbers"),
        ({"left": ["a", np.datetime64(1, "ns")]}, ComparisonError, r"left\[1\]: np.datetime64.* is a time, which"),
        ({"voter": [ANN, np.datetime64(10**6, "Y")]}, ComparisonError, r"voter\[1\]: np.datetime64.* is a time, which"),
        ({"items": ["a", "b", "c", 7, "7"]}, ComparisonError, "items differ only in their types: '7'"),
        ({"left": ["a"]}, ComparisonError, "left has 1, right has 2, winner has 2, voter has 2"),
        ({"left": "ab"}, ComparisonError, "left must be a list with an entry for each comparison; got 'ab'"),
        ({"left": np.array([["a", "b"]])}, ComparisonError, "left must have one dimension; got 2"),
        ({"winner": ["left", "Even"]}, VoteError, r"winner\[1\]: the winner must be 'left', 'right', 'tie'"),
        ({"winner": ["tie", ["tie"]]}, VoteError, r"winner\[1\]: .* got \['tie'\]"),
        ({"winner": [True, 0], "answers": "codes"}, VoteError, r"winner\[0\]: .* got True"),
        ({"winner": np.array([1, -3]), "answers": "codes"}, VoteError, r"winner\[1\]: .* got -3"),
        ({"items": ["a", "b", "c", "a"]}, ComparisonError, "items must be unique"),
        ({"left": ["a", np.datetime64("NaT", "s")]}, ComparisonError, r"left\[1\]: np.datetime64.* is missing"),
        ({"left": ["a", ["b"]], "items": ["a"]}, ComparisonError, r"left\[1\]: \['b'\] is not a valid label"),
    ],
)
def test_invalid_labels_are_refused_with_their_position(columns, error, message):
    given_columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": [ANN, BOB], **columns}
    with pytest.raises(error, match=message):
        Comparisons.from_labels(**given_columns)


@given(SEEDS)
def test_ballots_are_counted_together(seed):
    result, ballots = run_and_watch(PLAN, seed)
    votes = Comparisons.from_ballots(ballots)
    assert votes.items == range(PLAN.n_items)
    assert (
        votes == Comparisons.from_ballots(ballots, n_items=PLAN.n_items) == Comparisons.from_ballots(ballots, items=8)
    )
    for name in ("wins", "ties", "losses"):
        assert_array_equal(getattr(votes, name), getattr(result, name))
    unanswered = sum(np.count_nonzero(answers == UNANSWERED) for _, answers in ballots)
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


def test_mismatched_ballots_are_refused():
    ballot = draw_ballot(["a", "b"], 1, [ANN], np.random.default_rng(0))
    with pytest.raises(ComparisonError, match="give items or n_items, not both"):
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
def test_answers_of_closed_and_open_ballots_are_included(seed):
    plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=3)
    voting = Voting(plan, list("hgfedcba"), [ANN, BOB], seed)
    known = {"items": voting.items, "voters": voting.voters}
    assert Comparisons.from_ballots(voting.answered_ballots, **known).n_comparisons == 0
    assert Comparisons.from_ballots(voting.answered_ballots, **known).items == tuple("hgfedcba")
    cast = []
    for n_left_out in (0, 2):
        voting.open_ballot()
        for place, comparison in enumerate(voting.comparisons()):
            if place >= n_left_out:
                word = "left" if comparison.left < comparison.right else "tie"
                voting.record({comparison.id: word})
                cast.append((comparison.voter, comparison.left, comparison.right, word))
        if not n_left_out:
            voting.close_ballot()
    votes = Comparisons.from_ballots(voting.answered_ballots, **known)
    assert rows_of(votes) == cast
    assert votes.n_unanswered == 2
    assert (votes.items, votes.voters) == (voting.items, voting.voters)


@given(comparisons())
def test_pairs_are_wins_of_the_left_item(votes):
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
        ([(0, 1), (1,)], r"pairs must be a list of pairs \(winner, loser\); got"),
    ],
)
def test_invalid_pairs_are_refused(pairs, message):
    with pytest.raises(ComparisonError, match=message):
        Comparisons.from_pairs(pairs, 3)


@given(comparisons(), st.data())
def test_a_mask_and_its_indices_select_alike(votes, data):
    masks = st.lists(st.booleans(), min_size=votes.n_comparisons, max_size=votes.n_comparisons)
    mask = np.array(data.draw(masks), bool)
    some = votes.select(mask)
    assert some == votes.select(np.flatnonzero(mask)) == votes.select(np.flatnonzero(mask).tolist())
    assert rows_of(some) == [row for row, is_selected in zip(rows_of(votes), mask, strict=True) if is_selected]
    assert (some.items, some.voters, some.n_unanswered) == (votes.items, votes.voters, 0)
    assert not some.left.flags.writeable
    assert sorted(rows_of(some.joined(votes.select(~mask)))) == sorted(rows_of(votes))


@given(comparisons(min_size=1), st.data())
def test_comparisons_may_be_resampled(votes, data):
    indices = data.draw(st.lists(st.integers(0, votes.n_comparisons - 1), max_size=20))
    assert rows_of(votes.select(indices)) == [rows_of(votes)[index] for index in indices]


@given(comparisons(voters=True))
def test_a_voter_is_left_out(votes):
    for voter in votes.voters:
        others = votes.without_voter(voter)
        assert rows_of(others) == [row for row in rows_of(votes) if row[0] != voter]
        assert (others.items, others.voters) == (votes.items, votes.voters)


@given(comparisons(), comparisons())
def test_joining_adds_up(first, then):
    items = max(first.items, then.items, key=len)
    first, then = replace(first, items=items, n_unanswered=2), replace(then, items=items, n_unanswered=3)
    if (first.voter is None) != (then.voter is None):
        with pytest.raises(ComparisonError, match="name voters in both sets of votes, or in neither"):
            first.joined(then)
        return
    both = first.joined(then)
    assert rows_of(both) == rows_of(first) + rows_of(then)
    assert_array_equal(both.wins, first.wins + then.wins)
    assert both.n_unanswered == 5
    columns = (both.left, both.right, both.winner, both.voters, both.voter)
    assert both == Comparisons(both.items, *columns, both.n_unanswered)


def test_joining_keeps_the_order_of_voters():
    first, then = small_comparisons(voters=(ANN, BOB)), small_comparisons(voters=("Zoe", BOB))
    both = first.joined(then)
    assert (both.voters, both.voter.tolist()) == ((ANN, BOB, "Zoe"), [0, 1, 2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda votes: votes.select([True]), "a mask needs 2 entries, one for each comparison; got 1"),
        (lambda votes: votes.select([0, 2]), "the 2 comparisons have the indices from 0 to 1; got 2"),
        (lambda votes: votes.select([0.0]), r"select takes a mask or indices; got float64 of shape \(1,\)"),
        (lambda votes: votes.without_voter("Zoe"), r"^voter: 'Zoe' is not one of the 2 voters"),
        (lambda votes: replace(votes, voters=None, voter=None).without_voter(ANN), "the voters .* are not known"),
        (lambda votes: votes.joined(small_comparisons(items=("a", "b", "d"))), r"items\[2\] is 'c' here and 'd' there"),
        (lambda votes: votes.joined(small_comparisons(items=4)), "same order; got 3 and 4 items"),
        (lambda votes: votes.joined(small_comparisons(voters=None, voter=None)), "or in neither; the second has none"),
        (lambda votes: votes.joined([]), r"Comparisons are joined with Comparisons; got \[\]"),
    ],
)
def test_invalid_operations_are_refused(change, message):
    with pytest.raises(ComparisonError, match=message):
        change(small_comparisons())


@given(comparisons(labels=st.just(LABELS)))
def test_the_dict_is_ready_for_json(votes):
    labels = all(isinstance(item, str) for item in votes.items)
    content = json.loads(votes.to_json())
    assert content == json.loads(json.dumps(votes.to_dict()))
    assert content["n_unanswered"] == 0
    assert len(content["items"]) == votes.n_items
    assert content["winner"] == [WORDS[code] for code in votes.winner.tolist()]
    if labels:
        known = {} if votes.voter is None else {"voter": content["voter"], "voters": content["voters"]}
        columns = (content[name] for name in ("left", "right", "winner"))
        assert Comparisons.from_labels(*columns, items=content["items"], **known) == votes


def test_the_frame_has_labels_and_words():
    frame = small_comparisons().to_frame()
    columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"]}
    assert frame.to_dict("list") == {"comparison": [0, 1], "voter": [ANN, BOB], **columns}
    assert list(small_comparisons(voters=None, voter=None).to_frame().columns) == [
        "comparison",
        "left",
        "right",
        "winner",
    ]
    assert "<th>winner</th>" in small_comparisons()._repr_html_()


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


@every_library
@given(comparisons(labels=st.just(CELLS), voters=True, min_size=1))
def test_columns_come_back_from_a_frame(make, votes):
    frame = make(votes._columns())
    again = Comparisons.from_frame(frame, items=votes.items)
    assert rows_of(again) == rows_of(votes)
    assert again.items == votes.items
    renamed = make({name.upper(): column for name, column in votes._columns().items()})
    sides = {"left": "LEFT", "right": "RIGHT", "winner": "WINNER", "items": votes.items}
    assert Comparisons.from_frame(renamed, **sides, voter="VOTER") == again
    assert Comparisons.from_frame(renamed, **sides).voters is None


@every_library
def test_an_arena_is_recognised(make):
    winners = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad"]
    frame = make({"model_a": list("abcab"), "model_b": list("bcaca"), "winner": winners, "judge": [1, 1, 2, 2, 2]})
    votes = Comparisons.from_frame(frame)
    assert votes.winner.tolist() == [LEFT, RIGHT, TIE, TIE, TIE]
    assert (votes.items, votes.voters) == (("a", "b", "c"), (1, 2))
    assert Comparisons.from_frame(frame, voter="winner").voters == tuple(winners)


@every_library
def test_empty_winners_are_unanswered(make):
    columns = {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["left", None, ""]}
    votes = Comparisons.from_frame(make({**columns, "voter": ["x", "y", "z"]}))
    assert (votes.n_comparisons, votes.n_unanswered, votes.voters) == (1, 2, ("x", "y", "z"))
    assert Comparisons.from_frame(make(columns)).n_unanswered == 2
    named = Comparisons.from_frame(make(columns), left="left", right="right", winner="winner")
    assert (named.winner.tolist(), named.n_unanswered) == ([LEFT], 2)


@every_library
def test_items_of_several_columns_are_tuples(make):
    frame = make({"left_1": ["a"], "left_2": ["b"], "right_1": ["a"], "right_2": ["c"], "winner": ["right"]})
    votes = Comparisons.from_frame(frame)
    assert votes.items == (("a", "b"), ("a", "c"))
    named = Comparisons.from_frame(frame, left=["left_1", "left_2"], right=("right_1", "right_2"), winner="winner")
    assert named == votes
    assert Comparisons.from_frame(frame, left="left_1", right="right_2", winner="winner").items == ("a", "c")
    assert Comparisons.from_frame(frame, left=["left_1"], right=["right_2"], winner="winner").items == (("a",), ("c",))
    alone = frame.drop(columns=["left_2", "right_2"]) if make is pd.DataFrame else frame.drop(["left_2", "right_2"])
    with pytest.raises(ComparisonError, match=r"right_1\[0\]: item \('a',\) is compared with itself"):
        Comparisons.from_frame(alone)


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_text_of_any_kind_of_pandas(dtype):
    columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": ["x", "y"]}
    assert Comparisons.from_frame(pd.DataFrame(columns).astype(dtype)) == Comparisons.from_labels(**columns)
    text = [pd.Series(column, dtype=dtype) for column in list(columns.values())[:3]]
    assert Comparisons.from_labels(*text).n_items == 3
    unanswered = pd.DataFrame({**columns, "winner": ["left", None]}).astype(dtype)
    assert Comparisons.from_frame(unanswered).n_unanswered == 1
    missing = pd.DataFrame({**columns, "left": ["a", None]}).astype(dtype)
    with pytest.raises(ComparisonError, match=r"left\[1\]: .* is missing"):
        Comparisons.from_frame(missing)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values_in_a_frame_are_unanswered(nothing):
    frame = pd.DataFrame({"l": ["a", "b"], "r": ["b", "c"], "w": pd.Series(["left", nothing], dtype=object)})
    votes = Comparisons.from_frame(frame, left="l", right="r", winner="w")
    assert (votes.winner.tolist(), votes.n_unanswered, votes.items) == ([LEFT], 1, ("a", "b", "c"))


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("column", ["left", "right", "voter"])
def test_items_and_voters_of_a_frame_are_never_missing(nothing, column):
    columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": ["Ann", "Bob"]}
    frame = pd.DataFrame({**columns, column: pd.Series(["x", nothing], dtype=object)})
    with pytest.raises(ComparisonError, match=rf"{column}\[1\]: .* is missing"):
        Comparisons.from_frame(frame)


@every_library
def test_numbers_are_winners_only_if_their_meaning_is_given(make):
    frame = make({"l": ["a", "b", "c"], "r": ["b", "c", "a"], "w": [1, 0, None]})
    columns = {"left": "l", "right": "r", "winner": "w"}
    with pytest.raises(
        VoteError,
        match=r"^w\[0\]: the winner must be 'left', 'right', 'tie' or 'cannot say'; got 1(\.0)? \(also 0(\.0)?\)\. "
        r'For other answers, set answers= to "left_won" \(1 left, 0 right\), to "codes" \(1 left, 0 tie, -1 right;',
    ):
        Comparisons.from_frame(frame, **columns)
    for answers, winners in (
        ("left_won", [LEFT, RIGHT]),
        ("codes", [LEFT, TIE]),
        ({1: "right", 0: "left"}, [RIGHT, LEFT]),
        ({"1": "tie", "0": "cannot say"}, [TIE]),
    ):
        votes = Comparisons.from_frame(frame, **columns, answers=answers)
        assert (votes.winner.tolist(), votes.n_unanswered) == (winners, 3 - len(winners))


@every_library
def test_a_boolean_column_tells_whether_the_left_item_won(make):
    frame = make({"left": ["a", "b"], "right": ["b", "c"], "winner": [True, False]})
    assert Comparisons.from_frame(frame, answers="left_won").winner.tolist() == [LEFT, RIGHT]
    with pytest.raises(VoteError, match=r"winner\[0\]: .* got True \(also False\)"):
        Comparisons.from_frame(frame, answers="codes")


def test_numbers_of_a_frame_are_items():
    frame = pd.DataFrame({"left": [4, 0], "right": [0, 2], "winner": np.array([1, -1], np.int8)})
    votes = Comparisons.from_frame(frame, items=5, answers="codes")
    assert (votes.items, votes.left.tolist(), votes.winner.tolist()) == (range(5), [4, 0], [LEFT, RIGHT])


@every_library
def test_pairs_of_winner_and_loser(make):
    names = Comparisons.from_frame(make({"winner": ["fig", "plum"], "loser": ["plum", "kiwi"]}))
    assert (names.items, names.winner.tolist(), names.voters) == (("fig", "plum", "kiwi"), [LEFT, LEFT], None)
    pairs = make({"winner": [2, 1], "loser": [0, 0], "who": ["Ann", "Bob"]})
    assert Comparisons.from_frame(pairs) == Comparisons.from_pairs([(2, 0), (1, 0)], 3)
    assert Comparisons.from_frame(pairs, voter="who").voters == ("Ann", "Bob")
    assert Comparisons.from_frame(pairs, format="pairs").items == (2, 0, 1)
    assert Comparisons.from_frame(make({"winner": ["fig"], "loser": ["plum"]})[:0]).n_items == 0


A_TIE = {"left": ["a"], "right": ["b"], "winner": ["tie"]}
A_ONE = A_TIE | {"winner": [1]}
A_PAIR = {"winner": ["a"], "loser": ["b"]}


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        ({"a": [1]}, {}, ComparisonError, 'got the columns "a"; expected .*; or model_a, model_b and winner'),
        ({"left": ["a"], "right": ["b"]}, {"winner": "vote"}, ComparisonError, 'no column "vote"'),
        ({"winner": [0], "loser": [0]}, {}, ComparisonError, r"loser\[0\]: item 0 is compared with itself"),
        (A_PAIR, {"answers": "codes"}, OptionError, "cannot be chosen for the format 'pairs'"),
        (A_ONE, {"answers": {1: "left", "1": "right"}}, OptionError, "'1' has two meanings: 'left' and 'right'"),
        (
            {"comparison": [1, 1], "left": ["a", "a"], "right": ["b", "b"], "winner": ["tie", "tie"]},
            {},
            ComparisonError,
            r"comparison\[1\]: comparison 1 is also",
        ),
        (
            {
                "comparison": pd.Series([1, "1"], dtype=object),
                "left": list("aa"),
                "right": list("bb"),
                "winner": ["tie"] * 2,
            },
            {},
            ComparisonError,
            r"comparison\[1\]: comparison '1' is also in row 0",
        ),
        (
            {"l_1": ["a"], "r": ["b"], "w": ["tie"]},
            {"left": ["l_1", "r"]},
            ComparisonError,
            'got the columns "l_1", "r", "w"; expected',
        ),
        (A_TIE, {"left": []}, ComparisonError, "got an empty list"),
        ({"model_a": ["a"], "model_b": ["b"], "winner": ["left"]}, {}, VoteError, r"winner\[0\]: the winner must be"),
    ],
)
def test_invalid_frames_are_refused(frame, options, error, message):
    with pytest.raises(error, match=message):
        Comparisons.from_frame(pd.DataFrame(frame), **options)


@pytest.mark.parametrize("other", [7.0, True, np.float64(7), np.True_, 1.5])
def test_a_float_label_is_not_an_integer_label(other):
    for column in ("left", "voter"):
        labels = {"left": ["a", "b"], "voter": ["u", "v"], column: [int(other), other]}
        with pytest.raises(
            ComparisonError, match=rf"{column}\[1\]: .* is not written as a whole number, as others are"
        ):
            Comparisons.from_labels(right=["x", "y"] if column == "voter" else [8, 9], winner=["left"] * 2, **labels)


@pytest.mark.parametrize("frame", [[("a", "b", "left")], {"left": ["a"]}, pd.Series(["a"]), None])
def test_objects_that_are_no_frames_are_refused(frame):
    with pytest.raises(ComparisonError, match="a data frame of pandas, polars or pyarrow is expected; got"):
        Comparisons.from_frame(frame)


def test_a_lazy_frame_is_refused():
    with pytest.raises(DimensionError, match=r"in polars by \.collect\(\)"):
        Comparisons.from_frame(pl.DataFrame({"left": ["a"]}).lazy())
