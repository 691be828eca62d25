"""Add voters, record their consent and outcome, and list them.

A voter has a random key. The name that a file or a platform uses is stored separately, so that it can be erased. The
outcomes of a platform's participants tell the organiser whom to approve or reject there.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import sqlalchemy as sa

from adaptive._tables import is_line
from adaptive.ledger._campaign.content import OPEN, PLATFORMS, Outcome, VotingPages
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import time_text
from adaptive.ledger.errors import LedgerError, NoVoterError
from rankcorr._checks import shown

FILE = "file"
Decision: TypeAlias = Literal["approve", "reject"]
DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)
_ENDED: Final = "ended"
INVITED = "invitation"
_PARTICIPANTS: Final = {
    # Form of the ids that each platform assigns.
    "prolific": re.compile(r"[0-9a-f]{24}"),
    "mturk": re.compile(r"A[0-9A-Z]{9,30}"),
}


@dataclass(frozen=True)
class Participant:
    """A participant, by the id from the platform, which is personal data.

    Attributes
    ----------
    participant, study : str
    voter : str
        Random key.
    outcome : {"complete", "screened out", "quota full"} or None
        Outcome whose code the participant got; None if there was no code yet.
    decision : {"approve", "reject"} or None
        Decision on a participant with the completion code: approve if the votes count, reject if the voter was excluded
        or no vote is in force. None if there is nothing to decide.
    reason : str or None
        Reason why the votes do not count.

    See Also
    --------
    PlatformVoters : Lists all participants.
    Visit : A participant who opens the link of the study.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, Visit, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(platform="prolific", study="6f8d0d55b54764421b715dd2")
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False))
    >>> version = campaign.set_pages(pages, replaces=0)
    >>> visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study=pages.study)
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1, visit=visit)
    >>> participant = campaign.voters.of_platform().participants[0]
    >>> participant.participant, participant.outcome, participant.decision
    ('5f8d0d55b54764421b715dd1', None, None)
    >>> ledger.close()
    """

    participant: str
    study: str
    voter: str
    outcome: Outcome | None
    decision: Decision | None
    reason: str | None


@dataclass(frozen=True)
class PlatformVoters:
    """The participants sent by a platform.

    Attributes
    ----------
    platform : {"prolific", "mturk"} or None
    participants : tuple of Participant

    See Also
    --------
    Participant : The type of its participants.
    Visit : A participant who opens the link of the study.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, Visit, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(platform="prolific", study="6f8d0d55b54764421b715dd2")
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False))
    >>> version = campaign.set_pages(pages, replaces=0)
    >>> visit = Visit("prolific", participant="5f8d0d55b54764421b715dd1", study=pages.study)
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1, visit=visit)
    >>> overview = campaign.voters.of_platform()
    >>> overview.platform, len(overview.participants)
    ('prolific', 1)
    >>> ledger.close()
    """

    platform: str | None
    participants: tuple[Participant, ...]


def external_hash(info: CampaignInfo, external_id: str) -> str:
    """Return the keyed hash of a voter's name at the source."""
    return hmac.new(bytes.fromhex(info.hash_key), external_id.encode(), hashlib.sha256).hexdigest()


def register(transaction: Transaction, external_id: str, *, source: str = FILE) -> int:
    """Return the id of the voter with a name at the source, and add the voter if the name is new.

    A returning person is therefore the same voter, and is not asked a pair twice.
    """
    if external_id != external_id.strip() or not is_line(external_id):
        raise LedgerError(f"a voter's name must be one line of text without spaces around it; got {shown(external_id)}")
    if (voter_id := find_voter(transaction, external_id, source=source)) is not None:
        return voter_id
    table, hashed = schema.voter, external_hash(transaction.info, external_id)
    if transaction.count(table, transaction.of_campaign(table), table.c.key == external_id):
        raise LedgerError(f"{shown(external_id)} is the key of another voter; give the voter's name, or a new one")
    values = {"campaign_id": transaction.info.id, "key": secrets.token_hex(16), "source": source}
    joined = sa.insert(table).values(**values, external_hash=hashed, joined_at=transaction.clock())
    new_id: int = transaction.scalar(joined.returning(table.c.id))
    transaction.execute(sa.insert(schema.voter_identity).values(voter_id=new_id, external_id=external_id))
    return new_id


