"""Systems that exchange their places, drawn at random, and their coefficients afterwards; compiled by numba."""

import math

import numpy as np

from rankcorr.inference.kernels import (
    RHO,
    TAU_A,
    Array,
    combined,
    enter,
    group_weight,
    rho_of,
    sign_tree,
    tau_of,
)
from rankcorr.kernels import kernel

# The order of systems at one rank is drawn anew at the next with this probability, and is kept otherwise: two systems
# have the same order at neighbouring ranks in 4 of 5 cases. Let a rank two items one way and b the other way, and swap
# one of the two: if the four scores behind it were drawn alike, a and b would still disagree in 2 of 3 cases, and
# scores that are close at one rank are close at the next. Measured levels decided between 2/3 and 1: with 2/3 the level
# of rho_w is 0.065 for 65 items and systems that share 99.9 % of their noise, with 4/5 it is 0.061.
REDRAWN_OF_5 = 2

# A random number is a share of 1 in whole multiples of 2^-48, and is used until it has distinguished 2^15 cases.
DIGITS = 48
BELOW_ONE = (1 << DIGITS) - 1
EXHAUSTED = 1 << 15

# Largest number of systems: a choice among more would need more than 63 binary digits.
MOST_SYSTEMS = 1 << 14


@kernel
def draw_keys(
    rng: np.random.Generator,
    slot_of: Array,
    first: Array,
    width: Array,
    tied: Array,
    n_places: int,
    exchanged: bool,
    keys: Array,
) -> None:
    """Draw how the places of all systems interleave and, if they are `exchanged`, which system takes whose place.

    `slot_of` has a row for each system and holds the slot of each item, -1 where the system lacks it; a slot is a group
    of tied items of one system, or a single item. A slot may lie at any of `width` places from `first` on. `keys` has a
    row for each draw, and in it a row for each system: the places of its items, or of those that it takes from another
    system, as whole numbers below n_systems * n_places.
    """
    n_systems, n_items = slot_of.shape
    wide, groups = np.flatnonzero(width > 1), np.flatnonzero(tied)
    places, held = first.copy(), np.zeros(n_places, np.bool_)
    # With scores no order of systems is drawn: they may have very many places.
    order, orders = np.arange(n_systems), np.zeros((n_systems, 0 if tied.all() else n_places), np.int32)
    having, taken = np.empty(n_systems, np.int32), np.empty(n_systems, np.int64)
    u, used = 0, EXHAUSTED
    for row in range(keys.shape[0]):
        share = rng.random()
        for slot in wide:
            places[slot] = first[slot] + int(share * width[slot])
        held[:] = False
        for slot in groups:
            held[places[slot]] = True
        u, used = draw_orders(rng, u, used, held, order, orders)
        for system in range(n_systems):
            for item in range(n_items):
                slot = slot_of[system, item]
                if slot >= 0:
                    place = places[slot]
                    keys[row, system, item] = n_systems * place
                    if orders.shape[1] > 0:
                        keys[row, system, item] += orders[system, place]
        if not exchanged:
            continue
        for item in range(n_items):
            if n_systems == 2 and slot_of[0, item] >= 0 and slot_of[1, item] >= 0:
                if used >= EXHAUSTED:
                    u, used = int(rng.random() * (1 << DIGITS)), 1
                u *= 2
                used *= 2
                mixed = (keys[row, 0, item] ^ keys[row, 1, item]) * (u >> DIGITS)
                u &= BELOW_ONE
                keys[row, 0, item] ^= mixed
                keys[row, 1, item] ^= mixed
                continue
            n_having = 0
            for system in range(n_systems):
                if slot_of[system, item] >= 0:
                    having[n_having], taken[n_having] = system, keys[row, system, item]
                    n_having += 1
            u, used = shuffle_by(rng, u, used, taken, n_having)
            for place in range(n_having):
                keys[row, having[place], item] = taken[place]


@kernel
def draw_orders(
    rng: np.random.Generator, u: int, used: int, held: Array, order: Array, orders: Array
) -> tuple[int, int]:
    """Draw the order of systems at each place: 0 for all where the place is held by a group of tied items.

    `orders` has a column for each place; `u` and `used` are those of `shuffle_by`.
    """
    u, used = shuffle_by(rng, u, used, order, order.size)
    for place in range(orders.shape[1]):
        if used >= EXHAUSTED:
            u, used = int(rng.random() * (1 << DIGITS)), 1
        u *= 5
        used *= 5
        choice = u >> DIGITS
        u &= BELOW_ONE
        if order.size == 2:  # without a branch, or a loop over two: a new order is the other one in half of the cases
            other = 1 if 2 * choice < REDRAWN_OF_5 else 0
            order[0] ^= other
            order[1] ^= other
            orders[0, place] = 0 if held[place] else order[0]
            orders[1, place] = 0 if held[place] else order[1]
            continue
        if choice < REDRAWN_OF_5:
            u, used = shuffle_by(rng, u, used, order, order.size)
        if held[place]:
            orders[:, place] = 0
        else:
            orders[:, place] = order
    return u, used


