"""Tuning: the winner and its figures, independent of the executor, and errors."""

import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from adaptive import (
    Candidate,
    Comparisons,
    ModelError,
    PlanError,
    SimilarityError,
    VoterPool,
    VoterPopulation,
    candidates_for,
    draw_ballot,
    exponential_similarity,
    plan_ballots,
    true_ranking,
    tune_plan,
    votes_needed,
)
from adaptive._tuning.assessment import outlook_of_ballots, outlook_of_matching
from adaptive._tuning.candidates import CANDIDATES, Trial, paper_candidate
from adaptive._tuning.tune import tuning_runs
from adaptive._tuning.votes_needed import _crossing, _largest_budget, _votes_cast
from adaptive.matching._matched_ballots import MatchedBallots
from adaptive.matching._matching import Matching
from adaptive.simulation._approaches import simulate_ranking
from adaptive.simulation._simulate import simulate
from rankcorr import TauW, UndefinedCorrelationWarning, weighted_tau
from tests.processes import two_workers

pytestmark = pytest.mark.wide
Z = exponential_similarity(12)
VOTERS = VoterPopulation(n_voters=6)
PLANS = [plan_ballots(12, n_ballots=2, fraction=0.5, presentations=m) for m in (1, 2, 8, 12)]
ADAPTIVE = [Candidate("adaptive", plan) for plan in PLANS]


def tune(**arguments):
    defaults = {"similarity": Z, "voters": VOTERS, "candidates": ADAPTIVE, "simulations": 2, "fresh": 4, "seed": 3}
    return tune_plan(120, **{**defaults, **arguments})


def test_each_round_drops_half_of_the_candidates():
    five = [Candidate("matched", PLANS[0], Matching(batch=10, focus=focus)) for focus in (0.0, 0.2, 0.4, 0.6, 0.8)]
    counted = []
    result = tune(candidates=five, progress=counted.append)
    assert [row.fell_out for row in result.rows_tried] == [0, 3, 2, 1, 1]
    assert [row.simulations for row in result.rows_tried] == [8, 8, 4, 2, 2]
    assert result.best == result.rows_tried[0].candidate
    assert sum(counted) == tuning_runs(5, simulations=2, fresh=4) == 5 * 2 + 3 * 2 + 2 * 4 + 2 * 4
    for following, preceding in zip(result.rows_tried[1:3], result.rows_tried[2:4], strict=True):
        assert following.fell_out > preceding.fell_out or following.mean >= preceding.mean


def test_candidates_have_the_same_voters_and_the_figures_are_those_of_simulations():
    trial = Trial(Z, VOTERS, True, TauW(), seed=3, stage=0)
    (value,) = trial.accuracy(ADAPTIVE[2], [ADAPTIVE[2].plan.n_comparisons], 5)
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0, 5)))
    ranking = simulate_ranking(ADAPTIVE[2].plan, VOTERS, Z, "adaptive", rng)
    assert value == weighted_tau(true_ranking(Z), ranking).statistic


def test_the_winner_is_measured_in_separate_simulations():
    result = tune(fresh=6, level=0.9)
    fresh = Trial(Z, VOTERS, True, TauW(), seed=3, stage=1)
    accuracies = np.array([fresh.accuracy(result.best, [120], i)[0] for i in range(6)])
    paper_accuracies = np.array([fresh.accuracy(result.paper, [120], i)[0] for i in range(6)])
    assert_allclose(result.accuracy, accuracies.mean())
    assert_allclose(result.paper_accuracy, paper_accuracies.mean())
    assert_allclose(result.accuracy_interval, ttest_1samp(accuracies, 0).confidence_interval(0.9))
    assert result.gain == pytest.approx((accuracies - paper_accuracies).mean())
    assert result.spread == (np.quantile(accuracies, 0.05), np.quantile(accuracies, 0.95))
    assert result.paper == paper_candidate(12, 120)


def test_matching_beats_ballots_of_few_presentations():
    plan = plan_ballots(30, n_ballots=2, fraction=0.5, presentations=1)
    candidates = [Candidate(approach, plan) for approach in ("adaptive", "matched")]
    voters = VoterPopulation(20)
    result = tune_plan(400, similarity=exponential_similarity(30), voters=voters, candidates=candidates, fresh=6)
    assert result.best.approach == "matched"
    assert result.gain_interval[1] > 0


def test_the_executor_does_not_change_the_winner():
    alone = tune()
    with ThreadPoolExecutor(2) as executor:
        assert tune(executor=executor) == alone
    assert tune(seed=4) != alone


