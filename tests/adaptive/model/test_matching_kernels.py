"""What voters have seen: only the history of those who are asked is looked up, and no pair comes to a voter again."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import Comparisons, bradley_terry, next_comparisons
from adaptive._draw_kernels import contains, key_of, random_order
from adaptive.model._matching_kernels import by_load, seen_pairs
from tests.adaptive.model.votes import comparisons

SEEDS = st.integers(0, 2**32 - 1)


def seen_by(votes):
    """Pairs that each voter has seen."""
    columns = zip(votes.voter.tolist(), votes.left.tolist(), votes.right.tolist(), strict=True)
    return [(voter, frozenset((left, right))) for voter, left, right in columns]


@given(comparisons(voters=True), st.lists(st.booleans(), min_size=3, max_size=3))
def test_pairs_seen_are_those_of_the_voters_asked(votes, asked):
    n_items = votes.n_items
    found = seen_pairs(votes.left, votes.right, votes.voter, np.array(asked), n_items, 1)
    seen = set(seen_by(votes))
    for voter in range(3):
        for low in range(n_items):
            for high in range(low + 1, n_items):
                key = voter * n_items**2 + key_of(n_items, low, high)
                assert contains(found, key) == (asked[voter] and (voter, frozenset((low, high))) in seen)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9).map(np.array), SEEDS)
def test_voters_ascend_by_load_and_are_in_random_order_otherwise(load, seed):
    shuffled = random_order(load.size, np.random.default_rng(seed))
    expected = shuffled[load[shuffled].argsort(kind="stable")]
    assert_array_equal(by_load(load, load.max(), np.random.default_rng(seed)), expected)


@given(comparisons(voters=True, min_size=1), st.integers(1, 60), SEEDS)
def test_no_voter_gets_a_pair_again(votes, size, seed):
    """Also where the voters asked first have nothing left, and others take their comparisons."""
    matches = next_comparisons(bradley_terry(votes, prior=1.0), size, rng=np.random.default_rng(seed))
    new = seen_by(matches)
    assert len(set(new)) == len(new)
    assert not set(new) & set(seen_by(votes))
    n_pairs = votes.n_items * (votes.n_items - 1) // 2
    assert len(new) == min(size, 3 * n_pairs - len(set(seen_by(votes))))
    assert (len(new) < size) == bool(matches.reason)


def test_voters_without_a_pair_left_give_way():
    """Ann and Bob have the fewest comparisons, and have seen all there is; the others are looked up when it shows."""
    left, right = np.triu_indices(3, 1)
    columns = {"left": [*left, *left, *[left[0]] * 9], "right": [*right, *right, *[right[0]] * 9]}
    voter = [0] * 3 + [1] * 3 + [2] * 9
    votes = Comparisons(3, columns["left"], columns["right"], [1] * 15, ("Ann", "Bob", "Cid"), voter)
    matches = next_comparisons(bradley_terry(votes, prior=1.0), 1, rng=np.random.default_rng(1))
    assert matches.voter.tolist() == [2]
    assert set(matches.pairs[0]) != {left[0], right[0]}
