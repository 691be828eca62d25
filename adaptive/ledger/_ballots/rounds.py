"""Run the rounds of a campaign, the ballots of a plan in order or batches: open, list what they ask, preview, close."""

import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from adaptive._draw import Ballot, draw_ballot
from adaptive._protocol import Position, ballot_rng
from adaptive._record import BallotRecord
from adaptive._votes import Comparison
from adaptive.errors import VoteError
from adaptive.ledger._ballots.batches import draw_batch, n_spent
from adaptive.ledger._ballots.draws import store_ballot
from adaptive.ledger._ballots.sheets import assign_slots, forget_addresses
from adaptive.ledger._ballots.stored import (
    CurrentVotes,
    Scored,
    StoredBallot,
    ballot_stamp,
    current_votes,
    load_ballot,
    not_ready,
    position_after,
    record_dict,
    score_ballot,
    stored_ballots,
    too_few,
    votes_digest,
    write_record,
)
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.transaction import OpenCampaign, Transaction, closer_time, is_overdue
from adaptive.ledger._reports.results import Preview, preview_of, result_of
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import pair_id
from adaptive.ledger._voters.identity import voter_named
from adaptive.ledger.errors import ChangedError, ConflictError, LedgerBusyError, LedgerError, NotReadyError
from rankcorr._workers import Progress


def close(
    campaign: OpenCampaign, number: int, *, least_answered: float | None = None, stamp: str | None = None
) -> BallotRecord:
    """Close a ballot: count its votes, score it, and select the items of the next ballot.

    Its options and errors are those of `Campaign.close`.
    """
    closer = uuid.uuid4().hex
    ballot_id = campaign.write(lambda transaction: _elect(transaction, number, closer, stamp))
    try:
        counted = campaign.read(lambda transaction: _count(transaction, ballot_id))
        least = campaign.info.settings.least_answered if least_answered is None else least_answered
        scored = _checked(campaign.info, counted, least)
        record = record_dict(scored, counted.excluded)
        campaign.write(lambda transaction: _write(transaction, counted, closer, record))
    except BaseException:
        # Also after Ctrl-C, so that voters need not wait until the closer's time is up.
        campaign.write(lambda transaction: _release(transaction, ballot_id, closer))
        raise
    return scored.record


def reopen(transaction: Transaction, number: int, reason: str) -> None:
    """Reopen the last closed ballot and set its record aside, provided that no later ballot was opened.

    Its errors are those of `Campaign.reopen`.
    """
    ballots = stored_ballots(transaction)
    if 1 <= number <= len(ballots):
        # Another process may draw a ballot from these scores; the lock makes it do so before or after this step.
        transaction.lock_ballot(ballots[number - 1].id, exclusive=True)
        ballots = stored_ballots(transaction)
    if not 1 <= number <= len(ballots) or ballots[number - 1].state != "closed":
        raise LedgerError(f"ballot {number} is not closed: there is nothing to open again")
    if number < len(ballots):
        raise LedgerError(
            f"ballot {number} cannot be opened again: ballot {number + 1} was drawn from its scores, and is "
            f"{ballots[number].state}"
        )
    stored = ballots[-1]
    details = {"reason": reason, "record": stored.record, "chain_digest": stored.chain_digest}
    transaction.audit("reopened", details, ballot_id=stored.id)
    values = {"state": "open", "record": None, "votes_digest": None, "chain_digest": None, "closed_at": None}
    transaction.execute(sa.update(schema.ballot).where(schema.ballot.c.id == stored.id).values(values))


@dataclass(frozen=True, eq=False)
class _Counted:
    """The data that a closer reads, at one moment after the last vote."""

    stored: StoredBallot
    previous: str | None  # chain digest of the ballot before
    before: Position
    excluded: dict[int, str]
    ballot: Ballot
    votes: CurrentVotes
    digest: str


