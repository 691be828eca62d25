"""Voters, opinions and answers, against the model spelt out for one voter and one item at a time."""

import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive._draw import draw_ballot
from adaptive.errors import SimilarityError
from adaptive.model._matching import Matches
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking, vanishing_amplitude

pytestmark = pytest.mark.wide

SEEDS = st.integers(0, 2**32 - 1)
SIMILARITIES = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


def published_amplitude(z):
    return z * (1 - z)


def naive_opinion(z, s_v, eta, amplitude, relatedness):
    """Eq. 11 for one voter and one item."""
    clipped = max(-1.0, min(1.0, z + s_v * amplitude * eta))
    return abs(clipped) if relatedness else clipped


def naive_answer(left, right, overlooks, indifference=0.0):
    """Answer of one voter to one comparison: opinions that differ by no more than the indifference are a tie."""
    if abs(left - right) <= indifference:
        return 0
    prefers_left = left > right
    if overlooks:
        prefers_left = not prefers_left
    return 1 if prefers_left else -1


@pytest.mark.parametrize("amplitude", [vanishing_amplitude, published_amplitude])
@pytest.mark.parametrize("relatedness", [True, False])
@given(SIMILARITIES, st.lists(st.floats(0, 3), min_size=1, max_size=4), SEEDS)
def test_opinions_are_the_model(amplitude, relatedness, similarity, levels, seed):
    pool = VoterPool(levels, [0.0] * len(levels), amplitude)
    opinions = pool.opinions(similarity, np.random.default_rng(seed), relatedness=relatedness)
    eta = np.random.default_rng(seed).standard_normal(opinions.shape)
    expected = [
        [naive_opinion(z, s_v, eta[v, i], amplitude(z), relatedness) for i, z in enumerate(similarity)]
        for v, s_v in enumerate(levels)
    ]
    assert_allclose(opinions, expected, atol=1e-15)


@given(st.integers(2, 12), st.integers(1, 8), st.integers(1, 5), st.sampled_from([0.0, 0.25, 0.5]), SEEDS)
def test_answers_are_the_model(n_items, presentations, n_voters, indifference, seed):
    rng = np.random.default_rng(seed)
    pool = VoterPool(np.zeros(n_voters), rng.uniform(0, 1, n_voters), indifference=indifference)
    opinions = rng.integers(0, 5, (n_voters, n_items)) / 4  # ties, and differences of the indifference, are common
    ballot = draw_ballot(n_items, presentations, n_voters, rng)
    answers = pool.answer(ballot, opinions, np.random.default_rng(seed))
    luck = np.random.default_rng(seed).random(ballot.n_comparisons)
    expected = [
        naive_answer(opinions[voter, left], opinions[voter, right], luck[c] < pool.oversight[voter], indifference)
        for c, (left, right, voter) in enumerate(zip(ballot.left, ballot.right, ballot.voter, strict=True))
    ]
    assert answers.dtype == np.int8
    assert_array_equal(answers, expected)


def test_a_ballot_of_some_items_finds_their_opinions():
    chosen = [7, 2, 5]
    pool = VoterPool([0.0], [0.0])
    rng = np.random.default_rng(3)
    opinions = pool.opinions(exponential_similarity(10), rng)
    ballot = draw_ballot(chosen, 2, 1, rng)
    item = np.array(chosen)
    assert_array_equal(pool.answer(ballot, opinions, rng), np.sign(item[ballot.right] - item[ballot.left]))


def test_matches_are_answered_like_a_ballot():
    rng = np.random.default_rng(5)
    pool = VoterPool([0.1, 0.1], [0.2, 0.0])
    opinions = pool.opinions(exponential_similarity(6), rng)
    ballot = draw_ballot(6, 3, 2, rng)
    matches = Matches(range(6), range(2), ballot.left, ballot.right, ballot.voter)
    assert_array_equal(*(pool.answer(asked, opinions, np.random.default_rng(1)) for asked in (ballot, matches)))


def test_no_voter_strays_from_a_synonym():
    pool = VoterPool(np.full(50, 0.2), np.zeros(50))
    opinions = pool.opinions([1.0, 0.0, -1.0], np.random.default_rng(4))
    assert_array_equal(opinions[:, [0, 2]], 1.0)
    assert np.ptp(opinions[:, 1]) > 0.1


