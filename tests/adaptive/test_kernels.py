"""The loops of the draw: mixing until it is uniform, repairs that are given up, and the set of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import _kernels as kernels


def n_triangles(graphs, n_items):
    adjacent = np.zeros((len(graphs), n_items, n_items))
    for matrix, (first, second) in zip(adjacent, graphs, strict=True):
        matrix[first, second] = matrix[second, first] = 1
    return np.einsum("gij,gji->g", adjacent @ adjacent, adjacent) / 6


@pytest.mark.needs_numba
def test_larger_draws_have_as_many_triangles_as_uniform_ones():
    # 8,000 draws without mixing are 5 standard errors off
    rng = np.random.default_rng(12)
    n_items, degree, n_draws = 12, 5, 8_000
    mixed = [kernels.draw_pairs(n_items, 0, degree, -1, rng)[:2] for _ in range(n_draws)]
    exact = []
    for _ in range(n_draws):
        stubs = np.repeat(np.arange(n_items, dtype=np.int32), degree)
        kernels.draw_exactly(stubs, n_items, kernels.pair_set(n_items**2, 30), rng)
        exact.append((stubs[::2], stubs[1::2]))
    ours, theirs = n_triangles(mixed, n_items), n_triangles(exact, n_items)
    assert abs(ours.mean() - theirs.mean()) < 3.5 * np.sqrt((ours.var() + theirs.var()) / n_draws)


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
