"""Reliability of strengths: infit by its definition, separation against the truth, and halves of voters or votes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adaptive import Comparisons, ModelError, bradley_terry, reliability, thurstone
from rankcorr import OptionError


def simulated(n_items, n_votes, seed, *, n_voters=None, sd=1.5, ties=0.0):
    rng = np.random.default_rng(seed)
    theta = sd * rng.standard_normal(n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    winner = np.where(rng.logistic(size=n_votes) < theta[left] - theta[right], 1, -1)
    winner[rng.random(n_votes) < ties] = 0
    voters = () if n_voters is None else (range(n_voters), np.arange(n_votes) % n_voters)
    return Comparisons(n_items, left, right, winner, *voters), theta


@pytest.mark.parametrize(
    ("fit", "options"),
    [
        (bradley_terry, {"oversight": 0.1}),
        (bradley_terry, {"ties": "half", "side_bias": True}),
        (bradley_terry, {"voters": True}),
        (thurstone, {}),
    ],
)
def test_infit_is_that_of_the_definition(fit, options):
    votes, _ = simulated(6, 120, 1, n_voters=5, ties=0.2)
    strengths = fit(votes, prior=1.5, **options)
    result, at = reliability(strengths, n_splits=1), strengths.parameters
    squares, variances = {}, {}
    for left, right, winner, voter in zip(
        *map(list, (votes.left, votes.right, votes.winner, votes.voter)), strict=True
    ):
        group = voter if options.get("voters") else 0
        margin = at.discrimination[group] * (at.theta[left] - at.theta[right]) + at.side[group]
        if fit is thurstone:
            chances = [0.5 * math.erfc(-margin / math.sqrt(2)), 0.0, 0.5 * math.erfc(margin / math.sqrt(2))]
        else:
            weights = [math.exp(margin / 2), at.nu, math.exp(-margin / 2)]
            chances = [weight / sum(weights) for weight in weights]
        e = at.oversight[group]
        chances = [(1 - e) * chances[0] + e * chances[2], chances[1], (1 - e) * chances[2] + e * chances[0]]
        mean = chances[0] + chances[1] / 2
        variance = sum(chance * (score - mean) ** 2 for chance, score in zip(chances, (1, 0.5, 0), strict=True))
        for name in (("item", left), ("item", right), ("voter", voter)):
            squares[name] = squares.get(name, 0) + ((winner + 1) / 2 - mean) ** 2
            variances[name] = variances.get(name, 0) + variance
    infit = {name: squares[name] / variances[name] for name in squares}
    assert_allclose(result.infit, [infit["item", item] for item in range(6)])
    assert_allclose(result.voter_infit, [infit["voter", voter] for voter in range(5)])


def test_a_voter_at_random_and_an_item_without_votes():
    votes, _ = simulated(8, 600, 2, n_voters=6, sd=2.5)
    rng = np.random.default_rng(1)
    winner = np.where(votes.voter == 3, rng.choice([-1, 1], 600), votes.winner)
    votes = Comparisons(9, votes.left, votes.right, winner, range(6), votes.voter)
    result = reliability(bradley_terry(votes), n_splits=2)
    assert np.argmax(result.voter_infit) == 3
    assert result.voter_infit[3] > 1.5
    assert np.isnan(result.infit).tolist() == [False] * 8 + [True]


@pytest.mark.parametrize(("n_votes", "prior"), [(80, None), (300, None), (2_000, math.inf)])
def test_reliability_is_the_share_of_the_variance_that_is_no_error(n_votes, prior):
    shares, stated, halves = [], [], []
    for seed in range(30):
        votes, theta = simulated(15, n_votes, seed)
        try:
            result = reliability(bradley_terry(votes, prior=prior, oversight=0), n_splits=4)
        except ModelError:  # without a prior a half may leave strengths infinite
            continue
        strengths = bradley_terry(votes, prior=prior, oversight=0).theta
        shares.append(np.corrcoef(theta, strengths)[0, 1] ** 2)
        stated.append(result.scale_separation)
        halves.append(result.split_half)
        assert_allclose(result.scale_separation, result.separation**2 / (1 + result.separation**2))
    assert len(shares) >= 10
    assert_allclose(np.mean(stated), np.mean(shares), atol=0.06)
    assert_allclose(np.nanmean(halves), np.mean(shares), atol=0.08)


def test_halves_are_those_of_voters_and_depend_on_the_seed_alone():
    votes, _ = simulated(10, 400, 3, n_voters=8)
    strengths, calls = bradley_terry(votes, prior=2), []
    result = reliability(strengths, n_splits=5, seed=4, progress=calls.append)
    assert (result.unit, calls) == ("voters", [1] * 5)
    assert result == reliability(strengths, n_splits=5, seed=4)
    assert result.split_half != reliability(strengths, n_splits=5, seed=5).split_half
    few = Comparisons(10, votes.left, votes.right, votes.winner, range(3), votes.voter % 3)
    assert reliability(bradley_terry(few, prior=2), n_splits=1).unit == "votes"
    assert result.to_dict()["unit"] == "voters"
    assert list(result.to_frame().columns) == ["item", "infit"]


def test_refused():
    votes, _ = simulated(4, 40, 1)
    strengths = bradley_terry(votes)
    with pytest.raises(ModelError, match="reliability is that of Strengths; got 7"):
        reliability(7)
    with pytest.raises(ModelError, match="reliability needs votes; there are none"):
        reliability(bradley_terry(Comparisons(3, [], [], [])))
    with pytest.raises(OptionError, match="n_splits must be a positive whole number; got 0"):
        reliability(strengths, n_splits=0)
    chain = bradley_terry(Comparisons(2, [0, 0, 1], [1, 1, 0], [1, -1, 1]), prior=math.inf, oversight=0)
    with pytest.raises(ModelError, match="a half of the votes leaves strengths infinite"):
        reliability(chain)
