"""Report the participants of a platform: the outcome of each, and whom to approve or reject there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive.ledger.campaign.info import CampaignInfo, audit
from adaptive.ledger.campaign.voting_pages import Outcome
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import value_of
from adaptive.ledger.voters.identity import excluded_voters
from adaptive.ledger.voters.newcomers import PLATFORMS

Decision: TypeAlias = Literal["approve", "reject"]
DECISIONS: Final[tuple[Decision, ...]] = ("approve", "reject")
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
        Decision on a participant who has the completion code: approve if the votes count, reject if they were left out.
        None: there is nothing to decide.
    reason : str or None
        Why the votes were left out.
    """

    participant: str
    study: str
    voter: str
    outcome: Outcome | None
    decision: Decision | None
    reason: str | None


def write_outcome(connection: sa.Connection, info: CampaignInfo, voter_id: int, outcome: Outcome) -> None:
    """Record which code a participant got; repeating this changes nothing, and other voters have no record."""
    if is_participant(connection, voter_id) and _outcomes(connection, info, voter_id).get(voter_id) != outcome:
        audit(connection, info.id, _ENDED, {"outcome": outcome}, voter_id=voter_id)


def participants(connection: sa.Connection, info: CampaignInfo) -> tuple[Participant, ...]:
    """Return all participants whose ids are known, in order of joining; those who withdrew are forgotten."""
    voter, identity = schema.voter, schema.voter_identity
    outcomes, excluded = _outcomes(connection, info), excluded_voters(connection, info.id)
    reasons = _reasons(connection, info)
    rows = connection.execute(
        sa.select(voter.c.id, voter.c.key, identity.c.external_id)
        .join(identity, identity.c.voter_id == voter.c.id)
        .where(voter.c.campaign_id == info.id, voter.c.source.in_(PLATFORMS), identity.c.external_id.is_not(None))
        .order_by(voter.c.id)
    )
    found = []
    for row in rows:
        study, _, name = row.external_id.partition(" ")
        outcome, is_left_out = outcomes.get(row.id), row.id in excluded
        decision: Decision | None = None
        if outcome == "complete":
            decision = "reject" if is_left_out else "approve"
        found.append(Participant(name, study, row.key, outcome, decision, reasons[row.id] if is_left_out else None))
    return tuple(found)


def is_participant(connection: sa.Connection, voter_id: int) -> bool:
    """Return whether a voter came from a platform."""
    voter = schema.voter
    return connection.execute(sa.select(voter.c.source).where(voter.c.id == voter_id)).scalar() in PLATFORMS


def _outcomes(connection: sa.Connection, info: CampaignInfo, *voters: int) -> dict[int, Outcome]:
    """Return the outcome that was recorded last, by voter."""
    event = schema.audit_event
    wanted = sa.select(event.c.voter_id, event.c.details).where(event.c.campaign_id == info.id, event.c.kind == _ENDED)
    if voters:
        wanted = wanted.where(event.c.voter_id.in_(voters))
    rows = connection.execute(wanted.order_by(event.c.id))
    return {row.voter_id: value_of(row.details)["outcome"] for row in rows}


def _reasons(connection: sa.Connection, info: CampaignInfo) -> dict[int, str]:
    event = schema.audit_event
    rows = connection.execute(
        sa.select(event.c.voter_id, event.c.details)
        .where(event.c.campaign_id == info.id, event.c.kind == "excluded")
        .order_by(event.c.id)
    )
    return {row.voter_id: value_of(row.details)["reason"] for row in rows}
