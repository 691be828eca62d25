"""The permutation test: p-values against scipy's and under the null hypothesis, and its kernel."""

import collections
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import TauW, TopK, UndefinedCorrelationWarning, WeightError, weighted_rho, weighted_tau
from rankcorr._coefficients import named_coefficient
from rankcorr.inference._null import null_distribution, permutation_test
from rankcorr.inference._resampling_kernels import permuted_rows
from tests.rankcorr.inference.cases import numpy_rho, scipy_tau
from tests.strategies import distinguishing_pairs

ALTERNATIVES = ["two-sided", "greater", "less"]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("coefficient", "peer"), [("tau_w", scipy_tau), ("rho_w", numpy_rho)])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([5, 4, 3, 2, 1], [4, 5, 2, 3, 1]),
        ([5, 4, 3, 2, 1], [1, 2, 4, 3, 5]),
        ([3, 3, 2, 2, 1], [5, 3, 3, 4, 1]),
        ([1, 2, 2, 2, 3], [5, 4, 4, 1, 1]),
    ],
)
def test_exact_pvalues_are_those_of_scipy(x, y, coefficient, peer, alternative):
    for n0 in (0.0, 2.0):
        a, b = (scipy.stats.rankdata(-np.array(scores)) for scores in (x, y))
        options = {"permutation_type": "pairings", "vectorized": False, "n_resamples": math.inf}
        statistic = lambda permuted, a=a, n0=n0: peer(a, permuted, n0)  # noqa: E731
        expected = scipy.stats.permutation_test((b,), statistic, **options, alternative=alternative)
        test = permutation_test(x, y, coefficient=named_coefficient(coefficient, n0=n0), alternative=alternative)
        assert test.null.exact
        assert test.pvalue == pytest.approx(expected.pvalue, rel=1e-14, abs=0)
        assert test.statistic == pytest.approx(expected.statistic, rel=0, abs=1e-13)


@given(distinguishing_pairs(7), st.sampled_from(["tau_w", "rho_w", "tau", "rho"]), st.sampled_from(ALTERNATIVES))
def test_the_parts_are_those_of_the_separate_calls(pair, coefficient, alternative):
    test = permutation_test(*pair, coefficient=coefficient, alternative=alternative)
    null = null_distribution(*pair, coefficient=coefficient)
    assert test.null.values.tolist() == null.values.tolist()
    assert test.pvalue == null.pvalue(test.statistic, alternative)
    assert test.standardized == null.standardize(test.statistic)
    assert test.percentile == null.percentile(test.statistic)
    assert test.zscore == null.zscore(test.statistic)
    assert 0 < test.pvalue <= 1  # the rankings themselves are one of the permutations
    if coefficient.endswith("_w"):
        assert test.statistic == {"tau_w": weighted_tau, "rho_w": weighted_rho}[coefficient](*pair).statistic


def test_a_ranking_against_itself_and_its_reverse():
    x = np.arange(40)
    same, reverse = permutation_test(x, x, n_resamples=199), permutation_test(x, -x, n_resamples=199)
    assert (same.statistic, same.standardized, same.pvalue) == (1, 1, 2 / 200)
    assert (reverse.statistic, reverse.standardized, reverse.pvalue) == (-1, -1, 2 / 200)
    assert permutation_test(x, -x, n_resamples=199, alternative="greater").pvalue == 1


# Unrelated rankings have uniform p-values


def scores(rng, kind, n_items):
    return rng.integers(1, 6, n_items) if kind == "Likert" else rng.permutation(n_items)


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("n_items", "n_draws", "kind", "coefficient"),
    [
        (20, 500, "Likert", "tau_w"),
        (20, 500, "untied", "rho_w"),
        pytest.param(20, 500, "untied", "tau_w", marks=pytest.mark.figures),
        pytest.param(20, 500, "Likert", "rho_w", marks=pytest.mark.figures),
        pytest.param(200, 300, "untied", "tau_w", marks=pytest.mark.figures),
        pytest.param(200, 300, "untied", "rho_w", marks=pytest.mark.figures),
        pytest.param(200, 300, "Likert", "tau_w", marks=pytest.mark.figures),
        pytest.param(200, 300, "Likert", "rho_w", marks=pytest.mark.figures),
    ],
)
def test_pvalues_are_uniform_by_chance(n_items, n_draws, kind, coefficient):
    rng = np.random.default_rng(42)
    pvalues = {alternative: [] for alternative in ALTERNATIVES}
    for draw in range(n_draws):
        # Another seed for each draw: shared permutations would give all draws the same error.
        x, y = scores(rng, kind, n_items), scores(rng, kind, n_items)
        test = permutation_test(x, y, coefficient=coefficient, n_resamples=199, seed=draw, workers=1)
        for alternative, values in pvalues.items():
            values.append(test.null.pvalue(test.statistic, alternative))
    for values in pvalues.values():
        assert scipy.stats.kstest(values, "uniform").pvalue > 0.01


