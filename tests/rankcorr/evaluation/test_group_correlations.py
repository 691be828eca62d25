import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankcorr import MissingValueError, TauW, weighted_tau
from rankcorr.evaluation import ColumnError, UndefinedQueryError, correlate_groups

SCORES, GOLD_SCORES = [0.3, 0.1, 0.2, 5.0, 0.9, 0.8, 0.7], [2, 0, 1, 3, 1, 2, 2]
GROUPS = ["q", "q", "q", "lone", "r", "r", "r"]


@pytest.mark.parametrize("column", [list, np.array, pd.Series, pl.Series, pa.array])
def test_groups_of_columns_of_every_kind(column):
    order = np.random.default_rng(0).permutation(len(GROUPS)).tolist()
    columns = [column([values[row] for row in order]) for values in (SCORES, GOLD_SCORES, GROUPS)]
    result = correlate_groups(*columns, coefficient=TauW(n0=1))
    by_group = dict(zip(result.groups, result.values.tolist(), strict=True))
    assert by_group["q"] == pytest.approx(float(weighted_tau(GOLD_SCORES[:3], SCORES[:3], n0=1)), abs=1e-12)
    assert by_group["r"] == pytest.approx(float(weighted_tau(GOLD_SCORES[4:], SCORES[4:], n0=1)), abs=1e-12)
    assert math.isnan(by_group["lone"])
    assert result.undefined == {"fewer than two rows": ("lone",)}
    assert sorted(result.sizes.tolist()) == [1, 3, 3]
    assert (result.n0, result.coefficient, result.n_items) == (1.0, "tau_w", 7)


def test_means_of_groups_and_policies():
    result = correlate_groups(SCORES, GOLD_SCORES, GROUPS, standardized=True)
    assert result.mean == pytest.approx(np.nanmean(result.values))
    assert np.isnan(result.standardized[1])
    zero = correlate_groups(SCORES, GOLD_SCORES, GROUPS, undefined="zero", standardized=True)
    assert zero.values[1] == zero.standardized[1] == 0.0
    assert correlate_groups(SCORES, GOLD_SCORES, GROUPS).standardized is None
    with pytest.raises(UndefinedQueryError, match="tau_w: fewer than two rows; groups: 'lone'"):
        correlate_groups(SCORES, GOLD_SCORES, GROUPS, undefined="error")


def test_values_of_groups_are_an_array_and_a_table():
    result = correlate_groups(SCORES, GOLD_SCORES, GROUPS)
    assert np.asarray(result).tolist()[0] == result.values[0]
    assert result.to_frame().columns.tolist() == ["group", "tau_w", "n_items"]
    assert repr(result) == f"<GroupCorrelations of 3 groups, 7 rows, tau_w: mean {result.mean:.4f}>"


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ((SCORES, GOLD_SCORES[:-1], GROUPS), ColumnError, "same length; got 7 groups, 6 gold scores and 7 scores"),
        (([], [], []), ColumnError, "there is no row"),
        ((SCORES, [math.nan, *GOLD_SCORES[1:]], GROUPS), MissingValueError, "needs a gold score; nan in row 0"),
        ((SCORES, GOLD_SCORES, [*GROUPS[:-1], 3]), ColumnError, "group ids must be all text or all whole numbers"),
    ],
)
def test_invalid_columns_of_groups_are_refused(columns, error, message):
    with pytest.raises(error, match=message):
        correlate_groups(*columns)
