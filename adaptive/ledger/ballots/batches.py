"""Decide when the next batch is due: at most half of one is unanswered, and the budget is not spent.

A refused draw is recorded with its state and voter: the target is reached, or a voter has seen all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive.ledger.ballots.sheets import is_sheet_left, is_taken, n_unanswered_for
from adaptive.ledger.ballots.stored import stored_ballots
from adaptive.ledger.campaign.info import CampaignInfo, ContinuousPlan
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import value_of
from adaptive.ledger.store.rows import audit

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
    wanted = sa.select(sa.func.count()).select_from(vote).join(ballot, ballot.c.id == vote.c.ballot_id)
    changed = connection.execute(wanted.where(ballot.c.campaign_id == info.id, vote.c.revision > 1)).scalar()
    last = sa.select(sa.func.max(event.c.id)).where(event.c.campaign_id == info.id, event.c.kind.in_(_DECIDING))
    found = (batches, answers, changed, connection.execute(last).scalar())
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


def may_draw(connection: sa.Connection, info: CampaignInfo, voter_id: int | None = None) -> bool:
    """Return whether a batch is due and within the budget; False for a campaign of ballots.

    After a draw was refused because the target is reached or no pair is left, the result is False until another answer
    arrives. For a voter who has seen all pairs it stays False.
    """
    if not isinstance(info.plan, ContinuousPlan):
        return False
    ballots = stored_ballots(connection, info)
    has_ended = bool(ballots) and all(each.state == "closed" for each in ballots)
    is_spent = sum(each.n_comparisons for each in ballots) >= info.plan.budget
    if has_ended or is_spent or n_waiting(connection, info, voter_id) > info.plan.batch // 2:
        return False
    if voter_id is not None and last_refusal(connection, info, voter_id) is not None:
        return False
    refused = last_refusal(connection, info, None)
    return refused is None or refused.state != state_of(connection, info)


def note_in_vain(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> None:
    """Record that a voter gets none of the remaining sheets, though others would, and no further batch is drawn."""
    if not isinstance(info.plan, ContinuousPlan) or not is_sheet_left(connection, info):
        return
    spent = sum(each.n_comparisons for each in stored_ballots(connection, info))
    if spent >= info.plan.budget:
        reason = "the voter has seen a pair of each sheet that is left"
        write_refusal(connection, info, Refusal(reason, "pairs", state_of(connection, info), voter_id))


def n_waiting(connection: sa.Connection, info: CampaignInfo, voter_id: int | None) -> int:
    """Return the number of unanswered pairs that delay the next batch, for a voter or for a new one.

    If sheets are claimed, checks are counted too. Otherwise a voter could learn from the arrival of a batch which of
    two answers was scored.
    """
    if info.settings.assigned:
        return n_unanswered(connection, info)
    sheet, held = schema.sheet, is_taken(connection)
    left = sheet.c.n_comparisons + sheet.c.n_checks - sheet.c.n_answered - sheet.c.n_checked
    n_free, n_held, largest = connection.execute(
        sa.select(
            sa.func.sum(sa.case((held, 0), else_=left)),
            sa.func.sum(sa.case((held, left), else_=0)),
            sa.func.max(sheet.c.n_comparisons + sheet.c.n_checks),
        )
        .join(schema.ballot, schema.ballot.c.id == sheet.c.ballot_id)
        .where(schema.ballot.c.campaign_id == info.id, schema.ballot.c.state == "open")
    ).one()
    free = int(n_free or 0) if voter_id is None else n_unanswered_for(connection, info, voter_id)
    return max(free, free + int(n_held or 0) - len(info.slots) * int(largest or 0))


def n_unanswered(connection: sa.Connection, info: CampaignInfo) -> int:
    """Return the number of unanswered comparisons in open batches."""
    sheet, ballot = schema.sheet, schema.ballot
    found = connection.execute(
        sa.select(sa.func.sum(sheet.c.n_comparisons - sheet.c.n_answered))
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open", sheet.c.n_answered < sheet.c.n_comparisons)
    ).scalar()
    return int(found or 0)
