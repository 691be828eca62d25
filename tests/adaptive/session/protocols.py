"""Protocols at some step, for the tests of sessions."""

from adaptive.plan import plan_ballots
from adaptive.session.ballot_protocol import BallotProtocol
from adaptive.votes import UNANSWERED
from tests.adaptive.ballots import answers_to

PLAN = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=3)
PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("e", "Ж")]
WORDS = {1: "left", 0: "tie", -1: "right"}


def started(items=8, voters=5, seed=1):
    return BallotProtocol(PLAN, items, voters, seed)


def votes_on(protocol, seed=0):
    """A vote for most comparisons of the open ballot, by id."""
    answers = answers_to(protocol.ballot, seed)
    shown = zip(protocol.comparisons(), answers.tolist(), strict=True)
    return {comparison.id: WORDS[answer] for comparison, answer in shown if answer != UNANSWERED}


def run(protocol, n_ballots, seed=0):
    for _ in range(n_ballots):
        protocol.open_ballot()
        protocol.record(votes_on(protocol, seed))
        protocol.close_ballot()
    return protocol


def opened(n_votes=5):
    """A protocol with ballot 1 closed and some votes on ballot 2."""
    protocol = run(started(), 1)
    protocol.open_ballot()
    protocol.record(dict(list(votes_on(protocol).items())[:n_votes]))
    return protocol
