"""Fits against the naive posterior, and the spread of strengths against quadrature and known spreads."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_ndtr, logsumexp

from adaptive import Choices, Comparisons, Prior, bradley_terry, next_comparisons, thurstone, voter_report
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.model._fit import MarginalLikelihood
from adaptive.model._fit import fit as fit_votes
from adaptive.model._likelihood import VoteModel
from adaptive.model._newton import JointFit, Move, pool_rows
from adaptive.model._strengths import rows_of
from tests.adaptive import naive
from tests.adaptive.strategies import MODELS, OVERSIGHT, comparisons, naive_posterior, rows, simulate_votes

SEEDS = st.integers(0, 2**32 - 1)


@given(comparisons(), MODELS, OVERSIGHT, st.sampled_from([0.5, 2.0]))
def test_the_gradient_of_the_posterior_is_0_at_the_strengths(votes, model, oversight, prior):
    fit, options = model
    result = fit(votes, oversight=oversight, prior=prior, **options)
    assert result.converged
    assert_allclose(naive.gradient(lambda x: naive_posterior(result, theta=x), result.theta), 0, atol=1e-5)
    if 1e-6 < result.tie_parameter < 1e4:
        of_log_nu = naive.gradient(lambda x: naive_posterior(result, nu=np.exp(x[0])), [np.log(result.tie_parameter)])
        assert_allclose(of_log_nu, 0, atol=2e-4 * max(1, votes.n_comparisons))
    assert abs(result.theta.mean()) < 1e-4


@given(comparisons(voters=True, min_size=1), MODELS, OVERSIGHT, SEEDS)
def test_the_fit_is_a_local_maximum(votes, model, oversight, seed):
    fit, options = model
    result = fit(votes, oversight=oversight, prior=1.5, voters=True, side_bias=True, **options)
    assume(result.converged)
    best = naive_posterior(result, oversight)
    rng = np.random.default_rng(seed)
    has_votes = np.bincount(votes.voter, minlength=3) > 0
    for size in (1e-3, 1e-2):
        theta = result.theta + size * rng.standard_normal(votes.n_items)
        logs = size * rng.standard_normal(3)
        changed = {"theta": theta, "a": result.parameters.discrimination * np.exp(logs - logs[has_votes].mean())}
        changed["s"] = result.parameters.side + size * rng.standard_normal(3)
        if oversight > 0:
            changed["e"] = result.parameters.oversight * np.exp(size * rng.standard_normal(3))
        if result.tie_parameter < 9e3:
            changed["nu"] = result.tie_parameter * np.exp(size * rng.standard_normal())
        assert naive_posterior(result, oversight, **changed) <= best + 1e-7


@given(comparisons(voters=True, min_size=1), MODELS, st.sampled_from([0.0, 0.03]))
def test_the_gradient_of_the_posterior_is_0_at_the_parameters_of_voters(votes, model, oversight):
    fit, options = model
    result = fit(votes, oversight=oversight, prior=Prior(1.5, side_sd=0.8), voters=True, side_bias=True, **options)
    assert result.converged
    at, has_votes = result.parameters, np.bincount(votes.voter, minlength=3) > 0
    of_theta = naive.gradient(lambda x: naive_posterior(result, oversight, theta=x), at.theta)
    assert_allclose(of_theta, 0, atol=1e-3)
    assert_allclose(naive.gradient(lambda x: naive_posterior(result, oversight, s=x), at.side), 0, atol=1e-3)
    # The mean of log a over voters with votes is held at 0: their slopes are equal.
    of_logs = naive.gradient(lambda x: naive_posterior(result, oversight, a=np.exp(x)), np.log(at.discrimination))
    assert_allclose(np.log(at.discrimination[has_votes]).sum(), 0, atol=1e-9)
    assert_allclose(of_logs, of_logs[has_votes].mean() * has_votes, atol=1e-3)
    if oversight > 0:
        odds = np.log(at.oversight / (1 - at.oversight))
        of_odds = naive.gradient(lambda x: naive_posterior(result, oversight, e=1 / (1 + np.exp(-x))), odds)
        assert_allclose(of_odds, 0, atol=1e-2)
    else:
        assert (at.oversight == 0).all()


def test_a_random_program_with_most_votes_does_not_define_the_scale():
    """It flips coins on 240 of 400 pairs; eight voters answer the others by the order of the items."""
    is_flagged = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        left = rng.integers(0, 15, 400)
        right = (left + rng.integers(1, 15, 400)) % 15
        voter = np.where(np.arange(400) < 240, 0, 1 + np.arange(400) % 8)
        by_order = np.where(rng.logistic(size=400) < (right - left) / 2, LEFT, RIGHT)
        winner = np.where(voter == 0, rng.choice([LEFT, RIGHT], 400), by_order)
        result = bradley_terry(Comparisons(15, left, right, winner, 9, voter), voters=True)
        at = result.parameters
        assert_allclose(np.log(at.discrimination).sum(), 0, atol=1e-8)
        assert at.discrimination[0] < 0.8 < np.median(at.discrimination[1:])
        is_flagged.append(voter_report(result).random[0] > 0.5)
    assert np.mean(is_flagged) >= 0.75


@pytest.mark.parametrize("oversight", [0.0, 0.1])
def test_the_mean_oversight_of_voters_is_the_oversight_for_all(oversight):
    rng = np.random.default_rng(5)
    theta = np.linspace(3, -3, 40)
    left = rng.integers(0, 40, 20_000)
    right = (left + rng.integers(1, 40, 20_000)) % 40
    winner = np.where(rng.logistic(size=20_000) < theta[left] - theta[right], LEFT, RIGHT)
    winner = np.where(rng.random(20_000) < oversight, -winner, winner)
    votes = Comparisons(40, left, right, winner, 50, rng.integers(0, 50, 20_000))
    result_by_voter, result_for_all = bradley_terry(votes, voters=True), bradley_terry(votes)
    assert result_by_voter.oversight == pytest.approx(result_for_all.oversight, rel=1e-3)
    assert result_by_voter.oversight == pytest.approx(oversight, abs=0.015)
    assert result_by_voter.theta @ theta / (theta @ theta) == pytest.approx(1, abs=0.08)
    assert bradley_terry(votes, voters=True, oversight=0.03).oversight == 0.03


def test_the_side_bias_of_all_votes_counts_each_voter_by_their_votes():
    """A judge who always answers left casts three quarters of the votes; nineteen voters have no preference."""
    votes, _ = simulate_votes(12, 400, 3, sd=1.0)
    voter = np.where(np.arange(400) % 4 > 0, 0, 1 + np.arange(400) // 4 % 19)
    votes = Comparisons(12, votes.left, votes.right, np.where(voter == 0, LEFT, votes.winner), 20, voter)
    result = bradley_terry(votes, prior=1.5, voters=True, side_bias=True)
    side = result.parameters.side
    assert_allclose(result.side_bias, (300 * side[0] + np.bincount(voter, minlength=20)[1:] @ side[1:]) / 400)
    assert result.side_bias > 0.7 * side[0] > 5 * abs(side[1:].mean())


@given(comparisons(voters=False, min_size=1), MODELS)
def test_one_side_bias_for_all(votes, model):
    fit, options = model
    result = fit(votes, prior=1.0, side_bias=True, **options)
    slope = naive.gradient(lambda x: naive_posterior(result, s=x), result.parameters.side)
    assert_allclose(slope, 0, atol=1e-3)
    assert result.side_bias == result.parameters.side[0]


@pytest.mark.parametrize(("won", "lost", "tied"), [(3, 1, 0), (7, 2, 4), (1, 1, 5), (2, 5, 1)])
def test_two_items_in_closed_form(won, lost, tied):
    """With half ties the likelihood is binomial: the curve at the difference is the share of the wins."""
    winner = [LEFT] * won + [RIGHT] * lost + [TIE] * tied
    votes = Comparisons(2, [0] * len(winner), [1] * len(winner), winner)
    options = {"oversight": 0, "prior": np.inf}
    share = (won + tied / 2) / len(winner)
    half = bradley_terry(votes, ties="half", **options)
    assert_allclose(half.theta, np.log(share / (1 - share)) * np.array([0.5, -0.5]), atol=1e-8)
    from statistics import NormalDist

    assert_allclose(np.subtract(*thurstone(votes, **options).theta), NormalDist().inv_cdf(share), atol=1e-8)
    # An oversight e makes the share (1 - e) p + e (1 - p).
    p = (share - 0.1) / 0.8
    with_oversights = bradley_terry(votes, ties="half", oversight=0.1, prior=np.inf)
    assert_allclose(np.subtract(*with_oversights.theta), np.log(p / (1 - p)), atol=1e-8)
    if tied:
        # Davidson: the three chances are the three shares, so that nu^2 = ties^2 / (wins losses).
        davidson = bradley_terry(votes, **options)
        assert_allclose(np.subtract(*davidson.theta), np.log(won / lost), atol=1e-8)
        assert_allclose(davidson.tie_parameter, tied / np.sqrt(won * lost), rtol=1e-8)


def test_half_of_all_votes_are_ties():
    """Alternating steps of strengths and ties needed more than 200 iterations, and stopped at 3.395."""
    votes = Comparisons(2, np.zeros(2000, int), np.ones(2000, int), [LEFT] * 1000 + [TIE] * 1000)
    strengths = bradley_terry(votes, prior=2, oversight=0)
    assert strengths.converged
    assert strengths.n_iterations < 30
    choices = Choices.from_pairs(votes).fit(prior=2)
    assert_allclose(strengths.theta, choices.theta, atol=1e-8)
    assert_allclose(np.log(strengths.tie_parameter), choices.others["tie"][0], atol=1e-8)
    assert round(float(strengths.theta[0]), 3) == 3.518


@given(comparisons(voters=True, min_size=1), MODELS, st.booleans())
def test_an_earlier_fit_as_start_changes_nothing(votes, model, voters):
    fit, options = model
    options = options | {"prior": 1.5, "voters": voters, "side_bias": voters}
    expected = fit(votes, **options)
    part = fit(votes.select(np.arange(votes.n_comparisons) % 2 == 0), **options)
    again = fit(votes, start=part, **options)
    assert_allclose(again.theta, expected.theta, atol=1e-6)
    assert fit(votes, start=expected, **options).n_iterations <= expected.n_iterations


@given(comparisons(voters=True), MODELS, st.booleans())
def test_swapping_the_sides_flips_only_the_side_bias(votes, model, voters):
    """The strengths stay the same."""
    fit, options = model
    options = options | {"prior": 1.5, "voters": voters, "side_bias": True}
    turned = Comparisons(votes.items, votes.right, votes.left, -votes.winner, votes.voters, votes.voter)
    result, other = fit(votes, **options), fit(turned, **options)
    assert_allclose(other.theta, result.theta, atol=1e-6)
    assert_allclose(other.parameters.side, -result.parameters.side, atol=1e-6)
    assert_allclose(other.log_likelihood, result.log_likelihood, atol=1e-9)


@given(comparisons(voters=True), MODELS, st.booleans(), SEEDS)
def test_order_of_votes_and_items_does_not_matter(votes, model, voters, seed):
    fit, options = model
    options = options | {"prior": 1.5, "voters": voters}
    rng = np.random.default_rng(seed)
    rows, place = rng.permutation(votes.n_comparisons), rng.permutation(votes.n_items)
    some = votes.select(rows)
    moved = Comparisons(votes.n_items, place[some.left], place[some.right], some.winner, 3, some.voter)
    assert_allclose(fit(moved, **options).theta[place], fit(votes, **options).theta, atol=1e-6)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_different_voters_get_different_parameters():
    truth = np.repeat([0.4, 1.0, 2.5], 10)
    votes, theta = simulate_votes(60, 12_000, 5, n_voters=30, discrimination=truth)
    result = bradley_terry(votes, voters=True)
    logs = np.log(result.parameters.discrimination)
    assert result.converged
    assert np.corrcoef(logs, np.log(truth))[0, 1] > 0.9
    assert np.corrcoef(result.theta, theta)[0, 1] > 0.98


def votes_between(pairs, n_items):
    """Votes of pairs, each with numbers of wins of the left and of the right item."""
    columns = [(*pair, code) for pair, (won, lost) in pairs for code in [LEFT] * won + [RIGHT] * lost]
    return Comparisons(n_items, *(list(column) for column in zip(*columns, strict=True)))


def log_evidence_by_quadrature(votes, sd, link="logistic"):
    """Log of the integral of the likelihood over strengths ~ N(0, sd^2) by the trapezoidal rule.

    The common level no vote can tell, so that the integral is over strengths with the mean 0: in one direction for two
    items, in two for three.
    """
    basis = np.array([[1, -1]]) / math.sqrt(2)
    if votes.n_items == 3:
        basis = np.array([[1, -1, 0], [math.sqrt(1 / 3), math.sqrt(1 / 3), -2 * math.sqrt(1 / 3)]]) / math.sqrt(2)
    axes = np.meshgrid(*[np.linspace(-7, 7, 561) for _ in basis])
    places = np.stack([axis.ravel() for axis in axes], axis=1)
    theta = sd * places @ basis
    log_chance = log_ndtr if link == "normal" else log_expit
    logs = -0.5 * np.sum(places**2, axis=1)
    plain = logsumexp(logs)
    for left, right, word in {row[:3] for row in rows(votes, False)}:
        n = sum(row[:3] == (left, right, word) for row in rows(votes, False))
        logs = logs + n * log_chance((theta[:, left] - theta[:, right]) * (1 if word == "left" else -1))
    return logsumexp(logs) - plain


def evidence_of(votes, sd, fit=bradley_terry, oversight=0):
    """Laplace's approximation of the log marginal likelihood, with an exact determinant."""
    result = fit(votes, prior=sd, oversight=oversight)
    penalised = result.log_likelihood - result.theta @ result.theta / (2 * sd**2)
    return penalised - votes.n_items * math.log(sd) - np.linalg.slogdet(result.curvature.matrix())[1] / 2


