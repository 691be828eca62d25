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
from adaptive.ledger._campaign.voting_pages import PLATFORMS, Outcome
from adaptive.ledger._campaign.wording import is_line
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import now, value_of
from adaptive.ledger._store.rows import audit
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
    >>> from adaptive.ledger import Ledger, Settings, Visit, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(platform="prolific", study="6f8d0d55b54764421b715dd2")
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=Settings(assigned=False))
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


def external_hash(info: CampaignInfo, external_id: str) -> str:
    """Return the keyed hash of the name that a source uses for a voter."""
    return hmac.new(bytes.fromhex(info.hash_key), external_id.encode(), hashlib.sha256).hexdigest()


def file_name(name: Hashable) -> str:
    """Return the name that a file uses for a voter or an item, in one cell."""
    return " ".join(item_cells(name))


def register(connection: sa.Connection, info: CampaignInfo, external_id: str, *, source: str = FILE) -> int:
    """Return the id of a voter, adding the voter when a source first names one.

    A returning voter is the same voter, so the same person is not asked a pair twice.
    """
    if external_id != external_id.strip() or not is_line(external_id):
        raise LedgerError(f"a voter's name is one line of text without spaces around it; got {shown(external_id)}")
    if (found := find_voter(connection, info, external_id, source=source)) is not None:
        return found
    table, hashed = schema.voter, external_hash(info, external_id)
    values = {"campaign_id": info.id, "key": secrets.token_hex(16), "source": source, "external_hash": hashed}
    joined = sa.insert(table).values(**values, joined_at=now())
    made: int = connection.execute(joined.returning(table.c.id)).scalar_one()
    connection.execute(sa.insert(schema.voter_identity).values(voter_id=made, external_id=external_id))
    return made


def find_voter(connection: sa.Connection, info: CampaignInfo, external_id: str, *, source: str) -> int | None:
    """Return the id of the voter with this name in a source, or None."""
    table, hashed = schema.voter, external_hash(info, external_id)
    same = (table.c.campaign_id == info.id, table.c.source == source, table.c.external_hash == hashed)
    found: int | None = connection.execute(sa.select(table.c.id).where(*same)).scalar()
    return found


def voter_named(connection: sa.Connection, info: CampaignInfo, name: str) -> int:
    """Return the id of the voter whom a file calls `name`, or whose key it is.

    Raises
    ------
    NoVoterError
        If no voter has this name or key.
    """
    found = voters_named(connection, info, [name]).get(name)
    if found is None:
        raise NoVoterError(f"no voter is called {shown(name)}")
    return found


