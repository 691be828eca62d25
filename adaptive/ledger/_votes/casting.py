"""Cast, retract and correct single votes, and list conflicting votes.

A result is final and visible to all, regardless of concurrent requests.

A vote is an event. The events of a comparison are numbered, and the last one counts; nothing is changed or deleted. The
sender chooses the id of an event, so a vote that is sent again after a lost response is recognised.

Answers to checks are votes, too, in the same tables and by the same statements. Otherwise the response, or its time,
would tell a voter which pairs are scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive._record import has_half_a_pair
from adaptive.errors import VoteError
from adaptive.ledger._ballots.sheets import renew_after_vote
from adaptive.ledger._campaign.transaction import COUNT, OpenCampaign, Transaction, is_overdue
from adaptive.ledger._membership import has_finished
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import BALLOT_LOCKS, EVENT_LOCKS, HALF_A_PAIR
from adaptive.ledger._store.schema import answer_code, answer_name, json_of, now, pair_id, sha256_of, time_text
from adaptive.ledger.errors import ConflictError, FinishedError, LateVoteError, LedgerBusyError, LedgerError
from rankcorr._checks import shown

Lateness: TypeAlias = Literal["closed", "reassigned"]
_EVENT_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LIMIT: Final = 2**31
_IS_COMPARISON: Final = (
    schema.ballot.c.campaign_id == sa.bindparam("campaign"),
    schema.ballot.c.number == sa.bindparam("number"),
    schema.comparison.c.place == sa.bindparam("comparison"),
)
_CAST: Final = sa.insert(schema.vote_event).values(
    kind="cast",
    **{
        column.name: sa.bindparam("ballot" if column.name == "ballot_id" else column.name)
        for column in schema.vote_event.c
        if column.name not in ("id", "kind", "reason")
    },
)
_CAST_AND_COUNT: Final = _CAST.add_cte(COUNT.cte("counted"))  # saves a round trip to the server
_SPACES: Final = [sa.literal(number, sa.Integer, literal_execute=True) for number in (BALLOT_LOCKS, EVENT_LOCKS)]
_LOCK: Final = (
    sa.select(
        sa.func.pg_advisory_xact_lock_shared(_SPACES[0], sa.cast(schema.ballot.c.id, sa.Integer)),
        sa.func.pg_advisory_xact_lock(_SPACES[1], sa.func.hashtext(sa.bindparam("event", type_=sa.Text))),
    )
    .select_from(schema.PAIRS_ON_SHEETS)
    .where(*_IS_COMPARISON)
    .with_for_update(of=schema.sheet, key_share=True)
)
Step: TypeAlias = Callable[[Transaction, Any, "LateVoteError | None"], "Receipt | LateVoteError"]


@dataclass(frozen=True)
class VoteCast:
    """A vote as the sender submits it.

    Attributes
    ----------
    event_id : str
        UUID in lower case, chosen by the sender.
    number, place : int
        Ballot, counted from 1, and comparison in it, counted from 0.
    voter_id : int
    answer : str
        One of `CampaignInfo.answers`: "left", "right", "tie", "cannot say"; with grades, also "left 2" and so on; for a
        set, "best 1 worst 4" and so on.
    response_ms : int or None
        Response time in milliseconds.
    given_by : str or None
        Means of input: "click", "key", "touch" or "file".
    layout : str or None
        Layout of the pair: "side by side" or "stacked".
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
        """Return a hash of the content, which distinguishes a repeated vote from another one with the same id."""
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
        Whether the ledger already had the event.

    See Also
    --------
    Voter.cast, Campaign.cast : Return it.
    VoteCast : The vote.

    Examples
    --------
    >>> from uuid import uuid4
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VoteCast, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> sheet = voter.next_sheet(pages).sheet
    >>> vote = VoteCast(str(uuid4()), sheet.number, sheet.pairs[0].place, voter.id, "left")
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


