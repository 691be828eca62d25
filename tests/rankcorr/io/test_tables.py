"""Reading rankings: errors name file, line and column; files are written completely or not at all."""

import csv
import gzip
import io
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankcorr import LabelMismatchError, OptionError, Ranking, RankingError, TableError, weighted_tau
from rankcorr._checks import collected_notices
from rankcorr._io.rankings import read_numbers, read_ranking
from rankcorr._io.source import write_atomically
from rankcorr.errors import RankColumnWarning
from rankcorr.evaluation import read_groups, read_qrels, read_run
from rankcorr.vectors import read_vectors
from tests.repository import ROOT

FILE = "f.csv"


def read_text(text, **options):
    """Read text or bytes from standard input."""
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        return read_ranking("-", **options)


# Valid input

XY = Ranking.from_scores([1, 2], ["x", "y"])


@pytest.mark.parametrize(
    "content",
    [
        "id,s\nx,1\ny,2\n",
        "id\ts\nx\t1\ny\t2",
        "id;s\r\nx;1\r\ny;2\r\n",
        "id|s\rx|1\ry|2\r",
        b"\xef\xbb\xbfid,s\nx,1\ny,2\n",
        '"id","s"\n"x","1"\n"y","2"\n',
        "\n \nid,s\n\nx,1\n  \ny,2\n\n",
        'id,"a;b|c\td"\nx,1\ny,2\n',
        "id\ts, of 10; or more\nx\t1\ny\t2\n",
        "id,s\nx, 1 \ny,+2.0e0\n",
        ",s\nx,1\ny,2\n",
        'id,s\nx,"1"\ny,.2e1\n',
        'the 5" id,s\nx,1\ny,2\n',
        "sep=;\r\nid;s\r\nx;1\r\ny;2\r\n",
        "\ufeffsep=,\nid,s\nx,1\ny,2\n",
        "SEP=\t\nid\ts, of 10\nx\t1\ny\t2\n",
        '"sep=;"\nid;"s, of 10"\nx;1\ny;2\n',
        "sep=;;\nid;s, of 10\nx;1\ny;2\n",
        '"a ""b;"" id",s\nx,1\ny,2\n',
        ",\nid,s\nx,1\n,\ny,2\n , \n,",
        'id, s\n"x", 1\ny,2\n',
        'id\t s\nx\t 1\n y\t "2"',
    ],
)
def test_two_columns_are_id_and_score(write, content):
    assert read_ranking(write(content)) == XY


@pytest.mark.parametrize(
    ("header", "labels"),
    [("item,rank,strength,standard_error", ["b", "a"]), ("item_1,item_2,rank,score", [("b", "x"), ("a", "x")])],
)
def test_a_fitted_ranking_is_read_with_its_strengths(write, header, labels):
    rows = ["b,1,2.5,.3", "a,2,-1,.2"] if header.startswith("item,") else ["b,x,1,2.5", "a,x,2,-1"]
    path = write("\n".join([header, *rows]) + "\n")
    assert list(read_numbers(path).numbers.items()) == list(zip(labels, [2.5, -1], strict=True))
    assert read_numbers(path, id_columns=["rank"], score_column=header.split(",")[-1]).numbers.keys() == {"1", "2"}


def test_columns_are_chosen_by_name(write):
    path = write("a,b,c,d\n5,x,y,1\n4,x,z,3\n5,w,y,2\n")
    by_pair = read_ranking(path, id_columns=["c", "b"], score_column="d")
    assert by_pair == Ranking.from_scores([1, 3, 2], [("y", "x"), ("z", "x"), ("y", "w")])
    assert read_ranking(path, id_columns=["d"], score_column="a").labels == ("1", "3", "2")


def test_the_only_column_left_need_not_be_named(write):
    path = write("s,id\n1,x\n2,y\n")
    assert read_ranking(path, score_column="s") == XY
    assert read_ranking(path, id_columns=["id"]) == XY


