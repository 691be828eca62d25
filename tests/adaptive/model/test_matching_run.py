"""A whole run of matching: budget, states on the way, unanswered comparisons, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive.errors import ModelError, VoteError
from adaptive.model.estimators import bradley_terry
from adaptive.model.matched_ballots import MatchedBallots, run_matched_ballots
from adaptive.model.matching import FIRST, FOCUS, Matches
from adaptive.model.matching_run import Matching, run_matching
from adaptive.model.prior import Prior
from adaptive.votes import TIE, UNANSWERED
from tests.adaptive.plans import NO_INTEGERS

SMALL = Matching(batch=7)


def prefer_smaller(matches):
    return np.sign(matches.right - matches.left)


def noisy(seed):
    """Answers that follow the numbers of the items, with ties and errors."""
    rng = np.random.default_rng(seed)

    def vote(matches):
        return np.sign(np.round((matches.right - matches.left) / 4 + rng.standard_normal(len(matches)))).astype(int)

    return vote


def _in_ballots(vote, rng):
    return run_matched_ballots(MatchedBallots().plan(8, 60), vote, items=8, rng=rng)


def columns(votes):
    return np.array([votes.left, votes.right, votes.winner, votes.voter])


def test_certain_voters_give_the_true_ranking():
    strengths = run_matching(12, prefer_smaller, 150, rng=np.random.default_rng(3), voters=20, matching=SMALL)
    assert_array_equal(strengths.ranking.ranks, np.arange(1, 13))
    assert strengths.comparisons.n_comparisons == 150
    assert strengths.items == range(12)


def test_vote_gets_matches_of_the_labels_and_names_given():
    seen = []

    def vote(matches):
        seen.append(matches)
        return np.ones(len(matches), int)

    strengths = run_matching(["a", "b", "c", "d"], vote, 5, rng=np.random.default_rng(3), voters=["Ann", "Bob"])
    assert all(isinstance(each, Matches) for each in seen)
    # Two at once until every item was compared, then a batch that ends with the budget.
    assert [len(each) for each in seen] == [2, 3]
    assert (seen[0].items, seen[0].voters) == (("a", "b", "c", "d"), ("Ann", "Bob"))
    assert strengths.comparisons.voters == ("Ann", "Bob")


@given(st.integers(2, 12), st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**20))
def test_a_shorter_run_is_the_beginning_of_a_longer_one(n_items, batch, shorter, seed):
    options = {"voters": 60, "matching": Matching(batch=batch)}
    long = run_matching(n_items, noisy(seed), shorter + 10, rng=np.random.default_rng(seed), **options)
    short = run_matching(n_items, noisy(seed), shorter, rng=np.random.default_rng(seed), **options)
    assert_array_equal(columns(short.comparisons), columns(long.comparisons)[:, :shorter])
    state = bradley_terry(long.comparisons.select(range(shorter)), voters=True)
    assert_allclose(short.theta, state.theta, atol=1e-12)


def test_the_end_is_the_fit_with_voters():
    strengths = run_matching(8, noisy(1), 60, rng=np.random.default_rng(1), voters=4, matching=SMALL)
    assert strengths.model.voters
    assert strengths.model.ties == "davidson"
    assert strengths.prior == Prior()


def test_voters_may_be_fitted_on_the_way():
    # Three voters of four are careless, which only a fit of voters knows.
    def vote(matches):
        rng = np.random.default_rng(len(matches) + int(matches.left.sum()))
        return np.where(matches.voter == 0, prefer_smaller(matches), rng.choice([-1, 1], len(matches)))

    runs = [
        run_matching(
            15, vote, 100, rng=np.random.default_rng(5), voters=4, matching=replace(SMALL, voters_from=voters_from)
        )
        for voters_from in (math.inf, 10)
    ]
    first, then = (columns(run.comparisons) for run in runs)
    n_same = int(np.argmin((first == then).all(axis=0)))
    assert 40 <= n_same < 80  # 10 for each of 4 voters, and not long after that


def test_unanswered_comparisons_are_spent():
    def silent(matches):
        answers = prefer_smaller(matches)
        answers[::2] = UNANSWERED
        return answers

    strengths = run_matching(6, silent, 40, rng=np.random.default_rng(1), matching=SMALL)
    votes = strengths.comparisons
    assert votes.n_comparisons + votes.n_unanswered == 40
    assert votes.n_unanswered >= 20
    nothing = run_matching(4, lambda m: np.full(len(m), UNANSWERED), 9, rng=np.random.default_rng(1), matching=SMALL)
    assert (nothing.comparisons.n_comparisons, nothing.comparisons.n_unanswered) == (0, 9)
    assert_array_equal(nothing.theta, 0)


def test_it_ends_when_the_voters_have_seen_all_pairs():
    strengths = run_matching(4, lambda m: np.full(len(m), TIE), 50, rng=np.random.default_rng(1), voters=2)
    assert strengths.comparisons.n_comparisons == 12  # 6 pairs, 2 voters
    assert len(set(map(tuple, np.sort(columns(strengths.comparisons)[[0, 1]], axis=0).T.tolist()))) == 6


def test_defaults_are_those_of_next_comparisons():
    assert (Matching().focus, Matching().first, Matching().n0) == (FOCUS, FIRST, 2.0)


@pytest.mark.parametrize("number", [0, -1, *NO_INTEGERS])
def test_numbers_that_are_no_counts(number):
    with pytest.raises(ModelError, match="n_comparisons must be a positive whole number; got"):
        run_matching(4, prefer_smaller, number, rng=np.random.default_rng(0))
    with pytest.raises(ModelError, match="batch must be a positive whole number; got"):
        Matching(batch=number)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voters_from": -1}, "voters_from must be a number, not negative; got -1"),
        ({"voters_from": math.nan}, "voters_from must be a number, not negative; got nan"),
        ({"voters_from": "all"}, "voters_from must be a number, not negative; got 'all'"),
        ({"first": -1}, "first must be a whole number, not negative; got -1"),
        ({"n0": -1}, "n0 must be a finite number above -1; got -1"),
        ({"focus": 1.5}, "focus must be a number from 0 to 1; got 1.5"),
    ],
)
def test_what_is_no_matching(options, message):
    with pytest.raises(ModelError, match=message):
        Matching(**options)


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        (1, {}, "a ranking needs at least two items; got 1"),
        (["a", "a"], {}, "items must be unique"),
        (4, {"voters": 0}, "comparisons need at least one voter; got none"),
        (4, {"matching": 50}, "matching must be a Matching; got 50"),
    ],
)
def test_what_cannot_be_run(items, options, message):
    with pytest.raises(ModelError, match=message):
        run_matching(items, prefer_smaller, 5, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("run", [lambda **given: run_matching(5, given.pop("vote"), 5, **given), _in_ballots])
def test_what_cannot_vote(run):
    with pytest.raises(ModelError, match="vote must be a function that takes comparisons and returns answers; got 3"):
        run(vote=3, rng=np.random.default_rng(0))
    with pytest.raises(ModelError, match=r"rng must be a numpy\.random\.Generator, .* got None"):
        run(vote=prefer_smaller, rng=None)


def test_a_voter_is_not_asked_again_what_was_left_unanswered():
    shown = []

    def silent(matches):
        shown.extend(zip(matches.voter.tolist(), map(frozenset, matches.pairs), strict=True))
        return np.full(len(matches), UNANSWERED)

    run_matching(4, silent, 50, rng=np.random.default_rng(1), voters=3, matching=SMALL)
    assert len(shown) == len(set(shown)) == 18


def test_answers_must_be_those_to_the_matches():
    with pytest.raises(VoteError, match="2 comparisons need as many answers; got 3"):
        run_matching(4, lambda _: [1, 1, 1], 5, rng=np.random.default_rng(0))
