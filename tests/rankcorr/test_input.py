"""Input types: data frames and series of pandas, polars and pyarrow, identifiers, and numbers."""

import datetime
import math
import numbers
import sys
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from unicodedata import normalize

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankcorr
from rankcorr import (
    DuplicateLabelError,
    LabelError,
    LabelMismatchError,
    NonNumericError,
    Ranking,
    UnicodeFormWarning,
    align,
    compare_systems,
    correlate_many,
    correlation_matrix,
    leaderboard,
    rank_sets,
    weighted_tau,
)
from rankcorr._input.identifiers import check_identifiers, comparable, identifier_text, plain_identifier, unicode_twins
from rankcorr._input.numbers import as_floats, exact_array, numbers_beyond_floats, order_codes
from rankcorr.errors import ColumnError, RankColumnWarning
from rankcorr.evaluation import Run
from rankcorr.inference._exchange import codes_of_scores
from rankcorr.integrations.metric import RankMetric
from rankcorr.measures import average_precision, krippendorff_alpha, mean_pairwise_agreement
from rankcorr.vectors import evaluate_vectors
from tests import naive

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
        result = correlation_matrix(frame)
        assert result.names == ("gold", "near", "tied")
        assert result.statistic.tolist() == expected.statistic.tolist()

    def test_columns_are_systems_with_names(self, frame):
        expected = correlate_many(COLUMNS["gold"], COLUMNS)
        gold = pd.Series(COLUMNS["gold"]) if isinstance(frame, pd.DataFrame) else COLUMNS["gold"]
        result = correlate_many(gold, frame)
        assert (result.names, result.statistic.tolist()) == (expected.names, expected.statistic.tolist())
        board = leaderboard(gold, frame, n_resamples=100)
        assert board == leaderboard(COLUMNS["gold"], COLUMNS, n_resamples=100)

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

    def test_measures_accept_scores_of_any_library(self, make):
        assert average_precision(make([1, 0, 1]), make([1, 2, 4])) == average_precision([1, 0, 1], [1, 2, 4])


@pytest.mark.parametrize(
    ("series", "ranks"),
    [
        (pd.Series([2**60, 2**60 + 1], dtype="Int64"), [2, 1]),
        (pd.Series([True, False], dtype="boolean"), [1, 2]),
        (pd.Series([1.0, 0.0], dtype="Sparse[float]"), [1, 2]),
        (pd.Series([1, 2], dtype="int64[pyarrow]"), [2, 1]),
        (pl.Series([1, 2], dtype=pl.Int128), [2, 1]),
        (pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64), [1, 2]),
        (pl.Series([Fraction(1, 3), Fraction(1, 2)], dtype=pl.Object), [2, 1]),
        (pa.array(np.array([1, 2], np.float16)), [2, 1]),
    ],
)
def test_specific_types_of_each_library(series, ranks):
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


def test_the_suggested_conversion_of_categories_keeps_values():
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
def test_missing_scores_are_named_by_label_or_position(series, place):
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


def test_small_floats_of_ml_dtypes_are_numbers():
    small = pytest.importorskip("ml_dtypes", reason="make test does not install ml_dtypes")
    for kind in (small.bfloat16, small.float8_e4m3fn, small.int4):
        assert Ranking.from_scores(np.array([3, -2, 7, 3], kind)).scores.tolist() == [3, -2, 7, 3]
        vectors = {word: np.array(vector, kind) for word, vector in {"a": [1, 0], "b": [2, 1], "c": [0, 1]}.items()}
        evaluation = evaluate_vectors(vectors, {("a", "b"): 2, ("a", "c"): 1}, coefficients=["rho"])
        assert evaluation.cosines.tolist() == pytest.approx([2 / math.sqrt(5), 0], abs=1e-9)


def test_a_lazy_frame_is_refused():
    lazy = pl.DataFrame(COLUMNS).lazy()
    for call in (Ranking.from_scores, correlation_matrix, krippendorff_alpha):
        with pytest.raises(rankcorr.DimensionError, match=r"a lazy frame or series holds no data yet: load it first"):
            call(lazy)


