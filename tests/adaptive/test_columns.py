"""Names of columns that are spelled almost as wanted, and rows of the wrong width."""

import pytest

from adaptive.columns import check_spelling, check_width
from adaptive.errors import TableError
from rankcorr.io.records import Record, TextTable

TABLE = TextTable("f.csv", error=TableError)


@pytest.mark.parametrize("cell", ["Winner", "WINNER", " winner", "winner ", "\tWinner"])
def test_a_name_that_is_almost_right(cell):
    with pytest.raises(TableError, match=r'^f\.csv:1: column ".*": did you mean "winner"\? Capitals and spaces count'):
        check_spelling(TABLE, Record(1, ["left", cell]), ["left", "winner"])


@pytest.mark.parametrize("cells", [["winner", "Winner"], ["won"], ["win ner"], []])
def test_other_columns_may_have_any_name(cells):
    check_spelling(TABLE, Record(1, cells), ["winner"])


def test_capitals_of_a_wanted_name_count_too():
    check_spelling(TABLE, Record(1, ["Cosine"]), ["Cosine"])
    with pytest.raises(TableError, match=r'column "cosine": did you mean "Cosine"\?'):
        check_spelling(TABLE, Record(1, ["cosine"]), ["Cosine"])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "2"], r'^f\.csv:3: 4 cells are wanted, as in the first row; got 2, none for "c", "d"$'),
        (["1", "2", "3"], r'got 3, none for "d"$'),
        (["1", "2", "3", "4", "5"], r"^f\.csv:3: 4 cells are wanted, as in the first row; got 5$"),
    ],
)
def test_a_row_of_another_width(cells, message):
    with pytest.raises(TableError, match=message):
        check_width(TABLE, Record(1, list("abcd")), Record(3, cells))


def test_a_row_of_the_right_width():
    check_width(TABLE, Record(1, ["a", "b"]), Record(2, ["1", ""]))
