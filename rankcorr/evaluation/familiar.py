"""Measures of ir_measures -> their values by query, from judgements that the programs behind them can take.

Most of these measures are computed by trec_eval: C code that trusts what it is given. It reserves a table with an entry
for each grade up to the largest, which it keeps from one query to the next, and reads it at places that it does not
check. So documents and queries get names of our own where theirs would be misread, grades have a limit, and a first
query reserves the table for all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import shown, whole_number
from rankcorr.evaluation.columns import Codes
from rankcorr.evaluation.errors import MetricError, MissingMeasuresError
from rankcorr.evaluation.judgements import Qrels
from rankcorr.evaluation.matching import Joined, id_places
from rankcorr.workers import Progress

# trec_eval reserves 8 bytes for each grade up to the largest, and its nDCG takes steps by the square of their number:
# 0.3 ms a query for 1,000 grades, 28 ms for 10,000.
LARGEST_GRADE: Final = 1_000
LARGEST_CUTOFF: Final = 2**31 - 1
FIRST: Final = "0"  # name of a query before all others, which are named "1", "2", ...


@dataclass(frozen=True)
class Familiar:
    """A measure of ir_measures."""

    measure: Any
    name: str


def ir_measures_package() -> Any:
    """Import ir_measures, or say what to install."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingMeasuresError(
            "nDCG and the other familiar measures need ir_measures: pip install 'rankcorr[trec]'"
        ) from error
    return ir_measures


def familiar_of(name: str) -> Familiar:
    """Find a measure of ir_measures by its name, in upper or lower case.

    Raises
    ------
    MetricError
        The name is unknown, or an option of the measure cannot be used.
    """
    package = ir_measures_package()
    head, known = re.split(r"[@(]", name, maxsplit=1)[0], package.measures.registry
    exact = known if head in known else {each.lower(): each for each in known}
    if head not in known and head.lower() in exact:
        head = exact[head.lower()]
    try:
        measure = package.parse_measure(head + name[len(head) :])
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError) as error:
        raise MetricError(
            f"{shown(name)} is no metric: tau_w, rho_w, tau, rho, ap, p@K, tau_ap, rbo, or one of ir_measures, such as "
            "ndcg@10"
        ) from error
    return checked(measure, name.lower())


def checked(measure: Any, name: str) -> Familiar:
    """Refuse options of a measure that would end the process, such as ``nDCG@0`` and ``Bpref(rel=1000000000)``.

    Raises
    ------
    MetricError
    """
    for option, least, most in (("cutoff", 1, LARGEST_CUTOFF), ("rel", 0, LARGEST_GRADE)):
        given = measure.params.get(option)
        number = whole_number(given)
        if given is not None and (number is None or not least <= number <= most):
            raise MetricError(f"{name}: {option} must be a whole number from {least} to {most:,}; got {shown(given)}")
    gains = measure.params.get("gains", {})
    if not isinstance(gains, Mapping) or not all(map(_is_whole, (*gains, *gains.values()))):
        raise MetricError(f"{name}: gains must be a whole number for each grade, as {{1: 1, 2: 3}}; got {shown(gains)}")
    if max(gains.values(), default=0) > LARGEST_GRADE:
        raise MetricError(f"{name}: gains must be at most {LARGEST_GRADE:,}; got {shown(gains)}")
    return Familiar(measure, name)


def familiar_values(metrics: Sequence[Familiar], joint: Joined, step: Progress) -> dict[str, NDArray[np.float64]]:
    """Value of each query of qrels by each metric, by the names of the metrics; nan where ir_measures has none.

    Raises
    ------
    MetricError
        A grade that ir_measures cannot take, or a metric that it cannot compute here.
    """
    together: dict[Any, list[Familiar]] = {}
    for metric in metrics:
        together.setdefault(_company(metric.measure), []).append(metric)
    found: dict[str, NDArray[np.float64]] = {}
    for own in together.values():
        found |= _values(own, joint, step)
    return found