def test_spaces_are_part_of_ids_unless_they_follow_each_separator_of_the_first_line(write):
    assert read_ranking(write("token,p\n the,1\nthe,2\n")).labels == (" the", "the")
    path = write('w1, w2, s\nx, "y, z", 1\n"y", x, 2\n')
    assert read_ranking(path, id_columns=["w1", "w2"], score_column="s").labels == (("x", "y, z"), ("y", "x"))


@pytest.mark.parametrize("year", ["2024", "NA", "1e3"])
def test_scores_may_be_named_by_a_number_beside_ids_that_are_named(write, year):
    path = write(f"id,{year}\nx,1\ny,2\n")
    for score in (year, None):
        assert read_ranking(path, id_columns=["id"], score_column=score) == XY
    with pytest.raises(TableError, match=f':1: column "{year}": this line looks like data'):
        read_ranking(path)
    with pytest.raises(TableError, match=':1: column "2": this line looks like data'):
        read_ranking(write("1,2\n3,4\n5,6\n"), id_columns=["1"], score_column="2")


@pytest.mark.parametrize("options", [{}, {"header": False}])
def test_a_compressed_file_is_read(write, options):
    text = "id,s\nx,1\ny,2\n".removeprefix("" if not options else "id,s\n")
    compressed = gzip.compress(text.encode())
    assert read_ranking(write(compressed, "f.csv.gz"), **options) == XY
    assert read_ranking(write(compressed, "no_suffix"), **options) == XY
    assert read_text(compressed, **options) == XY


def test_a_damaged_compressed_file_is_refused(write):
    compressed = gzip.compress(b"id,s\nx,1\ny,2\n")
    for damaged in (compressed[:-9], compressed[:12] + b"\xff" + compressed[13:], b"\x1f\x8bid,s\n"):
        with pytest.raises(TableError, match=r"f\.csv\.gz: cannot be decompressed: "):
            read_ranking(write(damaged, "f.csv.gz"))
    with pytest.raises(TableError, match=r"f\.csv\.gz: the file is empty"):
        read_ranking(write(gzip.compress(b""), "f.csv.gz"))


def test_a_pair_in_either_order_is_one_item(write):
    options = {"id_columns": ["a", "b"], "score_column": "s"}
    path = write("a,b,s\ngem,jewel,3\nsun,moon,2\n")
    assert read_ranking(path, **options, unordered=True).labels == (("gem", "jewel"), ("moon", "sun"))
    other = read_ranking(write("a,b,s\njewel,gem,1\nmoon,sun,2\n", "g.csv"), **options, unordered=True)
    assert weighted_tau(read_ranking(path, **options, unordered=True), other) == -1
    with pytest.raises(LabelMismatchError, match="labels in x only"):
        weighted_tau(read_ranking(path, **options), other)
    with pytest.raises(TableError, match=r':3: column "a, b": "y", "x" is also on line 2, as "x", "y"; ids must be'):
        read_ranking(write("a,b,s\nx,y,1\ny,x,2\n"), **options, unordered=True)
    with pytest.raises(TableError, match='"x", "y" is also on line 2; ids must be unique'):
        read_ranking(write("a,b,s\nx,y,1\nx,y,2\n"), **options, unordered=True)
    for columns in (["a"], ["a", "b", "c"]):
        with pytest.raises(OptionError, match=f"unordered=True needs exactly two id columns; got {len(columns)}"):
            read_ranking(write("a,b,c,s\nx,y,z,1\n"), id_columns=columns, score_column="s", unordered=True)


@pytest.mark.parametrize(
    ("numbers", "mean"),
    [
        (("1", "4"), 2.5),
        (("1", "2", "6"), 3),
        ((str(2**60 + 1), str(2**60 + 3)), 2**60 + 2),
        (("inf", "1"), math.inf),
        (("1", "-inf", "-inf"), -math.inf),
        (("1e308", "1.5e308"), 1.25e308),
    ],
)
def test_repeated_ids_have_their_mean_or_the_first_number(write, numbers, mean):
    # Three other items if possible: one below the mean, one equal, one above.
    others = {"below": math.nextafter(mean, -math.inf), "same": mean, "above": math.nextafter(mean, math.inf)}
    if isinstance(mean, int):
        others = {"below": mean - 1, "same": mean, "above": mean + 1}
    text = "id,s\n" + "".join(f"twice,{number}\n" for number in numbers)
    text += "".join(f"{label},{other!r}\n" for label, other in others.items())
    first = int(numbers[0]) if numbers[0].isdigit() else float(numbers[0])
    for duplicates, value in (("mean", mean), ("first", first)):
        result = read_ranking(write(text), duplicates=duplicates)
        assert result == Ranking.from_scores({"twice": value, **others})


