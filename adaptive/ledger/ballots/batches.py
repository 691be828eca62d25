"""Decide when the next batch is due: at most half of one is unanswered, and the budget is not spent."""

from __future__ import annotations

import sqlalchemy as sa

from adaptive.ledger.ballots.draws import stored_ballots
from adaptive.ledger.ballots.refusals import Refusal, last_refusal, state_of, write_refusal
from adaptive.ledger.ballots.sheets import is_sheet_left, n_unanswered_for
from adaptive.ledger.campaign.info import CampaignInfo, ContinuousPlan
from adaptive.ledger.store import schema
from adaptive.ledger.store.database import clock


def may_draw(connection: sa.Connection, info: CampaignInfo, voter_id: int | None = None) -> bool:
    """Return whether a batch is due and within the budget; False for a campaign of ballots.

    After a draw was refused because the target is reached or no pair is left, the result is False until another answer
    arrives. For a voter who has seen all pairs it stays False.
    """
    if not isinstance(info.plan, ContinuousPlan):
        return False
    ballots = stored_ballots(connection, info.id)
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
    spent = sum(each.n_comparisons for each in stored_ballots(connection, info.id))
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
    lease, sheet = schema.lease, schema.sheet
    held = sa.exists().where(
        lease.c.ballot_id == sheet.c.ballot_id,
        lease.c.sheet == sheet.c.number,
        lease.c.ended_at.is_(None),
        sa.or_(lease.c.expires_at.is_(None), lease.c.expires_at >= clock(connection)),
    )
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
        .where(
            ballot.c.campaign_id == info.id,
            ballot.c.state == "open",
            sheet.c.n_answered < sheet.c.n_comparisons,
        )
    ).scalar()
    return int(found or 0)