def cast(campaign: OpenCampaign, vote: VoteCast) -> Receipt:
    """Record a vote; see `Campaign.cast`."""
    code = answer_code(vote.answer, campaign.info.answers)
    payload = vote.payload_hash()

    def work(transaction: Transaction, comparison: Any, known: LateVoteError | None) -> Receipt | LateVoteError:
        late = _why_late(transaction, comparison, vote.voter_id)
        is_theirs = comparison.kind == "cast" and comparison.voter_id == vote.voter_id and late is None
        is_change = is_theirs and comparison.answer != code and has_finished(transaction, vote.voter_id)
        if known is not None and (late is not None or comparison.kind == "cast"):
            return known  # still late; otherwise the ballot was reopened or the sheet returned, and the vote counts
        row = event_row(vote, comparison.ballot_id, code, payload)
        if late is not None:
            transaction.execute(sa.insert(schema.late_vote).values(**row, why=late, revision=comparison.revision or 0))
            return LateVoteError(_late_message(late, vote.number))
        if comparison.kind == "cast" and not is_change:
            recorded = answer_name(comparison.answer)
            pair = pair_id(vote.number, comparison.sheet, comparison.position)
            raise ConflictError(f"comparison {pair} already has the vote {recorded!r}", recorded=recorded)
        revision = (comparison.revision or 0) + 1
        row |= {"revision": revision, "lease_id": comparison.lease_id, "ballot": row.pop("ballot_id")}
        counts = {"sheet": comparison.sheet, "scored": comparison.scored, "checked": comparison.checked}
        if is_change:  # the number of answers does not change
            transaction.execute(_CAST, row)
        elif transaction.is_postgresql:
            transaction.execute(_CAST_AND_COUNT, {**row, **counts})
        else:
            transaction.execute(_CAST, row)
            transaction.execute(COUNT, {"ballot": comparison.ballot_id, **counts})
        if not is_change:
            renew_after_vote(transaction, comparison, vote.voter_id)
        return Receipt(vote.event_id, revision, "cast", vote.answer)

    return _write_event(campaign, vote.number, vote.place, vote.event_id, payload, work)


def retract(campaign: OpenCampaign, event_id: str, number: int, place: int, voter_id: int) -> Receipt:
    """Retract a voter's current vote; see `Voter.retract`."""
    event = {"event_id": event_id, "kind": "retract", "payload_hash": vote_hash(number, place, voter_id, "retract")}
    late, purpose = "its votes can no longer be taken back", "of this voter to take back"
    return _replace_vote(campaign, number, place, event, late=late, purpose=purpose, voter_id=voter_id)


def correct(campaign: OpenCampaign, event_id: str, number: int, place: int, answer: str | None, reason: str) -> Receipt:
    """Replace the current vote by an organiser's correction, void it, or set a voided one; see `Campaign.correct`."""
    code = None if answer is None else answer_code(answer, campaign.info.answers)
    if has_half_a_pair(reason):
        raise LedgerError(f"{HALF_A_PAIR}; got the reason {shown(reason)}")
    event = {"event_id": event_id, "kind": "void" if code is None else "cast", "answer": code}
    event |= {"given_by": "correction", "reason": reason}
    event |= {"payload_hash": correction_hash(number, place, answer, reason)}
    late = "`reopen` it before a vote is corrected"
    return _replace_vote(campaign, number, place, event, late=late, purpose="to correct")


