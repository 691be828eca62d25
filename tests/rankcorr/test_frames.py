"""Data frames and series of pandas, polars and pyarrow: columns are rankings, and a pandas index labels the items."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankcorr
from rankcorr import Ranking, correlate_many, correlation_matrix, leaderboard, weighted_tau
from rankcorr.errors import ColumnError, RankColumnWarning
from rankcorr.measures import average_precision, krippendorff_alpha, mean_pairwise_agreement

COLUMNS = {
    "gold": [float(item) for item in range(20)],
    "near": [float(item ^ 1) for item in range(20)],
    "tied": [float(item // 2) for item in range(20)],
}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas arrow": pl.DataFrame(COLUMNS).to_pandas(use_pyarrow_extension_array=True),
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow": pa.table(COLUMNS),
    "record batch": pa.record_batch(COLUMNS),
}
SERIES = {
    "pandas": pd.Series,
    "polars": lambda values, **options: pl.Series(values=values, strict=False, **options),
    "pyarrow": lambda values: pa.chunked_array([values]),
    "array": pa.array,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
class TestFrames:
    def test_each_column_is_a_ranking(self, frame):
        expected = correlation_matrix(COLUMNS)
        found = correlation_matrix(frame)
        assert found.names == ("gold", "near", "tied")
        assert found.statistic.tolist() == expected.statistic.tolist()

    def test_columns_are_systems_with_names(self, frame):
        expected = correlate_many(COLUMNS["gold"], COLUMNS)
        gold = pd.Series(COLUMNS["gold"]) if isinstance(frame, pd.DataFrame) else COLUMNS["gold"]
        found = correlate_many(gold, frame)
        assert (found.names, found.statistic.tolist()) == (expected.names, expected.statistic.tolist())
        board = leaderboard(gold, frame, n_resamples=100)
        assert {row.system for row in board.rows} == set(COLUMNS)

    def test_gold_sets_are_columns(self, frame):
        systems = {"s": pd.Series(COLUMNS["near"]) if isinstance(frame, pd.DataFrame) else COLUMNS["near"]}
        one = frame[["gold"]] if isinstance(frame, pd.DataFrame) else frame.select(["gold"])
        assert leaderboard(one, systems, n_resamples=100).gold_sets == ("gold",)

    def test_measures_read_columns(self, frame):
        assert mean_pairwise_agreement(frame).annotators == ("gold", "near", "tied")
        assert mean_pairwise_agreement(frame).mean == mean_pairwise_agreement(COLUMNS).mean
        assert krippendorff_alpha(frame) == krippendorff_alpha(COLUMNS)

    def test_a_frame_is_not_one_ranking(self, frame):
        with pytest.raises(rankcorr.DimensionError, match="got a data frame: pass one of its columns"):
            Ranking.from_scores(frame)
        with pytest.raises(rankcorr.DimensionError, match="ranks must have one dimension; got a data frame"):
            Ranking.from_ranks(frame)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("name", ["rank", "Mean Rank", "rank_low", "Position"])
def test_a_column_named_rank_holds_ranks(kind, name):
    frame = kind({"score": [3.0, 2.0, 1.0, 0.5], name: [1, 2, 3, 4]})
    gold = pd.Series([9.0, 7.0, 5.0, 1.0]) if kind is pd.DataFrame else [9.0, 7.0, 5.0, 1.0]
    for compare in (lambda: correlate_many(gold, frame).statistic, lambda: correlation_matrix(frame).statistic):
        with pytest.warns(RankColumnWarning, match=f"column '{name}' is read as ranks .1 is best.; rename it") as notes:
            assert np.unique(compare()).tolist() == [1.0]
        assert notes[0].filename == __file__
    with pytest.warns(RankColumnWarning):
        assert [row.total.statistic for row in leaderboard(gold, frame, n_resamples=100).rows] == [1.0, 1.0]
    assert correlate_many([3, 2, 1], {"rank": [1, 2, 3]}, coefficient="tau").statistic.tolist() == [-1.0]


def test_a_long_frame_has_as_many_rankings_as_columns():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 3))
    found = correlation_matrix(pl.DataFrame(scores, schema=["a", "b", "c"]))
    assert found.statistic.shape == (3, 3)
    assert found.statistic.tolist() == correlation_matrix(scores.T).statistic.tolist()


def test_the_index_of_pandas_labels_the_items():
    frame = pd.DataFrame({"good": [3, 2, 1], "poor": [1, 3, 2]}, index=["a", "b", "c"])
    assert correlate_many({"c": 1, "a": 3, "b": 2}, frame, coefficient="tau").statistic[0] == 1
    assert Ranking.from_scores(frame["good"]).labels == ("a", "b", "c")
    assert Ranking.from_scores(pd.Series([1, 2])).labels == (0, 1)
    pairs = pd.Series([1.0, 2.0], index=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    assert Ranking.from_scores(pairs).labels == (("a", "b"), ("a", "c"))
    with pytest.raises(rankcorr.LabelError, match="x has labels and y has none"):
        weighted_tau(frame["good"], [1, 2, 3])


@pytest.mark.parametrize("make", SERIES.values(), ids=SERIES)
class TestSeries:
    @pytest.mark.parametrize(
        "values",
        [
            [3, 1, 2],
            [0.5, -1.0, np.inf],
            [True, False, True],
            [2**60 + 1, 2**60, 2**60 + 2],
            [Decimal("0.1"), Decimal("0.10"), Decimal("0.100000000000000000001")],
        ],
    )
    def test_the_numbers_are_those_of_the_list(self, make, values):
        assert Ranking.from_scores(make(values)).ranks.tolist() == Ranking.from_scores(values).ranks.tolist()

    @pytest.mark.parametrize("values", [[1, None, 2], [1.5, None, 2.5], [True, None, False]])
    def test_nulls_are_named(self, make, values):
        with pytest.raises(rankcorr.MissingValueError, match=r"item needs a score .*; (null or masked|nan): score"):
            Ranking.from_scores(make(values))

    @pytest.mark.parametrize(
        "values", [["a", "b"], ["1", "2"], [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], [[1], [2]]]
    )
    def test_other_types_are_named(self, make, values):
        with pytest.raises(rankcorr.NonNumericError, match=r"every score must be a real number; got"):
            Ranking.from_scores(make(values))

    def test_scores_of_measures(self, make):
        assert average_precision(make([1, 0, 1]), make([1, 2, 4])) == average_precision([1, 0, 1], [1, 2, 4])


@pytest.mark.parametrize(
    ("series", "ranks"),
    [
        (pd.Series([2**60, 2**60 + 1], dtype="Int64"), [2, 1]),
        (pd.Series([True, False], dtype="boolean"), [1, 2]),
        (pd.Series([1.0, 0.0], dtype="Sparse[float]"), [1, 2]),
        (pd.Series([Fraction(1, 3), Decimal("0.3")], dtype=object), [1, 2]),
        (pd.Series([1, 2], dtype="int64[pyarrow]"), [2, 1]),
        (pl.Series([1, 2], dtype=pl.Int128), [2, 1]),
        (pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64), [1, 2]),
        (pl.Series([Fraction(1, 3), Fraction(1, 2)], dtype=pl.Object), [2, 1]),
        (pa.array(np.array([1, 2], np.float16)), [2, 1]),
    ],
)
def test_types_of_their_own(series, ranks):
    assert Ranking.from_scores(series).ranks.tolist() == ranks


DOUBLES = pa.array([0.5, 7.0, 0.5]).dictionary_encode()
DICTIONARIES = {
    "double": DOUBLES,
    "int64": pa.array([-3, 2, -3]).dictionary_encode(),
    "decimal": pa.array([Decimal("0.1"), Decimal("0.2"), Decimal("0.1")]).dictionary_encode(),
    "several dictionaries": pa.chunked_array([pa.array(part).dictionary_encode() for part in ([2.0, 9.0], [2.0])]),
    "in pandas": pd.Series(DOUBLES, dtype=pd.ArrowDtype(DOUBLES.type)),
}


@pytest.mark.parametrize("series", DICTIONARIES.values(), ids=DICTIONARIES)
def test_numbers_that_arrow_keeps_in_a_dictionary(series):
    assert Ranking.from_scores(series).ranks.tolist() == [2.5, 1, 2.5]


def test_nulls_of_a_dictionary_are_nulls():
    for series in (
        pa.array([1.0, None, 2.0]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([1.0, None, 2.0])),
    ):
        with pytest.raises(rankcorr.MissingValueError, match=r"null or masked: scores\[1\]"):
            Ranking.from_scores(series)


def test_the_conversion_that_is_suggested_for_categories_keeps_values():
    series = pl.Series(["10", "2", "-1.5"], dtype=pl.Enum(["2", "10", "-1.5"]))
    with pytest.raises(rankcorr.NonNumericError, match=r"in polars by \.cast\(pl\.String\)\.cast\(pl\.Float64\)"):
        Ranking.from_scores(series)
    assert series.cast(pl.String).cast(pl.Float64).to_list() == [10, 2, -1.5]
    series = pd.Series(["10", "2"], dtype="category")
    with pytest.raises(rankcorr.NonNumericError, match=r"in pandas by \.astype\(float\)"):
        Ranking.from_scores(series)
    assert series.astype(float).tolist() == [10, 2]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 2, 3], dtype="category"),
        pd.Series(["a", "b"], dtype="category"),
        pl.Series(["a", "b"], dtype=pl.Categorical),
        pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
        pa.array(["1", "2"]).dictionary_encode(),
    ],
)
def test_categories_are_no_numbers(series):
    with pytest.raises(rankcorr.NonNumericError, match="every score must be a real number; got a column of categories"):
        Ranking.from_scores(series)
    with pytest.raises(rankcorr.NonNumericError, match="system 's': every score must be a real number; got a column"):
        correlate_many([1, 2, 3], {"s": series})


@pytest.mark.parametrize(
    ("series", "place"),
    [
        (pd.Series([1, pd.NA], dtype="Int64", index=["a", "b"]), "null or masked: score of 'b'"),
        (pd.Series([1, None], dtype=object, index=["a", "b"]), "null or masked: score of 'b'"),
        (pd.Series([1, np.nan], index=["a", "b"]), "nan: score of 'b'"),
        (pl.Series([1.0, None, np.nan]), r"null or masked: scores\[1\]"),
        (pl.Series([1.0, np.nan]), r"nan: scores\[1\]"),
        (pa.array([1, None]), r"null or masked: scores\[1\]"),
    ],
)
def test_what_is_missing_is_named_by_label_or_place(series, place):
    with pytest.raises(rankcorr.MissingValueError, match=f"every item needs a score .*; {place}"):
        Ranking.from_scores(series)


def test_a_null_is_a_missing_rating():
    ratings = {"ann": [1, 2, 3, None], "bob": [1, 3, None, 4], "cat": [2, 2, 3, 4]}
    matrix = np.array([[np.nan if rating is None else rating for rating in row] for row in ratings.values()])
    expected = krippendorff_alpha(matrix)
    for frame in (pl.DataFrame(ratings), pa.table(ratings), pd.DataFrame(ratings).astype("Int64")):
        assert krippendorff_alpha(frame) == expected
    with pytest.raises(rankcorr.NonNumericError, match="every rating of 'ann' must be a real number; got a column of "):
        krippendorff_alpha(pl.DataFrame({"ann": ["a", "b"], "bob": ["a", "c"]}))


def test_a_lazy_frame_holds_no_data():
    lazy = pl.DataFrame(COLUMNS).lazy()
    for call in (Ranking.from_scores, correlation_matrix, krippendorff_alpha):
        with pytest.raises(rankcorr.DimensionError, match="a lazy frame holds no data yet: collect it first"):
            call(lazy)


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame([[1, 2], [3, 4]], columns=["s", "s"]), pa.table([[1, 2], [3, 4]], names=["s", "s"])],
    ids=["pandas", "pyarrow"],
)
def test_columns_of_one_name_cannot_be_told_apart(frame):
    with pytest.raises(rankcorr.DuplicateLabelError, match="names of columns must be unique; more than once: 's'"):
        correlation_matrix(frame)


def test_labels_may_come_in_a_series():
    labels = ["a", "b"]
    for given in (pl.Series(labels), pa.array(labels), pa.chunked_array([labels]), pd.Index(labels), np.array(labels)):
        assert Ranking.from_scores([1, 2], labels=given).labels == ("a", "b")
        assert Ranking.from_order(given) == Ranking.from_order(labels)


class Tensor:
    """Numbers that another library keeps, and numpy can read."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def test_whatever_numpy_reads_is_an_array():
    values = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    expected = correlation_matrix(values).statistic.tolist()
    for given in (Tensor(values), np.array(values).view(np.matrix), np.ma.array(values)):
        assert correlation_matrix(given).statistic.tolist() == expected
    assert Ranking.from_scores(Tensor([3, 1])).ranks.tolist() == [1, 2]
    assert Ranking.from_scores(np.ma.array([3, 1])).ranks.tolist() == [1, 2]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_series_of_ranks_is_no_series_of_scores(kind):
    frame = kind({"rank": [1, 2, 3], "mean_rank": [1.5, 2.5, 9.0], "page_rank": [3, 2, 1], "score": [9, 5, 1]})
    for name in ("rank", "mean_rank"):
        with pytest.raises(ColumnError, match=f"series '{name}' is named as ranks, but scores .*from_ranks"):
            weighted_tau(frame[name], frame["score"])
        assert Ranking.from_ranks(frame[name]).ranks.tolist() == [1, 2, 3]
    assert weighted_tau(frame["page_rank"], frame["score"]) == 1
