"""The map g and its exponent against their definitions at 50 digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr._input.numbers import ROUNDING
from rankcorr.inference._null import null_distribution
from rankcorr.inference._standardization import MAX_EXPONENT, RESOLUTION, exponent_of, mean_standardized, standardize

SIZES = (5e-324, 1e-300, 1e-17, 1e-12, 1e-8, 1e-3, 0.1, 1, 5, 19, 40, 350, 720, 1e4)


@pytest.mark.parametrize("exponent", [sign * size for size in SIZES for sign in (1, -1)])
def test_the_map_is_its_formula_at_50_digits(exponent):
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
def test_the_map_tells_coefficients_apart(exponent):
    for start in (-1, -0.5, 0, 0.3, 1 - 2_000 * RESOLUTION):
        assert (np.diff(standardize(start + RESOLUTION * np.arange(2_001), exponent)) > 0).all()


@given(st.floats(-10, 10), st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_the_map_increases(exponent, statistics):
    mapped = standardize(np.sort(statistics), exponent)
    assert (np.diff(mapped) >= 0).all()
    assert (np.abs(mapped) <= 1).all()
    grid = standardize(np.linspace(-1, 1, 1001), exponent)
    assert (np.diff(grid) > 0).all()


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_the_exponent_makes_the_mean_0(values):
    values = np.array(values)
    assume(max((values >= 1 - ROUNDING).mean(), (values <= -1 + ROUNDING).mean()) < 0.5)
    exponent = exponent_of(values)
    assert abs(mean_standardized(values, exponent)) <= 1e-12
    assert exponent == 0 if abs(values.mean()) <= 1e-12 else exponent * values.mean() > 0


def test_the_exponent_is_the_root_of_its_equation_at_50_digits():
    null = null_distribution([1, 2, 2, 3, 5], range(5))
    with mpmath.workdps(50):
        values = [mpmath.mpf(value) for value in null.values.tolist()]

        def excess(exponent):
            return mpmath.fsum(mpmath.exp(exponent * t) for t in values) / len(values) - mpmath.cosh(exponent)

        root = mpmath.findroot(excess, null.exponent)
    assert null.exponent < 0
    assert null.exponent == pytest.approx(float(root), rel=1e-12, abs=0)


@pytest.mark.parametrize("sign", [1, -1])
def test_nearly_half_of_the_values_at_an_end(sign):
    # P(T = -1) = 4999/10000: exp(l t) at the others must make up for 1/10000, so that |l| is large.
    values = np.sort(sign * np.array([-1.0] * 4_999 + [-1 + 1e-6] * 5_001))
    exponent = exponent_of(values)
    assert 1e6 < -sign * exponent < 1e8
    assert abs(mean_standardized(values, exponent)) <= 1e-12


@pytest.mark.parametrize("values", [[-1, -1, 1], [-1, 1, 1], [-1, -1, 0.5, 0.9], [1, 1, 1, -0.5], [-1], [1], [-1, 1]])
def test_where_no_map_exists_the_identity_stands_in(values):
    assert exponent_of(np.array(values, float)) == 0


def test_many_statistics_with_an_exponent_each():
    statistics = np.array([-1.0, -0.5, 0.0, 0.3, 1.0, np.nan])
    exponents = np.array([0.0, 1e-300, -3.0, 2.5, -8.0, 8.0, 1e-9])
    found = standardize(statistics, exponents[:, np.newaxis])
    np.testing.assert_array_equal(found, [standardize(statistics, exponent) for exponent in exponents.tolist()])