@pytest.mark.parametrize(
    ("duplicates", "text", "message"),
    [
        ("mean", "x,1\ny,2\nx,3\n", "f.csv: 1 line that repeats an item was merged into its mean"),
        ("mean", "x,1\ny,2\nx,3\nx,3\ny,1\n", "f.csv: 3 lines that repeat an item were merged into its mean"),
        ("first", "x,1\ny,2\nx,3\nx,1\n", "f.csv: 2 lines that repeat an item were dropped; its first number counts"),
        ("first", "x,1\ny,2\n", None),
    ],
)
def test_a_notice_counts_the_lines_that_repeat_an_item(write, duplicates, text, message):
    path = write("id,s\n" + text)
    with collected_notices() as notices:
        read_numbers(path, duplicates=duplicates)
    assert [notice.rpartition("/")[2] for notice in notices] == [message] * (message is not None)
    read_numbers(path, duplicates=duplicates)  # requested by the caller: no warning


def test_invalid_duplicates_are_refused(write):
    path = write("id,s\nx,inf\ny,2\nx,1\nx,-inf\n")
    with pytest.raises(TableError, match=r':5: "x" is inf and -inf, here and above, and has no mean'):
        read_ranking(path, duplicates="mean")
    assert read_ranking(path, duplicates="first") == Ranking.from_scores({"x": 2, "y": 1})
    message = r":4: .* is also on line 2; ids must be unique: merge repeats with duplicates=\"mean\""
    with pytest.raises(TableError, match=message):
        read_ranking(path)
    with pytest.raises(OptionError, match="duplicates must be one of 'error', 'mean', 'first'; got 'last'"):
        read_ranking(path, duplicates="last")
    with pytest.raises(TableError, match="at least two items; got 1"):
        read_ranking(write("id,s\nx,1\nx,2\n"), duplicates="mean")


def test_ranks_are_smaller_is_better(write):
    path = write("id,r\nx,1\ny,2\nz,2\n")
    assert read_ranking(path, ranks=True).ranks.tolist() == [1, 2.5, 2.5]
    assert read_ranking(path).ranks.tolist() == [3, 1.5, 1.5]


def test_without_header_columns_have_numbers(write):
    assert read_ranking(write("x,1\ny,2\n"), header=False) == XY
    path = write("7,1,x\n7,2,y\n")
    assert read_ranking(path, id_columns=["3"], score_column="2", header=False) == XY


@pytest.mark.parametrize("header", ["id;s, of 10", '"id";s, of 10'])
def test_named_columns_determine_the_delimiter_despite_stray_quotes(write, header):
    assert read_ranking(write(f"{header}\nx;1\ny;2\n"), score_column="s, of 10") == XY


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [
        (["-inf", "Infinity", "1e308", "INF"], [4, 1.5, 3, 1.5]),
        (["9007199254740993.0", "9007199254740992.0"], [1, 2]),
        (["9007199254740993.", "9007199254740992"], [1, 2]),
        (["9007199254740993", "9007199254740992"], [1, 2]),  # 2^53 + 1 and 2^53 are equal as floats
    ],
)
def test_infinite_scores_and_large_integers_are_ordered(write, scores, ranks):
    rows = "".join(f"{label},{score}\n" for label, score in enumerate(scores))
    assert read_ranking(write("id,s\n" + rows)).ranks.tolist() == ranks


def test_single_tags_are_not_rejected_as_html(write):
    assert read_ranking(write("<s>,s\n<unk>,1\n</s>,2\n")).labels == ("<unk>", "</s>")


