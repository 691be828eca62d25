import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import (
    LabelError,
    LabelMismatchError,
    LengthError,
    Ranking,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    compare_systems,
    correlate_many,
    correlation_matrix,
    item_weights,
    leaderboard,
    weighted_rho,
    weighted_tau,
)
from rankcorr._ranking import align
from rankcorr.aggregate import borda
from tests.strategies import N0S, distinguishing_pairs, tied_pairs, tied_scores


@given(distinguishing_pairs(30), st.randoms(use_true_random=False))
def test_items_are_matched_by_label_not_by_position(pair, random):
    labels = [f"item {item}" for item in range(pair[0].size)]
    shuffled = labels.copy()
    random.shuffle(shuffled)
    y = dict(zip(labels, pair[1], strict=True))
    result = weighted_tau(Ranking.from_scores(pair[0], labels=labels), {label: y[label] for label in shuffled})
    assert result == weighted_tau(*pair)
    series = pd.Series(pair[0], index=labels), pd.Series(y)[shuffled]
    assert weighted_rho(*series) == weighted_rho(*pair)


def test_the_item_order_is_that_of_x():
    x, y = align({"a": 1, "b": 2, "c": 3}, Ranking.from_order(["c", "a", "b"]))
    assert x.labels == ("a", "b", "c")
    assert y == Ranking.from_scores({"a": 2, "b": 1, "c": 3})
    assert y.best_first.tolist() == [2, 0, 1]
    assert not y.ranks.flags.writeable
    assert not y.best_first.flags.writeable


def items(labels):
    return {label: place for place, label in enumerate(labels)}


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=3, max_size=8), st.tuples(*[st.booleans()] * 3))
def test_the_default_index_of_pandas_matches_lists_by_position(rows, are_series):
    """A frame's column beside a list of predictions is the usual case."""
    lists = list(map(list, zip(*rows, strict=True)))
    gold, a, b = (pd.Series(part) if is_series else part for part, is_series in zip(lists, are_series, strict=True))
    options = {"n_resamples": 50}

    def compute(gold, a, b):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedCorrelationWarning)
            yield weighted_tau(gold, a).statistic
            yield from correlate_many(gold, {"a": a, "b": b}).statistic
            yield from correlation_matrix({"gold": gold, "a": a, "b": b}).statistic.ravel()
            yield compare_systems(gold, a, b, swap="scores", **options).pvalue
            yield from (row.total.statistic for row in leaderboard(gold, {"a": a, "b": b}, **options).rows)
            yield from borda({"gold": gold, "a": a, "b": b}).ranking.ranks

    assert_allclose(list(compute(gold, a, b)), list(compute(*lists)))


def test_any_other_index_of_pandas_needs_labels_on_both_sides():
    with pytest.raises(LabelError, match="y has labels and x has none"):
        weighted_tau([3, 2, 1], pd.Series([3, 2, 1], index=[2, 0, 1]))
    matrix = np.array([[3, 2, 1], [1, 3, 2]])
    assert correlate_many(pd.Series([3, 2, 1]), matrix).statistic[0] == 1
    with pytest.raises(LabelError, match="gold has labels and the matrix of systems has none"):
        correlate_many(pd.Series([3, 2, 1], index=[2, 0, 1]), matrix)


ACCEPT = r' \(accept them with missing="intersection", missing="bottom" or missing="gold"\)$'


MISMATCH, TOO_FEW = LabelMismatchError, TooFewItemsError


@pytest.mark.parametrize(
    ("x", "y", "missing", "error", "message"),
    [
        (items("abc"), items("abd"), "raise", MISMATCH, f"^labels in x only: 'c'; labels in y only: 'd'{ACCEPT}"),
        (items("ab"), items("abc"), "raise", MISMATCH, f"^y has labels that x lacks: 'c'{ACCEPT}"),
        (items("abc"), items("ab"), "raise", MISMATCH, f"^x has labels that y lacks: 'c'{ACCEPT}"),
        (items("abcdefghi"), items("yz"), "raise", MISMATCH, r"'e', \.\.\. \(9 in all\); labels in y only: 'y', 'z'"),
        (items("ab"), [1, 2], "raise", LabelError, "x has labels and y has none.*give both labels, or neither"),
        (np.array([1, 2]), items("ab"), "raise", LabelError, "y has labels and x has none"),
        (items("ab"), [1, 2], "bottom", LabelError, "x has labels and y has none"),
        ([1, 2, 3], [1, 2], "raise", LengthError, "same length; x has 3 items and y has 2"),
        ([1, 2, 3], [1, 2], "bottom", LengthError, "missing='bottom' needs labels.*; x has 3 items and y has 2"),
        ([1, 2, 3], [1, 2], "gold", LengthError, "missing='gold' needs labels.*; x has 3 items and y has 2"),
        (items("abc"), items("cde"), "intersection", TOO_FEW, "^x and y must have .* 3 and 3 items, 1 in common$"),
        (items("abc"), items("de"), "intersection", TOO_FEW, "at least two labels in common; .* 0 in common$"),
    ],
)
def test_rankings_that_cannot_be_aligned(x, y, missing, error, message):
    for function in (weighted_tau, weighted_rho, align, item_weights):
        with pytest.raises(error, match=message):
            function(x, y, missing=missing)


