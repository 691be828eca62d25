"""Coefficients of resampled items and of systems that exchange places, compiled by numba.

Items are sorted by x. Ranks are given as keys: whole numbers from 0 that ascend from best to worst, one for each tied
group. A resample counts how often each item was drawn. Copies of an item are tied in both rankings, so each item is
processed once, with the weight of all its copies, and mid-ranks follow from the counts. This takes O(n), and O(n log n)
for Kendall's tau.

Callers allocate the working memory, because each array that a kernel allocates adds 0.03 s to its compilation.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankcorr._rank_kernels import (
    RHO,
    TAU_A,
    Array,
    combine,
    helper,
    kernel,
    mean_weight,
    rho_of,
    scale_weights,
    tau_of,
    tree_size,
)

BITS = np.uint64(32)  # of a choice of `permute_systems`, and of half a random number
STEP = np.uint64(0x9E3779B97F4A7C15)  # this and the constants of the next two lines are those of splitmix64
FIRST_SHIFT, SECOND_SHIFT, THIRD_SHIFT, LAST_BITS = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LOW_BITS = np.uint64(0xFFFFFFFF)
SHARED = 8  # number of copies at a position whose values are kept; few positions have more


class Formula(NamedTuple):
    """A coefficient: the weights of the ranks 1, 1.5, 2, .. n, or of the positions 1, 2, .. n if `expected`.

    `scheme` and `kind` are numbers of `rankcorr._rank_kernels`.
    """

    table: Array
    expected: bool
    scheme: int
    kind: int


class Entries(NamedTuple):
    """The drawn items, with their numbers of copies, and their keys, ranks and weights in x and another ranking."""

    items: Array
    x_keys: Array
    y_keys: Array
    copies: Array
    weights: Array
    x_ranks: Array
    x_weights: Array
    y_ranks: Array
    y_weights: Array


class Groups(NamedTuple):
    """Number of items, rank and weight of each tied group of one ranking."""

    sizes: Array
    ranks: Array
    weights: Array


class Memory(NamedTuple):
    """Working memory for coefficients; `tree` is that of `tau_of`, over keys by which entries are not sorted."""

    entries: Entries
    groups: Groups
    tree: Array


class Places(NamedTuple):
    """Working memory for the places of all systems, from best to worst, the entry of each item, and sorted entries."""

    sizes: Array
    items: Array
    codes: Array
    entry_of: Array
    entries: Entries


def new_entries(n_items: int) -> Entries:
    """Return working memory for `n_items`."""
    return Entries(*np.empty((4, n_items), np.int32), *np.empty((5, n_items)))


def new_memory(n_items: int, n_keys: int) -> Memory:
    """Return working memory for the coefficients of `n_items`, with a tree over `n_keys` keys."""
    groups = Groups(np.empty(n_items, np.int32), np.empty(n_items), np.empty(n_items))
    return Memory(new_entries(n_items), groups, np.empty(tree_size(n_keys)))


def new_places(n_systems: int, n_items: int) -> Places:
    """Return working memory for the places of systems."""
    items, codes = np.empty((2, n_systems, n_items), np.int32)
    sizes, entry_of = np.empty(n_systems, np.int32), np.empty(n_items, np.int32)
    return Places(sizes, items, codes, entry_of, new_entries(n_items))


@helper
def group_weight(formula: Formula, stop: int, size: int) -> float:
    """Return the weight of a group of `size` tied items whose last position is `stop`.

    Neither argument may be a constant, because numba would compile the function again for it.
    """
    if formula.expected:
        return float(mean_weight(formula.table, stop, size))
    return float(formula.table[2 * stop - size - 1])  # the mid-rank is stop - (size - 1) / 2


@kernel
def count_draws(draws: Array, counts: Array) -> None:
    """Add the number of times that each item occurs in each row of `draws`."""
    for row in range(draws.shape[0]):
        for draw in range(draws.shape[1]):
            counts[row, draws[row, draw]] += 1


@helper
def scramble(state: Any) -> Any:
    """Mix the bits of a counter, or of each number of an array, one to one: the output function of splitmix64."""
    state = (state ^ (state >> FIRST_SHIFT)) * FIRST_FACTOR
    state = (state ^ (state >> SECOND_SHIFT)) * SECOND_FACTOR
    return state ^ (state >> THIRD_SHIFT)


@helper
def uniform_of(state: Any) -> float:
    """Return a number between 0 and 1, both excluded, from 53 bits of a scrambled state."""
    return (float(scramble(state) >> LAST_BITS) + 0.5) * 2.0**-53


@helper
def gamma_of(d: float, normal: float, level: float) -> float:
    """Return a gamma variate of shape d + 1/3 by Marsaglia and Tsang (2000), or -1 if the numbers are rejected."""
    square = normal * normal
    root = 1.0 + normal / math.sqrt(9.0 * d)
    cube = root * root * root
    if root <= 0.0:
        return -1.0
    if level < 1.0 - 0.0331 * square * square or math.log(level) < 0.5 * square + d * (1.0 - cube + math.log(cube)):
        return d * cube
    return -1.0


@helper
def order_statistic(place: int, n_items: int, state: Any) -> float:
    """Draw the value at a place, from 1, of n sorted uniform numbers: a beta variate, from two gamma variates.

    Normal numbers are drawn by the Box-Muller method. The same state gives the same value.
    """
    low, high = place - 1.0 / 3.0, n_items + 1 - place - 1.0 / 3.0
    first = second = -1.0
    while first < 0.0 or second < 0.0:
        radius = math.sqrt(-2.0 * math.log(uniform_of(state)))
        angle = 2.0 * math.pi * uniform_of(state + STEP)
        levels = scramble(state + STEP + STEP)
        state += STEP + STEP + STEP
        if first < 0.0:
            first = gamma_of(low, radius * math.cos(angle), (float(levels >> BITS) + 0.5) * 2.0**-32)
        if second < 0.0:
            second = gamma_of(high, radius * math.sin(angle), (float(levels & LOW_BITS) + 0.5) * 2.0**-32)
    return first / (first + second)


@kernel
def draw_places(
    drawn_items: Array, starts: Array, sizes: Array, key: int, bits: int, n_copies: Array, values: Array, packed: Array
) -> None:
    """Draw a place between 0 and 1 for each copy of an item in each ranking, packed as `drawn_keys` reads them.

    A copy has the value of the order statistic at the position of its item. An item of a tied group takes a random
    position of the group. The value depends only on the draw, the position and the number of earlier copies at this
    position. All rankings after the first therefore share values, and equal rankings get equal places.

    Parameters
    ----------
    drawn_items : array of int64, shape (n_draws, n_items)
    starts, sizes : array of int64, shape (n_rankings, n_items)
        Number of items before the tied group of each item, and in it.
    key : int
        Seed of the random numbers.
    bits : int
        Number of bits of a copy's number, which replaces the last bits of its place.
    n_copies : array of int64, shape (n_items,)
        Working memory.
    values : array of float64, shape (SHARED, n_items)
        Working memory: the values at each position, negative before they are drawn.
    packed : array of int64, shape (n_draws, n_rankings, n_items)
        The result.
    """
    n_draws, n_rankings, n_items = packed.shape
    number = np.empty(1, np.float64)
    pattern = number.view(np.int64)
    for draw in range(n_draws):
        of_draw = scramble(np.uint64(key) + np.uint64(draw) * STEP)
        for ranking in range(n_rankings):
            stream = scramble(of_draw + np.uint64(min(ranking, 1) + 1))
            if ranking < 2:
                values[:] = -1.0
            n_copies[:] = 0
            for copy in range(n_items):
                item = drawn_items[draw, copy]
                position = starts[ranking, item]
                if sizes[ranking, item] > 1:
                    share = uniform_of(scramble(stream ^ np.uint64(copy)))
                    position += min(int(share * sizes[ranking, item]), sizes[ranking, item] - 1)
                n_earlier = n_copies[position]
                n_copies[position] += 1
                value = values[n_earlier, position] if n_earlier < values.shape[0] else -1.0
                if value < 0.0:
                    state = scramble(stream + np.uint64(n_earlier * n_items + position) * STEP) + np.uint64(1)
                    value = order_statistic(position + 1, n_items, scramble(state))
                    if n_earlier < values.shape[0]:
                        values[n_earlier, position] = value
                number[0] = value
                packed[draw, ranking, copy] = (pattern[0] >> bits << bits) | copy


@kernel
def drawn_keys(packed: Array, bits: int, bounds: Array, rows: Array, keys: Array) -> None:
    """Set the keys of each ranking, with the items in the order of the first ranking, from sorted places.

    `packed`, shape (n_draws, n_rankings, n_items), holds the bits of places between 0 and 1; the last `bits` of each
    are the number of the item. Ranking i has the `bounds` from rows[i] to rows[i + 1], in pairs; places between the two
    bounds of a pair are tied.
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
def rank_entries(
    n_entries: int, keys: Array, copies: Array, groups: Groups, formula: Formula, ranks: Array, weights: Array
) -> None:
    """Set the rank and weight of each entry in one ranking, from its key and its number of copies."""
    for key in range(groups.sizes.size):
        groups.sizes[key] = 0
    for entry in range(n_entries):
        groups.sizes[keys[entry]] += copies[entry]
    before = 0
    for key in range(groups.sizes.size):
        size = groups.sizes[key]
        if size > 0:
            after = before + size
            groups.ranks[key] = before + 0.5 * (size + 1)
            groups.weights[key] = group_weight(formula, after, after - before)
            before = after
    for entry in range(n_entries):
        ranks[entry] = groups.ranks[keys[entry]]
        weights[entry] = groups.weights[keys[entry]]


