"""Systems that exchange places with one another, and their coefficients afterwards; compiled by numba."""

import math

import numpy as np

from rankcorr.inference.kernels import RHO, TAU_A, Array, combined, enter, group_weight, rho_of, sign_tree, tau_of
from rankcorr.kernels import kernel

BITS = np.uint64(32)


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
    having, taking = np.empty(n_systems, np.int32), np.empty(n_systems, np.int32)
    takers = np.empty((n_systems, n_items), np.int32)
    sizes = np.empty(n_systems, np.int64)
    taken, taken_codes = np.empty((n_systems, n_items), np.int32), np.empty((n_systems, n_items), np.int64)
    entries, copies, x_groups = np.empty(n_items, np.int32), np.empty(n_items), np.empty(n_items, np.int32)
    x_ranks, x_weights, entry_of = np.empty(n_items), np.empty(n_items), np.empty(n_items, np.int32)
    # What follows is in the order of the system's places, from best to worst, so that little is read here and there.
    groups, keys_in_x = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    ranks, ranks_in_x = np.empty(n_items), np.empty(n_items)
    weights, weights_in_x, own_weights = np.empty(n_items), np.empty(n_items), np.empty(n_items)
    tree = sign_tree(n_items)
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
                kept = taking[last]
                taking[last] = taking[other]
                taking[other] = kept
            for place in range(n_having):
                takers[having[place], item] = taking[place]
        sizes[:] = 0
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


@kernel
def n_different(first: Array, second: Array) -> int:
    """Number of places where arrays of 0 and 1 differ; a loop without an early exit compares several at once."""
    number = 0
    for place in range(first.size):
        number += first[place] ^ second[place]
    return number


@kernel
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
            weights[start] = group_weight(table, expected, start, 1)
        else:
            groups[start:stop] = start
            ranks[start:stop] = 0.5 * (start + stop + 1)
            weights[start:stop] = group_weight(table, expected, start, stop - start)
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
