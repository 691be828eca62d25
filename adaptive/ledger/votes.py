"""One vote: cast, taken back or corrected, once and for all to see, whoever else votes at the same moment.

A vote is an event. The events of a comparison are numbered, and the last one counts; nothing is changed or deleted. An
event has an id of the sender's choosing, so that a vote that is sent again after a lost answer is the same vote.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from adaptive.errors import VoteError
from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.database import Database
from adaptive.ledger.encoding import json_of, now
from adaptive.ledger.errors import ConflictError, LateVoteError, LedgerBusyError, LedgerError
from adaptive.votes import Vote
from rankcorr.checks import shown

__all__ = ["ANSWERS", "CANNOT_SAY", "Receipt", "VoteCast", "answer_code", "answer_name", "cast", "correct", "retract"]

CANNOT_SAY: Final = 2
ANSWERS: Final = {"left": int(Vote.LEFT), "right": int(Vote.RIGHT), "tie": int(Vote.TIE), "cannot say": CANNOT_SAY}
_NAMES: Final = {code: name for name, code in ANSWERS.items()}
_EVENT_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TRIES: Final = 8


@dataclass(frozen=True)
class VoteCast:
    """A vote as it comes.

    Attributes
    ----------
    event_id : str
        UUID in lower case, of the sender's choosing.
    number, place : int
        Ballot, counted from 1, and comparison in it, counted from 0: those of the id "2-17".
    voter_id : int
    answer : {"left", "right", "tie", "cannot say"}
    response_ms : int or None
        Time that the answer took.
    given_by : str or None
        How: "click", "key", "touch", "file".
    layout : str or None
        How the pair was shown: "side by side", "stacked".
    extra : dict or None
        What else came with it.
    """

    event_id: str
    number: int
    place: int
    voter_id: int
    answer: str
    response_ms: int | None = None
    given_by: str | None = None
    layout: str | None = None
    extra: dict[str, str] | None = None

    def payload_hash(self) -> str:
        """Hash of what the vote says, by which a vote sent again is told from another under its id."""
        says = [self.number, self.place, self.voter_id, self.answer]
        return hashlib.sha256(json_of(says).encode()).hexdigest()


@dataclass(frozen=True)
class Receipt:
    """What the ledger answers.

    Attributes
    ----------
    event_id : str
    revision : int
        Number of the event among those of its comparison, counted from 1.
    kind : {"cast", "retract", "void"}
    answer : str or None
        The vote that stands then; None when it was taken back.
    repeated : bool
        Whether the ledger had the event already.
    """

    event_id: str
    revision: int
    kind: Literal["cast", "retract", "void"]
    answer: str | None
    repeated: bool = False


def answer_code(answer: object) -> int:
    """Code of "left", "right", "tie" or "cannot say".

    Raises
    ------
    VoteError
        Anything else.
    """
    code = ANSWERS.get(answer) if isinstance(answer, str) else None
    if code is None:
        raise VoteError(f"an answer is 'left', 'right', 'tie' or 'cannot say'; got {shown(answer)}")
    return code


def answer_name(code: int) -> str:
    """Name of a code of `answer_code`."""
    return _NAMES[code]


def cast(database: Database, info: CampaignInfo, vote: VoteCast) -> Receipt:
    """Record a vote; once this returns, it is on the disk.

    Raises
    ------
    VoteError
        When there is no such comparison, or the answer is unknown.
    ConflictError
        When another vote stands, or the event id was used for another vote. The message names the vote that stands.
    LateVoteError
        When the ballot is closed, or the sheet went to somebody else; the vote is kept as a late one.
    LedgerBusyError
        While the ballot is being closed: the same vote may be sent again in a moment.
    """
    code = answer_code(vote.answer)
    _check_event_id(vote.event_id)

    def work(connection: sa.Connection) -> Receipt | LateVoteError:
        ballot_id = ballot_numbered(connection, info, vote.number)
        lock_ballot(connection, ballot_id, exclusive=False)
        before = _known_event(connection, vote.event_id, vote.payload_hash())
        if before is not None:
            return before
        now_ = _state_of(connection, ballot_id, vote.number, vote.place)
        if now_.state == "closing":
            raise LedgerBusyError(f"ballot {vote.number} is being closed: the vote may be sent again in a moment")
        late = _why_late(connection, now_, ballot_id, vote.voter_id)
        if late is not None:
            connection.execute(sa.insert(schema.late_vote).values(**_event(vote, ballot_id, code), why=late))
            return LateVoteError(_late_message(late, vote.number))
        if now_.kind == "cast":
            raise ConflictError(
                f"comparison {vote.number}-{vote.place} has the vote {answer_name(now_.answer)!r} already"
            )
        revision = (now_.revision or 0) + 1
        connection.execute(
            sa.insert(schema.vote_event).values(
                **_event(vote, ballot_id, code), kind="cast", revision=revision, lease_id=now_.lease_id
            )
        )
        count_answers(connection, ballot_id, {now_.sheet: 1})
        if now_.expires_at is not None and info.settings.lease_minutes is not None:
            renewed = now() + int(info.settings.lease_minutes * 60_000_000)
            connection.execute(
                sa.update(schema.lease).where(schema.lease.c.id == now_.lease_id).values(expires_at=renewed)
            )
        return Receipt(vote.event_id, revision, "cast", vote.answer)

    return _written(database, work)


def retract(database: Database, info: CampaignInfo, event_id: str, number: int, place: int, voter_id: int) -> Receipt:
    """Take back the vote that stands, by its voter, while the ballot is open; the comparison may be answered again.

    Raises
    ------
    ConflictError
        When no vote of this voter stands.
    LateVoteError
        When the ballot is closed: the vote stays.
    """
    _check_event_id(event_id)
    payload = hashlib.sha256(json_of([number, place, voter_id, "retract"]).encode()).hexdigest()

    def work(connection: sa.Connection) -> Receipt | LateVoteError:
        ballot_id = ballot_numbered(connection, info, number)
        lock_ballot(connection, ballot_id, exclusive=False)
        before = _known_event(connection, event_id, payload)
        if before is not None:
            return before
        now_ = _state_of(connection, ballot_id, number, place)
        if now_.state == "closing":
            raise LedgerBusyError(f"ballot {number} is being closed: it may be tried again in a moment")
        if now_.state == "closed":
            raise LateVoteError(f"ballot {number} is closed: its votes can no longer be taken back")
        if now_.kind != "cast" or now_.voter_id != voter_id:
            raise ConflictError(f"comparison {number}-{place} has no vote of this voter to take back")
        revision = now_.revision + 1
        row = {"event_id": event_id, "ballot_id": ballot_id, "place": place, "voter_id": voter_id}
        connection.execute(
            sa.insert(schema.vote_event).values(
                **row, kind="retract", revision=revision, received_at=now(), payload_hash=payload
            )
        )
        count_answers(connection, ballot_id, {now_.sheet: -1})
        return Receipt(event_id, revision, "retract", None)

    return _written(database, work)


def correct(
    database: Database, info: CampaignInfo, event_id: str, number: int, place: int, answer: str | None, reason: str
) -> Receipt:
    """Put an organiser's correction over the vote that stands; None as the answer voids it.

    The vote remains its voter's, and both stay in the ledger with the reason.

    Raises
    ------
    ConflictError
        When no vote stands, or it is the same.
    LateVoteError
        When the ballot is closed: it must be opened again first.
    """
    code = None if answer is None else answer_code(answer)
    _check_event_id(event_id)
    payload = hashlib.sha256(json_of([number, place, "correction", answer, reason]).encode()).hexdigest()

    def work(connection: sa.Connection) -> Receipt | LateVoteError:
        ballot_id = ballot_numbered(connection, info, number)
        lock_ballot(connection, ballot_id, exclusive=False)
        before = _known_event(connection, event_id, payload)
        if before is not None:
            return before
        now_ = _state_of(connection, ballot_id, number, place)
        if now_.state != "open":
            raise LateVoteError(f"ballot {number} is {now_.state}: `reopen` it before a vote is corrected")
        if now_.kind != "cast":
            raise ConflictError(f"comparison {number}-{place} has no vote to correct")
        if now_.answer == code:
            raise ConflictError(f"comparison {number}-{place} has the vote {answer!r} already")
        revision = now_.revision + 1
        kind: Literal["cast", "void"] = "void" if code is None else "cast"
        row = {"event_id": event_id, "ballot_id": ballot_id, "place": place, "voter_id": now_.voter_id}
        connection.execute(
            sa.insert(schema.vote_event).values(
                **row,
                kind=kind,
                answer=code,
                revision=revision,
                given_by="correction",
                reason=reason,
                received_at=now(),
                payload_hash=payload,
            )
        )
        if code is None:
            count_answers(connection, ballot_id, {now_.sheet: -1})
        return Receipt(event_id, revision, kind, answer)

    return _written(database, work)


def lock_ballot(connection: sa.Connection, ballot_id: int, *, exclusive: bool) -> None:
    """Take the lock of a ballot until the transaction ends: votes share it, the closer has it alone.

    On SQLite the one writer that there can be has it anyhow.
    """
    if connection.dialect.name == "postgresql":
        name = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        connection.execute(sa.text(f"SELECT {name}(:space, :ballot)"), {"space": _LOCK_SPACE, "ballot": ballot_id})


_LOCK_SPACE: Final = 0x72636C  # "rcl": keeps clear of the advisory locks of other programs


def count_answers(connection: sa.Connection, ballot_id: int, changes: dict[int, int]) -> None:
    """Keep the number of answers of each sheet; by ascending number, so that two writers cannot wait for each other."""
    table = schema.sheet
    for sheet in sorted(changes):
        if changes[sheet]:
            connection.execute(
                sa.update(table)
                .where(table.c.ballot_id == ballot_id, table.c.number == sheet)
                .values(n_answered=table.c.n_answered + changes[sheet])
            )


def _written(database: Database, work: Any) -> Receipt:
    """Run the step again where another took its revision or its event id at the same moment."""
    for _ in range(_TRIES):
        try:
            found: Receipt | LateVoteError = database.write(work)
        except IntegrityError as error:
            clash = error
            continue
        if isinstance(found, LateVoteError):
            raise found  # after the commit that keeps the late vote
        return found
    raise LedgerBusyError("others voted on the same comparison all the time; nothing was changed") from clash


def ballot_numbered(connection: sa.Connection, info: CampaignInfo, number: int) -> int:
    """Id of a ballot by its number.

    Raises
    ------
    VoteError
        When it has not been opened.
    """
    table = schema.ballot
    found = connection.execute(
        sa.select(table.c.id).where(table.c.campaign_id == info.id, table.c.number == number)
    ).scalar()
    if found is None:
        raise VoteError(f"ballot {shown(number)} has not been opened")
    return int(found)


def _check_event_id(event_id: object) -> None:
    if not isinstance(event_id, str) or not _EVENT_ID.fullmatch(event_id):
        raise LedgerError(f"an event id is a UUID in lower case; got {shown(event_id)}")


def _known_event(connection: sa.Connection, event_id: str, payload: str) -> Receipt | LateVoteError | None:
    """The answer that an event of this id got before."""
    table = schema.vote_event
    row = connection.execute(sa.select(table).where(table.c.event_id == event_id)).first()
    late = row is None
    if row is None:
        row = connection.execute(sa.select(schema.late_vote).where(schema.late_vote.c.event_id == event_id)).first()
    if row is None:
        return None
    if row.payload_hash != payload:
        raise ConflictError(f"the event id {event_id} was used for another vote")
    if late:
        number = connection.execute(sa.select(schema.ballot.c.number).where(schema.ballot.c.id == row.ballot_id))
        return LateVoteError(_late_message(row.why, number.scalar_one()))
    answer = None if row.answer is None else answer_name(row.answer)
    return Receipt(event_id, row.revision, row.kind, answer, repeated=True)


def _state_of(connection: sa.Connection, ballot_id: int, number: int, place: int) -> Any:
    """State of the ballot, lease of the sheet and last event of a comparison, in one query."""
    asked, lease, event = schema.comparison, schema.lease, schema.vote_event
    last = (
        sa.select(sa.func.max(event.c.revision))
        .where(event.c.ballot_id == ballot_id, event.c.place == place)
        .scalar_subquery()
    )
    row = connection.execute(
        sa.select(
            schema.ballot.c.state,
            asked.c.sheet,
            lease.c.id.label("lease_id"),
            lease.c.voter_id.label("holder"),
            lease.c.expires_at,
            event.c.revision,
            event.c.kind,
            event.c.answer,
            event.c.voter_id,
        )
        .select_from(asked)
        .join(schema.ballot, schema.ballot.c.id == asked.c.ballot_id)
        .outerjoin(
            lease,
            sa.and_(lease.c.ballot_id == asked.c.ballot_id, lease.c.sheet == asked.c.sheet, lease.c.ended_at.is_(None)),
        )
        .outerjoin(
            event,
            sa.and_(event.c.ballot_id == asked.c.ballot_id, event.c.place == asked.c.place, event.c.revision == last),
        )
        .where(asked.c.ballot_id == ballot_id, asked.c.place == place)
    ).first()
    if row is None:
        raise VoteError(f"comparison {number}-{place} is unknown")
    return row


def _why_late(connection: sa.Connection, now_: Any, ballot_id: int, voter_id: int) -> str | None:
    if now_.state == "closed":
        return "closed"
    if now_.holder == voter_id:
        return None
    table = schema.lease
    last = connection.execute(
        sa.select(table.c.voter_id, table.c.end_reason)
        .where(table.c.ballot_id == ballot_id, table.c.sheet == now_.sheet)
        .order_by(table.c.fence.desc())
        .limit(1)
    ).first()
    if now_.holder is None and last is not None and last.voter_id == voter_id and last.end_reason == "done":
        return None  # undone after the last pair of the sheet, which nobody else has
    held = connection.execute(
        sa.select(table.c.id)
        .where(table.c.ballot_id == ballot_id, table.c.sheet == now_.sheet, table.c.voter_id == voter_id)
        .limit(1)
    ).first()
    if held is None:
        raise VoteError(f"the comparison is on sheet {now_.sheet + 1}, which this voter was never given")
    return "reassigned"


def _late_message(why: str, number: int) -> str:
    if why == "closed":
        return f"ballot {number} is closed: the vote is kept, and does not count"
    return "the sheet went to somebody else: the vote is kept, and does not count"


def _event(vote: VoteCast, ballot_id: int, code: int) -> dict[str, Any]:
    return {
        "event_id": vote.event_id,
        "ballot_id": ballot_id,
        "place": vote.place,
        "voter_id": vote.voter_id,
        "answer": code,
        "response_ms": vote.response_ms,
        "given_by": vote.given_by,
        "layout": vote.layout,
        "extra": None if vote.extra is None else json_of(vote.extra),
        "received_at": now(),
        "payload_hash": vote.payload_hash(),
    }
