"""Kernels of the likelihood, and the misfit of votes and model."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from adaptive import Comparisons, ModelError, Prior, bradley_terry
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.model._likelihood import (
    Parameters,
    VoteModel,
    checked_oversight,
    checked_prior,
    curvature_at,
    laplacian,
    solve_system,
)
from adaptive.model._likelihood_kernels import LOGISTIC, NORMAL, outcome_chances, oversight_terms, side_terms
from adaptive.model._newton import JointFit, Voters, pool_rows
from adaptive.model._strengths import rows_of
from rankcorr._output.results import read_only
from tests.adaptive import naive
from tests.adaptive.strategies import MODELS, OVERSIGHT, WORDS, comparisons, rows, simulate_votes


def test_a_number_is_the_spread_of_the_strengths():
    assert checked_prior(2) == Prior(sd=2.0)
    assert checked_prior(None) == Prior()
    assert checked_prior(math.inf).sd == math.inf
    prior = Prior(discrimination_sd=1)
    assert checked_prior(prior) is prior
    assert isinstance(prior.discrimination_sd, float)


@pytest.mark.parametrize("value", [0, -1, math.nan, "2", True])
def test_the_spread_must_be_positive(value):
    with pytest.raises(ModelError, match=r"^sd of a prior must be None or a positive number; got "):
        Prior(value)
    votes = Comparisons.from_pairs([(0, 1)], 2)
    with pytest.raises(ModelError, match=r"^sd of a prior must be None or a positive number; got "):
        bradley_terry(votes, prior=value)


@pytest.mark.parametrize("name", ["discrimination_sd", "oversight_votes", "side_sd"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "2"])
def test_other_parameters_must_be_positive(name, value):
    with pytest.raises(ModelError, match=rf"^{name} of a prior must be a positive number; got "):
        Prior(**{name: value})


def test_an_oversight_is_a_probability_below_a_half():
    assert checked_oversight(0) == 0.0
    assert checked_oversight(0.49) == 0.49
    for value in (-0.01, 0.5, 1, math.nan, "0.1", None, True):
        with pytest.raises(ModelError, match=r"^oversight must be a number from 0 to below 0\.5; got "):
            checked_oversight(value)


LINKS = {"logistic": LOGISTIC, "normal": NORMAL}
# Link, nu, and whether a tie is half a vote for either side.
KINDS = st.sampled_from(
    [("logistic", 0.0, True), ("logistic", 0.4, False), ("logistic", 30.0, False), ("normal", 0.0, True)]
)
MARGINS = st.floats(-6, 6)
WINNERS = st.sampled_from([LEFT, TIE, RIGHT])
OVERSIGHTS = st.sampled_from([0.001, 0.03, 0.3, 0.9])
SEEDS = st.integers(0, 2**32 - 1)


def chances_at(margin, nu, link):
    """Call `outcome_chances` with the tail and the density of the margin."""
    tail = ndtr(-abs(margin)) if link == NORMAL else math.exp(-abs(margin) / 2)
    return outcome_chances(margin, tail, math.exp(-(margin**2) / 2) / math.sqrt(2 * math.pi), nu, link)


@given(MARGINS, KINDS)
def test_outcome_probabilities_and_their_derivatives(margin, kind):
    link, nu, _ = kind
    left, tie, right, d_left, d_right, b_left, b_right = chances_at(margin, nu, LINKS[link])
    assert_allclose([left, tie, right], list(naive.chances(margin, nu, link).values()), rtol=1e-12)
    for vote, slope, bend in (("left", d_left, b_left), ("right", d_right, b_right)):
        chance = lambda u, vote=vote: naive.chances(u[0], nu, link)[vote]  # noqa: E731
        assert_allclose(slope, naive.gradient(chance, [margin])[0], atol=1e-9)
        assert_allclose(bend, naive.hessian(chance, [margin])[0, 0], atol=1e-6)


def answer_terms(winner, margin, oversight, kind):
    """Log-likelihood of one answer, and its slope and observed curvature in the margin."""
    link, nu, half = kind
    model = VoteModel(link, "half" if half else "davidson")
    row = rows_of(Comparisons(2, [0], [1], [winner]), model)
    at = Parameters(np.array([margin, 0.0]), np.ones(1), np.array([oversight]), np.zeros(1), nu, 2.0)
    curvature = curvature_at(row, at)
    return curvature.log_likelihood, curvature.terms.score[0], curvature.terms.observed[0]


@given(MARGINS, WINNERS, OVERSIGHTS, KINDS)
@example(6.0, RIGHT, 0.001, ("normal", 0.0, True))
def test_the_contribution_of_a_vote_to_the_sums(margin, winner, oversight, kind):
    link, nu, half = kind
    chances = chances_at(margin, nu, LINKS[link])
    sides = side_terms(chances, oversight, LINKS[link], margin)
    tie, expected, slips = sides[1], sides[9], oversight_terms(chances, oversight, *sides[10:])
    log_likelihood, score, observed = answer_terms(winner, margin, oversight, kind)
    left_slope, right_slope = slips[2], slips[5]
    of_tie = 0.5 * (left_slope + right_slope) if half else 0.0
    in_oversight = {LEFT: left_slope, TIE: of_tie, RIGHT: right_slope}[winner]

    def log_chance(vote, u, e=oversight):
        return naive.vote_log_likelihood(vote, u, e, nu, link, half)

    def slope(vote):
        return naive.gradient(lambda u: log_chance(vote, u[0]), [margin])[0]

    vote = WORDS[winner]
    assert_allclose(log_likelihood, log_chance(vote, margin), rtol=1e-12, atol=1e-14)
    assert_allclose(score, slope(vote), atol=1e-6)
    assert_allclose(observed, -naive.hessian(lambda u: log_chance(vote, u[0]), [margin])[0, 0], atol=1e-5)
    chances_seen = naive.seen_chances(margin, oversight, nu, link)
    assert_allclose(expected, sum(p * slope(answer) ** 2 for answer, p in chances_seen.items() if p > 0), atol=1e-6)
    assert_allclose(tie, chances_seen["tie"], atol=1e-15)
    numerical = naive.gradient(lambda e: log_chance(vote, margin, e[0]), [oversight], 1e-7)[0]
    assert_allclose(in_oversight, numerical, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("margin", [-1e4, -800.0, -40.0, 40.0, 800.0, 1e4])
@pytest.mark.parametrize("link", [LOGISTIC, NORMAL])
@pytest.mark.parametrize("winner", [LEFT, TIE, RIGHT])
@pytest.mark.parametrize("oversight", [0.0, 0.03])
def test_certain_outcomes_stay_finite(margin, link, winner, oversight):
    half = link == NORMAL
    sides = side_terms(chances_at(margin, 0.0 if half else 0.5, link), oversight, link, margin)
    kind = ("normal", 0.0, True) if half else ("logistic", 0.5, False)
    assert np.isfinite([*sides, *answer_terms(winner, margin, oversight, kind)]).all()
    assert sides[9] >= 0


@given(comparisons(voters=True), KINDS, SEEDS)
def test_sums_over_votes_are_gradient_and_curvature_of_the_likelihood(votes, kind, seed):
    link, nu, half = kind
    result = rows_of(votes, VoteModel(link, "half" if half else "davidson", voters=True, side_bias=True))
    rng = np.random.default_rng(seed)
    a, e, s = rng.uniform(0.5, 2, 3), rng.uniform(0.01, 0.5, 3), rng.normal(0, 0.5, 3)
    theta = rng.normal(0, 1, votes.n_items)
    at = Parameters(theta, a, e, s, nu, 2.0)
    curvature = curvature_at(result, at)

    def of_theta(x):
        return naive.log_likelihood(rows(votes, True), x, a, e, s, nu, link, half)

    assert_allclose(curvature.log_likelihood, of_theta(theta), rtol=1e-12, atol=1e-13)
    assert_allclose(curvature.slope, naive.gradient(of_theta, theta), atol=1e-6)
    assert_allclose(laplacian(result, curvature.weights[1]), -naive.hessian(of_theta, theta), atol=1e-5)
    # The expected curvature is the mean of the squared slope over all possible answers.
    expected = np.eye(votes.n_items) / 4
    for left, right, _, v in rows(votes, True):
        ends = np.zeros(votes.n_items)
        ends[left], ends[right] = a[v], -a[v]
        margin = ends @ theta + s[v]
        for vote, chance in naive.seen_chances(margin, e[v], nu, link).items():
            if chance > 0:

                def log_chance(u, vote=vote, v=v):
                    return naive.vote_log_likelihood(vote, u[0], e[v], nu, link, half)

                score = naive.gradient(log_chance, [margin])[0]
                expected += chance * score**2 * np.outer(ends, ends)
    assert_allclose(curvature.matrix(), expected, atol=1e-5)


@given(comparisons(voters=True, min_size=4), KINDS, SEEDS)
@example(Comparisons(2, [0] * 4, [1] * 4, [1] * 4, range(3), [0, 0, 0, 1]), ("normal", 0.0, True), 100)
def test_derivatives_by_the_parameters_of_voters_and_ties(votes, kind, seed):
    link, nu, half = kind
    result = pool_rows(rows_of(votes, VoteModel(link, "half" if half else "davidson", voters=True, side_bias=True)))
    assume(np.unique(result.group).size > 1)  # the a of a single voter is 1
    rng = np.random.default_rng(seed)
    a, e, s = rng.uniform(0.5, 2, 3), rng.uniform(0.01, 0.5, 3), rng.normal(0, 0.5, 3)
    theta = rng.normal(0, 1, votes.n_items)
    fit, at = JointFit(result, Prior(), 0.1, 1e-9, None, fits_nu=nu > 0), Parameters(theta, a, e, s, nu, 2.0)
    point, n_items = fit.point(at), votes.n_items

    def log_posterior(x):
        theta, (log_a, odds, sides), log_nu = x[:n_items], x[n_items:-1].reshape(3, 3).T, x[-1]
        e, tie = 1 / (1 + np.exp(-odds)), math.exp(log_nu) if nu > 0 else 0.0
        total = naive.log_likelihood(rows(votes, True), theta, np.exp(log_a), e, sides, tie, link, half)
        total += naive.log_normal(theta, 2.0) + naive.log_normal(log_a, 0.3) + naive.log_normal(sides, 0.5)
        return total + naive.log_beta_on_log_odds(e, 0.1, 50)

    of_groups = np.stack([np.log(a), np.log(e / (1 - e)), s], axis=1)
    place = np.concatenate([theta, of_groups.ravel(), [math.log(nu) if nu > 0 else 0.0]])
    slope = fit.slope(point)
    flat = np.concatenate([slope.theta, slope.groups.ravel(), [slope.log_nu]])
    assert_allclose(flat, naive.gradient(log_posterior, place), atol=1e-5)
    try:
        (step,) = fit.solve(point, [slope], is_observed=True)
    except np.linalg.LinAlgError:
        (step,) = fit.solve(point, [slope], is_observed=False)  # expected curvatures are always positive definite
        assert fit.slope(point) @ step >= 0
        return
    hessian = naive.hessian(log_posterior, place)
    blocks = [
        hessian[k : k + 3, k : k + 3][np.ix_(fit.is_free, fit.is_free)] for k in range(n_items, place.size - 1, 3)
    ]
    if np.linalg.eigvalsh(blocks).max() >= 0:  # the voter has expected curvatures
        assert fit.slope(point) @ step >= 0
        return
    step = np.concatenate([step.theta, step.groups.ravel(), [step.log_nu]])
    rest = flat + hessian @ step
    shares = np.zeros(place.size)  # the multiplier of the mean of log a
    shares[n_items:-1:3] = fit.shares
    assert_allclose(rest, shares * (rest @ shares) / (shares @ shares), atol=1e-3 * max(1, np.abs(step).max()))
    assert abs(step @ shares) < 1e-9


@given(comparisons(min_size=1), SEEDS, st.integers(1, 3))
def test_linear_systems_are_those_of_the_dense_matrix(votes, seed, n_columns):
    rng = np.random.default_rng(seed)
    n_items, weight = votes.n_items, rng.uniform(0.1, 2, votes.n_comparisons)
    dense = 0.25 * np.eye(n_items)
    for left, right, w in zip(votes.left, votes.right, weight, strict=True):
        ends = np.zeros(n_items)
        ends[left], ends[right] = 1, -1
        dense += w * np.outer(ends, ends)
    x, rows = rng.normal(size=(n_items, n_columns)), rows_of(votes, VoteModel())
    assert_allclose(laplacian(rows, weight) + 0.25 * np.eye(n_items), dense, atol=1e-12)
    diagonal = np.diagonal(dense).copy()
    pairs = rows.left, rows.right, weight
    assert_allclose(solve_system(pairs, diagonal, dense @ x, 1e-12), x, atol=1e-9)
    # Two voters with two parameters each absorb a part of the curvature; the mean with these shares is held.
    group = read_only(rng.integers(0, 2, votes.n_comparisons).astype(np.int32))
    rows = replace(rows, group=group, n_groups=2)
    coupling, share = rng.normal(size=(2, votes.n_comparisons)), rng.uniform(0.1, 1, 4)
    mixed = np.zeros((n_items, 4))
    for left, right, voter, of_row in zip(votes.left, votes.right, rows.group, coupling.T, strict=True):
        mixed[left, 2 * voter : 2 * voter + 2] += of_row
        mixed[right, 2 * voter : 2 * voter + 2] -= of_row
    inverse = np.linalg.inv(np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 3.0]]]) * 20 * len(votes.left))
    shares = block_diag(*inverse) @ share
    absorbed = mixed @ (block_diag(*inverse) - np.outer(shares, shares) / (share @ shares)) @ mixed.T
    voters = Voters(rows, coupling, inverse, share)
    assert_allclose(voters.push(x), mixed.T @ x, atol=1e-12)
    assert_allclose(voters.image(mixed.T @ x), mixed @ mixed.T @ x, atol=1e-11)
    for cells_per_row in (0, 100):  # by votes, and by matrices
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("adaptive.model._newton._CELLS_PER_ROW", cells_per_row)
            assert_allclose(voters.absorbed_matrix(), absorbed, atol=1e-12)
    assert_allclose(solve_system(pairs, diagonal, (dense - absorbed) @ x, 1e-12, voters.absorption), x, atol=1e-9)


def test_an_indefinite_matrix_is_detected():
    left, right = np.array([[0, 1], [1, 2]], np.int32)
    pairs, target = (left, right, np.array([-1.0, 0.6])), np.array([[0.0], [1.0], [-1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        solve_system(pairs, np.array([1.1, 0.5, 0.1]), target, 1e-6)
    with pytest.raises(np.linalg.LinAlgError):
        solve_system(pairs, np.array([1.1, 0.5, 0.0]), target, 1e-6)


ATOL = 5e-3  # the library takes the factor of the strengths to three digits


@st.composite
def fits(draw):
    """Fits to few votes; ties, repeated pairs and equal strengths are common."""
    fit, options = draw(MODELS)
    votes = draw(comparisons(min_size=1))
    with_voters = votes.voter is not None and draw(st.booleans())
    sd = draw(st.sampled_from([0.5, 2.0]))
    return fit(votes, **options, prior=sd, oversight=draw(OVERSIGHT), voters=with_voters, side_bias=draw(st.booleans()))


@given(fits())
def test_misfit_statistics_are_sums_over_votes(strengths):
    votes, at = strengths.comparisons, strengths.parameters
    # The votes without ties in the form of the naive model, each with its index among all votes.
    decisive_votes = [
        (place, vote) for place, vote in enumerate(rows(votes, strengths.model.voters)) if vote[2] != "tie"
    ]

    def chance(vote, factor, slips):
        left, right, _, v = vote
        margin = at.discrimination[v] * (at.theta[left] - at.theta[right])
        # Without ties, the probability is that of the curve, and an oversight reverses it.
        oversight = at.oversight[v] if slips else 0.0
        return naive.seen_chances(factor * margin + at.side[v], oversight, 0.0, strengths.model.link)["left"]

    def cost(log_factor, slips):
        chances = [chance(vote, math.exp(log_factor), slips) for _, vote in decisive_votes]
        pairs = zip(decisive_votes, chances, strict=True)
        return -sum(math.log(max(p if vote[2] == "left" else 1 - p, 1e-300)) for (_, vote), p in pairs)

    # From several starts, because many oversights may give more than one peak.
    ends = np.linspace(math.log(0.2), math.log(10), 9)
    peaks = [
        (minimize_scalar(cost, bounds=part, method="bounded", args=(slips,)), slips)
        for slips in (True, False)
        for part in itertools.pairwise(ends)
    ]
    best, slips = min(peaks, key=lambda peak: peak[0].fun)
    factor = math.exp(best.x)

    residual, variance, favoured, distance, pair = [], [], [], [], []
    for _, vote in decisive_votes:
        left, right, winner, v = vote
        p = chance(vote, factor, slips)
        residual.append((winner == "left") - p)
        variance.append(p * (1 - p))
        stronger = "left" if at.theta[left] >= at.theta[right] else "right"
        favoured.append(residual[-1] if stronger == "left" else -residual[-1])
        distance.append(at.discrimination[v] * abs(at.theta[left] - at.theta[right]))
        pair.append(frozenset((left, right)))

    def excess(values, groups, voters=None):
        both = [
            (i, j)
            for i in range(len(decisive_votes))
            for j in range(len(decisive_votes))
            if i != j and groups[i] == groups[j] and (voters is None or voters[i] != voters[j])
        ]
        total = sum(values[i] * values[j] for i, j in both)
        return total / math.sqrt(2 * sum(variance[i] * variance[j] for i, j in both) + 1)

    def of_lower(vote, value):
        return value if vote[0] < vote[1] else -value

    signed = [of_lower(vote, value) for (_, vote), value in zip(decisive_votes, residual, strict=True)]
    mean = sum(v * d for v, d in zip(variance, distance, strict=True)) / max(sum(variance), 1e-9)
    spread = sum(v * (d - mean) ** 2 for v, d in zip(variance, distance, strict=True))
    far = sum(f * (d - mean) for f, d in zip(favoured, distance, strict=True))
    result = strengths.misfit
    assert_allclose(result.far * math.sqrt(spread), far, atol=ATOL)
    voter = None if votes.voter is None else [int(votes.voter[place]) for place, _ in decisive_votes]
    assert_allclose(result.pairs, excess(signed, pair, voter), atol=ATOL)
    assert_allclose(result.voters, 0.0 if voter is None else excess(favoured, voter), atol=ATOL)
    assert result.n_repeated == sum(number for number in Counter(pair).values() if number > 1)


def drawn_from(strengths, rng):
    """Votes of the fitted model on the same pairs by the same voters."""
    votes, at = strengths.comparisons, strengths.parameters
    margin = at.theta[votes.left] - at.theta[votes.right]
    likely = at.oversight[0] + (1 - 2 * at.oversight[0]) / (1 + np.exp(-margin))
    winner = np.where(rng.random(votes.n_comparisons) < likely, LEFT, RIGHT)
    return Comparisons(votes.items, votes.left, votes.right, winner, votes.voters, votes.voter)


@pytest.mark.wide
def test_misfit_statistics_are_small_if_the_model_holds():
    """On random pairs of 20 items; each pair is asked about three times."""
    rng = np.random.default_rng(1)
    votes, _ = simulate_votes(20, 600, seed=1)
    truth = bradley_terry(votes)
    result = [bradley_terry(drawn_from(truth, rng), prior=truth.prior_sd).misfit for _ in range(200)]
    pairs, far = (np.array([getattr(misfit, name) for misfit in result]) for name in ("pairs", "far"))
    assert pairs.max() < 3
    assert np.count_nonzero(pairs <= -3) <= 6  # its mean is -1
    assert np.abs(far).max() < 3
    # They vary about as much as they should, and are not all 0.
    assert_allclose([pairs.mean(), far.mean()], [-1, 0], atol=0.3)
    assert_allclose([pairs.std(), far.std()], 1, atol=0.3)
    assert all(misfit.n_repeated > 400 for misfit in result)


def circle(n_rounds):
    votes = Comparisons.from_labels(
        ["fig", "kiwi", "plum"] * n_rounds, ["kiwi", "plum", "fig"] * n_rounds, ["left"] * 3 * n_rounds
    )
    return bradley_terry(votes)


def test_circular_preferences_are_detected():
    assert circle(9).misfit.pairs > 8
    assert any("preferences go in circles" in warning for warning in circle(9).warnings)
    # A single vote on each pair says nothing about it.
    assert (circle(1).misfit.pairs, circle(1).misfit.n_repeated) == (0, 0)
    assert not any("circles" in warning for warning in circle(1).warnings)


def test_careless_voters_are_detected():
    rng = np.random.default_rng(2)
    votes, _ = simulate_votes(20, 1_200, seed=2, n_voters=12)
    coins = rng.choice([LEFT, RIGHT], votes.n_comparisons)
    careless = replace(votes, winner=np.where(votes.voter < 3, coins, votes.winner))
    assert abs(bradley_terry(votes).misfit.voters) < 3
    assert bradley_terry(careless).misfit.voters > 3


def test_oversights_missing_in_the_model_are_detected():
    """They cost the stronger item more victories if the two items are far apart."""
    rng = np.random.default_rng(2)
    votes, _ = simulate_votes(20, 3_000, seed=2, sd=3)
    turned = replace(votes, winner=np.where(rng.random(votes.n_comparisons) < 0.1, -votes.winner, votes.winner))
    assert bradley_terry(turned, oversight=0).misfit.far < -3
    assert abs(bradley_terry(turned, oversight=0.1).misfit.far) < 3


def test_neither_the_order_of_items_nor_that_of_votes_matters():
    votes, _ = simulate_votes(8, 120, seed=3, tie=0.1)
    rng = np.random.default_rng(4)
    items, rows_ = rng.permutation(8), rng.permutation(votes.n_comparisons)
    labels = tuple(f"item {np.flatnonzero(items == place)[0]}" for place in range(8))
    some = votes.select(rows_)
    moved = Comparisons(labels, items[some.left], items[some.right], some.winner, some.voters, some.voter)
    result, again = (bradley_terry(comparisons_, prior=2).misfit for comparisons_ in (votes, moved))
    for name in ("pairs", "far", "voters"):
        assert_allclose(getattr(again, name), getattr(result, name), atol=1e-3)
    assert again.n_repeated == result.n_repeated > 0


@pytest.mark.parametrize("winner", [[], [0, 0, 0]])
def test_without_a_decided_vote_there_is_no_misfit(winner):
    votes = Comparisons(3, [0, 1, 0][: len(winner)], [1, 2, 1][: len(winner)], winner)
    result = bradley_terry(votes, prior=2).misfit
    assert (result.pairs, result.far, result.voters, result.n_repeated) == (0, 0, 0, 0)


def test_repeated_votes_of_one_voter_on_a_pair_are_no_misfit():
    """Only votes of other voters can show that a pair is special."""
    left, right = ["fig", "kiwi", "plum"] * 9, ["kiwi", "plum", "fig"] * 9
    alone = Comparisons.from_labels(left, right, ["left"] * 27, voter=["Ann"] * 27)
    many = Comparisons.from_labels(left, right, ["left"] * 27, voter=[f"voter {k // 3}" for k in range(27)])
    assert bradley_terry(alone).misfit.pairs == 0
    assert bradley_terry(many).misfit.pairs > 8