def log_prior(log_sd):
    """Logarithm of the prior density of log t, up to a constant."""
    return -((log_sd - math.log(2)) ** 2) / 2


COUNTS = st.tuples(st.integers(6, 20), st.integers(6, 20))


@pytest.mark.wide
@settings(max_examples=15, deadline=None)
@given(st.lists(COUNTS, min_size=3, max_size=3), st.sampled_from([2, 3]), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_evidence_is_the_integral_of_the_likelihood(counts, n_items, sd):
    pairs = [(0, 1), (1, 2), (2, 0)] if n_items == 3 else [(0, 1)]
    votes = votes_between(zip(pairs, counts, strict=False), n_items)
    # With 12 votes or more on a pair Laplace's approximation errs by less than .05 (measured: .03).
    assert_allclose(evidence_of(votes, sd), log_evidence_by_quadrature(votes, sd), atol=0.05)


@pytest.mark.wide
@pytest.mark.parametrize("n_items", [2, 3])
@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_the_spread_of_few_items_is_that_of_quadrature(n_items, fit):
    pairs = [((0, 1), (60, 12)), ((1, 2), (40, 15)), ((0, 2), (60, 4))]
    votes = votes_between(pairs[: 1 if n_items == 2 else 3], n_items)
    link = "logistic" if fit is bradley_terry else "normal"

    def cost(log_sd):
        return -log_evidence_by_quadrature(votes, math.exp(log_sd), link) - log_prior(log_sd)

    exact = minimize_scalar(cost, bounds=(-2, 2), method="bounded").x
    assert_allclose(math.log(fit(votes, oversight=0, prior=Prior(None)).prior_sd), exact, atol=0.03)


def simulate_matched_votes(sd, seed, n_items=60):
    """Logistic votes on pairs chosen by `next_comparisons`, mostly between items of similar strength."""
    rng = np.random.default_rng(seed)
    theta = sd * rng.standard_normal(n_items)
    votes = Comparisons(n_items, [], [], [])
    while votes.n_comparisons < 900:
        size = n_items // 2 if not votes.n_comparisons else 30
        matches = next_comparisons(bradley_terry(votes, oversight=0), size, rng=rng, voters=range(40))
        wins = rng.random(len(matches)) < 1 / (1 + np.exp(theta[matches.right] - theta[matches.left]))
        left, right = np.append(votes.left, matches.left), np.append(votes.right, matches.right)
        votes = Comparisons(n_items, left, right, np.append(votes.winner, np.where(wins, LEFT, RIGHT)))
    return votes, theta


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("sd", [0.7, pytest.param(2.0, marks=pytest.mark.nightly)])
def test_a_known_spread_is_recovered_from_matched_votes(sd):
    ratios = []
    for seed in range(6):
        votes, theta = simulate_matched_votes(sd, seed)
        ratios.append(bradley_terry(votes, oversight=0, prior=Prior(None)).prior_sd / theta.std())
    # The standard error of the mean of six is .07 to .09.
    assert_allclose(np.mean(ratios), 1, atol=0.25)


@pytest.mark.needs_numba
@pytest.mark.parametrize("seed", range(4))
def test_the_estimated_spread_maximises_its_posterior(seed):
    votes, theta = simulate_votes(60, 1800, seed, sd=[0.7, 1.0, 1.5, 2.0][seed])
    result = bradley_terry(votes, prior=Prior(None), oversight=0.03)

    steps = np.log(result.prior_sd) + np.union1d(np.linspace(-0.4, 0.4, 17), np.linspace(-0.05, 0.05, 21))
    logs = [evidence_of(votes, math.exp(step), oversight=result.oversight) + log_prior(step) for step in steps]
    best = steps[np.argmax(logs)]
    assert_allclose(np.log(result.prior_sd), best, atol=0.006)
    assert_allclose(result.prior_sd, theta.std(), rtol=0.2)
    assert_allclose(result.theta, bradley_terry(votes, prior=result.prior_sd, oversight=0.03).theta, atol=1e-7)


@pytest.mark.needs_numba
@pytest.mark.parametrize(("n_items", "n_votes", "sd"), [(60, 6_000, 2.0), (20, 1_200, 1.5), (20, 400, 0.3)])
@pytest.mark.parametrize("slips", [0.0, 0.05])
@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_the_estimated_oversight_maximises_its_posterior(n_items, n_votes, sd, slips, ties):
    votes, _ = simulate_votes(n_items, n_votes, 1, sd=sd)
    rng = np.random.default_rng(1)
    winner = np.where(rng.random(n_votes) < slips, -votes.winner, votes.winner)
    winner[rng.random(n_votes) < ties] = TIE
    votes = Comparisons(n_items, votes.left, votes.right, winner)
    result = bradley_terry(votes, prior=2)  # far from .3, where the posterior is mostly as wide as that of e

    def log_posterior(odds):
        rate = 1 / (1 + math.exp(-odds))
        of_prior = 50 * (0.03 * math.log(rate) + 0.97 * math.log1p(-rate))
        return evidence_of(votes, 2.0, oversight=rate) + of_prior

    odds = math.log(result.oversight / (1 - result.oversight))
    if result.oversight < 0.35:  # the largest one
        best = minimize_scalar(lambda x: -log_posterior(x), bounds=(odds - 1, odds + 1), method="bounded")
        assert_allclose(odds, best.x, atol=0.02)
    else:
        assert log_posterior(odds) > log_posterior(odds - 0.1)
    again = bradley_terry(votes, prior=2, start=bradley_terry(votes, prior=2, oversight=0.2))
    assert_allclose(again.theta, result.theta, atol=1e-6)


def test_an_interrupted_fit_has_not_converged(monkeypatch):
    votes, _ = simulate_votes(20, 200, 1)
    assert bradley_terry(votes).converged
    monkeypatch.setattr("adaptive.model._fit._MAX_STEPS", 1)
    assert not bradley_terry(votes).converged
    assert not bradley_terry(votes, prior=2).converged
    assert bradley_terry(votes, prior=2, oversight=0.03).converged


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("slips", [0.0, 0.1])
def test_large_data_have_correct_scale_and_coverage(slips):
    """With a fixed oversight of .03, the measured slopes were 1.17 and .67, and the coverage 31 and 12 %."""
    slopes, shares = [], []
    for seed in range(6):
        votes, theta = simulate_votes(100, 100_000, seed, sd=2.0)
        is_slip = np.random.default_rng(seed).random(100_000) < slips
        votes = Comparisons(100, votes.left, votes.right, np.where(is_slip, -votes.winner, votes.winner))
        result = bradley_terry(votes)
        centred = theta - theta.mean()
        slopes.append(np.polyfit(centred, result.theta, 1)[0])
        shares.append(np.mean(np.abs(result.theta - centred) < 1.645 * result.standard_errors))
    assert_allclose(np.mean(slopes), 1, atol=0.03)
    assert 0.84 < np.mean(shares) < 0.95


@pytest.mark.needs_numba
@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
@pytest.mark.parametrize("sd", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("most_dense", [300, 10], ids=["exact traces", "estimated"])
def test_the_derivative_of_the_evidence_equals_finite_differences(monkeypatch, most_dense, sd, fit):
    votes, _ = simulate_votes(100, 800, 1)
    result = fit(votes, prior=sd, oversight=0.03)
    ahead, behind = (evidence_of(votes, sd * math.exp(part), fit, result.oversight) for part in (0.01, -0.01))
    monkeypatch.setattr("adaptive.model._likelihood.MAX_TRACE", most_dense)
    joint = JointFit(pool_rows(rows_of(votes, result.model)), result.prior, 0.03, 1e-9, None)
    slope = MarginalLikelihood(joint, True, 100).slopes(result.parameters).slope[0] + math.log(
        sd / 2
    )  # without the prior of t
    # The slope falls by about n for each unit of log t: an error of 1 moves t by a hundredth.
    assert_allclose(slope, (ahead - behind) / 0.02, atol=0.1 if most_dense == 300 else 2.5)


def evidence_with_oversight(votes, sd):
    """Log posterior of t, up to a constant: `evidence_of` at the oversight with the highest one, with both priors."""
    oversight = bradley_terry(votes, prior=sd).oversight
    of_oversight = 50 * (0.03 * math.log(oversight) + 0.97 * math.log1p(-oversight))
    return evidence_of(votes, sd, oversight=oversight) + of_oversight + log_prior(math.log(sd))


@pytest.mark.needs_numba
@pytest.mark.parametrize(("n_items", "n_votes", "seed"), [(20, 100, 0), (60, 400, 1), (120, 1200, 2)])
def test_spread_and_oversight_are_estimated_at_the_same_peak(n_items, n_votes, seed):
    votes, _ = simulate_votes(n_items, n_votes, seed, sd=1.5)
    sd = bradley_terry(votes, prior=Prior(None)).prior_sd
    behind, here, ahead = (evidence_with_oversight(votes, sd * math.exp(part)) for part in (-0.02, 0.0, 0.02))
    assert here >= max(behind, ahead)
    assert abs(ahead - behind) / 0.04 <= 1e-3 * n_items  # twice as large if the oversight followed t


@pytest.mark.wide
@pytest.mark.needs_numba
def test_the_spread_of_many_items_agrees_with_exact_traces(monkeypatch):
    votes, _ = simulate_votes(400, 4000, 2)
    estimated = bradley_terry(votes, prior=Prior(None)).prior_sd
    monkeypatch.setattr("adaptive.model._likelihood.MAX_TRACE", 1_000)
    assert_allclose(bradley_terry(votes, prior=Prior(None)).prior_sd, estimated, rtol=0.02)


@pytest.mark.needs_numba
@pytest.mark.parametrize("options", [{}, {"side_bias": True}, {"voters": True}])
def test_a_fit_in_blocks_is_the_same_with_any_number_of_threads(monkeypatch, options):
    votes, _ = simulate_votes(30, 600, 4)
    votes = Comparisons(30, votes.left, votes.right, votes.winner, 5, np.arange(600) % 5)
    expected = bradley_terry(votes, **options)
    monkeypatch.setattr("adaptive.model._likelihood._ROWS_PER_BLOCK", 50)
    fits = []
    for workers in (1, 4):
        monkeypatch.setattr("adaptive.model._likelihood.checked_workers", lambda _, number=workers: number)
        fits.append(bradley_terry(votes, **options))
    assert_array_equal(fits[0].theta, fits[1].theta)
    assert fits[0].log_likelihood == fits[1].log_likelihood
    assert_allclose(fits[0].theta, expected.theta, atol=1e-7)


@pytest.mark.needs_numba
@pytest.mark.parametrize("options", [{}, {"side_bias": True}, {"voters": True}, {"oversight": 0.03}])
def test_a_dense_matrix_and_conjugate_gradients_give_the_same_fit(monkeypatch, options):
    votes, _ = simulate_votes(40, 1200, 5)
    votes = Comparisons(40, votes.left, votes.right, votes.winner, 5, np.arange(1200) % 5)
    dense = bradley_terry(votes, prior=1.5, **options)
    monkeypatch.setattr("adaptive.model._likelihood.MAX_FACTOR", 10)
    assert_allclose(bradley_terry(votes, prior=1.5, **options).theta, dense.theta, atol=1e-7)  # many votes: dense
    monkeypatch.setattr("adaptive.model._likelihood._PAIRS_PER_ROW", 0)
    assert_allclose(bradley_terry(votes, prior=1.5, **options).theta, dense.theta, atol=1e-7)
    monkeypatch.setattr("adaptive.model._likelihood.MAX_TRACE", 10)
    estimated = bradley_terry(votes, prior=1.5, **options)
    assert_allclose(estimated.theta, dense.theta, atol=1e-7 if "oversight" in options else 2e-2)


@pytest.mark.needs_numba
def test_the_spread_in_fits_with_voters_does_not_depend_on_the_start():
    votes, _ = simulate_votes(60, 1800, 3, sd=1.0)
    known = Comparisons(votes.n_items, votes.left, votes.right, votes.winner, range(12), np.arange(1800) % 12)
    result = bradley_terry(known, prior=Prior(None), voters=True)
    again = bradley_terry(known, prior=Prior(None), voters=True, start=result)
    assert_allclose(result.prior_sd, again.prior_sd, rtol=2e-3)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_a_long_chain_has_a_positive_spread():
    left = np.tile(np.arange(199), 20)
    result = bradley_terry(Comparisons(200, left, left + 1, np.full(left.size, LEFT)), prior=Prior(None))
    assert result.prior_sd == 30
    assert "the votes hardly contradict one order: the spread of the strengths is held at 30" in result.warnings
    assert result.ranking.best_first.tolist() == list(range(200))
    # If one vote in ten is reversed, the peak beyond the valley is not at the bound.
    wins = np.where(np.random.default_rng(0).random(left.size) < 0.9, LEFT, RIGHT)
    votes = Comparisons(200, left, left + 1, wins)
    peak_sd = bradley_terry(votes, prior=Prior(None)).prior_sd
    logs = [evidence_of(votes, sd, oversight=0.03) + log_prior(math.log(sd)) for sd in (peak_sd, 0.05, 0.2, 2, 8)]
    assert logs[0] == max(logs)


@pytest.mark.parametrize("max_iterations", [1, 2, 3, 5])
def test_the_spread_stays_in_bounds_without_converged_fits(max_iterations):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        left = rng.integers(0, 20, 71)
        votes = Comparisons(20, left, (left + rng.integers(1, 20, 71)) % 20, rng.choice([LEFT, RIGHT], 71))
        assert 0.05 <= bradley_terry(votes, prior=Prior(None), max_iterations=max_iterations).prior_sd <= 30


@given(comparisons(voters=True), st.booleans(), st.booleans(), st.sampled_from([1, 7, 1 << 20]))
def test_pooled_votes_have_the_counts_of_each_answer(votes, voters, side_bias, block):
    rows = rows_of(votes, VoteModel(voters=voters, side_bias=side_bias))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adaptive.model._newton._VOTES_PER_BLOCK", block)
        pooled = pool_rows(rows)
    counts = Counter()
    for left, right, winner, group in zip(
        *(column.tolist() for column in (rows.left, rows.right, rows.winner, rows.group)), strict=True
    ):
        is_flipped = left > right and not side_bias
        pair = (right, left) if is_flipped else (left, right)
        counts[(group, *pair, -winner if is_flipped else winner)] += 1
    keys = list(zip(pooled.group.tolist(), pooled.left.tolist(), pooled.right.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    of_pairs = {
        (*key, answer - 1): number
        for key, row in zip(keys, pooled.answers.T.tolist(), strict=True)
        for answer, number in enumerate(row)
        if number
    }
    assert of_pairs == counts


def test_no_fit_ends_in_a_saddle_point():
    """A conjugate gradient without a check for negative curvature ended 7 log units below the peak."""
    rng = np.random.default_rng(4)
    left = rng.integers(0, 301, 900)
    right = (left + rng.integers(1, 301, 900)) % 301
    theta = rng.normal(size=301)
    winner = np.where(rng.random(900) < 1 / (1 + np.exp(theta[right] - theta[left])), 1, -1)
    voter = rng.integers(0, 3, 900)
    winner[rng.random(900) < 0.15] *= -1
    votes = Comparisons(301, left, right, winner, 3, voter)
    for prior, oversight in ((1.5, 0.03), (0.75, 0.037), (3.0, 0.1)):
        rows = pool_rows(rows_of(votes, VoteModel("logistic", "davidson", voters=True)))
        fit = JointFit(rows, Prior(sd=prior), oversight, 1e-9, None)
        solution = fit_votes(rows_of(votes, rows.model), Prior(sd=prior), oversight)
        fit.forcing = 1e-10
        assert fit.is_maximum(solution.point) or not solution.converged
        nudges = (
            fit.take_step(solution.parameters, Move(rng.normal(size=301), np.zeros((3, 3)), 0.0), 0.05)
            for _ in range(5)
        )
        ends = [fit.run(nudge, 300).point.log_posterior for nudge in nudges]
        assert max(ends) <= solution.point.log_posterior + 1e-6


def test_a_single_voter_has_the_discrimination_of_the_scale():
    votes, _ = simulate_votes(60, 240, seed=2)
    alone = Comparisons(60, votes.left, votes.right, votes.winner, 1, np.zeros(240, int))
    fitted = bradley_terry(alone, voters=True, prior=1.5)
    assert fitted.converged
    assert fitted.n_iterations < 30
    assert fitted.parameters.discrimination.tolist() == [1.0]
