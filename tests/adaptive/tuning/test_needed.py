"""Votes needed: where a curve crosses the wanted accuracy, and what cannot be reached."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adaptive import SimilarityError, VoterPopulation, exponential_similarity, votes_needed
from adaptive._tuning.needed import _crossing

pytestmark = pytest.mark.wide

Z = exponential_similarity(12)
VOTERS = VoterPopulation(n_voters=6)


def needed(accuracy=0.7, **arguments):
    return votes_needed(accuracy, **{"similarity": Z, "voters": VOTERS, "simulations": 4, "seed": 2, **arguments})


def test_the_crossing_is_linear_in_the_logarithm_of_votes():
    budgets = np.array([100, 400, 1600])
    means = np.array([0.2, 0.6, 0.8])
    assert _crossing(budgets, means, 0.4) == pytest.approx(200)
    assert _crossing(budgets, means, 0.6) == pytest.approx(400)
    assert _crossing(budgets, means, 0.1) == 100
    assert _crossing(budgets, means, 0.9) == math.inf
    assert _crossing(budgets, np.array([0.2, 0.6, 0.5]), 0.6) == pytest.approx(400)  # chance, not fewer votes


def test_more_accuracy_takes_more_votes():
    low, high = needed(0.5), needed(0.85)
    assert low.reached
    assert high.reached
    assert low.votes < high.votes
    assert low.interval[0] <= low.votes <= low.interval[1]
    assert_allclose(low.means, high.means)
    assert f"takes {high.votes:,.0f} votes" in high.verdict
    assert repr(low).startswith("<VotesNeeded (matched, 4 simulations): a mean tau_w of 0.5 takes ")
    assert list(low.to_frame().columns) == ["votes", "mean", "se"]


def test_what_voters_do_not_know_cannot_be_reached():
    vague = needed(0.99, voters=VoterPopulation(3, (1.0, 1.5)), most=100)
    assert not vague.reached
    assert not vague.possible
    assert "cannot be reached with these voters" in vague.verdict
    assert math.isnan(vague.votes)
    assert vague.interval == (math.inf, math.inf)
    few = needed(0.97, voters=VoterPopulation(6, (0.0, 0.001), (0.0, 0.0)), most=12)
    assert not few.reached
    assert few.possible
    assert "takes more than 12 votes" in few.verdict


def test_an_accuracy_that_any_votes_reach():
    assert "takes at most 6 votes, the fewest that were tried" in needed(-0.99).verdict


@pytest.mark.parametrize("approach", ["adaptive", "uniform", "matched_ballots"])
def test_other_approaches_run_once_for_each_checkpoint(approach):
    found = needed(0.3, approach=approach, most=150)
    assert found.approach == approach
    assert found.budgets[-1] == 150
    assert np.isfinite(found.means).all()


def test_the_executor_changes_nothing():
    counted = []
    alone = needed(progress=counted.append)
    assert sum(counted) == 8
    with ThreadPoolExecutor(2) as executor:
        assert needed(executor=executor) == alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"accuracy": 1}, "accuracy must be a number between -1 and 1; got 1"),
        ({"accuracy": math.nan}, "accuracy must be a number between -1 and 1"),
        ({"approach": "full_rankings"}, "an approach is one of .*; got 'full_rankings'"),
        ({"approach": "matcht"}, "got 'matcht'"),
        ({"most": 0}, "most must be a positive whole number; got 0"),
        ({"simulations": 1}, "simulations must be a whole number of 2 or more; got 1"),
        ({"voters": None}, "voters are a VoterPool or a VoterPopulation; got None"),
        ({"seed": -2}, "seed"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(SimilarityError, match=message):
        needed(**arguments)
