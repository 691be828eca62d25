"""Results of a comparison of runs: scores of runs, differences of pairs, and both by group of queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, counted, first_few, shown
from rankcorr._output.report import Report
from rankcorr._output.results import Result, ResultRows, TableResult, columns_of
from rankcorr._output.tables import TableNotes, best_places, significance_notes
from rankcorr.errors import OptionError
from rankcorr.evaluation._matching import Coverage
from rankcorr.evaluation._reports import run_comparison_report
from rankcorr.inference._system_comparison import LeftOut

Verdict: TypeAlias = Literal["equivalent", "better", "worse", "undecided"]

STEP_DOWN: Final = "step-down"
HOLM: Final = "holm"
MIRRORED: Final[dict[Verdict, Verdict]] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, eq=False)
class RunScore(Result):
    """One run of a comparison.

    Attributes
    ----------
    rank : float
        1 is the best; tied runs share their mid-rank. nan if the run has no mean.
    group : int or None
        Number of the group, from 1. The first run of a group is significantly better than all runs of later groups;
        other runs of two groups may not differ. None if the run has no mean.
    least_rank, largest_rank : int or None
        Range of ranks that the tests of all pairs leave possible, simultaneously for all runs: a run with `least_rank`
        1 may be the best. The correction for all pairs demands more evidence than the single test of `pvalue`, so
        `least_rank` may be 1 where `pvalue` is below 0.05. None if the run has no mean.
    run : str
        Name of the run.
    mean, low, high : float
        Mean over queries, and its interval. An end without a bound is infinite, and null in JSON.
    pvalue, corrected_pvalue : float
        P-value of the test against the best run: uncorrected, and corrected for all pairs of runs (step-down). nan for
        the best run.
    n_queries : int
        Number of queries with a value.

    See Also
    --------
    RunComparison : Lists the scores as `rows`.
    PairedDifference : The difference of two runs.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {"good": dict.fromkeys(qrels, good), "poor": dict.fromkeys(qrels, poor)}
    >>> best, other = compare_runs(qrels, runs, metric="ap").rows
    >>> best.run, best.rank, best.mean, best.n_queries
    ('good', 1.0, 1.0, 6)
    >>> other.run, round(other.mean, 4), other.pvalue
    ('poor', 0.5833, 0.03125)
    """

    rank: float
    group: int | None
    least_rank: int | None
    largest_rank: int | None
    run: str
    mean: float
    low: float
    high: float
    pvalue: float
    corrected_pvalue: float
    n_queries: int


@dataclass(frozen=True, eq=False)
class PairedDifference(Result):
    """The difference of two runs over the queries that both have.

    Attributes
    ----------
    first, second : str
        Names of the runs; the difference is the mean of the first minus that of the second.
    difference, low, high : float
        Mean difference, and the interval of differences that the same test does not reject. It excludes 0 if and only
        if the p-value is at most 1 - level.
    pvalue, corrected_pvalue : float
        Two-sided p-value: uncorrected, and corrected for all pairs of the comparison. `RunComparison.correction` names
        the method.
    effect_size : float
        Mean difference divided by the standard deviation of the differences.
    n_queries, n_better, n_worse : int
        Number of queries that both runs have, and of those where the first run is better or worse.
    detectable : float
        Smallest true difference that the test finds with a power of 0.8. nan if no p-value can reach 1 - level, or if
        the difference is the same on every query.
    least, most : LeftOut or None
        The queries whose removal makes the difference smallest and largest; None with fewer than two queries.
    fragile : bool
        Whether removing a single query reverses the verdict of the test at 1 - level.
    verdict : str or None
        "equivalent", "better", "worse" or "undecided": the first run relative to the second, by the uncorrected tests
        with the margin `equivalent_within`. None without a margin.

    See Also
    --------
    RunComparison : Lists the differences as `pairs`.
    RunScore : The mean of one run.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {"good": dict.fromkeys(qrels, good), "poor": dict.fromkeys(qrels, poor)}
    >>> pair = compare_runs(qrels, runs, metric="ap").pairs[0]
    >>> pair.first, pair.second, round(pair.difference, 4), pair.pvalue, pair.n_better
    ('good', 'poor', 0.4167, 0.03125, 6)
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
    detectable: float
    least: LeftOut | None
    most: LeftOut | None
    fragile: bool
    verdict: Verdict | None = None

    def reverse(self) -> PairedDifference:
        """Return the second run minus the first."""
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
            least=self.most and self.most.reverse(),
            most=self.least and self.least.reverse(),
            verdict=MIRRORED.get(self.verdict, self.verdict) if self.verdict else None,
        )


