"""What a fit says about itself: the table, the warnings, and votes that say little or nothing."""

import json

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import Comparisons, ModelError, Prior, bradley_terry, thurstone
from adaptive._votes import LEFT, RIGHT, TIE
from tests.adaptive.model.fits import MODELS, simulated
from tests.adaptive.model.votes import comparisons

CHANCE = "the votes do not rule out chance: the order may be random"
INDEPENDENT = "voters are not known: intervals are as if all votes were independent"


@given(comparisons(), MODELS)
def test_any_votes_have_finite_strengths(votes, model):
    fit, options = model
    found = fit(votes, **options)
    assert found.converged
    assert np.isfinite(found.theta).all()
    assert np.isfinite(found.standard_errors).all()
    assert np.isfinite(found.log_likelihood)
    assert_array_equal(found.theta[votes.presentations == 0], found.theta[votes.presentations == 0] * 0)
    assert np.isfinite(found.sample(2, np.random.default_rng(1))).all()
    assert not found.theta.flags.writeable
    assert not found.standard_errors.flags.writeable
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_no_votes_at_all(fit):
    found = fit(Comparisons(4, [], [], []), prior=Prior(None))
    assert found.converged
    assert_array_equal(found.theta, 0)
    assert found.prior_sd == 2
    assert found.warnings == (
        "4 items were never compared: only the prior gives a place",
        "the votes do not determine the spread of the strengths: it is held at 2",
    )
    assert_allclose(found.standard_errors, 2 * np.sqrt(3 / 4))
    assert np.isnan(found.opinion_sd)
    assert fit(Comparisons(4, [], [], [], ["Ann"], []), voters=True).converged


def test_one_vote():
    found = bradley_terry(Comparisons(3, [0], [1], [LEFT]), prior=Prior(None))
    assert found.theta[0] > 0 == found.theta[2] > found.theta[1]
    assert found.never_compared == (2,)
    assert found.warnings == (
        CHANCE,
        "1 item was never compared: only the prior gives a place",
        "1 item won every comparison, so only the prior limits the strength",
        "1 item lost every comparison, so only the prior limits the strength",
        "the votes do not determine the spread of the strengths: it is held at 2",
        INDEPENDENT,
    )


def test_a_graph_in_parts():
    votes = Comparisons(5, [0, 1, 2, 3], [1, 0, 3, 2], [LEFT, LEFT, LEFT, LEFT], ["Ann"], [0, 0, 0, 0])
    found = bradley_terry(votes, prior=1)
    assert found.parts == 3
    assert found.warnings == (
        CHANCE,
        "1 item was never compared: only the prior gives a place",
        "the comparisons fall into 2 parts: only the prior orders one part against another",
        "all votes are of one voter: how far others differ is unknown",
    )
    assert_allclose(found.theta, 0, atol=1e-9)


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_an_order_without_a_contradiction(fit):
    """The larger t, the more such votes are to be expected: it is large, but its own prior bounds it."""
    left, right = np.triu_indices(12, 1)
    found = fit(Comparisons(12, left, right, np.full(left.size, LEFT)), prior=Prior(None))
    assert found.converged
    assert 4 < found.prior_sd < 30
    assert_array_equal(found.ranking.ranks, np.arange(1, 13))
    assert "1 item won every comparison, so only the prior limits the strength" in found.warnings


def test_a_spread_at_its_bounds():
    ties = Comparisons(4, [0, 1, 2] * 9, [1, 2, 3] * 9, [TIE] * 27)
    half = bradley_terry(ties, ties="half", prior=Prior(None))
    assert half.converged
    assert 0.2 < half.prior_sd < 1
    assert half.warnings == (CHANCE, "every comparison is a tie", INDEPENDENT)
    steps = np.repeat(np.arange(40), 400)
    winner = np.where(np.arange(steps.size) % 400 == 0, RIGHT, LEFT)
    high = bradley_terry(Comparisons(41, steps, steps + 1, winner), oversight=0, prior=Prior(None))
    assert high.converged
    assert_allclose(high.prior_sd, 30)
    assert "the votes hardly contradict one order: the spread of the strengths is held at 30" in high.warnings


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_nothing_but_ties(ties):
    votes = Comparisons(3, [0, 1, 2], [1, 2, 0], [TIE] * 3)
    found = bradley_terry(votes, ties=ties)
    assert found.converged
    assert_allclose(found.theta, 0, atol=1e-12)
    assert "every comparison is a tie" in found.warnings
    assert found.ranking.n_ties == 3
    assert found.tie_parameter == (0 if ties == "half" else pytest.approx(1e4))


def test_a_fit_that_ended_early_says_so():
    votes, _ = simulated(20, 200, 1)
    found = bradley_terry(votes, prior=1, max_iterations=1)
    assert not found.converged
    assert found.warnings == ("the fit has not converged in 1 iterations",)
    assert repr(found).endswith(", not converged>")
    assert repr(bradley_terry(votes)).startswith("<Strengths (Bradley-Terry) of 200 votes: <Ranking of 20 items")
    assert repr(thurstone(votes)).startswith("<Strengths (Thurstone) of 200 votes: ")


def test_the_table_is_best_first():
    votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    found = bradley_terry(votes, prior=Prior(2))
    frame = found.to_frame()
    assert frame["item"].tolist() == ["fig", "kiwi", "plum"]
    assert frame["rank"].tolist() == [1, 2.5, 2.5]
    assert frame["wins"].tolist() == [2, 0, 0]
    assert frame["presentations"].tolist() == [2, 2, 2]
    assert_allclose(frame["strength"], found.theta)
    assert_allclose(frame["standard_error"], found.standard_errors)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_a_number_of_draws_that_is_none(n):
    found = bradley_terry(Comparisons(2, [0], [1], [LEFT]), prior=1)
    with pytest.raises(ModelError, match=r"^n must be a positive whole number; got "):
        found.sample(n, np.random.default_rng(1))
