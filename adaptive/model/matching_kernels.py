"""The loop that turns items to be served into comparisons: an opponent, a voter and a side for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.kernels import PairSet, below, contains, insert, key_of, pair_set, shuffle
from rankcorr.kernels import kernel

Array = NDArray[Any]
Rng = np.random.Generator


# How far from an item in the fitted ranking its opponent is looked for first: 1 to 5 were alike, 3 a little better.
NEAR = 3


@kernel
def opponent(
    item: int, place: Array, order: Array, seen: PairSet, base: int, taken: PairSet, repeats: bool, rng: Rng
) -> int:
    """Return an item near `item` in `order` that the voter has not met it with, or -1 if there is none.

    `base` is what the voter adds to the keys of `seen`; pairs in `taken` are left out unless `repeats`.
    """
    n_items = place.size
    start = 1 + below(rng, NEAR)
    sign = 1 if below(rng, 2) == 0 else -1
    for step in range(n_items):
        distance = start if step == 0 else step
        for turn in range(2):
            at = place[item] + distance * (sign if turn == 0 else -sign)
            if at < 0 or at >= n_items:
                continue
            other = order[at]
            key = key_of(n_items, item, other)
            if not contains(seen, base + key) and (repeats or not contains(taken, key)):
                return int(other)
    return -1


@kernel
def deal_matches(
    chosen: Array,
    order: Array,
    lacking: Array,
    history_left: Array,
    history_right: Array,
    history_voter: Array,
    excess: Array,
    load: Array,
    rng: Rng,
    left: Array,
    right: Array,
    voter: Array,
) -> int:
    """Fill `left`, `right` and `voter`; return how many comparisons could be made.

    `chosen` has the items in the order in which they are served; when it ends it begins anew. An item that is served
    because it is `lacking` comparisons is passed over once it has them. Each meets one of the nearest items in `order`
    that are left for the voter, who is one of those with the least `load`. `excess` counts how much more often an item
    was on the left.
    """
    n_items, n_voters, size = chosen.size, load.size, left.size
    n_keys = n_items * n_items
    place = np.empty(n_items, np.int64)
    for at in range(n_items):
        place[order[at]] = at
    seen = pair_set(n_keys * n_voters, history_left.size + size)
    for k in range(history_left.size):
        if history_voter[k] >= 0:
            insert(seen, history_voter[k] * n_keys + key_of(n_items, history_left[k], history_right[k]))
    taken = pair_set(n_keys, size)  # pairs of this batch, which another voter gets only if nothing else is left
    was_lacking = lacking.copy()
    queue = np.arange(n_voters)
    shuffle(queue, rng)
    queue = queue[np.argsort(load[queue], kind="mergesort")]  # stable: voters of one load stay in random order
    n_made, served, misses, head = 0, 0, 0, 0
    repeats = False
    while n_made < size:
        item = chosen[served % n_items]
        served += 1
        if served <= n_items and was_lacking[item] > 0 and lacking[item] <= 0:
            continue
        v = queue[head % n_voters]
        other = opponent(item, place, order, seen, v * n_keys, taken, repeats, rng)
        if other < 0:
            misses += 1
            if misses < n_items:
                continue
            misses = 0
            if not repeats:
                repeats = True
                continue
            # Nothing is left for this voter.
            n_voters -= 1
            for w in range(head % (n_voters + 1), n_voters):
                queue[w] = queue[w + 1]
            if n_voters == 0:
                break
            continue
        misses = 0
        key = key_of(n_items, item, other)
        insert(seen, v * n_keys + key)
        if not contains(taken, key):
            insert(taken, key)
        lead = excess[item] - excess[other]
        if lead == 0:
            lead = 1 if below(rng, 2) == 0 else -1
        left[n_made], right[n_made] = (other, item) if lead > 0 else (item, other)
        excess[left[n_made]] += 1
        excess[right[n_made]] -= 1
        lacking[item] -= 1
        lacking[other] -= 1
        voter[n_made] = v
        n_made += 1
        head += 1
    return n_made
