import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import DimensionError, NonNumericError, OptionError
from rankcorr.inference._multiple_tests import holm

PVALUES = st.lists(st.one_of(st.just(float("nan")), st.sampled_from([0.0, 0.01, 0.02, 1.0]), st.floats(0, 1)))


def naive_holm(pvalues):
    """Holm's definition: a hypothesis falls at alpha if it and all smaller ones pass alpha / (m - j + 1)."""
    existing = sorted(p for p in pvalues if p == p)  # noqa: PLR0124 - nan differs from itself
    m = len(existing)
    corrected = []
    for p in pvalues:
        if p != p:  # noqa: PLR0124
            corrected.append(float("nan"))
        else:
            smaller = existing[: existing.index(p) + 1]
            corrected.append(min(1.0, max((m - j) * other for j, other in enumerate(smaller))))
    return corrected


@given(PVALUES)
def test_the_definition(pvalues):
    assert_allclose(holm(pvalues), naive_holm(pvalues), rtol=1e-15)


def test_the_textbook_example():
    # m = 4: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before.
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], rtol=1e-15)


def test_one_p_value_and_no_p_values():
    assert_array_equal(holm([0.2]), [0.2])
    assert holm([]).shape == (0,)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("inf")])
def test_invalid_p_values(wrong):
    with pytest.raises(OptionError, match=r"between 0 and 1, or nan; pvalues\[1\] is"):
        holm([0.5, wrong])


def test_invalid_lists_of_p_values():
    with pytest.raises(DimensionError, match=r"one dimension; got an array of shape \(1, 2\)"):
        holm([[0.1, 0.2]])
    with pytest.raises(DimensionError, match="one dimension; their rows differ in length"):
        holm([[0.1, 0.2], [0.1]])
    with pytest.raises(NonNumericError, match="must be a real number; got an array of"):
        holm(["0.1", "0.2"])
    with pytest.raises(NonNumericError, match="must be a real number; got an array of bool"):
        holm([True, False])
