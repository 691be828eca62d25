"""The paired test of scores is scipy's permutation test, that of ranks holds its level where systems are alike."""

import math
import warnings

import numpy as np
import pandas
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import (
    LabelError,
    LabelMismatchError,
    LengthError,
    OptionError,
    Ranking,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    weighted_rho,
    weighted_tau,
)
from rankcorr.coefficients import named_coefficient
from rankcorr.errors import collected_notices
from rankcorr.inference import paired
from rankcorr.inference.bootstrap import difference_interval
from rankcorr.inference.exchange import Exchange
from rankcorr.inference.paired import align_three, compare_systems, paired_tests
from rankcorr.inference.resampling import Draws
from tests.coefficients import collapsed
from tests.rankcorr.inference.cases import sorted_items

FUNCTIONS = {"tau_w": weighted_tau, "rho_w": weighted_rho}


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.needs_numba) for seed in (1, 2, 3))])
def test_scipy_permutation_test_of_the_scores_of_few_items(coefficient, alternative, seed):
    rng = np.random.default_rng(seed)
    gold, a, b = rng.integers(0, 6, (3, 7)).astype(float)

    def difference(first, second):
        # Rounded, since scipy compares floats that differ by rounding alone.
        return round(float(FUNCTIONS[coefficient](gold, first)) - float(FUNCTIONS[coefficient](gold, second)), 10)

    with warnings.catch_warnings():  # of swaps, and of resamples of the interval
        warnings.simplefilter("ignore", UndefinedCorrelationWarning)
        peer = scipy.stats.permutation_test(
            (a, b),
            difference,
            permutation_type="samples",
            vectorized=False,
            n_resamples=np.inf,
            alternative=alternative,
        )
        found = compare_systems(
            gold, a, b, swap="scores", coefficient=coefficient, alternative=alternative, n_resamples=20
        )
    assert (found.exact, found.swap) == (True, "scores")
    assert_allclose(found.difference, peer.statistic, rtol=0, atol=1e-10)
    # scipy doubles the smaller tail; by symmetry that is the two tails, except that a difference of 0 is in both.
    assert_allclose(found.pvalue, min(1.0, peer.pvalue), rtol=1e-12)


@pytest.mark.needs_numba
def test_exchanged_scores_are_matched_by_label():
    rng = np.random.default_rng(0)
    gold, a, b = (dict(zip("abcdefgh", values, strict=True)) for values in rng.normal(size=(3, 8)))
    turned = dict(reversed(list(b.items())))
    options = {"swap": "scores", "n_resamples": 20}
    found = compare_systems(gold, a, b, **options)
    assert compare_systems(gold, a, turned, **options) == found
    assert found.pvalue == compare_systems(*(list(each.values()) for each in (gold, a, b)), **options).pvalue
    assert found.pvalue == compare_systems(gold, *(pandas.Series(each) for each in (a, turned)), **options).pvalue
    # An item that a system lacks lies below all of its own, and below all of the other's when the two exchange it.
    lowest = {"i": min(*a.values(), *b.values()) - 1}
    lacking = compare_systems(gold | {"i": 0.3}, a | {"i": 0.1}, b, missing="bottom", **options)
    assert lacking.pvalue == compare_systems(gold | {"i": 0.3}, a | {"i": 0.1}, b | lowest, **options).pvalue


@pytest.mark.needs_numba
def test_a_drawn_p_value_counts_the_difference_itself():
    gold = np.arange(200.0)
    worst = np.random.default_rng(0).permutation(gold)
    found = compare_systems(gold, gold, worst, coefficient="rho", n_resamples=99)
    assert not found.exact
    assert found.pvalue == 1 / 100
    assert compare_systems(gold, gold, worst, coefficient="rho", n_resamples=99, alternative="less").pvalue == 1
    assert found.low > 0


