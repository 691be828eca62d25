"""Run the loops of the draw, compiled by numba.

Like `rankcorr._rank_kernels`, this module is imported only by the call that needs it. The callers have checked
everything.

All randomness comes from `rng.random()`, one number at a time, so numba and plain Python (``NUMBA_DISABLE_JIT=1``) read
the same stream and draw the same ballot.

A graph without repeats is drawn as *stubs*: an int32 array with one entry for each presentation of an item. Places 2k
and 2k + 1 are a pair. Every change exchanges two stubs, so the number of presentations stays the same.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._rank_kernels import helper, kernel

Array = NDArray[Any]
Rng = np.random.Generator
PairSet: TypeAlias = tuple[Array, Array]
Pairs: TypeAlias = tuple[Array, Array, Array]

EMPTY = -1
# Drawing until nothing repeats takes about exp((d * d - 1) / 4) draws for d presentations: 43 for 4, 400 for 5.
MAX_EXACT_DEGREE = 4
# Up to 2 MB, use bits: an exchange of two stubs takes 30 ns with them and 80 ns with a hash table (990 items, M = 40).
MAX_BITS = 1 << 24


@helper
def below(rng: Rng, stop: int) -> int:
    """Draw a whole number from 0 to stop - 1; a bias of stop / 2^53 at most."""
    return int(rng.random() * stop)


@helper
def shuffle(values: Array, rng: Rng) -> None:
    """Put numbers in random order."""
    for place in range(values.size - 1, 0, -1):
        other = below(rng, place + 1)
        values[place], values[other] = values[other], values[place]


@helper
def random_order(size: int, rng: Rng) -> Array:
    """Return the numbers from 0 to size - 1 in random order."""
    values = np.empty(size, np.int32)
    for place in range(size):
        values[place] = place
    shuffle(values, rng)
    return values


@helper
def pair_set(n_keys: int, n_members: int) -> PairSet:
    """Make an empty set with room for `n_members` of the keys 0 to n_keys - 1.

    The set has one bit for each key, or, if bits would take more memory, is an open-addressing hash table with linear
    probing, at most half full. The other array is empty.
    """
    if n_keys <= max(MAX_BITS, 128 * n_members):
        bits, slots = np.zeros(n_keys // 8 + 1, np.uint8), np.empty(0, np.int64)
    else:
        size = 4
        while size < 2 * n_members:
            size *= 2
        bits, slots = np.zeros(0, np.uint8), np.empty(size, np.int64)
    for slot in range(slots.size):
        slots[slot] = EMPTY
    return bits, slots


@helper
def home(key: int, mask: int) -> int:
    """Return the slot where the search for a key starts.

    No product reaches 2^63, where plain Python and numba would disagree.
    """
    return (((key & 0x7FFFFFFF) * 0x5E3779B1 ^ (key >> 31) * 0x45EBCA77) >> 15) & mask


@helper
def find(slots: Array, key: int) -> int:
    """Return the slot of a key, or the empty slot where it belongs."""
    mask = slots.size - 1
    slot = home(key, mask)
    while slots[slot] != EMPTY and slots[slot] != key:
        slot = (slot + 1) & mask
    return slot


@helper
def contains(members: PairSet, key: int) -> bool:
    """Tell whether a key is in the set."""
    bits, slots = members
    if bits.size > 0:
        return bool((bits[key >> 3] >> (key & 7)) & 1)
    return bool(slots[find(slots, key)] == key)


@helper
def insert(members: PairSet, key: int) -> None:
    """Add a key."""
    bits, slots = members
    if bits.size > 0:
        bits[key >> 3] |= np.uint8(1 << (key & 7))
    else:
        slots[find(slots, key)] = key


@helper
def discard(members: PairSet, key: int) -> None:
    """Remove a key that is in the set; in a hash table, keys that were put behind it move up."""
    bits, slots = members
    if bits.size > 0:
        bits[key >> 3] ^= np.uint8(1 << (key & 7))
        return
    mask = slots.size - 1
    hole = find(slots, key)
    slot = (hole + 1) & mask
    while slots[slot] != EMPTY:
        if (slot - home(slots[slot], mask)) & mask >= (slot - hole) & mask:
            slots[hole] = slots[slot]
            hole = slot
        slot = (slot + 1) & mask
    slots[hole] = EMPTY


@helper
def key_of(n_items: int, a: int, b: int) -> int:
    """Return the key of an unordered pair of items."""
    return int(min(a, b)) * n_items + int(max(a, b))


@helper
def draw_exactly(stubs: Array, n_items: int, members: PairSet, rng: Rng) -> None:
    """Shuffle the stubs until no item meets itself and no pair repeats: uniform over the graphs without repeats."""
    start = 0
    while start < stubs.size:
        for place in (start, start + 1):
            other = place + below(rng, stubs.size - place)
            stubs[place], stubs[other] = stubs[other], stubs[place]
        key = key_of(n_items, stubs[start], stubs[start + 1])
        if stubs[start] != stubs[start + 1] and not contains(members, key):
            insert(members, key)
            start += 2
            continue
        while start > 0:
            start -= 2
            discard(members, key_of(n_items, stubs[start], stubs[start + 1]))


@helper
def exchange(stubs: Array, place: int, other: int, n_items: int, members: PairSet, listed: bool) -> bool:
    """Exchange two stubs unless an item would meet itself or a pair repeat.

    The pair at `other` is in the set; the one at `place` is if it is `listed`.
    """
    a, b, c, d = stubs[place], stubs[place ^ 1], stubs[other], stubs[other ^ 1]
    if a in (c, d) or b in (c, d):
        return False
    new, new_other = key_of(n_items, c, b), key_of(n_items, a, d)
    if contains(members, new) or contains(members, new_other):
        return False
    if listed:
        discard(members, key_of(n_items, a, b))
    discard(members, key_of(n_items, c, d))
    insert(members, new)
    insert(members, new_other)
    stubs[place], stubs[other] = c, a
    return True


@helper
def draw_by_exchanges(stubs: Array, n_items: int, members: PairSet, n_sweeps: int, rng: Rng) -> bool:
    """Shuffle the stubs, repair self-pairs and repeats by random exchanges, then mix; False if a repair got stuck.

    Mixing offers each pair `n_sweeps` exchanges. A refused one leaves the graph as it is, so every step is as
    likely as its reverse, and the limit is uniform over the graphs without repeats. The repair alone leaves too few
    triangles: 1 % for 12 items x 5, 0.1 % for 124 x 20. After one sweep 20,000 draws show no difference from exact ones
    (12 x 5) or from 30 sweeps (31 x 10, 124 x 20), but 40 x 19 does by 2 standard errors; after two none of them does.
    """
    shuffle(stubs, rng)
    n_pairs = stubs.size // 2
    wrong = np.empty(n_pairs, np.bool_)
    for pair in range(n_pairs):
        a, b = stubs[2 * pair], stubs[2 * pair + 1]
        key = key_of(n_items, a, b)
        wrong[pair] = a == b or contains(members, key)
        if not wrong[pair]:
            insert(members, key)
    for pair in range(n_pairs):
        n_tries = 0
        while wrong[pair]:
            other = below(rng, stubs.size)
            if not wrong[other >> 1] and exchange(stubs, 2 * pair, other, n_items, members, not wrong[pair]):
                wrong[pair] = False
            n_tries += 1
            if n_tries > 50 * stubs.size:
                return False
    for _ in range(n_sweeps):
        for pair in range(n_pairs):
            exchange(stubs, 2 * pair, below(rng, stubs.size), n_items, members, not wrong[pair])
    return True


@helper
def draw_cycle(n_items: int, rng: Rng) -> Pairs:
    """Draw the pairs of one closed tour of all items, each tour equally likely: the only connected graph for M = 2."""
    first = random_order(n_items, rng)
    second, repeats = np.empty(n_items, np.int32), np.empty(n_items, np.int32)
    for pair in range(n_items):
        second[pair] = first[pair - 1]
        repeats[pair] = 1
    return first, second, repeats


@helper
def draw_pairs(n_items: int, copies: int, rest: int, extra: int, rng: Rng) -> Pairs:
    """Return both items of each pair, and its count: `copies`, or one more for `rest` pairs of each item.

    The item `extra` has one more pair, if it is not negative. If more than half of all pairs are needed, the pairs to
    leave out are drawn instead.
    """
    sparse = 2 * rest <= n_items - 1
    degree = rest if sparse else n_items - 1 - rest
    more = 0 if extra < 0 else (1 if sparse else -1)
    stubs = np.empty(n_items * degree + more, np.int32)
    place = 0
    for item in range(n_items):
        for _ in range(degree + more if item == extra else degree):
            stubs[place] = item
            place += 1
    members = pair_set(n_items * n_items, stubs.size // 2)
    if degree <= MAX_EXACT_DEGREE:
        draw_exactly(stubs, n_items, members, rng)
    else:
        n_sweeps = 1 if 16 * degree <= n_items else 2
        while not draw_by_exchanges(stubs, n_items, members, n_sweeps, rng):
            members = pair_set(n_items * n_items, stubs.size // 2)
    first, second = np.empty(stubs.size // 2, np.int32), np.empty(stubs.size // 2, np.int32)
    for pair in range(first.size):
        first[pair], second[pair] = stubs[2 * pair], stubs[2 * pair + 1]
    return counted_pairs(n_items, copies, sparse, first, second, members)


@helper
def counted_pairs(n_items: int, copies: int, sparse: bool, first: Array, second: Array, members: PairSet) -> Pairs:
    """Return both items of each pair, and its count: `copies`, or one more for some of them.

    If `sparse`, those are the pairs listed in `first` and `second`, whose keys are in `members`; otherwise all others.
    """
    if copies == 0 and sparse:
        ones = np.empty(first.size, np.int32)
        for pair in range(first.size):
            ones[pair] = 1
        return first, second, ones
    n_pairs = n_items * (n_items - 1) // 2
    if copies == 0:
        n_pairs -= first.size
    one, other, repeats = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    pair = 0
    for a in range(n_items):
        for b in range(a + 1, n_items):
            n_times = copies + (1 if contains(members, a * n_items + b) == sparse else 0)
            if n_times > 0:
                one[pair], other[pair], repeats[pair] = a, b, n_times
                pair += 1
    return one, other, repeats


@helper
def is_connected(n_items: int, first: Array, second: Array) -> bool:
    """Tell whether the pairs join all items, by union-find with path halving."""
    parent = np.empty(n_items, np.int32)
    for item in range(n_items):
        parent[item] = item
    n_parts = n_items
    for pair in range(first.size):
        if n_parts == 1:
            break
        a, b = first[pair], second[pair]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            n_parts -= 1
    return n_parts == 1


@helper
def deal(repeats: Array, n_voters: int, rng: Rng) -> tuple[Array, Array]:
    """Deal a pair and a voter to each comparison: pairs in random order, copies side by side, voters in turn.

    Because copies are side by side, those of a pair go to different voters, or to all of them equally often (+-1).
    """
    order, voters = random_order(repeats.size, rng), random_order(n_voters, rng)
    n_comparisons = 0
    for place in range(repeats.size):
        n_comparisons += repeats[place]
    pair, voter = np.empty(n_comparisons, np.int32), np.empty(n_comparisons, np.int32)
    place, turn = 0, 0
    for dealt in order:
        for _ in range(repeats[dealt]):
            pair[place], voter[place] = dealt, voters[turn]
            place += 1
            turn = turn + 1 if turn + 1 < n_voters else 0
    return pair, voter


@helper
def mix_voters(pair: Array, voter: Array, repeats: Array, n_voters: int, rng: Rng) -> None:
    """Exchange the voters of random comparisons unless one would get a pair twice.

    Before that, neighbouring voters have the copies of a pair. A pair with more copies than there are voters keeps its
    voters, which is as even as possible.
    """
    members = pair_set(repeats.size * n_voters, pair.size)
    for place in range(pair.size):
        if repeats[pair[place]] <= n_voters:
            insert(members, int(pair[place]) * n_voters + int(voter[place]))
    for place in range(pair.size):
        other = below(rng, pair.size)
        p, q = int(pair[place]), int(pair[other])
        u, v = int(voter[place]), int(voter[other])
        if p == q or u == v or max(repeats[p], repeats[q]) > n_voters:
            continue
        if contains(members, p * n_voters + v) or contains(members, q * n_voters + u):
            continue
        discard(members, p * n_voters + u)
        discard(members, q * n_voters + v)
        insert(members, p * n_voters + v)
        insert(members, q * n_voters + u)
        voter[place], voter[other] = v, u


@helper
def follow(end: int, ends: Array, links: Array, slots: Array, left: Array, right: Array, rng: Rng) -> None:
    """Follow a path of comparisons from one end until it stops or closes; all point along it, or all against it."""
    against = below(rng, 2)
    while end != EMPTY and left[end >> 1] == EMPTY:
        left[end >> 1], right[end >> 1] = ends[end ^ against], ends[end ^ against ^ 1]
        end = links[slots[end ^ 1] ^ 1]


@helper
def balanced_sides(n_items: int, presentations: int, ends: Array, rng: Rng) -> tuple[Array, Array]:
    """Choose left and right items so that each item is on the left in half of its presentations (+-1/2).

    `ends` holds the two items of each comparison. The comparisons of an item are linked two by two, in random order,
    which makes paths through all comparisons: an Eulerian orientation. If their number is odd, the last ends a path.
    """
    stride = presentations + presentations % 2  # even, and enough for the item with one more presentation
    links, slots = np.empty(n_items * stride, np.int32), np.empty(ends.size, np.int32)
    cursor = np.empty(n_items, np.int64)
    for link in range(links.size):
        links[link] = EMPTY
    for item in range(n_items):
        cursor[item] = item * stride
    for end in range(ends.size):
        item = ends[end]
        slots[end] = cursor[item]
        links[cursor[item]] = end
        cursor[item] += 1
    left, right = np.empty(ends.size // 2, np.int32), np.empty(ends.size // 2, np.int32)
    for pair in range(left.size):
        left[pair] = EMPTY
    if presentations % 2 == 1:
        for last in range(stride - 1, links.size, stride):
            if links[last] == EMPTY:
                follow(int(links[last - 1]), ends, links, slots, left, right, rng)
    for end in range(0, ends.size, 2):
        if left[end >> 1] == EMPTY:
            follow(end, ends, links, slots, left, right, rng)
    return left, right


@kernel
def draw_comparisons(n_items: int, presentations: int, n_voters: int, rng: Rng) -> Pairs:
    """Draw left item, right item and voter of each comparison, in the order shown."""
    copies, rest = presentations // (n_items - 1), presentations % (n_items - 1)
    extra = below(rng, n_items) if n_items % 2 == 1 and presentations % 2 == 1 else -1
    if copies == 0 and rest == 2:
        first, second, repeats = draw_cycle(n_items, rng)
    else:
        first, second, repeats = draw_pairs(n_items, copies, rest, extra, rng)
        while copies == 0 and rest > 1 and not is_connected(n_items, first, second):
            first, second, repeats = draw_pairs(n_items, copies, rest, extra, rng)
    return dealt_comparisons(n_items, presentations, n_voters, first, second, repeats, rng)


@helper
def dealt_comparisons(
    n_items: int, presentations: int, n_voters: int, first: Array, second: Array, repeats: Array, rng: Rng
) -> Pairs:
    """Give each copy of each pair a place in the order, a voter and sides."""
    pair, voter = deal(repeats, n_voters, rng)
    if presentations >= n_items - 1:
        mix_voters(pair, voter, repeats, n_voters, rng)
        order, dealt_pair, dealt_voter = random_order(pair.size, rng), pair, voter
        pair, voter = np.empty(order.size, np.int32), np.empty(order.size, np.int32)
        for place in range(order.size):
            pair[place], voter[place] = dealt_pair[order[place]], dealt_voter[order[place]]
    ends = np.empty(2 * pair.size, np.int32)
    for place in range(pair.size):
        ends[2 * place], ends[2 * place + 1] = first[pair[place]], second[pair[place]]
    left, right = balanced_sides(n_items, presentations, ends, rng)
    return left, right, voter
