"""Batches with the rows of a query together -> tables of whole queries; Parquet files in batches.

A query that straddles two batches is carried over to the second, also across files. A query whose rows reappear after
those of another is refused. Where the batches are cut makes no difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rankcorr._checks import checked_count, repeated, shown
from rankcorr._input.frames import arrow
from rankcorr._workers import checked_workers
from rankcorr.errors import ColumnError, OptionError, SplitQueryError, TableError
from rankcorr.evaluation._partitions.joined_columns import as_table, ids_of
from rankcorr.evaluation._partitions.poisson import repeated_ids

# Rows evaluated at once: engines pass far fewer at a time, and a call takes as long as 50 queries.
LEAST_ROWS: Final = 1 << 17
BATCH_ROWS: Final = 1 << 19


def read_batches(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str],
    *,
    batch_rows: int = BATCH_ROWS,
    workers: int = 1,
) -> Iterator[Any]:
    """Read columns of Parquet files in batches, and hold few batches in memory at a time.

    Parameters
    ----------
    files : path or sequence of paths
        Files in the order of their rows.
    columns : sequence of str
    batch_rows : int, default 524,288
        Largest number of rows of a batch.
    workers : int, default 1
        More than one lets pyarrow decode on all processors.

    Yields
    ------
    pyarrow.RecordBatch

    Raises
    ------
    ColumnError
        A file lacks a column.
    TableError
        A file cannot be read as Parquet.
    OptionError
        There is no file, or `batch_rows` is no positive whole number.

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
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    if not paths:
        raise OptionError("there is no file to read")
    return _read(list(map(Path, paths)), list(columns), size, n_workers > 1)


def _read(paths: list[Path], columns: list[str], batch_rows: int, use_threads: bool) -> Iterator[Any]:
    pa = arrow()
    from pyarrow import parquet

    for path in paths:
        try:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                if lacking := [name for name in columns if name not in file.schema_arrow.names]:
                    listed = ", ".join(map(repr, file.schema_arrow.names))
                    raise ColumnError(f"{path} has no column {', '.join(map(repr, lacking))}; it has {listed}")
                yield from file.iter_batches(batch_rows, columns=columns, use_threads=use_threads)
        except (pa.ArrowInvalid, OSError) as error:
            raise TableError(f"{path} cannot be read as Parquet: {error}") from error


def whole_queries(batches: Iterable[Any], query: str, names: tuple[str, ...]) -> Iterator[Any]:
    """Tables of whole queries, with about `LEAST_ROWS` rows or more, from batches that may cut a query anywhere.

    Raises
    ------
    ColumnError
        Ids that cannot be used, or whose type differs from that of the batch before.
    SplitQueryError
        The rows of a query are not together. This is raised at the end of the stream: memory holds the id of each run
        of rows with the same query.
    """
    waiting: list[Any] = []
    run_ids: list[Any] = []
    n_rows, least = 0, LEAST_ROWS
    for batch in batches:
        table = as_table(batch, names)
        if table.num_rows == 0:
            continue
        waiting.append(table.set_column(names.index(query), query, ids_of(table.column(query), "query")))
        n_rows += table.num_rows
        if n_rows < least:
            continue
        rows = _concatenate(waiting)
        ids = rows.column(query)
        others = np.flatnonzero(arrow().compute.not_equal(ids, ids[-1]).to_numpy())
        start = int(others[-1]) + 1 if others.size else 0  # of the last query
        if start:
            complete = rows.slice(0, start)
            run_ids.append(_run_ids(complete.column(query)))
            yield complete
        waiting, n_rows = [rows.slice(start)], rows.num_rows - start
        least = max(LEAST_ROWS, 2 * n_rows)  # doubled, so that one endless query is not searched at each batch
    if waiting:
        complete = _concatenate(waiting)
        run_ids.append(_run_ids(complete.column(query)))
        _check_runs(run_ids)
        yield complete


def _run_ids(ids: Any) -> Any:
    """Ids of consecutive rows, one for each run of equal ones."""
    return arrow().compute.run_end_encode(ids.combine_chunks()).values


def _check_runs(run_ids: list[Any]) -> None:
    """Refuse a query that has two runs of rows; the message names the first that begins again."""
    pa = arrow()
    ids = pa.concat_arrays(run_ids)
    if again := repeated_ids(ids):
        repeats = ids.filter(pa.compute.is_in(ids, value_set=pa.array(again, ids.type))).to_pylist()
        raise SplitQueryError(
            f"the rows of a query must follow each other in a stream; those of {shown(repeated(repeats)[0])} are "
            "interrupted by other queries: sort the rows by query"
        )


def _concatenate(tables: list[Any]) -> Any:
    pa = arrow()
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ColumnError(f"batches have columns of different types: {error}") from error
