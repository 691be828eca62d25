"""Aligned rankings, sorted by the first of them: what the kernels that resample items read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankcorr.coefficients import Coefficient
from rankcorr.ranking import Ranking
from rankcorr.weights import SCHEMES, rank_table

Values = NDArray[np.float64]
Counts = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class SortedItems:
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
        Whether a tied item weighs the mean over the positions of its group.
    scheme, kind : int
        The scheme of the weights, and the coefficient, as the kernels number them.
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
        from rankcorr.inference import kernels

        expected = coefficient.weighting.tied_weights == "expected"
        kind = {None: kernels.RHO, "a": kernels.TAU_A, "b": kernels.TAU_B}[coefficient.variant]
        halves = np.array([(2 * other.ranks[x.best_first]).astype(np.int32) for other in others])
        return cls(
            x_keys=x.ranks[x.best_first].astype(np.int32) - 1,
            y_halves=halves,
            table=rank_table(coefficient.weighting.weigher, x.n_items, not expected),
            expected=expected,
            scheme=SCHEMES.index(coefficient.weighting.scheme),
            kind=kind,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.x_keys.size

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
    def is_turned(self) -> bool:
        """Whether the first of two other rankings comes after the second in an order of all rankings.

        Tests and intervals take two systems in this order, so that the numbers they draw for a and b are those for b
        and a: each gives the mirror image of the other.
        """
        first, second = self.y_halves
        apart = np.flatnonzero(first != second)
        return bool(apart.size and first[apart[0]] > second[apart[0]])

    def turned(self) -> SortedItems:
        """The same items, with the other rankings in reverse."""
        return replace(self, y_halves=np.ascontiguousarray(self.y_halves[::-1]))

    def of_keys(self, keys: Counts) -> Values:
        """Coefficient of one ranking with others in each draw, shape (n_draws, n_others); nan if undefined.

        `keys`, shape (n_draws, 1 + n_others, n_items), number the tied groups from best to worst, from 0; those of the
        first ranking ascend.
        """
        from rankcorr.inference import kernels

        values = np.empty((len(keys), keys.shape[1] - 1))
        kernels.drawn_coefficients(keys, self.table, self.expected, self.scheme, self.kind, values)
        return values

    def drawn(self, rng: np.random.Generator, size: int) -> Counts:
        """How often each item occurs in each of `size` resamples with replacement, shape (size, n_items)."""
        from rankcorr.inference import kernels

        draws = rng.integers(0, self.n_items, (size, self.n_items), dtype=np.int32)
        counts = np.empty_like(draws)
        kernels.count_draws(draws, counts)
        return counts

    def coefficients(self, counts: Counts) -> Values:
        """Coefficient of x with each other ranking in each resample, shape (n_resamples, n_rankings); nan if undefined.

        `counts` says how often each item was drawn. All are ranked again within a resample.
        """
        from rankcorr.inference import kernels

        values = np.empty((len(counts), len(self.y_halves)))
        kernels.resampled_coefficients(
            counts, self.x_keys, self.y_keys, self.table, self.expected, self.scheme, self.kind, values
        )
        return values


def derived_seed(seed: int, *path: int) -> int:
    """Return a separate seed for each part of a computation, so that no two parts draw the same numbers."""
    state = np.random.SeedSequence(seed, spawn_key=(0, *path)).generate_state(2, np.uint64)
    return int(state[0]) << 64 | int(state[1])