@pytest.mark.needs_numba
@pytest.mark.parametrize(("n_items", "decimals"), [(10, 9), (60, 0)])
def test_swapping_the_systems_changes_the_sign(n_items, decimals):
    gold, a, b = np.random.default_rng(1).normal(size=(3, n_items))
    gold, a, b = np.round([gold, gold + a, gold + a + 0.3 * b], decimals)
    one, other = (compare_systems(gold, *systems, n_resamples=1_000) for systems in ((a, b), (b, a)))
    assert (one.difference, one.pvalue) == (-other.difference, other.pvalue)
    assert (one.low, one.high) == (-other.high, -other.low)
    assert_allclose(
        compare_systems(gold, a, b, alternative="greater").pvalue,
        compare_systems(gold, b, a, alternative="less").pvalue,
        rtol=0,
    )


@pytest.mark.needs_numba
@pytest.mark.parametrize("swap", ["ranks", "scores"])
def test_items_that_gold_lacks_do_not_tell_which_system_came_first(swap):
    numbers = np.random.default_rng(1).normal(size=(3, 16))
    gold, a, b = (dict(zip("abcdefghijklmnop", row.tolist(), strict=True)) for row in numbers)
    a, b = a | {"x": 3.0, "y": -1.0, "z": 0.2}, b | {"w": 0.5, "z": 2.0, "y": -0.3, "x": 0.4}
    one, other = (
        compare_systems(gold, *systems, missing="bottom", swap=swap, n_resamples=500) for systems in ((a, b), (b, a))
    )
    assert (one.difference, one.pvalue) == (-other.difference, other.pvalue)
    assert (one.low, one.high) == (-other.high, -other.low)


@pytest.mark.needs_numba
@pytest.mark.parametrize("turned", [False, True])
def test_one_rule_orders_the_systems_for_test_and_interval(monkeypatch, turned):
    gold = np.arange(6.0)
    # The first comes first among the items as given, and last among them from best to worst.
    a, b = [6, 1, 2, 3, 4, 5], [5, 6, 4, 3, 2, 1]
    systems = (b, a) if turned else (a, b)
    entered = {}

    def exchange(coefficient, gold, systems):
        entered["test"] = [system.ranks.tolist() for system in systems]
        return of_ranks(coefficient, gold, systems)

    def interval(items, *given, **options):
        entered["interval"] = [(row[::-1] / 2).tolist() for row in items.y_halves]
        return difference_interval(items, *given, **options)

    of_ranks = Exchange.of_ranks
    monkeypatch.setattr(Exchange, "of_ranks", exchange)
    monkeypatch.setattr(paired, "difference_interval", interval)
    with collected_notices():
        compare_systems(gold, *systems, n_resamples=20)
    assert entered["test"] == entered["interval"]


@pytest.mark.needs_numba
def test_an_end_at_zero_has_no_sign():
    found = compare_systems([1, 2, 3], [1.1, 1.2, 0.1], [1.1, 5, 2], n_resamples=100)
    assert (found.high, np.signbit(found.high)) == (0, False)


@pytest.mark.needs_numba
def test_scales_do_not_matter():
    gold, a, b = np.random.default_rng(1).normal(size=(3, 50))
    assert compare_systems(gold, a, np.exp(9 * b), n_resamples=99) == compare_systems(gold, a, b, n_resamples=99)


@pytest.mark.parametrize("n_items", [8, 30])
def test_equal_systems_do_not_differ(n_items):
    gold, a = np.random.default_rng(1).normal(size=(2, n_items))
    found = compare_systems(gold, a, a, n_resamples=50)
    assert (found.difference, found.pvalue, found.low, found.high) == (0, 1, 0, 0)
    assert found.statistic_a == found.statistic_b == weighted_tau(gold, a).statistic


@pytest.mark.needs_numba
def test_the_interval_is_that_of_joint_resamples_for_the_first_less_the_second():
    rng = np.random.default_rng(3)
    gold, b, a = rng.normal(size=(3, 60))
    found = compare_systems(gold, a, b, n_resamples=1_000, level=0.9, seed=5)
    assert not sorted_items(gold, a, b).is_turned
    expected = difference_interval(
        sorted_items(gold, a, b), found.difference, level=0.9, draws=Draws(1_000, 5).of_part(1)
    )
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.low < found.difference < found.high


