"""Values by query of a partition -> sums that add up exactly -> means, their intervals, and differences of runs.

Each partition resamples its queries with weights that depend only on their ids, so that these sums add up too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import (
    check_choice,
    checked_level,
    checked_resamples,
    checked_seed,
    counted,
    first_few,
    offending,
    shown,
    warn_undefined,
)
from rankcorr._frames import arrow
from rankcorr._results import Result, TableResult
from rankcorr._workers import checked_workers, mapped
from rankcorr.errors import MetricError, OptionError, PartialMismatchError, SplitQueryError
from rankcorr.evaluation._partitions.evaluator import OPTIONS, QueryEvaluator
from rankcorr.evaluation._partitions.joined_columns import as_table, ids_of
from rankcorr.evaluation._partitions.poisson import (
    VALUE_BITS,
    exact_sum,
    parts_of,
    query_keys,
    repeated_ids,
    resampled,
    sums_of,
)
from rankcorr.evaluation._partitions.streams import whole_queries
from rankcorr.evaluation._query_tests import Means, bounds
from rankcorr.inference._copula import ROUNDING

Values = NDArray[np.float64]
Row = TypeVar("Row", "QueryMean", "MeanDifference")

RESAMPLES: Final = 1_000


class Quantity(NamedTuple):
    """A quantity that is averaged: a metric of a run, or the difference of two runs."""

    first: str
    second: str | None
    metric: str
    standardized: bool


class Sums(NamedTuple):
    """Exact sums over the queries that have a value.

    `values` hold the sum as floats (`exact_sum`); `parts` and, for each resample, `resampled` hold number, sum and sum
    of squares as the whole numbers of `poisson.parts_of`.
    """

    values: tuple[float, ...]
    parts: NDArray[np.int64]
    resampled: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of queries."""
        return int(self.parts[0])


@dataclass(frozen=True, eq=False, repr=False)
class PartialMeans:
    """Sums over the queries of some partitions. `combined_means` adds them up; they can be pickled.

    Attributes
    ----------
    evaluator : QueryEvaluator
    n_resamples, seed : int
    queries : pyarrow.Array
        Ids of the queries, used to find a query that is in two partitions.
    sums : dict of Quantity to Sums

    See Also
    --------
    partial_means : Returns it.
    merged_means, combined_means : Combine several.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, partial_means
    >>> rows = pd.DataFrame({"query": ["q", "r"], "n_documents": [5, 7], "tau": [0.5, 0.25]})
    >>> part = partial_means(rows, QueryEvaluator("tau"))
    >>> part.queries.to_pylist(), part.n_resamples, part.seed
    (['q', 'r'], 1000, 0)
    """

    evaluator: QueryEvaluator
    n_resamples: int
    seed: int
    queries: Any
    sums: dict[Quantity, Sums]

    def __repr__(self) -> str:
        return f"<PartialMeans of {len(self.queries):,} queries>"


def partial_means(
    rows: Any, evaluator: QueryEvaluator, *, n_resamples: int = RESAMPLES, seed: int = 0, workers: int = 1
) -> PartialMeans:
    """Sum the values of queries from `QueryEvaluator` exactly, and over resamples of queries.

    Parameters
    ----------
    rows : pyarrow RecordBatch or Table, or a data frame
        A row for each query, as `evaluator` returned it; null and nan do not count as values.
    evaluator : QueryEvaluator
    n_resamples : int, default 1,000
        Number of resamples behind each interval. How often each counts a query depends only on its id and the seed.
    seed : int, default 0
    workers : int, default 1
        Number of threads; the result does not depend on it.

    Raises
    ------
    RankingError
        `ColumnError` for a missing column, `PartialMismatchError` for rows of another evaluator, `MetricError` for
        values outside -1 to 1, which have no intervals.

    See Also
    --------
    combined_means : The means of all partitions.
    merged_means : Several parts as one.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means
    >>> evaluator = QueryEvaluator("tau")
    >>> rows = pd.DataFrame({"query": ["q", "r", "s"], "n_documents": [5, 7, 1], "tau": [0.5, 0.25, None]})
    >>> parts = [partial_means(rows[:1], evaluator), partial_means(rows[1:], evaluator)]
    >>> combined_means(parts).of("tau").mean
    0.375
    """
    number, key = checked_resamples(n_resamples), checked_seed(seed)
    metadata = getattr(getattr(rows, "schema", None), "metadata", None) or {}
    if OPTIONS in metadata:  # rows that say which evaluator made them
        _check_same(json.loads(metadata[OPTIONS]), evaluator.described(), "the rows", "the evaluator")
    table = as_table(rows, (evaluator.query, *evaluator.columns))
    queries = ids_of(table.column(evaluator.query), "query")
    quantities = _quantities(evaluator, {name: _values(table.column(name), name) for name in evaluator.columns})
    columns = np.column_stack(list(quantities.values()))
    drawn = resampled(query_keys(queries, key), columns, number, checked_workers(workers))
    sums = {}
    for place, (quantity, values) in enumerate(quantities.items()):
        known = values[~np.isnan(values)].tolist()
        sums[quantity] = Sums(exact_sum(known), parts_of(values).sum(axis=0), drawn[place])
    return PartialMeans(evaluator, number, key, queries, sums)


