"""Tuning: who wins, what is told of it, the same whatever the executor, and what is refused."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from adaptive import (
    Candidate,
    Comparisons,
    ModelError,
    PlanError,
    SimilarityError,
    VoterPopulation,
    candidates_for,
    draw_ballot,
    exponential_similarity,
    plan_ballots,
    true_ranking,
    tune_plan,
)
from adaptive._tuning.candidates import CANDIDATES, Trial, paper_candidate
from adaptive._tuning.tune import tuning_runs
from adaptive.model._matched_ballots import MatchedBallots
from adaptive.model._matching import Matching
from adaptive.simulation._approaches import simulate_ranking
from rankcorr import TauW, weighted_tau

pytestmark = pytest.mark.wide

Z = exponential_similarity(12)
VOTERS = VoterPopulation(n_voters=6)
PLANS = [plan_ballots(12, n_ballots=2, fraction=0.5, presentations=m) for m in (1, 2, 8, 12)]
FEW = [Candidate("adaptive", plan) for plan in PLANS]


def tuned(**arguments):
    given = {"similarity": Z, "voters": VOTERS, "candidates": FEW, "simulations": 2, "fresh": 4, "seed": 3}
    return tune_plan(120, **{**given, **arguments})


def test_half_of_the_candidates_falls_out_in_each_round():
    five = [Candidate("matched", PLANS[0], Matching(batch=10, focus=focus)) for focus in (0.0, 0.2, 0.4, 0.6, 0.8)]
    counted = []
    result = tuned(candidates=five, progress=counted.append)
    assert [row.fell_out for row in result.rows_tried] == [0, 3, 2, 1, 1]
    assert [row.simulations for row in result.rows_tried] == [8, 8, 4, 2, 2]
    assert result.best == result.rows_tried[0].candidate
    assert sum(counted) == tuning_runs(5, simulations=2, fresh=4) == 5 * 2 + 3 * 2 + 2 * 4 + 2 * 4
    for earlier, later in zip(result.rows_tried[1:3], result.rows_tried[2:4], strict=True):
        assert earlier.fell_out > later.fell_out or earlier.mean >= later.mean


def test_candidates_have_the_same_voters_and_the_figures_are_those_of_simulations():
    trial = Trial(Z, VOTERS, True, TauW(), seed=3, stage=0)
    (value,) = trial.accuracy(FEW[2], [FEW[2].plan.n_comparisons], 5)
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0, 5)))
    ranking = simulate_ranking(FEW[2].plan, VOTERS, Z, "adaptive", rng)
    assert value == weighted_tau(true_ranking(Z), ranking).statistic


def test_the_winner_is_measured_by_simulations_of_its_own():
    result = tuned(fresh=6, level=0.9)
    fresh = Trial(Z, VOTERS, True, TauW(), seed=3, stage=1)
    own = np.array([fresh.accuracy(result.best, [120], i)[0] for i in range(6)])
    papers = np.array([fresh.accuracy(result.paper, [120], i)[0] for i in range(6)])
    assert_allclose(result.accuracy, own.mean())
    assert_allclose(result.paper_accuracy, papers.mean())
    assert_allclose(result.accuracy_interval, ttest_1samp(own, 0).confidence_interval(0.9))
    assert result.gain == pytest.approx((own - papers).mean())
    assert result.spread == (np.quantile(own, 0.05), np.quantile(own, 0.95))
    assert result.paper == paper_candidate(12, 120)


def test_matching_beats_ballots_of_few_presentations():
    plan = plan_ballots(30, n_ballots=2, fraction=0.5, presentations=1)
    candidates = [Candidate(approach, plan) for approach in ("adaptive", "matched")]
    voters = VoterPopulation(20)
    result = tune_plan(400, similarity=exponential_similarity(30), voters=voters, candidates=candidates, fresh=6)
    assert result.best.approach == "matched"
    assert result.gain_interval[1] > 0


def test_the_executor_changes_nothing():
    alone = tuned()
    with ThreadPoolExecutor(2) as executor:
        assert tuned(executor=executor) == alone
    assert tuned(seed=4) != alone


def test_one_candidate_needs_no_search():
    result = tuned(candidates=FEW[:1])
    assert result.best == FEW[0]
    assert result.rows_tried[0].simulations == 0
    assert np.isnan(result.rows_tried[0].mean)
    assert np.isfinite(result.accuracy)


def test_the_result_is_a_table():
    result = tuned(coefficient="rho")
    assert list(result.to_frame().columns) == ["candidate", "approach", "mean", "se", "simulations", "fell_out"]
    shown = r"<TunedPlan for 120 comparisons: adaptive, 2 of fraction 0\.5, \d+ presentations; rho "
    assert re.match(shown, repr(result))


def test_candidates_spend_no_more_than_the_budget():
    found = candidates_for(60, 900)
    assert {candidate.approach for candidate in found} == set(CANDIDATES)
    assert len(set(map(str, found))) == len(found)
    for candidate in found:
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


def test_pilot_votes_tell_of_items_and_voters():
    votes = pilot_votes()
    result = tuned(similarity=None, pilot=votes, voters=None)
    assert result.population.population.n_voters == 5
    assert tuned(similarity=None, pilot=votes).population is None
    assert tuned(pilot=votes).best == tuned().best


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"similarity": None}, SimilarityError, r"give similarity= or pilot="),
        ({"voters": 5}, SimilarityError, "voters are a VoterPool or a VoterPopulation; got 5"),
        ({"simulations": 1}, SimilarityError, "simulations must be a whole number from 2 on; got 1"),
        ({"fresh": 1.5}, SimilarityError, "fresh must be a whole number from 2 on; got 1.5"),
        ({"candidates": []}, SimilarityError, r"candidates must be one Candidate or more; got \[\]"),
        ({"candidates": [1]}, SimilarityError, r"candidates must be one Candidate or more"),
        ({"similarity": Z[:-1]}, SimilarityError, "there are 11 items; the plan of adaptive, 2 .* has 12"),
        ({"seed": -1}, SimilarityError, "seed"),
        ({"coefficient": "tau_v"}, ValueError, "tau_v"),
        ({"pilot": 3}, SimilarityError, "pilot votes are Comparisons; got 3"),
        ({"pilot": Comparisons(2, [0], [1], [1]), "voters": None}, ModelError, "voters are known"),
    ],
)
def test_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        tuned(**arguments)


def test_a_budget_that_is_refused():
    with pytest.raises(SimilarityError, match="budget must be a positive whole number; got 0"):
        tune_plan(0, similarity=Z)
    with pytest.raises(PlanError, match="too small"):
        tune_plan(3, similarity=Z)
    with pytest.raises(SimilarityError, match=r"approaches to tune are .*; got 'uniform'"):
        candidates_for(12, 100, approaches=["uniform"])


def test_a_candidate_names_itself():
    plan = PLANS[0]
    assert str(Candidate("adaptive_fitted", plan)) == "adaptive, fitted, 2 of fraction 0.5, 1 presentations"
    assert str(Candidate("matched_ballots", plan, matched_ballots=MatchedBallots(0.5, 4, 0.6))) == (
        "matched ballots, 4 of fraction 0.6, noise 0.5"
    )
