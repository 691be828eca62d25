"""Corrections for several tests, and the groups and rank sets that follow from the tests of all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._input.numbers import DECIMALS, ROUNDING
from rankcorr._input.scores import midranks
from rankcorr.errors import DimensionError, NonNumericError, OptionError
from rankcorr.inference._conventions import alpha_of
from rankcorr.inference._resampling import Values

TESTED: Final = ("pvalue", "corrected_pvalue")
MOST_PAIRS: Final = 256  # that are kept in memory at a time, with all their exchanges


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Holm's correction: p-values that may each be compared with the level alpha, however many tests there are.

    The p-values are put in ascending order. The k-th of m becomes the largest of (m - j + 1) p_j over j <= k, and at
    most 1. The chance that any true null hypothesis is rejected at the level alpha is then at most alpha, however the
    tests depend on each other.

    Parameters
    ----------
    pvalues : array_like of shape (n_tests,)
        nan is a test without a result: it stays nan, and does not count among the m.

    Returns
    -------
    ndarray of float64, shape (n_tests,)
        In the order of `pvalues`.

    Raises
    ------
    RankingError
        `OptionError` for a value outside [0, 1], `NonNumericError`, `DimensionError`.

    See Also
    --------
    compare_many : Tests of many pairs, corrected by this method.
    rankcorr.evaluation.corrected_together : The same for comparisons of runs.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> from rankcorr import holm
    >>> holm([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.06, 0.06,  nan])
    """
    try:
        array = np.asarray(pvalues)
    except ValueError as error:  # rows of different lengths
        raise DimensionError("p-values must have one dimension; their rows differ in length") from error
    if array.ndim != 1:
        raise DimensionError(f"p-values must have one dimension; got an array of shape {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise NonNumericError(f"every p-value must be a real number; got an array of {array.dtype}")
    array = array.astype(np.float64)
    wrong = np.flatnonzero((array < 0) | (array > 1))
    if wrong.size:
        raise OptionError(f"a p-value is between 0 and 1, or nan; pvalues[{wrong[0]}] is {array[wrong[0]]}")
    corrected = np.full(array.size, np.nan)
    order = np.argsort(array)[: np.count_nonzero(~np.isnan(array))]  # nan sorts last
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * array[order]))
    return corrected


def step_down(statistics: Values, exchanged: Callable[[NDArray[np.intp]], Values], *, is_exact: bool = False) -> Values:
    """Return p-values of several pairs, corrected for all of them by the largest statistic of the same exchanges.

    The pair with the largest statistic is compared with the largest of all pairs in each exchange, the next one with
    the largest of all pairs but the first, and so on (Westfall and Young's step-down). No p-value is below one of a
    larger statistic.

    Parameters
    ----------
    statistics : ndarray of float64, shape (n_pairs,)
        Statistic of each pair; larger is more extreme. nan has the p-value 1.
    exchanged : callable
        Takes the numbers of some pairs, and returns their statistics after each exchange, shape (n_scales,
        n_exchanges, n_pairs); nan is more extreme than all others.
    is_exact : bool
        Whether the exchanges are all there are. If they were drawn, the observed statistics count as one of them.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        The largest p-value of the scales.

    References
    ----------
    P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley 1993, algorithm 2.8.

    J. P. Romano and M. Wolf, Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing, Journal of the
    American Statistical Association 100 (2005).
    """
    observed = np.nan_to_num(statistics, nan=0.0)
    pvalues, order, largest = np.ones(observed.size), np.argsort(observed, kind="stable"), None
    for start in range(0, order.size, MOST_PAIRS):
        part = order[start : start + MOST_PAIRS]
        values = exchanged(part)
        values = np.where(np.isnan(values), np.inf, values)
        if largest is not None:
            np.maximum(values[:, :, 0], largest, out=values[:, :, 0])
        np.maximum.accumulate(values, axis=2, out=values)
        largest = values[:, :, -1]
        counts = (values >= observed[part] - ROUNDING).sum(axis=1).max(axis=0)
        pvalues[part] = counts / values.shape[1] if is_exact else (1 + counts) / (1 + values.shape[1])
    pvalues[order] = np.maximum.accumulate(pvalues[order][::-1])[::-1]
    return pvalues


class PairTests(NamedTuple):
    """Results of the tests, for systems from best to worst.

    `pvalues` are those of the best system against each, nan for itself. `corrected`, shape (n_systems, n_systems), are
    those of all pairs, corrected for all of them. Groups count from 1. The least and the largest ranks are those that
    the tests of all pairs leave possible.
    """

    pvalues: Values
    corrected: Values
    groups: list[int]
    least_ranks: list[int]
    largest_ranks: list[int]

    def row_fields(self, values: Values) -> list[dict[str, Any]]:
        """Ranks, group and p-values of each system for its row, from best to worst.

        `values` are those that they are ranked by; those without one, nan, come last and were not tested.
        """
        n_ranked = len(self.groups)
        ranks = midranks(np.round(values[:n_ranked], DECIMALS), descending=True)[0].tolist() if n_ranked else []
        of_best = self.corrected[0].tolist() if n_ranked else []
        columns = (self.groups, self.least_ranks, self.largest_ranks, self.pvalues.tolist(), of_best)
        unranked = (math.nan, None, None, None, math.nan, math.nan)
        rows = [*zip(ranks, *columns, strict=True), *[unranked] * (len(values) - n_ranked)]
        names = ("rank", "group", "least_rank", "largest_rank", *TESTED)
        return [dict(zip(names, row, strict=True)) for row in rows]


def judge_pairs(pvalues: Values, corrected: Values, leads: Values, level: float) -> PairTests:
    """Return groups and possible ranks of systems from best to worst.

    A system is surely better than another if it leads and their corrected p-value is at most 1 - level. The ranks of a
    system run from 1 plus the number of systems that are surely better to the number of all less those surely worse.
    A group ends before the first system from which on all are surely worse than the group's first. All systems of
    group g thus have at least g - 1 systems that are surely better: groups and ranks cannot contradict each other.

    Parameters
    ----------
    pvalues : ndarray of float64, shape (n_systems,)
        Of the best system against each.
    corrected, leads : ndarray of float64, shape (n_systems, n_systems)
        P-value of each pair, and the lead of the first, a row, over the second.
    level : float
        Level of confidence.
    """
    n_systems = len(pvalues)
    is_better = (corrected <= alpha_of(level)) & (leads > 0)
    # Whether the first system of a pair is surely better than the second and all below it.
    is_apart = np.logical_and.accumulate(is_better[:, ::-1], axis=1)[:, ::-1]
    groups, leader = [1] * min(1, n_systems), 0
    for system in range(1, n_systems):
        if is_apart[leader, system]:
            leader = system
        groups.append(groups[-1] + (leader == system))
    least, largest = 1 + is_better.sum(axis=0), n_systems - is_better.sum(axis=1)
    return PairTests(pvalues, corrected, groups, least.tolist(), largest.tolist())
