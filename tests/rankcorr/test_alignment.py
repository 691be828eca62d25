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
    item_weights,
    weighted_rho,
    weighted_tau,
)
from rankcorr._ranking import align
from tests.strategies import N0S, distinguishing_pairs, tied_pairs, tied_scores


@given(distinguishing_pairs(30), st.randoms(use_true_random=False))
def test_labels_decide_and_not_positions(pair, random):
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


def test_labels_on_one_side_only():
    for x, y, message in (
        ("abc", "abd", "labels in x only: 'c'; labels in y only: 'd'"),
        ("ab", "abc", "y has labels that x lacks: 'c'"),
        ("abc", "ab", "x has labels that y lacks: 'c'"),
    ):
        with pytest.raises(
            LabelMismatchError,
            match=rf'^{message} \(accept them with missing="intersection", missing="bottom" or missing="gold"\)$',
        ):
            weighted_tau(Ranking.from_order(list(x)), Ranking.from_order(list(y)))
    many = {f"x{item}": item for item in range(9)}
    with pytest.raises(LabelMismatchError, match=r"'x3', 'x4', ... \(9 in all\); labels in y only: 'a', 'b'"):
        weighted_tau(many, {"a": 1, "b": 2})


def test_labels_against_no_labels():
    with pytest.raises(LabelError, match=r"x has labels and y has none.*give both labels, or neither"):
        weighted_tau({"a": 1, "b": 2}, [1, 2])
    with pytest.raises(LabelError, match="y has labels and x has none"):
        weighted_tau(np.array([1, 2]), {"a": 1, "b": 2})


def test_lengths_without_labels():
    with pytest.raises(LengthError, match="same length; x has 3 items and y has 2"):
        weighted_rho([1, 2, 3], [1, 2])


def partial_rankings(max_items=12):
    """Scores of some of the labels 0 to 19, in any order, with ties."""
    return tied_scores(max_items).flatmap(
        lambda scores: st.permutations(range(20)).map(
            lambda labels: dict(zip(labels[: scores.size], scores.tolist(), strict=True))
        )
    )


def naively_aligned(x, y, missing):
    """Scores over the same labels: those in both, or those of x or all, with what a ranking lacks below what it has."""
    if missing == "intersection":
        labels = [label for label in x if label in y]
    elif missing == "gold":
        labels = list(x)
    else:
        labels = [*x, *(label for label in y if label not in x)]
    return [{label: scores.get(label, -1.0) for label in labels} for scores in (x, y)]


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
@given(x=partial_rankings(), y=partial_rankings())
def test_missing_items_are_left_out_or_tied_last(missing, x, y):
    too_few = len(x.keys() & y.keys()) < 2
    if too_few and (missing == "intersection" or (missing == "gold" and y.keys() - x.keys())):
        with pytest.raises(TooFewItemsError, match=r"x and y must have|y and x must have"):
            align(x, y, missing=missing)
        return
    for ours, naive in zip(align(x, y, missing=missing), naively_aligned(x, y, missing), strict=True):
        expected = Ranking.from_scores(naive)
        assert ours == expected
        assert ours.n_ties == expected.n_ties
        assert ours.best_first.dtype == np.int32
        assert sorted(ours.best_first.tolist()) == list(range(ours.n_items))
        assert (np.diff(ours.ranks[ours.best_first]) >= 0).all()
        assert not ours.ranks.flags.writeable
        assert not ours.best_first.flags.writeable


@pytest.mark.parametrize("missing", ["raise", "intersection", "bottom", "gold"])
def test_nothing_missing_changes_nothing(missing):
    x, y = Ranking.from_scores({"a": 3, "b": 2, "c": 2}), Ranking.from_order(["c", "a", "b"])
    assert align(x, y, missing=missing) == align(x, y)
    assert align(x, x, missing=missing) == (x, x)
    unlabelled = Ranking.from_scores([3, 1, 2]), Ranking.from_scores([1, 2, 2])
    assert align(*unlabelled, missing=missing) == unlabelled


def test_fewer_than_two_items_in_common():
    for y, n_common in (({"c": 1, "d": 2, "e": 3}, 1), ({"d": 1, "e": 2}, 0)):
        sizes = f"they have 3 and {len(y)} items, {n_common} in common$"
        with pytest.raises(TooFewItemsError, match=f"^x and y must have at least two labels in common; {sizes}"):
            align({"a": 1, "b": 2, "c": 3}, y, missing="intersection")


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
def test_missing_items_need_labels(missing):
    with pytest.raises(LengthError, match=rf"missing='{missing}' needs labels.*; x has 3 items and y has 2"):
        weighted_tau([1, 2, 3], [1, 2], missing=missing)
    with pytest.raises(LabelError, match="x has labels and y has none"):
        weighted_tau({"a": 1, "b": 2}, [1, 2], missing=missing)


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
@given(pair=tied_pairs(20), n_shared=st.integers(2, 20), n0=N0S)
def test_missing_items_count_as_the_rankings_that_align_returns(missing, pair, n_shared, n0):
    n_items = pair[0].size
    n_shared = min(n_shared, n_items)
    x = dict(zip(range(n_items), pair[0].tolist(), strict=True))
    y = dict(zip(range(n_items - n_shared, 2 * n_items - n_shared), pair[1].tolist(), strict=True))
    spelt_out = naively_aligned(x, y, missing)
    for coefficient in (weighted_rho, weighted_tau):
        with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
            result = coefficient(x, y, n0=n0, missing=missing)
            expected = coefficient(*spelt_out, n0=n0)
        assert_allclose(result.statistic, expected.statistic, rtol=0, atol=1e-13)
        assert (result.missing, result.n_items) == (missing, len(spelt_out[0]))
        assert result.n_missing == 2 * (n_items - n_shared)
    assert_allclose(item_weights(x, y, n0=n0, missing=missing), item_weights(*spelt_out, n0=n0), rtol=1e-13)


def test_the_result_says_what_was_missing():
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
