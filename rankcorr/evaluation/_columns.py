"""Encode ids as codes, and check columns of numbers, for `Qrels` and `Run`."""

import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import N_SHOWN, counted, shown
from rankcorr._input.frames import PLAIN, arrow, series_of
from rankcorr._input.identifiers import check_identifiers, plain_identifier
from rankcorr._input.numbers import as_floats, exact_array, is_nan, is_real, numbers_beyond_floats
from rankcorr._input.scores import is_masked
from rankcorr._io.columnar import coded_column
from rankcorr.errors import ColumnError, MissingValueError, NonNumericError

Duplicates: TypeAlias = Literal["error", "first", "max"]
Codes: TypeAlias = NDArray[np.int64]

DUPLICATES: Final[tuple[Duplicates, ...]] = get_args(Duplicates)
_MOST_CHUNK_BYTES: Final = 1 << 31  # limit of the text in one chunk of Arrow
WHOLE_NUMBERS: Final = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")  # dtypes of narwhals


def rows_of(offsets: Codes, group: int) -> slice:
    """Return the rows of a group in columns that are sorted by group."""
    return slice(int(offsets[group]), int(offsets[group + 1]))


def places_in_groups(sizes: Codes) -> Codes:
    """Return the place of each row within its group, from 0, in columns that are sorted by group.

    Examples
    --------
    >>> places_in_groups(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.asarray(np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes))


class Ids(NamedTuple):
    """The code of each row, and the id of each code, in order of first appearance."""

    codes: Codes
    ids: tuple[Hashable, ...]


def encode_ids(column: Any, noun: str) -> Ids:
    """Give each id a code, in order of first appearance.

    Parameters
    ----------
    column : sequence or series of str or int
        A column of Arrow is encoded by Arrow, without a Python object for each row.
    noun : str
        What the ids are ids of, such as "query", for messages.

    Raises
    ------
    ColumnError
        An id is null, or neither text nor a whole number, or the column mixes text and numbers.

    Examples
    --------
    >>> codes, ids = encode_ids(["b", "b", "a"], "query")
    >>> codes.tolist(), ids
    ([0, 0, 1], ('b', 'a'))
    """
    arrow = _arrow(column)
    if arrow is not None:
        return _encode_arrow(arrow, noun)
    if not isinstance(column, PLAIN):
        import narwhals.stable.v2 as nw

        series = nw.from_native(column, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            plain = str(series.dtype) in WHOLE_NUMBERS and not series.is_null().any()
            column = series.to_numpy() if plain else series.to_list()
    if is_masked(column):
        n_masked = int(np.ma.getmaskarray(column).sum())
        raise ColumnError(f"each row needs a {noun} id; masked: {counted(n_masked, 'row')}")
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":  # whose nanoseconds would become numbers
        raise ColumnError(f"each {noun} id must be text or a whole number; got an array of {column.dtype}")
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.ndim == 1:
        ids, first, codes = np.unique(column, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        return Ids(place[codes], tuple(ids[order].tolist()))
    if isinstance(column, np.ndarray):
        column = column.tolist()
    if isinstance(column, str | bytes | set | frozenset) or not isinstance(column, Iterable):
        raise ColumnError(f"the column of {noun} ids must be a list or a series; got {shown(column)}")
    identifiers = list(column)
    places: dict[Hashable, int] = defaultdict(count().__next__)
    try:
        codes = np.fromiter(map(places.__getitem__, identifiers), np.int64, len(identifiers))
    except TypeError:
        raise ColumnError(f"each {noun} id must be text or a whole number; one cannot be hashed") from None
    kinds = set(map(type, identifiers))
    # 1, 1.0 and True are the same key of a dict, so all ids are checked if their types differ.
    check_identifiers(places if len(kinds) == 1 else identifiers, noun)
    return Ids(codes, tuple(places if kinds <= {str, int} else map(plain_identifier, places)))


def checked_values(column: Any, noun: str) -> NDArray[np.float64]:
    """Return a column of numbers as float64; infinite values are allowed. A column of Arrow is not copied.

    Raises
    ------
    ColumnError, DimensionError
        The column is not one-dimensional; `DimensionError` if its rows differ in length.
    NonNumericError
        A value is not a real number, or is an integer that a float cannot represent, so that different values could
        become ties.
    MissingValueError
        A value is null or nan; the message names rows, from 0.
    """
    arrow = _arrow(column)
    if arrow is not None and arrow.null_count == 0 and str(arrow.type) == "double":
        values: NDArray[np.float64] = arrow.chunk(0).to_numpy() if arrow.num_chunks == 1 else arrow.to_numpy()
    else:
        series = None if isinstance(column, PLAIN) else series_of(column, noun)
        entries = column if series is None else series.values
        if is_masked(entries):
            _refuse_rows(np.flatnonzero(np.ma.getmaskarray(entries)), noun, "null or masked")
        values = _numbers(entries, noun)
    if np.isnan(values).any():
        _refuse_rows(np.flatnonzero(np.isnan(values)), noun, "nan")
    return values


def is_number(value: object) -> bool:
    """Return whether a value is a real number, and not nan.

    Examples
    --------
    >>> is_number(0.5), is_number(float("nan")), is_number("0.5")
    (True, False, False)
    """
    return is_real(value) and not is_nan(value)


def _numbers(entries: Any, noun: str) -> NDArray[np.float64]:
    """Return numbers as a new float64 array."""
    array = exact_array(entries, noun)
    if array.ndim != 1:
        raise ColumnError(f"the column of {noun}s must have one dimension; got {shown(entries)}")
    if array.dtype.kind not in "biuf":
        numbers = array.tolist()
        wrong = [row for row, number in enumerate(numbers) if not is_real(number)]
        if wrong:
            null = [row for row in wrong if numbers[row] is None]
            if null:
                _refuse_rows(np.array(null), noun, "null")
            raise NonNumericError(f"every {noun} must be a real number; row {wrong[0]} is {shown(numbers[wrong[0]])}")
    if numbers_beyond_floats(array):
        raise NonNumericError(
            f"a {noun} is a whole number beyond 2^53, which 64-bit floats cannot distinguish from its neighbours"
        )
    return as_floats(array)  # a copy, which the caller cannot change


def _refuse_rows(rows: NDArray[np.intp], noun: str, fault: str) -> None:
    listed = ", ".join(map(str, rows[:N_SHOWN].tolist()))
    more = f", ... ({counted(rows.size, 'row')} in all)" if rows.size > N_SHOWN else ""
    raise MissingValueError(f"every document needs a {noun}; {fault} in row {listed}{more}")


def _arrow(column: Any) -> Any:
    """Return a column of pyarrow as a chunked array; None for anything else."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None:
        return None
    if isinstance(column, pyarrow.Array):
        return pyarrow.chunked_array([column])
    return column if isinstance(column, pyarrow.ChunkedArray) else None


