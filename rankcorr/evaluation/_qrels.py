"""Qrels and runs: immutable flat columns of queries, documents and values, sorted by query."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray

from rankcorr import errors
from rankcorr._checks import N_SHOWN, check_choice, counted, give_notice, offending, repeated, shown
from rankcorr._input.frames import columns_of, is_rank_column, python_values, with_levels
from rankcorr._input.identifiers import comparable
from rankcorr._input.scores import kernel_array
from rankcorr._io.trec import listed_values, note_ranks
from rankcorr.evaluation._columns import (
    DUPLICATES,
    Codes,
    Duplicates,
    Ids,
    checked_values,
    encode_ids,
    is_number,
    rows_of,
)

QUERY: Final = ("query", "query_id", "qid", "q_id")
DOCUMENT: Final = ("document", "document_id", "doc_id", "docno", "docid", "doc")
RANK: Final = "rank"  # only checked against the scores
_LISTS: Final = (list, tuple, set, frozenset, np.ndarray)
# Columns of packages that use the default names for something else: PyTerrier has the text of a query in "query", and
# qrels of BEIR and ranx have the relevance in "score".
PACKAGES: Final = (
    {"query": "qid", "document": "docno"},
    {"query": "query-id", "document": "corpus-id", "relevance": "score", "score": "score"},
    {"query": "q_id", "document": "doc_id", "relevance": "score", "score": "score"},
)


class QueryRows(NamedTuple):
    """Rows sorted by query, with the attributes of `QueryColumns`."""

    queries: tuple[Hashable, ...]
    offsets: Codes
    documents: tuple[Hashable, ...]
    codes: Codes
    values: NDArray[np.float64]


class QueryColumns:
    """Base class of `Qrels` and `Run`: rows of a query, a document and a value, sorted by query.

    Queries are in the order of their first rows, and the rows of a query in the order given.

    Attributes
    ----------
    queries : tuple of str or int
    offsets : ndarray of int64, shape (n_queries + 1,), read-only
        Query q has the rows from ``offsets[q]`` to ``offsets[q + 1] - 1``.
    documents : tuple of str or int
        The distinct documents.
    codes : ndarray of int64, shape (n_rows,), read-only
        Index in `documents` of the document of each row.
    values : ndarray of float64, shape (n_rows,), read-only
    name : str or None
    """

    value_name: ClassVar[str]
    value_columns: ClassVar[tuple[str, ...]]

    queries: tuple[Hashable, ...]
    offsets: Codes
    documents: tuple[Hashable, ...]
    codes: Codes
    values: NDArray[np.float64]
    name: str | None

    def __init__(self, *_args: object, **_options: object) -> None:
        kind = type(self).__name__
        raise TypeError(f"use {kind}.from_dict, {kind}.from_columns, {kind}.from_frame or read_{kind.lower()}")

    @classmethod
    def from_columns(
        cls, queries: Any, documents: Any, values: Any, *, duplicates: Duplicates = "error", name: str | None = None
    ) -> Self:
        """Build an object from three columns of equal length, with rows in any order.

        Parameters
        ----------
        queries, documents : sequence or series of str or int
            Ids, all of one type in each column.
        values : array_like or series
            Real numbers without nan. An Arrow column of doubles is not copied if its rows are sorted by query.
        duplicates : {"error", "first", "max"}
            How to treat a document that occurs more than once in a query: raise an error, or use the first or the
            largest value.
        name : str, optional
            Name in results.

        Raises
        ------
        RankingError
            `ColumnError` for ids that cannot be used, `DuplicateDocumentError`, `MissingValueError` for null and nan,
            `NonNumericError`.

        Examples
        --------
        >>> Run.from_columns(["q1", "q1", "q2"], ["a", "b", "a"], [0.9, 0.4, 0.7])
        <Run of 2 queries, 3 documents>
        """
        check_choice("duplicates", duplicates, DUPLICATES)
        ids = encode_ids(queries, "query"), encode_ids(documents, "document")
        numbers = checked_values(values, cls.value_name)
        return cls._from_rows(sorted_rows(*ids, numbers, cls.value_name, duplicates), name)

    @classmethod
    def from_dict(cls, values: Mapping[Any, Mapping[Any, float]], *, name: str | None = None) -> Self:
        """Build an object from a mapping of query to a mapping of document to value.

        A query without documents is excluded. As in sentence-transformers, the relevant documents of a query may be a
        set or a list of ids, which get relevance 1, and a query of a run may have a list of hits with "corpus_id" and
        "score". A query of a run may also have a list of ids, best first; document k then gets the score -k.

        Raises
        ------
        RankingError
            As `from_columns`.

        Examples
        --------
        >>> Qrels.from_dict({"q1": {"a": 2, "b": 0}, "q2": {"a": 1}})
        <Qrels of 2 queries, 3 documents>
        """
        if not isinstance(values, Mapping) or not all(
            isinstance(documents, (Mapping, *_LISTS)) and getattr(documents, "ndim", 1) == 1
            for documents in values.values()
        ):
            raise errors.ColumnError(f"expected a mapping such as {{query: {{document: value}}}}; got {shown(values)}")
        pairs = [
            entry.items() if isinstance(entry, Mapping) else cls._list_pairs(query, entry)
            for query, entry in values.items()
        ]
        queries = [query for query, entries in zip(values, pairs, strict=True) for _ in entries]
        documents = [document for entries in pairs for document, _ in entries]
        numbers = [value for entries in pairs for _, value in entries]
        try:
            return cls.from_columns(queries, documents, numbers, name=name)
        except (errors.MissingValueError, errors.NonNumericError) as error:
            rows = zip(queries, documents, numbers, strict=True)
            wrong = next((row for row in rows if not is_number(row[2])), None)
            if wrong is None:
                raise
            query, document, value = wrong
            raise type(error)(
                f"every {cls.value_name} must be a real number; that of document {document!r} of query {query!r} is "
                f"{shown(value)}"
            ) from error

    @classmethod
    def _list_pairs(cls, query: Hashable, entries: Collection[Any]) -> list[tuple[Any, Any]]:
        """Return the documents and values of a list."""
        pairs = listed_values(cast(Collection[Any], python_values(entries)), cls.value_name)
        if pairs is None:
            documents = "ids, best first" if cls.value_name == "score" else "relevant ids"
            raise errors.ColumnError(
                f"a list of {cls.value_name}s must hold hits with corpus_id and score, or {documents}; that of query "
                f"{shown(query)} is {shown(entries)}"
            )
        return pairs

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        query: str | None = None,
        document: str | None = None,
        value: str | None = None,
        duplicates: Duplicates = "error",
        name: str | None = None,
    ) -> Self:
        """Build an object from a data frame of pandas, polars or pyarrow with a row for each document of a query.

        Parameters
        ----------
        frame : data frame
        query, document, value : str, optional
            Names of the columns. By default, columns are recognized by these names: "query", "query_id", "qid", "q_id"
            for the query, "document", "document_id", "doc_id", "docno", "docid", "doc" for the document, "relevance",
            "rel", "label", "gold" for the value of qrels, "score", "sim" for the value of a run. In a frame with the
            columns "qid" and "docno", as in PyTerrier, "query" is the text of the query. In qrels with "query-id" and
            "corpus-id", as in BEIR, or "q_id" and "doc_id", as in ranx, "score" is the relevance. A column `value`
            named "rank" or similar is read as ranks, with a `RankColumnWarning`. There is also a `RankColumnWarning` if
            a column "rank" contradicts the scores of a run.
        duplicates, name
            As in `from_columns`.

        Raises
        ------
        RankingError
            As `from_columns`; `ColumnError` for a column that the frame lacks.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "score": [0.9, 0.4]})
        >>> Run.from_frame(frame)
        <Run of 1 query, 2 documents>
        """
        columns = columns_of(with_levels(frame))
        if columns is None:
            raise errors.ColumnError(f"a data frame is expected; got {shown(frame)}")
        query_column, document_column, value_column = cls.chosen_columns(columns, query, document, value)
        values = columns[value_column]
        if is_rank_column(value_column):
            give_notice(
                f"column {value_column!r} is read as ranks (1 is best); rename it if larger numbers are better",
                errors.RankColumnWarning,
            )
            values = -checked_values(values, "rank")
        ids = columns[query_column], columns[document_column]
        rows = cls.from_columns(*ids, values, duplicates=duplicates, name=name)
        if RANK in columns and value_column != RANK:
            note_rank_column(rows, *ids, columns[RANK])
        return rows

    @classmethod
    def chosen_columns(
        cls, columns: Iterable[Any], query: str | None = None, document: str | None = None, value: str | None = None
    ) -> list[str]:
        """Return the names of the columns of the query, the document and the value, as `from_frame` chooses them.

        Raises
        ------
        ColumnError
            A column is missing or ambiguous.

        Examples
        --------
        >>> Run.chosen_columns(["qid", "query", "docno", "score", "rank"])
        ['qid', 'docno', 'score']
        """
        listed = list(columns)
        known = {"query": QUERY, "document": DOCUMENT, cls.value_name: cls.value_columns}
        for package in PACKAGES:
            if {package["query"], package["document"]} <= set(listed):
                known |= {field: (package[field],) for field in ("query", "document")}
                if cls.value_name in package and set(known[cls.value_name]).isdisjoint(listed):
                    known[cls.value_name] = (package[cls.value_name],)
        requests = zip((query, document, value), known.items(), strict=True)
        return [_column(listed, name, *names, cls.__name__) for name, names in requests]

    @classmethod
    def of(cls, source: Any) -> Self:
        """Build an object from any source in memory: a dict, a data frame, or an object of ranx or ir_measures.

        Objects of ranx are recognized by their method ``to_dict``, and those of ir_measures by the fields ``query_id``
        and ``doc_id`` of the entries of an iterable. `read_qrels` and `read_run` read files.

        Raises
        ------
        RankingError
            As `from_columns`.

        Examples
        --------
        >>> from collections import namedtuple
        >>> ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")
        >>> Run.of([ScoredDoc("q1", "a", 0.9), ScoredDoc("q1", "b", 0.4)])
        <Run of 1 query, 2 documents>
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, QueryColumns):
            raise errors.ColumnError(f"expected {cls.__name__}; got {type(source).__name__}")
        if isinstance(source, Mapping):
            return cls.from_dict(source)
        frame = with_levels(source)
        if columns_of(frame) is not None:
            return cls.from_frame(frame)
        if is_of_ranx(source, cls):
            return cls.from_dict(source.to_dict(), name=getattr(source, "name", None))
        rows = list(source) if isinstance(source, Iterable) and not isinstance(source, bytes) else []
        fields = ("query_id", "doc_id", next((column for column in cls.value_columns if _all_have(rows, column)), ""))
        if not rows or not all(_all_have(rows, field) for field in fields):
            raise errors.ColumnError(
                f"{cls.__name__} can be read from a dict of dicts or of lists of hits, a data frame, a file "
                f"(read_{cls.__name__.lower()}), an object of ranx, and entries of ir_measures; got {shown(source)}"
            )
        return cls.from_columns(*([getattr(row, field) for row in rows] for field in fields))

    @classmethod
    def _from_rows(cls, rows: QueryRows, name: str | None) -> Self:
        """Make an object whose arrays are read-only, also from a pickle, which does not keep them so."""
        columns = object.__new__(cls)
        for field, value in {**rows._asdict(), "name": name}.items():
            object.__setattr__(columns, field, kernel_array(value) if isinstance(value, np.ndarray) else value)
        return columns

    @classmethod
    def pooled(cls, parts: Sequence[Self], *, name: str | None = None) -> Self:
        """Merge the queries of several folds, such as those of a cross-validation.

        Raises
        ------
        SplitQueryError
            A query is in two folds.
        ColumnError
            There is no fold.

        Examples
        --------
        >>> Qrels.pooled([Qrels.from_dict({"q1": {"a": 2}}), Qrels.from_dict({"q2": {"a": 1, "b": 0}})])
        <Qrels of 2 queries, 3 documents>
        """
        if not parts:
            raise errors.ColumnError("there is no fold")
        queries = [query for part in comparable(*(part.queries for part in parts)) for query in part]
        if again := repeated(queries):
            raise errors.SplitQueryError(offending("a query may be in one fold only; in more than one", again))
        documents, places = joined_ids([part.documents for part in parts])
        codes = np.concatenate([place[part.codes] for part, place in zip(parts, places, strict=True)])
        starts = np.cumsum([0, *map(len, parts)])
        offsets = np.concatenate([[0], *(part.offsets[1:] + start for part, start in zip(parts, starts, strict=False))])
        values = np.concatenate([part.values for part in parts])
        return cls._from_rows(QueryRows(tuple(queries), offsets, documents, codes, values), name)

    def with_ids(self, queries: Collection[Hashable], documents: Collection[Hashable]) -> Self:
        """Return the same rows with new ids of the queries and documents, in the same order."""
        rows = QueryRows(tuple(queries), self.offsets, tuple(documents), self.codes, self.values)
        return self._from_rows(rows, self.name)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.queries)

    def __len__(self) -> int:
        """Number of rows."""
        return self.values.size

    def __getitem__(self, query: Hashable) -> dict[Hashable, float]:
        """Return the documents of a query with their values."""
        place = self.places.get(query)
        if place is None:
            raise errors.LabelError(offending("there is no query", [query]))
        rows = rows_of(self.offsets, place)
        ids = (self.documents[code] for code in self.codes[rows].tolist())
        return dict(zip(ids, self.values[rows].tolist(), strict=True))

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """Index in `queries` of each query."""
        return {query: place for place, query in enumerate(self.queries)}

    @cached_property
    def document_places(self) -> dict[Hashable, int]:
        """Index in `documents` of each document."""
        return {document: place for place, document in enumerate(self.documents)}

    def to_dict(self) -> dict[Hashable, dict[Hashable, float]]:
        """Return a dict of query to a dict of document to value."""
        return {query: self[query] for query in self.queries}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((type(self), self.queries, self.values.tobytes()))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        rows = QueryRows(self.queries, self.offsets, self.documents, self.codes, self.values)
        return type(self)._from_rows, (rows, self.name)

    def __repr__(self) -> str:
        named = "" if self.name is None else f" {self.name!r}"
        queries = counted(self.n_queries, "query", "queries")
        return f"<{type(self).__name__}{named} of {queries}, {counted(len(self), 'document')}>"