def test_stdin_is_a_dash(monkeypatch):
    assert read_text("id,s\nx,1\ny,2\n") == XY
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TableError, match=r"^<stdin>: standard input is closed$"):
        read_ranking("-")


labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)
awkward = st.text("a \",;|\t\r\n'\u2028\ufeff", min_size=1).filter(str.strip)
scores = st.sampled_from([0.0, -0.0, 1.0, 0.1, float("-inf")]) | st.floats(allow_nan=False)


@given(
    rows=st.lists(st.tuples(labels | awkward, labels | awkward, scores), min_size=2, unique_by=lambda row: row[:2]),
    delimiter=st.sampled_from(",\t;|"),
    header=st.booleans(),
)
@example(rows=[("\ufeff", '"', 1.0), ("a\r", "\n;", 1.0), ("a\n\r\nb", ",;", -2.5)], delimiter=";", header=False)
def test_files_written_by_csv_are_read_unchanged(rows, delimiter, header):
    file = io.StringIO(newline="")
    # Without a header, the first label could have another delimiter outside quotes, which is refused.
    quoting = csv.QUOTE_MINIMAL if header else csv.QUOTE_NONNUMERIC
    names = ["left", "right", "score"]
    csv.writer(file, delimiter=delimiter, quoting=quoting).writerows([names, *rows] if header else rows)
    left, right, score = names if header else "123"
    ranking = read_text(file.getvalue(), id_columns=[left, right], score_column=score, header=header)
    assert ranking == Ranking.from_scores([row[2] for row in rows], [row[:2] for row in rows])


