"""The chance level: values against naive enumeration, the cache, undefined values, and the map g at 50 digits."""

import itertools
import math
import os
import tracemalloc
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import Hyperbolic, Ranking, TauW, TopK, UndefinedCorrelationWarning, Uniform, WeightError
from rankcorr._coefficients import named_coefficient
from rankcorr._input.numbers import ROUNDING
from rankcorr._weights import SCHEMES, TIED_WEIGHTS
from rankcorr.inference import _null as null_module
from rankcorr.inference._null import null_distribution
from rankcorr.inference._standardization import MAX_EXPONENT, RESOLUTION, exponent_of, mean_standardized, standardize
from tests import naive
from tests.rankcorr.inference.cases import numpy_rho, scipy_tau
from tests.results import with_coefficient
from tests.strategies import distinguishing_pairs, scores, tied_pairs, weighings

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
SCHEME = st.sampled_from(SCHEMES)


def null_without_warnings(x, y, **options):
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        return null_distribution(x, y, **with_coefficient(**options))


def naive_values(a, b, coefficient, f, scheme, tied_weights, variant):
    """Coefficient of a with every permutation of b; nan if it is undefined."""
    values = []
    for permuted in itertools.permutations(b):
        try:
            weights = naive.item_weights(a, permuted, f, scheme, tied_weights)
        except ZeroDivisionError:
            values.append(math.nan)
            continue
        statistic = naive.weighted_rho(a, permuted, weights)
        if coefficient in ("tau_w", "tau"):
            statistic = naive.weighted_tau(a, permuted, weights, variant)
        values.append(statistic)
    return np.array(values)


# The values


@given(
    tied_pairs(5),
    weighings(),
    SCHEME,
    st.sampled_from(TIED_WEIGHTS),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["tau_w", "rho_w", "tau", "rho"]),
)
def test_up_to_8_items_every_permutation_counts_once(pair, weighing, scheme, tied_weights, variant, coefficient):
    options, f = weighing if coefficient.endswith("_w") else ({}, lambda _: 1.0)
    kwargs = {"coefficient": coefficient, "scheme": scheme, "tied_weights": tied_weights, "variant": variant, **options}
    null = null_without_warnings(*pair, workers=1, **with_coefficient(**kwargs))
    a, b = (naive.midranks(scores) for scores in pair)
    expected = naive_values(a, b, coefficient, f, scheme, tied_weights, variant)
    defined = np.sort(expected[~np.isnan(expected)])
    assert (null.exact, null.n_resamples) == (True, math.factorial(len(a)))
    assert null.n_undefined == np.isnan(expected).sum()
    assert_allclose(null.values, defined, rtol=0, atol=1e-12)
    if defined.size:
        assert_allclose([null.mean, null.std], [defined.mean(), defined.std()], rtol=0, atol=1e-12)


@pytest.mark.needs_numba
def test_8_items_are_exact_and_9_are_not():
    assert null_distribution(range(8), range(8)).values.size == math.factorial(8)
    null = null_distribution(range(9), range(9), n_resamples=50)
    assert (null.exact, null.values.size, null.n_resamples) == (False, 50, 50)


@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
def test_random_permutations_agree_with_all_of_them(monkeypatch, coefficient):
    x, y = [1, 2, 2, 3, 4, 4], [6, 5, 5, 5, 2, 1]
    exact = null_distribution(x, y, coefficient=coefficient)
    monkeypatch.setattr(null_module, "MAX_EXACT_ITEMS", 5)
    approximate = null_distribution(x, y, coefficient=coefficient, n_resamples=5_000)
    assert not approximate.exact
    assert abs(approximate.mean - exact.mean) < 4 * exact.std / math.sqrt(5_000)
    # Kolmogorov's 99.9 % bound for the distance to a fixed distribution function.
    steps = np.unique(exact.values.round(9)) + 1e-9
    shares = [np.searchsorted(null.values, steps) / null.values.size for null in (exact, approximate)]
    assert np.abs(shares[0] - shares[1]).max() < 1.95 / math.sqrt(5_000)


@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("coefficient", "mean"),
    # About -0.60 is the paper's setting, 990 items and n0 = 2; both figures come from 200,000 permutations.
    [("rho_w", -0.598), pytest.param("tau_w", -0.508, marks=pytest.mark.figures)],
)
def test_chance_level_of_990_items(coefficient, mean):
    null = null_distribution(range(990), range(990), coefficient=coefficient, n_resamples=4_000)
    assert abs(null.mean - mean) < 4 * null.std / math.sqrt(4_000)
    rng = np.random.default_rng(20)
    a, peer = np.arange(1.0, 991), {"rho_w": numpy_rho, "tau_w": scipy_tau}[coefficient]
    peers = [peer(a, rng.permutation(a), 2) for _ in range(200)]
    assert abs(null.mean - np.mean(peers)) < 4 * null.std * math.sqrt(1 / 4_000 + 1 / 200)


