"""The loops over queries of resampling tests, compiled by numba."""

import numpy as np

from rankcorr.inference.exchange_kernels import shuffle
from rankcorr.kernels import Array, kernel


@kernel
def flipped_sums(rng: np.random.Generator, differences: Array, sums: Array) -> None:
    """Sum the differences with random signs: a row of `sums` for each resample, a column for each row of differences.

    All rows have the same signs. A random number has 53 bits, and gives as many signs.
    """
    n_pairs, n_queries = differences.shape
    signs = np.empty(n_queries)
    for resample in range(sums.shape[0]):
        bits = 0
        for query in range(n_queries):
            if query % 53 == 0:
                bits = int(rng.random() * 2.0**53)
            signs[query] = 1.0 if bits & 1 else -1.0
            bits >>= 1
        for pair in range(n_pairs):
            total = 0.0
            for query in range(n_queries):
                total += signs[query] * differences[pair, query]
            sums[resample, pair] = total


@kernel
def exchanged_sums(rng: np.random.Generator, values: Array, sums: Array) -> None:
    """Sum, over queries, the values of runs that exchange places at random within each query.

    `values` has a row for each query; `sums` gets a row for each resample and a column for each place.
    """
    n_queries, n_runs = values.shape
    places = np.empty(n_runs)
    for resample in range(sums.shape[0]):
        sums[resample] = 0.0
        for query in range(n_queries):
            for run in range(n_runs):
                places[run] = values[query, run]
            shuffle(rng, places, n_runs)
            for run in range(n_runs):
                sums[resample, run] += places[run]


@kernel
def drawn_counts(rng: np.random.Generator, counts: Array) -> None:
    """Draw as many queries with replacement as there are, and count how often each came; a row for each resample."""
    n_queries = counts.shape[1]
    counts[:] = 0.0
    for resample in range(counts.shape[0]):
        for _ in range(n_queries):
            counts[resample, int(rng.random() * n_queries)] += 1.0
