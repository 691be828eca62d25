"""The votes of one ballot: which comparison an id means, what a winner is, and what has been answered so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.draw import Ballot
from adaptive.errors import VoteError
from adaptive.record import BallotRecord, Places
from adaptive.scores import tally
from adaptive.session.state import drawn_digest, sealed
from adaptive.votes import UNANSWERED, Vote, comparison_place, parse_vote
from rankcorr.checks import shown

Votes: TypeAlias = Mapping[str, str | Vote] | Iterable[tuple[str, str | Vote]]


@dataclass(eq=False)
class BallotBox:
    """A drawn ballot and the votes on it, open until it has a record."""

    number: int
    ballot: Ballot
    places: Places
    answers: NDArray[np.int8] = field(init=False)
    record: BallotRecord | None = None
    selected: Places | None = None

    def __post_init__(self) -> None:
        self.answers = np.full(self.ballot.n_comparisons, UNANSWERED, np.int8)

    @property
    def n_answered(self) -> int:
        """Comparisons that have a vote."""
        return int(np.count_nonzero(self.answers != UNANSWERED))

    @property
    def n_silent_items(self) -> int:
        """Items without any answer."""
        return int(np.count_nonzero(tally(self.ballot, self.answers).answered == 0))

    def close(self, record: BallotRecord, selected: Places) -> None:
        """Keep what the ballot gave: its record, and the places of the items that go on."""
        self.record, self.selected = record, selected

    def state(self) -> dict[str, Any]:
        """The part of it that JSON keeps; items are places among all items of the protocol."""
        return sealed(
            {
                "number": self.number,
                "closed": self.record is not None,
                "places": self.places.tolist(),
                "left": self.places[self.ballot.left].tolist(),
                "right": self.places[self.ballot.right].tolist(),
                "voter": self.ballot.voter.tolist(),
                "votes": [None if code == UNANSWERED else name_of(code) for code in self.answers.tolist()],
                "selected": None if self.selected is None else self.selected.tolist(),
                "n_tied_at_cut": None if self.record is None else self.record.n_tied_at_cut,
            }
        )

    def first_state(self) -> dict[str, Any]:
        """What version 1 kept: votes by id, and no more than a digest of the draw."""
        answered = np.flatnonzero(self.answers != UNANSWERED)
        codes = self.answers[answered].tolist()
        votes = {f"{self.number}-{index}": name_of(code) for index, code in zip(answered.tolist(), codes, strict=True)}
        drawn = drawn_digest(self.ballot, self.places)
        return sealed({"number": self.number, "closed": self.record is not None, "drawn": drawn, "votes": votes})


def read_votes(votes: Votes, boxes: list[BallotBox]) -> dict[tuple[int, int], int]:
    """Check votes against all ballots so far; the result has the code of each new one, by ballot and index.

    Raises
    ------
    VoteError
        When a comparison or a winner is unknown, a comparison has a different vote already, or its ballot is closed.
    """
    new: dict[tuple[int, int], int] = {}
    for vote in votes.items() if isinstance(votes, Mapping) else votes:
        try:
            comparison, winner = vote
        except (TypeError, ValueError):
            raise VoteError(f"a vote is a pair of comparison id and winner; got {shown(vote)}") from None
        number, index = place = _place_of(comparison, boxes)
        box, code = boxes[number - 1], _code_of(comparison, winner)
        before = new.get(place, int(box.answers[index]))
        if before == code:
            continue
        if before != UNANSWERED:
            raise VoteError(
                f"comparison {shown(comparison)} has the vote {name_of(before)!r} already; got {name_of(code)!r}"
            )
        if box.record is not None:
            raise VoteError(f"ballot {number} is closed: comparison {shown(comparison)} can no longer be answered")
        new[place] = code
    return new


def name_of(code: int) -> str:
    """Name of a vote: "left", "right" or "tie"."""
    return Vote(code).name.lower()


def _place_of(comparison: object, boxes: list[BallotBox]) -> tuple[int, int]:
    number, index = comparison_place(comparison)
    if number > len(boxes):
        raise VoteError(f"comparison {shown(comparison)} is unknown: ballot {number} has not been opened")
    last = boxes[number - 1].ballot.n_comparisons - 1
    if index > last:
        raise VoteError(f"comparison {shown(comparison)} is unknown: those of ballot {number} end at '{number}-{last}'")
    return number, index


def _code_of(comparison: object, winner: object) -> int:
    if isinstance(winner, Vote) and winner is not Vote.UNANSWERED:
        return int(winner)
    try:
        return int(parse_vote(winner))  # type: ignore[arg-type]
    except VoteError as error:
        raise VoteError(f"comparison {shown(comparison)}: {error}") from None