def test_without_ties_the_values_are_a_function_of_the_length():
    rng = np.random.default_rng(0)
    first = null_distribution(rng.permutation(30), rng.standard_normal(30), n_resamples=100)
    null_module.cache_slot.cache_clear()
    second = null_distribution(range(30), range(30), n_resamples=100)
    assert first.values.tolist() == second.values.tolist()
    assert first.exponent == second.exponent


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(random):
    x, y = [random.randint(0, 4) for _ in range(12)], [random.randint(0, 4) for _ in range(12)]
    expected = null_without_warnings(x, y, n_resamples=20).values.tolist()
    random.shuffle(x)
    assert null_without_warnings(x, y, n_resamples=20).values.tolist() == expected


# Cache and progress


@pytest.fixture
def permutation_counts(monkeypatch):
    """Number of permutations computed by each call; the cache is empty at first."""
    null_module.cache_slot.cache_clear()
    sizes = []
    compute = null_module._values

    def count_permutations(coefficient, x, y, draws, **options):
        sizes.append(draws.n_resamples)
        return compute(coefficient, x, y, draws, **options)

    monkeypatch.setattr(null_module, "_values", count_permutations)
    return sizes


def test_distributions_are_cached_by_length(permutation_counts):
    rng = np.random.default_rng(0)
    first = null_distribution(rng.permutation(20), rng.permutation(20), n_resamples=99, workers=1)
    second = null_distribution(rng.permutation(20), rng.permutation(20), n_resamples=99, workers=2)
    assert permutation_counts == [99]
    assert second.values is first.values
    null_distribution(range(5), range(5), seed=1)
    null_distribution(range(5), range(5), seed=2, n_resamples=7)
    assert permutation_counts == [99, 120]
    null_distribution(range(20), range(20), coefficient=TauW(n0=3), n_resamples=99)
    null_distribution(range(20), range(20), n_resamples=99, coefficient="rho_w")
    null_distribution(range(20), range(20), n_resamples=99, seed=1)
    null_distribution(range(21), range(21), n_resamples=99)
    null_distribution(range(20), range(20), n_resamples=98)
    assert permutation_counts == [99, 120, 99, 99, 99, 99, 98]


def test_ties_custom_weighers_and_many_resamples_are_not_cached(monkeypatch):
    null_module.cache_slot.cache_clear()
    for _ in range(2):
        null_distribution([1, *range(19)], range(20), n_resamples=9)
        null_distribution(range(20), range(20), coefficient=TauW(weigher=lambda ranks: 1 / ranks), n_resamples=9)
        monkeypatch.setattr(null_module, "MAX_CACHED_RESAMPLES", 8)
        null_distribution(range(20), range(20), coefficient=TauW(weigher=Hyperbolic()), n_resamples=9)
        monkeypatch.undo()
    assert null_module.cache_slot.cache_info().currsize == 0


def test_at_most_32_distributions_are_cached():
    null_module.cache_slot.cache_clear()
    for seed in range(40):
        null_distribution(range(9), range(9), n_resamples=2, seed=seed)
    assert null_module.cache_slot.cache_info().currsize == 32


def test_progress_counts_computed_and_cached_permutations(permutation_counts):
    for _ in range(2):
        for n_items, number in ((700, 100), (6, 720)):
            steps = []
            null_distribution(range(n_items), range(n_items), n_resamples=100, progress=steps.append)
            assert sum(steps) == number
    assert permutation_counts == [100, 720]


def test_a_stopped_call_caches_nothing(permutation_counts):
    def enough(_):
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            null_distribution(range(20), range(20), n_resamples=9, progress=enough)
    assert permutation_counts == [9, 9]
    assert null_distribution(range(20), range(20), n_resamples=9).values.size == 9


