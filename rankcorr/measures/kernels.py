"""The loops over items that the measures need, compiled by numba; imported by the call that needs them."""

import numpy as np

from rankcorr.kernels import Array, group_stop, kernel, tree_add, tree_sum


@kernel
def above_in_both(x_ranks: Array, y_ranks: Array, y_order: Array, better: Array, tied: Array) -> None:
    """Count, for each item, the items above it in y that are above it in x, and those that are tied with it in x.

    O(n log n): items enter from best to worst in y, one tied group at a time, and a Fenwick tree over the ranks of x
    counts those that have entered before.
    """
    n_items = x_ranks.size
    tree = np.zeros(n_items + 1)
    entered = np.zeros(n_items)
    start = 0
    while start < n_items:
        stop = group_stop(y_ranks[y_order[start]], start)
        for position in range(start, stop):
            item = y_order[position]
            key = int(x_ranks[item]) - 1  # the integer part of a mid-rank tells groups apart
            better[item] = tree_sum(tree, key)
            tied[item] = entered[key]
        for position in range(start, stop):
            key = int(x_ranks[y_order[position]]) - 1
            tree_add(tree, key + 1, 1.0)
            entered[key] += 1.0
        start = stop


@kernel
def squared_ratios(values: Array, counts: Array, sums: Array) -> None:
    """Add ((c - k)/(c + k))^2 to the sum of each value c, for each larger value k times its count.

    The values ascend, are not negative, and have no ties. O(v^2) for v values. A sum for each smaller value, not for
    each larger one, and `np.divide`, which does not test for zero, let the inner loop run on vectors: five times as
    fast.
    """
    for larger in range(1, values.size):
        scale = 0.5 if values[larger] > 2.0**1022 else 1.0  # the sum of two values this large may overflow a float
        value, count = scale * values[larger], counts[larger]
        for smaller in range(larger):
            other = scale * values[smaller]
            ratio = np.divide(value - other, value + other)
            sums[smaller] += count * (ratio * ratio)


@kernel
def grouped_squared_ratios(values: Array, counts: Array, sizes: Array, sums: Array) -> None:
    """`squared_ratios` of each group; `sizes` says how many values it has."""
    start = 0
    for size in sizes:
        stop = start + size
        squared_ratios(values[start:stop], counts[start:stop], sums[start:stop])
        start = stop
