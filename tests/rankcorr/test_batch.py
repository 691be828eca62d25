import math
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankcorr
from rankcorr import (
    Logarithmic,
    Ranking,
    TauW,
    TopK,
    UndefinedCorrelationWarning,
    Uniform,
    correlate_many,
    correlation_matrix,
    weighted_rho,
    weighted_tau,
)
from rankcorr import _batch as batch
from rankcorr._coefficients import named_coefficient
from tests.results import with_coefficient

ONE_BY_ONE = {"tau_w": weighted_tau, "rho_w": weighted_rho, "tau": weighted_tau, "rho": weighted_rho}


def random_systems(seed, n_systems, n_items):
    rng = np.random.default_rng(seed)
    thirds = np.tile(np.arange(n_items) % 3, (n_systems, 1))
    return rng.integers(0, 6, (n_systems, n_items)) + 0.5 * rng.permuted(thirds, axis=1)


@given(
    seed=st.integers(0, 2**32 - 1),
    options=st.sampled_from([{}, {"n0": 0.5}, {"weigher": Logarithmic()}]),
    scheme=st.sampled_from(["additive", "multiplicative", "first", "second"]),
)
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.usefixtures("blocks_of_three")
def test_batches_equal_single_calls_exactly(coefficient, seed, options, scheme):
    systems = random_systems(seed, 7, 23)
    gold = systems[0] + np.arange(23) % 2
    for tied_weights in ("midrank", "expected"):
        keywords = {**options, "scheme": scheme, "tied_weights": tied_weights}
        expected = [ONE_BY_ONE[coefficient](gold, system, **keywords).statistic for system in systems]
        table = [[ONE_BY_ONE[coefficient](x, y, **keywords).statistic for y in systems[:4]] for x in systems[:4]]
        kwargs = with_coefficient(coefficient=coefficient, **keywords)
        for workers in (1, 3):
            assert correlate_many(gold, systems, workers=workers, **kwargs).statistic.tolist() == expected
            assert correlation_matrix(systems[:4], workers=workers, **kwargs).statistic.tolist() == table


@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.parametrize("weigher", [Logarithmic(), lambda ranks: 1 / (1 + (ranks - 2.5) ** 2)])
def test_the_order_of_labels_changes_no_digit(coefficient, weigher):
    systems = random_systems(3, 5, 40)
    rng = np.random.default_rng(4)
    named = {}
    for number, scores in enumerate(systems):
        order = rng.permutation(40)
        named[number] = dict(zip(order.tolist(), scores[order].tolist(), strict=True))
    matrix = correlation_matrix(named, coefficient=named_coefficient(coefficient, weigher=weigher)).statistic
    many = correlate_many(named[2], named, coefficient=named_coefficient(coefficient, weigher=weigher)).statistic
    table = [[ONE_BY_ONE[coefficient](x, y, weigher=weigher).statistic for y in named.values()] for x in named.values()]
    assert matrix.tolist() == table
    assert many.tolist() == table[2]