def _elect(transaction: Transaction, number: int, closer: str, stamp: str | None) -> int:
    table = schema.ballot
    has_number = (table.c.campaign_id == transaction.info.id, table.c.number == number)
    ballot_id: int | None = transaction.execute(sa.select(table.c.id).where(*has_number)).scalar()
    if ballot_id is not None:
        # Votes before this point are counted; later voters find the ballot closing.
        transaction.lock_ballot(ballot_id, exclusive=True)
        if stamp is not None and stamp != ballot_stamp(transaction, number):
            raise ChangedError(f"ballot {number} was closed or opened, or its voters changed, since you reviewed it")
    state = transaction.execute(sa.select(table.c.state).where(table.c.id == ballot_id)).scalar()
    if ballot_id is None or state == "closed":
        raise LedgerError(f"ballot {number} is not open: there is nothing to close")
    at = transaction.clock()
    may_close = (table.c.id == ballot_id, sa.or_(table.c.state == "open", is_overdue(at)))
    closing = sa.update(table).values(state="closing", closer=closer, closer_until=at + closer_time())
    if not transaction.execute(closing.where(*may_close)).rowcount:
        raise ConflictError(f"ballot {number} is being closed by another request")
    return int(ballot_id)


def _count(transaction: Transaction, ballot_id: int) -> _Counted:
    ballots = stored_ballots(transaction)
    stored = next(ballot for ballot in ballots if ballot.id == ballot_id)
    _, before = position_after(transaction.info, ballots[: stored.number - 1])
    excluded = transaction.excluded_voters()
    previous = ballots[stored.number - 2].chain_digest if stored.number > 1 else None
    ballot, votes = load_ballot(transaction, stored), current_votes(transaction, stored.id).excluding(excluded)
    return _Counted(stored, previous, before, excluded, ballot, votes, votes_digest(transaction, stored.id))


def _checked(info: CampaignInfo, counted: _Counted, least: float) -> Scored:
    stored = counted.stored
    if few := too_few(counted.votes.n_answered, stored.n_comparisons, least):
        raise not_ready(f"ballot {stored.number}: ", few, counted.votes.n_answered, stored.n_comparisons)
    try:
        return score_ballot(info, stored, counted.ballot, counted.votes, counted.before)
    except VoteError as error:
        raise NotReadyError(f"ballot {stored.number} cannot be scored, and was not closed: {error}") from error


def _write(transaction: Transaction, counted: _Counted, closer: str, record: Mapping[str, Any]) -> None:
    table, stored = schema.ballot, counted.stored
    is_mine = sa.and_(table.c.state == "closing", table.c.closer == closer)
    if write_record(transaction, stored, counted.previous, counted.digest, record, is_mine) is None:
        raise LedgerBusyError(f"ballot {stored.number} was taken over by another closer, or opened again to voters")
    forget_addresses(transaction, stored.id)
    transaction.audit("closed", {"n_answered": record["n_answered"]}, ballot_id=stored.id)


def _release(transaction: Transaction, ballot_id: int, closer: str) -> None:
    table = schema.ballot
    is_mine = (table.c.id == ballot_id, table.c.state == "closing", table.c.closer == closer)
    transaction.execute(sa.update(table).where(*is_mine).values(state="open", closer=None, closer_until=None))


def open_next(campaign: OpenCampaign, *, at_once: bool = False) -> int:
    """Draw the next ballot or batch from the votes so far, store it, and return its number.

    Votes are read in one transaction, and the ballot is stored in another, which checks that nothing has changed.

    Its options and errors are those of `Campaign.open_next`.
    """
    if campaign.info.mode == "continuous":
        return draw_batch(campaign, at_once=at_once)
    plan = campaign.info.ballot_plan
    ballots = campaign.read(stored_ballots)
    if ballots and ballots[-1].state != "closed":
        again = "(ballots run open --again writes it again)"
        raise LedgerError(f"ballot {len(ballots)} is open: close it before you open the next one {again}")
    if len(ballots) == plan.n_ballots:
        raise LedgerError(f"all {plan.n_ballots} ballots are closed: none is left to open")
    number = len(ballots) + 1
    _, position = position_after(campaign.info, ballots)
    rng = ballot_rng(campaign.info.seed, number, "draw")
    ballot = draw_ballot(position.labels(campaign.info.items), plan.presentations, campaign.info.slots, rng)

    def work(transaction: Transaction) -> int:
        if ballots:  # the last ballot must stay closed until this one is stored
            transaction.lock_ballot(ballots[-1].id, exclusive=False)
        fresh = stored_ballots(transaction)
        if len(fresh) != len(ballots):
            raise LedgerError(f"ballot {number} was opened by another request at the same moment")
        if ballots and fresh[-1].chain_digest != ballots[-1].chain_digest:
            raise LedgerError(f"ballot {number - 1} was opened again at the same moment: its scores may change")
        ballot_id = store_ballot(transaction, ballot, position.places, number=number, presentations=plan.presentations)
        if transaction.info.settings.assigned:
            assign_slots(transaction, ballot_id)
        transaction.audit("opened", {"numpy": np.__version__}, ballot_id=ballot_id)
        return number

    return campaign.write(work)