def test_a_series_of_dask_is_refused():
    """Numpy would read it without its labels, and match the items by position."""
    dask_frames = pytest.importorskip("dask.dataframe")
    series = pd.Series([1, 2, 3], index=["a", "b", "c"])
    falling = dask_frames.from_pandas(series[::-1], npartitions=1, sort=False)
    for call in (
        Ranking.from_scores,
        lambda scores: weighted_tau(series, scores),
        lambda scores: correlation_matrix([scores]),
    ):
        with pytest.raises(rankcorr.DimensionError, match=r"no data yet: load it first, .* in Dask by \.compute\(\)"):
            call(falling)
    assert weighted_tau(series, falling.compute()) == 1


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame([[1, 2], [3, 4]], columns=["s", "s"]), pa.table([[1, 2], [3, 4]], names=["s", "s"])],
    ids=["pandas", "pyarrow"],
)
def test_columns_with_equal_names_are_refused(frame):
    with pytest.raises(rankcorr.DuplicateLabelError, match="names of columns must be unique; more than once: 's'"):
        correlation_matrix(frame)


def test_labels_may_come_in_a_series():
    labels = ["a", "b"]
    for series in (pl.Series(labels), pa.array(labels), pa.chunked_array([labels]), pd.Index(labels), np.array(labels)):
        assert Ranking.from_scores([1, 2], labels=series).labels == ("a", "b")
        assert Ranking.from_order(series) == Ranking.from_order(labels)


class Tensor:
    """Numbers in an array type of another library that numpy can convert."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def test_objects_that_numpy_can_convert_are_arrays():
    values = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    expected = correlation_matrix(values).statistic.tolist()
    for array in (Tensor(values), np.array(values).view(np.matrix), np.ma.array(values)):
        assert correlation_matrix(array).statistic.tolist() == expected
    assert Ranking.from_scores(Tensor([3, 1])).ranks.tolist() == [1, 2]
    assert Ranking.from_scores(np.ma.array([3, 1])).ranks.tolist() == [1, 2]


def test_labels_may_be_a_tensor_but_not_a_list_of_tensors():
    class Labels(Tensor):
        ndim = 1

        def tolist(self):
            return self.values

        def __iter__(self):
            return iter([Tensor(value) for value in self.values])

    ranking = Ranking.from_scores([1, 2], labels=Labels([7, 8]))
    assert set(map(type, ranking.labels)) == {int}
    assert Ranking.from_order(Labels([8, 7])) == Ranking.from_order([8, 7])
    with pytest.raises(rankcorr.LabelError, match="labels must be text or numbers, not arrays; got"):
        Ranking.from_scores([1, 2], labels=list(Labels([7, 8])))


class DataArray:
    """The used part of an array of xarray, whose coordinates are indexes."""

    ndim = 1

    def __init__(self, scores):
        self._series = pd.Series(scores)
        self.indexes = {"item": self._series.index}

    def to_series(self):
        return self._series


@pytest.fixture
def data_array(monkeypatch):
    try:
        import xarray
    except ImportError:  # it is not in the development extra
        monkeypatch.setitem(sys.modules, "xarray", SimpleNamespace(DataArray=DataArray))
        return DataArray
    return lambda scores: xarray.DataArray(list(scores.values()), coords={"item": list(scores)}, dims="item")


def test_arrays_of_xarray_are_matched_by_their_coordinates(data_array):
    gold, system = data_array({"a": 3, "b": 2, "c": 1}), data_array({"c": 10, "b": 20, "a": 30})
    assert weighted_tau(gold, system) == 1
    assert correlate_many(gold, {"system": system}).statistic.tolist() == [1]
    with pytest.raises(rankcorr.LabelError, match="x has labels and y has none"):
        weighted_tau(gold, [3, 2, 1])


class Parameter(Tensor):
    """The used part of a torch tensor with a gradient, of a type that numpy lacks."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self):
        return self

    cpu = double = detach

    def is_floating_point(self):
        return True

    def numpy(self):
        return np.array(self.values)


def test_tensors_with_a_gradient_are_arrays():
    values = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    assert correlation_matrix(Parameter(values)).statistic.tolist() == correlation_matrix(values).statistic.tolist()
    assert Ranking.from_scores(Parameter([3, 1])).ranks.tolist() == [1, 2]
    with pytest.raises(NonNumericError, match=r"scores cannot be read as an array: Can't call numpy\(\) on Tensor"):
        Ranking.from_scores([Parameter(3), Parameter(1)])


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_narrow_floats_in_a_list_are_ranked_without_a_warning(kind):
    assert Ranking.from_scores([kind(1), kind(3), kind(2)]).ranks.tolist() == [3, 1, 2]


