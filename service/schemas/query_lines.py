"""Lines of a stream of queries: one query with the relevance and the scores of its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rankcorr.checks import shown
from rankcorr.evaluation.columns import LARGEST_EXACT
from service.schemas.components import Component
from service.schemas.fields import LABEL_SCHEMA
from service.schemas.inference import UNDEFINED

_NUMBERS: Final = frozenset((int, float))
_FIELDS: Final = ("query", "relevance", "scores")


class LineError(ValueError):
    """A line that holds no query that can be evaluated; the message says where in it."""


class Documents(NamedTuple):
    """Documents with a number each."""

    ids: list[str]
    numbers: list[float]


class QueryLine(NamedTuple):
    """A query, the relevance of its documents, and their scores by run."""

    query: str | int
    relevance: Documents
    scores: dict[str, Documents]


def read_line(document: Any) -> QueryLine:
    """Read a query from what a line holds.

    Raises
    ------
    LineError

    Examples
    --------
    >>> line = read_line({"query": "q", "relevance": {"a": 1}, "scores": {"x": {"document": ["b"], "score": [0.5]}}})
    >>> line.relevance, line.scores["x"].ids
    (Documents(ids=['a'], numbers=[1]), ['b'])
    """
    if not isinstance(document, dict):
        raise LineError(f"must be an object with {', '.join(_FIELDS)}; got {shown(document)}")
    if document.keys() != set(_FIELDS):
        raise LineError(f"must have {', '.join(_FIELDS)}; got {shown(list(document))}")
    query, scores = document["query"], document["scores"]
    if type(query) not in (str, int) or query == "":
        raise LineError(f"/query: must be text that is not empty, or a whole number; got {shown(query)}")
    if not isinstance(scores, dict) or "" in scores:
        raise LineError(f"/scores: must be an object of name of run to scores; got {shown(scores)}")
    kinds: set[type] = set()
    relevance = _documents(document["relevance"], "relevance", "/relevance", kinds)
    if not relevance.ids:
        raise LineError("/relevance: at least one document needs a judgement")
    found = {run: _documents(given, "score", f"/scores/{run}", kinds) for run, given in scores.items()}
    if len(kinds) > 1:
        raise LineError("ids of documents must be all text or all whole numbers; got both")
    if int in kinds:  # among one query's whole numbers no two become the same text
        relevance = _as_text(relevance)
        found = {run: _as_text(each) for run, each in found.items()}
    return QueryLine(query, relevance, found)


def _documents(given: Any, what: str, path: str, kinds: set[type]) -> Documents:
    if not isinstance(given, dict):
        raise LineError(f"{path}: must be an object of document to {what}, or of lists; got {shown(given)}")
    if any(type(each) is list for each in given.values()):
        ids, numbers = _of_lists(given, what, path)
    else:
        ids, numbers = list(given), list(given.values())
    types = set(map(type, numbers))
    if not types <= _NUMBERS:
        wrong = next(place for place, each in enumerate(numbers) if type(each) not in _NUMBERS)
        raise LineError(f"{path}: the {what} of {shown(ids[wrong])} must be a number; got {shown(numbers[wrong])}")
    if int in types and max(map(abs, numbers)) > LARGEST_EXACT and any(map(_is_rounded, numbers)):
        raise LineError(f"{path}: a whole number beyond 2^53, which 64-bit floats cannot tell from its neighbours")
    if "" in ids:
        raise LineError(f"{path}: each document needs an id; one is empty")
    kinds |= set(map(type, ids))
    return Documents(ids, numbers)


def _is_rounded(number: float) -> bool:
    return type(number) is int and abs(number) > LARGEST_EXACT


def _of_lists(given: Mapping[str, Any], what: str, path: str) -> tuple[list[Any], list[Any]]:
    if given.keys() != {"document", what} or not all(isinstance(each, list) for each in given.values()):
        raise LineError(f"{path}: must be the lists document and {what}; got {shown(given)}")
    ids, numbers = given["document"], given[what]
    if len(ids) != len(numbers):
        raise LineError(f"{path}: must have as many documents as numbers; got {len(ids)} and {len(numbers)}")
    if not set(map(type, ids)) <= {str, int}:
        wrong = next(each for each in ids if type(each) not in (str, int))
        raise LineError(f"{path}: an id is text or a whole number; got {shown(wrong)}")
    if len(set(ids)) < len(ids):
        seen: set[Any] = set()
        twice = next(each for each in ids if each in seen or seen.add(each))  # type: ignore[func-returns-value]
        raise LineError(f"{path}: a query may have each document once; more than once: {shown(twice)}")
    return ids, numbers


def _as_text(documents: Documents) -> Documents:
    return Documents([str(each) for each in documents.ids], documents.numbers)


def _by_document(what: str) -> dict[str, Any]:
    lists = {
        "document": {"type": "array", "items": LABEL_SCHEMA},
        what: {"type": "array", "items": {"type": "number"}},
    }
    return {
        "oneOf": [
            {"type": "object", "additionalProperties": {"type": "number"}},
            {"type": "object", "required": list(lists), "additionalProperties": False, "properties": lists},
        ]
    }


def _line(properties: Mapping[str, Any], optional: Sequence[str] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": dict(properties)}


_NUMBER: Final = {"type": "integer", "minimum": 1, "description": "Number of the line in the request, from 1."}
QUERY_LINE: Final = Component(
    "QueryLine",
    _line(
        {
            "query": LABEL_SCHEMA,
            "relevance": _by_document("relevance"),
            "scores": {"type": "object", "additionalProperties": _by_document("score")},
        }
    ),
)
QUERY_ANSWER_LINE: Final = Component(
    "QueryAnswerLine",
    _line(
        {
            "line": _NUMBER,
            "query": LABEL_SCHEMA,
            "values": {
                "type": "object",
                "description": "By run and metric; null where undefined.",
                "additionalProperties": {"type": "object", "additionalProperties": UNDEFINED},
            },
            "undefined": {
                "type": "object",
                "description": "Why, by run and metric.",
                "additionalProperties": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "error": {"type": "string", "description": "What is wrong with the line, which counts for nothing."},
        },
        optional=("query", "values", "undefined", "error"),
    ),
)
