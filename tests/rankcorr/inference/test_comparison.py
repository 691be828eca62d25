"""Comparisons of two systems: the test by all exchanges, an interval that agrees with it, and influential items."""

import math
import warnings

import numpy as np
import pandas
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import (
    LabelError,
    LabelMismatchError,
    LengthError,
    OptionError,
    Ranking,
    TauW,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    weighted_tau,
)
from rankcorr._checks import alpha_of, collected_notices
from rankcorr._coefficients import named_coefficient
from rankcorr._workers import Draws
from rankcorr.inference._exchange import Exchange, draw_exchanges
from rankcorr.inference._system_comparison import align_three, compare_systems
from tests import naive
from tests.rankcorr.inference.cases import case_of_one_pair
from tests.results import with_coefficient
from tests.strategies import scores

SWAPS = st.sampled_from(["scores", "ranks"])
ALTERNATIVES = st.sampled_from(["two-sided", "greater", "less"])
COEFFICIENTS = st.sampled_from(["tau_w", "rho_w", "tau", "rho"])


def triples(least=2, most=8):
    """Gold and two systems, with ties."""
    return st.integers(least, most).flatmap(lambda n_items: st.tuples(*[scores(n_items)] * 3))


# For some lists all exchanges are enumerated, for others they are drawn.
TRIPLES = st.one_of(triples(), triples(13, 16))


def compare_quietly(*columns, **options):
    """A comparison without its warnings of undefined coefficients."""
    with collected_notices():
        return compare_systems(*columns, **{"n_resamples": 60} | options)


@given(triples(2, 5), st.sampled_from(["tau_w", "rho_w"]), ALTERNATIVES, st.sampled_from([0.5, 0.8, 0.95]))
def test_p_value_and_interval_are_those_of_all_exchanges_of_scores(three, name, alternative, level):
    coefficient = {"tau_w": naive.weighted_tau, "rho_w": naive.weighted_rho}[name]
    gold, a, b = (values.tolist() for values in three)
    ranks = naive.midranks(gold)

    def difference(*systems):
        values = []
        for places in map(naive.midranks, systems):
            values.append(coefficient(ranks, places, naive.item_weights(ranks, places, naive.inverse_square(2))))
        return values[0] - values[1]

    observed = difference(a, b)
    result = compare_quietly(gold, a, b, coefficient=name, swap="scores", alternative=alternative, level=level)
    if math.isnan(observed):
        assert np.isnan([result.difference, result.pvalue, result.low, result.high, result.detectable]).all()
        return
    exchanged = [(difference(first, second), m) for first, second, m in naive.exchanges(a, b)]
    assert (result.exact, result.n_undefined) == (True, sum(math.isnan(value) for value, _ in exchanged))
    assert_allclose(result.difference, observed, rtol=0, atol=1e-12)
    assert result.pvalue == naive.share_as_extreme(0.0, observed, exchanged, alternative)
    ends = naive.differences_not_rejected(alpha_of(level), observed, exchanged, alternative)
    assert_allclose((result.low, result.high), ends, rtol=0, atol=1e-8)


@given(TRIPLES, COEFFICIENTS, SWAPS, ALTERNATIVES, st.sampled_from([0.5, 0.9, 0.95]))
def test_the_interval_excludes_0_exactly_if_the_test_rejects(three, name, swap, alternative, level):
    result = compare_quietly(*three, coefficient=name, swap=swap, alternative=alternative, level=level)
    if math.isnan(result.difference):
        assert math.isnan(result.pvalue)
        assert result.least is result.most is None
        return
    assert (result.swap, result.exact) == (swap, result.n_items <= 12)
    assert (result.low > 0 or result.high < 0) == (result.pvalue <= alpha_of(level))
    assert -2 <= result.low <= result.high <= 2
    if alternative == "two-sided":
        assert result.low - 1e-12 <= result.difference <= result.high + 1e-12
    assert not any(np.signbit(end) for end in (result.low, result.high) if end == 0)


@given(TRIPLES, COEFFICIENTS, st.sampled_from(["auto", "scores", "ranks"]), ALTERNATIVES)
def test_swapping_the_systems_reverses_the_result(three, name, swap, alternative):
    gold, a, b = three
    turned = {"two-sided": "two-sided", "greater": "less", "less": "greater"}[alternative]
    one = compare_quietly(gold, a, b, coefficient=name, swap=swap, alternative=alternative)
    other = compare_quietly(gold, b, a, coefficient=name, swap=swap, alternative=turned)
    for field in ("pvalue", "detectable", "swap", "n_undefined", "fragile"):
        assert_array_equal(getattr(one, field), getattr(other, field))
    assert_array_equal((one.difference, one.low, one.high), (0 - other.difference, 0 - other.high, 0 - other.low))
    if one.least is not None:
        assert (one.least.difference, one.most.difference) == (0 - other.most.difference, 0 - other.least.difference)
        if one.least.difference != one.most.difference:
            assert one.least == other.most.reverse()


