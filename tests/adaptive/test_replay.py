"""Ballots scored again from all votes: as a protocol scores them one by one, and strict about what was voted on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import BallotVotes, plan_ballots, score_ballots
from adaptive._protocol import ballot_rng
from adaptive._votes import LEFT, TIE, UNANSWERED
from adaptive.errors import ProtocolError, VoteError
from tests.adaptive import naive
from tests.adaptive.ballots import PLANS, SEEDS, answers_to, check_record, spelt_out
from tests.adaptive.votings import Voting

PLAN = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
LEFTS, RIGHTS, ANSWERS = ["a", "b", "c", "d"], ["b", "c", "d", "a"], [LEFT, LEFT, TIE, UNANSWERED]


def votes_on(ballot, answers, order):
    """Votes on a ballot, its comparisons in any order."""
    left, right = (np.array(side)[order] for side in (ballot.left, ballot.right))
    return BallotVotes([ballot.items[i] for i in left], [ballot.items[i] for i in right], np.array(answers)[order])


@given(PLANS, SEEDS, st.booleans())
def test_scores_are_those_of_a_protocol_and_of_the_paper(plan, seed, labelled):
    """Equal to the last bit, whatever the order of the comparisons; ties at the cut are common."""
    items = [f"item {number}" for number in range(plan.n_items)] if labelled else plan.n_items
    rng = np.random.default_rng(seed)
    protocol = Voting(plan, items, voters=4, seed=seed)
    collected, seen = [], []
    while not protocol.is_finished:
        ballot = protocol.open_ballot()
        answers = answers_to(ballot, seed + ballot.n_comparisons)
        words = [vote for *_, vote in spelt_out(ballot, answers)[1]]
        shown = zip(protocol.comparisons(), words, strict=True)
        protocol.record({comparison.id: word for comparison, word in shown if word})
        record = protocol.close_ballot()
        collected.append(votes_on(ballot, answers, rng.permutation(ballot.n_comparisons)))
        seen.append(spelt_out(ballot, answers))
        interim = score_ballots(plan, collected, items=items, seed=seed)
        last = interim.result.ballots[-1]
        assert last.items == record.items
        for name in ("x", "y", "ybar", "places"):
            assert_array_equal(getattr(last, name), getattr(record, name))
        assert (last.b, last.number, last.n_tied_at_cut) == (record.b, record.number, record.n_tied_at_cut)
    assert interim.next_items is None
    assert interim.result.ranking == protocol.result().ranking
    assert interim.result.to_dict() == protocol.result().to_dict()
    for record, wanted in zip(interim.result.ballots, naive.protocol(seen), strict=True):
        check_record(record, wanted)


def test_ties_at_the_cut_are_broken_by_the_seed_and_the_ballot_alone():
    votes = BallotVotes(LEFTS, RIGHTS, [TIE] * 4)
    chosen = set()
    for seed in range(30):
        interim = score_ballots(PLAN, [votes], items=["a", "b", "c", "d"], seed=seed)
        assert interim.result.ballots[0].n_tied_at_cut == 4
        expected = ballot_rng(seed, 1, "cut").permutation(4)[:2]
        assert interim.next_items == tuple(LEFTS[place] for place in expected)
        following = BallotVotes(interim.next_items, interim.next_items[::-1], [TIE, TIE])
        later = score_ballots(PLAN, [votes, following], items=["a", "b", "c", "d"], seed=seed)
        assert later.result.ballots[1].items == interim.next_items
        chosen.add(frozenset(interim.next_items))
    assert len(chosen) == 6


def test_how_it_is_shown():
    interim = score_ballots(PLAN, [BallotVotes(LEFTS, RIGHTS, ANSWERS)], items=LEFTS, seed=1)
    assert repr(interim) == "<InterimResult of 1 ballots, 2 items in the next one>"
    following = BallotVotes(interim.next_items, interim.next_items[::-1], [LEFT, LEFT])
    done = score_ballots(PLAN, [BallotVotes(LEFTS, RIGHTS, ANSWERS), following], items=LEFTS, seed=1)
    assert repr(done) == "<InterimResult of 2 ballots, 0 items in the next one>"


@pytest.mark.parametrize("n_ballots", [0, 3])
def test_the_ballots_are_those_of_the_plan(n_ballots):
    votes = BallotVotes(LEFTS, RIGHTS, ANSWERS)
    with pytest.raises(ProtocolError, match=rf"from 1 to 2 ballots of the plan can be scored; got {n_ballots}$"):
        score_ballots(PLAN, [votes] * n_ballots, items=LEFTS, seed=1)


def test_the_items_are_those_of_the_plan():
    with pytest.raises(ProtocolError, match="the plan is for 4 items; got 3"):
        score_ballots(PLAN, [BallotVotes(LEFTS, RIGHTS, ANSWERS)], items=LEFTS[:3], seed=1)


@pytest.mark.parametrize("seed", [-1, 1.5, True, None])
def test_a_seed_that_is_none(seed):
    with pytest.raises(ProtocolError, match="seed must be a whole number, not negative; got"):
        score_ballots(PLAN, [BallotVotes(LEFTS, RIGHTS, ANSWERS)], items=LEFTS, seed=seed)


@pytest.mark.parametrize(
    ("left", "right", "answers", "message"),
    [
        (LEFTS, RIGHTS[:3], ANSWERS, "ballot 1: 4 items on the left have 3 on the right"),
        (LEFTS[:3], RIGHTS[:3], ANSWERS[:3], r"ballot 1: the plan has 4 comparisons; got 3 \(comparisons without"),
        (LEFTS * 2, RIGHTS * 2, ANSWERS * 2, "ballot 1: the plan has 4 comparisons; got 8"),
        (["a", "b", "c", "e"], RIGHTS, ANSWERS, "ballot 1: the plan has no such items: 'e'"),
        (["a", "b", "c", "a"], RIGHTS, ANSWERS, "ballot 1: an item cannot meet itself: 'a'"),
        (["a", "b", "c", "c"], RIGHTS, ANSWERS, "'c' is presented 3 times"),
        (["a", "b", "a", "d"], RIGHTS, ANSWERS, "ballot 1: each item must be presented 2 times; 'a' is presented 3 t"),
        (LEFTS, RIGHTS, ANSWERS[:3], "ballot 1: 4 comparisons need as many answers; got 3"),
        (LEFTS, RIGHTS, [LEFT, UNANSWERED, UNANSWERED, LEFT], "ballot 1: every item needs an .* without any: 'c'"),
    ],
)
def test_votes_that_are_not_of_the_ballot(left, right, answers, message):
    with pytest.raises(VoteError, match=message):
        score_ballots(PLAN, [BallotVotes(left, right, answers)], items=["a", "b", "c", "d"], seed=1)


def test_items_that_were_not_selected():
    first = BallotVotes(LEFTS, RIGHTS, ANSWERS)
    chosen = score_ballots(PLAN, [first], items=LEFTS, seed=1).next_items
    dropped = [item for item in LEFTS if item not in chosen]
    second = BallotVotes([chosen[0], dropped[0]], [dropped[0], chosen[0]], [LEFT, LEFT])
    with pytest.raises(VoteError, match=f"ballot 2: these items were not selected for it: '{dropped[0]}'$"):
        score_ballots(PLAN, [first, second], items=LEFTS, seed=1)


def test_one_item_is_presented_once_more_where_items_and_presentations_are_odd():
    plan = plan_ballots(3, n_ballots=2, fraction=0.7, presentations=1)
    interim = score_ballots(plan, [BallotVotes(["a", "a"], ["b", "c"], [LEFT, LEFT])], items=["a", "b", "c"], seed=1)
    assert interim.result.ballots[0].tally.presentations.tolist() == [2, 1, 1]
    twice = BallotVotes(["a", "b"], ["b", "a"], [LEFT, LEFT])
    with pytest.raises(VoteError, match=r"presented 1 times, one of them once more; 'c' is presented 0 times"):
        score_ballots(plan, [twice], items=["a", "b", "c"], seed=1)
