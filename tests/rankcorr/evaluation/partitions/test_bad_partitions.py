import io
import math
import subprocess
import sys
from itertools import groupby, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import dataset

from rankcorr import DuplicateLabelError, MissingValueError, NonNumericError, OptionError, TableError
from rankcorr.evaluation import (
    ColumnError,
    DuplicateDocumentError,
    MetricError,
    MissingArrowError,
    QueryEvaluator,
    SplitQueryError,
    UnjudgedError,
    read_batches,
    streamed_means,
)
from rankcorr.evaluation._partitions import joined_columns
from tests.rankcorr.evaluation.cases import EVALUATOR, assert_same_means, joined_rows, means_of

COLUMNS = {"query": ["q", "q", "r"], "relevance": [1, 0, 2], "score": [0.5, 0.25, 1.0]}
TAU_EVALUATOR = QueryEvaluator("tau")


def encode(codes, values):
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"score": [0.5, math.nan, 1.0]}, MissingValueError, "'score' .* finite numbers; it is nan .* query 'q'"),
        ({"score": [0.5, 0.25, math.inf]}, ColumnError, "column 'score' .* finite numbers; it is inf .* query 'r'"),
        ({"relevance": [1.0, -math.inf, 1.0]}, ColumnError, "column 'relevance' .* it is -inf .* query 'q'"),
        ({"score": ["high", "low", "high"]}, NonNumericError, "every score must be a real number"),
        ({"relevance": [1, 2**60, 0]}, NonNumericError, r"beyond 2\^53"),
        ({"query": ["q", None, "r"]}, ColumnError, "each row needs a query id; 1 of 3 rows have none"),
        ({"query": ["q", "", "r"]}, ColumnError, "each query needs an id; one is empty"),
        ({"query": encode([0, 1, 0], ["q", None])}, ColumnError, "each row needs a query id; 1 of 3 rows have none"),
        ({"score": ["high", None, "low"]}, NonNumericError, "every score must be a real number"),
        ({"score": encode([0, 1, 0], ["1", "2"])}, NonNumericError, r"every score .* \.cast\(pl\.String\)"),
        ({"relevance": encode([0, 1, 0], [2.0, None])}, UnjudgedError, "has score, no relevance; queries: 'q'"),
        ({"score": [[1], None, [2]]}, NonNumericError, "every score must be a real number"),
        ({"score": [True, None, False]}, MissingValueError, "a document has a relevance, no score; queries: 'q'"),
        ({"query": [1.5, 1.5, 2.5]}, ColumnError, "must be text or whole numbers; got a column of type double"),
        ({"query": pa.array([1, 2, 2**64 - 1], pa.uint64())}, ColumnError, r"id is beyond 2\^63 - 1, so write"),
        ({"relevance": [1, None, 2]}, UnjudgedError, 'no relevance; queries: \'q\'; set unjudged="zero" or "omit"'),
        ({"score": [1.0, 0.5, None]}, MissingValueError, 'no score; queries: \'r\'; set unretrieved="last" or "omit"'),
    ],
)
def test_bad_columns_are_named(changes, error, message):
    with pytest.raises(error, match=message):
        TAU_EVALUATOR.batch(pa.table(COLUMNS | changes))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_missing_column_is_named(kind):
    frame = kind({"query": ["q"], "rel": [1]})
    with pytest.raises(ColumnError, match="the frame has no columns 'relevance', 'score'; it has 'query', 'rel'"):
        TAU_EVALUATOR.frame(frame)


def test_objects_that_are_no_frames_are_refused():
    with pytest.raises(ColumnError, match="a record batch, a table or a data frame is expected; got ndarray"):
        TAU_EVALUATOR.batch(np.ones((3, 3)))
    with pytest.raises(DuplicateLabelError, match="names of columns must be unique"):
        TAU_EVALUATOR.frame(pd.DataFrame([[1, 2, 3]], columns=["query", "query", "score"]))
    with pytest.raises(ColumnError, match="a column occurs more than once: 'query'"):
        TAU_EVALUATOR.batch(pa.Table.from_arrays([pa.array([1])] * 4, names=["query", "query", "relevance", "score"]))


@pytest.mark.parametrize("query", ["tau", "n_documents"])
def test_names_of_result_columns_are_reserved(query):
    with pytest.raises(OptionError, match=f"names of columns of the result .*'{query}'"):
        QueryEvaluator("tau", query=query)


@pytest.mark.parametrize("ids", [["q", "\ud800", "r"], [1, 2**70, 3]])
def test_ids_that_arrow_cannot_hold(ids):
    with pytest.raises(ColumnError, match="column 'query' holds a value that Arrow cannot"):
        TAU_EVALUATOR.frame(pd.DataFrame(COLUMNS | {"query": pd.Series(ids, dtype=object)}))


