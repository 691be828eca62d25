import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankcorr
from rankcorr import Hyperbolic, OptionError, TauW, UndefinedCorrelationWarning, correlate, correlate_many
from rankcorr._coefficients import named_coefficient
from tests.strategies import distinguishing_pairs


@given(
    distinguishing_pairs(),
    st.sampled_from([{}, {"n0": 5.0}, {"weigher": Hyperbolic(), "scheme": "first"}, {"tied_weights": "expected"}]),
    st.sampled_from(["a", "b"]),
)
def test_each_is_the_call_for_one_coefficient_to_the_last_bit(pair, options, variant):
    chosen = [named_coefficient(name, variant=variant, **options) for name in ("rho_w", "tau_w", "rho", "tau")]
    results = correlate(*pair, coefficients=chosen)
    assert list(results) == chosen
    for coefficient, result in results.items():
        alone = correlate_many(pair[0], [pair[1]], coefficient=coefficient)
        assert result == coefficient(*pair) == alone.statistic[0]
        assert result.coefficient == coefficient.name


def test_the_chosen_coefficients_in_the_order_asked():
    assert list(correlate([1, 2, 3], [1, 3, 2], coefficients=["tau", "rho_w"])) == ["tau", "rho_w"]
    mixed = [TauW(n0=10), "tau_w", TauW(n0=0)]
    results = correlate([1, 2, 3], [1, 3, 2], coefficients=mixed)
    assert list(results) == mixed
    assert [result.n0 for result in results.values()] == [10, 2, 0]


def test_undefined_coefficients_warn_once():
    with pytest.warns(UndefinedCorrelationWarning, match="tied in one ranking") as caught:
        results = correlate([1, 2, 3], [4, 4, 4], coefficients=("rho_w", "tau"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(result.statistic != result.statistic for result in results.values())


def test_missing_items():
    results = correlate({"a": 3, "b": 2, "c": 1}, {"a": 9, "b": 7, "d": 8}, missing="intersection")
    assert {result.n_items for result in results.values()} == {2}
    assert {result.n_missing for result in results.values()} == {2}


@pytest.mark.parametrize("coefficients", [("tau", "rho"), iter(["tau", "rho"]), np.array(["tau", "rho"])])
def test_coefficients_in_any_sequence(coefficients):
    assert list(correlate([1, 2, 3], [1, 3, 2], coefficients=coefficients)) == ["tau", "rho"]


@pytest.mark.parametrize("coefficients", [[], "tau", ("tau", "tau"), ("tau_w", TauW()), 5, None])
def test_invalid_lists_of_coefficients(coefficients):
    with pytest.raises(OptionError, match="coefficients must be a list of different coefficients; got"):
        correlate([1, 2], [1, 2], coefficients=coefficients)


def test_an_unknown_coefficient():
    known = r"coefficient must be one of 'rho_w', 'tau_w', 'rho', 'tau', or a value such as .*"
    with pytest.raises(OptionError, match=f"{known}; got 'tau_x'"):
        correlate([1, 2], [1, 2], coefficients=["tau_x"])
    with pytest.raises(OptionError, match=r"coefficient must be one of .*; got \['tau'\]"):
        correlate([1, 2], [1, 2], coefficients=[["tau"]])


def test_errors_name_the_rankings_as_asked():
    with pytest.raises(rankcorr.LabelMismatchError, match="labels in gold only: 'b'; labels in system only: 'c'"):
        correlate({"a": 1, "b": 2}, {"a": 1, "c": 2}, names=("gold", "system"))
