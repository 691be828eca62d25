"""Participants of a platform: how each one ended, and whom to approve or to reject there."""

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
    """Somebody from a platform, by the id that the platform gives: personal data.

    Attributes
    ----------
    participant, study : str
    voter : str
        Random key.
    outcome : {"complete", "screened out", "quota full"} or None
        Of which code was given out; None: none was, so far.
    decision : {"approve", "reject"} or None
        Of one who has the completion code: whether the votes count, or were left out. None: there is nothing to decide.
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
    """Write down which code a participant got; once more changes nothing, and nothing is written of other voters."""
    if is_participant(connection, voter_id) and _outcomes(connection, info, voter_id).get(voter_id) != outcome:
        audit(connection, info.id, _ENDED, {"outcome": outcome}, voter_id=voter_id)


def participants(connection: sa.Connection, info: CampaignInfo) -> tuple[Participant, ...]:
    """All participants whose ids are known, in the order in which they came; those who withdrew are forgotten."""
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
    """Whether a voter came from a platform."""
    voter = schema.voter
    return connection.execute(sa.select(voter.c.source).where(voter.c.id == voter_id)).scalar() in PLATFORMS


def _outcomes(connection: sa.Connection, info: CampaignInfo, *voters: int) -> dict[int, Outcome]:
    """The outcome that was written last, by voter."""
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
