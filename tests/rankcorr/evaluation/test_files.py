import gzip
import io
import json
import random
import sys
import warnings
from contextlib import suppress
from decimal import Decimal
from functools import partial

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from rankcorr import NonNumericError, TableError
from rankcorr._checks import collected_notices
from rankcorr.errors import MissingArrowError, MissingValueError, RankingError
from rankcorr.evaluation import (
    ColumnError,
    DuplicateDocumentError,
    RankColumnWarning,
    Run,
    compare_runs,
    evaluate,
    read_qrels,
    read_run,
)
from tests.rankcorr.cli.conftest import refusal, run_ok

FILE = "file.txt"
QRELS = "q1 0 a 2\nq1 0 b 0\nq2\t0\tc\t-1\n"
RUN = "q1 Q0 b 1 9.5 mine\n\nq1  Q0  a  2  3e-1  mine\r\nq2 Q0 c 1 -4 mine\n"
QRELS_CONTENT = {"q1": {"a": 2.0, "b": 0.0}, "q2": {"c": -1.0}}
RUN_CONTENT = {"q1": {"b": 9.5, "a": 0.3}, "q2": {"c": -4.0}}


@pytest.mark.parametrize(
    "text",
    [
        QRELS,
        QRELS.replace(" ", "\t"),
        QRELS.encode("utf-8-sig"),
        gzip.compress(QRELS.encode(), mtime=0),
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tc\t-1\n",
        json.dumps(QRELS_CONTENT),
    ],
)
def test_qrels_of_every_format_are_read(write, text):
    assert read_qrels(write(text)).to_dict() == QRELS_CONTENT


@pytest.mark.parametrize(
    "text",
    [
        RUN,
        gzip.compress(RUN.encode(), mtime=0),
        "query-id\tcorpus-id\tscore\nq1\tb\t9.5\nq1\ta\t0.3\nq2\tc\t-4\n",
        json.dumps(RUN_CONTENT),
    ],
)
def test_runs_of_every_format_are_read(write, text):
    assert read_run(write(text)).to_dict() == RUN_CONTENT


@pytest.mark.parametrize("separator", ["\t", " ", " \t "])
@pytest.mark.parametrize(
    ("numbers", "reading"),
    [
        ((1, 2, 10), "ranks"),
        ((15, 3, 9), "ranks"),
        ((3, 2, 1), "scores"),
        ((3, 1, 2), "ranks"),
        ((9, 7, 2), "scores"),
        (("1.0", "2.0", "3.0"), "ranks"),
        ((0, 1, 2), "ranks"),
        ((0, 2, 1), "scores"),
        ((1, 2, 2), "scores"),
        ((-3, 1, 2), "scores"),
        ((0.9, 0.7, 0.5), None),
        ((1, 2, 2.5), None),
        (("1", "2", "inf"), None),
    ],
)
def test_a_third_column_is_ranks_only_if_it_can_be(write, separator, numbers, reading):
    path = write("".join(f"7{separator}d{place}{separator}{number}\n" for place, number in enumerate(numbers)))
    scores = dict(zip(("d0", "d1", "d2"), map(float, numbers), strict=True))
    ranks = {document: -number for document, number in scores.items()}
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        assert read_run(path)["7"] == (ranks if reading == "ranks" else scores)
    other = 'form="scores"' if reading == "ranks" else 'form="msmarco"'
    assert [note.category for note in notes] == [RankColumnWarning] * (reading is not None)
    assert all(f"are read as {reading} (" in str(note.message) and other in str(note.message) for note in notes)
    assert read_run(path, form="scores")["7"] == scores
    if reading is not None:
        assert read_run(path, form="msmarco")["7"] == ranks
    else:
        with pytest.raises(TableError, match=r':[123]: column "rank": ranks must be whole numbers; .*form="scores"'):
            read_run(path, form="msmarco")


