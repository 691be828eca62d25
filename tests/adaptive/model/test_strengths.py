"""Reports on a fit: the table, the warnings, and votes with little or no information."""

import json

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import (
    Comparisons,
    ModelError,
    Prior,
    bradley_terry,
    next_comparisons,
    score_leaderboard,
    score_system,
    thurstone,
)
from adaptive._votes import LEFT, RIGHT, TIE
from rankcorr import LabelError, LabelMismatchError, Ranking, Tau, TauW, correlation_interval, weighted_tau
from tests.adaptive.strategies import MODELS, comparisons, simulate_votes

CHANCE_NOTE = "the votes do not rule out chance: the order may be random"
INDEPENDENCE_NOTE = "voters are unknown, so intervals assume that all votes are independent"


@given(comparisons(), MODELS)
def test_any_votes_have_finite_strengths(votes, model):
    fit, options = model
    result = fit(votes, **options)
    assert result.converged
    assert np.isfinite(result.theta).all()
    assert np.isfinite(result.standard_errors).all()
    assert np.isfinite(result.log_likelihood)
    assert_array_equal(result.theta[votes.presentations == 0], result.theta[votes.presentations == 0] * 0)
    assert np.isfinite(result.sample(2, np.random.default_rng(1))).all()
    assert not result.theta.flags.writeable
    assert not result.standard_errors.flags.writeable
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_without_votes_all_strengths_are_0(fit):
    result = fit(Comparisons(4, [], [], []), prior=Prior(None))
    assert result.converged
    assert_array_equal(result.theta, 0)
    assert result.prior_sd == 2
    assert result.warnings == (
        "4 items were never compared: the prior alone decides the rank",
        "the votes do not determine the spread of the strengths: it is held at 2",
    )
    assert_allclose(result.standard_errors, 2 * np.sqrt(3 / 4))
    assert np.isnan(result.opinion_sd)
    assert fit(Comparisons(4, [], [], [], ["Ann"], []), voters=True).converged


def test_one_vote_orders_two_items_and_gives_warnings():
    result = bradley_terry(Comparisons(3, [0], [1], [LEFT]), prior=Prior(None))
    assert result.theta[0] > 0 == result.theta[2] > result.theta[1]
    assert result.never_compared == (2,)
    assert result.warnings == (
        CHANCE_NOTE,
        "1 item was never compared: the prior alone decides the rank",
        "1 item won every comparison, so only the prior limits the strength",
        "1 item lost every comparison, so only the prior limits the strength",
        "the votes do not determine the spread of the strengths: it is held at 2",
        INDEPENDENCE_NOTE,
    )


def test_a_graph_in_parts_gives_a_warning():
    votes = Comparisons(5, [0, 1, 2, 3], [1, 0, 3, 2], [LEFT, LEFT, LEFT, LEFT], ["Ann"], [0, 0, 0, 0])
    result = bradley_terry(votes, prior=1)
    assert result.parts == 3
    assert result.warnings == (
        CHANCE_NOTE,
        "1 item was never compared: the prior alone decides the rank",
        "the comparisons fall into 2 parts: only the prior orders one part against another",
        "all votes are from one voter: other voters may differ",
    )
    assert_allclose(result.theta, 0, atol=1e-9)


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_an_order_without_a_contradiction(fit):
    """These votes suggest a large t, which only its prior bounds."""
    left, right = np.triu_indices(12, 1)
    result = fit(Comparisons(12, left, right, np.full(left.size, LEFT)), prior=Prior(None))
    assert result.converged
    assert 4 < result.prior_sd < 30
    assert_array_equal(result.ranking.ranks, np.arange(1, 13))
    assert "1 item won every comparison, so only the prior limits the strength" in result.warnings


def test_a_spread_at_its_bounds():
    ties = Comparisons(4, [0, 1, 2] * 9, [1, 2, 3] * 9, [TIE] * 27)
    half = bradley_terry(ties, ties="half", prior=Prior(None))
    assert half.converged
    assert 0.2 < half.prior_sd < 1
    assert half.warnings == (CHANCE_NOTE, "every comparison is a tie", INDEPENDENCE_NOTE)
    steps = np.repeat(np.arange(40), 400)
    winner = np.where(np.arange(steps.size) % 400 == 0, RIGHT, LEFT)
    high = bradley_terry(Comparisons(41, steps, steps + 1, winner), oversight=0, prior=Prior(None))
    assert high.converged
    assert_allclose(high.prior_sd, 30)
    assert "the votes hardly contradict one order: the spread of the strengths is held at 30" in high.warnings


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_strengths_are_equal_if_all_votes_tie(ties):
    votes = Comparisons(3, [0, 1, 2], [1, 2, 0], [TIE] * 3)
    result = bradley_terry(votes, ties=ties)
    assert result.converged
    assert_allclose(result.theta, 0, atol=1e-12)
    assert "every comparison is a tie" in result.warnings
    assert result.ranking.n_ties == 3
    assert result.tie_parameter == (0 if ties == "half" else pytest.approx(1e4))


