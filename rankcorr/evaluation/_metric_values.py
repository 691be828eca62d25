"""Compute the value of a metric for each query of a run.

Most measures of ir_measures are computed by trec_eval, C code that does not check its input. It allocates a table with
an entry for each grade up to the largest, keeps it from one query to the next, and does not check indices. Therefore
documents and queries whose names it would misread are renamed, grades are limited, and an added first query makes it
allocate a table that is large enough for all others.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import collected_notices, shown
from rankcorr._coefficients import Coefficient
from rankcorr._ranking import Ranking
from rankcorr._workers import Progress, Values, silent
from rankcorr.errors import MetricError
from rankcorr.evaluation._columns import Codes, places_in_groups, rows_of
from rankcorr.evaluation._grouped import group_coefficients, reasons
from rankcorr.evaluation._matching import Joined, Matched, id_places, trec_order
from rankcorr.evaluation._metrics import (
    LARGEST_GRADE,
    NDCG,
    RBO,
    AveragePrecision,
    IrMeasure,
    Metric,
    PrecisionAt,
    TauAP,
    ir_measures_package,
)
from rankcorr.evaluation._qrels import Qrels
from rankcorr.measures._overlap import rank_biased_overlap
from rankcorr.measures._rank_correlations import tau_ap

UndefinedPolicy: TypeAlias = Literal["omit", "zero", "error"]

UNDEFINED: Final[tuple[UndefinedPolicy, ...]] = get_args(UndefinedPolicy)
NOT_IN_RUN: Final = "the run does not have the query"
NO_MEASURE: Final = "ir_measures gives no value"
FIRST: Final = "0"  # name of the added first query; the others are named "1", "2", ...


@dataclass(eq=False, slots=True)
class QueryValues:
    """The values of one metric and run, nan if undefined, and the reasons by number of the query."""

    values: Values
    undefined: dict[int, str] = field(default_factory=dict)


class RunMetrics:
    """Computes metrics of one run, given as joined and matched with qrels."""

    def __init__(self, joint: Joined, pairs: Matched, workers: int, progress: Progress | None = None) -> None:
        self._joint = joint
        self._pairs = pairs
        self._workers = workers
        self._progress: Progress = progress or silent

    def values(self, metrics: Mapping[str, Metric]) -> dict[str, QueryValues]:
        """Return the values of each metric by name; all measures of ir_measures are computed together."""
        ir_metrics = [metric for metric in metrics.values() if isinstance(metric, IrMeasure)]
        results = {
            name: QueryValues(values, dict.fromkeys(np.flatnonzero(np.isnan(values)).tolist(), NO_MEASURE))
            for name, values in ir_measure_values(ir_metrics, self._joint, self._progress).items()
        }
        return {name: results[name] if name in results else self._of(metric) for name, metric in metrics.items()}

    def _of(self, metric: Metric) -> QueryValues:
        if isinstance(metric, Coefficient):
            return self._correlation(metric)
        if isinstance(metric, AveragePrecision):
            return self._average_precision()
        if isinstance(metric, PrecisionAt):
            place, gains, group = self._relevance
            is_hit = (gains >= 1) & (place < metric.k)
            return QueryValues(np.bincount(group, weights=is_hit, minlength=self._n_queries) / metric.k)
        if isinstance(metric, NDCG):
            return self._gain(metric)
        if isinstance(metric, TauAP):
            return self._tau_ap(metric)
        assert isinstance(metric, RBO), metric  # measures of ir_measures are computed together
        return self._overlap(metric)

    def _correlation(self, coefficient: Coefficient) -> QueryValues:
        x, y, offsets = self._pairs.x, self._pairs.y, self._pairs.offsets
        return self._explain(
            group_coefficients(coefficient, x, y, offsets, workers=self._workers, progress=self._progress)
        )

    def _tau_ap(self, metric: TauAP) -> QueryValues:
        pairs, values = self._pairs, np.full(self._pairs.offsets.size - 1, math.nan)
        for query in np.flatnonzero(np.diff(pairs.offsets) > 1).tolist():
            self._progress(1)
            rows = rows_of(pairs.offsets, query)
            with collected_notices():  # `reasons` replaces them
                values[query] = tau_ap(pairs.x[rows], pairs.y[rows], ties=metric.ties)
        return self._explain(values)

    def _overlap(self, metric: RBO) -> QueryValues:
        joint, qrels = self._joint, self._joint.qrels
        values = np.zeros(qrels.n_queries)  # overlap with an empty list is 0
        for query in np.flatnonzero(joint.retrieved).tolist():
            self._progress(1)
            gold = rows_of(qrels.offsets, query)
            run = slice(int(joint.starts[query]), int(joint.stops[query]))
            lists = [
                Ranking.from_scores(scores[rows], labels=codes[rows])
                for scores, codes, rows in ((qrels.values, qrels.codes, gold), (joint.values, joint.codes, run))
            ]
            values[query] = rank_biased_overlap(*lists, p=metric.p, ties=metric.ties).extrapolated
        return QueryValues(values)

    def _average_precision(self) -> QueryValues:
        place, gains, group = self._relevance
        relevant = gains >= 1
        n_relevant = np.bincount(self._groups, weights=self._joint.qrels.values >= 1, minlength=self._n_queries)
        before: Codes = np.cumsum(relevant) - relevant
        starts = np.searchsorted(group, np.arange(n_relevant.size))
        above = before - before[np.minimum(starts, before.size - 1)][group]
        precision = np.where(relevant, (above + 1) / (place + 1), 0.0)
        sums = np.bincount(group, weights=precision, minlength=n_relevant.size)
        return QueryValues(sums / np.maximum(n_relevant, 1))

    def _gain(self, metric: NDCG) -> QueryValues:
        """Return nDCG, added up in the order of trec_eval, so that values are equal to the last bit."""
        from rankcorr.evaluation._query_kernels import best_first

        qrels, depth = self._joint.qrels, metric.k or math.inf
        grades = _limit_grades(qrels, {}, metric.name)
        ideal = np.empty(grades.size, np.int64)
        # Copies, because numba would compile again for read-only arrays.
        starts, stops = qrels.offsets[:-1].copy(), qrels.offsets[1:].copy()
        best_first(starts, stops, grades.astype(np.float32), ideal)
        place, gains, group = self._relevance
        from_top = places_in_groups(np.diff(qrels.offsets))
        best = _discount(from_top, grades[ideal], self._groups, depth, self._n_queries)
        gains_at_depth = _discount(place, gains, group, depth, self._n_queries)
        return QueryValues(gains_at_depth / np.where(best > 0, best, 1.0))

    @property
    def _n_queries(self) -> int:
        return self._joint.qrels.n_queries

    @property
    def _groups(self) -> Codes:
        """Number of the query of each row of qrels."""
        return np.repeat(np.arange(self._n_queries), np.diff(self._joint.qrels.offsets))

    @cached_property
    def _relevance(self) -> tuple[Codes, Values, Codes]:
        """Place, relevance and query of each row of the run, query by query, best first."""
        from rankcorr.evaluation._query_kernels import Judged, Scored, judged_values

        joint, qrels = self._joint, self._joint.qrels
        sizes = joint.stops - joint.starts
        values = np.zeros(joint.codes.size)
        run = Scored(joint.starts, joint.stops, joint.codes, joint.values)
        judged_values(Judged(qrels.offsets, qrels.codes, qrels.values), run, np.zeros(len(joint.documents)), values)
        return places_in_groups(sizes), values[trec_order(joint)], np.repeat(np.arange(sizes.size), sizes)

    def _explain(self, values: Values) -> QueryValues:
        missing, pairs = ~self._joint.retrieved, self._pairs
        why = reasons(values, pairs.x, pairs.y, pairs.offsets)
        return QueryValues(values, {query: NOT_IN_RUN if missing[query] else reason for query, reason in why.items()})


def _discount(place: Codes, gains: NDArray[Any], group: Codes, depth: float, n_queries: int) -> Values:
    """Return the discounted cumulative gain of each query; `place` is from 0. math.log2 is that of C and trec_eval."""
    discounts = np.array([math.log2(rank + 1) for rank in range(1, int(place.max(initial=0)) + 2)])
    weights = np.where(place < depth, np.maximum(gains, 0) / discounts[place], 0.0)
    return np.asarray(np.bincount(group, weights=weights, minlength=n_queries), np.float64)


def ir_measure_values(metrics: Sequence[IrMeasure], joint: Joined, step: Progress) -> dict[str, Values]:
    """Return the values of each metric by name, for each query of qrels; nan if ir_measures gives none.

    Raises
    ------
    MetricError
        ir_measures cannot take a grade, or cannot compute a metric.
    """
    groups: dict[Any, list[IrMeasure]] = {}
    for metric in metrics:
        # In a call, measures that differ in these would get each other's gains or documents.
        options, is_function = metric.measure.params, _is_function(metric.measure)
        key = is_function, options.get("judged_only", False), tuple(options.get("gains", {}).items())
        groups.setdefault(key, []).append(metric)
    query_values: dict[str, Values] = {}
    for group_metrics in groups.values():
        query_values |= _batch_values(group_metrics, joint, step)
    return query_values


def _batch_values(metrics: list[IrMeasure], joint: Joined, step: Progress) -> dict[str, Values]:
    """Return the values of measures that ir_measures can compute in one call."""
    qrels, listed = joint.qrels, ", ".join(metric.name for metric in metrics)
    gold: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    if _is_function(metrics[0].measure):  # a function gets ids and relevance unchanged
        queries, documents = [str(query) for query in qrels.queries], [str(document) for document in joint.documents]
        grades = np.array([int(value) for value in _refuse_fractions(qrels, listed).tolist()], object)
    else:
        queries, documents = [str(number) for number in range(1, qrels.n_queries + 1)], _document_names(joint)
        grades = _limit_grades(qrels, metrics[0].measure.params.get("gains", {}), listed)
        levels = max(int(grades.max()), 0, *(metric.measure.params.get("rel", 1) - 1 for metric in metrics))
        gold[FIRST], run[FIRST] = {"a": levels}, {"a": 2.0, "b": 1.0}
    gold |= _by_query(queries, documents, qrels.offsets[:-1], qrels.offsets[1:], qrels.codes, grades, step)
    run |= _by_query(queries, documents, joint.starts, joint.stops, joint.codes, joint.values, step)
    named = {_without_gains(metric.measure): metric.name for metric in metrics}
    places = {query: place for place, query in enumerate(queries)}
    values_of = {metric.name: np.full(qrels.n_queries, np.nan) for metric in metrics}
    for result in _calculate(list(named), listed, gold, run):
        if result.query_id in places:
            values_of[named[result.measure]][places[result.query_id]] = result.value
        step(1)
    return values_of


def _is_function(measure: Any) -> bool:
    """Return whether a measure is a user's function, made by ``ir_measures.define``."""
    return type(measure).__module__ == "ir_measures.providers.runtime_provider"


