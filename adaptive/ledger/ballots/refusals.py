"""Record refused draws: the target is reached, or a voter has seen all pairs. Each has its state and voter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive.ledger.campaign.info import CampaignInfo, audit
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import value_of

Waits: TypeAlias = Literal["target", "pairs"]

_REFUSED: Final = "no batch"
_STATE: Final = ("batches", "answers", "changed", "decided")
_DECIDING: Final = ("excluded", "included", "left", "reopened")


@dataclass(frozen=True)
class Refusal:
    """The reason why the votes of a state allow no batch, found by a costly fit; for one voter or for all."""

    reason: str
    cause: Waits | None
    state: dict[str, int]
    voter_id: int | None = None


def state_of(connection: sa.Connection, info: CampaignInfo) -> dict[str, int]:
    """Return the state that a refusal applies to: batches, answers, changed answers and the organiser's last decision.

    Answers to checks count too. Otherwise voters could recognise a check because no new pairs follow its answer.
    """
    sheet, ballot, vote, event = schema.sheet, schema.ballot, schema.vote_event, schema.audit_event
    batches, answers = connection.execute(
        sa.select(sa.func.count(ballot.c.id.distinct()), sa.func.sum(sheet.c.n_answered + sheet.c.n_checked))
        .join(sheet, sheet.c.ballot_id == ballot.c.id)
        .where(ballot.c.campaign_id == info.id)
    ).one()
    changed = connection.execute(
        sa.select(sa.func.count())
        .select_from(vote)
        .join(ballot, ballot.c.id == vote.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, vote.c.revision > 1)
    ).scalar()
    decided = connection.execute(
        sa.select(sa.func.max(event.c.id)).where(event.c.campaign_id == info.id, event.c.kind.in_(_DECIDING))
    ).scalar()
    found = (batches, answers, changed, decided)
    return {name: int(number or 0) for name, number in zip(_STATE, found, strict=True)}


def last_refusal(connection: sa.Connection, info: CampaignInfo, *voters: int | None) -> Refusal | None:
    """Return the latest refused draw for any of these voters or for all; None is an unknown newcomer."""
    event = schema.audit_event
    wanted = sa.select(event.c.details, event.c.voter_id).where(
        event.c.campaign_id == info.id, event.c.kind == _REFUSED
    )
    if voters:
        wanted = wanted.where(sa.or_(*(event.c.voter_id.is_not_distinct_from(voter) for voter in voters)))
    row = connection.execute(wanted.order_by(event.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    details = value_of(row.details)
    state = {name: details.get(name, 0) for name in _STATE}
    return Refusal(details["reason"], details.get("cause"), state, row.voter_id)


def write_refusal(connection: sa.Connection, info: CampaignInfo, refusal: Refusal) -> None:
    """Record a refusal, so that voters are told that nothing is left, without repeating the same fit."""
    before = last_refusal(connection, info, refusal.voter_id)
    if before is None or before.state != refusal.state:
        details = {**refusal.state, "reason": refusal.reason, "cause": refusal.cause}
        audit(connection, info.id, _REFUSED, details, voter_id=refusal.voter_id)


def why_it_waits(connection: sa.Connection, info: CampaignInfo) -> Waits | None:
    """Return why no more pairs are asked, given the current votes; None if no request was refused since the last one.

    "target": the expected accuracy is reached. "pairs": the last voter to ask has seen all remaining pairs, so those
    are left for other voters.
    """
    if info.mode == "ballots":
        return None
    refused = last_refusal(connection, info)
    return None if refused is None or refused.state != state_of(connection, info) else refused.cause
