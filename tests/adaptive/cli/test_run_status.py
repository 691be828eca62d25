"""`ballots run status --by` and what `record` and `import` say of files that they cannot take."""

import re
import zipfile

import pytest

from tests.adaptive.cli.commands import refusal, run_ok

pytestmark = pytest.mark.wide


def test_status_by_voter_has_whole_seconds_and_no_blanks_at_the_end(opened):
    run_ok("run", "record", "v.db", "votes.csv")
    lines = run_ok("run", "status", opened, "--by", "voter").splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert re.fullmatch(r"0 +\d of \d +\d+ +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", lines[1])
    run_ok("run", "exclude", "v.db", "0", "--reason", "too fast")
    assert run_ok("run", "status", opened, "--by", "voter").splitlines()[1].endswith("Z  excluded")


def test_status_by_ballot(opened):
    run_ok("run", "record", "v.db", "votes.csv")
    run_ok("run", "close", "v.db")
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    header, first, second = run_ok("run", "status", opened, "--by", "ballot").splitlines()
    assert header.split() == ["ballot", "state", "items", "answered", "sheets", "done", "opened", "closed"]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(rf"1 +closed +10 +20 of 20 +3 of 3  {time}  {time}", first)
    assert re.fullmatch(rf"2 +open +5 +0 of 10 +0 of 3  {time} +-", second)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"comparison": "1-0", "Winner": "left"}]', 'column "Winner": did you mean "winner"'),
        (b'{"comparison": "1-0"}\n{"comparison": "1-1"}\n', 'no column "winner"; the columns are "comparison"'),
        (b"[" * 200_000, "cannot be read as JSON"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not a text file: it has null bytes, and is not UTF-8"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", r"is an old workbook \(.xls\): save its sheet as CSV"),
        ("comparison,winner\n1-0,left\n".encode("utf-16"), "is text in UTF-16; save the file as UTF-8"),
        (b"SQLite format 3\0", "is a database of SQLite, and no table in text"),
        (b"%PDF-1.7\n", "is a PDF, and no table in text"),
    ],
)
def test_record_says_what_a_file_is_that_is_no_table(data, message, opened, folder):
    (folder / "other").write_bytes(data)
    assert re.fullmatch(rf"other(:1)?: {message}.*", refusal("run", "record", opened, "other"))


def test_record_says_what_a_workbook_is(opened, folder):
    with zipfile.ZipFile(folder / "votes.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    wanted = "votes.xlsx: is a zip: unpack it first, or save the sheet of a workbook (.xlsx, .ods) as CSV"
    assert refusal("run", "record", opened, "votes.xlsx") == wanted