def test_dictionaries_of_documents_with_a_null_or_a_repeated_value():
    evaluator = QueryEvaluator("ap", document="document")

    def batch(codes, values):
        return evaluator.batch(pa.table(COLUMNS | {"query": ["q"] * 3, "document": encode(codes, values)}))

    with pytest.raises(DuplicateDocumentError, match=r"more than once \(query, document\): \('q', 'a'\)"):
        batch([0, 1, 2], ["a", "a", "b"])
    with pytest.raises(ColumnError, match="each row needs a document id; without one: 1 row"):
        batch([0, 1, 2], ["a", None, "b"])
    assert batch([0, 1, 3], ["a", "b", None, "c"]).equals(batch([0, 1, 2], ["a", "b", "c"]))


def test_ids_of_two_types_are_refused():
    frame = pd.DataFrame({"query": ["q", 3, "r"], "relevance": [1, 0, 2], "score": [0.5, 0.25, 1.0]})
    with pytest.raises(ColumnError, match="column 'query' holds values of several types"):
        TAU_EVALUATOR.frame(frame)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metrics": "ap"}, MetricError, "ap: documents with equal scores are ordered by id; .* document="),
        ({"metrics": ["p@3", "ndcg@5", "tau"]}, MetricError, "p@3, ndcg@5: documents with equal scores"),
        ({"scores": ()}, OptionError, "scores must name at least one column"),
        ({"scores": ("a", "a")}, OptionError, "names of columns must be unique; more than once: 'a'"),
        ({"scores": 3}, OptionError, "scores must be a name or a list of names; got 3"),
        ({"query": ""}, OptionError, "names of columns must be text; got: ''"),
    ],
)
def test_invalid_options_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        QueryEvaluator(**arguments)


def test_an_unknown_type_of_ids():
    with pytest.raises(OptionError, match="query_type must be one of 'string', 'int64'; got 'text'"):
        TAU_EVALUATOR.schema("text")


def test_missing_pyarrow_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingArrowError, match=r"pip install pyarrow"):
        TAU_EVALUATOR.schema()


@pytest.mark.wide
def test_the_import_does_not_load_pyarrow():
    program = "import sys, rankcorr.evaluation; print('pyarrow' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False"


ROWS = joined_rows(30).sort_values("query", kind="stable", ignore_index=True)
ONE_RUN = QueryEvaluator("tau", scores="bm25")
NAMES = ["query", "relevance", "bm25", "dense"]


@pytest.fixture
def small_blocks(monkeypatch):
    """Evaluate only a few rows at once."""
    monkeypatch.setattr(joined_columns, "LEAST_ROWS", 8)


def cut(rows, cuts):
    table = pa.Table.from_pandas(rows, preserve_index=False)
    edges = [0, *sorted(cuts), len(rows)]
    return [table.slice(start, stop - start) for start, stop in pairwise(edges)]


@given(st.lists(st.integers(0, len(ROWS)), max_size=12), st.sampled_from([1, 8, 1000]))
def test_a_query_may_span_batches(cuts, least):
    batches = [table.to_batches()[0] if table.num_rows else table for table in cut(ROWS, cuts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined_columns, "LEAST_ROWS", least)
        result = pa.Table.from_batches(ONE_RUN.batches(batches))
    assert result.equals(pa.Table.from_batches([ONE_RUN.batch(ROWS)]))


@pytest.mark.needs_numba
@pytest.mark.usefixtures("small_blocks")
def test_threads_change_nothing():
    expected = means_of([EVALUATOR.frame(ROWS)])
    for workers in (1, 2, 3):
        assert_same_means(streamed_means(cut(ROWS, range(0, len(ROWS), 9)), EVALUATOR, workers=workers), expected)
        values = list(EVALUATOR.batches(cut(ROWS, [50, 100]), workers=workers))
        assert_same_means(means_of(values), expected)


@pytest.mark.wide
@pytest.mark.usefixtures("small_blocks")
def test_a_query_may_span_many_batches():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"query": "q", "relevance": rng.integers(0, 3, 300), "bm25": rng.standard_normal(300)})
    rows.loc[:4, "query"], rows.loc[290:, "query"] = "before", "later"
    result = pa.Table.from_batches(ONE_RUN.batches(cut(rows, range(0, 300, 3))))
    assert result["n_documents"].to_pylist() == [5, 285, 10]
    assert result.equals(pa.Table.from_batches([ONE_RUN.batch(rows)]))


