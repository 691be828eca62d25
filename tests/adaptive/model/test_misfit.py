import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from adaptive import Comparisons, bradley_terry
from adaptive._votes import LEFT, RIGHT
from tests.adaptive import naive
from tests.adaptive.strategies import MODELS, OVERSIGHT, comparisons, rows, simulate_votes

ATOL = 5e-3  # the library takes the factor of the strengths to three digits


@st.composite
def fits(draw):
    """Fits to few votes; ties, repeated pairs and equal strengths are common."""
    fit, options = draw(MODELS)
    votes = draw(comparisons(min_size=1))
    with_voters = votes.voter is not None and draw(st.booleans())
    sd = draw(st.sampled_from([0.5, 2.0]))
    return fit(votes, **options, prior=sd, oversight=draw(OVERSIGHT), voters=with_voters, side_bias=draw(st.booleans()))


@given(fits())
def test_misfit_statistics_are_sums_over_votes(strengths):
    votes, at = strengths.comparisons, strengths.parameters
    # The votes without ties in the form of the naive model, each with its index among all votes.
    decisive_votes = [
        (place, vote) for place, vote in enumerate(rows(votes, strengths.model.voters)) if vote[2] != "tie"
    ]

    def chance(vote, factor, slips):
        left, right, _, v = vote
        margin = at.discrimination[v] * (at.theta[left] - at.theta[right])
        # Without ties, the probability is that of the curve, and an oversight reverses it.
        oversight = at.oversight[v] if slips else 0.0
        return naive.recorded_chances(factor * margin + at.side[v], oversight, 0.0, strengths.model.link)["left"]

    def cost(log_factor, slips):
        chances = [chance(vote, math.exp(log_factor), slips) for _, vote in decisive_votes]
        pairs = zip(decisive_votes, chances, strict=True)
        return -sum(math.log(max(p if vote[2] == "left" else 1 - p, 1e-300)) for (_, vote), p in pairs)

    # From several starts, because many oversights may give more than one peak.
    ends = np.linspace(math.log(0.2), math.log(10), 9)
    peaks = [
        (minimize_scalar(cost, bounds=part, method="bounded", args=(slips,)), slips)
        for slips in (True, False)
        for part in itertools.pairwise(ends)
    ]
    best, slips = min(peaks, key=lambda peak: peak[0].fun)
    factor = math.exp(best.x)

    residual, variance, favoured, distance, pair = [], [], [], [], []
    for _, vote in decisive_votes:
        left, right, winner, v = vote
        p = chance(vote, factor, slips)
        residual.append((winner == "left") - p)
        variance.append(p * (1 - p))
        stronger = "left" if at.theta[left] >= at.theta[right] else "right"
        favoured.append(residual[-1] if stronger == "left" else -residual[-1])
        distance.append(at.discrimination[v] * abs(at.theta[left] - at.theta[right]))
        pair.append(frozenset((left, right)))

    def excess(values, groups, voters=None):
        both = [
            (i, j)
            for i in range(len(decisive_votes))
            for j in range(len(decisive_votes))
            if i != j and groups[i] == groups[j] and (voters is None or voters[i] != voters[j])
        ]
        total = sum(values[i] * values[j] for i, j in both)
        return total / math.sqrt(2 * sum(variance[i] * variance[j] for i, j in both) + 1)

    def of_lower(vote, value):
        return value if vote[0] < vote[1] else -value

    signed = [of_lower(vote, value) for (_, vote), value in zip(decisive_votes, residual, strict=True)]
    mean = sum(v * d for v, d in zip(variance, distance, strict=True)) / max(sum(variance), 1e-9)
    spread = sum(v * (d - mean) ** 2 for v, d in zip(variance, distance, strict=True))
    far = sum(f * (d - mean) for f, d in zip(favoured, distance, strict=True))
    result = strengths.misfit
    assert_allclose(result.far * math.sqrt(spread), far, atol=ATOL)
    voter = None if votes.voter is None else [int(votes.voter[place]) for place, _ in decisive_votes]
    assert_allclose(result.pairs, excess(signed, pair, voter), atol=ATOL)
    assert_allclose(result.voters, 0.0 if voter is None else excess(favoured, voter), atol=ATOL)
    assert result.n_repeated == sum(number for number in Counter(pair).values() if number > 1)