def test_ranks_may_begin_at_0(write):
    counted = "q a 0\nq b 1\nq c 2\nr b 0\nr a 1\n"
    with pytest.warns(RankColumnWarning, match=r"are read as ranks \(0 is best\); form=\"scores\" reads"):
        assert read_run(write(counted)).to_dict() == {"q": {"a": 0, "b": -1, "c": -2}, "r": {"b": 0, "a": -1}}
    for other in (counted + "r d 3\n", "q a 0\nq b 1\nr b 0\nr a 1\n", "q a 0\nr b 0\nq b 1\nq c 2\n"):
        with pytest.warns(RankColumnWarning, match="are read as scores"):
            assert read_run(write(other))["q"]["b"] == 1


def test_qrels_of_trec_go_with_a_run_of_ms_marco(write):
    assert read_qrels(write(QRELS), form="msmarco").to_dict() == QRELS_CONTENT


def test_ranks_may_repeat_in_different_queries(write):
    path = write("q a 1\nq b 2\nr a 2\nr b 1\n")
    with pytest.warns(RankColumnWarning, match="read as ranks") as notes:
        assert read_run(path).to_dict() == {"q": {"a": -1, "b": -2}, "r": {"a": -2, "b": -1}}
    assert notes[0].filename == __file__


def test_the_form_of_scores_does_not_affect_qrels(write):
    assert read_qrels(write(QRELS), form="scores").to_dict() == QRELS_CONTENT


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000", "\u2028", "\x85", "\x1f", "\x0c"])
def test_only_spaces_and_tabs_separate_trec_fields(write, space):
    query, document = f"q{space}1", f"{space}d{space}"
    assert read_qrels(write(f"{query} 0 {document} 2\n")).to_dict() == {query: {document: 2}}
    assert read_run(write(f"{query}\tQ0 {document}  1 0.5 x\r\n")).to_dict() == {query: {document: 0.5}}
    assert read_run(write(f"query-id\tcorpus-id\tscore\n{query}\t{document}\t2\n")).to_dict() == {query: {document: 2}}


def test_qrels_of_ms_marco_have_tabs(write):
    text = "7\t0\tdoc 1\t1\n"
    assert read_qrels(write(text), form="msmarco").to_dict() == {"7": {"doc 1": 1.0}}
    with pytest.raises(TableError, match=r"4 fields separated by spaces or tabs \(query - document relevance\)"):
        read_qrels(write(text))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("names", [("query_id", "doc_id"), ("qid", "docno"), ("query-id", "corpus-id")])
def test_tables_are_read_as_their_data_frames(write, separator, names):
    frame = pd.DataFrame({names[0]: ["1", "1", "2"], names[1]: ["a b", "c,d;e", "a b"], "score": [0.5, 2, -1]})
    text = frame.to_csv(sep=separator)  # with the index, in a column without a name
    named = f"sep={separator}\r\n{text}"
    spaced = text.replace(separator, f" {separator}", 3).replace("\n", "\r")
    marked = "\ufeff\n" + text.replace("\n", "\r\n")
    for table in (text, named, spaced, marked, gzip.compress(text.encode(), mtime=0)):
        assert read_run(write(table)) == Run.from_frame(frame)
    relevance = frame.rename(columns={"score": "relevance"}).to_csv(sep=separator, index=False)
    assert read_qrels(write(relevance)).to_dict() == Run.from_frame(frame).to_dict()
    assert read_run(write(text, "bm25.csv")).name == "bm25"


def test_a_table_may_have_ranks_and_repeats(write):
    table = "query,document,score,rank\nq,a,1,1\nq,b,2,2\n"
    with pytest.warns(RankColumnWarning, match=r":3: this document has a larger score than one ranked above it"):
        read_run(write(table))
    assert read_qrels(write(table.replace("score", "gold"))).to_dict() == {"q": {"a": 1.0, "b": 2.0}}
    assert read_run(write(table.replace("2,2", "2,"))).to_dict() == {"q": {"a": 1.0, "b": 2.0}}
    with pytest.raises(DuplicateDocumentError, match=r":3: each document may appear only once"):
        read_run(write(table.replace("b", "a")))


def test_a_run_without_a_name_is_named_after_its_file(write):
    assert read_run(write(gzip.compress(RUN.encode(), mtime=0), "bm25.run.gz")).name == "bm25"
    assert read_run(write(RUN, "v1.2.txt")).name == "v1.2"
    assert read_run(write(RUN), name="mine").name == "mine"


