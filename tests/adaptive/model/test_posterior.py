"""Draws and covariance against dense matrices, and against fits to repeatedly simulated votes."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import gennorm, t, truncnorm

from adaptive import Choices, Comparisons, ModelError, Prior, bradley_terry, thurstone
from adaptive._votes import LEFT, RIGHT
from adaptive.model._likelihood import VoteModel, VoteRows
from adaptive.model._likelihood_kernels import LOGISTIC, NORMAL, GroupParameters, chance
from adaptive.model._newton import JointFit, Move, pool_rows
from adaptive.model._posterior import sweep_kernels
from adaptive.model._posterior.chains import MOST_READ, Paraboloid, PooledVotes, draw_by_chains, side_precisions
from adaptive.model._posterior.normal import Opinions, covariance, draw_normal, shared_opinions
from adaptive.model._posterior.sweep_kernels import Chain, Proposals, StrengthPrior, log_density, sweep
from adaptive.model._strengths import rows_of
from rankcorr._output.results import read_only
from tests.adaptive import naive
from tests.adaptive.strategies import MODELS, SEEDS, comparisons, naive_posterior, simulate_votes


def centre(covariance):
    """Covariance of values less their mean."""
    projection = np.eye(len(covariance)) - 1 / len(covariance)
    return projection @ covariance @ projection


def number_opinions(votes):
    """Index of the opinion on either side of each vote: one for each voter and item."""
    names = {}
    sides = []
    for items in (votes.left.tolist(), votes.right.tolist()):
        pairs = zip(votes.voter.tolist(), items, strict=True)
        sides.append([names.setdefault(pair, len(names)) for pair in pairs])
    return np.array(sides[0]), np.array(sides[1]), len(names)


@given(comparisons(voters=False, min_size=1), MODELS)
def test_the_covariance_without_voters_is_the_inverse_of_the_expected_hessian(votes, model):
    fit, options = model
    result = fit(votes, oversight=0, prior=1.5, **options)
    assert result.opinions is None
    inverse = covariance(result.curvature, None)
    assert_allclose(inverse, centre(np.linalg.inv(result.curvature.matrix())), atol=1e-10)
    if options.get("ties") != "half" and not votes.n_ties and fit is bradley_terry:
        # For the logistic curve, expected and observed curvature are equal.
        numerical = -naive.hessian(lambda x: naive_posterior(result, theta=x), result.theta)
        assert_allclose(centre(np.linalg.inv(numerical)), inverse, atol=1e-4)
    if result.tie_parameter == 0:
        assert_allclose(result.standard_errors, np.sqrt(np.diag(inverse)))


@pytest.mark.parametrize("side_bias", [False, True])
def test_errors_include_those_of_ties_and_sides(side_bias):
    votes, _ = simulate_votes(12, 400, 1, tie=0.5)
    votes = Comparisons(votes.items, votes.left, votes.right, votes.winner)
    strengths = bradley_terry(votes, oversight=0, prior=Prior(2, side_sd=1e6), side_bias=side_bias)
    choices = Choices.from_pairs(votes, side_bias=side_bias).fit(prior=2)
    assert_allclose(strengths.standard_errors, choices.standard_errors, atol=1e-12)


@given(comparisons(voters=True, min_size=1), MODELS)
def test_errors_include_those_of_voters(votes, model):
    """The inverse of the whole curvature, with the mean of log a held, for the strengths."""
    fit, options = model
    result = fit(votes, prior=1.5, voters=True, side_bias=True, **options)
    vars(result)["opinions"] = None
    joint = JointFit(pool_rows(result.curvature.rows), result.prior, 0.03, 1e-9, None, fits_nu=result.tie_parameter > 0)
    point, n_items = joint.point(result.parameters), votes.n_items
    targets = [Move(unit - 1 / n_items, np.zeros((3, 3)), 0.0) for unit in np.eye(n_items)]
    columns = np.array([move.theta for move in joint.solve(point, targets, is_observed=False)])
    assert_allclose(result.standard_errors, np.sqrt(np.diag(centre(columns))), rtol=1e-6)


@pytest.mark.wide
@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("pairs_per_vote", [0, 30])
@pytest.mark.needs_numba
def test_draws_have_the_covariance(fit, known, pairs_per_vote, monkeypatch):
    monkeypatch.setattr("adaptive.model._posterior.normal._PAIRS_PER_VOTE", pairs_per_vote)
    votes, _ = simulate_votes(12, 150, 3, opinion_sd=0.8, n_voters=4)
    if not known:
        votes = Comparisons(12, votes.left, votes.right, votes.winner)
    result = fit(votes)
    assert (result.opinion_sd > 0.1) == known
    n_draws = 40_000
    fitted = result.curvature, result.parameters, np.empty(0), result.opinions
    draws = draw_normal(*fitted, n_draws, np.random.default_rng(1))
    expected = covariance(result.curvature, result.opinions)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    # The standard error of a correlation of 40,000 draws is at most sqrt(2) / 200.
    assert np.abs((np.cov(draws.T) - expected) / scale).max() < 5 * np.sqrt(2 / n_draws)
    assert np.abs((draws.mean(axis=0) - result.theta) / np.sqrt(np.diag(expected))).max() < 5 / np.sqrt(n_draws)


@given(comparisons(voters=True, min_size=1), st.sampled_from([0.3, 1.0]), st.sampled_from([0, 1, 3]))
def test_shared_opinions_add_the_variance_of_their_effect_on_the_gradient(votes, sd, n_sides):
    """Side biases are further variables of the dense matrix, which the system for the draws eliminates."""
    result = bradley_terry(votes, prior=1.0, side_bias=n_sides > 0, voters=n_sides > 1)
    n_items, sides = votes.n_items, side_precisions(result.curvature.rows, result.parameters, 0.5)
    left, right, n_opinions = number_opinions(votes)
    opinions = Opinions(sd, left, right, n_opinions)
    curved = result.curvature
    # The slope of a vote changes by its curvature times the difference of the two deviations.
    moves, matrix = np.zeros((n_items + n_sides, n_opinions)), np.zeros((n_items + n_sides,) * 2)
    for k in range(votes.n_comparisons):
        ends, causes = np.zeros(n_items + n_sides), np.zeros(n_opinions)
        ends[votes.left[k]], ends[votes.right[k]] = 1, -1
        ends[n_items:][curved.rows.group[k] : curved.rows.group[k] + 1] = 1
        matrix += curved.weight[k] * np.outer(ends, ends)
        causes[left[k]], causes[right[k]] = 1, -1
        moves += curved.weight[k] * np.outer(ends, causes)
    # For an opinion behind m votes, the randomness of votes already includes 1 / m of the variance.
    behind = np.bincount(np.concatenate([left, right]), minlength=n_opinions)
    moves *= sd * np.sqrt(1 - 1 / behind)
    dense = np.linalg.inv(matrix + np.diag(np.append(np.ones(n_items), sides)))
    expected = centre((dense + dense @ moves @ moves.T @ dense)[:n_items, :n_items])
    if not n_sides:
        assert_allclose(covariance(curved, opinions), expected, atol=1e-12)
    # Draws are linear in the normal numbers: unit vectors give a root of the matrix, whether it is factored
    # or each draw is the solution of a system.
    n_shared = votes.n_items + np.count_nonzero(behind > 1)
    for pairs_per_vote, n_normal in ((1e9, n_shared), (0, n_shared + votes.n_comparisons + n_sides)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("adaptive.model._posterior.normal._PAIRS_PER_VOTE", pairs_per_vote)
            root = draw_normal(curved, result.parameters, sides, opinions, n_normal, OneAtATime()) - result.theta
        assert_allclose(root.T @ root, expected, atol=1e-3)


class OneAtATime:
    """Replaces a generator: each draw has one normal number that is 1, and zeros."""

    def __init__(self):
        self.drawn = 0

    def standard_normal(self, shape):
        rows = np.eye(shape[1])[self.drawn : self.drawn + shape[0]]
        self.drawn += shape[0]
        return rows


@pytest.mark.wide
@pytest.mark.needs_numba
def test_the_covariance_is_that_of_fits_to_votes_of_other_voters():
    """Voters with opinions are simulated many times; independent votes would give far narrower intervals."""
    rng = np.random.default_rng(0)
    n_items, n_voters, sd = 8, 6, 0.5
    theta = np.linspace(-1, 1, n_items)
    # Every voter sees every pair once.
    left, right = (np.tile(side, n_voters) for side in np.triu_indices(n_items, 1))
    voter = np.repeat(np.arange(n_voters), left.size // n_voters)
    fits, variances = [], []
    for turn in range(600):
        opinion = theta + sd * rng.standard_normal((n_voters, n_items))
        chance = 1 / (1 + np.exp(opinion[voter, right] - opinion[voter, left]))
        winner = np.where(rng.random(left.size) < chance, LEFT, RIGHT)
        result = bradley_terry(Comparisons(n_items, left, right, winner, n_voters, voter), oversight=0, prior=3.0)
        fits.append(result.theta)
        if turn % 20 == 0:
            truth = Opinions(sd, *number_opinions(result.comparisons))
            variances.append([np.diag(covariance(result.curvature, opinions)) for opinions in (truth, None)])
    simulated_variance = np.var(fits, axis=0).mean()
    with_opinions, without_opinions = np.mean(variances, axis=(0, 2))
    assert_allclose(with_opinions, simulated_variance, rtol=0.12)
    assert without_opinions < 0.8 * simulated_variance


@pytest.mark.wide
@pytest.mark.parametrize(
    ("sd", "n_votes", "n_voters", "least", "most"),
    [(0.4, 6000, 20, 0.88, 1.12), (0.8, 6000, 20, 0.88, 1.12), (0.6, 3000, 5, 0.85, 1.1)],
)
@pytest.mark.needs_numba
def test_the_spread_of_opinions_is_recovered(sd, n_votes, n_voters, least, most):
    """The fitted strengths absorb the common part of the opinions of five voters; nearly all the rest is recovered."""
    ratios = []
    for seed in range(6):
        votes, theta = simulate_votes(60, n_votes, seed, opinion_sd=sd, n_voters=n_voters)
        result = bradley_terry(votes, oversight=0, prior=5.0)
        # In units of the fitted strengths: a logistic curve averaged over opinions is flatter, by 17 % at 0.8.
        ratios.append(result.opinion_sd / (np.polyfit(theta, result.theta, 1)[0] * sd))
    assert least < np.mean(ratios) < most


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("sd", [0.0, 0.5])
def test_a_repeated_pair_does_not_double_the_spread_of_opinions(sd):
    """Two votes on one pair share both opinions, not one."""
    result = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        theta, opinion = rng.normal(0, 0.5, 40), sd * rng.standard_normal((60, 40))
        first, second = (np.repeat(side, 20) for side in (rng.integers(0, 20, 400), rng.integers(20, 40, 400)))
        voter, turned = np.repeat(rng.integers(0, 60, 400), 20), rng.random(8000) < 0.5
        left, right = np.where(turned, second, first), np.where(turned, first, second)
        margin = theta[left] + opinion[voter, left] - theta[right] - opinion[voter, right]
        winner = np.where(rng.random(8000) < 1 / (1 + np.exp(-margin)), LEFT, RIGHT)
        votes = Comparisons(40, left, right, winner, 60, voter)
        result.append(bradley_terry(votes, oversight=0).opinion_sd)
    assert abs(np.sqrt(np.mean(np.square(result))) - sd) < 0.1


def test_opinions_are_those_of_voter_and_item():
    votes, _ = simulate_votes(6, 40, 1, n_voters=3)
    result = bradley_terry(votes)
    opinions = shared_opinions(result.curvature, votes.voter)
    left, right, n_opinions = number_opinions(votes)
    assert opinions.n_opinions == n_opinions
    for ours, spelt in ((opinions.left, left), (opinions.right, right)):
        assert len(set(zip(ours.tolist(), spelt.tolist(), strict=True))) == len(set(spelt.tolist()))


@given(comparisons(voters=True, min_size=2), st.booleans())
def test_the_spread_of_opinions_solves_its_equation(votes, near):
    """The matrices are those in the docstring of `shared_opinions`."""
    result = bradley_terry(votes, prior=1, oversight=0)
    curved, n_votes = result.curvature, votes.n_comparisons
    left, right, _ = number_opinions(votes)
    signs, shared = np.zeros((n_votes, votes.n_items)), np.zeros((n_votes, n_votes))
    for k in range(n_votes):
        signs[k, votes.left[k]], signs[k, votes.right[k]] = 1, -1
        for other in set(range(n_votes)) - {k}:
            shared[k, other] += float(left[k] == left[other]) + float(right[k] == right[other])
            shared[k, other] -= float(left[k] == right[other]) + float(right[k] == left[other])
    weight = np.diag(curved.weight)
    inverse = np.linalg.inv(curved.matrix())
    with pytest.MonkeyPatch.context() as patch:
        if near:
            patch.setattr("adaptive.model._posterior.normal.MAX_DENSE", 1)
            inverse = np.diag(1 / curved.diagonal)
        opinions = shared_opinions(curved, votes.voter)
    outside = weight - weight @ signs @ inverse @ signs.T @ weight
    slope = curved.flow
    information = np.trace(shared @ outside @ shared @ outside)
    variance = slope @ shared @ slope - np.trace(shared @ outside)
    most = information * np.pi**2 / 6  # half of the variance of a logistic variable
    assert_allclose(opinions.sd**2 * information, np.clip(variance, 0, most), rtol=1e-6, atol=1e-6)


def test_a_trace_by_random_signs_hardly_changes_the_spread_of_opinions(monkeypatch):
    votes, _ = simulate_votes(60, 3000, 7, n_voters=15, opinion_sd=0.7)
    curved = bradley_terry(votes).curvature
    exact = shared_opinions(curved, votes.voter)
    assert exact.sd > 0.4
    monkeypatch.setattr("adaptive.model._posterior.normal._MOST_PRODUCTS", 0)
    assert_allclose(shared_opinions(curved, votes.voter).sd, exact.sd, rtol=0.01)


def test_the_spread_of_opinions_of_few_voters_is_exact(monkeypatch):
    """The strengths absorb nearly all opinions of a single voter; the error of a random trace would exceed the rest."""
    votes, _ = simulate_votes(60, 3000, 8, n_voters=1, opinion_sd=0.7)
    curved = bradley_terry(votes, prior=1.5).curvature
    exact = shared_opinions(curved, votes.voter)
    monkeypatch.setattr("adaptive.model._posterior.normal._MOST_PRODUCTS", 0)
    assert shared_opinions(curved, votes.voter).sd == exact.sd


@given(st.integers(2, 12), SEEDS)
def test_without_two_votes_on_an_opinion_its_spread_is_unknown(n_votes, seed):
    rng = np.random.default_rng(seed)
    votes = Comparisons(2 * n_votes, *rng.permutation(2 * n_votes).reshape(2, -1), [LEFT] * n_votes, 1, [0] * n_votes)
    assert bradley_terry(votes, prior=rng.uniform(0.1, 9)).opinion_sd == 0


def test_the_spread_of_opinions_is_bounded_by_the_noise_of_votes():
    """A single consistent voter does not reveal opinions: the estimate must not grow with the votes."""
    votes = Comparisons(2, [0] * 50, [1] * 50, [LEFT] * 50, 1, [0] * 50)
    result = bradley_terry(votes, prior=2)
    assert result.opinion_sd <= np.pi / np.sqrt(6) + 1e-12
    assert result.standard_errors.max() < 2
    assert bradley_terry(Comparisons(3, [0], [1], [LEFT], 1, [0]), prior=1e9).opinion_sd >= 0


def test_without_a_prior_draws_keep_the_mean():
    votes, _ = simulate_votes(10, 400, 2, sd=0.5)
    result = bradley_terry(votes, prior=np.inf, oversight=0)
    assert_allclose(result.theta.mean(), 0, atol=1e-12)
    draws = result.sample(4000, np.random.default_rng(1))
    assert_allclose(draws.mean(axis=1), 0, atol=1e-9)
    assert_allclose(draws.std(axis=0), result.standard_errors, rtol=0.08)
    # The pseudo-inverse is the covariance of strengths whose mean is held.
    pseudo_inverse = np.linalg.pinv(result.curvature.matrix(), hermitian=True)
    assert_allclose(covariance(result.curvature, None), pseudo_inverse, atol=1e-9)


def test_normal_draws_do_not_depend_on_the_block_size(monkeypatch):
    monkeypatch.setattr("adaptive.model._posterior.normal._PAIRS_PER_VOTE", 0)
    votes, _ = simulate_votes(10, 100, 4)
    result = bradley_terry(votes)

    def draw():
        fitted = result.curvature, result.parameters, np.empty(0), result.opinions
        return draw_normal(*fitted, 20, np.random.default_rng(5))

    at_once = draw()
    monkeypatch.setattr("adaptive.model._posterior.normal._BLOCK_NUMBERS", 1)
    assert_allclose(draw(), at_once, rtol=1e-12)


def test_standard_errors_of_many_items_are_those_of_draws(monkeypatch):
    votes, _ = simulate_votes(30, 600, 7, opinion_sd=0.5)
    exact = bradley_terry(votes).standard_errors
    monkeypatch.setattr("adaptive.model._strengths.MAX_EXACT", 10)
    monkeypatch.setattr("adaptive.model._posterior.chains.MAX_DENSE", 10)
    assert_allclose(bradley_terry(votes).standard_errors, exact, rtol=0.1)


def test_a_curvature_matrix_with_an_empty_row_has_no_solution():
    votes = Comparisons(3, [0], [1], [LEFT])
    result = bradley_terry(votes, prior=1.0).curvature
    flat = replace(result, precision=0.0)
    with pytest.raises(ModelError, match="the curvature of the votes is not positive definite in floating point"):
        flat.solve(np.ones((3, 1)), 1e-6)


def test_draws_follow_from_the_state_of_the_generator():
    """A restored state gives the same draws, and a generator needs no seed sequence."""
    strengths = bradley_terry(Comparisons(3, [0, 1], [1, 2], [1, 1]))
    rng = np.random.default_rng(5)
    strengths.sample(60, rng)
    state = rng.bit_generator.state
    then = strengths.sample(60, rng)
    again = np.random.default_rng(99)
    again.bit_generator.state = state
    assert_array_equal(strengths.sample(60, again), then)

    class Plain(np.random.SeedSequence):
        """A bit generator as in other libraries: with a seed, but without child generators."""

        spawn = None

    assert strengths.sample(60, np.random.Generator(np.random.PCG64(Plain(1)))).shape == (60, 3)


@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
def test_draws_need_a_generator(rng):
    with pytest.raises(ModelError, match=r"rng must be a numpy\.random\.Generator, such as .* got "):
        bradley_terry(Comparisons(3, [0, 1], [1, 2], [1, 1])).sample(3, rng)


def record_sweeps(strengths, monkeypatch):
    """The votes that each sweep reads, and the draws."""
    calls = []
    real = sweep_kernels.sweep
    monkeypatch.setattr(sweep_kernels, "sweep", lambda *args: (calls.append(args), real(*args))[1])
    draws = strengths.sample(3, np.random.default_rng(1))
    monkeypatch.setattr(sweep_kernels, "sweep", real)
    return [(args[0].first[-1] + args[2].sides.size, args[4].size) for args in calls], draws


@pytest.mark.wide
@pytest.mark.parametrize("known", [False, True])
def test_a_sweep_reads_no_more_than_a_few_thousand_votes(known, monkeypatch):
    votes, _ = simulate_votes(120, 20_000, 1, n_voters=40, opinion_sd=0.5)
    if not known:
        votes = Comparisons(120, votes.left, votes.right, votes.winner)
    reads, draws = record_sweeps(bradley_terry(votes, ties="half"), monkeypatch)
    assert {size for _, size in reads} == {120 * 120}
    assert MOST_READ / 2 < max(n_votes for n_votes, _ in reads) <= MOST_READ
    assert np.isfinite(draws).all()


def test_equal_votes_are_read_once(monkeypatch):
    votes, _ = simulate_votes(12, 30_000, 1, n_voters=40)
    votes = Comparisons(12, votes.left, votes.right, votes.winner)
    read, _ = record_sweeps(bradley_terry(votes, ties="half"), monkeypatch)
    assert set(read) == {(2 * 2 * 66, 0)}  # 66 pairs, with wins on both sides


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("known", "side_bias", "of_mean", "of_sd"),
    [(False, False, 0.15, 0.06), (True, False, 0.2, 0.15), (False, True, 0.15, 0.06), (True, True, 0.2, 0.15)],
)
def test_draws_that_read_some_votes_agree_with_draws_that_read_all(known, side_bias, of_mean, of_sd, monkeypatch):
    """Differences are in standard deviations. Opinions that are not drawn are averaged over, as in `covariance`.

    Drawing opinions scales all strengths by one factor, which changes no rank. With a side bias, pairs of the first
    twenty items with the others are always shown the same way round.
    """
    votes, _ = simulate_votes(40, 2_000, 3, sd=2.5, n_voters=20, opinion_sd=0.8)
    if side_bias:
        turned = (votes.left >= 20) & (votes.right < 20)
        left, right = np.where(turned, [votes.right, votes.left], [votes.left, votes.right])
        winner = np.where(turned, -votes.winner, votes.winner)
        votes = Comparisons(40, left, right, winner, votes.voters, votes.voter)
    if not known:
        votes = Comparisons(40, votes.left, votes.right, votes.winner)
    strengths = bradley_terry(votes, ties="half", prior=2, side_bias=side_bias)
    monkeypatch.setattr("adaptive.model._posterior.chains._READS_PER_PAIR", 0.0)
    draws = {}
    for most in (10**9, 600):
        monkeypatch.setattr("adaptive.model._posterior.chains.MOST_READ", most)
        theta = strengths.sample(1_500, np.random.default_rng(2))
        draws[most] = theta / theta.std(axis=1, keepdims=True)
    every, some = draws.values()
    assert np.abs((some.mean(axis=0) - every.mean(axis=0)) / every.std(axis=0)).max() < of_mean + 0.25  # with chance
    assert np.sqrt(np.mean(((some.mean(axis=0) - every.mean(axis=0)) / every.std(axis=0)) ** 2)) < of_mean
    assert abs(np.mean(some.std(axis=0) / every.std(axis=0)) - 1) < of_sd


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
@pytest.mark.parametrize("voters", [False, True])
@pytest.mark.needs_numba
def test_draws_integrate_over_a_side_bias(fit, voters):
    """One item is always on the left. Under a flat prior, its lead is the margin u less the normal side bias s.

    The votes determine u alone, so u and s are independent, and the posterior of u is found by quadrature.
    """
    winner = np.repeat([LEFT, RIGHT], [126, 74])
    votes = Comparisons(2, [0] * 200, [1] * 200, winner, *([1, [0] * 200] if voters else []))
    strengths = fit(votes, prior=Prior(np.inf, side_sd=0.3), oversight=0, side_bias=True, voters=voters)
    vars(strengths)["opinions"] = None
    curve = {bradley_terry: expit, thurstone: ndtr}[fit]
    margin = np.linspace(-3, 3, 6_001)
    density = curve(margin) ** 126 * curve(-margin) ** 74
    mean, square, chance = (np.average(x, weights=density) for x in (margin, margin**2, ndtr(margin / 0.3)))
    drawn = strengths.sample(4_000, np.random.default_rng(1))
    lead = drawn[:, 0] - drawn[:, 1]
    assert_allclose([lead.mean(), lead.std()], [mean, math.sqrt(square - mean**2 + 0.3**2)], atol=0.03)
    assert_allclose(np.mean(lead > 0), chance, atol=0.03)


@pytest.mark.parametrize(("side_sd", "least", "most"), [(1e-50, 0.06, 0.09), (1e-8, 0.06, 0.09), (1e8, 0.9, 3.0)])
def test_draws_with_any_prior_of_a_side_bias(side_sd, least, most):
    """From the error of 200 votes without a side bias, to the prior of the strengths where the bias explains all."""
    votes = Comparisons(2, [0] * 200, [1] * 200, np.repeat([LEFT, RIGHT], [126, 74]))
    strengths = bradley_terry(votes, prior=Prior(2, side_sd=side_sd), oversight=0, side_bias=True)
    assert least < strengths.sample(500, np.random.default_rng(1))[:, 0].std() < most


def test_side_biases_of_too_many_voters_count_as_fitted(monkeypatch):
    votes, _ = simulate_votes(4, 80, 1, n_voters=6)
    strengths = bradley_terry(votes, voters=True, side_bias=True)
    drawn = strengths.sample(50, np.random.default_rng(1))
    monkeypatch.setattr("adaptive.model._posterior.chains.MAX_DENSE", 9)
    as_fitted = strengths.sample(50, np.random.default_rng(1))
    model = strengths.curvature, strengths.parameters, np.empty(0), strengths.opinions
    expected = draw_by_chains(*model, 50, np.random.default_rng(1), None)
    assert_array_equal(as_fitted, expected)
    assert (drawn != expected).all()


@pytest.mark.wide
def test_draws_depend_on_neither_workers_nor_progress(monkeypatch):
    votes, _ = simulate_votes(60, 4_000, 4, n_voters=10, opinion_sd=0.5)
    strengths = bradley_terry(votes)
    steps = []
    alone = strengths.sample(110, np.random.default_rng(5), progress=steps.append)
    assert sum(steps) == 110
    monkeypatch.setattr("adaptive.model._posterior.chains.checked_workers", lambda _: 3)
    assert_array_equal(strengths.sample(110, np.random.default_rng(5)), alone)


@pytest.mark.parametrize("n_items", [10, 1_501])
@pytest.mark.parametrize("pairs_per_vote", [0, pytest.param(1e9, marks=pytest.mark.wide)])
def test_progress_counts_every_draw_and_may_stop_them(n_items, pairs_per_vote, monkeypatch):
    monkeypatch.setattr("adaptive.model._posterior.normal._PAIRS_PER_VOTE", pairs_per_vote)
    strengths = bradley_terry(simulate_votes(n_items, 400, 4)[0])
    steps = []
    strengths.drawn(70, progress=steps.append)
    assert sum(steps) == 70
    with pytest.raises(KeyboardInterrupt):
        strengths.drawn(80, progress=stop)


def stop(_):
    raise KeyboardInterrupt


def test_surprising_votes_give_no_convex_paraboloid():
    """With oversights, the observed curvature of a surprising vote is negative, so the expected one is used."""
    result = bradley_terry(Comparisons(2, [0] * 9, [1] * 9, [LEFT] * 9), oversight=0.3)
    pooled = PooledVotes.of(result.curvature.rows, None)
    likely = Paraboloid.of(pooled, result.parameters, np.array([[3.0, -3.0]]))
    odd = Paraboloid.of(pooled, result.parameters, np.array([[-3.0, 3.0]]))
    assert np.linalg.eigvalsh(likely.matrix)[0] > -1e-6
    assert odd.matrix[0, 0] > 0


def test_the_ratio_of_variances_is_that_of_sums_over_voters():
    votes, _ = simulate_votes(8, 300, 2, n_voters=12, opinion_sd=0.5)
    result = bradley_terry(votes, prior=1.5, voters=True)
    curved = result.curvature
    centre = np.eye(8) - 1 / 8
    inverse = centre @ np.linalg.inv(curved.matrix()) @ centre
    spread = np.zeros((8, 8))
    for voter in range(12):
        slope = np.zeros(8)
        for k in np.flatnonzero(votes.voter == voter).tolist():
            slope[votes.left[k]] += curved.flow[k]
            slope[votes.right[k]] -= curved.flow[k]
        spread += np.outer(slope, slope)
    stated = np.trace(covariance(curved, result.opinions)) - np.trace(inverse @ inverse) / 1.5**2
    assert_allclose(result.cluster_ratio, np.trace(inverse @ spread @ inverse) * 12 / 11 / stated, rtol=1e-9)
    assert np.isnan(bradley_terry(Comparisons(8, votes.left, votes.right, votes.winner)).cluster_ratio)


def test_a_model_without_persistent_opinions_gives_a_warning():
    """Without persistent opinions, voters differ more than the model predicts."""
    votes, _ = simulate_votes(20, 2_000, 5, n_voters=12, opinion_sd=2.0)
    result = bradley_terry(votes)
    assert 0.7 < result.cluster_ratio < 1.3
    simple_fit = bradley_terry(votes)
    vars(simple_fit)["opinions"] = None
    assert simple_fit.cluster_ratio > 1.5
    note = f"variances are {simple_fit.cluster_ratio:.1f} times those stated: votes of one voter depend on each other"
    assert (note in result.warnings, note in simple_fit.warnings) == (False, True)


LEAST, MOST, WIDTH, SPREAD = 3.0, 30.0, 2.0, 1.0


@given(
    st.sampled_from(["left", "tie", "right"]),
    st.floats(-6, 6),
    st.sampled_from([0.0, 0.03, 0.3]),
    st.booleans(),
    st.sampled_from(["logistic", "normal"]),
)
def test_the_chance_of_an_answer(vote, margin, oversight, half, link):
    if link == "normal":
        half = True
    nu = 0.0 if half else 0.7
    code = {"left": 1, "tie": 0, "right": -1}[vote]
    result = chance(code, margin, oversight, nu, LOGISTIC if link == "logistic" else NORMAL, half)
    assert_allclose(math.log(result), naive.vote_log_likelihood(vote, margin, oversight, nu, link, half), rtol=1e-9)


SCALES = st.floats(0.2, 3)


@given(st.floats(-1, 1), SCALES, SCALES, st.floats(1, 50), st.floats(1, 12))
def test_the_two_pieces_form_one_density(mode, below, above, degrees, power):
    shape = np.array([mode, *np.log([below, above, degrees, power])])
    reach = 10 * max(below, above)
    edges = [-math.inf, mode - reach, mode - below, mode, mode + above, mode + reach, math.inf]
    density = [quad(lambda x: math.exp(log_density(np.array([x]), shape)), *ends)[0] for ends in pairwise(edges)]
    assert_allclose(sum(density), 1, atol=1e-6)
    assert_allclose(sum(density[:3]), below / (below + above), atol=1e-6)


@given(st.floats(-1, 1), SCALES, SCALES, st.floats(1, 50))
def test_with_power_2_the_density_is_students_t(mode, below, above, degrees):
    theta = np.array([mode - 1.0, mode + 2.0])
    scales = np.array([below, above])
    expected = np.sum(np.log(2) + t.logpdf((theta - mode) / scales, degrees) - np.log(below + above))
    shape = np.array([mode, *np.log([below, above, degrees, 2])])
    assert_allclose(log_density(theta, shape), expected, atol=1e-9)


@given(SCALES, st.floats(1, 12))
def test_with_infinite_degrees_of_freedom_the_scale_is_the_standard_deviation(scale, power):
    """The law is then the generalized normal one."""
    shape = np.array([0.0, *np.log([scale, scale, 1e8, power])])
    theta = scale * np.array([-0.7, 0.2, 1.5])
    expected = gennorm.logpdf(theta, power, scale=scale / gennorm.std(power)).sum()
    assert_allclose(log_density(theta, shape), expected, atol=1e-5)


def test_far_strengths_have_a_finite_density():
    """The power of a large number overflows, but its logarithm does not."""
    shape = np.array([0.0, *np.log([1e-6, 1e-6, 3, 60])])
    far, farther = log_density(np.array([1e3]), shape), log_density(np.array([1e6]), shape)
    assert_allclose(far - farther, 4 * math.log(1e3), rtol=1e-9)  # the tail falls by the power of degrees + 1
    away = 1e9 * gennorm.std(60) * 60 ** (1 / 60)
    assert_allclose(log_density(np.zeros(1), shape) - far, 4 / 60 * (60 * math.log(away) - math.log(3)), rtol=1e-9)


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("n_voters", "n_measured", "n_sides"), [(1, 0, 0), (2, 0, 0), (6, 0, 0), (2, 5, 0), (6, 0, 1), (4, 5, 2)]
)
def test_sweeps_preserve_the_joint_distribution(n_voters, n_measured, n_sides):
    """Geweke (2004): sweeps preserve the joint distribution of parameters from the prior and votes from these.

    The mode has a flat prior and starts at 0; the compared functions do not depend on the common level. With one voter
    all opinions are shared, so they are exchanged with strengths. Differences that are measured with a normal
    error have a paraboloid as log-likelihood, like votes that are not read. A side bias is that of a group of voters;
    groups differ in discrimination.
    """
    rng = np.random.default_rng(n_voters)
    n_groups, side_sd = max(1, n_sides), 0.9
    discrimination = np.linspace(0.8, 1.4, n_sides) if n_sides else np.ones(1)
    n_items, n_votes, n_runs, sd, error = 4, 12, 4_000, 0.8, 0.7
    ridge = 0.6 * rng.standard_normal((n_sides, n_items + n_sides))
    before, after = [], []
    powers = math.log(2) + truncnorm.rvs(-math.log(2), math.inf, size=n_runs, random_state=rng)
    for power, width in zip(powers, gennorm.std(np.exp(powers)), strict=True):
        logs = math.log(WIDTH) - SPREAD * np.abs(rng.standard_normal(2))
        degrees = rng.uniform(math.log(LEAST), math.log(MOST))
        below, above = np.exp(logs)
        upper = rng.random(n_items) < above / (below + above)
        # Of the generalized t, |x|^power / degrees is a ratio of two gamma variables.
        bulk, edge = (rng.gamma(math.exp(k - power), size=n_items) for k in (0.0, degrees))
        away = np.exp((degrees + np.log(bulk / edge)) / math.exp(power))
        away /= width * math.exp(math.exp(-power) * power)
        theta = away * np.where(upper, above, -below)
        left, right = pairs(n_items, n_votes, rng)
        voter = rng.integers(0, n_voters, n_votes)
        names, index = np.unique(np.concatenate([voter * n_items + left, voter * n_items + right]), return_inverse=True)
        opinions = Opinions(sd, index[:n_votes], index[n_votes:], names.size)
        opinion = opinions.spread * rng.standard_normal(names.size)
        group, biases = (voter % n_groups).astype(np.int32), side_sd * rng.standard_normal(n_sides)
        difference = theta[left] - theta[right] + opinion[opinions.left] - opinion[opinions.right]
        margin = discrimination[group] * (difference + np.append(biases, 0.0)[group])
        winner = np.where(rng.random(n_votes) < 0.05 + 0.9 / (1 + np.exp(-margin)), 1, -1).astype(np.int8)
        rows = VoteRows(left, right, winner, group, n_items, n_groups, VoteModel(ties="half", side_bias=n_sides > 0))
        pooled = PooledVotes.of(rows, opinions)
        assert pooled.count.sum() == n_votes
        first, second = pairs(n_items, n_measured, rng)
        signs, place = np.zeros((n_measured, n_items + n_sides)), np.concatenate([theta, biases])
        signs[np.arange(n_measured), first], signs[np.arange(n_measured), second] = 1, -1
        if n_sides:
            signs[np.arange(n_measured), n_items + np.arange(n_measured) % n_sides] = 1
        measured = signs @ place + error * rng.standard_normal(n_measured)
        matrix = (signs.T @ signs / error**2).astype(np.float32)
        pull = signs.T @ (measured - signs @ place) / error**2 if n_measured else np.empty(0)
        shape = np.array([0.0, *logs, degrees, power])
        unread = replace(rows, left=first, right=second)
        shared = pooled.kernel_opinions(unread, np.full(n_sides, side_sd), np.full(n_sides, 0.7))
        inner = np.concatenate([opinion[opinions.spread > 0], biases])
        before.append(functionals(theta, shape, inner, shared, margin, winner, measured - signs @ place, biases))
        size = (3, 2 * n_items + inner.size + 6)
        joint_changes = rng.standard_normal((3, n_sides)) @ ridge
        pull_changes = (joint_changes @ matrix if n_measured else np.empty((3, 0))).astype(np.float32)
        sweep(
            *(
                pooled.kernel_votes(),
                GroupParameters(
                    *read_only([discrimination, np.full(n_groups, 0.05), np.zeros(n_groups)]), 0.0, LOGISTIC, True
                ),
                shared,
            ),
            *(StrengthPrior(LEAST, MOST, WIDTH, SPREAD), matrix if n_measured else np.empty((0, 0), np.float32)),
            Proposals(
                *(np.full(n_items, 1.5), rng.standard_normal(size), -rng.standard_exponential(size)),
                *(joint_changes, pull_changes),
            ),
            Chain(theta, inner, shape, pull, *np.empty((3, pooled.count.size))),
        )
        if n_measured:  # the constant part is the slope at the strengths
            place = np.concatenate([theta, inner[inner.size - n_sides :]])
            assert_allclose(pull, signs.T @ (measured - signs @ place) / error**2, atol=1e-4)
        opinion[opinions.spread > 0] = inner[: inner.size - n_sides]
        biases = inner[inner.size - n_sides :]
        place = np.concatenate([theta, biases])
        difference = theta[left] - theta[right] + opinion[opinions.left] - opinion[opinions.right]
        margin = discrimination[group] * (difference + np.append(biases, 0.0)[group])
        after.append(functionals(theta, shape, inner, shared, margin, winner, measured - signs @ place, biases))
    before, after = np.array(before), np.array(after)
    assert (before != after).mean() > 0.5
    difference = after - before
    spread = difference.std(axis=0, ddof=1) / math.sqrt(n_runs)
    assert (np.abs(difference.mean(axis=0)) < 4.5 * spread + 1e-12).all()


def pairs(n_items, number, rng):
    """Random pairs of different items."""
    left = rng.integers(0, n_items, number).astype(np.int32)
    return left, ((left + rng.integers(1, n_items, number)) % n_items).astype(np.int32)


@given(comparisons(voters=True, min_size=1), st.sampled_from([0.0, 0.5]), st.booleans(), st.booleans())
def test_pooled_votes_have_the_log_likelihood_of_all(votes, sd, side_bias, groups):
    """For any strengths and shared opinions: a row with count 2 is two equal votes."""
    rows = rows_of(votes, VoteModel(voters=groups, side_bias=side_bias))
    result = bradley_terry(votes, prior=1.0)
    opinions = replace(shared_opinions(result.curvature, votes.voter), sd=sd)
    side = np.full(rows.n_groups, 0.4 * side_bias)
    pooled = PooledVotes.of(rows, opinions)
    assert pooled.count.sum() == votes.n_comparisons
    rng = np.random.default_rng(1)
    theta, a = rng.standard_normal(votes.n_items), rng.uniform(0.5, 2, rows.n_groups)
    opinion = np.where(opinions.spread > 0, rng.standard_normal(opinions.n_opinions), 0.0)
    inner = np.append(opinion[opinions.spread > 0], 0.0)  # the last: none
    assert_allclose(pooled.spread, opinions.spread[opinions.spread > 0])

    def total(rows, count, left, right):
        margin = a[rows.group] * (theta[rows.left] - theta[rows.right] + left - right) + side[rows.group]
        logs = [math.log(chance(w, m, 0.1, 0.7, LOGISTIC, False)) for w, m in zip(rows.winner, margin, strict=True)]
        return float(np.dot(count, logs))

    log_likelihood = total(rows, np.ones(votes.n_comparisons), opinion[opinions.left], opinion[opinions.right])
    assert_allclose(total(pooled.rows, pooled.count, *inner[pooled.opinions]), log_likelihood, rtol=1e-9)
    is_even = np.arange(pooled.count.size) % 2 == 0
    parts = [total(part.rows, part.count, 0, 0) for part in (pooled.select(is_even), pooled.select(~is_even))]
    assert_allclose(sum(parts), total(pooled.rows, pooled.count, 0, 0), rtol=1e-9)


def functionals(theta, shape, opinion, shared, margin, winner, residual, biases):
    """Bounded functions of strengths, opinions, scales and votes that do not depend on the common level."""
    away = theta - shape[0]
    scaled = opinion / shared.spread
    return [
        shape[1],
        shape[2],
        shape[1] * shape[2],
        shape[3],
        shape[3] * np.mean(np.abs(away) > 1),
        shape[4],
        shape[4] * shape[3],
        shape[4] * np.mean(np.abs(away) > 1),
        np.mean(np.arctan(away)),
        np.mean(np.arctan(np.abs(away))),
        np.mean(np.arctan(np.abs(away)) * (away > 0)),
        np.mean(np.arctan(away)) * shape[2],
        np.mean(scaled) if scaled.size else 0.0,
        np.mean(scaled**2) if scaled.size else 0.0,
        np.mean(np.arctan(margin) * winner),
        np.mean(np.arctan(np.abs(margin))),
        np.mean(np.arctan(residual)) if residual.size else 0.0,
        np.mean(np.arctan(residual**2)) if residual.size else 0.0,
        np.mean(biases) if biases.size else 0.0,
        np.mean(biases**2) if biases.size else 0.0,
        np.mean(biases) * np.mean(winner) if biases.size else 0.0,
        np.mean(biases) * np.arctan(theta[0] - theta[1]) if biases.size else 0.0,
    ]
