"""The loops over items, compiled by numba.

Only this module imports numba, which takes 0.4 s; a call that needs the loops imports it. The callers have checked
everything. Rank vectors here are mid-ranks and read-only, so that each kernel is compiled for one type. With
``NUMBA_DISABLE_JIT=1`` the same loops run as plain Python.

Plain loops compile fastest. Each array that a kernel makes adds .03 s, an array expression or `numbers.max()` .1 to
.4 s, and a sort 1 s.
"""

import logging
import math
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numpy.typing import NDArray

Array = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

ADDITIVE, MULTIPLICATIVE, FIRST, SECOND = range(4)
RHO, TAU_A, TAU_B = range(3)
CONCORDANT, DISCORDANT, TIED_IN_Y, TIED_IN_X, TIED_IN_BOTH = range(5)

ONE = np.uintp(1)
SIGNS = np.array([-1.0, 1.0])  # of a node less its neighbour: of a left one, and of a right one
LAST_DIGITS = 4 * 2.0**-52  # a ranking and its reverse have -1 with this error
BLOCK = 1024  # terms that are summed before they are added to a total


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
    """Compile on first call, without the GIL, and keep the machine code on disk if possible.

    A division by 0 gives an infinite number, as in numpy. To raise an error would keep loops from using vectors.
    """
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    try:
        compiled: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable folder for its cache, as in a read-only container
        return cast(F, njit(**options)(function))
    if cache := getattr(compiled, "_cache", None):  # None where numba is switched off
        cache.save_overload = partial(_save_alone, cache.save_overload, Path(cache.cache_path))
    return cast(F, compiled)


def _save_alone(save: Callable[..., None], folder: Path, *arguments: Any) -> None:
    """Save machine code while no other process does.

    Two that save a function for different types at once may choose the same name for both files, and a third process
    would then run the code for one type on the other (numba issue 4807).
    """
    with ExitStack() as stack:
        with suppress(ImportError, OSError):  # a save without a lock is better than none
            import fcntl

            folder.mkdir(parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context((folder / "rankcorr.lock").open("w")), fcntl.LOCK_EX)
        save(*arguments)


def helper(function: F) -> F:
    """Compile a function that only kernels call; Python itself calls the plain function.

    Leaving out the wrapper for calls from Python saves .05 s. A constant as an argument makes numba compile it again.
    """
    options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = njit(error_model="numpy", **options)(function)
    if compiled is not function:  # numba is not switched off: kernels get the compiled one instead
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


@helper
def mean_weight(table: Array, stop: int, size: int) -> float:
    """Mean weight of the `size` positions that end at `stop`; `table` holds the weights of positions."""
    total, lost = 0.0, 0.0
    for position in range(stop - size, stop):
        total, lost = add(total, lost, table[position])
    return total / size


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
        stop = 0
        for key in range(n_items):
            size = int(means[row, key])
            if size > 0:
                stop += size
                means[row, key] = mean_weight(table[0], stop, size)


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


@helper
def quotient(numerator: float, x_norm: float, y_norm: float) -> float:
    """Divide as Eq. 7 does; nan when a norm is zero, and 1 or -1 for what differs from it by rounding alone."""
    # The second form is for squares too small for a float; the first gives 1 exactly for a ranking with itself.
    denominator = math.sqrt(x_norm * y_norm)
    if denominator == 0.0:
        denominator = math.sqrt(x_norm) * math.sqrt(y_norm)
    if denominator == 0.0:
        return math.nan
    value = numerator / denominator
    if abs(value) > 1.0 - LAST_DIGITS:
        return math.copysign(1.0, value)
    return value


# Weighted entries: an entry stands for `copies` of an item, or of items tied in both rankings, each with the same
# weight. Both coefficients are computed from them, in whatever way items were drawn, exchanged or counted.


@helper
def scale_weights(n_entries: int, weights: Array) -> tuple[int, float]:
    """Divide weights by the largest, so that no product is too small for a float; return its place, and its value."""
    heaviest = 0
    for entry in range(n_entries):
        if weights[entry] > weights[heaviest]:
            heaviest = entry
    largest = weights[heaviest]
    if largest > 0.0:
        for entry in range(n_entries):
            weights[entry] /= largest
    return heaviest, largest


