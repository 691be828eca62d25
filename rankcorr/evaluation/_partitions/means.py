"""Means over the queries of several partitions, with their intervals, and differences of runs.

Each partition gives sums over its queries and over resamples. The weights of resamples depend only on the ids of the
queries, so that the sums of partitions can be added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from rankcorr import _checks as checks
from rankcorr._input.frames import arrow
from rankcorr._input.numbers import ROUNDING
from rankcorr._output.results import Result, TableResult, columns_of
from rankcorr._workers import Draws, Values, checked_workers, map_in_threads
from rankcorr.errors import MetricError, OptionError, PartialMismatchError, SplitQueryError
from rankcorr.evaluation._comparison.query_tests import Means, bounds, divide, ratios_of
from rankcorr.evaluation._metrics import MetricLike, table_name
from rankcorr.evaluation._partitions.evaluator import OPTIONS, QueryEvaluator
from rankcorr.evaluation._partitions.joined_columns import as_table, query_ids, whole_queries
from rankcorr.evaluation._partitions.poisson import Moments, moments_of, query_keys, repeated_ids

Row = TypeVar("Row", "QueryMean", "MeanDifference")

RESAMPLES: Final = 1_000


class Quantity(NamedTuple):
    """A quantity to average: a metric of a run, or the difference of two runs."""

    first: str
    second: str | None
    metric: str
    standardized: bool


@dataclass(frozen=True, eq=False, repr=False)
class PartialMeans:
    """Sums over the queries of some partitions, which `combined_means` adds up. They can be pickled.

    Attributes
    ----------
    evaluator : QueryEvaluator
    n_resamples, seed : int
        Number of resamples of the intervals, and their seed.
    queries : pyarrow.Array
        Ids of the queries, used to detect a query in two partitions.
    sums : dict of Quantity to Moments
        Sums of each metric of a run, and of the differences of each two runs.

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
    sums: dict[Quantity, Moments]

    def __repr__(self) -> str:
        return f"<PartialMeans of {len(self.queries):,} queries>"


