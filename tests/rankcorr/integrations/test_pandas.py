import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from numpy.testing import assert_allclose

from rankcorr import OptionError, Rho, RhoW, Tau, TauW, TooFewItemsError, correlation_matrix
from rankcorr.integrations.pandas import corr_method
from tests.strategies import tied_pairs


def frame(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.integers(0, 8, size=(30, 4)).astype(float), columns=[*"abcd"])


@pytest.mark.parametrize("coefficient", [TauW(n0=10), RhoW(scheme="multiplicative"), Tau(), Rho(), "tau_w"])
def test_the_matrix_is_that_of_the_library(coefficient):
    table = frame()
    expected = correlation_matrix(table, coefficient=coefficient).to_frame()
    pd.testing.assert_frame_equal(table.corr(method=corr_method(coefficient)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "method"), [("rho", "spearman"), ("tau", "kendall")])
def test_without_weights_it_is_that_of_pandas(name, method):
    table = frame()
    table.iloc[3, 1] = table.iloc[4, 2] = np.nan  # each pair of columns without its own rows
    assert_allclose(table.corr(method=corr_method(name)), table.corr(method=method), atol=1e-12)


@given(tied_pairs())
def test_columns_are_correlated_with_another(pair):
    x, y = pair
    table = pd.DataFrame({"x": x, "y": y, "z": np.arange(len(x))})
    assume(table.nunique().min() > 1)
    result = table.corrwith(table["y"], method=corr_method("rho_w"))
    assert result.tolist() == pytest.approx([RhoW()(table[name], table["y"]) for name in table], abs=1e-12)


@pytest.mark.parametrize("scheme", ["first", "second"])
def test_a_matrix_that_is_not_symmetric_is_refused(scheme):
    table = frame()
    with pytest.raises(OptionError, match=rf"TauW\(scheme='{scheme}'\) is not symmetric, and DataFrame.corr would"):
        corr_method(TauW(scheme=scheme))
    true = correlation_matrix(table, coefficient=TauW(scheme=scheme)).to_frame()
    assert abs(true - true.T).to_numpy().max() > 0.01
    assert true.loc["a", "b"] == TauW(scheme=scheme)(table["a"], table["b"])
    assert true.loc["b", "a"] == TauW(scheme=scheme)(table["b"], table["a"])


def test_columns_that_share_too_few_rows():
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [np.nan, 1.0, 2.0]})
    with pytest.raises(TooFewItemsError, match="a ranking needs at least two items; got 1"):
        table.corr(method=corr_method())
    assert np.isnan(table.corr(method=corr_method(), min_periods=2).loc["a", "b"])
