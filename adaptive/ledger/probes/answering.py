"""Answers to probes, one by one, as votes are cast: the same event twice is one answer, and the first one stands."""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa

from adaptive.errors import VoteError
from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.database import Database
from adaptive.ledger.encoding import now
from adaptive.ledger.errors import ConflictError, LateVoteError
from adaptive.ledger.payloads import retraction_hash, vote_hash
from adaptive.ledger.votes import (
    Receipt,
    VoteCast,
    answer_code,
    answer_name,
    check_event_id,
    event_row,
    late_message,
    why_late,
)

__all__ = ["cast_probe", "retract_probe"]


def cast_probe(database: Database, info: CampaignInfo, vote: VoteCast) -> Receipt:
    """Record an answer to a probe, whose place is `vote.place`; once this returns, it is on the disk.

    Probes are not scored: a ballot that is being closed takes answers to them.

    Raises
    ------
    VoteError
        When there is no such probe, the answer is unknown, or the voter never had the sheet.
    ConflictError
        When another answer stands, or the event id was used for another one.
    LateVoteError
        When the ballot is closed, or the sheet went to somebody else; the answer is kept, and does not count.
    """
    code = answer_code(vote.answer)
    check_event_id(vote.event_id)
    payload = vote_hash(vote.number, vote.place, vote.voter_id, vote.answer, is_probe=True)

    def work(connection: sa.Connection) -> Receipt | LateVoteError:
        found = _locked(connection, info, vote.number, vote.place)
        known = _known(connection, vote.event_id, payload, vote.number)
        if known is not None:
            return known
        late = why_late(connection, found, vote.voter_id)
        stands, last = _last(connection, found.ballot_id, vote.place)
        if late is None and stands is not None:
            name = answer_name(stands.answer)
            raise ConflictError(f"probe {vote.number}-p{vote.place} has the answer {name!r} already", stands=name)
        row = event_row(vote, found.ballot_id, code, payload)
        connection.execute(sa.insert(schema.probe_event).values(**row, kind="cast", revision=last + 1, why=late))
        if late is not None:
            return LateVoteError(late_message(late, vote.number))
        return Receipt(vote.event_id, last + 1, "cast", vote.answer)

    return _raised(database.write(work))


def retract_probe(
    database: Database, info: CampaignInfo, event_id: str, number: int, place: int, voter_id: int
) -> Receipt:
    """Take back the answer that stands, by its voter, while the ballot is not closed.

    Raises
    ------
    VoteError
        When there is no such probe.
    ConflictError
        When no answer of this voter stands, or the event id was used for another one.
    LateVoteError
        When the ballot is closed: the answer stays.
    """
    check_event_id(event_id)
    payload = retraction_hash(number, place, voter_id, is_probe=True)

    def work(connection: sa.Connection) -> Receipt | LateVoteError:
        found = _locked(connection, info, number, place)
        known = _known(connection, event_id, payload, number)
        if known is not None:
            return known
        if found.state == "closed":
            raise LateVoteError(f"ballot {number} is closed: its answers can no longer be taken back")
        stands, last = _last(connection, found.ballot_id, place)
        if stands is None or stands.voter_id != voter_id:
            raise ConflictError(f"probe {number}-p{place} has no answer of this voter to take back")
        row = {"event_id": event_id, "ballot_id": found.ballot_id, "place": place, "voter_id": voter_id}
        connection.execute(
            sa.insert(schema.probe_event).values(
                **row, kind="retract", revision=last + 1, received_at=now(), payload_hash=payload
            )
        )
        return Receipt(event_id, last + 1, "retract", None)

    return _raised(database.write(work))


def _raised(found: Receipt | LateVoteError) -> Receipt:
    if isinstance(found, LateVoteError):
        raise found  # after the commit that keeps the late answer
    return found


def _locked(connection: sa.Connection, info: CampaignInfo, number: int, place: int) -> Any:
    """Sheet of a probe, locked, and who has it."""
    ballot, asked, sheet, lease = schema.ballot, schema.probe, schema.sheet, schema.lease
    where = (ballot.c.campaign_id == info.id, ballot.c.number == number, asked.c.place == place)
    of_sheet = sa.and_(sheet.c.ballot_id == asked.c.ballot_id, sheet.c.number == asked.c.sheet)
    connection.execute(
        sa.select(sheet.c.number)
        .join(asked, of_sheet)
        .join(ballot, ballot.c.id == asked.c.ballot_id)
        .where(*where)
        .with_for_update(of=sheet, key_share=True)
    )
    # Read after the lock: a statement that waits for one sees what was there before the wait.
    held = sa.and_(lease.c.ballot_id == asked.c.ballot_id, lease.c.sheet == asked.c.sheet, lease.c.ended_at.is_(None))
    row = connection.execute(
        sa.select(
            ballot.c.id.label("ballot_id"),
            sa.case((ballot.c.state == "closed", "closed"), else_="open").label("state"),
            asked.c.sheet,
            lease.c.voter_id.label("holder"),
        )
        .select_from(asked)
        .join(ballot, ballot.c.id == asked.c.ballot_id)
        .outerjoin(lease, held)
        .where(*where)
    ).first()
    if row is None:
        raise VoteError(f"probe {number}-p{place} is unknown")
    return row


def _known(connection: sa.Connection, event_id: str, payload: str, number: int) -> Receipt | LateVoteError | None:
    """The answer that an event of this id got before."""
    table = schema.probe_event
    row = connection.execute(sa.select(table).where(table.c.event_id == event_id)).first()
    if row is None:
        return None
    if row.payload_hash != payload:
        raise ConflictError(f"the event id {event_id} was used for another answer", reused=True)
    if row.why is not None:
        return LateVoteError(late_message(row.why, number))
    kind: Literal["cast", "retract", "void"] = row.kind
    answer = None if row.answer is None else answer_name(row.answer)
    return Receipt(event_id, row.revision, kind, answer, repeated=True)


def _last(connection: sa.Connection, ballot_id: int, place: int) -> tuple[Any, int]:
    """The answer that stands, or None, and the number of the last event."""
    table = schema.probe_event
    rows = connection.execute(
        sa.select(table.c.revision, table.c.kind, table.c.answer, table.c.voter_id, table.c.why)
        .where(table.c.ballot_id == ballot_id, table.c.place == place)
        .order_by(table.c.revision)
    ).all()
    counted = [row for row in rows if row.why is None]
    stands = counted[-1] if counted and counted[-1].kind == "cast" else None
    return stands, rows[-1].revision if rows else 0