@given(triples(3, 7), COEFFICIENTS, SWAPS, st.sampled_from([0.5, 0.8]))
def test_influential_items_follow_from_comparisons_without_each(three, name, swap, level):
    options = {"coefficient": name, "swap": swap, "level": level}
    result = compare_quietly(*three, **options)
    if result.least is None:
        return
    rest = [compare_quietly(*(np.delete(scores, item) for scores in three), **options) for item in range(three[0].size)]
    differences = np.nan_to_num([comparison.difference for comparison in rest])
    assert_allclose(result.least.difference, differences.min(), rtol=0, atol=1e-12)
    assert_allclose(result.most.difference, differences.max(), rtol=0, atol=1e-12)
    alpha, rejects = alpha_of(level), result.pvalue <= alpha_of(level)
    assert result.fragile == any((influence.pvalue <= alpha) != rejects for influence in (result.least, result.most))
    for influence in (result.least, result.most):
        assert_allclose(differences[influence.label], influence.difference, rtol=0, atol=1e-12)
        pvalue = rest[influence.label].pvalue
        if math.isnan(pvalue):  # no comparison is left
            assert influence.pvalue == 1
        elif swap == "scores" or np.unique(three[0]).size == three[0].size:
            # If several chains are heaviest, the choice may depend on the order of items that are tied in gold.
            assert influence.pvalue == pvalue


@pytest.mark.parametrize("turned", [False, True])
def test_one_item_decides(turned):
    gold, good, poor = case_of_one_pair()
    result = compare_systems(gold, *((poor, good) if turned else (good, poor)), n_resamples=2_000)
    decides = result.most if turned else result.least
    assert (result.swap, result.exact, result.n_items) == ("scores", False, 14)
    assert result.pvalue < 0.03
    assert (result.low > 0, result.high < 0) == (not turned, turned)
    assert result.fragile
    assert decides.label == "tiger tiger"
    assert decides.pvalue > 0.3
    assert abs(decides.difference) < 0.1 < abs(result.difference) < result.detectable
    rest = [{label: score for label, score in row.items() if label != "tiger tiger"} for row in (gold, good, poor)]
    alone = compare_systems(*rest, n_resamples=2_000)
    assert_allclose(alone.difference, -decides.difference if turned else decides.difference, rtol=0, atol=1e-12)
    assert alone.pvalue == pytest.approx(decides.pvalue, abs=0.1)  # of 999 exchanges
    assert not alone.fragile


def test_for_long_lists_only_items_with_the_largest_rank_differences_are_left_out(monkeypatch):
    gold, a, b = np.random.default_rng(0).normal(size=(3, 40))
    a, b = gold + 0.1 * a, gold + 0.1 * b
    b[gold.argmax()] = -9
    options = {"n_resamples": 100, "swap": "ranks"}
    expected = compare_systems(gold, a, b, **options)
    assert expected.least.label == gold.argmax()
    monkeypatch.setattr("rankcorr.inference._system_comparison.MOST_LEFT_OUT", 2)
    assert compare_systems(gold, a, b, **options).least == expected.least


@pytest.mark.needs_numba
@pytest.mark.parametrize("same_scale", [True, False])
def test_scores_are_exchanged_if_they_share_a_scale(same_scale):
    gold, a, b = np.random.default_rng(1).normal(size=(3, 50))
    options = {"n_resamples": 99}
    result = compare_systems(gold, a, b if same_scale else np.exp(9 * b), **options)
    expected = compare_systems(gold, a, b, swap="scores" if same_scale else "ranks", **options)
    assert result == expected
    ranks = compare_systems(gold, a, np.exp(9 * b), swap="ranks", **options)
    assert ranks == compare_systems(gold, a, b, swap="ranks", **options)
    # Rankings keep their original scores; ranks are no scores.
    second = b if same_scale else np.exp(9 * b)
    assert compare_systems(gold, Ranking.from_scores(a), Ranking.from_scores(second), **options) == result
    assert compare_systems(gold, a, Ranking.from_ranks(-b), **options) == ranks
    places = [-np.array(Ranking.from_scores(scores).ranks) for scores in (a, b)]
    assert compare_systems(gold, *places, **options) == ranks