def test_a_run_is_read_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    run = read_run("-")
    assert (run.to_dict(), run.name) == (RUN_CONTENT, "stdin")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 0 a 2\nq1 0 b\n", r":2: expected 4 fields separated by spaces or tabs \(query - document .*\); got 3"),
        ("q1 0 a 2 5\n", ":1: expected 4 fields .*; got 5"),
        ("question,document,rel\nq1,a,2\n", r":1: expected 4 fields .* got 1; .* such as query, document, relevance$"),
        ("query,document,stars\nq1,a,2\n", r"no column for the relevance, .* columns are 'query', 'document', 'stars'"),
        ("query,document,score,rel\nq1,a,3,2\nq1,b\n", r':3: expected 4 cells, .*got 2 \(none for "score", "rel"\)'),
        ("query_id;doc_id;relevance\nq1;a;1.250\nq1;b;980\n", r':2: column "relevance": "1\.250" may mean 1250'),
        ("qid|docno|label\n q1|a|2\n\nq1| |1\n", r':4: column "docno": empty cell; every row needs an id'),
        ("query-id,corpus-id,score\nq1,a,good\n", r':2: column "score": "good" is not a number'),
        ("query,document,relevance\n,,\n", "there is no line after the header"),
        ("q1 0 a 2\nq1,0,b,1\n", ":2: expected 4 fields .*; got 1$"),
        ("q1 0 a two\n", r':1: column "relevance": "two" is not a number'),
        ("q1 0 a 2\nq1 0 b nan\n", ':2: column "relevance": "nan" is not a number; leave out rows without one'),
        ("q1 0 a 1_0\n", '"1_0" is not a number'),
        ("q1 0 a 1e999\n", "beyond the range"),
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("query-id\tcorpus-id\tscore\n", "there is no line after the header"),
        ("query-id\tcorpus-id\tscore\nq\t\t1\n", r':2: column "document": empty cell'),
        ("query-id\tcorpus-id\tscore\nq a 1\n", ":2: expected 3 fields separated by tabs"),
        (b"q1 0 \xff 2\n", ":1: byte 0xff is not UTF-8"),
        (gzip.compress(QRELS.encode(), mtime=0)[:-9], "cannot be decompressed"),
        ("{", ":1: is not JSON"),
        ('{"q": 3}', r'an object such as \{"q1": \{"d1": relevance\}\}, or with a list of ids or hits for each query'),
        ("{}", "there is no document"),
        ("[]", "there is no document"),
        ('{"q": [["a", 1]]}', 'for each query; the list of query "q" is neither'),
        ('{"query_id": "q", "results": [{"corpus_id": "a"}]}', ':1: expected an object with "query_id" and "results"'),
        ('{"query_id": "q", "results": []}\n\n{"query_id": 3}', ':3: expected an object with "query_id" and "results"'),
        ('{"query_id": "q", "results": []}\n{"q": {"a": 1}}', ':2: expected an object with "query_id" and "results"'),
        ('{"query_id": "q", "results": []}\n{"query_id": "r", "results": 3}', ":2: expected an object with"),
        ('{"query_id": "q", "results": []}\n{"query_id": "r", "results": [3]}', ":2: expected an object with"),
        ('{"query_id": "q", "results": []}\n[1]', ":2: expected an object with"),
        ('{"query_id": "q", "results": []}\n{', ":2: is not JSON"),
        ('{"query_id": 1.5, "results": []}', ":1: ids must be text or whole numbers; got 1.5"),
        ('[\n{"query_id": "q", "results": []},\n{"query_id"\n:]', ":4: is not JSON.*, in the value that begins in"),
        ('{"q": {"a": "1"}}', 'query "q", document "a": relevance is not a number'),
        ('{"q": {"a": true}}', "relevance is not a number"),
        ('{"q": {"a": NaN}}', "relevance is not a number"),
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
def test_errors_name_file_line_and_column(write, text, message):
    path = write(text)
    with pytest.raises(TableError, match=message) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_qrels, "q1 Q0 a 1 3.5 bm25\n", ":1: expected 4 fields .*; got 6: the file holds a run; are two files"),
        (read_run, "\nq1\t0\ta\t2\n", ":2: expected 6 fields .*; got 4: the file holds qrels; are two files swapped"),
        (read_run, "q1 Q0 a 1\nq1 Q0 b 0\n", ":1: expected 6 fields .*; got 4: the file holds qrels; are two files"),
        (read_run, "q1 0 a good\n", ":1: expected 6 fields .*; got 4; supported formats: TREC"),
        (read_run, "q1 Q0 a 1 3.5 bm25\nq1 0 a 2\n", ":2: expected 6 fields .*; got 4$"),
    ],
)
def test_swapped_qrels_and_runs_are_named(write, read, text, message):
    with pytest.raises(TableError, match=message):
        read(write(text))


