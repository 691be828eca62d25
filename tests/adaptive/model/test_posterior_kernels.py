"""The chain over strengths, shared opinions and the shape of the prior: its parts, and the joint law that it keeps."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import gennorm, t, truncnorm

from adaptive import bradley_terry
from adaptive.model._likelihood import Rows, VoteModel, rows_of
from adaptive.model._likelihood_kernels import LOGISTIC, NORMAL, GroupParameters, chance
from adaptive.model._posterior import Opinions, PooledVotes, shared_opinions
from adaptive.model._sweep_kernels import Shape, log_density, sweep
from tests.adaptive import naive
from tests.adaptive.model.votes import comparisons

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
    found = chance(code, margin, oversight, nu, LOGISTIC if link == "logistic" else NORMAL, half)
    assert_allclose(math.log(found), naive.vote_log_likelihood(vote, margin, oversight, nu, link, half), rtol=1e-9)


SCALES = st.floats(0.2, 3)


@given(st.floats(-1, 1), SCALES, SCALES, st.floats(1, 50), st.floats(1, 12))
def test_the_two_pieces_make_one_density(mode, below, above, degrees, power):
    shape = np.array([mode, *np.log([below, above, degrees, power])])
    reach = 10 * max(below, above)
    edges = [-math.inf, mode - reach, mode - below, mode, mode + above, mode + reach, math.inf]
    density = [quad(lambda x: math.exp(log_density(np.array([x]), shape)), *ends)[0] for ends in pairwise(edges)]
    assert_allclose(sum(density), 1, atol=1e-6)
    assert_allclose(sum(density[:3]), below / (below + above), atol=1e-6)


@given(st.floats(-1, 1), SCALES, SCALES, st.floats(1, 50))
def test_with_the_power_2_it_is_student_s_t(mode, below, above, degrees):
    theta = np.array([mode - 1.0, mode + 2.0])
    scales = np.array([below, above])
    expected = np.sum(np.log(2) + t.logpdf((theta - mode) / scales, degrees) - np.log(below + above))
    shape = np.array([mode, *np.log([below, above, degrees, 2])])
    assert_allclose(log_density(theta, shape), expected, atol=1e-9)


@given(SCALES, st.floats(1, 12))
def test_with_endless_degrees_of_freedom_the_scale_is_the_standard_deviation(scale, power):
    """The law is then the generalized normal one."""
    shape = np.array([0.0, *np.log([scale, scale, 1e8, power])])
    theta = scale * np.array([-0.7, 0.2, 1.5])
    expected = gennorm.logpdf(theta, power, scale=scale / gennorm.std(power)).sum()
    assert_allclose(log_density(theta, shape), expected, atol=1e-5)


def test_far_strengths_have_a_finite_density():
    """The power of a large number is beyond the range of floats, and its logarithm is not."""
    shape = np.array([0.0, *np.log([1e-6, 1e-6, 3, 60])])
    far, farther = log_density(np.array([1e3]), shape), log_density(np.array([1e6]), shape)
    assert_allclose(far - farther, 4 * math.log(1e3), rtol=1e-9)  # the tail falls by the power of degrees + 1
    away = 1e9 * gennorm.std(60) * 60 ** (1 / 60)
    assert_allclose(log_density(np.zeros(1), shape) - far, 4 / 60 * (60 * math.log(away) - math.log(3)), rtol=1e-9)


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(("n_voters", "n_measured"), [(1, 0), (2, 0), (6, 0), (2, 5)])
def test_sweeps_keep_the_joint_law(n_voters, n_measured):
    """Geweke (2004): parameters from the prior and votes from them have after any sweeps the law that they had.

    The mode has a flat prior, and starts at 0; what is compared does not depend on the common level. With one voter
    all opinions are shared, so that they are exchanged with strengths. Differences that are measured with a normal
    error have a paraboloid as log-likelihood: they are votes that are not read.
    """
    rng = np.random.default_rng(n_voters)
    n_items, n_votes, n_runs, sd, error = 4, 12, 4_000, 0.8, 0.7
    before, after = [], []
    for _ in range(n_runs):
        logs = math.log(WIDTH) - SPREAD * np.abs(rng.standard_normal(2))
        degrees = rng.uniform(math.log(LEAST), math.log(MOST))
        power = math.log(2) + truncnorm.rvs(-math.log(2), math.inf, random_state=rng)
        below, above = np.exp(logs)
        upper = rng.random(n_items) < above / (below + above)
        # Of the generalized t, |x|^power / degrees is a ratio of two gamma variables.
        bulk, edge = (rng.gamma(math.exp(k - power), size=n_items) for k in (0.0, degrees))
        away = np.exp((degrees + np.log(bulk / edge)) / math.exp(power))
        away /= gennorm.std(math.exp(power)) * math.exp(math.exp(-power) * power)
        theta = away * np.where(upper, above, -below)
        left, right = pairs(n_items, n_votes, rng)
        voter = rng.integers(0, n_voters, n_votes)
        names, index = np.unique(np.concatenate([voter * n_items + left, voter * n_items + right]), return_inverse=True)
        own = Opinions(sd, index[:n_votes], index[n_votes:], names.size)
        opinion = own.spread * rng.standard_normal(names.size)
        margin = theta[left] - theta[right] + opinion[own.left] - opinion[own.right]
        winner = np.where(rng.random(n_votes) < 0.05 + 0.9 / (1 + np.exp(-margin)), 1, -1).astype(np.int8)
        rows = Rows(left, right, winner, np.zeros(n_votes, np.int32), n_items, 1, VoteModel(ties="half"))
        pooled = PooledVotes.of(rows, np.zeros(1), own)
        assert pooled.count.sum() == n_votes
        first, second = pairs(n_items, n_measured, rng)
        measured = theta[first] - theta[second] + error * rng.standard_normal(n_measured)
        signs = np.zeros((n_measured, n_items))
        signs[np.arange(n_measured), first], signs[np.arange(n_measured), second] = 1, -1
        matrix = (signs.T @ signs / error**2).astype(np.float32)
        pull = signs.T @ (measured - signs @ theta) / error**2 if n_measured else np.empty(0)
        shape = np.array([0.0, *logs, degrees, power])
        shared = pooled.kernel_opinions(replace(rows, left=first, right=second))
        inner = opinion[own.spread > 0].copy()
        before.append(functionals(theta, shape, inner, shared, margin, winner, measured - signs @ theta))
        size = (3, 2 * n_items + inner.size + 5)
        sweep(
            *(
                pooled.kernel_votes(),
                GroupParameters(np.ones(1), np.full(1, 0.05), np.zeros(1), 0.0, LOGISTIC, True),
                shared,
            ),
            *(Shape(LEAST, MOST, WIDTH, SPREAD), matrix if n_measured else np.empty((0, 0), np.float32), pull),
            *(np.full(n_items, 1.5), rng.standard_normal(size), -rng.standard_exponential(size), theta, inner, shape),
        )
        if n_measured:  # what stays is the slope at the strengths
            assert_allclose(pull, signs.T @ (measured - signs @ theta) / error**2, atol=1e-4)
        opinion[own.spread > 0] = inner
        margin = theta[left] - theta[right] + opinion[own.left] - opinion[own.right]
        after.append(functionals(theta, shape, inner, shared, margin, winner, measured - signs @ theta))
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
    """Whatever strengths and shared opinions are: a row that counts twice is two equal votes."""
    rows = rows_of(votes, VoteModel(voters=groups, side_bias=side_bias))
    found = bradley_terry(votes, prior=1.0)
    own = replace(shared_opinions(found.curvature, found.parameters, votes.voter), sd=sd)
    side = np.full(rows.n_groups, 0.4 * side_bias)
    pooled = PooledVotes.of(rows, side, own)
    assert pooled.count.sum() == votes.n_comparisons
    rng = np.random.default_rng(1)
    theta, a = rng.standard_normal(votes.n_items), rng.uniform(0.5, 2, rows.n_groups)
    opinion = np.where(own.spread > 0, rng.standard_normal(own.n_opinions), 0.0)
    inner = np.append(opinion[own.spread > 0], 0.0)  # the last: none
    assert_allclose(pooled.spread, own.spread[own.spread > 0])

    def total(rows, count, left, right):
        margin = a[rows.group] * (theta[rows.left] - theta[rows.right] + left - right) + side[rows.group]
        each = [math.log(chance(w, m, 0.1, 0.7, LOGISTIC, False)) for w, m in zip(rows.winner, margin, strict=True)]
        return float(np.dot(count, each))

    whole = total(rows, np.ones(votes.n_comparisons), opinion[own.left], opinion[own.right])
    assert_allclose(total(pooled.rows, pooled.count, *inner[pooled.opinions]), whole, rtol=1e-9)
    apart = np.arange(pooled.count.size) % 2 == 0
    parts = [total(part.rows, part.count, 0, 0) for part in (pooled.select(apart), pooled.select(~apart))]
    assert_allclose(sum(parts), total(pooled.rows, pooled.count, 0, 0), rtol=1e-9)


def functionals(theta, shape, opinion, shared, margin, winner, residual):
    """Bounded numbers that tell strengths, opinions, scales and votes apart, and not the common level."""
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
    ]
