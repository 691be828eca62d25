import array
import collections
import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import rankcorr
from rankcorr import Ranking, align, weighted_tau
from tests import naive
from tests.strategies import tied_scores


@given(tied_scores(60))
def test_midranks_equal_their_definition_and_those_of_scipy(scores):
    ranking = Ranking.from_scores(scores)
    assert ranking.ranks.tolist() == naive.midranks(scores.tolist())
    assert_array_equal(ranking.ranks, scipy.stats.rankdata(-scores))
    assert_array_equal(Ranking.from_ranks(scores).ranks, scipy.stats.rankdata(scores))


@given(tied_scores(60), st.sampled_from(["min", "max", "dense", "average", "ordinal"]))
def test_all_kinds_of_ranks_become_midranks(scores, method):
    ranks = scipy.stats.rankdata(-scores, method=method)
    again = scipy.stats.rankdata(ranks)
    assert_array_equal(Ranking.from_ranks(ranks).ranks, again)
    if method != "ordinal":
        assert Ranking.from_ranks(ranks) == Ranking.from_scores(scores)


@given(tied_scores(30))
def test_an_order_of_groups_is_the_ranking_of_its_scores(scores):
    order = [np.flatnonzero(scores == score).tolist() for score in np.unique(scores)[::-1]]
    by_order = Ranking.from_order(order)
    by_score = dict(enumerate(Ranking.from_scores(scores).ranks.tolist()))
    assert dict(zip(by_order.labels, by_order.ranks.tolist(), strict=True)) == by_score


@given(tied_scores(30))
def test_n_ties_counts_the_items_that_share_a_rank(scores):
    assert Ranking.from_scores(scores).n_ties == sum((scores == score).sum() > 1 for score in scores)


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [
        ([1, 2, 3], [3, 2, 1]),
        ((True, False), [1, 2]),
        (np.array([200, 100], np.uint8), [1, 2]),
        (np.array([1.5, 2.5], np.float16), [2, 1]),
        (np.array([2**63, 2**63 + 1], np.uint64), [2, 1]),  # different, although equal as doubles
        ([2**70, 2**70 + 1], [2, 1]),
        ([2**63, 2**63 + 1, -1], [2, 1, 3]),  # different, although numpy converts the list to doubles
        ([Decimal("0.1"), Decimal("0.10"), 0], [1.5, 1.5, 3]),
        (np.array([1, 2], np.longdouble), [2, 1]),
        ([np.inf, -np.inf, 0, np.inf], [1.5, 4, 3, 1.5]),
        ([0.0, -0.0], [1.5, 1.5]),
        (range(3), [3, 2, 1]),
        (np.ma.masked_array([1, 2], mask=False), [2, 1]),
    ],
)
def test_any_real_numbers_are_scores(scores, ranks):
    assert Ranking.from_scores(scores).ranks.tolist() == ranks


def test_mappings_and_series_provide_labels():
    expected = Ranking.from_scores([1, 3, 2], labels=["a", "b", "c"])
    assert Ranking.from_scores({"a": 1, "b": 3, "c": 2}) == expected
    assert Ranking.from_scores(pd.Series([1, 3, 2], index=["a", "b", "c"])) == expected
    assert Ranking.from_ranks({"a": 3, "b": 1, "c": 2}) == expected
    assert Ranking.from_scores([1, 3, 2], labels=np.array(["a", "b", "c"])) == expected


def test_a_tuple_is_a_label():
    pairs = Ranking.from_order([("salary", "wage"), [("salary", "tax"), ("wage", "tax")]])
    assert pairs.labels == (("salary", "wage"), ("salary", "tax"), ("wage", "tax"))
    assert pairs.ranks.tolist() == [1, 2.5, 2.5]
    assert Ranking.from_order(collections.Counter("aabb").most_common()).labels == (("a", 2), ("b", 2))
    assert sorted(Ranking.from_order([{"c", "a"}, "b"]).ranks.tolist()) == [1.5, 1.5, 3]
    assert Ranking.from_order(np.argsort([-0.1, -0.9, -0.5])) == Ranking.from_order([1, 2, 0])


