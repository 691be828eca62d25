"""Lead a voter through a campaign: join, consent, vote on one sheet after another, finish or leave.

Each step of the browser is one transaction here and is safe to repeat.
"""

import re
import secrets
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import sqlalchemy as sa

from adaptive.ledger._campaign.pages import VotingPages
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import now
from adaptive.ledger._voters.identity import FILE, register
from adaptive.ledger._voters.tokens import issue, revoke_of_voter
from adaptive.ledger.errors import LedgerBusyError, LedgerError
from rankcorr._checks import shown

OPEN, INVITED = "open", "invitation"
_PARTICIPANTS: Final = {
    # The form of the ids that the platforms assign; any other id was made up.
    "prolific": re.compile(r"[0-9a-f]{24}"),
    "mturk": re.compile(r"A[0-9A-Z]{9,30}"),
}


@dataclass(frozen=True)
class Visit:
    """A participant of a platform who opens the link of a study.

    Attributes
    ----------
    platform : {"prolific", "mturk"}
    participant, study : str
        Ids assigned by the platform.

    See Also
    --------
    Campaign.voters : Its method `join` takes a visit.
    VotingPages : Names the platform and the study of a campaign.
    Participant : The record that the ledger keeps.

    Examples
    --------
    >>> from adaptive.ledger import Visit
    >>> visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study="6f8d0d55b54764421b715dd2")
    >>> visit.platform
    'prolific'
    """

    platform: Literal["prolific", "mturk"]
    participant: str
    study: str


def join(transaction: Transaction, pages: VotingPages, visit: Visit | None) -> int:
    """Return the id of a new voter by the open link, or of a platform's participant, added on the first visit.

    A participant of a study is one voter, because the platform opens another session on each visit.

    Raises
    ------
    LedgerError
        If the campaign has no open link, is not on the platform or belongs to another study there, if the id does not
        have the platform's form, or if the id is that of a voter who was left out of the scores and then left.
    """
    if visit is not None:
        return _register_voter(transaction, *platform_name(pages, visit))
    if not pages.open_link:
        raise LedgerError("this campaign is for those who were invited")
    return register(transaction, secrets.token_hex(16), source=OPEN)


def invite(transaction: Transaction, names: Sequence[str]) -> list[str]:
    """Add a voter for each name and return the tokens of their links; voters already invited get another token.

    Its errors are those of `Voters.invite`.
    """
    if len(set(names)) < len(names):
        raise LedgerError("each name can be invited only once; one is repeated")
    tokens = []
    for name in names:
        voter_id = _register_voter(transaction, name, INVITED)
        tokens.append(issue(transaction, "invitation", voter_id=voter_id))
    transaction.audit("invited", {"voters": len(names)})
    return tokens


def consent(transaction: Transaction, pages: VotingPages, voter_id: int, version: str) -> None:
    """Record that a voter agreed to a version of the consent text.

    Its errors are those of `Voter.consent`.
    """
    if version != pages.consent_version:
        raise LedgerError(f"the consent text is of version {pages.consent_version}; got {shown(version)}")
    table = schema.voter
    before = transaction.execute(sa.select(table.c.consent_version).where(table.c.id == voter_id)).scalar_one()
    if before == version:
        return
    transaction.execute(sa.update(table).where(table.c.id == voter_id).values(consent_version=version))
    transaction.audit("consented", {"version": version}, voter_id=voter_id)


def leave(transaction: Transaction, voter_id: int) -> int:
    """Forget a voter, void the votes in ballots that are not closed, and return how many were voided.

    Votes in closed ballots are kept under an untraceable key, because those ballots have been decided. For a voter who
    was left out of the scores, the keyed hash of the name is also kept, so that the voter cannot leave and then rejoin.

    Its errors are those of `Voter.leave`.
    """
    n_voided = _void_all(transaction, voter_id, "the voter left")
    transaction.audit("left", {"voided": n_voided}, voter_id=voter_id)
    withdraw(transaction, voter_id)
    erase(transaction, voter_id, keep_hash=voter_id in transaction.excluded_voters())
    return n_voided


def ask_others(transaction: Transaction, voter_id: int) -> int:
    """Ask other voters the comparisons of a voter who is left out, and return how many votes were voided.

    Only ballots that are not closed are affected: there, a vote that does not count still prevents its comparison from
    being asked again. The voter's sheets become free for others. Voided votes stay in the ledger and do not count again
    if the voter is taken back.

    Its errors are those of `Voter.ask_others`.
    """
    if voter_id not in transaction.excluded_voters():
        raise LedgerError("the voter is not excluded: the answers count, so no other voter is asked")
    n_voided = _void_all(transaction, voter_id, "asked of others")
    lease, ballot = schema.lease, schema.ballot
    still_open = sa.select(ballot.c.id).where(ballot.c.campaign_id == transaction.info.id, ballot.c.state != "closed")
    in_hand = (lease.c.voter_id == voter_id, lease.c.ended_at.is_(None), lease.c.ballot_id.in_(still_open))
    transaction.execute(sa.update(lease).where(*in_hand).values(ended_at=now(), end_reason="reassigned"))
    transaction.audit("asked of others", {"voided": n_voided}, voter_id=voter_id)
    return n_voided