class Qrels(QueryColumns):
    """Relevance of documents to queries: the gold scores.

    Relevance may be any number. Rank correlations rank documents by it, so that a negative value is below 0. For
    measures such as precision, documents with relevance 1 or more are relevant, as in trec_eval.

    Made by `Qrels.from_dict`, `Qrels.from_columns`, `Qrels.from_frame`, `Qrels.of` or `read_qrels`.

    See Also
    --------
    read_qrels : Read it from a file.
    Run : The scores of a system.

    Examples
    --------
    >>> from rankcorr.evaluation import Qrels
    >>> qrels = Qrels.from_dict({"q1": {"a": 2, "b": 0}, "q2": {"a": 1, "c": 0}})
    >>> qrels
    <Qrels of 2 queries, 4 documents>
    >>> qrels["q1"], len(qrels)
    ({'a': 2.0, 'b': 0.0}, 4)
    """

    value_name = "relevance"
    value_columns: ClassVar[tuple[str, ...]] = ("relevance", "rel", "label", "gold")


class Run(QueryColumns):
    """Scores that a system gives to documents for queries; larger is better.

    Made by `Run.from_dict`, `Run.from_columns`, `Run.from_frame`, `Run.of` or `read_run`.

    See Also
    --------
    read_run : Read it from a file.
    Qrels : The gold scores.

    Examples
    --------
    >>> from rankcorr.evaluation import Run
    >>> run = Run.from_dict({"q1": {"b": 9.5, "a": 3.1}, "q2": {"a": 0.5}}, name="bm25")
    >>> run, run["q1"]
    (<Run 'bm25' of 2 queries, 3 documents>, {'b': 9.5, 'a': 3.1})
    """

    value_name = "score"
    value_columns: ClassVar[tuple[str, ...]] = ("score", "sim")


