"""Columns of Parquet and Arrow files, read one by one, and columns as codes, without an object for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankcorr._input.frames import arrow
from rankcorr._io.source import Source

ARROW_FILES: Final = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")  # Parquet, a file and a stream of Arrow


class CodedColumn(Sequence[Any]):
    """A column as its distinct values and the code of each row.

    Attributes
    ----------
    values : list
        Distinct values, in the order of their first rows.
    codes : ndarray of int32, shape (n_rows,)
        Index into `values`.
    first_rows : ndarray of int64, shape (n_values,)
        First row of each value.

    Examples
    --------
    >>> column = CodedColumn(["b", "a"], np.array([0, 1, 0], np.int32), np.array([0, 1]))
    >>> list(column), column[1], column.index("a"), list(column.map(str.upper))
    (['b', 'a', 'b'], 'a', 1, ['B', 'A', 'B'])
    """

    def __init__(self, values: list[Any], codes: NDArray[np.int32], first_rows: NDArray[np.int64]) -> None:
        self.values = values
        self.codes = codes
        self.first_rows = first_rows

    def __len__(self) -> int:
        return self.codes.size

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.codes.tolist())

    def __getitem__(self, row: Any) -> Any:
        return self.values[self.codes[row]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy  # the array is always new
        return np.array(self.values, dtype)[self.codes]

    def index(self, value: Any, *_: int) -> int:
        """First row of a value."""
        return int(self.first_rows[self.values.index(value)])

    def map(self, function: Callable[[Any], Any]) -> CodedColumn:
        """Return the column with a function of each value."""
        return CodedColumn(list(map(function, self.values)), self.codes, self.first_rows)


def distinct(column: Iterable[Any]) -> list[Any]:
    """Return the distinct values of a column, in the order of their first rows."""
    return column.values if isinstance(column, CodedColumn) else list(dict.fromkeys(column))


def coded_column(column: Any) -> CodedColumn:
    """Return a column of Arrow as codes; null is a value, None.

    Raises
    ------
    NotImplementedError
        A column of lists or structures; the error is Arrow's.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column = coded_column(pa.chunked_array([["b", None], ["a", "b"]]))
    >>> column.values, column.codes
    (['b', None, 'a'], array([0, 1, 2, 0], dtype=int32))
    """
    pa = arrow()
    is_foreign = pa.types.is_dictionary(column.type)
    encoded = (column if is_foreign else column.dictionary_encode()).unify_dictionaries()
    values = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
    if is_foreign and (None in values or len(set(values)) < len(values)):
        return coded_column(column.cast(column.type.value_type))
    parts = [chunk.indices.cast(pa.int32()).fill_null(len(values)).to_numpy() for chunk in encoded.chunks]
    codes = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int32), *parts])
    return column_of_codes([*values, None], codes)


def column_of_codes(values: list[Any], codes: NDArray[np.int32]) -> CodedColumn:
    """Return a column whose values may be in any order, as in a dictionary of Arrow, and some of them unused."""
    first = np.full(len(values), codes.size, np.int64)
    np.minimum.at(first, codes, np.arange(codes.size))
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < codes.size)]
    if (np.diff(order, prepend=-1) == 1).all():
        return CodedColumn(values[: order.size], codes, first[order])
    place = np.empty(len(values), np.int32)
    place[order] = np.arange(order.size)
    return CodedColumn([values[code] for code in order.tolist()], place[codes], first[order])


class ArrowFile:
    """A Parquet file, or a file or stream of Arrow; only the columns in use are decoded.

    Parameters
    ----------
    source : Source
        Its errors name the file.
    data : bytes

    Attributes
    ----------
    names : list of str
    n_rows : int

    Raises
    ------
    MissingArrowError
        pyarrow is not installed.
    """

    def __init__(self, source: Source, data: bytes) -> None:
        pa = arrow()
        from pyarrow import ipc, parquet

        self._source = source
        buffer = pa.BufferReader(data)
        try:
            if data.startswith(b"PAR1"):
                file = parquet.ParquetFile(buffer)
                self.names, self.n_rows = file.schema_arrow.names, file.metadata.num_rows
                self._read = file.read
            else:
                table = (ipc.open_file(buffer) if data.startswith(b"ARROW1") else ipc.open_stream(buffer)).read_all()
                self.names, self.n_rows = table.column_names, table.num_rows
                self._read = lambda names: table.select(  # by position: two columns may have one name
                    [place for place, name in enumerate(table.column_names) if name in names]
                )
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._refuse(error)

    def read(self, names: Sequence[str]) -> Any:
        """Return columns as a table of Arrow.

        Raises
        ------
        Exception
            The error of the source: the file is damaged.
        """
        pa = arrow()
        try:
            table = self._read(list(names))
            table.validate(full=True)  # wrong offsets in a damaged file would end the process
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._refuse(error)
        return table

    def column(self, name: str) -> Sequence[Any]:
        """Return a column as codes, or as a list of Python values if it holds lists or structures."""
        column = self.read([name]).column(0)
        try:
            return coded_column(column)
        except NotImplementedError:  # as Arrow's own error is, too
            values: list[Any] = column.to_pylist()
            return values

    def _refuse(self, error: Exception) -> NoReturn:
        self._source.fail(f"cannot be read as Parquet or Arrow: {error}")
