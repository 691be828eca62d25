import gzip
import io
import json
import sys

import pytest

from rankcorr import OptionError, TableError
from rankcorr.evaluation import DuplicateDocumentError, RankColumnWarning, read_qrels, read_run

FILE = "file.txt"
QRELS = "q1 0 a 2\nq1 0 b 0\nq2\t0\tc\t-1\n"
RUN = "q1 Q0 b 1 9.5 mine\n\nq1  Q0  a  2  3e-1  mine\r\nq2 Q0 c 1 -4 mine\n"
WANTED_QRELS = {"q1": {"a": 2.0, "b": 0.0}, "q2": {"c": -1.0}}
WANTED_RUN = {"q1": {"b": 9.5, "a": 0.3}, "q2": {"c": -4.0}}


@pytest.mark.parametrize(
    "text",
    [
        QRELS,
        QRELS.replace(" ", "\t"),
        QRELS.encode("utf-8-sig"),
        gzip.compress(QRELS.encode(), mtime=0),
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tc\t-1\n",
        json.dumps(WANTED_QRELS),
    ],
)
def test_qrels_of_every_form(write, text):
    assert read_qrels(write(text)).to_dict() == WANTED_QRELS


@pytest.mark.parametrize(
    "text",
    [
        RUN,
        gzip.compress(RUN.encode(), mtime=0),
        "query-id\tcorpus-id\tscore\nq1\tb\t9.5\nq1\ta\t0.3\nq2\tc\t-4\n",
        json.dumps(WANTED_RUN),
    ],
)
def test_runs_of_every_form(write, text):
    assert read_run(write(text)).to_dict() == WANTED_RUN


def test_a_run_of_ms_marco_has_ranks_alone(write):
    text = "7\td1\t1\n7\td2\t2\n7\td3\t10\n"
    assert read_run(write(text)).to_dict() == {"7": {"d1": -1.0, "d2": -2.0, "d3": -10.0}}
    assert read_run(write(text), form="msmarco").to_dict() == read_run(write(text)).to_dict()


def test_qrels_of_ms_marco_have_tabs(write):
    text = "7\t0\tdoc 1\t1\n"
    assert read_qrels(write(text), form="msmarco").to_dict() == {"7": {"doc 1": 1.0}}
    with pytest.raises(TableError, match="4 fields separated by white space are wanted"):
        read_qrels(write(text))


def test_a_run_is_called_by_its_file_unless_it_has_a_name(write):
    assert read_run(write(gzip.compress(RUN.encode(), mtime=0), "bm25.run.gz")).name == "bm25"
    assert read_run(write(RUN, "v1.2.txt")).name == "v1.2"
    assert read_run(write(RUN), name="mine").name == "mine"


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    run = read_run("-")
    assert (run.to_dict(), run.name) == (WANTED_RUN, "stdin")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 0 a 2\nq1 0 b\n", r":2: 4 fields separated by white space are wanted \(query - document .*\); got 3"),
        ("q1 0 a 2 5\n", r":1: 4 fields .* got 5"),
        ("query,document,relevance\nq1,a,2\n", r":1: 4 fields .* got 1; the formats that are read: TREC, .*, Arrow$"),
        ("q1 0 a 2\nq1,0,b,1\n", r":2: 4 fields .* got 1$"),
        ("q1 0 a two\n", r':1: column "relevance": "two" is not a number'),
        ("q1 0 a 2\nq1 0 b nan\n", r':2: column "relevance": "nan" is not a value'),
        ("q1 0 a 1_0\n", '"1_0" is not a number'),
        ("q1 0 a 1e999\n", "beyond the range"),
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("query-id\tcorpus-id\tscore\n", "there is no line after the header"),
        ("query-id\tcorpus-id\tscore\nq\t\t1\n", r':2: column "document": empty cell'),
        ("query-id\tcorpus-id\tscore\nq a 1\n", ":2: 3 fields separated by tabs"),
        (b"q1 0 a\0 2\n", "a null byte"),
        (b"q1 0 \xff 2\n", ":1: byte 0xff is not UTF-8"),
        (gzip.compress(QRELS.encode(), mtime=0)[:-9], "cannot be decompressed"),
        ("{", ":1: is not JSON"),
        ('{"q": 3}', "an object of query to an object of document to relevance is wanted"),
        ("{}", "there is no document"),
        ('{"q": {"a": "1"}}', 'query "q", document "a": relevance is no number'),
        ('{"q": {"a": true}}', "relevance is no number"),
        ('{"q": {"a": NaN}}', "relevance is no number"),
        ('{"q": {"a": ' + "1" * 5_000 + "}}", "relevance is beyond the range of a 64-bit float"),
        ('{"q": {"a": 1e999}}', "relevance is beyond the range of a 64-bit float"),
        ('{"q": {"a": -1.5E-999}}', "relevance is beyond the range of a 64-bit float"),
        (gzip.compress(QRELS.encode(), mtime=0)[:5], "cannot be decompressed"),
        (gzip.compress(QRELS.encode(), mtime=0) + b"junk", "cannot be decompressed"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ("[" * 100_000, "file.txt"),
        ("{" + '"q":{' * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_wrong_names_file_line_and_column(write, text, message):
    path = write(text)
    with pytest.raises(TableError, match=message) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(str(path))


def test_beir_needs_its_head(write):
    with pytest.raises(TableError, match=":1: the first line must be the head query-id, corpus-id, score"):
        read_run(write("q\ta\t1\n"), form="beir")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match="cannot be read: No such file"):
        read_run(tmp_path / "nothing")


@pytest.mark.parametrize(("duplicates", "kept"), [("first", 1.0), ("max", 5.0)])
def test_duplicates_name_the_line_or_are_chosen(write, duplicates, kept):
    path = write("q Q0 a 1 1.0 m\nq Q0 b 2 0.5 m\nq Q0 a 3 5.0 m\n")
    with pytest.raises(DuplicateDocumentError, match=r"file\.txt:3: a query may have each document once.*\('q', 'a'\)"):
        read_run(path)
    with pytest.warns(RankColumnWarning):
        assert read_run(path, duplicates=duplicates)["q"] == {"a": kept, "b": 0.5}


def test_names_that_json_repeats_are_duplicates(write):
    with pytest.raises(DuplicateDocumentError, match=r"\('q', 'a'\)"):
        read_qrels(write('{"q": {"a": 1, "a": 2}}'))
    with pytest.raises(DuplicateDocumentError, match=r"\('q', 'a'\)"):
        read_qrels(write('{"q": {"a": 1}, "q": {"a": 2}}'))


def test_ranks_that_contradict_scores_are_said_and_scores_decide(write):
    path = write("q Q0 a 1 0.5 m\nq Q0 b 2 0.7 m\nr Q0 a 1 0.5 m\nr Q0 b 2 0.5 m\ns Q0 b 1 1 m\ns Q0 a 0 2 m\n")
    with pytest.warns(RankColumnWarning, match=r"file\.txt:2: the rank contradicts .*in 1 query\. Scores") as w:
        run = read_run(path)
    assert run["q"] == {"a": 0.5, "b": 0.7}
    assert w[0].filename == __file__


def test_unknown_options(write):
    with pytest.raises(OptionError, match="form must be one of 'trec'"):
        read_run(write(RUN), form="csv")
    with pytest.raises(OptionError, match="duplicates must be one of 'error'"):
        read_run(write(RUN), duplicates="mean")
