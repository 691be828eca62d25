"""Resample queries by weights that depend only on the seed and the id, so that partitions are independent.

The weight of a query in a resample is a Poisson number with mean 1. It replaces the multinomial numbers of an ordinary
bootstrap (Chamandy et al. 2012, Estimating uncertainty for massive data streams).
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr._input.frames import arrow
from rankcorr._input.scores import kernel_array
from rankcorr._workers import Values, derived_seed, in_threads

Keys = NDArray[np.uint64]

# The step of SplitMix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
STEP: Final = 0x9E3779B97F4A7C15
WORD: Final = (1 << 64) - 1
BLOCK_QUERIES: Final = 1 << 14


def query_keys(queries: Any, seed: int) -> Keys:
    """Return a 64-bit hash of each id, the same on every machine.

    Parameters
    ----------
    queries : pyarrow.Array of string or int64
    seed : int
    """
    from rankcorr.inference._resampling_kernels import scramble

    start = np.uint64(derived_seed(seed) & WORD)
    if arrow().types.is_integer(queries.type):
        return np.asarray(scramble(queries.to_numpy().view(np.uint64) ^ start))
    n_bytes, starts, words = _words(queries)
    keys = np.asarray(scramble(n_bytes.astype(np.uint64) ^ start))
    for place in range(0, int(n_bytes.max(initial=0)), 8):
        rows = np.flatnonzero(n_bytes > place)
        word = np.ascontiguousarray(words[starts[rows] + place]).view("<u8").ravel()
        n_beyond = np.maximum(0, place + 8 - n_bytes[rows]).astype(np.uint64)
        word = word & (np.uint64(WORD) >> (np.uint64(8) * n_beyond))
        keys[rows] = scramble(keys[rows] ^ word)
    return keys


def repeated_ids(ids: Any) -> list[Any]:
    """Return ids that appear more than once. Sorting hashes of ids takes a tenth of the memory of counting ids."""
    pa = arrow()
    keys = query_keys(ids, 0)
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if again.size == 0:
        return []
    counts = pa.compute.value_counts(ids.filter(pa.array(np.isin(keys, again, kind="sort"))))  # hashes may collide
    repeats: list[Any] = counts.filter(pa.compute.greater(counts.field("counts"), 1)).field("values").to_pylist()
    return repeats


def thresholds() -> NDArray[np.int32]:
    """Return the Poisson distribution function scaled to int32; a random int32 reaches a Poisson number of limits."""
    chances = accumulate(math.exp(-1) / math.factorial(count) for count in range(13))
    scaled = [round(chance * 2**32) for chance in chances]
    return np.array([limit - 2**31 for limit in scaled if limit < 2**32], np.int32)


class Moments(NamedTuple):
    """Number, sum and sum of squares of deviations from a center, which avoids cancellation.

    Attributes
    ----------
    center : float
        nan without values.
    sums : ndarray of float64, shape (3,)
        Number of queries with a value, sum of their deviations from the center, and sum of the squared deviations.
    resampled : ndarray of float64, shape (3, n_resamples)
        The same for each resample.
    """

    center: float
    sums: Values
    resampled: Values

    @property
    def n(self) -> int:
        """Number of queries with a value."""
        return int(self.sums[0])

    @property
    def mean(self) -> float:
        """Mean of the values; nan without values."""
        return self.center + float(self.sums[1]) / self.n if self.n else math.nan

    def about(self, center: float) -> Moments:
        """Return the moments about another center."""
        shift = self.center - center
        return Moments(center, _shift(self.sums, shift), _shift(self.resampled, shift))

    def add(self, other: Moments) -> Moments:
        """Return the moments of all values of both."""
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        other = other.about(self.center)
        return Moments(self.center, self.sums + other.sums, self.resampled + other.resampled)


def _shift(sums: Values, shift: float) -> Values:
    n, values, squares = sums
    return np.array([n, values + n * shift, squares + 2 * shift * values + n * shift**2])


def moments_of(keys: Keys, columns: Values, n_resamples: int, workers: int = 1) -> list[Moments]:
    """Return the moments of each column, over all queries and over each resample.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_queries,)
    columns : ndarray of float64, shape (n_queries, n_columns)
        nan if a query has no value.
    """
    from rankcorr.evaluation._query_kernels import add_resamples

    n_steps = (n_resamples + 1) // 2
    steps = np.array([(number + 1) * STEP & WORD for number in range(n_steps)], np.uint64)
    limits = kernel_array(thresholds())
    known = ~np.isnan(columns)
    # The center is the first value, so that all deviations are exactly 0 if all values are equal.
    centers = [column[mask][0] if mask.any() else math.nan for column, mask in zip(columns.T, known.T, strict=True)]
    deviations = np.where(known, columns - centers, 0.0)
    parts = np.concatenate([known, deviations, deviations**2], axis=1, dtype=np.float64)
    total = np.zeros((parts.shape[1], 2 * n_steps))

    def resample_block(start: int) -> Values:
        rows = slice(start, start + BLOCK_QUERIES)
        sums = np.zeros_like(total)
        add_resamples(kernel_array(keys[rows]), kernel_array(steps), limits, kernel_array(parts[rows]), sums)
        return sums

    # A few blocks at a time, because each has its own sums in memory.
    starts = list(range(0, keys.size, BLOCK_QUERIES))
    for first in range(0, len(starts), 4 * workers):
        for sums in in_threads(resample_block, starts[first : first + 4 * workers], workers):
            total += sums
    all_sums = parts.sum(axis=0).reshape(3, -1)
    resampled = total.reshape(3, len(centers), 2 * n_steps)[:, :, :n_resamples]
    return [Moments(center, all_sums[:, k], resampled[:, k]) for k, center in enumerate(centers)]


def _words(queries: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Return the length and start of each text in bytes, and the 8 bytes that start at each byte."""
    _, offsets, data = queries.buffers()
    limits = np.frombuffer(offsets, np.int32)[queries.offset : queries.offset + len(queries) + 1].astype(np.int64)
    n_bytes = int(limits[-1] - limits[0])
    padded = np.zeros(n_bytes + 8, np.uint8)
    if n_bytes:
        padded[:n_bytes] = np.frombuffer(data, np.uint8)[limits[0] : limits[-1]]
    words = np.lib.stride_tricks.sliding_window_view(padded, 8)
    return np.diff(limits), limits[:-1] - limits[0], words
