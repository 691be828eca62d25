"""The chain over strengths, shared opinions and the shape of the prior: its parts, and the joint law that it keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import t

from adaptive.model.kernels import LOGISTIC, NORMAL
from adaptive.model.posterior import Opinions, _shared_of
from adaptive.model.posterior_kernels import chance, log_shape, sweep
from adaptive.model.vote_model import Rows, VoteModel
from tests.adaptive import naive

DEGREES, WIDTH, SPREAD = 3.0, 2.0, 1.0


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
    found = chance(
        {"left": 1, "tie": 0, "right": -1}[vote],
        margin,
        oversight,
        nu,
        LOGISTIC if link == "logistic" else NORMAL,
        half,
    )
    assert_allclose(math.log(found), naive.vote_log_likelihood(vote, margin, oversight, nu, link, half), rtol=1e-9)


@given(st.floats(-1, 1), st.floats(0.2, 3), st.floats(0.2, 3))
def test_the_two_pieces_make_one_density(mode, below, above):
    """Up to a constant that is the same for all modes and scales: twice the density of Student's t."""
    constant = math.log(2) + t.logpdf(0, DEGREES)
    whole = sum(
        quad(lambda x: math.exp(log_shape(np.array([x]), mode, below, above, DEGREES) + constant), *ends)[0]
        for ends in ((-math.inf, mode), (mode, math.inf))
    )
    assert_allclose(whole, 1, atol=1e-6)
    two = np.array([mode - 1.0, mode + 2.0])
    scales = np.array([below, above])
    expected = np.sum(np.log(2) + t.logpdf((two - mode) / scales, DEGREES) - np.log(below + above))
    assert_allclose(log_shape(two, mode, below, above, DEGREES) + 2 * constant, expected, atol=1e-9)


@pytest.mark.needs_numba
@pytest.mark.parametrize("n_voters", [1, 2, 6])
def test_sweeps_keep_the_joint_law(n_voters):
    """Geweke (2004): parameters from the prior and votes from them have after any sweeps the law that they had.

    The mode has a flat prior, and starts at 0; what is compared does not depend on the common level. With one voter
    all opinions are shared, so that they are exchanged with strengths.
    """
    rng = np.random.default_rng(n_voters)
    n_items, n_votes, n_runs, sd = 4, 12, 4_000, 0.8
    before, after = [], []
    for _ in range(n_runs):
        logs = math.log(WIDTH) - SPREAD * np.abs(rng.standard_normal(2))
        below, above = np.exp(logs)
        upper = rng.random(n_items) < above / (below + above)
        theta = np.abs(rng.standard_t(DEGREES, n_items)) * np.where(upper, above, -below)
        left = rng.integers(0, n_items, n_votes)
        right = (left + rng.integers(1, n_items, n_votes)) % n_items
        voter = rng.integers(0, n_voters, n_votes)
        names, index = np.unique(np.concatenate([voter * n_items + left, voter * n_items + right]), return_inverse=True)
        own = Opinions(sd, index[:n_votes], index[n_votes:], names.size)
        opinion = own.spread * rng.standard_normal(names.size)
        margin = theta[left] - theta[right] + opinion[own.left] - opinion[own.right]
        winner = np.where(rng.random(n_votes) < 0.05 + 0.9 / (1 + np.exp(-margin)), 1, -1).astype(np.int8)
        group = np.zeros(n_votes, np.int32)
        rows = Rows(left, right, winner, group, n_items, 1, VoteModel(ties="half"))
        shared = _shared_of(rows, own)
        ends = np.concatenate([left, right])
        first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_items))])
        shape = np.array([0.0, *logs])
        inner = opinion[own.spread > 0].copy()
        before.append(functionals(theta, shape, inner, shared, margin, winner))
        sweep(
            *(left, right, winner, group, first, np.argsort(ends, kind="stable") % n_votes),
            *(np.ones(1), np.full(1, 0.05), np.zeros(1), 0.0, LOGISTIC, True),
            *(shape, DEGREES, WIDTH, SPREAD, np.full(n_items, 1.5)),
            *(shared.start, shared.sides, shared.spread, shared.of_item, inner),
            *(3, rng, theta),
        )
        opinion[own.spread > 0] = inner
        margin = theta[left] - theta[right] + opinion[own.left] - opinion[own.right]
        after.append(functionals(theta, shape, inner, shared, margin, winner))
    before, after = np.array(before), np.array(after)
    assert (before != after).mean() > 0.5
    difference = after - before
    error = difference.std(axis=0, ddof=1) / math.sqrt(n_runs)
    assert (np.abs(difference.mean(axis=0)) < 4.5 * error + 1e-12).all()


def functionals(theta, shape, opinion, shared, margin, winner):
    """Bounded numbers that tell strengths, opinions, scales and votes apart, and not the common level."""
    away = theta - shape[0]
    scaled = opinion / shared.spread
    return [
        shape[1],
        shape[2],
        shape[1] * shape[2],
        np.mean(np.arctan(away)),
        np.mean(np.arctan(np.abs(away))),
        np.mean(np.arctan(np.abs(away)) * (away > 0)),
        np.mean(np.arctan(away)) * shape[2],
        np.mean(scaled) if scaled.size else 0.0,
        np.mean(scaled**2) if scaled.size else 0.0,
        np.mean(np.arctan(margin) * winner),
        np.mean(np.arctan(np.abs(margin))),
    ]
