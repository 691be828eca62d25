"""Campaigns without ballots: each small batch is matched by all votes before it, and drawn when the last runs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo, ContinuousPlan, audit
from adaptive.ledger.closing import chain_digest
from adaptive.ledger.columns import integer_columns
from adaptive.ledger.counting import votes_digest
from adaptive.ledger.database import Database
from adaptive.ledger.draws import store_ballot, stored_ballots
from adaptive.ledger.encoding import json_of, now, value_of
from adaptive.ledger.errors import ChangedError, LedgerError, NotReadyError
from adaptive.ledger.locking import lock_ballot
from adaptive.ledger.results import votes_of
from adaptive.ledger.sheets import assign_slots
from adaptive.ledger.stamps import ballot_stamp
from adaptive.ledger.voters import excluded_voters
from adaptive.model.comparisons import Comparisons
from adaptive.model.matching import Matches, next_comparisons
from adaptive.model.matching_run import interim_strengths
from adaptive.protocol import ballot_rng
from rankcorr import TauW

__all__ = ["draw_batch", "finish", "may_draw"]

_REFUSED: Final = "no batch"
_DECIDING: Final = ("excluded", "included", "left", "reopened")


def draw_batch(database: Database, info: CampaignInfo, *, at_once: bool = False) -> int:
    """Draw the next batch and store it; its number is returned.

    The strengths of all votes so far choose the pairs. A batch is due when at most half a batch is still unanswered.

    Parameters
    ----------
    at_once : bool
        Draw it although it is not due.

    Raises
    ------
    NotReadyError
        When too much of the last batch is unanswered.
    LedgerError
        When the budget is spent, the expected accuracy is reached, the campaign is at its end, or the voters have seen
        all pairs.
    """
    plan = _plan(info)

    def read(connection: sa.Connection) -> tuple[int, Matches] | _Refusal:
        ballots = stored_ballots(connection, info.id)
        spent = sum(each.n_comparisons for each in ballots)
        if ballots and all(each.state == "closed" for each in ballots):
            raise LedgerError("the campaign has ended: no more is asked")
        if spent >= plan.budget:
            raise LedgerError(f"the budget of {plan.budget:,} comparisons is spent")
        open_ones = _unanswered(connection, info)
        if open_ones > plan.batch // 2 and not at_once:
            raise NotReadyError(
                f"{open_ones:,} comparisons are unanswered; the next batch is drawn by all votes at "
                f"{plan.batch // 2:,} or fewer"
            )
        votes = votes_of(connection, info, without=excluded_voters(connection, info.id))
        strengths = interim_strengths(votes, None)
        if plan.target is not None and votes.n_comparisons >= info.n_items:
            reached = strengths.expected_correlation(TauW()).mean
            if reached >= plan.target:
                return _Refusal(
                    f"the expected tau_w is {reached:.3f}: the target of {plan.target:g} is reached",
                    _state(connection, info),
                )
        matches = next_comparisons(
            strengths,
            min(plan.batch, plan.budget - spent),
            rng=ballot_rng(info.seed, len(ballots) + 1, "draw"),
            voters=info.slots,
            voter_history=_asked(connection, info),
            n0=plan.n0,
            focus=plan.focus,
        )
        if not len(matches):
            return _Refusal(f"no batch can be drawn: {matches.reason}", _state(connection, info))
        return len(ballots) + 1, matches

    found = database.read(read)
    if isinstance(found, _Refusal):
        refusal = found
        database.write(lambda connection: _write_refusal(connection, info, refusal))
        raise LedgerError(refusal.reason)
    number, matches = found
    places = np.arange(info.n_items)

    def write(connection: sa.Connection) -> int:
        ballots = stored_ballots(connection, info.id)
        if ballots:
            # Somebody who ends the campaign ends it before or after, not meanwhile.
            lock_ballot(connection, ballots[-1].id, exclusive=True)
            ballots = stored_ballots(connection, info.id)
        if len(ballots) != number - 1:
            raise LedgerError(f"batch {number} was drawn by somebody else at the same moment")
        if ballots and all(each.state == "closed" for each in ballots):
            raise LedgerError("the campaign has ended: no more is asked")
        made = store_ballot(connection, info, matches, places, number=number, kind="batch", presentations=1)
        if info.settings.assigned:
            assign_slots(connection, info, made)
        audit(connection, info.id, "opened", {"numpy": np.__version__}, ballot_id=made)
        return number

    return database.write(write)


def may_draw(connection: sa.Connection, info: CampaignInfo) -> bool:
    """Whether a batch is due, and the budget of a continuous campaign not spent; False for a campaign of ballots.

    Where a draw was refused, since the target is reached or no pair is left, it is False until another answer comes.
    """
    if not isinstance(info.plan, ContinuousPlan):
        return False
    ballots = stored_ballots(connection, info.id)
    has_ended = bool(ballots) and all(each.state == "closed" for each in ballots)
    is_spent = sum(each.n_comparisons for each in ballots) >= info.plan.budget
    if has_ended or is_spent or _unanswered(connection, info) > info.plan.batch // 2:
        return False
    return _last_refusal(connection, info) != _state(connection, info)


def finish(
    database: Database, info: CampaignInfo, *, least_answered: float | None = None, stamp: str | None = None
) -> int:
    """End a continuous campaign: its batches are closed as they are, and their digests written; their number is given.

    Parameters
    ----------
    least_answered : float or None
        Share of the comparisons that must be answered; None: that of the campaign.
    stamp : str or None
        What the caller has seen, of `ballot_stamp` of the last batch; None: whatever it is.

    Raises
    ------
    LedgerError
        When there is no batch, or all are closed.
    ChangedError
        When the last batch has another stamp by now.
    NotReadyError
        When too few comparisons are answered.
    """
    wanted = info.settings.least_answered if least_answered is None else least_answered
    _plan(info)

    def write(connection: sa.Connection) -> int:
        ballots = stored_ballots(connection, info.id)
        if not ballots or all(each.state == "closed" for each in ballots):
            raise LedgerError("no batch is open: there is nothing to close")
        for stored in ballots:
            lock_ballot(connection, stored.id, exclusive=True)
        if stamp is not None and stamp != ballot_stamp(connection, info, ballots[-1].number):
            raise ChangedError("a batch was drawn, or the voters changed, since the campaign was looked at")
        asked = sum(each.n_comparisons for each in ballots)
        answered_in_all = asked - _unanswered(connection, info)
        if answered_in_all < wanted * asked:
            raise NotReadyError(
                f"{answered_in_all:,} of {asked:,} comparisons are answered, {answered_in_all / asked:.0%}, and "
                f"{wanted:.0%} are wanted; nothing was closed"
            )
        previous = None
        excluded = sorted(excluded_voters(connection, info.id).values())
        for stored in ballots:
            table = schema.sheet
            answered = connection.execute(
                sa.select(sa.func.sum(table.c.n_answered)).where(table.c.ballot_id == stored.id)
            ).scalar_one()
            record = {"n_answered": int(answered), "excluded": excluded}
            votes = votes_digest(connection, stored.id)
            previous = chain_digest(previous, stored.draw_digest, votes, record)
            closed = {"state": "closed", "closed_at": now(), "record": json_of(record)}
            connection.execute(
                sa.update(schema.ballot)
                .where(schema.ballot.c.id == stored.id)
                .values(**closed, votes_digest=votes, chain_digest=previous)
            )
        audit(connection, info.id, "closed", {"batches": len(ballots)})
        return len(ballots)

    return database.write(write)


@dataclass(frozen=True)
class _Refusal:
    """Why the votes of a state allow no batch, which takes a fit to find out."""

    reason: str
    state: dict[str, int]


def _state(connection: sa.Connection, info: CampaignInfo) -> dict[str, int]:
    """What a refusal is of: the number of batches and of answers, and the last decision of an organiser."""
    sheet, ballot, event = schema.sheet, schema.ballot, schema.audit_event
    batches, answers = connection.execute(
        sa.select(sa.func.count(ballot.c.id.distinct()), sa.func.sum(sheet.c.n_answered))
        .join(sheet, sheet.c.ballot_id == ballot.c.id)
        .where(ballot.c.campaign_id == info.id)
    ).one()
    decided = connection.execute(
        sa.select(sa.func.max(event.c.id)).where(event.c.campaign_id == info.id, event.c.kind.in_(_DECIDING))
    ).scalar()
    return {"batches": int(batches), "answers": int(answers or 0), "decided": int(decided or 0)}


def _last_refusal(connection: sa.Connection, info: CampaignInfo) -> dict[str, int] | None:
    event = schema.audit_event
    row = connection.execute(
        sa.select(event.c.details)
        .where(event.c.campaign_id == info.id, event.c.kind == _REFUSED)
        .order_by(event.c.id.desc())
        .limit(1)
    ).first()
    return None if row is None else {name: value_of(row.details)[name] for name in ("batches", "answers", "decided")}


def _write_refusal(connection: sa.Connection, info: CampaignInfo, refusal: _Refusal) -> None:
    """Voters are told that nothing is left, instead of asking for the same fit again and again."""
    if _last_refusal(connection, info) != refusal.state:
        audit(connection, info.id, _REFUSED, {**refusal.state, "reason": refusal.reason})


def _plan(info: CampaignInfo) -> ContinuousPlan:
    if not isinstance(info.plan, ContinuousPlan):
        raise LedgerError("the campaign has the ballots of a plan, not batches")
    return info.plan


def _unanswered(connection: sa.Connection, info: CampaignInfo) -> int:
    sheet, ballot = schema.sheet, schema.ballot
    found = connection.execute(
        sa.select(sa.func.sum(sheet.c.n_comparisons - sheet.c.n_answered))
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
    ).scalar()
    return int(found or 0)


def _asked(connection: sa.Connection, info: CampaignInfo) -> Comparisons:
    """What each slot has been shown so far, answered or not: the winners mean nothing."""
    asked, sheet, ballot = schema.comparison, schema.sheet, schema.ballot
    left, right, slot = integer_columns(
        connection,
        sa.select(asked.c.left_item, asked.c.right_item, sheet.c.slot)
        .join(sheet, sa.and_(sheet.c.ballot_id == asked.c.ballot_id, sheet.c.number == asked.c.sheet))
        .join(ballot, ballot.c.id == asked.c.ballot_id)
        .where(ballot.c.campaign_id == info.id)
        .order_by(asked.c.ballot_id, asked.c.place),
    )
    shown = (left.astype(np.int32), right.astype(np.int32), np.zeros(left.size, np.int8))
    return Comparisons(info.items, *shown, info.slots, slot.astype(np.int32))
