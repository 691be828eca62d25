import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from rankcorr import Hyperbolic, InverseSquare, Logarithmic, TopK, Uniform, WeightError, item_weights, weighted_tau
from rankcorr._weights import named_weigher
from tests.strategies import N0S, tied_pairs

RANKS = np.array([1.0, 2.0, 2.5, 4.0])


@pytest.mark.parametrize(
    ("weigher", "expected"),
    [
        (InverseSquare(), [1 / 9, 1 / 16, 1 / 20.25, 1 / 36]),
        (InverseSquare(n0=0), [1, 1 / 4, 1 / 6.25, 1 / 16]),
        (Hyperbolic(), [1, 1 / 2, 1 / 2.5, 1 / 4]),
        (Logarithmic(), [1, 1 / math.log2(3), 1 / math.log2(3.5), 1 / math.log2(5)]),
        (TopK(2), [1, 1, 0, 0]),
        (Uniform(), [1, 1, 1, 1]),
    ],
)
def test_weighers_follow_their_formulas(weigher, expected):
    assert_allclose(weigher(RANKS), expected, rtol=1e-15)
    assert pickle.loads(pickle.dumps(weigher)) == weigher


@given(tied_pairs(40), N0S)
def test_weights_sum_to_1_and_expected_ones_keep_the_mass_of_an_untied_list(pair, n0):
    n_items = pair[0].size
    weights = item_weights(*pair, n0=n0, tied_weights="expected", scheme="first")
    assert_allclose(weights.sum(), 1, rtol=1e-13)
    ranks = np.argsort(np.argsort(-pair[0], kind="stable"), kind="stable") + 1.0
    f = 1 / (ranks + n0) ** 2
    for score in np.unique(pair[0]):
        group = pair[0] == score
        assert_allclose(weights[group].sum(), f[group].sum() / f.sum(), rtol=1e-12)
    assert weights.shape == (n_items,)


def test_labels_keep_the_item_order_of_x():
    weights = item_weights({"a": 1, "b": 3, "c": 2}, {"c": 9, "b": 8, "a": 7}, scheme="second", n0=0)
    assert_allclose(weights, np.array([1 / 9, 1 / 4, 1]) / (1 + 1 / 4 + 1 / 9))


def test_any_vectorised_callable_is_a_weigher():
    result = weighted_tau([4, 3, 2, 1], [4, 3, 1, 2], weigher=lambda ranks: np.exp(-ranks))
    assert result.weigher == "<lambda>"
    assert result.n0 is None


def test_a_weigher_gets_only_possible_ranks():
    rank_lists = []

    def spy(ranks):
        rank_lists.append(ranks.tolist())
        return ranks

    weighted_tau([3, 2, 1], [1, 2, 3], weigher=spy)
    weighted_tau([3, 2, 2], [1, 2, 3], weigher=spy)
    weighted_tau([3, 2, 2], [1, 2, 3], weigher=spy, tied_weights="expected")
    assert rank_lists == [[1, 2, 3], [1, 1.5, 2, 2.5, 3], [1, 2, 3]]


@pytest.mark.parametrize(
    ("weigher", "message"),
    [
        (lambda ranks: ranks - 2, "finite and not negative; got -1.0 for rank 1"),
        (lambda ranks: np.where(ranks == 2, math.nan, 1), "got nan for rank 2"),
        (lambda ranks: np.where(ranks == 3, math.inf, 1), "got inf for rank 3"),
        (lambda ranks: ranks[:-1], r"shape \(3,\); got \(2,\)"),
        (lambda _: 1.0, r"shape \(3,\); got \(\)"),
        (lambda ranks: ranks.astype(str), "must return real numbers; got an array of <U"),
        (lambda _: [[1.0], [1.0, 2.0]], "failed on an array of ranks: setting an array element"),
        (lambda ranks: ranks * 1j, "must return real numbers; got an array of complex128"),
        (lambda ranks: 0 * ranks, "all weights are zero"),
        (5, "a weigher is a callable from ranks to weights; got 5"),
        (TopK, r"got the class: write TopK\(\.\.\.\)"),
        ("hyperbolic", "a weigher is a callable from ranks to weights; got 'hyperbolic'"),
    ],
)
def test_invalid_weighers_are_refused(weigher, message):
    for function in (weighted_tau, item_weights):
        with pytest.raises(WeightError, match=message):
            function([3, 2, 1], [1, 2, 3], weigher=weigher)


def test_a_huge_offset_gives_equal_weights():
    x, y = [4, 3, 2, 1], [4, 2, 3, 1]
    for n0 in (1e160, 1e200, 1e308):
        assert weighted_tau(x, y, n0=n0).statistic == pytest.approx(weighted_tau(x, y, weigher=Uniform()).statistic)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", None])
def test_invalid_numbers_of_top_ranks(k):
    with pytest.raises(WeightError, match="k must be a positive whole number; got"):
        TopK(k)


def test_a_number_of_numpy_is_written_as_a_number():
    assert repr(TopK(np.int64(10))) == repr(TopK(10))


def test_the_array_returned_by_a_weigher_is_not_changed():
    weights = np.array([3.0, 2.0, 1.0])
    weighted_tau([3, 2, 1], [1, 2, 3], weigher=lambda _: weights)
    assert weights.tolist() == [3, 2, 1]


@pytest.mark.parametrize("kind", [Hyperbolic, InverseSquare])
def test_subclasses_of_predefined_weighers_are_not_confused(kind):
    class Power(kind):
        def __init__(self, power):
            super().__init__()
            object.__setattr__(self, "power", power)

        def __call__(self, ranks):
            return ranks**-self.power

    x, y = [4, 3, 2, 1], [3, 4, 2, 1]
    low, high = (weighted_tau(x, y, weigher=Power(power)) for power in (1.0, 9.0))
    assert low.statistic == weighted_tau(x, y, weigher=Hyperbolic()).statistic > high.statistic
    assert high.n0 is None
    steep, plain = item_weights(x, x, weigher=Power(8.0)), item_weights(x, x, n0=0.0)
    assert_allclose(steep, plain**4 / (plain**4).sum(), rtol=1e-14)


def test_long_lists_and_short_ones_get_the_same_weights():
    n_items = 10_001  # beyond the cached length
    scores = np.arange(n_items, 0.0, -1)
    f = 1 / (np.arange(1, n_items + 1) + 2.0) ** 2
    assert_allclose(item_weights(scores, scores), f / f.sum(), rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "weigher"),
    [("hyperbolic", Hyperbolic()), ("logarithmic", Logarithmic()), ("uniform", Uniform()), ("top-k:10", TopK(10))],
)
def test_weighers_by_name(name, weigher):
    assert named_weigher(name) == weigher


@pytest.mark.parametrize(
    "name", ["Uniform", "top-k", "top-k:1e3", "top-k:-1", "top-k:0", "top-k:010", "hyperbolic ", ""]
)
def test_unknown_weigher_names(name):
    with pytest.raises(WeightError, match=f"unknown weigher {re.escape(repr(name))}: use one of hyperbolic, "):
        named_weigher(name)


@pytest.mark.parametrize("error", [TypeError("loop of ufunc does not support argument 0"), ValueError("bad rank")])
def test_errors_of_a_weigher_are_named(error):
    def failing(_ranks):
        raise error

    with pytest.raises(WeightError, match=f"^failing failed on an array of ranks: {error}$") as caught:
        item_weights([3, 2, 1], [1, 2, 3], weigher=failing)
    assert caught.value.__cause__ is error
