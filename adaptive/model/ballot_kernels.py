"""The loops that pair neighbours: each item in as many comparisons as it should be, and no pair twice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.kernels import (
    Pairs,
    PairSet,
    below,
    contains,
    counted_pairs,
    dealt_comparisons,
    discard,
    insert,
    key_of,
    pair_set,
)
from rankcorr.kernels import kernel

Array = NDArray[Any]
Rng = np.random.Generator


@kernel
def join(u: int, w: int, n_nodes: int, n_real: int, ends: Array, n_ends: int, members: PairSet) -> int:
    """Give two nodes one more pair each, and return the new number of ends; -1 if there is no way.

    They meet, or, if they have met, some pair (a, b) becomes (u, a) and (w, b): the last one made for which that gives
    no repeat, because what was made last stands nearest to them. Nodes from `n_real` on are not paired with them.
    """
    key = key_of(n_nodes, u, w)
    if u != w and not contains(members, key):
        insert(members, key)
        ends[n_ends], ends[n_ends + 1] = u, w
        return n_ends + 2
    for end in range(n_ends - 1, -1, -1):
        a, b = ends[end], ends[end ^ 1]
        if a in (u, w) or b in (u, w) or max(a, b) >= n_real:
            continue
        one, other = key_of(n_nodes, u, a), key_of(n_nodes, w, b)
        if contains(members, one) or contains(members, other):
            continue
        discard(members, key_of(n_nodes, a, b))
        insert(members, one)
        insert(members, other)
        ends[end], ends[end ^ 1] = u, a
        ends[n_ends], ends[n_ends + 1] = w, b
        return n_ends + 2
    return -1


@kernel
def pair_neighbours(orders: Array, ends: Array, members: PairSet) -> int:
    """One round for each row of `orders`: everyone meets the next in it whom they have not met; return how many ends.

    -1 if a round cannot be completed. That does not happen with up to half as many rounds as nodes: two that are left
    over have n / 2 or more each whom they have not met, all of them paired, and n / 2 - 1 pairs, so that some pair has
    three links to them and can be exchanged.
    """
    n_rounds, n_nodes = orders.shape
    n_ends = 0
    follower = np.empty(n_nodes + 1, np.int64)  # of the places that are still free
    for round_ in range(n_rounds):
        for place in range(n_nodes + 1):
            follower[place] = place + 1
        # A list of places with a head before the first.
        head = 0
        start = n_ends
        first_left = -1
        while head < n_nodes:
            u = orders[round_, head]
            before, at = head, follower[head]
            while at < n_nodes and contains(members, key_of(n_nodes, u, orders[round_, at])):
                before, at = at, follower[at]
            if at < n_nodes:
                w = orders[round_, at]
                insert(members, key_of(n_nodes, u, w))
                ends[n_ends], ends[n_ends + 1] = u, w
                n_ends += 2
                follower[before] = follower[at]
            elif first_left < 0:
                first_left = u
            else:
                n_ends = join(first_left, u, n_nodes, n_nodes, ends, n_ends, members)
                if n_ends < 0:
                    return -1
                first_left = -1
            head = follower[head]
        if n_ends - start != n_nodes:
            return -1
    return n_ends


@kernel
def matched_pairs(orders: Array, n_items: int, copies: int, sparse: bool, rng: Rng) -> Pairs:
    """Both items of each compared pair, and how often; empty if some pair would have to come twice.

    With an odd number of items the node n_items stands for sitting out. Those who sat out meet each other in the end;
    if they are odd in number, one more item joins them, or, where the pairs to leave out are made, one goes without.
    """
    n_rounds, n_nodes = orders.shape
    members = pair_set(n_nodes * n_nodes, n_rounds * n_nodes)
    ends = np.empty(n_rounds * n_nodes + 2 * n_rounds + 4, np.int32)
    n_ends = pair_neighbours(orders, ends, members)
    none = np.empty(0, np.int32)
    if n_ends < 0:
        return none, none, none
    if n_nodes > n_items:
        short = np.empty(n_rounds + 1, np.int64)
        n_short = 0
        for end in range(0, n_ends, 2):
            if max(ends[end], ends[end + 1]) == n_items:
                short[n_short] = min(ends[end], ends[end + 1])
                n_short += 1
        if n_short % 2 == 1 and sparse:
            while True:
                more = below(rng, n_items)
                if not (short[:n_short] == more).any():
                    break
            short[n_short] = more
            n_short += 1
        n_short -= n_short % 2
        for k in range(0, n_short, 2):
            n_ends = join(short[k], short[k + 1], n_nodes, n_items, ends, n_ends, members)
            if n_ends < 0:
                return none, none, none
    first, second = np.empty(n_ends // 2, np.int32), np.empty(n_ends // 2, np.int32)
    final = pair_set(n_items * n_items, n_ends)
    n_pairs = 0
    for end in range(0, n_ends, 2):
        if max(ends[end], ends[end + 1]) < n_items:
            first[n_pairs], second[n_pairs] = ends[end], ends[end + 1]
            insert(final, key_of(n_items, ends[end], ends[end + 1]))
            n_pairs += 1
    return counted_pairs(n_items, copies, sparse, first[:n_pairs], second[:n_pairs], final)


@kernel
def spare_voters(left: Array, right: Array, voter: Array, seen: PairSet, n_items: int, n_voters: int, rng: Rng) -> int:
    """Exchange voters until none gets a pair that is in `seen`, or again; return for how many that was not possible."""
    n_keys = n_items * n_items
    now = pair_set(n_keys * n_voters, left.size)
    keys = np.empty(left.size, np.int64)
    wrong = np.zeros(left.size, np.bool_)
    for k in range(left.size):
        keys[k] = key_of(n_items, left[k], right[k])
        mine = voter[k] * n_keys + keys[k]
        if contains(seen, mine) or contains(now, mine):
            wrong[k] = True
        else:
            insert(now, mine)
    n_wrong = 0
    for k in range(left.size):
        n_tries = 0
        while wrong[k] and n_tries < 20 * left.size:
            n_tries += 1
            other = below(rng, left.size)
            u, v = int(voter[k]), int(voter[other])
            if wrong[other] or u == v:
                continue
            mine, theirs = v * n_keys + keys[k], u * n_keys + keys[other]
            if contains(seen, mine) or contains(now, mine) or contains(seen, theirs) or contains(now, theirs):
                continue
            discard(now, v * n_keys + keys[other])
            insert(now, mine)
            insert(now, theirs)
            voter[k], voter[other] = v, u
            wrong[k] = False
        n_wrong += wrong[k]
    return n_wrong


@kernel
def matched_comparisons(
    orders: Array,
    items: Array,
    presentations: int,
    n_voters: int,
    history_left: Array,
    history_right: Array,
    history_voter: Array,
    n_all: int,
    rng: Rng,
) -> Pairs:
    """Left, right and voter of each comparison; empty if the rounds cannot be paired without repeats."""
    n_items = items.size
    copies, rest = presentations // (n_items - 1), presentations % (n_items - 1)
    sparse = 2 * rest <= n_items - 1
    first, second, repeats = matched_pairs(orders, n_items, copies, sparse, rng)
    if first.size == 0:
        return first, second, repeats
    left, right, voter = dealt_comparisons(n_items, presentations, n_voters, first, second, repeats, rng)
    n_keys = n_all * n_all
    seen = pair_set(n_keys * n_voters, history_left.size)
    for k in range(history_left.size):
        insert(seen, history_voter[k] * n_keys + key_of(n_all, history_left[k], history_right[k]))
    own_left, own_right = np.empty(left.size, np.int64), np.empty(left.size, np.int64)
    for k in range(left.size):
        own_left[k], own_right[k] = items[left[k]], items[right[k]]
    spare_voters(own_left, own_right, voter, seen, n_all, n_voters, rng)
    return left, right, voter
