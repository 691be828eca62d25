"""What `evaluate` returns: values by query, their means, and what was left out and why."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import check_choice
from rankcorr.errors import OptionError
from rankcorr.evaluation.matching import Coverage
from rankcorr.evaluation.query_groups import grouped_queries
from rankcorr.results import Result, TableResult, json_ready

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Undefined(Result):
    """Queries for which a metric does not exist.

    Attributes
    ----------
    run, metric : str
    reason : str
        Why it does not exist.
    queries : tuple
    """

    run: str
    metric: str
    reason: str
    queries: tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class ChanceLevel(Result):
    """How the values of a rank correlation were standardized.

    Attributes
    ----------
    run, metric : str
    n_patterns : int
        Number of different lengths and ties among the queries; 0 where chance gives 0 by symmetry.
    n_drawn : int
        How many of them have a null distribution of their own; the others are interpolated.
    error : float
        Root mean square of the mean of chance, which should be 0, over interpolated patterns; nan where none is.
    """

    run: str
    metric: str
    n_patterns: int
    n_drawn: int
    error: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(TableResult):
    """Values of runs by query and metric, and what was computed.

    Attributes
    ----------
    queries : tuple
        Queries of qrels.
    runs, metrics : tuple of str
        Names.
    values : ndarray of float64, shape (n_runs, n_metrics, n_queries), read-only
        nan where the metric does not exist for a query, or 0 with ``undefined="zero"``.
    standardized : ndarray of float64, shape (n_runs, n_metrics, n_queries), or None
        Rank correlations standardized each by its own null, so that chance gives 0 whatever the length and the ties of
        a query; nan for other metrics. None if it was not asked for.
    coverage : tuple of Coverage
        What of each run was compared, and what was left out.
    undefined : tuple of Undefined
        Which queries each metric does not exist for, and why.
    chance : tuple of ChanceLevel
        How values were standardized.
    options : dict
        `unjudged`, `unretrieved`, `depth`, `undefined`, `n_resamples` and `seed` as given.
    """

    queries: tuple[Hashable, ...]
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Values
    standardized: Values | None
    coverage: tuple[Coverage, ...]
    undefined: tuple[Undefined, ...]
    chance: tuple[ChanceLevel, ...]
    options: dict[str, Any]

    def of(self, metric: str | None = None, run: str | None = None, *, standardized: bool = False) -> Values:
        """Values of each query, shape (n_queries,), of a metric and a run; either may be left out if there is only one.

        Raises
        ------
        OptionError
            There is no such metric or run, or several, or values were not standardized.
        """
        place = self._place(self.runs, run, "run"), self._place(self.metrics, metric, "metric")
        if not standardized:
            return np.asarray(self.values[place])
        if self.standardized is None:
            raise OptionError("values were not standardized: call evaluate with standardized=True")
        return np.asarray(self.standardized[place])

    def mean(self, metric: str | None = None, run: str | None = None, *, standardized: bool = False) -> float:
        """Mean over the queries for which a value exists; nan where there is none. Arguments as of `of`."""
        return mean_of(self.of(metric, run, standardized=standardized))

    def table(self) -> list[dict[str, Any]]:
        """One flat row for each run and metric: means, and how many queries they are over."""
        rows = []
        for i, run in enumerate(self.runs):
            for j, metric in enumerate(self.metrics):
                own = [each for each in self.undefined if (each.run, each.metric) == (run, metric)]
                row = {"run": run, "metric": metric, "mean": mean_of(self.values[i, j])}
                if self.standardized is not None:
                    row["standardized"] = mean_of(self.standardized[i, j])
                row["n_queries"] = int(np.count_nonzero(~np.isnan(self.values[i, j])))
                row["n_undefined"] = sum(len(each.queries) for each in own)
                rows.append(row)
        return rows

    def group_table(self, groups: Any) -> list[dict[str, Any]]:
        """One flat row for each group of queries, run and metric: means, and how many queries they are over.

        Parameters
        ----------
        groups : mapping of query to group, or data frame
            As in `compare_runs`.

        Raises
        ------
        OptionError, ColumnError
            As `compare_runs`.
        """
        rows = []
        for group, places in grouped_queries(groups, self.queries).items():
            for i, run in enumerate(self.runs):
                for j, metric in enumerate(self.metrics):
                    values = self.values[i, j, places]
                    row = {"group": group, "run": run, "metric": metric, "mean": mean_of(values)}
                    if self.standardized is not None:
                        row["standardized"] = mean_of(self.standardized[i, j, places])
                    rows.append({**row, "n_queries": int(np.count_nonzero(~np.isnan(values)))})
        return rows

    def by_query(self) -> dict[str, list[Any]]:
        """Flat columns with a row for each run and query: run, query, and a column for each metric.

        Standardized values have columns of their own, with " standardized" after the name of the metric.
        """
        columns: dict[str, list[Any]] = {
            "run": [run for run in self.runs for _ in self.queries],
            "query": [query for _ in self.runs for query in self.queries],
        }
        for j, metric in enumerate(self.metrics):
            columns[metric] = self.values[:, j].ravel().tolist()
            if self.standardized is not None and not np.isnan(self.standardized[:, j]).all():
                columns[f"{metric} standardized"] = self.standardized[:, j].ravel().tolist()
        return columns

    def to_frame(self) -> Any:
        """Return the values as a pandas DataFrame with a row for each run and query.

        Raises
        ------
        MissingPandasError
            pandas is not installed.
        """
        return super().to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: None for nan, and values by run, metric and query in lists."""
        content: dict[str, Any] = json_ready(self)
        return {"means": json_ready(self.table()), **content}

    def _columns(self) -> dict[str, list[Any]]:
        return self.by_query()

    def __repr__(self) -> str:
        best = ", ".join(f"{row['run']} {row['metric']} {row['mean']:.4f}" for row in self.table()[:5])
        more = ", ..." if len(self.runs) * len(self.metrics) > 5 else ""
        queries = "1 query" if len(self.queries) == 1 else f"{len(self.queries):,} queries"
        return f"<Evaluation of {queries}: {best}{more}>"

    def _place(self, names: tuple[str, ...], asked: str | None, what: str) -> int:
        if asked is None and len(names) == 1:
            return 0
        check_choice(what, asked, names)
        return names.index(str(asked))


def mean_of(values: Values) -> float:
    """Mean of the values that exist; nan where none does.

    Examples
    --------
    >>> mean_of(np.array([0.5, float("nan"), 1.0]))
    0.75
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