DATES = [np.array([3, 1, 2], kind) for kind in ("M8[ns]", "M8[D]", "m8[ns]", "m8[Y]", "m8")]


@pytest.mark.parametrize("dates", [*DATES, [np.timedelta64(days, "D") for days in (3, 1, 2)]], ids=repr)
def test_dates_and_durations_are_no_numbers(dates):
    calls = [
        Ranking.from_scores,
        lambda scores: Run.from_columns(["q"] * 3, ["a", "b", "c"], scores),
        lambda scores: RankMetric().update(scores, [1, 2, 3]),
        lambda ratings: krippendorff_alpha([ratings, ratings]),
    ]
    for call in calls:
        with pytest.raises(NonNumericError, match=r"must be a real number; got an array of (datetime|timedelta)64"):
            call(dates)
    for ids in ((dates, ["a", "b", "c"]), (["q"] * 3, dates)):
        with pytest.raises(ColumnError, match="id must be text or a whole number; got"):
            Run.from_columns(*ids, [1, 2, 3])


def test_durations_among_numbers_are_no_numbers():
    mixed = [np.timedelta64(1, "s"), 1.0, 2.0]
    calls = [
        Ranking.from_scores,
        lambda scores: Run.from_columns(["q"] * 3, ["a", "b", "c"], scores),
        lambda ratings: krippendorff_alpha([ratings, ratings]),
    ]
    for call in calls:
        with pytest.raises(NonNumericError, match=r"must be a (real )?number.*timedelta64\(1,'s'\)"):
            call(mixed)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_series_named_rank_is_not_read_as_scores(kind):
    frame = kind({"rank": [1, 2, 3], "mean_rank": [1.5, 2.5, 9.0], "page_rank": [3, 2, 1], "score": [9, 5, 1]})
    for name in ("rank", "mean_rank"):
        with pytest.raises(ColumnError, match=f"series '{name}' is named as ranks, but scores .*from_ranks"):
            weighted_tau(frame[name], frame["score"])
        assert Ranking.from_ranks(frame[name]).ranks.tolist() == [1, 2, 3]
    assert weighted_tau(frame["page_rank"], frame["score"]) == 1


KINDS = (int, np.int64, np.int8, np.uint16)
PARTS = st.one_of(st.integers(0, 99), st.text(min_size=1, max_size=3))