# Undefined values, errors, and the result


@pytest.mark.parametrize("n_items", [4, 12])
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
def test_a_single_tie_has_no_pvalue(coefficient, n_items):
    for pair in ([[1] * n_items, range(n_items)], [range(n_items), [1] * n_items]):
        with pytest.warns(UndefinedCorrelationWarning, match="all items that have weight are tied") as caught:
            test = permutation_test(*pair, coefficient=coefficient, n_resamples=20)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        figures = (test.statistic, test.pvalue, test.standardized, test.percentile, test.zscore, test.null.mean)
        assert np.isnan(figures).all()


def test_undefined_permutations_are_left_out_with_one_warning():
    # In C(3, 2) of C(4, 2) cases, the two items with weight are both among the three tied ones.
    coefficient = TauW(weigher=TopK(2), scheme="first")
    with pytest.warns(UndefinedCorrelationWarning, match="in 12 of 24 permutations, which are left out") as caught:
        test = permutation_test([4, 3, 2, 1], [5, 1, 1, 1], coefficient=coefficient, alternative="greater")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (test.statistic, test.pvalue) == (1, 0.5)


def test_a_pair_without_any_weight_is_an_error():
    with pytest.raises(WeightError, match="all weights are zero"):
        permutation_test([4, 3, 2, 1], [1, 2, 3, 4], coefficient=TauW(weigher=TopK(2), scheme="multiplicative"))


def test_an_offset_near_minus_1_has_no_standardized_value():
    gold, system = range(30), [1, 0, *range(2, 30)]
    with pytest.warns(UndefinedCorrelationWarning, match="the standardized value is undefined: chance values"):
        test = permutation_test(gold, system, coefficient=TauW(n0=-0.9), n_resamples=200)
    assert math.isnan(test.standardized)
    assert (test.percentile, test.zscore) == (test.null.percentile(test.statistic), test.null.zscore(test.statistic))
    assert np.isfinite([test.pvalue, test.percentile, test.zscore]).all()


def test_other_options_reach_the_null_distribution():
    steps = []
    x, y = {"a": 3, "b": 2, "c": 1}, {"b": 2, "a": 1, "d": 0}
    test = permutation_test(x, y, missing="bottom", n_resamples=3, progress=steps.append)
    assert (test.null.missing, sum(steps)) == ("bottom", 24)

    first, second = (permutation_test(range(9), range(9), n_resamples=9, seed=seed) for seed in (1, 2))
    assert first.null.values.tolist() != second.null.values.tolist()


def permute_rows(seed, ranks, n_rows):
    rows = np.empty((n_rows, len(ranks)))
    ranks = np.array(ranks, float)
    ranks.flags.writeable = False
    permuted_rows(np.random.default_rng(seed), ranks, rows)
    return rows


def test_rows_are_permutations_and_all_are_equally_likely():
    counts = collections.Counter(map(tuple, permute_rows(0, [1, 2, 3, 4], 24_000).tolist()))
    assert set(counts) == set(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 0.01


def test_every_item_is_equally_likely_at_every_place():
    rows = permute_rows(1, range(50), 5_000)
    assert (np.sort(rows) == np.arange(50)).all()
    table = np.array([np.bincount(column.astype(int), minlength=50) for column in rows.T])
    # Rows and columns have fixed sums, and so 49 * 49 degrees of freedom; the statistic shrinks by 49/50 for it.
    statistic = ((table - 100) ** 2 / 100).sum() * 49 / 50
    assert 0.005 < scipy.stats.chi2(49 * 49).cdf(statistic) < 0.995


def test_permutations_keep_tied_ranks():
    assert (np.sort(permute_rows(2, [1.5, 1.5, 3, 4.5, 4.5], 20)) == [1.5, 1.5, 3, 4.5, 4.5]).all()


def test_plain_python_gives_the_same_numbers():
    plain = getattr(permuted_rows, "py_func", permuted_rows)
    rows = np.empty((5, 30))
    plain(np.random.default_rng(3), np.arange(30.0), rows)
    assert rows.tolist() == permute_rows(3, range(30), 5).tolist()
