"""Orders of items with the smallest cost of pairs, and orders with ties with the largest value of any function."""

import time
from collections.abc import Callable
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._input.numbers import DECIMALS, ROUNDING
from rankcorr._input.scores import midrank_rows

Matrix: TypeAlias = NDArray[np.float64]

MOST_ENUMERATED: Final = 7  # items have 47,293 orders with ties; 8 have 545,835
MOST_SUBSETS: Final = 12  # items whose 4,096 subsets are compared
MOST_PROGRAMMED: Final = 60  # items in an integer program
SECONDS: Final = 30.0  # for the integer programs of a block


def best_order(costs: Matrix) -> tuple[NDArray[np.intp], bool]:
    """Return an order with a small sum of costs, and whether no other order has a smaller one."""
    from scipy.sparse.csgraph import connected_components

    _, block_of = connected_components(costs <= costs.T, connection="strong")
    blocks = [np.flatnonzero(block_of == block) for block in range(block_of.max() + 1)]
    # Between two blocks all majorities point one way, so that the blocks have an order.
    blocks.sort(key=lambda block: -int((costs[block[0]] < costs[:, block[0]]).sum()))
    orders, is_exact = [], True
    for block in blocks:
        part = costs[np.ix_(block, block)]
        order = order_by_subsets(part) if len(block) <= MOST_SUBSETS else None
        if order is None and len(block) <= MOST_PROGRAMMED:
            order = order_by_program(part)
        if order is None:
            order, is_exact = order_by_moves(part), False
        orders.append(block[order])
    return np.concatenate(orders), is_exact


def order_by_subsets(costs: Matrix) -> NDArray[np.intp]:
    """Find the best order by dynamic programming over the set of items at the top."""
    n_items = len(costs)
    members = (np.arange(1 << n_items)[:, np.newaxis] >> np.arange(n_items)) & 1
    # Cost of an item before those outside of a set; its own is 0.
    before = (1 - members) @ costs.T
    smallest, last = np.zeros(1 << n_items), np.zeros(1 << n_items, np.intp)
    for subset in range(1, 1 << n_items):
        candidates = np.flatnonzero(members[subset])
        values = smallest[subset ^ (1 << candidates)] + before[subset][candidates]
        # The last of equal ones: the earlier items stay in front.
        place = len(values) - 1 - int(np.argmin(np.round(values[::-1], DECIMALS)))
        smallest[subset], last[subset] = values[place], candidates[place]
    order, subset = [], (1 << n_items) - 1
    while subset:
        order.append(last[subset])
        subset ^= 1 << int(last[subset])
    return np.array(order[::-1])


def order_by_program(costs: Matrix) -> NDArray[np.intp] | None:
    """Find the best order by an integer program that gains the triangles it violates; None after `SECONDS`."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    n_items = len(costs)
    above = np.triu_indices(n_items, 1)
    variable = np.zeros((n_items, n_items), np.intp)
    variable[above] = np.arange(above[0].size)
    triangles = np.array(list(combinations(range(n_items), 3)))
    columns = np.stack([variable[triangles[:, i], triangles[:, j]] for i, j in ((0, 1), (1, 2), (0, 2))], axis=1)
    signs, is_used = np.array([1.0, 1.0, -1.0]), np.zeros(len(columns), np.bool_)
    prices, is_integral, deadline = (costs - costs.T)[above], False, time.monotonic() + SECONDS
    # The solver has absolute tolerances, which are too wide for the pairs that only rankings of little weight decide.
    prices = prices / np.abs(prices[prices != 0]).min(initial=1.0)
    while True:
        used = columns[is_used]
        rows = np.repeat(np.arange(len(used)), 3)
        matrix = csr_array((np.tile(signs, len(used)), (rows, used.ravel())), shape=(len(used), prices.size))
        solution = milp(
            prices,
            integrality=np.full(prices.size, int(is_integral)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, 0, 1) if len(used) else (),
            options={"time_limit": max(0.0, deadline - time.monotonic()), "mip_rel_gap": 0.0},
        )
        if solution.status != 0:
            return None
        sums = solution.x[columns] @ signs
        violated = (np.maximum(sums - 1, -sums) > 1e-6) & ~is_used
        if violated.any():
            is_used |= violated
        elif is_integral or np.abs(solution.x - np.round(solution.x)).max() < 1e-6:
            break
        else:
            is_integral = True
    wins = np.zeros((n_items, n_items))
    wins[above] = np.round(solution.x)
    wins.T[above] = 1 - wins[above]
    return np.argsort(-wins.sum(axis=1), kind="stable")


def order_by_moves(costs: Matrix) -> NDArray[np.intp]:
    """Move items, from the order given, until no move lowers the cost."""
    order = list(range(len(costs)))
    is_better = True
    while is_better:
        is_better = False
        for item in range(len(costs)):
            place = order.index(item)
            others = order[:place] + order[place + 1 :]
            steps = costs[others, item] - costs[item, others]  # to have one more item above
            sums = np.append(0.0, np.cumsum(steps))
            best = int(np.argmin(sums))
            if sums[best] < sums[place] - ROUNDING * len(costs):
                order, is_better = [*others[:best], item, *others[best:]], True
    return np.array(order)


def largest_candidate(values: Matrix, candidates: Matrix) -> tuple[Matrix, float]:
    """The first candidate with the largest value, but for rounding."""
    best = int(np.argmax(np.round(values, DECIMALS)))
    return candidates[best], float(values[best])


def weak_orders(n_items: int) -> Matrix:
    """Mid-ranks of all orders with ties, a row each, those without ties first."""
    levels = np.indices((n_items,) * n_items, dtype=np.int8).reshape(n_items, -1).T
    used = np.bitwise_or.reduce(np.left_shift(1, levels, dtype=np.int16), axis=1)
    levels = levels[(used & (used + 1)) == 0]  # levels 0 to k - 1, each of them used
    order = np.argsort(-levels.max(axis=1), kind="stable")
    return midrank_rows(levels[order].astype(np.float64), descending=False)[0]


def climb(values_of: Callable[[Matrix], Matrix], start: Matrix, value: float) -> tuple[Matrix, float]:
    """Move one item at a time to its best place, exchange two items or join two levels, until nothing helps."""
    ranks, item, n_tried = start, 0, 0  # since the last gain
    while n_tried <= len(start):
        moves = _moves(ranks, item % len(start)) if n_tried < len(start) else _exchanges(ranks)
        candidates = midrank_rows(moves, descending=False)[0]
        best, largest = largest_candidate(values_of(candidates), candidates)
        n_tried, item = n_tried + 1, item + 1
        if largest > value + ROUNDING:
            ranks, value, n_tried = best, largest, 0
    return ranks, value


def _moves(ranks: Matrix, item: int) -> Matrix:
    """Every other place of an item, alone or in a tie."""
    levels = np.unique(np.delete(ranks, item))
    # Halfway between two levels the item is alone.
    places = np.concatenate([[levels[0] - 1], (levels[1:] + levels[:-1]) / 2, [levels[-1] + 1], levels])
    moves = np.tile(ranks, (places.size, 1))
    moves[:, item] = places
    return moves


def _exchanges(ranks: Matrix) -> Matrix:
    """Each two items exchanged, and each two neighbouring levels as one tie."""
    first, second = np.triu_indices(len(ranks), 1)
    moves = np.tile(ranks, (first.size, 1))
    rows = np.arange(first.size)
    moves[rows, first], moves[rows, second] = ranks[second], ranks[first]
    levels = np.unique(ranks)
    return np.concatenate([moves, np.where(ranks == levels[1:, np.newaxis], levels[:-1, np.newaxis], ranks)])
