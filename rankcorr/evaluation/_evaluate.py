"""Evaluate runs against qrels: values by query and their means, raw and standardized.

`correlate_groups` does the same for plain columns of scores and groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_flag, counted, first_few, offending, shown, warn_undefined
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._output.report import Report
from rankcorr._output.results import (
    Computed,
    Result,
    TableResult,
    columns_of,
    json_ready,
    mean_of,
    read_only,
    table_rows,
)
from rankcorr._workers import Draws, Progress, Values, silent
from rankcorr.errors import ColumnError, OptionError, UndefinedQueryError
from rankcorr.evaluation import _matching as matching
from rankcorr.evaluation._columns import checked_values, encode_ids
from rankcorr.evaluation._grouped import group_coefficients, reasons
from rankcorr.evaluation._metric_values import UNDEFINED, RunMetrics, UndefinedPolicy
from rankcorr.evaluation._metrics import Metric, MetricLike, as_metrics, table_name
from rankcorr.evaluation._nulls import RESAMPLES, standardization
from rankcorr.evaluation._qrels import Qrels, with_common_ids
from rankcorr.evaluation._reports import evaluation_report
from rankcorr.evaluation._sources import QrelsLike, RunsLike, grouped_queries, qrels_of, runs_of
from rankcorr.inference._standardization import standardize


@dataclass(frozen=True, eq=False)
class Undefined(Result):
    """Queries for which a metric is undefined.

    Attributes
    ----------
    run, metric : str
    reason : str
        Why the metric is undefined.
    queries : tuple
        Ids of the queries.

    See Also
    --------
    Evaluation : Lists them as `undefined`.
    UndefinedQueryError : Raised instead with ``undefined="error"``.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1, "d": 1}}
    >>> run = {"q1": {"a": 9.1, "b": 1.2}, "q2": {"d": 3.3, "a": 1.0}}
    >>> for gap in evaluate(qrels, run, metrics="tau_w").undefined:
    ...     print(gap.metric, gap.queries, gap.reason)
    tau_w ('q2',) all gold scores are tied
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
        Number of different patterns of length and ties among the queries; 0 if chance gives 0 by symmetry.
    n_drawn : int
        Number of patterns whose null distribution was drawn; the others are interpolated.
    error : float
        Root mean square of the mean of standardized chance values, which should be 0, over interpolated patterns; nan
        if there are none.

    See Also
    --------
    Evaluation : Lists the levels as `chance`.
    rankcorr.NullDistribution.standardize : Defines standardized values.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> level = evaluate(qrels, {"bm25": qrels}, metrics="tau_w").chance[0]
    >>> level.run, level.metric, level.n_patterns, level.n_drawn
    ('bm25', 'tau_w', 2, 2)
    """

    run: str
    metric: str
    n_patterns: int
    n_drawn: int
    error: float


@dataclass(frozen=True, eq=False)
class RunMean(Result):
    """Mean of a metric over the queries of one run.

    Attributes
    ----------
    run, metric : str
    mean : float
        Mean over the queries that have a value; nan if none has.
    standardized : float or None
        Mean of the standardized values; None if they were not requested.
    n_queries, n_undefined : int
        Numbers of queries with and without a value.

    See Also
    --------
    Evaluation : Lists the means as `means`.
    QueryMean : A mean with its interval, from partitions.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> run = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3.3, "a": 1.0}}
    >>> (mean,) = evaluate(qrels, {"bm25": run}, metrics=["ap"]).means
    >>> mean.run, mean.metric, round(mean.mean, 4), mean.n_queries
    ('bm25', 'ap', 0.9167, 2)
    """

    run: str
    metric: str
    mean: float
    standardized: float | None
    n_queries: int
    n_undefined: int


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(TableResult):
    """Values of runs by query and metric, with the options used.

    Attributes
    ----------
    queries : tuple
        Ids of the queries of qrels.
    runs, metrics : tuple of str
        Names of the runs and metrics.
    values : ndarray of float64, shape (n_runs, n_metrics, n_queries), read-only
        nan if the metric is undefined for a query, or 0 with ``undefined="zero"``.
    standardized : ndarray of float64, shape (n_runs, n_metrics, n_queries), or None
        Rank correlations, each standardized by its own null distribution, so that chance gives 0 on average for any
        length and ties of a query; nan for other metrics. None unless requested.
    coverage : tuple of Coverage
        Numbers of documents of each run that were compared or excluded.
    undefined : tuple of Undefined
        Queries without a value of a metric, and the reason.
    chance : tuple of ChanceLevel
        How the values of each run and rank correlation were standardized.
    options : dict
        The options `unjudged`, `unretrieved`, `depth`, `self_hits`, `undefined`, `n_resamples` and `seed`.

    See Also
    --------
    evaluate : Returns it.
    compare_evaluated : Compare its runs.
    Coverage, RunMean, Undefined, ChanceLevel : The types of its parts.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> run = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3.3, "a": 1.0}}
    >>> evaluation = evaluate(qrels, {"bm25": run}, metrics=["tau_w", "ap"])
    >>> evaluation.queries, evaluation.metrics, evaluation.values.shape
    (('q1', 'q2'), ('tau_w', 'ap'), (1, 2, 2))
    >>> evaluation.of("tau_w").round(4).tolist(), round(evaluation.mean("ap"), 4)
    ([0.6252, 1.0], 0.9167)
    """

    queries: tuple[Hashable, ...]
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Values
    standardized: Values | None
    coverage: tuple[matching.Coverage, ...]
    undefined: tuple[Undefined, ...]
    chance: tuple[ChanceLevel, ...]
    options: dict[str, Any]

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        return evaluation_report(self)

    def of(self, metric: MetricLike | None = None, run: str | None = None, *, standardized: bool = False) -> Values:
        """Return the values of a metric for each query of a run, shape (n_queries,).

        A metric has the names and values that `evaluate` takes. The metric or run may be omitted if there is only one.

        Raises
        ------
        OptionError
            The metric or run does not exist or is ambiguous, or values were not standardized.
        """
        column = metric if metric is None else table_name(self.metrics, metric)
        place = self._place(self.runs, run, "run"), self._place(self.metrics, column, "metric")
        if not standardized:
            return np.asarray(self.values[place])
        if self.standardized is None:
            raise OptionError("values were not standardized: call evaluate with standardized=True")
        return np.asarray(self.standardized[place])

    def mean(self, metric: MetricLike | None = None, run: str | None = None, *, standardized: bool = False) -> float:
        """Return the mean over the queries with a value; nan if there are none. Arguments are as for `of`."""
        return mean_of(self.of(metric, run, standardized=standardized))

    def table(self) -> list[dict[str, Any]]:
        """Return one flat row for each run and metric: the means and numbers of queries."""
        return table_rows(self._shown_columns())

    def group_table(self, groups: Any) -> list[dict[str, Any]]:
        """Return one flat row for each group of queries, run and metric: the means and numbers of queries.

        Parameters
        ----------
        groups : mapping of query to group, or data frame
            As in `compare_runs`.

        Raises
        ------
        OptionError, ColumnError
            As `compare_runs`.
        """
        grouped = grouped_queries(groups, self.queries)
        return [
            {"group": group, **row}
            for group, places in grouped.items()
            for row in table_rows(self._columns_of_means(self._means(places), omit=["n_undefined"]))
        ]

    @cached_property
    def means(self) -> tuple[RunMean, ...]:
        """Means over the queries, by run and metric."""
        return self._means(range(len(self.queries)))

    def _means(self, places: Sequence[int]) -> tuple[RunMean, ...]:
        """Return means over the queries at these indices."""
        members = {self.queries[place] for place in places}
        n_undefined = Counter(
            (gap.run, gap.metric) for gap in self.undefined for query in gap.queries if query in members
        )
        rows = []
        for (i, run), (j, metric) in product(enumerate(self.runs), enumerate(self.metrics)):
            values = self.values[i, j, places]
            standardized = None if self.standardized is None else mean_of(self.standardized[i, j, places])
            n_queries = int(np.count_nonzero(~np.isnan(values)))
            rows.append(RunMean(run, metric, mean_of(values), standardized, n_queries, n_undefined[run, metric]))
        return tuple(rows)

    def _columns_of_means(self, rows: Sequence[RunMean], omit: Sequence[str] = ()) -> dict[str, list[Any]]:
        return columns_of(RunMean, rows, omit=[*omit, "standardized"] if self.standardized is None else omit)

    def by_query(self) -> dict[str, list[Any]]:
        """Return flat columns with a row for each run and query: run, query, and a column for each metric.

        Standardized values have separate columns, named after the metric with " standardized" added.
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

    def _shown_columns(self) -> dict[str, list[Any]]:
        return self._columns_of_means(self.means)

    def __repr__(self) -> str:
        best = first_few([f"{row.run} {row.metric} {row.mean:.4f}" for row in self.means])
        return f"<Evaluation of {counted(len(self.queries), 'query', 'queries')}: {best}>"

    def _place(self, names: tuple[str, ...], name: str | None, noun: str) -> int:
        if name is None and len(names) == 1:
            return 0
        check_choice(noun, name, names)
        return names.index(str(name))


