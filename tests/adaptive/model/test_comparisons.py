"""The value that estimators take: what goes in comes out, by any way in, and nothing that cannot be is kept."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import BallotProtocol, ComparisonError, Comparisons, Vote, VoteError, draw_ballot, plan_ballots
from adaptive.errors import AdaptiveError
from adaptive.scores import tally
from adaptive.votes import LEFT, RIGHT, TIE, UNANSWERED
from tests.adaptive import naive
from tests.adaptive.ballots import PLAN, SEEDS, answers_to, run_and_watch
from tests.adaptive.model.votes import LABELS, WORDS, comparisons, rows_of, spelt_out

ANN, BOB = "Ann", "Bob"


def small(**changes):
    """Two comparisons of three items by two voters."""
    fields = {"items": ("a", "b", "c"), "left": [0, 1], "right": [1, 2], "winner": [LEFT, TIE]}
    fields |= {"voters": (ANN, BOB), "voter": [0, 1], "n_unanswered": 0}
    return Comparisons(**{**fields, **changes})


# --- what it is ------------------------------------------------------------------------------------------------------


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
        (
            {"winner": [UNANSWERED, LEFT]},
            VoteError,
            r"winner\[0\] is -2; .* unanswered comparison is counted, not kept",
        ),
        ({"winner": ["left", "tie"]}, ComparisonError, r"winner must be whole numbers in one dimension; got <U4 of"),
        ({"winner": [True, False]}, ComparisonError, r"winner must be whole numbers .* got bool of shape \(2,\)"),
        ({"left": [0.0, 1.0]}, ComparisonError, r"left must be whole numbers .* got float64"),
        (
            {"left": [[0, 1]]},
            ComparisonError,
            r"left must be whole numbers in one dimension; got int64 of shape \(1, 2\)",
        ),
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


@given(comparisons(voters=True, min_size=1), st.data())
def test_one_wrong_number_is_refused_with_its_row(votes, data):
    column = data.draw(st.sampled_from(["left", "right", "voter", "winner"]))
    row = data.draw(st.integers(0, votes.n_comparisons - 1))
    values = getattr(votes, column).astype(int)
    beyond = {"left": votes.n_items, "right": votes.n_items, "voter": votes.n_voters, "winner": 2}[column]
    values[row] = data.draw(st.sampled_from([beyond, -3, 10**12]))
    with pytest.raises(AdaptiveError, match=rf"^{column}\[{row}\] is {values[row]}; "):
        replace(votes, **{column: values})


# --- from labels -----------------------------------------------------------------------------------------------------


@given(comparisons(labels=st.just(LABELS)))
def test_labels_come_out_as_they_went_in(votes):
    rows = rows_of(votes)
    voter, left, right, winner = ([row[place] for row in rows] for place in range(4))
    known = {} if votes.voter is None else {"voter": voter, "voters": votes.voters}
    assert Comparisons.from_labels(left, right, winner, items=votes.items, **known) == votes
    assert Comparisons.from_labels(left, right, votes.winner, items=votes.items, **known) == votes
    found = Comparisons.from_labels(left, right, winner, voter=None if votes.voter is None else voter)
    assert found.items == tuple(dict.fromkeys(label for pair in zip(left, right, strict=True) for label in pair))
    assert rows_of(found) == rows
    assert found.voters is None or found.voters == tuple(dict.fromkeys(voter))


@pytest.mark.parametrize("kind", [list, tuple, iter, np.array])
def test_columns_may_be_of_any_kind(kind):
    votes = Comparisons.from_labels(kind(["a", "b"]), kind(["b", "c"]), kind(["left", "tie"]), voter=kind([7, 8]))
    assert votes == small(voters=(7, 8))
    assert all(type(label) in {str, int} for label in (*votes.items, *votes.voters))


@pytest.mark.parametrize(
    "winners", [[1, 0], [Vote.LEFT, Vote.TIE], ["left", 0], [np.int64(1), "tie"], np.array([1, 0])]
)
def test_winners_are_words_or_codes(winners):
    votes = Comparisons.from_labels(["a", "b"], ["b", "c"], winners)
    assert votes.winner.tolist() == [LEFT, TIE]


def test_unanswered_comparisons_are_counted_and_their_items_kept():
    votes = Comparisons.from_labels(["a", "b"], ["b", "c"], [UNANSWERED, RIGHT], voter=[ANN, BOB])
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
        ({"voters": [ANN]}, ComparisonError, r"voter\[1\]: 'Bob' is not one of the 1 voters"),
        ({"voter": None, "voters": [ANN]}, ComparisonError, "voters without voter: it is not known who"),
        ({"right": ["b", "b"]}, ComparisonError, r"right\[1\]: item 'b' is compared with itself"),
        ({"right": ["b", "b"], "winner": [1, -2]}, ComparisonError, r"right\[1\]: item 'b' is compared with itself"),
        (
            {"left": ["a", None]},
            ComparisonError,
            r"left\[1\]: None is missing; every comparison needs its item by label",
        ),
        ({"right": [float("nan"), "c"]}, ComparisonError, r"right\[0\]: nan is missing"),
        ({"right": ["b", ("c", None)]}, ComparisonError, r"right\[1\]: \('c', None\) is missing"),
        ({"voter": [ANN, None]}, ComparisonError, r"voter\[1\]: None is missing; every comparison needs its voter"),
        ({"left": ["a", ["b"]]}, ComparisonError, r"left\[1\]: \['b'\] is no label: labels are hashable"),
        ({"left": ["a", ["b"]], "items": ["a"]}, ComparisonError, r"left\[1\]: \['b'\] is no label"),
        ({"left": ["a"]}, ComparisonError, "left has 1, right has 2, winner has 2, voter has 2"),
        ({"left": "ab"}, ComparisonError, "left must be a list with an entry for each comparison; got 'ab'"),
        ({"left": {"a", "b"}}, ComparisonError, "left must be a list"),
        ({"left": 7}, ComparisonError, "left must be a list"),
        ({"left": np.array([["a", "b"]])}, ComparisonError, "left must have one dimension; got 2"),
        (
            {"winner": ["left", "Tie"]},
            VoteError,
            r"winner\[1\]: a winner is 'left', .* or a code from -2 to 1; got 'Tie'",
        ),
        ({"winner": ["", "tie"]}, VoteError, r"winner\[0\]: .* got ''"),
        ({"winner": [None, "tie"]}, VoteError, r"winner\[0\]: .* got None"),
        ({"winner": [True, 0]}, VoteError, r"winner\[0\]: .* got True"),
        ({"winner": [1, 0.0]}, VoteError, r"winner\[1\]: .* got 0.0"),
        ({"winner": [1, 7]}, VoteError, r"winner\[1\]: .* got 7"),
        ({"winner": np.array([1, -3])}, VoteError, r"winner\[1\]: .* got -3"),
        ({"winner": np.array([1.0, 0.0])}, VoteError, r"winner\[0\]: .* got 1.0"),
        ({"items": ["a", "b", "c", "a"]}, ComparisonError, "items must be unique"),
    ],
)
def test_labels_that_cannot_be_are_refused_with_their_place(columns, error, message):
    given_columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": [ANN, BOB], **columns}
    with pytest.raises(error, match=message):
        Comparisons.from_labels(**given_columns)


@given(comparisons(labels=st.just(LABELS), voters=True, min_size=1), st.data())
def test_one_strange_entry_is_refused_with_its_place(votes, data):
    columns = dict(zip(["voter", "left", "right", "winner"], map(list, zip(*rows_of(votes), strict=True)), strict=True))
    column = data.draw(st.sampled_from(sorted(columns)))
    row = data.draw(st.integers(0, votes.n_comparisons - 1))
    columns[column][row] = data.draw(st.sampled_from(["?", None, float("nan"), ["a"], "LEFT", 2]))
    with pytest.raises(AdaptiveError, match=rf"^{column}\[{row}\]: "):
        Comparisons.from_labels(**columns, items=votes.items, voters=votes.voters)


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
    with pytest.raises(ComparisonError, match=r"ballots\[0\]: 'Ann' is not one of the 1 voters"):
        Comparisons.from_ballots([(ballot, [LEFT])], voters=[BOB])
    with pytest.raises(ComparisonError, match=r"ballots\[0\] must be a Ballot and its answers; got <Ballot of"):
        Comparisons.from_ballots([ballot])
    with pytest.raises(VoteError, match=r"ballots\[1\]: answers\[0\] is 5; an answer is"):
        Comparisons.from_ballots([(ballot, [LEFT]), (ballot, [5])])


@given(SEEDS)
def test_a_protocol_gives_the_answers_of_closed_and_open_ballots(seed):
    plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=3)
    protocol = BallotProtocol(plan, list("hgfedcba"), voters=[ANN, BOB], seed=seed)
    assert Comparisons.from_protocol(protocol).n_comparisons == 0
    assert Comparisons.from_protocol(protocol).items == tuple("hgfedcba")
    cast = []
    for n_left_out in (0, 2):
        protocol.open_ballot()
        for place, shown in enumerate(protocol.comparisons()):
            if place >= n_left_out:
                word = "left" if shown.left < shown.right else "tie"
                protocol.record({shown.id: word})
                cast.append((shown.voter, shown.left, shown.right, word))
        if not n_left_out:
            protocol.close_ballot()
    votes = Comparisons.from_protocol(protocol)
    assert rows_of(votes) == cast
    assert votes.n_unanswered == 2
    assert (votes.items, votes.voters) == (protocol.items, protocol.voters)
    again = BallotProtocol.from_json(protocol.to_json())
    assert Comparisons.from_protocol(again) == votes


def test_answers_of_a_protocol_are_copies():
    protocol = BallotProtocol(PLAN, 8, voters=2, seed=1)
    protocol.open_ballot()
    ((ballot, answers),) = protocol.answers()
    assert ballot is protocol.ballot
    answers[:] = LEFT
    assert protocol.status().n_answered == 0


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


# --- operations ------------------------------------------------------------------------------------------------------


@given(comparisons(), st.data())
def test_a_mask_and_its_indices_select_alike(votes, data):
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=votes.n_comparisons, max_size=votes.n_comparisons)), bool
    )
    some = votes.select(mask)
    assert some == votes.select(np.flatnonzero(mask)) == votes.select(np.flatnonzero(mask).tolist())
    assert rows_of(some) == [row for row, kept in zip(rows_of(votes), mask, strict=True) if kept]
    assert (some.items, some.voters, some.n_unanswered) == (votes.items, votes.voters, 0)
    assert not some.left.flags.writeable
    assert sorted(rows_of(some.joined(votes.select(~mask)))) == sorted(rows_of(votes))


@given(comparisons(min_size=1), st.data())
def test_comparisons_may_be_drawn_again(votes, data):
    indices = data.draw(st.lists(st.integers(0, votes.n_comparisons - 1), max_size=20))
    assert rows_of(votes.select(indices)) == [rows_of(votes)[index] for index in indices]


@given(comparisons(voters=True))
def test_voters_part_the_comparisons(votes):
    for voter in votes.voters:
        own, others = votes.of_voter(voter), votes.without_voter(voter)
        assert rows_of(own) == [row for row in rows_of(votes) if row[0] == voter]
        assert rows_of(others) == [row for row in rows_of(votes) if row[0] != voter]
        assert own.items == others.items == votes.items
        assert own.voters == others.voters == votes.voters


@given(comparisons(), comparisons())
def test_joining_adds_up(first, then):
    items = max(first.items, then.items, key=len)
    first, then = replace(first, items=items, n_unanswered=2), replace(then, items=items, n_unanswered=3)
    if (first.voter is None) != (then.voter is None):
        with pytest.raises(ComparisonError, match="both or neither must know their voters"):
            first.joined(then)
        return
    both = first.joined(then)
    assert rows_of(both) == rows_of(first) + rows_of(then)
    assert_array_equal(both.wins, first.wins + then.wins)
    assert both.n_unanswered == 5
    assert both == Comparisons(
        both.items, both.left, both.right, both.winner, both.voters, both.voter, both.n_unanswered
    )


def test_joining_keeps_the_order_of_voters():
    first, then = small(voters=(ANN, BOB)), small(voters=("Zoe", BOB))
    both = first.joined(then)
    assert (both.voters, both.voter.tolist()) == ((ANN, BOB, "Zoe"), [0, 1, 2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda votes: votes.select([True]), "a mask needs 2 entries, one for each comparison; got 1"),
        (lambda votes: votes.select([0, 2]), "the 2 comparisons have the indices from 0 to 1; got 2"),
        (lambda votes: votes.select([-1]), "indices from 0 to 1; got -1"),
        (lambda votes: votes.select([0.0]), r"select takes a mask or indices; got float64 of shape \(1,\)"),
        (lambda votes: votes.select([[0]]), r"got int64 of shape \(1, 1\)"),
        (lambda votes: votes.of_voter("Zoe"), r"^voter: 'Zoe' is not one of the 2 voters"),
        (lambda votes: votes.without_voter(0), "0 is not one of the 2 voters"),
        (lambda votes: replace(votes, voters=None, voter=None).of_voter(ANN), "the voters .* are not known"),
        (lambda votes: votes.joined(small(items=("a", "b", "d"))), r"items\[2\] is 'c' here and 'd' there"),
        (lambda votes: votes.joined(small(items=4)), "same order; got 3 and 4 items"),
        (lambda votes: votes.joined(small(voters=None, voter=None)), "know their voters; the other does not"),
        (lambda votes: small(voters=None, voter=None).joined(votes), "know their voters; only the other does"),
        (lambda votes: votes.joined([]), r"Comparisons are joined with Comparisons; got \[\]"),
    ],
)
def test_operations_that_cannot_be(change, message):
    with pytest.raises(ComparisonError, match=message):
        change(small())


# --- out -------------------------------------------------------------------------------------------------------------


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
        again = Comparisons.from_labels(
            content["left"], content["right"], content["winner"], items=content["items"], **known
        )
        assert again == votes


def test_the_frame_has_labels_and_words():
    frame = small().to_frame()
    assert frame.to_dict("list") == {
        "comparison": [0, 1],
        "voter": [ANN, BOB],
        "left": ["a", "b"],
        "right": ["b", "c"],
        "winner": ["left", "tie"],
    }
    assert list(small(voters=None, voter=None).to_frame().columns) == ["comparison", "left", "right", "winner"]
    assert "<th>winner</th>" in small()._repr_html_()


def test_memory_is_13_bytes_for_each_vote():
    votes = small()
    assert sum(column.nbytes for column in (votes.left, votes.right, votes.winner, votes.voter)) == 13 * 2