@given(st.integers(0, 99), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_integers_equal_their_decimal_text(number, first, second):
    assert identifier_text(first(number)) == identifier_text(second(number)) == identifier_text(np.str_(number))
    assert type(plain_identifier(first(number))) is int
    assert type(plain_identifier(np.str_(number))) is str


@given(st.lists(PARTS, min_size=1), st.lists(PARTS, min_size=1))
def test_identifiers_of_two_sources_match_by_their_text(first, second):
    left, right = comparable(first, second)
    assert [[a == b for a in left] for b in right] == [[str(a) == str(b) for a in first] for b in second]


@pytest.mark.parametrize(
    ("identifiers", "message"),
    [
        (["a", 7], "item ids must be all text or all whole numbers; got both, such as 'a' and 7: write all"),
        ([np.int64(7), np.str_("a")], "got both, such as 'a' and 7: write all of them in one way"),
        ([True], "each item id must be text or a whole number; got: True, of type bool"),
        (["a", 1.5], "got: 1.5, of type float"),
        (["a", ""], "each item needs an id; one is empty"),
    ],
)
def test_invalid_identifiers_are_refused(identifiers, message):
    with pytest.raises(ColumnError, match=message):
        check_identifiers(identifiers, "item")


@given(st.lists(st.text("ae\u00e9\u0301\u212aK", min_size=1, max_size=3), unique=True))
def test_twins_are_identifiers_with_equal_normalisation(texts):
    twins = {text for pair in unicode_twins(texts) for text in pair}
    forms = [normalize("NFC", text) for text in texts]
    assert twins == {text for text, form in zip(texts, forms, strict=True) if forms.count(form) > 1}


@pytest.mark.parametrize("missing", ["raise", "intersection", "bottom", "gold"])
@pytest.mark.parametrize(("x", "y"), [(7, "7"), ("7", 7), (np.int64(7), "7"), (("a", 7), ("a", "7"))])
def test_labels_that_differ_only_in_type_are_refused(x, y, missing):
    with pytest.raises(LabelMismatchError, match=r"of gold and label .* of run differ only in their types"):
        align({x: 2, "tea": 1, "rice": 3}, {y: 2, "tea": 1, "rice": 3}, names=("gold", "run"), missing=missing)


DAYS = pd.date_range("2026-01-30", periods=3)
NANOSECONDS = DAYS.values.astype("M8[ns]")


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(lambda scores: dict(zip(DAYS.to_pydatetime(), scores, strict=True)), id="keys of Python"),
        pytest.param(lambda scores: dict(zip(NANOSECONDS, scores, strict=True)), id="keys of numpy"),
        pytest.param(lambda scores: Ranking.from_scores(scores, NANOSECONDS), id="nanoseconds"),
        pytest.param(lambda scores: Ranking.from_scores(scores, NANOSECONDS.astype("M8[s]")), id="seconds"),
        pytest.param(lambda scores: Ranking.from_scores(scores, list(NANOSECONDS)), id="list of numpy"),
        pytest.param(lambda scores: Ranking.from_scores(scores, DAYS), id="index"),
        pytest.param(lambda scores: Ranking.from_scores(scores, pl.Series(NANOSECONDS)), id="polars"),
        pytest.param(lambda scores: Ranking.from_scores(scores, pa.array(NANOSECONDS)), id="pyarrow"),
        pytest.param(lambda scores: pd.Series(scores, NANOSECONDS), id="series"),
        pytest.param(lambda scores: Ranking.from_order(NANOSECONDS[np.argsort(scores)[::-1]]), id="order"),
    ],
)
def test_equal_times_match(times):
    gold = pd.Series([2, 3, 1], DAYS)
    ranking = align(gold, times([1, 3, 2]))[1]
    assert (ranking.labels, ranking.ranks.tolist()) == (tuple(DAYS), [3, 1, 2])


def test_times_are_labels_of_raters_and_of_parts():
    by_numpy, by_pandas = dict(zip(NANOSECONDS, [1, 2, 3], strict=True)), pd.Series([1, 2, 4], DAYS)
    assert krippendorff_alpha({"a": by_numpy, "b": by_pandas}) == krippendorff_alpha([[1, 2, 3], [1, 2, 4]])
    sets = [rank_sets(estimates, standard_errors=by_pandas) for estimates in (by_numpy, by_pandas - [0, 0, 1])]
    assert sets[0] == sets[1]


@pytest.mark.parametrize("missing", ["raise", "intersection", "bottom", "gold"])
@pytest.mark.parametrize("dates", [DAYS.date, DAYS.values.astype("M8[D]"), DAYS.strftime("%Y-%m-%d")])
def test_a_date_is_no_time_and_no_text(dates, missing):
    with pytest.raises(LabelMismatchError, match=r"label .*2026.* and label .*2026.* differ only in their types"):
        align(pd.Series([2, 3, 1], DAYS), Ranking.from_scores([1, 3, 2], dates), missing=missing)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (NANOSECONDS + 1, r"must be whole microseconds of the years 1 to 9999; got:"),
        (np.array([1, 2, 3], "m8[ns]"), "must be whole microseconds .*; got: np.timedelta64"),
        (np.array([1, 2, 3], "m8[Y]"), "must be whole microseconds .*; got: np.timedelta64"),
        (np.array([1, 2, 20000]).astype("M8[Y]"), "must be whole microseconds .*; got: np.datetime64"),
        (np.array([1, 2, 3], "m8"), "labels must be hashable: np.timedelta64"),
        ([("a", np.datetime64(1, "ns")), "b", "c"], r"must be whole microseconds .*; got: \('a', np.datetime64"),
        (np.array([10, 11, "NaT"], "M8[ns]"), r"nan cannot be a label.*; positions: 2"),
        (np.array([10, 11, "NaT"], "M8[D]"), r"nan cannot be a label.*; positions: 2"),
    ],
)
def test_times_that_python_cannot_hold_are_no_labels(labels, message):
    for call in (lambda: Ranking.from_scores([1, 2, 3], labels), lambda: Ranking.from_order(labels)):
        with pytest.raises(LabelError, match=message):
            call()