def test_one_candidate_needs_no_search():
    result = tune(candidates=ADAPTIVE[:1])
    assert result.best == ADAPTIVE[0]
    assert result.rows_tried[0].simulations == 0
    assert np.isnan(result.rows_tried[0].mean)
    assert np.isfinite(result.accuracy)


def test_the_result_is_a_table():
    result = tune(coefficient="rho")
    assert list(result.to_frame().columns) == ["candidate", "approach", "mean", "se", "simulations", "fell_out"]
    pattern = r"<TunedPlan for 120 comparisons: adaptive, 2 of fraction 0\.5, \d+ presentations; rho "
    assert re.match(pattern, repr(result))


def test_candidates_spend_no_more_than_the_budget():
    result = candidates_for(60, 900)
    assert {candidate.approach for candidate in result} == set(CANDIDATES)
    assert len(set(map(str, result))) == len(result)
    for candidate in result:
        assert candidate.plan.n_comparisons <= 900
    assert {c.matching.n0 for c in candidates_for(60, 900, approaches=["matched"], n0=5)} == {5}


def test_short_lists_have_fewer_ballots():
    assert paper_candidate(6, 30).plan.n_ballots == 3
    assert paper_candidate(990, 19_660).plan == plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)


def pilot_votes():
    rng = np.random.default_rng(1)
    pool = VoterPopulation(5).draw(rng)
    ballot = draw_ballot(12, 20, 5, rng)
    return Comparisons.from_ballots([(ballot, pool.answer(ballot, pool.opinions(Z, rng), rng))])


def test_pilot_votes_determine_items_and_voters():
    votes = pilot_votes()
    result = tune(similarity=None, pilot=votes, voters=None)
    assert result.population.population.n_voters == 5
    assert tune(similarity=None, pilot=votes).population is None
    assert tune(pilot=votes).best == tune().best


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"similarity": None}, SimilarityError, r"give similarity or pilot"),
        ({"voters": 5}, SimilarityError, "voters must be a VoterPool or a VoterPopulation; got 5"),
        ({"simulations": 1}, SimilarityError, "simulations must be a whole number from 2 on; got 1"),
        ({"fresh": 1.5}, SimilarityError, "fresh must be a whole number from 2 on; got 1.5"),
        ({"candidates": []}, SimilarityError, r"candidates must be one Candidate or more; got \[\]"),
        ({"similarity": Z[:-1]}, SimilarityError, "there are 11 items; the plan of adaptive, 2 .* has 12"),
        ({"seed": -1}, SimilarityError, "seed"),
        ({"similarity": [-0.4, 0.4] * 6}, SimilarityError, "all absolute values of similarities are equal"),
        ({"coefficient": "tau_v"}, ValueError, "tau_v"),
        ({"pilot": 3}, SimilarityError, "pilot must be Comparisons; got 3"),
        ({"pilot": Comparisons(2, [0], [1], [1]), "voters": None}, ModelError, "needs votes with known voters"),
    ],
)
def test_invalid_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        tune(**arguments)


def test_invalid_budgets_are_refused():
    with pytest.raises(SimilarityError, match="budget must be a positive whole number; got 0"):
        tune_plan(0, similarity=Z)
    with pytest.raises(PlanError, match="too small"):
        tune_plan(3, similarity=Z)
    for call in (lambda: tune_plan(30, similarity=Z[:2]), lambda: votes_needed(0.5, similarity=Z[:2])):
        with pytest.raises(PlanError, match="halves the items, which takes at least 3; got 2"):
            call()
    with pytest.raises(SimilarityError, match=r"approaches must be among .*; got 'uniform'"):
        candidates_for(12, 100, approaches=["uniform"])


def test_a_candidate_is_named_by_its_options():
    plan = PLANS[0]
    assert str(Candidate("adaptive_fitted", plan)) == "adaptive, fitted, 2 of fraction 0.5, 1 presentations"
    assert str(Candidate("matched_ballots", plan, matched_ballots=MatchedBallots(0.5, 4, 0.6))) == (
        "matched ballots, 4 of fraction 0.6, noise 0.5"
    )


def find_votes(accuracy=0.7, **arguments):
    few = {"similarity": Z, "voters": VOTERS, "simulations": 4, "most": 60, "seed": 2}
    return votes_needed(accuracy, **{**few, **arguments})


