"""Compiled loops that choose comparisons: far ranks, opponents, voters and sides, and ballots of neighbours."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive._draw_kernels import (
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
    random_order,
)
from adaptive.model._likelihood_kernels import GroupParameters, Votes, chance
from rankcorr._rank_kernels import helper, kernel

Array = NDArray[Any]
Rng = np.random.Generator


class RankChances(NamedTuple):
    """Probabilities of ranks, as `adaptive.matching._rank_losses.rank_chances` computes them.

    `ranks` each represent a group of ranks around them, small groups at the top and large ones below. `last` has the
    last rank of each group, and `strengths` those fitted to the items of `ranks`. Each row of `chances`, shape
    (n_items, n_levels), sums to 1.
    """

    ranks: Array
    last: Array
    strengths: Array
    chances: Array


class Candidates(NamedTuple):
    """Items to compare, and where to look for their opponents.

    `items` come by priority. The opponent of each is the item at the place in `order` that `places` has for it. If that
    is negative, it is an item near one of its two places in `around`, shape (2, n_items). `lacking` has the number of
    first comparisons that each item still needs.
    """

    items: Array
    places: Array
    order: Array
    around: Array
    lacking: Array


@kernel
def log_chances(votes: Votes, voters: GroupParameters, theta: Array, levels: Array, logs: Array) -> None:
    """Set ``logs[i, g]`` to the log probability of the votes on item i with the strength ``levels[g]``."""
    left, right, winner, group = votes
    discrimination, oversight, side, nu, link, half = voters
    products = np.ones(logs.shape)
    logs[:] = 0.0
    for k in range(left.size):
        v, answer = group[k], winner[k]
        a = discrimination[v]
        for turn in range(2):
            item = left[k] if turn == 0 else right[k]
            for g in range(levels.size):
                difference = levels[g] - theta[right[k]] if turn == 0 else theta[left[k]] - levels[g]
                products[item, g] *= chance(answer, a * difference + side[v], oversight[v], nu, link, half)
                if products[item, g] < 1e-200:  # one logarithm for many votes
                    logs[item, g] += math.log(max(products[item, g], 1e-300))
                    products[item, g] = 1.0
    for i in range(logs.shape[0]):
        for g in range(levels.size):
            logs[i, g] += math.log(products[i, g])


# Largest distance in the fitted ranking at which the search for an opponent starts; 3 was slightly better than 1 to 5.
NEAR = 3


@helper
def opponent(
    item: int,
    place: int,
    candidates: Candidates,
    history: PairSet,
    base: int,
    batch: PairSet,
    exhausted: Array,
    rng: Rng,
) -> int:
    """Return an item that the voter has not yet compared with `item`, or -1.

    If possible, it is the item at `place` in the order, unless `place` is negative. Otherwise the search proceeds
    outwards from one of the two places around which to look. `base` is the voter's offset in the keys of `history`;
    pairs in `batch` are excluded. Up to the distance ``exhausted[way, item]`` from these places, all pairs of the item
    are in `batch`.
    """
    order, around = candidates.order, candidates.around
    n_items = order.size
    start = 1 + below(rng, NEAR)
    sign = 1 if below(rng, 2) == 0 else -1
    way = 1 if sign < 0 and around[0, item] != around[1, item] else 0
    if place >= 0:
        other = order[place]
        key = key_of(n_items, item, other)
        if other != item and not contains(batch, key) and not contains(history, base + key):
            return int(other)
    middle = around[way, item]
    nearest, all_taken = exhausted[way, item], True  # all_taken: all pairs from `nearest` to the previous distance
    for step in range(nearest, n_items):
        distance = start if step == nearest else step
        if distance <= nearest:
            continue
        for turn in range(2):
            at = middle + distance * (sign if turn == 0 else -sign)
            if at < 0 or at >= n_items or order[at] == item:
                continue
            other = order[at]
            key = key_of(n_items, item, other)
            if contains(batch, key):
                continue
            all_taken = all_taken and step == nearest
            if not contains(history, base + key):
                return int(other)
        if step > nearest and all_taken:
            exhausted[way, item] = step
    other = order[middle]  # the only place at distance 0, which may be the item itself
    if other != item:
        key = key_of(n_items, item, other)
        if not contains(batch, key) and not contains(history, base + key):
            return int(other)
    return -1


@helper
def seen_pairs(history: Pairs, is_queued: Array, n_items: int, size: int) -> PairSet:
    """Return the set of pairs that voters in `is_queued` have seen, with room for `size` more.

    `history` has the left and right item and the voter of each pair shown, or -1 if the voter is unknown.
    """
    left, right, voter = history
    n_rows = size
    for k in range(left.size):
        n_rows += voter[k] >= 0 and is_queued[voter[k]]
    n_keys = n_items * n_items
    shown_pairs = pair_set(n_keys * is_queued.size, n_rows)
    for k in range(left.size):
        if voter[k] >= 0 and is_queued[voter[k]]:
            insert(shown_pairs, voter[k] * n_keys + key_of(n_items, left[k], right[k]))
    return shown_pairs


@helper
def by_load(load: Array, most: int, rng: Rng) -> Array:
    """Return the voters by ascending load, in random order for equal loads; `np.argsort` would take 1 s to compile."""
    ends, queue = np.zeros(most + 2, np.int64), np.empty(load.size, np.int64)
    for v in range(load.size):
        ends[load[v] + 1] += 1
    for level in range(most):
        ends[level + 1] += ends[level]
    for v in random_order(load.size, rng):
        queue[ends[load[v]]] = v
        ends[load[v]] += 1
    return queue


@kernel
def deal_matches(
    candidates: Candidates, history: Pairs, excess: Array, load: Array, queue: Array, often: Array, size: int, rng: Rng
) -> Pairs:
    """Return the left item, the right item and the voter of `size` comparisons, or of those that could be made.

    Candidates come in their order, repeatedly. Items that are lacking comparisons are skipped once they have them. The
    opponent is one that the voter has not compared with the item. Pairs in `often` repeat only if nothing else is left.
    `excess` is the number of times that each item was on the left, minus those on the right.

    The voter has the lowest `load`, which is the number of comparisons including earlier ones. Voters with equal load
    come in the order of `queue`, or in random order if it is empty. With prompts, a voter here is a combination of a
    voter and a prompt.
    """
    left, right, voter = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    items, lacking = candidates.items, candidates.lacking
    n_items, n_voters = candidates.order.size, load.size
    n_keys = n_items * n_items
    # Pairs of this batch repeat only if nothing else is left for a voter. Without `exhausted`, half of all pairs of
    # 1,500 items would take 15 s instead of 0.1 s, because most nearby pairs are taken.
    batch, n_taken = pair_set(n_keys, size + often.size), often.size
    for k in range(often.size):
        insert(batch, often[k])
    exhausted = np.zeros((2, n_items), np.int64)
    was_lacking = lacking.copy()
    if queue.size == 0:
        queue = by_load(load, history[2].size, rng)
    # For a few comparisons, building a set of all pairs seen by all voters would take most of the time.
    is_queued = np.zeros(n_voters, np.bool_)
    for v in queue[:size]:
        is_queued[v] = True
    shown_pairs = seen_pairs(history, is_queued, n_items, size)
    # The first `n_level` voters of the queue have the lowest load and come in turn, starting at `head`. After each
    # round, voters with the load that they have reached join them, and come first.
    level, n_level = load[queue[0]], 0
    n_made, served, misses, head, n_turns = 0, 0, 0, 0, 0
    while n_made < size:
        if n_turns == 0:
            head = n_level
            while n_level < n_voters and load[queue[n_level]] <= level:
                n_level += 1
            level, n_turns = level + 1, n_level
            head = head if head < n_level else 0
        item, place = items[served % items.size], candidates.places[served % items.size]
        served += 1
        if served <= n_items and was_lacking[item] > 0 and lacking[item] <= 0:
            continue
        v = queue[head]
        if not is_queued[v]:  # an earlier voter had nothing left
            is_queued[:] = True
            shown_pairs = seen_pairs(history, is_queued, n_items, size)
            for k in range(n_made):
                insert(shown_pairs, voter[k] * n_keys + key_of(n_items, left[k], right[k]))
        other = opponent(item, place, candidates, shown_pairs, v * n_keys, batch, exhausted, rng)
        if other >= 0:
            misses = 0
            key = key_of(n_items, item, other)
            insert(shown_pairs, v * n_keys + key)
            insert(batch, key)
            n_taken += 1
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
            head, n_turns = head + 1 if head + 1 < n_level else 0, n_turns - 1
            continue
        misses += 1
        if misses < items.size:
            continue
        misses = 0
        if n_taken > 0:
            batch, n_taken = pair_set(n_keys, size), 0
            exhausted[:] = 0
            continue
        # Nothing is left for this voter.
        n_voters, n_level, n_turns = n_voters - 1, n_level - 1, n_turns - 1
        if n_voters == 0:
            break
        for w in range(head, n_voters):
            queue[w] = queue[w + 1]
        head = head if head < n_level else 0
        if n_level == 0:
            level = max(level, load[queue[0]])
    return left[:n_made], right[:n_made], voter[:n_made]


@kernel
def far_rank_losses(
    theta: Array, item_ranks: Array, far: Array, of_ranks: RankChances, n0: float, step: float, out: Array
) -> None:
    """Set the expected loss of tau_w and rho_w by each item, from the probability that it belongs above ``far[i]``.

    The level of the item's rank is excluded. Losses are those of `rank_losses`; they are the first two rows of `out`.
    The last is the target strength of an opponent: halfway to the mean level, weighted by loss, but at most `step`
    above the item.
    """
    ranks, last, levels, chances = of_ranks
    for i in range(theta.size):
        item_weight = 1.0 / (item_ranks[i] + n0)
        tau, rho, height = 0.0, 0.0, 0.0
        for g in range(levels.size):  # in descending order
            if levels[g] <= far[i] or last[g] >= item_ranks[i]:
                break
            other = 1.0 / (ranks[g] + n0)
            both = chances[i, g] * (item_weight * item_weight + other * other)
            away = item_ranks[i] - ranks[g]
            tau += both * abs(other - item_weight)
            rho += both * away * away
            height += both * away * away * (levels[g] - theta[i])
        out[0, i], out[1, i] = tau, rho
        out[2, i] = theta[i] + (min(step, 0.5 * height / rho) if rho > 0.0 else 0.0)


@kernel
def join(u: int, w: int, n_nodes: int, n_real: int, ends: Array, n_ends: int, members: PairSet) -> int:
    """Give two nodes one more pair each, and return the new number of ends; -1 if that is impossible.

    If the nodes have not met, they are paired. Otherwise a pair (a, b) is replaced by (u, a) and (w, b). It is the most
    recent pair for which this repeats no pair, because recent pairs are the nearest. Nodes from `n_real` on are not
    paired with u and w.
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
    """Make a round from each row of `orders`, in which each node meets the next one that it has not met.

    Return the number of ends, or -1 if a round cannot be completed. This does not happen with at most half as many
    rounds as nodes: each of two remaining nodes has not met n / 2 or more of the others, which are all paired. Since
    these form n / 2 - 1 pairs, some pair has three links to the two nodes and can be exchanged.
    """
    n_rounds, n_nodes = orders.shape
    n_ends = 0
    follower = np.empty(n_nodes + 1, np.int64)  # linked list of the places that are still free
    for round_ in range(n_rounds):
        for place in range(n_nodes + 1):
            follower[place] = place + 1
        # The first free place is `head`.
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
    """Return both items of each compared pair, and their counts; empty if some pair would have to repeat.

    If the number of items is odd, the node n_items means sitting out, and items that sat out meet each other at the
    end. If their number is odd, one more item joins them, or, if the rounds make the pairs to omit, one item has no
    pair.
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
def spare_voters(
    left: Array, right: Array, voter: Array, history: PairSet, n_items: int, n_voters: int, rng: Rng
) -> None:
    """Exchange voters so that none gets a repeat or a pair in `history`, if possible."""
    n_keys = n_items * n_items
    now = pair_set(n_keys * n_voters, left.size)
    keys = np.empty(left.size, np.int64)
    wrong = np.zeros(left.size, np.bool_)
    for k in range(left.size):
        keys[k] = key_of(n_items, left[k], right[k])
        mine = voter[k] * n_keys + keys[k]
        if contains(history, mine) or contains(now, mine):
            wrong[k] = True
        else:
            insert(now, mine)
    for k in range(left.size):
        n_tries = 0
        while wrong[k] and n_tries < 20 * left.size:
            n_tries += 1
            other = below(rng, left.size)
            u, v = int(voter[k]), int(voter[other])
            if wrong[other] or u == v:
                continue
            mine, theirs = v * n_keys + keys[k], u * n_keys + keys[other]
            if contains(history, mine) or contains(now, mine) or contains(history, theirs) or contains(now, theirs):
                continue
            discard(now, v * n_keys + keys[other])
            insert(now, mine)
            insert(now, theirs)
            voter[k], voter[other] = v, u
            wrong[k] = False


@kernel
def matched_comparisons(
    orders: Array, items: Array, presentations: int, n_voters: int, history: Pairs, n_all: int, rng: Rng
) -> Pairs:
    """Return the left and right item and the voter of each comparison; empty if pairs would have to repeat."""
    n_items = items.size
    copies, rest = presentations // (n_items - 1), presentations % (n_items - 1)
    sparse = 2 * rest <= n_items - 1
    first, second, repeats = matched_pairs(orders, n_items, copies, sparse, rng)
    if first.size == 0:
        return first, second, repeats
    left, right, voter = dealt_comparisons(n_items, presentations, n_voters, first, second, repeats, rng)
    shown_pairs = seen_pairs(history, np.ones(n_voters, np.bool_), n_all, 0)
    left_items, right_items = np.empty(left.size, np.int64), np.empty(left.size, np.int64)
    for k in range(left.size):
        left_items[k], right_items[k] = items[left[k]], items[right[k]]
    spare_voters(left_items, right_items, voter, shown_pairs, n_all, n_voters, rng)
    return left, right, voter
