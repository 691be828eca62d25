import math

import choix
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive import ComparisonError, Comparisons, ModelError, bradley_terry, rank_centrality
from adaptive._votes import LEFT, TIE
from adaptive.model._estimators import fit_named
from tests.adaptive.strategies import comparisons


def stationary(votes, alpha):
    """Logarithms of the stationary distribution, by powers of the walk's matrix with a rest at each item."""
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
    assert_allclose(rank_centrality(votes, alpha=alpha).scores, stationary(votes, alpha), rtol=0, atol=1e-8)


@given(comparisons(min_size=1), st.sampled_from([0.1, 1.0]))
def test_scores_without_ties_are_those_of_choix(votes, alpha):
    assume(not (votes.winner == TIE).any())
    columns = zip(votes.left.tolist(), votes.right.tolist(), votes.winner.tolist(), strict=True)
    pairs = [(left, right) if code == LEFT else (right, left) for left, right, code in columns]
    peer = choix.rank_centrality(votes.n_items, pairs, alpha=alpha)
    assert_allclose(rank_centrality(votes, alpha=alpha).scores, peer - peer.mean(), rtol=0, atol=1e-9)


def test_exact_shares_of_wins_give_the_strengths_of_bradley_terry():
    strengths = {"a": 4, "b": 2, "c": 1}
    rows = [
        (one, other, side)
        for one, other in (("a", "b"), ("b", "c"), ("a", "c"))
        for side, number in (("left", strengths[one]), ("right", strengths[other]))
        for _ in range(number)
    ]
    votes = Comparisons.from_labels(*map(list, zip(*rows, strict=True)))
    scores = rank_centrality(votes).scores
    assert_allclose(scores, np.log([4, 2, 1]) - math.log(8) / 3, atol=1e-12)
    assert_allclose(scores, bradley_terry(votes, prior=math.inf, oversight=0, ties="half").theta, atol=1e-6)


def test_items_that_never_met_and_bad_input():
    votes = Comparisons.from_labels(["a", "a"], ["b", "b"], ["left", "right"], items=["a", "b", "c"])
    scores = rank_centrality(votes)
    assert_allclose(scores.scores, [0, 0, np.nan])
    assert scores.never_compared == ("c",)
    assert repr(scores) == "<CentralityScores of 3 items, 1 never compared>"
    assert fit_named(votes, "rank-centrality", alpha=1) == rank_centrality(votes, alpha=1)
    assert np.isfinite(rank_centrality(votes, alpha=1).scores).all()
    one_sided = Comparisons.from_labels(["a"], ["b"], ["left"])
    with pytest.raises(ModelError, match="the items fall into 2 groups of which one never lost to another"):
        rank_centrality(one_sided)
    with pytest.raises(ModelError, match="alpha must be a finite number, not negative; got -1"):
        rank_centrality(votes, alpha=-1)
    with pytest.raises(ComparisonError, match="rank_centrality takes Comparisons; got 5"):
        rank_centrality(5)
