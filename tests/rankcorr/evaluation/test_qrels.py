"""Qrels and runs in memory: input types, matching of documents, and errors."""

import json
import math
import pickle
from collections import namedtuple
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet

from rankcorr import DimensionError, MissingValueError, NonNumericError, OptionError, TableError, UnicodeFormWarning
from rankcorr.errors import LabelError
from rankcorr.evaluation import (
    ColumnError,
    Coverage,
    DuplicateDocumentError,
    Qrels,
    QueryEvaluator,
    QueryMismatchError,
    RankColumnWarning,
    Run,
    SelfHitWarning,
    SplitQueryError,
    UnjudgedError,
    compare_runs,
    evaluate,
    read_groups,
    read_qrels,
    read_run,
    worst,
)
from rankcorr.evaluation._matching import join_run, matched, trec_order
from rankcorr.evaluation._sources import grouped_queries, runs_of
from tests.rankcorr.evaluation.cases import QRELS, RUNS, naive_match, naive_order
from tests.rankcorr.evaluation.comparison.test_compare import case

COLUMNS = {"qid": ["q2", "q1", "q2"], "docno": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]}
LONG_DOUBLE = pytest.mark.skipif(np.finfo(np.longdouble).bits == 64, reason="long doubles are doubles on this machine")
RUN_SCORES = {"q2": {"a": 1.0, "c": 3.0}, "q1": {"b": 2.0}}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict]


def test_rows_are_sorted_by_query_once_in_the_order_of_their_first_rows():
    run = Run.from_columns(COLUMNS["qid"], COLUMNS["docno"], COLUMNS["score"], name="mine")
    assert (run.queries, run.offsets.tolist(), run.documents) == (("q2", "q1"), [0, 2, 3], ("a", "b", "c"))
    assert (run.codes.tolist(), run.values.tolist()) == ([0, 2, 1], [1.0, 3.0, 2.0])
    assert run.to_dict() == RUN_SCORES
    assert repr(run) == "<Run 'mine' of 2 queries, 3 documents>"
    assert len(run) == 3


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_of_every_kind_are_read(frame):
    assert Run.from_frame(frame(COLUMNS)).to_dict() == RUN_SCORES
    assert Run.of(frame(COLUMNS)).to_dict() == RUN_SCORES


@pytest.mark.parametrize("frame", FRAMES)
def test_whole_numbers_are_ids_too(frame):
    columns = {"query": [7, 3, 7], "document": [1, 1, 2], "relevance": [1, 0, 2]}
    assert Qrels.from_frame(frame(columns)).to_dict() == {7: {1: 1.0, 2: 2.0}, 3: {1: 0.0}}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_missing_column_lists_those_of_the_frame(frame):
    with pytest.raises(ColumnError, match=r"no column for the document, such as 'document'.*'qid', 'score'; rename"):
        Run.from_frame(frame({"qid": ["a"], "score": [1.0]}))
    with pytest.raises(ColumnError, match="no column 'id' for the query; it has 'qid', 'docno', 'score'"):
        Run.from_frame(frame(COLUMNS), query="id")
    with pytest.raises(ColumnError, match=r"the score: 'score', 'sim'; rename one, or .* Run.from_frame"):
        Run.from_frame(frame({**COLUMNS, "sim": [1, 2, 3]}))
    assert Run.from_frame(frame({**COLUMNS, "query": ["x", "y", "z"]})).to_dict() == RUN_SCORES


def test_whole_numbers_of_128_bits_are_ids_too():
    run = Run.from_columns(pl.Series([2**70, 3], dtype=pl.Int128), ["a", "b"], [1, 2])
    assert run.queries == (2**70, 3)


def test_values_of_a_sorted_arrow_table_are_not_copied():
    table = pa.table({"query": ["q"] * 3 + ["r"], "document": ["a", "b", "c", "a"], "score": [1.0, 2.0, 3.0, 4.0]})
    run = Run.from_frame(table)
    (chunk,) = table["score"].chunks
    assert np.shares_memory(run.values, chunk.to_numpy())


def test_numbers_of_the_caller_are_copied():
    values = np.array([1.0, 2.0])
    run = Run.from_columns(["q", "q"], ["a", "b"], values)
    values[0] = 9.0
    assert run.values.tolist() == [1.0, 2.0]


def test_an_encoded_column_of_arrow_may_have_its_own_order_and_unused_ids():
    queries = pa.DictionaryArray.from_arrays([2, 2, 0], ["late", "unused", "early"])
    run = Run.from_columns(queries, pa.chunked_array([["a"], ["b", "a"]]), pa.array([1.0, 2.0, 3.0]))
    assert run.to_dict() == {"early": {"a": 1.0, "b": 2.0}, "late": {"a": 3.0}}


