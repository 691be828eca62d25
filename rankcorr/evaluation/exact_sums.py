"""Sums of floats without rounding, in memory that does not grow: any order of the numbers gives the same digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_MANTISSA: Final = 53
_LOW: Final = 27  # bits of the lower part of a mantissa, so that a block of 2^26 numbers has sums that floats hold
_LEAST: Final = -1_074  # exponent of the smallest float
_N_EXPONENTS: Final = 2_200
_SPLIT: Final = 2.0**27 + 1


class ExactSums:
    """The sum and the sum of squares of numbers, as fractions.

    Each float is a whole number times a power of two. The numbers with one power are summed as integers, and a square
    is the float next to it and what that lacks, which is a float too (Dekker 1971). Exact for numbers between 1e-145
    and 1e145 in size, and 0.

    Examples
    --------
    >>> sums = ExactSums()
    >>> sums.add(np.array([0.1] * 10))
    >>> float(sums.sum()), sum([0.1] * 10), sums.n
    (1.0, 0.9999999999999999, 10)
    """

    def __init__(self) -> None:
        self.n = 0
        self._sums = np.zeros((2, _N_EXPONENTS), np.int64)
        self._squares = np.zeros((2, _N_EXPONENTS), np.int64)

    def add(self, values: Values) -> None:
        """Add finite numbers, fewer than 2^26 at once."""
        self.n += values.size
        _add(self._sums, values)
        squares = values * values
        scaled = values * _SPLIT
        high = scaled - (scaled - values)
        low = values - high
        lacking = ((high * high - squares) + 2 * high * low) + low * low
        _add(self._squares, squares)
        _add(self._squares, lacking)

    def sum(self) -> Fraction:
        """The sum."""
        return _total(self._sums)

    def spread(self) -> Fraction:
        """Sum of squared deviations from the mean; 0 for no number."""
        return _total(self._squares) - self.sum() ** 2 / self.n if self.n else Fraction(0)


def _add(sums: NDArray[np.int64], values: Values) -> None:
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, _MANTISSA).astype(np.int64)
    high = whole >> _LOW
    low = whole - (high << _LOW)
    place = exponent - _LEAST
    for row, part in enumerate((high, low)):
        found = np.bincount(place, weights=part.astype(np.float64), minlength=_N_EXPONENTS)
        sums[row] += found.astype(np.int64)


def _total(sums: NDArray[np.int64]) -> Fraction:
    total = 0
    for row, bits in ((0, _LOW), (1, 0)):
        for place in np.flatnonzero(sums[row]).tolist():
            total += int(sums[row, place]) << (place + bits)
    return Fraction(total) / Fraction(2) ** (_MANTISSA - _LEAST)
