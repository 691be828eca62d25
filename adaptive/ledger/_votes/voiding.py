"""Void the votes of voters who leave, and of excluded voters whose comparisons others are asked."""

import uuid
from collections import Counter

import sqlalchemy as sa

from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._membership import FILE
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import now
from adaptive.ledger._tokens import revoke
from adaptive.ledger.errors import LedgerBusyError, LedgerError


def leave(transaction: Transaction, voter_id: int) -> int:
    """Erase a voter's name, void the votes in ballots that are not closed, and return how many were voided.

    Votes in closed ballots are kept under an untraceable key, because those ballots are decided. For an excluded voter,
    the keyed hash of the name is kept, too, so that the voter cannot leave and rejoin.

    Errors are those of `Voter.leave`.
    """
    n_voided = _void_all(transaction, voter_id, "the voter left")
    transaction.audit("left", {"voided": n_voided}, voter_id=voter_id)
    withdraw(transaction, voter_id)
    erase(transaction, voter_id, keep_hash=voter_id in transaction.excluded_voters())
    return n_voided


def ask_others(transaction: Transaction, voter_id: int) -> int:
    """Ask other voters the comparisons of an excluded voter, and return how many votes were voided.

    This affects only ballots that are not closed, where a vote of an excluded voter still prevents its comparison from
    being asked again. The voter's sheets become free for others. Voided votes stay in the ledger, and do not count
    again if the voter is included again.

    Errors are those of `Voter.ask_others`.
    """
    if voter_id not in transaction.excluded_voters():
        raise LedgerError("the voter is not excluded: the answers count, so no other voter is asked")
    n_voided = _void_all(transaction, voter_id, "asked of others")
    lease = schema.lease
    is_held = (lease.c.voter_id == voter_id, schema.IS_HELD)
    held_leases = (*is_held, lease.c.ballot_id.in_(_ballots_not_closed(transaction)))
    transaction.execute(sa.update(lease).where(*held_leases).values(ended_at=now(), end_reason="reassigned"))
    transaction.audit("asked of others", {"voided": n_voided}, voter_id=voter_id)
    return n_voided


def _void_all(transaction: Transaction, voter_id: int, why: str) -> int:
    """Void the voter's votes in all ballots that are not closed, and return their number, without checks."""
    n_voided = 0
    for ballot_id in transaction.execute(_ballots_not_closed(transaction).order_by(schema.ballot.c.id)).scalars().all():
        transaction.lock_ballot(ballot_id, exclusive=True)  # excludes votes of this voter, and closing
        transaction.open_overdue(ballot_id)  # a voter can leave even if the closer died
        state = transaction.ballot_state(ballot_id)
        if state == "closing":
            raise LedgerBusyError("a ballot is being closed: try again in a moment")
        if state == "open":
            n_voided += _void(transaction, ballot_id, voter_id, why)
    return n_voided


def _ballots_not_closed(transaction: Transaction) -> sa.Select[tuple[int]]:
    ballot = schema.ballot
    return sa.select(ballot.c.id).where(transaction.of_campaign(ballot), ballot.c.state != "closed")


def _void(transaction: Transaction, ballot_id: int, voter_id: int, why: str) -> int:
    event, comparison = schema.vote_event, schema.comparison
    # All other writers wait for this query, so it reads only the voter's events, not all of the ballot's.
    conditions = (event.c.ballot_id == ballot_id, event.c.voter_id == voter_id, schema.IN_FORCE)
    columns = (event.c.place, event.c.revision, comparison.c.sheet, comparison.c.probe)
    votes = sa.select(*columns).select_from(event.join(comparison)).where(*conditions)
    voided = transaction.execute(votes.order_by(event.c.place)).all()
    if not voided:
        return 0
    scored, checked = Counter[int](), Counter[int]()
    for row in voided:
        scored[row.sheet] -= row.probe is None
        checked[row.sheet] -= row.probe not in (None, "practice")
    same = {"ballot_id": ballot_id, "voter_id": voter_id, "kind": "void", "reason": why, "payload_hash": ""}
    same["received_at"] = now()
    events = [{"event_id": str(uuid.uuid4()), "place": row.place, "revision": row.revision + 1} for row in voided]
    transaction.execute(sa.insert(event), [{**same, **row} for row in events])
    transaction.count_answers(ballot_id, scored, checked)
    return -scored.total()


def erase(transaction: Transaction, voter_id: int, *, keep_hash: bool = False) -> None:
    """Erase a voter's name, e-mail address and the hash that recognises a returning voter; votes are kept by key.

    Parameters
    ----------
    keep_hash : bool
        Whether to keep the keyed hash of the name; ignored for voters from files, who do not join by themselves.
    """
    voter = schema.voter
    transaction.execute(sa.delete(schema.voter_identity).where(schema.voter_identity.c.voter_id == voter_id))
    condition = voter.c.id == voter_id
    if keep_hash:
        condition = sa.and_(condition, voter.c.source == FILE)
    transaction.execute(sa.update(voter).where(condition).values(external_hash=None))
    lease = schema.lease
    transaction.execute(sa.update(lease).where(lease.c.voter_id == voter_id).values(address=None))
    revoke(transaction, schema.token.c.voter_id == voter_id)
    transaction.audit("erased", {}, voter_id=voter_id)


def withdraw(transaction: Transaction, voter_id: int) -> None:
    """Record that a voter has withdrawn, and make the voter's sheets free for others."""
    at = now()
    # Update the voter first. A request that claims a sheet has locked that row, so its lease is then ended, too.
    transaction.execute(sa.update(schema.voter).where(schema.voter.c.id == voter_id).values(withdrawn_at=at))
    held_leases = (schema.lease.c.voter_id == voter_id, schema.IS_HELD)
    transaction.execute(sa.update(schema.lease).where(*held_leases).values(ended_at=at, end_reason="withdrawn"))
    transaction.audit("withdrawn", {}, voter_id=voter_id)
