"""Voters, opinions and answers against the model, one voter and item at a time; populations recovered from votes."""

import math
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

from adaptive import Comparisons, ModelError, SimilarityError, VoterPopulation, draw_ballot, fit_population
from adaptive.matching._matching import Matches
from adaptive.model._models import bradley_terry
from adaptive.simulation._population import (
    LAPSE_EDGES,
    LEVEL_EDGES,
    Posterior,
    _predict_levels,
    box_posterior,
    similarity_of_strengths,
)
from adaptive.simulation._population_kernels import box_log_likelihoods, log_likelihoods, prefers_left
from adaptive.simulation._similarity import (
    SIMILARITIES,
    checked_similarity,
    embedding_similarity,
    exponential_similarity,
    named_similarity,
    power_law_similarity,
    read_similarities,
)
from adaptive.simulation._voters import VoterPool, true_ranking, vanishing_amplitude
from rankcorr._output.results import read_only
from rankcorr.errors import TableError

pytestmark = pytest.mark.wide

SEEDS = st.integers(0, 2**32 - 1)
SIMILARITY_LISTS = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


def published_amplitude(z):
    return z * (1 - z)


def naive_opinion(z, s_v, eta, amplitude, relatedness):
    """Eq. 11 for one voter and one item."""
    clipped = max(-1.0, min(1.0, z + s_v * amplitude * eta))
    return abs(clipped) if relatedness else clipped


def naive_answer(left, right, overlooks, indifference):
    """Answer of one voter to one comparison: opinions that differ by no more than the indifference are a tie."""
    if abs(left - right) <= indifference:
        return 0
    prefers_left = left > right
    if overlooks:
        prefers_left = not prefers_left
    return 1 if prefers_left else -1


@pytest.mark.parametrize("amplitude", [vanishing_amplitude, published_amplitude])
@pytest.mark.parametrize("relatedness", [True, False])
@given(SIMILARITY_LISTS, st.lists(st.floats(0, 3), min_size=1, max_size=4), SEEDS)
def test_opinions_follow_the_model(amplitude, relatedness, similarity, levels, seed):
    pool = VoterPool(levels, [0.0] * len(levels), amplitude)
    opinions = pool.opinions(similarity, np.random.default_rng(seed), relatedness=relatedness)
    eta = np.random.default_rng(seed).standard_normal(opinions.shape)
    expected = [
        [naive_opinion(z, s_v, eta[v, i], amplitude(z), relatedness) for i, z in enumerate(similarity)]
        for v, s_v in enumerate(levels)
    ]
    assert_allclose(opinions, expected, atol=1e-15)


@given(st.integers(2, 12), st.integers(1, 8), st.integers(1, 5), st.sampled_from([0.0, 0.25, 0.5]), SEEDS)
def test_answers_follow_the_model(n_items, presentations, n_voters, indifference, seed):
    rng = np.random.default_rng(seed)
    pool = VoterPool(np.zeros(n_voters), rng.uniform(0, 1, n_voters), indifference=indifference)
    opinions = rng.integers(0, 5, (n_voters, n_items)) / 4  # ties and differences equal to the indifference are common
    ballot = draw_ballot(n_items, presentations, n_voters, rng)
    answers = pool.answer(ballot, opinions, np.random.default_rng(seed))
    luck = np.random.default_rng(seed).random(ballot.n_comparisons)
    expected = [
        naive_answer(opinions[voter, left], opinions[voter, right], luck[c] < pool.oversight[voter], indifference)
        for c, (left, right, voter) in enumerate(zip(ballot.left, ballot.right, ballot.voter, strict=True))
    ]
    assert answers.dtype == np.int8
    assert_array_equal(answers, expected)


def test_a_ballot_of_some_items_uses_their_opinions():
    items = [7, 2, 5]
    pool = VoterPool([0.0], [0.0])
    rng = np.random.default_rng(3)
    opinions = pool.opinions(exponential_similarity(10), rng)
    ballot = draw_ballot(items, 2, 1, rng)
    item = np.array(items)
    assert_array_equal(pool.answer(ballot, opinions, rng), np.sign(item[ballot.right] - item[ballot.left]))


