"""Systems scored with a fitted ranking as gold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adaptive import Comparisons, bradley_terry, score_leaderboard, score_system
from adaptive.errors import ModelError
from rankcorr import LabelError, LabelMismatchError, Ranking, Tau, TauW, correlation_interval, weighted_tau

ITEMS = tuple("abcdefgh")
FEW = {"n_samples": 200, "n_resamples": 1_000}


def fitted(times=1):
    rng = np.random.default_rng(1)
    left = np.tile(rng.integers(0, 8, 60), times)
    right = (left + np.tile(rng.integers(1, 8, 60), times)) % 8
    return bradley_terry(Comparisons(ITEMS, left, right, np.where(left < right, 1, -1)), prior=2)


def system(noise=2.0, items=ITEMS):
    rng = np.random.default_rng(5)
    return {item: -place + noise * rng.normal() for place, item in enumerate(items)}


def test_the_statistic_and_the_known_interval_are_those_of_rankcorr():
    strengths = fitted()
    found = score_system(strengths, system(), TauW(n0=5), **FEW)
    known = correlation_interval(strengths.ranking, system(), coefficient=TauW(n0=5), n_resamples=1_000)
    assert found.known == known
    assert found.statistic == weighted_tau(strengths.ranking, system(), n0=5)
    assert found.low <= known.low <= known.statistic <= known.high <= found.high


def test_values_are_coefficients_with_drawn_rankings_whatever_the_order_of_labels():
    strengths = fitted()
    shuffled = dict(reversed(system().items()))
    coefficient = TauW(scheme="first")
    found = score_system(strengths, shuffled, coefficient, **FEW)
    drawn = strengths.drawn(200, 0)
    values = [coefficient(Ranking.from_ranks(row, labels=ITEMS), shuffled) for row in drawn.ranks]
    assert_allclose(found.values, values, atol=1e-12)
    assert_allclose(found.votes_error, np.std(values, ddof=1))
    assert found == score_system(strengths, system(), coefficient, workers=2, **FEW)


def test_squared_distances_add_on_fishers_scale():
    found = score_system(fitted(), system(), "rho", **FEW)
    reach = 1.959963984540054 * np.arctanh(np.minimum(found.values, np.tanh(np.log(8)))).std(ddof=1)
    centre = np.arctanh(found.statistic)
    below = np.arctanh(found.known.low) - centre
    assert_allclose(np.arctanh(found.low), centre - np.hypot(below, reach))


def test_more_votes_leave_less_error():
    left, right = np.triu_indices(8, 1)

    def error(times):
        votes = Comparisons(ITEMS, np.tile(left, times), np.tile(right, times), np.ones(28 * times, int))
        return score_system(bradley_terry(votes, prior=2), system(), "tau", **FEW).votes_error

    assert error(20) < 0.5 * error(1)


@pytest.mark.parametrize(("missing", "n_items"), [("intersection", 6), ("bottom", 10), ("gold", 8)])
def test_items_that_are_missing_are_treated_alike_in_all_drawn_rankings(missing, n_items):
    strengths = fitted()
    partial = system(items=("y", "z", *ITEMS[:6]))
    found = score_system(strengths, partial, "tau", missing=missing, **FEW)
    assert found.known.n_items == n_items
    drawn = strengths.drawn(200, 0)
    expected = [Tau()(Ranking.from_ranks(row, labels=ITEMS), partial, missing=missing) for row in drawn.ranks[:20]]
    assert_allclose(found.values[:20], expected, atol=1e-12)


def test_leaderboard_ranks_systems_and_says_who_is_best_by_the_votes():
    strengths = fitted()
    board = score_leaderboard(strengths, {"poor": system(50), "good": system(0.1), "same": system(0.1)}, "tau", **FEW)
    assert board.systems == ("good", "same", "poor")
    assert_allclose(board.best.sum(), 1)
    assert board.best[0] == board.best[1]
    assert board._columns()["rank"] == [1.5, 1.5, 3.0]
    assert board.scores[2] == score_system(strengths, system(50), "tau", **FEW)


def test_what_cannot_be_scored_is_refused():
    strengths = fitted()
    with pytest.raises(ModelError, match="systems are scored by Strengths; got 3"):
        score_system(3, system())
    with pytest.raises(LabelError, match="the fitted ranking has labels and the system has none"):
        score_system(strengths, [1, 2, 3, 4, 5, 6, 7, 8])
    with pytest.raises(LabelMismatchError, match="system 'short': labels in the fitted ranking only"):
        score_leaderboard(strengths, {"short": {"a": 1, "b": 2}})
    with pytest.raises(ModelError, match="systems must be a mapping of name to ranking, not empty"):
        score_leaderboard(strengths, {})
    with pytest.raises(ModelError, match="level must be a number between 0 and 1"):
        score_system(strengths, system(), level=1)