@helper
def rank_places(size: int, codes: Array, formula: Formula, entries: Entries) -> None:
    """Set the key, rank and weight in y of each entry; `codes` ascend, equal ones are ties, and keys are first places.

    One pass from each end finds the limits of the tied groups. Ties after an exchange are random, so a branch for each
    group would be mispredicted.
    """
    start = 0
    for place in range(size):
        if place > 0 and codes[place] != codes[place - 1]:
            start = place
        entries.y_keys[place] = start
    stop = size
    for place in range(size - 1, -1, -1):
        if place + 1 < size and codes[place] != codes[place + 1]:
            stop = place + 1
        entries.y_ranks[place] = 0.5 * (entries.y_keys[place] + stop + 1)
        entries.y_weights[place] = group_weight(formula, stop, stop - entries.y_keys[place])


@helper
def enter(counts: Array, x_keys: Array, formula: Formula, groups: Groups, entries: Entries) -> int:
    """Collect the items drawn, from best to worst in x, with their ranks in x; return how many there are."""
    n_entries: Any = np.int64(0)  # numba would compile the helpers again for a constant 0
    for item in range(x_keys.size):
        if counts[item] > 0:
            entries.items[n_entries] = item
            entries.copies[n_entries] = counts[item]
            entries.x_keys[n_entries] = x_keys[item]
            n_entries += 1
    rank_entries(n_entries, entries.x_keys, entries.copies, groups, formula, entries.x_ranks, entries.x_weights)
    return int(n_entries)