def merged_means(parts: Iterable[PartialMeans]) -> PartialMeans:
    """Add parts into one, exactly, in any order and any grouping.

    Raises
    ------
    OptionError
        There is no part.
    PartialMismatchError
        Parts of different evaluators, resamples, seeds or types of ids.
    SplitQueryError
        A query is in two parts, or twice in one.

    See Also
    --------
    partial_means : The parts.
    combined_means : Means, once all parts are there.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, merged_means, partial_means
    >>> evaluator = QueryEvaluator("tau")
    >>> rows = pd.DataFrame({"query": ["q", "r", "s"], "n_documents": [5, 7, 4], "tau": [0.5, 0.25, 0.75]})
    >>> both = merged_means([partial_means(rows[:1], evaluator), partial_means(rows[1:2], evaluator)])
    >>> both.queries.to_pylist()
    ['q', 'r']
    >>> combined_means([both, partial_means(rows[2:], evaluator)]).of("tau").mean
    0.5
    """
    pa = arrow()
    found: PartialMeans | None = None
    queries = []
    for part in parts:
        if not isinstance(part, PartialMeans):
            raise OptionError(f"parts of partial_means are wanted; got {shown(part)}")
        queries.append(part.queries)
        found = part if found is None else _added(found, part)
    if found is None:
        raise OptionError("there is no part to combine")
    kinds = {each.type for each in queries if len(each)} or {queries[0].type}
    if len(kinds) > 1:
        raise PartialMismatchError("query ids are text in one part, and whole numbers in another")
    (kind,) = kinds
    ids = pa.concat_arrays([each for each in queries if each.type == kind])
    split = repeated_ids(ids)
    if split:
        raise SplitQueryError(
            f"{offending('queries come in more than one partition, or twice', split)}; all rows of a query must be in "
            "one partition"
        )
    return PartialMeans(found.evaluator, found.n_resamples, found.seed, ids, found.sums)


def _quantities(evaluator: QueryEvaluator, columns: dict[str, Values]) -> dict[Quantity, Values]:
    """Columns of values, and differences of each pair of runs."""
    found = {}
    for name, (run, metric, standardized) in evaluator.columns.items():
        found[Quantity(run, None, metric, standardized)] = columns[name]
    singles = dict(found)
    for first, second in combinations(evaluator.scores, 2):
        for quantity, values in singles.items():
            if quantity.first == first:
                found[quantity._replace(second=second)] = values - singles[quantity._replace(first=second)]
    return found


def _values(column: Any, name: str) -> Values:
    """Values of a column, nan for null."""
    pa = arrow()
    if not (pa.types.is_floating(column.type) or pa.types.is_null(column.type)):
        raise MetricError(f"column {name!r} must hold values of a metric; it is of type {column.type}")
    values = np.asarray(column.cast(pa.float64()).fill_null(np.nan).to_numpy())
    largest = np.abs(values[~np.isnan(values)]).max(initial=0.0)
    if largest > 1 + ROUNDING:
        raise MetricError(f"{name}: means with intervals are of values between -1 and 1; got {largest:g}")
    return values


def _check_same(first: dict[str, Any], second: dict[str, Any], one: str, other: str) -> None:
    wrong = [name for name in second if first.get(name) != second[name]]
    if wrong:
        name = wrong[0]
        raise PartialMismatchError(
            f"{name} is {first.get(name)} in {one}, and {second[name]} in {other}: only values of the same metrics and "
            "options add up"
        )