# Errors


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty"),
        (b"\xef\xbb\xbf", ": the file is empty"),
        ("\n \r\n", ": the file is empty"),
        (",\n , \n", ": the file is empty"),
        ("id,s\n", ": a ranking needs at least two items; got 0"),
        ("id,s\nx,1\n\n", ": a ranking needs at least two items; got 1"),
        ("\nid\nx\ny\n", ":2: only one column; an id and a score are expected, separated by comma, tab"),
        ("id s\nx 1\n", ":1: only one column"),
        ("id;s, t\nx;1\n", ":1: comma and semicolon could both be the separator; quote the cells"),
        ("id,s\nx,1\ny,2,3\n", ":3: expected 2 cells, as in the first row; got 3"),
        ("id,s\nx,1\n\ny\n", ':4: expected 2 cells, as in the first row; got 1 (none for "s")'),
        ("id,s\nx,1\n,2\n", ':3: column "id": empty cell; every item needs an id'),
        ("id,s\nx,1\n  ,2\n", ':3: column "id": empty cell; every item needs an id'),
        ("id,s\nx,1\ny,\n", ':3: column "s": empty cell; every row needs a number'),
        ("id,s\nx,1\ny,-NaN\n", ':3: column "s": "-NaN" is not a number; leave out rows without one'),
        ("id,s\nx,1\ny,high\n", ':3: column "s": "high" is not a number'),
        ("id,s\nx,1\ny,1_000\n", ':3: column "s": "1_000" is not a number'),
        ("id;s\nx;1\ny;1,5\n", ':3: column "s": "1,5" is not a number'),
        ("id,s\nx,1\ny,0x1\n", ':3: column "s": "0x1" is not a number'),
        ("id,s\nx,1\ny,\uff12\n", ':3: column "s": "\uff12" is not a number'),
        ("id,s\nx,1\ny,1e999\n", ':3: column "s": "1e999" is beyond the range of a 64-bit float'),
        ("id,s\nx,1\ny,-1e-999\n", ':3: column "s": "-1e-999" is beyond the range of a 64-bit float'),
        ("id,s\nx,1\ny,2\nx,3\n", ':4: column "id": "x" is also on line 2; ids must be unique'),
        ('id,s\n"x\n",1\ny,2\n"x\n",3\n', ':5: column "id": "x\\n" is also on line 2; ids must be unique'),
        ('id,s\n"x\r\n\ry",1\r\rz,q\n', ':6: column "s": "q" is not a number'),
        ('id,"s\nt"\nx,1\ny,\x1b[31m\n', ':4: column "s\\nt": "\\x1b[31m" is not a number'),
        ("sep=;\nid;s\nx;1\ny;high\n", ':4: column "s": "high" is not a number'),
        ("sep=;\nid,s\nx,1\n", ":2: no semicolon, which should separate columns by line 1"),
        ("sep=!\nid!s\nx!1\n", ':1: "!" separates the columns; use comma, tab, semicolon or pipe'),
        ("sep=;\n", ": there is no line after the one that names the delimiter"),
        ("id;s\nx;1\ny;-1,5\n", ':3: column "s": "-1,5" is not a number; use a decimal point, not a comma'),
        ('<?xml version="1.0"?>\n<pairs><pair>gem</pair></pairs>', ": is XML or HTML: save its content as CSV"),
        ("<pairs>\n<pair>gem, jewel, 3.94</pair>\n</pairs>\n", ": is XML or HTML: save its content as CSV"),
        ("<!doctype html>\n<p>not found", ": is XML or HTML: save its content as CSV"),
        ("<html lang='en'><head></head>", ": is XML or HTML: save its content as CSV"),
        ('{"gem, jewel": 3.94}', ": is JSON: save it as CSV"),
        ('[\n {"id": "gem"}]', ": is JSON: save it as CSV"),
        ("PK\x03\x04", ": is a spreadsheet (.xlsx, .ods) or a zip archive: save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1", ": is an old workbook (.xls): save its sheet as CSV"),
        (b"%PDF-1.7\n", ": is a PDF: save the table as CSV"),
        (b"\xfd7zXZ\0\0", ": is compressed by xz: unpack it first, or compress it by gzip"),
        ("id,s\nx,1\n\0y,2\n", ":3: a null byte; this is not a text file"),
        (b"id,s\r\nx,1\r\ncaf\xe9,2\n", ":3: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfid,s\rx,\xff\n", ":2: byte 0xff is not UTF-8"),
        ("id,s\nx,1\ny,2\n".encode("utf-16"), ": is text in UTF-16; save the file as UTF-8"),
        ('id,s\nx,1\n"y,2\nz,3\n', ":3: a quote is opened here and never closed"),
        ('\n"id,s\nx,1\n', ":2: a quote is opened here and never closed"),
        ('id,s\nx,1\n"y"z,2\n', ":3: no comma after a closing quote; quotes inside a cell must be doubled"),
        ("id,s\nx,1\n" + "y" * 140_000 + ",2\n", ":3: a cell of more than 131072 characters; is a quote left open?"),
        ("id,s\nx,1\ny," + "1" * 9_999 + "z\n", ':3: column "s": "1{60}..." is not a number'),
        ("x,1\ny,2\nz,3\n", ':1: column "1": this line looks like data; use --no-header'),
        ("x,nan\ny,2\nz,3\n", ':1: column "nan": this line looks like data; use --no-header'),
        ("x,1_0\ny,2\nz,3\n", ':1: column "1_0": this line looks like data; use --no-header'),
        ("x,N/A\ny,2\nz,3\n", ':1: column "N/A": this line looks like data; use --no-header'),
        ("x,\ny,2\nz,3\n", ":1: the score column has no name; if this line holds data, use --no-header"),
    ],
)
def test_errors_name_their_place(write, content, message):
    path = write(content)
    pattern = "^" + re.escape(f"{path}{message}").replace(r"1\{60\}", "1{60}")
    with pytest.raises(TableError, match=pattern):
        read_ranking(path)