def test_an_order_is_not_accepted_as_ranks_or_scores():
    scores = np.array([0.1, 0.9, 0.5])
    order = Ranking.from_order(np.argsort(-scores))
    with pytest.raises(rankcorr.LabelError, match="y has labels and x has none"):
        weighted_tau(scores, order)
    labelled = Ranking.from_scores(scores, labels=range(3))
    assert weighted_tau(labelled, order).statistic == 1


@pytest.mark.parametrize(
    "scores",
    [
        np.array([0.5, 2.0, 0.5]),
        np.array([3, 1, 2]),
        np.array([3, 1, 2], np.uint8),
        np.array([2**64 - 1, 0, 1], np.uint64),
        np.array([0.5, 2.0, 0.5], np.float32),
        np.array([1, 3, 2], np.longdouble) / 3,
        [2**53 + 1, 2.0**53, Fraction(1, 3)],
        {"a": Decimal("0.1"), "b": 1, "c": 0.5},
        pd.Series([1.5, 2.5, 0.5], ["x", "y", "z"]),
        array.array("d", [1.5, 2.5, 0.5]),
    ],
    ids=lambda scores: f"{type(scores).__name__} {getattr(scores, 'dtype', '')}",
)
def test_a_ranking_of_scores_keeps_them_exactly(scores):
    numbers = list(scores.values() if isinstance(scores, dict) else scores)
    ranking = Ranking.from_scores(scores)
    assert ranking.scores.tolist() == numbers
    assert not ranking.scores.flags.writeable
    assert ranking.take(np.array([2, 0])).scores.tolist() == [numbers[2], numbers[0]]
    assert pickle.loads(pickle.dumps(ranking)).scores.tolist() == numbers
    if isinstance(scores, np.ndarray | array.array):
        first = scores[0]
        scores[0] = 9
        assert ranking.scores[0] == first


def test_scores_follow_the_items_of_an_aligned_ranking():
    system = {"c": 9, "a": 2**60 + 1, "b": 0.5, "d": 4}
    gold = Ranking.from_order(["a", "b", "c"])
    assert align(gold, system, missing="intersection")[1].scores.tolist() == [2**60 + 1, 0.5, 9]
    assert align(gold, {"a": 1, "b": 2}, missing="gold")[1].scores is None  # c has no score


def test_ranks_and_orders_have_no_scores():
    assert Ranking.from_ranks(np.array([1.0, 2.0])).scores is None
    assert Ranking.from_ranks({"a": 1, "b": 2}).scores is None
    assert Ranking.from_order(["a", "b"]).scores is None
    assert Ranking.from_order(["a", "b"]) == Ranking.from_scores({"a": 9, "b": 0.5})


def test_a_ranking_is_immutable():
    ranking = Ranking.from_scores([1.0, 2.0])
    with pytest.raises(AttributeError, match="immutable"):
        ranking.ranks = np.array([1.0, 2.0])
    with pytest.raises(AttributeError, match="immutable"):
        del ranking.labels
    with pytest.raises(ValueError, match="read-only"):
        ranking.ranks[0] = 5


def test_rankings_are_compared_by_value():
    ranking = Ranking.from_scores({"a": 1, "b": 2})
    for twin in (copy.copy(ranking), copy.deepcopy(ranking), pickle.loads(pickle.dumps(ranking))):
        assert twin == ranking
        assert hash(twin) == hash(ranking)
    assert ranking != Ranking.from_scores([1, 2])
    assert ranking != Ranking.from_scores({"a": 2, "b": 1})
    assert ranking != [2, 1]
    assert len(ranking) == ranking.n_items == 2