def _void_all(transaction: Transaction, voter_id: int, why: str) -> int:
    """Void the voter's votes in all ballots that are not closed; return how many, not counting checks."""
    ballot, n_voided = schema.ballot, 0
    left = sa.select(ballot.c.id).where(ballot.c.campaign_id == transaction.info.id, ballot.c.state != "closed")
    for ballot_id in transaction.execute(left.order_by(ballot.c.id)).scalars().all():
        transaction.lock_ballot(ballot_id, exclusive=True)  # no vote of this voter and no closing is in progress
        state = transaction.execute(sa.select(ballot.c.state).where(ballot.c.id == ballot_id)).scalar_one()
        if state == "closing":
            transaction.open_overdue(ballot_id)  # voters can leave even if the closer died
            state = transaction.execute(sa.select(ballot.c.state).where(ballot.c.id == ballot_id)).scalar_one()
        if state == "closing":
            raise LedgerBusyError("a ballot is being closed: try again in a moment")
        if state == "open":
            n_voided += _void(transaction, ballot_id, voter_id, why)
    return n_voided


def platform_name(pages: VotingPages, visit: Visit) -> tuple[str, str]:
    """Return the name and source of a participant."""
    participant, study = visit.participant, visit.study
    if visit.platform != pages.platform:
        raise LedgerError(f"this campaign does not use {visit.platform}")
    if pages.study is not None and study != pages.study:
        raise LedgerError("the link belongs to another study")
    if not _PARTICIPANTS[visit.platform].fullmatch(participant):
        raise LedgerError(f"this is not the id of a participant of {visit.platform}: {shown(participant)}")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", study):
        raise LedgerError(f"this is not the id of a study: {shown(study)}")
    return f"{study} {participant}", visit.platform


def _register_voter(transaction: Transaction, name: str, source: str) -> int:
    """Return the id of the voter with this name, unless that voter may not rejoin."""
    voter_id = register(transaction, name, source=source)
    voter = schema.voter
    if transaction.execute(sa.select(voter.c.withdrawn_at).where(voter.c.id == voter_id)).scalar() is not None:
        raise LedgerError("a voter with this name has withdrawn from the campaign and cannot rejoin")
    return voter_id


def _void(transaction: Transaction, ballot_id: int, voter_id: int, why: str) -> int:
    event, comparison = schema.vote_event, schema.comparison
    # All other writers wait for this query, so it reads only the voter's own events, not those of the ballot.
    conditions = (event.c.ballot_id == ballot_id, event.c.voter_id == voter_id, *schema.in_force(event))
    query = sa.select(event.c.place, event.c.revision, comparison.c.sheet, comparison.c.probe).select_from(
        event.join(comparison)
    )
    voided = transaction.execute(query.where(*conditions).order_by(event.c.place)).all()
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
    """Erase a voter's name, e-mail and the hash that identifies a returning voter; votes are kept under the key.

    Parameters
    ----------
    keep_hash : bool
        Whether to keep the keyed hash of the name. Not for voters of files, who do not join by themselves.
    """
    voter = schema.voter
    transaction.execute(sa.delete(schema.voter_identity).where(schema.voter_identity.c.voter_id == voter_id))
    condition = voter.c.id == voter_id
    if keep_hash:
        condition = sa.and_(condition, voter.c.source == FILE)
    transaction.execute(sa.update(voter).where(condition).values(external_hash=None))
    lease = schema.lease
    transaction.execute(sa.update(lease).where(lease.c.voter_id == voter_id).values(address=None))
    revoke_of_voter(transaction, voter_id)
    transaction.audit("erased", {}, voter_id=voter_id)


def withdraw(transaction: Transaction, voter_id: int) -> None:
    """Release a voter: the sheets that the voter holds become free for others."""
    at = now()
    # Lock the voter first: a request that is claiming a sheet holds that row, and its lease is then ended with the
    # others.
    transaction.execute(sa.update(schema.voter).where(schema.voter.c.id == voter_id).values(withdrawn_at=at))
    in_hand = (schema.lease.c.voter_id == voter_id, schema.lease.c.ended_at.is_(None))
    transaction.execute(sa.update(schema.lease).where(*in_hand).values(ended_at=at, end_reason="withdrawn"))
    transaction.audit("withdrawn", {}, voter_id=voter_id)