@pytest.mark.parametrize(
    ("cells", "is_refused"),
    [
        (["1.250", "980", "2.000"], True),
        (["-1.250", " 12", "980"], True),
        (["1.250", "980", "750.5"], False),
        (["1.250", "98", "-70"], False),
        (["0.125", "980", "750"], False),
        (["1.250", "980", "1250"], False),
        (["1.250", "980.000", "2.000"], False),
    ],
)
def test_separators_of_thousands_are_refused(write, cells, is_refused):
    """A spreadsheet in German writes 1250 as 1.250, which is less than 980 as a decimal."""
    rows = list(zip("abc", cells, strict=True))
    assert len(read_ranking(write("id,s\n" + "".join(f"{label},{cell}\n" for label, cell in rows))).ranks) == 3
    path = write("id;s\n" + "".join(f"{label};{cell}\n" for label, cell in rows))
    if is_refused:
        with pytest.raises(TableError, match=r':2: column "s": "-?1\.250" may mean -?1250, as other cells are whole'):
            read_ranking(path)
    else:
        assert read_ranking(path).scores.tolist() == list(map(float, cells))


@pytest.mark.parametrize(
    ("label", "number", "is_refused"),
    [
        ("Total", "8", True),
        ("grand total", "8.0", True),
        ("Average", "2.67", True),
        ("Mittelwert", "2.7", True),
        ("Average", "2.6", False),
        ("mean", "3", False),
        ("sum", "5", False),
        ("otter", "8", False),
    ],
)
def test_totals_below_a_table_are_refused(write, label, number, is_refused):
    path = write(f"id,s\nx,1\ny,2\nz,5\n{label},{number}\n")
    if is_refused:
        with pytest.raises(TableError, match=f':5: "{label}" is the total or the mean of the other rows: remove it'):
            read_ranking(path)
        assert len(read_ranking(write(f"id,s\n{label},{number}\nx,1\ny,2\nz,5\n")).ranks) == 4  # as the message says
    else:
        assert len(read_ranking(path).ranks) == 4


def test_a_total_of_infinite_few_or_equal_numbers_is_an_item(write):
    equal = ("x,0\ny,0\nz,0\ntotal,0", "x,0.5\ny,0.5\nz,0.5\nsum,0.5")  # a system may score all items alike
    for rows in ("x,inf\ny,-inf\nz,1\ntotal,0", "x,1\ny,2\nsum,3", *equal):
        assert read_ranking(write(f"id,s\n{rows}\n")).labels[-1] in {"total", "sum"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, ':1: say which column holds the ids (--id) and the numbers (--score); the columns are "a", "b", "c", "c"'),
        ({"score_column": "b"}, ':1: say which column holds the ids (--id); the columns are "a", "b"'),
        ({"id_columns": ["a"]}, ':1: say which column holds the numbers (--score); the columns are "a", "b"'),
        ({"score_column": "B"}, ':1: no column "B" for the numbers (--score); the columns are "a", "b", "c", "c"'),
        ({"id_columns": ["a", "x\ty"]}, ':1: no column "x\\ty" for the ids (--id); the columns are "a", "b", "c", "c"'),
        ({"score_column": "c"}, ':1: column "c": more than one column has this name'),
        ({"id_columns": ["a"], "score_column": "a"}, ':1: column "a": chosen twice; the ids and the score need'),
        ({"id_columns": ["a", "b", "a"]}, ':1: column "a": chosen twice'),
        ({"id_columns": ["0"], "header": False}, ':1: no column "0" for the ids (--id); the columns are "1", "2",'),
        ({"id_columns": ["1"], "score_column": "2", "header": False}, ':1: column "2": "b" is not a number'),
    ],
)
def test_invalid_choices_of_columns_are_refused(write, options, message):
    path = write("a,b,c,c\nx,1,2,3\ny,1,2,3\n")
    with pytest.raises(TableError, match="^" + re.escape(f"{path}{message}")):
        read_ranking(path, **options)


@pytest.mark.parametrize(
    ("content", "ids", "score", "message"),
    [
        ("a,b,s\nx,y,1\nx,z,2\nx,y,3\n", ["a", "b"], None, r':4: column "a, b": "x", "y" is also on line 2; ids must'),
        ("1,x,5\n2,y,6\n", ["1"], "3", ':1: no column "3" for the numbers .* "1", "x", "5"; if this line holds data,'),
        ("1,2\n2,5\n3,4\n", ["1"], "2", "looks like data"),  # with a header of "1" and "2", item "1" would be lost
    ],
)
def test_rows_of_wrong_width_are_refused(write, content, ids, score, message):
    with pytest.raises(TableError, match=message):
        read_ranking(write(content), id_columns=ids, score_column=score)