def _values(metrics: list[Familiar], joint: Joined, step: Progress) -> dict[str, NDArray[np.float64]]:
    """Values of measures that keep each other company."""
    qrels, listed = joint.qrels, ", ".join(metric.name for metric in metrics)
    gold: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    if _is_function(metrics[0].measure):  # it sees ids and relevance as they are
        queries, documents = [str(query) for query in qrels.queries], [str(document) for document in joint.documents]
        grades = np.array([int(value) for value in _whole(qrels, listed).tolist()], object)
    else:
        queries, documents = [str(number) for number in range(1, qrels.n_queries + 1)], _document_names(joint)
        grades = _limited(qrels, metrics[0].measure.params.get("gains", {}), listed)
        levels = max(int(grades.max()), 0, *(metric.measure.params.get("rel", 1) - 1 for metric in metrics))
        gold[FIRST], run[FIRST] = {"a": levels}, {"a": 2.0, "b": 1.0}
    gold |= _by_query(queries, documents, qrels.offsets[:-1], qrels.offsets[1:], qrels.codes, grades, step)
    run |= _by_query(queries, documents, joint.starts, joint.stops, joint.codes, joint.values, step)
    named = {_without_gains(metric.measure): metric.name for metric in metrics}
    places = {query: place for place, query in enumerate(queries)}
    found = {metric.name: np.full(qrels.n_queries, np.nan) for metric in metrics}
    for each in _calculated(list(named), listed, gold, run):
        if each.query_id in places:
            found[named[each.measure]][places[each.query_id]] = each.value
        step(1)
    return found


def _company(measure: Any) -> Any:
    """Measures of one company are computed at once: ir_measures gives some the gains or documents of another."""
    params = measure.params
    return _is_function(measure), params.get("judged_only", False), tuple(params.get("gains", {}).items())


def _is_function(measure: Any) -> bool:
    """Whether a measure is a function of the user, made by ``ir_measures.define``."""
    return type(measure).__module__ == "ir_measures.providers.runtime_provider"


def _calculated(measures: list[Any], names: str, *judged: Any) -> Iterator[Any]:
    """Values of ir_measures, one after the other; an error in the caller's loop is not caught here."""
    try:
        yield from ir_measures_package().iter_calc(measures, *judged)
    except Exception as error:  # its programs raise errors of any kind
        raise MetricError(f"ir_measures cannot compute {names}: {error}") from error


def _whole(qrels: Qrels, names: str) -> NDArray[np.float64]:
    values = qrels.values
    wrong = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
    if wrong.size:
        raise MetricError(
            f"{names}: ir_measures needs whole numbers as relevance; it is {_named(qrels, values, int(wrong[0]))}"
        )
    return values


def _is_whole(number: object) -> bool:
    return whole_number(number) is not None


def _limited(qrels: Qrels, gains: dict[int, int], names: str) -> NDArray[np.int64]:
    """Grades from -1 to the largest, by the gains of a measure if it has any; all below 0 mean the same: unjudged."""
    values = _whole(qrels, names)
    if gains:
        values = np.select([values == grade for grade in gains], list(gains.values()), values)
    wrong = np.flatnonzero(values > LARGEST_GRADE)
    if wrong.size:
        raise MetricError(
            f"{names}: relevance must be at most {LARGEST_GRADE:,}; it is "
            f"{_named(qrels, values, int(wrong[0]))}; rank correlations, ap and p@k take any"
        )
    return np.maximum(values, -1).astype(np.int64)


def _named(qrels: Qrels, values: NDArray[np.float64], row: int) -> str:
    """The relevance of a row of qrels, for a message."""
    query = int(np.searchsorted(qrels.offsets, row, side="right")) - 1
    where = (qrels.queries[query], qrels.documents[int(qrels.codes[row])])
    return f"{values[row]:.13g} for (query, document) {shown(where)}"


def _without_gains(measure: Any) -> Any:
    """The same measure of grades that are gains already."""
    if "gains" not in measure.params:
        return measure
    return type(measure)(**{name: value for name, value in measure.params.items() if name != "gains"})


def _document_names(joint: Joined) -> list[str]:
    """Ids as text, or other names in their order if an id holds a NUL, a space or a surrogate, which C or files cut."""
    ids = [str(document) for document in joint.documents]
    text = " ".join(ids)
    if text.isprintable() and text.count(" ") == len(ids) - 1:
        return ids
    return [f"{place:010d}" for place in id_places(joint).tolist()]


def _by_query(
    queries: list[str],
    documents: list[str],
    starts: Codes,
    stops: Codes,
    codes: Codes,
    values: NDArray[Any],
    step: Progress,
) -> dict[str, dict[str, Any]]:
    """By query, documents with their values; a query without any is left out."""
    found = {}
    for query, start, stop in zip(queries, starts.tolist(), stops.tolist(), strict=True):
        step(1)
        if stop > start:
            names = map(documents.__getitem__, codes[start:stop].tolist())
            found[query] = dict(zip(names, values[start:stop].tolist(), strict=True))
    return found