def find_voter(transaction: Transaction, external_id: str, *, source: str) -> int | None:
    """Return the id of the voter with this name at the source, or None."""
    table, hashed = schema.voter, external_hash(transaction.info, external_id)
    same = (transaction.of_campaign(table), table.c.source == source, table.c.external_hash == hashed)
    voter_id: int | None = transaction.scalar(sa.select(table.c.id).where(*same))
    return voter_id


def voter_named(transaction: Transaction, name: str) -> int:
    """Return the id of the voter with a name in a file or with a key, or raise NoVoterError."""
    voter_id = voters_named(transaction, [name]).get(name)
    if voter_id is None:
        raise NoVoterError(f"no voter is called {shown(name)}")
    return voter_id


def voters_named(transaction: Transaction, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of the known voters among these names or keys; a name in a file comes before an invited one."""
    table = schema.voter
    hashes = [(external_hash(transaction.info, name), name) for name in dict.fromkeys(names)]
    voters = sa.select(table.c.id, table.c.key, table.c.external_hash, table.c.source)
    of_campaign = voters.where(transaction.of_campaign(table))
    ids: dict[str, int] = {}
    for start in range(0, len(hashes), 500):
        some = dict(hashes[start : start + 500])
        is_named = sa.or_(table.c.external_hash.in_(some), table.c.key.in_(some.values()))
        for row in transaction.execute(of_campaign.where(is_named)):
            if row.source == FILE and row.external_hash in some:
                ids[some[row.external_hash]] = row.id
            elif row.external_hash in some:
                ids.setdefault(some[row.external_hash], row.id)
            if row.key in some.values():
                ids.setdefault(row.key, row.id)
    return ids


def write_outcome(transaction: Transaction, voter_id: int, outcome: Outcome) -> None:
    """Record the outcome of a voter who has finished; do nothing if it is already recorded."""
    ended = {"outcome": outcome}
    if _last_details(transaction, _ENDED, voter_id) != {voter_id: ended}:
        transaction.audit(_ENDED, ended, voter_id=voter_id)


def platform_voters(transaction: Transaction) -> PlatformVoters:
    """Return all participants whose ids are known, in order of joining; the ids of those who withdrew are erased."""
    voter, identity = schema.voter, schema.voter_identity
    excluded = transaction.excluded_voters()
    ended, reasons = (_last_details(transaction, kind) for kind in (_ENDED, "excluded"))
    is_known = (voter.c.source.in_(PLATFORMS), identity.c.external_id.is_not(None))
    voters = sa.select(voter.c.id, voter.c.key, identity.c.external_id).select_from(voter.join(identity))
    rows = transaction.execute(voters.where(transaction.of_campaign(voter), *is_known).order_by(voter.c.id))
    voters_with_answers = _voters_with_answers(transaction)
    result = []
    for row in rows:
        study, _, name = row.external_id.partition(" ")
        outcome, is_left_out = ended.get(row.id, {}).get("outcome"), row.id in excluded
        decision: Decision | None = None
        if outcome == "complete":
            decision = "approve" if row.id in voters_with_answers and not is_left_out else "reject"
        reason = reasons[row.id]["reason"] if is_left_out else None
        if decision == "reject" and reason is None:
            reason = "no answer is left"
        result.append(Participant(name, study, row.key, outcome, decision, reason))
    return PlatformVoters(transaction.current_pages.platform, tuple(result))


def has_finished(transaction: Transaction, voter_id: int) -> bool:
    """Return whether a voter has finished with the outcome "complete"."""
    return _last_details(transaction, _ENDED, voter_id) == {voter_id: {"outcome": "complete"}}


def source_of(transaction: Transaction, voter_id: int) -> str:
    """Return the source of a voter: a platform, an invitation, the open link or a file."""
    return str(transaction.scalar(sa.select(schema.voter.c.source).where(schema.voter.c.id == voter_id)))


def _voters_with_answers(transaction: Transaction) -> set[int]:
    """Return the voters with an answer in force, apart from practice."""
    answers = schema.VOTES.join(schema.comparison)
    voters = sa.select(schema.vote_event.c.voter_id).distinct().select_from(answers)
    is_counted = (transaction.of_campaign(schema.ballot), schema.IN_FORCE, schema.IS_NO_PRACTICE)
    return set(transaction.execute(voters.where(*is_counted)).scalars())


def _last_details(transaction: Transaction, kind: str, *voters: int) -> dict[int, dict[str, Any]]:
    """Return the latest details of one kind of event by voter, for these voters or all."""
    event = schema.audit_event
    query = sa.select(event.c.voter_id, event.c.details).where(transaction.of_campaign(event), event.c.kind == kind)
    if voters:
        query = query.where(event.c.voter_id.in_(voters))
    return {row.voter_id: json.loads(row.details) for row in transaction.execute(query.order_by(event.c.id))}


@dataclass(frozen=True)
class VoterRow:
    """A voter.

    Attributes
    ----------
    key : str
        Random key, used in exports.
    name : str or None
        The voter's name at the source; None if it was erased or not requested.
    source : str
        "open", "invitation", "prolific", "mturk" or "file".
    joined_at : str
        ISO 8601.
    consent_version : str or None
    n_comparisons, n_answered : int
        Number of comparisons, and of answered ones, on the sheets that the voter holds in open ballots.
    n_votes : int
        Number of current votes in the whole campaign, including those on sheets that were later given to another voter.
    last_vote : str or None
        Time of the last vote by the voter, also one that was voided, in ISO 8601.
    excluded, withdrawn : bool

    See Also
    --------
    Campaign.voters : Its method `rows` lists voters.
    Voter : The steps of a voter.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> row = campaign.voters.rows()[0]
    >>> row.source, row.consent_version, row.n_votes, row.excluded
    ('open', '1', 0, False)
    >>> ledger.close()
    """

    key: str
    name: str | None
    source: str
    joined_at: str
    consent_version: str | None
    n_comparisons: int
    n_answered: int
    n_votes: int
    last_vote: str | None
    excluded: bool
    withdrawn: bool


def voter_rows(transaction: Transaction, *, names: bool = False) -> tuple[VoterRow, ...]:
    """Return the voters of `Voters.rows`."""
    voter, ballot, sheet = schema.voter, schema.ballot, schema.sheet
    lease, event = schema.lease, schema.vote_event
    sums = sa.select(lease.c.voter_id, sa.func.sum(sheet.c.n_comparisons), sa.func.sum(sheet.c.n_answered))
    is_held = (transaction.of_campaign(ballot), ballot.c.state != "closed", schema.IS_HELD)
    held_sheets = sums.select_from(lease.join(sheet).join(ballot)).where(*is_held).group_by(lease.c.voter_id)
    sizes = {voter_id: size_and_answers for voter_id, *size_and_answers in transaction.execute(held_sheets)}
    is_by_voter = sa.and_(event.c.kind == "cast", sa.func.coalesce(event.c.given_by, "") != "correction")
    n_current, last_vote = sa.case((schema.IN_FORCE, 1), else_=0), sa.case((is_by_voter, event.c.received_at))
    totals = sa.select(event.c.voter_id, sa.func.sum(n_current), sa.func.max(last_vote))
    is_scored = (transaction.of_campaign(ballot), event.c.place < ballot.c.n_comparisons)
    votes = totals.select_from(schema.VOTES).where(*is_scored).group_by(event.c.voter_id)
    votes_by_voter = {voter_id: (total, last) for voter_id, total, last in transaction.execute(votes)}
    excluded = transaction.excluded_voters()
    voters = sa.select(voter, schema.voter_identity.c.external_id).select_from(voter.outerjoin(schema.voter_identity))
    return tuple(
        VoterRow(
            key=row.key,
            name=row.external_id if names and row.source != OPEN else None,
            source=row.source,
            joined_at=time_text(row.joined_at),
            consent_version=row.consent_version,
            n_comparisons=sizes.get(row.id, (0, 0))[0],
            n_answered=sizes.get(row.id, (0, 0))[1],
            n_votes=votes_by_voter.get(row.id, (0, 0))[0],
            last_vote=time_text(votes_by_voter[row.id][1]) if row.id in votes_by_voter else None,
            excluded=row.id in excluded,
            withdrawn=row.withdrawn_at is not None,
        )
        for row in transaction.execute(voters.where(transaction.of_campaign(voter)).order_by(voter.c.id))
    )


def voter_of_key(transaction: Transaction, key: str) -> int:
    """Return the id of the voter with this key, or raise NoVoterError; names are not accepted."""
    table = schema.voter
    voter_id = transaction.scalar(sa.select(table.c.id).where(transaction.of_campaign(table), table.c.key == key))
    if voter_id is None:
        raise NoVoterError(f"there is no voter with the key {shown(key)}")
    return int(voter_id)


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
    """Return the id of a new voter by the open link, or of a platform's participant, who is added on the first visit.

    Each visit of a participant is the same voter, although the platform opens another session.

    Raises
    ------
    LedgerError
        The campaign has no open link, is not on the platform, or belongs to another study there; or the id does not
        have the platform's form, or is that of an excluded voter who has left.
    """
    if visit is not None:
        return register_unless_withdrawn(transaction, *platform_name(pages, visit))
    if not pages.open_link:
        raise LedgerError("this campaign is only for invited voters")
    return register(transaction, secrets.token_hex(16), source=OPEN)


def consent(transaction: Transaction, pages: VotingPages, voter_id: int, version: str) -> None:
    """Record that a voter agreed to a version of the consent text; see `Voter.consent`."""
    if version != pages.consent_version:
        raise LedgerError(f"the consent text has version {pages.consent_version}; got {shown(version)}")
    table = schema.voter
    before = transaction.execute(sa.select(table.c.consent_version).where(table.c.id == voter_id)).scalar_one()
    if before == version:
        return
    transaction.execute(sa.update(table).where(table.c.id == voter_id).values(consent_version=version))
    transaction.audit("consented", {"version": version}, voter_id=voter_id)


def platform_name(pages: VotingPages, visit: Visit) -> tuple[str, str]:
    """Return the name and source of a participant."""
    participant, study = visit.participant, visit.study
    if visit.platform != pages.platform:
        raise LedgerError(f"this campaign does not use {visit.platform}")
    if pages.study is not None and study != pages.study:
        raise LedgerError("the link belongs to another study")
    if not _PARTICIPANTS[visit.platform].fullmatch(participant):
        raise LedgerError(f"not an id of a participant of {visit.platform}: {shown(participant)}")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", study):
        raise LedgerError(f"not an id of a study: {shown(study)}")
    return f"{study} {participant}", visit.platform


def register_unless_withdrawn(transaction: Transaction, name: str, source: str) -> int:
    """Return the id of the voter with this name, unless that voter may not rejoin."""
    voter_id = register(transaction, name, source=source)
    voter = schema.voter
    if transaction.scalar(sa.select(voter.c.withdrawn_at).where(voter.c.id == voter_id)) is not None:
        raise LedgerError("a voter with this name has withdrawn from the campaign and cannot rejoin")
    return voter_id