# Pools.


def test_levels_are_uniform_in_the_papers_intervals():
    pool = VoterPopulation(20_000).draw(np.random.default_rng(5))
    for levels, (least, largest) in ((pool.nonconformity, (0.02, 0.2)), (pool.oversight, (0.005, 0.05))):
        assert least <= levels.min()
        assert levels.max() < largest
        share = np.histogram(levels, 10, (least, largest))[0] / levels.size
        assert_allclose(share, 0.1, atol=4 * math.sqrt(0.09 / levels.size))


def test_a_population_draws_its_levels_within_its_intervals():
    population = VoterPopulation(7, (0.1, 0.1), (0.0, 0.5), published_amplitude)
    pool = population.draw(np.random.default_rng(6))
    assert_array_equal(pool.nonconformity, np.full(7, 0.1))
    assert 0 <= pool.oversight.min() < pool.oversight.max() < 0.5
    assert pool.amplitude is published_amplitude
    assert pool.n_voters == 7


@pytest.mark.parametrize(("share", "n_random"), [(0.0, 0), (0.2, 2), (0.26, 3), (1.0, 10)])
def test_a_share_of_the_voters_answers_at_random(share, n_random):
    pool = VoterPopulation(10, random_share=share).draw(np.random.default_rng(6))
    plain = VoterPopulation(10).draw(np.random.default_rng(6))
    at_random = pool.oversight == 0.5
    assert at_random.sum() == n_random
    assert_array_equal(pool.oversight[~at_random], plain.oversight[~at_random])
    assert_array_equal(pool.nonconformity, plain.nonconformity)


def test_a_population_hands_its_indifference_on():
    assert VoterPopulation(3, indifference=0.1).draw(np.random.default_rng(0)).indifference == 0.1


def test_a_pool_stays_as_it_is():
    levels = np.array([0.1, 0.2])
    pool = VoterPool(levels, [0.0, 0.0])
    levels[0] = 9
    assert pool.nonconformity[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        pool.oversight[0] = 1
    with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
        pool.oversight = levels
    assert repr(pool) == "VoterPool(2 voters, nonconformity 0.1 to 0.2, oversight 0 to 0)"


def test_pools_and_populations_can_be_sent_to_other_processes():
    pool = pickle.loads(pickle.dumps(VoterPool([0.1], [0.2])))
    assert (pool.nonconformity.tolist(), pool.oversight.tolist()) == ([0.1], [0.2])
    assert pickle.loads(pickle.dumps(VoterPopulation(3))) == VoterPopulation(3)


@pytest.mark.parametrize(
    ("nonconformity", "oversight", "message"),
    [
        ([0.1, 0.2], [0.1], "got 2 of the one and 1 of the other"),
        ([0.1, -0.1], [0.1, 0.1], r"nonconformity\[1\] is -0.1; it must be finite and not negative"),
        ([math.inf], [0.1], r"nonconformity\[0\] is inf; it must be finite"),
        ([math.nan], [0.1], r"nonconformity\[0\] is nan; it must be finite"),
        ([0.1], [1.1], r"oversight\[0\] is 1.1; it must lie in \[0, 1\]"),
        ([], [], r"nonconformity must hold one number for each voter; got float64 of shape \(0,\)"),
        ([0.1], 0.1, r"oversight must hold one number for each voter; got float64 of shape \(\)"),
        (["a"], [0.1], "nonconformity must hold one number for each voter; got <U1"),
    ],
)
def test_what_is_no_voter(nonconformity, oversight, message):
    with pytest.raises(SimilarityError, match=message):
        VoterPool(nonconformity, oversight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_voters": 0}, "n_voters must be a positive whole number; got 0"),
        ({"nonconformity": 0.1}, "nonconformity must be a pair of numbers, the least and the largest; got 0.1"),
        ({"nonconformity": (0.1, 0.2, 0.3)}, "nonconformity must be a pair of numbers"),
        ({"oversight": ("0", "1")}, "oversight must be a pair of numbers"),
        ({"nonconformity": (0.2, 0.1)}, r"nonconformity must be a pair of numbers in order; .*got \(0.2, 0.1\)"),
        ({"nonconformity": (-0.1, 0.1)}, "it must be finite and not negative"),
        ({"nonconformity": (0, math.inf)}, "it must be finite and not negative"),
        ({"oversight": (0, 1.5)}, r"it must lie in \[0, 1\]"),
        ({"oversight": (math.nan, 0.5)}, r"it must lie in \[0, 1\]"),
        ({"indifference": -0.1}, "indifference must be a finite number, not negative; got -0.1"),
        ({"indifference": math.inf}, "indifference must be a finite number, not negative; got inf"),
        ({"random_share": 1.5}, "random_share must be a number from 0 to 1; got 1.5"),
        ({"random_share": "some"}, "random_share must be a number from 0 to 1; got 'some'"),
        ({"amplitude": 0.1}, "an amplitude is a callable from similarities to amplitudes; got 0.1"),
    ],
)
def test_what_is_no_population(options, message):
    with pytest.raises(SimilarityError, match=message):
        VoterPopulation(**options)


