"""A voting step by step, without a ledger: ledgers and the service must agree with it."""

import numpy as np

from adaptive._draw import draw_ballot
from adaptive._protocol import Position, ballot_rng, checked_items, checked_labels, close_ballot
from adaptive._record import ProtocolResult
from adaptive._votes import UNANSWERED, Vote, comparisons_of
from adaptive.errors import ProtocolError


class Voting:
    """The ballots of a plan, one after the other, each drawn and cut with a stream of random numbers of its own."""

    def __init__(self, plan, items, voters, seed):
        self.plan, self.seed = plan, seed
        self.items, self.voters = checked_items(plan, items), checked_labels(voters, "voters")
        self.standing, self.records, self.boxes = Position.first(plan), (), []

    @property
    def is_open(self):
        return len(self.boxes) > len(self.records)

    @property
    def is_finished(self):
        return len(self.records) == self.plan.n_ballots

    @property
    def ballot(self):
        return self.boxes[-1][0]

    def open_ballot(self):
        number = len(self.boxes) + 1
        rng = ballot_rng(self.seed, number, "draw")
        ballot = draw_ballot(self.standing.labels(self.items), self.plan.presentations, self.voters, rng)
        self.boxes.append((ballot, np.full(ballot.n_comparisons, UNANSWERED, np.int8)))
        return ballot

    def comparisons(self):
        return comparisons_of(self.ballot, len(self.boxes))

    def record(self, votes):
        for comparison, winner in dict(votes).items():
            number, place = map(int, comparison.split("-"))
            self.boxes[number - 1][1][place] = winner if isinstance(winner, Vote) else Vote[winner.upper()]

    def close_ballot(self):
        number = len(self.boxes)
        rng = ballot_rng(self.seed, number, "cut")
        record, self.standing = close_ballot(self.plan, self.standing, *self.boxes[-1], rng=rng)
        self.records = (*self.records, record)
        return record

    @property
    def voted(self):
        return tuple((ballot, answers.copy()) for ballot, answers in self.boxes)

    def result(self):
        if not self.is_finished:
            raise ProtocolError("ballots are missing")
        return ProtocolResult(self.plan, self.items, self.standing.mean, self.records)
