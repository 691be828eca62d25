"""The loops over items, compiled by numba.

This module imports only numba, which costs 0.4 s; a call that needs the loops imports it. The callers have checked
everything. Rank vectors here are mid-ranks and read-only, so that each kernel is compiled for one type. With
``NUMBA_DISABLE_JIT=1`` the same loops run as plain Python.

Plain loops compile fastest. Each array that a kernel makes adds .03 s, an array expression or `numbers.max()` .1 to
.4 s, and a sort 1 s.
"""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numpy.typing import NDArray

Array = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

ADDITIVE, MULTIPLICATIVE, FIRST, SECOND = range(4)
CONCORDANT, DISCORDANT, TIED_IN_Y, TIED_IN_X, TIED_IN_BOTH = range(5)


class Compiling(event.Listener):
    """Log once that loops are being compiled, as soon as that has taken a second."""

    def __init__(self) -> None:
        self.depth: int = 0
        self.seconds: float = 0.0
        self.began: float = 0.0
        self.is_said: bool = False

    def on_start(self, _: Any) -> None:
        """Note the time, unless a part of what is being compiled begins."""
        if not self.depth:
            self.began = time.perf_counter()
        self.depth += 1
        self._say()

    def on_end(self, _: Any) -> None:
        """Add the time up."""
        self._say()
        self.depth -= 1
        if not self.depth:
            self.seconds += time.perf_counter() - self.began

    def _say(self) -> None:
        if not self.is_said and self.seconds + time.perf_counter() - self.began > 1.0:
            self.is_said = True
            logging.getLogger("rankcorr").info("compiling for the first use; this takes some seconds, once")


COMPILING = Compiling()
event.register("numba:compile", COMPILING)  # type: ignore[no-untyped-call]


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, and keep the machine code on disk if possible."""
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    try:
        return cast(F, njit(cache=True, **options)(function))
    except RuntimeError:  # numba found no writable folder for its cache, as in a read-only container
        return cast(F, njit(**options)(function))


def helper(function: F) -> F:
    """Compile a part of kernels without what a call from Python needs, or .05 s less; there it stays plain Python.

    An argument that is a constant makes numba compile it once more.
    """
    options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    if compiled is not function:  # numba is not switched off: it takes the one for the other, by its type
        vars(function).update(compiled=compiled, _numba_type_=compiled._numba_type_)
    return function


@helper
def add(total: float, lost: float, value: float) -> tuple[float, float]:
    """Kahan's sum: adding one weight a million times over would otherwise cost five digits."""
    corrected = value - lost
    grown = total + corrected
    return grown, (grown - total) - corrected


@helper
def combine(scheme: int, x_weight: float, y_weight: float) -> float:
    """Weight of an item from the weights of its two ranks (Eq. 9 and its variants), not normalised."""
    if scheme == ADDITIVE:
        return x_weight + y_weight
    if scheme == MULTIPLICATIVE:
        return x_weight * y_weight
    return x_weight if scheme == FIRST else y_weight


@kernel
def midranks(values: Array, ascending: Array, descending: bool, ranks: Array, best_first: Array) -> int:
    """Set the mid-ranks of `values` and the positions from best to worst; return the number of tied items.

    `ascending` sorts the values. Rank 1 is the largest value if `descending`, else the smallest.
    """
    n_items = values.size
    n_ties = 0
    start = 0
    value = values[ascending[0]]
    while start < n_items:
        stop = start + 1
        following = value
        while stop < n_items:
            following = values[ascending[stop]]
            if following != value:
                break
            stop += 1
        rank = 0.5 * (start + 1 + stop)  # mean of the positions start + 1 to stop
        if descending:
            rank = n_items + 1 - rank
        if stop - start > 1:
            n_ties += stop - start
        for position in range(start, stop):
            item = ascending[position]
            ranks[item] = rank
            best_first[n_items - 1 - position if descending else position] = item
        start, value = stop, following
    return n_ties


@kernel
def midrank_rows(
    values: Array, ascending: Array, descending: bool, ranks: Array, best_first: Array, ties: Array
) -> None:
    """`midranks` of each row; `ties` receives the number of tied items of each."""
    for row in range(values.shape[0]):
        ties[row] = midranks(values[row], ascending[row], descending, ranks[row], best_first[row])


@kernel
def has_halves(ranks: Array) -> bool:
    """Whether some mid-rank is not a whole number."""
    for item in range(ranks.size):  # noqa: SIM110 - numba does not compile any() of a generator
        if ranks[item] != int(ranks[item]):
            return True
    return False


@helper
def group_stop(rank: float, start: int) -> int:
    """End of the tied group that starts at a position, from 0, and shares the rank start + (size + 1) / 2."""
    return int(2.0 * (rank - start)) - 1 + start