@helper
def coefficient_of(
    n_entries: int, entries: Entries, sorted_keys: Array, other_keys: Array, formula: Formula, tree: Array
) -> float:
    """Return the coefficient of entries whose ranks and weights in both rankings are set; nan if undefined.

    `sorted_keys` are those of the ranking by which the entries are sorted, and `tree` is over the other keys.
    """
    weights = entries.weights
    for entry in range(n_entries):
        weights[entry] = combine(formula.scheme, entries.x_weights[entry], entries.y_weights[entry])
    heaviest, largest = scale_weights(n_entries, weights)
    if largest == 0.0:
        return math.nan
    if formula.kind == RHO:
        for entry in range(n_entries):
            weights[entry] *= entries.copies[entry]
        return float(rho_of(n_entries, heaviest, weights, entries.x_ranks, entries.y_ranks))
    is_a = formula.kind == TAU_A
    return float(tau_of(n_entries, entries.copies, weights, sorted_keys, other_keys, tree, is_a))


@kernel
def resampled_coefficients(counts: Array, keys: Array, formula: Formula, memory: Memory, values: Array) -> None:
    """Compute the coefficients of the first ranking with each other one in each resample; nan if undefined.

    `keys`, shape (n_resamples or 1, 1 + n_others, n_items), number the tied groups of each ranking; the keys of the
    first ranking ascend. `counts`, shape (n_resamples or 1, n_items), holds how often each item was drawn; its sum is
    at most the number of items. The results are written to `values`, one row for each resample.
    """
    entries, groups, tree = memory.entries, memory.groups, memory.tree
    for row in range(values.shape[0]):
        row_counts, row_keys = counts[row if counts.shape[0] > 1 else 0], keys[row if keys.shape[0] > 1 else 0]
        n_entries = enter(row_counts, row_keys[0], formula, groups, entries)
        for y in range(values.shape[1]):
            for entry in range(n_entries):
                entries.y_keys[entry] = row_keys[y + 1, entries.items[entry]]
            y_ranks, y_weights = entries.y_ranks, entries.y_weights
            rank_entries(n_entries, entries.y_keys, entries.copies, groups, formula, y_ranks, y_weights)
            values[row, y] = coefficient_of(n_entries, entries, entries.x_keys, entries.y_keys, formula, tree)