def test_the_crossing_is_linear_in_the_logarithm_of_votes():
    budgets = np.array([100, 400, 1600])
    means = np.array([0.2, 0.6, 0.8])
    assert _crossing(budgets, means, 0.4) == pytest.approx(200)
    assert _crossing(budgets, means, 0.6) == pytest.approx(400)
    assert _crossing(budgets, means, 0.1) == 100
    assert _crossing(budgets, means, 0.9) == math.inf
    assert _crossing(budgets, np.array([0.2, 0.6, 0.5]), 0.6) == pytest.approx(400)  # the drop to .5 is chance
    # A ranking that is a single tie has no coefficient.
    assert _crossing(budgets, np.array([math.nan, 0.6, 0.8]), 0.7) == pytest.approx(800)
    assert _crossing(budgets, np.array([math.nan, 0.6, 0.8]), 0.5) == 400
    assert _crossing(budgets, np.array([0.2, math.nan, 0.8]), 0.8) == pytest.approx(1600)
    assert _crossing(budgets, np.array([math.nan, math.nan, math.nan]), 0.5) == math.inf


def test_more_accuracy_takes_more_votes():
    low, high = find_votes(0.5), find_votes(0.7)
    assert low.reached
    assert high.reached
    assert low.votes < high.votes
    assert low.interval[0] <= low.votes <= low.interval[1]
    assert_allclose(low.means, high.means)
    assert f"takes {high.votes:,.0f} votes" in high.verdict
    assert repr(low).startswith("<VotesNeeded (matched, 4 simulations): a mean tau_w of 0.5 takes ")
    assert list(low.to_frame().columns) == ["votes", "mean", "se"]
    close = find_votes(0.5, voters=VoterPopulation(6, (0.3, 0.5), (0.0, 0.0)), simulations=2)
    assert close.bound < close.bound_interval[1] == 1  # Student's t reaches above 1


def test_an_accuracy_beyond_the_voters_is_not_reached():
    vague = find_votes(0.99, voters=VoterPopulation(3, (1.0, 1.5)), most=100)
    assert not vague.reached
    assert not vague.possible
    assert "cannot be reached with these voters" in vague.verdict
    assert math.isnan(vague.votes)
    assert vague.interval == (math.inf, math.inf)
    few = find_votes(0.97, voters=VoterPopulation(6, (0.0, 0.001), (0.0, 0.0)), most=12)
    assert not few.reached
    assert few.possible
    assert "takes more than 12 votes" in few.verdict
    # Two voters of opposite opinions have no mean ranking, so nothing tells that the accuracy cannot be reached.
    opposite = VoterPool(nonconformity=[1.0, 1.0], oversight=[0.0, 0.0])
    options = {"similarity": [0.9, 0.5, 0.1], "voters": opposite, "approach": "uniform", "most": 6, "seed": 1}
    with pytest.warns(UndefinedCorrelationWarning):
        undefined = find_votes(0.99, **options)
    assert math.isnan(undefined.bound)
    assert undefined.possible
    assert "takes more than 5 votes" in undefined.verdict


def test_a_low_accuracy_is_reached_by_the_fewest_votes():
    assert "takes at most 6 votes, the fewest that were tried" in find_votes(-0.99).verdict


@pytest.mark.parametrize("approach", ["adaptive", "uniform", "matched_ballots"])
def test_other_approaches_run_once_for_each_checkpoint(approach):
    result = find_votes(0.3, approach=approach, simulations=2)
    assert result.approach == approach
    assert np.isfinite(result.means).all()


def test_checkpoints_are_the_votes_that_ballots_cast():
    result = find_votes(0.3, approach="adaptive", simulations=2)
    shape = paper_candidate(12, 60).plan
    options = {"n_ballots": shape.n_ballots, "fraction": shape.fraction}
    costs = [plan_ballots(12, **options, presentations=m).n_comparisons for m in range(1, 10)]
    assert set(result.budgets) <= set(costs)
    trial = Trial(Z, VOTERS, True, TauW(), seed=2, stage=0)
    accuracies = [trial.accuracy(Candidate("adaptive", shape), result.budgets.tolist(), i) for i in range(2)]
    assert_allclose(result.means, np.mean(accuracies, axis=0))
    matched = find_votes(0.3, approach="matched_ballots", simulations=2)
    assert set(matched.budgets) <= {MatchedBallots().plan(12, budget).n_comparisons for budget in range(11, 61)}
    uniform = find_votes(0.3, approach="uniform", simulations=2)
    assert set(uniform.budgets) <= {6 * m for m in range(1, 11)}


