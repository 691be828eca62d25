"""The loops over the rows of a partition and over resamples of its queries, compiled by numba.

Random numbers are whole numbers of 64 bits, made of the id of a query and the seed alone: array expressions, which wrap
around without a warning as plain Python too.
"""

import numpy as np

from rankcorr.evaluation.grouped_kernels import MOST_PAIRED
from rankcorr.kernels import Array, kernel

FIRST_SHIFT, SECOND_SHIFT, THIRD_SHIFT, HALF = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LOW_HALF, MIDDLE = np.uint64(0xFFFFFFFF), 1 << 31


@kernel
def canonical_order(x: Array, y: Array, offsets: Array, order: Array) -> None:
    """Set the rows of each group in an order that depends on their values alone, up to rows that are equal in both.

    Sums then have the same last bit whichever way an engine shuffled the rows of a query. Comparing all pairs runs on
    vectors: 2 us for 100 rows, a third of what sorting takes.
    """
    for group in range(offsets.size - 1):
        start, stop = offsets[group], offsets[group + 1]
        n = stop - start
        u, v = x[start:stop], y[start:stop]
        if n > MOST_PAIRED:
            by_x = np.argsort(u, kind="mergesort")
            order[start:stop] = start + by_x[np.argsort(v[by_x], kind="mergesort")]
            continue
        for item in range(n):
            own = v[item]
            place, equal = 0, 0
            for other in range(n):
                place += v[other] < own
                equal += v[other] == own
            if equal > 1:
                for other in range(n):
                    is_before = (u[other] < u[item]) | ((u[other] == u[item]) & (other < item))
                    place += (v[other] == own) & is_before
            order[start + place] = start + item


@kernel
def scrambled(numbers: Array) -> Array:
    """Mix the bits of each number, one to one: the finalizer of SplitMix64."""
    mixed: Array = (numbers ^ (numbers >> FIRST_SHIFT)) * FIRST_FACTOR
    mixed = (mixed ^ (mixed >> SECOND_SHIFT)) * SECOND_FACTOR
    mixed ^= mixed >> THIRD_SHIFT
    return mixed


@kernel
def add_resamples(keys: Array, steps: Array, thresholds: Array, parts: Array, sums: Array) -> None:
    """Add the parts of each query to each resample, as often as the query is drawn for it: a Poisson number.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_queries,)
        A number that stands for the id of the query and the seed.
    steps : ndarray of uint64, shape (n_resamples // 2,)
        Multiples of the step of SplitMix64; each number that it gives decides two resamples, by its halves.
    thresholds : ndarray of int32
        A query is drawn as often as there are thresholds up to its 32 bits, less 2^31.
    parts : ndarray of float64, shape (n_queries, n_parts)
        Whole numbers, so small that no sum reaches 2^53: all sums are exact.
    sums : ndarray of float64, shape (n_parts, n_resamples)
    """
    n_steps = steps.size
    uniforms, counts = np.empty(2 * n_steps, np.int32), np.empty(2 * n_steps, np.int32)
    for query in range(keys.size):
        numbers = scrambled(keys[query] + steps)
        for step in range(n_steps):
            uniforms[step] = np.int32(np.int64(numbers[step] & LOW_HALF) - MIDDLE)
            uniforms[n_steps + step] = np.int32(np.int64(numbers[step] >> HALF) - MIDDLE)
        counts[:] = 0
        # Loops over resamples are innermost, since they run on vectors: 7 times as fast as array expressions.
        for threshold in thresholds:
            for resample in range(2 * n_steps):
                counts[resample] += uniforms[resample] >= threshold
        for part in range(parts.shape[1]):
            value = parts[query, part]
            if value != 0.0:
                for resample in range(2 * n_steps):
                    sums[part, resample] += counts[resample] * value