@pytest.mark.parametrize("voters", [False, True])
def test_a_side_bias_that_the_votes_cannot_separate_gives_a_warning(voters):
    """Item 0 is always on the left; then each pair is shown in both ways. Item 3 is never compared."""
    left, right, winner, voter = [0] * 40, [1, 2] * 20, [1] * 28 + [-1] * 12, [0, 1, 1, 0] * 10
    options = {"voters": voters, "side_bias": True}
    votes = Comparisons(4, left, right, winner, 2, voter)
    note = "the votes cannot separate the strengths from the side bias, as when an item is always on one side"
    assert any(note in warning for warning in bradley_terry(votes, **options).warnings)
    assert not any(note in warning for warning in bradley_terry(votes, voters=voters).warnings)
    both = Comparisons(4, left + right, right + left, winner + [-code for code in winner], 2, voter * 2)
    assert not any(note in warning for warning in bradley_terry(both, **options).warnings)


def test_an_interrupted_fit_gives_a_warning():
    votes, _ = simulate_votes(20, 200, 1)
    result = bradley_terry(votes, prior=1, oversight=0.03, max_iterations=1)
    assert not result.converged
    assert result.warnings == ("the fit has not converged in 1 iterations",)
    assert repr(result).endswith(", not converged>")
    assert repr(bradley_terry(votes)).startswith("<Strengths (Bradley-Terry) of 200 votes: <Ranking of 20 items")
    assert repr(thurstone(votes)).startswith("<Strengths (Thurstone) of 200 votes: ")


def test_the_table_is_best_first():
    votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    result = bradley_terry(votes, prior=Prior(2))
    frame = result.to_frame()
    assert frame["item"].tolist() == ["fig", "kiwi", "plum"]
    assert frame["rank"].tolist() == [1, 2.5, 2.5]
    assert frame["wins"].tolist() == [2, 0, 0]
    assert frame["presentations"].tolist() == [2, 2, 2]
    assert_allclose(frame["strength"], result.theta)
    assert_allclose(frame["standard_error"], result.standard_errors)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_invalid_numbers_of_draws_are_refused(n):
    result = bradley_terry(Comparisons(2, [0], [1], [LEFT]), prior=1)
    with pytest.raises(ModelError, match=r"^n must be a positive whole number; got "):
        result.sample(n, np.random.default_rng(1))


def settled_strengths(n_votes, upsets):
    """Six items in the order 5, 4, .. 0; neighbours were compared so often that every draw has this order."""
    worse = np.repeat(np.arange(5), n_votes)
    winner = np.where(np.arange(worse.size) % n_votes < upsets * n_votes, -1, 1)
    return bradley_terry(Comparisons(6, worse + 1, worse, winner))


@pytest.mark.wide
@pytest.mark.parametrize("n0", [-0.9, 2.0])
@pytest.mark.parametrize("upsets", [0.0, 0.15])
def test_a_settled_order_is_compared_at_the_top(upsets, n0):
    strengths = settled_strengths(4_000, upsets)
    matches = [next_comparisons(strengths, 1, rng=np.random.default_rng(seed), n0=n0) for seed in range(100)]
    counts = np.bincount(np.concatenate([[match.left[0], match.right[0]] for match in matches]), minlength=6)
    assert counts[5] > counts[0]
    assert counts[5] > 20


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(("wins", "losses"), [(3, 2), (12, 8)])
def test_draws_of_two_items_are_near_the_exact_posterior(wins, losses):
    """Exact under the normal prior, by a grid; the heavy tails of the draws change it by a few hundredths."""
    votes = Comparisons(2, [0] * (wins + losses), [1] * (wins + losses), [1] * wins + [-1] * losses)
    strengths = bradley_terry(votes, prior=2.0)
    grid = np.linspace(-20, 20, 40_001)
    chance = 0.03 + 0.94 / (1 + np.exp(-grid))
    density = chance**wins * (1 - chance) ** losses * np.exp(-(grid**2) / (4 * 2.0**2))
    exact = density[grid > 0].sum() / density.sum()
    draws = strengths.sample(20_000, np.random.default_rng(1))
    assert abs(np.mean(draws[:, 0] > draws[:, 1]) - exact) < 0.05


