"""Sets that are chosen from the votes so far."""

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import Choices, draw_sets, next_sets
from adaptive.errors import DrawError, ModelError


@cache
def fit_items(n_items):
    """Strengths of items whose order is that of their numbers, nearly always."""
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(30):
        item_set = rng.choice(n_items, 3, replace=False).tolist()
        answers.append((item_set, min(item_set), max(item_set)))
    return Choices.from_best_worst(answers, items=range(n_items)).fit()


@given(st.integers(3, 6), st.integers(0, 9), st.integers(1, 12), st.integers(0, 99))
def test_each_set_has_different_items(set_size, n_more, size, seed):
    strengths = fit_items(set_size + n_more)
    sets = next_sets(strengths, size, set_size=set_size, rng=np.random.default_rng(seed))
    assert sets.shape == (size, set_size)
    assert all(len(set(row)) == set_size for row in sets.tolist())
    assert sets.min() >= 0
    assert sets.max() < set_size + n_more
    again = next_sets(strengths, size, set_size=set_size, rng=np.random.default_rng(seed))
    assert_array_equal(sets, again)


def test_without_uncertainty_sets_hold_neighbours_with_frequencies_by_weight():
    """With no uncertainty, the distribution of sets follows from the weights alone."""
    n_items, set_size, n0, n_draws = 9, 3, 2.0, 3_000
    theta = -np.arange(n_items) * np.linspace(1, 1.5, n_items)  # so that no two distances are equal
    strengths = fit_items(n_items)
    exact = type(strengths).__new__(type(strengths))
    vars(exact).update(vars(strengths) | {"theta": theta})
    vars(exact)["standard_errors"] = np.zeros(n_items)
    n_shown = np.arange(n_items)[::-1] * 3
    rng = np.random.default_rng(5)
    counted = Counter(
        tuple(sorted(next_sets(exact, 1, set_size=set_size, n_shown=n_shown, n0=n0, rng=rng)[0].tolist()))
        for _ in range(n_draws)
    )
    weights = [1 / ((rank + 1 + n0) ** 2 * (n_shown[rank] + 1) ** 0.5) for rank in range(n_items)]
    expected = Counter()
    for first in range(n_items):
        nearest = sorted(range(n_items), key=lambda item: abs(theta[item] - theta[first]))[:set_size]
        expected[tuple(sorted(nearest))] += weights[first] / sum(weights)
    assert set(counted) <= set(expected)
    for members, share in expected.items():
        error = (share * (1 - share) / n_draws) ** 0.5
        assert abs(counted[members] / n_draws - share) < 4 * error + 1e-9


def test_items_of_a_set_are_in_random_order():
    strengths = fit_items(4)
    sets = next_sets(strengths, 1_200, set_size=4, rng=np.random.default_rng(2))
    shares = np.array([np.bincount(column, minlength=4) for column in sets.T]) / len(sets)
    assert_allclose(shares, 0.25, atol=0.05)


def test_sets_after_few_clusters_follow_students_t():
    """Items of two groups that are eight standard errors apart meet by Student's t alone."""
    groups = {"theta": np.repeat([8.0, 0.0], 3), "standard_errors": np.ones(6)}
    mixed = {}
    for df in (1.0, math.inf):
        strengths = replace(fit_items(6), **groups, degrees_of_freedom=df)
        sets = next_sets(strengths, 2_000, set_size=3, rng=np.random.default_rng(7))
        mixed[df] = np.mean(np.ptp(sets // 3, axis=1))
    assert mixed[math.inf] < 0.005
    assert mixed[1.0] > 0.05


@pytest.mark.wide
@pytest.mark.parametrize("n_items", [20, pytest.param(40, marks=pytest.mark.nightly)])
def test_adaptive_sets_rank_the_top_better_than_balanced_ones(n_items):
    """The expected accuracy at equal numbers of answers, over simulated voters."""
    from rankcorr import TauW

    def accuracy(seed, *, is_adaptive):
        rng = np.random.default_rng(seed)
        theta = rng.normal(0, 1.5, n_items)
        answers = []
        while len(answers) < 3 * n_items:
            if is_adaptive and answers:
                strengths = Choices.from_best_worst(answers, items=range(n_items)).fit()
                sets = next_sets(strengths, n_items, rng=rng).tolist()
            else:
                sets = list(draw_sets(n_items, 4, 4, rng))
            for item_set in sets:
                heard = theta[list(item_set)] + rng.gumbel(size=4)
                answers.append((list(item_set), item_set[heard.argmax()], item_set[heard.argmin()]))
        ranked = Choices.from_best_worst(answers, items=range(n_items)).fit().theta
        return TauW()(ranked, theta)

    gains = [accuracy(seed, is_adaptive=True) - accuracy(seed, is_adaptive=False) for seed in range(12)]
    assert np.mean(gains) > 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"set_size": 7}, DrawError, "set_size must be at most 6 and the number of items, 9; got 7"),
        ({"size": 0}, DrawError, "size"),
        *(({"n0": n0}, ModelError, "n0") for n0 in (-1, float("nan"), float("inf"), "2", None)),
        *(({"strengths": strengths}, ModelError, "strengths must be") for strengths in (None, "x", [1.0, 2.0])),
        *(({"n_shown": n_shown}, ModelError, "n_shown") for n_shown in (["x"] * 9, [[1], [2, 3]], [float("inf")] * 9)),
        ({"rng": 3}, DrawError, "rng"),
        ({"n_shown": [1, 2]}, ModelError, "n_shown must have a number for each of the 9 items"),
        ({"set_size": 2}, DrawError, "set_size"),
    ],
)
def test_invalid_arguments_are_refused(options, error, message):
    arguments = {"strengths": fit_items(9), "size": 3, "rng": np.random.default_rng(1), **options}
    with pytest.raises(error, match=message):
        next_sets(**arguments)
