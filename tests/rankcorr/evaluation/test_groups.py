import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankcorr import MissingValueError, OptionError, TauW, weighted_tau
from rankcorr.evaluation import ColumnError, UndefinedQueryError, correlate_groups

VALUES, GOLD = [0.3, 0.1, 0.2, 5.0, 0.9, 0.8, 0.7], [2, 0, 1, 3, 1, 2, 2]
GROUPS = ["q", "q", "q", "lone", "r", "r", "r"]


@pytest.mark.parametrize("column", [list, np.array, pd.Series, pl.Series, pa.array])
def test_columns_of_every_kind(column):
    order = np.random.default_rng(0).permutation(len(GROUPS)).tolist()
    columns = [column([values[row] for row in order]) for values in (VALUES, GOLD, GROUPS)]
    found = correlate_groups(*columns, coefficient=TauW(n0=1))
    by_group = dict(zip(found.groups, found.values.tolist(), strict=True))
    assert by_group["q"] == pytest.approx(float(weighted_tau(GOLD[:3], VALUES[:3], n0=1)), abs=1e-12)
    assert by_group["r"] == pytest.approx(float(weighted_tau(GOLD[4:], VALUES[4:], n0=1)), abs=1e-12)
    assert math.isnan(by_group["lone"])
    assert found.undefined == {"fewer than two rows": ("lone",)}
    assert sorted(found.sizes.tolist()) == [1, 3, 3]
    assert (found.n0, found.coefficient, found.n_items) == (1.0, "tau_w", 7)


def test_means_and_policies():
    found = correlate_groups(VALUES, GOLD, GROUPS, standardized=True)
    assert found.mean == pytest.approx(np.nanmean(found.values))
    assert found.standardized_mean == pytest.approx(np.nanmean(found.standardized))
    assert np.isnan(found.standardized[1])
    zero = correlate_groups(VALUES, GOLD, GROUPS, undefined="zero", standardized=True)
    assert zero.values[1] == zero.standardized[1] == 0.0
    assert math.isnan(correlate_groups(VALUES, GOLD, GROUPS).standardized_mean)
    with pytest.raises(UndefinedQueryError, match="tau_w: fewer than two rows; groups: 'lone'"):
        correlate_groups(VALUES, GOLD, GROUPS, undefined="error")


def test_it_is_an_array_and_a_table():
    found = correlate_groups(VALUES, GOLD, GROUPS)
    assert np.asarray(found).tolist()[0] == found.values[0]
    assert found.to_frame().columns.tolist() == ["group", "tau_w", "n_items"]
    assert repr(found) == f"<GroupCorrelations of 3 groups, 7 rows, tau_w: mean {found.mean:.4f}>"


def test_bad_columns():
    with pytest.raises(ColumnError, match="same length; got 7 groups, 6 gold scores and 7 scores"):
        correlate_groups(VALUES, GOLD[:-1], GROUPS)
    with pytest.raises(ColumnError, match="there is no row"):
        correlate_groups([], [], [])
    with pytest.raises(MissingValueError, match="every document needs a gold score; nan in row 0"):
        correlate_groups(VALUES, [math.nan, *GOLD[1:]], GROUPS)
    with pytest.raises(ColumnError, match="group ids must be all text or all whole numbers"):
        correlate_groups(VALUES, GOLD, [*GROUPS[:-1], 3])
    with pytest.raises(OptionError, match="undefined must be one of"):
        correlate_groups(VALUES, GOLD, GROUPS, undefined="nan")