def test_matches_are_answered_like_a_ballot():
    rng = np.random.default_rng(5)
    pool = VoterPool([0.1, 0.1], [0.2, 0.0])
    opinions = pool.opinions(exponential_similarity(6), rng)
    ballot = draw_ballot(6, 3, 2, rng)
    matches = Matches(range(6), range(2), ballot.left, ballot.right, ballot.voter)
    assert_array_equal(*(pool.answer(pairs, opinions, np.random.default_rng(1)) for pairs in (ballot, matches)))


def test_voters_agree_on_synonyms():
    pool = VoterPool(np.full(50, 0.2), np.zeros(50))
    opinions = pool.opinions([1.0, 0.0, -1.0], np.random.default_rng(4))
    assert_array_equal(opinions[:, [0, 2]], 1.0)
    assert np.ptp(opinions[:, 1]) > 0.1


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


def test_a_population_passes_its_indifference_on():
    assert VoterPopulation(3, indifference=0.1).draw(np.random.default_rng(0)).indifference == 0.1


def test_a_pool_is_immutable():
    levels = np.array([0.1, 0.2])
    pool = VoterPool(levels, [0.0, 0.0])
    levels[0] = 9
    assert pool.nonconformity[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        pool.oversight[0] = 1
    with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
        pool.oversight = levels
    assert repr(pool) == "VoterPool(2 voters, nonconformity 0.1 to 0.2, oversight 0 to 0)"


@pytest.mark.parametrize(
    ("nonconformity", "oversight", "message"),
    [
        ([0.1, 0.2], [0.1], "got 2 of the one and 1 of the other"),
        ([0.1, -0.1], [0.1, 0.1], r"nonconformity\[1\] is -0.1; it must be finite and not negative"),
        ([math.nan], [0.1], r"nonconformity\[0\] is nan; it must be finite"),
        ([0.1], [1.1], r"oversight\[0\] is 1.1; it must lie in \[0, 1\]"),
        ([0.1], 0.1, r"oversight must have one number for each voter; got float64 of shape \(\)"),
        (["a"], [0.1], "nonconformity must have one number for each voter; got <U1"),
    ],
)
def test_invalid_voters_are_refused(nonconformity, oversight, message):
    with pytest.raises(SimilarityError, match=message):
        VoterPool(nonconformity, oversight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_voters": 0}, "n_voters must be a positive whole number; got 0"),
        ({"nonconformity": 0.1}, "nonconformity must be a pair of numbers, the least and the largest; got 0.1"),
        ({"oversight": ("0", "1")}, "oversight must be a pair of numbers"),
        ({"nonconformity": (0.2, 0.1)}, r"nonconformity must be a pair of numbers in order; .*got \(0.2, 0.1\)"),
        ({"nonconformity": (-0.1, 0.1)}, "it must be finite and not negative"),
        ({"oversight": (0, 1.5)}, r"it must lie in \[0, 1\]"),
        ({"indifference": -0.1}, "indifference must be a finite number, not negative; got -0.1"),
        ({"random_share": 1.5}, "random_share must be a number from 0 to 1; got 1.5"),
        ({"amplitude": 0.1}, "amplitude must be a function of similarities; got 0.1"),
    ],
)
def test_invalid_populations_are_refused(options, message):
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
def test_invalid_amplitudes_are_refused(amplitude, message):
    with pytest.raises(SimilarityError, match=message):
        VoterPool([0.1], [0.1], amplitude).opinions([0.1, 0.2, 0.3], np.random.default_rng(0))


