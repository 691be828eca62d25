"""Draw the batches of a continuous campaign, or refuse to, if too many pairs are unanswered or no more are needed."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import sqlalchemy as sa

from adaptive._draw import draw_sets
from adaptive._protocol import ballot_rng
from adaptive.choices._choices import Choices
from adaptive.choices._sets import next_sets
from adaptive.choices._strengths import ChoiceStrengths
from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger._ballots.draws import store_ballot
from adaptive.ledger._ballots.pairs import (
    Pair,
    Sheet,
    are_not_dropped,
    asked_pairs,
    drop_sheets,
    dropped_sheets,
    pairs_of_voter,
)
from adaptive.ledger._ballots.sheets import free_remainders, is_leased, lock_remainders, n_unanswered_for
from adaptive.ledger._ballots.stored import Array, StoredBallot, counted_votes, full_votes, stored_ballots
from adaptive.ledger._campaign.plan import ContinuousPlan, slots_of_batch
from adaptive.ledger._campaign.transaction import CampaignInfo, OpenCampaign, Transaction
from adaptive.ledger._store import schema
from adaptive.ledger.errors import ChangedError, LedgerError, NotReadyError
from adaptive.matching._matching import Matches, next_comparisons
from adaptive.matching._rounds import WHILE_MATCHING, interim_strengths
from adaptive.matching._stopping import RISK, SHORT, StoppingRule
from adaptive.model._models import bradley_terry
from adaptive.model._strengths import Strengths
from rankcorr import TauW

Waits: TypeAlias = Literal["target", "pairs"]
_REFUSED: Final = "no batch"
_STATE: Final = ("batches", "answers", "changed", "decided")
_DECIDING: Final = ("excluded", "included", "left", "reopened")
_SET_DRAWS: Final = 8  # draws for a batch: with few items, some sets are drawn again and discarded


@dataclass(frozen=True)
class Refusal:
    """The reason why no batch can be drawn in a state, for one voter or for all; kept, because finding it takes a fit.

    Attributes
    ----------
    reason : str
        Text for the organiser.
    cause : {"target", "pairs"} or None
        As in `why_it_waits`.
    state : dict
        As `refusal_state` returns it. The refusal holds until the state changes.
    voter_id : int or None
        The voter, or None for all voters.
    """

    reason: str
    cause: Waits | None
    state: dict[str, int]
    voter_id: int | None = None


def refusal_state(transaction: Transaction) -> dict[str, int]:
    """Return the state that a refusal applies to: the numbers of batches, answers, changed answers and decisions.

    These numbers stay the same in a restored campaign, whose rows have other ids. Answers to checks count, too.
    Otherwise voters could recognise a check, because no new pairs follow its answer.
    """
    sheet, ballot, event = schema.sheet, schema.ballot, schema.audit_event
    counts = (sa.func.count(ballot.c.id.distinct()), sa.func.sum(sheet.c.n_answered + sheet.c.n_checked))
    counted = sa.select(*counts).select_from(schema.SHEETS).where(transaction.of_campaign(ballot))
    changed = transaction.count(schema.VOTES, transaction.of_campaign(ballot), schema.vote_event.c.revision > 1)
    decided = transaction.count(event, transaction.of_campaign(event), event.c.kind.in_(_DECIDING))
    values = (*transaction.execute(counted).one(), changed, decided)
    return {name: int(number or 0) for name, number in zip(_STATE, values, strict=True)}


def last_refusal(transaction: Transaction, *voters: int | None) -> Refusal | None:
    """Return the latest refused draw for any of these voters, where None stands for a refusal for all voters.

    Without voters, return the latest of all refusals.
    """
    event = schema.audit_event
    is_refusal = (transaction.of_campaign(event), event.c.kind == _REFUSED)
    query = sa.select(event.c.details, event.c.voter_id).where(*is_refusal)
    if voters:
        query = query.where(sa.or_(*(event.c.voter_id.is_not_distinct_from(voter) for voter in voters)))
    row = transaction.execute(query.order_by(event.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    details = json.loads(row.details)
    state = {name: details.get(name, 0) for name in _STATE}
    return Refusal(details["reason"], details.get("cause"), state, row.voter_id)


def write_refusal(transaction: Transaction, refusal: Refusal) -> None:
    """Record a refusal, so that later requests in the same state are refused without another fit."""
    before = last_refusal(transaction, refusal.voter_id)
    if before is None or before.state != refusal.state:
        details = {**refusal.state, "reason": refusal.reason, "cause": refusal.cause}
        transaction.audit(_REFUSED, details, voter_id=refusal.voter_id)


def why_it_waits(transaction: Transaction) -> Waits | None:
    """Return why no further pairs are asked in the current state; None if no request has been refused in it.

    "target": the expected accuracy is reached. "pairs": the last voter to ask has answered all remaining pairs, so
    those are left for other voters.
    """
    refused = last_refusal(transaction)
    return None if refused is None or refused.state != refusal_state(transaction) else refused.cause


def n_spent(transaction: Transaction) -> int:
    """Return the number of comparisons that count against the budget: those drawn and not dropped."""
    n_drawn = sum(ballot.n_comparisons for ballot in stored_ballots(transaction))
    return n_drawn - sum(dropped_sheets(transaction).values())


def is_budget_left(transaction: Transaction) -> bool:
    """Return whether a continuous campaign may still draw comparisons, without replacing any."""
    return transaction.info.mode == "continuous" and n_spent(transaction) < transaction.info.batch_plan.budget


def may_draw(transaction: Transaction, voter_id: int | None = None) -> bool:
    """Return whether a batch is due and within the budget; False for a campaign of ballots.

    After a draw was refused because the target is reached or no pair is left, the result is False until another answer
    arrives. For a voter who has answered all pairs it stays False.
    """
    if not is_more_wanted(transaction, voter_id):
        return False
    return n_waiting(transaction, voter_id) <= transaction.info.batch_plan.batch // 2 and is_budget_left(transaction)


def may_replace(transaction: Transaction, voter_id: int) -> bool:
    """Return whether the budget is spent and comparisons of free sheets can be replaced for this voter.

    The voter may be asked none of these comparisons, but has other pairs to answer.
    """
    if not is_more_wanted(transaction, voter_id) or is_budget_left(transaction):
        return False
    return bool(free_remainders(transaction))


def is_more_wanted(transaction: Transaction, voter_id: int | None = None) -> bool:
    """Return whether a continuous campaign may still ask this voter, or a new one, another pair.

    The organiser opens the first batch. Before that, voters would answer a campaign that may still be changed.
    """
    if transaction.info.mode != "continuous":
        return False
    ballots = stored_ballots(transaction)
    if not ballots or _has_ended(ballots):
        return False
    if voter_id is not None and not _n_unseen(transaction, voter_id):
        return False
    voters = (None,) if voter_id is None else (None, voter_id)
    refused = last_refusal(transaction, *voters)
    return refused is None or refused.state != refusal_state(transaction)


def record_no_pairs_left(transaction: Transaction, voter_id: int) -> None:
    """Record that a voter has answered all remaining comparisons, which are left for other voters."""
    has_pairs = transaction.info.mode == "continuous" and _n_unseen(transaction, voter_id) > 0
    if not has_pairs and (free_remainders(transaction) or is_more_wanted(transaction)):
        reason = "the voter has answered every pair that is left"
        write_refusal(transaction, Refusal(reason, "pairs", refusal_state(transaction), voter_id))


def n_waiting(transaction: Transaction, voter_id: int | None) -> int:
    """Return the number of unanswered pairs that delay the next batch, for a voter or for a new one.

    Pairs on dropped sheets do not count. If sheets are claimed, checks count, too. Otherwise the arrival of a batch
    would tell a voter which answers were to checks.
    """
    sheet, ballot = schema.sheet, schema.ballot
    is_open = (transaction.of_campaign(ballot), ballot.c.state == "open", *are_not_dropped(transaction))
    if transaction.info.settings.assigned:
        n_left = sa.select(sa.func.sum(schema.N_LEFT)).select_from(schema.SHEETS)
        return int(transaction.scalar(n_left.where(*is_open)) or 0)
    is_held = is_leased(transaction)
    left = sheet.c.n_comparisons + sheet.c.n_checks - sheet.c.n_answered - sheet.c.n_checked
    sums = (sa.func.sum(sa.case((is_held, 0), else_=left)), sa.func.sum(sa.case((is_held, left), else_=0)))
    counted = sa.select(*sums, sa.func.max(sheet.c.n_comparisons + sheet.c.n_checks)).select_from(schema.SHEETS)
    n_free, n_held, largest = transaction.execute(counted.where(*is_open)).one()
    free = int(n_free or 0) if voter_id is None else n_unanswered_for(transaction, voter_id)
    return max(free, free + int(n_held or 0) - len(transaction.info.slots) * int(largest or 0))


def draw_batch(campaign: OpenCampaign, *, at_once: bool = False, voter_id: int | None = None, n_voters: int = 1) -> int:
    """Draw the next batch, store it and return its number.

    The strengths fitted to all votes so far determine the pairs. A batch is due when at most half a batch is still
    unanswered. If voters claim sheets, the sheets that they hold do not count as unanswered, up to one for each voter
    that the campaign is planned for. A slow or absent voter therefore does not block the others.

    Once the budget is spent, a batch for a voter replaces comparisons of free sheets, which would stay unanswered if
    nobody else came. These sheets are dropped, and no voter gets them again.

    Parameters
    ----------
    at_once : bool
        Draw the batch even if it is not due.
    voter_id : int or None
        The voter who waits for the batch, in campaigns whose sheets are claimed. The batch contains no pair that this
        voter has answered. It is drawn even if other sheets are free, provided that this voter has answered a pair on
        each of them.
    n_voters : int
        Number of voters who wait. The size is the multiple of a batch that gives each of them a sheet.

    Raises
    ------
    NotReadyError
        If too much of the last batch is unanswered.
    ChangedError
        If another request drew the batch at the same moment.
    LedgerError
        If the budget is spent, the expected accuracy is reached, the campaign has ended, or the voter who waits, or all
        voters, have seen all pairs.
    """
    batch = campaign.read(_choose_batch, at_once, voter_id, n_voters)
    if isinstance(batch, Refusal):
        campaign.write(write_refusal, batch)
        raise LedgerError(batch.reason)
    return campaign.write(_store_batch, batch)


class _Batch(NamedTuple):
    """The comparisons of a batch that is not stored yet."""

    number: int
    matches: Matches
    other_items: Array | None  # of sets, after the first two
    replaced: Mapping[Sheet, int]  # sheets to drop, with their unanswered comparisons


def _choose_batch(transaction: Transaction, at_once: bool, voter_id: int | None, n_voters: int) -> _Batch | Refusal:
    """Choose the comparisons of `draw_batch`, or find the reason to refuse them."""
    info, plan, ballots = transaction.info, transaction.info.batch_plan, stored_ballots(transaction)
    if _has_ended(ballots):
        raise LedgerError("the campaign has ended: no further comparisons are drawn")
    number = len(ballots) + 1
    size, replaced = min(_size_for(info, plan, n_voters), plan.budget - n_spent(transaction)), dict[Sheet, int]()
    if size <= 0:
        replaced = {} if voter_id is None else _replaceable(transaction, plan)
        if not replaced:
            raise LedgerError(f"the budget of {plan.budget:,} comparisons is spent")
        size = min(plan.batch, sum(replaced.values()))
    waiting = n_waiting(transaction, voter_id)
    if waiting > plan.batch // 2 and not (at_once or replaced):
        n_free = sum(free_remainders(transaction).values()) if info.settings.assigned else 0
        advice = "on sheets of voters who left or are excluded: give them to others (in a shell, `ballots run assign`)"
        raise NotReadyError(
            f"{waiting:,} pairs are unanswered; the next batch can be drawn when at most {plan.batch // 2:,} are left"
            + (f"; {n_free:,} are {advice}" if n_free else "")
        )
    if voter_id is not None and not _n_unseen(transaction, voter_id):
        return Refusal("the voter has seen all pairs", "pairs", refusal_state(transaction), voter_id)
    other_items: Array | None = None
    if info.set_size > 2:
        choices = full_votes(transaction, transaction.excluded_voters())
        if choices is not None and plan.target is not None and _is_target_reached(plan.target, choices, transaction):
            reason = f"the votes reach the target, an expected tau_w of {plan.target}"
            return Refusal(reason, "target", refusal_state(transaction))
        # The spread of strengths is fixed: estimating it takes five times as long and does not improve the sets.
        strengths_of_sets = None if choices is None else choices.fit(prior=WHILE_MATCHING.sd)
        matches, other_items = _draw_sets(transaction, strengths_of_sets, size, number, voter_id, plan.n0)
    elif info.group_of_items is not None:
        matches = _match_within_groups(transaction, info.group_of_items, size, number, voter_id)
    else:
        votes = counted_votes(transaction)
        strengths = interim_strengths(votes, None)
        if plan.target is not None and votes.n_comparisons >= info.n_items and strengths.signal.is_significant:
            decision = StoppingRule(plan.target)(bradley_terry(votes, voters=True, start=strengths))
            if decision:
                return Refusal(decision.reason, "target", refusal_state(transaction))
        matches = _match(transaction, plan, strengths, size, number, voter_id)
        if not (len(matches) or voter_id is not None or info.settings.assigned):
            # No refusal for all voters: one who has answered fewer pairs may be asked others.
            raise LedgerError(
                "no batch can be drawn: as many voters as the plan has could answer all pairs that were drawn; "
                "other voters get further pairs when they ask for a sheet"
            )
    if not len(matches):
        return Refusal(f"no batch can be drawn: {matches.reason}", "pairs", refusal_state(transaction), voter_id)
    return _Batch(number, matches, other_items, replaced)


def _store_batch(transaction: Transaction, batch: _Batch) -> int:
    """Store a batch, drop the sheets that it replaces, and return its number."""
    ballots = stored_ballots(transaction)
    if ballots:
        # The campaign may be ended before or after this step, but not during it.
        transaction.lock_ballot(ballots[-1].id, exclusive=True)
        ballots = stored_ballots(transaction)
    if len(ballots) != batch.number - 1 or not lock_remainders(transaction, batch.replaced):
        raise ChangedError(f"batch {batch.number} was drawn by another request at the same moment")
    if _has_ended(ballots):
        raise LedgerError("the campaign has ended: no further comparisons are drawn")
    drop_sheets(transaction, batch.replaced)
    places = np.arange(transaction.info.n_items)
    store_ballot(
        transaction, batch.matches, places, number=batch.number, presentations=1, other_items=batch.other_items
    )
    return batch.number


def _has_ended(batches: Sequence[StoredBallot]) -> bool:
    """Return whether a continuous campaign has ended, which closes all its batches together."""
    return bool(batches) and all(batch.state == "closed" for batch in batches)


def _size_for(info: CampaignInfo, plan: ContinuousPlan, n_voters: int) -> int:
    """Return the size of a batch that has a sheet for each waiting voter."""
    of_sheet = info.settings.sheet_size
    n_sheets = slots_of_batch(plan.batch, len(info.slots), info.settings)
    if of_sheet is None:  # each slot has one sheet
        n_voters = min(n_voters, len(info.slots))
    else:
        n_sheets = max(n_sheets, -(-plan.batch // of_sheet))
    return plan.batch * max(1, -(-n_voters // n_sheets))


def _replaceable(transaction: Transaction, plan: ContinuousPlan) -> dict[Sheet, int]:
    """Return free sheets with enough unanswered comparisons for a batch, if there are as many."""
    replaced: dict[Sheet, int] = {}
    for sheet, n_left in free_remainders(transaction).items():
        if sum(replaced.values()) < plan.batch:
            replaced[sheet] = n_left
    return replaced


def _match(
    transaction: Transaction, plan: ContinuousPlan, strengths: Strengths, size: int, number: int, voter_id: int | None
) -> Matches:
    """Return the comparisons of a batch, without pairs that the waiting voter has seen."""
    info, (left, right, slot) = transaction.info, _shown_to_slots(transaction)
    history = _history(info, left, right, slot)
    fewest = np.sort(_slots_with_fewest(info, slot, size))

    def match(slots: Array, history: Comparisons) -> Matches:
        rng, voters = ballot_rng(info.seed, number, "draw"), [info.slots[slot] for slot in slots.tolist()]
        matches = next_comparisons(
            strengths, size, rng=rng, voters=voters, voter_history=history, n0=plan.n0, focus=plan.focus
        )
        return replace(matches, voters=tuple(info.slots), voter=slots[matches.voter].astype(np.int32))

    if voter_id is not None:
        if _n_unseen(transaction, voter_id) < size:
            fewest = fewest[:1]  # two sheets would have the same pairs, and the voter would get only one
        return match(fewest, _pairs_answered_by(transaction, voter_id, fewest))
    matches = match(fewest, history)
    return matches if len(matches) == size else match(np.arange(len(info.slots)), history)


def _is_target_reached(target: float, choices: Choices, transaction: Transaction) -> bool:
    """Return whether votes on sets reach the target, by the rule that `StoppingRule` applies to pairs."""
    expected = choices.fit().expected_correlation(TauW())
    is_short = np.mean(~(expected.values >= target - SHORT)) > RISK
    return (
        expected.mean >= target
        and not is_short
        and interim_strengths(counted_votes(transaction), None).signal.is_significant
    )


def _draw_sets(
    transaction: Transaction, strengths: ChoiceStrengths | None, size: int, number: int, voter_id: int | None, n0: float
) -> tuple[Matches, Array]:
    """Return the sets of a batch: the first two items of each as a comparison, and its other items.

    Without votes, every item is in the same number of sets. Each set goes to the slot that has the fewest. No slot gets
    a set twice, or one that the waiting voter has answered.
    """
    info, rng = transaction.info, ballot_rng(transaction.info.seed, number, "draw")
    earlier_sets = _drawn_sets(transaction)
    members = np.array([item for _, items in earlier_sets for item in items], np.int64)
    n_shown = np.bincount(members, minlength=info.n_items)
    slots = _slots_with_fewest(info, np.array([slot for slot, _ in earlier_sets], np.int64), size)
    known = set() if voter_id is None else pairs_of_voter(transaction, voter_id).pairs()
    sets_of_slot: defaultdict[int, set[Pair]] = defaultdict(lambda: set(known))
    if info.settings.assigned:  # the slot is one voter
        for slot, items in earlier_sets:
            sets_of_slot[slot].add(tuple(sorted(items)))
    of_slot: dict[int, dict[Pair, list[int]]] = {slot: {} for slot in sorted(slots.tolist())}

    def draw(n_sets: int) -> Array:
        if strengths is not None:
            return next_sets(strengths, n_sets, set_size=info.set_size, n_shown=n_shown, n0=n0, rng=rng)
        presentations = -(-n_sets * info.set_size // info.n_items)
        return np.array(draw_sets(info.n_items, info.set_size, presentations, rng)[:n_sets], np.int64)

    def deal(sets: Iterable[list[int]]) -> None:
        for row in sets:
            members = tuple(sorted(row))
            free = [slot for slot in of_slot if members not in of_slot[slot] and members not in sets_of_slot[slot]]
            if free:
                of_slot[min(free, key=lambda slot: len(of_slot[slot]))][members] = row

    for _ in range(_SET_DRAWS):
        if missing := size - sum(map(len, of_slot.values())):
            deal(draw(missing).tolist())
    if not any(of_slot.values()):  # there are so few items that the voter has answered most sets
        others = [
            members
            for members in combinations(range(info.n_items), info.set_size)
            if any(members not in sets_of_slot[slot] for slot in of_slot)
        ]
        deal([rng.permutation(others[at]).tolist() for at in rng.permutation(len(others))[:size]])
    voter = np.repeat(list(of_slot), [len(sets) for sets in of_slot.values()]).astype(np.int32)
    rows = np.array([row for sets in of_slot.values() for row in sets.values()], np.int64).reshape(-1, info.set_size)
    first, second = rows[:, :2].astype(np.int32).T
    reason = "" if len(rows) else "the voters have seen all sets"
    return Matches(tuple(info.items), tuple(info.slots), first, second, voter, reason), rows[:, 2:]


def _drawn_sets(transaction: Transaction) -> list[tuple[int, tuple[int, ...]]]:
    """Return the slot and items of each set drawn so far."""
    pair = schema.comparison
    sets = sa.select(schema.sheet.c.slot, pair.c.left_item, pair.c.right_item, pair.c.other_items)
    of_campaign = sets.select_from(schema.PAIRS_ON_SHEETS).where(transaction.of_campaign(schema.ballot))
    rows = transaction.execute(of_campaign)
    return [(row.slot, (row.left_item, row.right_item, *json.loads(row.other_items))) for row in rows]


def _match_within_groups(
    transaction: Transaction, group: Array, size: int, number: int, voter_id: int | None
) -> Matches:
    """Return the comparisons of a batch in a campaign with target groups: those that were asked least often.

    No pair exceeds its share of the budget, and the waiting voter has seen none of them.
    """
    info, rng = transaction.info, ballot_rng(transaction.info.seed, number, "draw")
    left, right = np.triu_indices(info.n_items, 1)
    is_within = group[left] == group[right]
    left, right = left[is_within], right[is_within]
    place: dict[Pair, int] = {pair: at for at, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True))}
    n_asked = np.zeros(left.size, np.int64)
    for pair in asked_pairs(transaction):
        n_asked[place[pair]] += 1
    shown_pairs = _shown_to_slots(transaction)
    slots = np.sort(_slots_with_fewest(info, shown_pairs[-1], size))
    pairs_of_slot: dict[int, set[int]] = {slot: set() for slot in slots.tolist()}
    if voter_id is not None:
        known = {place[pair] for pair in pairs_of_voter(transaction, voter_id).pairs() if pair in place}
        pairs_of_slot = dict.fromkeys(slots.tolist(), known)
    elif info.settings.assigned:
        for first, second, slot in zip(*(column.tolist() for column in shown_pairs), strict=True):
            if slot in pairs_of_slot:
                pairs_of_slot[slot].add(place[min(first, second), max(first, second)])
    most = -(-info.batch_plan.budget // left.size)
    order = n_asked + rng.random(left.size)  # pairs asked least often come first; ties are broken at random
    of_slot: dict[int, list[int]] = {slot: [] for slot in pairs_of_slot}
    while sum(map(len, of_slot.values())) < size and order.min() < most:
        at = int(order.argmin())
        free = [slot for slot in of_slot if at not in pairs_of_slot[slot]]
        if not free:
            order[at] = np.inf
            continue
        slot = min(free, key=lambda slot: len(of_slot[slot]))
        of_slot[slot].append(at)
        pairs_of_slot[slot] = pairs_of_slot[slot] | {at}
        order[at] += 1.0
    slots_of_pairs = [(at, slot) for slot, slot_pairs in of_slot.items() for at in rng.permutation(slot_pairs).tolist()]
    places = np.array([at for at, _ in slots_of_pairs], np.int64)
    swaps = rng.random(places.size) < 0.5
    sides = np.where(swaps, right[places], left[places]), np.where(swaps, left[places], right[places])
    voters = np.array([slot for _, slot in slots_of_pairs], np.int32)
    reason = "" if len(slots_of_pairs) == size else "the voters have seen the pairs that still need answers"
    first, second = (side.astype(np.int32) for side in sides)
    return Matches(tuple(info.items), tuple(info.slots), first, second, voters, reason)


def _n_unseen(transaction: Transaction, voter_id: int) -> int:
    """Return how many pairs a voter has not answered."""
    return transaction.info.n_pairs - len(pairs_of_voter(transaction, voter_id).pairs())


def _shown_to_slots(transaction: Transaction) -> tuple[Array, Array, Array]:
    """Return the left and right items of all pairs that were shown, answered or not, and the slot of each pair."""
    pair = schema.comparison
    counts: sa.ColumnElement[bool] = pair.c.probe.is_(None)
    if transaction.info.settings.assigned:  # the slot is one voter
        counts = sa.or_(counts, pair.c.probe == "overlap")
    pairs = sa.select(pair.c.left_item, pair.c.right_item, schema.sheet.c.slot).select_from(schema.PAIRS_ON_SHEETS)
    of_campaign = pairs.where(transaction.of_campaign(schema.ballot), counts)
    left, right, slot = transaction.integer_columns(of_campaign.order_by(pair.c.ballot_id, pair.c.place))
    return left, right, slot


def _slots_with_fewest(info: CampaignInfo, shown_to: Array, size: int) -> Array:
    """Return the slots for a batch: those with the fewest pairs so far, fewest first."""
    n_slots = len(info.slots)
    by_number = np.argsort(np.bincount(shown_to, minlength=n_slots), kind="stable")
    return by_number[: slots_of_batch(size, n_slots, info.settings)]


def _pairs_answered_by(transaction: Transaction, voter_id: int, slots: Array) -> Comparisons:
    """Return the pairs that a voter has answered, once for each slot."""
    pairs = np.array(sorted(pairs_of_voter(transaction, voter_id).pairs()), np.int64).reshape(-1, 2)
    left, right = np.tile(pairs.T, slots.size)
    return _history(transaction.info, left, right, np.repeat(slots, len(pairs)))


def _history(info: CampaignInfo, left: Array, right: Array, slot: Array) -> Comparisons:
    """Return pairs as comparisons with arbitrary winners."""
    columns = (left.astype(np.int32), right.astype(np.int32), np.zeros(left.size, np.int8))
    return Comparisons(info.items, *columns, info.slots, slot.astype(np.int32))
