"""Which votes count: the last event of each comparison, of voters who are not left out; and their digest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger import schema
from adaptive.ledger.columns import integer_columns
from adaptive.ledger.encoding import digest_of
from adaptive.ledger.votes import CANNOT_SAY, answer_name
from adaptive.votes import UNANSWERED

__all__ = ["StandingVotes", "event_lines", "is_scored", "n_left_out", "standing_votes", "votes_digest"]

Array = NDArray[np.int64]

_NOTHING: Final = -9  # what was taken back or voided has no answer


@dataclass(frozen=True, eq=False)
class StandingVotes:
    """The votes of a ballot that count, in the order of its comparisons.

    Attributes
    ----------
    place : ndarray of int64
        Comparisons that have one.
    answer : ndarray of int64
        Codes: 1 left, 0 tie, -1 right, 2 cannot say.
    voter : ndarray of int64
        Ids of the voters.
    """

    place: Array
    answer: Array
    voter: Array

    @property
    def n_answered(self) -> int:
        """Comparisons that have a vote, "cannot say" included."""
        return self.place.size

    def answers(self, n_comparisons: int) -> NDArray[np.int8]:
        """Answers as a `Ballot` takes them, shape (n_comparisons,): who cannot say has not answered."""
        filled = np.full(n_comparisons, UNANSWERED, np.int8)
        says = self.answer != CANNOT_SAY
        filled[self.place[says]] = self.answer[says]
        return filled

    def without(self, voters: Collection[int]) -> StandingVotes:
        """The votes of everybody else."""
        kept = ~np.isin(self.voter, np.array(sorted(voters), np.int64))
        return StandingVotes(self.place[kept], self.answer[kept], self.voter[kept])


def is_scored(event: sa.Table, ballot_id: int) -> sa.ColumnElement[bool]:
    """Whether an event of a ballot is about a comparison that is scored, and not about a check."""
    ballot = schema.ballot
    return event.c.place < sa.select(ballot.c.n_comparisons).where(ballot.c.id == ballot_id).scalar_subquery()


def standing_votes(connection: sa.Connection, ballot_id: int) -> StandingVotes:
    """The vote that stands for each comparison of a ballot: its last event, where that is a vote."""
    event = schema.vote_event
    place, answer, voter = integer_columns(
        connection,
        sa.select(event.c.place, sa.func.coalesce(event.c.answer, _NOTHING), event.c.voter_id)
        .where(event.c.ballot_id == ballot_id, is_scored(event, ballot_id))
        .order_by(event.c.place, event.c.revision),
    )
    last = np.append(place[1:] != place[:-1], np.ones(min(1, place.size), bool))
    counts = last & (answer != _NOTHING)
    return StandingVotes(place[counts], answer[counts], voter[counts])


def n_left_out(connection: sa.Connection, ballot_id: int, voters: Collection[int]) -> int:
    """Number of comparisons of a ballot whose standing vote is one of these voters'; no other vote is read."""
    if not voters:
        return 0
    event, later = schema.vote_event, schema.vote_event.alias()
    of_comparison = sa.and_(later.c.ballot_id == event.c.ballot_id, later.c.place == event.c.place)
    stands = ~sa.exists().where(of_comparison, later.c.revision > event.c.revision)
    of_ballot = sa.and_(event.c.ballot_id == ballot_id, is_scored(event, ballot_id))
    is_theirs = sa.and_(of_ballot, event.c.voter_id.in_(sorted(voters)))
    counted = sa.select(sa.func.count()).select_from(event).where(is_theirs, event.c.kind == "cast", stands)
    return int(connection.execute(counted).scalar_one())


def event_lines(connection: sa.Connection, ballot_id: int) -> list[str]:
    """The lines that the digest of votes is over: place, revision, kind, answer and the voter's key, as JSON lists."""
    event = schema.vote_event
    rows = connection.execute(
        sa.select(event.c.place, event.c.revision, event.c.kind, event.c.answer, schema.voter.c.key)
        .join(schema.voter, schema.voter.c.id == event.c.voter_id)
        .where(event.c.ballot_id == ballot_id, is_scored(event, ballot_id))
        .order_by(event.c.place, event.c.revision)
    )
    return [
        f'[{place},{revision},"{kind}",{_answer_json(answer)},"{key}"]' for place, revision, kind, answer, key in rows
    ]


def votes_digest(connection: sa.Connection, ballot_id: int) -> str:
    """SHA-256 of `event_lines`."""
    return digest_of(event_lines(connection, ballot_id))


def _answer_json(answer: int | None) -> str:
    return "null" if answer is None else f'"{answer_name(answer)}"'
