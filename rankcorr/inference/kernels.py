"""Coefficients of resampled items, and of systems that exchange their ranks, in linear time; compiled by numba.

Items come sorted by x, and ranks as keys: whole numbers from 0 that ascend from best to worst, one for each group of
ties. A resample says how often each item was drawn. Copies of one item are ties in both rankings, so an item enters
once, with the weight of all its copies, and mid-ranks follow from counts alone: O(n), except for the sums of Kendall's
kind, which take O(n log n).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.kernels import combine, kernel

Array = NDArray[Any]

# The order in which systems come at one rank is drawn anew at the next with this probability, and goes on otherwise:
# two systems come in the same order at neighbouring ranks in 4 of 5 cases. Let a rank two items one way and b the other
# way, and swap one of the two: if the four scores behind it were drawn alike, a and b would still disagree in 2 of 3
# cases, and scores that are close at one rank are close at the next. Measured levels decided between 2/3 and 1: with
# 2/3 the level of rho_w is 0.065 for 65 items and systems that share 99.9 % of their noise, with 4/5 it is 0.061.
REDRAWN = 0.4

RHO, TAU_A, TAU_B = range(3)

# Cells of a node of the tree of signs. Measured at 2,000 items: 14 ns for each item to sum and enter; 16 ns with 4
# cells, 21 ns with 16, and 20 ns by two Fenwick trees, one for each sign.
FANOUT = 8
SHIFT = 3
SIGNS = np.sign(np.arange(FANOUT) - np.arange(FANOUT)[:, np.newaxis]).astype(np.float64)


@kernel
def quotient(numerator: float, x_norm: float, y_norm: float) -> float:
    """The same as `rankcorr.coefficients.ratio`."""
    denominator = math.sqrt(x_norm * y_norm)
    if denominator == 0.0:
        denominator = math.sqrt(x_norm) * math.sqrt(y_norm)
    if denominator == 0.0:
        return math.nan
    return min(1.0, max(-1.0, numerator / denominator))


@kernel
def group_weight(table: Array, expected: bool, before: int, size: int) -> float:
    """Weight of the rank of a group of `size` tied items that comes after `before` items.

    `table` holds the weights of the ranks 1, 1.5, 2, .. n, or of the positions 1, 2, .. n if `expected`.
    """
    if not expected:
        return float(table[2 * before + size - 1])  # the mid-rank is before + (size + 1) / 2
    total = 0.0
    for position in range(before, before + size):
        total += table[position]
    return total / size


@kernel
def count_draws(draws: Array, counts: Array) -> None:
    """How often each item occurs in each row of `draws`."""
    counts[:] = 0
    for row in range(draws.shape[0]):
        for draw in range(draws.shape[1]):
            counts[row, draws[row, draw]] += 1


@kernel
def packed_scores(scores: Array, scales: Array, strengths: Array, packed: Array) -> None:
    """Scores of x and of others, as whole numbers that order them and carry the item in their last bits.

    `scores` are normal, shape (n_draws, 1 + n_others, n_items), those of x first; `strengths`, shape (n_draws,
    n_others), are Fisher's z of the correlations. `scales` multiply the scores of an item, unless there are none.
    """
    n_draws, n_rows, n_items = scores.shape
    bits = 1
    while 1 << bits < n_items:
        bits += 1
    buffer = np.empty(n_items)
    whole = buffer.view(np.int64)
    for draw in range(n_draws):
        for row in range(n_rows):
            if row == 0:
                slope, own = 1.0, 0.0
            else:
                slope, own = math.tanh(strengths[draw, row - 1]), 1.0 / math.cosh(strengths[draw, row - 1])
            if scales.shape[1] == 0:
                for item in range(n_items):
                    buffer[item] = slope * scores[draw, 0, item] + own * scores[draw, row, item]
            else:
                for item in range(n_items):
                    buffer[item] = (slope * scores[draw, 0, item] + own * scores[draw, row, item]) * scales[draw, item]
            for item in range(n_items):
                number = whole[item]
                if number < 0:  # the larger, the further below zero
                    number ^= 0x7FFFFFFFFFFFFFFF
                packed[draw, row, item] = (number >> bits << bits) | item


@kernel
def drawn_keys(packed: Array, bounds: Array, rows: Array, keys: Array) -> None:
    """Keys of each ranking in the order of the first, from sorted numbers of `packed_scores`.

    Row i has the `bounds` from rows[i] to rows[i + 1]; scores from one of even number to the next are tied.
    """
    n_draws, n_rows, n_items = packed.shape
    bits = 1
    while 1 << bits < n_items:
        bits += 1
    mask = (1 << bits) - 1
    key_of = np.empty(n_items, np.int32)
    number = np.empty(1, np.int64)
    score = number.view(np.float64)
    for draw in range(n_draws):
        for row in range(n_rows):
            bound, stop, key = rows[row], rows[row + 1], 0
            within = -1
            for place in range(n_items):
                key = place
                if bound < stop:
                    number[0] = packed[draw, row, place] & ~mask
                    if number[0] < 0:
                        number[0] ^= 0x7FFFFFFFFFFFFFFF
                    while bound < stop and score[0] >= bounds[bound]:
                        bound += 1
                        within = -1
                    if (bound - rows[row]) % 2 == 1:
                        if within < 0:
                            within = place
                        key = within
                if row == 0:
                    keys[draw, 0, place] = key
                else:
                    key_of[packed[draw, row, place] & mask] = key
            if row > 0:
                for place in range(n_items):
                    keys[draw, row, place] = key_of[packed[draw, 0, place] & mask]


@kernel
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
            rank, weight = before + 0.5 * (size + 1), group_weight(table, expected, before, size)
            for item in range(start, stop):
                if counts[item] > 0:
                    entries[n_entries] = item
                    copies[n_entries] = counts[item]
                    groups[n_entries] = group
                    ranks[n_entries] = rank
                    weights[n_entries] = weight
                    n_entries += 1
            before += size
            group += 1
        start = stop
    return n_entries


@kernel
def rank_keys(sizes: Array, table: Array, expected: bool, ranks: Array, weights: Array, places: Array) -> None:
    """Rank, weight and number of items before, of each key; `sizes` says how many items share a key."""
    before = 0
    for key in range(sizes.size):
        size = sizes[key]
        if size > 0:
            places[key] = before
            ranks[key] = before + 0.5 * (size + 1)
            weights[key] = group_weight(table, expected, before, size)
            before += size


@kernel
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


@kernel
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


@kernel
def tree_starts(n_keys: int) -> Array:
    """Where the levels of a tree of signs over `n_keys` keys start, and where the last one ends, in nodes."""
    starts = np.zeros(34, np.int64)
    levels, size = 0, n_keys
    while True:
        nodes = (size + FANOUT - 1) // FANOUT
        starts[levels + 1] = starts[levels] + nodes
        levels += 1
        if nodes == 1:
            return starts[: levels + 1]
        size = nodes


@kernel
def sign_sum(tree: Array, starts: Array, key: int) -> float:
    """Sum over the weights in a tree of signs, each times the sign of `key` less its own key.

    A cell holds the weights that came to its node, each times the sign of the cell less the weight's own cell.
    """
    total = 0.0
    for level in range(starts.size - 1):
        total += tree[starts[level] + (key >> SHIFT), key & (FANOUT - 1)]
        key >>= SHIFT
    return total


@kernel
def sign_enter(tree: Array, starts: Array, key: int, weight: float) -> float:
    """Return the same sum, and then enter the weight at its key."""
    total = 0.0
    for level in range(starts.size - 1):
        within = key & (FANOUT - 1)
        key >>= SHIFT
        node, signs = tree[starts[level] + key], SIGNS[within]
        total += node[within]
        for cell in range(FANOUT):  # all of them, whatever the key: there is no branch to mispredict
            node[cell] += weight * signs[cell]
    return total


@kernel
def tau_of(
    n_entries: int,
    copies: Array,
    weights: Array,
    groups: Array,
    y_keys: Array,
    starts: Array,
    tree: Array,
    masses: Array,
    variant_a: bool,
) -> float:
    """Sum of w_i w_j sign(a_j - a_i) sign(b_j - b_i) over pairs, divided as Eq. 7 does, or by all pairs (variant "a").

    `tree` and `masses` are working memory: the nodes of a tree of signs, and a number for each key.
    """
    # Items tied in y have equal keys, and so exactly no part in one another's sums: a heavy group costs no digits.
    tree[:] = 0.0
    masses[:] = 0.0
    numerator, untied_in_x, untied_in_y, all_pairs, before = 0.0, 0.0, 0.0, 0.0, 0.0
    start = 0
    while start < n_entries:
        stop, mass = start, 0.0
        while stop < n_entries and groups[stop] == groups[start]:
            key, weight = y_keys[stop], copies[stop] * weights[stop]
            all_pairs += weight * mass + 0.5 * (copies[stop] - 1.0) * weight * weights[stop]
            masses[key] += weight
            mass += weight
            stop += 1
        if stop - start == 1:
            numerator += mass * sign_enter(tree, starts, y_keys[start], mass)
        else:
            for entry in range(start, stop):
                numerator += copies[entry] * weights[entry] * sign_sum(tree, starts, y_keys[entry])
            for entry in range(start, stop):
                sign_enter(tree, starts, y_keys[entry], copies[entry] * weights[entry])
        untied_in_x += mass * before
        before += mass
        start = stop
    all_pairs += untied_in_x
    before = 0.0
    for mass in masses:
        untied_in_y += mass * before
        before += mass
    if variant_a and untied_in_x > 0.0 and untied_in_y > 0.0:
        return quotient(numerator, all_pairs, all_pairs)
    return quotient(numerator, untied_in_x, untied_in_y)


@kernel
def resampled_coefficients(
    counts: Array, x_keys: Array, y_keys: Array, table: Array, expected: bool, scheme: int, kind: int, values: Array
) -> None:
    """Coefficient of x with each row of y in each resample; nan where it is undefined.

    `counts` has a row for each resample, and says how often each item was drawn; they sum to no more than the number
    of items, since the table ends there. `x_keys` ascends; `y_keys` has a row for each y, in the same order of items.
    `values` receives a row for each resample.
    """
    n_items = x_keys.size
    entries, groups = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    copies, weights = np.empty(n_items), np.empty(n_items)
    x_ranks, x_weights = np.empty(n_items), np.empty(n_items)
    sizes, places = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    key_ranks, key_weights = np.empty(n_items), np.empty(n_items)
    keys, y_ranks, y_weights = np.empty(n_items, np.int32), np.empty(n_items), np.empty(n_items)
    starts = tree_starts(n_items)
    tree, masses = np.empty((starts[-1], FANOUT)), np.empty(n_items)
    for row in range(counts.shape[0]):
        n_entries = enter(counts[row], x_keys, table, expected, entries, copies, groups, x_ranks, x_weights)
        for y in range(y_keys.shape[0]):
            sizes[:] = 0
            for entry in range(n_entries):
                keys[entry] = y_keys[y, entries[entry]]
                sizes[keys[entry]] += counts[row, entries[entry]]
            rank_keys(sizes, table, expected, key_ranks, key_weights, places)
            for entry in range(n_entries):
                y_ranks[entry] = key_ranks[keys[entry]]
                y_weights[entry] = key_weights[keys[entry]]
            heaviest = combined(scheme, n_entries, x_weights, y_weights, weights)
            if heaviest < 0:
                values[row, y] = math.nan
            elif kind == RHO:
                values[row, y] = rho_of(n_entries, heaviest, copies, weights, x_ranks, y_ranks)
            else:
                values[row, y] = tau_of(n_entries, copies, weights, groups, keys, starts, tree, masses, kind == TAU_A)


@kernel
def drawn_coefficients(keys: Array, table: Array, expected: bool, scheme: int, kind: int, values: Array) -> None:
    """Coefficient of the first ranking with each other in each draw; nan where it is undefined.

    `keys`, shape (n_draws, 1 + n_others, n_items), number the tied groups of each ranking; those of the first ascend.
    """
    once = np.ones((1, keys.shape[2]), np.int32)
    for draw in range(keys.shape[0]):
        resampled_coefficients(
            once, keys[draw, 0], keys[draw, 1:], table, expected, scheme, kind, values[draw : draw + 1]
        )


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