def _added(first: PartialMeans, second: PartialMeans) -> PartialMeans:
    _check_same(_options(first), _options(second), "one part", "another")
    sums = {}
    for quantity, own in first.sums.items():
        more = second.sums[quantity]
        values = exact_sum((*own.values, *more.values))
        sums[quantity] = Sums(values, own.parts + more.parts, own.resampled + more.resampled)
    return PartialMeans(first.evaluator, first.n_resamples, first.seed, first.queries, sums)


def _options(part: PartialMeans) -> dict[str, Any]:
    own = {"n_resamples of intervals": part.n_resamples, "seed of intervals": part.seed}
    return part.evaluator.described() | own


@dataclass(frozen=True, eq=False)
class QueryMean(Result):
    """Mean of a metric over queries.

    Attributes
    ----------
    run : str
        Name of the column of scores.
    metric : str
    standardized : bool
    mean : float
        The exact sum over the queries with a value, rounded once, over their number; nan if there are none.
    error : float
        Standard error of the mean; nan for fewer than two queries.
    low, high : float
        Bootstrap-t interval; nan for fewer than two queries.
    n_queries, n_undefined : int
        Number of queries with a value, and without one.

    See Also
    --------
    QueryMeans : Lists the means as `rows`.
    MeanDifference : The mean difference of two runs.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means
    >>> rows = pd.DataFrame({"query": ["q", "r", "s"], "n_documents": [5, 7, 1], "tau": [0.5, 0.25, None]})
    >>> mean = combined_means([partial_means(rows, QueryEvaluator("tau"))]).of("tau")
    >>> mean.mean, mean.error, mean.n_queries, mean.n_undefined
    (0.375, 0.125, 2, 1)
    """

    run: str
    metric: str
    standardized: bool
    mean: float
    error: float
    low: float
    high: float
    n_queries: int
    n_undefined: int


