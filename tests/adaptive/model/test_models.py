"""Estimators against other packages, exact formulas and each other by name; and invalid arguments."""

import csv
import json
import tracemalloc
from collections import Counter

import choix
import evalica
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive import (
    BordaScores,
    ComparisonError,
    Comparisons,
    ModelError,
    borda,
    bradley_terry,
    rank_centrality,
    thurstone,
)
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.model._models import fit_named
from rankcorr import OptionError, TooFewItemsError
from tests.adaptive import naive
from tests.adaptive.strategies import comparisons, items_and_triples, simulate_votes

PLAIN_MODEL = {"ties": "half", "oversight": 0}
WINNERS = {LEFT: evalica.Winner.X, TIE: evalica.Winner.Draw, RIGHT: evalica.Winner.Y}


def pairs_of(votes):
    """Pairs (winner, loser), as choix takes them."""
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), strict=True)
    return [(left, right) if code == LEFT else (right, left) for left, right, code in columns]


def evalica_strengths(votes):
    """Logarithms of evalica's scores, with the mean 0; a tie is half a win there as well."""
    winners = [WINNERS[code] for code in votes.winner.tolist()]
    result = evalica.bradley_terry(votes.left.tolist(), votes.right.tolist(), winners, tolerance=1e-13, limit=100_000)
    scores = np.log([result.scores[item] for item in range(votes.n_items)])
    return scores - scores.mean()


@given(comparisons(min_size=1), st.sampled_from([0.5, 1.0, 3.0]))
def test_strengths_with_a_prior_are_those_of_choix(votes, prior):
    """choix adds alpha |theta|^2 to the loss, so that alpha is 1 / (2 t^2)."""
    votes = votes.select(votes.winner != TIE)
    result = bradley_terry(votes, prior=prior, **PLAIN_MODEL)
    other = choix.opt_pairwise(votes.n_items, pairs_of(votes), alpha=1 / (2 * prior**2), tol=1e-12)
    assert_allclose(result.theta, other, atol=1e-6)


def test_a_given_prior_holds_beyond_the_range_of_estimated_ones():
    votes = Comparisons(2, [0] * 30, [1] * 30, [1] * 30)
    narrow, narrower = (bradley_terry(votes, prior=sd).theta[0] for sd in (1e-3, 1e-4))
    assert_allclose(narrow / narrower, 100, rtol=1e-3)  # the mode of a narrow prior is its variance times the slope
    assert bradley_terry(votes, prior=1000).theta[0] > bradley_terry(votes, prior=30).theta[0] + 1


