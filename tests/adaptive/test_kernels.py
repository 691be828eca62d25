"""The loops of the draw: mixing until it is uniform, repairs that are given up, and the set of pairs."""

from functools import cache
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import _draw_kernels as kernels


def n_triangles(graphs, n_items):
    adjacent = np.zeros((len(graphs), n_items, n_items))
    for matrix, (first, second) in zip(adjacent, graphs, strict=True):
        matrix[first, second] = matrix[second, first] = 1
    return np.einsum("gij,gji->g", adjacent @ adjacent, adjacent) / 6


def joined(degree, others):
    """Ways to join an item to `degree` others of which each still needs so many pairs, and what those need then."""
    if not others:
        return [(1, ())] if degree == 0 else []
    need, n_alike = others[0], others.count(others[0])
    return [
        (comb(n_alike, n) * n_ways, (need,) * (n_alike - n) + (need - 1,) * n + left)
        for n in range(min(degree, n_alike if need else 0) + 1)
        for n_ways, left in joined(degree - n, others[n_alike:])
    ]


@cache
def n_graphs(degrees):
    """Number of graphs without loops and repeats whose items have these degrees."""
    if not degrees:
        return 1
    return sum(n * n_graphs(tuple(sorted(left, reverse=True))) for n, left in joined(degrees[0], degrees[1:]))


def n_triangles_of_uniform(n_items, degree):
    """Mean number of triangles of all graphs: given three items that form one, the rest are counted."""
    ways = [(1, (degree,) * (n_items - 3))]
    for _ in range(3):
        ways = [
            (n * more, tuple(sorted(left, reverse=True))) for n, at in ways for more, left in joined(degree - 2, at)
        ]
    n_with = sum(n * n_graphs(left) for n, left in ways)
    return comb(n_items, 3) * n_with / n_graphs((degree,) * n_items)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_larger_draws_have_as_many_triangles_as_uniform_ones():
    # 20,000 draws without mixing are 10 standard errors off
    rng = np.random.default_rng(12)
    n_items, degree, n_draws = 12, 5, 20_000
    assert n_graphs((3,) * 8) == 19_355  # as known for cubic graphs
    found = n_triangles([kernels.draw_pairs(n_items, 0, degree, -1, rng)[:2] for _ in range(n_draws)], n_items)
    assert abs(found.mean() - n_triangles_of_uniform(n_items, degree)) < 3.5 * found.std() / np.sqrt(n_draws)


def test_a_repair_that_gets_stuck_is_given_up():
    stubs = np.repeat(np.arange(2, dtype=np.int32), 3)
    assert not kernels.draw_by_exchanges(stubs, 2, kernels.pair_set(4, 3), 1, np.random.default_rng(0))


@given(st.lists(st.integers(0, 40)), st.booleans())
def test_pair_set_is_a_set(keys, hashed):
    """Both kinds; the hash table starts a third full and may become two thirds full, so that keys meet."""
    members = kernels.pair_set(2**62 if hashed else 2**10, 20)
    assert (members[0].size == 0) == hashed
    factor = (2**31 - 1) * 2**20 + 1 if hashed else 1
    naive = set()
    for key in [*range(0, 41, 2), *keys]:
        if key in naive:
            kernels.discard(members, key * factor)
            naive.discard(key)
        else:
            kernels.insert(members, key * factor)
            naive.add(key)
        assert [other for other in range(41) if kernels.contains(members, other * factor)] == sorted(naive)
