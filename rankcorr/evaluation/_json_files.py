"""Qrels and runs in JSON: plain objects, and predictions as sentence-transformers and MTEB write them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from rankcorr._checks import first_few, shown
from rankcorr._io.records import TextTable
from rankcorr._io.source import printable
from rankcorr.evaluation._qrels import HIT, listed_values

MOST_DIGITS: Final = 310  # of a whole number; the largest float has 309
METADATA: Final = "mteb_model_meta"
SHAPES: Final = "a query_id and results with corpus_id and score are expected, or query-id, corpus-id and score"
ROW: Final = frozenset({"query-id", "corpus-id", "score"})  # of qrels in MTEB's data sets, one in each line

Row = tuple[str, str, float]


def json_rows(table: TextTable, text: str, value_name: str) -> Iterator[Row]:
    """Query, document and value of each entry of a text in JSON; repeated names are kept as such.

    The text is one object of query to documents, an object for each query with `query_id` and `results` (one a line, or
    in an array), one for each row with `query-id`, `corpus-id` and `score`, or the predictions of MTEB. Documents are
    an object of document to value, or a list as in `QueryColumns.from_dict`.
    """
    for query, documents in _queries(table, text, value_name):
        pairs = documents if isinstance(documents, Pairs) else _listed_documents(table, query, documents, value_name)
        for document, value in pairs:
            if isinstance(value, bool) or not isinstance(value, int | float):
                why = "is beyond the range of a 64-bit float" if isinstance(value, BeyondFloat) else "is no number"
                table.fail(f'query "{printable(query)}", document "{printable(document)}": {value_name} {why}')
            yield query, document, value


class Pairs(list[tuple[str, Any]]):
    """A JSON object that keeps repeated names."""

    def get(self, name: str) -> Any:
        """Value of the last entry of a name; None without one."""
        return dict(self).get(name)


class BeyondFloat:
    """A number beyond the range of a 64-bit float."""


def _queries(table: TextTable, text: str, value_name: str) -> Iterator[tuple[str, Any]]:
    """Each query with its documents, in whatever form they are."""
    documents = _documents(table, text)
    line, first = documents[0]
    if len(documents) == 1 and isinstance(first, Pairs) and METADATA in dict(first):
        first = _only_split(table, first)
    if len(documents) == 1 and isinstance(first, Pairs) and not _is_prediction(first):
        if not all(isinstance(value, list) for _, value in first):  # `Pairs` are lists too
            _refuse_shape(table, value_name)
        yield from first
        return
    if len(documents) == 1 and type(first) is list:
        documents = [(line, entry) for entry in first]
    for line, entry in documents:
        if not isinstance(entry, Pairs) or not _is_prediction(entry):
            table.fail(SHAPES, line)
        row = dict(entry)
        if row.keys() >= ROW:
            query, document = _checked_ids(table, [row["query-id"], row["corpus-id"]], line)
            yield query, Pairs([(document, row["score"])])
            continue
        results = entry.get("results")
        hits = [dict(hit) for hit in results if isinstance(hit, Pairs)] if type(results) is list else None
        if hits is None or len(hits) < len(results) or not all(hit.keys() >= HIT for hit in hits):
            table.fail(SHAPES, line)
        query, *ids = _checked_ids(table, [entry.get("query_id"), *(hit["corpus_id"] for hit in hits)], line)
        yield query, Pairs((document, hit["score"]) for document, hit in zip(ids, hits, strict=True))


def _checked_ids(table: TextTable, ids: list[Any], line: int) -> list[str]:
    if wrong := [identifier for identifier in ids if type(identifier) not in (str, int)]:
        table.fail(f"ids must be text or whole numbers; got {shown(wrong[0])}", line)
    return list(map(str, ids))


def _documents(table: TextTable, text: str) -> list[tuple[int, Any]]:
    """The documents of a text with their lines: one that may span lines, or one in each line."""
    decoder = json.JSONDecoder(
        # NaN and Infinity, which are not valid JSON, become text, and so no number.
        object_pairs_hook=Pairs,
        parse_constant=str,
        parse_float=_number,
        parse_int=_whole_number,
    )
    documents, place, line = [], 0, 1
    while match := re.compile(r"[ \t\r\n]*(?=[^ \t\r\n])").match(text, place):
        line += text.count("\n", place, match.end())
        try:
            document, end = decoder.raw_decode(text, match.end())
        except json.JSONDecodeError as error:
            table.fail(f"is not JSON: {error.msg}, column {error.colno}", error.lineno)
        except RecursionError:
            table.fail("is nested too deeply")
        documents.append((line, document))
        line += text.count("\n", match.end(), end)
        place = end
    return documents


def _is_prediction(entry: Pairs) -> bool:
    """Whether an object is a query of sentence-transformers or a row of MTEB, and not one of query to documents."""
    return any(
        name in dict(entry) and not isinstance(entry.get(name), Pairs | list) for name in ("query_id", "query-id")
    )


def _only_split(table: TextTable, predictions: Pairs) -> Any:
    """Return the predictions of the only subset and split of a file of MTEB."""
    splits = [
        (subset, split, queries)
        for subset, content in predictions
        if subset != METADATA and isinstance(content, Pairs)
        for split, queries in content
    ]
    if len(splits) != 1:
        names = first_few([f"{printable(subset)} {printable(split)}" for subset, split, _ in splits]) or "none"
        table.fail(f"the predictions of one subset and split are expected; the file has {names}")
    return splits[0][2]


def _listed_documents(table: TextTable, query: str, documents: list[Any], value_name: str) -> list[tuple[str, Any]]:
    """Documents and values of a list of hits, or of a list of ids."""
    entries = [dict(entry) if isinstance(entry, Pairs) else entry for entry in documents]
    pairs = listed_values(entries, value_name)
    if pairs is None or not all(isinstance(document, str | int) for document, _ in pairs):
        _refuse_shape(table, value_name, f'; query "{printable(query)}" has another list')
    return [(str(document), value) for document, value in pairs]


def _refuse_shape(table: TextTable, value_name: str, more: str = "") -> NoReturn:
    table.fail(f"an object of query to an object of document to {value_name}, or to a list, is expected{more}")


def _number(text: str) -> float | int | BeyondFloat:
    """A number with a point or an exponent, unless it is too large for a float."""
    number = float(text)
    is_lost = math.isinf(number) or (number == 0 and text.lower().partition("e")[0].strip("-0.") != "")
    whole, _, decimals = text.partition(".")
    if not is_lost and decimals and not decimals.strip("0") and int(whole) != number:
        return int(whole)  # beyond 2^53, where a float would tie it with its neighbour
    return BeyondFloat() if is_lost else number


def _whole_number(text: str) -> int | BeyondFloat:
    """A whole number; Python refuses to read thousands of digits, and a float cannot hold them."""
    return int(text) if len(text) <= MOST_DIGITS else BeyondFloat()
