"""Random resamples in blocks, the same for any number of workers, and the aligned rankings that their kernels read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import alpha_of, checked_resamples, checked_seed, shown
from rankcorr._coefficients import Coefficient, Pearson, unit_rows, unit_scores
from rankcorr._input.scores import loops
from rankcorr._ranking import Ranking
from rankcorr._weights import SCHEMES, rank_table
from rankcorr._workers import Progress, checked_workers, in_executor, in_threads, silent
from rankcorr.errors import OptionError

if TYPE_CHECKING:
    from rankcorr.inference._resampling_kernels import Formula

Result = TypeVar("Result")

# Enough work for a thread to outlast its scheduling, few enough numbers to stay in the cache.
BLOCK_NUMBERS = 1 << 15

# Number of calls of an executor that the blocks are divided into: each call takes all data along.
CALLS: Final = 16
Values = NDArray[np.float64]
Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Draws:
    """How resamples are drawn: their number and seed, the number of threads, and the progress callback.

    An executor, if given, runs blocks of tasks that can be pickled; no threads are used then.
    """

    n_resamples: int
    seed: int
    workers: int = 1
    progress: Progress = silent
    executor: Executor | None = None

    @classmethod
    def checked(
        cls,
        n_resamples: object,
        seed: object,
        workers: int | None,
        progress: Progress | None,
        executor: Executor | None = None,
    ) -> Draws:
        """Check the arguments of a public function and return its draws, or raise OptionError."""
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise OptionError(f"executor must be a concurrent.futures.Executor; got {shown(executor)}")
        return cls(
            checked_resamples(n_resamples), checked_seed(seed), checked_workers(workers), progress or silent, executor
        )

    def check_reach(self, level: float, units: str = "systems") -> None:
        """Refuse a number of resamples too small for any p-value to reject at this level."""
        alpha = alpha_of(level)
        if 1 / (1 + self.n_resamples) > alpha:
            raise OptionError(
                f"n_resamples must be at least {math.ceil(1 / alpha - 1e-9) - 1:,} at level {level:g}, or no test "
                f"could tell two {units} apart; got {self.n_resamples:,}"
            )

    def of_part(self, *path: int) -> Draws:
        """The same from another seed, so that no two parts of a computation draw the same numbers."""
        return replace(self, seed=derived_seed(self.seed, *path))

    def fewer(self, most: int) -> Draws:
        """Return the same draws, but at most `most` of them; they can be stopped, and do not count as progress."""
        return replace(self, n_resamples=min(self.n_resamples, most), progress=lambda _: self.progress(0))

    def in_blocks(self, task: Callable[[np.random.Generator, int], Result], numbers_each: int) -> list[Result]:
        """Results of a task for each block of resamples, the same for any number of threads.

        Parameters
        ----------
        task : callable
            Takes the generator of a block and the number of its resamples. Block i draws from
            `numpy.random.SeedSequence(seed, spawn_key=(i,))`.
        numbers_each : int
            Numbers that one resample takes in memory; this determines the size of the blocks.

        Examples
        --------
        >>> blocks = Draws(5, seed=1, workers=2).in_blocks(lambda rng, size: rng.random(size), 1 << 14)
        >>> [block.size for block in blocks]
        [2, 2, 1]
        """
        step = max(1, BLOCK_NUMBERS // max(1, numbers_each))
        starts = range(0, self.n_resamples, step)
        blocks = list(enumerate(min(step, self.n_resamples - start) for start in starts))
        if self.executor is None:
            return in_threads(
                lambda block: _run(task, self.seed, block), blocks, self.workers, self.progress, lambda block: block[1]
            )
        step = max(1, (len(blocks) - 1) // CALLS)
        parts = [blocks[:1], *(blocks[start : start + step] for start in range(1, len(blocks), step))]
        results: list[Result] = []
        with closing(in_executor(self.executor, _run_all, [(task, self.seed, part) for part in parts])) as part_results:
            for part, values in zip(parts, part_results, strict=True):
                results += values
                self.progress(sum(size for _, size in part))
        return results


def _run(task: Callable[[np.random.Generator, int], Result], seed: int, block: tuple[int, int]) -> Result:
    index, size = block
    return task(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,))), size)


def _run_all(
    task: Callable[[np.random.Generator, int], Result], seed: int, blocks: Sequence[tuple[int, int]]
) -> list[Result]:
    return [_run(task, seed, block) for block in blocks]


class Resampled:
    """Rankings whose items can be drawn: the base of `SortedItems` and `ScoredItems`."""

    __slots__ = ()

    @property
    def n_items(self) -> int:
        """Number of items."""
        raise NotImplementedError

    def coefficients(self, counts: Counts) -> Values:
        """Coefficients of the first ranking with the others, if items are drawn as often as `counts` says."""
        raise NotImplementedError

    def draw_counts(self, rng: np.random.Generator, size: int) -> Counts:
        """Number of times that each item occurs in each of `size` resamples with replacement, shape (size, n_items)."""
        from rankcorr.inference import _resampling_kernels as kernels

        draws = rng.integers(0, self.n_items, (size, self.n_items), dtype=np.int32)
        counts = np.zeros_like(draws)
        kernels.count_draws(draws, counts)
        return counts

    def delete_each(self, places: NDArray[np.int64], draws: Draws) -> Values:
        """Coefficients without each of the items at these places of x, shape (n_places, n_rankings)."""
        step = max(1, BLOCK_NUMBERS // self.n_items)

        def coefficients_without(block: NDArray[np.int64]) -> Values:
            counts = np.ones((block.size, self.n_items), np.int32)
            counts[np.arange(block.size), block] = 0
            return self.coefficients(counts)

        blocks = [places[start : start + step] for start in range(0, places.size, step)]
        return np.concatenate(in_threads(coefficients_without, blocks, draws.workers, draws.progress, lambda _: 0))


@dataclass(frozen=True, eq=False, slots=True)
class SortedItems(Resampled):
    """One ranking x and rows of others, over the same items, in the order of x from best to worst.

    Attributes
    ----------
    x_keys : ndarray of int32, shape (n_items,)
        Whole numbers that ascend with the rank, the same for tied items.
    y_halves : ndarray of int32, shape (n_rankings, n_items)
        Mid-ranks times 2.
    table : ndarray of float64
        Weights of the ranks 1, 1.5, 2, .. n, since any mid-rank may occur in a resample, or of positions.
    expected : bool
        Whether a tied item has the mean weight over the positions of its group.
    scheme, kind : int
        The scheme of the weights, and the coefficient, as numbered in the kernels.
    """

    x_keys: Counts
    y_halves: Counts
    table: Values
    expected: bool
    scheme: int
    kind: int

    @classmethod
    def of(cls, coefficient: Coefficient, x: Ranking, others: Sequence[Ranking]) -> SortedItems:
        """Sort aligned rankings by x."""
        expected = coefficient.weighting.tied_weights == "expected"
        halves = np.array([(2 * other.ranks[x.best_first]).astype(np.int32) for other in others])
        return cls(
            x_keys=x.ranks[x.best_first].astype(np.int32) - 1,
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
        """How far each item is apart in the first two other rankings, times its weight where it ranks higher."""
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
        """Whether the first of two other rankings comes after the second in an order of all rankings.

        Tests and intervals take two systems in this order, so that they draw the same numbers for a and b as for b and
        a: each gives the mirror image of the other.
        """
        return comes_after(*self.y_halves)

    def drop_item(self, item: int) -> SortedItems:
        """The same without one item, given by its place in x; the others are ranked again."""
        halves, item_halves = np.delete(self.y_halves, item, axis=1), self.y_halves[:, item : item + 1]
        halves -= 2 * (halves > item_halves).astype(np.int32) + (halves == item_halves)
        table = self.table[: -1 if self.expected else -2]
        keys = np.delete(self.x_keys, item)
        keys -= keys > self.x_keys[item]  # all below the number of items
        return replace(self, x_keys=keys, y_halves=halves, table=table)

    def of_keys(self, keys: Counts) -> Values:
        """Coefficient of one ranking with others in each draw, shape (n_draws, n_others); nan if undefined.

        `keys`, shape (n_draws, 1 + n_others, n_items), number the tied groups from best to worst, from 0; those of the
        first ranking ascend.
        """
        return self._resampled(np.ones((1, self.n_items), np.int32), keys, len(keys))

    def coefficients(self, counts: Counts) -> Values:
        """Coefficient of x with each other ranking in each resample, shape (n_resamples, n_rankings); nan if undefined.

        `counts` holds how often each item was drawn. All are ranked again within a resample.
        """
        return self._resampled(counts, np.vstack((self.x_keys, self.y_keys))[np.newaxis], len(counts))

    def formula(self) -> Formula:
        """The coefficient as kernels take it."""
        from rankcorr.inference._resampling_kernels import Formula

        return Formula(self.table, self.expected, self.scheme, self.kind)

    def _resampled(self, counts: Counts, keys: Counts, size: int) -> Values:
        from rankcorr.inference import _resampling_kernels as kernels

        values = np.empty((size, keys.shape[1] - 1))
        kernels.resampled_coefficients(counts, keys, self.formula(), kernels.new_memory(self.n_items), values)
        return values


@dataclass(frozen=True, eq=False, slots=True)
class ScoredItems(Resampled):
    """Scores of one ranking x and of others, for a coefficient of scores; the items are in the order of x.

    Attributes
    ----------
    x : ndarray of float64, shape (n_items,)
        Scores with mean 0 and a sum of squares of 1; nan if all are equal.
    y : ndarray of float64, shape (n_rankings, n_items)
        Those of the other rankings.
    y_halves : ndarray of int32, shape (n_rankings, n_items)
        Mid-ranks times 2.
    """

    x: Values
    y: Values
    y_halves: Counts

    @classmethod
    def of(cls, x: Ranking, others: Sequence[Ranking]) -> ScoredItems:
        """Sort aligned rankings by x."""
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
        """How far each item is apart in the first two other rankings."""
        return np.asarray(np.abs(np.diff(self.y, axis=0)[0]))

    @property
    def is_reversed(self) -> bool:
        """As that of `SortedItems`."""
        return comes_after(*self.y)

    def drop_item(self, item: int) -> ScoredItems:
        """The same without one item, given by its place in x; the others are ranked again."""
        halves, item_halves = np.delete(self.y_halves, item, axis=1), self.y_halves[:, item : item + 1]
        halves -= 2 * (halves > item_halves).astype(np.int32) + (halves == item_halves)
        x, y = np.delete(self.x, item), np.delete(self.y, item, axis=1)
        return ScoredItems(unit_rows(x), unit_rows(y), halves)

    def coefficients(self, counts: Counts) -> Values:
        """Coefficient of x with each other ranking in each resample, shape (n_resamples, n_rankings); nan if undefined.

        `counts` holds how often each item was drawn.
        """
        shares = counts / counts.sum(axis=1, keepdims=True)
        y = np.ascontiguousarray(self.y.T)  # a matrix by columns takes OpenBLAS up to 100 times as long
        x_means, y_means = shares @ self.x, shares @ y
        x_squares, y_squares = shares @ self.x**2, shares @ y**2
        products = shares @ (self.x[:, np.newaxis] * y)
        covariances = products - x_means[:, np.newaxis] * y_means
        return quotients(covariances, (x_squares - x_means**2)[:, np.newaxis], y_squares - y_means**2, self.n_items)

    def resample_residuals(self, rng: np.random.Generator, size: int) -> Values:
        """Coefficients if each item gets the residual of a random item in the regressions on x."""
        drawn_items = rng.integers(0, self.n_items, (size, self.n_items))
        values = np.empty((size, len(self.y)))
        for ranking, scores in enumerate(self.y):
            slope = float(self.x @ scores)
            drawn = slope * self.x + (scores - slope * self.x)[drawn_items]
            values[:, ranking] = unit_rows(drawn) @ self.x
        return values


def sorted_items(coefficient: Coefficient, x: Ranking, others: Sequence[Ranking]) -> SortedItems | ScoredItems:
    """Sort aligned rankings by x: with their scores if the coefficient compares these, else with their ranks."""
    if isinstance(coefficient, Pearson):
        return ScoredItems.of(x, others)
    return SortedItems.of(coefficient, x, others)


def quotients(covariances: Values, x_variances: Values, y_variances: Values, n_items: int) -> Values:
    """Return correlations; nan where a variance is 0 up to rounding. Without resampling, variances are 1 / n_items."""
    least = 1e-13 / n_items
    is_defined = (x_variances > least) & (y_variances > least)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = covariances / np.sqrt(x_variances * y_variances)
    return np.where(is_defined, np.clip(values, -1.0, 1.0), np.nan)


def kind_of(coefficient: Coefficient) -> int:
    """Number of the formula, as the kernels know it."""
    return int({None: loops().RHO, "a": loops().TAU_A, "b": loops().TAU_B}[coefficient.variant])


def comes_after(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether the first of two arrays is the larger one where they first differ."""
    places = np.flatnonzero(first != second)
    return bool(places.size and first[places[0]] > second[places[0]])


def derived_seed(seed: int, *path: int) -> int:
    """Return a separate seed for each part of a computation, so that no two parts draw the same numbers."""
    state = np.random.SeedSequence(seed, spawn_key=(0, *path)).generate_state(2, np.uint64)
    return int(state[0]) << 64 | int(state[1])