@kernel
def mean_weights(x_ranks: Array, y_ranks: Array, table: Array, means: Array) -> None:
    """Mean weight of the positions of each tied group, stored under the integer part of its rank, from 0.

    The integer part of a mid-rank is one of the positions that the group occupies, and so identifies the group. The
    first row of `means` is of x, and the next are of each row of y. `table` has a row of weights of positions.
    """
    n_rows, n_items = means.shape
    for row in range(n_rows):
        for key in range(n_items):
            means[row, key] = 0.0
        for item in range(n_items):
            rank = x_ranks[item] if row == 0 else y_ranks[row - 1, item]
            means[row, int(rank) - 1] += 1.0
        start = 0
        for key in range(n_items):
            size = means[row, key]
            if size > 0.0:
                stop = start + int(size)
                total, lost = 0.0, 0.0
                for position in range(start, stop):
                    total, lost = add(total, lost, table[0, position])
                means[row, key] = total / size
                start = stop


# `tables` holds the weights of the ranks 1, 2, .. n, or of 1, 1.5, 2, .. n where a mid-rank may be a half, in one row.
# If tied items have the mean weight of their positions, it holds the rows of `mean_weights`.


@kernel
def item_weights(x_ranks: Array, y_ranks: Array, tables: Array, scheme: int, weights: Array) -> None:
    """Weight of each item, not normalised."""
    n_items = x_ranks.size
    step = 1.0 if tables.shape[1] == n_items else 2.0
    last = tables.shape[0] - 1
    for item in range(n_items):
        x_weight = tables[0, int(step * (x_ranks[item] - 1.0))]
        weights[item] = combine(scheme, x_weight, tables[last, int(step * (y_ranks[item] - 1.0))])


@kernel
def weighted_moments(x_ranks: Array, y_ranks: Array, tables: Array, scheme: int, moments: Array) -> None:
    """Weighted covariance and variances of Eq. 8, times the sum of weights, for x against each row of y.

    `moments` receives a row (covariance, variance of x, variance of y, largest weight) for each row of `y_ranks`.
    """
    n_rows, n_items = y_ranks.shape
    weights = np.empty(n_items)
    step = 1.0 if tables.shape[1] == n_items else 2.0
    for row in range(n_rows):
        y_table = row + 1 if tables.shape[0] > 1 else 0
        heaviest = 0
        for item in range(n_items):
            x_weight = tables[0, int(step * (x_ranks[item] - 1.0))]
            weights[item] = combine(scheme, x_weight, tables[y_table, int(step * (y_ranks[row, item] - 1.0))])
            if weights[item] > weights[heaviest]:
                heaviest = item
        largest = weights[heaviest]
        moments[row, 3] = largest
        if largest == 0.0:
            continue
        # Ranks count from those of the heaviest item. These differences are exact, so that a variance is exactly zero
        # when the weighted items share one rank, and keeps its digits when it is small.
        x_origin, y_origin = x_ranks[heaviest], y_ranks[row, heaviest]
        weight_sum, x_sum, y_sum = 0.0, 0.0, 0.0
        weight_lost, x_lost, y_lost = 0.0, 0.0, 0.0
        for item in range(n_items):
            weight = weights[item] / largest  # so that no product is too small for a float
            weights[item] = weight
            weight_sum, weight_lost = add(weight_sum, weight_lost, weight)
            x_sum, x_lost = add(x_sum, x_lost, weight * (x_ranks[item] - x_origin))
            y_sum, y_lost = add(y_sum, y_lost, weight * (y_ranks[row, item] - y_origin))
        x_mean, y_mean = x_sum / weight_sum, y_sum / weight_sum
        covariance, x_variance, y_variance = 0.0, 0.0, 0.0
        covariance_lost, x_lost, y_lost = 0.0, 0.0, 0.0
        for item in range(n_items):
            weight = weights[item]
            x_distance = x_ranks[item] - x_origin - x_mean
            y_distance = y_ranks[row, item] - y_origin - y_mean
            covariance, covariance_lost = add(covariance, covariance_lost, weight * (x_distance * y_distance))
            x_variance, x_lost = add(x_variance, x_lost, weight * (x_distance * x_distance))
            y_variance, y_lost = add(y_variance, y_lost, weight * (y_distance * y_distance))
        moments[row, 0] = covariance
        moments[row, 1] = x_variance
        moments[row, 2] = y_variance


@helper
def tree_sum(tree: Array, place: int) -> float:
    """Sum of the first `place` places of a Fenwick tree."""
    total = 0.0
    while place > 0:
        total += tree[place]
        place &= place - 1
    return total


