"""Queries resampled by weights that depend only on the seed and the id, so that partitions can work independently.

In each resample, each query counts a Poisson number of times, with mean 1. This replaces the multinomial numbers that
result from drawing as many queries as there are (Chamandy et al. 2012, Estimating uncertainty for massive data
streams).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr._frames import arrow
from rankcorr._scores import read_only
from rankcorr._workers import in_threads
from rankcorr.inference._resampling import Values, derived_seed

Keys = NDArray[np.uint64]
Whole = Any  # a whole number, or an array of them

# The step of SplitMix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
STEP: Final = 0x9E3779B97F4A7C15
WORD: Final = (1 << 64) - 1
# A value is a whole number of steps of 2^-50, kept as parts of 25 bits, and so is its square. Sums of parts over a
# block stay far below 2^53, where floats are exact, and sums over blocks far below 2^63.
VALUE_BITS, PART_BITS = 50, 25
MASK: Final = (1 << PART_BITS) - 1
N_PARTS: Final = 7
BLOCK_QUERIES: Final = 1 << 14


def query_keys(queries: Any, seed: int) -> Keys:
    """Numbers of 64 bits that represent ids, the same on every machine.

    Parameters
    ----------
    queries : pyarrow.Array of string or int64
    seed : int
    """
    from rankcorr.evaluation._kernels import scrambled

    start = np.uint64(derived_seed(seed) & WORD)
    if arrow().types.is_integer(queries.type):
        return np.asarray(scrambled(queries.to_numpy().view(np.uint64) ^ start))
    n_bytes, starts, words = _words(queries)
    keys = np.asarray(scrambled(n_bytes.astype(np.uint64) ^ start))
    for place in range(0, int(n_bytes.max(initial=0)), 8):
        rows = np.flatnonzero(n_bytes > place)
        found = np.ascontiguousarray(words[starts[rows] + place]).view("<u8").ravel()
        n_beyond = np.maximum(0, place + 8 - n_bytes[rows]).astype(np.uint64)
        found = found & (np.uint64(WORD) >> (np.uint64(8) * n_beyond))
        keys[rows] = scrambled(keys[rows] ^ found)
    return keys


def repeated_ids(ids: Any) -> list[Any]:
    """Ids that appear more than once; sorting the numbers of ids takes a tenth of the memory of counting ids."""
    pa = arrow()
    keys = query_keys(ids, 0)
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if again.size == 0:
        return []
    counts = pa.compute.value_counts(ids.filter(pa.array(np.isin(keys, again, kind="sort"))))  # two may share a number
    found: list[Any] = counts.filter(pa.compute.greater(counts.field("counts"), 1)).field("values").to_pylist()
    return found


def thresholds() -> NDArray[np.int32]:
    """Numbers that a random whole number of 32 bits reaches a Poisson number of: the distribution function, scaled."""
    chances = accumulate(math.exp(-1) / math.factorial(count) for count in range(13))
    scaled = [round(chance * 2**32) for chance in chances]
    return np.array([each - 2**31 for each in scaled if each < 2**32], np.int32)


def resampled(keys: Keys, columns: Values, n_resamples: int, workers: int = 1) -> NDArray[np.int64]:
    """Sums of parts over resampled queries, exact, shape (n_columns, 7, n_resamples); see `parts_of` and `sums_of`.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_queries,)
    columns : ndarray of float64, shape (n_queries, n_columns)
        Between -2 and 2, or nan.
    """
    from rankcorr.evaluation._kernels import add_resamples

    n_steps = (n_resamples + 1) // 2
    steps = np.array([(number + 1) * STEP & WORD for number in range(n_steps)], np.uint64)
    limits = read_only(thresholds())
    n_columns = columns.shape[1]
    total = np.zeros((n_columns * N_PARTS, 2 * n_steps), np.int64)

    def run(start: int) -> NDArray[np.int64]:
        rows = slice(start, start + BLOCK_QUERIES)
        parts = np.hstack([parts_of(column) for column in columns[rows].T]).astype(np.float64)
        sums = np.zeros((parts.shape[1], 2 * n_steps))
        add_resamples(read_only(keys[rows]), read_only(steps), limits, read_only(parts), sums)
        return sums.astype(np.int64)

    # A few blocks at a time: each holds its sums.
    starts = list(range(0, keys.size, BLOCK_QUERIES))
    for first in range(0, len(starts), 4 * workers):
        for sums in in_threads(run, starts[first : first + 4 * workers], workers):
            total += sums
    return np.asarray(total.reshape(n_columns, N_PARTS, 2 * n_steps)[:, :, :n_resamples])


def parts_of(values: Values) -> NDArray[np.int64]:
    """Return whole numbers that represent values, shape (n_queries, 7), all 0 for nan.

    In this order: 1, the value in steps of 2^-50 (high part first), and the square of that number of steps (high part
    first).
    """
    known = ~np.isnan(values)
    steps = np.rint(np.where(known, values, 0.0) * 2.0**VALUE_BITS).astype(np.int64)
    high, low = steps >> PART_BITS, steps & MASK
    first = low * low
    second = (first >> PART_BITS) + 2 * high * low
    third = (second >> PART_BITS) + high * high
    return np.column_stack([known, high, low, third >> PART_BITS, third & MASK, second & MASK, first & MASK])


def sums_of(parts: NDArray[np.int64]) -> tuple[Whole, Whole, Whole]:
    """Number of queries, sum of values in steps of 2^-50 and of squares in steps of 2^-100, as Python's whole numbers.

    Parameters
    ----------
    parts : ndarray of int64, shape (7, ...)

    Examples
    --------
    >>> [int(each) for each in sums_of(parts_of(np.array([0.5, -1.0, math.nan])).sum(axis=0))]
    [2, -562949953421312, 1584563250285286751870879006720]
    """
    n, high, low, *squares = parts.astype(object)
    total: Any = 0
    for part in squares:
        total = (total << PART_BITS) + part
    return n, (high << PART_BITS) + low, total


def _words(queries: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Length and beginning of each text in bytes, and the 8 bytes from each byte on."""
    _, offsets, data = queries.buffers()
    limits = np.frombuffer(offsets, np.int32)[queries.offset : queries.offset + len(queries) + 1].astype(np.int64)
    n_bytes = int(limits[-1] - limits[0])
    held = np.zeros(n_bytes + 8, np.uint8)
    if n_bytes:
        held[:n_bytes] = np.frombuffer(data, np.uint8)[limits[0] : limits[-1]]
    words = np.lib.stride_tricks.sliding_window_view(held, 8)
    return np.diff(limits), limits[:-1] - limits[0], words


def exact_sum(numbers: Iterable[float]) -> tuple[float, ...]:
    """Sum as a few floats that hold it exactly: the nearest float, then that nearest to what is left, and so on.

    They depend only on the sum: sums of parts, added, give the same floats as the sum of the whole.

    Examples
    --------
    >>> exact_sum([1.0, 1e-30, 1.0])
    (2.0, 1e-30)
    >>> exact_sum([*exact_sum([1.0, 1e-30]), *exact_sum([1.0])])
    (2.0, 1e-30)
    """
    listed = list(numbers)
    parts: list[float] = []
    while rest := math.fsum(listed):
        parts.append(rest)
        listed.append(-rest)
    return tuple(parts)
