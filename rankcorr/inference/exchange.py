"""Systems that exchange their places, item by item: the draws behind the paired test and the leaderboard.

The hypothesis is that systems are exchangeable: chance decided which system gave an item which place. If the scores of
the systems are on one scale, the scores themselves are exchanged, and the test is exact. Often only the ranks can be
compared, and then ranks are exchanged. Two ranks that were different scores, and now meet in one system, must not
become a tie: exchanged systems would then be more alike than real ones, and the test would reject too often, above all
between similar systems. The order of the hidden scores is therefore drawn at random, anew for each exchange:

- Items at the same rank of different systems are put in a random order of the systems. All items at one rank share it,
  and the next rank usually keeps it (`exchange_kernels.REDRAWN_OF_5`).
- Tied items stay together. A group of fewer than `LEVEL` items lies at one of the ranks that it spans, the same share
  of the way down for all of these groups; a larger one lies in the middle. Either is tied with the items that meet it
  there.
- Groups of at least `LEVEL` items of two systems that share more than half of their ranks are one level of a common
  scale, such as four stars of five: they lie at one place, and stay tied when they meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.coefficients import Coefficient
from rankcorr.errors import OptionError
from rankcorr.inference.resampling import SortedItems, Values
from rankcorr.inference.standardization import standardize
from rankcorr.ranking import Ranking, RankingLike
from rankcorr.scores import checked_numbers, split_labels

Swap: TypeAlias = Literal["ranks", "scores"]

SWAPS: Final = ("ranks", "scores")
LEVEL: Final = 5
LARGEST_INT32: Final = np.iinfo(np.int32).max
BELOW_ALL: Final = np.iinfo(np.int64).max

Places: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = Places | Mapping[Hashable, int]


@dataclass(frozen=True, eq=False, slots=True)
class Exchange:
    """Gold and systems over the same items, and the possible places of each system among the others.

    Attributes
    ----------
    items : SortedItems
        Gold and the systems, in the order of gold.
    present : ndarray of int32, shape (n_systems, n_items), C order
        1 where the system has the item.
    slot_of : ndarray of int32, shape (n_systems, n_items)
        Slot of each item: a group of tied items of one system, or a single item; -1 where the system lacks it.
    first, width : ndarray of int64, shape (n_slots,)
        The first place of each slot, and the number of places that it may take.
    tied : ndarray of bool, shape (n_slots,)
        Whether items of other systems at the same place are tied with those of the slot.
    n_places : int
        Number of places.
    exponents : ndarray of float64, shape (n_systems,), or None
        Exponents of the maps that standardize the coefficients of each system; None leaves them unchanged.
    """

    items: SortedItems
    present: NDArray[np.int32]
    slot_of: NDArray[np.int32]
    first: Places
    width: NDArray[np.int64]
    tied: NDArray[np.bool_]
    n_places: int
    exponents: Values | None = None

    @classmethod
    def of_ranks(
        cls,
        coefficient: Coefficient,
        gold: Ranking,
        systems: Sequence[Ranking],
        present: NDArray[np.bool_] | None = None,
    ) -> Exchange:
        """Systems that exchange their ranks of the items of gold; `present` says which of them each system has.

        A system has a rank for each item of gold; the items that it lacks must be last, in a tie.
        """
        items = SortedItems.of(coefficient, gold, systems)
        has = np.ones(items.y_halves.shape, bool) if present is None else present[:, gold.best_first]
        slot_of = np.full(has.shape, -1, np.int32)
        parts: list[tuple[Places, Places]] = []
        for row, halves in enumerate(items.y_halves):
            _, groups, sizes = np.unique(halves[has[row]], return_inverse=True, return_counts=True)
            slot_of[row, has[row]] = groups + sum(len(first) for first, _ in parts)
            parts.append((np.cumsum(sizes) - sizes, sizes))
        sizes = np.concatenate([size for _, size in parts])
        first, width = _spread(parts, has.sum(axis=1), items.n_items)
        return cls(items, has.astype(np.int32, order="C"), slot_of, first, width, sizes > 1, items.n_items)

    @classmethod
    def of_scores(
        cls,
        coefficient: Coefficient,
        gold: Ranking,
        systems: Sequence[Ranking],
        codes: Places,
        present: NDArray[np.bool_] | None = None,
    ) -> Exchange:
        """Systems that exchange their scores, given as `score_codes`, shape (n_systems, n_items)."""
        items = SortedItems.of(coefficient, gold, systems)
        has = np.ones(codes.shape, bool) if present is None else present[:, gold.best_first]
        slots: Places = np.unique(codes[:, gold.best_first], return_inverse=True)[1]
        slot_of = np.where(has, slots.reshape(codes.shape), -1).astype(np.int32)
        n_slots = int(slots.max()) + 1
        first = np.arange(n_slots)
        width, tied = np.ones_like(first), np.ones(n_slots, bool)
        return cls(items, has.astype(np.int32, order="C"), slot_of, first, width, tied, n_slots)

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.slot_of)

    @property
    def n_items(self) -> int:
        """Number of items of gold."""
        return self.items.n_items

    @property
    def is_sure(self) -> bool:
        """Whether the choice of systems is the only random part: the order of all places of two systems is certain."""
        shared = np.isin(self.first, _repeated(self.first))
        return bool(np.all(self.width == 1) and np.all(self.tied[shared]))

    def observed(self) -> Values:
        """Coefficients of the systems before any exchange, by the same kernel that computes those after one."""
        return np.asarray(self._coefficients(self._drawn_keys(np.random.default_rng(0), 1))[0])

    def drawn(self, rng: np.random.Generator, size: int) -> Values:
        """Coefficients of all systems in `size` random exchanges, shape (size, n_systems); nan if undefined."""
        return self._coefficients(self._drawn_keys(rng, size, exchanged=True))

    def swapped(self, rng: np.random.Generator, swaps: NDArray[np.uint8]) -> Values:
        """Coefficients of two systems, shape (len(swaps), 2), after they exchange the items that have a 1 in `swaps`.

        `swaps` has a column for each item, in the order of gold from best to worst.
        """
        keys = self._drawn_keys(rng, len(swaps))
        return self._coefficients(np.where(swaps[:, np.newaxis] == 1, keys[:, ::-1], keys))

    def distances(self) -> Values:
        """Mean squared difference of the ranks of two systems over the items that both have, for each pair.

        Ranks are shares of the number of items, so that gold sets of different sizes count alike; nan without items.
        """
        has = self.present.astype(np.float64)
        ranks = self._shares()
        squares = (ranks**2) @ has.T
        with np.errstate(invalid="ignore"):
            return np.asarray(np.maximum(squares + squares.T - 2 * ranks @ ranks.T, 0) / (has @ has.T))

    def sure_distances(self, system: int) -> Values:
        """The same for one system and each other one, minus two standard errors over the items; at least 0."""
        both = self.present * self.present[system]
        ranks, n_both = self._shares(), both.sum(axis=1)
        squares = both * (ranks - ranks[system]) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            means = squares.sum(axis=1) / n_both
            variances = (both * (squares - means[:, np.newaxis]) ** 2).sum(axis=1) / n_both
            return np.asarray(np.maximum(0, means - 2 * np.sqrt(variances / n_both)))

    def _shares(self) -> Values:
        """Ranks as shares of the number of items; 0 where a system lacks the item."""
        return np.asarray(self.present * self.items.y_halves / (2 * self.present.sum(axis=1, keepdims=True)))

    def _drawn_keys(self, rng: np.random.Generator, size: int, *, exchanged: bool = False) -> NDArray[Any]:
        """Places as whole numbers, shape (size, n_systems, n_items), in the order of gold; see `draw_keys`."""
        from rankcorr.inference import exchange_kernels

        if self.n_systems > exchange_kernels.MOST_SYSTEMS:
            most = exchange_kernels.MOST_SYSTEMS
            raise OptionError(f"at most {most:,} systems can exchange places; got {self.n_systems:,}")
        kind = np.int32 if self.n_systems * self.n_places <= LARGEST_INT32 else np.int64
        keys = np.zeros((size, self.n_systems, self.n_items), kind)
        exchange_kernels.draw_keys(rng, self.slot_of, self.first, self.width, self.tied, self.n_places, exchanged, keys)
        return keys

    def _coefficients(self, keys: NDArray[Any]) -> Values:
        from rankcorr.inference import exchange_kernels

        items, values = self.items, np.empty((len(keys), self.n_systems))
        exchange_kernels.exchanged_coefficients(
            keys,
            self.n_systems * self.n_places,
            items.x_keys,
            self.present,
            items.table,
            items.expected,
            items.scheme,
            items.kind,
            values,
        )
        return standardize(values, self.exponents) if self.exponents is not None else values


def score_codes(rankings: Sequence[RankingLike], names: Sequence[str]) -> list[Codes]:
    """Whole numbers in place of the scores of all rankings together, from 0 for the best; equal scores are equal.

    By label where a ranking has labels.

    Raises
    ------
    OptionError
        A `Ranking`, which holds no scores.
    RankingError
        The value is not a list of scores.
    """
    labels, arrays = [], []
    for ranking, name in zip(rankings, names, strict=True):
        if isinstance(ranking, Ranking):
            raise OptionError(
                f'swap="scores" exchanges scores, and {name} is a Ranking, which holds ranks alone; give its scores'
            )
        own, numbers = split_labels(ranking, "score")
        checked_numbers(numbers, what="score", n_dimensions=1, labels=own)
        labels.append(own)
        arrays.append(np.asarray(numbers))
    # Lists of Python's numbers where types differ: an integer above 2^53 is no float.
    alike = len({array.dtype for array in arrays}) == 1 and arrays[0].dtype.kind in "fib"
    together: Any = np.concatenate(arrays) if alike else [value for array in arrays for value in array.tolist()]
    places = np.unique(checked_numbers(together, what="score", n_dimensions=1), return_inverse=True)[1]
    parts = np.split(places.max() - places, np.cumsum([array.size for array in arrays])[:-1])
    return [
        part if own is None else dict(zip(own, part.tolist(), strict=True))
        for part, own in zip(parts, labels, strict=True)
    ]


def codes_of_items(codes: Codes, labels: Sequence[Hashable] | None) -> Places:
    """Codes of the items of gold; a label that the ranking lacks comes after every score of every ranking."""
    if isinstance(codes, Mapping):
        return np.array([codes.get(label, BELOW_ALL) for label in labels or ()], np.int64)
    return codes


def _spread(parts: list[tuple[Places, Places]], n_having: NDArray[np.intp], n_items: int) -> tuple[Places, Places]:
    """First place and number of places of each slot, from the first rank and the size of the groups of each system."""
    # Ranks of a system that lacks items lie as far apart as it takes to fill all places.
    lows = [first * n_items // number for (first, _), number in zip(parts, n_having.tolist(), strict=True)]
    highs = [
        np.maximum(low + 1, (first + size) * n_items // number)
        for low, (first, size), number in zip(lows, parts, n_having.tolist(), strict=True)
    ]
    firsts, widths = [], []
    for low, high, (_, size) in zip(lows, highs, parts, strict=True):
        large = size >= LEVEL
        firsts.append(np.where(large, (low + high - 1) // 2, low))
        widths.append(np.where(large, 1, high - low))
    large_groups = [np.flatnonzero(size >= LEVEL).tolist() for _, size in parts]
    for place, members in _levels(large_groups, lows, highs):
        for system, group in members:
            firsts[system][group] = place
    return np.concatenate(firsts), np.concatenate(widths)


def _levels(
    groups: list[list[int]], lows: list[Places], highs: list[Places]
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """A place, and the groups (system, number) that are one level there: by the groups of the first system."""
    found = {group: (int(lows[0][group]), int(highs[0][group]), [(0, group)]) for group in groups[0]}
    starts, levels = lows[0][groups[0]], list(found)
    for system in range(1, len(groups)):
        for group in groups[system]:
            low, high = int(lows[system][group]), int(highs[system][group])
            number = int(np.searchsorted(starts, (low + high - 1) // 2, side="right")) - 1
            if number < 0:
                continue
            level = levels[number]
            own_low, own_high = int(lows[0][level]), int(highs[0][level])
            start, stop, members = found[level]
            shared = min(high, own_high) - max(low, own_low)
            if 2 * shared > max(high - low, own_high - own_low) and max(low, start) < min(high, stop):
                found[level] = max(low, start), min(high, stop), [*members, (system, group)]
    return (((start + stop - 1) // 2, members) for start, stop, members in found.values() if len(members) > 1)


def _repeated(values: Places) -> Places:
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts > 1]
