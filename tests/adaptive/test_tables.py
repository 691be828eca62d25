"""Tables of items: what is written is read again, and every fault has its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._pairing import FewRareTokensWarning, pair_tokens, pairing_csv
from adaptive._tables import check_spelling, csv_text, item_columns, read_items
from rankcorr._io.table import Record, TextTable
from rankcorr.errors import TableError

TABLE = TextTable("f.csv")
# One line of text without spaces around it; delimiters, quotes and other scripts are common.
CELLS = st.text(st.sampled_from("aßЖ,;|\"' 1_-"), min_size=1, max_size=6).filter(lambda text: text == text.strip())


FILE = "table.csv"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "table.csv"


# --- items -----------------------------------------------------------------------------------------------------------


@given(st.one_of(st.lists(strategy, min_size=1, unique=True) for strategy in (CELLS, st.tuples(CELLS, CELLS))))
def test_items_are_read_as_they_were_written(file, items):
    rows = [[*item] if isinstance(item, tuple) else [item] for item in items]
    file.write_text(csv_text(item_columns("item", items), rows))
    assert read_items(file) == tuple(items)


def test_pairs_are_read_as_they_were_paired(write):
    tokens = [("salary", "work", 1), ("wage", "work", 99), ("tax", "state", 80), ("wage", "state", 99)]
    pairing = pair_tokens(tokens)
    text = pairing_csv(pairing)
    assert text.splitlines() == ["item_1,item_2,area,rare", "salary,wage,work,yes", "tax,wage,state,no"]
    assert read_items(write(text)) == pairing.items


def test_area_of_a_pair_across_areas_is_empty():
    with pytest.warns(FewRareTokensWarning):
        pairing = pair_tokens([("a", "x", 1), ("b", "y", 1)], across_areas=True)
    assert pairing_csv(pairing) == "item_1,item_2,area,rare\na,b,,no\n"


def test_items_in_any_column_and_other_columns(write):
    assert read_items(write("n\titem_2\titem_1\n1\tb\ta\n\n2\tc\ta\n")) == (("a", "b"), ("a", "c"))
    assert read_items(write("item\na\n7\n")) == ("a", "7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"table\.csv: the file is empty"),
        ("label,area\na,b\n", r'table\.csv:1: add a first line "item", .*; the first line has "label", "area"'),
        ("item,item\na,b\n", r'table\.csv:1: column "item": more than one column has this name'),
        ("item_1,item_1\na,b\n", r'table\.csv:1: column "item_1": more than one column'),
        ("item,item_1\na,b\n", r'table\.csv:1: columns "item" and "item_1" cannot be combined'),
        ("item_1,item_3\na,b\n", r'table\.csv:1: no column "item_2"; parts are numbered from 1'),
        ("item_1,item_2\na,b\na\n", r'table\.csv:3: expected 2 cells, as .* got 1 \(none for "item_2"\)'),
        ("Item\na\n", r'table\.csv:1: column "Item": did you mean "item"\?'),
        ("item_1,ITEM_2\na,b\n", r'table\.csv:1: column "ITEM_2": did you mean "item_2"\?'),
        ("item_1,item_2\na,\n", r'table\.csv:2: column "item_2": empty cell; every row needs an item'),
        ("item,n\n ,2\n", r'table\.csv:2: column "item": empty cell'),
        ("item\n a\n", r"""table\.csv:2: column "item": ' a' begins or ends with a space"""),
        ('item,n\n"a\nb",2\n', r"""table\.csv:2: column "item": 'a\\nb' has several lines"""),
        ("item\na\nb\na\n", r"table\.csv:4: item 'a' is also on line 2; items must be unique"),
        ("item_1,item_2\na,b\na,b\n", r"table\.csv:3: item \('a', 'b'\) is also on line 2"),
        ("item\n", r"table\.csv:1: no items, only the names of the columns"),
        ('item,n\n"a,1\n', r"table\.csv:2: a quote is opened here and never closed"),
    ],
)
def test_refused_items(write, text, message):
    with pytest.raises(TableError, match=message):
        read_items(write(text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TableError, match=r"none\.csv: cannot be read: No such file"):
        read_items(tmp_path / "none.csv")


# --- columns and rows -------------------------------------------------------------------------------------------------


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
        (["1", "2"], r'^f\.csv:3: expected 4 cells, as in the first row; got 2 \(none for "c", "d"\)$'),
        (["1", "2", "3"], r'got 3 \(none for "d"\)$'),
        (["1", "2", "3", "4", "5"], r"^f\.csv:3: expected 4 cells, as in the first row; got 5$"),
    ],
)
def test_a_row_of_another_width(cells, message):
    with pytest.raises(TableError, match=message):
        TABLE.check_width(Record(1, list("abcd")), Record(3, cells))


def test_a_row_of_the_right_width():
    TABLE.check_width(Record(1, ["a", "b"]), Record(2, ["1", ""]))