def test_beir_files_need_their_header(write):
    with pytest.raises(TableError, match=":1: the first line must be the header query-id, corpus-id, score"):
        read_run(write("q\ta\t1\n"), form="beir")


@pytest.mark.parametrize(("duplicates", "expected"), [("first", 1.0), ("max", 5.0)])
def test_duplicates_are_refused_with_their_line_or_resolved(write, duplicates, expected):
    path = write("q Q0 a 1 1.0 m\nq Q0 b 2 0.5 m\nq Q0 a 3 5.0 m\n")
    with pytest.raises(
        DuplicateDocumentError,
        match=r"file\.txt:3: each document may appear only once in a query; repeated \(query, document\): \('q', 'a'\)",
    ):
        read_run(path)
    with pytest.warns(RankColumnWarning):
        assert read_run(path, duplicates=duplicates)["q"] == {"a": expected, "b": 0.5}
    with collected_notices() as notices:
        read_run(path, duplicates=duplicates)
    value = {"first": "first", "max": "largest"}[duplicates]
    assert f"file.txt: 1 row that repeats a document of a query was dropped; its {value} score counts" in notices[0]


def predictions(query, **scores):
    """A line as written by sentence-transformers; its texts have Unicode line ends."""
    hits = [{"text": "\u2028 \x85", "corpus_id": document, "score": score} for document, score in scores.items()]
    return {"query": "\u2029 x", "results": hits, "query_id": query}


def rows_of_mteb(queries):
    """Rows of the qrels of a data set of MTEB."""
    pairs = [(query, document) for query, documents in queries.items() for document in documents]
    return [{"query-id": query, "corpus-id": document, "score": queries[query][document]} for query, document in pairs]


def test_qrels_of_mteb_have_a_row_in_each_line(write):
    path = write('{"query-id": "q1", "corpus-id": 7, "score": 1}\n')
    assert read_qrels(path)["q1"] == {"7": 1.0}
    for row, message in {
        '{"query-id": null, "corpus-id": "a", "score": 1}': "ids must be text or whole numbers; got None",
        '{"query-id": "q1", "corpus-id": "a"}': r'results" \(each with "corpus_id" and "score"\), or with "query-id',
        '{"query-id": "q1", "corpus-id": "a", "score": "1"}': 'query "q1", document "a": relevance is not a number',
    }.items():
        with pytest.raises(TableError, match=message):
            read_qrels(write(row))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_json_formats_are_recognized_by_content(write, indent, ensure_ascii):
    as_text = partial(json.dumps, ensure_ascii=ensure_ascii)
    queries = {"q1": {"a": 0.5, "b": 0.25}, "7": {"a": 2}}
    lines = [predictions(query, **scores) for query, scores in queries.items()]
    mteb = {"mteb_model_meta": {"name": "m"}, "default": {"test": queries}}
    texts = [
        "\n".join(as_text(line, indent=indent) for line in lines),
        "\r\n\r\n".join(as_text(line, indent=indent).replace("{", "{ ") for line in lines),
        as_text(lines, indent=indent),
        "\n " + as_text(mteb, indent=indent),
        as_text(dict(reversed(mteb.items())), indent=indent),
        as_text(queries, indent=indent),
        "\n".join(as_text(row) for row in rows_of_mteb(queries)),
        as_text(rows_of_mteb(queries), indent=indent),
    ]
    for text in texts:
        assert read_run(write(text)).to_dict() == queries


