import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rankcorr.integrations.polars
from rankcorr import (
    Hyperbolic,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    Rho,
    RhoW,
    Tau,
    TauW,
    WeightError,
)
from rankcorr.evaluation import correlate_groups

GOLD = pl.col("gold")


@pytest.fixture(scope="module")
def frame():
    """Queries of 1 to 12 rows with ties, in mixed order."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 13, size=40)
    queries = rng.permutation(np.repeat(np.arange(40), sizes))
    columns = {"query": queries, "gold": rng.integers(0, 4, queries.size), "bm25": rng.integers(0, 6, queries.size) / 2}
    return pl.DataFrame(columns)


EXPRESSIONS = [
    (GOLD.rankcorr.tau_w("bm25"), TauW()),
    (GOLD.rankcorr.tau_w("bm25", n0=10, scheme="first", variant="a"), TauW(n0=10, scheme="first", variant="a")),
    (GOLD.rankcorr.rho_w(pl.col("bm25")), RhoW()),
    (GOLD.rankcorr.rho_w("bm25", weigher=Hyperbolic()), RhoW(weigher=Hyperbolic())),
    (GOLD.rankcorr.tau("bm25"), Tau()),
    (GOLD.rankcorr.rho("bm25"), Rho()),
    (GOLD.rankcorr.correlate("bm25"), TauW()),
    (GOLD.rankcorr.correlate("bm25", "rho"), Rho()),
    (GOLD.rankcorr.correlate("bm25", RhoW(tied_weights="expected")), RhoW(tied_weights="expected")),
]


@pytest.mark.parametrize(("expression", "coefficient"), EXPRESSIONS)
def test_groups_are_those_of_the_library(frame, expression, coefficient):
    expected = correlate_groups(frame["bm25"], frame["gold"], frame["query"], coefficient=coefficient)
    assert np.isnan(expected.values).any()  # groups without a coefficient are among them
    by_group = dict(zip(expected.groups, expected.values.tolist(), strict=True))
    for plan in (frame, frame.lazy()):
        result = plan.group_by("query").agg(value=expression).lazy().collect()
        assert result.schema["value"] == pl.Float64
        assert_allclose(result["value"], [by_group[query] for query in result["query"]], rtol=0, atol=0)
        over = plan.with_columns(value=expression.over("query")).lazy().collect()
        assert_allclose(over["value"], [by_group[query] for query in frame["query"]], rtol=0, atol=0)
        ungrouped = plan.select(value=expression).lazy().collect()["value"].to_list()
        assert ungrouped == pytest.approx([coefficient(frame["gold"], frame["bm25"])], abs=1e-12)


def test_means_exclude_undefined_groups(frame):
    result = frame.group_by("query").agg(value=GOLD.rankcorr.tau_w("bm25"))["value"].drop_nans().mean()
    assert result == pytest.approx(correlate_groups(frame["bm25"], frame["gold"], frame["query"]).mean, abs=1e-12)


def test_columns_may_have_several_chunks_and_types(frame):
    halves = pl.concat([frame.head(50), frame.tail(-50)], rechunk=False)
    assert halves["gold"].n_chunks() == 2
    expected = frame.select(GOLD.rankcorr.tau_w("bm25")).item()
    for gold in (GOLD, GOLD.cast(pl.Int8), GOLD.cast(pl.Float32), GOLD.cast(pl.UInt64)):
        assert halves.select(gold.rankcorr.tau_w("bm25")).item() == expected
    sliced = frame.slice(7, 60)
    assert_array_equal(sliced.select(GOLD.rankcorr.tau("bm25")).item(), Tau()(sliced["gold"], sliced["bm25"]).statistic)


def test_an_empty_frame_gives_nan_and_no_groups(frame):
    assert np.isnan(frame.clear().select(GOLD.rankcorr.tau("bm25")).item())
    assert frame.clear().group_by("query").agg(GOLD.rankcorr.tau("bm25")).height == 0


@pytest.mark.parametrize(
    ("gold", "error", "message"),
    [
        ([3, None, 1], MissingValueError, "needs a gold score; null or masked in row 1"),
        ([3.0, 1.0, float("nan")], MissingValueError, "needs a gold score; nan in row 2"),
        (["a", "b", "c"], NonNumericError, "every gold score must be a real number; got a column of type String"),
    ],
)
def test_unrankable_values_are_refused(gold, error, message):
    frame = pl.DataFrame({"gold": gold, "bm25": [1.0, 2.0, 3.0]})
    with pytest.raises(error, match=message):
        frame.select(GOLD.rankcorr.tau_w("bm25"))


def test_rows_are_filtered_by_expressions():
    frame = pl.DataFrame({"gold": [3, None, 1, 2], "bm25": [1.0, 2.0, None, 5.0]})
    known = GOLD.is_not_null() & pl.col("bm25").is_not_null()
    assert frame.select(GOLD.filter(known).rankcorr.tau(pl.col("bm25").filter(known))).item() == -1
    with pytest.raises(LengthError, match="both columns must have the same length; got 2 and 4 rows"):
        frame.select(GOLD.filter(known).rankcorr.tau(pl.col("bm25").fill_null(0)))


def test_options_are_checked_before_the_query_runs():
    with pytest.raises(WeightError, match="n0"):
        GOLD.rankcorr.tau_w("bm25", n0=-1)
    with pytest.raises(OptionError, match="scheme must be one of"):
        GOLD.rankcorr.rho_w("bm25", scheme="frist")
    with pytest.raises(TypeError, match="unexpected keyword argument 'variant'"):
        GOLD.rankcorr.rho_w("bm25", variant="a")
    assert isinstance(GOLD.rankcorr, rankcorr.integrations.polars.RankCorrelationExpr)