def test_repr_shows_the_best():
    assert repr(Ranking.from_scores([5, 6, 6])) == "<Ranking of 3 items, 2 tied: [1] 1.5, [2] 1.5, [0] 3>"
    text = repr(Ranking.from_order(["cat", "dog", "owl", "fox", "elk", "bee"]))
    assert text == "<Ranking of 6 items, 0 tied: 'cat' 1, 'dog' 2, 'owl' 3, 'fox' 4, 'elk' 5, ...>"


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        ([1, float("nan")], rankcorr.MissingValueError, r"every item needs a score .*; nan: scores\[1\]$"),
        ({"a": 1, "b": float("nan")}, rankcorr.MissingValueError, "nan: score of 'b'$"),
        ([float("nan")] * 7, rankcorr.MissingValueError, r"scores\[4\], ... \(7 in all\)$"),
        ([1, Decimal("nan")], rankcorr.MissingValueError, r"nan: scores\[1\]"),
        (np.array([1, np.nan], np.longdouble), rankcorr.MissingValueError, r"nan: scores\[1\]"),
        (np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]), rankcorr.MissingValueError, r"masked: scores\[1\]"),
        ([], rankcorr.TooFewItemsError, r"needs at least (one item|two items); got 0"),
        (3, rankcorr.DimensionError, "scores must have one dimension; got 3"),
        ([[1, 2], [3, 4]], rankcorr.DimensionError, r"one dimension; got an array of shape \(2, 2\)"),
        ([[1, 2], [3]], rankcorr.DimensionError, "their rows differ in length"),
        (["a", "b"], rankcorr.NonNumericError, r"must be a real number; got 'a' at scores\[0\], scores\[1\]"),
        (np.array(["a", "b"]), rankcorr.NonNumericError, "must be a real number; got an array of <U1"),
        (["1", "2"], rankcorr.NonNumericError, r"must be a real number; got '1' at scores\[0\]"),
        ([1, None], rankcorr.NonNumericError, r"must be a real number; got None at scores\[1\]"),
        ({"a": 1, "b": "x"}, rankcorr.NonNumericError, "must be a real number; got 'x' at score of 'b'$"),
        ([Decimal("sNaN"), 1], rankcorr.MissingValueError, r"nan: scores\[0\]"),
        ([1j, 2], rankcorr.NonNumericError, "got an array of complex128"),
        (np.array(["2020", "2021"], "M8[Y]"), rankcorr.NonNumericError, r"got an array of datetime64\[Y\]"),
    ],
)
def test_invalid_scores_are_refused(scores, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_scores(scores)
    with pytest.raises(error, match=message):
        weighted_tau(scores, [1, 2])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Ranking.from_ranks([np.nan, 1]), rankcorr.MissingValueError, r"item needs a rank .*; nan: ranks\[0\]"),
        (lambda: Ranking.from_scores({"a": 1}, labels=["a"]), rankcorr.OptionError, "labels were given twice: as keys"),
        (
            lambda: Ranking.from_scores(pd.Series([1, 2, 3], index=["a", "a", "b"])),
            rankcorr.DuplicateLabelError,
            "more than once: 'a'",
        ),
        (lambda: Ranking.from_scores(Ranking.from_scores([1, 2])), rankcorr.OptionError, "already a Ranking; use it"),
        (lambda: Ranking([3, 1, 2]), TypeError, r"use Ranking\.from_scores"),
    ],
)
def test_invalid_arguments_of_constructors_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a", "b"], rankcorr.LengthError, "got 2 labels for 3 items"),
        (["a", "b", "a"], rankcorr.DuplicateLabelError, "more than once: 'a'$"),
        ([1, True, 2], rankcorr.DuplicateLabelError, "more than once: True"),
        (["a", ["b"], "c"], rankcorr.LabelError, r"labels must be hashable: \['b'\]"),
        (["a", float("nan"), "c"], rankcorr.LabelError, "nan cannot be a label.* positions: 1"),
        ("abc", rankcorr.LabelError, "labels must be a list of labels; got 'abc'"),
        ({"a", "b", "c"}, rankcorr.LabelError, "labels must be a list of labels"),
        (3, rankcorr.LabelError, "labels must be a list of labels; got 3"),
        (np.array("abc"), rankcorr.LabelError, r"labels must be a list of labels; got an array of <U3, shape \(\)"),
        ({"a": 1, "b": 2, "c": 3}, rankcorr.LabelError, "labels must be a list of labels"),
        (["a", pd.NA, "c"], rankcorr.LabelError, "nan cannot be a label.* positions: 1"),
        (["a", ("b", float("nan")), "c"], rankcorr.LabelError, "nan cannot be a label.* positions: 1"),
    ],
)
def test_invalid_labels_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_scores([1, 2, 3], labels=labels)


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ([], rankcorr.TooFewItemsError, "got 0"),
        (["a", [], "b"], rankcorr.LabelError, r"order\[1\] is an empty group"),
        (["a", ["b", "a"]], rankcorr.DuplicateLabelError, "more than once: 'a'"),
        (["a", {"b": 1}], rankcorr.LabelError, "must be hashable"),
        ("abc", rankcorr.DimensionError, "order must be a list of labels, best first; got 'abc'"),
        ({"a", "b"}, rankcorr.DimensionError, "order must be a list of labels"),
        ({"a": 1, "b": 2}, rankcorr.DimensionError, "order must be a list of labels"),
        (5, rankcorr.DimensionError, "order must be a list of labels, best first; got 5"),
        (np.zeros((2, 2)), rankcorr.DimensionError, r"one dimension and plain labels; got .* shape \(2, 2\)"),
        (np.array([(1, 2)], dtype="i4,i4"), rankcorr.DimensionError, "plain labels; got an array of"),
        (pd.DataFrame({"a": [1]}), rankcorr.DimensionError, "order must be a list of labels"),
    ],
)
def test_invalid_orders_are_refused(order, error, message):
    with pytest.raises(error, match=message):
        Ranking.from_order(order)


