"""The signal: votes against coin flips, by the wealth of a gambler."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive import Comparisons, bradley_terry, run_matching, stopping_rule
from adaptive.errors import ComparisonError
from adaptive.model._signal import SPREADS, STAKES, signal


def wealth(votes, n_items):
    """The definition, vote by vote in plain Python."""
    gamblers = [
        {"stake": stake, "mean": [0.0] * n_items, "variance": [spread**2] * n_items, "wealth": 1.0}
        for spread in SPREADS
        for stake in STAKES
    ]
    pairs = {frozenset(vote[:2]): dict.fromkeys(vote[:2], 0) for vote in votes}
    of_pairs = dict.fromkeys(STAKES, 1.0)
    for one, other, winner in votes:
        if winner:
            won = pairs[frozenset((one, other))]
            for stake in STAKES:
                of_pairs[stake] *= 1 + stake * (won[one] - won[other]) / (won[one] + won[other] + 1) * winner
            won[one if winner > 0 else other] += 1
        for gambler in gamblers if winner else ():
            mean, variance = gambler["mean"], gambler["variance"]
            both = variance[one] + variance[other]
            chance = 1 / (1 + math.exp(-(mean[one] - mean[other]) / math.sqrt(1 + math.pi * both / 8)))
            gambler["wealth"] *= 1 + gambler["stake"] * (2 * chance - 1) * winner
            curvature = chance * (1 - chance)
            part = 1 / (1 + both * curvature)
            surprise = (1 if winner > 0 else 0) - chance
            mean[one] += variance[one] * part * surprise
            mean[other] -= variance[other] * part * surprise
            for item in (one, other):
                variance[item] *= 1 - variance[item] * curvature * part
        total = sum(gambler["wealth"] for gambler in gamblers) + sum(of_pairs.values())
        yield total / (len(gamblers) + len(of_pairs))


def ordered_comparisons(votes, n_items):
    columns = np.array(votes, np.int64).reshape(-1, 3).T
    return Comparisons(range(n_items), *columns[:2].astype(np.int32), columns[2].astype(np.int8))


@st.composite
def histories(draw):
    n_items = draw(st.integers(2, 5))
    pair = st.lists(st.integers(0, n_items - 1), min_size=2, max_size=2, unique=True)
    votes = draw(st.lists(st.tuples(pair, st.sampled_from([-1, -1, 0, 1, 1])), min_size=1, max_size=30))
    return [(*pair_of_items, winner) for pair_of_items, winner in votes], n_items


@given(histories())
def test_the_wealth_equals_its_definition(history):
    votes, n_items = history
    result = signal(ordered_comparisons(votes, n_items))
    path = list(wealth(votes, n_items))
    assert_allclose(result.log_evidence, max(0.0, math.log(max(path))), rtol=1e-12, atol=1e-12)
    assert result.n_votes == len(votes)


@given(histories())
def test_a_coin_flip_does_not_change_the_expected_wealth(history):
    votes, n_items = history
    before = [1.0, *wealth(votes, n_items)][-2]
    *previous_votes, (one, other, _) = votes
    after = [list(wealth([*previous_votes, (one, other, winner)], n_items))[-1] for winner in (1, -1, 0)]
    assert_allclose((after[0] + after[1]) / 2, before, rtol=1e-12)
    assert after[2] == pytest.approx(before, rel=1e-14)


@given(histories())
def test_sides_and_names_do_not_matter(history):
    votes, n_items = history
    turned = [(n_items - 1 - other, n_items - 1 - one, -winner) for one, other, winner in votes]
    result, other = (signal(ordered_comparisons(history, n_items)).log_evidence for history in (votes, turned))
    assert_allclose(result, other, rtol=1e-12, atol=1e-12)


@given(histories(), st.data())
def test_evidence_never_falls(history, data):
    votes, n_items = history
    fewer = votes[: data.draw(st.integers(0, len(votes)))]
    assert signal(ordered_comparisons(fewer, n_items)).pvalue >= signal(ordered_comparisons(votes, n_items)).pvalue


@pytest.mark.wide
@pytest.mark.needs_numba
# At a rate of .05, more come once in 390 times of 20, and once in 170 of 200.
@pytest.mark.parametrize(("n_campaigns", "most"), [(20, 4), pytest.param(200, 18, marks=pytest.mark.nightly)])
def test_coin_flips_show_a_signal_in_at_most_one_of_twenty_campaigns(n_campaigns, most):
    # Adaptive campaigns that are checked after each vote.
    result = []
    for seed in range(n_campaigns):
        rng = np.random.default_rng(seed)
        votes = run_matching(8, lambda matches, rng=rng: rng.choice([-1, 1], len(matches)), 150, rng=rng, voters=5)
        result.append(signal(votes.comparisons).is_significant)
    assert sum(result) <= most


@pytest.mark.wide
@pytest.mark.needs_numba
def test_a_true_order_gives_a_signal_early():
    firsts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        theta = rng.standard_normal(30)

        def vote(matches, theta=theta, rng=rng):
            differences = theta[matches.left] - theta[matches.right]
            return np.where(rng.random(len(matches)) < 1 / (1 + np.exp(-3 * differences)), 1, -1)

        firsts.append(signal(run_matching(30, vote, 200, rng=rng, voters=10).comparisons).n_votes_until_significant)
    assert firsts.count(None) <= 2  # 200 votes were not enough for 1 or 2 of 60 lists, as measured
    assert np.median([201 if first is None else first for first in firsts]) < 120


def test_without_a_signal_strengths_say_so_and_no_rule_stops():
    rng = np.random.default_rng(1)
    coins = [(*rng.choice(4, 2, replace=False), winner) for winner in rng.choice([-1, 1], 60)]
    result = bradley_terry(ordered_comparisons(coins, 4))
    assert not result.signal.is_significant
    assert "the votes do not rule out chance: the order may be random" in result.warnings
    decision = stopping_rule(-0.99)(result)
    assert not decision
    assert decision.reason == "the votes do not rule out chance after 60 votes"
    clear = bradley_terry(ordered_comparisons([(0, 1, 1), (1, 2, 1), (2, 3, 1)] * 20, 4))
    assert clear.signal.is_significant
    assert stopping_rule(0.5)(clear)
    assert not any("coin" in warning for warning in clear.warnings)


@pytest.mark.needs_numba
def test_repeated_pairs_of_a_chain_give_a_signal():
    left = np.tile(np.arange(199), 4)
    votes = Comparisons(200, left, left + 1, np.ones(left.size, np.int8))
    assert signal(votes).is_significant
    assert signal(votes).log_evidence > 100


def test_only_comparisons_are_accepted():
    with pytest.raises(ComparisonError, match="signal takes Comparisons; got 'votes'"):
        signal("votes")
    assert signal(ordered_comparisons([], 2)).pvalue == 1
