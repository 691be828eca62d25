"""Identify voters: a random key, and the name that a file or a platform uses, stored apart so that it can be erased.

A platform is told the outcome of each of its participants, and whom to approve or reject there.
"""

import hashlib
import hmac
import secrets
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import sqlalchemy as sa

from adaptive._tables import item_cells
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.pages import PLATFORMS, Outcome
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import is_line, now, time_text, value_of
from adaptive.ledger.errors import LedgerError, NoVoterError
from rankcorr._checks import shown

FILE = "file"
Decision: TypeAlias = Literal["approve", "reject"]
DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)
_ENDED: Final = "ended"


@dataclass(frozen=True)
class Participant:
    """A participant, by the id from the platform, which is personal data.

    Attributes
    ----------
    participant, study : str
    voter : str
        Random key.
    outcome : {"complete", "screened out", "quota full"} or None
        Outcome whose code was given out; None if no code was given out yet.
    decision : {"approve", "reject"} or None
        Decision on a participant who has the completion code: approve if the votes count, reject if they were left out
        or none is in force. None: there is nothing to decide.
    reason : str or None
        Why the votes do not count.

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
    >>> one = campaign.voters.of_platform().participants[0]
    >>> one.participant, one.outcome, one.decision
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
    >>> found = campaign.voters.of_platform()
    >>> found.platform, len(found.participants)
    ('prolific', 1)
    >>> ledger.close()
    """

    platform: str | None
    participants: tuple[Participant, ...]


def external_hash(info: CampaignInfo, external_id: str) -> str:
    """Return the keyed hash of the name that a source uses for a voter."""
    return hmac.new(bytes.fromhex(info.hash_key), external_id.encode(), hashlib.sha256).hexdigest()


def file_name(name: Hashable) -> str:
    """Return the name that a file uses for a voter or an item, in one cell."""
    return " ".join(item_cells(name))


def register(transaction: Transaction, external_id: str, *, source: str = FILE) -> int:
    """Return the id of a voter, adding the voter when a source first names one.

    A returning voter is the same voter, so the same person is not asked a pair twice.
    """
    if external_id != external_id.strip() or not is_line(external_id):
        raise LedgerError(f"a voter's name is one line of text without spaces around it; got {shown(external_id)}")
    if (voter_id := find_voter(transaction, external_id, source=source)) is not None:
        return voter_id
    table, hashed = schema.voter, external_hash(transaction.info, external_id)
    values = {
        "campaign_id": transaction.info.id,
        "key": secrets.token_hex(16),
        "source": source,
        "external_hash": hashed,
    }
    joined = sa.insert(table).values(**values, joined_at=now())
    new_id: int = transaction.execute(joined.returning(table.c.id)).scalar_one()
    transaction.execute(sa.insert(schema.voter_identity).values(voter_id=new_id, external_id=external_id))
    return new_id


def find_voter(transaction: Transaction, external_id: str, *, source: str) -> int | None:
    """Return the id of the voter with this name in a source, or None."""
    table, hashed = schema.voter, external_hash(transaction.info, external_id)
    same = (table.c.campaign_id == transaction.info.id, table.c.source == source, table.c.external_hash == hashed)
    voter_id: int | None = transaction.execute(sa.select(table.c.id).where(*same)).scalar()
    return voter_id


def voter_named(transaction: Transaction, name: str) -> int:
    """Return the id of the voter whom a file calls `name`, or whose key it is.

    Raises
    ------
    NoVoterError
        If no voter has this name or key.
    """
    voter_id = voters_named(transaction, [name]).get(name)
    if voter_id is None:
        raise NoVoterError(f"no voter is called {shown(name)}")
    return voter_id