def preview(
    transaction: Transaction,
    number: int | None = None,
    *,
    least_answered: float | None = None,
    progress: Progress | None = None,
) -> Preview:
    """Return the effect of closing the open ballot, or all batches, without changing anything.

    Its options and errors are those of `Campaign.preview`.
    """
    if transaction.info.mode == "ballots":
        ballot = preview_of(transaction, least_answered=least_answered, progress=progress)
        stamp = ballot_stamp(transaction, ballot.ballot if number is None else number)
        same = ("n_comparisons", "n_answered", "least_answered", "is_ready", "cut")
        return Preview(stamp, **{name: getattr(ballot, name) for name in same}, expected=None, of_ballot=ballot)
    least = transaction.info.settings.least_answered if least_answered is None else least_answered
    ballots, n_comparisons = stored_ballots(transaction), n_spent(transaction)
    table = schema.sheet
    of_campaign = sa.select(sa.func.sum(table.c.n_answered)).where(table.c.ballot_id.in_([b.id for b in ballots]))
    n_answered = int(transaction.scalar(of_campaign) or 0)
    is_open = any(stored.state != "closed" for stored in ballots)
    result = None
    with suppress(LedgerError):  # there is no vote to rank by: all voters are excluded, or cannot say
        result = result_of(transaction, interim=True, progress=progress)
    return Preview(
        stamp=ballot_stamp(transaction, max(1, len(ballots)) if number is None else number),
        n_comparisons=n_comparisons,
        n_answered=n_answered,
        least_answered=least,
        is_ready=is_open and not too_few(n_answered, n_comparisons, least),
        expected=None if result is None else result.expected,
        cut=None if result is None else result.cut,
        of_ballot=None,
    )


def open_comparisons(
    transaction: Transaction, *, number: int | None = None, voter: str | None = None, unanswered: bool = False
) -> tuple[Comparison, ...]:
    """Return the comparisons of all open ballots, checks included, by sheet and in display order.

    The options are those of `Campaign.asked`.
    """
    ballot, pair, lease, event = schema.ballot, schema.comparison, schema.lease, schema.vote_event
    of_sheet = sa.and_(lease.c.ballot_id == pair.c.ballot_id, lease.c.sheet == pair.c.sheet, lease.c.ended_at.is_(None))
    of_pair = (ballot.c.number, pair.c.sheet, pair.c.position, pair.c.left_item, pair.c.right_item)
    query = (
        sa.select(*of_pair, lease.c.voter_id)
        .select_from(pair)
        .join(ballot, ballot.c.id == pair.c.ballot_id)
        .outerjoin(lease, of_sheet)
        .where(ballot.c.campaign_id == transaction.info.id, ballot.c.state == "open")
        .order_by(ballot.c.number, pair.c.sheet, pair.c.position)
    )
    if number is not None:
        query = query.where(ballot.c.number == number)
    if voter is not None:
        query = query.where(lease.c.voter_id == voter_named(transaction, voter))
    if unanswered:
        same = (event.c.ballot_id == pair.c.ballot_id, event.c.place == pair.c.place)
        query = query.where(~sa.exists().where(*same, *schema.in_force(event)))
    names = transaction.voter_names()
    comparisons = []
    for row in transaction.execute(query):
        left, right = transaction.info.items[row.left_item], transaction.info.items[row.right_item]
        pair_name = pair_id(row.number, row.sheet, row.position)
        comparisons.append(Comparison(pair_name, names.get(row.voter_id, ""), left, right))
    return tuple(comparisons)
