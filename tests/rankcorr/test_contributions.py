import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rankcorr
from rankcorr import Ranking, RhoW, TauW, TopK, UndefinedCorrelationWarning, weighted_rho, weighted_tau
from rankcorr._coefficients import named_coefficient
from rankcorr._contributions import ItemContribution, contributions
from tests import naive
from tests.results import with_coefficient
from tests.strategies import N0S, SCHEME, TIED_WEIGHT, distinguishing_pairs, weighings


def naive_parts(a, b, weights, difference, variant):
    """Per item: sum_j a_ij b_ij over the denominator of Eq. 7, and its part of 1 - gamma, by the double sum."""
    x, y = (np.array(naive.pair_matrix(ranks, weights, difference)) for ranks in (a, b))
    if variant == "a":
        products = np.outer(weights, weights) * (1 - np.eye(len(a)))
        norm = math.fsum(products.flat)
        return [math.fsum(row) / norm for row in x * y], [math.fsum(row) / norm for row in products - x * y], norm
    x_norm, y_norm = (math.sqrt(math.fsum((matrix**2).flat)) for matrix in (x, y))
    parts = [math.fsum(row) / (x_norm * y_norm) for row in x * y]
    return parts, [math.fsum(row) / 2 for row in (x / x_norm - y / y_norm) ** 2], x_norm * y_norm


def weigh(pair, weighing, scheme, tied_weights):
    """The weigher's options, the ranks of both, and the weights of the items."""
    options, f = weighing
    a, b = (naive.midranks(scores) for scores in pair)
    try:
        weights = naive.item_weights(a, b, f, scheme, tied_weights)
    except ZeroDivisionError:
        assume(False)
    heavy = np.array(weights) > 0
    assume(all(np.ptp(scores[heavy]) > 0 for scores in pair))  # otherwise the correlation is undefined
    return options, a, b, weights


@given(distinguishing_pairs(), weighings(), SCHEME, TIED_WEIGHT, st.sampled_from(["a", "b"]))
def test_parts_of_tau_follow_from_the_double_sum(pair, weighing, scheme, tied_weights, variant):
    options, a, b, weights = weigh(pair, weighing, scheme, tied_weights)
    keywords = {**options, "scheme": scheme, "tied_weights": tied_weights, "variant": variant}
    result = contributions(*pair, **with_coefficient(**keywords))
    parts, cost, norm = naive_parts(a, b, weights, naive.sign, variant)
    assert_allclose(result.contribution, parts, rtol=0, atol=1e-13)
    assert_allclose(result.cost, cost, rtol=0, atol=1e-13)
    assert_allclose(result.normalizer, norm, rtol=1e-12)
    assert_allclose(result.weights, weights, rtol=1e-12)
    assert result.statistic == weighted_tau(*pair, **keywords).statistic
    check_sums(result)


@given(distinguishing_pairs(), weighings(), SCHEME, TIED_WEIGHT)
def test_parts_of_rho_follow_from_weighted_means(pair, weighing, scheme, tied_weights):
    options, a, b, weights = weigh(pair, weighing, scheme, tied_weights)
    keywords = {**options, "scheme": scheme, "tied_weights": tied_weights}
    result = contributions(*pair, **with_coefficient(coefficient="rho_w", **keywords))
    means = [math.fsum(w * rank for w, rank in zip(weights, ranks, strict=True)) for ranks in (a, b)]
    numerator = [w * (p - means[0]) * (q - means[1]) for w, p, q in zip(weights, a, b, strict=True)]
    norm = math.sqrt(
        math.fsum(w * (p - means[0]) ** 2 for w, p in zip(weights, a, strict=True))
        * math.fsum(w * (q - means[1]) ** 2 for w, q in zip(weights, b, strict=True))
    )
    # With steep weights, variances are far below the ranks: the naive form loses digits that the library keeps.
    assume(norm > 1e-4)
    assert_allclose(result.contribution * result.normalizer, numerator, rtol=0, atol=1e-11)
    assert_allclose(result.normalizer, norm, rtol=1e-9)
    assert result.statistic == weighted_rho(*pair, **keywords).statistic
    check_sums(result)


def check_sums(result):
    assert_allclose(math.fsum(result.contribution), result.statistic, rtol=0, atol=4e-15)
    assert_allclose(math.fsum(result.cost), 1 - result.statistic, rtol=0, atol=4e-15)
    assert (result.cost >= 0).all()


