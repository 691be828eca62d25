"""Resampled coefficients are those of the resample ranked anew; intervals are those of scipy; coverage is measured."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import (
    OptionError,
    Ranking,
    TauW,
    TooFewItemsError,
    TopK,
    UndefinedCorrelationWarning,
    weighted_rho,
    weighted_tau,
)
from rankcorr._coefficients import COEFFICIENTS
from rankcorr._weights import SCHEMES
from rankcorr.inference import _bootstrap as bootstrap
from rankcorr.inference._bootstrap import METHODS, bootstrap_interval, percentile_interval, resampled
from rankcorr.inference._resampling import Draws, derived_seed
from tests import naive
from tests.coefficients import collapsed
from tests.rankcorr.inference.cases import sorted_items
from tests.strategies import TIED_WEIGHT, scores, weighings

COEFFICIENT = pytest.mark.parametrize("coefficient", COEFFICIENTS)


def counts_of(x, counts):
    """Counts in the order in which `SortedItems` holds the items."""
    return np.array(counts, np.int32)[..., Ranking.from_scores(x).best_first]


@given(
    st.integers(2, 10).flatmap(
        lambda n: st.tuples(scores(n), scores(n), scores(n), st.lists(st.integers(0, n - 1), min_size=1, max_size=n))
    ),
    weighings(),
    st.sampled_from(SCHEMES),
    TIED_WEIGHT,
    st.sampled_from(["a", "b"]),
)
def test_resampled_coefficients_are_the_double_sum_over_the_resample(case, weighing, scheme, tied, variant):
    x, y, z, draws = case
    options, f = weighing
    counts = np.bincount(draws, minlength=x.size)
    for coefficient, variants in (("rho_w", {}), ("tau_w", {"variant": variant})):
        items = sorted_items(x, y, z, coefficient=coefficient, **options, scheme=scheme, tied_weights=tied, **variants)
        found = items.coefficients(counts_of(x, [counts]))[0]
        for other, value in zip((y, z), found, strict=True):
            a, b = (naive.midranks(np.repeat(values, counts)) for values in (x, other))
            try:
                weights = naive.item_weights(a, b, f, scheme, tied)
            except ZeroDivisionError:  # no item of the resample has weight
                assert math.isnan(value)
                continue
            expected = naive.weighted_rho(a, b, weights) if not variants else naive.weighted_tau(a, b, weights, variant)
            assert_allclose(value, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("levels", [5, 10**9])
@pytest.mark.parametrize("n_items", [7, 8, 9, 63, 64, 65, 600])
def test_trees_of_several_levels(n_items, levels):
    rng = np.random.default_rng(n_items)
    x, y = rng.integers(0, levels, (2, n_items)).astype(float)
    items = sorted_items(x, y)
    found = items.coefficients(counts_of(x, np.ones((1, n_items))))
    assert_allclose(found[0, 0], weighted_tau(x, y).statistic, rtol=0, atol=1e-13)


@COEFFICIENT
def test_scipy_bootstrap_of_the_same_resamples(coefficient):
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = np.round(x + rng.normal(size=40), 1)

    def peer(x, y):
        function = weighted_rho if coefficient.startswith("rho") else weighted_tau
        return function(x, y, **({} if coefficient.endswith("_w") else {"weigher": lambda ranks: ranks**0})).statistic

    items = sorted_items(x, y, coefficient=coefficient)
    values = resampled(items, Draws(500, 7))[:, 0]
    ours = SimpleNamespace(bootstrap_distribution=values)
    options = {"paired": True, "vectorized": False, "method": "percentile", "confidence_level": 0.9}
    expected = scipy.stats.bootstrap((x, y), peer, n_resamples=0, bootstrap_result=ours, **options)
    options = {"method": "percentile", "level": 0.9, "n_resamples": 500, "seed": 7, "workers": 1}
    found = bootstrap_interval(x, y, coefficient=coefficient, **options)
    assert_allclose(found.statistic, peer(x, y), rtol=0, atol=1e-14)
    assert_allclose((found.low, found.high), expected.confidence_interval, rtol=0, atol=1e-12)
    assert_allclose(found.standard_error, expected.standard_error, rtol=1e-12)
    assert found.low < found.statistic < found.high
    assert (found.n_resamples, found.n_undefined, found.n_items, found.level) == (500, 0, 40, 0.9)


def test_every_item_is_drawn_with_the_same_chance():
    rng = np.random.default_rng(0)
    counts = sorted_items(np.arange(10.0), np.arange(10.0)).drawn(rng, 5_000)
    assert_array_equal(counts.sum(axis=1), 10)
    # 50,000 draws; a chi-square of 9 degrees of freedom exceeds 27.9 with probability 0.001.
    assert scipy.stats.chisquare(counts.sum(axis=0)).statistic < 27.9
    # Binomial(10, 1/10) has variance 0.9, within 5 standard errors of the estimate.
    assert_allclose(counts.var(axis=0).mean(), 0.9, rtol=0, atol=0.03)


@pytest.mark.needs_numba
def test_the_same_call_gives_the_same_answer_whatever_the_workers():
    x, y = np.random.default_rng(2).normal(size=(2, 500))
    found = [bootstrap_interval(x, y, n_resamples=300, workers=workers) for workers in (1, 2, 3, None)]
    assert all(each == found[0] for each in found)
    assert bootstrap_interval(x, y, n_resamples=300, seed=1) != found[0]


@pytest.mark.needs_numba
@pytest.mark.parametrize(("method", "expected"), [("copula", 1_000), ("percentile", 100)])
def test_progress_counts_resamples(method, expected):
    done = []
    x, y = np.random.default_rng(2).normal(size=(2, 2_000))
    found = bootstrap_interval(x, y, method=method, n_resamples=100, progress=done.append)
    assert sum(done) == found.n_resamples == expected
    assert len(done) > 1


def test_the_result_says_what_was_computed():
    x, y = np.random.default_rng(0).normal(size=(2, 20))
    found = bootstrap_interval(x, y, coefficient=TauW(n0=5, scheme="first"), method="percentile", n_resamples=50)
    assert (found.coefficient, found.n0, found.scheme, found.variant, found.missing) == ("tau_w", 5, "first", "b", None)
    assert repr(found).startswith(f"BootstrapInterval(statistic={found.statistic!r}, ")
    assert "n_undefined=0" in repr(found)


def test_labels_are_matched_and_missing_items_counted():
    rng = np.random.default_rng(4)
    x, y = ({f"i{i}": v for i, v in enumerate(rng.normal(size=30))} for _ in range(2))
    shuffled = dict(sorted(y.items(), key=lambda item: item[1]))
    assert bootstrap_interval(x, shuffled, n_resamples=50) == bootstrap_interval(x, y, n_resamples=50)
    less = {label: y[label] for label in list(y)[:25]}
    both = bootstrap_interval({label: x[label] for label in less}, less, n_resamples=50)
    found = bootstrap_interval(x, less, missing="intersection", n_resamples=50)
    assert (found.low, found.high, found.n_items, found.n_missing) == (both.low, both.high, 25, 5)
    assert bootstrap_interval(x, less, missing="bottom", n_resamples=50).n_items == 30


@COEFFICIENT
def test_a_ranking_with_itself_has_no_width(coefficient):
    x = np.random.default_rng(0).normal(size=30)
    found = bootstrap_interval(x, x, coefficient=coefficient, method="percentile", n_resamples=100)
    assert_allclose((found.statistic, found.low, found.high), 1, rtol=1e-15)
    assert_allclose(found.standard_error, 0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_ranking_has_no_interval(method):
    message = "all items that have weight are tied in one ranking"
    with pytest.warns(UndefinedCorrelationWarning, match=message) as caught:
        found = bootstrap_interval([1, 1, 1], [1, 2, 3], method=method, n_resamples=1_000)
    assert np.isnan([found.statistic, found.low, found.high, found.standard_error]).all()
    assert found.n_undefined == found.n_resamples == 1_000
    assert caught[0].filename == __file__


def test_undefined_resamples_are_left_out_and_counted():
    # Two items: a resample holds both with probability 1/2.
    with pytest.warns(UndefinedCorrelationWarning, match=r"in \d+ of 1,000 resamples, which are left out") as caught:
        found = bootstrap_interval([2, 1], [2, 1], method="percentile", n_resamples=1_000)
    assert (found.low, found.high) == (1, 1)
    assert abs(found.n_undefined - 500) < 5 * math.sqrt(250)
    assert caught[0].filename == __file__


def test_resamples_without_weight_are_undefined():
    # The top rank alone has weight; where its item is drawn twice, no item has rank 1.
    top = TauW(weigher=TopK(1))
    with pytest.warns(UndefinedCorrelationWarning, match="resamples, which are left out"):
        found = bootstrap_interval([3, 2, 1], [2, 3, 1], coefficient=top, method="percentile", n_resamples=200)
    assert 0 < found.n_undefined < 200


def test_all_resamples_may_be_undefined():
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        found = [bootstrap_interval([2, 1], [2, 1], method="percentile", n_resamples=1, seed=seed) for seed in range(8)]
    alone = [each for each in found if each.n_undefined]
    assert 0 < len(alone) < 8
    assert all(np.isnan([each.low, each.high, each.standard_error]).all() for each in alone)
    assert all(each.statistic == 1 for each in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, "n_resamples must be a positive whole number; got 0"),
        ({"level": 1.0}, "level must be a number between 0 and 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"method": "bca"}, "method must be one of 'copula', 'percentile'; got 'bca'"),
        ({"workers": 0}, "workers must be a positive whole number"),
        ({"missing": "drop"}, "missing must be one of"),
    ],
)
def test_invalid_options(options, message):
    with pytest.raises(OptionError, match=message):
        bootstrap_interval([1, 2, 3], [1, 3, 2], **collapsed(**options))


def test_rankings_without_items_in_common():
    with pytest.raises(TooFewItemsError, match="at least two labels in common"):
        bootstrap_interval({"a": 1, "b": 2}, {"c": 1, "d": 2}, missing="intersection")


def test_parts_of_a_computation_draw_from_seeds_of_their_own():
    seeds = {derived_seed(0), derived_seed(0, 0), derived_seed(0, 1), derived_seed(0, 0, 1), derived_seed(1, 0), 0}
    assert len(seeds) == 6


def test_no_values_no_interval():
    assert np.isnan(percentile_interval(np.array([]), 0.95)).all()
    assert math.isnan(bootstrap.standard_error(np.array([0.5])))


def normal(rng, n_items):
    x = rng.standard_normal(n_items)
    return x, 0.5 * x + np.sqrt(0.75) * rng.standard_normal(n_items)


def likert(rng, n_items):
    return tuple(np.digitize(scores, [-1.2, -0.4, 0.4, 1.2]).astype(float) for scores in normal(rng, n_items))


@COEFFICIENT
@pytest.mark.parametrize("n_items", [2, 3, 5, 30])
def test_perfect_agreement_is_possible_by_chance(coefficient, n_items):
    x = np.arange(float(n_items))
    found = bootstrap_interval(x, x, coefficient=coefficient, n_resamples=1_000)
    assert found.statistic == 1
    assert found.high == 1
    assert found.low < 1 - 1e-9
    assert found.n_undefined == 0
    if n_items == 2:
        # The mid-P limit: two items agree with probability 0.05, and the mean is 0.05 - 0.95.
        assert found.low == pytest.approx(-0.9, abs=0.08)
    reversed_ = bootstrap_interval(x, -x, coefficient=coefficient, n_resamples=1_000)
    assert reversed_.low == pytest.approx(-1, abs=1e-12)
    assert reversed_.high > -1 + 1e-9


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(scores(n), scores(n))))
def test_an_interval_from_few_items_is_one(case):
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        found = bootstrap_interval(*case, n_resamples=400, workers=1)
    if not math.isnan(found.statistic):
        assert -1 <= found.low <= found.high <= 1


def test_drawn_resamples_without_weight_are_undefined():
    # The top rank alone has weight: it is 0 where two items of the five tie there, as in the data they may.
    with pytest.warns(UndefinedCorrelationWarning, match="resamples, which are left out"):
        found = bootstrap_interval([3, 2, 1, 1, 0], [2, 3, 1, 1, 0], coefficient=TauW(weigher=TopK(1)), n_resamples=500)
    assert 0 < found.n_undefined < found.n_resamples


# Mean over samples of 50 items, printed by benchmarks/interval_coverage.py from 4,000 of them: its standard error is at
# most 0.01. The documented coverage is 0.92 to 0.97; from 120 data sets fewer than 0.87 have a probability below 0.005.
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("design", "coefficient", "truth", "n_samples", "least"),
    [
        (normal, "tau_w", 0.055, 120, 0.87),
        pytest.param(normal, "tau", 0.336, 1_000, 0.925, marks=pytest.mark.figures),
        pytest.param(normal, "rho_w", 0.174, 1_000, 0.925, marks=pytest.mark.figures),
        pytest.param(likert, "rho_w", 0.158, 1_000, 0.925, marks=pytest.mark.figures),
    ],
)
def test_the_documented_coverage(design, coefficient, truth, n_samples, least):
    covered = 0
    for seed in range(n_samples):
        x, y = design(np.random.default_rng([4, seed]), 50)
        found = bootstrap_interval(x, y, coefficient=coefficient, n_resamples=1_000, seed=seed, workers=1)
        covered += found.low <= truth <= found.high
    assert least <= covered / n_samples <= 0.99