def partial_means(
    rows: Any, evaluator: QueryEvaluator, *, n_resamples: int = RESAMPLES, seed: int = 0, workers: int = 1
) -> PartialMeans:
    """Sum the values of queries from `QueryEvaluator`, over all queries and over resamples.

    Parameters
    ----------
    rows : pyarrow RecordBatch or Table, or a data frame
        A row for each query, as returned by `evaluator`; null and nan are not values.
    evaluator : QueryEvaluator
    n_resamples : int, default 1,000
        Number of resamples of each interval. The weight of a query in each resample depends only on its id and the
        seed.
    seed : int, default 0
        Seed of the resamples.
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
    number, key = checks.checked_count(n_resamples, "n_resamples"), checks.checked_seed(seed)
    metadata = getattr(getattr(rows, "schema", None), "metadata", None) or {}
    if OPTIONS in metadata:  # written by `QueryEvaluator.batch`
        _check_same(json.loads(metadata[OPTIONS]), evaluator.option_texts(), "the rows", "the evaluator")
    table = as_table(rows, (evaluator.query, *evaluator.columns))
    queries = query_ids(table.column(evaluator.query))
    quantities = _quantities(evaluator, {name: _values(table.column(name), name) for name in evaluator.columns})
    columns = np.column_stack(list(quantities.values()))
    moments = moments_of(query_keys(queries, key), columns, number, checked_workers(workers))
    return PartialMeans(evaluator, number, key, queries, dict(zip(quantities, moments, strict=True)))


def merged_means(parts: Iterable[PartialMeans]) -> PartialMeans:
    """Add parts into one; the order and grouping of the parts do not matter.

    Raises
    ------
    OptionError
        There is no part.
    PartialMismatchError
        Parts have different evaluators, resamples, seeds or types of ids.
    SplitQueryError
        A query is in two parts, or twice in one.

    See Also
    --------
    partial_means : The parts.
    combined_means : The means of all parts.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, combined_means, merged_means, partial_means
    >>> evaluator = QueryEvaluator("tau")
    >>> rows = pd.DataFrame({"query": ["q", "r", "s"], "n_documents": [5, 7, 4], "tau": [0.5, 0.25, 0.75]})
    >>> merged = merged_means([partial_means(rows[:1], evaluator), partial_means(rows[1:2], evaluator)])
    >>> merged.queries.to_pylist()
    ['q', 'r']
    >>> combined_means([merged, partial_means(rows[2:], evaluator)]).of("tau").mean
    0.5
    """
    pa = arrow()
    total: PartialMeans | None = None
    queries = []
    for part in parts:
        if not isinstance(part, PartialMeans):
            raise OptionError(f"parts must come from partial_means; got {checks.shown(part)}")
        queries.append(part.queries)
        total = part if total is None else _add(total, part)
    if total is None:
        raise OptionError("there is no part to combine")
    kinds = {ids.type for ids in queries if len(ids)} or {queries[0].type}
    if len(kinds) > 1:
        raise PartialMismatchError("query ids are text in one part, and whole numbers in another")
    (kind,) = kinds
    ids = pa.concat_arrays([ids for ids in queries if ids.type == kind])
    split = repeated_ids(ids)
    if split:
        raise SplitQueryError(
            f"{checks.offending('queries occur in more than one partition, or twice', split)}; all rows of a query "
            "must be in one partition"
        )
    return PartialMeans(total.evaluator, total.n_resamples, total.seed, ids, total.sums)


def _quantities(evaluator: QueryEvaluator, columns: dict[str, Values]) -> dict[Quantity, Values]:
    """Return the columns of values, and the differences of each pair of runs."""
    singles = {
        Quantity(run, None, metric, standardized): columns[name]
        for name, (run, metric, standardized) in evaluator.columns.items()
    }
    differences = {
        quantity._replace(second=second): values - singles[quantity._replace(first=second)]
        for first, second in combinations(evaluator.scores, 2)
        for quantity, values in singles.items()
        if quantity.first == first
    }
    return singles | differences


def _values(column: Any, name: str) -> Values:
    """Return the values of a column; nan for null."""
    pa = arrow()
    if not (pa.types.is_floating(column.type) or pa.types.is_null(column.type)):
        raise MetricError(f"column {name!r} must hold values of a metric; it is of type {column.type}")
    values = np.asarray(column.cast(pa.float64()).fill_null(np.nan).to_numpy())
    largest = np.abs(values[~np.isnan(values)]).max(initial=0.0)
    if largest > 1 + ROUNDING:
        raise MetricError(f"{name}: means with intervals need values between -1 and 1; got {largest:g}")
    return values


def _check_same(first: dict[str, Any], second: dict[str, Any], one: str, other: str) -> None:
    wrong = [name for name in second if first.get(name) != second[name]]
    if wrong:
        name = wrong[0]
        raise PartialMismatchError(
            f"{name} is {first.get(name)} in {one}, and {second[name]} in {other}: only values of the same metrics and "
            "options add up"
        )


def _add(first: PartialMeans, second: PartialMeans) -> PartialMeans:
    _check_same(_options(first), _options(second), "one part", "another")
    sums = {quantity: moments.add(second.sums[quantity]) for quantity, moments in first.sums.items()}
    return PartialMeans(first.evaluator, first.n_resamples, first.seed, first.queries, sums)


def _options(part: PartialMeans) -> dict[str, Any]:
    intervals = {"n_resamples of intervals": part.n_resamples, "seed of intervals": part.seed}
    return part.evaluator.option_texts() | intervals


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
        Mean over the queries with a value; nan if there are none.
    error : float
        Standard error of the mean; nan for fewer than two queries.
    low, high : float
        Bootstrap-t interval; nan for fewer than two queries.
    n_queries, n_undefined : int
        Numbers of queries with and without a value.

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
    compare_runs : The same for runs that fit in memory, with a test.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator, streamed_means
    >>> rows = pd.DataFrame({"query": ["q", "q"], "relevance": [1, 0], "old": [0.2, 0.4], "new": [0.9, 0.1]})
    >>> pair = streamed_means([rows], QueryEvaluator("tau", scores=["old", "new"])).differences[0]
    >>> pair.first, pair.second, pair.difference, pair.n_queries
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

    def reverse(self) -> MeanDifference:
        """Return the difference with the two runs swapped."""
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
        One for each pair of columns of scores, the earlier one minus the later one.
    n_queries : int
        Number of all queries.
    level : float
        Level of confidence of the intervals.
    n_resamples, seed : int
        Number of resamples of the intervals, and their seed.

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

    def of(self, metric: MetricLike | None = None, run: str | None = None, *, standardized: bool = False) -> QueryMean:
        """Return the row of a metric and a run; either may be omitted if there is only one.

        Raises
        ------
        OptionError
            No row fits, or more than one does.
        """
        name = self._checked_name(metric, standardized, run=run)
        return _only(self.rows, metric=name, run=run, standardized=standardized)

    def difference(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        metric: MetricLike | None = None,
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
        name = self._checked_name(metric, standardized, first=first, second=second)
        if first is not None and first == second:
            raise OptionError(f"two different runs are needed; got {checks.shown(first)} twice")
        if not self.differences:
            raise OptionError(f"a difference needs two columns of scores; there is only {self.rows[0].run!r}")
        rows = self.differences
        if first is not None or second is not None:
            rows = tuple(difference for row in rows for difference in (row, row.reverse()))
        return _only(rows, first=first, second=second, metric=name, standardized=standardized)

    def _checked_name(self, metric: MetricLike | None, standardized: bool, **runs: str | None) -> str | None:
        """Return the name of a metric; refuse unknown metrics and runs, and standardized values if there are none."""
        if standardized and not any(row.standardized for row in self.rows):
            raise OptionError("values were not standardized: make the QueryEvaluator with standardized=True")
        for option, run in runs.items():
            if run is not None:
                checks.check_choice(option, run, tuple(dict.fromkeys(row.run for row in self.rows)))
        return None if metric is None else table_name(tuple(dict.fromkeys(row.metric for row in self.rows)), metric)

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(QueryMean, self.rows)

    def __repr__(self) -> str:
        means = [f"{row.run} {row.metric}{' standardized' * row.standardized} {row.mean:.4f}" for row in self.rows]
        return f"<QueryMeans of {checks.counted(self.n_queries, 'query', 'queries')}: {checks.first_few(means)}>"


def _only(rows: tuple[Row, ...], **options: str | bool | None) -> Row:
    conditions = {name: value for name, value in options.items() if value is not None}
    matches = [row for row in rows if all(getattr(row, name) == value for name, value in conditions.items())]
    if len(matches) != 1:
        described = ", ".join(f"{name}={value!r}" for name, value in conditions.items())
        names = [field.name for field in fields(rows[0])[:3]] if rows else []
        candidates = [tuple(getattr(row, name) for name in names) for row in matches or rows]
        message = f"exactly one row must match, but {len(matches)} have {described}; {', '.join(names)}"
        raise OptionError(checks.offending(message, candidates))
    return matches[0]


def combined_means(parts: Iterable[PartialMeans], *, level: float = 0.95) -> QueryMeans:
    """Combine the sums of all partitions into means with bootstrap-t intervals, and differences of runs.

    To 12 digits, the result does not depend on how the queries were partitioned, or on the order of the parts.

    Parameters
    ----------
    parts : iterable of PartialMeans
        May be a stream: one part is in memory at a time.
    level : float, default 0.95
        Level of confidence of the intervals.

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
    confidence = checks.checked_level(level)
    total = merged_means(parts)
    Draws(total.n_resamples, total.seed).check_reach(confidence)
    n_queries = len(total.queries)
    centred = [moments.about(moments.mean) for moments in total.sums.values()]
    sums = np.array([moments.sums for moments in centred]).T
    resampled = np.array([moments.resampled for moments in centred]).transpose(1, 2, 0)
    means = Means(np.array([moments.center for moments in centred]), np.sqrt(_variances(*sums)), sums[0], sums[0])
    ratios = ratios_of(divide(resampled[1], resampled[0]), _variances(*resampled))
    lows, highs = bounds(means, ratios, confidence)
    rows, differences = [], []
    columns = (means.means, means.errors, lows, highs)
    for place, (name, moments) in enumerate(total.sums.items()):
        mean, error, low, high = (float(column[place]) for column in columns)
        if name.second is None:
            undefined = n_queries - moments.n
            rows.append(
                QueryMean(name.first, name.metric, name.standardized, mean, error, low, high, moments.n, undefined)
            )
        else:
            numbers = mean, error, low, high, moments.n
            differences.append(MeanDifference(name.first, name.second, name.metric, name.standardized, *numbers))
    if lacking := [(row.run, row.metric) for row in rows if row.n_queries == 0]:
        checks.warn_undefined(
            checks.offending("no query has a value; (run, metric)", lacking), statistic="a mean", stacklevel=3
        )
    return QueryMeans(tuple(rows), tuple(differences), n_queries, confidence, total.n_resamples, total.seed)


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

    Only a few batches and the ids of the queries are in memory at a time.

    Parameters
    ----------
    batches : iterable of RecordBatch, Table or data frame
        Batches such as those of `read_batches`; a query may span several.
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
    confidence, draws = checks.checked_level(level), Draws.checked(n_resamples, seed, workers, None)
    draws.check_reach(confidence)

    def part(table: Any) -> PartialMeans:
        return partial_means(evaluator.batch(table), evaluator, n_resamples=draws.n_resamples, seed=draws.seed)

    tables = whole_queries(batches, evaluator.query, evaluator.inputs)
    return combined_means(map_in_threads(part, tables, draws.workers), level=confidence)


def _variances(n: Values, values: Values, squares: Values) -> Values:
    """Return squared standard errors of means, from sums as those of `Moments`; nan for fewer than two queries."""
    spread = squares - divide(values * values, n)
    spread[spread <= ROUNDING * squares] = 0.0  # all values are equal
    return divide(spread, n * (n - 1))