@given(distinguishing_pairs(200), N0S, st.sampled_from(["tau_w", "rho_w"]), st.sampled_from(["a", "b"]))
def test_the_parts_of_longer_rankings_add_up(pair, n0, coefficient, variant):
    check_sums(contributions(*pair, coefficient=named_coefficient(coefficient, n0=n0, variant=variant)))


@given(distinguishing_pairs(60), N0S, st.sampled_from(["tau_w", "rho_w"]))
def test_symmetric_in_x_and_y(pair, n0, coefficient):
    value = named_coefficient(coefficient, n0=n0)
    one, other = (contributions(*both, coefficient=value) for both in (pair, pair[::-1]))
    assert_allclose(one.contribution, other.contribution, rtol=0, atol=1e-14)
    assert_allclose(one.cost, other.cost, rtol=0, atol=1e-14)


@given(distinguishing_pairs(60), N0S, st.sampled_from(["tau_w", "rho_w"]))
def test_costs_of_a_ranking_with_itself_and_its_reverse(pair, n0, coefficient):
    same = contributions(pair[0], pair[0], coefficient=named_coefficient(coefficient, n0=n0))
    assert not same.cost.any()
    reverse = contributions(pair[0], -pair[0], coefficient=named_coefficient(coefficient, n0=n0))
    assert_allclose(reverse.cost, -2 * reverse.contribution, rtol=0, atol=1e-14)


def test_items_missing_in_x_are_not_among_the_worst():
    gold, system = {"a": 3, "b": 2, "c": 1}, {"new": 9, "a": 3, "b": 2, "c": 1}
    result = contributions(gold, system, missing="bottom")
    assert result.in_x.tolist() == [True, True, True, False]
    assert result.x.labels[result.cost.argmax()] == "new"
    assert sorted(row.label for row in result.worst()) == ["a", "b", "c"]
    assert result.cost.sum() == pytest.approx(1 - result.statistic)
    assert contributions(gold, system, missing="gold").in_x.all()
    assert contributions([1, 2], [2, 1]).in_x.all()


def test_the_worst_items_come_first():
    gold = Ranking.from_order(["a", "b", "c", "d", "e"])
    result = contributions(gold, Ranking.from_order(["b", "c", "d", "a", "e"]))
    rows = result.worst(2)
    assert len(result.worst()) == 5
    assert [row.label for row in rows] == ["a", "b"]
    assert rows[0] == ItemContribution("a", 1.0, 4.0, result.weights[0], result.contribution[0], result.cost[0])
    costs = [row.cost for row in result.worst(5)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 0
    assert [row.label for row in contributions([1, 3, 2], [1, 3, 2]).worst()] == [1, 2, 0]  # equal costs: as in x
    assert repr(result).startswith("Contributions(statistic=0.")
    assert "array" not in repr(result)
    with pytest.raises(rankcorr.OptionError, match="k must be a positive whole number; got 0"):
        result.worst(0)


def test_items_that_one_ranking_lacks():
    gold, system = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["c", "x", "a"])
    result = contributions(gold, system, missing="bottom")
    assert result.x.labels == result.y.labels
    with pytest.raises(rankcorr.LabelMismatchError, match="labels in x only: 'b'; labels in y only: 'x'"):
        contributions(gold, system)


@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
def test_an_undefined_coefficient_has_no_parts(coefficient):
    top = named_coefficient(coefficient, weigher=TopK(2), scheme="first")
    with pytest.warns(UndefinedCorrelationWarning, match="all items that have weight are tied in one") as caught:
        result = contributions([5, 4, 3, 2], [7, 7, 1, 0], coefficient=top)
    assert caught[0].filename == __file__
    assert math.isnan(result.statistic)
    assert math.isnan(result.normalizer)
    assert np.isnan([result.contribution, result.cost]).all()


def test_steep_weights_keep_their_digits():
    n_items = 600
    x = np.arange(n_items, 0.0, -1)
    y = -x
    y[:2] = y[1::-1]
    check_sums(contributions(x, y, coefficient=TauW(weigher=lambda ranks: 0.5**ranks, scheme="multiplicative")))


@pytest.mark.parametrize("base", [1e-12, 1e-15])
def test_heavy_items_deep_in_the_other_list_keep_their_digits(base):
    # The mean rank in y is nearly that of the heaviest item; the difference is below the rounding of ranks.
    x, y = np.arange(50_000, 0, -1), np.arange(50_000)
    y[:2] = y[1::-1]
    weigher = lambda ranks: base ** np.minimum(ranks - 1, 20)  # noqa: E731
    check_sums(contributions(x, y, coefficient=RhoW(weigher=weigher, scheme="first")))
