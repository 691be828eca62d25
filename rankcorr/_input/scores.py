"""Raw scores or ranks become checked numbers, and these mid-ranks; a `Ranking` holds the result.

Whole numbers that float64 cannot hold stay as they are, and differences that are rounding alone are none.
"""

import numbers
import sys
from collections.abc import Hashable, Iterator, Mapping, MappingView, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import N_SHOWN, shown
from rankcorr._input.frames import series_of
from rankcorr._workers import loops
from rankcorr.errors import DimensionError, MissingValueError, NonNumericError, TooFewItemsError

LARGEST_EXACT: Final = 2**53  # float64 holds every whole number up to here; 2^53 + 1 becomes 2^53
# The precision that coefficients promise. Values at most this far apart are equal: in short lists a coefficient takes
# few values, which rounding must not split.
ROUNDING: Final = 1e-12
DECIMALS: Final = 12  # of values that are put in order


def exact_array(values: ArrayLike) -> NDArray[Any]:
    """Return an array that holds the numbers as they were: as objects where numpy would round integers to floats.

    Raises
    ------
    ValueError
        Rows of different lengths; the error is numpy's.

    Examples
    --------
    >>> exact_array([2**53 + 1, 0.5])
    array([9007199254740993, 0.5], dtype=object)
    """
    array = np.asarray(values)
    if not isinstance(values, np.ndarray) and (array.dtype.kind in "US" or _may_be_rounded(array)):
        return np.array(values, dtype=object)
    return array


def _may_be_rounded(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and bool((np.abs(array[np.isfinite(array)]) >= LARGEST_EXACT).any())


def numbers_beyond_floats(array: NDArray[Any]) -> list[Any]:
    """Numbers in an `exact_array` beyond 2^53 in size that float64 may tie with their neighbours; never a float64.

    Examples
    --------
    >>> numbers_beyond_floats(np.array([2**53 + 1, 2**53, 1e300, Decimal("NaN")], object))
    [9007199254740993]
    """
    if array.dtype.kind in "iu" and array.size:
        outside = int(array.max()) > LARGEST_EXACT or int(array.min()) < -LARGEST_EXACT
        return [value for value in array.flat if abs(int(value)) > LARGEST_EXACT] if outside else []
    may_be_wide = array.dtype.kind == "O" or (array.dtype.kind == "f" and array.dtype.itemsize > 8)
    return [value for value in array.flat if _is_beyond_floats(value)] if may_be_wide else []


def _is_beyond_floats(value: Any) -> bool:
    if isinstance(value, np.longdouble):
        return bool(np.isfinite(value) and abs(value) > LARGEST_EXACT and float(value) != value)
    if isinstance(value, float | np.floating) or (isinstance(value, Decimal) and not value.is_finite()):
        return False
    return bool(abs(value) > LARGEST_EXACT)


def as_floats(array: NDArray[Any]) -> NDArray[np.float64]:
    """Copy an `exact_array` of real numbers, none of them beyond floats, into a float64 array.

    Examples
    --------
    >>> as_floats(np.array([Fraction(1, 4), Decimal("sNaN")], object))
    array([0.25,  nan])
    """
    if array.dtype.kind != "O":
        return array.astype(np.float64)
    numbers = [np.nan if is_nan(value) else float(value) for value in array.flat]  # float() refuses a signaling nan
    return np.array(numbers, np.float64).reshape(array.shape)


def is_nan(value: Any) -> bool:
    """Whether a number of any type is nan, also one of Decimal that signals."""
    # nan differs from itself, for every numeric type; Decimal's signaling nan cannot even be compared.
    return value.is_nan() if isinstance(value, Decimal) else bool(value != value)  # noqa: PLR0124


def order_codes(array: NDArray[Any], noun: str = "number") -> NDArray[np.int64]:
    """Whole numbers from 0 in the order of real numbers, without nan; equal codes for equal numbers.

    Raises
    ------
    NonNumericError
        Two numbers of unknown types cannot be compared; the message says `noun` they are.

    Examples
    --------
    >>> order_codes(np.array([2**53 + 1, 2.0**53, Decimal(1), np.longdouble(2), Fraction(2)], object))
    array([3, 2, 0, 1, 1])
    """
    if array.dtype.kind == "O":
        comparable = np.empty(array.size, object)
        comparable[:] = [_python_number(value) for value in array.flat]
        array = comparable.reshape(array.shape)
    try:
        codes = np.unique(array, return_inverse=True)[1]
    except TypeError as error:
        raise NonNumericError(f"every {noun} must be a real number that compares with the others: {error}") from error
    return codes.reshape(array.shape).astype(np.int64, copy=False)


def _python_number(value: Any) -> Any:
    """Return a number as one of Python's types, which compare exactly; numpy's round integers to floats."""
    if type(value) in (int, float, Fraction, Decimal):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, np.floating):
        wide = value.itemsize > 8 and np.isfinite(value)
        return Fraction(*value.as_integer_ratio()) if wide else float(value)
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else value


ScoresLike: TypeAlias = Mapping[Any, Any] | ArrayLike
Ranks: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.int32]


def split_labels(numbers_: ScoresLike, noun: str) -> tuple[list[Hashable] | None, ArrayLike]:
    """Split a mapping or a pandas Series into labels and numbers; an array or another series has None as labels."""
    if isinstance(numbers_, Mapping):
        return list(numbers_), list(numbers_.values())
    return series_of(numbers_, noun) or (None, numbers_)


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
    try:
        array = exact_array(values)
    except ValueError as error:  # rows of different lengths
        raise DimensionError(f"{noun}s must form an array; their rows differ in length") from error
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
    real = np.array([isinstance(value, numbers.Real | Decimal) for value in array.flat], dtype=bool)
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


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view: arrays of one kind, so that a kernel is compiled for one type."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view


def midranks(values: NDArray[Any], *, descending: bool) -> tuple[Ranks, Positions, int]:
    """Mid-ranks of checked numbers, their positions from best to worst, and how many are tied."""
    values = read_only(values)
    ranks, best_first = np.empty(values.size), np.empty(values.size, np.int32)
    n_ties = loops().midranks(values, values.argsort(), descending, ranks, best_first)
    return ranks, best_first, n_ties


def midrank_rows(values: NDArray[Any], *, descending: bool) -> tuple[Ranks, Positions, NDArray[np.int64]]:
    """`midranks` of each row of a matrix."""
    values = read_only(values)
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