def note_rank_column(
    rows: QueryColumns, queries: Any, documents: Any, ranks: Any, source: str = "the data frame", stacklevel: int = 5
) -> None:
    """Warn of a column of ranks that contradicts the scores of a run; in qrels, or without numbers, it is ignored."""
    if rows.value_name != "score":
        return
    try:
        numbers = checked_values(ranks, "rank")
        ranked_rows = type(rows).from_columns(queries, documents, numbers, duplicates="first")
    except errors.RankingError:
        return
    if ranked_rows.values.size != rows.values.size:
        return
    codes = np.repeat(np.arange(len(rows.queries)), np.diff(rows.offsets))

    def place_of(row: int) -> str:
        return f"{source}: document {rows.documents[rows.codes[row]]!r} of query {rows.queries[codes[row]]!r}"

    note_ranks(codes, ranked_rows.values, rows.values, source, place_of, stacklevel)


def _column(columns: list[Any], column: str | None, field: str, known: tuple[str, ...], kind: str) -> str:
    """Return the requested column, or the only one with a known name."""
    listed = ", ".join(map(repr, columns))
    if column is not None:
        if column not in columns:
            raise errors.ColumnError(f"the frame has no column {column!r} for the {field}; it has {listed}")
        return column
    matches = [name for name in known if name in columns]
    if len(matches) != 1:
        many = f"several columns may hold the {field}: {', '.join(map(repr, matches))}"
        available = f"the columns are {listed}" if listed else "there are no columns"
        none = f"no column for the {field}, such as {', '.join(map(repr, known))}; {available}"
        option = field if field in ("query", "document") else "value"
        raise errors.ColumnError(
            f"{many if matches else none}; rename one, or read a data frame by {kind}.from_frame({option}=...)"
        )
    return matches[0]