@helper
def tree_add(tree: Array, place: int, weight: float) -> None:
    """Add a weight at a place, from 1, of a Fenwick tree."""
    while place < tree.size:
        tree[place] += weight
        place += place & -place


@kernel
def pair_sums(
    x_ranks: Array, x_order: Array, y_ranks: Array, y_ties: Array, tables: Array, scheme: int, sums: Array
) -> None:
    """Sums of w_i w_j over pairs of items, for x against each row of y, in O(n log n) each.

    `sums` receives a row for each row of `y_ranks`: the sum over concordant pairs, discordant pairs, pairs not tied in
    x, pairs not tied in y, all pairs, and the largest weight. Items enter from best to worst in x, one tied group at a
    time, and Fenwick trees over the ranks of y hold the weights that have entered before.
    """
    n_rows, n_items = y_ranks.shape
    # Two arrays of rows, since each array takes .03 s to compile.
    numbers, places = np.empty((7, n_items + 1)), np.empty((2, n_items), np.int32)
    x_sorted, x_weights, entering, lost = numbers[0], numbers[1], numbers[2], numbers[3]
    worse_tree, better_tree, tied_in_y = numbers[4], numbers[5], numbers[6]
    keys, slots = places[0], places[1]
    halves = 0 if tables.shape[1] == n_items else 1
    for position in range(n_items):
        x_sorted[position] = x_ranks[x_order[position]]
        x_weights[position] = tables[0, int((1.0 + halves) * (x_sorted[position] - 1.0))]
    for row in range(n_rows):
        # Gathered first: following an index inside the tree walk costs 5 times as much at a million items.
        y_table = row + 1 if tables.shape[0] > 1 else 0
        y_tied = y_ties[row] > 0
        heaviest = 0.0
        for position in range(n_items):
            cell = int((1.0 + halves) * (y_ranks[row, x_order[position]] - 1.0))
            weight = combine(scheme, x_weights[position], tables[y_table, cell])
            keys[position] = cell >> halves  # the integer part of a mid-rank tells groups apart
            entering[position] = weight
            heaviest = weight if weight > heaviest else heaviest  # `max` takes longer to compile
        concordant, discordant, untied_in_x, untied_in_y, all_pairs = 0.0, 0.0, 0.0, 0.0, 0.0
        before, before_lost = 0.0, 0.0
        for position in range(n_items):
            if heaviest > 0.0:
                entering[position] /= heaviest  # so that no product is too small for a float
                all_pairs += entering[position] * before
                before += entering[position]
            slots[position] = -1
        for place in range(n_items + 1):
            worse_tree[place] = 0.0
            if y_tied:
                better_tree[place] = 0.0
                tied_in_y[place] = 0.0
        before = 0.0
        start = 0
        while start < n_items:
            next_start = group_stop(x_sorted[start], start)
            stop = next_start
            if stop - start > 1:
                # Items tied in both rankings enter as one: fewer walks, and rounding does not add up. `slots` holds the
                # place of each key; a slot before `start` was left by an earlier group.
                stop = start
                for position in range(start, next_start):
                    key, weight = keys[position], entering[position]
                    slot = slots[key]
                    if slot < start:
                        slots[key] = stop
                        keys[stop] = key
                        entering[stop] = weight
                        lost[stop] = 0.0
                        stop += 1
                    else:
                        entering[slot], lost[slot] = add(entering[slot], lost[slot], weight)
            # The items that are better in x have entered. The part of them that is worse in y is discordant: it is in
            # the first n - 1 - key places of a tree that runs from the worst rank of y to the best. The part that is
            # better in y is concordant. Without ties it is the rest. With ties, where a heavy group may be tied, a
            # difference would lose its digits, and a second tree that runs from the best to the worst holds it.
            group_weight, group_lost = 0.0, 0.0
            for position in range(start, stop):
                worse_places, weight = n_items - 1 - keys[position], entering[position]
                worse = tree_sum(worse_tree, worse_places)
                discordant += weight * worse
                better = tree_sum(better_tree, n_items - 1 - worse_places) if y_tied else before - worse
                concordant += weight * better
                group_weight, group_lost = add(group_weight, group_lost, weight)
            for position in range(start, stop):
                worse_places, weight = n_items - 1 - keys[position], entering[position]
                tree_add(worse_tree, worse_places + 1, weight)
                if y_tied:
                    tree_add(better_tree, n_items - worse_places, weight)
                    tied_in_y[keys[position]] += weight
            untied_in_x += group_weight * before
            before, before_lost = add(before, before_lost, group_weight)
            start = next_start
        if y_tied:
            before = 0.0
            for key in range(n_items):
                untied_in_y += tied_in_y[key] * before
                before += tied_in_y[key]
        else:
            untied_in_y = all_pairs
        sums[row, 0] = concordant
        sums[row, 1] = discordant
        sums[row, 2] = untied_in_x
        sums[row, 3] = untied_in_y
        sums[row, 4] = all_pairs
        sums[row, 5] = heaviest