def draw_votes(strengths, rng):
    """Votes of the fitted model on the same pairs by the same voters."""
    votes, at = strengths.comparisons, strengths.parameters
    margin = at.theta[votes.left] - at.theta[votes.right]
    likely = at.oversight[0] + (1 - 2 * at.oversight[0]) / (1 + np.exp(-margin))
    winner = np.where(rng.random(votes.n_comparisons) < likely, LEFT, RIGHT)
    return Comparisons(votes.items, votes.left, votes.right, winner, votes.voters, votes.voter)


@pytest.mark.wide
def test_misfit_statistics_are_small_if_the_model_holds():
    """On random pairs of 20 items; each pair is asked about three times."""
    rng = np.random.default_rng(1)
    votes, _ = simulate_votes(20, 600, seed=1)
    truth = bradley_terry(votes)
    result = [bradley_terry(draw_votes(truth, rng), prior=truth.prior_sd).misfit for _ in range(200)]
    pairs, far = (np.array([getattr(misfit, name) for misfit in result]) for name in ("pairs", "far"))
    assert pairs.max() < 3
    assert np.count_nonzero(pairs <= -3) <= 6  # its mean is -1
    assert np.abs(far).max() < 3
    # They vary about as much as they should, and are not all 0.
    assert_allclose([pairs.mean(), far.mean()], [-1, 0], atol=0.3)
    assert_allclose([pairs.std(), far.std()], 1, atol=0.3)
    assert all(misfit.n_repeated > 400 for misfit in result)


def fit_circle(n_rounds):
    votes = Comparisons.from_labels(
        ["fig", "kiwi", "plum"] * n_rounds, ["kiwi", "plum", "fig"] * n_rounds, ["left"] * 3 * n_rounds
    )
    return bradley_terry(votes)


def test_circular_preferences_are_detected():
    assert fit_circle(9).misfit.pairs > 8
    assert any("preferences go in circles" in warning for warning in fit_circle(9).warnings)
    # A single vote on each pair says nothing about it.
    assert (fit_circle(1).misfit.pairs, fit_circle(1).misfit.n_repeated) == (0, 0)
    assert not any("circles" in warning for warning in fit_circle(1).warnings)


def test_careless_voters_are_detected():
    rng = np.random.default_rng(2)
    votes, _ = simulate_votes(20, 1_200, seed=2, n_voters=12)
    coins = rng.choice([LEFT, RIGHT], votes.n_comparisons)
    careless = replace(votes, winner=np.where(votes.voter < 3, coins, votes.winner))
    assert abs(bradley_terry(votes).misfit.voters) < 3
    assert bradley_terry(careless).misfit.voters > 3


def test_oversights_missing_in_the_model_are_detected():
    """They cost the stronger item more victories if the two items are far apart."""
    rng = np.random.default_rng(2)
    votes, _ = simulate_votes(20, 3_000, seed=2, sd=3)
    turned = replace(votes, winner=np.where(rng.random(votes.n_comparisons) < 0.1, -votes.winner, votes.winner))
    assert bradley_terry(turned, oversight=0).misfit.far < -3
    assert abs(bradley_terry(turned, oversight=0.1).misfit.far) < 3


@pytest.mark.parametrize("winner", [[], [0, 0, 0]])
def test_without_a_decided_vote_there_is_no_misfit(winner):
    votes = Comparisons(3, [0, 1, 0][: len(winner)], [1, 2, 1][: len(winner)], winner)
    result = bradley_terry(votes, prior=2).misfit
    assert (result.pairs, result.far, result.voters, result.n_repeated) == (0, 0, 0, 0)


def test_repeated_votes_of_one_voter_on_a_pair_are_no_misfit():
    """Only votes of other voters can show that a pair is special."""
    left, right = ["fig", "kiwi", "plum"] * 9, ["kiwi", "plum", "fig"] * 9
    alone = Comparisons.from_labels(left, right, ["left"] * 27, voter=["Ann"] * 27)
    many = Comparisons.from_labels(left, right, ["left"] * 27, voter=[f"voter {k // 3}" for k in range(27)])
    assert bradley_terry(alone).misfit.pairs == 0
    assert bradley_terry(many).misfit.pairs > 8
