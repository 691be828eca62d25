"""A partition of joined columns -> checked numbers, one query after the other.

A row is a document of a query, with its relevance and its scores by one or more runs. A null means that qrels (or a
run) lack the document, as after an outer join.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import offending, shown
from rankcorr._input.frames import arrow, categories_are_no_numbers, columns_of, decoded
from rankcorr._input.scores import read_only
from rankcorr.errors import ColumnError, DuplicateDocumentError, MissingValueError
from rankcorr.evaluation._columns import Codes, checked_values, encode_ids

NOT_OF_ARROW: Final = ("Object", "Int128", "UInt128")


def as_table(rows: Any, names: tuple[str, ...]) -> Any:
    """Columns of a record batch, a table or a data frame as a pyarrow Table; nan of pandas becomes null.

    Raises
    ------
    ColumnError
        The value is not a frame, a column is missing, or pyarrow cannot hold a column, such as ids of two types.

    Examples
    --------
    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"query": ["q"], "note": [object()]}), ("query",)).column_names
    ['query']
    """
    pa = arrow()
    if isinstance(rows, pa.Table | pa.RecordBatch):
        if lacking := [name for name in names if name not in rows.schema.names]:
            raise _missing(lacking, rows.schema.names)
        if again := [name for name in names if rows.schema.names.count(name) > 1]:
            raise ColumnError(offending("a column comes more than once", again))
        return pa.table({name: decoded(rows.column(name)) for name in names})
    columns = columns_of(rows)
    if columns is None:
        raise ColumnError(f"a record batch, a table or a data frame is expected; got {type(rows).__name__}")
    if lacking := [name for name in names if name not in columns]:
        raise _missing(lacking, columns)
    return pa.table({name: _array(columns[name], name) for name in names})


def _array(column: Any, name: str) -> Any:
    pa = arrow()
    try:
        if hasattr(column, "to_arrow"):  # polars, which has types that Arrow lacks
            return pa.array(column.to_list()) if str(column.dtype) in NOT_OF_ARROW else column.to_arrow()
        return pa.Array.from_pandas(decoded(column)) if hasattr(column, "to_numpy") else column
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"column {name!r} holds values of several types, or of one that Arrow lacks: {error}"
        ) from error
    except (OverflowError, UnicodeError) as error:  # a whole number beyond 64 bits, half of a surrogate pair
        raise ColumnError(f"column {name!r} holds a value that Arrow cannot: {error}") from error


def _missing(lacking: list[str], there: Any) -> ColumnError:
    plural = "s" * (len(lacking) > 1)
    names, others = (", ".join(map(repr, part)) for part in (lacking, there))
    return ColumnError(f"the frame has no column{plural} {names}; it has {others or 'none'}")


class Numbers(NamedTuple):
    """A column of numbers, 0 where it has none, and where that is."""

    values: NDArray[np.float64]
    absent: NDArray[np.bool_]


class Documents(NamedTuple):
    """Documents as codes, and their ids."""

    codes: Codes
    ids: tuple[Any, ...]


class JoinedColumns(NamedTuple):
    """Rows grouped by query.

    Attributes
    ----------
    queries : pyarrow.Array of string or int64, shape (n_queries,)
        In the order of their first rows.
    offsets : ndarray of int64, shape (n_queries + 1,)
    relevance : Numbers
    scores : tuple of Numbers
        One for each run.
    documents : Documents or None
    """

    queries: Any
    offsets: Codes
    relevance: Numbers
    scores: tuple[Numbers, ...]
    documents: Documents | None


def joined_columns(rows: Any, names: tuple[str, ...], document: str | None) -> JoinedColumns:
    """Read a partition from a record batch, a table or a data frame; `names` are query, relevance and scores.

    Raises
    ------
    RankingError
        `ColumnError` for a missing column, ids of two types, a null id, or an infinite number, `MissingValueError` for
        nan, `NonNumericError`, or `DuplicateDocumentError`.
    """
    query, relevance, *scores = names
    table = as_table(rows, names if document is None else (*names, document))
    ids = ids_of(table.column(query), "query")
    queries, offsets, order = _group_rows(ids)

    def numbers(name: str) -> Numbers:
        column = _numbers(table.column(name), name, ids)
        return column if order is None else Numbers(column.values[order], column.absent[order])

    documents = None
    if document is not None:
        codes, names_of = encode_ids(table.column(document), "document")
        documents = Documents(codes if order is None else codes[order], names_of)
    joined = JoinedColumns(queries, offsets, numbers(relevance), tuple(map(numbers, scores)), documents)
    _check_documents(joined)
    return joined


def ids_of(column: Any, noun: str) -> Any:
    """Ids as an Arrow array of one of two types, string or int64.

    Raises
    ------
    ColumnError
        Ids of another type, a null, or an empty text.
    """
    pa = arrow()
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind)
    if pa.types.is_null(kind) and len(column) == 0:
        is_text = True
    elif not is_text and not pa.types.is_integer(kind):
        raise ColumnError(f"{noun} ids must be text or whole numbers; got a column of type {kind}")
    try:
        ids = column.cast(pa.string() if is_text else pa.int64())
    except pa.ArrowInvalid as error:
        raise ColumnError(f"a {noun} id is beyond 64 bits: {error}") from error
    if ids.null_count:  # counted after the cast, since a null may be a value of a dictionary
        raise ColumnError(f"each row needs a {noun} id; {ids.null_count:,} of {len(ids):,} rows have none")
    array = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if is_text and pa.compute.any(pa.compute.equal(array, "")).as_py():
        raise ColumnError(f"each {noun} needs an id; one is empty")
    return array


def _group_rows(ids: Any) -> tuple[Any, Codes, Codes | None]:
    """Queries, where the rows of each begin, and the order that groups the rows; None if they are grouped."""
    pa = arrow()
    runs = pa.compute.run_end_encode(ids, run_end_type=pa.int64())
    ends = runs.run_ends.to_numpy().astype(np.int64)
    encoded = runs.values.dictionary_encode()
    if len(encoded.dictionary) == len(runs.values):
        return runs.values, np.append(0, ends), None
    codes = np.repeat(encoded.indices.to_numpy(), np.diff(np.append(0, ends)))
    offsets = np.append(0, np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary))))
    return encoded.dictionary, offsets, np.argsort(codes, kind="stable")


def _numbers(column: Any, name: str, ids: Any) -> Numbers:
    """Numbers of a column; nan and infinite ones are refused, since two overflows would be a tie."""
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        raise categories_are_no_numbers(name)
    absent = column.is_null().to_numpy() if column.null_count else np.zeros(len(column), bool)
    if pa.types.is_null(column.type):
        return Numbers(np.zeros(len(column)), np.ones(len(column), bool))
    filled = _fill_nulls(column) if column.null_count else column
    if pa.types.is_floating(filled.type):
        values = filled.cast(pa.float64()).to_numpy()
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            query, value = ids[int(wrong[0])].as_py(), float(values[wrong[0]])
            kind = MissingValueError if np.isnan(value) else ColumnError
            raise kind(f"column {name!r} must hold finite numbers; it is {value} in a row of query {shown(query)}")
        return Numbers(values, absent)
    return Numbers(checked_values(filled, name), absent)


def _fill_nulls(column: Any) -> Any:
    """A column with 0 in the place of nulls; one that holds no numbers loses them, to be refused for its type."""
    types = arrow().types
    if types.is_boolean(column.type):
        return column.fill_null(fill_value=False)
    is_number = types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)
    return column.fill_null(0) if is_number else column.drop_null()


def _check_documents(columns: JoinedColumns) -> None:
    """Refuse a query that has a document twice."""
    if columns.documents is None:
        return
    from rankcorr.evaluation._query_kernels import first_rows

    codes, ids = columns.documents
    firsts = np.empty(codes.size, np.int64)
    first_rows(columns.offsets, read_only(codes), np.full(len(ids), -1, np.int64), firsts)
    again = np.flatnonzero(firsts != np.arange(firsts.size))
    if again.size:
        groups = np.searchsorted(columns.offsets, again, side="right") - 1
        pairs = dict.fromkeys(
            (columns.queries[group].as_py(), ids[code])
            for group, code in zip(groups.tolist(), codes[again].tolist(), strict=True)
        )
        raise DuplicateDocumentError(
            offending("a query may have each document once; more than once (query, document)", pairs)
        )
