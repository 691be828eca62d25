import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from scipy.special import ndtr

from adaptive import Comparisons, Prior
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.model._likelihood import Parameters, VoteModel, curvature_at, laplacian, solve_system
from adaptive.model._likelihood_kernels import LOGISTIC, NORMAL, outcome_chances, oversight_terms, side_terms
from adaptive.model._newton import JointFit, VoterParameters, pool_rows
from adaptive.model._strengths import rows_of
from rankcorr._output.results import read_only
from tests.adaptive import naive
from tests.adaptive.strategies import WORDS, comparisons, rows

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
    chances_seen = naive.recorded_chances(margin, oversight, nu, link)
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
        for vote, chance in naive.recorded_chances(margin, e[v], nu, link).items():
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
    voters = VoterParameters(rows, coupling, inverse, share)
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