@pytest.fixture(scope="module")
def blocks_of_three():
    """Use blocks of three rows, so that small matrices need several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "BLOCK_ITEMS", 70)
        yield


@pytest.mark.parametrize("coefficient", ["tau", "rho"])
def test_plain_coefficients_have_equal_weights(coefficient):
    systems = random_systems(1, 5, 12)
    result = correlate_many(systems[0], systems, coefficient=coefficient)
    expected = [ONE_BY_ONE[coefficient](systems[0], system, weigher=Uniform()).statistic for system in systems]
    assert result.statistic.tolist() == expected
    assert (result.coefficient, result.weigher) == (coefficient, "Uniform()")


def test_a_mapping_is_aligned_by_label():
    gold = {"a": 3, "b": 2, "c": 1}
    systems = {"good": {"c": 1, "b": 2, "a": 3}, "order": Ranking.from_order(["b", ["a", "c"]])}
    result = correlate_many(gold, systems)
    assert result.names == ("good", "order")
    assert result.statistic.tolist() == [weighted_tau(gold, system).statistic for system in systems.values()]
    frame = pd.DataFrame({"good": [3, 2, 1], "poor": [1, 3, 2]}, index=["a", "b", "c"])
    of_frame = correlate_many(gold, frame)
    assert of_frame.names == ("good", "poor")
    assert np.asarray(of_frame).tolist() == [1.0, weighted_tau(gold, frame["poor"]).statistic]
    matrix = correlation_matrix({"gold": gold, **systems})
    assert matrix.names == ("gold", "good", "order")
    assert matrix.statistic[0, 2] == weighted_tau(gold, systems["order"]).statistic


def test_rankings_in_a_list_are_named_by_position():
    gold = {"a": 3, "b": 2, "c": 1}
    systems = [{"c": 1, "b": 2, "a": 3}, Ranking.from_order(["b", ["a", "c"]]), pd.Series(gold)]
    for listed in (systems, tuple(systems)):
        result = correlate_many(gold, listed)
        assert result.names is None
        assert result.statistic.tolist() == [weighted_tau(gold, system).statistic for system in systems]
        matrix = correlation_matrix(listed)
        assert matrix.names is None
        assert matrix.statistic.tolist() == correlation_matrix(dict(enumerate(systems))).statistic.tolist()
    assert correlate_many([1, 2, 3], [np.array([1, 2, 3]), pl.Series([3, 2, 1])]).statistic.tolist() == [1, -1]
    lacking = correlate_many(gold, [{"a": 1, "b": 2}], missing="gold")
    assert (lacking.names, lacking.n_compared.tolist(), lacking.n_missing.tolist()) == (None, [3], [1])
    with pytest.raises(rankcorr.LabelMismatchError, match="gold has labels that system 1 lacks: 'c'"):
        correlate_many(gold, [gold, {"a": 1, "b": 2}])


def test_each_row_of_a_matrix_over_items_of_gold_uses_its_ranking_as_gold():
    rankings = {"long": {"a": 4, "b": 3, "c": 2, "d": 1}, "short": {"b": 2, "a": 1}}
    matrix = correlation_matrix(rankings, missing="gold")
    assert matrix.n_compared.tolist() == [[4, 4], [2, 2]]
    assert matrix.statistic[0, 1] == weighted_tau(rankings["long"], rankings["short"], missing="gold")
    assert matrix.statistic[1, 0] == weighted_tau(rankings["short"], rankings["long"], missing="gold") == -1


def test_numpy_converts_the_result_to_its_values():
    result = correlate_many([3, 2, 1], [[3, 2, 1], [1, 2, 3]])
    assert np.array(result, dtype=np.float32).dtype == np.float32
    assert np.mean(result) == 0
    assert result.names is None
    assert (result.n_items, result.n0, result.variant) == (3, 2.0, "b")


def test_undefined_systems_are_named():
    with pytest.warns(UndefinedCorrelationWarning, match="tied in gold or in: 'flat'$") as caught:
        result = correlate_many([3, 2, 1], {"flat": [1, 1, 1], "good": [3, 2, 1]})
    assert math.isnan(result.statistic[0])
    assert result.statistic[1] == 1
    assert caught[0].filename == __file__
    with pytest.warns(UndefinedCorrelationWarning, match="tied in: 1$"):
        matrix = correlation_matrix([[3, 2, 1], [1, 1, 1]]).statistic
    assert np.isnan(matrix).tolist() == [[False, True], [True, True]]


def test_undefined_pairs_are_named():
    first = {"weigher": TopK(2), "scheme": "first"}
    with pytest.warns(UndefinedCorrelationWarning, match=r"tied in: \('p', 'q'\)$"):
        matrix = correlation_matrix({"p": [5, 4, 3, 2], "q": [1, 1, 5, 4]}, **with_coefficient(**first)).statistic
    assert np.isnan(matrix).tolist() == [[False, True], [False, False]]


def test_errors_of_a_weigher_in_threads_reach_the_caller():
    threads = set()

    def failing(_):
        threads.add(threading.current_thread().name)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        correlate_many(np.arange(40_000), np.zeros((3, 40_000)), coefficient=TauW(weigher=failing), workers=2)
    assert threads


@pytest.mark.parametrize(
    ("gold", "systems", "error", "message"),
    [
        ([1, 2, 3], [[1, 2]], rankcorr.LengthError, "column for each of the 3 items of gold; got 2"),
        ([1, 2], [1, 2], rankcorr.DimensionError, r"system scores must have 2 dimensions; got .* \(2,\)"),
        ([1, 2], [[1, 2], {"a": 1, "b": 2}], rankcorr.LabelError, "system 1 has labels and gold has none"),
        ([1, 2], ([1, 2] for _ in range(2)), rankcorr.DimensionError, r"got <generator .*: write list\(...\)$"),
        ([1, 2], {"s": [1, 2]}.items(), rankcorr.DimensionError, r"got dict_items\(.*: write list\(...\)$"),
        ([1, 2], {"s": [1, math.nan]}, rankcorr.MissingValueError, "^system 's': every item needs a score .*; nan: "),
        ([1, 2], pd.Series([1, 2]), rankcorr.DimensionError, "system 0: scores must have one dimension"),
        ([1, 2], [[1, math.nan]], rankcorr.MissingValueError, r"nan: system scores\[0, 1\]"),
        ([1, 2], [[1, "x"]], rankcorr.NonNumericError, "every system score must be a real number"),
        ([1, 2], np.empty((0, 2)), rankcorr.TooFewItemsError, "there is no system to correlate"),
        ([1, 2], {}, rankcorr.TooFewItemsError, "there is no system to correlate"),
        ({"a": 1, "b": 2}, [[1, 2]], rankcorr.LabelError, "gold has labels and the matrix of systems has none"),
        ({"a": 1, "b": 2}, {"s": [1, 2]}, rankcorr.LabelError, "gold has labels and system 's' has none"),
        ({"a": 1, "b": 2}, {"s": {"a": 1, "c": 2}}, rankcorr.LabelMismatchError, "labels in system 's' only: 'c'"),
        ([1, 2], {"s": [1, 2, 3]}, rankcorr.LengthError, "gold has 2 items and system 's' has 3"),
        ([1, 2], pd.DataFrame([[1, 2], [3, 4]], columns=["s", "s"]), rankcorr.DuplicateLabelError, "'s'"),
    ],
)
def test_invalid_systems_are_refused(gold, systems, error, message):
    with pytest.raises(error, match=message):
        correlate_many(gold, systems)


def test_rankings_that_do_not_match_are_named():
    with pytest.raises(rankcorr.LengthError, match=r"'p' has 2 .* 'q' has 3"):
        correlation_matrix({"p": [1, 2], "q": [1, 2, 3]})
    with pytest.raises(
        rankcorr.TooFewItemsError, match=r"ranking 'p' and ranking 'q' .*; they have 2 and 2 items, 0 in"
    ):
        correlation_matrix({"p": {"a": 1, "b": 2}, "q": {"c": 1, "d": 2}}, missing="intersection")
    with pytest.raises(rankcorr.TooFewItemsError, match="gold and system 's' must have at least two labels in common"):
        correlate_many({"a": 1, "b": 2}, {"s": {"a": 1, "c": 2}}, missing="intersection")


@pytest.mark.parametrize("missing", ["intersection", "bottom"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.usefixtures("blocks_of_three")
def test_missing_items_give_exactly_the_results_of_single_calls(coefficient, workers, missing):
    rng = np.random.default_rng(8)
    scores = random_systems(5, 9, 30)
    lists = {}
    for number, row in enumerate(scores):
        labels = rng.permutation(35)[: rng.integers(20, 31)].tolist()
        lists[number] = dict(zip(labels, row.tolist(), strict=False))
    keywords = {"n0": 0.5, "missing": missing}
    single_calls = [[ONE_BY_ONE[coefficient](x, y, **keywords) for y in lists.values()] for x in lists.values()]
    many = correlate_many(lists[2], lists, workers=workers, **with_coefficient(coefficient=coefficient, **keywords))
    assert many.statistic.tolist() == [one.statistic for one in single_calls[2]]
    assert many.n_compared.tolist() == [one.n_items for one in single_calls[2]]
    assert many.n_missing.tolist() == [one.n_missing for one in single_calls[2]]
    assert (many.n_items, many.missing) == (len(lists[2]), missing)
    matrix = correlation_matrix(lists, workers=workers, **with_coefficient(coefficient=coefficient, **keywords))
    assert matrix.statistic.tolist() == [[one.statistic for one in row] for row in single_calls]
    assert matrix.n_compared.tolist() == [[one.n_items for one in row] for row in single_calls]
    assert matrix.n_missing.tolist() == [[one.n_missing for one in row] for row in single_calls]
    assert matrix.n_items == len({label for labels in lists.values() for label in labels})
    assert not matrix.n_compared.flags.writeable


@pytest.mark.parametrize("missing", ["intersection", "bottom"])
def test_matrices_have_no_missing_items(missing):
    systems = random_systems(1, 3, 12)
    many = correlate_many(systems[0], systems, missing=missing)
    assert many.statistic.tolist() == correlate_many(systems[0], systems).statistic.tolist()
    assert (many.n_compared.tolist(), many.n_missing.tolist()) == ([12] * 3, [0] * 3)
    matrix = correlation_matrix(systems, missing=missing)
    assert matrix.statistic.tolist() == correlation_matrix(systems).statistic.tolist()
    assert (matrix.n_items, matrix.n_missing.tolist()) == (12, [[0] * 3] * 3)
    with pytest.raises(rankcorr.LengthError, match=rf"got 2 \(missing='{missing}' needs labels"):
        correlate_many([1, 2, 3], [[1, 2]], missing=missing)


def test_missing_items_are_not_counted_if_they_are_not_allowed():
    for result in (correlate_many([1, 2], [[1, 2]]), correlation_matrix([[1, 2], [2, 1]])):
        assert (result.missing, result.n_compared, result.n_missing) == (None, None, None)


def test_work_can_be_stopped_between_pairs_of_different_lists():
    lists = {name: Ranking.from_order([name, "p", "q", "r"]) for name in "abcd"}
    calls = []
    correlate_many(lists["a"], lists, missing="bottom", workers=1, progress=calls.append)
    assert calls == [0, 0, 0, 0, 4]
    calls.clear()
    correlation_matrix(lists, missing="intersection", workers=1, progress=calls.append)
    assert calls == [0, 0, 0, 0, 1] * 4
    calls.clear()
    correlation_matrix(lists, missing="intersection", workers=2, progress=calls.append)
    assert calls == [1] * 4