@pytest.mark.parametrize("seed", range(3))
def test_strengths_without_a_prior_are_those_of_choix_and_evalica(seed):
    votes, _ = simulate_votes(25, 1500, seed, sd=0.8)
    result = bradley_terry(votes, prior=np.inf, **PLAIN_MODEL)
    assert_allclose(result.theta, choix.ilsr_pairwise(25, pairs_of(votes), tol=1e-10), atol=1e-6)
    assert_allclose(result.theta, choix.opt_pairwise(25, pairs_of(votes), alpha=0, tol=1e-12), atol=1e-6)
    assert_allclose(result.theta, evalica_strengths(votes), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_half_wins_for_ties_are_those_of_evalica(seed):
    votes, _ = simulate_votes(25, 1500, seed, sd=0.8, tie=0.4)
    assert_allclose(bradley_terry(votes, prior=np.inf, **PLAIN_MODEL).theta, evalica_strengths(votes), atol=1e-6)


@pytest.mark.real_data
def test_strengths_of_language_models_are_those_published(data_dir):
    """evalica's golden file; llmfao.csv has 3,471 ties, each half a win."""
    with (data_dir / "llmfao.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    votes = Comparisons.from_labels(*([row[name] for row in rows] for name in ("left", "right", "winner")))
    assert Counter(votes.winner.tolist())[TIE] == 3471
    with (data_dir / "llmfao-golden.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == "bradley_terry"]
    golden = {row["item"]: float(row["score"]) for row in rows}
    assert set(golden) == set(votes.items)
    published = np.log([golden[item] for item in votes.items])
    result = bradley_terry(votes, prior=np.inf, **PLAIN_MODEL)
    assert_allclose(result.theta, published - published.mean(), atol=1e-6)
    assert_allclose(result.theta, evalica_strengths(Comparisons(59, votes.left, votes.right, votes.winner)), atol=1e-6)


def test_strengths_of_tastes_are_those_of_a_probit_regression():
    """Data of David, The Method of Paired Comparisons (1988), page 116; estimates and deviance by statsmodels 0.15."""
    wins = np.array([[0, 3, 2, 2], [12, 0, 11, 3], [13, 4, 0, 5], [13, 12, 10, 0]])
    winners, losers = np.nonzero(wins)
    columns = (np.repeat(column, wins[winners, losers]) for column in (winners, losers))
    result = thurstone(Comparisons(4, *columns, np.full(wins.sum(), LEFT)), prior=np.inf, oversight=0)
    assert_allclose(result.theta - result.theta[0], [0, 0.94526157, 0.76820918, 1.38736551], atol=1e-6)
    saturated = np.sum(wins * np.log(np.where(wins, wins / np.maximum(1, wins + wins.T), 1)))
    assert_allclose(2 * (saturated - result.log_likelihood), 4.5326647, atol=1e-6)


@given(comparisons(min_size=1))
def test_strengths_without_a_maximum_are_refused(votes):
    """Ford (1957): there is one if each group of items lost to, or tied with, the others at least once."""
    beaten = np.eye(votes.n_items, dtype=bool)
    for left, right, code in zip(votes.left, votes.right, votes.winner, strict=True):
        beaten[left, right] |= code != LEFT
        beaten[right, left] |= code != RIGHT
    joined = np.linalg.matrix_power(beaten.astype(int), votes.n_items).astype(bool).all()
    if joined:
        assert bradley_terry(votes, prior=np.inf, **PLAIN_MODEL).converged
    else:
        with pytest.raises(ModelError, match=r"^without a prior some strengths are infinite: .* fall into \d+ groups"):
            bradley_terry(votes, prior=np.inf, **PLAIN_MODEL)


@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_losses_explained_by_oversights_give_no_finite_strength(fit):
    """One loss in 100 is less than the 3 % of oversights: the likelihood grows for ever."""
    votes = Comparisons(2, [0] * 100, [1] * 100, [RIGHT] + [LEFT] * 99)
    with pytest.raises(ModelError, match="into 2 groups, and one never lost to another, or so seldom that slips"):
        fit(votes, prior=np.inf, oversight=0.03)
    assert fit(votes, prior=np.inf, oversight=0).converged
    assert fit(votes, prior=3).converged


def test_unfittable_votes_are_refused():
    votes = Comparisons(3, [0, 1], [1, 2], [LEFT, LEFT])
    other = bradley_terry(Comparisons(["a", "b", "c"], [0, 1], [1, 2], [LEFT, LEFT]))
    for options, message in [
        ({"comparisons": [(0, 1)]}, r"^strengths are fitted to Comparisons; got \[\(0, 1\)\]"),
        ({"comparisons": Comparisons(1, [], [], [])}, r"^a ranking needs at least two items; got 1"),
        ({"voters": 1}, r"^voters must be True or False; got 1"),
        ({"side_bias": "left"}, r"^side_bias must be True or False; got 'left'"),
        ({"voters": True}, r"^voters=True needs a column of voters, which these votes lack"),
        *[({"oversight": rate}, r"^oversight must be a number from 0 to below") for rate in (-0.1, 0.5, np.nan, "few")],
        *[({"tolerance": size}, r"^tolerance must be a number between 0 and 1") for size in (0, 1, np.nan, "small")],
        *[({"max_iterations": n}, r"^max_iterations must be a positive whole number") for n in (0, -1, 2.5, None)],
        *[({"start": start}, r"^start must be Strengths of the same items; got ") for start in (other, np.zeros(3))],
    ]:
        for fit in (bradley_terry, thurstone):
            with pytest.raises(ModelError, match=message):
                fit(**{"comparisons": votes, **options})
    with pytest.raises(OptionError, match=r"^ties must be one of 'davidson', 'half'; got 'win'"):
        bradley_terry(votes, ties="win")


def test_a_start_from_another_model_is_ignored():
    votes, _ = simulate_votes(10, 200, 1, tie=0.2)
    plain = bradley_terry(votes)
    for start in (thurstone(votes), bradley_terry(votes, ties="half"), bradley_terry(votes, oversight=0.1)):
        again = bradley_terry(votes, start=start)
        assert again.n_iterations == plain.n_iterations
        assert_allclose(again.theta, plain.theta, rtol=1e-12)


def measure_memory(votes):
    """Peak memory of a fit in bytes, after a first one."""
    bradley_terry(votes)
    tracemalloc.start()
    result = bradley_terry(votes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


@pytest.mark.wide
@pytest.mark.needs_numba
def test_memory_is_linear_in_votes():
    """An array of items by items would take 80 MB at 3,200."""
    peaks = []
    for n_items in (1_600, 3_200):
        votes, theta = simulate_votes(n_items, 20 * n_items, 1, n_voters=200)
        result, peak = measure_memory(votes)
        peaks.append(peak)
        assert result.converged
        assert np.corrcoef(result.theta, theta)[0, 1] > 0.9
    assert peaks[1] < 2.2 * peaks[0]
    assert peaks[1] < 300 * 20 * 3_200  # bytes for each vote: two points with ten terms of 8 bytes, and some columns


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("fit", [bradley_terry, thurstone])
def test_a_chain_of_many_items(fit):
    """Each neighbour won once out of three: steps of log 2, or of the probit of 2/3, pulled in by the prior."""
    steps = np.repeat(np.arange(2_999), 3)
    winner = np.where(np.arange(steps.size) % 3 == 0, RIGHT, LEFT)
    result = fit(Comparisons(3_000, steps, steps + 1, winner), oversight=0, prior=1e5)
    assert result.converged
    step = np.log(2) if fit is bradley_terry else 0.43072729929545756  # statistics.NormalDist().inv_cdf(2 / 3)
    assert_allclose(result.theta[:-1] - result.theta[1:], step, rtol=1e-3)
    ends = fit(Comparisons(3_000, steps, steps + 1, winner), oversight=0, prior=np.inf)
    assert ends.converged
    assert_allclose(ends.theta[:-1] - ends.theta[1:], step, rtol=1e-5)


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("voters", [False, True])
def test_one_item_with_most_of_the_votes(voters):
    rng = np.random.default_rng(1)
    other, winner = rng.integers(1, 1_001, 100_000), rng.choice([LEFT, TIE, RIGHT], 100_000, p=[0.9, 0.05, 0.05])
    votes = Comparisons(1_001, np.zeros(100_000, int), other, winner, 50, rng.integers(0, 50, 100_000))
    result = bradley_terry(votes, voters=voters)
    assert result.converged
    assert result.ranking.ranks[0] == 1
    assert result.never_compared == ()


@pytest.mark.needs_numba
def test_voters_who_answer_at_random():
    """Discriminations are near 0: half of the votes are random."""
    votes, theta = simulate_votes(60, 8_000, 2, n_voters=20, discrimination=[1e-3] * 10 + [1.5] * 10)
    result = bradley_terry(votes, voters=True)
    logs = np.log(result.parameters.discrimination)
    assert result.converged
    assert logs[:10].max() < logs[10:].min()
    assert np.corrcoef(result.theta, theta)[0, 1] > np.corrcoef(bradley_terry(votes).theta, theta)[0, 1]


@pytest.mark.needs_numba
def test_many_voters_who_answer_the_opposite():
    votes, theta = simulate_votes(60, 9_000, 3, n_voters=30)
    winner = np.where(votes.voter % 3 == 0, -votes.winner, votes.winner)
    turned = Comparisons(60, votes.left, votes.right, winner, 30, votes.voter)
    result = bradley_terry(turned, voters=True, side_bias=True)
    assert result.converged
    assert result.parameters.oversight[::3].min() > np.delete(result.parameters.oversight, np.s_[::3]).max()
    assert np.corrcoef(result.theta, theta)[0, 1] > 0.9


@given(comparisons(voters=True, min_size=1), st.booleans())
def test_fitting_voters_changes_nothing_if_all_vote_alike(votes, side_bias):
    """Each of three voters gives every vote: all get the parameters of a single voter."""
    assume(votes.n_comparisons <= 6)
    columns = (np.tile(column, 3) for column in (votes.left, votes.right, votes.winner))
    every = Comparisons(votes.n_items, *columns, 3, np.repeat(range(3), votes.n_comparisons))
    result = bradley_terry(every, voters=True, side_bias=side_bias, prior=1.5)
    for of_voters in (result.parameters.discrimination, result.parameters.oversight, result.parameters.side):
        assert_allclose(of_voters, of_voters[0], atol=1e-9)
    assert_allclose(result.parameters.discrimination, 1, atol=1e-9)


@given(comparisons())
def test_scores_are_eq_1(votes):
    items, triples = items_and_triples(votes)
    compared = [item for item in items if item not in votes.never_compared]
    expected = naive.borda_scores(compared, triples)
    scores = borda(votes)
    assert scores.items == votes.items
    assert scores.never_compared == votes.never_compared
    expected_scores = [float(expected[item]) if item in expected else np.nan for item in items]
    assert_allclose(scores.scores, expected_scores)
    assert not scores.scores.flags.writeable
    # Items that were never compared are last and tied.
    ranks = scores.ranking.ranks
    known = [ranks[place] for place, item in enumerate(items) if item in expected]
    unknown = [ranks[place] for place, item in enumerate(items) if item not in expected]
    assert max(known, default=0) < min(unknown, default=np.inf)
    assert len(set(unknown)) <= 1


def test_the_table_is_best_first():
    votes = Comparisons.from_labels(["b", "b", "d"], ["d", "c", "c"], ["left", "left", "tie"], items=list("abcd"))
    scores = borda(votes)
    assert repr(scores) == "<BordaScores of 4 items, 1 never compared>"
    assert repr(borda(votes.select([]))) == "<BordaScores of 4 items, 4 never compared>"
    assert repr(borda(Comparisons(2, [0], [1], [LEFT]))) == "<BordaScores of 2 items>"
    frame = scores.to_frame()
    assert frame["item"].tolist() == ["b", "c", "d", "a"]
    assert frame["rank"].tolist() == [1, 2.5, 2.5, 4]
    assert frame["presentations"].tolist() == [2, 2, 2, 0]
    content = json.loads(json.dumps(scores.to_dict(), allow_nan=False))
    assert content["never_compared"] == ["a"]
    row = {"item": "a", "rank": 4, "score": None, "presentations": 0, "wins": 0, "ties": 0, "losses": 0}
    assert content["items"][-1] == row
    assert [row["score"] for row in content["items"]] == [1, 0.25, 0.25, None]


def test_unscorable_votes_are_refused():
    with pytest.raises(ComparisonError, match=r"borda takes Comparisons; got \[\(0, 1\)\]"):
        borda([(0, 1)])
    nothing = borda(Comparisons.from_labels([], [], []))
    assert isinstance(nothing, BordaScores)
    with pytest.raises(TooFewItemsError, match="a ranking needs at least one item; got 0"):
        _ = nothing.ranking


VOTES = Comparisons.from_labels(list("abca"), list("bcab"), ["left", "tie", "right", "right"], voter=[1, 1, 2, 2])


def test_a_model_by_name():
    assert fit_named(VOTES, prior=2, ties="half").to_dict() == bradley_terry(VOTES, prior=2, ties="half").to_dict()
    assert fit_named(VOTES, "thurstone", voters=True).to_dict() == thurstone(VOTES, voters=True).to_dict()
    assert fit_named(VOTES, "borda", ties=None).to_dict() == borda(VOTES).to_dict()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("elo", {}, "model must be one of 'bradley-terry', 'thurstone', 'borda', 'rank-centrality'; got 'elo'"),
        ("thurstone", {"ties": "half"}, "ties is an option of bradley-terry; thurstone does not have it"),
        ("borda", {"prior": 1}, "prior is an option of bradley-terry and thurstone; borda does not have it"),
        ("borda", {"prier": 1}, "prier is an option of no model"),
    ],
)
def test_invalid_arguments_are_refused(model, options, message):
    with pytest.raises(OptionError, match=message):
        fit_named(VOTES, model, **options)


def test_a_document_has_the_strengths_best_first():
    """In JSON nan is null, tuples are lists, and items are best first."""
    votes = Comparisons.from_labels([("a", "b"), ("a", "b")], ["c", "d"], ["left", "tie"])
    strengths = bradley_terry(votes, prior=1)
    result = strengths.to_dict()
    assert [row["item"] for row in result["items"]] == [["a", "b"], "d", "c"]
    assert result["items"][0]["strength"] == strengths.theta[0]
    assert result["items"][0]["standard_error"] == strengths.standard_errors[0]
    parameters = {"prior_sd": 1.0, "tie_parameter": strengths.tie_parameter, "side_bias": 0.0, "opinion_sd": None}
    parameters["oversight"] = strengths.oversight
    assert result["parameters"] == parameters
    assert result["voters"] is None
    assert result["warnings"] == list(strengths.warnings)
    by_voter = bradley_terry(VOTES, voters=True, side_bias=True)
    assert [list(row.values()) for row in by_voter.to_dict()["voters"]] == [
        [voter, by_voter.parameters.discrimination[n], by_voter.parameters.oversight[n], by_voter.parameters.side[n]]
        for n, voter in enumerate([1, 2])
    ]


def test_standard_errors_are_optional():
    strengths = bradley_terry(VOTES)
    rows = strengths.to_dict(standard_errors=False)["items"]
    assert [row.pop("standard_error") for row in rows] == [None] * 3
    expected = strengths.to_dict()["items"]
    assert rows == [{name: row[name] for name in row if name != "standard_error"} for row in expected]


@pytest.mark.parametrize("fit", [bradley_terry, thurstone, fit_named])
def test_progress_is_called_for_each_iteration_and_may_stop_the_fit(fit):
    calls = []
    strengths = fit(VOTES, prior=2, oversight=0.03, progress=calls.append)
    assert calls == [1] * strengths.n_iterations
    calls.clear()
    strengths = fit(VOTES, progress=calls.append)  # with fits at other spreads and oversights
    assert calls == [1] * strengths.n_iterations

    def stop(_n_iterations):
        raise TimeoutError("the time is up")

    with pytest.raises(TimeoutError, match="the time is up"):
        fit(VOTES, progress=stop)


def stationary_strengths(votes, alpha):
    """Logarithms of the stationary distribution, by powers of the matrix of the lazy walk."""
    n = votes.n_items
    wins = [[alpha * (i != j) for j in range(n)] for i in range(n)]
    for left, right, winner in zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), strict=True):
        share = 0.5 if winner == TIE else float(winner == LEFT)
        wins[left][right] += share
        wins[right][left] += 1 - share
    walk = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and wins[i][j] + wins[j][i]:
                walk[i, j] = wins[j][i] / (wins[i][j] + wins[j][i]) / n
        walk[i, i] = 1 - walk[i].sum()
    probabilities = np.linalg.matrix_power(walk, 1 << 20)[0]
    return np.log(probabilities) - np.log(probabilities).mean()


