"""Cast, retract and correct single votes; the result is final and visible to all, whatever others do at the same time.

A vote is an event. The events of a comparison are numbered, and the last one counts; nothing is changed or deleted. An
event has an id of the sender's choosing, so that a vote that is sent again after a lost answer is the same vote.

Answers to checks are votes too, in the same tables and by the same statements. Otherwise a voter could tell from a
response, or from its time, which pairs are scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive.errors import VoteError
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import Database
from adaptive.ledger._store.encoding import answer_code, answer_name, json_of, now, pair_id, sum_of
from adaptive.ledger._store.locks import count_answers, count_statement, locked_state, open_overdue
from adaptive.ledger._voters.identity import has_finished, lock_voter
from adaptive.ledger._voters.newcomers import lease_end, mark_answered
from adaptive.ledger.errors import ConflictError, FinishedError, LateVoteError, LedgerBusyError, LedgerError
from rankcorr._checks import shown

_EVENT_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RENEWED_BELOW: Final = 0.9  # share of the lease time; saves writing one row for most votes
Step: TypeAlias = Callable[[sa.Connection], "Receipt | LateVoteError | _Overdue"]


@dataclass(frozen=True)
class VoteCast:
    """A vote as the sender submits it.

    Attributes
    ----------
    event_id : str
        UUID in lower case, of the sender's choosing.
    number, place : int
        Ballot, counted from 1, and comparison in it, counted from 0.
    voter_id : int
    answer : {"left", "right", "tie", "cannot say"}
    response_ms : int or None
        Time that the answer took.
    given_by : str or None
        The means of input: "click", "key", "touch" or "file".
    layout : str or None
        How the pair was shown: "side by side", "stacked".
    extra : dict or None
        Other fields sent with the vote.

    See Also
    --------
    Voter.cast, Campaign.cast : Record it.
    Receipt : The response.

    Examples
    --------
    >>> from adaptive.ledger import VoteCast
    >>> vote = VoteCast("393a499a-c29b-4fb0-ac66-18422888d529", number=1, place=0, voter_id=1, answer="left")
    >>> vote.answer, vote.given_by
    ('left', None)
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
        """Hash of the vote's content, which distinguishes a repeated vote from another one with the same id."""
        return vote_hash(self.number, self.place, self.voter_id, self.answer)


@dataclass(frozen=True)
class Receipt:
    """The ledger's response to a vote.

    Attributes
    ----------
    event_id : str
    revision : int
        Number of the event among those of its comparison, counted from 1.
    kind : {"cast", "retract", "void"}
    answer : str or None
        The answer now in force; None after a retraction.
    repeated : bool
        Whether the ledger had the event already.

    See Also
    --------
    Voter.cast, Campaign.cast : Return it.
    VoteCast : The vote.

    Examples
    --------
    >>> from uuid import uuid4
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, Settings, VoteCast, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=Settings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> hand, reason = voter.next_sheet(pages)
    >>> vote = VoteCast(str(uuid4()), hand.number, hand.pairs[0].place, voter.id, "left")
    >>> receipt = voter.cast(vote)
    >>> receipt.kind, receipt.revision, receipt.answer, voter.cast(vote).repeated
    ('cast', 1, 'left', True)
    >>> ledger.close()
    """

    event_id: str
    revision: int
    kind: Literal["cast", "retract", "void"]
    answer: str | None
    repeated: bool = False


