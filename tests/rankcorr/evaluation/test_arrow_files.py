"""Qrels and runs from Parquet and Arrow files have the values of text files, to the last bit; bad ones say why."""

import gzip
import io
import random
import sys
from contextlib import suppress
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from rankcorr import TableError
from rankcorr._checks import collected_notices
from rankcorr.errors import MissingArrowError, MissingValueError, NonNumericError, RankingError
from rankcorr.evaluation import ColumnError, DuplicateDocumentError, compare_runs, evaluate, read_qrels, read_run
from tests.rankcorr.cli.commands import refusal, run_ok


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
WANTED = {"2": {"a": 1.5, "c": -3.0}, "1": {"b": 2.0}}


def file_of(folder, columns, write=as_parquet, name="run.parquet"):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    write(table, folder / name)
    return folder / name


ROW = st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 3), st.sampled_from([0.1, 0.1 + 0.2, 7, -1]))
ROWS = st.lists(ROW, min_size=1, max_size=40, unique_by=lambda row: row[:2])


@given(ROWS, st.booleans(), st.sampled_from(FORMS))
def test_values_are_those_of_text_files_to_the_last_bit(tmp_path_factory, rows, whole, write):
    folder = tmp_path_factory.mktemp("files")
    queries, documents, grades, scores = map(list, zip(*rows, strict=True))
    ids = {"query": queries, "document": documents}
    if not whole:
        ids = {name: [f"d{each}" for each in own] for name, own in ids.items()}
    names = [list(map(str, own)) for own in ids.values()]
    lines = list(zip(*names, grades, scores, strict=True))
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade, _ in lines))
    (folder / "run.txt").write_text("".join(f"{q} Q0 {d} 0 {score!r} x\n" for q, d, _, score in lines))
    qrels = file_of(folder, {**ids, "relevance": grades}, write, "qrels")
    run = file_of(folder, {**ids, "score": pa.array(scores, pa.float64())}, write, "run")
    assert read_qrels(qrels) == read_qrels(folder / "qrels.txt")
    assert read_run(run) == read_run(folder / "run.txt")
    options = {"metrics": ["tau_w", "ap", "ndcg@3"], "undefined": "zero"}
    with collected_notices():
        found = evaluate(qrels, run, **options).values
        assert found.tobytes() == evaluate(folder / "qrels.txt", folder / "run.txt", **options).values.tobytes()


def test_the_command_reads_them_beside_text(tmp_path, monkeypatch):
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


def test_standard_input(monkeypatch, tmp_path):
    content = file_of(tmp_path, COLUMNS).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_run("-").to_dict() == WANTED


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
    assert read_run(file_of(tmp_path, table, write)).to_dict() == WANTED


def test_qrels_of_beir_and_frames_of_pandas(tmp_path):
    columns = {"query-id": ["1", "1"], "corpus-id": ["a", "b"], "score": [2, 0]}
    assert read_qrels(file_of(tmp_path, columns)).to_dict() == {"1": {"a": 2.0, "b": 0.0}}
    frame = pd.DataFrame({"qid": pd.Categorical(["q", "q"]), "docno": ["a", "b"], "label": [1, 0]})
    frame.to_parquet(tmp_path / "frame.parquet")
    assert read_qrels(tmp_path / "frame.parquet").to_dict() == {"q": {"a": 1.0, "b": 0.0}}


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"query": ["2", None, "2"]}, ColumnError, "each row needs a query id; 1 row have none"),
        ({"document": ["a", "", "b"]}, ColumnError, "each document needs an id; one is empty"),
        ({"document": [0.5, 1.0, 2.0]}, ColumnError, "document id must be text or a whole number; got: 0.5"),
        ({"document": [b"a", b"b", b"c"]}, ColumnError, "document id must be text or a whole number; got: b'a'"),
        ({"document": [["a"], ["b"], ["c"]]}, ColumnError, "document ids must be text or whole numbers"),
        ({"document": [None, None, None]}, ColumnError, "each row needs a document id"),
        ({"score": [1.0, float("nan"), 2.0]}, MissingValueError, "needs a score; nan in row 1"),
        ({"score": [1.0, None, 2.0]}, MissingValueError, "needs a score; null or masked in row 1"),
        ({"score": ["1", "2", "3"]}, NonNumericError, "every score must be a real number"),
        ({"score": [{"x": 1}] * 3}, NonNumericError, "every score must be a real number"),
        ({"score": [2**53 + 1, 1, 2]}, NonNumericError, r"beyond 2\^53"),
        ({"document": ["a", "b", "a"]}, DuplicateDocumentError, r"\('2', 'a'\)"),
        ({"score": None}, ColumnError, "no column for the score, such as 'score', 'sim', but 'query', 'document'; re"),
        ({"sim": [1.0, 2.0, 3.0]}, ColumnError, "several columns may hold the score: 'score', 'sim'; rename one"),
        ({"query": [], "document": [], "score": []}, RankingError, "there is no row|text or whole numbers"),
    ],
)
@pytest.mark.parametrize("write", [as_parquet, as_feather])
def test_columns_that_cannot_be_used_name_the_file(tmp_path, columns, error, message, write):
    chosen = {name: own for name, own in {**COLUMNS, **columns}.items() if own is not None}
    path = file_of(tmp_path, chosen, write)
    with pytest.raises(error, match=rf"^{path}: .*{message}"):
        read_run(path)


def test_duplicates_may_be_settled_and_repeated_columns_may_not(tmp_path):
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
    whole = path.read_bytes()
    for size in range(4 if write is not as_feather else 6, len(whole) - 8, 7):
        path.write_bytes(whole[:size])
        if write is as_stream and size > len(whole) - 40:
            continue  # a stream without its end mark has whole batches
        with pytest.raises(RankingError, match=rf"^{path}: "):
            read_run(path)


@pytest.mark.parametrize("write", [as_parquet, as_feather, as_stream])
def test_a_damaged_file_is_an_error_or_other_numbers(tmp_path, write):
    """It may not end the process; a flipped bit of a number or of a text can pass unnoticed."""
    path, rng = file_of(tmp_path, COLUMNS, write), random.Random(0)
    whole = path.read_bytes()
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.randrange(6, len(whole))] = rng.randrange(256)
        path.write_bytes(damaged)
        with suppress(RankingError):
            assert len(read_run(path)) <= 3


def test_text_that_is_not_utf_8(tmp_path):
    offsets = pa.array(["aa", "bb", "cc"]).buffers()[:2]
    ids = pa.Array.from_buffers(pa.string(), 3, [*offsets, pa.py_buffer(b"a\xff" * 3)])
    with pytest.raises(TableError, match=r"cannot be read as Parquet or Arrow: .*Invalid UTF8"):
        read_run(file_of(tmp_path, {**COLUMNS, "document": ids}))


def test_without_pyarrow(tmp_path, monkeypatch):
    path = file_of(tmp_path, COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingArrowError, match=r"Parquet and Arrow files.* need .*pip install pyarrow"):
        read_run(path)
    assert "pip install pyarrow" in refusal("evaluate", path, path)


def test_other_formats_say_what_is_read(tmp_path):
    (tmp_path / "run.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(TableError, match=r"\(.xlsx, .ods\) as Parquet, or as text of TREC or BEIR"):
        read_run(tmp_path / "run.xlsx")
    path = file_of(tmp_path, COLUMNS)
    assert "is a Parquet file: save it as CSV" in refusal("compare", path, path)