def test_columns_of_arrow_in_chunks():
    table = pa.concat_tables([pa.table(COLUMNS), pa.table({name: column[:1] for name, column in COLUMNS.items()})])
    with pytest.raises(DuplicateDocumentError, match=r"\('q2', 'a'\)"):
        Run.from_frame(table)
    assert Run.from_frame(table, duplicates="first").to_dict() == RUN_SCORES


@pytest.mark.parametrize(("duplicates", "expected"), [("first", 1.0), ("max", 5.0)])
def test_duplicates_are_refused_or_resolved(duplicates, expected):
    columns = ["q", "q", "r", "q"], ["a", "a", "a", "a"], [1.0, 5.0, 2.0, 3.0]
    with pytest.raises(
        DuplicateDocumentError, match=r"only once in a query; repeated \(query, document\): \('q', 'a'\); duplicates="
    ):
        Run.from_columns(*columns)
    assert Run.from_columns(*columns, duplicates=duplicates).to_dict() == {"q": {"a": expected}, "r": {"a": 2.0}}
    with pytest.raises(OptionError, match="duplicates must be one of"):
        Run.from_columns(*columns, duplicates="last")


ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")


class RanxRun:
    """As ranx has it: the scores in `run`, and `to_dict`."""

    name = "theirs"

    def __init__(self, scores):
        self.run = scores

    def to_dict(self):
        return self.run


def test_objects_of_other_packages_are_read_by_their_attributes():
    scored = [ScoredDoc("q2", "a", 1.0), ScoredDoc("q1", "b", 2.0), ScoredDoc("q2", "c", 3.0)]
    assert Run.of(scored).to_dict() == RUN_SCORES
    assert Run.of(iter(scored)).to_dict() == RUN_SCORES
    assert Qrels.of([Qrel("q", "a", 2, "0")]).to_dict() == {"q": {"a": 2.0}}
    run = Run.of(RanxRun(RUN_SCORES))
    assert (run.to_dict(), run.name) == (RUN_SCORES, "theirs")
    assert runs_of([RanxRun(RUN_SCORES)])["theirs"].to_dict() == RUN_SCORES
    with pytest.raises(OptionError, match="names of runs must be unique"):
        runs_of([RanxRun(RUN_SCORES), RanxRun(RUN_SCORES)])


@pytest.mark.parametrize("wrong", [3, [], None, [("q", "a", 1.0)], b"text", [Qrel("q", "a", 1, "0"), 3]])
def test_unreadable_objects_are_refused(wrong):
    with pytest.raises(ColumnError, match="Qrels can be read from a dict of dicts"):
        Qrels.of(wrong)


@pytest.mark.parametrize("path", ["qrels.txt", Path("qrels.txt")])
def test_a_path_needs_a_reading_function(path):
    with pytest.raises(ColumnError, match=r"a file \(read_run\), .*; got .*qrels.txt"):
        Run.of(path)


def test_qrels_are_not_accepted_as_a_run():
    qrels = Qrels.from_dict(RUN_SCORES)
    with pytest.raises(ColumnError, match="expected Run; got Qrels"):
        Run.of(qrels)
    assert Qrels.of(qrels) is qrels


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["q", 3], "query ids must be all text or all whole numbers; got both, such as 'q' and 3"),
        (["q", None], "query id must be text or a whole number; got: None"),
        (["q", 1.5], "got: 1.5"),
        (["q", True], "got: True"),
        ([1, True], "got: True"),
        ([1, 1.0], "got: 1.0"),
        ([1, np.float64(1)], "got: "),
        (["q", ""], "each query needs an id; one is empty"),
        (["q", ["r"]], "one cannot be hashed"),
        ("qr", "must be a list or a series; got 'qr'"),
        (pa.array(["q", None]), "each row needs a query id; without one: 1 row"),
        (pd.Series([1.0, np.nan]), "got: 1.0, nan, of type float"),
        (pa.compute.run_end_encode(pa.array(["q", "r"])), "got a column of type run_end_encoded"),
        (["q"], "same length; got 1 queries, 2 documents, 2 scores"),
    ],
)
def test_invalid_ids_are_refused(queries, message):
    with pytest.raises(ColumnError, match=message):
        Run.from_columns(queries, ["a", "b"], [1.0, 2.0])


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, np.nan], MissingValueError, "every document needs a score; nan in row 1"),
        ([1.0, None], MissingValueError, "null in row 1"),
        (pa.array([1.0, None]), MissingValueError, "null or masked in row 1"),
        (pl.Series([None, 1.0]), MissingValueError, "null or masked in row 0"),
        (np.ma.MaskedArray([1.0, 2.0], mask=[True, False]), MissingValueError, "null or masked in row 0"),
        (pd.Series([np.nan, np.nan]), MissingValueError, "nan in row 0, 1"),
        ([1.0, "2"], NonNumericError, "every score must be a real number; row 1 is '2'"),
        ([[1.0, 2.0], [3.0, 4.0]], ColumnError, "must have one dimension"),
        ([[1.0], [3.0, 4.0]], DimensionError, "rows differ in length"),
    ],
)
def test_invalid_values_are_refused(values, error, message):
    with pytest.raises(error, match=message):
        Run.from_columns(["q", "q"], ["a", "b"], values)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (np.ma.array([1, 2], mask=[False, True]), "each row needs a document id; masked: 1 row"),
        (np.ma.array(["a", "b"], mask=[True, True]), "each row needs a document id; masked: 2 rows"),
        ({"a", "b"}, "the column of document ids must be a list or a series; got {"),
        (frozenset({"a", "b"}), "the column of document ids must be a list or a series; got frozenset"),
    ],
)
def test_masked_ids_and_ids_without_an_order_are_refused(documents, message):
    with pytest.raises(ColumnError, match=message):
        Run.from_columns(["q", "q"], documents, [1, 2])