def joined_ids(sources: Sequence[Collection[Hashable]]) -> tuple[tuple[Hashable, ...], list[Codes]]:
    """Return the ids of all sources in order of first appearance, and the codes of the ids of each source."""
    places: dict[Hashable, int] = {}
    codes = [[places.setdefault(label, len(places)) for label in source] for source in comparable(*sources)]
    return tuple(places), [np.array(part, np.int64) for part in codes]


def with_common_ids(qrels: Qrels, runs: Mapping[str, Run]) -> tuple[Qrels, dict[str, Run]]:
    """Return qrels and runs with ids of one type: whole numbers become decimal text if any of them has text.

    Examples
    --------
    >>> qrels, runs = with_common_ids(Qrels.from_dict({7: {1: 2}}), {"a": Run.from_dict({"7": {1: 0.5}})})
    >>> qrels.to_dict(), runs["a"].to_dict()
    ({'7': {1: 2.0}}, {'7': {1: 0.5}})
    """
    sources = [qrels, *runs.values()]
    kinds = [
        {type(ids[0]) for ids in column} for column in zip(*((s.queries, s.documents) for s in sources), strict=True)
    ]
    if all(len(kind) == 1 for kind in kinds):  # ids of one source have one type
        return qrels, dict(runs)
    queries = comparable(qrels.queries, *(run.queries for run in runs.values()))
    documents = comparable(qrels.documents, *(run.documents for run in runs.values()))
    gold = qrels.with_ids(queries[0], documents[0])
    ids = zip(queries[1:], documents[1:], strict=True)
    return gold, {name: run.with_ids(*run_ids) for (name, run), run_ids in zip(runs.items(), ids, strict=True)}