def test_many_columns_are_not_all_listed(write):
    path = write(",".join(f"c{i}" for i in range(300)) + "\n")
    with pytest.raises(TableError, match=r'"c0", "c1", .*"c19" and 280 more$'):
        read_ranking(path)


@pytest.mark.parametrize("wrong", ["id", []])
def test_id_columns_are_a_list(write, wrong):
    with pytest.raises(OptionError, match="must be a list of one or more column names"):
        read_ranking(write("id,s\nx,1\ny,2\n"), id_columns=wrong)


@pytest.mark.parametrize("name", ["rank", "mean rank", "score", "strength"])
def test_a_first_column_of_numbers_is_not_read_as_ids(write, name):
    path = write(f"{name},id\n1,10\n2,20\n")
    with pytest.raises(TableError, match=f':1: column "{name}": by its name, this column holds numbers, but it would'):
        read_ranking(path)
    ranking = read_ranking(path, id_columns=[name])
    assert ranking == Ranking.from_scores({"1": 10, "2": 20})


@pytest.mark.parametrize("name", ["place", "position", "Platz", "score"])
def test_a_first_column_of_text_holds_the_ids_whatever_its_name(write, name):
    assert read_ranking(write(f"{name},points\nParis,3\nRome,2\n")) == Ranking.from_scores({"Paris": 3, "Rome": 2})


def test_only_text_and_paths_are_paths(tmp_path):
    readers = [read_ranking, read_run, read_qrels, read_groups, read_vectors]
    with (tmp_path / FILE).open("w") as file:
        for source in (file, io.StringIO("item,score\na,1\n"), b"f.csv", None, 7):
            for read in readers:
                with pytest.raises(RankingError, match=r"the path of a file must be text or a pathlib\.Path; got "):
                    read(source)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"nothing\.csv: cannot be read: No such file or directory$"):
        read_ranking(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match=r": cannot be read: "):
        read_ranking(tmp_path)
    with pytest.raises(TableError, match=r"^a\\x00b: cannot be read: embedded null"):
        read_ranking("a\0b")


def outcome(text, **options):
    """The ranking or the error for a text."""
    try:
        return read_text(text, **options)
    except RankingError as error:
        return error


@given(st.text('ab1-.,;\t|"\n\r ', max_size=60), st.booleans())
@example('" "\n\t', True)
@example('\t\n"\t"\n', False)
@example("a,1\nb,2", False)
def test_any_text_gives_a_ranking_or_a_one_line_error(text, header):
    result = outcome(text, header=header)
    if isinstance(result, Ranking):
        assert len(result) <= len(re.findall(r"[^\r\n]+", text)) - header
    else:
        assert type(result) is TableError
        assert str(result).startswith("<stdin>:")
        assert str(result).isprintable()


@given(st.binary(max_size=40))
def test_any_bytes_give_a_ranking_or_an_error(data):
    result = outcome(b"id,s\nx,1\n" + data)
    assert result.labels[0] == "x" if isinstance(result, Ranking) else str(result).isprintable()


@pytest.mark.real_data
def test_real_pairs_without_a_value(data_dir: Path):
    path = data_dir / "EN-WS-353-SIM_wordnet30.tsv"
    with pytest.raises(TableError, match=r'\.tsv:27: column "lch": empty cell'):  # drink, eat: as two parts of speech
        read_ranking(path, id_columns=["word1", "word2"], score_column="lch")


def test_numbers_are_read_unchanged(write):
    path = write("id,s\nx,9007199254740993\ny,0.5\nz,-inf\n")
    assert read_numbers(path).numbers == {"x": 2**53 + 1, "y": 0.5, "z": -math.inf}
    assert read_ranking(path) == Ranking.from_scores(read_numbers(path).numbers)


RANKS = ["rank", "Rank", " RANKS ", "rank_low", "rank_high", "Mean rank", "rank1", "ranking", "Place"]


