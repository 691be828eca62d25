"""Matched ballots: the guarantees of a draw, neighbours, no repeated pairs for a voter, and whole runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive._draw import draw_ballot
from adaptive._plan import plan_ballots
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import DrawError, ModelError, PlanError, ProtocolError, VoteError
from adaptive.matching._matched_ballots import MatchedBallots, draw_matched_ballot, run_matched_ballots
from adaptive.model._models import bradley_terry
from tests.adaptive.strategies import NO_INTEGERS


def fit_random_ballot(n_items, n_voters, presentations, seed):
    """Strengths from one random ballot, in which smaller numbers mostly win."""
    rng = np.random.default_rng(seed)
    ballot = draw_ballot(n_items, presentations, n_voters, rng)
    answers = np.sign(np.round((ballot.right - ballot.left) / 3 + rng.standard_normal(ballot.n_comparisons)))
    return bradley_terry(Comparisons.from_ballots([(ballot, answers.astype(int))], n_items=n_items), prior=2)


def pairs_of(ballot):
    """Unordered pairs of labels, with their voters."""
    return [
        (*sorted((ballot.items[left], ballot.items[right])), voter)
        for left, right, voter in zip(ballot.left.tolist(), ballot.right.tolist(), ballot.voter.tolist(), strict=True)
    ]


def mean_distance(ballot):
    """Mean difference of the ranks of two compared items."""
    return float(np.abs(ballot.left.astype(int) - ballot.right).mean())


# One ballot


@given(
    st.integers(2, 25), st.integers(1, 30), st.integers(1, 12), st.sampled_from([0.0, 0.5, 3.0]), st.integers(0, 2**20)
)
def test_a_matched_ballot_has_the_guarantees_of_a_drawn_one(n_chosen, presentations, n_voters, noise, seed):
    strengths = fit_random_ballot(26, n_voters, 2, seed)
    rng = np.random.default_rng(seed)
    places = rng.permutation(26)[:n_chosen]
    ballot = draw_matched_ballot(strengths, places, presentations, rng=rng, noise=noise)
    assert ballot.items == tuple(places.tolist())
    broken = ballot.certificate().broken
    assert [violation for violation in broken if "not connected" not in violation] == []


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**20))
def test_without_noise_the_distances_are_nearly_minimal(half, presentations, seed):
    n_items = 2 * half
    strengths = fit_random_ballot(n_items, 3, 2, seed)
    order = np.argsort(-strengths.theta, kind="stable")
    single_round = draw_matched_ballot(strengths, order, 1, rng=np.random.default_rng(seed), noise=0)
    assert mean_distance(single_round) == 1  # 1 with 2, 3 with 4, ...
    drawn_ballot = draw_matched_ballot(strengths, order, presentations, rng=np.random.default_rng(seed), noise=0)
    # A random pair is (n + 1) / 3 apart in the mean.
    assert mean_distance(drawn_ballot) <= (n_items + 1) / 3 + 1e-9


@pytest.mark.parametrize("n_items", [60, 61])
@pytest.mark.parametrize("presentations", [4, 5, 20])
def test_items_are_compared_with_neighbours(n_items, presentations):
    strengths = fit_random_ballot(n_items, 10, 10, 1)
    order = np.argsort(-strengths.theta, kind="stable")
    near, wide = (
        mean_distance(draw_matched_ballot(strengths, order, presentations, rng=np.random.default_rng(2), noise=noise))
        for noise in (0.0, 50.0)
    )
    # Of 60 items in random order two are 20 places apart in the mean; the M nearest are (M + 2) / 4 apart.
    assert near < 1.5 * (presentations + 2) / 4 + 0.5
    assert wide > 15


def test_no_voter_gets_a_pair_again_while_another_can():
    strengths = fit_random_ballot(12, 8, 11, 4)  # all 66 pairs were shown once
    votes = strengths.comparisons
    before = set(zip(*np.sort([votes.left, votes.right], axis=0).tolist(), votes.voter.tolist(), strict=True))
    for seed in range(20):
        ballot = draw_matched_ballot(strengths, np.arange(12), 6, rng=np.random.default_rng(seed))
        assert not before & set(pairs_of(ballot))


def test_a_single_voter_gets_pairs_again():
    ballot = draw_matched_ballot(fit_random_ballot(6, 1, 5, 0), np.arange(6), 5, rng=np.random.default_rng(0))
    assert ballot.certificate().load_max == 15


def test_the_same_state_draws_the_same_ballot():
    strengths = fit_random_ballot(20, 5, 4, 0)
    ballots = [draw_matched_ballot(strengths, range(15), 4, rng=np.random.default_rng(7)) for _ in range(2)]
    assert ballots[0] == ballots[1]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([0], "places must be indices of at least 2 items; got"),
        ([[0, 1]], "places must be indices of at least 2 items; got"),
        ([0.0, 1.0], "places must be indices of at least 2 items; got"),
        ([0, 6], "places must be different indices from 0 to 5; got"),
        ([1, 1], "places must be different indices from 0 to 5; got"),
    ],
)
def test_invalid_places_are_refused(places, message):
    with pytest.raises(DrawError, match=message):
        draw_matched_ballot(fit_random_ballot(6, 2, 2, 0), places, 2, rng=np.random.default_rng(0))


@pytest.mark.parametrize("presentations", [0, *NO_INTEGERS])
def test_invalid_presentations_are_refused(presentations):
    with pytest.raises(DrawError, match="presentations must be an integer of at least 1; got"):
        draw_matched_ballot(fit_random_ballot(6, 2, 2, 0), [0, 1], presentations, rng=np.random.default_rng(0))


def test_voters_must_be_known():
    votes = Comparisons(3, [0, 1], [1, 2], [1, 1])
    with pytest.raises(ModelError, match="matched ballots need votes with known voters"):
        draw_matched_ballot(bradley_terry(votes, prior=1), [0, 1], 1, rng=np.random.default_rng(0))


# Whole runs


def test_certain_voters_give_the_true_top():
    plan = MatchedBallots().plan(16, 400)
    ballots = []

    def vote(ballot):
        ballots.append(ballot)
        items = np.array(ballot.items)
        return np.sign(items[ballot.right] - items[ballot.left])

    strengths = run_matched_ballots(plan, vote, items=16, rng=np.random.default_rng(1), voters=9)
    ranks = strengths.ranking.ranks
    assert_array_equal(ranks[:8], np.arange(1, 9))
    assert np.abs(ranks - np.arange(1, 17)).max() <= 1  # neighbours further down may not have been compared
    assert tuple(ballot.n_items for ballot in ballots) == plan.sizes
    assert strengths.comparisons.n_comparisons == plan.n_comparisons
    assert strengths.model.voters
    # From ballot 2 on, the items are the best of all previous ballots.
    votes = Comparisons.from_ballots([(ballots[0], vote(ballots[0]))], n_items=16)
    best = np.argsort(-bradley_terry(votes, prior=2, ties="half").theta)[: plan.sizes[1]]
    assert set(ballots[1].items) == set(best.tolist())


def test_the_first_ballot_is_that_of_the_paper():
    plan = plan_ballots(10, n_ballots=2, fraction=0.5, presentations=3)
    ballots = []

    def vote(ballot):
        ballots.append(ballot)
        return np.ones(ballot.n_comparisons, int)

    run_matched_ballots(plan, vote, items=10, rng=np.random.default_rng(6), voters=4)
    assert ballots[0] == draw_ballot(10, 3, 4, np.random.default_rng(6))


def test_labels_may_be_of_any_kind():
    plan = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=3)
    items = [("a", 1), ("a", 2), "b", "3", ("c",), "d"]
    voters, rng = ["Ann", "Bob"], np.random.default_rng(6)
    strengths = run_matched_ballots(plan, lambda b: np.ones(b.n_comparisons, int), items=items, rng=rng, voters=voters)
    assert strengths.items == tuple(items)
    assert strengths.comparisons.voters == ("Ann", "Bob")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"items": 5}, ProtocolError, "the plan is for 6 items; got 5"),
        ({"voters": 0}, ModelError, "comparisons need at least one voter; got none"),
        ({"match": 1}, ModelError, "match must be a MatchedBallots; got 1"),
        ({"vote": lambda _: [1]}, VoteError, "9 comparisons need as many answers; got 1"),
    ],
)
def test_invalid_runs_are_refused(options, error, message):
    arguments = {"vote": lambda b: np.ones(b.n_comparisons, int), "items": 6, "rng": np.random.default_rng(0)}
    with pytest.raises(error, match=message):
        run_matched_ballots(plan_ballots(6, n_ballots=2, fraction=0.5, presentations=3), **(arguments | options))


# The plan


@given(st.integers(2, 300), st.integers(10, 5_000))
def test_a_plan_keeps_to_its_budget_without_repeats(n_items, budget):
    match = MatchedBallots()
    try:
        plan = match.plan(n_items, budget)
    except PlanError:
        # Two ballots of one presentation are too many, or the second has fewer than two items.
        assert -(-n_items // 2) + -(-round(0.6 * n_items) // 2) > budget or round(0.6 * n_items) < 2
        return
    assert plan.n_comparisons <= budget
    assert 2 <= plan.n_ballots <= match.n_ballots
    assert plan.n_ballots == 2 or plan.presentations < plan.sizes[-1]


def test_the_plan_of_the_documents():
    plan = MatchedBallots().plan(990, 19_660)
    assert (plan.n_ballots, plan.fraction, plan.presentations, plan.n_comparisons) == (9, 0.6, 16, 19_600)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "noise must be a finite number, not negative; got -0.1"),
        ({"noise": math.inf}, "noise must be a finite number, not negative; got inf"),
        ({"n_ballots": 1}, "n_ballots must be a whole number of at least 2; got 1"),
        ({"fraction": 1}, "fraction must be a number above 0 and below 1; got 1"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        MatchedBallots(**options)
