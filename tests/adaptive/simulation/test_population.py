"""A population of voters from votes: its likelihood against naive twins, and populations that are recovered."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

from adaptive import (
    Comparisons,
    ModelError,
    SimilarityError,
    VoterPopulation,
    draw_ballot,
    exponential_similarity,
    fit_population,
)
from adaptive.model._estimators import bradley_terry
from adaptive.simulation._population import (
    LAPSE_EDGES,
    LEVEL_EDGES,
    Posterior,
    _predict_levels,
    box_posterior,
    similarity_of_strengths,
)
from adaptive.simulation._population_kernels import box_log_likelihoods, log_likelihoods, prefers_left

pytestmark = pytest.mark.wide

levels = st.floats(0.01, 0.5)
cosines = st.floats(-0.95, 0.95)


def votes_of(population, similarity, presentations, seed, *, relatedness=True):
    rng = np.random.default_rng(seed)
    pool = population.draw(rng)
    opinions = pool.opinions(similarity, rng, relatedness=relatedness)
    ballot = draw_ballot(similarity.size, presentations, pool.n_voters, rng)
    return Comparisons.from_ballots([(ballot, pool.answer(ballot, opinions, rng))])


def larger(z_left, z_right, sd_left, sd_right):
    """P(abs(x) > abs(y)) by scipy: x - y and x + y are positive together, or negative together."""
    both = sd_left**2 + sd_right**2
    across = sd_left**2 - sd_right**2
    joint = multivariate_normal([z_left - z_right, z_left + z_right], [[both, across], [across, both]])
    return joint.cdf([0, 0]) + multivariate_normal(-joint.mean, joint.cov).cdf([0, 0])


@settings(max_examples=50, deadline=None)
@given(cosines, cosines, levels, levels)
def test_the_larger_opinion_is_a_bivariate_normal_probability(z_left, z_right, sd_left, sd_right):
    found = prefers_left(z_left, z_right, sd_left, sd_right, True)
    assert_allclose(found, larger(z_left, z_right, sd_left, sd_right), atol=1e-3)
    assert_allclose(found + prefers_left(z_right, z_left, sd_right, sd_left, True), 1, atol=1e-9)
    plain = norm.cdf((z_left - z_right) / math.hypot(sd_left, sd_right))
    assert_allclose(prefers_left(z_left, z_right, sd_left, sd_right, False), plain, atol=1e-12)


@pytest.mark.parametrize(("left", "right", "expected"), [(0.5, -0.4, 1.0), (0.4, -0.5, 0.0), (0.5, -0.5, 0.5)])
def test_without_noise_the_order_is_certain(left, right, expected):
    assert prefers_left(left, right, 0.0, 0.0, True) == expected


def test_the_likelihood_of_a_voter_is_the_product_over_votes():
    rng = np.random.default_rng(3)
    n_items, n_votes = 7, 120
    left = rng.integers(n_items, size=n_votes).astype(np.int32)
    right = ((left + rng.integers(1, n_items, size=n_votes)) % n_items).astype(np.int32)
    winner = rng.integers(-1, 2, size=n_votes).astype(np.int8)
    start = np.array([0, 50, 50, n_votes])  # a voter without votes in the middle
    z = np.linspace(0.9, -0.2, n_items)
    amplitude, grid, lapses = 1 - z**2, np.array([0.05, 0.2]), np.array([0.01, 0.1, 0.3])
    out = np.empty((3, 2, 3))
    log_likelihoods(left, right, winner, start, z, amplitude, grid, lapses, True, out)
    for v, s, e in np.ndindex(out.shape):
        expected = 0.0
        for k in range(start[v], start[v + 1]):
            i, j = left[k], right[k]
            p = prefers_left(z[i], z[j], grid[s] * amplitude[i], grid[s] * amplitude[j], True)
            p = (1 - lapses[e]) * p + lapses[e] * (1 - p)
            expected += {1: math.log(p), -1: math.log(1 - p), 0: 0.5 * math.log(p * (1 - p))}[int(winner[k])]
        assert_allclose(out[v, s, e], expected, rtol=1e-9, atol=1e-9)


def test_a_box_is_as_likely_as_its_mean():
    rng = np.random.default_rng(4)
    level_edges, lapse_edges = np.array([0.0, 0.1, 0.3, 0.6]), np.array([0.0, 0.2, 0.5])
    likelihood = rng.random((5, 3, 2))
    cells = likelihood * np.diff(level_edges)[:, np.newaxis] * np.diff(lapse_edges)
    mass = np.zeros((4, 3, 5))
    mass[1:, 1:] = np.cumsum(np.cumsum(cells, axis=1), axis=2).transpose(1, 2, 0)
    out = np.empty((3, 3, 2, 2))
    box_log_likelihoods(mass, level_edges, lapse_edges, out)
    for a, b, c, d in np.ndindex(out.shape):
        if b < a or d < c:
            assert out[a, b, c, d] == -math.inf
            continue
        area = (level_edges[b + 1] - level_edges[a]) * (lapse_edges[d + 1] - lapse_edges[c])
        means = cells[:, a : b + 1, c : d + 1].sum(axis=(1, 2)) / area
        assert_allclose(out[a, b, c, d], np.log(means).sum(), rtol=1e-9)


def test_a_posterior_without_votes_is_flat_over_boxes():
    posterior = box_posterior(np.zeros((3, LEVEL_EDGES.size - 1, LAPSE_EDGES.size - 1)))
    n = LEVEL_EDGES.size - 1
    assert_allclose(posterior.weights[0], np.arange(n, 0, -1) / (n * (n + 1) / 2))
    assert_allclose(posterior.weights[1], posterior.weights[0][::-1])


def test_quantiles_of_a_posterior_are_those_of_its_steps():
    values = (np.array([0.0, 0.1, 0.2]),) * 4
    posterior = Posterior(values, (np.array([0.25, 0.5, 0.25]),) * 4)
    assert_allclose(posterior.quantile(np.array([0.25, 0.5, 0.75, 0.875])), [0.05, 0.1, 0.15, 0.2], atol=1e-6)
    assert_allclose(posterior.mean, 0.1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_simulated_voters_are_recovered(seed):
    true = VoterPopulation(20, (0.05, 0.25), (0.01, 0.08))
    found = fit_population(
        votes_of(true, exponential_similarity(50), 60, seed), similarity="exponential", level=0.98, resamples=16
    )
    pairs = zip((*true.nonconformity, *true.oversight), found.intervals, strict=True)
    assert sum(low <= level <= high for level, (low, high) in pairs) >= 3
    assert found.population.n_voters == 20
    assert_allclose(np.mean(found.population.nonconformity), 0.15, atol=0.05)
    assert_allclose(np.mean(found.population.oversight), 0.045, atol=0.025)


def test_careless_voters_are_told_from_careful_ones():
    z = exponential_similarity(40)
    careful, careless = (
        fit_population(votes_of(VoterPopulation(20, (0.02, 0.1), e), z, 40, 5), similarity=z[::-1], resamples=16)
        for e in ((0.0, 0.02), (0.2, 0.3))
    )
    assert careful.population.oversight[1] < 0.1 < careless.population.oversight[0]


def test_voters_who_tie_are_indifferent():
    true = VoterPopulation(15, (0.05, 0.1), (0.0, 0.02), indifference=0.1)
    votes = votes_of(true, exponential_similarity(40), 40, 2)
    found = fit_population(votes, similarity="exponential", resamples=16).population
    assert votes.n_ties > 60
    assert_allclose(found.indifference, 0.1, atol=0.03)
    n_ties = votes_of(found, exponential_similarity(40), 40, 3).n_ties
    assert_allclose(n_ties, votes.n_ties, rtol=0.25)


def test_levels_are_taken_back_by_the_regression_on_what_was_found():
    """An exact line is inverted without error; where nothing was found, the error is that of what was drawn."""
    rng = np.random.default_rng(1)
    drawn = rng.uniform(0, 1, (40, 4))
    mixed = np.array([[0.7, 0.1, 0, 0], [0, 0.8, 0, 0.1], [0.2, 0, 0.5, 0], [0, 0, 0, 0.9]])
    true = np.array([0.2, 0.4, 0.1, 0.6])
    centre, error = _predict_levels(0.1 + true @ mixed, 0.1 + drawn @ mixed, drawn)
    assert_allclose(centre, true, atol=1e-9)
    assert_allclose(error, 0, atol=1e-9)
    centre, error = _predict_levels(np.zeros(4), np.zeros((40, 4)), drawn)
    assert_allclose(centre, drawn.mean(axis=0))
    assert_allclose(error, drawn.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 40))


@pytest.mark.parametrize("similarity", [None, "exponential"])
def test_almost_no_votes_leave_levels_open(similarity):
    votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left"] * 3, voter=["Ann", "Bob", "Bob"])
    found = fit_population(votes, similarity=similarity, resamples=16)
    # All levels may be up to 1 and up to 0.5; three votes say little more than that the largest are not the least.
    assert (np.diff(found.intervals, axis=1).ravel() > [0.35, 0.6, 0.2, 0.3]).all()


def test_the_result_says_what_was_found():
    votes = votes_of(VoterPopulation(8), exponential_similarity(20), 20, 1, relatedness=False)
    counted = []
    found = fit_population(votes, resamples=16, progress=counted.append)
    again = fit_population(votes, resamples=16)
    assert found == again
    assert sum(counted) == 32
    assert not found.relatedness
    assert_array_equal(np.argsort(found.similarity), np.argsort(bradley_terry(votes).theta))
    names = ["nonconformity_least", "nonconformity_largest", "oversight_least", "oversight_largest"]
    assert [row[0] for row in found.rows()] == names
    assert found.intervals_by_name[names[3]][1:] == tuple(found.intervals[3])
    assert re.match(r"<PopulationFit of 200 votes, 8 voters: nonconformity 0\.\d+ \(0", repr(found))
    assert found.to_frame().shape == (4, 5)


def test_similarities_of_strengths_keep_their_order_and_are_alike_without_votes_that_differ():
    votes = votes_of(VoterPopulation(8), exponential_similarity(20), 20, 1)
    strengths = bradley_terry(votes)
    values = similarity_of_strengths(strengths)
    assert_array_equal(np.argsort(values), np.argsort(strengths.theta))
    assert np.abs(values).max() < 1
    # Voters of nonconformity 0.1 differ on the scale of artanh z by 0.1 times the square root of 2.
    spread = np.arctanh(values) / (0.1 * math.sqrt(2)) * 1.702
    assert (np.abs(spread) >= np.abs(strengths.theta) - 1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"comparisons": [1]}, ModelError, r"fitted to Comparisons; got \[1\]"),
        ({"comparisons": Comparisons(2, [0], [1], [1])}, ModelError, "voters are known; these have none"),
        ({"comparisons": Comparisons(2, [], [], [], 3, [])}, ModelError, "needs votes; got none"),
        ({"similarity": [0.1, 0.2]}, ModelError, "on 3 items; got 2 similarities"),
        ({"similarity": "expo"}, SimilarityError, "a similarity distribution is one of"),
        ({"similarity": [0.1, 0.2, 2]}, SimilarityError, r"similarity\[2\] is 2"),
        ({"resamples": 15}, ModelError, "resamples must be a whole number of 16 or more; got 15"),
        ({"level": 1}, ValueError, "level must be"),
        ({"seed": -1}, ModelError, "seed"),
    ],
)
def test_refused(arguments, error, message):
    votes = Comparisons(3, [0, 1], [1, 2], [1, 1], 2, [0, 1])
    with pytest.raises(error, match=message):
        fit_population(**{"comparisons": votes, **arguments})
