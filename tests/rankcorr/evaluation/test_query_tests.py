import importlib
import itertools
import math

import numpy as np
import pytest
import scipy.stats

from rankcorr.evaluation.query_tests import TESTS, Means, QueryContest, effect_sizes, intervals, pvalues, studentized
from rankcorr.inference.leaderboard_groups import contested
from rankcorr.inference.resampling import Draws
from tests.distributions import ROOT

DRAWS = Draws(20_000, 0)


@pytest.fixture
def levels(monkeypatch):
    """The benchmark that measures the level."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # where the scripts find what they share
    return importlib.import_module("evaluation_levels")


def column(*values):
    return np.array(values, float)[:, np.newaxis]


def test_means_leave_out_what_is_not_there():
    found = Means.of(np.array([[1.0, math.nan, math.nan], [3.0, 2.0, math.nan], [5.0, math.nan, math.nan]]))
    np.testing.assert_allclose(found.means, [3.0, 2.0, math.nan])
    np.testing.assert_allclose(found.errors, [2 / math.sqrt(3), math.nan, math.nan])
    assert found.n.tolist() == [3, 1, 0]


def test_few_queries_take_every_sign():
    values = [0.3, -0.1, 0.5, 0.2, 0.4, 0.05]
    sums = [sum(s * v for s, v in zip(signs, values, strict=True)) for signs in itertools.product((1, -1), repeat=6)]
    wanted = np.mean([abs(total) >= sum(values) - 1e-12 for total in sums])
    assert pvalues(column(*values), "randomization", DRAWS)[0] == wanted
    assert pvalues(column(*values, math.nan), "randomization", DRAWS)[0] == wanted


def test_many_queries_draw_signs():
    rng = np.random.default_rng(0)
    values = rng.normal(0.3, 1, (40, 3)) * [1, 0.5, 0]
    values[::5, 1] = math.nan
    found = pvalues(values, "randomization", DRAWS)
    for place in range(2):
        known = values[~np.isnan(values[:, place]), place]
        wanted = scipy.stats.permutation_test(
            (known, np.zeros(known.size)),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            n_resamples=20_000,
            rng=1,
        ).pvalue
        assert found[place] == pytest.approx(wanted, abs=0.015)
    assert found[2] == 1.0
    again = pvalues(values[:, :1], "randomization", DRAWS)
    assert again[0] == found[0]  # the same signs, whatever stands beside it


def test_students_test_is_scipys():
    rng = np.random.default_rng(1)
    values = rng.normal(0.2, 1, (30, 2))
    values[3, 1] = math.nan
    wanted = scipy.stats.ttest_1samp(values, 0, nan_policy="omit").pvalue
    np.testing.assert_allclose(pvalues(values, "t", DRAWS), wanted, rtol=1e-12)


def test_the_bootstrap_agrees_with_students_test_for_normal_values():
    values = np.random.default_rng(2).normal(0.3, 1, (60, 1))
    wanted = scipy.stats.ttest_1samp(values[:, 0], 0)
    assert pvalues(values, "bootstrap", DRAWS)[0] == pytest.approx(wanted.pvalue, abs=0.01)
    low, high = intervals(values, studentized(values, DRAWS), 0.95)
    ends = wanted.confidence_interval(0.95)
    assert (low[0], high[0]) == pytest.approx((ends.low, ends.high), abs=0.03)


def test_an_interval_of_skewed_values_is_skewed():
    values = np.random.default_rng(3).exponential(1, (50, 1))
    low, high = intervals(values, studentized(values, DRAWS), 0.95)
    assert high[0] - values.mean() > 1.15 * (values.mean() - low[0])


def test_edges():
    equal = column(0.5, 0.5, 0.5, 0.5)
    low, high = intervals(equal, studentized(equal, DRAWS), 0.95)
    assert (low[0], high[0]) == (0.5, 0.5)
    assert math.isnan(effect_sizes(equal)[0])
    none = np.full((3, 1), math.nan)
    alone = column(0.5, math.nan, math.nan)
    for test in TESTS:
        assert math.isnan(pvalues(none, test, DRAWS)[0])
        assert pvalues(column(*[0.0] * 20), test, DRAWS)[0] == 1.0
    assert pvalues(alone, "randomization", DRAWS)[0] == 1.0
    assert math.isnan(pvalues(alone, "t", DRAWS)[0])
    assert np.isnan(intervals(alone, studentized(alone, DRAWS), 0.95)).all()
    few = column(0.5, 0.7, 0.1)
    assert np.isinf(intervals(few, studentized(few, DRAWS), 0.95)).all()
    assert effect_sizes(column(1.0, 2.0, 3.0))[0] == pytest.approx(2.0)


@pytest.mark.needs_numba
def test_runs_that_differ_are_told_apart_and_equal_ones_are_not():
    rng = np.random.default_rng(4)
    difficulty = rng.normal(0, 1, (200, 1))
    values = difficulty + rng.normal([0.5, 0.5, 0.0, 0.0], 0.3, (200, 4))
    values = values[:, np.argsort(-values.mean(axis=0))]
    plain, corrected, groups = contested(QueryContest(values, "randomization", Draws(2_000, 0)), 0.95)
    assert groups[0] == groups[1] == 1
    assert groups[2] == groups[3] == 2
    assert (corrected[1:] >= plain[1:]).all()
    assert corrected[3] < 0.01


def test_a_contest_is_over_the_queries_that_all_have():
    values = np.array([[1.0, 0.0, math.nan], [1.0, math.nan, 0.0]] * 5)
    contest = QueryContest(values, "randomization", Draws(200, 0))
    assert np.isnan(contest.corrected([0, 1, 2])).all()
    found, leads = contest.pvalues(0, [1, 2])
    assert leads.tolist() == [1.0, 1.0]
    assert found.tolist() == [2 / 2**5] * 2


@pytest.mark.figures
def test_the_level_is_kept(levels):
    for n_queries in levels.SIZES:
        found, held = levels.measured(n_queries, levels.TauW(), 2_000, 999, 1)
        assert ((found >= 0.03) & (found <= 0.06)).all(), (n_queries, found)
        assert 0.93 <= held <= 0.97


@pytest.mark.needs_numba
def test_the_level_is_about_kept_in_few_data_sets(levels):
    found, held = levels.measured(30, levels.TauW(), 200, 199, 1)
    assert (found < 0.11).all()
    assert held > 0.89