@dataclass(frozen=True, eq=False)
class MeanDifference(Result):
    """Mean difference of two runs over the queries with a value for both; attributes as for `QueryMean`.

    The difference is the mean of the first minus that of the second.

    See Also
    --------
    QueryMeans : Lists the differences as `differences`.
    compare_runs : The same for runs that memory holds, with a test.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, streamed_means
    >>> rows = pd.DataFrame({"query": ["q", "q"], "relevance": [1, 0], "old": [0.2, 0.4], "new": [0.9, 0.1]})
    >>> found = streamed_means([rows], QueryEvaluator("tau", scores=["old", "new"])).differences[0]
    >>> found.first, found.second, found.difference, found.n_queries
    ('old', 'new', -2.0, 1)
    """

    first: str
    second: str
    metric: str
    standardized: bool
    difference: float
    error: float
    low: float
    high: float
    n_queries: int

    def turned(self) -> MeanDifference:
        """Return the second run minus the first."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            difference=0.0 - self.difference,
            low=0.0 - self.high,
            high=0.0 - self.low,
        )


@dataclass(frozen=True, eq=False, repr=False)
class QueryMeans(TableResult):
    """Means of all runs and metrics over queries, and differences of runs.

    Attributes
    ----------
    rows : tuple of QueryMean
    differences : tuple of MeanDifference
        Each pair of columns of scores, the earlier one minus the later one.
    n_queries : int
        Number of all queries.
    level : float
        Of the intervals.
    n_resamples, seed : int
        Of the intervals.

    See Also
    --------
    combined_means, streamed_means : Return it.
    QueryMean, MeanDifference : The types of its parts.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, streamed_means
    >>> rows = pd.DataFrame({"query": ["q", "q"], "relevance": [1, 0], "old": [0.2, 0.4], "new": [0.9, 0.1]})
    >>> means = streamed_means([rows], QueryEvaluator("tau", scores=["old", "new"]))
    >>> [(row.run, row.mean) for row in means.rows]
    [('old', -1.0), ('new', 1.0)]
    >>> means.difference("new", "old").difference
    2.0
    """

    rows: tuple[QueryMean, ...]
    differences: tuple[MeanDifference, ...]
    n_queries: int
    level: float
    n_resamples: int
    seed: int

    def of(self, metric: str | None = None, run: str | None = None, *, standardized: bool = False) -> QueryMean:
        """Row of a metric and a run; either may be omitted if there is only one.

        Raises
        ------
        OptionError
            No row fits, or more than one does.
        """
        self._check(metric, standardized, run=run)
        return _only(self.rows, metric=metric, run=run, standardized=standardized)

    def difference(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        metric: str | None = None,
        standardized: bool = False,
    ) -> MeanDifference:
        """Return the mean of `first` minus that of `second`, over the queries with a value for both.

        A metric or run may be omitted if there is only one choice. If neither run is named, the difference is the
        earlier column of scores minus the later one.

        Raises
        ------
        OptionError
            No difference fits, or more than one does.
        """
        self._check(metric, standardized, first=first, second=second)
        if first is not None and first == second:
            raise OptionError(f"two different runs are wanted; got {shown(first)} twice")
        if not self.differences:
            raise OptionError(f"a difference is of two columns of scores, and there is one: {self.rows[0].run!r}")
        rows = self.differences
        if first is not None or second is not None:
            rows = tuple(each for row in rows for each in (row, row.turned()))
        return _only(rows, first=first, second=second, metric=metric, standardized=standardized)

    def _check(self, metric: str | None, standardized: bool, **runs: str | None) -> None:
        """Refuse what is not there."""
        if standardized and not any(row.standardized for row in self.rows):
            raise OptionError("values were not standardized: make the QueryEvaluator with standardized=True")
        if metric is not None:
            check_choice("metric", metric, tuple(dict.fromkeys(row.metric for row in self.rows)))
        for option, run in runs.items():
            if run is not None:
                check_choice(option, run, tuple(dict.fromkeys(row.run for row in self.rows)))

    def _columns(self) -> dict[str, list[Any]]:
        return {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(QueryMean)}

    def __repr__(self) -> str:
        means = [f"{row.run} {row.metric}{' standardized' * row.standardized} {row.mean:.4f}" for row in self.rows]
        return f"<QueryMeans of {counted(self.n_queries, 'query', 'queries')}: {first_few(means)}>"


def _only(rows: tuple[Row, ...], **given: str | bool | None) -> Row:
    asked = {name: value for name, value in given.items() if value is not None}
    found = [row for row in rows if all(getattr(row, name) == value for name, value in asked.items())]
    if len(found) != 1:
        wanted = ", ".join(f"{name}={value!r}" for name, value in asked.items())
        names = [field.name for field in fields(rows[0])[:3]] if rows else []
        several = [tuple(getattr(row, name) for name in names) for row in found or rows]
        raise OptionError(offending(f"one row is wanted, and {len(found)} have {wanted}; {', '.join(names)}", several))
    return found[0]


def combined_means(parts: Iterable[PartialMeans], *, level: float = 0.95) -> QueryMeans:
    """Combine the sums of all partitions into means, with bootstrap-t intervals, and into differences of runs.

    All figures are the same to the last bit, however the queries were partitioned and in whatever order parts arrive.

    Parameters
    ----------
    parts : iterable of PartialMeans
        Only one part is held at a time, so that a stream of any length fits.
    level : float, default 0.95

    Raises
    ------
    RankingError
        `OptionError` for no part, `PartialMismatchError` for parts of different options, and `SplitQueryError` for a
        query that is in two of them.

    Warns
    -----
    UndefinedCorrelationWarning
        A metric is undefined for all queries.

    See Also
    --------
    partial_means : The parts.
    streamed_means : Both steps for a stream of batches.
    QueryMeans : The type of the result.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means
    >>> evaluator = QueryEvaluator("tau")
    >>> rows = pd.DataFrame({"query": ["q", "r", "s"], "n_documents": [5, 7, 4], "tau": [0.5, 0.25, 0.75]})
    >>> means = combined_means(partial_means(part, evaluator) for part in (rows[:2], rows[2:]))
    >>> means.of("tau").mean, means.n_queries
    (0.5, 3)
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
        warn_undefined(offending("no query has a value; (run, metric)", lacking), statistic="a mean", stacklevel=3)
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
    """Return means over the queries of a stream of batches that keeps the rows of each query together.

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

    See Also
    --------
    read_batches : Read Parquet files in batches.
    partial_means, combined_means : The same for partitions in any order.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, streamed_means
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
    """Means of resamples minus the mean, each over its standard error; nan if fewer than two queries were drawn.

    If all values drawn are equal, 0 if they equal the mean, else infinite. Differences are computed on whole numbers,
    so that nothing is lost if values are close to each other.
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