def _calculate(measures: list[Any], names: str, *judged: Any) -> Iterator[Any]:
    """Yield the values of ir_measures; errors in the caller's loop are not caught here."""
    try:
        yield from ir_measures_package().iter_calc(measures, *judged)
    except Exception as error:  # providers raise errors of any type
        raise MetricError(f"ir_measures cannot compute {names}: {error}") from error


def _refuse_fractions(qrels: Qrels, names: str) -> NDArray[np.float64]:
    values = qrels.values
    wrong = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
    if wrong.size:
        row_text = _describe_row(qrels, values, int(wrong[0]))
        raise MetricError(f"{names}: relevance must be in whole numbers; it is {row_text}")
    return values


def _limit_grades(qrels: Qrels, gains: dict[int, int], names: str) -> NDArray[np.int64]:
    """Return relevance grades, mapped by the gains of a measure if it has any; -1 replaces all grades below 0."""
    values = _refuse_fractions(qrels, names)
    if gains:
        values = np.select([values == grade for grade in gains], list(gains.values()), values)
    wrong = np.flatnonzero(values > LARGEST_GRADE)
    if wrong.size:
        raise MetricError(
            f"{names}: relevance must be at most {LARGEST_GRADE:,}; it is "
            f"{_describe_row(qrels, values, int(wrong[0]))}; rank correlations, ap and p@k take any"
        )
    return np.maximum(values, -1).astype(np.int64)


