"""Resample the items of aligned rankings in three ways.

A top-weighted coefficient depends on a few items. A bootstrap draws several copies of an item, and these are tied in
both rankings, even at the very top. Half-samples, smoothed resamples and resampled residuals have no such ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._coefficients import Coefficient, Pearson, Tau, unit_rows, unit_scores
from rankcorr._input.scores import kernel_array
from rankcorr._ranking import Ranking
from rankcorr._weights import SCHEMES, rank_table
from rankcorr._workers import BLOCK_NUMBERS, Draws, Values, in_threads, loops

if TYPE_CHECKING:
    from rankcorr.inference._resampling_kernels import Formula

Counts = NDArray[np.int32]

# Standard deviation of the noise that breaks ties of scores, far below the distance of two normal scores.
TIE_BREAKER: Final = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class SortedItems:
    """A ranking x and other rankings over the same items, with the items in the order of x from best to worst.

    Attributes
    ----------
    x_keys : ndarray of int32, shape (n_items,)
        Numbers of the tied groups of x, from 0, without gaps.
    y_halves : ndarray of int32, shape (n_rankings, n_items)
        Mid-ranks times 2.
    table : ndarray of float64
        Weights of the ranks 1, 1.5, 2, .. n, because any mid-rank may occur in a resample; weights of the positions
        1, 2, .. n if `expected`.
    expected : bool
        Whether a tied item has the mean weight over the positions of its group.
    scheme, kind : int
        Numbers of the weighting scheme and of the coefficient in the kernels.
    """

    x_keys: Counts
    y_halves: Counts
    table: Values
    expected: bool
    scheme: int
    kind: int

    @classmethod
    def of(cls, coefficient: Coefficient, x: Ranking, others: Sequence[Ranking]) -> SortedItems:
        """Sort the items of aligned rankings by x."""
        expected = coefficient.weighting.tied_weights == "expected"
        halves = np.array([(2 * other.ranks[x.best_first]).astype(np.int32) for other in others])
        return cls(
            x_keys=number_groups(x.ranks[x.best_first]),
            y_halves=halves,
            table=rank_table(coefficient.weighting.weigher, x.n_items, not expected),
            expected=expected,
            scheme=SCHEMES.index(coefficient.weighting.scheme),
            kind=kind_of(coefficient),
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.x_keys.size

    @property
    def item_distances(self) -> Values:
        """Rank difference of each item between the first two other rankings, times the weight of its higher rank."""
        step, first = (2, 1) if self.expected else (1, 2)
        weights = self.table[self.y_halves.min(axis=0) // step - first]
        return np.asarray(weights * np.abs(np.diff(self.y_halves, axis=0)[0]))

    @property
    def y_keys(self) -> Counts:
        """Whole numbers from 0 that ascend with the rank in each other ranking, shape (n_rankings, n_items)."""
        return self.y_halves // 2 - 1

    @property
    def x_ranks(self) -> Values:
        """Mid-ranks of x."""
        starts, sizes = np.unique(self.x_keys, return_index=True, return_counts=True)[1:]
        return np.repeat(starts + 0.5 * (sizes + 1), sizes)

    @property
    def is_reversed(self) -> bool:
        """Whether the first of two other rankings comes after the second in a fixed order of rankings.

        Tests and intervals take two systems in this order. So they use the same random numbers for a and b as for b and
        a, and the results are mirror images.
        """
        return comes_after(*self.y_halves)

    def drop_item(self, item: int) -> SortedItems:
        """Return the rankings without one item, given by its place in x; the other items are ranked again."""
        table = self.table[: -1 if self.expected else -2]
        x_keys = number_groups(np.delete(self.x_keys, item))
        return replace(self, x_keys=x_keys, y_halves=drop_halves(self.y_halves, item), table=table)

    def of_keys(self, keys: Counts) -> Values:
        """Return coefficients of the first ranking with each other one in each draw, shape (n_draws, n_others).

        Undefined coefficients are nan. `keys`, shape (n_draws, 1 + n_others, n_items), number the tied groups of each
        ranking from best to worst, from 0. The keys of the first ranking ascend.
        """
        return self._resampled(np.ones((1, self.n_items), np.int32), keys, len(keys))

    def coefficients(self, counts: Counts) -> Values:
        """Return coefficients of x with each other ranking in each resample, shape (n_resamples, n_rankings).

        Undefined coefficients are nan. `counts` holds how often each item was drawn. The items are ranked again within
        each resample.
        """
        return self._resampled(counts, np.vstack((self.x_keys, self.y_keys))[np.newaxis], len(counts))

    def formula(self) -> Formula:
        """Return the coefficient in the form that the kernels take."""
        from rankcorr.inference._resampling_kernels import Formula

        return Formula(kernel_array(self.table), self.expected, self.scheme, self.kind)  # pickle makes it writable

    def _resampled(self, counts: Counts, keys: Counts, size: int) -> Values:
        from rankcorr.inference import _resampling_kernels as kernels

        values = np.empty((size, keys.shape[1] - 1))
        kernels.resampled_coefficients(
            counts, keys, self.formula(), kernels.new_memory(self.n_items, self.n_items), values
        )
        return values


@dataclass(frozen=True, eq=False, slots=True)
class ScoredItems:
    """Scores of a ranking x and of other rankings, with the items in the order of x from best to worst.

    Attributes
    ----------
    x : ndarray of float64, shape (n_items,)
        Scores of x with mean 0 and sum of squares 1; nan if all are equal.
    y : ndarray of float64, shape (n_rankings, n_items)
        The same for the other rankings.
    y_halves : ndarray of int32, shape (n_rankings, n_items)
        Mid-ranks times 2.
    """

    x: Values
    y: Values
    y_halves: Counts

    @classmethod
    def of(cls, x: Ranking, others: Sequence[Ranking]) -> ScoredItems:
        """Sort the items of aligned rankings by x."""
        order = x.best_first
        scores = np.array([unit_scores(other, "a system")[order] for other in others])
        halves = np.array([(2 * other.ranks[order]).astype(np.int32) for other in others])
        return cls(unit_scores(x, "gold")[order], scores, halves)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.x.size

    @property
    def item_distances(self) -> Values:
        """Difference of the scores of each item between the first two other rankings."""
        return np.asarray(np.abs(np.diff(self.y, axis=0)[0]))

    @property
    def is_reversed(self) -> bool:
        """As in `SortedItems`."""
        return comes_after(*self.y)

    def drop_item(self, item: int) -> ScoredItems:
        """Return the rankings without one item, given by its place in x; the other items are ranked again."""
        x, y = np.delete(self.x, item), np.delete(self.y, item, axis=1)
        return ScoredItems(unit_rows(x), unit_rows(y), drop_halves(self.y_halves, item))

    def coefficients(self, counts: Counts) -> Values:
        """Return coefficients of x with each other ranking in each resample, shape (n_resamples, n_rankings).

        Undefined coefficients are nan. `counts` holds how often each item was drawn.
        """
        shares = counts / counts.sum(axis=1, keepdims=True)
        y = np.ascontiguousarray(self.y.T)  # OpenBLAS would start threads even for few rankings in column order
        x_means, y_means = shares @ self.x, shares @ y
        x_squares, y_squares = shares @ self.x**2, shares @ y**2
        products = shares @ (self.x[:, np.newaxis] * y)
        covariances = products - x_means[:, np.newaxis] * y_means
        return quotients(covariances, (x_squares - x_means**2)[:, np.newaxis], y_squares - y_means**2, self.n_items)

    def resample_residuals(self, rng: np.random.Generator, size: int) -> Values:
        """Return coefficients after each item gets the residual of a random item in the regressions on x."""
        drawn_items = rng.integers(0, self.n_items, (size, self.n_items))
        values = np.empty((size, len(self.y)))
        for ranking, scores in enumerate(self.y):
            slope = float(self.x @ scores)
            new_scores = slope * self.x + (scores - slope * self.x)[drawn_items]
            values[:, ranking] = unit_rows(new_scores) @ self.x
        return values


Items: TypeAlias = SortedItems | ScoredItems


def sorted_items(coefficient: Coefficient, x: Ranking, others: Sequence[Ranking]) -> Items:
    """Sort the items of aligned rankings by x; keep scores if the coefficient compares scores, ranks otherwise."""
    if isinstance(coefficient, Pearson):
        return ScoredItems.of(x, others)
    return SortedItems.of(coefficient, x, others)


def quotients(covariances: Values, x_variances: Values, y_variances: Values, n_items: int) -> Values:
    """Return correlations; nan if a variance is 0 up to rounding. All are 1 / n_items without resampling."""
    least = 1e-13 / n_items
    is_defined = (x_variances > least) & (y_variances > least)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = covariances / np.sqrt(x_variances * y_variances)
    return np.where(is_defined, np.clip(values, -1.0, 1.0), np.nan)


def kind_of(coefficient: Coefficient) -> int:
    """Return the number of the coefficient in the kernels."""
    return int({None: loops().RHO, "a": loops().TAU_A, "b": loops().TAU_B}[coefficient.variant])


def drop_halves(halves: Counts, item: int) -> Counts:
    """Return doubled mid-ranks, a row for each ranking, after one item is left out."""
    item_halves = halves[:, item : item + 1]
    others: Counts = np.delete(halves, item, axis=1)
    others -= 2 * (others > item_halves).astype(np.int32) + (others == item_halves)
    return others


def number_groups(values: NDArray[Any]) -> Counts:
    """Return the number of each value's group, from 0 for the smallest value."""
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def comes_after(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether the first of two arrays is larger at the first place where they differ."""
    places = np.flatnonzero(first != second)
    return bool(places.size and first[places[0]] > second[places[0]])


def draw_counts(items: Items, rng: np.random.Generator, size: int) -> Counts:
    """Draw `size` resamples with replacement; return how often each item was drawn, shape (size, n_items)."""
    from rankcorr.inference import _resampling_kernels as kernels

    draws = rng.integers(0, items.n_items, (size, items.n_items), dtype=np.int32)
    counts = np.zeros_like(draws)
    kernels.count_draws(draws, counts)
    return counts


def delete_items(items: Items, places: NDArray[np.int64], draws: Draws) -> Values:
    """Delete each item at these places of x in turn; return the coefficients, shape (n_places, n_rankings)."""
    step = max(1, BLOCK_NUMBERS // items.n_items)

    def delete_block(block: NDArray[np.int64]) -> Values:
        counts = np.ones((block.size, items.n_items), np.int32)
        counts[np.arange(block.size), block] = 0
        return items.coefficients(counts)

    blocks = [places[start : start + step] for start in range(0, places.size, step)]
    return np.concatenate(in_threads(delete_block, blocks, draws.workers, draws.progress, lambda _: 0))


def resample_with_replacement(items: Items, draws: Draws) -> Values:
    """Return coefficients of x with each other ranking, shape (n_resamples, n_rankings); nan if undefined."""
    return np.concatenate(draws.in_blocks(partial(_resample_counts, items), items.n_items))


def _resample_counts(items: Items, rng: np.random.Generator, size: int) -> Values:
    return items.coefficients(draw_counts(items, rng, size))


def resample_envelope(items: Items, draws: Draws) -> Values:
    """Return coefficients of x with each other ranking, for half-samples, smoothed resamples and resampled residuals.

    The shape is (n_resamples, n_rankings); undefined values are nan. `split_kinds` separates the three kinds. Scores
    are resampled without smoothing, because copies of an item do not distort a coefficient of scores.
    """
    tasks: tuple[Callable[[np.random.Generator, int], Values], ...]
    if isinstance(items, ScoredItems):
        tasks = partial(_resample_half, items), partial(_resample_counts, items), items.resample_residuals
    else:
        new_rankings = SmoothedItems.of(items), Residuals.of(items)
        tasks = partial(_resample_half, items), *(partial(_draw_rankings, kind) for kind in new_rankings)
    numbers = [part.size for part in split_kinds(np.empty(draws.n_resamples))]
    n_numbers = 2 * items.n_items * (1 + len(items.y_halves))
    blocks = []
    for kind, (task, number) in enumerate(zip(tasks, numbers, strict=True)):
        blocks += replace(draws.of_part(kind), n_resamples=number).in_blocks(task, n_numbers)
    return np.concatenate(blocks)


def split_kinds(values: Values) -> list[Values]:
    """Separate the values of the three kinds of resamples of `resample_envelope`."""
    return np.array_split(values, 3)


def _resample_half(items: Items, rng: np.random.Generator, size: int) -> Values:
    return items.coefficients(draw_halves(items.n_items, rng, size))


def _draw_rankings(kind: SmoothedItems | Residuals, rng: np.random.Generator, size: int) -> Values:
    return kind.items.of_keys(kind.draw_keys(rng, size))


def draw_halves(n_items: int, rng: np.random.Generator, size: int) -> Counts:
    """Draw half of the items, at least two, `size` times; return 1 for each item drawn and 0 for the others."""
    keys = rng.random((size, n_items))
    last = max(2, (n_items + 1) // 2) - 1
    return (keys <= np.partition(keys, last)[:, last : last + 1]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class SmoothedItems:
    """Draws rankings of new items from the empirical beta copula of x and the other rankings.

    Attributes
    ----------
    items : SortedItems
    starts, sizes : ndarray of int64, shape (1 + n_rankings, n_items)
        Number of items before the tied group of each item, and in the group, in x and in each other ranking.
    bounds : ndarray of float64
        Start and end of each tied group as shares of the list, for one ranking after another.
    rows : ndarray of int64, shape (2 + n_rankings,)
        Index of the first of the `bounds` of each ranking, and their number.
    """

    items: SortedItems
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    bounds: Values
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, items: SortedItems) -> SmoothedItems:
        """Find the tied groups of each ranking."""
        starts, sizes, bounds = [], [], []
        for keys in (items.x_keys, *items.y_keys):
            groups, counts = np.unique(keys, return_inverse=True, return_counts=True)[1:]
            firsts = np.cumsum(counts) - counts
            starts.append(firsts[groups])
            sizes.append(counts[groups])
            tied = counts > 1
            bounds.append(np.column_stack([firsts[tied], (firsts + counts)[tied]]).ravel() / items.n_items)
        rows = np.cumsum([0, *(bound.size for bound in bounds)])
        return cls(items, np.stack(starts), np.stack(sizes), np.concatenate(bounds), rows)

    def draw_keys(self, rng: np.random.Generator, size: int) -> Counts:
        """Draw rankings of new items, as `SortedItems.of_keys` reads them.

        The place of a copy of an item is beta distributed, like the r-th smallest of n uniform numbers, where r is the
        position of the item. An item of a tied group takes a random position of the group. All copies that fall between
        the bounds of a group are tied.
        """
        from rankcorr.inference import _resampling_kernels as kernels

        n_rankings, n_items = self.starts.shape
        drawn_items = rng.integers(0, n_items, (size, n_items))
        key = int(rng.integers(1 << 62))
        bits = (n_items - 1).bit_length()
        packed = np.empty((size, n_rankings, n_items), np.int64)
        scratch = np.empty(n_items, np.int64), np.empty((kernels.SHARED, n_items))
        # The bits of positive floats are in the order of the floats. The last bits hold the number of the copy.
        kernels.draw_places(drawn_items, self.starts, self.sizes, key, bits, *scratch, packed)
        packed.sort(axis=-1)
        keys = np.empty(packed.shape, np.int32)
        kernels.drawn_keys(packed, bits, self.bounds, self.rows, keys)
        return keys


@dataclass(frozen=True, eq=False)
class Residuals:
    """Draws rankings by resampling the residuals of regressions of each other ranking on x, in normal scores.

    Attributes
    ----------
    items : SortedItems
    fitted, residuals : ndarray of float64, shape (n_rankings, n_items)
        They add up to the normal scores. The slope is sin(pi tau / 2), with Kendall's tau. It is robust to a few
        failures, and equals the correlation if the scores are normally distributed.
    starts : ndarray of int32, shape (1 + n_rankings, n_items)
        Number of items before the tied group of each place, in x and in each other ranking.
    """

    items: SortedItems
    fitted: Values
    residuals: Values
    starts: Counts

    @classmethod
    def of(cls, items: SortedItems) -> Residuals:
        """Fit the regressions."""
        from scipy.special import ndtri

        plain = replace(items, table=kernel_array(np.ones_like(items.table)), scheme=0, kind=kind_of(Tau()))
        tau = plain.coefficients(np.ones((1, items.n_items), np.int32))[0]
        slopes = np.nan_to_num(np.sin(0.5 * math.pi * tau))[:, np.newaxis]
        x_scores, y_scores = (-ndtri((ranks - 0.5) / items.n_items) for ranks in (items.x_ranks, 0.5 * items.y_halves))
        starts = []
        for keys in (items.x_keys, *items.y_keys):
            firsts, sizes = np.unique(np.sort(keys), return_index=True, return_counts=True)[1:]
            starts.append(np.repeat(firsts, sizes).astype(np.int32))
        return cls(items, slopes * x_scores, y_scores - slopes * x_scores, np.stack(starts))

    def draw_keys(self, rng: np.random.Generator, size: int) -> Counts:
        """Draw residuals, the same items for all rankings, and return rankings as `SortedItems.of_keys` reads them."""
        n_rankings, n_items = self.starts.shape
        drawn_items = rng.integers(0, n_items, (size, n_items))
        keys = np.empty((size, n_rankings, n_items), np.int32)
        keys[:, 0] = self.starts[0]
        rows = np.arange(size)[:, np.newaxis]
        noise = TIE_BREAKER * rng.standard_normal((size, n_items))  # shared, so that equal systems stay equal
        for ranking, fitted in enumerate(self.fitted):
            scores = fitted + self.residuals[ranking, drawn_items] + noise
            keys[rows, ranking + 1, np.argsort(-scores, axis=1)] = self.starts[ranking + 1]
        return keys


def envelope(statistic: float, values: Values, level: float) -> tuple[float, float]:
    """Return the smallest interval that contains the statistic and the percentile intervals of all three kinds.

    `values` are those of `resample_envelope` for one ranking, shape (n_resamples,). The result is nan without values.
    """
    ends = [end for kind in split_kinds(values) for end in percentile_interval(kind, level) if not math.isnan(end)]
    return (min(statistic, *ends), max(statistic, *ends)) if ends else (math.nan, math.nan)


def percentile_interval(values: Values, level: float) -> tuple[float, float]:
    """Return the quantiles (1 - level) / 2 and (1 + level) / 2 of the defined values; nan without values."""
    values = values[~np.isnan(values)]
    if values.size == 0:
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