@pytest.mark.needs_numba
def test_the_interval_names_its_method():
    rng = np.random.default_rng(0)
    gold, common, *own = rng.normal(size=(4, 65))
    systems = [gold + np.sqrt(0.98) * common + np.sqrt(0.02) * each for each in own]
    starred = [np.digitize(each, [-1.2, -0.4, 0.4, 1.2]) for each in (gold, *systems)]
    for scores, method in (((gold, *systems), "copula"), (starred, "percentile")):
        found = compare_systems(*scores, n_resamples=20)
        assert found.interval_method == method
        assert f"interval_method='{method}'" in repr(found)
    assert compare_systems(gold, gold, gold, n_resamples=20).interval_method is None
    with pytest.warns(UndefinedCorrelationWarning):
        assert compare_systems(gold, gold, np.ones(65), n_resamples=20).interval_method is None


@pytest.mark.needs_numba
def test_the_same_call_gives_the_same_answer_whatever_the_workers():
    gold, a, b = np.random.default_rng(2).normal(size=(3, 300))
    found = [compare_systems(gold, a, b, n_resamples=400, workers=workers) for workers in (1, 2, None)]
    assert found[0] == found[1] == found[2]
    assert compare_systems(gold, a, b, n_resamples=400, seed=1) != found[0]


@pytest.mark.needs_numba
def test_progress_counts_the_resamples_of_test_and_interval():
    done = []
    gold, a, b = np.random.default_rng(2).normal(size=(3, 300))
    compare_systems(gold, a, b, n_resamples=1_000, progress=done.append)
    assert sum(done) == 2_000


def test_a_constant_system_has_no_test():
    with pytest.warns(UndefinedCorrelationWarning, match="tied in gold or in: 'b'") as caught:
        found = compare_systems([1, 2, 3], [1, 3, 2], [1, 1, 1], n_resamples=20)
    assert np.isnan([found.difference, found.pvalue, found.low, found.high, found.statistic_b]).all()
    assert not math.isnan(found.statistic_a)
    assert found.n_undefined == 20
    assert caught[0].filename == __file__


def test_undefined_swaps_count_against_a_difference():
    # Of the 4 swaps of two items two make both systems constant, and the others give differences of 2 and -2.
    with pytest.warns(UndefinedCorrelationWarning) as caught:
        found = compare_systems([2, 1], [2, 1], [1, 2], swap="scores", n_resamples=50)
    assert (found.difference, found.pvalue, found.n_undefined_swaps) == (2, 1, 2)
    messages = [str(each.message) for each in caught]
    assert any("in 2 of 4 swaps, which count against a difference" in message for message in messages)
    assert found.n_undefined == 0  # drawn anew, two items tie in neither ranking
    assert {each.filename for each in caught} == {__file__}


def labelled(order):
    return Ranking.from_order(list(order))


@pytest.mark.needs_numba
def test_items_that_not_all_three_have():
    gold, a, b = labelled("abcde"), labelled("edcaf"), labelled("bcadg")
    with pytest.raises(LabelMismatchError, match=r"labels in gold only.*: 'b'; labels in a only.*: 'f'"):
        compare_systems(gold, a, b)
    with pytest.raises(LabelMismatchError, match=r"labels in gold only.*: 'e'; labels in b only.*: 'g'"):
        compare_systems(gold, labelled("abcde"), b)
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedCorrelationWarning)
            found = compare_systems(gold, a, b, missing=missing, n_resamples=20)
        assert (found.n_items, found.n_missing, found.missing) == (len(labels), 4, missing)
        assert found.statistic_a == weighted_tau(*(Ranking.from_ranks(each) for each in ranks[:2])).statistic