def test_json_may_list_documents(write):
    path = write('{"q": ["b", "a"], "r": [3]}')
    assert read_run(path).to_dict() == {"q": {"b": -1, "a": -2}, "r": {"3": -1}}
    assert read_qrels(path).to_dict() == {"q": {"b": 1, "a": 1}, "r": {"3": 1}}


def test_lines_may_begin_with_a_bracket(write):
    assert read_qrels(write("{q} 0 [d] 2\n[1] 0 d 1\n")).to_dict() == {"{q}": {"[d]": 2}, "[1]": {"d": 1}}


def test_repeated_names_in_json_are_duplicates(write):
    with pytest.raises(DuplicateDocumentError, match=r"\('q', 'a'\)"):
        read_qrels(write('{"q": {"a": 1, "a": 2}}'))
    with pytest.raises(DuplicateDocumentError, match=r"\('q', 'a'\)"):
        read_qrels(write('{"q": {"a": 1}, "q": {"a": 2}}'))


def test_ranks_that_contradict_scores_give_a_note_and_scores_are_used(write):
    path = write("q Q0 a 1 0.5 m\nq Q0 b 2 0.7 m\nr Q0 a 1 0.5 m\nr Q0 b 2 0.5 m\ns Q0 b 1 1 m\ns Q0 a 0 2 m\n")
    with pytest.warns(RankColumnWarning, match=r"file\.txt:2: this document has .*in 1 query; the scores are") as w:
        run = read_run(path)
    assert run["q"] == {"a": 0.5, "b": 0.7}
    assert w[0].filename == __file__


def test_ranks_with_constant_scores_give_a_note(write):
    """All documents of a query have one score: only the ranks, which no metric uses, have their order."""
    equal = "q Q0 a 1 0 m\nq Q0 b 2 0 m\nr Q0 c 1 7 m\nr Q0 d 2 7 m\nr Q0 e 3 7 m\n"
    with pytest.warns(
        RankColumnWarning, match=r"file\.txt: all documents of a query have the same score; .*not the rank"
    ):
        assert read_run(write(equal))["r"] == {"c": 7, "d": 7, "e": 7}
    for text in (
        equal + "s Q0 f 1 2 m\ns Q0 g 2 1 m\n",
        equal.replace(" 2 ", " 1 ").replace(" 3 ", " 1 "),
        "q Q0 a 1 0 m\n",
    ):
        read_run(write(text))  # no note


@pytest.mark.parametrize(
    "text",
    [
        '{{"q": {{"a": {}, "b": 9007199254740992.0}}}}',
        "q Q0 a 1 {} x\nq Q0 b 2 9007199254740992.0 x\n",
        "q a {}\nq b 0.5\n",
    ],
)
def test_a_whole_number_with_decimals_is_exact_too(write, text):
    with pytest.raises(NonNumericError, match=r"beyond 2\^53"):
        read_run(write(text.format("9007199254740993.0")))
    assert read_run(write(text.format("9007199254740994.0")))["q"]["a"] == 2**53 + 2


def as_parquet(table, file):
    parquet.write_table(table, file)


def as_stream(table, file):
    with ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def as_feather(table, file):
    feather.write_feather(table, file)


def as_gzip(table, file):
    plain = io.BytesIO()
    parquet.write_table(table, plain)
    file.write_bytes(gzip.compress(plain.getvalue()))


FORMS = [as_parquet, as_stream, as_feather, as_gzip]
COLUMNS = {"query": ["2", "1", "2"], "document": ["a", "b", "c"], "score": [1.5, 2.0, -3.0]}
RUN_SCORES = {"2": {"a": 1.5, "c": -3.0}, "1": {"b": 2.0}}


def file_of(folder, columns, write=as_parquet, name="run.parquet"):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    write(table, folder / name)
    return folder / name


ROW = st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 3), st.sampled_from([0.1, 0.1 + 0.2, 7, -1]))
ROWS = st.lists(ROW, min_size=1, max_size=40, unique_by=lambda row: row[:2])


