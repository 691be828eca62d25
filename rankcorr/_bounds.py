"""The least and the greatest value of a coefficient when two lists rank different items: top-k lists -> bounds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import checked_count, checked_seed, shown, warn_undefined, whole_number
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._input.scores import Ranks
from rankcorr._output.results import Computed, read_only
from rankcorr._ranking import Ranking, RankingLike, as_ranking, positions_of
from rankcorr._weights import Uniform
from rankcorr.errors import LabelError, LengthError, OptionError

Method: TypeAlias = Literal["order", "enumeration", "search"]
Places: TypeAlias = NDArray[np.intp]

MAX_COMPLETIONS: Final = 1_000_000
N_STARTS: Final = 4
ROWS: Final = 1024
BLOCK_NUMBERS: Final = 1 << 20
# Pairs to try in one list before turning to the other list.
MAX_SWAPS: Final = 1 << 14
# A step of the search must gain more than rounding errors.
SMALLEST_GAIN: Final = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientBounds(Computed):
    """Smallest and largest coefficient over the completions of two lists, with the options used.

    Attributes
    ----------
    low, high : float
        Each is the coefficient of some completion; nan if it is undefined for all that were computed.
    exact : bool
        Whether no completion lies outside. If not, `low` and `high` come from a search: the true bounds are these or
        wider.
    method : {"order", "enumeration", "search"}
        "order": with equal weights, the completions that follow or reverse the other list are extreme. "enumeration":
        all completions. "search": swaps of two items, from several starts, while they improve.
    n_items : int
        Number of items of a completion.
    n_completions : float
        Number of different completions; inf if it is too large for a float.
    n_computed : int
        Number of completions that the coefficient was computed for.
    n_undefined : int
        Number of these left out, because the coefficient is undefined or no item has weight.
    coefficient, scheme, n0, weigher, tied_weights, variant
        As in `RankCorrelation`.

    See Also
    --------
    coefficient_bounds : Returns it.

    Examples
    --------
    >>> from rankcorr import Ranking, coefficient_bounds
    >>> x, y = Ranking.from_order(["ant", "bee", "cat"]), Ranking.from_order(["bee", "ant", "dog"])
    >>> bounds = coefficient_bounds(x, y, coefficient="tau", n_items=5)
    >>> round(bounds.low, 4), round(bounds.high, 4), bounds.method, bounds.n_completions
    (0.2, 0.6, 'order', 4.0)
    """

    low: float
    high: float
    exact: bool
    method: Method
    n_completions: float
    n_computed: int
    n_undefined: int


def coefficient_bounds(
    x: RankingLike,
    y: RankingLike,
    *,
    n_items: int | None = None,
    coefficient: CoefficientLike = "tau_w",
    max_completions: int = MAX_COMPLETIONS,
    seed: int = 0,
) -> CoefficientBounds:
    """Bound a coefficient of two lists, such as the ten best of each, that need not hold the same items.

    The bounds are exact if `exact` is true: with equal weights, or with up to `max_completions` completions, which are
    all computed. Above that number a search finds inner estimates: the true bounds are these or wider.

    A completion puts the items that a list lacks below all items that it has, in any order without ties. Ties within a
    list stay. The bounds are the smallest and the largest coefficient over all completions of both lists. For a single
    value, use ``missing="bottom"`` of `weighted_tau`. It ties the items that a list lacks, so its value belongs to no
    completion.

    Parameters
    ----------
    x, y : Ranking, or mapping of label to score
        Labelled lists: each lacks the items that only the other has.
    n_items : int, optional
        Number of items that could have been in the lists, if known: items in neither list are missing from both. The
        default assumes that there are no others.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options.
    max_completions : int
        Largest number of completions to compute, in O(n log n) each. If there are more, and the weights are not equal,
        a search that computes at most that many gives inner estimates. It may use them all: set fewer for long lists.
    seed : int
        Seed of the search; another seed may find wider bounds.

    Returns
    -------
    CoefficientBounds

    Raises
    ------
    LabelError
        A list without labels.
    LengthError
        `n_items` is smaller than the number of items in the lists.
    RankingError
        Another subclass, for other errors in the lists or the options.

    See Also
    --------
    align : One value instead, by a rule for missing items.

    Notes
    -----
    With equal weights, the largest value puts the missing items in the order of the other list, and those missing from
    both last and in one order. The smallest value puts those missing from both first, in opposite orders, and then the
    others in reverse. For tau, every pair that is not fixed is then concordant, or discordant; for rho it is the
    rearrangement inequality. With other weights neither is always extreme, because the place of an item changes its
    weight.

    Examples
    --------
    >>> from rankcorr import Ranking, coefficient_bounds
    >>> x, y = Ranking.from_order(["ant", "bee", "cat"]), Ranking.from_order(["bee", "ant", "dog"])
    >>> bounds = coefficient_bounds(x, y, n_items=5)
    >>> round(bounds.low, 4), round(bounds.high, 4), bounds.exact, bounds.n_completions
    (0.2038, 0.3156, True, 4.0)
    """
    coefficient_value = as_coefficient(coefficient)
    limit = checked_count(max_completions, "max_completions")
    rng = np.random.default_rng(checked_seed(seed))
    lists = _Lists.of(as_ranking(x), as_ranking(y), n_items)
    total = lists.n_completions
    first, second = (side.ranking(side.lacks) for side in lists.sides)
    # A weigher that fails does so here.
    coefficient_value.weighting.tables(first, second.ranks[np.newaxis], second.n_ties > 0)
    method: Method
    if type(coefficient_value.weighting.weigher) is Uniform:
        method, extremes = "order", _Extremes(lists, coefficient_value)
        for low in (True, False):
            x_tail, y_tail = lists.extreme_tails(low=low)
            extremes.compute(1, y_tail[np.newaxis], x_tail)
    elif total <= limit:
        method, extremes = "enumeration", _enumerate_tails(lists, coefficient_value)
    else:
        method, extremes = "search", _search_tails(lists, coefficient_value, limit, rng)
    if math.isnan(extremes.high):
        warn_undefined(
            f"in every completion{'' if method != 'search' else ' that was computed'}, all items that have weight are "
            "tied in one ranking, or none has weight",
            stacklevel=3,
        )
    return CoefficientBounds(
        low=extremes.low,
        high=extremes.high,
        exact=method != "search",
        method=method,
        n_completions=total,
        n_computed=extremes.n_computed,
        n_undefined=extremes.n_undefined,
        **coefficient_value.computed_fields(lists.n_items),
    )


@dataclass(frozen=True)
class _Side:
    """One list over all items: mid-ranks of those that it has, and the positions of those that it lacks."""

    ranks: Ranks  # 0 for the items that the list lacks
    order: NDArray[np.int32]
    n_ties: int
    lacks: Places

    def rows(self, tails: Places) -> Ranks:
        """Mid-ranks of one completion for each row of `tails`, which orders the items that the list lacks."""
        rows = np.tile(self.ranks, (len(tails), 1))
        lacking = np.arange(self.order.size + 1.0, self.ranks.size + 1.0)  # the ranks that these items can have
        np.put_along_axis(rows, tails, np.broadcast_to(lacking, tails.shape), axis=1)
        return read_only(rows)

    def ranking(self, tail: Places) -> Ranking:
        """Return the completion that ends with `tail`."""
        order = np.append(self.order, tail.astype(np.int32))
        return Ranking.unchecked(self.rows(tail[np.newaxis])[0], order, self.n_ties)


@dataclass(frozen=True)
class _Lists:
    """Two lists over the same items: those of x, then those that only y has, then those in neither."""

    sides: tuple[_Side, _Side]
    n_unlisted: int

    @property
    def n_rows(self) -> int:
        """Number of completions to hold at once."""
        return max(2, min(ROWS, BLOCK_NUMBERS // self.n_items))

    @classmethod
    def of(cls, x: Ranking, y: Ranking, n_items: int | None) -> _Lists:
        for name, ranking in (("x", x), ("y", y)):
            if ranking.labels is None:
                raise LabelError(f"bounds need labels, to know which items a list lacks; {name} has none")
        labels = list(dict.fromkeys((x.labels or ()) + (y.labels or ())))
        size = len(labels) if n_items is None else whole_number(n_items)
        if size is None:
            raise OptionError(f"n_items must be a whole number; got {shown(n_items)}")
        if size < len(labels):
            raise LengthError(f"n_items must be at least {len(labels)}, the items of both lists together; got {size}")
        return cls((_side(x, labels, size), _side(y, labels, size)), size - len(labels))

    @property
    def n_items(self) -> int:
        return self.sides[0].ranks.size

    @property
    def n_completions(self) -> float:
        # Items in neither list are interchangeable: exchanging two of them in both completions changes nothing.
        x, y = (side.lacks.size for side in self.sides)
        number = 1.0
        for factor in (*range(2, y + 1), *range(self.n_unlisted + 1, x + 1)):
            number *= factor
            if number == math.inf:
                break
        return number

    def extreme_tails(self, *, low: bool) -> tuple[Places, Places]:
        """Orders of the items that each list lacks: as in the other list, or reversed."""
        tails = []
        for side, other, down in zip(self.sides, self.sides[::-1], (False, low), strict=True):
            listed = side.lacks[other.ranks[side.lacks] > 0]
            listed = listed[np.argsort(other.ranks[listed], kind="stable")]
            unlisted = np.arange(self.n_items - self.n_unlisted, self.n_items)
            parts = [unlisted[::-1] if down else unlisted, listed[::-1]] if low else [listed, unlisted]
            tails.append(np.concatenate(parts))
        return tails[0], tails[1]


def _side(ranking: Ranking, labels: Sequence[Hashable], n_items: int) -> _Side:
    places = positions_of(ranking.labels or (), labels)
    ranks = np.zeros(n_items)
    ranks[places] = ranking.ranks
    return _Side(ranks, places[ranking.best_first].astype(np.int32), ranking.n_ties, np.flatnonzero(ranks == 0))


class _Extremes:
    """Smallest and largest of the coefficients seen so far."""

    def __init__(self, lists: _Lists, coefficient: Coefficient) -> None:
        self._sides = lists.sides
        self._coefficients = coefficient.swapped, coefficient
        self.low = self.high = math.nan
        self.n_computed = self.n_undefined = 0

    def compute(self, moving: int, tails: Places, fixed_tail: Places) -> NDArray[np.float64]:
        """Coefficients of completions that give the side `moving` (0 for x) each of `tails`, and the other side one."""
        side, fixed = self._sides[moving], self._sides[1 - moving].ranking(fixed_tail)
        values = self._coefficients[moving].of_rows(fixed, side.rows(tails), np.full(len(tails), side.n_ties))
        self.n_computed += values.size
        undefined = int(np.isnan(values).sum())
        self.n_undefined += undefined
        if undefined < values.size:
            # min and max keep their first argument if the other is nan or equal.
            self.low = min(float(np.nanmin(values)), self.low)
            self.high = max(float(np.nanmax(values)), self.high)
        return values


def _enumerate_tails(lists: _Lists, coefficient: Coefficient) -> _Extremes:
    extremes = _Extremes(lists, coefficient)
    # The longer tail is computed many rows at a time.
    moving = int(lists.sides[1].lacks.size >= lists.sides[0].lacks.size)
    fixed = lists.sides[1 - moving].lacks
    unlisted = set(range(lists.n_items - lists.n_unlisted, lists.n_items))
    for tail in permutations(fixed.tolist()):
        unlisted_tail = [item for item in tail if item in unlisted]
        if unlisted_tail != sorted(unlisted_tail):  # the same as the completion that exchanges these items in both
            continue
        for tails in _blocks(permutations(lists.sides[moving].lacks.tolist()), lists.n_rows):
            extremes.compute(moving, tails, np.array(tail, np.intp))
    return extremes


def _blocks(tails: Iterator[tuple[int, ...]], n_rows: int) -> Iterator[Places]:
    while block := list(islice(tails, n_rows)):
        yield np.array(block, np.intp)


def _search_tails(lists: _Lists, coefficient: Coefficient, limit: int, rng: np.random.Generator) -> _Extremes:
    """Swap two items of one tail while this improves: from the order of the other list, its reverse and random ones."""
    extremes = _Extremes(lists, coefficient)
    for turn in range(2 * N_STARTS):
        tails = list(lists.extreme_tails(low=turn % 2 == 0))
        if turn >= 2:
            tails = [rng.permutation(tail) for tail in tails]
        # Each start may use its share of the completions left.
        end = extremes.n_computed + (limit - extremes.n_computed) // (2 * N_STARTS - turn)
        _climb(extremes, tails, -1 if turn % 2 == 0 else 1, end, lists.n_rows, rng)
    return extremes


def _climb(
    extremes: _Extremes, tails: list[Places], sign: int, end: int, n_rows: int, rng: np.random.Generator
) -> None:
    """Improve `tails` in place until no swap improves them, or until `end` completions have been computed."""
    best = -math.inf
    improved = True
    while improved:
        improved = False
        for moving in (0, 1):
            for swaps in _swaps(tails[moving].size, n_rows - 1, rng):
                room = end - extremes.n_computed
                if room < 1:
                    return
                # The first row is the present state.
                rows = np.tile(tails[moving], (min(len(swaps) + 1, room), 1))
                moved = np.arange(1, len(rows))
                first, second = swaps[: moved.size].T
                rows[moved, first], rows[moved, second] = tails[moving][second], tails[moving][first]
                values = sign * extremes.compute(moving, rows, tails[1 - moving])
                values[np.isnan(values)] = -math.inf
                here = int(np.argmax(values))
                if values[here] > best + SMALLEST_GAIN:
                    best, improved = values[here], True
                    tails[moving] = rows[here]


def _swaps(size: int, n_rows: int, rng: np.random.Generator) -> Iterator[Places]:
    """Pairs of places of a tail in blocks: all pairs in random order, or some pairs of a long tail."""
    if size * (size - 1) // 2 <= MAX_SWAPS:
        pairs = rng.permutation(np.column_stack(np.triu_indices(size, 1)))
    else:
        pairs = rng.integers(size, size=(MAX_SWAPS, 2))
    for start in range(0, max(1, len(pairs)), n_rows):
        yield pairs[start : start + n_rows]