def _replace_vote(
    campaign: OpenCampaign,
    number: int,
    place: int,
    event: Mapping[str, Any],
    *,
    late: str,
    purpose: str,
    voter_id: int | None = None,
) -> Receipt:
    """Write an event that replaces the current vote on a comparison; it belongs to the same voter.

    Parameters
    ----------
    event : mapping of str to value
        Columns of the event that differ from those of the vote.
    late, purpose : str
        Ends of the error messages if the ballot is closed, and if there is no vote.
    voter_id : int or None
        Voter who must have given the vote; None for any voter.
    """

    def work(transaction: Transaction, comparison: Any, _: LateVoteError | None) -> Receipt:
        if comparison.state == "closed":
            raise LateVoteError(f"ballot {number} is closed: {late}")
        if voter_id is not None and has_finished(transaction, voter_id):
            raise FinishedError("you have finished: an answer can be changed, but not taken back")
        if voter_id is not None and comparison.holder not in (None, voter_id) and comparison.voter_id == voter_id:
            # After a retraction, only the other voter could answer the pair.
            raise LateVoteError(f"the sheet now belongs to another voter: {late}")
        is_restored = event["kind"] == "cast" and _is_voided_by_correction(transaction, comparison, place)
        if not is_restored and (comparison.kind != "cast" or voter_id not in (None, comparison.voter_id)):
            pair = pair_id(number, comparison.sheet, comparison.position)
            raise ConflictError(f"comparison {pair} has no vote {purpose}")
        row = {"ballot_id": comparison.ballot_id, "place": place, "voter_id": comparison.voter_id}
        row |= {"revision": comparison.revision + 1, "received_at": now()}
        transaction.execute(sa.insert(schema.vote_event).values(**row, **event))
        if change := is_restored - (event["kind"] != "cast"):
            scored, checked = ({comparison.sheet: change * n} for n in (comparison.scored, comparison.checked))
            transaction.count_answers(comparison.ballot_id, scored, checked)
        answer = event.get("answer")
        name = None if answer is None else answer_name(answer)
        return Receipt(event["event_id"], row["revision"], event["kind"], name)

    return _write_event(campaign, number, place, event["event_id"], event["payload_hash"], work, voter_id=voter_id)


def _is_voided_by_correction(transaction: Transaction, comparison: Any, place: int) -> bool:
    """Return whether a correction voided the vote of a voter who has not left; False if others are asked instead."""
    if comparison.kind != "void":
        return False
    event, voter = schema.vote_event, schema.voter
    is_last = (event.c.place == place, event.c.revision == comparison.revision)
    query = sa.select(sa.literal(1)).select_from(event.join(voter, voter.c.id == event.c.voter_id))
    query = query.where(event.c.ballot_id == comparison.ballot_id, *is_last)
    query = query.where(event.c.given_by == "correction", voter.c.withdrawn_at.is_(None))
    return transaction.execute(query).first() is not None


def _write_event(
    campaign: OpenCampaign,
    number: int,
    place: int,
    event_id: str,
    payload: str,
    work: Step,
    *,
    voter_id: int | None = None,
) -> Receipt:
    """Lock a comparison and run `work` on its state, unless the ledger already has the event.

    Parameters
    ----------
    work : callable
        Function of the transaction, the state of the comparison, and the error if this vote is known as a late vote.
        If it returns a LateVoteError, that is raised once the transaction has stored the late vote.
    voter_id : int or None
        Voter to lock, who may finish before or after this step, but not during it.
    """
    if not isinstance(event_id, str) or not _EVENT_ID.fullmatch(event_id):
        raise LedgerError(f"an event id must be a UUID in lower case; got {shown(event_id)}")

    def step(transaction: Transaction) -> Receipt | LateVoteError | int:
        if voter_id is not None:
            transaction.lock_voter(voter_id)
        comparison = locked_state(transaction, number, place, event_id)
        known = _known_event(transaction, event_id, payload) if comparison.known else None
        if isinstance(known, Receipt):
            return known
        if comparison.state != "closing":
            return work(transaction, comparison, known)
        if comparison.overdue:
            return int(comparison.ballot_id)
        raise LedgerBusyError(f"ballot {number} is being closed: send the vote again in a moment")

    while True:
        outcome = campaign.database.write(
            lambda connection: step(Transaction(connection, campaign.info)), knows_itself=True
        )
        if isinstance(outcome, Receipt):
            return outcome
        if isinstance(outcome, LateVoteError):
            raise outcome
        # The closer of the ballot seems to have died: reopen it and try again.
        campaign.write(Transaction.open_overdue, outcome)


