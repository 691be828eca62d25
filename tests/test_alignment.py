import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import LabelError, LabelMismatchError, LengthError, Ranking, weighted_rho, weighted_tau
from rankcorr.alignment import align
from tests.strategies import distinguishing_pairs


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
    assert y._order.tolist() == [2, 0, 1]
    assert not y.ranks.flags.writeable
    assert not y._order.flags.writeable


def test_labels_on_one_side_only():
    with pytest.raises(LabelMismatchError, match=r"^labels in x only: 'c'; labels in y only: 'd'$"):
        weighted_tau({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "d": 3})
    with pytest.raises(LabelMismatchError, match=r"^labels in y only: 'c'$"):
        weighted_tau({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3})
    with pytest.raises(LabelMismatchError, match=r"^labels in x only: 'c'$"):
        weighted_tau({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2})
    many = {f"x{item}": item for item in range(9)}
    with pytest.raises(LabelMismatchError, match=r"'x3', 'x4', ... \(9 in all\); labels in y only: 'a', 'b'"):
        weighted_tau(many, {"a": 1, "b": 2})


def test_labels_of_another_type_do_not_match():
    with pytest.raises(LabelMismatchError, match="in x only: 1, 2; labels in y only: '1', '2'"):
        weighted_tau({1: 1, 2: 2}, {"1": 1, "2": 2})


def test_labels_against_none():
    with pytest.raises(LabelError, match=r"x has labels and y has none.*give both labels, or neither"):
        weighted_tau({"a": 1, "b": 2}, [1, 2])
    with pytest.raises(LabelError, match="y has labels and x has none"):
        weighted_tau(np.array([1, 2]), {"a": 1, "b": 2})


def test_lengths_without_labels():
    with pytest.raises(LengthError, match="same length; x has 3 items and y has 2"):
        weighted_rho([1, 2, 3], [1, 2])