@dataclass(frozen=True, eq=False)
class GroupComparison(Result):
    """Comparison of the runs on one group of queries.

    Attributes
    ----------
    group : hashable
        Name of the group.
    n_queries : int
        Number of queries of the group.
    means : tuple of float
        Means of the runs, in the order of `RunComparison.rows`.
    pairs : tuple of PairedDifference
        Differences of the runs; p-values are corrected over the pairs of all groups.

    See Also
    --------
    RunComparison : Lists the groups as `groups`.
    read_groups : Read the groups from a file.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {"good": dict.fromkeys(qrels, good), "poor": dict.fromkeys(qrels, poor)}
    >>> genres = {query: "war" if query < "q3" else "drama" for query in qrels}
    >>> for group in compare_runs(qrels, runs, metric="ap", groups=genres).groups:
    ...     print(group.group, group.n_queries, [round(mean, 4) for mean in group.means])
    war 3 [1.0, 0.5833]
    drama 3 [1.0, 0.5833]
    """

    group: Hashable
    n_queries: int
    means: tuple[float, ...]
    pairs: tuple[PairedDifference, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RunComparison(TableResult):
    """Runs from best to worst over queries, with the options used.

    Attributes
    ----------
    rows : tuple of RunScore
        Best first.
    pairs : tuple of PairedDifference
        All pairs of runs, the better one first; with a baseline, only each other run against it.
    groups : tuple of GroupComparison
        The same pairs for each group of queries, if groups were given.
    queries : tuple
    values : ndarray of float64, shape (n_runs, n_queries), read-only
        Value of the metric for each run, in the order of `rows`, and each query.
    coverage : tuple of Coverage
        Numbers of documents compared for each run, in the order of `rows`.
    metric : str
    standardized : bool
    test : str
    unit : str
        The unit that is resampled, and whose differences are flipped or exchanged: "queries", or "clusters" of them.
    baseline : str or None
    correction : str
        Correction of the p-values of `pairs`: "step-down", by the largest difference of all pairs in the same
        exchanges, or "holm", by Holm's method over several metrics (`corrected_together`). In `rows`, p-values, ranks
        and group numbers always come from the step-down over all pairs of runs. In `groups`, p-values are corrected by
        Holm's method.
    level : float
    n_resamples, seed : int

    See Also
    --------
    compare_runs, compare_evaluated : Return it.
    RunScore, PairedDifference, GroupComparison : The types of its parts.
    rankcorr.plots.plot_queries : Draw the differences by query.

    Examples
    --------
    >>> from rankcorr.evaluation import compare_runs
    >>> qrels = {f"q{q}": {"a": 2, "b": 1, "c": 0} for q in range(6)}
    >>> good, poor = {"a": 3, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 3}
    >>> runs = {"good": dict.fromkeys(qrels, good), "poor": dict.fromkeys(qrels, poor)}
    >>> comparison = compare_runs(qrels, runs, metric="ap")
    >>> comparison.runs, comparison.unit, comparison.pair("good", "poor").pvalue
    (('good', 'poor'), 'queries', 0.03125)
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
    correction: str
    level: float
    n_resamples: int
    seed: int

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        return run_comparison_report(self)

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs, best first."""
        return tuple(row.run for row in self.rows)

    def pair(self, first: str, second: str) -> PairedDifference:
        """Return the difference of two compared runs: `first` minus `second`, whichever is better.

        Raises
        ------
        OptionError
            The two were not compared.
        """
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
            if (pair.second, pair.first) == (first, second):
                return pair.reverse()
        raise OptionError(f"{shown(first)} and {shown(second)} were not compared; runs are {', '.join(self.runs)}")

    def differences(self, first: str | None = None, second: str | None = None) -> NDArray[np.float64]:
        """Return `first` minus `second` for each query, shape (n_queries,); by default for the first pair.

        Raises
        ------
        OptionError
            No run has this name, or only one run is named.
        """
        if (first is None) != (second is None):
            raise OptionError("first and second go together: name both runs or neither")
        if first is None or second is None:
            first, second = self.pairs[0].first, self.pairs[0].second
        check_choice("first", first, self.runs)
        check_choice("second", second, self.runs)
        return np.asarray(self.values[self.runs.index(first)] - self.values[self.runs.index(second)])

    def _notes(self) -> TableNotes:
        columns = self._columns()
        place = list(columns).index("mean")
        name = f"{self.metric}{', standardized' * self.standardized}"
        return significance_notes(
            f"Runs by mean {name} over {counted(len(self.queries), 'query', 'queries')}. Bold: best;",
            columns["corrected_pvalue"],
            place,
            self.level,
            best=best_places(columns["mean"], place),
            meaning="differs significantly from the best",
        )

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(RunScore, self.rows)

    def __repr__(self) -> str:
        best = first_few([f"{row.run} {row.mean:.4f}" for row in self.rows])
        return f"<RunComparison of {len(self.rows)} runs over {len(self.queries):,} queries, {self.metric}: {best}>"


def correct_pairs(pairs: Iterable[PairedDifference], pvalues: Iterator[float]) -> tuple[PairedDifference, ...]:
    """Return the pairs with their corrected p-values, which the iterator yields in the same order."""
    return ResultRows(replace(pair, corrected_pvalue=float(next(pvalues))) for pair in pairs)
