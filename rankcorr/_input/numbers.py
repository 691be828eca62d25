"""Numbers of every kind: which whole numbers a float64 cannot hold, and which differences are rounding alone."""

from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.errors import DimensionError, NonNumericError

LARGEST_EXACT: Final = 2**53  # float64 holds every whole number up to here; 2^53 + 1 becomes 2^53
# The precision that coefficients promise. Values at most this far apart are equal: in short lists a coefficient takes
# few values, which rounding must not split.
ROUNDING: Final = 1e-12
_USER_DEFINED: Final = 2  # `isbuiltin` of a type that another package added to numpy
DECIMALS: Final = 12  # of values that are put in order


def exact_array(values: ArrayLike, noun: str = "number") -> NDArray[Any]:
    """Return an array that holds the numbers as they were: as objects where numpy would round integers to floats.

    Raises
    ------
    DimensionError
        Rows of different lengths.
    NonNumericError
        Dates or durations, which numpy would convert to whole numbers, or a tensor that numpy cannot hold.

    Examples
    --------
    >>> exact_array([2**53 + 1, 0.5])
    array([9007199254740993, 0.5], dtype=object)
    """
    try:
        values = detach_tensor(values)
        array = np.asarray(values)
    except ValueError as error:
        raise DimensionError(f"{noun}s must form an array; their rows differ in length") from error
    except (TypeError, RuntimeError) as error:  # of torch and jax
        raise NonNumericError(f"{noun}s cannot be read as an array: {str(error).splitlines()[0]}") from error
    if array.dtype.kind in "mM":
        raise NonNumericError(f"every {noun} must be a real number; got an array of {array.dtype}")
    is_rounded = (
        array.dtype.kind == "f"
        and (
            np.abs(array[np.isfinite(array)]) >= np.float64(LARGEST_EXACT)  # beyond the range of float16
        ).any()
    )
    if not isinstance(values, np.ndarray) and (array.dtype.kind in "US" or is_rounded):
        return np.array(values, dtype=object)
    return array


def is_real(value: object) -> bool:
    """Whether a value has a type of real numbers, nan included; a duration, which numpy calls an integer, has not.

    Examples
    --------
    >>> is_real(Decimal("NaN")), is_real(np.int8(1)), is_real(np.timedelta64(1, "s")), is_real("1")
    (True, True, False, False)
    """
    return isinstance(value, (Real, Decimal)) and not isinstance(value, np.timedelta64)


def detach_tensor(values: Any) -> Any:
    """Return a tensor of torch as an array of numpy, off its device, and bfloat16 as float64; others unchanged."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.isbuiltin == _USER_DEFINED and np.can_cast(kind, np.float64):
        return np.asarray(values).astype(np.float64)  # a type of ml_dtypes, as jax has
    if not hasattr(values, "detach"):
        return values
    tensor = values.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()  # numpy has no bfloat16


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
