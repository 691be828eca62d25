"""Tests between systems of a leaderboard, and the groups of those that cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankcorr.coefficients import Coefficient
from rankcorr.inference.bootstrap import ROUNDING
from rankcorr.inference.comparison import MAX_EXACT, all_swaps, drawn_swaps
from rankcorr.inference.gold_sets import Entered, common
from rankcorr.inference.holm import holm
from rankcorr.inference.resampling import in_blocks
from rankcorr.inference.sorted_items import SortedItems, Values
from rankcorr.workers import Progress

System = Sequence[Entered]


class PairedTests:
    """Two-sided randomization tests of one system against others, over the sum of some gold sets.

    The mid-ranks of two systems are swapped item by item, within each gold set, and ranked again. Tests of one leader
    share the items to swap. All swaps are enumerated where two systems have no more than 12 items in all.
    """

    def __init__(
        self, coefficient: Coefficient, n_resamples: int, *, seed: int, workers: int, progress: Progress | None
    ) -> None:
        self._coefficient = coefficient
        self._n_resamples = n_resamples
        self._seed = seed
        self._workers = workers
        self._progress = progress

    def pvalues(self, leader: System, others: Sequence[System]) -> Values:
        """P-value of the leader against each other system; nan where a coefficient is undefined over shared items."""
        pairs = []
        for other in others:
            self._look()
            pairs.append(self._sorted(leader, other))
        observed = np.array([_observed(items) for items in pairs])
        pvalues = np.full(len(pairs), np.nan)
        drawn = []
        for row, items in enumerate(pairs):
            if np.isnan(observed[row]):
                continue
            if (pvalue := _exact(items, observed[row])) is None:
                drawn.append(row)
            else:
                pvalues[row] = pvalue
        if drawn:
            counts = self._counts([pairs[row] for row in drawn], observed[drawn], None)
            pvalues[drawn] = (1 + counts) / (1 + self._n_resamples)
        return pvalues

    def leads(self, leader: System, other: System) -> bool:
        """Whether the leader is the better of the two over the items of the test, which both systems have."""
        return _observed(self._sorted(leader, other)) > 0

    def told_apart(self, leader: System, other: System, alpha: float) -> bool:
        """Whether the leader leads, with a p-value below alpha; the test ends as soon as that is known."""
        items = self._sorted(leader, other)
        observed = _observed(items)
        if not observed > 0:  # no p-value, however small, would put the other below; also true for nan
            return False
        if (pvalue := _exact(items, observed)) is not None:
            return pvalue < alpha
        counts = self._counts([items], np.array([observed]), alpha)
        return bool((1 + counts[0]) / (1 + self._n_resamples) < alpha)

    def _look(self) -> None:
        """Let the caller stop the work; from the calling thread alone."""
        if self._progress is not None and self._workers == 1:
            self._progress(0)

    def _sorted(self, leader: System, other: System) -> list[SortedItems]:
        return [
            SortedItems.of(self._coefficient, gold, [first, second])
            for gold, first, second in (common(*pair) for pair in zip(leader, other, strict=True))
        ]

    def _counts(self, pairs: list[list[SortedItems]], observed: Values, alpha: float | None) -> Values:
        """Number of differences at least as extreme as the observed ones; undefined ones count too.

        With `alpha`, counting stops where p-values below it are out of reach.
        """
        widths = [max(items[gold].n_items for items in pairs) for gold in range(len(pairs[0]))]
        enough = np.inf if alpha is None else alpha * (1 + self._n_resamples)
        so_far = np.zeros(len(pairs))

        def task(rng: np.random.Generator, size: int) -> Values:
            if so_far.min() >= enough:
                return np.zeros(len(pairs))
            sums = np.zeros((len(pairs), size))
            for gold, width in enumerate(widths):
                swaps = drawn_swaps(rng, size, width)
                for row, items in enumerate(pairs):
                    self._look()
                    n_items = items[gold].n_items
                    sums[row] += items[gold].differences(
                        swaps if n_items == width else np.ascontiguousarray(swaps[:, :n_items])
                    )
            extreme = ~(np.abs(sums) < np.abs(observed)[:, np.newaxis] - ROUNDING)  # true for nan
            found = np.asarray(extreme.sum(axis=1), dtype=np.float64)
            so_far[:] += found
            return found

        # A swap takes one byte, an eighth of a number.
        blocks = in_blocks(
            task,
            self._n_resamples,
            max(1, sum(widths) // 8),
            seed=self._seed,
            workers=self._workers,
            progress=self._progress,
        )
        return np.asarray(np.sum(blocks, axis=0))


def alpha_of(level: float) -> float:
    """Return 1 - level, rounded: 1 - 0.95 exceeds 0.05 in the last digit, and a p-value of 3/60 is not below 0.05."""
    return round(1 - level, 12)


def groups_of(tests: PairedTests, systems: Sequence[System], corrected: Values, level: float) -> list[int]:
    """Number of the group, from 1, of each system; they come from best to worst.

    `corrected` holds the corrected p-values against the best, nan for the best itself.
    """
    alpha = alpha_of(level)
    groups = [1]
    leader = 0
    for row in range(1, len(systems)):
        if leader == 0:
            apart = bool(corrected[row] < alpha) and tests.leads(systems[0], systems[row])
        else:
            apart = tests.told_apart(systems[leader], systems[row], alpha / (len(systems) - 1 - leader))
        if apart:
            leader = row
        groups.append(groups[-1] + apart)
    return groups


def corrected_pvalues(tests: PairedTests, systems: Sequence[System]) -> tuple[Values, Values]:
    """P-values of the first system against each, nan against itself, as they are and with Holm's correction."""
    pvalues = np.full(len(systems), np.nan)
    if len(systems) > 1:
        pvalues[1:] = tests.pvalues(systems[0], systems[1:])
    return pvalues, holm(pvalues)


def _observed(items: list[SortedItems]) -> float:
    """Sum of the differences as they are, by the same kernel that computes those of swapped ranks."""
    return float(sum(each.differences(np.zeros((1, each.n_items), np.uint8))[0] for each in items))


def _exact(items: list[SortedItems], observed: float) -> float | None:
    """P-value by enumeration; None where there are too many swaps."""
    n_items = [each.n_items for each in items]
    if sum(n_items) > MAX_EXACT:
        return None
    swaps = np.split(all_swaps(sum(n_items)), np.cumsum(n_items)[:-1], axis=1)
    sums = sum(each.differences(np.ascontiguousarray(part)) for each, part in zip(items, swaps, strict=True))
    return float(np.mean(~(np.abs(sums) < abs(observed) - ROUNDING)))