@given(ROWS, st.booleans(), st.sampled_from(FORMS))
def test_values_are_those_of_text_files_to_the_last_bit(tmp_path_factory, rows, is_whole, write):
    folder = tmp_path_factory.mktemp("files")
    queries, documents, grades, scores = map(list, zip(*rows, strict=True))
    ids = {"query": queries, "document": documents}
    if not is_whole:
        ids = {name: [f"d{number}" for number in numbers] for name, numbers in ids.items()}
    names = [list(map(str, column)) for column in ids.values()]
    lines = list(zip(*names, grades, scores, strict=True))
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade, _ in lines))
    (folder / "run.txt").write_text("".join(f"{q} Q0 {d} 0 {score!r} x\n" for q, d, _, score in lines))
    qrels = file_of(folder, {**ids, "relevance": grades}, write, "qrels")
    run = file_of(folder, {**ids, "score": pa.array(scores, pa.float64())}, write, "run")
    assert read_qrels(qrels) == read_qrels(folder / "qrels.txt")
    assert read_run(run) == read_run(folder / "run.txt")
    options = {"metrics": ["tau_w", "ap", "ndcg@3"], "undefined": "zero"}
    with collected_notices():
        result = evaluate(qrels, run, **options).values
        assert result.tobytes() == evaluate(folder / "qrels.txt", folder / "run.txt", **options).values.tobytes()


def test_the_command_reads_tables_together_with_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n2 0 c 0\n")
    columns = {"query": [1, 1, 2, 2], "document": ["a", "b", "a", "c"], "score": [2.5, 1.0, 0.5, 1.0]}
    for name, write in (("one.parquet", as_parquet), ("two.feather", as_feather), ("three.arrow", as_stream)):
        file_of(tmp_path, columns, write, name)
    output = run_ok("evaluate", "qrels.txt", "one.parquet", "two.feather", "three.arrow", "--format", "trec")
    rows = [line.split() for line in output.splitlines()[-3:]]
    assert [row[0] for row in rows] == ["one", "two", "three"]
    assert len({tuple(row[1:]) for row in rows}) == 1
    assert compare_runs("qrels.txt", {"x": "one.parquet", "y": "two.feather"}).pairs[0].difference == 0


def test_a_table_from_standard_input(monkeypatch, tmp_path):
    content = file_of(tmp_path, COLUMNS).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_run("-").to_dict() == RUN_SCORES


@pytest.mark.parametrize(
    "table",
    [
        pa.table({name: pa.array(column).dictionary_encode() for name, column in COLUMNS.items()}),
        pa.table({**COLUMNS, "document": pa.array(["a", "b", "c"], pa.large_string())}),
        pa.table({**COLUMNS, "query": pa.array([2, 1, 2], pa.uint8()).dictionary_encode()}),
        pa.table({**COLUMNS, "query": pa.array([2, 1, 2], pa.int64())}),
        pa.table({**COLUMNS, "score": pa.array([1.5, 2.0, -3.0], pa.float32())}),
        pa.table({**COLUMNS, "score": pa.array([Decimal("1.5"), Decimal("2.0"), Decimal("-3.0")])}),
        pa.concat_tables([pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS).slice(1)]),
        pa.table({**COLUMNS, "text": [["nested"]] * 3, "rank": [None] * 3}),
        pa.table([*COLUMNS.values(), ["text"] * 3, [1, 2, 3]], names=["qid", "docno", "score", "query", "docid"]),
        pa.table({"query-id": COLUMNS["query"], "corpus-id": COLUMNS["document"], "score": COLUMNS["score"]}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [as_parquet, as_feather])
def test_types_and_names_of_columns(tmp_path, table, write):
    assert read_run(file_of(tmp_path, table, write)).to_dict() == RUN_SCORES


def test_qrels_of_beir_and_frames_of_pandas(tmp_path):
    columns = {"query-id": ["1", "1"], "corpus-id": ["a", "b"], "score": [2, 0]}
    assert read_qrels(file_of(tmp_path, columns)).to_dict() == {"1": {"a": 2.0, "b": 0.0}}
    frame = pd.DataFrame({"qid": pd.Categorical(["q", "q"]), "docno": ["a", "b"], "label": [1, 0]})
    frame.to_parquet(tmp_path / "frame.parquet")
    assert read_qrels(tmp_path / "frame.parquet").to_dict() == {"q": {"a": 1.0, "b": 0.0}}


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"query": ["2", None, "2"]}, ColumnError, "each row needs a query id; without one: 1 row"),
        ({"document": ["a", "", "b"]}, ColumnError, "each document needs an id; one is empty"),
        ({"document": [b"a", b"b", b"c"]}, ColumnError, "document id must be text or a whole number; got: b'a'"),
        ({"document": [["a"], ["b"], ["c"]]}, ColumnError, "document ids must be text or whole numbers"),
        ({"document": [None, None, None]}, ColumnError, "each row needs a document id"),
        ({"score": [1.0, None, 2.0]}, MissingValueError, "needs a score; null or masked in row 1"),
        ({"score": ["1", "2", "3"]}, NonNumericError, "every score must be a real number"),
        ({"score": [{"x": 1}] * 3}, NonNumericError, "every score must be a real number"),
        ({"score": [2**53 + 1, 1, 2]}, NonNumericError, r"beyond 2\^53"),
        ({"document": ["a", "b", "a"]}, DuplicateDocumentError, r"\('2', 'a'\)"),
        ({"score": None}, ColumnError, "no column for the score, .*'sim'; the columns are 'query', 'document'; re"),
        ({"query": [], "document": [], "score": []}, RankingError, "there is no row|text or whole numbers"),
    ],
)
def test_errors_in_columns_name_the_file(tmp_path, columns, error, message):
    all_columns = {name: column for name, column in {**COLUMNS, **columns}.items() if column is not None}
    path = file_of(tmp_path, all_columns)
    with pytest.raises(error, match=rf"^{path}: .*{message}"):
        read_run(path)


