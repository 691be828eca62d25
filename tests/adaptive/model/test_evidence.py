"""The spread of strengths by the marginal likelihood: against quadrature, known spreads and dense determinants."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_ndtr, logsumexp

from adaptive import Comparisons, Prior, bradley_terry, next_comparisons, thurstone
from adaptive.model.evidence import largest, log_determinant, log_evidence
from adaptive.votes import LEFT, RIGHT
from tests.adaptive.model.fits import rows, simulated


def votes_between(pairs, n_items):
    """Votes of pairs, each with numbers of wins of the left and of the right item."""
    columns = [(left, right, code) for (left, right), counts in pairs for code, n in counts for _ in range(n)]
    return Comparisons(n_items, *(list(column) for column in zip(*columns, strict=True)))


def by_quadrature(votes, sd, link="logistic"):
    """Log of the integral of the likelihood over strengths ~ N(0, sd^2), by the trapezoidal rule.

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


def evidence_of(votes, sd, fit=bradley_terry):
    found = fit(votes, prior=sd, oversight=0)
    return log_evidence(found.curvature, found.parameters)


COUNTS = st.tuples(st.integers(6, 20), st.integers(6, 20))


@settings(max_examples=15, deadline=None)
@given(st.lists(COUNTS, min_size=3, max_size=3), st.sampled_from([2, 3]), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_evidence_is_the_integral_over_strengths(counts, n_items, sd):
    pairs = [(0, 1), (1, 2), (2, 0)] if n_items == 3 else [(0, 1)]
    wins = [(pair, [(LEFT, won), (RIGHT, lost)]) for pair, (won, lost) in zip(pairs, counts, strict=False)]
    votes = votes_between(wins, n_items)
    # With 12 votes or more on a pair Laplace's approximation errs by less than .05 (measured: .03).
    assert_allclose(evidence_of(votes, sd), by_quadrature(votes, sd), atol=0.05)


@pytest.mark.parametrize("n_items", [2, 3])
@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_the_spread_of_few_items_is_that_of_quadrature(n_items, fit):
    pairs = [
        ((0, 1), [(LEFT, 60), (RIGHT, 12)]),
        ((1, 2), [(LEFT, 40), (RIGHT, 15)]),
        ((0, 2), [(LEFT, 60), (RIGHT, 4)]),
    ]
    votes = votes_between(pairs[: 1 if n_items == 2 else 3], n_items)
    link = "logistic" if fit is bradley_terry else "normal"
    exact = minimize_scalar(lambda log: -by_quadrature(votes, math.exp(log), link), bounds=(-2, 2), method="bounded").x
    assert_allclose(math.log(fit(votes, oversight=0, prior=Prior(None)).prior_sd), exact, atol=0.03)


def matched(sd, seed, n_items=60, n_votes=900):
    """Logistic votes chosen by `next_comparisons`, most of them between items of like strength."""
    rng = np.random.default_rng(seed)
    theta = sd * rng.standard_normal(n_items)
    votes = Comparisons(n_items, [], [], [])
    while votes.n_comparisons < n_votes:
        size = n_items // 2 if not votes.n_comparisons else 30
        chosen = next_comparisons(bradley_terry(votes, oversight=0), size, rng=rng, voters=range(40))
        wins = rng.random(len(chosen)) < 1 / (1 + np.exp(theta[chosen.right] - theta[chosen.left]))
        votes = Comparisons(
            n_items,
            np.append(votes.left, chosen.left),
            np.append(votes.right, chosen.right),
            np.append(votes.winner, np.where(wins, LEFT, RIGHT)),
        )
    return votes, theta


@pytest.mark.needs_numba
@pytest.mark.parametrize("sd", [0.7, 2.0])
def test_a_known_spread_is_recovered_from_matched_votes(sd):
    ratios = []
    for seed in range(6):
        votes, theta = matched(sd, seed)
        ratios.append(bradley_terry(votes, oversight=0, prior=Prior(None)).prior_sd / theta.std())
    # The standard error of the mean of six is .07 to .09.
    assert_allclose(np.mean(ratios), 1, atol=0.25)


@pytest.mark.needs_numba
@pytest.mark.parametrize("seed", range(4))
def test_the_estimated_spread_maximises_the_marginal_likelihood(seed):
    votes, theta = simulated(60, 1800, seed, sd=[0.5, 1.0, 1.5, 2.0][seed])
    found = bradley_terry(votes, prior=Prior(None))

    def evidence(log_sd):
        at = bradley_terry(votes, prior=float(np.exp(log_sd)))
        penalised = at.log_likelihood - at.theta @ at.theta * np.exp(-2 * log_sd) / 2
        return penalised - 60 * log_sd - np.linalg.slogdet(at.curvature.matrix())[1] / 2

    steps = np.log(found.prior_sd) + np.linspace(-0.4, 0.4, 161)
    best = steps[np.argmax([evidence(step) for step in steps])]
    assert_allclose(np.log(found.prior_sd), best, atol=0.006)
    assert_allclose(found.prior_sd, theta.std(), rtol=0.2)
    assert_allclose(found.theta, bradley_terry(votes, prior=found.prior_sd).theta, atol=1e-7)


@pytest.mark.needs_numba
@pytest.mark.parametrize("sd", [0.5, 2.0, 8.0])
def test_determinants_of_many_items_are_estimated(monkeypatch, sd):
    """What chooses a spread are differences; they err by less than 2, where the evidence is in the hundreds."""
    votes, _ = simulated(400, 4000, 1)
    fits = [bradley_terry(votes, prior=value).curvature for value in (sd, 1.3 * sd)]
    exact = [log_determinant(curved) for curved in fits]
    assert_allclose(exact[0], np.linalg.slogdet(fits[0].matrix())[1])
    monkeypatch.setattr("adaptive.model.evidence.MAX_DENSE", 10)
    estimated = [log_determinant(curved) for curved in fits]
    assert_allclose(estimated, exact, atol=8)
    assert_allclose(np.subtract(*estimated), np.subtract(*exact), atol=2)


@pytest.mark.needs_numba
def test_the_spread_of_many_items_is_that_of_exact_determinants(monkeypatch):
    votes, _ = simulated(400, 4000, 2)
    exact = bradley_terry(votes, prior=Prior(None)).prior_sd
    monkeypatch.setattr("adaptive.model.evidence.MAX_DENSE", 10)
    assert_allclose(bradley_terry(votes, prior=Prior(None)).prior_sd, exact, rtol=0.02)


@given(st.floats(-3, 3), st.floats(0.1, 4))
def test_the_largest_value_of_a_function_with_one_peak(peak, width):
    found = largest(lambda x: -(abs((x - peak) / width) ** 1.5), -3.5, 3.5, 1e-3)
    assert_allclose(found, peak, atol=1e-3)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_function_that_rises_to_an_end_has_it_as_its_largest(sign):
    assert largest(lambda x: sign * x, -2.0, 5.0, 1e-3) == (5.0 if sign > 0 else -2.0)
