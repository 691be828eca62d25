from itertools import groupby, pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import OptionError, TableError
from rankcorr.evaluation import ColumnError, QueryEvaluator, SplitQueryError, read_batches, streamed_means
from rankcorr.evaluation._partitions import streams
from tests.rankcorr.evaluation.partitions.joined import EVALUATOR, assert_same_means, joined_rows, means_of

ROWS = joined_rows(30).sort_values("query", kind="stable", ignore_index=True)
ONE = QueryEvaluator("tau", scores="bm25")
NAMES = ["query", "relevance", "bm25", "dense"]


@pytest.fixture
def small(monkeypatch):
    """Few rows are evaluated at once."""
    monkeypatch.setattr(streams, "LEAST_ROWS", 8)


def cut(rows, cuts):
    table = pa.Table.from_pandas(rows, preserve_index=False)
    edges = [0, *sorted(cuts), len(rows)]
    return [table.slice(start, stop - start) for start, stop in pairwise(edges)]


@given(st.lists(st.integers(0, len(ROWS)), max_size=12), st.sampled_from([1, 8, 1000]))
def test_a_query_may_straddle_batches(cuts, least):
    batches = [table.to_batches()[0] if table.num_rows else table for table in cut(ROWS, cuts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "LEAST_ROWS", least)
        found = pa.Table.from_batches(ONE.batches(batches))
    assert found.equals(pa.Table.from_batches([ONE.batch(ROWS)]))


@pytest.mark.needs_numba
@pytest.mark.usefixtures("small")
def test_threads_change_nothing():
    wanted = means_of([EVALUATOR.frame(ROWS)])
    for workers in (1, 2, 3):
        assert_same_means(streamed_means(cut(ROWS, range(0, len(ROWS), 9)), EVALUATOR, workers=workers), wanted)
        values = list(EVALUATOR.batches(cut(ROWS, [50, 100]), workers=workers))
        assert_same_means(means_of(values), wanted)


@pytest.mark.wide
@pytest.mark.usefixtures("small")
def test_a_query_longer_than_many_batches_is_whole():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"query": "q", "relevance": rng.integers(0, 3, 300), "bm25": rng.standard_normal(300)})
    rows.loc[:4, "query"], rows.loc[290:, "query"] = "before", "later"
    found = pa.Table.from_batches(ONE.batches(cut(rows, range(0, 300, 3))))
    assert found["n_documents"].to_pylist() == [5, 285, 10]
    assert found.equals(pa.Table.from_batches([ONE.batch(rows)]))


def test_no_rows():
    assert list(ONE.batches([])) == []
    assert list(ONE.batches([pa.Table.from_pandas(ROWS[:0])])) == []
    with pytest.raises(OptionError, match="there is no part to combine"):
        streamed_means([], ONE)


def first_again(queries):
    """The first query whose rows come again after those of another; None if there is none."""
    seen = set()
    for query, _ in groupby(queries):
        if query in seen:
            return query
        seen.add(query)
    return None


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 9)), min_size=1, max_size=12),
    st.lists(st.integers(0, 108), max_size=12),
    st.sampled_from([1, 8, 1000]),
)
def test_rows_of_a_query_must_follow_each_other_wherever_batches_are_cut(runs, cuts, least_rows):
    queries = [query for query, size in runs for _ in range(size)]
    places = np.arange(len(queries))
    rows = pd.DataFrame({"query": queries, "relevance": places * 7 % 5, "bm25": places * 3 % 11 / 2})
    batches = cut(rows, [place for place in cuts if place <= len(rows)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "LEAST_ROWS", least_rows)
        again = first_again(queries)
        if again is None:
            wanted = ONE.batch(rows)
            assert pa.Table.from_batches(ONE.batches(batches)).equals(pa.Table.from_batches([wanted]))
            return
        for call in (lambda: list(ONE.batches(batches)), lambda: streamed_means(batches, ONE, workers=1)):
            with pytest.raises(SplitQueryError, match=f"in a stream; those of '{again}' are interrupted"):
                call()


def test_a_query_in_two_places_is_refused_in_one_batch_too():
    """Rows 0 to 10 of a query, 20 to 4,000 of others, 10 to 20 of the first: in one batch they were accepted."""
    rows = pd.DataFrame({"query": ["q"] * 20 + [f"r{row // 10}" for row in range(20, 4_000)]})
    rows["relevance"], rows["bm25"] = rows.index % 3, rows.index % 7
    parts = {"first": rows[:10], "others": rows[20:], "rest": rows[10:20]}
    for batches in ([*parts.values()], [pd.concat(parts.values())], [rows[:10], pd.concat([rows[20:], rows[10:20]])]):
        with pytest.raises(SplitQueryError, match="those of 'q' are interrupted by other queries"):
            list(ONE.batches(batches))


@pytest.mark.usefixtures("small")
def test_types_may_differ_in_width_and_not_in_kind():
    wanted = pa.Table.from_batches([ONE.batch(ROWS)])
    first, second = cut(ROWS, [100])
    place = first.column_names.index("query")
    wide = second.set_column(place, "query", second["query"].cast(pa.large_string()).dictionary_encode())
    assert pa.Table.from_batches(ONE.batches([first, wide])).equals(wanted)
    numbers = second.set_column(place, "query", pa.array(range(second.num_rows)))
    with pytest.raises(ColumnError, match="batches have columns of different types"):
        list(ONE.batches([first, numbers]))


@pytest.mark.needs_numba
@pytest.mark.parametrize("row_group_size", [7, 64, 10_000])
def test_parquet_is_read_in_batches(tmp_path, row_group_size):
    wanted = means_of([EVALUATOR.frame(ROWS)])
    table = pa.Table.from_pandas(ROWS.assign(note="unread"), preserve_index=False)
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for path, part in zip(paths, (table.slice(0, 101), table.slice(101)), strict=True):  # within a query
        pq.write_table(part, path, row_group_size=row_group_size)
    batches = list(read_batches(paths, NAMES, batch_rows=20))
    assert max(batch.num_rows for batch in batches) <= 20
    assert batches[0].schema.names == NAMES
    assert_same_means(streamed_means(batches, EVALUATOR), wanted)
    assert_same_means(streamed_means(read_batches([str(path) for path in paths], NAMES, workers=2), EVALUATOR), wanted)


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"query": ["q"]}), path)
    with pytest.raises(ColumnError, match=r"rows\.parquet has no column 'score'; it has 'query'"):
        list(read_batches(path, ["query", "score"]))
    path.write_text("no Parquet")
    with pytest.raises(TableError, match=r"rows\.parquet cannot be read as Parquet"):
        list(read_batches(path, ["query"]))
    with pytest.raises(TableError, match=r"none\.parquet cannot be read as Parquet"):
        list(read_batches(tmp_path / "none.parquet", ["query"]))
    with pytest.raises(OptionError, match="there is no file to read"):
        read_batches([], ["query"])
    with pytest.raises(OptionError, match="batch_rows must be a positive whole number; got 0"):
        read_batches(path, ["query"], batch_rows=0)
    with pytest.raises(OptionError, match="workers must be a positive whole number"):
        read_batches(path, ["query"], workers=0)