def test_infinite_scores_and_numbers_of_other_kinds_can_be_ordered():
    assert Run.from_columns(["q", "q"], ["a", "b"], [np.inf, -np.inf]).values.tolist() == [np.inf, -np.inf]
    assert Run.from_columns(["q", "q"], ["a", "b"], [Decimal("0.5"), 1]).values.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    "scores",
    [
        [-(2**53) - 1, 0],
        [2**53 + 1, 0.5],  # numpy makes floats of both
        [10**400, 1],
        [Decimal(2**53 + 1), Decimal(2**53)],
        pytest.param([np.longdouble(2**53) + 1, 2.0], marks=LONG_DOUBLE),
        pytest.param(np.array([2**54, 2**54 + 2], np.longdouble) + np.longdouble(1), marks=LONG_DOUBLE),
        pytest.param(pd.Series(np.array([2**54, 2**54 + 2], np.longdouble) + np.longdouble(1)), marks=LONG_DOUBLE),
        np.array([2**53, 2**53 + 1], np.uint64),
        pd.Series([2**53 + 1, 0.5], dtype=object),
        pl.Series([2**53, 2**53 + 1]),
    ],
)
def test_integers_that_floats_cannot_distinguish_are_refused(scores):
    with pytest.raises(NonNumericError, match=r"beyond 2\^53"):
        Run.from_columns(["q", "q"], ["a", "b"], scores)


def test_large_floats_and_decimals_that_are_no_number():
    run = Run.from_columns(["q"] * 3, ["a", "b", "c"], [1e300, 2**53, Decimal("-Infinity")])
    assert run.values.tolist() == [1e300, 2.0**53, -np.inf]
    with pytest.raises(MissingValueError, match="nan in row 1"):
        Run.from_columns(["q", "q"], ["a", "b"], [1, Decimal("sNaN")])


@pytest.mark.parametrize("value", [np.nan, None])
def test_a_dict_names_query_and_document(value):
    message = f"relevance must be a real number; that of document 'b' of query 'q' is {value}"
    with pytest.raises(MissingValueError, match=message):
        Qrels.from_dict({"q": {"a": 1, "b": value}})
    with pytest.raises(NonNumericError, match=r"beyond 2\^53"):
        Qrels.from_dict({"q": {"a": 1, "b": 2**60}})


def test_empty_qrels_are_refused():
    with pytest.raises(ColumnError, match="there is no row: a query, a document and a relevance are expected"):
        Qrels.from_dict({})
    with pytest.raises(ColumnError, match="there is no row"):
        Run.from_dict({"q": {}})
    with pytest.raises(ColumnError, match=r"a mapping such as \{query: \{document: value\}\}"):
        Run.from_dict({"q": 3})