@pytest.mark.parametrize("swap", ["auto", "ranks"])
@pytest.mark.parametrize("n_items", [8, 30])
def test_equal_systems_do_not_differ(n_items, swap):
    gold, a = np.random.default_rng(1).normal(size=(2, n_items))
    result = compare_systems(gold, a, a, swap=swap, n_resamples=99)
    assert (result.difference, result.pvalue, result.low, result.high) == (0, 1, 0, 0)
    assert math.isnan(result.detectable)
    assert (result.least.difference, result.least.pvalue, result.most.difference, result.fragile) == (0, 1, 0, False)
    assert result.statistic_a == result.statistic_b == weighted_tau(gold, a).statistic


def test_the_comparison_without_each_item_can_be_stopped_too():
    steps = []
    gold, a, b = np.random.default_rng(2).normal(size=(3, 300))
    compare_systems(gold, a, b, n_resamples=500, progress=steps.append)
    assert (sum(steps), steps[-1]) == (500, 0)


def test_a_constant_system_has_no_test():
    with pytest.warns(UndefinedCorrelationWarning, match="tied in gold or in: 'b'") as caught:
        result = compare_systems([1, 2, 3], [1, 3, 2], [1, 1, 1], n_resamples=20)
    assert np.isnan(
        [result.difference, result.pvalue, result.low, result.high, result.detectable, result.statistic_b]
    ).all()
    assert not math.isnan(result.statistic_a)
    assert (result.n_undefined, result.least, result.most, result.fragile) == (0, None, None, False)
    assert caught[0].filename == __file__


def test_undefined_exchanges_count_as_extreme():
    # Two of the 4 exchanges of two items make both systems constant; the others give differences of 2 and -2.
    with pytest.warns(UndefinedCorrelationWarning) as caught:
        result = compare_systems([2, 1], [2, 1], [1, 2], swap="scores", n_resamples=50)
    assert (result.difference, result.pvalue, result.n_undefined) == (2, 1, 2)
    assert (result.low, result.high, result.least, result.most) == (-2, 2, None, None)
    (warning,) = caught
    assert "in 2 of 4 exchanges, which count against a difference" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.needs_numba
@pytest.mark.parametrize("by_scores", [True, False])
def test_drawn_exchanges_approximate_the_exact_test(by_scores, monkeypatch):
    # Two gold sets of six items: 2^12 exchanges.
    pair = []
    for gold, *systems in np.random.default_rng(5).normal(size=(2, 3, 6)):
        arguments = TauW(), Ranking.from_scores(gold), [Ranking.from_scores(scores) for scores in systems]
        codes = np.unique(-np.array(systems), return_inverse=True)[1].reshape(2, 6)
        pair.append(Exchange.of(*arguments, codes if by_scores else None))
    (exact,) = draw_exchanges([pair], Draws(10, 0))
    monkeypatch.setattr("rankcorr.inference._exchange.MAX_EXACT", 0)
    (approximate,) = draw_exchanges([pair], Draws(20_000, 0))
    assert (exact.is_exact, exact.net_shares.size, approximate.is_exact, approximate.net_shares.size) == (
        True,
        2**12,
        False,
        20_000,
    )
    assert exact.observed == approximate.observed
    share = exact.pvalue()
    assert 0.05 < share < 0.95
    assert abs(approximate.pvalue() - share) < 4 * math.sqrt(share * (1 - share) / 20_000)
    assert_allclose(approximate.interval(0.9), exact.interval(0.9), rtol=0, atol=0.03)


def test_pairs_of_few_and_of_many_items_are_tested_together():
    few, many = (
        [Exchange.of(TauW(), *(first, rest))]
        for first, *rest in (map(Ranking.from_scores, np.random.default_rng(0).normal(size=(3, n))) for n in (8, 30))
    )
    result = draw_exchanges([few, many], Draws(200, 0))
    assert [distribution.is_exact for distribution in result] == [True, False]
    for joint, (alone,) in zip(result, (draw_exchanges([pair], Draws(200, 0)) for pair in (few, many)), strict=True):
        assert (joint.observed, joint.pvalue()) == (alone.observed, alone.pvalue())
    assert draw_exchanges([], Draws(200, 0)) == []


def draw_failing_systems(rng, n_items):
    """Systems without errors, except that they send one item in twenty to the bottom."""
    gold = rng.normal(size=n_items)
    systems = gold + 0.05 * rng.normal(size=(2, n_items))
    return gold, *np.where(rng.random((2, n_items)) < 0.05, rng.normal(-10, 1, (2, n_items)), systems)


