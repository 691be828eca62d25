"""What a plan will reach, within seconds."""

import pytest

from adaptive._plan import plan_ballots
from adaptive._tuning.outlook import outlook_of_ballots, outlook_of_matching
from adaptive.model._matching import Matching
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPopulation

pytestmark = pytest.mark.wide

PLAN = plan_ballots(30, n_ballots=3, fraction=0.5, presentations=8)


def test_it_is_the_mean_of_simulations_as_simulate_gives_them():
    outlook = outlook_of_ballots(PLAN, 20, seed=3)
    options = {"n_simulations": 40, "seed": 3, "approaches": ("adaptive", "adaptive_fitted")}
    wanted = simulate(PLAN, VoterPopulation(20), exponential_similarity(30), **options)
    assert outlook.n_simulations == 40
    assert outlook.scores.mean == wanted.mean["adaptive"]["tau_w"]
    assert outlook.strengths.mean == wanted.mean["adaptive_fitted"]["tau_w"]
    for reached in (outlook.scores, outlook.strengths):
        assert reached.worst <= reached.mean <= reached.best
        assert reached.low < reached.mean < reached.high <= 1


def test_the_number_of_simulations_follows_from_the_plan_and_the_time():
    large = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    assert 4 <= outlook_of_ballots(large, 100, seconds=1).n_simulations < 40


def test_a_large_plan_is_simulated_with_scores_alone_and_a_larger_one_not_at_all():
    plan = plan_ballots(2_000, n_ballots=7, fraction=0.5, presentations=10)
    outlook = outlook_of_ballots(plan, 20, seconds=0.1)
    assert outlook.scores is not None
    assert outlook.strengths is None
    none = outlook_of_ballots(plan, 20, seconds=0.001)
    assert (none.n_simulations, none.scores, none.strengths) == (0, None, None)


def test_more_votes_reach_more():
    few, many = (outlook_of_matching(30, budget, 20, Matching()) for budget in (60, 600))
    assert few.strengths.mean < many.strengths.mean
    assert few.scores is None


@pytest.mark.parametrize("n_items", [2, 3])
def test_two_items_are_enough(n_items):
    assert outlook_of_matching(n_items, 20, 5, Matching(batch=5)).n_simulations == 40