@given(comparisons(min_size=1), st.sampled_from([0.5, 1.0, 4.0]))
def test_scores_are_the_stationary_distribution_of_the_walk(votes, alpha):
    assert_allclose(rank_centrality(votes, alpha=alpha).scores, stationary_strengths(votes, alpha), rtol=0, atol=1e-8)


def test_unconnected_items_and_invalid_input():
    votes = Comparisons.from_labels(["a", "a"], ["b", "b"], ["left", "right"], items=["a", "b", "c"])
    scores = rank_centrality(votes)
    assert_allclose(scores.scores, [0, 0, np.nan])
    assert scores.never_compared == ("c",)
    assert repr(scores) == "<CentralityScores of 3 items, 1 never compared>"
    assert fit_named(votes, "rank-centrality", alpha=1) == rank_centrality(votes, alpha=1)
    assert np.isfinite(rank_centrality(votes, alpha=1).scores).all()
    one_sided = Comparisons.from_labels(["a"], ["b"], ["left"])
    with pytest.raises(ModelError, match="the items fall into 2 groups, and one never lost to another"):
        rank_centrality(one_sided)
    with pytest.raises(ModelError, match="alpha must be a finite number, not negative; got -1"):
        rank_centrality(votes, alpha=-1)
    with pytest.raises(ComparisonError, match="rank_centrality takes Comparisons; got 5"):
        rank_centrality(5)


def test_winners_and_losers_have_no_sides():
    """Pairs of winner and loser, as choix has them: a side bias would explain every vote."""
    rng = np.random.default_rng(2)
    left = rng.integers(0, 6, 40)
    votes = Comparisons(6, left, (left + rng.integers(1, 6, 40)) % 6, np.ones(40, int))
    for fit in (bradley_terry, thurstone):
        with pytest.raises(ModelError, match=r"\(data of winners and losers have no sides\); leave side_bias out"):
            fit(votes, side_bias=True, prior=1)
    assert bradley_terry(votes, prior=1).side_bias == 0