def test_a_time_with_a_zone_equals_the_same_moment_only():
    moments = [datetime.datetime(2026, 1, 31, hour, tzinfo=datetime.UTC) for hour in range(3)]
    zone = datetime.timezone(datetime.timedelta(hours=5))
    elsewhere = [moment.astimezone(zone) for moment in moments]
    x, y = align(Ranking.from_scores([1, 3, 2], moments), Ranking.from_scores([3, 1, 2], elsewhere))
    assert (x.ranks.tolist(), y.ranks.tolist()) == ([3, 1, 2], [1, 3, 2])
    without_zone = [moment.replace(tzinfo=None) for moment in moments]
    with pytest.raises(LabelMismatchError, match=r"labels in x only: datetime.*labels in y only: datetime"):
        align(x, Ranking.from_scores([1, 3, 2], without_zone))


@pytest.mark.parametrize("number", [7, np.int64(7)])
def test_labels_of_a_ranking_must_not_differ_only_in_type(number):
    message = "labels differ only in their types: '7'; write all labels in one way, such as text"
    with pytest.raises(DuplicateLabelError, match=message):
        Ranking.from_scores({number: 2, "7": 1, "tea": 3})
    with pytest.raises(DuplicateLabelError, match=message):
        Ranking.from_order([number, "tea", "7"])
    assert Ranking.from_order([number, "tea", "8", (7, "7")]).n_items == 4
    with pytest.raises(
        DuplicateLabelError, match=r"labels differ only in their types: \('7', \('a', '7'\)\); write all"
    ):
        Ranking.from_order([(number, ("a", 7)), ("7", ("a", "7")), "tea"])
    names = {number: [1, 2, 3], "7": [1, 3, 2]}
    for call, role in (
        (lambda: rank_sets({number: 2, "7": 1}, standard_errors=[1, 1]), "estimates"),
        (lambda: rankcorr.correlation_matrix(names), "rankings"),
    ):
        with pytest.raises(DuplicateLabelError, match=f"names of {role} differ only in their types: '7'; write all"):
            call()


def test_an_item_of_another_unicode_form_is_named():
    with pytest.warns(UnicodeFormWarning, match="item ids that look the same") as warned:
        align({"caf\u00e9": 2, "tea": 1}, {"cafe\u0301": 2, "tea": 1}, missing="bottom")
    assert warned[0].filename == __file__


BIG = 2**53
# Each value in every type that can hold it, so that lists mix types that compare wrongly or not at all.
TYPES = (int, float, Fraction, Decimal, np.int64, np.uint64, np.float32, np.float64, np.longdouble)
VALUES = (0, 1, 2**24, 2**24 + 1, BIG - 1, BIG, BIG + 1, BIG + 2, 2**62 + 1)


def to_fraction(number):
    return Fraction(int(number)) if isinstance(number, np.integer) else Fraction(*number.as_integer_ratio())


NUMBERS = st.one_of(
    st.sampled_from([(kind, value) for kind in TYPES for value in VALUES if to_fraction(kind(value)) == value]).map(
        lambda pair: pair[0](pair[1])
    ),
    st.sampled_from([Fraction(1, 3), 1 / 3, Decimal("0.1"), 0.1, np.float32(0.1), np.longdouble(1) / 3]),
    st.floats(-1e20, 1e20),
)


@given(st.lists(NUMBERS, min_size=2, max_size=8))
def test_lists_of_all_types_of_numbers_are_ranked_exactly(scores):
    expected = naive.midranks([to_fraction(score) for score in scores])
    assert Ranking.from_scores(scores).ranks.tolist() == expected
    assert Ranking.from_scores(np.array(scores, object)).ranks.tolist() == expected
    assert Ranking.from_scores(dict(enumerate(scores))).ranks.tolist() == expected


@given(st.lists(NUMBERS, min_size=2, max_size=5), st.lists(NUMBERS, min_size=2, max_size=5))
def test_scores_of_two_systems_are_compared_exactly(first, second):
    systems = {"a": Ranking.from_scores(first), "b": Ranking.from_scores(np.array(second, object))}
    codes = np.concatenate(codes_of_scores(systems))
    numbers = list(map(to_fraction, first + second))
    order = {number: place for place, number in enumerate(sorted(set(numbers), reverse=True))}
    assert codes.tolist() == [order[number] for number in numbers]


