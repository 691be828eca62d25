"""Read joined columns from data frames, batches and Parquet files.

A row is a document of a query, with its relevance and its scores by one or more runs. A null means that qrels or a run
lack the document, as after an outer join.

A query may span several batches and files, but its rows must be together. The result does not depend on where the
batches are cut.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr import errors
from rankcorr._checks import checked_count, offending, repeated, shown
from rankcorr._input.frames import arrow, categories_are_no_numbers, columns_of, decoded
from rankcorr._input.scores import kernel_array
from rankcorr._io.source import path_text
from rankcorr._workers import checked_workers
from rankcorr.evaluation._columns import Codes, Ids, checked_values, encode_ids
from rankcorr.evaluation._partitions.poisson import repeated_ids
from rankcorr.evaluation._qrels import repeated_rows

NOT_OF_ARROW: Final = ("Object", "Int128", "UInt128")
# Least number of rows evaluated at once. Engines pass far fewer, and the overhead of a call is that of 50 queries.
LEAST_ROWS: Final = 1 << 17
BATCH_ROWS: Final = 1 << 19


def as_table(rows: Any, names: tuple[str, ...]) -> Any:
    """Return columns of a record batch, a table or a data frame as a pyarrow Table; nan of pandas becomes null.

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
    is_arrow = isinstance(rows, pa.Table | pa.RecordBatch)
    columns: Any = rows.schema.names if is_arrow else columns_of(rows)
    if columns is None:
        raise errors.ColumnError(f"a record batch, a table or a data frame is expected; got {type(rows).__name__}")
    listed = list(columns)
    if lacking := [name for name in names if name not in listed]:
        plural, others = "s" * (len(lacking) > 1), ", ".join(map(repr, listed)) or "none"
        raise errors.ColumnError(f"the frame has no column{plural} {', '.join(map(repr, lacking))}; it has {others}")
    if again := [name for name in names if listed.count(name) > 1]:
        raise errors.ColumnError(offending("a column occurs more than once", again))
    return pa.table({name: decoded(rows.column(name)) if is_arrow else _array(columns[name], name) for name in names})


def _array(column: Any, name: str) -> Any:
    pa = arrow()
    try:
        if hasattr(column, "to_arrow"):  # polars, which has types that Arrow lacks
            return pa.array(column.to_list()) if str(column.dtype) in NOT_OF_ARROW else column.to_arrow()
        return pa.Array.from_pandas(decoded(column)) if hasattr(column, "to_numpy") else column
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise errors.ColumnError(
            f"column {name!r} holds values of several types, or of one that Arrow lacks: {error}"
        ) from error
    except (OverflowError, UnicodeError) as error:  # a whole number beyond 64 bits, half of a surrogate pair
        raise errors.ColumnError(f"column {name!r} holds a value that Arrow cannot: {error}") from error


class Numbers(NamedTuple):
    """A column of numbers, and whether each is absent; absent ones are 0."""

    values: NDArray[np.float64]
    absent: NDArray[np.bool_]


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
    documents : Ids or None
    """

    queries: Any
    offsets: Codes
    relevance: Numbers
    scores: tuple[Numbers, ...]
    documents: Ids | None


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
    ids = query_ids(table.column(query))
    queries, offsets, order = _group_rows(ids)

    def numbers(name: str) -> Numbers:
        column = _numbers(table.column(name), name, ids)
        return column if order is None else Numbers(column.values[order], column.absent[order])

    documents = None
    if document is not None:
        documents = encode_ids(table.column(document), "document")
        documents = documents if order is None else documents._replace(codes=documents.codes[order])
    joined = JoinedColumns(queries, offsets, numbers(relevance), tuple(map(numbers, scores)), documents)
    _check_documents(joined)
    return joined


def query_ids(column: Any) -> Any:
    """Return ids as an Arrow array of type string or int64.

    Raises
    ------
    ColumnError
        Ids are of another type, or an id is null or empty.
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
        raise errors.ColumnError(f"query ids must be text or whole numbers; got a column of type {kind}")
    try:
        ids = column.cast(pa.string() if is_text else pa.int64())
    except pa.ArrowInvalid as error:
        raise errors.ColumnError(f"a query id is beyond 2^63 - 1, so write the ids as text: {error}") from error
    if ids.null_count:  # counted after the cast, since a null may be a value of a dictionary
        raise errors.ColumnError(f"each row needs a query id; {ids.null_count:,} of {len(ids):,} rows have none")
    array = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if is_text and pa.compute.any(pa.compute.equal(array, "")).as_py():
        raise errors.ColumnError("each query needs an id; one is empty")
    return array


def _group_rows(ids: Any) -> tuple[Any, Codes, Codes | None]:
    """Return the queries, the offsets of their rows, and the order that groups the rows; None if already grouped."""
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
    """Return the numbers of a column; refuse nan, and infinite ones, because two overflows would be tied."""
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
            kind = errors.MissingValueError if np.isnan(value) else errors.ColumnError
            raise kind(f"column {name!r} must hold finite numbers; it is {value} in a row of query {shown(query)}")
        return Numbers(values, absent)
    return Numbers(checked_values(filled, name), absent)


def _fill_nulls(column: Any) -> Any:
    """Replace nulls by 0; a column of another type only loses them, and is refused later."""
    types = arrow().types
    if types.is_boolean(column.type):
        return column.fill_null(fill_value=False)
    is_number = types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)
    return column.fill_null(0) if is_number else column.drop_null()