@pytest.mark.needs_numba
def test_labels_are_matched():
    gold, a, b = (dict(zip("abcdefgh", values, strict=True)) for values in np.random.default_rng(0).normal(size=(3, 8)))
    turned = dict(reversed(list(b.items())))
    found = compare_systems(gold, a, turned, n_resamples=50)
    assert found == compare_systems(gold, a, b, n_resamples=50)
    assert found.n_missing is None


@pytest.mark.parametrize(
    ("three", "options", "error", "message"),
    [
        (([1, 2], [1, 2], [1, 2]), {"n_resamples": 0}, OptionError, "n_resamples must be a positive whole number"),
        (([1, 2], [1, 2], [1, 2]), {"level": 0}, OptionError, "level must be a number between 0 and 1"),
        (([1, 2], [1, 2], [1, 2]), {"seed": None}, OptionError, "seed must be a whole number"),
        (([1, 2], [1, 2], [1, 2]), {"alternative": "both"}, OptionError, "alternative must be one of 'two-sided'"),
        (([1, 2], [1, 2], [1, 2]), {"swap": "items"}, OptionError, "swap must be one of 'ranks', 'scores'"),
        (
            ([1, 2], [1, 2], Ranking.from_order(["a", "b"])),
            {"swap": "scores"},
            LabelError,
            "b has labels and gold has none",
        ),
        (
            ([1, 2], [1, 2], Ranking.from_ranks([1, 2])),
            {"swap": "scores"},
            OptionError,
            'swap="scores" exchanges scores, and b is a Ranking, which holds ranks alone; give its scores',
        ),
        (([1, 2], [1, 2], [1, 2]), {"missing": "drop"}, OptionError, "missing must be one of"),
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
def test_invalid_inputs(three, options, error, message):
    with pytest.raises(error, match=message):
        compare_systems(*three, **collapsed(**options))


@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("coefficient", "n_items", "share", "decimals"),
    [
        ("tau_w", 30, 0.98, None),
        ("rho_w", 65, 0.999, None),
        pytest.param("tau_w", 65, 0.999, None, marks=pytest.mark.figures),
        pytest.param("tau_w", 65, 0.999, 1, marks=pytest.mark.figures),
        pytest.param("tau_w", 200, 0.995, 1, marks=pytest.mark.figures),
        pytest.param("rho_w", 200, 0.9, None, marks=pytest.mark.figures),
    ],
)
def test_the_level_is_held_where_systems_are_exchangeable(coefficient, n_items, share, decimals):
    """Systems that share most of their noise are the hard ones: many of their ranks collide when they are swapped."""
    n_samples = 500
    rejected = 0
    for seed in range(n_samples):
        rng = np.random.default_rng([9, seed])
        gold, shared, *own = rng.normal(size=(4, n_items))
        systems = [gold + math.sqrt(share) * shared + math.sqrt(1 - share) * each for each in own]
        if decimals is not None:
            systems = [np.round(each, decimals) for each in systems]
        rankings = [Ranking.from_scores(each) for each in systems]
        exchange = Exchange.of_ranks(named_coefficient(coefficient), Ranking.from_scores(gold), rankings)
        values = exchange.observed()
        (test,) = paired_tests([[exchange]], np.array([values[0] - values[1]]), draws=Draws(99, seed))
        rejected += test.pvalue <= 0.05
    # A binomial count with p = 0.06 exceeds it with probability 0.001, one with p = 0.02 falls below as rarely.
    assert scipy.stats.binom.ppf(0.001, n_samples, 0.02) <= rejected <= scipy.stats.binom.ppf(0.999, n_samples, 0.06)


@pytest.mark.needs_numba
def test_a_better_system_is_found():
    rng = np.random.default_rng(0)
    gold = rng.normal(size=200)
    found = compare_systems(gold, gold + 0.3 * rng.normal(size=200), gold + rng.normal(size=200), coefficient="rho")
    assert found.pvalue < 0.001
    assert 0 < found.low < found.difference < found.high
    assert repr(found).startswith("SystemComparison(")