def test_qrels_and_runs_are_compared_by_value():
    run = Run.from_dict(RUN_SCORES, name="mine")
    other = Run.from_dict(RUN_SCORES)
    assert run == other
    assert hash(run) == hash(other)
    assert run != Qrels.from_dict(RUN_SCORES)
    assert run != Run.from_dict({"q": {"a": 1.0}})
    again = pickle.loads(pickle.dumps(run))
    assert again == run
    assert again.name == "mine"
    with pytest.raises(AttributeError, match="a Run is immutable"):
        run.name = "yours"
    with pytest.raises(ValueError, match="read-only"):
        run.values[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        again.values[0] = 3.0
    with pytest.raises(TypeError, match=r"use Run\.from_dict"):
        Run()
    with pytest.raises(LabelError, match="there is no query: 'q9'"):
        run["q9"]


QUERIES = ("q1", "q2", "q3")
GENRES = {"qid": ["q3", "q1", "q2", "q1", "q9"], "genre": ["war", "drama", "war", "drama", "farce"]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_groups_may_be_a_column_or_a_mapping(frame):
    assert grouped_queries(frame(GENRES), QUERIES) == {"drama": [0], "war": [1, 2]}
    assert grouped_queries(dict(zip(*GENRES.values(), strict=True)), QUERIES) == {"drama": [0], "war": [1, 2]}
    # With several columns, the one named group is used.
    assert grouped_queries(frame({**GENRES, "group": [1, 2, 1, 2, 3]}), QUERIES) == {2: [0], 1: [1, 2]}
    assert grouped_queries(None, QUERIES) == {}


def test_groups_from_a_frame_reach_the_comparison():
    qrels, runs = case(14)
    groups = {query: len(query) for query in qrels}
    frame = pd.DataFrame({"query": list(groups), "length": list(groups.values())})
    by_mapping = compare_runs(qrels, runs, groups=groups, n_resamples=50)
    assert [group.group for group in by_mapping.groups] == [2, 3]
    assert compare_runs(qrels, runs, groups=frame, n_resamples=50) == by_mapping


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (pd.DataFrame({"genre": ["a"]}), ColumnError, "groups need one column of queries, such as 'query'"),
        (pd.DataFrame({"qid": ["q1"], "query": ["q1"]}), ColumnError, "groups need one column of queries"),
        (pd.DataFrame({"qid": ["q1"]}), ColumnError, "one column other than 'qid'"),
        (pd.DataFrame({"qid": ["q1"], "a": [1], "b": [1]}), ColumnError, "or one called 'group'; got 'qid', 'a', 'b'"),
        (pd.DataFrame({"qid": ["q1", "q1"], "a": [1, 2]}), ColumnError, "query 'q1' has two groups, 1 and 2"),
        (pd.DataFrame({"qid": ["q1", "q2"], "a": [1, 2]}), OptionError, "every query of qrels needs a group; without"),
        (pd.DataFrame({"qid": [1, 2, 3], "a": [1, 2, 3]}), OptionError, "without one: 'q1', 'q2', 'q3'"),
        ({"q1": "a", "q2": math.nan, "q3": "b"}, OptionError, "that of 'q2' is nan"),
        ({"q1": "a", "q2": None, "q3": "b"}, OptionError, "that of 'q2' is None"),
        (["a", "b", "c"], OptionError, "groups must be a mapping of query to group, or a data frame"),
    ],
)
def test_invalid_groups_are_refused(groups, error, message):
    with pytest.raises(error, match=message):
        grouped_queries(groups, QUERIES)


@pytest.mark.parametrize(
    "text", ["query,group\nq1,drama\nq2,war\n", "q1,drama\nq2,war\n", "QID\tgenre\nq1\tdrama\n\nq2\twar\nq2\twar\n"]
)
def test_files_of_groups_are_read(tmp_path, text):
    (tmp_path / "groups").write_text(text)
    assert read_groups(tmp_path / "groups") == {"q1": "drama", "q2": "war"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1,drama,x\n", r"groups:1: expected 2 columns \(query and group\); got 3"),
        ("q1,a\nq2,\n", r'groups:2: column "group": empty cell'),
        ("q1,a\n ,b\n", r'groups:2: column "query": empty cell'),
        ("q1,a\nq1,b\n", r'groups:2: query "q1" has two groups, "a" and "b"'),
        ("query,group\n", "there is no line after the header"),
        ("", "the file is empty"),
        ("q1\n", "one column; a query and a group are expected"),
        ('{"q1": "a", "q2": "b"}', "groups: is JSON: save it as CSV"),
    ],
)
def test_files_without_groups_are_refused(tmp_path, text, message):
    (tmp_path / "groups").write_text(text)
    with pytest.raises(TableError, match=message):
        read_groups(tmp_path / "groups")


@given(QRELS, st.integers(0, 3))
def test_pooled_folds_equal_the_whole(qrels, edge):
    queries = list(qrels)
    parts = [{query: qrels[query] for query in fold} for fold in (queries[:edge], queries[edge:]) if fold]
    unsplit, pooled = Qrels.from_dict(qrels), Qrels.pooled([Qrels.from_dict(part) for part in parts], name="x")
    assert (pooled.name, pooled.queries, pooled.documents) == ("x", unsplit.queries, unsplit.documents)
    for field in ("offsets", "codes", "values"):
        assert getattr(pooled, field).tolist() == getattr(unsplit, field).tolist()
        assert not getattr(pooled, field).flags.writeable
    of_parts, of_whole = (evaluate(gold, qrels, metrics="ap").values for gold in (parts, qrels))
    assert of_parts.tobytes() == of_whole.tobytes()
    with pytest.raises(SplitQueryError, match="in one fold only; in more than one"):
        Qrels.pooled([unsplit, *(Qrels.from_dict(part) for part in parts)])