def _describe_row(qrels: Qrels, values: NDArray[np.float64], row: int) -> str:
    """Describe the relevance of a row of qrels, for a message."""
    query = int(np.searchsorted(qrels.offsets, row, side="right")) - 1
    where = (qrels.queries[query], qrels.documents[int(qrels.codes[row])])
    return f"{values[row]:.13g} for (query, document) {shown(where)}"


def _without_gains(measure: Any) -> Any:
    """Return the measure without gains, because the grades are already mapped."""
    if "gains" not in measure.params:
        return measure
    return type(measure)(**{name: value for name, value in measure.params.items() if name != "gains"})


def _document_names(joint: Joined) -> list[str]:
    """Return ids as text, or names in the same order if an id has characters that trec_eval would misread."""
    ids = [str(document) for document in joint.documents]
    text = " ".join(ids)
    if text.isprintable() and text.count(" ") == len(ids) - 1:
        return ids
    return [f"{place:010d}" for place in id_places(joint, np.arange(len(ids))).tolist()]


def _by_query(
    queries: list[str], documents: list[str], starts: Codes, stops: Codes, codes: Codes, values: Any, step: Progress
) -> dict[str, dict[str, Any]]:
    """Return the documents with their values by query, without queries that have no documents."""
    documents_of = {}
    for query, start, stop in zip(queries, starts.tolist(), stops.tolist(), strict=True):
        step(1)
        if stop > start:
            names = map(documents.__getitem__, codes[start:stop].tolist())
            documents_of[query] = dict(zip(names, values[start:stop].tolist(), strict=True))
    return documents_of
