"""The loops over votes against chances spelt out, numerical slopes and dense matrices."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.model._likelihood import Parameters, VoteModel, curvature_at, kernel_input, rows_of
from adaptive.model._likelihood_kernels import (
    LOGISTIC,
    NORMAL,
    apply_curvature,
    group_slopes,
    outcome_chances,
    solve_curvature,
    vote_terms,
)
from tests.adaptive import naive
from tests.adaptive.model.fits import rows
from tests.adaptive.model.votes import WORDS, comparisons

LINKS = {"logistic": LOGISTIC, "normal": NORMAL}
# Link, nu, and whether a tie is half a vote for either side.
KINDS = st.sampled_from(
    [("logistic", 0.0, True), ("logistic", 0.4, False), ("logistic", 30.0, False), ("normal", 0.0, True)]
)
MARGINS = st.floats(-6, 6)
WINNERS = st.sampled_from([LEFT, TIE, RIGHT])
OVERSIGHTS = st.sampled_from([0.001, 0.03, 0.3, 0.9])
SEEDS = st.integers(0, 2**32 - 1)


@given(MARGINS, KINDS)
def test_chances_and_their_slopes(margin, kind):
    link, nu, _ = kind
    left, tie, right, d_left, d_right, b_left, b_right = outcome_chances(margin, nu, LINKS[link])
    assert_allclose([left, tie, right], list(naive.chances(margin, nu, link).values()), rtol=1e-12)
    for vote, slope, bend in (("left", d_left, b_left), ("right", d_right, b_right)):
        chance = lambda u, vote=vote: naive.chances(u[0], nu, link)[vote]  # noqa: E731
        assert_allclose(slope, naive.gradient(chance, [margin])[0], atol=1e-9)
        assert_allclose(bend, naive.hessian(chance, [margin])[0, 0], atol=1e-6)


@given(MARGINS, WINNERS, OVERSIGHTS, KINDS)
@example(6.0, RIGHT, 0.001, ("normal", 0.0, True))
def test_what_a_vote_adds_to_the_sums(margin, winner, oversight, kind):
    link, nu, half = kind
    value, score, expected, observed, tie, in_oversight = vote_terms(winner, margin, oversight, nu, LINKS[link], half)

    def log_chance(vote, u, e=oversight):
        return naive.vote_log_likelihood(vote, u, e, nu, link, half)

    def slope(vote):
        return naive.gradient(lambda u: log_chance(vote, u[0]), [margin])[0]

    vote = WORDS[winner]
    assert_allclose(math.log(value), log_chance(vote, margin), rtol=1e-12, atol=1e-14)
    assert_allclose(score, slope(vote), atol=1e-6)
    assert_allclose(observed, -naive.hessian(lambda u: log_chance(vote, u[0]), [margin])[0, 0], atol=1e-5)
    seen = naive.seen_chances(margin, oversight, nu, link)
    assert_allclose(expected, sum(p * slope(each) ** 2 for each, p in seen.items() if p > 0), atol=1e-6)
    assert_allclose(tie, seen["tie"], atol=1e-15)
    numerical = naive.gradient(lambda e: log_chance(vote, margin, e[0]), [oversight], 1e-7)[0]
    assert_allclose(in_oversight, numerical, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("margin", [-1e4, -800.0, -40.0, 40.0, 800.0, 1e4])
@pytest.mark.parametrize("link", [LOGISTIC, NORMAL])
@pytest.mark.parametrize("winner", [LEFT, TIE, RIGHT])
@pytest.mark.parametrize("oversight", [0.0, 0.03])
def test_certain_outcomes_stay_finite(margin, link, winner, oversight):
    half = link == NORMAL
    terms = vote_terms(winner, margin, oversight, 0.0 if half else 0.5, link, half)
    assert np.isfinite(terms).all()
    assert terms[0] > 0
    assert terms[2] >= 0


@given(comparisons(voters=True), KINDS, SEEDS)
def test_sums_over_votes_are_slopes_and_curvature_of_the_likelihood(votes, kind, seed):
    link, nu, half = kind
    found = rows_of(votes, VoteModel(link, "half" if half else "davidson", voters=True, side_bias=True))
    rng = np.random.default_rng(seed)
    a, e, s = rng.uniform(0.5, 2, 3), rng.uniform(0.01, 0.5, 3), rng.normal(0, 0.5, 3)
    theta = rng.normal(0, 1, votes.n_items)
    at = Parameters(theta, a, e, s, nu, 2.0)
    seen = curvature_at(found, at, observed=True)

    def of_theta(x):
        return naive.log_likelihood(rows(votes, True), x, a, e, s, nu, link, half)

    assert_allclose(seen.log_likelihood, of_theta(theta), rtol=1e-12, atol=1e-13)
    assert_allclose(seen.slope, naive.gradient(of_theta, theta), atol=1e-6)
    assert_allclose(seen.matrix(), np.eye(votes.n_items) / 4 - naive.hessian(of_theta, theta), atol=1e-5)
    # The expected curvature is the mean over what voters could have answered, of the squared slope.
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
    assert_allclose(curvature_at(found, at).matrix(), expected, atol=1e-5)


@given(comparisons(voters=True), KINDS, SEEDS)
def test_slopes_in_the_parameters_of_voters_and_ties(votes, kind, seed):
    link, nu, half = kind
    found = rows_of(votes, VoteModel(link, "half" if half else "davidson", voters=True))
    rng = np.random.default_rng(seed)
    a, e, s = rng.uniform(0.5, 2, 3), rng.uniform(0.01, 0.5, 3), rng.normal(0, 0.5, 3)
    theta = rng.normal(0, 1, votes.n_items)
    out = np.empty((8, 3))
    group_slopes(*kernel_input(found, Parameters(theta, a, e, s, nu, 2.0)), theta, out)

    def of(log_a, oversights, sides, log_nu):
        tie = math.exp(log_nu) if nu > 0 else 0.0
        return naive.log_likelihood(rows(votes, True), theta, np.exp(log_a), oversights, sides, tie, link, half)

    log_nu = math.log(nu) if nu > 0 else 0.0
    assert_allclose(out[0], naive.gradient(lambda x: of(x, e, s, log_nu), np.log(a)), atol=1e-6)
    assert_allclose(out[2], naive.gradient(lambda x: of(np.log(a), e, x, log_nu), s), atol=1e-6)
    assert_allclose(out[4], naive.gradient(lambda x: of(np.log(a), x, s, log_nu), e, 1e-7), rtol=1e-4, atol=1e-5)
    assert_allclose(out[6], np.bincount(votes.voter, minlength=3))
    if nu > 0:
        assert_allclose(out[7, 0], naive.gradient(lambda x: of(np.log(a), e, s, x[0]), [log_nu])[0], atol=1e-6)
    assert (out[[1, 3, 5]] >= 0).all()


@given(comparisons(min_size=1), SEEDS, st.integers(1, 3))
def test_linear_systems_are_those_of_the_dense_matrix(votes, seed, n_columns):
    rng = np.random.default_rng(seed)
    n_items, weight = votes.n_items, rng.uniform(0.1, 2, votes.n_comparisons)
    dense = 0.25 * np.eye(n_items)
    for left, right, w in zip(votes.left, votes.right, weight, strict=True):
        ends = np.zeros(n_items)
        ends[left], ends[right] = 1, -1
        dense += w * np.outer(ends, ends)
    x, out = rng.normal(size=(n_items, n_columns)), np.empty((n_items, n_columns))
    apply_curvature(votes.left, votes.right, weight, 0.25, x, out)
    assert_allclose(out, dense @ x, atol=1e-12)
    solved = np.empty_like(x)
    steps = solve_curvature(votes.left, votes.right, weight, 0.25, np.diagonal(dense).copy(), out, 1e-12, 1000, solved)
    assert 0 <= steps < 100
    assert_allclose(solved, x, atol=1e-9)


def test_an_indefinite_matrix_is_seen():
    left, right, weight = np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([1.0, -0.6])
    left.flags.writeable = right.flags.writeable = False  # as in votes, for which the kernel is compiled anyhow
    diagonal, x = np.array([1.1, 0.5, 0.1]), np.empty((3, 1))
    wanted = np.array([[0.0], [1.0], [-1.0]])
    assert solve_curvature(left, right, weight, 0.1, diagonal, wanted, 1e-6, 100, x) == -1
