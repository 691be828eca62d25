import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankcorr import OptionError, TableError
from rankcorr.evaluation import ColumnError, compare_runs, read_groups
from rankcorr.evaluation.query_groups import grouped_queries
from tests.rankcorr.evaluation.test_compare import case

QUERIES = ("q1", "q2", "q3")
GENRES = {"qid": ["q3", "q1", "q2", "q1", "q9"], "genre": ["war", "drama", "war", "drama", "farce"]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_a_frame_is_what_a_mapping_is(frame):
    assert grouped_queries(frame(GENRES), QUERIES) == {"drama": [0], "war": [1, 2]}
    assert grouped_queries(dict(zip(*GENRES.values(), strict=True)), QUERIES) == {"drama": [0], "war": [1, 2]}
    # Of several columns the one that is called group.
    assert grouped_queries(frame({**GENRES, "group": [1, 2, 1, 2, 3]}), QUERIES) == {2: [0], 1: [1, 2]}
    assert grouped_queries(None, QUERIES) == {}


def test_groups_from_a_frame_reach_the_comparison():
    qrels, runs = case(14)
    groups = {query: len(query) for query in qrels}
    frame = pd.DataFrame({"query": list(groups), "length": list(groups.values())})
    by_mapping = compare_runs(qrels, runs, groups=groups, n_resamples=50)
    assert [each.group for each in by_mapping.groups] == [2, 3]
    assert compare_runs(qrels, runs, groups=frame, n_resamples=50) == by_mapping


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (pd.DataFrame({"genre": ["a"]}), ColumnError, "groups need one column of queries, such as 'query'"),
        (pd.DataFrame({"qid": ["q1"], "query": ["q1"]}), ColumnError, "groups need one column of queries"),
        (pd.DataFrame({"qid": ["q1"]}), ColumnError, "one column besides 'qid'"),
        (pd.DataFrame({"qid": ["q1"], "a": [1], "b": [1]}), ColumnError, "or one called 'group'; got 'qid', 'a', 'b'"),
        (
            pd.DataFrame({"qid": ["q1", "q1"], "a": [1, 2]}),
            ColumnError,
            "query 'q1' has two groups, 1 and 2",
        ),
        (pd.DataFrame({"qid": ["q1", "q2"], "a": [1, 2]}), OptionError, "every query of qrels needs a group; without"),
        (pd.DataFrame({"qid": [1, 2, 3], "a": [1, 2, 3]}), OptionError, "without one: 'q1', 'q2', 'q3'"),
        ({"q1": "a", "q2": math.nan, "q3": "b"}, OptionError, "that of 'q2' is nan"),
        ({"q1": "a", "q2": None, "q3": "b"}, OptionError, "that of 'q2' is None"),
        (["a", "b", "c"], OptionError, "groups must be a mapping of query to group, or a data frame"),
    ],
)
def test_groups_that_cannot_be_used(groups, error, message):
    with pytest.raises(error, match=message):
        grouped_queries(groups, QUERIES)


@pytest.mark.parametrize(
    "text",
    ["query,group\nq1,drama\nq2,war\n", "q1,drama\nq2,war\n", "QID\tgenre\nq1\tdrama\n\nq2\twar\nq2\twar\n"],
)
def test_files_of_groups(tmp_path, text):
    (tmp_path / "groups").write_text(text)
    assert read_groups(tmp_path / "groups") == {"q1": "drama", "q2": "war"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1,drama,x\n", r"groups:1: two columns are wanted, query and group; got 3"),
        ("q1,a\nq2,\n", r'groups:2: column "group": empty cell'),
        ("q1,a\n ,b\n", r'groups:2: column "query": empty cell'),
        ("q1,a\nq1,b\n", r'groups:2: query "q1" has two groups, "a" and "b"'),
        ("query,group\n", "there is no line besides the head"),
        ("", "the file is empty"),
        ("q1\n", "one column; a query and a group are wanted"),
    ],
)
def test_files_that_hold_no_groups(tmp_path, text, message):
    (tmp_path / "groups").write_text(text)
    with pytest.raises(TableError, match=message):
        read_groups(tmp_path / "groups")
