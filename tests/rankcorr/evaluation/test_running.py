import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from rankcorr import OptionError
from rankcorr.evaluation import compare_evaluated, evaluate
from rankcorr.evaluation.exact_sums import ExactSums
from rankcorr.evaluation.running import RunningComparison
from tests.rankcorr.evaluation.test_compare import case

NUMBERS = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


@given(st.lists(st.lists(NUMBERS, max_size=20), max_size=5))
def test_sums_and_squares_are_exact(blocks):
    sums = ExactSums()
    for block in blocks:
        sums.add(np.array(block, float))
    numbers = [Fraction(number) for block in blocks for number in block]
    assert sums.n == len(numbers)
    assert sums.sum() == sum(numbers)
    assert float(sums.sum()) == math.fsum(map(float, numbers))
    if numbers:
        mean = sum(numbers) / len(numbers)
        assert sums.spread() == sum((number - mean) ** 2 for number in numbers)


def test_equal_numbers_do_not_vary():
    sums = ExactSums()
    for _ in range(1_000):
        sums.add(np.full(1_000, 0.3))
    assert (sums.n, sums.sum() / sums.n, sums.spread()) == (1_000_000, Fraction(0.3), 0)


@pytest.mark.parametrize("baseline", ["a", "c"])
def test_blocks_give_what_the_whole_does(baseline):
    qrels, runs = case(60)
    runs["a"] = {query: own for query, own in runs["a"].items() if query != "q7"}
    whole = evaluate(qrels, runs, metrics=["tau_w", "ap"], standardized=False)
    found = []
    for step in (1, 7, 60):
        running = RunningComparison(whole.runs, whole.metrics, baseline=baseline)
        for start in range(0, 60, step):
            running.add(whole.values[:, :, start : start + step])
        found.append((running.means(), running.differences()))
    assert found[0] == found[1] == found[2]
    means, differences = found[0]
    for row in means:
        values = whole.of(row["metric"], row["run"])
        known = values[~np.isnan(values)]
        assert row["mean"] == float(sum(map(Fraction, known.tolist())) / known.size)
        assert (row["n_queries"], row["n_undefined"]) == (known.size, 60 - known.size)
        assert row["standard_error"] == pytest.approx(stats.sem(known), rel=1e-12)
        interval = stats.t.interval(0.95, known.size - 1, known.mean(), stats.sem(known))
        assert_allclose([row["low"], row["high"]], interval, rtol=1e-12)
    for metric in whole.metrics:
        expected = compare_evaluated(whole, metric, test="t", baseline=baseline, n_resamples=10)
        for pair in differences[metric]:
            other = expected.pair(pair.first, pair.second)
            assert (other.first, other.second) == (pair.first, pair.second)
            assert pair.difference == pytest.approx(other.difference, abs=1e-15)
            assert pair.effect_size == pytest.approx(other.effect_size, rel=1e-10)
            assert (pair.pvalue, pair.corrected_pvalue) == pytest.approx((other.pvalue, other.corrected_pvalue))
            assert pair.n_queries == other.n_queries
            assert (pair.n_better, pair.n_worse) == (other.n_better, other.n_worse)
    assert [(pair.first, pair.second) for pair in differences["ap"]] == [
        (run, baseline) for run in "abc" if run != baseline
    ]


def test_few_values():
    running = RunningComparison(["x", "y"], ["ap"], baseline="y")
    assert RunningComparison(["x", "y"], ["ap"]).differences() == {"ap": ()}
    (row, _) = running.means()
    assert math.isnan(row["mean"])
    (pair,) = running.differences()["ap"]
    assert math.isnan(pair.pvalue)
    running.add(np.array([[[0.5]], [[0.25]]]))
    (pair,) = running.differences()["ap"]
    assert (pair.difference, pair.n_queries, math.isnan(pair.low), math.isnan(pair.pvalue)) == (0.25, 1, True, True)
    running.add(np.array([[[0.5]], [[0.25]]]))
    (pair,) = running.differences()["ap"]
    assert (pair.low, pair.high, pair.pvalue, math.isnan(pair.effect_size)) == (0.25, 0.25, 0.0, True)
    equal = RunningComparison(["x", "y"], ["ap"], baseline="y")
    equal.add(np.full((2, 1, 3), 0.5))
    assert equal.differences()["ap"][0].pvalue == 1.0


@pytest.mark.parametrize("options", [{"baseline": "z"}, {"level": 1.5}])
def test_options_are_checked(options):
    with pytest.raises(OptionError):
        RunningComparison(["x", "y"], ["ap"], **options)