def cast(database: Database, info: CampaignInfo, vote: VoteCast) -> Receipt:
    """Record a vote, and return once it is on the disk.

    Raises
    ------
    VoteError
        If the comparison does not exist, the answer is unknown, or the voter never had the sheet.
    ConflictError
        If the comparison has another vote in force, which the message names, or the event id was used for another vote.
        A voter who has finished replaces the own vote instead.
    LateVoteError
        If the ballot is closed or the sheet was given to another voter. The vote is kept as a late one. If sent again
        after the ballot is reopened or the sheet returned, it counts, provided that the comparison has no other vote.
    LedgerBusyError
        While the ballot is being closed; send the same vote again in a moment.
    """
    code = answer_code(vote.answer)
    _check_event_id(vote.event_id)
    payload = vote.payload_hash()

    def work(connection: sa.Connection) -> Receipt | LateVoteError | _Overdue:
        found = locked_state(connection, info.id, vote.number, vote.place, vote.event_id)
        known = _known_event(connection, vote.event_id, payload) if found.known else None
        if isinstance(known, Receipt):
            return known
        if found.state == "closing":
            return _while_closing(found, vote.number)
        late = _why_late(connection, found, vote.voter_id)
        is_change = found.kind == "cast" and found.voter_id == vote.voter_id and late is None
        is_change = is_change and found.answer != code and has_finished(connection, info, vote.voter_id)
        if known is not None and (late is not None or found.kind == "cast"):
            return known  # still too late; otherwise the ballot was reopened or the sheet returned, and the vote counts
        if late is not None:
            row = {**_event_row(vote, found.ballot_id, code, payload), "why": late, "revision": found.revision or 0}
            connection.execute(sa.insert(schema.late_vote).values(row))
            return LateVoteError(_late_message(late, vote.number))
        if found.kind == "cast" and not is_change:
            recorded = answer_name(found.answer)
            message = (
                f"comparison {pair_id(vote.number, found.sheet, found.position)} has the vote {recorded!r} already"
            )
            raise ConflictError(message, recorded=recorded)
        revision = (found.revision or 0) + 1
        row = {**_event_row(vote, found.ballot_id, code, payload), "revision": revision, "lease_id": found.lease_id}
        if is_change:  # the number of answers stays
            connection.execute(sa.insert(schema.vote_event).values(**row, kind="cast"))
            return Receipt(vote.event_id, revision, "cast", vote.answer)
        row["ballot"] = row.pop("ballot_id")
        if connection.dialect.name == "postgresql":
            connection.execute(
                _cast_statement(counts=True),
                {**row, "sheet": found.sheet, "scored": found.scored, "checked": found.checked},
            )
        else:
            connection.execute(_cast_statement(counts=False), row)
            _count(connection, found, 1)
        _renew(connection, info, found, vote.voter_id)
        return Receipt(vote.event_id, revision, "cast", vote.answer)

    return _written(database, work)


def retract(database: Database, info: CampaignInfo, event_id: str, number: int, place: int, voter_id: int) -> Receipt:
    """Retract a voter's current vote while the ballot is open, so that the comparison may be answered again.

    Raises
    ------
    FinishedError
        If the voter has finished.
    ConflictError
        If this voter has no current vote on the comparison.
    LateVoteError
        If the ballot is closed; the vote stays in force.
    LedgerBusyError
        While the ballot is being closed.
    """
    payload = vote_hash(number, place, voter_id, "retract")
    return _replaced(
        *(database, info, event_id, number, place, payload),
        refusals=("its votes can no longer be taken back", "of this voter to take back"),
        voter_id=voter_id,
        kind="retract",
    )


def correct(
    database: Database, info: CampaignInfo, event_id: str, number: int, place: int, answer: str | None, reason: str
) -> Receipt:
    """Replace the current vote by an organiser's correction; None as the answer voids it.

    The vote remains its voter's, and the ledger keeps both answers with the reason. Repeating the current answer
    confirms it and so resolves a conflict.

    Raises
    ------
    ConflictError
        If the comparison has no current vote.
    LateVoteError
        If the ballot is closed; reopen it first.
    LedgerBusyError
        While the ballot is being closed.
    """
    code = None if answer is None else answer_code(answer)
    payload = correction_hash(number, place, answer, reason)
    return _replaced(
        *(database, info, event_id, number, place, payload),
        refusals=("`reopen` it before a vote is corrected", "to correct"),
        kind="void" if code is None else "cast",
        answer=code,
        given_by="correction",
        reason=reason,
    )


