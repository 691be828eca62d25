"""The coefficients against their oracles and values of the paper; undefined values; errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rankcorr
from rankcorr import (
    Hyperbolic,
    OptionError,
    Ranking,
    TauW,
    TopK,
    UndefinedCorrelationWarning,
    Uniform,
    correlate,
    correlate_many,
    item_weights,
    kendall_gamma,
    weighted_rho,
    weighted_tau,
)
from rankcorr._coefficients import Rho, named_coefficient
from rankcorr.measures import krippendorff_alpha, tau_ap, top_down_correlation, vigna_tau
from tests import naive
from tests.rankcorr.inference.cases import numpy_rho, scipy_tau
from tests.results import statistic_of
from tests.strategies import N0S, SCHEME, TIED_WEIGHT, distinguishing_pairs, tied_pairs, tied_scores, weighings

COEFFICIENTS = pytest.mark.parametrize("coefficient", [weighted_rho, weighted_tau])


@given(tied_pairs(), weighings(), SCHEME, TIED_WEIGHT, st.sampled_from(["a", "b"]))
def test_both_coefficients_equal_the_double_sum_of_eq_7(pair, weighing, scheme, tied_weights, variant):
    options, f = weighing
    a, b = (naive.midranks(scores) for scores in pair)
    assume(any(naive.rank_weights(a, f, tied_weights)) and any(naive.rank_weights(b, f, tied_weights)))
    if scheme == "multiplicative":
        assume(any(p * q for p, q in zip(*(naive.rank_weights(r, f, tied_weights) for r in (a, b)), strict=True)))
    weights = naive.item_weights(a, b, f, scheme, tied_weights)
    options = {**options, "scheme": scheme, "tied_weights": tied_weights}
    tau_w = statistic_of(weighted_tau, *pair, **options, variant=variant)
    assert_allclose(tau_w, naive.weighted_tau(a, b, weights, variant), rtol=0, atol=1e-12)
    assert_allclose(item_weights(*pair, **options), weights, rtol=1e-12)


@given(distinguishing_pairs(40), N0S)
def test_scipy_weightedtau_with_the_same_weights(pair, n0):
    weights = item_weights(*pair, n0=n0)
    peer = scipy.stats.weightedtau(*pair, rank=np.arange(weights.size), weigher=lambda i: weights[i], additive=False)
    assert_allclose(weighted_tau(*pair, n0=n0).statistic, peer[0], rtol=0, atol=1e-12)


@given(distinguishing_pairs(40), N0S)
def test_numpy_cov_with_the_same_weights(pair, n0):
    a, b = (Ranking.from_scores(scores).ranks for scores in pair)
    moments = np.cov(a, b, aweights=item_weights(*pair, n0=n0), ddof=0)
    peer = moments[0, 1] / math.sqrt(moments[0, 0] * moments[1, 1])
    assert_allclose(weighted_rho(*pair, n0=n0).statistic, peer, rtol=0, atol=1e-12)


@given(tied_pairs(), st.sampled_from([np.sign, np.asarray]))
def test_gamma_is_eq_7(pair, difference):
    matrices = [difference(scores[np.newaxis] - scores[:, np.newaxis]) for scores in pair]
    assert_allclose(statistic_of(kendall_gamma, *matrices), naive.gamma(*matrices), rtol=0, atol=1e-14)


def test_gamma_of_huge_and_tiny_entries():
    assert kendall_gamma([[0, 1e300], [-1e300, 0]], [[0, 1e-300], [-1e-300, 0]]).statistic == 1


def check_three_oracles(x, y, n0, rho_w, tau_w):
    a, b = (scipy.stats.rankdata(-scores) for scores in (x, y))
    weights = 1 / (a + n0) ** 2 + 1 / (b + n0) ** 2
    root = np.sqrt(np.outer(weights, weights))
    for statistic, difference in ((rho_w, np.asarray), (tau_w, np.sign)):
        p, q = (root * difference(ranks[np.newaxis] - ranks[:, np.newaxis]) for ranks in (a, b))
        assert abs(statistic - (p * q).sum() / math.sqrt((p * p).sum() * (q * q).sum())) < 1e-12
    assert abs(tau_w - scipy_tau(a, b, n0)) < 1e-12
    assert abs(rho_w - numpy_rho(a, b, n0)) < 1e-12


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "gold", "systems", "spearman"),
    [  # the Spearman correlations are those that the data set's own description states
        ("EN-RG-65_wordnet30.tsv", "gold", ("lch", "path", "wup"), 0.781),
        ("EN-WS-353-SIM_wordnet30.tsv", "gold", ("lch", "path", "wup"), 0.618),
        ("russe_hj_vs_mj.csv", "hj", ("mj",), 0.789),
    ],
)
def test_real_files_against_three_oracles(data_dir, file, gold, systems, spearman):
    delimiter = "\t" if file.endswith("tsv") else ","
    table = np.genfromtxt(data_dir / file, delimiter=delimiter, names=True, dtype=None, encoding="utf-8", comments=None)
    scored = ~np.any([np.isnan(table[name]) for name in (gold, *systems)], axis=0)
    assert (~scored).sum() == (2 if "WS-353" in file else 0)  # two pairs have words that are not in WordNet 3.0
    table = table[scored]
    for system in systems:
        x, y = table[gold].astype(float), table[system].astype(float)
        for n0 in (0.0, 2.0, 10.0):
            check_three_oracles(x, y, n0, weighted_rho(x, y, n0=n0).statistic, weighted_tau(x, y, n0=n0).statistic)
    plain = weighted_rho(table[gold], table[systems[0]], weigher=Uniform()).statistic
    assert round(plain, 3) == spearman


def test_many_likert_scores_keep_twelve_digits():
    # The exact value comes from the 5 x 5 contingency table, whose cells hold integer counts.
    rng = np.random.default_rng(7)
    x = rng.integers(0, 5, 20_000)
    y = np.clip(x + rng.integers(-1, 2, x.size), 0, 4)
    a, b = (scipy.stats.rankdata(-scores) for scores in (x, y))
    counts = {(p, q): int(((a == p) & (b == q)).sum()) for p in set(a) for q in set(b)}
    mass = {cell: count * (1 / (cell[0] + 2) ** 2 + 1 / (cell[1] + 2) ** 2) for cell, count in counts.items()}
    pairs = [(mass[c] * mass[d], naive.sign(d[0] - c[0]), naive.sign(d[1] - c[1])) for c in mass for d in mass]
    sums = [math.fsum(w * p**i * q**j for w, p, q in pairs) for i, j in ((1, 1), (2, 0), (0, 2))]
    assert abs(weighted_tau(x, y).statistic - sums[0] / math.sqrt(sums[1] * sums[2])) < 1e-12


TOP = {"weigher": TopK(2), "scheme": "first"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weighted_tau([1, 1, 1], [3, 2, 1]), "the correlation is undefined"),
        (lambda: weighted_rho([1, 1, 1], [3, 2, 1]), "the correlation is undefined"),
        (lambda: weighted_tau([5, 4, 3, 2], [7, 7, 1, 0], **TOP), "tied in one ranking"),
        (lambda: weighted_rho([5, 4, 3, 2], [7, 7, 1, 0], **TOP), "tied in one ranking"),
        (lambda: TauW()([1, 2], [3, 3]), "tied in one ranking"),
        (lambda: Rho()([1, 2], [3, 3]), "tied in one ranking"),
        (lambda: kendall_gamma(np.zeros((2, 2)), np.ones((2, 2))), "all zero"),
        (lambda: next(iter(correlate([1, 2, 3], [4, 4, 4]).values())), "tied in one ranking"),
        (lambda: tau_ap([1, 2, 3], [1, 1, 1], ties="b"), "all items are tied in one ranking"),
        (lambda: vigna_tau([1, 2, 3], [5, 5, 5]), "all items are tied in one ranking"),
        (lambda: top_down_correlation([1, 2, 3], [5, 5, 5]), "all items are tied in one ranking"),
        (lambda: krippendorff_alpha([[1, 1, 2], [1, 1, math.nan]]), "all ratings of items with two ratings are equal"),
    ],
)
def test_undefined_coefficients_are_nan_with_one_warning_at_the_call(call, message):
    with pytest.warns(UndefinedCorrelationWarning, match=message) as caught:
        assert math.isnan(call())
    assert [warning.filename for warning in caught] == [__file__]


def test_the_result_records_its_options():
    gamma = kendall_gamma(np.ones((2, 2)), np.ones((2, 2)))
    assert repr(gamma) == "RankCorrelation(statistic=1.0, n_items=2, coefficient='gamma')"
    other = weighted_rho([3, 2, 1], [3, 1, 2], weigher=Hyperbolic())
    assert (other.coefficient, other.n0, other.weigher, other.variant) == ("rho_w", None, "Hyperbolic()", None)
    # 2 is the default, so it does not contradict a weigher.
    assert weighted_tau([3, 2, 1], [1, 2, 3], n0=2, weigher=Uniform()).n0 is None


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([[0, 1]], [[0, 1]], rankcorr.DimensionError, r"a_matrix must be square; got shape \(1, 2\)"),
        ([[0, 1], [2, 0]], [1, 2], rankcorr.DimensionError, r"b_matrix must be square; got shape \(2,\)"),
        (np.eye(2), np.eye(3), rankcorr.LengthError, "must have the same shape"),
        ([[0, 1], [2]], np.eye(2), rankcorr.DimensionError, "a_matrix must be square; its rows differ in length"),
        (np.eye(2), np.ma.masked_equal(np.eye(2), 0), rankcorr.MissingValueError, "b_matrix has masked entries"),
        ([[1]], [[1]], rankcorr.TooFewItemsError, "at least two items; got 1"),
        ([["a", "b"], ["c", "d"]], np.eye(2), rankcorr.NonNumericError, "entry of a_matrix must be a real number"),
        ([[0, math.nan], [0, 0]], np.eye(2), rankcorr.MissingValueError, r"a_matrix\[0, 1\] is nan"),
        (np.eye(2), [[0, 0], [math.inf, 0]], rankcorr.MissingValueError, r"b_matrix\[1, 0\] is inf"),
    ],
)
def test_invalid_matrices_are_refused(a, b, error, message):
    with pytest.raises(error, match=message):
        kendall_gamma(a, b)


# With steep weights and ties a difference of sums loses all digits; every sum must be made of positive terms.


def test_steep_weights_and_two_levels_of_y():
    # By hand: pairs within a level of y do not count, so tau_w of x descending is the mass of concordant pairs
    # over sqrt(mass of all pairs * mass of pairs across the levels), with 0.8^(r-1) weights of x alone.
    n_items, half = 400, 200
    x = np.arange(n_items, 0.0, -1)
    y = (x > half).astype(float)
    f = [Fraction(4, 5) ** k for k in range(n_items)]
    top, rest = sum(f[:half]), sum(f[half:])
    every = ((top + rest) ** 2 - sum(w * w for w in f)) / 2
    for sign, scores in ((1, y), (-1, 1 - y)):
        result = weighted_tau(x, scores, weigher=lambda ranks: 0.8 ** (ranks - 1), scheme="first").statistic
        exact = sign * math.sqrt(top * rest / every)
        assert result == pytest.approx(exact, rel=1e-12, abs=0)


@given(tied_pairs(15), st.sampled_from([-1 + 1e-14, -1 + 1e-10, -1 + 1e-6]), SCHEME, TIED_WEIGHT)
def test_an_offset_close_to_minus_1(pair, n0, scheme, tied_weights):
    a, b = (naive.midranks(scores) for scores in pair)
    offset = Fraction(n0)
    weights = naive.item_weights(a, b, lambda rank: 1 / (Fraction(rank) + offset) ** 2, scheme, tied_weights)
    sums = [
        sum(
            weights[i] * weights[j] * naive.sign(a[j] - a[i]) ** p * naive.sign(b[j] - b[i]) ** q
            for i in range(len(a))
            for j in range(i)  # the other half of the double sum is the same
        )
        for p, q in ((1, 1), (2, 0), (0, 2))
    ]
    ours = statistic_of(weighted_tau, *pair, n0=n0, scheme=scheme, tied_weights=tied_weights)
    if sums[1] * sums[2] == 0:
        assert math.isnan(ours)
    else:
        assert_allclose(ours, float(sums[0]) / math.sqrt(sums[1] * sums[2]), rtol=0, atol=1e-12)


@COEFFICIENTS
def test_weights_whose_products_are_too_small_for_a_float(coefficient):
    n_items = 600
    x = np.arange(n_items, 0.0, -1)
    y = -x
    y[:2] = y[1::-1]
    result = coefficient(x, y, weigher=lambda ranks: 0.5**ranks, scheme="multiplicative").statistic
    assert -1 < result < -0.999


def test_a_heavy_tie_keeps_its_digits():
    # All but the last item tied in y, weights of y alone: C, D and the norms by hand.
    n_items = 20_000
    rng = np.random.default_rng(0)
    x, y = rng.permutation(n_items).astype(float), np.ones(n_items)
    y[-1] = 0
    tied, last = 1 / (Fraction(n_items) / 2 + 2) ** 2, 1 / (Fraction(n_items) + 2) ** 2
    better = int((x > x[-1]).sum())
    numerator = tied * last * (better - (n_items - 1 - better))
    x_norm = tied**2 * ((n_items - 1) * (n_items - 2) // 2) + tied * last * (n_items - 1)
    y_norm = tied * last * (n_items - 1)
    exact = float(numerator) / math.sqrt(x_norm * y_norm)
    assert weighted_tau(x, y, scheme="second").statistic == pytest.approx(exact, rel=1e-12, abs=0)


@given(
    distinguishing_pairs(),
    st.sampled_from([{}, {"n0": 5.0}, {"weigher": Hyperbolic(), "scheme": "first"}, {"tied_weights": "expected"}]),
    st.sampled_from(["a", "b"]),
)
def test_several_coefficients_equal_single_calls_exactly(pair, options, variant):
    coefficients = [named_coefficient(name, variant=variant, **options) for name in ("rho_w", "tau_w", "rho", "tau")]
    results = correlate(*pair, coefficients=coefficients)
    assert list(results) == coefficients
    for coefficient, result in results.items():
        alone = correlate_many(pair[0], [pair[1]], coefficient=coefficient)
        assert result == coefficient(*pair) == alone.statistic[0]
        assert result.coefficient == coefficient.name


@pytest.mark.parametrize("names", [("tau", "rho"), iter(["tau", "rho"]), np.array(["tau", "rho"])])
def test_coefficients_may_be_in_any_sequence(names):
    assert list(correlate([1, 2, 3], [1, 3, 2], coefficients=names)) == ["tau", "rho"]


def test_coefficients_with_one_name_and_different_options():
    mixed = [TauW(n0=10), "tau_w", TauW(n0=0)]
    results = correlate({"a": 3, "b": 2, "c": 1}, {"a": 9, "b": 7, "d": 8}, coefficients=mixed, missing="bottom")
    assert list(results) == mixed
    assert [(result.n0, result.n_items, result.n_missing) for result in results.values()] == [
        (n0, 4, 2) for n0 in (10, 2, 0)
    ]


@pytest.mark.parametrize("coefficients", [[], "tau", ("tau", "tau"), ("tau_w", TauW()), 5, None])
def test_invalid_lists_of_coefficients_are_refused(coefficients):
    with pytest.raises(OptionError, match="coefficients must be a list of different coefficients; got"):
        correlate([1, 2], [1, 2], coefficients=coefficients)


def test_an_unknown_coefficient_is_refused():
    known = r"coefficient must be one of 'rho_w', 'tau_w', 'rho', 'tau', 'pearson', or a value such as .*"
    with pytest.raises(OptionError, match=f"{known}; got 'tau_x'"):
        correlate([1, 2], [1, 2], coefficients=["tau_x"])
    with pytest.raises(OptionError, match=r"coefficient must be one of .*; got \['tau'\]"):
        correlate([1, 2], [1, 2], coefficients=[["tau"]])


def test_errors_name_the_rankings_as_given():
    with pytest.raises(rankcorr.LabelMismatchError, match="labels in gold only: 'b'; labels in system only: 'c'"):
        correlate({"a": 1, "b": 2}, {"a": 1, "c": 2}, names=("gold", "system"))


BOTH = weighted_rho, weighted_tau


@given(tied_scores(40), N0S, SCHEME)
def test_the_value_of_a_ranking_with_itself_is_1(scores, n0, scheme):
    assume(np.ptp(scores) > 0)
    for coefficient in BOTH:
        assert_allclose(coefficient(scores, scores, n0=n0, scheme=scheme).statistic, 1, rtol=4e-16)


@given(tied_pairs(60), N0S, SCHEME)
def test_values_are_never_outside_minus_1_to_1(pair, n0, scheme):
    for coefficient in BOTH:
        value = statistic_of(coefficient, *pair, n0=n0, scheme=scheme)
        assert math.isnan(value) or -1 <= value <= 1
