"""What is asked where the order is settled, and how sure draws are of few items: both against what must be true."""

import numpy as np
import pytest

from adaptive import Comparisons, bradley_terry, next_comparisons

pytestmark = pytest.mark.wide


def settled(n_votes, upsets):
    """Six items in the order 5, 4, .. 0, of which neighbours met so often that no draw doubts it."""
    worse = np.repeat(np.arange(5), n_votes)
    winner = np.where(np.arange(worse.size) % n_votes < upsets * n_votes, -1, 1)
    return bradley_terry(Comparisons(6, worse + 1, worse, winner))


@pytest.mark.parametrize("n0", [-0.9, 2.0])
@pytest.mark.parametrize("upsets", [0.0, 0.15])
def test_a_settled_order_is_asked_about_at_the_top(upsets, n0):
    strengths = settled(4_000, upsets)
    shown = [next_comparisons(strengths, 1, rng=np.random.default_rng(seed), n0=n0) for seed in range(100)]
    counts = np.bincount(np.concatenate([[match.left[0], match.right[0]] for match in shown]), minlength=6)
    assert counts[5] > counts[0]
    assert counts[5] > 20


@pytest.mark.needs_numba
@pytest.mark.parametrize(("wins", "losses"), [(3, 2), (12, 8)])
def test_draws_of_two_items_are_near_the_exact_posterior(wins, losses):
    """Exact under the normal prior, by a grid; the heavy tails of the draws change it by a few hundredths."""
    votes = Comparisons(2, [0] * (wins + losses), [1] * (wins + losses), [1] * wins + [-1] * losses)
    strengths = bradley_terry(votes, prior=2.0)
    grid = np.linspace(-20, 20, 40_001)
    chance = 0.03 + 0.94 / (1 + np.exp(-grid))
    density = chance**wins * (1 - chance) ** losses * np.exp(-(grid**2) / (4 * 2.0**2))
    exact = density[grid > 0].sum() / density.sum()
    drawn = strengths.sample(20_000, np.random.default_rng(1))
    assert abs(np.mean(drawn[:, 0] > drawn[:, 1]) - exact) < 0.05
