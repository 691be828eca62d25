"""Cosines rounded to 10 decimals, without error: equal cosines are equal numbers, and so tie.

The true cosine of the stored numbers is rounded, whatever their order or scale: floats decide where their error bound
allows it, and whole numbers decide near the boundary between two rounded values.
"""

from functools import lru_cache
from math import isqrt
from operator import mul
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

STEPS: Final = 10**10  # from 0 to 1; numbers stored as float32 leave a cosine uncertain by 20 steps
ROUNDING: Final = 2.0**-53  # largest relative error of one operation on floats
BLOCK_NUMBERS: Final = 1 << 17  # of vectors that are multiplied at once: 1 MB for each side stays in the cache
N_CACHED: Final = 1_000  # vectors as whole numbers: 12 kB each at 300 dimensions


def unit_vectors(vectors: NDArray[Any]) -> Values:
    """Vectors divided by their lengths, shape (n_words, dimension)."""
    values = np.asarray(vectors, np.float64)
    # By the largest value first, so that no square overflows or vanishes.
    values = values / np.abs(values).max(axis=1, keepdims=True)
    return np.asarray(values / np.sqrt((values * values).sum(axis=1, keepdims=True)))


def rounded_cosines(vectors: NDArray[Any], units: Values, first: Rows, second: Rows) -> Values:
    """Cosine of each pair of rows, to the nearest multiple of 1e-10, shape (n_pairs,).

    Parameters
    ----------
    vectors : ndarray of shape (n_words, dimension)
    units : ndarray of shape (n_words, dimension)
        `unit_vectors` of these.
    first, second : ndarray of int, shape (n_pairs,)
    """
    dimension = units.shape[1]
    cosines = np.empty(first.size)
    size = max(1, BLOCK_NUMBERS // dimension)
    for start in range(0, first.size, size):
        part = slice(start, start + size)
        # Not by BLAS, whose last digits depend on the number of threads.
        cosines[part] = np.einsum("ij,ij->i", units[first[part]], units[second[part]])
    steps = cosines * STEPS
    nearest = np.rint(steps)
    # A bound for any order of summation: dimension / 2 for each length, dimension for the dot product, and the rest
    # for single operations (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
    error = (2 * dimension + 16) * ROUNDING * STEPS
    near_boundary = np.flatnonzero(np.abs(steps - nearest) >= 0.5 - error)
    whole_numbers = lru_cache(N_CACHED)(lambda row: _whole_numbers(vectors[row]))
    for pair in near_boundary.tolist():
        nearest[pair] = _rounded_steps(*whole_numbers(int(first[pair])), *whole_numbers(int(second[pair])))
    return nearest / STEPS + 0.0  # no negative zero


def _whole_numbers(vector: NDArray[Any]) -> tuple[list[int], int]:
    """Whole numbers in the proportions of a vector, and the sum of their squares."""
    mantissas, exponents = np.frexp(np.asarray(vector, np.float64))
    shifts = exponents - exponents[mantissas != 0].min()
    integers = (mantissas * 2.0**53).astype(np.int64).tolist()
    numbers = [number << shift if number else 0 for number, shift in zip(integers, shifts.tolist(), strict=True)]
    return numbers, sum(map(mul, numbers, numbers))


def _rounded_steps(first: list[int], first_square: int, second: list[int], second_square: int) -> int:
    """Return a cosine in steps, rounded to the nearest one; halves are rounded away from 0."""
    dot = sum(map(mul, first, second))
    half_steps = isqrt((2 * STEPS * dot) ** 2 // (first_square * second_square))
    steps = (half_steps + 1) // 2
    return steps if dot > 0 else -steps
