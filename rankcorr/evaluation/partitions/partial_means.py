"""Values by query of a partition -> sums that add up exactly, also over resamples of queries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import checked_resamples, checked_seed, offending, shown
from rankcorr.errors import MetricError, OptionError, PartialMismatchError, SplitQueryError
from rankcorr.evaluation.partitions.evaluator import OPTIONS, QueryEvaluator
from rankcorr.evaluation.partitions.joined_columns import arrow, as_table, ids_of
from rankcorr.evaluation.partitions.poisson import exact_sum, parts_of, query_keys, repeated_ids, resampled
from rankcorr.inference.copula import ROUNDING
from rankcorr.workers import checked_workers

Values = NDArray[np.float64]

RESAMPLES: Final = 1_000


class Quantity(NamedTuple):
    """What is averaged: a metric of a run, or the difference of two runs."""

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
    """Sums over the queries of some partitions, from which `combined_means` makes those of all; it can be pickled.

    Attributes
    ----------
    evaluator : QueryEvaluator
    n_resamples, seed : int
    queries : pyarrow.Array
        Ids of the queries, by which one that is in two partitions is found.
    sums : dict of Quantity to Sums
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
    """Sum the values of queries, as `QueryEvaluator` gives them, exactly, and over resamples of queries.

    Parameters
    ----------
    rows : pyarrow RecordBatch or Table, or a data frame
        A row for each query, as `evaluator` made it; null and nan are no value.
    evaluator : QueryEvaluator
    n_resamples : int, default 1,000
        Number of resamples behind each interval. How often a query counts in each depends on its id and the seed alone.
    seed : int, default 0
    workers : int, default 1
        Number of threads; the result does not depend on it.

    Raises
    ------
    RankingError
        `ColumnError` for a missing column, `PartialMismatchError` for rows of another evaluator, `MetricError` for
        values beyond -1 and 1, of which there are no intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import combined_means
    >>> evaluator = QueryEvaluator("tau")
    >>> rows = pd.DataFrame({"query": ["q", "r", "s"], "n_documents": [5, 7, 1], "tau": [0.5, 0.25, None]})
    >>> parts = [partial_means(rows[:1], evaluator), partial_means(rows[1:], evaluator)]
    >>> combined_means(parts).of("tau").mean
    0.375
    """
    number, key = checked_resamples(n_resamples), checked_seed(seed)
    _check_origin(rows, evaluator)
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
    """Add parts to one, exactly, in any order and any grouping.

    Raises
    ------
    OptionError
        There is no part.
    PartialMismatchError
        Parts of different evaluators, resamples, seeds or types of ids.
    SplitQueryError
        A query is in two parts, or twice in one.
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


def _check_origin(rows: Any, evaluator: QueryEvaluator) -> None:
    """Refuse rows that another evaluator made, where they say which one made them."""
    metadata = getattr(getattr(rows, "schema", None), "metadata", None) or {}
    if OPTIONS in metadata:
        _check_same(json.loads(metadata[OPTIONS]), evaluator.described(), "the rows", "the evaluator")


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
