"""Coefficients of resampled items, in linear time, and of systems that exchange places; compiled by numba.

Items are sorted by x, and ranks are keys: whole numbers from 0 that ascend from best to worst, one for each group of
ties. A resample counts how often each item was drawn. Copies of one item are ties in both rankings, so an item enters
once, with the weight of all its copies, and mid-ranks follow from counts alone: O(n), except for the sums of Kendall's
kind, which take O(n log n).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._rank_kernels import combine, helper, kernel

Array = NDArray[Any]

RHO, TAU_A, TAU_B = range(3)

ONE = np.uintp(1)
BITS = np.uint64(32)  # of a choice of `exchanged_coefficients`
SIGNS = np.array([-1.0, 1.0])  # of a node less its neighbour: of a left one, and of a right one


@helper
def quotient(numerator: float, x_norm: float, y_norm: float) -> float:
    """The same as `rankcorr._coefficients.ratio`."""
    denominator = math.sqrt(x_norm * y_norm)
    if denominator == 0.0:
        denominator = math.sqrt(x_norm) * math.sqrt(y_norm)
    if denominator == 0.0:
        return math.nan
    value = numerator / denominator
    if value > 1.0:
        return 1.0
    return value if value > -1.0 else -1.0


@helper
def group_weight(table: Array, expected: bool, stop: int, size: int) -> float:
    """Weight of the rank of a group of `size` tied items that ends at a position.

    `table` holds the weights of the ranks 1, 1.5, 2, .. n, or of the positions 1, 2, .. n if `expected`. Neither number
    may be a constant, for which numba would compile this anew.
    """
    if not expected:
        return float(table[2 * stop - size - 1])  # the mid-rank is stop - (size - 1) / 2
    total = 0.0
    for position in range(stop - size, stop):
        total += table[position]
    return total / size


@kernel
def count_draws(draws: Array, counts: Array) -> None:
    """Add the number of times that each item occurs in each row of `draws`."""
    for row in range(draws.shape[0]):
        for draw in range(draws.shape[1]):
            counts[row, draws[row, draw]] += 1


@kernel
def drawn_keys(packed: Array, bits: int, bounds: Array, rows: Array, keys: Array) -> None:
    """Keys of each ranking in the order of the first, from sorted places in the lists.

    `packed`, shape (n_draws, n_rankings, n_items), holds the bits of places between 0 and 1, the last `bits` of which
    are the number of the item. Row i has the `bounds` from rows[i] to rows[i + 1]; places from one of even number to
    the next are tied.
    """
    n_draws, n_rows, n_items = packed.shape
    mask = (1 << bits) - 1
    key_of = np.empty(n_items, np.int32)
    number = np.empty(1, np.int64)
    place = number.view(np.float64)
    for draw in range(n_draws):
        for row in range(n_rows):
            bound, stop, first = rows[row], rows[row + 1], -1
            for rank in range(n_items):
                key = rank
                if bound < stop:
                    number[0] = packed[draw, row, rank] & ~mask
                    while bound < stop and place[0] >= bounds[bound]:
                        bound += 1
                        first = -1
                    if (bound - rows[row]) % 2 == 1:
                        if first < 0:
                            first = rank
                        key = first
                if row == 0:
                    keys[draw, 0, rank] = key
                else:
                    key_of[packed[draw, row, rank] & mask] = key
            if row > 0:
                for rank in range(n_items):
                    keys[draw, row, rank] = key_of[packed[draw, 0, rank] & mask]


@helper
def enter(
    counts: Array,
    x_keys: Array,
    table: Array,
    expected: bool,
    entries: Array,
    copies: Array,
    groups: Array,
    ranks: Array,
    weights: Array,
) -> int:
    """Collect the items drawn, from best to worst in x, with their ranks in x; return how many there are.

    `entries` receives the items, `copies` how often each was drawn, `groups` the tied group of x, from 0, `ranks` and
    `weights` the rank in x, within the resample, and its weight.
    """
    n_items = x_keys.size
    n_entries, before, group, start = 0, 0, 0, 0
    while start < n_items:
        stop, size = start, 0
        while stop < n_items and x_keys[stop] == x_keys[start]:
            size += counts[stop]
            stop += 1
        if size > 0:
            after = before + size
            rank, weight = before + 0.5 * (size + 1), group_weight(table, expected, after, after - before)
            for item in range(start, stop):
                if counts[item] > 0:
                    entries[n_entries] = item
                    copies[n_entries] = counts[item]
                    groups[n_entries] = group
                    ranks[n_entries] = rank
                    weights[n_entries] = weight
                    n_entries += 1
            before = after
            group += 1
        start = stop
    return n_entries


@helper
def rank_keys(sizes: Array, table: Array, expected: bool, ranks: Array, weights: Array, places: Array) -> None:
    """Rank, weight and number of items before, of each key; `sizes` says how many items share a key."""
    before = 0
    for key in range(sizes.size):
        size = sizes[key]
        if size > 0:
            after = before + size
            places[key] = before
            ranks[key] = before + 0.5 * (size + 1)
            weights[key] = group_weight(table, expected, after, after - before)
            before = after


@helper
def combined(scheme: int, n_entries: int, x_weights: Array, y_weights: Array, weights: Array) -> int:
    """Weights of the entries, divided by the largest; return the heaviest entry, or -1 if all weights are zero."""
    heaviest = 0
    for entry in range(n_entries):
        weights[entry] = combine(scheme, x_weights[entry], y_weights[entry])
        if weights[entry] > weights[heaviest]:
            heaviest = entry
    largest = weights[heaviest]
    if largest == 0.0:
        return -1
    for entry in range(n_entries):
        weights[entry] /= largest
    return heaviest


@helper
def rho_of(n_entries: int, heaviest: int, copies: Array, weights: Array, x_ranks: Array, y_ranks: Array) -> float:
    """Weighted Pearson correlation of the ranks of entries (Eq. 8)."""
    # Ranks count from those of the heaviest entry: a variance is exactly zero if the weighted ones share a rank.
    x_origin, y_origin = x_ranks[heaviest], y_ranks[heaviest]
    mass, x_sum, y_sum = 0.0, 0.0, 0.0
    for entry in range(n_entries):
        weight = copies[entry] * weights[entry]
        mass += weight
        x_sum += weight * (x_ranks[entry] - x_origin)
        y_sum += weight * (y_ranks[entry] - y_origin)
    x_mean, y_mean = x_sum / mass, y_sum / mass
    covariance, x_variance, y_variance = 0.0, 0.0, 0.0
    for entry in range(n_entries):
        weight = copies[entry] * weights[entry]
        x_distance = x_ranks[entry] - x_origin - x_mean
        y_distance = y_ranks[entry] - y_origin - y_mean
        covariance += weight * (x_distance * y_distance)
        x_variance += weight * (x_distance * x_distance)
        y_variance += weight * (y_distance * y_distance)
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
def sign_sum(tree: Array, key: int) -> float:
    """Sum over the weights in a tree of signs, each times the sign of `key` less its own key."""
    total, node = 0.0, np.uintp(tree.size // 2 + key)
    while node > ONE:
        total += tree[node ^ ONE] * SIGNS[node & ONE]
        node >>= ONE
    return total


@helper
def sign_enter(tree: Array, key: int, weight: float) -> float:
    """Return the same sum, and then enter the weight at its key."""
    total, node = 0.0, np.uintp(tree.size // 2 + key)
    while node > ONE:
        total += tree[node ^ ONE] * SIGNS[node & ONE]
        tree[node] += weight
        node >>= ONE
    return total


@helper
def tau_of(
    n_entries: int, copies: Array, weights: Array, groups: Array, y_keys: Array, tree: Array, variant_a: bool
) -> float:
    """Sum of w_i w_j sign(a_j - a_i) sign(b_j - b_i) over pairs, divided as Eq. 7 does, or by all pairs (variant "a").

    `tree` is working memory: a tree of signs over all keys.
    """
    # Items tied in y have equal keys, and so exactly no part in one another's sums: a heavy group costs no digits.
    for node in range(tree.size):
        tree[node] = 0.0
    numerator, untied_in_x, untied_in_y, all_pairs, before = 0.0, 0.0, 0.0, 0.0, 0.0
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
        before += mass
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
def resampled_coefficients(
    counts: Array, keys: Array, table: Array, expected: bool, scheme: int, kind: int, values: Array
) -> None:
    """Coefficient of the first ranking with each other in each resample; nan if undefined.

    `keys`, shape (n_resamples or 1, 1 + n_others, n_items), number the tied groups of each ranking; those of the first
    ascend. `counts`, shape (n_resamples or 1, n_items), holds how often each item was drawn; their sum is at most the
    number of items, the length of the table. `values` receives a row for each resample.
    """
    n_items = keys.shape[2]
    numbers, places = np.empty((8, n_items)), np.empty((5, n_items), np.int32)
    copies, weights, x_ranks, x_weights = numbers[0], numbers[1], numbers[2], numbers[3]
    key_ranks, key_weights, y_ranks, y_weights = numbers[4], numbers[5], numbers[6], numbers[7]
    entries, groups, sizes, befores, y_keys = places[0], places[1], places[2], places[3], places[4]
    tree = np.empty(tree_size(n_items))
    for row in range(values.shape[0]):
        drawn, own = counts[row if counts.shape[0] > 1 else 0], keys[row if keys.shape[0] > 1 else 0]
        n_entries = enter(drawn, own[0], table, expected, entries, copies, groups, x_ranks, x_weights)
        for y in range(values.shape[1]):
            for key in range(n_items):
                sizes[key] = 0
            for entry in range(n_entries):
                y_keys[entry] = own[y + 1, entries[entry]]
                sizes[y_keys[entry]] += drawn[entries[entry]]
            rank_keys(sizes, table, expected, key_ranks, key_weights, befores)
            for entry in range(n_entries):
                y_ranks[entry] = key_ranks[y_keys[entry]]
                y_weights[entry] = key_weights[y_keys[entry]]
            heaviest = combined(scheme, n_entries, x_weights, y_weights, weights)
            if heaviest < 0:
                values[row, y] = math.nan
            elif kind == RHO:
                values[row, y] = rho_of(n_entries, heaviest, copies, weights, x_ranks, y_ranks)
            else:
                values[row, y] = tau_of(n_entries, copies, weights, groups, y_keys, tree, kind == TAU_A)


@helper
def shuffle(rng: np.random.Generator, values: Array, size: int) -> None:
    """Permute the first `size` values at random: Fisher and Yates."""
    for last in range(size - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        values[last], values[other] = values[other], values[last]


@kernel
def permuted_rows(rng: np.random.Generator, ranks: Array, rows: Array) -> None:
    """Fill each row with the ranks in random order.

    `Generator.permuted` draws whole numbers, and holds the GIL: 8 us for 1,000 items, against 4 here.
    """
    n_rows, n_items = rows.shape
    for row in range(n_rows):
        for item in range(n_items):
            rows[row, item] = ranks[item]
        shuffle(rng, rows[row], n_items)


@kernel
def exchanged_coefficients(
    choices: Array,
    systems: Array,
    items: Array,
    codes: Array,
    x_keys: Array,
    present: Array,
    table: Array,
    expected: bool,
    scheme: int,
    kind: int,
    values: Array,
) -> None:
    """Coefficient of x with each system after each exchange; nan if undefined.

    A place is one item of one system. `systems`, `items` and `codes` have an entry for each place, in ascending order
    of `codes`; equal codes are ties. `choices`, shape (n_draws, n_items, n_systems - 1), are whole numbers below 2^32
    that decide which system takes whose place: the systems that have an item, by `present`, are permuted as Fisher and
    Yates do. The largest number leaves a system where it is. `values` receives a row for each draw.

    Places are in order, so each system's list is in order too after an exchange, and nothing needs sorting.
    """
    n_systems, n_items = present.shape
    # Few arrays of rows, since each array takes .03 s to compile.
    of_systems, taken_codes = np.empty((3, n_systems), np.int64), np.empty((n_systems, n_items), np.int64)
    having, taking, sizes = of_systems[0], of_systems[1], of_systems[2]
    of_items = np.empty((5 + 2 * n_systems, n_items), np.int32)
    entries, x_groups, entry_of = of_items[0], of_items[1], of_items[2]
    takers, taken = of_items[5 : 5 + n_systems], of_items[5 + n_systems :]
    numbers = np.empty((8, n_items))
    copies, x_ranks, x_weights = numbers[0], numbers[1], numbers[2]
    # What follows is in the order of the system's places, from best to worst, so that little is read here and there.
    groups, keys_in_x = of_items[3], of_items[4]
    ranks, ranks_in_x, weights, weights_in_x = numbers[3], numbers[4], numbers[5], numbers[6]
    own_weights = numbers[7]
    tree = np.empty(tree_size(n_items))
    n_entries, entered = 0, -1
    for draw in range(choices.shape[0]):
        for item in range(n_items):
            n_having = 0
            for system in range(n_systems):
                if present[system, item] > 0:
                    having[n_having] = system
                    taking[n_having] = system
                    n_having += 1
            for last in range(n_having - 1, 0, -1):
                other = np.int64((np.uint64(choices[draw, item, last - 1]) * np.uint64(last + 1)) >> BITS)
                taking[last], taking[other] = taking[other], taking[last]
            for place in range(n_having):
                takers[having[place], item] = taking[place]
        for system in range(n_systems):
            sizes[system] = 0
        for place in range(items.size):
            taker = takers[systems[place], items[place]]
            taken[taker, sizes[taker]] = items[place]
            taken_codes[taker, sizes[taker]] = codes[place]
            sizes[taker] += 1
        for system in range(n_systems):
            if entered < 0 or n_different(present[entered], present[system]) > 0:
                n_entries = enter(
                    present[system], x_keys, table, expected, entries, copies, x_groups, x_ranks, x_weights
                )
                for entry in range(n_entries):
                    entry_of[entries[entry]] = entry
                entered = system
            rank_sorted(taken_codes[system], n_entries, table, expected, groups, ranks, own_weights)
            for place in range(n_entries):
                entry = entry_of[taken[system, place]]
                keys_in_x[place] = x_groups[entry]
                weights_in_x[place] = x_weights[entry]
                ranks_in_x[place] = x_ranks[entry]
            heaviest = combined(scheme, n_entries, weights_in_x, own_weights, weights)
            if heaviest < 0:
                values[draw, system] = math.nan
            elif kind == RHO:
                values[draw, system] = rho_of(n_entries, heaviest, copies, weights, ranks_in_x, ranks)
            else:  # the same as with x and the system exchanged
                values[draw, system] = tau_of(n_entries, copies, weights, groups, keys_in_x, tree, kind == TAU_A)


@helper
def n_different(first: Array, second: Array) -> int:
    """Number of places where arrays of 0 and 1 differ; a loop without an early exit compares several at once."""
    number = 0
    for place in range(first.size):
        number += first[place] ^ second[place]
    return number


@helper
def rank_sorted(
    codes: Array, size: int, table: Array, expected: bool, groups: Array, ranks: Array, weights: Array
) -> None:
    """First place, rank and weight of each place, from ascending codes; equal codes tie."""
    start = 0
    while start < size:
        stop = start + 1
        while stop < size and codes[stop] == codes[start]:
            stop += 1
        if stop == start + 1:  # a loop over one place would take three times as long
            groups[start] = start
            ranks[start] = stop
            weights[start] = group_weight(table, expected, stop, stop - start)
        else:
            weight = group_weight(table, expected, stop, stop - start)
            for place in range(start, stop):
                groups[place] = start
                ranks[place] = 0.5 * (start + stop + 1)
                weights[place] = weight
        start = stop


@kernel
def heaviest_chain(first: Array, second: Array, weights: Array, n_keys: int, chain: Array) -> int:
    """Places of the heaviest subsequence in which both keys rise, from its last to its first; return its length.

    `first` ascends, and `second`, whole numbers from 0 below `n_keys`, descends where `first` stands still. A Fenwick
    tree of maxima over `second` makes it O(n log n).
    """
    tree, owner = np.zeros(n_keys + 1, np.int64), np.full(n_keys + 1, -1)
    totals, before = np.empty(first.size, np.int64), np.empty(first.size, np.int64)
    last = 0
    for place in range(first.size):
        node, total, previous = second[place], 0, -1
        while node > 0:  # all smaller keys
            if tree[node] > total:
                total, previous = tree[node], owner[node]
            node -= node & -node
        totals[place], before[place] = total + weights[place], previous
        if totals[place] > totals[last]:
            last = place
        node = second[place] + 1
        while node <= n_keys:
            if totals[place] > tree[node]:
                tree[node], owner[node] = totals[place], place
            node += node & -node
    length = 0
    while last >= 0:
        chain[length] = last
        length += 1
        last = before[last]
    return length