def _check_documents(columns: JoinedColumns) -> None:
    """Refuse a query that has a document twice."""
    if columns.documents is None:
        return
    codes, ids = columns.documents
    again = repeated_rows(columns.offsets, kernel_array(codes), len(ids))[1]
    if again.size:
        groups = np.searchsorted(columns.offsets, again, side="right") - 1
        pairs = dict.fromkeys(
            (columns.queries[group].as_py(), ids[code])
            for group, code in zip(groups.tolist(), codes[again].tolist(), strict=True)
        )
        raise errors.DuplicateDocumentError(
            offending("a query may have each document once; more than once (query, document)", pairs)
        )


def read_batches(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str],
    *,
    batch_rows: int = BATCH_ROWS,
    workers: int = 1,
) -> Iterator[Any]:
    """Read columns of Parquet files in batches, with few batches in memory at a time.

    Parameters
    ----------
    files : path or sequence of paths
        Files in the order of their rows.
    columns : sequence of str
        Names of the columns.
    batch_rows : int, default 524,288
        Largest number of rows of a batch.
    workers : int, default 1
        With more than one, pyarrow decodes on all processors.

    Yields
    ------
    pyarrow.RecordBatch

    Raises
    ------
    ColumnError
        A file lacks a column.
    TableError
        A file cannot be read as Parquet, or is a folder; an open file, or another object that is not a path.
    OptionError
        There is no file, or `batch_rows` is not a positive whole number.

    See Also
    --------
    streamed_means : Means over the queries of the batches.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from rankcorr.evaluation import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = pd.DataFrame({"query": ["q", "q", "r"], "score": [1.5, 0.5, 2.5]})
    ...     rows.to_parquet(f"{folder}/rows.parquet")
    ...     [batch.num_rows for batch in read_batches(f"{folder}/rows.parquet", ["score"], batch_rows=2)]
    [2, 1]
    """
    size, n_workers = checked_count(batch_rows, "batch_rows"), checked_workers(workers)
    if isinstance(files, str | os.PathLike | io.IOBase) or not isinstance(files, Iterable):
        files = [files]
    paths = list(map(path_text, files))
    if not paths:
        raise errors.OptionError("there is no file to read")
    return _read(paths, list(columns), size, n_workers > 1)


def _read(paths: list[str], columns: list[str], batch_rows: int, use_threads: bool) -> Iterator[Any]:
    pa = arrow()
    from pyarrow import parquet

    for path in paths:
        if os.path.isdir(path):
            raise errors.TableError(f"{path} is a folder: list its Parquet files, in the order of their rows")
        try:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                if lacking := [name for name in columns if name not in file.schema_arrow.names]:
                    listed = ", ".join(map(repr, file.schema_arrow.names))
                    raise errors.ColumnError(f"{path} has no column {', '.join(map(repr, lacking))}; it has {listed}")
                yield from file.iter_batches(batch_rows, columns=columns, use_threads=use_threads)
        except (pa.ArrowInvalid, OSError) as error:
            raise errors.TableError(f"{path} cannot be read as Parquet: {error}") from error


def whole_queries(batches: Iterable[Any], query: str, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield tables of whole queries, with at least about `LEAST_ROWS` rows, from batches that may split queries.

    Raises
    ------
    ColumnError
        Ids cannot be used, or differ in type between batches.
    SplitQueryError
        The rows of a query are not together. This is raised at the end of the stream, since it needs all query ids.
    """
    waiting: list[Any] = []
    run_ids: list[Any] = []
    n_rows, least = 0, LEAST_ROWS
    for batch in batches:
        table = as_table(batch, names)
        if table.num_rows == 0:
            continue
        waiting.append(table.set_column(names.index(query), query, query_ids(table.column(query))))
        n_rows += table.num_rows
        if n_rows < least:
            continue
        rows = _concatenate(waiting)
        ids = rows.column(query)
        others = np.flatnonzero(arrow().compute.not_equal(ids, ids[-1]).to_numpy())
        start = int(others[-1]) + 1 if others.size else 0  # first row of the last query
        if start:
            complete = rows.slice(0, start)
            run_ids.append(_run_ids(complete.column(query)))
            yield complete
        waiting, n_rows = [rows.slice(start)], rows.num_rows - start
        least = max(LEAST_ROWS, 2 * n_rows)  # doubled, so that a very long query is not searched at each batch
    if waiting:
        complete = _concatenate(waiting)
        run_ids.append(_run_ids(complete.column(query)))
        _check_runs(run_ids)
        yield complete


def _run_ids(ids: Any) -> Any:
    """Return one id for each run of consecutive rows with the same id."""
    return arrow().compute.run_end_encode(ids.combine_chunks()).values


def _check_runs(run_ids: list[Any]) -> None:
    """Refuse queries whose rows are in two runs; the message names the first that reappears."""
    pa = arrow()
    ids = pa.concat_arrays(run_ids)
    if again := repeated_ids(ids):
        repeats = ids.filter(pa.compute.is_in(ids, value_set=pa.array(again, ids.type))).to_pylist()
        raise errors.SplitQueryError(
            f"the rows of a query must follow each other in a stream; those of {shown(repeated(repeats)[0])} are "
            "interrupted by other queries: sort the rows by query"
        )


def _concatenate(tables: list[Any]) -> Any:
    pa = arrow()
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise errors.ColumnError(f"batches have columns of different types: {error}") from error
