"""Votes on comparisons: by word or code, in any order, refused where they contradict."""

import json

import pytest

from adaptive.errors import VoteError
from adaptive.plan import plan_ballots
from adaptive.session.ballot_protocol import BallotProtocol
from adaptive.votes import Vote
from tests.adaptive.session.protocols import opened, started


def test_votes_may_be_words_or_votes():
    protocol = started()
    protocol.open_ballot()
    assert protocol.record({"1-0": "left", "1-1": Vote.RIGHT, "1-2": "tie"}) == 3
    assert protocol.record([("1-0", Vote.LEFT), ("1-1", "right"), ("1-3", "tie"), ("1-3", Vote.TIE)]) == 1
    assert json.loads(protocol.to_json())["ballots"][0]["votes"][:5] == ["left", "right", "tie", "tie", None]


def test_a_vote_that_is_known_may_come_again_after_its_ballot():
    protocol = opened()
    votes = json.loads(protocol.to_json())["ballots"][0]["votes"]
    known = {f"1-{place}": vote for place, vote in enumerate(votes) if vote is not None}
    assert protocol.record(known) == 0


GOOD = {"2-11": "tie"}


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ({**GOOD, "2-12": "left"}, "comparison '2-12' is unknown: those of ballot 2 end at '2-11'"),
        ({**GOOD, "3-0": "left"}, "comparison '3-0' is unknown: ballot 3 has not been opened"),
        ({**GOOD, "2-01": "left"}, r"comparison '2-01' has a leading zero, which no id has; did you mean '2-1'\?"),
        ({**GOOD, "02-000": "left"}, r"comparison '02-000' has a leading zero, which no id has; did you mean '2-0'\?"),
        ({**GOOD, "two": "left"}, "a comparison has an id like \"2-17\", ballot and index; got 'two'"),
        ({**GOOD, "2-\u0661": "left"}, "a comparison has an id like"),
        ({**GOOD, "2-1\n": "left"}, "a comparison has an id like"),
        ({**GOOD, "0-1": "left"}, "a comparison has an id like"),
        ({**GOOD, 2: "left"}, "a comparison has an id like .* got 2"),
        ({**GOOD, "2-10": "Left"}, "comparison '2-10': a vote is 'left', 'right' or 'tie'; got 'Left'"),
        ({**GOOD, "2-10": None}, "comparison '2-10': a vote is .* got None"),
        ({**GOOD, "2-10": ["left"]}, "comparison '2-10': a vote is"),
        ({**GOOD, "2-10": 1}, "comparison '2-10': a vote is .* got 1"),
        ({**GOOD, "2-10": Vote.UNANSWERED}, "comparison '2-10': a vote is"),
        ({**GOOD, "2-0": "left"}, "comparison '2-0' has the vote 'tie' already; got 'left'"),
        ([*GOOD.items(), ("2-10", "left"), ("2-10", "tie")], "comparison '2-10' has the vote 'left' already"),
        ({**GOOD, "1-0": "left"}, "comparison '1-0' has the vote 'tie' already; got 'left'"),
        ({**GOOD, "1-1": "left"}, "ballot 1 is closed: comparison '1-1' can no longer be answered"),
        ([*GOOD.items(), "2-10"], "a vote is a pair of comparison id and winner; got '2-10'"),
        ([*GOOD.items(), 5], "a vote is a pair of comparison id and winner; got 5"),
    ],
)
def test_votes_that_are_refused_leave_nothing_behind(votes, message):
    plan = plan_ballots(8, n_ballots=3, fraction=0.99, presentations=3)
    protocol = BallotProtocol(plan, 8, 5, 1)
    protocol.open_ballot()
    protocol.record({f"1-{index}": "tie" for index in range(12) if index != 1})
    protocol.close_ballot()
    protocol.open_ballot()
    protocol.record({"2-0": "tie"})
    before = protocol.to_json()
    with pytest.raises(VoteError, match=message):
        protocol.record(votes)
    assert protocol.to_json() == before


def test_votes_before_the_first_ballot():
    with pytest.raises(VoteError, match="ballot 1 has not been opened"):
        started().record({"1-0": "left"})