def _replaced(
    database: Database,
    info: CampaignInfo,
    event_id: str,
    number: int,
    place: int,
    payload: str,
    *,
    refusals: tuple[str, str],
    kind: Literal["cast", "retract", "void"],
    voter_id: int | None = None,
    **columns: Any,
) -> Receipt:
    """Write an event that replaces the current vote on a comparison, which stays its voter's.

    Parameters
    ----------
    refusals : (str, str)
        The ends of the messages if the ballot is closed, and if there is no vote.
    voter_id : int or None
        The vote must be this voter's; None: anyone's.
    """
    _check_event_id(event_id)

    def work(connection: sa.Connection) -> Receipt | LateVoteError | _Overdue:
        if voter_id is not None:
            lock_voter(connection, voter_id)  # who finishes at the same moment does so before, or after
        found = locked_state(connection, info.id, number, place, event_id)
        if found.known:
            return _known_event(connection, event_id, payload)
        if found.state == "closing":
            return _while_closing(found, number)
        if found.state == "closed":
            raise LateVoteError(f"ballot {number} is closed: {refusals[0]}")
        if voter_id is not None and has_finished(connection, info, voter_id):
            raise FinishedError("you have finished: an answer can be changed, but not taken back")
        if voter_id is not None and found.holder not in (None, voter_id) and found.voter_id == voter_id:
            # The pair would be the other voter's, and this voter could not answer it again.
            raise LateVoteError(f"the sheet is another voter's now: {refusals[0]}")
        if found.kind != "cast" or voter_id not in (None, found.voter_id):
            raise ConflictError(f"comparison {pair_id(number, found.sheet, found.position)} has no vote {refusals[1]}")
        row = {"ballot_id": found.ballot_id, "voter_id": found.voter_id, "revision": found.revision + 1}
        given = {"event_id": event_id, "place": place, "kind": kind, "received_at": now(), "payload_hash": payload}
        connection.execute(sa.insert(schema.vote_event).values(**row, **given, **columns))
        if kind != "cast":
            _count(connection, found, -1)
        answer = columns.get("answer")
        return Receipt(event_id, row["revision"], kind, None if answer is None else answer_name(answer))

    return _written(database, work)


@dataclass(frozen=True)
class _Overdue:
    """Signals that the closer of a ballot died: the ballot must be reopened before anyone can vote."""

    ballot_id: int


def _written(database: Database, work: Step) -> Receipt:
    while True:
        found = database.write(work, knows_itself=True)
        if isinstance(found, _Overdue):
            database.write(partial(open_overdue, ballot_id=found.ballot_id))
            continue
        if isinstance(found, LateVoteError):
            raise found  # after the transaction that keeps the late vote has committed
        return found


def _count(connection: sa.Connection, found: Any, change: int) -> None:
    count_answers(
        connection, found.ballot_id, {found.sheet: change * found.scored}, {found.sheet: change * found.checked}
    )


def _while_closing(found: Any, number: int) -> _Overdue:
    if found.overdue:
        return _Overdue(found.ballot_id)
    raise LedgerBusyError(f"ballot {number} is being closed: send the vote again in a moment")


def _check_event_id(event_id: object) -> None:
    """Refuse an id that is not a UUID in lower case."""
    if not isinstance(event_id, str) or not _EVENT_ID.fullmatch(event_id):
        raise LedgerError(f"an event id is a UUID in lower case; got {shown(event_id)}")


def _known_event(connection: sa.Connection, event_id: str, payload: str) -> Receipt | LateVoteError:
    """Return the ledger's earlier response to an event of this id."""
    table, late, ballot = schema.vote_event, schema.late_vote, schema.ballot
    row = connection.execute(sa.select(table).where(table.c.event_id == event_id)).first()
    if row is None:
        kept = sa.select(late, ballot.c.number).join(ballot, ballot.c.id == late.c.ballot_id)
        row = connection.execute(kept.where(late.c.event_id == event_id)).one()
        if row.payload_hash == payload:
            return LateVoteError(_late_message(row.why, row.number))
    if row.payload_hash != payload:
        raise ConflictError(f"the event id {event_id} was used for another vote", reused=True)
    answer = None if row.answer is None else answer_name(row.answer)
    return Receipt(event_id, row.revision, row.kind, answer, repeated=True)


