"""The end of a fit against the naive posterior: stationary, not beaten, and where another optimiser ends."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from adaptive import Comparisons, Prior, bradley_terry, thurstone
from adaptive.votes import LEFT, RIGHT, TIE
from tests.adaptive import naive
from tests.adaptive.model.fits import MODELS, OVERSIGHT, naive_posterior, simulated
from tests.adaptive.model.votes import comparisons

SEEDS = st.integers(0, 2**32 - 1)


@given(comparisons(), MODELS, OVERSIGHT, st.sampled_from([0.5, 2.0]))
def test_strengths_are_where_the_posterior_is_flat(votes, model, oversight, prior):
    fit, options = model
    found = fit(votes, oversight=oversight, prior=prior, **options)
    assert found.converged
    assert_allclose(naive.gradient(lambda x: naive_posterior(found, theta=x), found.theta), 0, atol=2e-4)
    if 1e-6 < found.tie_parameter < 1e4:
        of_log_nu = naive.gradient(lambda x: naive_posterior(found, nu=np.exp(x[0])), [np.log(found.tie_parameter)])
        assert_allclose(of_log_nu, 0, atol=2e-4 * max(1, votes.n_comparisons))
    assert abs(found.theta.mean()) < 1e-4


@given(comparisons(voters=True, min_size=1), MODELS, OVERSIGHT, SEEDS)
def test_nothing_near_is_better(votes, model, oversight, seed):
    fit, options = model
    found = fit(votes, oversight=oversight, prior=1.5, voters=True, side_bias=True, **options)
    assume(found.converged)
    best = naive_posterior(found, oversight)
    rng = np.random.default_rng(seed)
    n_votes = np.bincount(votes.voter, minlength=3)
    for size in (1e-3, 1e-2):
        theta = found.theta + size * rng.standard_normal(votes.n_items)
        logs = size * rng.standard_normal(3)
        changed = {"theta": theta, "a": found.parameters.discrimination * np.exp(logs - n_votes @ logs / n_votes.sum())}
        changed["s"] = found.parameters.side + size * rng.standard_normal(3)
        if oversight > 0:
            changed["e"] = found.parameters.oversight * np.exp(size * rng.standard_normal(3))
        if found.tie_parameter < 9e3:
            changed["nu"] = found.tie_parameter * np.exp(size * rng.standard_normal())
        assert naive_posterior(found, oversight, **changed) <= best + 1e-7


@given(comparisons(), MODELS)
def test_another_optimiser_ends_there(votes, model):
    """Without oversights the posterior is concave in the strengths and in log nu, and has one maximum."""
    fit, options = model
    found = fit(votes, oversight=0, prior=1.5, **options)
    assume(found.tie_parameter < 100)

    def loss(x):
        nu = {"nu": np.exp(x[-1])} if found.tie_parameter > 0 else {}
        return -naive_posterior(found, theta=x[: votes.n_items], **nu)

    other = minimize(loss, np.zeros(votes.n_items + 1), method="BFGS", options={"gtol": 1e-6})
    assert_allclose(found.theta, other.x[:-1], atol=2e-4)
    if found.tie_parameter > 0:
        assert_allclose(np.log(found.tie_parameter), other.x[-1], atol=2e-4)


@given(comparisons(voters=True, min_size=1), MODELS, st.sampled_from([0.0, 0.03]))
def test_parameters_of_voters_are_where_the_posterior_is_flat(votes, model, oversight):
    fit, options = model
    found = fit(votes, oversight=oversight, prior=Prior(1.5, side_sd=0.8), voters=True, side_bias=True, **options)
    assert found.converged
    at, n_votes = found.parameters, np.bincount(votes.voter, minlength=3)
    of_theta = naive.gradient(lambda x: naive_posterior(found, oversight, theta=x), at.theta)
    assert_allclose(of_theta, 0, atol=1e-3)
    assert_allclose(naive.gradient(lambda x: naive_posterior(found, oversight, s=x), at.side), 0, atol=1e-3)
    # The mean of log a over the votes is held at 0: the slope is the same, for each vote, everywhere.
    of_logs = naive.gradient(lambda x: naive_posterior(found, oversight, a=np.exp(x)), np.log(at.discrimination))
    assert_allclose(np.log(at.discrimination) @ n_votes, 0, atol=1e-9)
    per_vote = (of_logs @ n_votes) / (n_votes @ n_votes)
    assert_allclose(of_logs, per_vote * n_votes, atol=1e-3)
    if oversight > 0:
        odds = np.log(at.oversight / (1 - at.oversight))
        of_odds = naive.gradient(lambda x: naive_posterior(found, oversight, e=1 / (1 + np.exp(-x))), odds)
        assert_allclose(of_odds, 0, atol=1e-2)
    else:
        assert (at.oversight == 0).all()


@given(comparisons(voters=False, min_size=1), MODELS)
def test_one_side_bias_for_all(votes, model):
    fit, options = model
    found = fit(votes, prior=1.0, side_bias=True, **options)
    slope = naive.gradient(lambda x: naive_posterior(found, s=x), found.parameters.side)
    assert_allclose(slope, 0, atol=1e-3)
    assert found.side_bias == found.parameters.side[0]


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
        assert_allclose(np.subtract(*davidson.theta), np.log(won / lost), atol=1e-4)
        assert_allclose(davidson.tie_parameter, tied / np.sqrt(won * lost), rtol=1e-4)


@given(comparisons(voters=True, min_size=1), MODELS, st.booleans())
def test_an_earlier_fit_as_start_changes_nothing(votes, model, voters):
    fit, options = model
    options = options | {"prior": 1.5, "voters": voters, "side_bias": voters}
    whole = fit(votes, **options)
    part = fit(votes.select(np.arange(votes.n_comparisons) % 2 == 0), **options)
    again = fit(votes, start=part, **options)
    assert_allclose(again.theta, whole.theta, atol=1e-3 if voters or whole.tie_parameter else 1e-7)
    assert fit(votes, start=whole, **options).n_iterations <= whole.n_iterations


@given(comparisons(voters=True), MODELS, st.booleans())
def test_the_sides_exchanged(votes, model, voters):
    """Left for right and right for left: the same strengths, and the opposite side bias."""
    fit, options = model
    options = options | {"prior": 1.5, "voters": voters, "side_bias": True}
    turned = Comparisons(votes.items, votes.right, votes.left, -votes.winner, votes.voters, votes.voter)
    found, other = fit(votes, **options), fit(turned, **options)
    assert_allclose(other.theta, found.theta, atol=1e-6)
    assert_allclose(other.parameters.side, -found.parameters.side, atol=1e-6)
    assert_allclose(other.log_likelihood, found.log_likelihood, atol=1e-9)


@given(comparisons(voters=True), MODELS, st.booleans(), SEEDS)
def test_order_of_votes_and_items_does_not_matter(votes, model, voters, seed):
    fit, options = model
    options = options | {"prior": 1.5, "voters": voters}
    rng = np.random.default_rng(seed)
    rows, place = rng.permutation(votes.n_comparisons), rng.permutation(votes.n_items)
    moved = Comparisons(
        votes.n_items, place[votes.left[rows]], place[votes.right[rows]], votes.winner[rows], 3, votes.voter[rows]
    )
    assert_allclose(fit(moved, **options).theta[place], fit(votes, **options).theta, atol=1e-6)


@given(comparisons(min_size=1), MODELS)
def test_all_votes_the_other_way(votes, model):
    fit, options = model
    other = Comparisons(votes.items, votes.left, votes.right, -votes.winner)
    assert_allclose(fit(other, prior=1.5, **options).theta, -fit(votes, prior=1.5, **options).theta, atol=1e-6)


@given(comparisons(min_size=1), st.integers(2, 5))
def test_votes_repeated_are_votes_that_count_more(votes, times):
    """As a prior whose precision is smaller by as much."""
    many = votes.select(np.tile(np.arange(votes.n_comparisons), times))
    options = {"ties": "half", "tolerance": 1e-12}
    found = bradley_terry(many, prior=1.0, **options).theta
    assert_allclose(found, bradley_terry(votes, prior=float(np.sqrt(times)), **options).theta, atol=1e-7)


@pytest.mark.needs_numba
def test_voters_who_differ_are_told_apart():
    truth = np.repeat([0.4, 1.0, 2.5], 10)
    votes, theta = simulated(60, 12_000, 5, n_voters=30, discrimination=truth)
    found = bradley_terry(votes, voters=True)
    logs = np.log(found.parameters.discrimination)
    assert found.converged
    assert np.corrcoef(logs, np.log(truth))[0, 1] > 0.9
    assert np.corrcoef(found.theta, theta)[0, 1] > 0.98


@pytest.mark.needs_numba
def test_a_voter_who_answers_the_opposite_is_found():
    votes, theta = simulated(40, 6000, 6, n_voters=20)
    winner = np.where(votes.voter == 3, -votes.winner, votes.winner)
    turned = Comparisons(40, votes.left, votes.right, winner, 20, votes.voter)
    found = bradley_terry(turned, voters=True)
    assert found.converged
    assert found.parameters.oversight[3] > 0.6
    assert np.delete(found.parameters.oversight, 3).max() < 0.15
    assert np.corrcoef(found.theta, theta)[0, 1] > 0.97
