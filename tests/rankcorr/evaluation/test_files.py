import gzip
import io
import json
import sys
import warnings
from functools import partial

import pytest

from rankcorr import NonNumericError, OptionError, TableError
from rankcorr._checks import collected_notices
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


@pytest.mark.parametrize("separator", ["\t", " ", " \t "])
@pytest.mark.parametrize(
    ("numbers", "reading"),
    [
        ((1, 2, 10), "ranks"),
        ((15, 3, 9), "ranks"),
        (("1.0", "2.0", "3.0"), "ranks"),
        ((0, 1, 2), "scores"),
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
        with pytest.raises(TableError, match=r':[123]: column "rank": a rank must be a whole number; form="scores"'):
            read_run(path, form="msmarco")


def test_ranks_may_repeat_in_different_queries(write):
    path = write("q a 1\nq b 2\nr a 2\nr b 1\n")
    with pytest.warns(RankColumnWarning, match="read as ranks") as notes:
        assert read_run(path).to_dict() == {"q": {"a": -1, "b": -2}, "r": {"a": -2, "b": -1}}
    assert notes[0].filename == __file__


def test_the_form_of_scores_leaves_qrels_to_be_recognized(write):
    assert read_qrels(write(QRELS), form="scores").to_dict() == WANTED_QRELS


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000", "\u2028", "\x85", "\x1f", "\x0c"])
def test_only_spaces_and_tabs_separate_fields(write, space):
    query, document = f"q{space}1", f"{space}d{space}"
    assert read_qrels(write(f"{query} 0 {document} 2\n")).to_dict() == {query: {document: 2}}
    assert read_run(write(f"{query}\tQ0 {document}  1 0.5 x\r\n")).to_dict() == {query: {document: 0.5}}
    assert read_run(write(f"query-id\tcorpus-id\tscore\n{query}\t{document}\t2\n")).to_dict() == {query: {document: 2}}


def test_qrels_of_ms_marco_have_tabs(write):
    text = "7\t0\tdoc 1\t1\n"
    assert read_qrels(write(text), form="msmarco").to_dict() == {"7": {"doc 1": 1.0}}
    with pytest.raises(TableError, match="4 fields separated by spaces or tabs are expected"):
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
        ("q1 0 a 2\nq1 0 b\n", r":2: 4 fields separated by spaces or tabs are expected \(query - document .*\); got 3"),
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
        ('{"q": 3}', "an object of query to an object of document to relevance, or to a list, is expected"),
        ("{}", "there is no document"),
        ("[]", "there is no document"),
        ('{"q": [["a", 1]]}', 'to relevance, or to a list, is expected; query "q" has another list'),
        ('{"query_id": "q", "results": [{"corpus_id": "a"}]}', ":1: a query_id and results with corpus_id and score"),
        (
            '{"query_id": "q", "results": []}\n\n{"query_id": "r"}',
            ":3: a query_id and results with corpus_id and score",
        ),
        ('{"query_id": "q", "results": []}\n{"q": {"a": 1}}', ":2: a query_id and results with corpus_id and score"),
        ('{"query_id": 1.5, "results": []}', ":1: ids must be text or whole numbers; got 1.5"),
        ('[\n{"query_id": "q", "results": []},\n{"query_id"\n:]', ":4: is not JSON"),
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
    with collected_notices() as notices:
        read_run(path, duplicates=duplicates)
    value = {"first": "first", "max": "largest"}[duplicates]
    assert f"file.txt: 1 row that repeats a document of a query was dropped; its {value} score counts" in notices[0]


def predictions(query, **scores):
    """A line of sentence-transformers; its texts have line ends of Unicode."""
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
        '{"query-id": "q1", "corpus-id": "a"}': "results with corpus_id and score are expected, or query-id",
        '{"query-id": "q1", "corpus-id": "a", "score": "1"}': 'query "q1", document "a": relevance is no number',
    }.items():
        with pytest.raises(TableError, match=message):
            read_qrels(write(row))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_json_of_packages_is_known_by_its_content(write, indent, ensure_ascii):
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


@pytest.mark.parametrize(
    "text",
    [
        '{{"q": {{"a": {}, "b": 9007199254740992.0}}}}',
        "q Q0 a 1 {} x\nq Q0 b 2 9007199254740992.0 x\n",
        "q a {}\nq b 0.5\n",
    ],
)
def test_a_whole_number_with_a_point_is_exact_too(write, text):
    with pytest.raises(NonNumericError, match=r"beyond 2\^53"):
        read_run(write(text.format("9007199254740993.0")))
    assert read_run(write(text.format("9007199254740994.0")))["q"]["a"] == 2**53 + 2
