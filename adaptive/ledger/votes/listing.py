"""List votes: every event in order, from where the reader left off, and votes that were kept aside."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import pair_id, time_text
from adaptive.ledger.store.locks import lock_ballot
from adaptive.ledger.voters.identity import names_of
from adaptive.ledger.votes.casting import answer_name

MOST: Final = 1_000


@dataclass(frozen=True)
class LedgerEvent:
    """A line of the ledger.

    Attributes
    ----------
    number : int
        Increasing number, with gaps.
    event_id : str
    comparison : str
        Its id, "2-0-17".
    left, right : hashable
        Labels.
    revision : int
    kind : {"cast", "retract", "void"}
    answer : {"left", "right", "tie", "cannot say"} or None
    voter : str
        Random key.
    response_ms : int or None
    given_by, layout : str or None
    received_at : str
        ISO 8601.
    """

    number: int
    event_id: str
    comparison: str
    left: Hashable
    right: Hashable
    revision: int
    kind: str
    answer: str | None
    voter: str
    response_ms: int | None
    given_by: str | None
    layout: str | None
    received_at: str


def events_after(
    connection: sa.Connection, info: CampaignInfo, after: int = 0, *, most: int = MOST
) -> tuple[LedgerEvent, ...]:
    """Return vote events with a higher number than `after`, in their order.

    No event appears later with a lower number than one already read: the function waits for votes that have a number
    but are not committed yet. It needs a transaction that may write.

    Parameters
    ----------
    most : int
        Maximum number of events; there are fewer only at the end of the ledger.
    """
    ballot, event, asked, voter = schema.ballot, schema.vote_event, schema.comparison, schema.voter
    numbers = {
        row.id: row.number
        for row in connection.execute(
            sa.select(ballot.c.id, ballot.c.number).where(ballot.c.campaign_id == info.id).order_by(ballot.c.id)
        )
    }
    for ballot_id in numbers:
        lock_ballot(connection, ballot_id, exclusive=True)
    rows = connection.execute(
        sa.select(event, asked.c.sheet, asked.c.position, asked.c.left_item, asked.c.right_item, voter.c.key)
        .join(asked, sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place))
        .join(voter, voter.c.id == event.c.voter_id)
        .where(event.c.ballot_id.in_(list(numbers)), event.c.id > after, asked.c.probe.is_(None))
        .order_by(event.c.id)
        .limit(most)
    )
    return tuple(
        LedgerEvent(
            number=row.id,
            event_id=row.event_id,
            comparison=pair_id(numbers[row.ballot_id], row.sheet, row.position),
            left=info.items[row.left_item],
            right=info.items[row.right_item],
            revision=row.revision,
            kind=row.kind,
            answer=None if row.answer is None else answer_name(row.answer),
            voter=row.key,
            response_ms=row.response_ms,
            given_by=row.given_by,
            layout=row.layout,
            received_at=time_text(row.received_at),
        )
        for row in rows
    )


@dataclass(frozen=True)
class Conflict:
    """A vote that was not counted because it contradicts another one.

    Attributes
    ----------
    comparison : str
    voter : str
        Voter who sent it.
    stands, came : str
        The vote that counts, or "" if it has been retracted; and the vote that does not count.
    received_at : str
        ISO 8601.
    corrected : bool
        Whether the organiser has resolved the conflict since.
    """

    comparison: str
    voter: str
    stands: str
    came: str
    received_at: str
    corrected: bool


def conflicts(connection: sa.Connection, info: CampaignInfo) -> list[Conflict]:
    """Return the votes that were kept aside because they contradict another one, oldest first."""
    late, ballot, event, asked = schema.late_vote, schema.ballot, schema.vote_event, schema.comparison
    names = names_of(connection, info)
    rows = connection.execute(
        sa.select(late, ballot.c.number, asked.c.sheet, asked.c.position)
        .join(asked, sa.and_(asked.c.ballot_id == late.c.ballot_id, asked.c.place == late.c.place))
        .join(ballot, ballot.c.id == late.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, late.c.why == "conflict")
        .order_by(late.c.id)
    ).all()
    found = []
    for row in rows:
        events = connection.execute(
            sa.select(event.c.kind, event.c.answer, event.c.given_by, event.c.revision)
            .where(event.c.ballot_id == row.ballot_id, event.c.place == row.place)
            .order_by(event.c.revision)
        ).all()
        last = events[-1] if events else None
        found.append(
            Conflict(
                comparison=pair_id(row.number, row.sheet, row.position),
                voter=names[row.voter_id],
                stands=answer_name(last.answer) if last is not None and last.kind == "cast" else "",
                came=answer_name(row.answer),
                received_at=time_text(row.received_at),
                corrected=any(e.given_by == "correction" and e.revision > row.revision for e in events),
            )
        )
    return found
