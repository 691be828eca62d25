"""Values by query, block by block -> means and differences of runs at the end, in memory that does not grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import check_choice, checked_level
from rankcorr.evaluation.comparison import PairedDifference
from rankcorr.evaluation.exact_sums import ExactSums
from rankcorr.inference.holm import holm
from rankcorr.inference.inversion import ROUNDING


class RunningComparison:
    """Means of runs over queries, and differences of pairs of runs, as values come.

    Sums are exact, so that the blocks in which the values come change nothing. Intervals and tests are Student's.

    Parameters
    ----------
    runs, metrics : sequence of str
    baseline : str, optional
        Name of a run; each other run is paired with it. Without one there are no pairs.
    level : float, default 0.95

    Raises
    ------
    OptionError
        There is no run of the name of the baseline, or the level is none.

    Examples
    --------
    >>> running = RunningComparison(["old", "new"], ["ap"], baseline="old")
    >>> running.add(np.array([[[0.5, 0.25]], [[1.0, 0.5]]]))
    >>> running.add(np.array([[[0.75]], [[0.5]]]))
    >>> [row["mean"] for row in running.means()], running.differences()["ap"][0].difference
    ([0.5, 0.6666666666666666], 0.16666666666666666)
    """

    def __init__(
        self, runs: Sequence[str], metrics: Sequence[str], *, baseline: str | None = None, level: float = 0.95
    ) -> None:
        if baseline is not None:
            check_choice("baseline", baseline, tuple(runs))
        self._runs, self._metrics, self._level = tuple(runs), tuple(metrics), checked_level(level)
        self._n_queries = 0
        base = None if baseline is None else self._runs.index(baseline)
        self._pairs = pairs = [] if base is None else [(run, base) for run in range(len(runs)) if run != base]
        self._values = [[ExactSums() for _ in metrics] for _ in runs]
        self._differences = [[ExactSums() for _ in metrics] for _ in pairs]
        self._signs = np.zeros((len(pairs), len(metrics), 2), np.int64)  # better, worse

    def add(self, values: NDArray[np.float64]) -> None:
        """Add a block of values, shape (n_runs, n_metrics, n_queries), nan where a query has none."""
        self._n_queries += values.shape[2]
        for run, own in enumerate(self._values):
            for metric, sums in enumerate(own):
                sums.add(_known(values[run, metric]))
        for pair, (first, second) in enumerate(self._pairs):
            for metric, sums in enumerate(self._differences[pair]):
                differences = _known(values[first, metric] - values[second, metric])
                sums.add(differences)
                self._signs[pair, metric] += (differences > ROUNDING).sum(), (differences < -ROUNDING).sum()

    def means(self) -> list[dict[str, Any]]:
        """One row for each run and metric: mean, standard error, interval, and how many queries they are over."""
        rows = []
        for run, own in zip(self._runs, self._values, strict=True):
            for metric, sums in zip(self._metrics, own, strict=True):
                mean, error = _mean_and_error(sums)
                low, high = _interval(mean, error, sums.n, self._level)
                rows.append(
                    {
                        "run": run,
                        "metric": metric,
                        "mean": mean,
                        "standard_error": error,
                        "low": low,
                        "high": high,
                        "n_queries": sums.n,
                        "n_undefined": self._n_queries - sums.n,
                    }
                )
        return rows

    def differences(self) -> dict[str, tuple[PairedDifference, ...]]:
        """Pairs of runs by metric; p-values are corrected by Holm's method over the pairs of a metric."""
        return {metric: self._of_metric(place) for place, metric in enumerate(self._metrics)}

    def _of_metric(self, metric: int) -> tuple[PairedDifference, ...]:
        sums = [own[metric] for own in self._differences]
        tails = [_pvalue(*_mean_and_error(each), each.n) for each in sums]
        corrected = holm(tails).tolist() if tails else []
        rows = []
        for pair, (first, second) in enumerate(self._pairs):
            mean, error = _mean_and_error(sums[pair])
            low, high = _interval(mean, error, sums[pair].n, self._level)
            spread = error * math.sqrt(sums[pair].n)
            rows.append(
                PairedDifference(
                    first=self._runs[first],
                    second=self._runs[second],
                    difference=mean,
                    low=low,
                    high=high,
                    pvalue=tails[pair],
                    corrected_pvalue=corrected[pair],
                    effect_size=mean / spread if spread > ROUNDING else math.nan,
                    n_queries=sums[pair].n,
                    n_better=int(self._signs[pair, metric, 0]),
                    n_worse=int(self._signs[pair, metric, 1]),
                )
            )
        return tuple(rows)


def _known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(values[~np.isnan(values)])


def _mean_and_error(sums: ExactSums) -> tuple[float, float]:
    """Mean and its standard error; nan without values, and for one alone."""
    if sums.n == 0:
        return math.nan, math.nan
    mean = float(sums.sum() / sums.n)
    if sums.n == 1:
        return mean, math.nan
    return mean, math.sqrt(sums.spread() / Fraction(sums.n * (sums.n - 1)))


def _interval(mean: float, error: float, n: int, level: float) -> tuple[float, float]:
    if math.isnan(error):
        return math.nan, math.nan
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return mean - half, mean + half


def _pvalue(mean: float, error: float, n: int) -> float:
    """Two-sided, of Student's test that the mean is 0; nan for fewer than two values."""
    if math.isnan(error):
        return math.nan
    from scipy.special import stdtr

    if abs(mean) <= ROUNDING:
        return 1.0
    return float(2 * stdtr(n - 1, -abs(mean) / error)) if error > 0 else 0.0