def _why_late(connection: sa.Connection, found: Any, voter_id: int) -> str | None:
    """Return why an answer on a sheet does not count, or raise VoteError if the voter never had the sheet."""
    if found.state == "open" and found.holder == voter_id:
        return None
    table = schema.lease
    of_sheet = (table.c.ballot_id == found.ballot_id, table.c.sheet == found.sheet)
    latest_first = sa.select(table.c.voter_id, table.c.end_reason).where(*of_sheet).order_by(table.c.fence.desc())
    leases = connection.execute(latest_first).all()
    if voter_id not in [lease.voter_id for lease in leases]:
        raise VoteError(f"the comparison is on sheet {found.sheet + 1}, which this voter was never given")
    if found.state == "closed":
        return "closed"
    own = next(lease for lease in leases if lease.voter_id == voter_id)
    if found.holder is None and own.end_reason in ("done", "closed"):
        return None  # the voter's part was finished, or its ballot closed and is open again; no other voter holds it
    return "reassigned"


def _late_message(why: str, number: int) -> str:
    """Return the message to a voter whose answer does not count."""
    if why == "closed":
        return f"ballot {number} is closed: the vote is kept, and does not count"
    if why == "conflict":
        return "another vote was recorded first: the vote is kept, and does not count"
    return "the sheet is no longer this voter's: the vote is kept, and does not count"


def _renew(connection: sa.Connection, info: CampaignInfo, found: Any, voter_id: int) -> None:
    if found.unanswered:
        mark_answered(connection, info, found.lease_id, voter_id)
        return
    minutes = info.settings.lease_minutes
    if found.remaining is None:
        return
    length = 0 if minutes is None else int(minutes * 60_000_000)  # None: the lease of a study, which ends by itself
    if _RENEWED_BELOW * length < found.remaining <= length:
        return
    table = schema.lease
    renewed = sa.update(table).where(table.c.id == found.lease_id)
    connection.execute(renewed.values(expires_at=lease_end(connection, info, voter_id)))


@cache
def _cast_statement(*, counts: bool) -> sa.Insert:
    names = [column.name for column in schema.vote_event.c if column.name not in ("id", "kind", "reason")]
    given: dict[str, Any] = {name: sa.bindparam("ballot" if name == "ballot_id" else name) for name in names}
    cast_vote = sa.insert(schema.vote_event).values(kind="cast", **given)
    # Counting in the same statement saves one round trip to the server.
    return cast_vote.add_cte(count_statement().cte("counted")) if counts else cast_vote


def _event_row(vote: VoteCast, ballot_id: int, code: int, payload: str) -> dict[str, Any]:
    """Return the columns that every answer of a voter has."""
    same = ("event_id", "place", "voter_id", "response_ms", "given_by", "layout")
    extra = None if vote.extra is None else json_of(vote.extra)
    own = {"ballot_id": ballot_id, "answer": code, "extra": extra, "received_at": now(), "payload_hash": payload}
    return {**{name: getattr(vote, name) for name in same}, **own}


# Every module that writes events takes its hashes from here. In a restored campaign, new votes are compared with the
# hashes that were computed when the bundle was read.
def vote_hash(number: int, place: int, voter_id: int, answer: str | None) -> str:
    """Return the hash of a vote on a comparison of ballot `number`, or of a retraction, whose answer is "retract"."""
    return sum_of(json_of([number, place, voter_id, answer]))


def correction_hash(number: int, place: int, answer: str | None, reason: str | None) -> str:
    """Return the hash of an organiser's correction; the answer None voids the vote."""
    return sum_of(json_of([number, place, "correction", answer, reason]))
