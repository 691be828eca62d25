"""Draw the probes of a ballot: the extra pairs that each sheet asks, and their positions among its comparisons.

Probes use a separate random generator, so that a campaign draws the same ballots with and without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive.ledger.checks.probing import Probing, n_repeatable

Array = NDArray[np.int64]

_TRIES: Final = 20


class Probe(NamedTuple):
    """An extra pair that a sheet asks in addition to its comparisons.

    Attributes
    ----------
    sheet : int
    position : int
        The probe is shown before the comparison of this position.
    kind : {"practice", "attention", "gold", "repeat", "overlap"}
    left, right : int
        Places of the items in the campaign.
    expected : int or None
        1 left, 0 tie, -1 right; None if no particular answer is expected.
    repeats : int or None
        Place of the comparison that is asked again, on this sheet or another.
    """

    sheet: int
    position: int
    kind: str
    left: int
    right: int
    expected: int | None
    repeats: int | None


class Known(NamedTuple):
    """A pair whose answer is known, as places; `expected` refers to this order of the sides."""

    kind: str
    left: int
    right: int
    expected: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """The comparisons of a ballot, and the slot of each of its sheets."""

    sheet: Array
    position: Array
    left: Array
    right: Array
    slots: Array


def draw_probes(
    probing: Probing,
    known: tuple[Known, ...],
    drawn: Drawn,
    seen: Mapping[tuple[int, int], int],
    practised: Collection[int] | None,
    rng: np.random.Generator,
) -> list[Probe]:
    """Draw the probes of a ballot, sheet by sheet and in display order.

    A known pair or an overlap is never one of the slot's own comparisons in the ballot. If sheets are not assigned, a
    practice pair is never one of the comparisons on its sheet. Apart from repeats, a sheet has no pair twice, and a
    slot is asked no overlap twice.

    Parameters
    ----------
    probing : Probing
    known : tuple of Known
        `probing.known`.
    drawn : Drawn
    seen : mapping of (int, int) to int
        Number of times that a slot was asked a known pair in earlier ballots, by slot and index of the pair.
    practised : collection of int or None
        Slots that had a sheet before and get no further practice. None: every sheet has the practice, because sheets
        are not assigned.
    rng : numpy.random.Generator
    """
    order = np.lexsort((drawn.position, drawn.sheet))
    by_sheet = np.split(order, np.flatnonzero(np.diff(drawn.sheet[order])) + 1)
    pairs = _pair_codes(drawn.left, drawn.right)
    slot_of = drawn.slots[drawn.sheet]
    shown: defaultdict[int, set[int]] = defaultdict(set)
    for slot, pair in zip(slot_of.tolist(), pairs.tolist(), strict=True):
        shown[slot].add(pair)
    draw = _Draw(
        probing,
        known,
        drawn,
        pairs,
        slot_of,
        shown,
        defaultdict(int, seen),
        None if practised is None else set(practised),
        rng,
    )
    found = []
    for sheet, places in enumerate(by_sheet):
        found += sorted(draw.sheet(sheet, int(drawn.slots[sheet]), places), key=lambda probe: probe.position)
    return found


@dataclass(eq=False)
class _Draw:
    probing: Probing
    known: tuple[Known, ...]
    drawn: Drawn
    pairs: Array
    slot_of: Array
    shown: defaultdict[int, set[int]]
    seen: defaultdict[tuple[int, int], int]
    practised: set[int] | None
    rng: np.random.Generator

    def sheet(self, sheet: int, slot: int, places: NDArray[Any]) -> list[Probe]:
        found = []
        if self.practised is None:
            own = set(self.pairs[places].tolist())
            found += [self._known(sheet, 0, each) for each in self._fresh(own, "practice")]
        elif slot not in self.practised:
            self.practised.add(slot)
            found += [self._known(sheet, 0, each) for each in self._fresh(self.shown[slot], "practice")]
        dealt = self._fresh(self.shown[slot], "attention", "gold")
        # Take the pairs that the slot has seen least often; the draw breaks ties.
        chances = self.rng.random(len(dealt)).tolist()
        ranked = sorted(zip(dealt, chances, strict=True), key=lambda each: (self.seen[slot, each[0]], each[1]))
        for index, _ in ranked[: self.probing.known_per_sheet]:
            self.seen[slot, index] += 1
            found.append(self._known(sheet, int(self.rng.integers(places.size)), index))
        return found + self._repeats(sheet, places) + self._overlaps(sheet, slot, places)

    def _fresh(self, shown: Set[int], *kinds: str) -> list[int]:
        return [
            index
            for index, each in enumerate(self.known)
            if each.kind in kinds and _pair_code(each.left, each.right) not in shown
        ]

    def _known(self, sheet: int, position: int, index: int) -> Probe:
        kind, left, right, expected = self.known[index]
        if self.rng.random() < 0.5:
            left, right, expected = right, left, -expected
        return Probe(sheet, position, kind, left, right, expected, None)

    def _repeats(self, sheet: int, places: NDArray[Any]) -> list[Probe]:
        candidates = n_repeatable(places.size)
        number = min(self._rounded(self.probing.repeats * places.size), candidates)
        found = []
        between = (places.size - 1) // 2
        for first in self.rng.permutation(candidates)[:number].tolist() if number else ():
            place = int(places[first])
            # Place it at least `between` comparisons after the original and before the last comparison, so that it is
            # certain to be asked.
            position = int(self.rng.integers(first + 1 + between, places.size))
            left, right = int(self.drawn.right[place]), int(self.drawn.left[place])
            found.append(Probe(sheet, position, "repeat", left, right, None, place))
        return found

    def _overlaps(self, sheet: int, slot: int, places: NDArray[Any]) -> list[Probe]:
        found = []
        for _ in range(self._rounded(self.probing.overlap * places.size)):
            place = self._of_another(slot)
            if place is None:
                break
            self.shown[slot].add(int(self.pairs[place]))
            left, right = int(self.drawn.left[place]), int(self.drawn.right[place])
            if self.rng.random() < 0.5:
                left, right = right, left
            position = int(self.rng.integers(places.size))
            found.append(Probe(sheet, position, "overlap", left, right, None, place))
        return found

    def _of_another(self, slot: int) -> int | None:
        """Return a comparison of another slot whose pair is not asked of this slot and is not a known pair."""
        shown = self.shown[slot] | {_pair_code(each.left, each.right) for each in self.known}
        for place in self.rng.integers(self.pairs.size, size=_TRIES).tolist():
            if int(self.slot_of[place]) != slot and int(self.pairs[place]) not in shown:
                return int(place)
        # With few items and few voters, examine all comparisons.
        left = (self.slot_of != slot) & ~np.isin(self.pairs, np.array(sorted(shown), np.int64))
        candidates = np.flatnonzero(left)
        return int(self.rng.choice(candidates)) if candidates.size else None

    def _rounded(self, number: float) -> int:
        """Return a random whole number with this mean."""
        whole = int(number)
        return whole + int(self.rng.random() < number - whole)


def _pair_codes(left: Array, right: Array) -> Array:
    return np.minimum(left, right) << 32 | np.maximum(left, right)


def _pair_code(left: int, right: int) -> int:
    return min(left, right) << 32 | max(left, right)
