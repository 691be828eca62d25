"""Sums of weights over the pairs of each item, in O(n log n): `kernels.pair_sums` has their totals over all items."""

import numpy as np

from rankcorr.kernels import Array, group_stop, kernel, tree_add, tree_sum

CONCORDANT, DISCORDANT, TIED_IN_Y, TIED_IN_X, TIED_IN_BOTH = range(5)


@kernel
def pair_shares(x_ranks: Array, x_order: Array, y_ranks: Array, y_order: Array, weights: Array, shares: Array) -> None:
    """For each item, the weight of the other items by the kind of pair that they form with it.

    `shares` receives five rows: the sum of w_j over the items j that are concordant with item i, discordant, tied with
    it in y only, in x only, and in both. Each is a sum of positive terms, so that a small one keeps its digits.
    """
    shares[:] = 0.0
    ordered_pairs(x_ranks, x_order, y_ranks, weights, shares)
    tied_pairs(x_ranks, x_order, y_ranks, weights, shares[TIED_IN_Y], shares[TIED_IN_BOTH])
    tied_pairs(y_ranks, y_order, x_ranks, weights, shares[TIED_IN_X], np.empty(0))


@kernel
def ordered_pairs(x_ranks: Array, x_order: Array, y_ranks: Array, weights: Array, shares: Array) -> None:
    """Set the concordant and discordant weight of each item, by Fenwick trees over the ranks of y.

    A pass from best to worst in x meets, at each item, those that are better in x; a pass back those that are worse.
    """
    n_items = x_ranks.size
    better_tree = np.empty(n_items + 1)
    worse_tree = np.empty(n_items + 1)
    # Gathered first, as in `kernels.pair_sums`: following an index inside the walks costs cache misses.
    x_sorted = x_ranks[x_order]
    keys = np.empty(n_items, np.int32)
    entering = np.empty(n_items)
    found = np.zeros((2, n_items))
    for position in range(n_items):
        keys[position] = int(y_ranks[x_order[position]]) - 1
        entering[position] = weights[x_order[position]]
    for back in range(2):
        better_tree[:] = 0.0
        worse_tree[:] = 0.0
        done = 0
        while done < n_items:
            # The group of items tied in x that comes next: in the pass back, the last that is left.
            if back == 0:
                start, stop = done, group_stop(x_sorted[done], done)
            else:
                stop = n_items - done
                start = group_start(x_sorted[stop - 1], stop)
            for position in range(start, stop):
                key = keys[position]
                better = tree_sum(better_tree, key)
                worse = tree_sum(worse_tree, n_items - 1 - key)
                found[0, position] += better if back == 0 else worse
                found[1, position] += worse if back == 0 else better
            for position in range(start, stop):
                key, weight = keys[position], entering[position]
                tree_add(better_tree, key + 1, weight)
                tree_add(worse_tree, n_items - key, weight)
            done += stop - start
    for position in range(n_items):
        shares[CONCORDANT, x_order[position]] = found[0, position]
        shares[DISCORDANT, x_order[position]] = found[1, position]


@kernel
def group_start(rank: float, stop: int) -> int:
    """Start, from 0, of the tied group that ends at a position and shares the rank start + (size + 1) / 2."""
    return int(2.0 * rank) - stop - 1


@kernel
def tied_pairs(x_ranks: Array, x_order: Array, y_ranks: Array, weights: Array, one: Array, both: Array) -> None:
    """Add, for each item, the weight of the items tied with it in y only and, unless `both` is empty, in x and y.

    At each rank of y, the weight that has gone by is kept apart from that of the present group of x.
    """
    n_items = x_ranks.size
    gone = np.empty(n_items)
    present = np.empty(n_items)
    for back in range(2):
        gone[:] = 0.0
        present[:] = 0.0
        done = 0
        while done < n_items:
            if back == 0:
                start, stop = done, group_stop(x_ranks[x_order[done]], done)
            else:
                stop = n_items - done
                start = group_start(x_ranks[x_order[stop - 1]], stop)
            for step in range(stop - start):
                item = x_order[start + step if back == 0 else stop - 1 - step]
                key = int(y_ranks[item]) - 1
                one[item] += gone[key]
                if both.size > 0:
                    both[item] += present[key]
                    present[key] += weights[item]
            for position in range(start, stop):
                item = x_order[position]
                key = int(y_ranks[item]) - 1
                gone[key] += weights[item]
                present[key] = 0.0
            done += stop - start