def voters_named(transaction: Transaction, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of those voters who are known, by the name of a file or by key."""
    table = schema.voter
    unique_names = list(dict.fromkeys(names))
    hashes = {external_hash(transaction.info, name): name for name in unique_names}
    ids: dict[str, int] = {}
    for start in range(0, len(unique_names), 500):
        some = unique_names[start : start + 500]
        is_named = table.c.external_hash.in_([external_hash(transaction.info, name) for name in some])
        voters = sa.select(table.c.id, table.c.key, table.c.external_hash, table.c.source)
        of_campaign = voters.where(table.c.campaign_id == transaction.info.id)
        for row in transaction.execute(of_campaign.where(sa.or_(is_named, table.c.key.in_(some)))):
            if row.source == FILE and row.external_hash in hashes:
                ids[hashes[row.external_hash]] = row.id
            if row.key in some:
                ids.setdefault(row.key, row.id)
    return ids


def set_excluded(transaction: Transaction, voter_id: int, excluded: bool, reason: str) -> None:
    """Exclude a voter's votes from all scores from now on, or include them again, without changing any vote."""
    kind = "excluded" if excluded else "included"
    transaction.audit(kind, {"reason": reason}, voter_id=voter_id)


def write_outcome(transaction: Transaction, voter_id: int, outcome: Outcome) -> None:
    """Record that a voter has finished, and which code a participant got; repeating this changes nothing."""
    ended = {"outcome": outcome}
    if _last_details(transaction, _ENDED, voter_id) != {voter_id: ended}:
        transaction.audit(_ENDED, ended, voter_id=voter_id)


def platform_voters(transaction: Transaction) -> PlatformVoters:
    """Return all participants whose ids are known, in order of joining; those who withdrew are forgotten."""
    voter, identity = schema.voter, schema.voter_identity
    excluded = transaction.excluded_voters()
    ended, reasons = (_last_details(transaction, kind) for kind in (_ENDED, "excluded"))
    is_known = (
        voter.c.campaign_id == transaction.info.id,
        voter.c.source.in_(PLATFORMS),
        identity.c.external_id.is_not(None),
    )
    voters = sa.select(voter.c.id, voter.c.key, identity.c.external_id)
    joined = voters.join(identity, identity.c.voter_id == voter.c.id)
    rows = transaction.execute(joined.where(*is_known).order_by(voter.c.id))
    heard = _voters_heard(transaction)
    result = []
    for row in rows:
        study, _, name = row.external_id.partition(" ")
        outcome, is_left_out = ended.get(row.id, {}).get("outcome"), row.id in excluded
        decision: Decision | None = None
        if outcome == "complete":
            decision = "approve" if row.id in heard and not is_left_out else "reject"
        reason = reasons[row.id]["reason"] if is_left_out else None
        if decision == "reject" and reason is None:
            reason = "no answer is left"
        result.append(Participant(name, study, row.key, outcome, decision, reason))
    return PlatformVoters(transaction.pages()[1].platform, tuple(result))


def has_finished(transaction: Transaction, voter_id: int) -> bool:
    """Return whether a voter has finished with all that was to be answered."""
    return _last_details(transaction, _ENDED, voter_id) == {voter_id: {"outcome": "complete"}}


def is_participant(transaction: Transaction, voter_id: int) -> bool:
    """Return whether a voter came from a platform."""
    voter = schema.voter
    return transaction.execute(sa.select(voter.c.source).where(voter.c.id == voter_id)).scalar() in PLATFORMS


def _voters_heard(transaction: Transaction) -> set[int]:
    """Return the voters with an answer that is in force, practice left out."""
    ballot, event, newer, comparison = schema.ballot, schema.vote_event, schema.vote_event.alias(), schema.comparison
    replaced = sa.exists().where(
        newer.c.ballot_id == event.c.ballot_id, newer.c.place == event.c.place, newer.c.revision > event.c.revision
    )
    is_no_practice = sa.or_(comparison.c.probe.is_(None), comparison.c.probe != "practice")
    joined = event.join(ballot, ballot.c.id == event.c.ballot_id).join(comparison)
    voters = sa.select(event.c.voter_id).distinct().select_from(joined)
    conditions = (ballot.c.campaign_id == transaction.info.id, event.c.kind == "cast", ~replaced, is_no_practice)
    return set(transaction.execute(voters.where(*conditions)).scalars())


def _last_details(transaction: Transaction, kind: str, *voters: int) -> dict[int, dict[str, Any]]:
    """Return the details that were recorded last of one kind, by voter; of some voters or all."""
    event = schema.audit_event
    query = sa.select(event.c.voter_id, event.c.details).where(
        event.c.campaign_id == transaction.info.id, event.c.kind == kind
    )
    if voters:
        query = query.where(event.c.voter_id.in_(voters))
    return {row.voter_id: value_of(row.details) for row in transaction.execute(query.order_by(event.c.id))}


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
        Comparisons on the sheets that the voter holds in open ballots, and how many are answered.
    n_votes : int
        Votes in the whole campaign, including those on sheets later given to another voter.
    last_vote : str or None
        ISO 8601.
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
    """Return all voters, in order of joining.

    Parameters
    ----------
    names : bool
        Whether to give their names, which are personal data.
    """
    voter, identity, ballot = schema.voter, schema.voter_identity, schema.ballot
    sheet, lease, event = schema.sheet, schema.lease, schema.vote_event
    joined = lease.join(sheet).join(ballot, ballot.c.id == lease.c.ballot_id)
    sums = sa.select(lease.c.voter_id, sa.func.sum(sheet.c.n_comparisons), sa.func.sum(sheet.c.n_answered))
    is_held = (ballot.c.campaign_id == transaction.info.id, ballot.c.state != "closed", lease.c.ended_at.is_(None))
    in_hand = transaction.execute(sums.select_from(joined).where(*is_held).group_by(lease.c.voter_id))
    hands = {row[0]: (int(row[1]), int(row[2])) for row in in_hand}
    changes = sa.case((event.c.kind == "cast", 1), else_=-1)
    corrected = sa.case((sa.and_(event.c.kind == "cast", event.c.given_by == "correction"), 0), else_=changes)
    votes = transaction.execute(
        sa.select(event.c.voter_id, sa.func.sum(corrected), sa.func.max(event.c.received_at))
        .join(ballot, ballot.c.id == event.c.ballot_id)
        .where(ballot.c.campaign_id == transaction.info.id, event.c.place < ballot.c.n_comparisons)
        .group_by(event.c.voter_id)
    )
    votes_by_voter = {row[0]: (int(row[1]), row[2]) for row in votes}
    excluded = transaction.excluded_voters()
    query = sa.select(voter, identity.c.external_id).outerjoin(identity, identity.c.voter_id == voter.c.id)
    return tuple(
        VoterRow(
            key=row.key,
            name=row.external_id if names and row.source != "open" else None,
            source=row.source,
            joined_at=time_text(row.joined_at),
            consent_version=row.consent_version,
            n_comparisons=hands.get(row.id, (0, 0))[0],
            n_answered=hands.get(row.id, (0, 0))[1],
            n_votes=votes_by_voter.get(row.id, (0, 0))[0],
            last_vote=time_text(votes_by_voter[row.id][1]) if row.id in votes_by_voter else None,
            excluded=row.id in excluded,
            withdrawn=row.withdrawn_at is not None,
        )
        for row in transaction.execute(query.where(voter.c.campaign_id == transaction.info.id).order_by(voter.c.id))
    )


def voter_of_key(transaction: Transaction, key: str) -> int:
    """Return the id of the voter with this key; names are not accepted.

    Raises
    ------
    NoVoterError
        If no voter has this key.
    """
    table = schema.voter
    voter_id = transaction.execute(
        sa.select(table.c.id).where(table.c.campaign_id == transaction.info.id, table.c.key == key)
    ).scalar()
    if voter_id is None:
        raise NoVoterError(f"there is no voter of the key {shown(key)}")
    return int(voter_id)
