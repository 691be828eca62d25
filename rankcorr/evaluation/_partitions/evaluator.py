"""Evaluate a partition of joined columns: the options, and the function that distributed engines call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from itertools import compress
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr import _checks as checks
from rankcorr._coefficients import Coefficient
from rankcorr._input.frames import arrow, is_rank_column
from rankcorr._input.scores import kernel_array
from rankcorr._workers import Values, checked_workers, map_in_threads
from rankcorr.errors import MetricError, MissingValueError, OptionError, UndefinedQueryError, UnjudgedError
from rankcorr.evaluation._columns import Codes, Ids, places_in_groups
from rankcorr.evaluation._grouped import group_coefficients
from rankcorr.evaluation._matching import Coverage, Joined, Matched, matched
from rankcorr.evaluation._metric_values import UNDEFINED, QueryValues, RunMetrics, UndefinedPolicy
from rankcorr.evaluation._metrics import RBO, Metric, MetricLike, TauAP, as_metrics
from rankcorr.evaluation._nulls import RESAMPLES, drawn_exponents
from rankcorr.evaluation._partitions.joined_columns import JoinedColumns, Numbers, joined_columns, whole_queries
from rankcorr.evaluation._qrels import Qrels, QueryRows
from rankcorr.inference._standardization import standardize

Unjudged: TypeAlias = Literal["error", "zero", "omit"]
Unretrieved: TypeAlias = Literal["error", "last", "omit"]
QueryType: TypeAlias = Literal["string", "int64"]

N_DOCUMENTS: Final = "n_documents"
OPTIONS: Final = b"rankcorr"


@dataclass(frozen=True)
class QueryEvaluator:
    """Evaluate partitions of joined columns by query: from rows of documents, return one row for each query.

    To 12 digits, a value depends only on the rows of its query and on the options, and not on the partition, its other
    queries or the order of rows. For standardized values, the null distribution of each pattern of length and ties is
    drawn from the seed and the pattern. `evaluate` knows all queries, and interpolates most patterns if there are many.

    Parameters
    ----------
    metrics : sequence of str, Coefficient or measure of ir_measures
        As in `evaluate`.
    query, relevance : str
        Names of the columns of query ids (text or whole numbers) and of gold scores.
    scores : str or sequence of str
        Names of the columns of scores, one for each run.
    document : str, optional
        Name of the column of document ids. "ap", "p@k", "ndcg" and the measures of ir_measures need it, because they
        break ties by id.
    unjudged : {"error", "zero", "omit"}
        How to treat a document with a score and a null relevance; "zero" and "omit" as in `evaluate`.
    unretrieved : {"error", "last", "omit"}
        How to treat a document with a relevance and a null score; "last" and "omit" as in `evaluate`. A row with
        neither is ignored.
    undefined : {"omit", "zero", "error"}
        The value of a query for which a metric is undefined: null, 0, or an error.
    standardized : bool, default False
        Also standardize each rank correlation by its own null distribution.
    n_resamples : int, default 500
        Number of permutations behind each null distribution.
    seed : int, default 0
        Seed of null distributions.

    Raises
    ------
    RankingError
        `OptionError` or `MetricError`, for an invalid option.

    See Also
    --------
    evaluate : Runs and qrels that fit in memory.
    streamed_means : Means over all queries of a stream.
    partial_means : Sums of a partition, which `combined_means` combines.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import QueryEvaluator
    >>> evaluator = QueryEvaluator(["tau_w", "tau"])
    >>> rows = pd.DataFrame({"query": ["q", "q", "r", "r"], "relevance": [1, 0, 1, 0], "score": [3.5, 1.0, 2.0, 7.5]})
    >>> evaluator.frame(rows)
      query  n_documents  tau_w  tau
    0     q            2    1.0  1.0
    1     r            2   -1.0 -1.0
    """

    metrics: Sequence[MetricLike] | MetricLike = ("tau_w",)
    _: KW_ONLY
    query: str = "query"
    relevance: str = "relevance"
    scores: Sequence[str] | str = ("score",)
    document: str | None = None
    unjudged: Unjudged = "error"
    unretrieved: Unretrieved = "error"
    undefined: UndefinedPolicy = checks.declare(
        str,
        "omit",
        choices=UNDEFINED,
        about="Queries without a defined metric: are left out of the mean, count as 0, or are an error.",
    )
    standardized: bool = False
    n_resamples: int = RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        named = as_metrics(self.metrics)
        if not isinstance(self.scores, str | list | tuple):
            raise OptionError(f"scores must be a name or a list of names; got {checks.shown(self.scores)}")
        scores = (self.scores,) if isinstance(self.scores, str) else tuple(self.scores)
        if not scores:
            raise OptionError("scores must name at least one column")
        object.__setattr__(self, "scores", scores)
        names = self.inputs
        if wrong := [name for name in names if not isinstance(name, str) or not name]:
            raise OptionError(checks.offending("names of columns must be text; got", wrong))
        checks.check_unique(names, "names of columns", OptionError)
        if ranks := list(filter(is_rank_column, (self.relevance, *scores))):
            raise OptionError(f"column {ranks[0]!r} holds ranks; scores are needed, of which the largest is the best")
        checks.check_choice("unjudged", self.unjudged, get_args(Unjudged))
        checks.check_choice("unretrieved", self.unretrieved, get_args(Unretrieved))
        checks.check_choice("undefined", self.undefined, UNDEFINED)
        checked = {
            "metrics": tuple(named.values()),
            "standardized": checks.checked_flag(self.standardized, "standardized"),
            "n_resamples": checks.checked_count(self.n_resamples, "n_resamples"),
            "seed": checks.checked_seed(self.seed),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)
        checks.check_unique((self.query, N_DOCUMENTS, *self.columns), "names of columns of the result", OptionError)
        tied = [name for name, metric in named.items() if not isinstance(metric, Coefficient | TauAP | RBO)]
        if tied and self.document is None:
            raise MetricError(
                f"{', '.join(tied)}: documents with equal scores are ordered by id; give the column of ids as document="
            )

    @cached_property
    def metrics_by_name(self) -> dict[str, Metric]:
        """Metrics by name."""
        return as_metrics(self.metrics)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        names = (self.query, self.relevance, *self.scores)
        return names if self.document is None else (*names, self.document)

    @cached_property
    def columns(self) -> dict[str, tuple[str, str, bool]]:
        """The run, the metric and whether it is standardized, by name of the column of values."""
        column_keys = {}
        for score in self.scores:
            for metric, kind in self.metrics_by_name.items():
                name = metric if len(self.scores) == 1 else f"{score} {metric}"
                column_keys[name] = (score, metric, False)
                if self.standardized and isinstance(kind, Coefficient):
                    column_keys[f"{name} standardized"] = (score, metric, True)
        return column_keys

    def schema(self, query_type: QueryType = "string") -> Any:
        """Return the Arrow schema of the result, for engines that need it in advance."""
        pa = arrow()
        checks.check_choice("query_type", query_type, ("string", "int64"))
        kinds = {self.query: getattr(pa, query_type)(), N_DOCUMENTS: pa.int64()}
        kinds |= dict.fromkeys(self.columns, pa.float64())
        return pa.schema(list(kinds.items()), metadata={OPTIONS: json.dumps(self.option_texts())})

    def option_texts(self) -> dict[str, Any]:
        """Return the options as text, to check that partial results belong together."""
        listed = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value if isinstance(value, int) else repr(value) for name, value in listed.items()}

    def batch(self, rows: Any) -> Any:
        """Evaluate the queries of one partition.

        Parameters
        ----------
        rows : pyarrow RecordBatch or Table, or a data frame
            All rows of each of its queries, in any order.

        Returns
        -------
        pyarrow.RecordBatch
            Query, `n_documents` (the number of its rows), and a column for each metric, named as in `columns`; null if
            the metric is undefined.

        Raises
        ------
        RankingError
            As `evaluate`; the message names a query.
        """
        pa = arrow()
        columns = joined_columns(rows, (self.query, self.relevance, *self.scores), self.document)
        results = {score: run_values(columns, place, self) for place, score in enumerate(self.scores)}
        arrays = [columns.queries, pa.array(np.diff(columns.offsets))]
        for score, metric, standardized in self.columns.values():
            result = results[score]
            raw_values = (result.standardized if standardized else result.raw)[metric]
            values = self._apply_policy(raw_values, result, columns.queries, f"{score}, {metric}")
            arrays.append(pa.array(values, mask=np.isnan(values)))
        kind: QueryType = "string" if pa.types.is_string(columns.queries.type) else "int64"
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema(kind))

    def batches(self, batches: Iterable[Any], *, workers: int = 1) -> Iterator[Any]:
        """Evaluate a stream of batches that keeps the rows of a query together, as in a sorted file.

        A query may span several batches. If the rows of a query are interrupted by another query, `SplitQueryError` is
        raised at the end of the stream.

        Parameters
        ----------
        batches : iterable of RecordBatch, Table or data frame
        workers : int, default 1
            Number of threads; the result does not depend on it.
        """
        return map_in_threads(self.batch, whole_queries(batches, self.query, self.inputs), checked_workers(workers))

    def frame(self, rows: Any) -> Any:
        """Evaluate a partition given as a data frame of pandas, polars or pyarrow; return a frame of the same kind."""
        import narwhals.stable.v2 as nw

        table = arrow().Table.from_batches([self.batch(rows)])
        frame = nw.from_native(rows, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return table
        return nw.from_arrow(table, backend=frame.implementation).to_native()

    def _apply_policy(self, values: Any, result: RunValues, queries: Any, noun: str) -> Any:
        """Apply the policy for undefined values to the queries of qrels, which are those with a judgement."""
        undefined = np.isnan(values) & result.judged
        if self.undefined == "omit" or not undefined.any():
            return values
        if self.undefined == "error":
            listed = [queries[place].as_py() for place in np.flatnonzero(undefined).tolist()]
            raise UndefinedQueryError(checks.offending(f"{checks.shown(noun)}: no value for queries", listed))
        return np.where(undefined, 0.0, values)


class RunValues(NamedTuple):
    """Raw and standardized values by metric, nan if undefined, and whether each query has a judgement."""

    raw: dict[str, Values]
    standardized: dict[str, Values]
    judged: NDArray[np.bool_]


def run_values(columns: JoinedColumns, run: int, plan: QueryEvaluator) -> RunValues:
    """Compute the values of one run.

    Raises
    ------
    RankingError
        `UnjudgedError` and `MissingValueError` for a document that only one side has, if the options make it an error.
    """
    scores = columns.scores[run]
    _check_both(columns, scores, plan.scores[run], plan)
    judged = np.diff(_kept_offsets(~columns.relevance.absent, columns.offsets)) > 0
    others = {name: metric for name, metric in plan.metrics_by_name.items() if not isinstance(metric, Coefficient)}
    is_complete = not (columns.relevance.absent.any() or scores.absent.any())
    joint = None if is_complete and not others else _join(columns, scores, judged)
    if joint is None or is_complete:  # nothing to match, which saves half of the time
        x, y, offsets = map(kernel_array, (columns.relevance.values, scores.values, columns.offsets))
        nothing = Coverage(offsets.size - 1, (), (), x.size, 0, 0, 0, 0)
        pairs = Matched(x, y, offsets, np.empty(0, np.int64), (), nothing)
    else:
        unretrieved = "last" if plan.unretrieved == "error" else plan.unretrieved  # errors were raised above
        pairs = matched(joint, unjudged=plan.unjudged, unretrieved=unretrieved)
    raw: dict[str, Values] = {}
    standardized: dict[str, Values] = {}
    for name, metric in plan.metrics_by_name.items():
        if isinstance(metric, Coefficient):
            raw[name] = group_coefficients(metric, pairs.x, pairs.y, pairs.offsets)
            if plan.standardized:
                exponents = drawn_exponents(
                    metric, pairs.x, pairs.y, pairs.offsets, n_resamples=plan.n_resamples, seed=plan.seed
                )
                standardized[name] = standardize(raw[name], exponents)
    if joint is not None and others and judged.any():
        results: dict[str, QueryValues] = RunMetrics(joint, pairs, 1).values(others)
        raw |= {name: result.values for name, result in results.items()}
    elif others:
        raw |= {name: np.empty(0) for name in others}
    return RunValues(_scatter(raw, judged), _scatter(standardized, judged), judged)


def _check_both(columns: JoinedColumns, scores: Numbers, name: str, plan: QueryEvaluator) -> None:
    """Refuse documents without a judgement or without a score, if the options make them an error."""
    no_gold, no_score = columns.relevance.absent, scores.absent
    for lone, option, policy, kind, fault in (
        (no_gold & ~no_score, "unjudged", plan.unjudged, UnjudgedError, f"{name}, no relevance"),
        (no_score & ~no_gold, "unretrieved", plan.unretrieved, MissingValueError, f"a relevance, no {name}"),
    ):
        if policy == "error" and lone.any():
            groups = np.searchsorted(columns.offsets, np.flatnonzero(lone), side="right") - 1
            queries = [columns.queries[group].as_py() for group in np.unique(groups).tolist()]
            choices = '"zero" or "omit"' if option == "unjudged" else '"last" or "omit"'
            raise kind(
                f"{checks.offending(f'a document has {fault}; queries', queries)}; set {option}={choices} to accept it"
            )


def _join(columns: JoinedColumns, scores: Numbers, judged: NDArray[np.bool_]) -> Joined:
    """Join qrels and a run as `evaluate` does, for the queries with a judgement."""
    offsets, sizes = columns.offsets, np.diff(columns.offsets)
    documents = columns.documents or Ids(places_in_groups(sizes), tuple(range(int(sizes.max(initial=0)))))
    is_gold, is_scored = ~columns.relevance.absent, ~scores.absent & np.repeat(judged, sizes)
    gold, run = (_kept_offsets(is_kept, offsets)[np.append(judged, True)] for is_kept in (is_gold, is_scored))
    queries = tuple(compress(columns.queries.to_pylist(), judged.tolist()))
    gold_columns = documents.codes[is_gold], columns.relevance.values[is_gold]
    return Joined(
        qrels=Qrels._from_rows(QueryRows(queries, gold, documents.ids, *gold_columns), None),
        starts=run[:-1],
        stops=run[1:],
        codes=kernel_array(documents.codes[is_scored]),
        values=kernel_array(scores.values[is_scored]),
        documents=documents.ids,
        not_in_qrels=(),
        n_cut=0,
    )


def _kept_offsets(is_kept: NDArray[np.bool_], offsets: Codes) -> Codes:
    """Return the offsets of the queries among the kept rows."""
    return np.asarray(np.append(0, np.cumsum(is_kept))[offsets])


def _scatter(values_of: dict[str, Values], places: NDArray[np.bool_]) -> dict[str, Values]:
    """Expand values of the queries in `places` to all queries; nan for the others."""
    if places.all():
        return values_of
    spread = {name: np.full(places.size, np.nan) for name in values_of}
    for name, values in values_of.items():
        spread[name][places] = values
    return spread