def test_duplicates_can_be_resolved_but_not_repeated_columns(tmp_path):
    path = file_of(tmp_path, {**COLUMNS, "document": ["a", "b", "a"]})
    with collected_notices() as notices:
        assert read_run(path, duplicates="max").to_dict() == {"2": {"a": 1.5}, "1": {"b": 2.0}}
    assert "1 row that repeats a document of a query was dropped; its largest score counts" in notices[0]
    twice = pa.table([COLUMNS["query"], *COLUMNS.values()], names=["query", *COLUMNS])
    for write in (as_parquet, as_stream):
        with pytest.raises(RankingError, match=r"run.parquet: .*'query'"):
            read_run(file_of(tmp_path, twice, write))


@pytest.mark.parametrize("write", [as_parquet, as_feather, as_stream])
def test_a_truncated_file_is_an_error(tmp_path, write):
    path = file_of(tmp_path, COLUMNS, write)
    complete = path.read_bytes()
    for size in range(4 if write is not as_feather else 6, len(complete) - 8, 7):
        path.write_bytes(complete[:size])
        if write is as_stream and size > len(complete) - 40:
            continue  # a stream without its end mark still has complete batches
        with pytest.raises(RankingError, match=rf"^{path}: "):
            read_run(path)


@pytest.mark.parametrize("write", [as_parquet, as_feather, as_stream])
def test_a_damaged_file_does_not_crash_the_process(tmp_path, write):
    """A flipped bit of a number or of a text can pass unnoticed."""
    path, rng = file_of(tmp_path, COLUMNS, write), random.Random(0)
    intact = path.read_bytes()
    for _ in range(200):
        damaged = bytearray(intact)
        damaged[rng.randrange(6, len(intact))] = rng.randrange(256)
        path.write_bytes(damaged)
        with suppress(RankingError):
            assert len(read_run(path)) <= 3


def test_text_that_is_not_utf_8(tmp_path):
    offsets = pa.array(["aa", "bb", "cc"]).buffers()[:2]
    ids = pa.Array.from_buffers(pa.string(), 3, [*offsets, pa.py_buffer(b"a\xff" * 3)])
    with pytest.raises(TableError, match=r"cannot be read as Parquet or Arrow: .*Invalid UTF8"):
        read_run(file_of(tmp_path, {**COLUMNS, "document": ids}))


def test_without_pyarrow_parquet_is_refused(tmp_path, monkeypatch):
    path = file_of(tmp_path, COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingArrowError, match=r"Parquet and Arrow files.* need .*pip install pyarrow"):
        read_run(path)
    assert "pip install pyarrow" in refusal("evaluate", path, path)