def partial_rankings():
    """Scores of some of the labels 0 to 19, in any order, with ties."""
    return tied_scores(12).flatmap(
        lambda scores: st.permutations(range(20)).map(
            lambda labels: dict(zip(labels[: scores.size], scores.tolist(), strict=True))
        )
    )


def align_naively(x, y, missing):
    """Scores over common labels, those of x, or all labels; missing items are below all others."""
    if missing == "intersection":
        labels = [label for label in x if label in y]
    elif missing == "gold":
        labels = list(x)
    else:
        labels = [*x, *(label for label in y if label not in x)]
    return [{label: scores.get(label, -1.0) for label in labels} for scores in (x, y)]


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
@given(x=partial_rankings(), y=partial_rankings())
def test_missing_items_are_removed_or_tied_last(missing, x, y):
    too_few = len(x.keys() & y.keys()) < 2
    if too_few and (missing == "intersection" or (missing == "gold" and y.keys() - x.keys())):
        with pytest.raises(TooFewItemsError, match=r"x and y must have|y and x must have"):
            align(x, y, missing=missing)
        return
    for ours, naive in zip(align(x, y, missing=missing), align_naively(x, y, missing), strict=True):
        expected = Ranking.from_scores(naive)
        assert ours == expected
        assert ours.n_ties == expected.n_ties
        assert ours.best_first.dtype == np.int32
        assert sorted(ours.best_first.tolist()) == list(range(ours.n_items))
        assert (np.diff(ours.ranks[ours.best_first]) >= 0).all()
        assert not ours.ranks.flags.writeable
        assert not ours.best_first.flags.writeable


@pytest.mark.parametrize("missing", ["raise", "intersection", "bottom", "gold"])
def test_options_have_no_effect_without_missing_items(missing):
    x, y = Ranking.from_scores({"a": 3, "b": 2, "c": 2}), Ranking.from_order(["c", "a", "b"])
    assert align(x, y, missing=missing) == align(x, y)
    assert align(x, x, missing=missing) == (x, x)
    unlabelled = Ranking.from_scores([3, 1, 2]), Ranking.from_scores([1, 2, 2])
    assert align(*unlabelled, missing=missing) == unlabelled


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
@given(pair=tied_pairs(20), n_shared=st.integers(2, 20), n0=N0S)
def test_missing_items_count_as_in_aligned_rankings(missing, pair, n_shared, n0):
    n_items = pair[0].size
    n_shared = min(n_shared, n_items)
    x = dict(zip(range(n_items), pair[0].tolist(), strict=True))
    y = dict(zip(range(n_items - n_shared, 2 * n_items - n_shared), pair[1].tolist(), strict=True))
    spelt_out = align_naively(x, y, missing)
    for coefficient in (weighted_rho, weighted_tau):
        with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
            result = coefficient(x, y, n0=n0, missing=missing)
            expected = coefficient(*spelt_out, n0=n0)
        assert_allclose(result.statistic, expected.statistic, rtol=0, atol=1e-13)
        assert (result.missing, result.n_items) == (missing, len(spelt_out[0]))
        assert result.n_missing == 2 * (n_items - n_shared)
    assert_allclose(item_weights(x, y, n0=n0, missing=missing), item_weights(*spelt_out, n0=n0), rtol=1e-13)


def test_the_result_records_missing_items():
    gold, system = Ranking.from_order(["a", "b", "c", "d"]), Ranking.from_order(["b", "x", "a"])
    left_out = weighted_tau(gold, system, missing="intersection")
    assert (left_out.n_items, left_out.n_missing, left_out.statistic) == (2, 3, -1.0)
    assert "n_items=2" in repr(left_out)
    assert "missing='intersection', n_missing=3" in repr(left_out)
    assert weighted_tau(gold, system, missing="bottom").n_items == 5
    of_gold = weighted_tau(gold, system, missing="gold")
    assert (of_gold.n_items, of_gold.n_missing, of_gold.missing) == (4, 3, "gold")
    assert of_gold == weighted_tau(gold, Ranking.from_order(["b", "a", ["c", "d"]]))
    strict = weighted_tau(gold, gold)
    assert (strict.missing, strict.n_missing) == (None, None)