def test_without_rows_there_is_no_mean():
    assert list(ONE_RUN.batches([])) == []
    assert list(ONE_RUN.batches([pa.Table.from_pandas(ROWS[:0])])) == []
    with pytest.raises(OptionError, match="there is no part to combine"):
        streamed_means([], ONE_RUN)


def find_split_query(queries):
    """The first query whose rows are not contiguous; None if there is none."""
    earlier_queries = set()
    for query, _ in groupby(queries):
        if query in earlier_queries:
            return query
        earlier_queries.add(query)
    return None


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 9)), min_size=1, max_size=12),
    st.lists(st.integers(0, 108), max_size=12),
    st.sampled_from([1, 8, 1000]),
)
def test_rows_of_a_query_must_be_contiguous_in_any_batches(runs, cuts, least_rows):
    queries = [query for query, size in runs for _ in range(size)]
    places = np.arange(len(queries))
    rows = pd.DataFrame({"query": queries, "relevance": places * 7 % 5, "bm25": places * 3 % 11 / 2})
    batches = cut(rows, [place for place in cuts if place <= len(rows)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined_columns, "LEAST_ROWS", least_rows)
        again = find_split_query(queries)
        if again is None:
            expected = ONE_RUN.batch(rows)
            assert pa.Table.from_batches(ONE_RUN.batches(batches)).equals(pa.Table.from_batches([expected]))
            return
        for call in (lambda: list(ONE_RUN.batches(batches)), lambda: streamed_means(batches, ONE_RUN, workers=1)):
            with pytest.raises(SplitQueryError, match=f"in a stream; those of '{again}' are interrupted"):
                call()


@pytest.mark.usefixtures("small_blocks")
def test_types_of_batches_may_differ_only_in_width():
    expected = pa.Table.from_batches([ONE_RUN.batch(ROWS)])
    first, second = cut(ROWS, [100])
    place = first.column_names.index("query")
    wide = second.set_column(place, "query", second["query"].cast(pa.large_string()).dictionary_encode())
    assert pa.Table.from_batches(ONE_RUN.batches([first, wide])).equals(expected)
    numbers = second.set_column(place, "query", pa.array(range(second.num_rows)))
    with pytest.raises(ColumnError, match="batches have columns of different types"):
        list(ONE_RUN.batches([first, numbers]))


@pytest.mark.needs_numba
@pytest.mark.parametrize("row_group_size", [7, 64, 10_000])
def test_parquet_is_read_in_batches(tmp_path, row_group_size):
    expected = means_of([EVALUATOR.frame(ROWS)])
    table = pa.Table.from_pandas(ROWS.assign(note="unread"), preserve_index=False)
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for path, part in zip(paths, (table.slice(0, 101), table.slice(101)), strict=True):  # within a query
        pq.write_table(part, path, row_group_size=row_group_size)
    batches = list(read_batches(paths, NAMES, batch_rows=20))
    assert max(batch.num_rows for batch in batches) <= 20
    assert batches[0].schema.names == NAMES
    assert_same_means(streamed_means(batches, EVALUATOR), expected)
    assert_same_means(
        streamed_means(read_batches([str(path) for path in paths], NAMES, workers=2), EVALUATOR), expected
    )


def test_unreadable_files_are_refused(tmp_path):
    path, text = tmp_path / "rows.parquet", tmp_path / "text.parquet"
    pq.write_table(pa.table({"query": ["q"]}), path)
    text.write_text("no Parquet")
    for files, columns, options, error, message in (
        (path, ["query", "score"], {}, ColumnError, r"rows\.parquet has no column 'score'; it has 'query'"),
        (text, ["query"], {}, TableError, r"text\.parquet cannot be read as Parquet"),
        (tmp_path / "none.parquet", ["query"], {}, TableError, r"none\.parquet cannot be read as Parquet"),
        (tmp_path, ["query"], {}, TableError, "is a folder: list its Parquet files, in the order of their rows"),
        (io.BytesIO(b"PAR1"), ["query"], {}, TableError, "the path of a file must be text or a pathlib.Path; got"),
        (pq.read_table(path), ["query"], {}, TableError, "the path of a file must be text or a pathlib.Path; got"),
        (dataset.dataset(path), ["query"], {}, TableError, "the path of a file must be text or a pathlib.Path; got"),
        ([], ["query"], {}, OptionError, "there is no file to read"),
        (path, ["query"], {"batch_rows": 0}, OptionError, "batch_rows must be a positive whole number; got 0"),
        (path, ["query"], {"workers": 0}, OptionError, "workers must be a positive whole number"),
    ):
        with pytest.raises(error, match=message):
            list(read_batches(files, columns, **options))
