"""Null distributions: quantiles and p-values computed by hand, and draws."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats

from rankcorr import OptionError, StandardizationError, TauW, correlate_many, weighted_rho, weighted_tau
from rankcorr._checks import checked_count, checked_level, checked_seed
from rankcorr._workers import BLOCK_NUMBERS, Draws
from rankcorr.inference._null import null_distribution


@pytest.mark.parametrize("n_items", [6, 30])
def test_quantiles_are_values_of_the_distribution(n_items):
    null = null_distribution(range(n_items), range(n_items), n_resamples=720)
    for q in (0.001, 0.05, 0.5, 0.9, 0.95, 1.0):
        value = null.quantile(q)
        assert isinstance(value, float)
        assert (null.values <= value).mean() >= q > (null.values < value).mean()
    assert null.quantile(0) == null.values[0]
    assert null.quantile([0.0, 1.0]).tolist() == [null.values[0], null.values[-1]]


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, "0.5", None, True, [0.5, 2], [[1], [0, 1]]])
def test_invalid_quantiles_are_refused(q):
    null = null_distribution(range(3), range(3))
    with pytest.raises(OptionError, match="q must be a number between 0 and 1; got"):
        null.quantile(q)


def test_pvalues_are_those_by_hand():
    null = null_distribution(range(30), range(30), n_resamples=99)
    value = float(null.values[89])
    assert null.pvalue(value, "greater") == 11 / 100
    assert null.pvalue(value, "less") == 91 / 100
    assert null.pvalue(value) == null.pvalue(value, "two-sided") == 22 / 100
    assert null.pvalue(1.0, "greater") == 1 / 100
    assert null.pvalue(-1.0, "greater") == 1
    assert null.pvalue(float(null.values[49])) == 1
    exact = null_distribution(range(3), range(3), coefficient="tau")  # -1, -1/3, -1/3, 1/3, 1/3, 1
    assert [exact.pvalue(t, "greater") for t in (1, 1 / 3, 0.34, -1)] == [1 / 6, 3 / 6, 1 / 6, 1]
    assert [exact.pvalue(t) for t in (1, 1 / 3, -1 / 3, -1)] == [2 / 6, 1, 1, 2 / 6]


def test_a_value_that_differs_by_rounding_counts_as_reached():
    null = null_distribution(range(5), range(5))
    for value in null.values[::7].tolist():
        for nearly in (value - 1e-14, value + 1e-14):
            inside = min(1.0, max(-1.0, nearly))
            for alternative in ("greater", "less", "two-sided"):
                assert null.pvalue(inside, alternative) == null.pvalue(value, alternative)


@pytest.mark.parametrize("n_items", [5, 30])
def test_percentiles_are_those_of_scipy(n_items):
    null = null_distribution(range(n_items), range(n_items), n_resamples=200)
    for value in [-1.0, *null.values[::17].tolist(), 0.3, 1.0]:
        values = np.where(np.abs(null.values - value) <= 1e-12, value, null.values)
        expected = scipy.stats.percentileofscore(values, value, kind="mean")
        assert null.percentile(value) == pytest.approx(expected, abs=1e-12)
        assert null.zscore(value) == pytest.approx((value - np.mean(null.values)) / np.std(null.values), abs=1e-12)


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_a_distribution_without_values_or_without_spread():
    undefined = null_distribution([1, 2, 2], [3, 3, 3])
    assert np.isnan([undefined.percentile(0.5), undefined.zscore(0.5)]).all()
    assert math.isnan(null_distribution(range(30), range(30), n_resamples=1).zscore(0.5))


def test_standardized_values_are_refused_if_they_would_all_be_equal():
    null = null_distribution(range(1_000), range(1_000), coefficient=TauW(n0=-0.9), n_resamples=300)
    assert null.saturates
    message = r"chance values are so near -1 that .* \(exponent -2\d\.\d, at"
    with pytest.raises(StandardizationError, match=message):
        null.standardize(0.3)
    assert null.percentile(0.3) > 50
    assert null.zscore(0.3) > 1
    usable = null_distribution(range(1_000), range(1_000), coefficient=TauW(n0=-0.7), n_resamples=300)
    assert not usable.saturates
    assert -1 < usable.standardize(0.3) < usable.standardize(0.3 + 1e-9) < 1


def test_figures_of_many_statistics_equal_single_ones():
    gold, systems = np.arange(30), np.random.default_rng(1).permuted(np.tile(np.arange(30), (5, 1)), axis=1)
    null = null_distribution(gold, gold, n_resamples=200)
    results = correlate_many(gold, systems)
    for read in (null.pvalue, null.standardize, null.percentile, null.zscore):
        expected = [read(value) for value in results.statistic.tolist()]
        assert read(results).tolist() == expected
        assert read(results.statistic.tolist()).tolist() == expected
        assert [read(weighted_tau(gold, system)) for system in systems] == expected
        assert isinstance(expected[0], float)
        assert np.isnan(read([0.1, math.nan])).tolist() == [False, True]
        assert math.isnan(read(math.nan))


def test_a_mismatched_result_is_refused():
    null = null_distribution(range(20), range(20), n_resamples=9)
    others = [
        (weighted_tau(range(21), range(21)), "n_items=20; got a result with 21"),
        (weighted_rho(range(20), range(20)), "coefficient='tau_w'; got a result with 'rho_w'"),
        (correlate_many(range(20), [range(20)], coefficient=TauW(n0=1)), "n0=2.0; got a result with 1.0"),
        (weighted_tau(range(20), range(20), scheme="first"), "scheme='additive'; got a result with 'first'"),
        (weighted_tau(range(20), range(20), tied_weights="expected"), "tied_weights='midrank'; got a result with 'ex"),
        (weighted_tau(range(20), range(20), variant="a"), "variant='b'; got a result with 'a'"),
    ]
    for result, message in others:
        for read in (null.pvalue, null.standardize, null.percentile, null.zscore):
            with pytest.raises(OptionError, match=f"this is the null distribution for {message}"):
                read(result)
    labels = {item: item for item in range(20)}
    matched = weighted_tau(labels, {**labels, 99: 99}, missing="intersection")
    assert null.standardize(matched) == 1


@pytest.mark.parametrize(
    "statistic", [1.1, -1.1, math.inf, "0.5", None, True, [0.5, 2], [[1], [0, 1]], np.ma.masked_equal([0.0, 1.0], 0)]
)
def test_invalid_statistics_are_refused(statistic):
    null = null_distribution(range(3), range(3))
    for read in (null.pvalue, null.standardize, null.percentile, null.zscore):
        with pytest.raises(OptionError, match="a statistic must be a number between -1 and 1; got"):
            read(statistic)


@pytest.mark.parametrize("alternative", ["two_sided", None, 1])
def test_an_unknown_alternative_lists_the_choices(alternative):
    null = null_distribution(range(3), range(3))
    with pytest.raises(OptionError, match="alternative must be one of 'two-sided', 'greater', 'less'; got"):
        null.pvalue(0.5, alternative)


def test_the_result_records_the_options():
    null = null_distribution(range(12), range(12), coefficient=TauW(n0=0, scheme="first"), n_resamples=5)
    assert (null.coefficient, null.n0, null.scheme, null.variant) == ("tau_w", 0.0, "first", "b")
    assert repr(null) == (
        f"NullDistribution(mean={null.mean}, std={null.std}, n_items=12, coefficient='tau_w', scheme='first', n0=0.0, "
        "weigher='InverseSquare(n0=0.0)', tied_weights='midrank', variant='b', exact=False, n_resamples=5, "
        "n_undefined=0, exponent=0.0)"
    )
    with pytest.raises(AttributeError, match="cannot assign to field"):
        null.mean = 0.0
    with pytest.raises(ValueError, match="read-only"):
        null.values[0] = 0.0


def draw_numbers(n_resamples, *, seed, **options):
    draws = Draws(n_resamples, seed, **options)
    return np.concatenate(draws.in_blocks(lambda rng, size: rng.random((size, 1000)), 1000))


def test_the_numbers_do_not_depend_on_the_workers():
    expected = draw_numbers(100, seed=3, workers=1)
    assert expected.shape == (100, 1000)
    for workers in (2, 3):
        np.testing.assert_array_equal(draw_numbers(100, seed=3, workers=workers), expected)
    assert not np.array_equal(draw_numbers(100, seed=4), expected)


@pytest.mark.parametrize("n_resamples", [1, 33, 100, 5_000])
def test_the_numbers_do_not_depend_on_the_executor(n_resamples):
    expected, steps = draw_numbers(n_resamples, seed=3, workers=1), []
    with ThreadPoolExecutor(3) as executor:
        result = draw_numbers(n_resamples, seed=3, executor=executor, progress=steps.append)
    np.testing.assert_array_equal(result, expected)
    assert sum(steps) == n_resamples


def test_an_exception_of_the_progress_stops_the_executor():
    started, ended = [], threading.Event()

    def task(rng, size):
        started.append(size)
        return rng.random(size)

    def stop(_n_resamples):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor:
        executor.submit(ended.wait, 120)  # none of our tasks starts before
        with pytest.raises(KeyboardInterrupt):
            Draws(100, 0, executor=executor, progress=stop).in_blocks(task, BLOCK_NUMBERS)
        ended.set()
    assert len(started) == 1  # the block drawn in this thread


def test_blocks_differ():
    values = draw_numbers(100, seed=0)
    assert len(np.unique(values)) == values.size


def test_more_resamples_begin_with_the_same_blocks():
    block = BLOCK_NUMBERS // 1000
    np.testing.assert_array_equal(draw_numbers(2 * block + 5, seed=1)[: 2 * block], draw_numbers(2 * block, seed=1))


def test_progress_counts_resamples():
    steps = []
    draw_numbers(100, seed=0, progress=steps.append)
    assert sum(steps) == 100
    assert max(steps) == BLOCK_NUMBERS // 1000


@pytest.mark.parametrize("n_resamples", [0, -1, 1.5, True, None, "9"])
def test_invalid_numbers_of_resamples_are_refused(n_resamples):
    with pytest.raises(OptionError, match="n_resamples must be a positive whole number; got"):
        checked_count(n_resamples, "n_resamples")


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, "9"])
def test_invalid_seeds_are_refused(seed):
    with pytest.raises(OptionError, match="seed must be a whole number of 0 or more; got"):
        checked_seed(seed)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.1, float("nan"), "0.9", None, True])
def test_levels_outside_0_to_1_are_refused(level):
    with pytest.raises(OptionError, match="level must be a number above 0 and below 1; got"):
        checked_level(level)
