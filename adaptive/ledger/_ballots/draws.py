"""Draw ballots and store all their rows, so that reading a ballot never requires drawing it again.

Any release, any version of numpy, and other software can therefore read the pairs that each voter was asked, with their
order and sides.

Probes are extra pairs of a ballot that tell about the voters. They are rows of the ballot, and answers to them are
votes, but they are never scored. They use a separate random generator, so that a campaign draws the same ballots with
and without them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive._draw import Asked, draw_ballot
from adaptive._protocol import ballot_rng
from adaptive._tables import item_name
from adaptive._votes import WORDS, Comparison, SetComparison
from adaptive.ledger._ballots.pairs import present_voters
from adaptive.ledger._ballots.stored import Array, DrawnColumns, Probe, position_after, stored_ballots
from adaptive.ledger._campaign.plan import ContinuousPlan
from adaptive.ledger._campaign.settings import Probing, n_repeatable
from adaptive.ledger._campaign.transaction import CampaignInfo, OpenCampaign, Transaction, insert_columns, state_at
from adaptive.ledger._membership import register, voter_named
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import answer_name, digest_of, json_of, label_text, now, pair_id
from adaptive.ledger.errors import LedgerError


def open_ballot(campaign: OpenCampaign) -> int:
    """Draw the next ballot from the votes so far, store it, and return its number.

    One transaction reads the votes, and another one checks that nothing has changed and stores the ballot. Options and
    errors are those of `Campaign.open_next`.
    """
    plan = campaign.info.ballot_plan
    ballots = campaign.read(stored_ballots)
    if ballots and ballots[-1].state != "closed":
        again = "(in a shell, `ballots run open --again` writes it again)"
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
        store_ballot(transaction, ballot, position.places, number=number, presentations=plan.presentations)
        return number

    return campaign.write(work)


def store_ballot(
    transaction: Transaction,
    comparisons: Asked,
    places: NDArray[np.intp],
    *,
    number: int,
    presentations: int,
    other_items: Array | None = None,
) -> None:
    """Open a drawn ballot: store its sheets and comparisons, draw and store its probes, and assign its sheets.

    The comparisons of each slot are split in order into sheets of at most `CampaignSettings.sheet_size`. If another
    process stores the same ballot at the same time, a database constraint makes this call fail.

    Parameters
    ----------
    comparisons : Ballot or Matches
        The drawn comparisons.
    places : ndarray of intp
        Place in the campaign of each item of `comparisons`.
    number, presentations : int
        Number of the ballot, and presentations of each item.
    other_items : ndarray of int64, shape (n_comparisons, set_size - 2), optional
        Items of each set after the two in `comparisons`, as indices like theirs.
    """
    slot = comparisons.voter.astype(np.int64)
    sheet, position, sheets = sheets_of(slot, transaction.info.settings.sheet_size)
    others = np.empty((slot.size, 0), np.int64) if other_items is None else other_items
    items = places[np.column_stack([comparisons.left, comparisons.right, others])].astype(np.int64)
    columns = Drawn(sheet, position, items, sheets[:, 0])
    probes: list[Probe] = []
    if (probing := transaction.info.settings.probing) is not None:
        columns, probes = _number_positions(columns, _probes_for(transaction, probing, columns, number))
    inserted = sa.insert(schema.ballot).values(
        campaign_id=transaction.info.id,
        number=number,
        kind=transaction.info.unit,
        state="open",
        places=json_of(places.tolist()),
        presentations=presentations,
        n_comparisons=comparisons.n_comparisons,
        draw_digest=draw_digest(transaction.info, columns, probes),
        opened_at=now(),
    )
    ballot_id: int = transaction.scalar(inserted.returning(schema.ballot.c.id))
    numbers, (slots, counts) = list(range(len(sheets))), sheets.T.tolist()
    sheet_columns = {"number": numbers, "slot": slots, "n_comparisons": counts, "n_checks": n_checks(probes, numbers)}
    insert_columns(transaction.connection, schema.sheet, {"ballot_id": ballot_id, **sheet_columns})
    store_comparisons(transaction, ballot_id, columns, probes)
    if transaction.info.settings.assigned:
        _assign_slots(transaction, ballot_id)
    transaction.audit("opened", {"numpy": np.__version__}, ballot_id=ballot_id)


def _assign_slots(transaction: Transaction, ballot_id: int) -> None:
    """Give each sheet of a ballot to the voter of its slot.

    A voter who took over the last sheet of a slot keeps the slot. If the voter of a slot has left, its sheets stay free
    until they are given to another voter.
    """
    holders = _holders_of_slots(transaction)
    table = schema.sheet
    of_ballot = sa.select(table.c.number, table.c.slot).where(table.c.ballot_id == ballot_id)
    rows = transaction.execute(of_ballot.order_by(table.c.number)).all()
    same = {"ballot_id": ballot_id, "given_at": now(), "fence": 1, "exclusive": False}
    leases = []
    for number, slot in rows:
        if slot not in holders:
            holders[slot] = register(transaction, item_name(transaction.info.slots[slot]))
        if holders[slot] is not None:
            leases.append({**same, "sheet": number, "voter_id": holders[slot]})
    if leases:
        transaction.execute(sa.insert(schema.lease), leases)


def _holders_of_slots(transaction: Transaction) -> dict[int, int | None]:
    """Return the voter of each slot, according to the latest ballot that uses the slot; None if all of them left."""
    sheet, lease, ballot, voter = schema.sheet, schema.lease, schema.ballot, schema.voter
    voter_id = sa.case((voter.c.withdrawn_at.is_(None), lease.c.voter_id)).label("voter_id")
    holders = sa.select(sheet.c.slot, voter_id).select_from(sheet.join(lease).join(ballot).join(voter))
    of_campaign = holders.where(transaction.of_campaign(ballot))
    # Voters who left come first, so that any other voter of the slot replaces them.
    rows = transaction.execute(
        of_campaign.order_by(voter.c.withdrawn_at.is_(None), ballot.c.number, sheet.c.number, lease.c.fence)
    )
    return {row.slot: row.voter_id for row in rows}


def n_checks(probes: Iterable[Probe], sheets: Iterable[int]) -> list[int]:
    """Return the number of checks on each sheet, without practice."""
    counted = Counter(probe.sheet for probe in probes if probe.kind != "practice")
    return [counted[sheet] for sheet in sheets]


def store_comparisons(
    transaction: Transaction, ballot_id: int, comparisons: DrawnColumns, probes: Sequence[Probe]
) -> None:
    """Store the pairs of a ballot: its comparisons, and its probes in the places after them."""
    nothing = [None] * comparisons.sheet.size
    insert_columns(
        transaction.connection,
        schema.comparison,
        {
            "ballot_id": ballot_id,
            "place": list(range(comparisons.sheet.size + len(probes))),
            "sheet": comparisons.sheet.tolist() + [probe.sheet for probe in probes],
            "position": comparisons.position.tolist() + [probe.position for probe in probes],
            "left_item": comparisons.items[:, 0].tolist() + [probe.left for probe in probes],
            "right_item": comparisons.items[:, 1].tolist() + [probe.right for probe in probes],
            "probe": nothing + [probe.kind for probe in probes],
            "expected": nothing + [probe.expected for probe in probes],
            "repeats": nothing + [probe.repeats for probe in probes],
            "other_items": [json_of(items) if items else None for items in comparisons.items[:, 2:].tolist()]
            + [None] * len(probes),
        },
    )


def draw_digest(info: CampaignInfo, comparisons: DrawnColumns, probes: Sequence[Probe] = ()) -> str:
    """Return the SHA-256 of the lines of a draw: place, sheet, position and items, as JSON lists.

    Those of probes follow, as `probe_lines` returns them. Here, a position is the number of comparisons that the sheet
    shows earlier, without checks.
    """
    labels = [label_text(label) for label in info.items]
    before = _n_before(comparisons, probes)
    columns = zip(comparisons.sheet.tolist(), before, comparisons.items.tolist(), strict=False)
    lines = [
        f"[{place},{sheet},{position},{','.join([labels[item] for item in items])}]"
        for place, (sheet, position, items) in enumerate(columns)
    ]
    placed = zip(probes, before[len(lines) :], strict=True)
    lines += probe_lines(labels, [probe._replace(position=position) for probe, position in placed])
    return digest_of(lines)


def _number_positions(comparisons: Drawn, probes: Sequence[Probe]) -> tuple[Drawn, list[Probe]]:
    """Convert positions that count only comparisons to positions among all pairs of a sheet."""
    sheet, position = _places_on_sheets(comparisons, probes)
    is_comparison = np.arange(sheet.size) < comparisons.sheet.size
    order = np.lexsort((is_comparison, position, sheet))  # a probe comes before the comparison of its position
    positions = np.empty_like(sheet)
    positions[order] = np.arange(sheet.size) - _firsts(sheet[order])
    columns = replace(comparisons, position=positions[: comparisons.sheet.size])
    rest = zip(probes, positions[comparisons.sheet.size :].tolist(), strict=True)
    return columns, [probe._replace(position=position) for probe, position in rest]


def _n_before(comparisons: DrawnColumns, probes: Sequence[Probe]) -> list[int]:
    """Return the number of comparisons on the same sheet before each comparison, and then before each probe."""
    if not probes:
        return comparisons.position.tolist()  # type: ignore[no-any-return]
    sheet, position = _places_on_sheets(comparisons, probes)
    order = np.lexsort((position, sheet))
    is_comparison = (order < comparisons.sheet.size).astype(np.int64)
    counted = np.cumsum(is_comparison) - is_comparison
    before = np.empty_like(sheet)
    before[order] = counted - counted[_firsts(sheet[order])]
    return before.tolist()  # type: ignore[no-any-return]


def _places_on_sheets(comparisons: DrawnColumns, probes: Sequence[Probe]) -> tuple[Array, Array]:
    """Return the sheet and the position of each comparison, followed by those of each probe."""
    sheet = np.concatenate([comparisons.sheet, [probe.sheet for probe in probes]]).astype(np.int64)
    return sheet, np.concatenate([comparisons.position, [probe.position for probe in probes]])


def _firsts(sheet: Array) -> Array:
    """Return for each row the index of the first row of its sheet; rows are sorted by sheet."""
    return np.searchsorted(sheet, sheet)


def sheets_of(slot: Array, size: int | None) -> tuple[Array, Array, Array]:
    """Return the sheet and position of each comparison, and the slot and number of comparisons of each sheet."""
    order = np.argsort(slot, kind="stable")
    ordered = slot[order]
    _, starts, counts = np.unique(ordered, return_index=True, return_counts=True)
    offset = np.arange(slot.size) - np.repeat(starts, counts)
    # As few sheets as the size allows, of nearly equal length: nobody should come for a sheet of one comparison.
    n_sheets = np.ones_like(counts) if size is None else -(-counts // size)
    cut, of = np.repeat(n_sheets, counts), np.repeat(counts, counts)
    chunk = offset * cut // of
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]) | (chunk[1:] != chunk[:-1])])
    number = np.cumsum(begins) - 1
    sheet, position = np.empty_like(slot), np.empty_like(slot)
    sheet[order] = number
    position[order] = offset - -(-chunk * of // cut)
    firsts = np.flatnonzero(begins)
    return sheet, position, np.column_stack([ordered[firsts], np.diff(np.append(firsts, slot.size))])


def _probes_for(transaction: Transaction, probing: Probing, comparisons: Drawn, number: int) -> list[Probe]:
    """Draw the probes of a ballot that is about to be stored."""
    info = transaction.info
    index = {label: place for place, label in enumerate(info.items)}
    places = ((pair.kind, index[pair.left], index[pair.right], int(WORDS[pair.expected])) for pair in probing.known)
    known = tuple(Known(*place) for place in places)
    times_asked, most = _count_known_pairs(transaction, known), _most_overlaps(transaction)
    # If sheets are claimed, every sheet has the practice.
    practised = _slots_so_far(transaction) if info.settings.assigned else None
    rng = ballot_rng(info.seed, number, "probe")
    return ProbeDraw(probing, known, comparisons, times_asked, practised, rng, most).probes()


def _most_overlaps(transaction: Transaction) -> int | None:
    """Return the number of overlaps that voters of a continuous campaign can still answer in addition to its budget.

    None, for no limit, in a campaign of ballots.
    """
    info, is_copy = transaction.info, schema.comparison.c.probe == "overlap"
    if not isinstance(info.plan, ContinuousPlan):
        return None
    n_copies = transaction.count(schema.PAIRS, transaction.of_campaign(schema.ballot), is_copy)
    n_voters = len(info.slots) if info.settings.assigned else max(1, len(present_voters(transaction)))
    return max(0, n_voters * info.n_pairs - info.plan.budget - n_copies)


def probe_lines(labels: Sequence[str], probes: Sequence[Probe]) -> list[str]:
    """Return the lines of probes that the digest of a draw covers, after those of comparisons.

    Each line is a JSON list: "p", index of the probe, sheet, position as in `Probe`, left, right, kind, expected answer
    or null, and place of the repeated comparison or null.

    Examples
    --------
    >>> probe_lines(['"apple"', '"pear"'], [Probe(0, 3, "gold", 1, 0, -1, None)])
    ['["p",0,0,3,"pear","apple","gold","right",null]']
    """
    return [
        f'["p",{place},{probe.sheet},{probe.position},{labels[probe.left]},{labels[probe.right]},"{probe.kind}",'
        f"{json_of(None if probe.expected is None else answer_name(probe.expected))},{json_of(probe.repeats)}]"
        for place, probe in enumerate(probes)
    ]


def _count_known_pairs(transaction: Transaction, known: Sequence[Known]) -> Counter[tuple[int, int]]:
    """Return how often each slot has been asked each known pair so far."""
    pair = schema.comparison
    pairs = sa.select(schema.sheet.c.slot, pair.c.left_item, pair.c.right_item).select_from(schema.PAIRS_ON_SHEETS)
    is_known = (transaction.of_campaign(schema.ballot), pair.c.probe.in_(["attention", "gold"]))
    rows = transaction.execute(pairs.where(*is_known))
    index = {frozenset([pair.left, pair.right]): place for place, pair in enumerate(known)}
    return Counter((slot, index[frozenset([left, right])]) for slot, left, right in rows)


def _slots_so_far(transaction: Transaction) -> set[int]:
    slots = sa.select(schema.sheet.c.slot).distinct().select_from(schema.SHEETS)
    return set(transaction.execute(slots.where(transaction.of_campaign(schema.ballot))).scalars())


_TRIES: Final = 20


class Known(NamedTuple):
    """A pair with a known answer; `left` and `right` are indices of items, and `expected` is for this order."""

    kind: str
    left: int
    right: int
    expected: int


@dataclass(frozen=True, eq=False)
class Drawn(DrawnColumns):
    """The comparisons of a ballot, and the slot of each of its sheets."""

    slots: Array


class ProbeDraw:
    """A draw of the probes of a ballot.

    A slot gets no known pair and no overlap that is also one of its comparisons in the ballot. If sheets are claimed, a
    sheet gets no practice pair that is also one of its comparisons. Apart from repeats, a sheet has no pair twice, and
    a slot gets no overlap twice.

    Parameters
    ----------
    probing : Probing
    known : tuple of Known
        `probing.known`.
    comparisons : Drawn
    times_asked : mapping of (int, int) to int
        Number of times that a slot was asked a known pair in earlier ballots, by slot and index of the pair.
    practised : collection of int or None
        Slots that had a sheet before and get no further practice. None if sheets are claimed: then every sheet has the
        practice.
    rng : numpy.random.Generator
    most_overlaps : int or None
        Largest number of overlaps that leaves the voters enough pairs for the comparisons. None for no limit: each slot
        of a ballot is asked a pair once, so no pair needs more voters than there are slots.
    """

    def __init__(
        self,
        probing: Probing,
        known: tuple[Known, ...],
        comparisons: Drawn,
        times_asked: Mapping[tuple[int, int], int],
        practised: Collection[int] | None,
        rng: np.random.Generator,
        most_overlaps: int | None = None,
    ) -> None:
        self.most_overlaps = most_overlaps
        self.probing, self.known, self.comparisons, self.rng = probing, known, comparisons, rng
        self.times_asked = defaultdict(int, times_asked)
        self.practised = None if practised is None else set(practised)
        left, right = comparisons.items.T
        self.pairs = np.minimum(left, right) << 32 | np.maximum(left, right)
        self.slot_of = comparisons.slots[comparisons.sheet]
        self.pairs_of_slot: defaultdict[int, set[int]] = defaultdict(set)
        for slot, pair in zip(self.slot_of.tolist(), self.pairs.tolist(), strict=True):
            self.pairs_of_slot[slot].add(pair)

    def probes(self) -> list[Probe]:
        """Draw the probes sheet by sheet, in the order of display."""
        order = np.lexsort((self.comparisons.position, self.comparisons.sheet))
        by_sheet = np.split(order, np.flatnonzero(np.diff(self.comparisons.sheet[order])) + 1)
        probes = []
        for sheet, places in enumerate(by_sheet):
            sheet_probes = self._sheet_probes(sheet, int(self.comparisons.slots[sheet]), places)
            probes += sorted(sheet_probes, key=lambda probe: probe.position)
        return probes

    def _sheet_probes(self, sheet: int, slot: int, places: NDArray[Any]) -> list[Probe]:
        probes = []
        if self.practised is None or slot not in self.practised:
            pairs = self.pairs_of_slot[slot]
            if self.practised is None:
                pairs = set(self.pairs[places].tolist())
            else:
                self.practised.add(slot)
            probes = [self._known_probe(sheet, 0, index) for index in self._find_known(pairs, "practice")]
        dealt = self._find_known(self.pairs_of_slot[slot], "attention", "gold")
        # Take the pairs that the slot was asked least often, with ties broken at random.
        chances = self.rng.random(len(dealt)).tolist()
        ranked = sorted(
            zip(dealt, chances, strict=True), key=lambda entry: (self.times_asked[slot, entry[0]], entry[1])
        )
        for index, _ in ranked[: self.probing.known_per_sheet]:
            self.times_asked[slot, index] += 1
            probes.append(self._known_probe(sheet, int(self.rng.integers(places.size)), index))
        return probes + self._draw_repeats(sheet, places) + self._draw_overlaps(sheet, slot, places)

    def _find_known(self, pairs: Set[int], *kinds: str) -> list[int]:
        """Return the indices of the known pairs of these kinds that are not among `pairs`."""
        return [
            index
            for index, pair in enumerate(self.known)
            if pair.kind in kinds and _pair_code(pair.left, pair.right) not in pairs
        ]

    def _known_probe(self, sheet: int, position: int, index: int) -> Probe:
        kind, left, right, expected = self.known[index]
        if self.rng.random() < 0.5:
            left, right, expected = right, left, -expected
        return Probe(sheet, position, kind, left, right, expected, None)

    def _draw_repeats(self, sheet: int, places: NDArray[Any]) -> list[Probe]:
        candidates = n_repeatable(places.size)
        number = min(self._round_randomly(self.probing.repeats * places.size), candidates)
        probes = []
        between = (places.size - 1) // 2
        for first in self.rng.permutation(candidates)[:number].tolist() if number else ():
            place = int(places[first])
            # At least `between` comparisons lie in between, and the last comparison follows, so that voters who finish
            # the sheet are certain to see the repeat.
            position = int(self.rng.integers(first + 1 + between, places.size))
            right, left = self.comparisons.items[place].tolist()
            probes.append(Probe(sheet, position, "repeat", left, right, None, place))
        return probes

    def _draw_overlaps(self, sheet: int, slot: int, places: NDArray[Any]) -> list[Probe]:
        probes = []
        for _ in range(self._round_randomly(self.probing.overlap * places.size)):
            place = self._overlap_candidate(slot)
            if place is None:
                break
            self.pairs_of_slot[slot].add(int(self.pairs[place]))
            if self.most_overlaps is not None:
                self.most_overlaps -= 1
            left, right = self.comparisons.items[place].tolist()
            if self.rng.random() < 0.5:
                left, right = right, left
            position = int(self.rng.integers(places.size))
            probes.append(Probe(sheet, position, "overlap", left, right, None, place))
        return probes

    def _overlap_candidate(self, slot: int) -> int | None:
        """Return a comparison of another slot whose pair is not known, and not asked of this slot."""
        if self.most_overlaps == 0:
            return None
        excluded_pairs = self.pairs_of_slot[slot] | {_pair_code(pair.left, pair.right) for pair in self.known}
        for place in self.rng.integers(self.pairs.size, size=_TRIES).tolist():
            if int(self.slot_of[place]) != slot and int(self.pairs[place]) not in excluded_pairs:
                return int(place)
        # With few items and few voters, examine all comparisons.
        left = (self.slot_of != slot) & ~np.isin(self.pairs, np.array(sorted(excluded_pairs), np.int64))
        candidates = np.flatnonzero(left)
        return int(self.rng.choice(candidates)) if candidates.size else None

    def _round_randomly(self, number: float) -> int:
        """Round up or down at random, so that the mean is the number."""
        floor = int(number)
        return floor + int(self.rng.random() < number - floor)


def _pair_code(left: int, right: int) -> int:
    return min(left, right) << 32 | max(left, right)


def open_comparisons(
    transaction: Transaction, *, number: int | None = None, voter: str | None = None, unanswered: bool = False
) -> tuple[Comparison, ...]:
    """Return the comparisons of `Campaign.asked`."""
    ballot, pair, lease = schema.ballot, schema.comparison, schema.lease
    of_pair = (ballot.c.number, pair.c.sheet, pair.c.position, pair.c.left_item, pair.c.right_item, pair.c.other_items)
    query = (
        sa.select(*of_pair, lease.c.voter_id)
        .select_from(schema.PAIRS.outerjoin(lease, sa.and_(schema.LEASED_TO, schema.IS_HELD)))
        .where(transaction.of_campaign(ballot), state_at(transaction.clock()) == "open")
        .order_by(ballot.c.number, pair.c.sheet, pair.c.position)
    )
    if number is not None:
        query = query.where(ballot.c.number == number)
    if voter is not None:
        query = query.where(lease.c.voter_id == voter_named(transaction, voter))
    if unanswered:
        query = query.where(~schema.IS_ANSWERED)
    names = transaction.voter_names()
    comparisons = []
    for row in transaction.execute(query):
        left, right, *others = transaction.labels_of(row)
        pair_name = pair_id(row.number, row.sheet, row.position)
        pair_shown = Comparison(pair_name, names.get(row.voter_id, ""), left, right)
        comparisons.append(SetComparison.of(pair_shown, tuple(others)) if others else pair_shown)
    return tuple(comparisons)