def test_every_error_is_a_ranking_error_and_a_value_error():
    errors = [value for name, value in vars(rankcorr).items() if name.endswith("Error") and "Pandas" not in name]
    assert len(errors) == 14
    assert all(issubclass(error, rankcorr.RankingError) and issubclass(error, ValueError) for error in errors)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (bytearray(b"abc"), r"^scores must be a list or an array; got bytearray\(b'abc'\)$"),
        ({3.0, 2.0}, "^scores must be a list or an array; got {.*}, which has no order$"),
        ({"a": 1, "b": 2}.keys(), r"got dict_keys\(\['a', 'b'\]\): write list\(...\)$"),
        ({"a": 1, "b": 2}.items(), r"write list\(...\)$"),
        ({"a": 1, "b": 2}.values(), r"got dict_values\(\[1, 2\]\): write list\(...\)$"),
        ((score for score in [1, 2]), r"got <generator .*: write list\(...\)$"),
        (iter([1, 2]), r"write list\(...\)$"),
    ],
)
def test_containers_that_are_not_vectors_are_refused(scores, message):
    for make in (Ranking.from_scores, rankcorr.weighted_tau):
        with pytest.raises(rankcorr.DimensionError, match=message):
            make(scores, *([] if make == Ranking.from_scores else [[1, 2]]))


def test_a_ranking_may_have_one_item_but_no_correlation():
    for one in (Ranking.from_order(["a"]), Ranking.from_scores([3.0], ["a"]), Ranking.from_ranks({"a": 7})):
        assert (one.ranks.tolist(), one.labels, one.n_ties) == ([1], ("a",), 0)
        assert one == Ranking.from_order(["a"])
        for call in (rankcorr.weighted_tau, rankcorr.weighted_rho, rankcorr.correlate, rankcorr.align):
            with pytest.raises(rankcorr.TooFewItemsError, match="a ranking needs at least two items; got 1"):
                call(one, one)
            with pytest.raises(rankcorr.TooFewItemsError, match="a ranking needs at least two items; got 1"):
                call([1], [1])
    for call in (Ranking.from_order, Ranking.from_scores, Ranking.from_ranks):
        with pytest.raises(rankcorr.TooFewItemsError, match="a ranking needs at least one item; got 0"):
            call([])
