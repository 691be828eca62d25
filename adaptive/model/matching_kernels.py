"""The loop that turns items to be served into comparisons: an opponent, a voter and a side for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.kernels import below, contains, insert, key_of, pair_set, shuffle
from rankcorr.kernels import kernel

Array = NDArray[Any]
Rng = np.random.Generator


@kernel
def deal_matches(
    chosen: Array,
    place: Array,
    order: Array,
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

    `chosen` has the items in the order in which they are served; when it ends it begins anew. Each meets the nearest
    item in `order` (whose inverse is `place`) that is left for the voter, who is one of those with the least `load`.
    `excess` counts how much more often an item was on the left.
    """
    n_items, n_voters, size = chosen.size, load.size, left.size
    n_keys = n_items * n_items
    seen = pair_set(n_keys * n_voters, history_left.size + size)
    for k in range(history_left.size):
        if history_voter[k] >= 0:
            insert(seen, history_voter[k] * n_keys + key_of(n_items, history_left[k], history_right[k]))
    taken = pair_set(n_keys, size)  # pairs of this batch, which another voter gets only if nothing else is left
    queue = np.arange(n_voters)
    shuffle(queue, rng)
    # Stable, so that voters of one load stay in random order.
    queue = queue[np.argsort(load[queue], kind="mergesort")]
    n_made, served, misses, head = 0, 0, 0, 0
    repeats = False
    while n_made < size:
        item = chosen[served % n_items]
        v = queue[head % n_voters]
        base = v * n_keys
        other = -1
        first_side = 1 if below(rng, 2) == 0 else -1
        for distance in range(1, n_items):
            for turn in range(2):
                at = place[item] + distance * (first_side if turn == 0 else -first_side)
                if at < 0 or at >= n_items:
                    continue
                key = key_of(n_items, item, order[at])
                if contains(seen, base + key) or (not repeats and contains(taken, key)):
                    continue
                other = order[at]
                break
            if other >= 0:
                break
        served += 1
        if other < 0:
            misses += 1
            if misses >= n_items:  # nothing is left for this voter
                misses = 0
                n_voters_left = n_voters - 1
                if not repeats:
                    repeats = True
                    continue
                for w in range(head % n_voters, n_voters_left):
                    queue[w] = queue[w + 1]
                n_voters = n_voters_left
                if n_voters == 0:
                    break
            continue
        misses = 0
        key = key_of(n_items, item, other)
        insert(seen, base + key)
        if not contains(taken, key):
            insert(taken, key)
        lead = excess[item] - excess[other]
        if lead == 0:
            lead = 1 if below(rng, 2) == 0 else -1
        left[n_made], right[n_made] = (other, item) if lead > 0 else (item, other)
        excess[left[n_made]] += 1
        excess[right[n_made]] -= 1
        voter[n_made] = v
        n_made += 1
        head += 1
    return n_made
