"""What `compare_runs` returns: runs from best to worst, differences of pairs, and the same by group of queries."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import shown
from rankcorr.errors import OptionError
from rankcorr.evaluation.matching import Coverage
from rankcorr.results import Result, TableResult


@dataclass(frozen=True, eq=False)
class RunScore(Result):
    """One run of a comparison.

    Attributes
    ----------
    run : str
    rank : float
        1 is the best; tied runs share their mid-rank. nan without a mean.
    group : int or None
        Number of the group of runs that tests cannot tell from its first, from 1; None without a mean.
    mean, low, high : float
        Mean over queries, and its interval.
    n_queries : int
        Number of queries with a value.
    pvalue, corrected_pvalue : float
        P-value of the test against the best run, and corrected for a best one that was found by looking; nan for the
        best itself.
    """

    run: str
    rank: float
    group: int | None
    mean: float
    low: float
    high: float
    n_queries: int
    pvalue: float
    corrected_pvalue: float


@dataclass(frozen=True, eq=False)
class PairedDifference(Result):
    """The difference of two runs over the queries that both have.

    Attributes
    ----------
    first, second : str
        Runs; the difference is the mean of the first less that of the second.
    difference, low, high : float
        Mean difference, and its interval.
    pvalue, corrected_pvalue : float
        Two-sided, and corrected by Holm's method over all pairs that stand beside it.
    effect_size : float
        Mean difference over the standard deviation of the differences.
    n_queries, n_better, n_worse : int
        Number of queries that both have, and in how many of them the first run is better and worse.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    pvalue: float
    corrected_pvalue: float
    effect_size: float
    n_queries: int
    n_better: int
    n_worse: int

    def turned(self) -> PairedDifference:
        """Return the second run less the first."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            difference=0.0 - self.difference,
            low=0.0 - self.high,
            high=0.0 - self.low,
            effect_size=0.0 - self.effect_size,
            n_better=self.n_worse,
            n_worse=self.n_better,
        )


@dataclass(frozen=True, eq=False)
class GroupComparison(Result):
    """Runs over the queries of one group.

    Attributes
    ----------
    group : hashable
    n_queries : int
        Number of queries of the group.
    means : tuple of float
        Of the runs, in the order of `RunComparison.rows`.
    pairs : tuple of PairedDifference
        P-values are corrected over the pairs of all groups.
    """

    group: Hashable
    n_queries: int
    means: tuple[float, ...]
    pairs: tuple[PairedDifference, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RunComparison(TableResult):
    """Runs from best to worst over queries, and what was computed.

    Attributes
    ----------
    rows : tuple of RunScore
        Best first.
    pairs : tuple of PairedDifference
        Each pair of runs, the better one first; with a baseline, each other run against it.
    groups : tuple of GroupComparison
        The same by group of queries, where groups were given.
    queries : tuple
    values : ndarray of float64, shape (n_runs, n_queries), read-only
        In the order of `rows`.
    coverage : tuple of Coverage
        What of each run was compared, in the order of `rows`.
    metric : str
    standardized : bool
    test : str
    unit : str
        What is resampled, flipped and exchanged: always "queries".
    baseline : str or None
    level : float
    n_resamples, seed : int
    """

    rows: tuple[RunScore, ...]
    pairs: tuple[PairedDifference, ...]
    groups: tuple[GroupComparison, ...]
    queries: tuple[Hashable, ...]
    values: NDArray[np.float64]
    coverage: tuple[Coverage, ...]
    metric: str
    standardized: bool
    test: str
    unit: str
    baseline: str | None
    level: float
    n_resamples: int
    seed: int

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs, best first."""
        return tuple(row.run for row in self.rows)

    def pair(self, first: str, second: str) -> PairedDifference:
        """Return the difference of two runs that were compared: `first` less `second`, whichever is better.

        Raises
        ------
        OptionError
            The two were not compared.
        """
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
            if (pair.second, pair.first) == (first, second):
                return pair.turned()
        raise OptionError(f"{shown(first)} and {shown(second)} were not compared; runs are {', '.join(self.runs)}")

    def differences(self, first: str | None = None, second: str | None = None) -> NDArray[np.float64]:
        """Values of `first` less those of `second`, shape (n_queries,); by default those of the first pair.

        Raises
        ------
        OptionError
            There is no such run, or only one is named.
        """
        if (first is None) != (second is None):
            raise OptionError("first and second go together: name both runs or neither")
        if first is None or second is None:
            first, second = self.pairs[0].first, self.pairs[0].second
        for run in (first, second):
            if run not in self.runs:
                raise OptionError(f"there is no run {shown(run)}; runs are {', '.join(self.runs)}")
        return np.asarray(self.values[self.runs.index(first)] - self.values[self.runs.index(second)])

    def _columns(self) -> dict[str, list[Any]]:
        names = ("rank", "group", "run", "mean", "low", "high", "pvalue", "corrected_pvalue", "n_queries")
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def __repr__(self) -> str:
        best = ", ".join(f"{row.run} {row.mean:.4f}" for row in self.rows[:5])
        more = ", ..." if len(self.rows) > 5 else ""
        return (
            f"<RunComparison of {len(self.rows)} runs over {len(self.queries):,} queries, {self.metric}: {best}{more}>"
        )