def draw_similar_systems(rng, n_items):
    """Systems that share 98 % of their noise."""
    gold, shared, *noises = rng.normal(size=(4, n_items))
    return gold, *(gold + math.sqrt(0.98) * shared + math.sqrt(0.02) * noise for noise in noises)


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("draw_systems", "coefficient", "n_items", "least"),
    [
        (draw_failing_systems, "tau_w", 30, 0.03),
        (draw_similar_systems, "rho_w", 30, 0.03),
        pytest.param(draw_failing_systems, "tau_w", 200, 0.03, marks=pytest.mark.figures),
        pytest.param(draw_similar_systems, "tau_w", 65, 0.03, marks=pytest.mark.figures),
    ],
)
def test_the_level_is_held_where_systems_are_exchangeable(draw_systems, coefficient, n_items, least):
    """For scores the level is exact except for ties; for ranks it is not exceeded."""
    n_samples = 400
    rejected = np.zeros(2, int)
    for seed in range(n_samples):
        gold, *systems = draw_systems(np.random.default_rng([9, seed]), n_items)
        rankings = [Ranking.from_scores(scores) for scores in systems]
        codes = np.unique(-np.array(systems), return_inverse=True)[1].reshape(2, -1)
        arguments = named_coefficient(coefficient), Ranking.from_scores(gold), rankings
        pairs = [[Exchange.of(*arguments, codes)], [Exchange.of(*arguments)]]
        rejected += [orbit.pvalue() <= 0.05 for orbit in draw_exchanges(pairs, Draws(99, seed))]
    # A binomial count with p = 0.06 exceeds the bound with probability 0.001; one with the least p rarely falls below.
    assert rejected.max() <= scipy.stats.binom.ppf(0.999, n_samples, 0.06)
    assert rejected[0] >= scipy.stats.binom.ppf(0.001, n_samples, least)


@pytest.mark.needs_numba
def test_exchanged_scores_are_matched_by_label():
    rng = np.random.default_rng(0)
    gold, a, b = (dict(zip("abcdefgh", values, strict=True)) for values in rng.normal(size=(3, 8)))
    turned = dict(reversed(list(b.items())))
    options = {"swap": "scores", "n_resamples": 20}
    result = compare_systems(gold, a, b, **options)
    assert compare_systems(gold, a, turned, **options) == result
    assert result.n_missing is None
    assert repr(result).startswith("SystemComparison(")
    assert result.pvalue == compare_systems(*(list(scores.values()) for scores in (gold, a, b)), **options).pvalue
    assert result.pvalue == compare_systems(gold, *(pandas.Series(scores) for scores in (a, turned)), **options).pvalue
    # An item missing in a system is below all its items, and below all of the other's after an exchange.
    lowest = {"i": min(*a.values(), *b.values()) - 1}
    lacking = compare_systems(gold | {"i": 0.3}, a | {"i": 0.1}, b, missing="bottom", **options)
    assert lacking.pvalue == compare_systems(gold | {"i": 0.3}, a | {"i": 0.1}, b | lowest, **options).pvalue


@pytest.mark.needs_numba
@pytest.mark.parametrize("swap", ["ranks", "scores"])
def test_items_missing_in_gold_do_not_make_the_order_of_systems_matter(swap):
    numbers = np.random.default_rng(1).normal(size=(3, 16))
    gold, a, b = (dict(zip("abcdefghijklmnop", row.tolist(), strict=True)) for row in numbers)
    a, b = a | {"x": 3.0, "y": -1.0, "z": 0.2}, b | {"w": 0.5, "z": 2.0, "y": -0.3, "x": 0.4}
    options = {"missing": "bottom", "swap": swap, "n_resamples": 500}
    one, other = (compare_systems(gold, *systems, **options) for systems in ((a, b), (b, a)))
    assert (one.difference, one.pvalue) == (-other.difference, other.pvalue)
    assert (one.low, one.high) == (-other.high, -other.low)


def rank_letters(order):
    return Ranking.from_order(list(order))


