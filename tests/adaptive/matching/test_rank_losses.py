"""Costs of uncertain ranks, near and far; probabilities of far ranks against Bayes' rule written out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import Comparisons, bradley_terry, next_comparisons
from adaptive._votes import LEFT, RIGHT
from adaptive.matching import _matching as matching
from adaptive.matching._matching import FAR, STEP
from adaptive.matching._matching_kernels import far_rank_losses
from adaptive.matching._rank_losses import rank_chances, rank_groups, rank_losses
from tests.adaptive import naive
from tests.adaptive.strategies import MODELS, OVERSIGHT, comparisons, rows, simulate_votes


def test_costs_of_near_ranks_follow_from_neighbouring_draws():
    """The naive formula: weight of the ranks between, and squared difference of ranks, times the item's weights."""
    ranks = np.random.default_rng(1).permuted(np.tile(np.arange(1.0, 8.0), (4, 1)), axis=1)
    of_tau, of_rho = rank_losses(ranks, 2.0)
    for item in range(7):
        tau, rho = [], []
        for draw in range(4):
            a, b = ranks[draw, item], ranks[(draw + 1) % 4, item]
            weight = (a + 2) ** -2 + (b + 2) ** -2
            tau.append(abs(1 / (a + 2) - 1 / (b + 2)) * weight)
            rho.append((a - b) ** 2 * weight)
        assert of_tau[item] == pytest.approx(np.mean(tau), rel=1e-12)
        assert of_rho[item] == pytest.approx(np.mean(rho), rel=1e-12)


@given(comparisons(voters=True, min_size=1), MODELS, OVERSIGHT, st.booleans())
def test_probabilities_of_ranks_follow_from_bayes_rule(votes, estimator, oversight, voters):
    fit, options = estimator
    strengths = fit(votes, oversight=oversight, voters=voters, side_bias=voters, **options)
    result, at = rank_chances(strengths), strengths.parameters
    starts, stops = rank_groups(votes.n_items)
    assert_array_equal(result.strengths, np.sort(at.theta)[::-1][result.ranks.astype(int) - 1])
    assert ((starts < result.ranks) & (result.ranks <= stops)).all()
    assert_array_equal(result.last, stops)
    for item in range(votes.n_items):
        votes_on_item = [vote for vote in rows(votes, voters) if item in vote[:2]]
        logs = []
        for level, start, stop in zip(result.strengths, starts, stops, strict=True):
            theta = at.theta.copy()
            theta[item] = level
            half = strengths.model.ties == "half"
            voter = (at.discrimination, at.oversight, at.side, at.nu, strengths.model.link, half)
            logs.append(math.log(stop - start) + naive.log_likelihood(votes_on_item, theta, *voter))
        weights = np.exp(np.array(logs) - max(logs))
        assert_allclose(result.chances[item], weights / weights.sum(), rtol=1e-9, atol=1e-12)


@given(st.integers(1, 100_000))
def test_groups_of_ranks_grow_and_cover_all_ranks(n_items):
    starts, stops = rank_groups(n_items)
    assert_array_equal(starts, [0, *stops[:-1]])
    assert stops[-1] == n_items
    assert (np.diff(stops - starts)[:-1] >= 0).all()  # the last group ends with the list
    assert stops.size <= 2 + math.ceil(math.log(n_items, 1.6)) + 1


def test_many_votes_do_not_overflow():
    votes, _ = simulate_votes(4, 30_000, seed=1, sd=3)
    chances = rank_chances(bradley_terry(votes)).chances
    assert np.isfinite(chances).all()
    assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)


def test_costs_of_far_ranks_are_weighted_by_their_probabilities():
    votes, _ = simulate_votes(40, 150, seed=2)
    strengths = bradley_terry(votes)
    result, theta = rank_chances(strengths), strengths.theta
    ranks, far = strengths.ranking.ranks.copy(), theta + 0.7
    of_tau, of_rho, aim = losses = np.empty((3, 40))
    far_rank_losses(theta, ranks, far, result, 2.0, STEP, losses)
    for item in range(40):
        above = [
            k for k in range(result.ranks.size) if result.strengths[k] > far[item] and result.last[k] < ranks[item]
        ]
        tau, rho = [0.0], [0.0]
        for place in above:
            rank, chance = result.ranks[place], result.chances[item, place]
            weight = (rank + 2) ** -2 + (ranks[item] + 2) ** -2
            tau.append(chance * abs(1 / (rank + 2) - 1 / (ranks[item] + 2)) * weight)
            rho.append(chance * (rank - ranks[item]) ** 2 * weight)
        assert of_tau[item] == pytest.approx(sum(tau), rel=1e-12)
        assert of_rho[item] == pytest.approx(sum(rho), rel=1e-12)
        mean = np.dot(rho[1:], result.strengths[above]) / sum(rho) if above else theta[item]
        assert aim[item] == pytest.approx(min(theta[item] + STEP, (theta[item] + mean) / 2), rel=1e-12)


def fit_with_bad_luck(n_items, n_votes):
    """A fit in which item 0 lost to an item of the middle and won against two others."""
    votes, theta = simulate_votes(n_items, n_votes, seed=3, sd=2)
    middle = (np.argsort(-theta)[n_items // 2 :][:3] + 1).tolist()
    left = np.concatenate([votes.left + 1, [0, 0, 0]])
    right = np.concatenate([votes.right + 1, middle])
    winner = np.concatenate([votes.winner, [RIGHT, LEFT, LEFT]])
    return bradley_terry(Comparisons(n_items + 1, left, right, winner), oversight=0.03)


def count_draws_of_item_0(strengths):
    """How often item 0 is in 100 draws of 10 comparisons, and how much stronger its opponents are."""
    differences = []
    for seed in range(100):
        matches = next_comparisons(strengths, 10, rng=np.random.default_rng(seed))
        pairs = zip(matches.left.tolist(), matches.right.tolist(), strict=True)
        differences += [strengths.theta[max(pair)] - strengths.theta[0] for pair in pairs if 0 in pair]
    return len(differences), np.median(differences)


def test_a_possibly_unlucky_item_is_compared_more_often_and_with_stronger_items(monkeypatch):
    strengths = fit_with_bad_luck(300, 6_000)
    result, theta = rank_chances(strengths), strengths.theta
    assert result.chances[0] @ (result.strengths > theta[0] + FAR / math.sqrt(strengths.curvature.diagonal[0])) > 0.01
    often, stronger = count_draws_of_item_0(strengths)
    monkeypatch.setattr(matching, "FAR_SHARE", 0.0)
    seldom, usual = count_draws_of_item_0(strengths)
    assert often > 1.5 * seldom
    assert stronger > 0.8
    assert abs(usual) < 0.4