@helper
def rho_of(n_entries: int, heaviest: int, weights: Array, x_ranks: Array, y_ranks: Array) -> float:
    """Weighted Pearson correlation of ranks (Eq. 8), nan if undefined; the weights are those of all copies.

    Sums are added up block by block, as fast as a plain sum and without losing digits over a million entries. Kahan's
    sum takes twice as long.
    """
    # Ranks count from those of the heaviest entry. These differences are exact, so that a variance is exactly zero
    # when the weighted entries share one rank, and keeps its digits when it is small.
    x_origin, y_origin = x_ranks[heaviest], y_ranks[heaviest]
    mass, x_sum, y_sum = 0.0, 0.0, 0.0
    for start in range(0, n_entries, BLOCK):
        part, x_part, y_part = 0.0, 0.0, 0.0
        for entry in range(start, min(start + BLOCK, n_entries)):
            weight = weights[entry]
            part += weight
            x_part += weight * (x_ranks[entry] - x_origin)
            y_part += weight * (y_ranks[entry] - y_origin)
        mass += part
        x_sum += x_part
        y_sum += y_part
    x_mean, y_mean = x_sum / mass, y_sum / mass
    covariance, x_variance, y_variance = 0.0, 0.0, 0.0
    for start in range(0, n_entries, BLOCK):
        part, x_part, y_part = 0.0, 0.0, 0.0
        for entry in range(start, min(start + BLOCK, n_entries)):
            weight = weights[entry]
            x_distance = x_ranks[entry] - x_origin - x_mean
            y_distance = y_ranks[entry] - y_origin - y_mean
            part += weight * (x_distance * y_distance)
            x_part += weight * (x_distance * x_distance)
            y_part += weight * (y_distance * y_distance)
        covariance += part
        x_variance += x_part
        y_variance += y_part
    return quotient(covariance, x_variance, y_variance)


# A tree of signs has its nodes in pairs, node k above 2k and 2k + 1, and the keys last: twice as many cells as the next
# power of two. A node holds the weights that came to the keys below it. Sums and entries take as many steps as the tree
# has levels, whatever the key, so that there is no branch to mispredict: half the time of a tree of nodes with 8 cells,
# and of two Fenwick trees (2,000 items). Indices are unsigned, which saves a test for negative ones.


@helper
def tree_size(n_keys: int) -> int:
    """Cells of a tree of signs over `n_keys` keys."""
    size = 2
    while size < 2 * n_keys:
        size *= 2
    return size