def test_opinions_need_similarities():
    with pytest.raises(SimilarityError, match=r"similarity\[0\] is 2"):
        VoterPool([0.1], [0.1]).opinions([2.0, 0.1], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("items", "n_voters", "shape", "message"),
    [
        ([0, 1, 2], 2, (2, 2), "items of a simulated ballot are whole numbers from 0 to 1; got 2"),
        (["x", "y"], 2, (2, 2), "whole numbers from 0 to 1; got 'x', 'y'"),
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


SIZES = st.integers(2, 3000)


@given(SIZES)
def test_exponential_follows_its_formula(n_items):
    expected = [2 * math.exp(-i / n_items) - 1 for i in range(n_items)]
    assert_allclose(exponential_similarity(n_items), expected, atol=1e-15)


@given(SIZES)
def test_power_law_follows_its_formula(n_items):
    expected = [2 / (1 + math.sqrt(i / n_items)) - 1 for i in range(n_items)]
    assert_allclose(power_law_similarity(n_items), expected, atol=1e-15)


@pytest.mark.parametrize("name", SIMILARITIES)
@given(SIZES)
def test_best_first_without_ties_within_bounds(name, n_items):
    similarity = named_similarity(name, n_items)
    assert similarity.shape == (n_items,)
    assert similarity.dtype == np.float64
    assert np.all(np.diff(similarity) < 0)
    assert np.array_equal(checked_similarity(similarity), similarity)


@pytest.mark.parametrize("n_items", [2, 3, 45, 990, 100_000])
def test_embedding_keeps_the_extreme_similarities(n_items):
    similarity = embedding_similarity(n_items)
    assert (similarity[0], similarity[-1]) == (0.7652, -0.1828)  # the extremes of the 990 cosines, to four digits


def test_embedding_quantiles_hardly_depend_on_n():
    few, many = embedding_similarity(100), embedding_similarity(99 * 50 + 1)
    assert_allclose(few, many[::50], atol=1e-12)


def test_embedding_has_no_ties_of_relatedness():
    for n_items in (45, 990, 10_000):
        assert np.unique(np.abs(embedding_similarity(n_items))).size == n_items


@pytest.mark.real_data
def test_embedding_table_against_the_file(data_dir):
    cosines = read_similarities(data_dir / "similarity_samearea.csv")
    ours = embedding_similarity(cosines.size)
    assert cosines.size == 990
    assert_allclose(ours[:13], cosines[:13], atol=5.1e-5)  # the top is there item by item, to four digits
    assert_allclose(ours[-6:], cosines[-6:], atol=5.1e-5)
    assert_allclose(ours[:60], cosines[:60], atol=0.001)
    assert_allclose(ours, cosines, atol=0.005)
    assert abs(np.abs(ours).mean() - np.abs(cosines).mean()) < 2e-4


def test_an_unknown_distribution_is_refused():
    with pytest.raises(SimilarityError, match="one of 'exponential', 'power_law', 'embedding'; got 'gaussian'"):
        named_similarity("gaussian", 10)


@pytest.mark.parametrize("function", SIMILARITIES.values())
@pytest.mark.parametrize("n_items", [1, 0, -3, 2.0, True, "10", None])
def test_the_number_of_items_is_whole_and_at_least_2(function, n_items):
    with pytest.raises(SimilarityError, match=f"whole number of 2 or more; got {re.escape(repr(n_items))}"):
        function(n_items)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        ([0.1, math.nan], r"\[-1, 1\]: similarity\[1\] is nan"),
        ([0.1, 1.5, -0.2, -2], r"similarity\[1\] is 1.5, similarity\[3\] is -2$"),
        ([2] * 7, r"similarity\[4\] is 2, ... \(7 in all\)"),
        ([0.5], "at least two similarities are needed; got 1"),
        ([[0.1, 0.2]], r"one dimension; got shape \(1, 2\)"),
        (0.5, r"one dimension; got shape \(\)"),
        ([[0.1], [0.2, 0.3]], "rows that differ in length"),
        (["0.1", "0.2"], "real numbers; got an array of <U3"),
    ],
)
def test_invalid_similarities_are_refused(similarity, message):
    with pytest.raises(SimilarityError, match=message):
        checked_similarity(similarity)


def test_whole_numbers_are_similarities():
    assert checked_similarity([1, 0, -1]).dtype == np.float64


FILE = "f.csv"


@pytest.mark.parametrize(
    "content",
    [
        "similarity\n0.5\n-1\n",
        ",similarity\n0,0.5\n1,-1",
        b"\xef\xbb\xbfsimilarity,pair\r\n0.5,a\r\n\r\n -1 ,b\r\n",
        'pair,"similarity"\n"a\nb",5e-1\nc,"-1.0"\n',
    ],
)
def test_read_similarities(write, content):
    assert read_similarities(write(content)).tolist() == [0.5, -1]