def _encode_arrow(column: Any, noun: str) -> Ids:
    if column.null_count:
        raise ColumnError(f"each row needs a {noun} id; without one: {counted(column.null_count, 'row')}")
    try:
        if (
            column.num_chunks > 1
            and column.nbytes < _MOST_CHUNK_BYTES
            and not str(column.type).startswith("dictionary")
        ):
            column = _arrow(column.combine_chunks())  # several chunks would hash the ids twice
        ids, codes = (coded := coded_column(column)).values, coded.codes
    except NotImplementedError as error:  # includes ArrowNotImplementedError
        raise ColumnError(f"{noun} ids must be text or whole numbers; got a column of type {column.type}") from error
    if None in ids:  # a value of a dictionary, which Arrow does not count as a null
        n_nulls = int(np.count_nonzero(codes == ids.index(None)))
        raise ColumnError(f"each row needs a {noun} id; without one: {counted(n_nulls, 'row')}")
    check_identifiers([*ids[:1], *([""] if "" in ids else [])], noun)  # a column has one type
    # Interned, because qrels and all runs have the same ids: this saves 36 MB for 630,000 documents.
    shared_ids = [sys.intern(name) if type(name) is str else name for name in ids]
    encoded = Ids(codes.astype(np.int64), tuple(shared_ids))
    arrow().default_memory_pool().release_unused()  # Arrow would keep the memory for its next column
    return encoded
