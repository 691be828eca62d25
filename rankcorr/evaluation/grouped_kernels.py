"""The loops over groups of items, compiled by numba: one pass over flat columns, ranking included.

A group is a query with its documents. Columns hold the values of all groups, one group after the other; group g is
``values[offsets[g] : offsets[g + 1]]``. The callers have checked everything: there is no nan.
"""

import numpy as np

from rankcorr.inference.exchange_kernels import shuffle
from rankcorr.inference.kernels import RHO, TAU_B, quotient
from rankcorr.kernels import Array, item_weights, kernel, midranks, pair_sums, weighted_moments

# Up to this many items, comparing all pairs is faster than sorting: its inner loops run on vectors. At 250 items tau_w
# takes 38 us either way.
MOST_PAIRED = 250


@kernel
def counted_ranks(values: Array, ranks: Array) -> bool:
    """Set the mid-ranks of a few values, largest first, by comparing all pairs; return whether some are tied."""
    tied = False
    for item in range(values.size):
        value = values[item]
        above, equal = 0, 0
        for other in range(values.size):
            above += values[other] > value
            equal += values[other] == value
        ranks[item] = above + 0.5 * (equal + 1)
        tied |= equal > 1
    return tied


@kernel
def sorted_ranks(values: Array, ranks: Array, best_first: Array) -> int:
    """Set the mid-ranks of values, largest first, and their positions from best to worst; return how many are tied."""
    return int(midranks(values, np.argsort(values), True, ranks, best_first))


@kernel
def all_pairs(x: Array, y: Array, weights: Array, x_tied: bool, y_tied: bool, sums: Array) -> None:
    """Sum, over all pairs, w_i w_j times the product of the signs, of the pairs not tied in x, in y, and of all pairs.

    Each row of `sums` holds what the inner loop adds for each item: elements of a vector, and not one number, so that
    it needs no order of summation and runs on vectors.
    """
    sums[:, : x.size] = 0.0
    for item in range(1, x.size):
        x_rank, y_rank, weight = x[item], y[item], weights[item]
        for other in range(item):
            x_sign = (1.0 if x[other] > x_rank else 0.0) - (1.0 if x[other] < x_rank else 0.0)
            y_sign = (1.0 if y[other] > y_rank else 0.0) - (1.0 if y[other] < y_rank else 0.0)
            sums[0, other] += weight * (x_sign * y_sign)
        for other in range(item):
            sums[3, other] += weight
        if x_tied:
            for other in range(item):
                sums[1, other] += weight if x[other] != x_rank else 0.0
        if y_tied:
            for other in range(item):
                sums[2, other] += weight if y[other] != y_rank else 0.0


@kernel
def tau_of_few(x: Array, y: Array, weights: Array, x_tied: bool, y_tied: bool, kind: int, sums: Array) -> float:
    """Tau of a few items, from their mid-ranks."""
    heaviest = weights.max()
    if heaviest == 0.0:
        return np.nan
    weights /= heaviest  # so that no product is too small for a float
    all_pairs(x, y, weights, x_tied, y_tied, sums)
    top, x_norm, y_norm, norm = 0.0, 0.0, 0.0, 0.0
    for item in range(x.size):
        weight = weights[item]
        top += weight * sums[0, item]
        x_norm += weight * sums[1, item]
        y_norm += weight * sums[2, item]
        norm += weight * sums[3, item]
    x_norm = x_norm if x_tied else norm
    y_norm = y_norm if y_tied else norm
    if kind == TAU_B:
        return float(quotient(top, x_norm, y_norm))
    return float(quotient(top, norm, norm)) if x_norm > 0.0 and y_norm > 0.0 else np.nan


@kernel
def tau_of_many(
    x: Array, x_order: Array, y: Array, y_ties: int, table: Array, expected: bool, scheme: int, kind: int
) -> float:
    """Tau of many items, from their mid-ranks."""
    sums = np.empty((1, 6))
    ties = np.full(1, y_ties, np.int64)
    pair_sums(x, x_order, y.reshape(1, y.size), ties, table, expected, scheme, sums)
    concordant, discordant, x_norm, y_norm, norm, heaviest = sums[0]
    if heaviest == 0.0:
        return np.nan
    if kind == TAU_B:
        return float(quotient(concordant - discordant, x_norm, y_norm))
    return float(quotient(concordant - discordant, norm, norm)) if x_norm > 0.0 and y_norm > 0.0 else np.nan