def test_infinities_are_the_largest_and_smallest_scores():
    scores = [np.longdouble("-inf"), Decimal("Infinity"), Decimal("1e999999"), -(10**400), math.inf, 5]
    assert order_codes(np.array(scores, object)).tolist() == [0, 4, 3, 1, 4, 2]


def exchange_pvalue(gold, first, second):
    """P-value of the difference in tau over all exchanges of scores, as fractions."""
    weights = [1 / len(gold)] * len(gold)
    gold = naive.midranks(gold)

    def difference(a, b):
        return naive.weighted_tau(gold, naive.midranks(a), weights) - naive.weighted_tau(
            gold, naive.midranks(b), weights
        )

    first, second = ([Fraction(score) for score in scores] for scores in (first, second))
    values = [(difference(a, b), m) for a, b, m in naive.exchanges(first, second)]
    return naive.share_as_extreme(0, difference(first, second), values)


DISTINCT = (lambda row: to_fraction(row[0]), lambda row: to_fraction(row[1]))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=4, unique_by=DISTINCT))
def test_exchanges_of_scores_of_all_types_are_exact(rows):
    first, second = ([row[place] for row in rows] for place in (0, 1))
    gold = list(range(len(rows), 0, -1))
    comparison = compare_systems(gold, first, second, swap="scores", coefficient="tau")
    assert comparison.pvalue == exchange_pvalue(
        gold, *([to_fraction(score) for score in row] for row in (first, second))
    )


def test_numbers_without_an_order_raise_a_named_error():
    numbers.Real.register(UnorderedNumber)
    with pytest.raises(NonNumericError, match=r"^every score must be a real number that compares with the others: "):
        Ranking.from_scores([UnorderedNumber(), 2**60])


class UnorderedNumber:
    """A registered real number type without an order."""


def test_integers_that_numpy_would_round_are_kept():
    for values in ([BIG + 1, 0.5], [2**64, -1], [np.uint64(BIG + 1), np.int64(-1)], [["x"], [2]]):
        assert exact_array(values).tolist() == values
    assert exact_array([1, 0.5, math.inf]).dtype == np.float64
    with pytest.raises(rankcorr.DimensionError, match="numbers must form an array; their rows differ in length"):
        exact_array([[1], [1, 2]])


@pytest.mark.parametrize(
    ("array", "beyond"),
    [
        (np.array([BIG, -BIG]), []),
        (np.array([BIG + 1, -BIG - 1, 3]), [BIG + 1, -BIG - 1]),
        (np.array([BIG + 1, 3], np.uint64), [BIG + 1]),
        (np.array([-(2**63)]), [-(2**63)]),
        (np.array([], np.int64), []),
        (np.array([1e300, math.inf]), []),
        (np.array([1e300, Decimal("-Infinity"), Decimal(BIG + 1), Fraction(-BIG * 2 - 1, 2)], object), 2),
    ],
)
def test_numbers_that_floats_cannot_distinguish_are_listed(array, beyond):
    beyond = beyond if isinstance(beyond, list) else array[-beyond:].tolist()
    assert numbers_beyond_floats(array) == beyond


def test_numbers_of_all_types_become_floats():
    array = np.array([[1, Fraction(1, 4)], [Decimal("sNaN"), Decimal("-Infinity")]], object)
    np.testing.assert_array_equal(as_floats(array), [[1.0, 0.25], [math.nan, -math.inf]])


def test_frames_with_integers_beyond_2_to_53_are_ranked_exactly():
    integers, floats = [BIG + 1, BIG, 3], [float(BIG), 5.5, 4.0]
    for frame in (
        pd.DataFrame({"a": integers, "b": floats}),
        pd.DataFrame({"a": integers, "b": floats}, dtype=object),
        pl.DataFrame({"a": integers, "b": floats}),
    ):
        gold = [3, 2, 1] if isinstance(frame, pl.DataFrame) else {0: 3, 1: 2, 2: 1}
        assert correlate_many(gold, frame, coefficient="tau").statistic.tolist() == [1.0, 1.0]
        comparison = compare_systems(gold, frame["a"], frame["b"], swap="scores", coefficient="tau")
        assert comparison.pvalue == exchange_pvalue([3, 2, 1], integers, floats)
