"""Sums of all partitions -> means, their intervals, and differences of runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import checked_level, checked_resamples, checked_seed, offending
from rankcorr.evaluation.partitions.evaluator import QueryEvaluator
from rankcorr.evaluation.partitions.partial_means import RESAMPLES, PartialMeans, Sums, merged_means, partial_means
from rankcorr.evaluation.partitions.poisson import VALUE_BITS, sums_of
from rankcorr.evaluation.partitions.query_means import MeanDifference, QueryMean, QueryMeans
from rankcorr.evaluation.partitions.streams import whole_queries
from rankcorr.evaluation.query_tests import Means, bounds
from rankcorr.notices import warn_undefined
from rankcorr.workers import checked_workers, mapped

Values = NDArray[np.float64]


def combined_means(parts: Iterable[PartialMeans], *, level: float = 0.95) -> QueryMeans:
    """Combine the sums of all partitions to means, with bootstrap-t intervals, and to differences of runs.

    All figures are the same to the last bit however the queries were partitioned, and in whichever order parts come.

    Parameters
    ----------
    parts : iterable of PartialMeans
        One at a time is held, so that a stream of any length fits.
    level : float, default 0.95

    Raises
    ------
    RankingError
        `OptionError` for no part, `PartialMismatchError` for parts of different options, and `SplitQueryError` for a
        query that is in two of them.

    Warns
    -----
    UndefinedCorrelationWarning
        A metric exists for no query.
    """
    confidence = checked_level(level)
    whole = merged_means(parts)
    exact = [_exact(own) for own in whole.sums.values()]
    means = Means(*(np.array([row[place] for row in exact]) for place in range(3)))
    ratios = np.column_stack([_ratios(own) for own in whole.sums.values()])
    low, high = bounds(means, ratios, confidence)
    rows, differences = [], []
    figures = (means.means, means.errors, low, high)
    n_queries = len(whole.queries)
    for place, (name, own) in enumerate(whole.sums.items()):
        mean, error, lowest, highest = (float(each[place]) for each in figures)
        if name.second is None:
            what = name.first, name.metric, name.standardized
            rows.append(QueryMean(*what, mean, error, lowest, highest, own.n, n_queries - own.n))
        else:
            rest = mean, error, lowest, highest, own.n
            differences.append(MeanDifference(name.first, name.second, name.metric, name.standardized, *rest))
    if lacking := [(row.run, row.metric) for row in rows if row.n_queries == 0]:
        warn_undefined(offending("no query has a value; (run, metric)", lacking), what="a mean", stacklevel=3)
    return QueryMeans(tuple(rows), tuple(differences), n_queries, confidence, whole.n_resamples, whole.seed)


def streamed_means(
    batches: Iterable[Any],
    evaluator: QueryEvaluator,
    *,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
) -> QueryMeans:
    """Means over the queries of a stream of batches, in which the rows of each query follow each other.

    Memory holds a few batches and the ids of the queries, whatever the number of rows.

    Parameters
    ----------
    batches : iterable of RecordBatch, Table or data frame
        Such as those of `read_batches`; a query may straddle two.
    evaluator, level, n_resamples, seed
        As in `partial_means` and `combined_means`.
    workers : int, optional
        Number of threads, by default one for each processor.

    Raises
    ------
    RankingError
        As `QueryEvaluator.batch`, `partial_means` and `combined_means`.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.DataFrame({"query": ["q", "q", "r"], "relevance": [2, 0, 1], "score": [0.9, 0.1, 0.3]})
    >>> second = pd.DataFrame({"query": ["r"], "relevance": [0], "score": [0.8]})
    >>> streamed_means([first, second], QueryEvaluator("tau")).of("tau").mean
    0.0
    """
    confidence, options = checked_level(level), (checked_resamples(n_resamples), checked_seed(seed))

    def part(table: Any) -> PartialMeans:
        return partial_means(evaluator.batch(table), evaluator, n_resamples=options[0], seed=options[1])

    tables = whole_queries(batches, evaluator.query, evaluator.inputs)
    return combined_means(mapped(part, tables, checked_workers(workers)), level=confidence)


def _exact(sums: Sums) -> tuple[float, float, int]:
    """Mean, its standard error and the number of queries, rounded at the very end."""
    n, values, squares = (int(each) for each in sums_of(sums.parts))
    if n == 0:
        return math.nan, math.nan, 0
    mean = float(sum(map(Fraction, sums.values), Fraction()) / n)
    if n == 1:
        return mean, math.nan, 1
    return mean, math.sqrt(Fraction(n * squares - values * values, n * n * (n - 1))) * 2.0**-VALUE_BITS, n


def _ratios(sums: Sums) -> Values:
    """Means of resamples less the mean, each over its standard error; nan where fewer than two queries were drawn.

    Where all that were drawn are equal, 0 if they equal the mean, else infinite. Differences are those of whole
    numbers, so that nothing is lost where values are close to each other.
    """
    n_all, total, _ = (int(each) for each in sums_of(sums.parts))
    n, values, squares = sums_of(sums.resampled)
    apart = (values * n_all - n * total).astype(np.float64)  # times n n_all
    spread = (n * squares - values * values).astype(np.float64)  # of deviations, times n
    n = n.astype(np.float64)
    found = np.full(n.size, math.nan)
    known = n > 1
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = apart / n_all / np.sqrt(spread / (n - 1))
    ratios[(spread == 0) & (apart == 0)] = 0.0
    found[known] = ratios[known]
    return found