def _known_event(transaction: Transaction, event_id: str, payload: str) -> Receipt | LateVoteError:
    """Return the earlier response of the ledger to the event with this id."""
    table, late, ballot = schema.vote_event, schema.late_vote, schema.ballot
    row = transaction.execute(sa.select(table).where(table.c.event_id == event_id)).first()
    if row is None:
        query = sa.select(late, ballot.c.number).join(ballot, ballot.c.id == late.c.ballot_id)
        row = transaction.execute(query.where(late.c.event_id == event_id)).one()
        if row.payload_hash == payload:
            return LateVoteError(_late_message(row.why, row.number))
    if row.payload_hash != payload:
        raise ConflictError(f"the event id {event_id} was used for another vote", reused=True)
    answer = None if row.answer is None else answer_name(row.answer)
    return Receipt(event_id, row.revision, row.kind, answer, repeated=True)


def why_late(state: str, holder: int | None, voter_id: int, end_reason: str | None) -> Lateness | None:
    """Return why an answer on a sheet that a voter once held does not count; None if it counts.

    Parameters
    ----------
    state : str
        State of the ballot.
    holder : int or None
        The voter who holds the sheet now.
    end_reason : str or None
        Reason why the voter's latest lease of the sheet ended; None if it has not ended.
    """
    if state != "open":
        return "closed"
    # Nobody holds the sheet, and the lease ended because the voter was done, or when the ballot, now reopened, closed.
    is_still_theirs = holder is None and end_reason in ("done", "closed")
    return None if holder == voter_id or is_still_theirs else "reassigned"


def _why_late(transaction: Transaction, comparison: Any, voter_id: int) -> Lateness | None:
    """Return the result of `why_late` for a vote; raise VoteError if the voter never had the sheet."""
    if comparison.state == "open" and comparison.holder == voter_id:
        return None
    table = schema.lease
    of_sheet = (table.c.ballot_id == comparison.ballot_id, table.c.sheet == comparison.sheet)
    leases = sa.select(table.c.end_reason).where(*of_sheet, table.c.voter_id == voter_id)
    lease = transaction.execute(leases.order_by(table.c.fence.desc())).first()
    if lease is None:
        raise VoteError(f"the comparison is on sheet {comparison.sheet + 1}, which this voter was never given")
    return why_late(comparison.state, comparison.holder, voter_id, lease.end_reason)


def _late_message(why: str, number: int) -> str:
    """Return the message for a voter whose answer does not count."""
    if why == "closed":
        return f"ballot {number} is closed: the vote was stored, but does not count"
    if why == "conflict":
        return "another vote was recorded first: this one was stored, but does not count"
    return "the sheet no longer belongs to this voter: the vote was stored, but does not count"


def event_row(vote: VoteCast, ballot_id: int, code: int, payload: str) -> dict[str, Any]:
    """Return the columns that votes and late votes have in common, without the revision."""
    same = ("event_id", "place", "voter_id", "response_ms", "given_by", "layout")
    extra = None if vote.extra is None else json_of(vote.extra)
    values = {"ballot_id": ballot_id, "answer": code, "extra": extra, "received_at": now(), "payload_hash": payload}
    return {**{name: getattr(vote, name) for name in same}, **values}


# All modules that write events use these hashes: in a restored campaign, repeated votes are compared with hashes that
# were computed when the bundle was read.
def vote_hash(number: int, place: int, voter_id: int, answer: str | None) -> str:
    """Return the hash of a vote on a comparison of ballot `number`, or of a retraction, whose answer is "retract"."""
    return sha256_of(json_of([number, place, voter_id, answer]))


def correction_hash(number: int, place: int, answer: str | None, reason: str | None) -> str:
    """Return the hash of an organiser's correction; the answer None voids the vote."""
    return sha256_of(json_of([number, place, "correction", answer, reason]))


