import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import DimensionError, LabelMismatchError, LengthError, MissingValueError, OptionError, TooFewItemsError
from rankcorr.measures import best_per_team, combine_submissions

SUBMISSIONS = {"x": [0.1, 0.2, 0.3], "y": [0.9, 0.0, 0.6], "z": [0.5, 0.5, 1.0]}
ALPHA = {"rank": float, "exp": math.exp, "sqrt": math.sqrt}


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=2, max_size=6),
    st.sampled_from(["rank", "exp", "sqrt"]),
    st.randoms(use_true_random=False),
)
def test_is_the_formula(rows, weights, random):
    """Section 4.1 of Panchenko et al. 2017, for results without ties: r_k = n + 1 - k."""
    n = len(rows)
    places = list(range(1, n + 1))
    random.shuffle(places)
    combined = combine_submissions(
        dict(enumerate(rows)), {name: -place for name, place in enumerate(places)}, weights=weights
    )
    expected = [
        sum(ALPHA[weights](n + 1 - place) * row[item] for place, row in zip(places, rows, strict=True)) / n
        for item in range(4)
    ]
    assert_allclose(combined.scores, expected, rtol=1e-13)


def test_by_hand():
    combined = combine_submissions(SUBMISSIONS, {"x": 0.7, "y": 0.8, "z": 0.6})
    assert combined.weights.tolist() == [2, 3, 1]
    assert_allclose(combined.scores, np.array([0.2 + 2.7 + 0.5, 0.4 + 0.5, 0.6 + 1.8 + 1.0]) / 3, rtol=1e-15)
    assert repr(combined) == "CombinedSubmissions(n_items=3, weights={'x': 2, 'y': 3, 'z': 1})"
    with pytest.raises(ValueError, match="read-only"):
        combined.scores[0] = 1


def test_equal_results_share_their_places():
    combined = combine_submissions(SUBMISSIONS, {"x": 0.7, "y": 0.7, "z": 0.6}, weights="sqrt")
    assert_allclose(combined.weights, np.sqrt([2.5, 2.5, 1]), rtol=1e-15)


def test_items_are_matched_by_label():
    submissions = {"x": {"a": 1.0, "b": 0.5, "c": 0.0}, "y": pd.Series({"c": 0.3, "a": 0.2, "b": 0.1})}
    combined = combine_submissions(submissions, pd.Series({"y": 2, "x": 1}))
    assert combined.labels == ("a", "b", "c")
    assert_allclose(combined.scores, [(1 + 0.4) / 2, (0.5 + 0.2) / 2, 0.6 / 2], rtol=1e-15)


def test_the_largest_number_of_submissions_for_exp():
    rows = {name: [0.0, 1.0] for name in range(710)}
    combined = combine_submissions(
        {name: rows[name] for name in range(709)}, dict(zip(range(709), range(709), strict=True)), weights="exp"
    )
    assert np.isfinite(combined.scores).all()
    with pytest.raises(
        OptionError, match=r"needs at most 709 submissions, as exp\(710\) is too large for a float; got 710"
    ):
        combine_submissions(rows, dict(zip(range(710), range(710), strict=True)), weights="exp")


def test_combined_scores_beyond_the_largest_float():
    results = {"x": 1, "y": 2}
    with pytest.raises(OptionError, match=r"weights='rank': the combined scores of some items are too large.*: 'a'$"):
        combine_submissions({"x": {"a": 1.7e308, "b": 0}, "y": {"a": 1.7e308, "b": 1}}, results)
    with pytest.raises(OptionError, match=r"weights='sqrt': the combined scores of some items are too large.*: 1$"):
        combine_submissions({"x": [0, -1.7e308], "y": [1, -1.7e308]}, results, weights="sqrt")


def test_submissions_that_do_not_fit():
    with pytest.raises(
        LabelMismatchError, match="submissions without a result: 'z'; results without a submission: 'w'"
    ):
        combine_submissions(SUBMISSIONS, {"x": 1, "y": 2, "w": 3})
    with pytest.raises(
        LabelMismatchError, match="labels in submission 'x' only: 'b'; labels in submission 'y' only: 'c'"
    ):
        combine_submissions({"x": {"a": 1, "b": 2}, "y": {"a": 1, "c": 2}}, {"x": 1, "y": 2})
    with pytest.raises(LengthError, match="submission 'x' has 2 items and submission 'y' has 3"):
        combine_submissions({"x": [1, 2], "y": [1, 2, 3]}, {"x": 1, "y": 2})
    with pytest.raises(MissingValueError, match="submission 'y': every item needs a score"):
        combine_submissions({"x": [1, 2], "y": [1, math.nan]}, {"x": 1, "y": 2})
    with pytest.raises(MissingValueError, match="results: every item needs a score; nan: score of 'y'"):
        combine_submissions({"x": [1, 2], "y": [1, 2]}, {"x": 1, "y": math.nan})
    with pytest.raises(TooFewItemsError, match="results: a ranking needs at least two items; got 1"):
        combine_submissions({"x": [1, 2]}, {"x": 1})
    with pytest.raises(DimensionError, match="submissions must be a mapping of submission to value; got list"):
        combine_submissions([[1, 2], [1, 2]], {"x": 1})
    with pytest.raises(OptionError, match="weights must be one of 'rank', 'exp', 'sqrt'; got 'square'"):
        combine_submissions(SUBMISSIONS, {"x": 1, "y": 2, "z": 3}, weights="square")


def test_the_best_of_each_team():
    results = {"b1": 0.5, "a1": 0.7, "a2": 0.7, "b2": 0.6, "c1": -1.0}
    teams = {"a1": "A", "a2": "A", "b1": "B", "b2": "B", "c1": "C"}
    assert list(best_per_team(results, teams).items()) == [("B", "b2"), ("A", "a1"), ("C", "c1")]


@given(st.dictionaries(st.integers(0, 30), st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=2))
def test_no_submission_of_a_team_is_better_than_its_best(submissions):
    results = {name: result for name, (_, result) in submissions.items()}
    teams = {name: team for name, (team, _) in submissions.items()}
    best = best_per_team(results, teams)
    assert set(best) == set(teams.values())
    for name, team in teams.items():
        assert teams[best[team]] == team
        assert results[name] <= results[best[team]]


def test_teams_that_do_not_fit():
    with pytest.raises(
        LabelMismatchError, match="submissions without a team: 'b'; teams of submissions without a result: 'c'"
    ):
        best_per_team({"a": 1, "b": 2}, {"a": "A", "c": "C"})
    with pytest.raises(DimensionError, match="teams must be a mapping of submission to value; got list"):
        best_per_team({"a": 1, "b": 2}, ["A", "B"])
    with pytest.raises(DimensionError, match="results must be a mapping of submission to value; got list"):
        best_per_team([1, 2], {"a": "A"})
