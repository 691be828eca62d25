"""Joined columns and one run -> the value of each query by each metric, as `evaluate` has it for qrels and a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import offending
from rankcorr.coefficients import Coefficient
from rankcorr.errors import MissingValueError
from rankcorr.evaluation.by_query import Competition, QueryValues
from rankcorr.evaluation.columns import Codes, Rows, read_only
from rankcorr.evaluation.errors import UnjudgedError
from rankcorr.evaluation.grouped import grouped
from rankcorr.evaluation.judgements import Qrels
from rankcorr.evaluation.matching import Coverage, Joined, Matched
from rankcorr.evaluation.metrics import Metric
from rankcorr.evaluation.nulls import drawn_exponents
from rankcorr.evaluation.partitions.joined_columns import Documents, JoinedColumns, Numbers
from rankcorr.inference.standardization import standardized_each

if TYPE_CHECKING:
    from rankcorr.evaluation.partitions.evaluator import QueryEvaluator

Values = NDArray[np.float64]


class RunValues(NamedTuple):
    """Values of each metric by name, nan where undefined, the standardized ones, and which queries qrels have."""

    raw: dict[str, Values]
    standardized: dict[str, Values]
    judged: NDArray[np.bool_]


class Rearranged(NamedTuple):
    """Rows that a run is judged by: of the queries with a judgement, those with a judgement or a score.

    The rows of a query come in an order that depends on their numbers alone.
    """

    relevance: Numbers
    scores: Numbers
    documents: Documents | None
    offsets: Codes
    queries: Any


def run_values(columns: JoinedColumns, run: int, plan: QueryEvaluator) -> RunValues:
    """Compute the values of one run.

    Raises
    ------
    RankingError
        `UnjudgedError` and `MissingValueError` for a document that only one side has, where that is an error.
    """
    scores = columns.scores[run]
    _check_both(columns, scores, plan.scores[run], plan)
    judged = _any_of_each(~columns.relevance.absent, columns.offsets)
    rows = _rearranged(columns, scores, judged)
    pairs = _matched(rows, plan)
    raw: dict[str, Values] = {}
    standardized: dict[str, Values] = {}
    others: dict[str, Metric] = {
        name: metric for name, metric in plan.named.items() if not isinstance(metric, Coefficient)
    }
    for name, metric in plan.named.items():
        if isinstance(metric, Coefficient):
            raw[name] = grouped(metric, pairs.x, pairs.y, pairs.offsets)
            if plan.standardized:
                exponents = drawn_exponents(
                    metric, pairs.x, pairs.y, pairs.offsets, n_resamples=plan.n_resamples, seed=plan.seed
                )
                standardized[name] = standardized_each(raw[name], exponents)
    if others and judged.any():
        found: dict[str, QueryValues] = Competition(_joint(rows), pairs, 1).values(others)
        raw |= {name: each.values for name, each in found.items()}
    elif others:
        raw |= {name: np.empty(0) for name in others}
    return RunValues(_scattered(raw, judged), _scattered(standardized, judged), judged)


def _check_both(columns: JoinedColumns, scores: Numbers, name: str, plan: QueryEvaluator) -> None:
    """Refuse documents without a judgement or without a score, unless the options say what they count."""
    for lone, option, chosen, kind, what in (
        (columns.relevance.absent & ~scores.absent, "unjudged", plan.unjudged, UnjudgedError, f"{name}, no relevance"),
        (
            scores.absent & ~columns.relevance.absent,
            "unretrieved",
            plan.unretrieved,
            MissingValueError,
            f"a relevance, no {name}",
        ),
    ):
        if chosen == "error" and lone.any():
            groups = np.searchsorted(columns.offsets, np.flatnonzero(lone), side="right") - 1
            queries = [columns.queries[group].as_py() for group in np.unique(groups).tolist()]
            choices = '"zero" or "omit"' if option == "unjudged" else '"last" or "omit"'
            raise kind(
                f"{offending(f'a document has {what}; queries', queries)}; {option}={choices} says what it counts"
            )


def _rearranged(columns: JoinedColumns, scores: Numbers, judged: NDArray[np.bool_]) -> Rearranged:
    from rankcorr.evaluation.partitions.partition_kernels import canonical_order

    relevance, documents, offsets, queries = columns.relevance, columns.documents, columns.offsets, columns.queries
    has_absent = bool(relevance.absent.any() or scores.absent.any())
    if has_absent:
        kept = ~(relevance.absent & scores.absent) & np.repeat(judged, np.diff(offsets))
        offsets = _kept_offsets(kept, offsets)[np.append(judged, True)]
        relevance, scores = (Numbers(each.values[kept], each.absent[kept]) for each in (relevance, scores))
        if documents is not None:
            documents = Documents(documents.codes[kept], documents.ids)
        queries = [query for query, own in zip(queries.to_pylist(), judged.tolist(), strict=True) if own]
    x, y = (np.where(each.absent, -np.inf, each.values) if has_absent else each.values for each in (relevance, scores))
    order = np.empty(x.size, np.int64)
    canonical_order(read_only(x), read_only(y), read_only(offsets), order)
    relevance, scores = (Numbers(each.values[order], each.absent[order]) for each in (relevance, scores))
    if documents is not None:
        documents = Documents(documents.codes[order], documents.ids)
    return Rearranged(relevance, scores, documents, offsets, queries)


def _matched(rows: Rearranged, plan: QueryEvaluator) -> Matched:
    """Gold and run of the documents that rank correlations compare."""
    x, y, offsets = rows.relevance.values, rows.scores.values, rows.offsets
    no_gold, no_score = rows.relevance.absent, rows.scores.absent
    kept = np.ones(x.size, bool)
    if no_gold.any() and plan.unjudged == "omit":
        kept &= ~no_gold
    if no_score.any():
        retrieved = _any_of_each(~no_score, offsets)
        if plan.unretrieved == "omit":
            kept &= ~no_score
        kept &= np.repeat(retrieved, np.diff(offsets))
        y = np.where(no_score, -np.inf, y)
    if not kept.all():
        x, y, offsets = x[kept], y[kept], _kept_offsets(kept, offsets)
    n = int(offsets[-1])
    nothing = Coverage(offsets.size - 1, (), (), n, 0, 0, 0, 0)
    return Matched(read_only(x), read_only(y), read_only(offsets), np.empty(0, np.int64), (), nothing)


def _joint(rows: Rearranged) -> Joined:
    """Qrels and a run as `evaluate` joins them, for the other metrics."""
    codes, ids = rows.documents or Documents(_places(rows.offsets), tuple(range(int(np.diff(rows.offsets).max()))))
    judged, retrieved = ~rows.relevance.absent, ~rows.scores.absent
    gold, run = _kept_offsets(judged, rows.offsets), _kept_offsets(retrieved, rows.offsets)
    queries = rows.queries if isinstance(rows.queries, list) else rows.queries.to_pylist()
    own = Rows(tuple(queries), read_only(gold), ids, read_only(codes[judged]), read_only(rows.relevance.values[judged]))
    return Joined(
        qrels=Qrels._unchecked(own, None),
        starts=run[:-1],
        stops=run[1:],
        codes=read_only(codes[retrieved]),
        values=read_only(rows.scores.values[retrieved]),
        documents=ids,
        not_in_qrels=(),
        n_cut=0,
    )


def _places(offsets: Codes) -> Codes:
    """Place of each row within its query, from 0."""
    return np.asarray(np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], np.diff(offsets)))


def _kept_offsets(kept: NDArray[np.bool_], offsets: Codes) -> Codes:
    """Where the kept rows of each query begin."""
    return np.asarray(np.append(0, np.cumsum(kept))[offsets])


def _any_of_each(flags: NDArray[np.bool_], offsets: Codes) -> NDArray[np.bool_]:
    """Whether any row of each query has the flag."""
    return np.asarray(np.diff(np.append(0, np.cumsum(flags))[offsets]) > 0)


def _scattered(found: dict[str, Values], places: NDArray[np.bool_]) -> dict[str, Values]:
    """Values of all queries, nan for those that have no place among the found ones."""
    if places.all():
        return found
    spread = {name: np.full(places.size, np.nan) for name in found}
    for name, values in found.items():
        spread[name][places] = values
    return spread