def test_missing_and_overlapping_folds_are_refused():
    with pytest.raises(ColumnError, match="there is no fold"):
        Qrels.pooled([])
    with pytest.raises(SplitQueryError, match="more than one: '1'"):
        Qrels.pooled([Qrels.from_dict({1: {"a": 1}}), Qrels.from_dict({"1": {"a": 1}})])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_ranks_that_contradict_scores_give_a_note(kind, tmp_path):
    columns = {"qid": [*"qqqrr"], "docno": [*"abcab"], "score": [3.0, 2.0, 1.0, 1.0, 2.0], "rank": [0, 1, 2, 0, 1]}
    message = "document 'b' of query 'r' has a larger score than one ranked above it, as in 1 query; the scores"
    with pytest.warns(RankColumnWarning, match=f"^the data frame: {message} are used, not the ranks$") as notes:
        run = Run.from_frame(kind(columns))
    assert run["r"] == {"a": 1, "b": 2}
    parquet.write_table(pa.table(columns), tmp_path / "run.parquet")
    with pytest.warns(RankColumnWarning, match=f"run.parquet: {message}") as of_file:
        assert read_run(tmp_path / "run.parquet").to_dict() == run.to_dict()
    assert {notes[0].filename, of_file[0].filename} == {__file__}
    for changes in ({"rank": [1, 2, 3, 2, 1]}, {"rank": [*"vwxyz"]}, {"rank": [1, 1, 1, 1, 1]}):
        Run.from_frame(kind(columns | changes))  # without a note
    with pytest.warns(RankColumnWarning, match="^the data frame: all documents of a query have the same score; "):
        Run.from_frame(kind(columns | {"score": [1.0] * 5}))
    Qrels.from_frame(kind(columns | {"relevance": columns["score"]}))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_named_rank_is_read_as_ranks(kind):
    frame = kind({"qid": ["q", "q", "r"], "docno": ["a", "b", "a"], "Rank": [2, 1, 1]})
    with pytest.raises(ColumnError, match="no column for the score"):
        Run.from_frame(frame)
    with pytest.warns(RankColumnWarning, match="column 'Rank' is read as ranks .1 is best.; rename it if") as notes:
        assert Run.from_frame(frame, value="Rank").to_dict() == {"q": {"a": -2, "b": -1}, "r": {"a": -1}}
    assert notes[0].filename == __file__
    with pytest.warns(RankColumnWarning):
        assert Qrels.from_frame(frame, value="Rank")["q"] == {"a": -2, "b": -1}
    with pytest.raises(OptionError, match="column 'rank' holds ranks; scores are needed"):
        QueryEvaluator("tau_w", scores=["score", "rank"])


RELEVANT = {"q1": {"d1", "d3"}, "q2": ["d2"]}
RUN = {"q1": {"d2": 0.9, "d1": 0.75, "d3": 0.25}, "q2": {"d2": 0.5, "d1": 0.5}}
HITS = {query: [{"corpus_id": d, "score": score} for d, score in scores.items()] for query, scores in RUN.items()}
JUDGEMENTS = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 1}}
METRICS = ["ap", "ndcg@2", "tau_w"]


def is_same(qrels, run):
    """Whether an evaluation equals that of plain dicts."""
    result, expected = (evaluate(*inputs, metrics=METRICS) for inputs in ((qrels, run), (JUDGEMENTS, RUN)))
    return result.queries == expected.queries and result.values.tobytes() == expected.values.tobytes()


def test_relevant_documents_and_hits_of_sentence_transformers(tmp_path):
    assert is_same(RELEVANT, HITS)
    assert evaluate(RELEVANT, {"x": HITS, "y": RUN}).runs == ("x", "y")
    path = tmp_path / "predictions_cosine.jsonl"
    rows = [{"query_id": query, "query": "words", "results": hits} for query, hits in HITS.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n")
    assert read_run(path).name == "predictions_cosine"
    assert is_same(RELEVANT, path)


def test_predictions_of_mteb_are_read(tmp_path):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": RUN}}))
    assert is_same(JUDGEMENTS, path)
    path.write_text(json.dumps({"mteb_model_meta": {}, "en": {"test": RUN}, "de": {"dev": RUN, "test": RUN}}))
    with pytest.raises(TableError, match="one subset and split; the file has en test, de dev, de test"):
        read_run(path)
    path.write_text('{"mteb_model_meta": {}}')
    with pytest.raises(TableError, match="the file has none"):
        read_run(path)


def test_queries_and_documents_may_be_levels_of_an_index():
    frame = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "score": [2.0, 1.0]})
    indexed = frame.set_index(["qid", "docno"])
    for source in (indexed, indexed["score"], frame.set_index("qid"), frame.set_index("qid", drop=False)):
        assert Run.of(source).documents == ("a", "b")
    assert Run.from_frame(indexed).queries == ("q1",)


def test_frames_of_pyterrier_are_read():
    rows = [(q, f"text of {q}", n, d, n, s) for q, scores in RUN.items() for n, (d, s) in enumerate(scores.items())]
    run = pd.DataFrame(rows, columns=["qid", "query", "docid", "docno", "rank", "score"])
    judged = [(query, d, label, "0") for query, labels in JUDGEMENTS.items() for d, label in labels.items()]
    assert is_same(pd.DataFrame(judged, columns=["qid", "docno", "label", "iteration"]), run)


