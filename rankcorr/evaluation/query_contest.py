"""Runs that compete over queries: what the groups of a leaderboard are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankcorr.evaluation.query_tests import Means, Test, Values, pvalues
from rankcorr.inference.copula import ROUNDING
from rankcorr.inference.resampling import Draws

PAIRED, JOINT = range(2)


@dataclass(frozen=True, eq=False, slots=True)
class QueryContest:
    """Runs from best to worst, with a value for each query, for `leaderboard_groups.contested`.

    The lead of the best run over another is compared with the range, from the best to the worst, that all runs have
    when they exchange places at random within each query (Tukey's test of all pairs, randomized), step-down. Leads over
    runs that differ from the best by more than two runs do on average are scaled down by as much, as Tukey and Kramer
    scale by standard errors.

    Attributes
    ----------
    values : ndarray of float64, shape (n_queries, n_runs)
        nan where a query has no value; the ranges are of the queries that all runs at hand have.
    test : str
    draws : Draws
    """

    values: Values
    test: Test
    draws: Draws

    @property
    def n_systems(self) -> int:
        """Number of runs."""
        return int(self.values.shape[1])

    def pvalues(self, leader: int, others: Sequence[int]) -> tuple[Values, Values]:
        """P-value of the paired test of a run and each other one, and its lead over the queries that both have.

        All tests draw the same signs or queries, so that a pair has the same p-value wherever it is tested.
        """
        differences = self.values[:, [leader]] - self.values[:, list(others)]
        return pvalues(differences, self.test, self.draws.of_part(PAIRED)), Means.of(differences).means

    def corrected(self, rows: Sequence[int], stage: int = 0) -> Values:
        """P-value of the first of some runs against each other one, corrected for having been chosen; step-down."""
        from rankcorr.evaluation.query_kernels import exchanged_sums

        values = self.values[:, list(rows)]
        values = np.ascontiguousarray(values[~np.isnan(values).any(axis=1)])
        n_queries, n_runs = values.shape
        if n_queries == 0:
            return np.full(n_runs - 1, np.nan)

        def task(rng: np.random.Generator, size: int) -> Values:
            sums = np.empty((size, n_runs))
            exchanged_sums(rng, values, sums)
            return np.asarray(np.maximum.accumulate(sums, axis=1) - np.minimum.accumulate(sums, axis=1))

        part = self.draws.of_part(JOINT, rows[0], stage)
        ranges = np.concatenate(part.in_blocks(task, 2 * n_runs * n_queries))
        leads = (values[:, :1] - values[:, 1:]).sum(axis=0) * self._scales(values)
        found, largest = np.empty(n_runs - 1), 0.0
        for n_before, row in enumerate(np.argsort(-leads, kind="stable").tolist()):
            # The runs with larger leads have left; which of the exchanged ones stand for the others is all one.
            reached = np.count_nonzero(ranges[:, n_runs - 1 - n_before] >= leads[row] - ROUNDING * n_queries)
            largest = max(largest, (1 + int(reached)) / (1 + ranges.shape[0]))
            found[row] = largest
        return found

    @staticmethod
    def _scales(values: Values) -> Values:
        """By how much the lead of the first run over each other one is scaled down."""
        n_queries, n_runs = values.shape
        if n_runs == 2:
            return np.ones(1)
        spread = np.cov(values, rowvar=False)
        variances = np.diag(spread)[:, np.newaxis] + np.diag(spread) - 2 * spread
        typical = np.sqrt(variances.sum() / (n_runs * (n_runs - 1)))
        # Less two of its standard errors: only a spread that surely exceeds the typical one counts.
        own = np.sqrt(np.maximum(0.0, variances[0, 1:])) * (1 - min(1.0, 2 / np.sqrt(2 * n_queries)))
        return np.asarray(np.divide(typical, own, out=np.ones(own.size), where=own > typical))