@given(st.integers(5, 100), st.integers(8, 400), st.sampled_from(["adaptive", "uniform", "matched_ballots"]))
@example(100, 1_198, "uniform")  # 24 presentations have 1,200 votes, and a budget of 1,180 gives 23
def test_the_largest_budget_never_casts_more_votes_than_allowed(n_items, most, approach):
    try:
        candidate = Candidate(approach, paper_candidate(n_items, most).plan)
        budget = _largest_budget(candidate, most)
    except PlanError:
        reject()
    assert _votes_cast(candidate, budget) <= most


def test_votes_needed_refuses_fewer_votes_than_a_uniform_ballot_casts():
    with pytest.raises(PlanError, match="no plan of 'uniform' casts at most 43 votes"):
        find_votes(similarity=exponential_similarity(50), approach="uniform", most=43)


def test_the_executor_does_not_change_the_votes_needed():
    counted = []
    alone = find_votes(progress=counted.append)
    assert sum(counted) == 8
    with ThreadPoolExecutor(2) as executor:
        assert find_votes(executor=executor) == alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"accuracy": 1}, "accuracy must be a number between -1 and 1; got 1"),
        ({"approach": "full_rankings"}, "an approach must be one of .*; got 'full_rankings'"),
        ({"most": 0}, "most must be a positive whole number; got 0"),
        ({"simulations": 1}, "simulations must be a whole number of 2 or more; got 1"),
        ({"voters": None}, "voters must be a VoterPool or a VoterPopulation; got None"),
        ({"seed": -2}, "seed"),
        ({"similarity": [0.4] * 12, "relatedness": False}, "all similarities are equal, so the accuracy"),
        ({"similarity": [0.4, -0.4] * 6}, "all absolute values of similarities are equal"),
    ],
)
def test_invalid_arguments_of_votes_needed_are_refused(arguments, message):
    with pytest.raises(SimilarityError, match=message):
        find_votes(**arguments)


PLAN = plan_ballots(30, n_ballots=3, fraction=0.5, presentations=8)


def test_plan_accuracy_is_the_mean_of_simulations():
    outlook = outlook_of_ballots(PLAN, 20, seed=3)
    options = {"n_simulations": 40, "seed": 3, "approaches": ("adaptive", "adaptive_fitted")}
    expected = simulate(PLAN, VoterPopulation(20), exponential_similarity(30), **options)
    assert outlook.n_simulations == 40
    assert outlook.scores.mean == expected.mean["adaptive"]["tau_w"]
    assert outlook.strengths.mean == expected.mean["adaptive_fitted"]["tau_w"]
    for reached in (outlook.scores, outlook.strengths):
        assert reached.worst <= reached.mean <= reached.best
        assert reached.low < reached.mean < reached.high <= 1


def test_the_number_of_simulations_follows_from_the_plan_and_the_time():
    large = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    assert 4 <= outlook_of_ballots(large, 100, seconds=1).n_simulations < 40


def test_large_plans_are_simulated_by_scores_and_very_large_ones_not():
    plan = plan_ballots(2_000, n_ballots=7, fraction=0.5, presentations=10)
    outlook = outlook_of_ballots(plan, 20, seconds=0.1)
    assert outlook.scores is not None
    assert outlook.strengths is None
    none = outlook_of_ballots(plan, 20, seconds=0.001)
    assert (none.n_simulations, none.scores, none.strengths) == (0, None, None)


def test_more_votes_give_a_higher_accuracy():
    few, many = (outlook_of_matching(12, budget, 20, Matching()) for budget in (24, 120))
    assert few.strengths.mean < many.strengths.mean
    assert few.scores is None


@pytest.mark.parametrize("n_items", [2, 3])
def test_two_items_are_accepted(n_items):
    assert outlook_of_matching(n_items, 20, 5, Matching(batch=5)).strengths.mean == 1


pytest.importorskip("distributed", reason="distributed is not installed: it is the extra 'cluster'")


@pytest.mark.nightly  # by day, simulations run in two processes
def test_two_worker_processes_find_the_same_plan():
    with two_workers() as client:
        arguments = {"similarity": exponential_similarity(12), "voters": VoterPopulation(6)}
        arguments |= {"candidates": candidates_for(12, 100, approaches=["matched"]), "simulations": 2, "fresh": 3}
        with client.get_executor() as executor:
            parallel = tune_plan(100, executor=executor, **arguments)
        ran = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert parallel == tune_plan(100, **arguments)
    assert min(ran.values()) > 0
