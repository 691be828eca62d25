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
def count_history(left: Array, right: Array, voter: Array, excess: Array, load: Array) -> None:
    """Add how much more often each item was on the left than on the right, and how often each voter was asked."""
    for k in range(left.size):
        excess[left[k]] += 1
        excess[right[k]] -= 1
        if voter[k] >= 0:
            load[voter[k]] += 1


@kernel
def pairs_seen(left: Array, right: Array, voter: Array, asked: Array, n_items: int, size: int) -> PairSet:
    """Pairs that the voters in `asked` have seen, with room for `size` more."""
    n_rows = size
    for k in range(left.size):
        n_rows += voter[k] >= 0 and asked[voter[k]]
    n_keys = n_items * n_items
    seen = pair_set(n_keys * asked.size, n_rows)
    for k in range(left.size):
        if voter[k] >= 0 and asked[voter[k]]:
            insert(seen, voter[k] * n_keys + key_of(n_items, left[k], right[k]))
    return seen


@kernel
def deal_matches(
    chosen: Array,
    order: Array,
    lacking: Array,
    history_left: Array,
    history_right: Array,
    history_voter: Array,
    n_voters: int,
    rng: Rng,
    left: Array,
    right: Array,
    voter: Array,
) -> int:
    """Fill `left`, `right` and `voter`; return how many comparisons could be made.

    `chosen` has the items in the order in which they are served; when it ends it begins anew. An item that is served
    because it is `lacking` comparisons is passed over once it has them. Each meets one of the nearest items in `order`
    that are left for the voter, who is one of those with the fewest comparisons.
    """
    n_items, size = chosen.size, left.size
    n_keys = n_items * n_items
    place = np.empty(n_items, np.int64)
    for at in range(n_items):
        place[order[at]] = at
    excess, load = np.zeros(n_items, np.int64), np.zeros(n_voters, np.int64)
    count_history(history_left, history_right, history_voter, excess, load)
    taken = pair_set(n_keys, size)  # pairs of this batch, which another voter gets only if nothing else is left
    was_lacking = lacking.copy()
    queue = np.arange(n_voters)
    shuffle(queue, rng)
    # Stable, so that voters of one load stay in random order.
    queue = queue[np.argsort(load[queue], kind="mergesort")]
    # A set of all that was seen would take most of the time of a single comparison.
    asked = np.zeros(n_voters, np.bool_)
    asked[queue[:size]] = True
    seen = pairs_seen(history_left, history_right, history_voter, asked, n_items, size)
    n_made, served, misses, head = 0, 0, 0, 0
    repeats = False
    while n_made < size:
        item = chosen[served % n_items]
        served += 1
        if served <= n_items and was_lacking[item] > 0 and lacking[item] <= 0:
            continue
        v = queue[head % n_voters]
        if not asked[v]:  # one of those before had nothing left
            asked[:] = True
            seen = pairs_seen(history_left, history_right, history_voter, asked, n_items, size)
            for k in range(n_made):
                insert(seen, voter[k] * n_keys + key_of(n_items, left[k], right[k]))
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