@kernel
def ranked(values: Array, ranks: Array, order: Array) -> int:
    """Set the mid-ranks of a group, largest first, by the faster way for its size; return 0 if none are tied.

    `order` receives the positions from best to worst of a group of more than `MOST_PAIRED`.
    """
    if values.size <= MOST_PAIRED:
        return 1 if counted_ranks(values, ranks) else 0
    return int(sorted_ranks(values, ranks, order))


@kernel
def coefficient_of(
    x: Array,
    x_ties: int,
    x_order: Array,
    y: Array,
    y_ties: int,
    table: Array,
    expected: bool,
    scheme: int,
    kind: int,
    sums: Array,
    moments: Array,
) -> float:
    """Coefficient of two vectors of mid-ranks; nan where it is undefined.

    `sums` has at least `MOST_PAIRED` columns or one for each item, `moments` has the shape (1, 4).
    """
    if kind == RHO:
        weighted_moments(x, y.reshape(1, y.size), table, expected, scheme, moments)
        return float(quotient(moments[0, 0], moments[0, 1], moments[0, 2])) if moments[0, 3] > 0.0 else np.nan
    if x.size <= MOST_PAIRED:
        weights = item_weights(x, y, table, expected, scheme)
        return float(tau_of_few(x, y, weights, x_ties > 0, y_ties > 0, kind, sums))
    return float(tau_of_many(x, x_order, y, y_ties, table, expected, scheme, kind))


@kernel
def grouped_coefficients(
    x_values: Array,
    y_values: Array,
    offsets: Array,
    tables: Array,
    starts: Array,
    expected: bool,
    scheme: int,
    kind: int,
    values: Array,
) -> None:
    """Set the coefficient of each group; nan for one item, for a single tie, and where no item has weight.

    Parameters
    ----------
    x_values, y_values : ndarray of float64, shape (n_rows,)
        Scores, larger is better.
    offsets : ndarray of int64, shape (n_groups + 1,)
    tables : ndarray of float64
        Weights of the ranks 1, 1.5, 2, .. or, if `expected`, of 1, 2, ..
    starts : ndarray of int64
        Where in `tables` those of a group of each length begin.
    expected : bool
        Whether a tied item has the mean weight of the positions of its group.
    scheme, kind : int
    values : ndarray of float64, shape (n_groups,)
    """
    most = 1
    for group in range(values.size):
        most = max(most, offsets[group + 1] - offsets[group])
    x_ranks, y_ranks = np.empty(most), np.empty(most)
    x_order, y_order = np.empty(most, np.int32), np.empty(most, np.int32)
    sums, moments = np.empty((4, min(most, MOST_PAIRED))), np.empty((1, 4))
    for group in range(values.size):
        start, stop = offsets[group], offsets[group + 1]
        n = stop - start
        values[group] = np.nan
        if n > 1:
            x, y = x_ranks[:n], y_ranks[:n]
            x_ties = ranked(x_values[start:stop], x, x_order[:n])
            y_ties = ranked(y_values[start:stop], y, y_order[:n])
            first = starts[n]
            table = tables[first : first + (n if expected else 2 * n - 1)]
            values[group] = coefficient_of(
                x, x_ties, x_order[:n], y, y_ties, table, expected, scheme, kind, sums, moments
            )


@kernel
def permuted_coefficients(
    rng: np.random.Generator,
    x_values: Array,
    y_values: Array,
    table: Array,
    expected: bool,
    scheme: int,
    kind: int,
    values: Array,
) -> None:
    """Set the coefficients of one group with its y in random orders."""
    n = x_values.size
    x, y, order = np.empty(n), np.empty(n), np.empty(n, np.int32)
    x_order = np.empty(n, np.int32)
    sums, moments = np.empty((4, min(n, MOST_PAIRED))), np.empty((1, 4))
    x_ties, y_ties = ranked(x_values, x, x_order), ranked(y_values, y, order)
    for number in range(values.size):
        shuffle(rng, y, n)
        values[number] = coefficient_of(x, x_ties, x_order, y, y_ties, table, expected, scheme, kind, sums, moments)
