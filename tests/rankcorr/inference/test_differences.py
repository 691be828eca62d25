"""The interval of a difference: by tests in a copula, or by percentiles where systems have many ties and are alike."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from rankcorr.inference.bootstrap import difference_interval, students_level, tied_and_alike
from rankcorr.inference.copula import TCopula
from rankcorr.inference.paired import compare_systems
from rankcorr.inference.resampling import Draws
from tests.rankcorr.inference.cases import sorted_items

LEVELS = [-1.2, -0.4, 0.4, 1.2]


def interval(items, *, level=0.95, n_resamples=1_000, seed=0):
    observed = float(np.subtract(*items.coefficients(np.ones((1, items.n_items), np.int32))[0]))
    return observed, difference_interval(items, observed, level=level, draws=Draws(n_resamples, seed))


def alike(share, seed=0, n_items=65):
    """Gold and two systems that have a share of their noise in common."""
    gold, common, first, second = np.random.default_rng(seed).normal(size=(4, n_items))
    return gold, *(gold + np.sqrt(share) * common + np.sqrt(1 - share) * own for own in (first, second))


def levels(scores):
    return tuple(np.digitize(each, LEVELS) for each in scores)


def test_an_interval_has_the_sign_of_systems_that_differ():
    rng = np.random.default_rng(0)
    gold = rng.normal(size=300)
    items = sorted_items(gold, gold + 0.3 * rng.normal(size=300), gold + 2 * rng.normal(size=300), coefficient="tau")
    observed, found = interval(items, n_resamples=2_000)
    assert 0 < found.low < observed < found.high
    assert_allclose(found.high - found.low, 2 * 1.96 * found.standard_error, rtol=0.15)


@pytest.mark.parametrize("scores", [alike(0.5), levels(alike(0.98))])
def test_two_systems_are_in_order_either_way_or_turned(scores):
    gold, first, second = scores
    one, other = sorted_items(gold, first, second), sorted_items(gold, second, first)
    assert one.is_turned != other.is_turned
    assert interval(one.turned()) == interval(other)
    assert one.turned().is_turned != one.is_turned


def test_equal_systems_are_in_order():
    gold, first, _ = alike(0.5)
    assert not sorted_items(gold, first, first).is_turned


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (alike(0.98), False),
        (tuple(np.round(each, 1) for each in alike(0.98)), False),
        (levels(alike(0.0)), False),
        (levels(alike(0.98)), True),
        (levels(alike(0.98, n_items=100)), True),
        (levels(alike(0.98, n_items=101)), False),
        ((*alike(0.98)[:2], levels(alike(0.98))[2]), True),
    ],
)
def test_many_ties_and_common_noise_make_the_percentile_interval(scores, expected):
    items = sorted_items(*scores)
    assert tied_and_alike(items, TCopula.fitted(items)) == expected


def test_the_percentile_interval_is_that_of_items_drawn_with_replacement():
    scores = levels(alike(0.98))
    gold, first, second = scores
    found = interval(sorted_items(*scores), n_resamples=4_000, level=0.8)[1]
    rng = np.random.default_rng(1)
    differences = []
    for _ in range(1_000):
        drawn = rng.integers(0, gold.size, gold.size)
        row = sorted_items(gold[drawn], first[drawn], second[drawn])
        differences.append(np.subtract(*row.coefficients(np.ones((1, gold.size), np.int32))[0]))
    tail = scipy.stats.norm.cdf(scipy.stats.t.ppf(0.1, 62))
    ends = np.quantile(differences, [tail, 1 - tail])
    # A tenth has a standard error of 0.06 standard deviations: 0.3 / (0.175 * sqrt(1,000)), and half of it with 4,000.
    assert_allclose((found.low, found.high), ends, rtol=0, atol=0.25 * np.std(differences))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n_items", [6, 20, 200])
def test_the_level_has_the_quantiles_of_student(level, n_items):
    found = students_level(level, n_items)
    distance = min(scipy.stats.t.ppf((1 + level) / 2, n_items - 3), 6.0)
    assert_allclose(scipy.stats.norm.ppf((1 + found) / 2), distance, rtol=1e-6)


def test_the_level_is_below_one_and_not_below_the_given_one():
    assert 0.95 < students_level(0.95, 2) < 1
    assert students_level(1 - 1e-12, 10) == 1 - 1e-12


@pytest.mark.needs_numba
def test_intervals_of_equally_good_systems_with_five_levels_seldom_exclude_0():
    excluded = 0
    for seed in range(40):
        found = interval(sorted_items(*levels(alike(0.9, seed, 40))), seed=seed)[1]
        excluded += not found.low <= 0 <= found.high
    assert excluded <= scipy.stats.binom.ppf(0.999, 40, 0.05)


@pytest.mark.real_data
def test_interval_and_test_agree_on_rg65(data_dir):
    columns = np.genfromtxt(data_dir / "EN-RG-65_wordnet30.tsv", delimiter="\t", names=True)
    found = compare_systems(*(columns[name] for name in ("gold", "path", "wup")))
    assert 0.03 < found.pvalue < 0.06
    assert -0.01 < found.low < 0.01
    assert found.high < 0.1
