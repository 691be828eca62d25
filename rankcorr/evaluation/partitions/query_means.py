"""What is known of the means over queries, once all partitions are in."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from rankcorr.checks import check_choice, offending, shown
from rankcorr.errors import OptionError
from rankcorr.results import Result, TableResult


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
        The exact sum over the queries with a value, rounded once, over their number; nan where there is none.
    error : float
        Standard error of the mean; nan for fewer than two queries.
    low, high : float
        Bootstrap-t interval; nan for fewer than two queries.
    n_queries, n_undefined : int
        Number of queries with a value, and without one.
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
    """Mean difference of two runs over the queries for which both have a value; attributes as of `QueryMean`.

    The difference is the mean of the first less that of the second.
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
        """Return the second run less the first."""
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
        Each pair of columns of scores, the earlier one less the later one.
    n_queries : int
        Number of all queries.
    level : float
        Of the intervals.
    n_resamples, seed : int
        Of the intervals.
    """

    rows: tuple[QueryMean, ...]
    differences: tuple[MeanDifference, ...]
    n_queries: int
    level: float
    n_resamples: int
    seed: int

    def of(self, metric: str | None = None, run: str | None = None, *, standardized: bool = False) -> QueryMean:
        """Row of a metric and a run; either may be left out if there is only one.

        Raises
        ------
        OptionError
            There is no such row, or there are several.
        """
        self._check(metric, standardized, run=run)
        asked = {"metric": metric, "run": run, "standardized": standardized}
        row: QueryMean = _only(self.rows, {name: value for name, value in asked.items() if value is not None})
        return row

    def difference(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        metric: str | None = None,
        standardized: bool = False,
    ) -> MeanDifference:
        """Mean of `first` less that of `second`, over the queries for which both have a value.

        What there is only one of may be left out; where neither run is named, it is the earlier column of scores less
        the later one.

        Raises
        ------
        OptionError
            There is no such difference, or there are several.
        """
        self._check(metric, standardized, first=first, second=second)
        if first is not None and first == second:
            raise OptionError(f"two different runs are wanted; got {shown(first)} twice")
        if not self.differences:
            raise OptionError(f"a difference is of two columns of scores, and there is one: {self.rows[0].run!r}")
        rows = self.differences
        if first is not None or second is not None:
            rows = tuple(each for row in rows for each in (row, row.turned()))
        asked = {"first": first, "second": second, "metric": metric, "standardized": standardized}
        row: MeanDifference = _only(rows, {name: value for name, value in asked.items() if value is not None})
        return row

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
        means = ", ".join(
            f"{row.run} {row.metric}{' standardized' * row.standardized} {row.mean:.4f}" for row in self.rows[:5]
        )
        more = ", ..." if len(self.rows) > 5 else ""
        queries = "1 query" if self.n_queries == 1 else f"{self.n_queries:,} queries"
        return f"<QueryMeans of {queries}: {means}{more}>"


def _only(rows: tuple[Any, ...], asked: dict[str, Any]) -> Any:
    found = [row for row in rows if all(getattr(row, name) == value for name, value in asked.items())]
    if len(found) != 1:
        wanted = ", ".join(f"{name}={value!r}" for name, value in asked.items())
        names = [field.name for field in fields(rows[0])[:3]] if rows else []
        several = found or rows
        raise OptionError(
            offending(
                f"one row is wanted, and {len(found)} have {wanted}; {', '.join(names)}",
                [tuple(getattr(row, name) for name in names) for row in several],
            )
        )
    return found[0]