@kernel
def shuffle_by(rng: np.random.Generator, u: int, used: int, values: Array, size: int) -> tuple[int, int]:
    """Permute the first `size` values with the unused digits of a random number u; return u and `used`.

    For a number between 0 and 1, the whole part of its product with k is a choice among k. The fraction is another
    number between 0 and 1, with fewer digits. `used` is the number of cases that u has distinguished; from 2^15 on, u
    is drawn anew. So at least 33 binary digits are left for a choice among k, and none is more probable by more than k
    parts in 2^33.
    """
    for last in range(size - 1, 0, -1):
        if used >= EXHAUSTED:
            u, used = int(rng.random() * (1 << DIGITS)), 1
        u *= last + 1
        used *= last + 1
        other = u >> DIGITS
        u &= BELOW_ONE
        kept = values[last]
        values[last] = values[other]
        values[other] = kept
    return u, used


@kernel
def shuffle(rng: np.random.Generator, values: Array, size: int) -> None:
    """Permute the first `size` values at random: Fisher and Yates."""
    for last in range(size - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        kept = values[last]
        values[last] = values[other]
        values[other] = kept


@kernel
def exchanged_coefficients(
    keys: Array,
    n_keys: int,
    x_keys: Array,
    present: Array,
    table: Array,
    expected: bool,
    scheme: int,
    kind: int,
    values: Array,
) -> None:
    """Coefficient of x with each system in each draw of `draw_keys`; nan if undefined.

    `keys` are below `n_keys`, and come in the order of items of x; `present` says which items each system has. Places
    that are mixed are ranked again. `values` receives a row for each draw.
    """
    n_systems, n_items = present.shape
    bits = 1
    while 1 << bits < n_items:
        bits += 1
    mask = (1 << bits) - 1
    entries, copies, x_groups = np.empty(n_items, np.int32), np.empty(n_items), np.empty(n_items, np.int32)
    x_ranks, x_weights = np.empty(n_items), np.empty(n_items)
    packed, ascending = np.empty(n_items, np.int64), np.empty(n_items, np.int64)
    stops = np.empty(n_items + 1, np.int32)
    # What follows is in the order of the system's places, from best to worst, so that little is read here and there.
    groups, keys_in_x = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    ranks, ranks_in_x = np.empty(n_items), np.empty(n_items)
    weights, weights_in_x, own_weights = np.empty(n_items), np.empty(n_items), np.empty(n_items)
    tree = sign_tree(n_items)
    n_entries, entered = 0, -1
    for row in range(keys.shape[0]):
        for system in range(n_systems):
            if entered < 0 or n_different(present[entered], present[system]) > 0:
                n_entries = enter(
                    present[system], x_keys, table, expected, entries, copies, x_groups, x_ranks, x_weights
                )
                entered = system
            for entry in range(n_entries):
                packed[entry] = np.int64(keys[row, system, entries[entry]]) << bits | entry
            sort_packed(packed, n_entries, bits, n_keys, ascending, stops)
            rank_sorted(ascending, n_entries, bits, table, expected, groups, ranks, own_weights)
            for place in range(n_entries):
                entry = ascending[place] & mask
                keys_in_x[place] = x_groups[entry]
                weights_in_x[place] = x_weights[entry]
            heaviest = combined(scheme, n_entries, weights_in_x, own_weights, weights)
            if heaviest < 0:
                values[row, system] = math.nan
            elif kind == RHO:
                for place in range(n_entries):
                    ranks_in_x[place] = x_ranks[ascending[place] & mask]
                values[row, system] = rho_of(n_entries, heaviest, copies, weights, ranks_in_x, ranks)
            else:  # the same as with x and the system exchanged
                values[row, system] = tau_of(n_entries, copies, weights, groups, keys_in_x, tree, kind == TAU_A)


@kernel
def n_different(first: Array, second: Array) -> int:
    """Number of places where arrays of 0 and 1 differ; a loop without an early exit compares several at once."""
    number = 0
    for place in range(first.size):
        number += first[place] ^ second[place]
    return number


@kernel
def rank_sorted(
    ascending: Array, size: int, bits: int, table: Array, expected: bool, groups: Array, ranks: Array, weights: Array
) -> None:
    """First place, rank and weight of each place; places tie if they agree in the digits above `bits`."""
    start = 0
    while start < size:
        stop = start + 1
        while stop < size and ascending[stop] >> bits == ascending[start] >> bits:
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
def sort_packed(packed: Array, size: int, bits: int, n_keys: int, ascending: Array, stops: Array) -> None:
    """Sort numbers whose digits above `bits` spread evenly below `n_keys`: a bucket for each, then insertion."""
    stops[: size + 1] = 0
    per_key = size / n_keys
    for place in range(size):
        stops[int((packed[place] >> bits) * per_key) + 1] += 1
    for bucket in range(size):
        stops[bucket + 1] += stops[bucket]
    for place in range(size):
        bucket = int((packed[place] >> bits) * per_key)
        ascending[stops[bucket]] = packed[place]
        stops[bucket] += 1
    for start in range(1, size):
        number, place = ascending[start], start
        while place > 0 and ascending[place - 1] > number:
            ascending[place] = ascending[place - 1]
            place -= 1
        ascending[place] = number