def test_read_another_column(write):
    assert read_similarities(write("similarity,cosine\n0.5,0.1\n0.4,0.2\n"), column="cosine").tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("a,b\n1,2\n", TableError, r'f\.csv:1: one column "similarity" is expected; the columns are "a", "b"$'),
        ("a,similarity\nx,1\n\ny\n", TableError, r'f\.csv:4: expected 2 cells.* got 1 \(none for "similarity"\)'),
        ("similarity\n1\nhigh\n", TableError, r'f\.csv:3: column "similarity": "high" is not a number'),
        ("a,similarity\nx,\ny,1\n", TableError, r'f\.csv:2: column "similarity": empty cell'),
        ("similarity\n0.1\n1.01\n", TableError, r"f\.csv:3: .* a similarity must be a number from -1 to 1; got '1.01'"),
        ("similarity\n0.1\n", TableError, r"f\.csv: at least two similarities are needed; got 1"),
        ("Similarity\n0.1\n", TableError, r'f\.csv:1: column "Similarity": did you mean "similarity"\?'),
        ('similarity\n0.1\n"0.2\n', TableError, r"f\.csv:3: a quote is opened here and never closed"),
    ],
)
def test_invalid_files_are_refused(write, content, error, message):
    with pytest.raises(error, match=message):
        read_similarities(write(content))


levels = st.floats(0.01, 0.5)
cosines = st.floats(-0.95, 0.95)


def votes_of(population, similarity, presentations, seed, *, relatedness=True):
    rng = np.random.default_rng(seed)
    pool = population.draw(rng)
    opinions = pool.opinions(similarity, rng, relatedness=relatedness)
    ballot = draw_ballot(similarity.size, presentations, pool.n_voters, rng)
    return Comparisons.from_ballots([(ballot, pool.answer(ballot, opinions, rng))])


def chance_of_larger(z_left, z_right, sd_left, sd_right):
    """P(abs(x) > abs(y)) by scipy: x - y and x + y are positive together, or negative together."""
    both = sd_left**2 + sd_right**2
    across = sd_left**2 - sd_right**2
    joint = multivariate_normal([z_left - z_right, z_left + z_right], [[both, across], [across, both]])
    return joint.cdf([0, 0]) + multivariate_normal(-joint.mean, joint.cov).cdf([0, 0])


@settings(max_examples=50, deadline=None)
@given(cosines, cosines, levels, levels)
def test_the_larger_opinion_is_a_bivariate_normal_probability(z_left, z_right, sd_left, sd_right):
    result = prefers_left(z_left, z_right, sd_left, sd_right, True)
    assert_allclose(result, chance_of_larger(z_left, z_right, sd_left, sd_right), atol=1e-3)
    assert_allclose(result + prefers_left(z_right, z_left, sd_right, sd_left, True), 1, atol=1e-9)
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
    read_only([left, right, winner])  # as those of comparisons, for which the loop is compiled
    start = np.array([0, 50, 50, n_votes])  # a voter without votes in the middle
    z = np.linspace(0.9, -0.2, n_items)
    amplitude, grid, lapses = 1 - z**2, np.array([0.05, 0.2]), np.array([0.01, 0.1, 0.3])
    out = np.empty((3, 2, 3))
    log_likelihoods((left, right, winner, start), z, amplitude, True, grid, lapses, out)
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


def test_quantiles_of_a_posterior_are_those_of_its_step_function():
    values = (np.array([0.0, 0.1, 0.2]),) * 4
    posterior = Posterior(values, (np.array([0.25, 0.5, 0.25]),) * 4)
    assert_allclose(posterior.quantile(np.array([0.25, 0.5, 0.75, 0.875])), [0.05, 0.1, 0.15, 0.2], atol=1e-6)
    assert_allclose(posterior.mean, 0.1)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (2, 3))])
def test_simulated_voters_are_recovered(seed):
    true = VoterPopulation(20, (0.05, 0.25), (0.01, 0.08))
    result = fit_population(
        votes_of(true, exponential_similarity(50), 60, seed), similarity="exponential", level=0.98, resamples=16
    )
    pairs = zip((*true.nonconformity, *true.oversight), result.intervals, strict=True)
    assert sum(low <= level <= high for level, (low, high) in pairs) >= 3
    assert result.population.n_voters == 20
    assert_allclose(np.mean(result.population.nonconformity), 0.15, atol=0.05)
    assert_allclose(np.mean(result.population.oversight), 0.045, atol=0.025)