@pytest.mark.parametrize(
    "name", [*RANKS, "Rang", "Ra\u0308nge", "Posición", "posicion"]
)  # an umlaut as macOS writes it
def test_a_column_named_rank_is_read_as_ranks(write, name):
    path = write(f"id,{name},score\nx,1,0.9\ny,2,0.5\nz,3,0.1\n")
    best_first = read_ranking(path, id_columns=["id"], score_column="score")
    with pytest.warns(RankColumnWarning, match=f'column "{name}" is read as ranks .1 is best.; rename it if') as notes:
        assert read_ranking(path, id_columns=["id"], score_column=name) == best_first
    assert notes[0].filename == __file__
    assert read_ranking(path, id_columns=["id"], score_column=name, ranks=True) == best_first
    with pytest.warns(RankColumnWarning):  # the only column of numbers
        assert read_ranking(write(f"id,{name}\nx,1\ny,2\nz,3\n")) == best_first
    for other in ("page_rank", "PageRank", "rank score", "trank"):
        assert read_ranking(write(f"id,{other}\nx,3\ny,2\nz,1\n")) == best_first
    assert read_ranking(write("rank,3\nx,2\ny,1\n"), header=False).labels == ("rank", "x", "y")


@pytest.fixture
def path(tmp_path):
    """An existing file."""
    result = tmp_path / "ranking.csv"
    result.write_bytes(b"old")
    return result


def test_a_written_file_leaves_no_other_file(tmp_path):
    path = tmp_path / f"{'𝜏' * 62}.csv"  # 252 bytes of at most 255 in a file name
    for data in (b"first", b"second"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(step, tmp_path, path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["ranking.csv"]


@pytest.mark.skipif(os.name != "posix", reason="modes, links and folders as POSIX has them")
def test_the_file_and_its_folder_are_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))
    write_atomically(tmp_path / "ranking.csv", b"new")
    assert synced == [False, True]  # the file, and then its name


@pytest.mark.skipif(os.name != "posix", reason="modes, links and folders as POSIX has them")
def test_mode_and_link_are_kept(tmp_path):
    target, link = tmp_path / "kept.csv", tmp_path / "link.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


KILLED_WHILE_WRITING = """
import json, os, resource, signal, sys
from pathlib import Path
from rankcorr._io.source import write_atomically

replace = os.replace

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def replace_and_die(*arguments):
    replace(*arguments)
    die()

def write(path, moment):
    if moment == "while writing":  # the kernel ends the process at byte 100
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    elif moment == "before the disk has it":
        os.fsync = die
    elif moment == "before the exchange":
        os.replace = die
    elif moment == "after the exchange":
        os.replace = replace_and_die
    write_atomically(Path(path), b"new" * 100)

ended = {}
for path, moment in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        write(path, moment)
        os._exit(0)
    ended[moment] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""
KILLED = {
    "while writing": (signal.SIGXFSZ, b"old"),
    "before the disk has it": (signal.SIGKILL, b"old"),
    "before the exchange": (signal.SIGKILL, b"old"),
    "after the exchange": (signal.SIGKILL, b"new" * 100),
}


@pytest.fixture(scope="module")
def killed_writers(tmp_path_factory):
    """Files that a process was writing when it was killed at different moments, and its exit codes."""
    paths = {moment: tmp_path_factory.mktemp("killed") / "ranking.csv" for moment in KILLED}
    for path in paths.values():
        path.write_bytes(b"old")
    arguments = json.dumps([(str(path), moment) for moment, path in paths.items()])
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, arguments]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    exit_codes = json.loads(process.stdout)
    return {moment: (path, exit_codes[moment]) for moment, path in paths.items()}


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("moment", KILLED)
def test_a_process_killed_while_it_writes_leaves_the_old_file_or_the_new_one(moment, killed_writers):
    (path, ended), (by_signal, data) = killed_writers[moment], KILLED[moment]
    assert -ended == by_signal
    assert path.read_bytes() == data
    leftover = [name for name in os.listdir(path.parent) if name != "ranking.csv"]
    assert len(leftover) == (data == b"old")
    write_atomically(path, b"again")