ITEMS = tuple("abcdefgh")
DRAWS = {"n_samples": 200, "n_resamples": 1_000}


def fit_letters():
    rng = np.random.default_rng(1)
    left = rng.integers(0, 8, 60)
    right = (left + rng.integers(1, 8, 60)) % 8
    return bradley_terry(Comparisons(ITEMS, left, right, np.where(left < right, 1, -1)), prior=2)


def system(noise=2.0, items=ITEMS):
    rng = np.random.default_rng(5)
    return {item: -place + noise * rng.normal() for place, item in enumerate(items)}


def test_the_statistic_and_the_known_interval_are_those_of_rankcorr():
    strengths = fit_letters()
    result = score_system(strengths, system(), TauW(n0=5), **DRAWS)
    known = correlation_interval(strengths.ranking, system(), coefficient=TauW(n0=5), n_resamples=1_000)
    assert result.known == known
    assert result.statistic == weighted_tau(strengths.ranking, system(), n0=5)
    assert result.low <= known.low <= known.statistic <= known.high <= result.high


def test_values_are_coefficients_with_drawn_rankings():
    strengths = fit_letters()
    shuffled = dict(reversed(system().items()))
    coefficient = TauW(scheme="first")
    result = score_system(strengths, shuffled, coefficient, **DRAWS)
    draws = strengths.drawn(200, 0)
    values = [coefficient(Ranking.from_ranks(row, labels=ITEMS), shuffled) for row in draws.ranks]
    assert_allclose(result.values, values, atol=1e-12)
    assert_allclose(result.votes_error, np.std(values, ddof=1))
    assert result == score_system(strengths, system(), coefficient, workers=2, **DRAWS)


def test_squared_distances_add_on_fishers_scale():
    result = score_system(fit_letters(), system(), "rho", **DRAWS)
    reach = 1.959963984540054 * np.arctanh(np.minimum(result.values, np.tanh(np.log(8)))).std(ddof=1)
    centre = np.arctanh(result.statistic)
    below = np.arctanh(result.known.low) - centre
    assert_allclose(np.arctanh(result.low), centre - np.hypot(below, reach))


def test_more_votes_leave_less_error():
    left, right = np.triu_indices(8, 1)

    def error(times):
        votes = Comparisons(ITEMS, np.tile(left, times), np.tile(right, times), np.ones(28 * times, int))
        return score_system(bradley_terry(votes, prior=2), system(), "tau", **DRAWS).votes_error

    assert error(20) < 0.5 * error(1)


@pytest.mark.parametrize(("missing", "n_items"), [("intersection", 6), ("bottom", 10), ("gold", 8)])
def test_missing_items_are_treated_alike_in_all_drawn_rankings(missing, n_items):
    strengths = fit_letters()
    partial = system(items=("y", "z", *ITEMS[:6]))
    result = score_system(strengths, partial, "tau", missing=missing, **DRAWS)
    assert result.known.n_items == n_items
    draws = strengths.drawn(200, 0)
    expected = [Tau()(Ranking.from_ranks(row, labels=ITEMS), partial, missing=missing) for row in draws.ranks[:20]]
    assert_allclose(result.values[:20], expected, atol=1e-12)


def test_leaderboard_ranks_systems_and_states_which_is_best():
    strengths = fit_letters()
    board = score_leaderboard(strengths, {"poor": system(50), "good": system(0.1), "same": system(0.1)}, "tau", **DRAWS)
    assert board.systems == ("good", "same", "poor")
    assert_allclose(board.best.sum(), 1)
    assert board.best[0] == board.best[1]
    assert board._columns()["rank"] == [1.5, 1.5, 3.0]
    assert board.scores[2] == score_system(strengths, system(50), "tau", **DRAWS)


def test_invalid_systems_are_refused():
    strengths = fit_letters()
    with pytest.raises(ModelError, match="systems are scored by Strengths; got 3"):
        score_system(3, system())
    with pytest.raises(LabelError, match="the fitted ranking has labels and the system has none"):
        score_system(strengths, [1, 2, 3, 4, 5, 6, 7, 8])
    with pytest.raises(LabelMismatchError, match="system 'short': the fitted ranking has labels that the system lacks"):
        score_leaderboard(strengths, {"short": {"a": 1, "b": 2}})
    with pytest.raises(ModelError, match="systems must be a mapping of name to ranking, not empty"):
        score_leaderboard(strengths, {})
    with pytest.raises(ModelError, match="level must be a number above 0 and below 1"):
        score_system(strengths, system(), level=1)