def test_a_pool_checks_its_indifference():
    with pytest.raises(SimilarityError, match="indifference must be a finite number, not negative; got nan"):
        VoterPool([0.1], [0.1], indifference=math.nan)


@pytest.mark.parametrize(
    ("amplitude", "message"),
    [
        (lambda z: z[:1], r"one finite number for each of the 3 similarities; got shape \(1,\)"),
        (lambda z: z * math.nan, "one finite number for each of the 3 similarities; got nan or inf"),
    ],
)
def test_what_is_no_amplitude(amplitude, message):
    with pytest.raises(SimilarityError, match=message):
        VoterPool([0.1], [0.1], amplitude).opinions([0.1, 0.2, 0.3], np.random.default_rng(0))


def test_opinions_need_similarities():
    with pytest.raises(SimilarityError, match=r"similarity\[0\] is 2"):
        VoterPool([0.1], [0.1]).opinions([2.0, 0.1], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("items", "n_voters", "shape", "message"),
    [
        ([0, 1, 2], 2, (2, 2), "items of a simulated ballot are whole numbers from 0 to 1; got 2"),
        ([-1, 0], 2, (2, 2), "whole numbers from 0 to 1; got -1"),
        (["x", "y"], 2, (2, 2), "whole numbers from 0 to 1; got 'x', 'y'"),
        ([(0, 1), (1, 0)], 2, (2, 2), r"whole numbers from 0 to 1; got \(0, 1\), \(1, 0\)"),
        ([(0, 1), (1,)], 2, (2, 2), r"whole numbers from 0 to 1; got \(0, 1\), \(1,\)"),
        ([0, 1], 3, (2, 2), "the ballot is for 3 voters, the pool has 2"),
        ([0, 1], 2, (3, 2), r"opinions of 2 voters are expected, one row for each; got shape \(3, 2\)"),
        ([0, 1], 2, (2,), r"opinions of 2 voters are expected, one row for each; got shape \(2,\)"),
    ],
)
def test_ballot_opinions_and_pool_must_fit(items, n_voters, shape, message):
    rng = np.random.default_rng(0)
    ballot = draw_ballot(items, 1, n_voters, rng)
    with pytest.raises(SimilarityError, match=message):
        VoterPool([0.1, 0.1], [0.1, 0.1]).answer(ballot, np.zeros(shape), rng)


# The truth.


def test_true_ranking_is_by_relatedness_or_by_similarity():
    assert true_ranking([0.3, -0.9, 0.5, -0.3]).ranks.tolist() == [3.5, 1, 2, 3.5]
    assert true_ranking([0.3, -0.9, 0.5, -0.3], relatedness=False).ranks.tolist() == [2, 4, 1, 3]
    with pytest.raises(SimilarityError, match="nan"):
        true_ranking([math.nan, 0.1])


@pytest.mark.parametrize("rng", [None, 0])
def test_voters_need_a_generator(rng):
    pool = VoterPool(nonconformity=[0.1], oversight=[0.0])
    opinions = pool.opinions([0.5, 0.1], np.random.default_rng(0))
    ballot = draw_ballot(2, 1, 1, np.random.default_rng(0))
    for draw in (
        lambda: VoterPopulation(3).draw(rng),
        lambda: pool.opinions([0.5, 0.1], rng),
        lambda: pool.answer(ballot, opinions, rng),
    ):
        with pytest.raises(SimilarityError, match=r"rng must be a numpy\.random\.Generator, .* got "):
            draw()