def test_careless_and_careful_voters_are_distinguished():
    z = exponential_similarity(40)
    careful, careless = (
        fit_population(votes_of(VoterPopulation(20, (0.02, 0.1), e), z, 40, 5), similarity=z[::-1], resamples=16)
        for e in ((0.0, 0.02), (0.2, 0.3))
    )
    assert careful.population.oversight[1] < 0.1 < careless.population.oversight[0]


def test_voters_who_tie_are_indifferent():
    true = VoterPopulation(15, (0.05, 0.1), (0.0, 0.02), indifference=0.1)
    votes = votes_of(true, exponential_similarity(40), 40, 2)
    result = fit_population(votes, similarity="exponential", resamples=16).population
    assert votes.n_ties > 60
    assert_allclose(result.indifference, 0.1, atol=0.03)
    n_ties = votes_of(result, exponential_similarity(40), 40, 3).n_ties
    assert_allclose(n_ties, votes.n_ties, rtol=0.25)


def test_levels_are_corrected_by_regression_on_the_estimates():
    """An exact line is inverted without error; without any relation, the error is the spread of the drawn levels."""
    rng = np.random.default_rng(1)
    levels = rng.uniform(0, 1, (40, 4))
    mixed = np.array([[0.7, 0.1, 0, 0], [0, 0.8, 0, 0.1], [0.2, 0, 0.5, 0], [0, 0, 0, 0.9]])
    true = np.array([0.2, 0.4, 0.1, 0.6])
    centre, error = _predict_levels(0.1 + true @ mixed, 0.1 + levels @ mixed, levels)
    assert_allclose(centre, true, atol=1e-9)
    assert_allclose(error, 0, atol=1e-9)
    centre, error = _predict_levels(np.zeros(4), np.zeros((40, 4)), levels)
    assert_allclose(centre, levels.mean(axis=0))
    assert_allclose(error, levels.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 40))


@pytest.mark.parametrize("similarity", [None, "exponential"])
def test_very_few_votes_give_wide_intervals_of_levels(similarity):
    votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left"] * 3, voter=["Ann", "Bob", "Bob"])
    result = fit_population(votes, similarity=similarity, resamples=16)
    # Levels range up to 1 and up to 0.5; three votes hardly exclude any.
    assert (np.diff(result.intervals, axis=1).ravel() > [0.35, 0.6, 0.2, 0.3]).all()


def test_the_result_shows_the_estimates():
    votes = votes_of(VoterPopulation(8), exponential_similarity(20), 20, 1, relatedness=False)
    counted = []
    result = fit_population(votes, resamples=16, progress=counted.append)
    again = fit_population(votes, resamples=16)
    assert result == again
    assert sum(counted) == 32
    assert not result.relatedness
    assert_array_equal(np.argsort(result.similarity), np.argsort(bradley_terry(votes).theta))
    names = ["nonconformity_least", "nonconformity_largest", "oversight_least", "oversight_largest"]
    assert [row[0] for row in result.rows()] == names
    assert result.intervals_by_name[names[3]][1:] == tuple(result.intervals[3])
    assert re.match(r"<PopulationFit of 200 votes, 8 voters: nonconformity 0\.\d+ \(0", repr(result))
    assert result.to_frame().shape == (4, 5)


def test_similarities_of_strengths_keep_their_order_or_are_equal():
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
        ({"comparisons": [1]}, ModelError, r"comparisons must be Comparisons; got \[1\]"),
        ({"comparisons": Comparisons(2, [0], [1], [1])}, ModelError, "needs votes with known voters"),
        ({"comparisons": Comparisons(2, [], [], [], 3, [])}, ModelError, "needs votes; got none"),
        ({"similarity": [0.1, 0.2]}, ModelError, "on 3 items; got 2 similarities"),
        ({"similarity": "expo"}, SimilarityError, "a similarity distribution must be one of"),
        ({"similarity": [0.1, 0.2, 2]}, SimilarityError, r"similarity\[2\] is 2"),
        ({"resamples": 15}, ModelError, "resamples must be a whole number of 16 or more; got 15"),
        ({"level": 1}, ValueError, "level must be"),
        ({"seed": -1}, ModelError, "seed"),
    ],
)
def test_invalid_votes_are_refused(arguments, error, message):
    votes = Comparisons(3, [0, 1], [1, 2], [1, 1], 2, [0, 1])
    with pytest.raises(error, match=message):
        fit_population(**{"comparisons": votes, **arguments})
