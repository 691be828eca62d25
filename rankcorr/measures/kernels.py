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