def _all_have(rows: list[Any], field: str) -> bool:
    return bool(rows) and all(hasattr(row, field) for row in rows)


def repeated_rows(offsets: Codes, codes: Codes, n_documents: int) -> tuple[Codes, Codes]:
    """Return, for each row, the first row of its query with its document, and the rows that repeat an earlier one.

    Examples
    --------
    >>> firsts, again = repeated_rows(np.array([0, 3]), np.array([0, 1, 0]), 2)
    >>> firsts.tolist(), again.tolist()
    ([0, 1, 0], [2])
    """
    from rankcorr.evaluation._query_kernels import first_rows

    firsts = np.empty(codes.size, np.int64)
    first_rows(offsets, codes, np.full(n_documents, -1, np.int64), firsts)
    return firsts, np.flatnonzero(firsts != np.arange(firsts.size))


def sorted_rows(queries: Ids, documents: Ids, values: NDArray[np.float64], noun: str, duplicates: str) -> QueryRows:
    """Sort rows by query, keeping the order of first appearance, and resolve duplicates.

    Raises
    ------
    ColumnError
        The columns differ in length or are empty.
    DuplicateDocumentError
        A query has a document more than once, and `duplicates` is "error".
    """
    sizes = {"queries": queries.codes.size, "documents": documents.codes.size, f"{noun}s": values.size}
    if len(set(sizes.values())) > 1:
        raise errors.ColumnError(
            f"columns must have the same length; got {', '.join(f'{n} {k}' for k, n in sizes.items())}"
        )
    if values.size == 0:
        raise errors.ColumnError(f"there is no row: a query, a document and a {noun} are expected")
    query_codes, codes = queries.codes, documents.codes
    if (np.diff(query_codes) < 0).any():
        order = np.argsort(query_codes, kind="stable")
        query_codes, codes, values = query_codes[order], codes[order], values[order]
    n_queries = len(queries.ids)
    offsets = np.append(0, np.cumsum(np.bincount(query_codes, minlength=n_queries)))

    firsts, again = repeated_rows(offsets, codes, len(documents.ids))
    if again.size:
        if duplicates == "error":
            rows = again[np.sort(np.unique(firsts[again], return_index=True)[1])]  # the second of each pair
            pairs = [(queries.ids[query_codes[row]], documents.ids[codes[row]]) for row in rows[: N_SHOWN + 1].tolist()]
            listed = offending(
                "each document may appear only once in a query; repeated (query, document)", pairs, rows.size
            )
            raise errors.DuplicateDocumentError(f'{listed}; duplicates="first" or duplicates="max" keeps one')
        if duplicates == "max":
            values = values.copy()
            np.maximum.at(values, firsts[again], values[again])
        first_places = np.flatnonzero(firsts == np.arange(firsts.size))
        query_codes, codes, values = query_codes[first_places], codes[first_places], values[first_places]
        offsets = np.append(0, np.cumsum(np.bincount(query_codes, minlength=n_queries)))
    return QueryRows(queries.ids, offsets, documents.ids, codes, values)


def is_of_ranx(source: Any, kind: type[QueryColumns]) -> bool:
    """Return whether an object is one of ranx, which keeps its content in an attribute `run` or `qrels`."""
    return hasattr(source, "to_dict") and hasattr(source, kind.__name__.lower())
