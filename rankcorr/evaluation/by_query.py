"""A metric and a run -> a value for each query of qrels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr.coefficients import Coefficient
from rankcorr.evaluation.columns import read_only
from rankcorr.evaluation.familiar import Familiar, familiar_values
from rankcorr.evaluation.grouped import grouped, reasons
from rankcorr.evaluation.matching import Joined, Matched, trec_order
from rankcorr.evaluation.metrics import RBO, AveragePrecision, Metric, PrecisionAt, TauAP
from rankcorr.measures.ap_correlation import tau_ap
from rankcorr.measures.overlap import rank_biased_overlap
from rankcorr.notices import collected_notices
from rankcorr.ranking import Ranking
from rankcorr.workers import Progress

Values = NDArray[np.float64]

NOT_IN_RUN: Final = "the run does not have the query"
SHORT_LIST: Final = "fewer than two documents in qrels or in the run"


@dataclass(eq=False, slots=True)
class QueryValues:
    """Values of one metric and run, nan where undefined, and why, by the number of the query."""

    values: Values
    undefined: dict[int, str] = field(default_factory=dict)


class Competition:
    """One run, joined and matched with qrels, of which metrics are computed."""

    def __init__(self, joint: Joined, pairs: Matched, workers: int, progress: Progress | None = None) -> None:
        self._joint = joint
        self._pairs = pairs
        self._workers = workers
        self._progress = progress
        self._ordered: tuple[Any, ...] | None = None

    def values(self, metrics: dict[str, Metric]) -> dict[str, QueryValues]:
        """Values of each metric by its name; those of ir_measures are computed in one pass."""
        familiar = [metric for metric in metrics.values() if isinstance(metric, Familiar)]
        found = self._familiar(familiar) if familiar else {}
        return {name: found[name] if name in found else self._of(metric) for name, metric in metrics.items()}

    def _of(self, metric: Metric) -> QueryValues:
        if isinstance(metric, Coefficient):
            return self._correlation(metric)
        if isinstance(metric, AveragePrecision):
            return self._average_precision()
        if isinstance(metric, PrecisionAt):
            return self._precision(metric.k)
        return self._tau_ap(metric) if isinstance(metric, TauAP) else self._overlap(metric)  # type: ignore[arg-type]

    def _correlation(self, coefficient: Coefficient) -> QueryValues:
        x, y, offsets = self._pairs.x, self._pairs.y, self._pairs.offsets
        values = grouped(coefficient, x, y, offsets, workers=self._workers, progress=self._progress)
        return self._explained(values, reasons(values, x, y, offsets))

    def _tau_ap(self, metric: TauAP) -> QueryValues:
        pairs, values = self._pairs, np.full(self._pairs.offsets.size - 1, math.nan)
        for query in np.flatnonzero(np.diff(pairs.offsets) > 1).tolist():
            self._step()
            rows = slice(int(pairs.offsets[query]), int(pairs.offsets[query + 1]))
            with collected_notices():  # the reasons say it
                values[query] = tau_ap(pairs.x[rows], pairs.y[rows], ties=metric.ties)
        return self._explained(values, reasons(values, pairs.x, pairs.y, pairs.offsets))

    def _overlap(self, metric: RBO) -> QueryValues:
        joint, qrels = self._joint, self._joint.qrels
        values, undefined = np.full(qrels.n_queries, math.nan), {}
        for query in range(qrels.n_queries):
            self._step()
            gold = slice(int(qrels.offsets[query]), int(qrels.offsets[query + 1]))
            run = slice(int(joint.starts[query]), int(joint.stops[query]))
            if gold.stop - gold.start < 2 or run.stop - run.start < 2:
                undefined[query] = SHORT_LIST
                continue
            lists = [
                Ranking.from_scores(scores[rows], labels=codes[rows])
                for scores, codes, rows in ((qrels.values, qrels.codes, gold), (joint.values, joint.codes, run))
            ]
            values[query] = rank_biased_overlap(*lists, p=metric.p, ties=metric.ties).extrapolated
        return self._explained(values, undefined)

    def _average_precision(self) -> QueryValues:
        place, relevant, group, n_relevant = self._relevance()
        before = np.cumsum(relevant) - relevant
        starts = np.searchsorted(group, np.arange(n_relevant.size))
        above = before - before[np.minimum(starts, before.size - 1)][group]
        precision = np.where(relevant, (above + 1) / (place + 1), 0.0)
        sums = np.bincount(group, weights=precision, minlength=n_relevant.size)
        return QueryValues(sums / np.maximum(n_relevant, 1))

    def _precision(self, k: int) -> QueryValues:
        place, relevant, group, n_relevant = self._relevance()
        return QueryValues(np.bincount(group, weights=relevant & (place < k), minlength=n_relevant.size) / k)

    def _relevance(self) -> tuple[Any, ...]:
        """Place, relevance and query of each row of the run, best first; number of relevant documents of each query."""
        if self._ordered is None:
            from rankcorr.evaluation.matching_kernels import mark_relevant

            joint, qrels = self._joint, self._joint.qrels
            sizes = joint.stops - joint.starts
            group = np.repeat(np.arange(sizes.size), sizes)
            place = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            is_relevant = read_only(qrels.values >= 1)
            relevant = np.zeros(joint.codes.size, bool)
            table = np.zeros(len(joint.documents), bool)
            run = joint.starts, joint.stops, joint.codes
            mark_relevant(qrels.offsets, qrels.codes, is_relevant, *run, table, relevant)
            relevant = relevant[trec_order(joint)]
            n_relevant = np.diff(np.append(0, np.cumsum(is_relevant))[qrels.offsets])
            self._ordered = (place, relevant, group, n_relevant)
        return self._ordered

    def _familiar(self, metrics: Sequence[Familiar]) -> dict[str, QueryValues]:
        found = familiar_values(metrics, self._joint, lambda _: self._step())
        return {name: QueryValues(values, _without_value(values)) for name, values in found.items()}

    def _step(self) -> None:
        """Report that the next query begins."""
        if self._progress is not None:
            self._progress(1)

    def _explained(self, values: Values, why: dict[int, str]) -> QueryValues:
        missing = ~self._joint.retrieved
        return QueryValues(values, {query: NOT_IN_RUN if missing[query] else reason for query, reason in why.items()})


def _without_value(values: Values) -> dict[int, str]:
    return dict.fromkeys(np.flatnonzero(np.isnan(values)).tolist(), "ir_measures gives no value")