@helper
def shuffle(rng: np.random.Generator, values: Array, size: int) -> None:
    """Permute the first `size` values at random, by the Fisher-Yates shuffle."""
    for last in range(size - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        values[last], values[other] = values[other], values[last]


@kernel
def permuted_rows(rng: np.random.Generator, ranks: Array, rows: Array) -> None:
    """Fill each row with the ranks in random order.

    `Generator.permuted` takes 8 us for 1,000 items and holds the GIL; this takes 4 us.
    """
    n_rows, n_items = rows.shape
    for row in range(n_rows):
        for item in range(n_items):
            rows[row, item] = ranks[item]
        shuffle(rng, rows[row], n_items)


@kernel
def permute_systems(choices: Array, owners: Array, n_owners: Array, takers: Array) -> None:
    """Set the system that takes the place of each system, for each draw and item.

    `choices`, shape (n_draws, n_items, n_systems - 1), are random whole numbers below 2^32 for a Fisher-Yates shuffle
    of the systems that have an item; the largest number keeps a system in place. The first `n_owners[item]` numbers of
    `owners[item]` are these systems. The result, `takers`, has the shape (n_draws, n_systems, n_items).
    """
    n_draws, n_systems, n_items = takers.shape
    for draw in range(n_draws):
        for system in range(n_systems):
            for item in range(n_items):
                takers[draw, system, item] = system
        for item in range(n_items):
            for last in range(n_owners[item] - 1, 0, -1):
                choice = np.int64((np.uint64(choices[draw, item, last - 1]) * np.uint64(last + 1)) >> BITS)
                first, second = owners[item, last], owners[item, choice]
                taker = takers[draw, first, item]
                takers[draw, first, item] = takers[draw, second, item]
                takers[draw, second, item] = taker


@kernel
def exchanged_coefficients(
    takers: Array,
    systems: Array,
    items: Array,
    codes: Array,
    x_keys: Array,
    present: Array,
    formula: Formula,
    places: Places,
    memory: Memory,
    values: Array,
) -> None:
    """Compute the coefficients of x with each system after each exchange; nan if undefined.

    A place is one item of one system. `systems`, `items` and `codes` have an entry for each place, in ascending order
    of `codes`; equal codes are ties. Because places are in order, the list of each system is in order after an
    exchange too, without sorting. `takers` are those of `permute_systems`. The results are written to `values`, one row
    for each draw.
    """
    n_systems = present.shape[0]
    x_order, y_order = memory.entries, places.entries
    n_entries: Any = np.int64(0)
    entered = -1
    for draw in range(takers.shape[0]):
        for system in range(n_systems):
            places.sizes[system] = 0
        for place in range(items.size):
            taker = takers[draw, systems[place], items[place]]
            size = places.sizes[taker]
            places.items[taker, size] = items[place]
            places.codes[taker, size] = codes[place]
            places.sizes[taker] = size + 1
        for system in range(n_systems):
            if entered < 0 or n_different(present[entered], present[system]) > 0:
                n_entries = enter(present[system], x_keys, formula, memory.groups, x_order)
                for entry in range(n_entries):
                    places.entry_of[x_order.items[entry]] = entry
                    y_order.copies[entry] = 1
                entered = system
            rank_places(n_entries, places.codes[system], formula, y_order)
            for place in range(n_entries):
                entry = places.entry_of[places.items[system, place]]
                y_order.x_keys[place] = x_order.x_keys[entry]
                y_order.x_ranks[place] = x_order.x_ranks[entry]
                y_order.x_weights[place] = x_order.x_weights[entry]
            # tau is symmetric, and gold often has few keys, which makes a small tree.
            values[draw, system] = coefficient_of(
                n_entries, y_order, y_order.y_keys, y_order.x_keys, formula, memory.tree
            )


@helper
def n_different(first: Array, second: Array) -> int:
    """Return the number of places where two arrays of 0 and 1 differ; without an early exit, so that it vectorizes."""
    number = 0
    for place in range(first.size):
        number += first[place] ^ second[place]
    return number


@kernel
def heaviest_chain(first: Array, second: Array, weights: Array, n_keys: int, chain: Array) -> int:
    """Set `chain` to the places, last first, of the heaviest subsequence with both keys increasing; return its length.

    `first` ascends. `second`, whole numbers from 0 below `n_keys`, descends among equal values of `first`. A Fenwick
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