@pytest.mark.wide
@pytest.mark.needs_numba
def test_memory_grows_only_by_the_values():
    x, y = np.arange(40) % 5, np.arange(40) % 3
    null_distribution(x, y, n_resamples=10)
    peaks = []
    for number in (20_000, 70_000):
        tracemalloc.start()
        null_distribution(x, y, n_resamples=number, workers=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # 8 bytes for each value, and twice that while blocks are concatenated.
    assert peaks[1] - peaks[0] < 17 * 50_000


# Standardization


@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n0", [0, 1, 2, 10])
def test_over_all_permutations_the_standardized_mean_is_0(coefficient, scheme, n0):
    longest = 6 if IS_COMPILED else 5
    for x, y in [
        (range(longest), range(longest)),
        ([1, 2, 2, 4, 4, 4][:longest], range(longest)),
        ([1, 2, 2, 4, 4, 4][:longest], [1, 1, 1, 0, 5, 5][:longest]),
        (range(4), [1, 1, 2, 3]),
        (range(3), range(3)),
        (range(2), range(2)),
    ]:
        null = null_distribution(x, y, coefficient=named_coefficient(coefficient, scheme=scheme, n0=n0))
        assert abs(null.standardize(null.values).mean()) < 1e-12
        assert null.standardize([-1, 1]).tolist() == [-1, 1]
        assert abs(null.mean) < 1e-12 or null.exponent * null.mean > 0


@pytest.mark.parametrize("coefficient", ["tau", "rho"])
@given(distinguishing_pairs(6))
def test_plain_coefficients_need_no_map(coefficient, pair):
    null = null_without_warnings(*pair, coefficient=coefficient)
    assert abs(null.mean) < 1e-12
    assert null.exponent == 0
    assert null.standardize(0.3) == 0.3


@st.composite
def centred_cases(draw):
    """Two score vectors and options for which reversing one of them changes only the sign."""
    half, middle = draw(st.sampled_from([[1], [2], [1, 1], [1, 2], [2, 1]])), draw(st.sampled_from([[], [1]]))
    groups = half + middle + half[::-1]
    reversible = np.repeat(np.arange(len(groups)), groups)
    other = draw(scores(reversible.size))
    options, _ = draw(weighings())
    cases = [
        (other, reversible, {"scheme": "first", **options}),
        (reversible, other, {"scheme": "second", **options}),
        (other, draw(scores(other.size)), {"scheme": draw(SCHEME), "weigher": Uniform()}),
    ]
    return draw(st.sampled_from(cases))


@pytest.mark.needs_numba
@given(centred_cases(), st.sampled_from(["tau_w", "rho_w"]), st.sampled_from(["a", "b"]), st.sampled_from(TIED_WEIGHTS))
def test_symmetric_coefficients_average_to_0(case, coefficient, variant, tied_weights):
    x, y, options = case
    options = {"coefficient": coefficient, "variant": variant, "tied_weights": tied_weights, **options}
    coefficient_ = with_coefficient(**options)["coefficient"]
    rankings = (null_module._sorted(Ranking.from_scores(ranked)) for ranked in (x, y))
    assert null_module._is_centred(coefficient_, *rankings)
    null = null_without_warnings(x, y, **with_coefficient(**options))
    assert null.values.size == 0 or abs(null.mean) < 1e-12


def test_random_permutations_of_a_centred_coefficient_keep_the_identity():
    reversible, other = [1] * 3 + [*range(2, 18)] + [20] * 3, [1] * 3 + [*range(2, 21)]
    for x, y, options in [
        (other, other, {"coefficient": "tau"}),
        (other, other, {"coefficient": "rho_w", "weigher": Uniform()}),
        (other, reversible, {"scheme": "first"}),
        (reversible, other, {"scheme": "second"}),
    ]:
        null = null_distribution(x, y, n_resamples=100, **with_coefficient(**options))
        assert null.exponent == 0
        assert 0 < abs(null.mean) < 5 * null.std / 10
        assert null.standardize(0.25) == 0.25
    for x, y, scheme in [(reversible, other, "first"), (other, reversible, "second"), (other, other, "additive")]:
        null = null_distribution(x, y, coefficient=TauW(scheme=scheme), n_resamples=100)
        assert null.exponent != 0
        assert abs(null.standardize(null.values).mean()) < 1e-12


# Undefined values


@pytest.mark.parametrize("n_items", [4, 12])
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
def test_a_single_tie_gives_nan_with_one_warning(coefficient, n_items):
    with pytest.warns(UndefinedCorrelationWarning, match=r"in (\d+) of \1 permutations, which are left out") as caught:
        null = null_distribution([1] * n_items, range(n_items), coefficient=coefficient, n_resamples=30)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert null.values.size == 0
    assert null.n_undefined == null.n_resamples
    figures = [null.mean, null.std, null.exponent, null.quantile(0.5), null.pvalue(0.5), null.standardize(0.5)]
    assert np.isnan([*figures, null.pvalue(0.5, "greater"), *null.quantile([0, 1]), *null.standardize([-1, 1])]).all()


@pytest.mark.parametrize("n_items", [5, 12])
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
def test_permutations_without_weight_are_excluded_and_counted(coefficient, n_items):
    options = {"coefficient": coefficient, "weigher": TopK(2), "scheme": "multiplicative"}
    for _ in range(2):  # computed, and cached
        with pytest.warns(UndefinedCorrelationWarning, match="permutations, which are left out") as caught:
            null = null_distribution(range(n_items), range(n_items), n_resamples=500, **with_coefficient(**options))
        assert len(caught) == 1
        assert 0 < null.n_undefined < null.n_resamples
        assert null.values.size == null.n_resamples - null.n_undefined
        assert set(null.values.tolist()) == {-1.0, 1.0}
        assert null.pvalue(1.0, "less") == 1
    if null.exact:
        # Both top items must meet both top ranks, in 2 3! of the 5! permutations.
        assert null.values.size == 12
        assert null.pvalue(1.0, "greater") == 0.5


# Errors


@pytest.mark.parametrize("n_items", [4, 12])
@pytest.mark.parametrize(
    ("weigher", "message"),
    [
        (lambda ranks: -ranks, "must return weights that are finite and not negative"),
        (lambda ranks: 0 * ranks, "all weights are zero"),
    ],
)
def test_invalid_weights_are_errors_for_any_number_of_items(n_items, weigher, message):
    with pytest.raises(WeightError, match=message):
        null_distribution(range(n_items), range(n_items), coefficient=TauW(weigher=weigher), n_resamples=5)


def test_a_cached_distribution_cannot_be_changed_through_a_result():
    null = null_distribution(range(20), range(20), n_resamples=30)
    with pytest.raises(ValueError, match="WRITEABLE"):
        null.values.setflags(write=True)
    assert null == null_distribution(range(20), range(20), n_resamples=30)


SIZES = (5e-324, 1e-300, 1e-17, 1e-12, 1e-8, 1e-3, 0.1, 1, 5, 19, 40, 350, 720, 1e4)


@pytest.mark.parametrize("exponent", [sign * size for size in SIZES for sign in (1, -1)])
def test_the_map_equals_its_formula_with_50_digits(exponent):
    statistics = np.array([-1, -1 + 1e-9, -0.99, -0.6, -0.1, 0, 1e-9, 0.3, 0.97, 1 - 1e-9, 1])
    with mpmath.workdps(400 if abs(exponent) < 1e-50 else 50):
        exact = [
            float((mpmath.exp(exponent * t) - mpmath.cosh(exponent)) / mpmath.sinh(exponent))
            for t in map(mpmath.mpf, statistics.tolist())
        ]
    assert_allclose(standardize(statistics, exponent), exact, rtol=0, atol=1e-15)
    assert standardize(statistics, exponent)[[0, -1]].tolist() == [-1, 1]


def test_exponent_0_is_the_identity():
    statistics = np.linspace(-1, 1, 9)
    assert standardize(statistics, 0.0).tolist() == statistics.tolist()


@pytest.mark.parametrize("exponent", [MAX_EXPONENT, -MAX_EXPONENT, 5.2, -1.3, 1e-3])
def test_the_map_keeps_different_coefficients_different(exponent):
    for start in (-1, -0.5, 0, 0.3, 1 - 2_000 * RESOLUTION):
        assert (np.diff(standardize(start + RESOLUTION * np.arange(2_001), exponent)) > 0).all()


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_the_exponent_makes_the_mean_0(values):
    values = np.array(values)
    assume(max((values >= 1 - ROUNDING).mean(), (values <= -1 + ROUNDING).mean()) < 0.5)
    exponent = exponent_of(values)
    assert abs(mean_standardized(values, exponent)) <= 1e-12
    assert exponent == 0 if abs(values.mean()) <= 1e-12 else exponent * values.mean() > 0


@pytest.mark.parametrize("sign", [1, -1])
def test_nearly_half_of_the_values_at_an_end(sign):
    # P(T = -1) = 4999/10000: exp(l t) at the others must make up for 1/10000, so that |l| is large.
    values = np.sort(sign * np.array([-1.0] * 4_999 + [-1 + 1e-6] * 5_001))
    exponent = exponent_of(values)
    assert 1e6 < -sign * exponent < 1e8
    assert abs(mean_standardized(values, exponent)) <= 1e-12


@pytest.mark.parametrize("values", [[-1, -1, 1], [-1, 1, 1], [-1, -1, 0.5, 0.9], [1, 1, 1, -0.5], [-1], [1], [-1, 1]])
def test_the_identity_is_used_if_there_is_no_map(values):
    assert exponent_of(np.array(values, float)) == 0


def test_many_statistics_with_an_exponent_each():
    statistics = np.array([-1.0, -0.5, 0.0, 0.3, 1.0, np.nan])
    exponents = np.array([0.0, 1e-300, -3.0, 2.5, -8.0, 8.0, 1e-9])
    result = standardize(statistics, exponents[:, np.newaxis])
    np.testing.assert_array_equal(result, [standardize(statistics, exponent) for exponent in exponents.tolist()])