@pytest.mark.parametrize(
    ("kind", "lists", "error", "message"),
    [
        (Run, {"q": [["a", 1.0], ["b", 0.5]]}, ColumnError, "hits .*, or ids, best first; that of query 'q' is"),
        (Run, {"q": {"a", "b"}}, ColumnError, "hits with corpus_id and score, or ids, best first; that of query 'q'"),
        (Run, {"q": [{"corpus_id": "a"}]}, ColumnError, "must hold hits with corpus_id and score"),
        (Qrels, {"q": [{"corpus_id": "a"}]}, ColumnError, "must hold hits with corpus_id and score"),
        (Run, {"q": HITS["q1"] + HITS["q1"]}, DuplicateDocumentError, r"\('q', 'd2'\)"),
        (Qrels, {"q": ["a", "a"]}, DuplicateDocumentError, r"\('q', 'a'\)"),
        (Run, {"q": [{"corpus_id": "a", "score": "high"}]}, ValueError, "that of document 'a' of query 'q' is 'high'"),
        (Run, {"q": np.array(["2026"], "M8[ns]")}, ColumnError, "must be text or a whole number; got: datetime"),
        (Qrels, {"q": "a"}, ColumnError, r"expected a mapping such as .*; got \{'q': 'a'\}"),
        (Run, {"q": np.array(1.0)}, ColumnError, r"expected a mapping such as .*; got \{'q': array\(1\.\)\}"),
        (Run, {"q": np.array([["a", "b"]])}, ColumnError, "expected a mapping such as"),
    ],
)
def test_invalid_lists_are_refused(kind, lists, error, message):
    with pytest.raises(error, match=message):
        kind.of(lists)


def test_hits_of_the_real_sentence_transformers():
    torch = pytest.importorskip("torch", reason="torch is too large for the development extra")
    util = pytest.importorskip("sentence_transformers.util", reason="sentence-transformers needs torch")
    torch.manual_seed(0)
    queries, corpus = torch.randn(4, 8), torch.randn(10, 8)
    hits = util.semantic_search(queries, corpus, top_k=5)
    run = dict(zip(["a", "b", "c", "d"], hits, strict=True))
    result = Run.of(run)
    assert len(result) == 20
    best = util.cos_sim(queries, corpus).argmax(dim=1).tolist()
    qrels = {query: {document} for query, document in zip(run, best, strict=True)}
    assert evaluate(qrels, run, metrics=["ap", "p@1"]).values.tolist() == [[[1.0] * 4, [1.0] * 4]]


def test_predictions_of_the_real_mteb(tmp_path):
    task = pytest.importorskip("mteb.abstasks", reason="mteb needs torch").AbsTask
    model = SimpleNamespace(mteb_model_meta=SimpleNamespace(name="m", revision="1"))
    path = Path(tmp_path, "T_predictions.json")
    this = SimpleNamespace(_predictions_path=lambda _: path)
    task._save_task_predictions(this, RUN, model, tmp_path, hf_split="test", hf_subset="default")
    assert is_same(JUDGEMENTS, path)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_run_may_list_its_documents_best_first(kind):
    run = Run.from_dict({"q": kind(["b", "a", "c"]), "r": kind(["x"])})
    assert run.to_dict() == {"q": {"b": -1, "a": -2, "c": -3}, "r": {"x": -1}}
    qrels = {"q": {"a": 1, "b": 0, "c": 0}}
    assert evaluate(qrels, {"mine": {"q": kind(["a", "b", "c"])}}, metrics="ap").of("ap").tolist() == [1.0]


def test_a_value_may_be_an_array_without_dimensions():
    qrels, run = (
        {"q": dict(zip("abc", map(np.array, numbers), strict=True))} for numbers in ((2, 0, 1), (0.1, 0.5, 0.3))
    )
    assert evaluate(qrels, run).of("tau_w").tolist() == [-1]


def test_lists_of_ids_are_not_read_as_files():
    with pytest.raises(ColumnError, match=r"run 'q1': there is no file 'd1'\. If the lists hold .* use Run\.from_dict"):
        evaluate({"q1": {"d1": 1, "d2": 0}}, {"q1": ["d1", "d2"]})


