import csv
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import LabelError, LabelMismatchError, OptionError, Ranking, UndefinedCorrelationWarning
from rankcorr.measures import ComparisonError, reliability_weighted_score

SYSTEM = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}
PAIR = st.permutations("abcd").map(lambda labels: tuple(labels[:2]))
COMPARISONS = st.lists(st.tuples(PAIR, st.sampled_from([0, 0.25, 0.5, 0.9, 1])), min_size=1).map(
    lambda rows: [(*pair, share) for pair, share in rows]
)


def spelt_out(comparisons, system, tied_delta):
    """Section 4.2 of Avraham and Goldberg; `tied_delta` is the share of a tie that the system gets right."""
    agreed, weight = 0, 0
    for left, right, share in comparisons:
        margin = 2 * share - 1
        if system[left] == system[right]:
            agreed += tied_delta * abs(margin)
        else:
            delta = 1 if system[left] > system[right] else -1
            agreed += max(delta * margin, 0)
        weight += abs(margin)
    return agreed / weight


@given(COMPARISONS, st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), min_size=4, max_size=4))
def test_is_the_formula(comparisons, system):
    assume(any(share != 0.5 for _, _, share in comparisons))
    for ties, tied_delta in (("expected", 0.5), ("wrong", 0)):
        result = reliability_weighted_score(comparisons, system, ties=ties)
        assert_allclose(result.score, spelt_out(comparisons, system, tied_delta), rtol=0, atol=1e-14)
        assert result.n_tied == sum(system[left] == system[right] for left, right, _ in comparisons)


@given(COMPARISONS, st.permutations(range(4)))
def test_ties_are_the_mean_over_the_ways_to_break_them(comparisons, scores):
    assume(any(share != 0.5 for _, _, share in comparisons))
    system = dict(zip("abcd", scores, strict=True))
    low, high = sorted(system, key=system.get)[:2]
    tied = system | {high: system[low]}
    swapped = system | {high: system[low], low: system[high]}
    values = [reliability_weighted_score(comparisons, scored).score for scored in (system, swapped)]
    assert_allclose(reliability_weighted_score(comparisons, tied).score, np.mean(values), rtol=0, atol=1e-14)


@given(COMPARISONS, st.sampled_from(["expected", "wrong"]))
def test_sides_do_not_matter_and_the_reverse_gets_the_rest(comparisons, ties):
    assume(any(share != 0.5 for _, _, share in comparisons))
    mirrored = [(right, left, 1 - share) for left, right, share in comparisons]
    result = reliability_weighted_score(comparisons, SYSTEM, ties=ties)
    again = reliability_weighted_score(mirrored, SYSTEM, ties=ties)
    assert_allclose(again.score, result.score, rtol=0, atol=1e-14)
    assert_allclose(again.scores, result.scores, rtol=0, atol=1e-15)
    if ties == "expected":
        reverse = reliability_weighted_score(comparisons, {label: -score for label, score in SYSTEM.items()})
        assert_allclose(reverse.score, 1 - result.score, rtol=0, atol=1e-14)


def test_by_hand():
    votes = [("a", "b", 0.9), ("d", "a", 0.7), ("b", "c", 0.25), ("c", "d", 0.5)]
    result = reliability_weighted_score(votes, Ranking.from_order(["a", ["b", "c"], "d"]))
    assert_allclose(result.scores, [0.8, -0.4, 0, 0], rtol=0, atol=1e-15)
    assert float(result) == pytest.approx((0.8 + 0.25) / 1.7, rel=1e-15, abs=0)
    assert "n_comparisons=4, n_tied=1, ties='expected'" in repr(result)
    wrong = reliability_weighted_score(votes, SYSTEM, ties="wrong")
    assert_allclose(wrong.scores, [0.8, -0.4, -0.5, 0], rtol=0, atol=1e-15)
    assert wrong.score == pytest.approx(0.8 / 1.7, rel=1e-15, abs=0)


def test_votes_without_a_majority():
    with pytest.warns(UndefinedCorrelationWarning, match="no comparison has a majority of votes") as caught:
        assert math.isnan(reliability_weighted_score([("a", "b", 0.5)], SYSTEM).score)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("comparisons", "message"),
    [
        ([("a", "b", 0.5), ("a", "b", 1.2)], r"share of votes of comparisons\[1\] must be from 0 to 1; got 1.2"),
        ([("a", "b", -0.1)], "must be from 0 to 1; got -0.1"),
        ([("a", "b", math.nan)], "must be from 0 to 1; got nan"),
        ([("a", "b", "0.5")], "must be from 0 to 1; got '0.5'"),
        ([("a", "b")], r"comparisons\[0\] must be \(left label, right label, share of votes\); got \('a', 'b'\)"),
        ([7], "must be .left label, right label, share of votes.; got 7"),
        ([(["a"], "b", 0.5)], "must be .left label, right label, share of votes.; got"),
        ([(pd.NA, "b", 0.5)], r"must be .left label, right label, share of votes.; got \(<NA>, 'b', 0.5\)"),
        ([("a", "a", 0.5)], r"comparisons\[0\] compares 'a' with itself"),
        ([], "there are no comparisons to score"),
    ],
)
def test_invalid_comparisons(comparisons, message):
    with pytest.raises(ComparisonError, match=message):
        reliability_weighted_score(comparisons, SYSTEM)


def test_systems_that_do_not_fit():
    with pytest.raises(LabelMismatchError, match="labels in comparisons that the system lacks: 'x', 'y'"):
        reliability_weighted_score([("x", "a", 1), ("y", "x", 1)], SYSTEM)
    with pytest.raises(LabelError, match="the system must have labels, to be matched with the comparisons"):
        reliability_weighted_score([(0, 1, 1)], [2, 1])
    with pytest.raises(OptionError, match="ties must be one of 'expected', 'wrong'; got 'half'"):
        reliability_weighted_score([("a", "b", 1)], SYSTEM, ties="half")


@pytest.mark.real_data
def test_scores_of_evalica_on_real_votes(data_dir):
    """Scores made of the votes score far better than those that do not know them, or count how many there are."""
    worth = {"left": 1, "tie": 0.5, "right": 0}
    votes = defaultdict(list)
    with (data_dir / "llmfao.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            votes[row["left"], row["right"]].append(worth[row["winner"]])
    comparisons = [(*pair, sum(shares) / len(shares)) for pair, shares in votes.items()]
    systems = defaultdict(dict)
    with (data_dir / "llmfao-golden.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            systems[row["algorithm"]][row["item"]] = float(row["score"])
    found = {name: reliability_weighted_score(comparisons, system) for name, system in systems.items()}
    for name, result in found.items():
        assert_allclose(result.score, spelt_out(comparisons, systems[name], 0.5), rtol=0, atol=1e-12)
    assert min(found[name].score for name in ("average_win_rate", "bradley_terry", "elo", "newman")) > 0.8
    assert found["counting"].score < 0.5  # the number of wins, of models shown 121 to 2,762 times
    alphabetical = Ranking.from_order(sorted(systems["elo"]))
    assert 0.4 < reliability_weighted_score(comparisons, alphabetical).score < 0.6