def test_errors_for_other_formats_name_the_supported_ones(tmp_path):
    (tmp_path / "run.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(
        TableError, match=r"\(\.xlsx, \.ods\) or a zip archive: save the sheet as CSV, Parquet, or text of TREC or BEIR"
    ):
        read_run(tmp_path / "run.xlsx")
    path = file_of(tmp_path, COLUMNS)
    assert "is a Parquet file: save it as CSV" in refusal("compare", path, path)


ODD_NUMBERS = ["1.5", "-0", "-0.0", "-0e0", "+1", "1e-400", "1e400", "inf", "nan", "9007199254740993", "1_000"]
ODD_NUMBERS += ["0x10", "1."]
ODD_TEXTS = ["é", '"', '"x"', "", " ", "\t", "\0", "\x0b", "<a>", "sep=;", "{", "[1]", ".5"]
ODD_CELLS = st.sampled_from(["q1", "q2", "d1", "d2", "0", "1", "2", *ODD_NUMBERS, *ODD_TEXTS])
CELLS = st.one_of(*[st.sampled_from(["q1", "q2", "0", "1", "2.5", "3"])] * 5, ODD_CELLS)


@st.composite
def tables_of_queries(draw):
    """Bytes of qrels or a run: most are plain; some have other widths, separators, line ends or unusual cells."""
    width, separator = draw(st.sampled_from([3, 4, 6])), draw(st.sampled_from([" ", ",", ";", "\t", "  ", " \t"]))
    plain_rows = [st.tuples(st.sampled_from(["q1", "q2"]), *[CELLS] * (width - 1))] * 4
    rows = draw(st.lists(st.one_of(*plain_rows, st.lists(CELLS, max_size=7)), min_size=1, max_size=5))
    names = draw(st.permutations(["qid", "docno", draw(st.sampled_from(["score", "rel"])), "rank", "x", "y"][:width]))
    header = draw(st.sampled_from(["", "query-id\tcorpus-id\tscore\n", f"{separator.join(names)}\n"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]))
    text = header + end.join(separator.join(row) for row in rows) + draw(st.sampled_from([end, ""]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode() + draw(st.sampled_from([b"", b"", b"\xff"]))


def outcome_of(read, path, **options):
    with collected_notices() as notices, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = read(path, **options)
            values = (
                rows.queries,
                rows.documents,
                rows.offsets.tolist(),
                rows.codes.tolist(),
                list(map(repr, rows.values)),
            )
        except RankingError as error:
            values = type(error), str(error)
    return values, list(map(str, notices)), [str(warning.message) for warning in caught]


@given(
    tables_of_queries(),
    st.sampled_from([read_qrels, read_run]),
    st.sampled_from([None, "trec", "msmarco", "scores", "beir"]),
)
def test_columns_of_pyarrow_are_those_of_the_exact_reader(tmp_path_factory, content, read, form):
    path = tmp_path_factory.getbasetemp() / "odd.txt"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankcorr._io.table.LEAST_BYTES", 0)
        fast = outcome_of(read, path, form=form)
        patch.setattr("rankcorr._io.trec.read_plain", lambda *_, **__: None)
        assert fast == outcome_of(read, path, form=form)


def test_plain_runs_are_read_by_pyarrow(write, monkeypatch):
    monkeypatch.setattr("rankcorr._io.table.LEAST_BYTES", 0)
    monkeypatch.setattr("rankcorr._io.trec._read_lines", None)
    runs = [read_run(write(text), form=form) for text, form in PLAIN_RUNS.items()]
    assert [run.to_dict() for run in runs] == [{"q1": {"b": -1.0, "a": -2.0}}] * len(PLAIN_RUNS)


PLAIN_RUNS = {
    "q1 Q0 b 1 -1 x\nq1 Q0 a 2 -2.0 x\n": None,
    "q1\tQ0\tb\t1\t-1\tx\r\nq1\tQ0\ta\t2\t-2e0\tx": "trec",
    "q1 b 1\nq1 a 2\n": "msmarco",
    "query-id\tcorpus-id\tscore\nq1\tb\t-1\nq1\ta\t-2\n": None,
}