def test_the_parquet_files_of_ranx(tmp_path):
    """`Qrels.save` and `Run.save` of ranx 0.3 write the columns q_id, doc_id and score."""
    frame = pd.DataFrame({"q_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "score": [2, 0, 1]})
    frame.to_parquet(tmp_path / "ranx.parquet")
    assert read_qrels(tmp_path / "ranx.parquet").to_dict() == {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    assert read_run(tmp_path / "ranx.parquet").to_dict() == {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    graded = frame.assign(relevance=[1, 1, 1])
    assert Qrels.from_frame(graded)["q1"] == {"a": 1, "b": 1}
    assert Run.from_frame(graded)["q1"] == {"a": 2, "b": 0}


UNJUDGED, UNRETRIEVED = st.sampled_from(["zero", "omit"]), st.sampled_from(["last", "omit"])


def rows_of(match):
    rows = {}
    for query, (start, stop) in enumerate(zip(match.offsets[:-1].tolist(), match.offsets[1:].tolist(), strict=True)):
        documents = [match.documents[code] for code in match.codes[start:stop].tolist()]
        pairs = zip(match.x[start:stop].tolist(), match.y[start:stop].tolist(), strict=True)
        rows[query] = dict(zip(documents, pairs, strict=True))
    return rows


@given(QRELS, RUNS, UNJUDGED, UNRETRIEVED, st.sampled_from([None, 1, 2, 3, 20]))
def test_documents_are_matched_by_the_options(qrels, run, unjudged, unretrieved, depth):
    assume(set(qrels) & set(run))
    cut = {query: {d: scores[d] for d in naive_order(scores)[:depth]} for query, scores in run.items()}
    expected = naive_match(qrels, cut, unjudged, unretrieved)
    joint = join_run(Qrels.from_dict(qrels), Run.from_dict(run), depth)
    result = matched(joint, unjudged=unjudged, unretrieved=unretrieved)
    assert list(rows_of(result).values()) == [expected[query] for query in qrels]
    common = [query for query in qrels if query in run]
    assert result.coverage == Coverage(
        n_queries=len(qrels),
        not_in_run=tuple(query for query in qrels if query not in run),
        not_in_qrels=tuple(query for query in run if query not in qrels),
        n_compared=sum(map(len, expected.values())),
        n_unjudged=sum(len(set(cut[query]) - set(qrels[query])) for query in common),
        n_unretrieved=sum(len(set(qrels[query]) - set(cut[query])) for query in common),
        n_cut=sum(len(run[query]) - len(cut[query]) for query in common),
        n_negative=sum(rel < 0 for grades in qrels.values() for rel in grades.values()),
    )


@given(QRELS, RUNS)
def test_the_order_is_that_of_trec_eval(qrels, run):
    assume(set(qrels) & set(run))
    joint = join_run(Qrels.from_dict(qrels), Run.from_dict(run), None)
    ids = [joint.documents[code] for code in joint.codes[trec_order(joint)].tolist()]
    assert ids == [document for query in qrels for document in naive_order(run.get(query, {}))]


def test_scores_equal_in_single_precision_are_ties():
    run = Run.from_dict({"q": {"a": 20.0000001, "b": 20.0, "c": 30.0}})
    joint = join_run(Qrels.from_dict({"q": {"a": 1}}), run, 2)
    assert [joint.documents[code] for code in joint.codes.tolist()] == ["b", "c"]


def test_a_score_of_minus_infinity_ranks_above_unretrieved_documents():
    joint = join_run(Qrels.from_dict({"q": {"a": 1, "z": 2}}), Run.from_dict({"q": {"a": -np.inf, "b": 0}}), None)
    result = rows_of(matched(joint, unjudged="zero", unretrieved="last"))[0]
    assert result["b"][1] > result["a"][1] > result["z"][1]


def test_unjudged_documents_can_be_an_error():
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 2.0}, "r": {f"d{number}": number for number in range(9)}}
    message = r"without one \(query, document\): \('r', 'd0'\), .*, \.\.\. \(9 in all\); set unjudged="
    with pytest.raises(UnjudgedError, match=message):
        evaluate(qrels, run, unjudged="error")
    assert evaluate(qrels, {"q": run["q"]}, unjudged="error").coverage[0].n_unjudged == 0


@pytest.mark.parametrize(("query", "document"), [(int, np.str_), (np.int64, int), (np.uint8, np.int32), (np.str_, int)])
def test_whole_numbers_equal_their_decimal_text(query, document):
    gold = {"7": {"1": 2, "2": 0, "3": 1}, "12": {"1": 0, "4": 1}}
    runs = {"same": {"7": {"1": 3, "3": 2, "9": 1}, "12": {"4": 2}}, "other": {"7": {"2": 3}, "12": {"1": 2, "4": 1}}}
    numbers = {query(q): {document(d): score for d, score in scores.items()} for q, scores in runs["other"].items()}
    metrics = ["tau_w", "ap", "ndcg@3"]
    by_text = evaluate(gold, runs, metrics=metrics, standardized=False)
    by_number = evaluate(gold, {**runs, "other": numbers}, metrics=metrics, standardized=False)
    assert by_number.queries == ("7", "12")
    assert by_number.values.tobytes() == by_text.values.tobytes()
    groups = {query("7"): "long", query("12"): "short"}
    assert by_number.group_table(groups) == by_text.group_table({"7": "long", "12": "short"})
    folds = [{query(q): {document(d): 1 for d in gold[q]}} if q == "7" else {q: gold[q]} for q in gold]
    assert Qrels.pooled(list(map(Qrels.from_dict, folds))).queries == ("7", "12")
    differences = [
        (difference.query, [document.document for document in difference.documents])
        for difference in worst({query("7"): gold["7"]}, {"same": runs["same"], "other": numbers})
    ]
    assert differences == [("7", differences[0][1])]
    assert len(set(map(str, differences[0][1]))) == len(differences[0][1])


def test_ids_of_numpy_stay_whole_numbers():
    run = Run.from_dict({np.int64(7): {np.int32(1): 0.5, 2: 0.25}})
    assert run.to_dict() == {7: {1: 0.5, 2: 0.25}}
    assert {type(document) for document in (*run.queries, *run.documents)} == {int}
    assert evaluate({7: {1: 1, 2: 0}}, run, metrics="ap").queries == (7,)


def test_ids_that_differ_by_their_unicode_form_are_named():
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    gold = {composed: {"a": 1, "b": 0}, "tea": {composed: 1, "b": 0}}
    with pytest.warns(UnicodeFormWarning, match=r"query ids .*'caf\\xe9' and 'cafe\\u0301'") as warned:
        evaluate(gold, {decomposed: {"a": 1, "b": 0}, "tea": {"b": 0, composed: 1}}, metrics="ap")
    assert warned[0].filename == __file__
    with pytest.warns(UnicodeFormWarning, match=r"document ids .*'caf\\xe9' and 'cafe\\u0301'"):
        evaluate(gold, {"tea": {"b": 0, decomposed: 1}}, metrics="ap")


def test_at_least_one_query_must_be_in_both():
    with pytest.raises(QueryMismatchError, match="qrels and the run share no query; qrels have 'q', the run has 'r'"):
        evaluate({"q": {"a": 1}}, {"r": {"a": 1.0}})
    with pytest.raises(QueryMismatchError, match="qrels and run 'bad' share no query"):
        evaluate({"q": {"a": 1, "b": 0}}, {"good": {"q": {"a": 1.0}}, "bad": {"r": {"a": 1.0}}})


class TestSelfHits:
    """Queries that are documents of the collection, as in ArguAna."""

    gold: ClassVar = {"a": {"b": 1, "c": 0}, "b": {"a": 1, "c": 0}, "x": {"c": 1, "a": 0}}
    run: ClassVar = {"a": {"a": 9, "c": 5, "b": 4}, "b": {"b": 9, "a": 5}, "x": {"c": 2, "a": 1}}
    run_without_self_hits: ClassVar = {"a": {"c": 5, "b": 4}, "b": {"a": 5}, "x": {"c": 2, "a": 1}}

    @pytest.mark.parametrize("depth", [None, 1, 2])
    def test_self_hits_are_removed_before_the_cut(self, depth):
        options = {"metrics": ["ap", "ndcg@2", "tau_w", "rbo"], "depth": depth, "undefined": "zero"}
        result = evaluate(self.gold, self.run, self_hits="omit", **options)
        expected = evaluate(self.gold, self.run_without_self_hits, **options)
        assert result.values.tobytes() == expected.values.tobytes()
        assert (result.coverage[0].n_self_hits, expected.coverage[0].n_self_hits) == (2, 0)
        assert result.coverage[0].n_cut == expected.coverage[0].n_cut

    def test_self_hits_count_and_are_named_by_default(self):
        message = r'the run: 2 queries have a hit with the id of the query itself; self_hits="omit" leaves it out, as B'
        with pytest.warns(SelfHitWarning, match=message) as notes:
            result = evaluate(self.gold, self.run, metrics="ap")
        assert notes[0].filename == __file__
        with_self_hits = evaluate(self.gold, self.run, metrics="ap", self_hits="keep")
        assert result.values.tobytes() == with_self_hits.values.tobytes()
        assert result.of().tolist() == [pytest.approx(1 / 3), 0.5, 1]

    def test_whole_numbers_equal_their_text(self):
        result = evaluate({7: {"d": 1}}, {"7": {"7": 2, "d": 1}}, metrics="ap", self_hits="omit")
        assert (result.of().tolist(), result.coverage[0].n_self_hits) == ([1.0], 1)
        result = evaluate({7: {1: 1}}, {7: {7: 2, 1: 1}}, metrics="ap")  # no warning: ids are numbers
        assert (result.of().tolist(), result.coverage[0].n_self_hits) == ([0.5], 1)
        result = evaluate({7: {1: 1}}, {7: {7: 2, 1: 1}}, metrics="ap", self_hits="omit")
        assert (result.of().tolist(), result.coverage[0].n_self_hits) == ([1.0], 1)

    def test_comparisons_remove_self_hits_too(self):
        runs = {"one": self.run, "two": {**self.run, "b": {"a": 2, "c": 1}}}
        options = {"metric": "ap", "self_hits": "omit"}
        assert compare_runs(self.gold, runs, n_resamples=39, **options).pairs[0].difference == 0
        assert [pair.difference for pair in worst(self.gold, runs, **options)] == [0, 0, 0]
