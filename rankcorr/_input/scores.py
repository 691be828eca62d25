"""Raw scores or ranks become checked numbers, and these mid-ranks; a `Ranking` holds the result."""

import sys
from collections.abc import Hashable, Iterator, Mapping, MappingView, Sequence, Set
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import N_SHOWN, shown
from rankcorr._input.frames import series_of
from rankcorr._input.identifiers import plain_times
from rankcorr._input.numbers import exact_array, is_nan, is_real, order_codes
from rankcorr._workers import loops
from rankcorr.errors import DimensionError, MissingValueError, NonNumericError, TooFewItemsError

ScoresLike: TypeAlias = Mapping[Any, Any] | ArrayLike
Ranks: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.int32]


def split_labels(numbers_: ScoresLike, noun: str) -> tuple[list[Hashable] | None, ArrayLike]:
    """Split a mapping or a pandas Series into labels and numbers; an array or another series has None as labels.

    An array of xarray with coordinates is read as a pandas Series.
    """
    if isinstance(numbers_, Mapping):
        return plain_times(numbers_), list(numbers_.values())
    xarray = sys.modules.get("xarray")
    values: Any = numbers_
    if xarray is not None and isinstance(values, xarray.DataArray) and values.indexes and values.ndim == 1:
        values = values.to_series()
    return series_of(values, noun) or (None, values)


def checked_numbers(
    values: ArrayLike, *, noun: str, n_dimensions: int, labels: Sequence[Hashable] | None = None, least: int = 2
) -> NDArray[Any]:
    """Check real numbers of at least `least` items, and return them exactly, in float64 or int64 if these hold them."""
    if is_masked(values):
        masked = np.argwhere(np.ma.getmaskarray(values))
        raise MissingValueError(f"{_need(noun)}; null or masked: {_places(noun, masked, labels)}")
    if isinstance(values, bytearray | Set | Iterator | MappingView):
        form = "" if isinstance(values, bytearray) else ": write list(...)"
        instead = ", which has no order" if isinstance(values, set | frozenset) else form
        raise DimensionError(f"{noun}s must be a list or an array; got {shown(values)}{instead}")
    array = exact_array(values, noun)
    if array.ndim != n_dimensions:
        dimensions = "one dimension" if n_dimensions == 1 else f"{n_dimensions} dimensions"
        got = shown(values) if array.ndim == 0 else f"an array of shape {array.shape}"
        raise DimensionError(f"{noun}s must have {dimensions}; got {got}")
    check_count(array.shape[-1], least)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O":
        _check_objects(array, noun, labels)
    elif kind not in "biuf":
        raise NonNumericError(f"every {noun} must be a real number; got an array of {array.dtype}")
    elif kind == "f":
        array = array.astype(np.float64, copy=False) if size <= 8 else array
        if np.count_nonzero(np.isnan(array)):
            places = _places(noun, np.argwhere(np.isnan(array)), labels)
            raise MissingValueError(f"{_need(noun)}; nan: {places}")
    elif kind != "u" or size < 8:
        array = array.astype(np.int64, copy=False)
    return array


def _need(noun: str) -> str:
    return f"every item needs {'an' if noun[0] in 'aeiou' else 'a'} {noun} (leave out items without one)"


def _check_objects(array: NDArray[Any], noun: str, labels: Sequence[Hashable] | None) -> None:
    real = np.array([is_real(value) for value in array.flat], dtype=bool)
    if not real.all():
        wrong = np.argwhere(~real.reshape(array.shape))
        example = array[tuple(wrong[0])]
        raise NonNumericError(
            f"every {noun} must be a real number; got {shown(example)} at {_places(noun, wrong, labels)}"
        )
    nan = np.array([is_nan(value) for value in array.flat], dtype=bool)
    if nan.any():
        places = _places(noun, np.argwhere(nan.reshape(array.shape)), labels)
        raise MissingValueError(f"{_need(noun)}; nan: {places}")


def sortable(checked: NDArray[Any], noun: str) -> NDArray[Any]:
    """Return checked numbers as float64 or int64, without making or breaking a tie.

    uint64, long double and Python's own numbers do not all fit: their places in sorted order do.
    """
    return checked if checked.dtype in (np.float64, np.int64) else order_codes(checked, noun)


def is_masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Whether a numpy array has masked entries."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray) and bool(np.ma.is_masked(values))


def kernel_array(values: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view: arrays of one kind, so that a kernel is compiled for one type."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view


def midranks(values: NDArray[Any], *, descending: bool) -> tuple[Ranks, Positions, int]:
    """Mid-ranks of checked numbers, their positions from best to worst, and how many are tied."""
    values = kernel_array(values)
    ranks, best_first = np.empty(values.size), np.empty(values.size, np.int32)
    n_ties = loops().midranks(values, values.argsort(), descending, ranks, best_first)
    return ranks, best_first, n_ties


def midrank_rows(values: NDArray[Any], *, descending: bool) -> tuple[Ranks, Positions, NDArray[np.int64]]:
    """`midranks` of each row of a matrix."""
    values = kernel_array(values)
    ranks, best_first = np.empty(values.shape), np.empty(values.shape, np.int32)
    ties = np.empty(len(values), np.int64)
    loops().midrank_rows(values, values.argsort(axis=1), descending, ranks, best_first, ties)
    ranks.setflags(write=False)
    best_first.setflags(write=False)
    return ranks, best_first, ties


def check_count(n_items: int, least: int = 2) -> None:
    """Refuse fewer items than a ranking (one) or a comparison of rankings (two) needs."""
    if n_items < least:
        number = "one item" if least == 1 else "two items"
        raise TooFewItemsError(f"a ranking needs at least {number}; got {n_items}")


def _places(noun: str, indices: NDArray[np.intp], labels: Sequence[Hashable] | None) -> str:
    """Name up to five positions in an array, by label if there are labels."""
    names = [
        f"{noun} of {shown(labels[index[0]])}" if labels else f"{noun}s[{', '.join(map(str, index))}]"
        for index in indices[:N_SHOWN].tolist()
    ]
    more = f", ... ({len(indices)} in all)" if len(indices) > N_SHOWN else ""
    return ", ".join(names) + more