def voters_named(connection: sa.Connection, info: CampaignInfo, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of those voters who are known, by the name of a file or by key."""
    table = schema.voter
    wanted = list(dict.fromkeys(names))
    hashes = {external_hash(info, name): name for name in wanted}
    found: dict[str, int] = {}
    for start in range(0, len(wanted), 500):
        some = wanted[start : start + 500]
        is_named = table.c.external_hash.in_([external_hash(info, name) for name in some])
        voters = sa.select(table.c.id, table.c.key, table.c.external_hash, table.c.source)
        of_campaign = voters.where(table.c.campaign_id == info.id)
        for row in connection.execute(of_campaign.where(sa.or_(is_named, table.c.key.in_(some)))):
            if row.source == FILE and row.external_hash in hashes:
                found[hashes[row.external_hash]] = row.id
            if row.key in some:
                found.setdefault(row.key, row.id)
    return found


def names_of(connection: sa.Connection, info: CampaignInfo) -> dict[int, str]:
    """Return the display name of each voter: the name at the source, or the key if the name was erased."""
    voter, identity = schema.voter, schema.voter_identity
    voters = sa.select(voter.c.id, voter.c.key, identity.c.external_id).select_from(voter.outerjoin(identity))
    rows = connection.execute(voters.where(voter.c.campaign_id == info.id).order_by(voter.c.id))
    return {row.id: row.key if row.external_id is None else row.external_id for row in rows}


def keys_of(connection: sa.Connection, info: CampaignInfo) -> dict[int, str]:
    """Return the random key of each voter."""
    voter = schema.voter
    rows = connection.execute(sa.select(voter.c.id, voter.c.key).where(voter.c.campaign_id == info.id))
    return {row.id: row.key for row in rows}


def set_excluded(connection: sa.Connection, info: CampaignInfo, voter_id: int, excluded: bool, reason: str) -> None:
    """Exclude a voter's votes from all scores from now on, or include them again, without changing any vote."""
    kind = "excluded" if excluded else "included"
    audit(connection, info.id, kind, {"reason": reason}, voter_id=voter_id)


def excluded_voters(connection: sa.Connection, campaign_id: int) -> dict[int, str]:
    """Return the voters who are left out now, with their keys."""
    event, voter = schema.audit_event, schema.voter
    decided = (event.c.campaign_id == campaign_id, event.c.kind.in_(["excluded", "included"]))
    events = sa.select(event.c.voter_id, event.c.kind, voter.c.key).join(voter, voter.c.id == event.c.voter_id)
    rows = connection.execute(events.where(*decided).order_by(event.c.id))
    last = {row.voter_id: (row.kind, row.key) for row in rows}
    return {voter_id: key for voter_id, (kind, key) in last.items() if kind == "excluded"}


def write_outcome(connection: sa.Connection, info: CampaignInfo, voter_id: int, outcome: Outcome) -> None:
    """Record that a voter has finished, and which code a participant got; repeating this changes nothing."""
    ended = {"outcome": outcome}
    if _last_details(connection, info, _ENDED, voter_id) != {voter_id: ended}:
        audit(connection, info.id, _ENDED, ended, voter_id=voter_id)


def participants(connection: sa.Connection, info: CampaignInfo) -> tuple[Participant, ...]:
    """Return all participants whose ids are known, in order of joining; those who withdrew are forgotten."""
    voter, identity = schema.voter, schema.voter_identity
    excluded = excluded_voters(connection, info.id)
    ended, reasons = (_last_details(connection, info, kind) for kind in (_ENDED, "excluded"))
    is_known = (voter.c.campaign_id == info.id, voter.c.source.in_(PLATFORMS), identity.c.external_id.is_not(None))
    voters = sa.select(voter.c.id, voter.c.key, identity.c.external_id)
    joined = voters.join(identity, identity.c.voter_id == voter.c.id)
    rows = connection.execute(joined.where(*is_known).order_by(voter.c.id))
    heard = _voters_heard(connection, info)
    found = []
    for row in rows:
        study, _, name = row.external_id.partition(" ")
        outcome, is_left_out = ended.get(row.id, {}).get("outcome"), row.id in excluded
        decision: Decision | None = None
        if outcome == "complete":
            decision = "approve" if row.id in heard and not is_left_out else "reject"
        reason = reasons[row.id]["reason"] if is_left_out else None
        if decision == "reject" and reason is None:
            reason = "no answer is left"
        found.append(Participant(name, study, row.key, outcome, decision, reason))
    return tuple(found)


def lock_voter(connection: sa.Connection, voter_id: int) -> None:
    """Lock a voter until the transaction ends: what the voter does elsewhere is done before, or waits."""
    voter = schema.voter
    connection.execute(sa.select(voter.c.id).where(voter.c.id == voter_id).with_for_update(key_share=True))


def has_finished(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> bool:
    """Return whether a voter has finished with all that was to be answered."""
    return _last_details(connection, info, _ENDED, voter_id) == {voter_id: {"outcome": "complete"}}


def is_participant(connection: sa.Connection, voter_id: int) -> bool:
    """Return whether a voter came from a platform."""
    voter = schema.voter
    return connection.execute(sa.select(voter.c.source).where(voter.c.id == voter_id)).scalar() in PLATFORMS


def _voters_heard(connection: sa.Connection, info: CampaignInfo) -> set[int]:
    """Return the voters with an answer that is in force, practice left out."""
    ballot, event, later, asked = schema.ballot, schema.vote_event, schema.vote_event.alias(), schema.comparison
    replaced = sa.exists().where(
        later.c.ballot_id == event.c.ballot_id, later.c.place == event.c.place, later.c.revision > event.c.revision
    )
    is_no_practice = sa.or_(asked.c.probe.is_(None), asked.c.probe != "practice")
    joined = event.join(ballot, ballot.c.id == event.c.ballot_id).join(asked)
    voters = sa.select(event.c.voter_id).distinct().select_from(joined)
    wanted = (ballot.c.campaign_id == info.id, event.c.kind == "cast", ~replaced, is_no_practice)
    return set(connection.execute(voters.where(*wanted)).scalars())


def _last_details(connection: sa.Connection, info: CampaignInfo, kind: str, *voters: int) -> dict[int, dict[str, Any]]:
    """Return the details that were recorded last of one kind, by voter; of some voters or all."""
    event = schema.audit_event
    wanted = sa.select(event.c.voter_id, event.c.details).where(event.c.campaign_id == info.id, event.c.kind == kind)
    if voters:
        wanted = wanted.where(event.c.voter_id.in_(voters))
    return {row.voter_id: value_of(row.details) for row in connection.execute(wanted.order_by(event.c.id))}