@pytest.mark.needs_numba
def test_items_missing_in_gold_or_a_system():
    gold, a, b = rank_letters("abcde"), rank_letters("edcaf"), rank_letters("bcadg")
    with pytest.raises(LabelMismatchError, match=r"labels in gold only.*: 'b'; labels in a only.*: 'f'"):
        compare_systems(gold, a, b)
    with pytest.raises(LabelMismatchError, match=r"labels in gold only.*: 'e'; labels in b only.*: 'g'"):
        compare_systems(gold, rank_letters("abcde"), b)
    for missing, labels, ranks in (
        ("intersection", "acd", [[1, 2, 3], [3, 2, 1], [2, 1, 3]]),
        ("bottom", "abcdefg", [[1, 2, 3, 4, 5, 6.5, 6.5], [4, 6.5, 3, 2, 1, 5, 6.5], [3, 1, 2, 4, 6.5, 6.5, 5]]),
        ("gold", "abcde", [[1, 2, 3, 4, 5], [4, 5, 3, 2, 1], [3, 1, 2, 4, 5]]),
    ):
        (*three,), n_missing = align_three(gold, a, b, missing)
        assert n_missing == 4
        for ranking, expected in zip(three, ranks, strict=True):
            assert ranking.labels == tuple(labels)
            assert_array_equal(ranking.ranks, expected)
        with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
            result = compare_systems(gold, a, b, missing=missing, n_resamples=20)
        assert (result.n_items, result.n_missing, result.missing) == (len(labels), 4, missing)
        assert result.statistic_a == weighted_tau(*(Ranking.from_ranks(places) for places in ranks[:2])).statistic


@pytest.mark.parametrize(
    ("three", "options", "error", "message"),
    [
        (([1, 2], [1, 2], rank_letters("ab")), {"swap": "scores"}, LabelError, "b has labels and gold has none"),
        (
            ([1, 2], [1, 2], Ranking.from_ranks([1, 2])),
            {"swap": "scores"},
            OptionError,
            'swap="scores" exchanges scores, but b has only ranks; give its scores',
        ),
        (([1, 2], [1, 2], [1, 2, 3]), {}, LengthError, "gold has 2 items and b has 3"),
        (([1, 2], [1, 2], {"a": 1, "b": 2}), {"missing": "bottom"}, LabelError, "b has labels and gold has none"),
        (
            ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 1, "c": 2}),
            {"missing": "intersection"},
            TooFewItemsError,
            "gold, a and b must have at least two labels in common; they have 2, 2, 2 items, 1 in common",
        ),
        (
            ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 1, "c": 2}),
            {"missing": "gold"},
            TooFewItemsError,
            "b and gold must have at least two labels in common; they have 2 and 2 items, 1 in common",
        ),
    ],
)
def test_invalid_inputs_are_refused(three, options, error, message):
    with pytest.raises(error, match=message):
        compare_systems(*three, **with_coefficient(**options))


# Pearson's correlation: scores are exchanged, and standardized unless they share a scale


@pytest.mark.parametrize("swap", ["scores", "auto"])
def test_pearson_enumerates_the_exchanges_of_scores(swap):
    rng = np.random.default_rng(4)
    gold = rng.normal(size=10)
    a, b = gold + rng.normal(size=10), 20 + 3 * (gold + rng.normal(size=10))
    comparison = compare_systems(gold, a, b, coefficient="pearson", swap=swap)
    differences = list(naive.pearson_exchanges(gold.tolist(), a.tolist(), b.tolist(), standardized=swap == "auto"))
    assert comparison.exact
    assert comparison.swap == ("scores" if swap == "scores" else "standardized scores")
    assert_allclose(comparison.difference, differences[0], atol=1e-12)
    assert comparison.pvalue == np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)
    mirrored = compare_systems(gold, b, a, coefficient="pearson", swap=swap)
    assert (mirrored.low, mirrored.high, mirrored.pvalue) == (-comparison.high, -comparison.low, comparison.pvalue)


def test_pearson_leaves_out_the_item_that_decides():
    gold = [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 100]
    a, b = [*gold[:9], 110.0], [*gold[8::-1], 90.0]
    comparison = compare_systems(gold, a, b, coefficient="pearson")
    without_the_last = scipy.stats.pearsonr(gold[:9], a[:9]).statistic - scipy.stats.pearsonr(gold[:9], b[:9]).statistic
    assert comparison.most.label == 9
    assert_allclose(comparison.most.difference, without_the_last)


def test_pearson_exchanges_no_ranks():
    with pytest.raises(OptionError, match='pearson compares scores, but swap="ranks" exchanges ranks'):
        compare_systems([1, 2, 3], [1, 2, 4], [1, 3, 2], coefficient="pearson", swap="ranks")


@given(st.integers(3, 8).flatmap(lambda n_items: st.tuples(*[scores(n_items)] * 3)), ALTERNATIVES)
def test_the_interval_of_pearson_agrees_with_its_test(three, alternative):
    comparison = compare_quietly(*three, coefficient="pearson", alternative=alternative)
    if not math.isnan(comparison.difference) and not comparison.n_undefined:
        assert (comparison.pvalue <= alpha_of(0.95)) == (not comparison.low <= 0 <= comparison.high)