@helper
def sign_enter(tree: Array, key: int, weight: float) -> float:
    """Enter a weight; return the sum of the earlier weights, each times the sign of `key` minus its own key."""
    total, node = 0.0, np.uintp(tree.size // 2 + key)
    while node > ONE:
        total += tree[node ^ ONE] * SIGNS[node & ONE]
        tree[node] += weight
        node >>= ONE
    return total


@helper
def sign_sum(tree: Array, key: int) -> float:
    """Return the sum of the weights that were entered, each times the sign of `key` minus its own key."""
    total, node = 0.0, np.uintp(tree.size // 2 + key)
    while node > ONE:
        total += tree[node ^ ONE] * SIGNS[node & ONE]
        node >>= ONE
    return total


@helper
def tau_of(
    n_entries: int, copies: Array, weights: Array, groups: Array, y_keys: Array, tree: Array, variant_a: bool
) -> float:
    """Sum of w_i w_j sign(a_j - a_i) sign(b_j - b_i) over pairs, divided as Eq. 7 does, or by all pairs (variant "a").

    Entries are sorted by x, where equal `groups` are ties; `y_keys` are smaller than the number of leaves of `tree`,
    a tree of signs that serves as working memory. O(n log n).
    """
    # Entries tied in y have equal keys, and so exactly no part in one another's sums: a heavy group costs no digits.
    for node in range(tree.size):
        tree[node] = 0.0
    numerator, untied_in_x, untied_in_y, all_pairs, before, lost = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    start = 0
    while start < n_entries:
        stop, mass = start, 0.0
        while stop < n_entries and groups[stop] == groups[start]:
            weight = copies[stop] * weights[stop]
            all_pairs += weight * mass + 0.5 * (copies[stop] - 1.0) * weight * weights[stop]
            mass += weight
            stop += 1
        if stop - start == 1:
            numerator += mass * sign_enter(tree, y_keys[start], mass)
        else:
            for entry in range(start, stop):
                numerator += copies[entry] * weights[entry] * sign_sum(tree, y_keys[entry])
            for entry in range(start, stop):
                sign_enter(tree, y_keys[entry], copies[entry] * weights[entry])
        untied_in_x += mass * before
        before, lost = add(before, lost, mass)
        start = stop
    all_pairs += untied_in_x
    before = 0.0
    for node in range(tree.size // 2, tree.size):
        untied_in_y += tree[node] * before
        before += tree[node]
    if variant_a and untied_in_x > 0.0 and untied_in_y > 0.0:
        return quotient(numerator, all_pairs, all_pairs)
    return quotient(numerator, untied_in_x, untied_in_y)


@kernel
def rho_of_rows(x_ranks: Array, y_ranks: Array, tables: Array, scheme: int, results: Array) -> None:
    """Weighted rho of x with each row of y, nan if undefined, and the largest weight: a row of `results` for each."""
    n_rows, n_items = y_ranks.shape
    weights = np.empty(n_items)
    step = 1.0 if tables.shape[1] == n_items else 2.0
    for row in range(n_rows):
        y_table = row + 1 if tables.shape[0] > 1 else 0
        for item in range(n_items):
            x_weight = tables[0, int(step * (x_ranks[item] - 1.0))]
            weights[item] = combine(scheme, x_weight, tables[y_table, int(step * (y_ranks[row, item] - 1.0))])
        heaviest, largest = scale_weights(n_items, weights)
        results[row, 0], results[row, 1] = math.nan, largest
        if largest > 0.0:
            results[row, 0] = rho_of(n_items, heaviest, weights, x_ranks, y_ranks[row])


@kernel
def tau_of_rows(
    x_ranks: Array, x_order: Array, y_ranks: Array, tables: Array, scheme: int, variant_a: bool, results: Array
) -> None:
    """Weighted tau of x with each row of y, nan if undefined, and the largest weight: a row of `results` for each."""
    n_rows, n_items = y_ranks.shape
    weights, tree = np.empty(n_items), np.empty(tree_size(n_items))
    copies, groups, x_halves = np.empty(n_items, np.int32), np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    y_halves, places = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    y_keys = y_halves  # the key of an entry takes a place that has been read: less memory to fetch
    halving = 1 if tables.shape[1] == n_items else 0
    # Short loops, each with one index to follow: a single one takes three times as long at a million items.
    for position in range(n_items):
        x_halves[position] = int(2.0 * x_ranks[x_order[position]]) - 2
    for row in range(n_rows):
        y_table = row + 1 if tables.shape[0] > 1 else 0
        for position in range(n_items):
            y_halves[position] = int(2.0 * y_ranks[row, x_order[position]]) - 2
        for position in range(n_items):
            x_weight = tables[0, x_halves[position] >> halving]
            weights[position] = combine(scheme, x_weight, tables[y_table, y_halves[position] >> halving])
        n_entries: Any = np.int64(0)  # for a constant 0, numba would compile the helpers again
        first: Any = 0
        is_tied_before = False
        # Each pair of neighbours is compared once.
        for position in range(n_items):
            key, is_tied = y_halves[position] >> 1, False  # the integer part of a mid-rank tells groups apart
            is_tied_after = position + 1 < n_items and x_halves[position] == x_halves[position + 1]
            if is_tied_before:
                # Items tied in both rankings are one entry: fewer walks, and rounding does not add up. `places` holds
                # the entry of each key; it is of this group of x if it lies behind `first` and has the key.
                is_tied = first <= places[key] < n_entries and y_keys[places[key]] == key
            else:
                first = n_entries
            is_tied_before = is_tied_after
            if is_tied:
                copies[places[key]] += 1
            else:
                if is_tied_after:
                    places[key] = n_entries
                copies[n_entries], groups[n_entries], y_keys[n_entries] = 1, first, key
                weights[n_entries] = weights[position]
                n_entries += 1
        _, largest = scale_weights(n_entries, weights)
        results[row, 0], results[row, 1] = math.nan, largest
        if largest > 0.0:
            results[row, 0] = tau_of(n_entries, copies, weights, groups, y_keys, tree, variant_a)


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
def pair_shares(x_ranks: Array, x_order: Array, y_ranks: Array, y_order: Array, weights: Array, shares: Array) -> None:
    """For each item, the weight of the others by the kind of pair that they form with it, in O(n log n).

    `shares` receives five rows: the sum of w_j over the items j that are concordant with item i, discordant, tied with
    it in y only, in x only, and in both. Each is a sum of positive terms, so that a small one keeps its digits.
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
    # Gathered first: following an index inside the walks costs 5 times as much at a million items.
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