def locked_state(transaction: Transaction, number: int, place: int, event_id: str) -> Any:
    """Lock the ballot, sheet and event id of a vote, and return the current state of its comparison in one row.

    Columns of the ballot and the pair: ``ballot_id``, ``state``, whether its closer is ``overdue``, ``sheet``,
    ``position``, and whether the comparison is ``scored`` (1 or 0), or ``checked``: a check other than practice.
    Columns of the lease: ``lease_id``, ``holder``, ``remaining`` microseconds, and whether it is ``unanswered``.
    Columns of the last event: ``revision``, ``kind``, ``answer`` and ``voter_id``. The last column is ``known``:
    whether the ledger has the event id.

    Raises
    ------
    VoteError
        The ballot or the comparison does not exist.
    """
    for value in (number, place):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LIMIT:
            raise _unknown_comparison(number, place)
    values = {"campaign": transaction.info.id, "number": number, "comparison": place, "event": event_id}
    # A separate statement reads the state: a statement that waits for a lock sees the data from before the wait.
    if not transaction.is_postgresql or transaction.execute(_LOCK, values).first() is not None:
        row = transaction.execute(_state_statement(transaction.clock()), values).first()
        if row is not None:
            return row
    transaction.ballot_numbered(number)
    raise _unknown_comparison(number, place)


def _unknown_comparison(number: object, place: object) -> VoteError:
    return VoteError(f"ballot {shown(number)} has no comparison {shown(place)}")


@cache
def _state_statement(at: sa.ColumnElement[int]) -> sa.Select[Any]:
    ballot, comparison, lease = schema.ballot, schema.comparison, schema.lease
    event, late = schema.vote_event, schema.late_vote
    known = [sa.exists().where(table.c.event_id == sa.bindparam("event")) for table in (event.alias(), late)]
    return (
        sa.select(
            ballot.c.id.label("ballot_id"),
            ballot.c.state,
            is_overdue(at).label("overdue"),
            comparison.c.sheet,
            comparison.c.position,
            sa.case((comparison.c.probe.is_(None), 1), else_=0).label("scored"),
            sa.case((comparison.c.probe != "practice", 1), else_=0).label("checked"),
            lease.c.id.label("lease_id"),
            lease.c.voter_id.label("holder"),
            (lease.c.expires_at - at).label("remaining"),
            lease.c.unanswered,
            *(event.c.revision, event.c.kind, event.c.answer, event.c.voter_id),
            sa.or_(*known).label("known"),
        )
        .select_from(schema.PAIRS)
        .outerjoin(lease, sa.and_(schema.LEASED_TO, schema.IS_HELD))
        .outerjoin(event, sa.and_(schema.OF_COMPARISON, schema.IS_LAST))
        .where(*_IS_COMPARISON)
    )


@dataclass(frozen=True)
class Conflict:
    """A vote that does not count because it contradicts another one.

    Attributes
    ----------
    comparison : str
        Id of the comparison.
    voter : str
        Voter who sent it.
    recorded, conflicting : str
        The vote that counts, or "" if it was retracted, and the vote that does not count.
    received_at : str
        ISO 8601.
    corrected : bool
        Whether an organiser has resolved the conflict.
    """

    comparison: str
    voter: str
    recorded: str
    conflicting: str
    received_at: str
    corrected: bool


def conflicts(transaction: Transaction) -> list[Conflict]:
    """Return the votes that do not count because they contradict another one, oldest first."""
    late, ballot, event, comparison = schema.late_vote, schema.ballot, schema.vote_event, schema.comparison
    names, change = transaction.voter_names(), event.alias("change")
    same = (change.c.ballot_id == late.c.ballot_id, change.c.place == late.c.place)
    corrected = sa.exists().where(*same, change.c.given_by == "correction", change.c.revision > late.c.revision)
    in_force = sa.and_(event.c.ballot_id == late.c.ballot_id, event.c.place == late.c.place, schema.IN_FORCE)
    rows = transaction.execute(
        sa.select(late, ballot.c.number, comparison.c.sheet, comparison.c.position)
        .add_columns(event.c.answer.label("recorded"), corrected.label("corrected"))
        .select_from(late.join(comparison).join(ballot, ballot.c.id == late.c.ballot_id).outerjoin(event, in_force))
        .where(transaction.of_campaign(ballot), late.c.why == "conflict")
        .order_by(late.c.id)
    )
    return [
        Conflict(
            comparison=pair_id(row.number, row.sheet, row.position),
            voter=names[row.voter_id],
            recorded="" if row.recorded is None else answer_name(row.recorded),
            conflicting=answer_name(row.answer),
            received_at=time_text(row.received_at),
            corrected=bool(row.corrected),
        )
        for row in rows
    ]