@kernel
def pair_shares(x_ranks: Array, x_order: Array, y_ranks: Array, y_order: Array, weights: Array, shares: Array) -> None:
    """For each item, the weight of the others by the kind of pair that they form with it, in O(n log n).

    `shares` receives five rows: the sum of w_j over the items j that are concordant with item i, discordant, tied with
    it in y only, in x only, and in both. Each is a sum of positive terms, so that a small one keeps its digits.
    `pair_sums` has their totals over all items.
    """
    for kind in range(5):
        for item in range(x_ranks.size):
            shares[kind, item] = 0.0
    ordered_pairs(x_ranks, x_order, y_ranks, weights, shares)
    tied_pairs(x_ranks, x_order, y_ranks, weights, shares[TIED_IN_Y], shares[TIED_IN_BOTH])
    tied_pairs(y_ranks, y_order, x_ranks, weights, shares[TIED_IN_X], np.empty(0))


@helper
def ordered_pairs(x_ranks: Array, x_order: Array, y_ranks: Array, weights: Array, shares: Array) -> None:
    """Set the concordant and discordant weight of each item, by Fenwick trees over the ranks of y.

    A pass from best to worst in x meets, at each item, the items that are better in x; a pass back those that are
    worse.
    """
    n_items = x_ranks.size
    better_tree, worse_tree = np.empty(n_items + 1), np.empty(n_items + 1)
    x_sorted, entering, keys = np.empty(n_items), np.empty(n_items), np.empty(n_items, np.int64)
    better_weight, worse_weight = np.zeros(n_items), np.zeros(n_items)
    # Gathered first, as in `kernels.pair_sums`: following an index inside the walks costs cache misses.
    for position in range(n_items):
        x_sorted[position] = x_ranks[x_order[position]]
        keys[position] = int(y_ranks[x_order[position]]) - 1
        entering[position] = weights[x_order[position]]
    for back in range(2):
        for place in range(n_items + 1):
            better_tree[place] = 0.0
            worse_tree[place] = 0.0
        n_passed = 0
        while n_passed < n_items:
            # The next group of items tied in x: in the pass back, the last one left.
            if back == 0:
                start, stop = n_passed, group_stop(x_sorted[n_passed], n_passed)
            else:
                stop = n_items - n_passed
                start = group_start(x_sorted[stop - 1], stop)
            for position in range(start, stop):
                key = keys[position]
                better = tree_sum(better_tree, key)
                worse = tree_sum(worse_tree, n_items - 1 - key)
                better_weight[position] += better if back == 0 else worse
                worse_weight[position] += worse if back == 0 else better
            for position in range(start, stop):
                key, weight = keys[position], entering[position]
                tree_add(better_tree, key + 1, weight)
                tree_add(worse_tree, n_items - key, weight)
            n_passed += stop - start
    for position in range(n_items):
        shares[CONCORDANT, x_order[position]] = better_weight[position]
        shares[DISCORDANT, x_order[position]] = worse_weight[position]


@helper
def group_start(rank: float, stop: int) -> int:
    """Start, from 0, of the tied group that ends at a position and shares the rank start + (size + 1) / 2."""
    return int(2.0 * rank) - stop - 1


@helper
def tied_pairs(x_ranks: Array, x_order: Array, y_ranks: Array, weights: Array, one: Array, both: Array) -> None:
    """Add, for each item, the weight of the items tied with it in y only and, unless `both` is empty, in x and y.

    At each rank of y, the weight already passed is kept apart from that of the current group of x.
    """
    n_items = x_ranks.size
    passed_weight = np.empty(n_items)
    present = np.empty(n_items)
    for back in range(2):
        for key in range(n_items):
            passed_weight[key] = 0.0
            present[key] = 0.0
        n_passed = 0
        while n_passed < n_items:
            if back == 0:
                start, stop = n_passed, group_stop(x_ranks[x_order[n_passed]], n_passed)
            else:
                stop = n_items - n_passed
                start = group_start(x_ranks[x_order[stop - 1]], stop)
            for step in range(stop - start):
                item = x_order[start + step if back == 0 else stop - 1 - step]
                key = int(y_ranks[item]) - 1
                one[item] += passed_weight[key]
                if both.size > 0:
                    both[item] += present[key]
                    present[key] += weights[item]
            for position in range(start, stop):
                item = x_order[position]
                key = int(y_ranks[item]) - 1
                passed_weight[key] += weights[item]
                present[key] = 0.0
            n_passed += stop - start


# The loops of `rankcorr.measures`.


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


@helper
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