def evaluate(
    qrels: QrelsLike,
    runs: RunsLike,
    *,
    metrics: Sequence[MetricLike] | MetricLike = ("tau_w",),
    unjudged: matching.Unjudged = "zero",
    unretrieved: matching.Unretrieved = "last",
    depth: int | None = None,
    self_hits: matching.SelfHits = "warn",
    undefined: UndefinedPolicy = "omit",
    standardized: bool = True,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate runs by query against qrels.

    Parameters
    ----------
    qrels : Qrels, dict of query to dict of document to relevance, data frame, path, or object of ranx or ir_measures
        The gold scores. A list of qrels, one for each fold of a cross-validation, is merged; they may not share
        queries.
    runs : run, mapping of name to run, or sequence of Run, path or run of ranx
        A run is a `Run`, a path, or anything that `Run.of` takes. In a mapping, it may also be a list of its parts, one
        for each fold.
    metrics : sequence of str, Coefficient or measure of ir_measures
        Rank correlations by name ("tau_w", "rho_w", "tau", "rho") or as a value such as ``RhoW(n0=10)``. "tau_ap" and
        "rbo", or `TauAP` and `RBO` with options. "ap", "p@10" and "ndcg@10", as trec_eval computes them. Measures of
        ir_measures, such as "rr" (extra `trec`).
    unjudged : {"zero", "omit", "error"}
        How a rank correlation treats a retrieved document without a judgement: "zero" gives it relevance 0, like
        trec_eval, "omit" excludes it, and "error" raises an error.
    unretrieved : {"last", "omit"}
        How a rank correlation treats a judged document that the run did not retrieve: "last" places it below all
        retrieved ones, tied with the others, and "omit" excludes it.
    depth : int, optional
        Number of top documents to keep for each query of a run, for all metrics. Ties at the cutoff are broken by
        descending id.
    self_hits : {"warn", "keep", "omit"}
        How to treat a retrieved document that has the id of its query, if queries are documents of the collection
        (ArguAna). "keep" counts it like any other, "warn" also gives a `SelfHitWarning`, and "omit" removes it before
        the cutoff at `depth`, as BEIR does.
    undefined : {"omit", "zero", "error"}
        How to treat a query for which a metric is undefined, because it has fewer than two documents or all its scores
        are tied: exclude it from the mean, count it as 0, or raise an error.
    standardized : bool, default True
        Also standardize each rank correlation by its own null distribution (`NullDistribution.standardize`). Chance
        then gives 0 on average, and values of queries with different lengths and ties can be averaged.
    n_resamples : int, default 500
        Number of permutations behind each null distribution.
    seed : int, default 0
        The same seed gives the same standardized values; the raw ones do not depend on it.
    workers : int, optional
        Number of threads, by default one for each processor.
    progress : callable, optional
        Called with 1 after each run, and with 0 many times in between. An exception that it raises stops the work.

    Returns
    -------
    Evaluation
        For a query of qrels that a run lacks, rank correlations are undefined; overlap, precision and the measures of
        ir_measures are 0, as in ir_measures. Queries that are not in qrels are excluded, and counted in
        `Evaluation.coverage`.

    Raises
    ------
    RankingError
        The message names the run; the subclass tells whether qrels, runs, metrics or options are at fault.
    MissingMeasuresError
        A measure of ir_measures was requested, and ir_measures is not installed.

    Warns
    -----
    UndefinedCorrelationWarning
        A metric is undefined for all queries.
    SelfHitWarning
        A run retrieved a document with the id of its query, and `self_hits` is "warn".

    See Also
    --------
    compare_runs : Intervals and tests of the differences between runs.
    QueryEvaluator : The same for partitions of data that does not fit in memory.
    correlate_groups : Coefficients by group for columns in memory.
    worst : The queries on which two runs differ most.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate
    >>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
    >>> run = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3.3, "a": 1.0}}
    >>> evaluation = evaluate(qrels, run, metrics=["tau_w", "ap", "p@1"])
    >>> evaluation.of("tau_w").round(4).tolist(), evaluation.mean("p@1")
    ([0.6252, 1.0], 1.0)
    """
    named = as_metrics(metrics)
    policies = matching.Policies(unjudged, unretrieved, depth, self_hits)
    check_choice("undefined", undefined, UNDEFINED)
    is_standardized, advance = checked_flag(standardized, "standardized"), progress or silent
    draws = Draws.checked(n_resamples, seed, workers, lambda _: advance(0))
    gold, named_runs = with_common_ids(qrels_of(qrels), runs_of(runs))
    matches = matching.match_runs(gold, named_runs, policies, draws.workers, draws.progress)
    return evaluate_matches(
        gold, matches, named, policies, draws, undefined=undefined, standardized=is_standardized, advance=advance
    )


def evaluate_matches(
    gold: Qrels,
    matches: Iterable[matching.MatchedRun],
    metrics: Mapping[str, Metric],
    policies: matching.Policies,
    draws: Draws,
    *,
    undefined: UndefinedPolicy = "omit",
    standardized: bool = False,
    advance: Progress = silent,
    matched: dict[str, matching.Matched] | None = None,
) -> Evaluation:
    """Evaluate the results of `match_runs`, as `evaluate` does; `advance` is called with 1 after each run.

    The matched documents of each run are added to `matched` under its name.
    """
    values: list[list[Values]] = []
    standardized_runs: list[list[Values]] = []
    names, coverage, gaps, chance = [], [], [], []
    for name, joint, pairs in matches:
        names.append(name)
        coverage.append(pairs.coverage)
        if matched is not None:
            matched[name] = pairs
        results = RunMetrics(joint, pairs, draws.workers, draws.progress).values(metrics)
        values.append([result.values for result in results.values()])
        standardized_runs.append([np.full(gold.n_queries, np.nan) for _ in metrics])
        for place, (metric, result) in enumerate(results.items()):
            by_reason = _by_reason(result.undefined, gold.queries)
            gaps += [Undefined(name, metric, reason, queries) for reason, queries in by_reason.items()]
            coefficient = metrics[metric]
            if standardized and isinstance(coefficient, Coefficient):
                null = standardization(coefficient, pairs.x, pairs.y, pairs.offsets, draws)
                standardized_runs[-1][place] = standardize(result.values, null.exponents)
                chance.append(ChanceLevel(name, metric, null.n_patterns, null.n_drawn, null.error))
        advance(1)
    if gaps and undefined == "error":
        first = gaps[0]
        raise UndefinedQueryError(
            f"run {shown(first.run)}, {first.metric}: {offending(f'{first.reason}; queries', first.queries)}"
        )
    raw_values, standardized_values = np.array(values), np.array(standardized_runs)
    has_none = np.isnan(raw_values).all(axis=2)
    if has_none.any():
        lacking = [(names[run], list(metrics)[metric]) for run, metric in np.argwhere(has_none).tolist()]
        warn_undefined(offending("no query has a value; (run, metric)", lacking), statistic="a mean", stacklevel=4)
    if undefined == "zero":
        raw_values = np.nan_to_num(raw_values)
        if standardized:
            is_correlation = [isinstance(metric, Coefficient) for metric in metrics.values()]
            standardized_values[:, is_correlation] = np.nan_to_num(standardized_values[:, is_correlation])
    options = {**vars(policies), "undefined": undefined, "n_resamples": draws.n_resamples, "seed": draws.seed}
    return Evaluation(
        queries=gold.queries,
        runs=tuple(names),
        metrics=tuple(metrics),
        values=read_only(raw_values),
        standardized=read_only(standardized_values) if standardized else None,
        coverage=tuple(coverage),
        undefined=tuple(gaps),
        chance=tuple(chance),
        options=options,
    )


def _by_reason(why: Mapping[int, str], ids: Sequence[Hashable]) -> dict[str, tuple[Hashable, ...]]:
    """Return the ids of queries or groups without a value, by reason."""
    groups_by_reason: dict[str, list[Hashable]] = {}
    for place, reason in why.items():
        groups_by_reason.setdefault(reason, []).append(ids[place])
    return {reason: tuple(members) for reason, members in groups_by_reason.items()}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupCorrelations(Computed, TableResult):
    """A rank correlation of each group; numpy reads it as the array `values`.

    Attributes
    ----------
    groups : tuple
        Names of the groups, in the order of their first rows.
    values : ndarray of float64, shape (n_groups,), read-only
        nan if undefined, or 0 with ``undefined="zero"``.
    standardized : ndarray of float64, shape (n_groups,), read-only, or None
        Values standardized by the null distribution of each group, so that chance gives 0 on average. None unless
        requested.
    sizes : ndarray of int64, shape (n_groups,), read-only
        Number of rows of each group.
    undefined : dict of reason to tuple of groups
        Groups without a coefficient, and the reason.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant
        As in `RankCorrelation`; `n_items` counts the rows.

    See Also
    --------
    correlate_groups : Returns it.

    Examples
    --------
    >>> from rankcorr.evaluation import correlate_groups
    >>> correlations = correlate_groups([3, 2, 1, 1, 2], [9, 7, 8, 4, 5], ["q", "q", "q", "r", "r"], coefficient="tau")
    >>> correlations.groups, correlations.sizes.tolist(), round(correlations.mean, 4)
    (('q', 'r'), [3, 2], 0.6667)
    """

    groups: tuple[Hashable, ...]
    values: Values
    standardized: Values | None
    sizes: NDArray[np.int64]
    undefined: dict[str, tuple[Hashable, ...]]

    @property
    def mean(self) -> float:
        """The mean over the groups that have a value."""
        return mean_of(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"group": self.groups, self.coefficient: self.values}
        if self.standardized is not None:
            columns[f"{self.coefficient} standardized"] = self.standardized
        return columns | {"n_items": self.sizes}

    def __repr__(self) -> str:
        n_groups = counted(len(self.groups), "group")
        return f"<GroupCorrelations of {n_groups}, {self.n_items:,} rows, {self.coefficient}: mean {self.mean:.4f}>"


def correlate_groups(
    values: Any,
    gold: Any,
    groups: Any,
    *,
    coefficient: CoefficientLike = "tau_w",
    undefined: UndefinedPolicy = "omit",
    standardized: bool = False,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> GroupCorrelations:
    """Correlate scores with gold scores within each group of rows, in one pass over the columns.

    Each value equals the coefficient of the rows of the group alone, up to 1e-12.

    Parameters
    ----------
    values, gold : array_like of shape (n_rows,), or a column of a data frame
        Scores without nan; larger is better. `gold` is x in `weighted_tau`.
    groups : array_like of str or int, shape (n_rows,), or a column of a data frame
        The group of each row, in any order.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
    undefined, standardized, n_resamples, seed, workers
        As in `evaluate`.
    progress : callable, optional
        Called with the number of groups done since the last call.

    Returns
    -------
    GroupCorrelations

    Raises
    ------
    RankingError
        `ColumnError` for columns that differ in length, `MissingValueError`, `NonNumericError`, `UndefinedQueryError`.

    See Also
    --------
    evaluate : Runs and qrels by query, with other metrics as well.
    QueryEvaluator : Partitions of data that does not fit in memory.

    Examples
    --------
    >>> from rankcorr.evaluation import correlate_groups
    >>> correlations = correlate_groups([3, 2, 1, 1, 2], [9, 7, 8, 4, 5], ["q", "q", "q", "r", "r"], coefficient="tau")
    >>> correlations.groups, correlations.values.round(4).tolist()
    (('q', 'r'), [0.3333, 1.0])
    """
    coefficient_value = as_coefficient(coefficient)
    check_choice("undefined", undefined, UNDEFINED)
    is_standardized = checked_flag(standardized, "standardized")
    draws = Draws.checked(n_resamples, seed, workers, progress)
    codes, ids = encode_ids(groups, "group")
    x, y = checked_values(gold, "gold score"), checked_values(values, "score")
    if not codes.size == x.size == y.size:
        raise ColumnError(
            f"columns must have the same length; got {codes.size} groups, {x.size} gold scores and {y.size} scores"
        )
    if codes.size == 0:
        raise ColumnError("there is no row: a group, a gold score and a score are expected")
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes, x, y = codes[order], x[order], y[order]
    sizes = np.bincount(codes, minlength=len(ids)).astype(np.int64)
    offsets = np.append(0, np.cumsum(sizes))
    coefficients = group_coefficients(coefficient_value, x, y, offsets, workers=draws.workers, progress=draws.progress)
    why = reasons(coefficients, x, y, offsets)
    of_rows = {group: why[group].replace("documents", "rows").replace("of the run ", "") for group in why}
    by_reason = _by_reason(of_rows, ids)
    if by_reason and undefined == "error":
        reason, groups_without = next(iter(by_reason.items()))
        raise UndefinedQueryError(offending(f"{coefficient_value.name}: {reason}; groups", groups_without))
    standardized_values = None
    if is_standardized:
        null = standardization(coefficient_value, x, y, offsets, replace(draws, progress=silent))
        standardized_values = standardize(coefficients, null.exponents)
    if undefined == "zero":
        coefficients = np.nan_to_num(coefficients)
        standardized_values = None if standardized_values is None else np.nan_to_num(standardized_values)
    return GroupCorrelations(
        groups=ids,
        values=read_only(coefficients),
        standardized=read_only(standardized_values),
        sizes=read_only(sizes),
        undefined=by_reason,
        **coefficient_value.computed_fields(codes.size),
    )
