"""A voting step by step, and the JSON in which votings were saved: ledgers and files must agree with it."""

import hashlib
import json
from pathlib import Path

import numpy as np

from adaptive.draw import draw_ballot
from adaptive.errors import ProtocolError
from adaptive.plan import plan_ballots
from adaptive.protocol import Position, ballot_rng, checked_items, checked_labels, close_ballot
from adaptive.record import ProtocolResult, json_label
from adaptive.votes import UNANSWERED, Vote, comparison_place, comparisons_of
from tests.adaptive.ballots import answers_to

PLAN = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=3)
PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("e", "Ж")]
WORDS = {1: "left", 0: "tie", -1: "right", UNANSWERED: None}


class Voting:
    """The ballots of a plan, one after the other, each drawn and cut with a stream of random numbers of its own."""

    def __init__(self, plan, items, voters, seed):
        self.plan, self.seed = plan, seed
        self.items, self.voters = checked_items(plan, items), checked_labels(voters, "voters")
        self.standing, self.records, self.boxes = Position.first(plan), (), []
        self.places, self.cuts = [], []  # of each ballot, and what its closing selected

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
        self.places.append(self.standing.places.tolist())
        return ballot

    def comparisons(self):
        return comparisons_of(self.ballot, len(self.boxes))

    def record(self, votes):
        for comparison, winner in dict(votes).items():
            number, place = comparison_place(comparison)
            self.boxes[number - 1][1][place] = winner if isinstance(winner, Vote) else Vote[winner.upper()]

    def close_ballot(self):
        number = len(self.boxes)
        rng = ballot_rng(self.seed, number, "cut")
        record, self.standing = close_ballot(self.plan, self.standing, *self.boxes[-1], rng=rng)
        self.records = (*self.records, record)
        self.cuts.append(self.standing.places.tolist())
        return record

    @property
    def voted(self):
        return tuple((ballot, answers.copy()) for ballot, answers in self.boxes)

    def result(self):
        if not self.is_finished:
            raise ProtocolError("ballots are missing")
        return ProtocolResult(self.plan, self.items, self.standing.mean, self.records)

    def state(self):
        """Version 2 of the format."""
        ballots = []
        for number, (ballot, answers) in enumerate(self.boxes, start=1):
            closed = number <= len(self.records)
            places = np.array(self.places[number - 1])
            ballots.append(
                {
                    "number": number,
                    "closed": closed,
                    "places": places.tolist(),
                    "left": places[ballot.left].tolist(),
                    "right": places[ballot.right].tolist(),
                    "voter": ballot.voter.tolist(),
                    "votes": [WORDS[code] for code in answers.tolist()],
                    "selected": self.cuts[number - 1] if closed else None,
                    "n_tied_at_cut": self.records[number - 1].n_tied_at_cut if closed else None,
                }
            )
        header = {
            "plan": self.plan.to_dict(),
            "items": json_labels(self.items),
            "voters": json_labels(self.voters),
            "seed": int(self.seed),
        }
        return sealed({"format": "adaptive.BallotProtocol", "version": 2, **header, "ballots": ballots})

    def to_json(self):
        return json.dumps(self.state(), ensure_ascii=False)

    def save(self, path):
        Path(path).write_text(self.to_json(), encoding="utf-8")


def json_labels(labels):
    return len(labels) if isinstance(labels, range) else [json_label(label) for label in labels]


def digest(value):
    """What the file's digests are: sha256 of the JSON with sorted keys and without spaces."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(state):
    """The state with its digests computed anew, as no accident would."""
    state["digest"] = digest({key: state[key] for key in ("plan", "items", "voters", "seed")})
    for entry in state["ballots"]:
        entry["digest"] = digest({key: value for key, value in entry.items() if key != "digest"})
    if state["version"] > 1:
        state["ballots_digest"] = digest([state["digest"], *(entry["digest"] for entry in state["ballots"])])
    return state


def started(items=8, voters=5, seed=1):
    return Voting(PLAN, items, voters, seed)


def votes_on(voting, seed=0):
    """A vote for most comparisons of the open ballot, by id."""
    answers = answers_to(voting.ballot, seed)
    shown = zip(voting.comparisons(), answers.tolist(), strict=True)
    return {comparison.id: WORDS[answer] for comparison, answer in shown if answer != UNANSWERED}


def run(voting, n_ballots, seed=0):
    for _ in range(n_ballots):
        voting.open_ballot()
        voting.record(votes_on(voting, seed))
        voting.close_ballot()
    return voting


def opened(n_votes=5):
    """A voting with ballot 1 closed and some votes on ballot 2."""
    voting = run(started(), 1)
    voting.open_ballot()
    voting.record(dict(list(votes_on(voting).items())[:n_votes]))
    return voting
