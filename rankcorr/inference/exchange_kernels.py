"""Systems that exchange their places, drawn at random, and their coefficients afterwards; compiled by numba."""

import math

import numpy as np

from rankcorr.inference.kernels import (
    FANOUT,
    RHO,
    TAU_A,
    Array,
    combined,
    enter,
    group_weight,
    rho_of,
    tau_of,
    tree_starts,
)
from rankcorr.kernels import kernel

# The order in which systems come at one rank is drawn anew at the next with this probability, and goes on otherwise:
# two systems come in the same order at neighbouring ranks in 4 of 5 cases. Let a rank two items one way and b the other
# way, and swap one of the two: if the four scores behind it were drawn alike, a and b would still disagree in 2 of 3
# cases, and scores that are close at one rank are close at the next. Measured levels decided between 2/3 and 1: with
# 2/3 the level of rho_w is 0.065 for 65 items and systems that share 99.9 % of their noise, with 4/5 it is 0.061.
REDRAWN = 0.4


@kernel
def draw_exchanges(
    rng: np.random.Generator,
    slot_of: Array,
    first: Array,
    width: Array,
    tied: Array,
    n_places: int,
    sources: Array,
    keys: Array,
) -> None:
    """Draw which system's place each system takes of each item, and how the places of all systems interleave.

    `slot_of` has a row for each system and holds the slot of each item, -1 where the system lacks it; a slot is a group
    of tied items of one system, or a single item. A slot may lie at any of `width` places from `first` on. `sources`
    and `keys` have a row for each exchange, and in it a row for each system: the system whose place it takes, and the
    place that it has itself, as a whole number below n_systems * n_places.
    """
    n_systems, n_items = slot_of.shape
    places, held = np.empty(first.size, np.int64), np.empty(n_places, np.bool_)
    n_ordered = 0 if tied.all() else n_places  # scores, of which there may be many, come in no order of systems
    order, orders = np.arange(n_systems), np.empty((n_ordered, n_systems), np.int32)
    having = np.empty(n_systems, np.int32)
    for row in range(sources.shape[0]):
        share = rng.random()
        held[:] = False
        for slot in range(first.size):
            places[slot] = first[slot] + int(share * width[slot])
            if tied[slot]:
                held[places[slot]] = True
        for place in range(n_ordered):
            if place == 0 or rng.random() < REDRAWN:
                shuffle(rng, order, n_systems)
            for system in range(n_systems):
                orders[place, system] = 0 if held[place] else order[system]
        for item in range(n_items):
            n_having = 0
            for system in range(n_systems):
                slot = slot_of[system, item]
                if slot >= 0:
                    keys[row, system, item] = n_systems * places[slot]
                    if n_ordered > 0:
                        keys[row, system, item] += orders[places[slot], system]
                    having[n_having] = system
                    n_having += 1
            for place in range(n_having):
                sources[row, having[place], item] = place
            # A permutation of the systems that have the item, drawn in place: `having` keeps their order.
            for last in range(n_having - 1, 0, -1):
                other = int(rng.random() * (last + 1))
                kept = sources[row, having[last], item]
                sources[row, having[last], item] = sources[row, having[other], item]
                sources[row, having[other], item] = kept
            for place in range(n_having):
                sources[row, having[place], item] = having[sources[row, having[place], item]]


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
    sources: Array,
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
    """Coefficient of x with each system in each exchange, after it took the places that `sources` names.

    The arguments are those of `draw_exchanges`, in the order of items of x; `present` says which items each system has.
    Places that are mixed in this way are ranked again. `values` receives a row for each exchange; nan if undefined.
    """
    n_systems, n_items = present.shape
    entries, groups = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    copies, weights = np.empty(n_items), np.empty(n_items)
    x_ranks, x_weights = np.empty(n_items), np.empty(n_items)
    y_keys, y_ranks, y_weights = np.empty(n_items, np.int32), np.empty(n_items), np.empty(n_items)
    taken, sorted_entries = np.empty(n_items, np.int64), np.empty(n_items, np.int32)
    stops = np.empty(n_items + 1, np.int32)
    starts = tree_starts(n_items)
    tree, masses = np.empty((starts[-1], FANOUT)), np.empty(n_items)
    n_entries, entered = 0, -1
    for row in range(sources.shape[0]):
        for system in range(n_systems):
            if entered < 0 or (entered != system and not np.array_equal(present[entered], present[system])):
                n_entries = enter(present[system], x_keys, table, expected, entries, copies, groups, x_ranks, x_weights)
                entered = system
            for entry in range(n_entries):
                item = entries[entry]
                taken[entry] = keys[row, sources[row, system, item], item]
            sort_entries(taken, n_entries, n_keys, sorted_entries, stops)
            before = 0
            while before < n_entries:
                stop = before
                while stop < n_entries and taken[sorted_entries[stop]] == taken[sorted_entries[before]]:
                    stop += 1
                weight = group_weight(table, expected, before, stop - before)
                for place in range(before, stop):
                    entry = sorted_entries[place]
                    y_keys[entry] = before
                    y_ranks[entry] = 0.5 * (before + stop + 1)
                    y_weights[entry] = weight
                before = stop
            heaviest = combined(scheme, n_entries, x_weights, y_weights, weights)
            if heaviest < 0:
                values[row, system] = math.nan
            elif kind == RHO:
                values[row, system] = rho_of(n_entries, heaviest, copies, weights, x_ranks, y_ranks)
            else:
                values[row, system] = tau_of(
                    n_entries, copies, weights, groups, y_keys, starts, tree, masses, kind == TAU_A
                )


@kernel
def sort_entries(keys: Array, n_entries: int, n_keys: int, order: Array, stops: Array) -> None:
    """Entries in ascending order of their keys, which spread evenly below `n_keys`: buckets, then insertion."""
    stops[: n_entries + 1] = 0
    for entry in range(n_entries):
        stops[keys[entry] * n_entries // n_keys + 1] += 1
    for bucket in range(n_entries):
        stops[bucket + 1] += stops[bucket]
    for entry in range(n_entries):
        bucket = keys[entry] * n_entries // n_keys
        order[stops[bucket]] = entry
        stops[bucket] += 1
    for start in range(1, n_entries):
        entry, place = order[start], start
        while place > 0 and keys[order[place - 1]] > keys[entry]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = entry
