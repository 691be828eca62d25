"""Tables of items, votes and comparisons: what is written is read again, and every fault has its place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive.draw import draw_ballot
from adaptive.errors import TableError, VoteError
from adaptive.pairing import FewRareTokensWarning, pair_tokens
from adaptive.scores import tally
from adaptive.tables import (
    VoteFile,
    VoteRow,
    comparisons_csv,
    csv_text,
    item_columns,
    pairing_csv,
    read_items,
    read_vote_file,
)
from adaptive.votes import Comparison, Vote, comparisons_of

NEEDED = ["left", "right", "winner"]
# One line of text without spaces around it; delimiters, quotes and other scripts are common.
CELLS = st.text(st.sampled_from("aßЖ,;|\"' 1_-"), min_size=1, max_size=6).filter(lambda text: text == text.strip())


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


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
        (b"item\n\xff\n", r"table\.csv:2: byte 0xff is not UTF-8"),
        ("label,area\na,b\n", r'table\.csv:1: a column "item" is wanted, or .*; the columns are "label", "area"'),
        ("item,item\na,b\n", r'table\.csv:1: column "item": more than one column has this name'),
        ("item_1,item_1\na,b\n", r'table\.csv:1: column "item_1": more than one column'),
        ("item,item_1\na,b\n", r'table\.csv:1: columns "item" and "item_1" exclude each other'),
        ("item_1,item_3\na,b\n", r'table\.csv:1: no column "item_2"; parts are numbered from 1'),
        ("item_1,item_2\na,b\na\n", r'table\.csv:3: 2 cells .* got 1, none for "item_2"'),
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


# --- comparisons and votes -------------------------------------------------------------------------------------------


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 99), st.sampled_from(["left", "right", "tie", ""]))
def test_comparisons_come_back_as_votes(file, presentations, n_voters, seed, winner):
    items = [("a", "b"), ("a", "c,d"), ("b", "Ж"), ("b", "d")]
    ballot = draw_ballot(items, presentations, n_voters, np.random.default_rng(seed))
    shown = comparisons_of(ballot, 3)
    file.write_text("".join(f"{line}{winner if n else ''}\n" for n, line in enumerate(comparisons_csv(shown).split())))
    rows = read_vote_file(file, needed=["comparison", "voter", *NEEDED]).rows
    vote = Vote[winner.upper()] if winner else Vote.UNANSWERED
    said = winner or None
    assert {row[1:] for row in rows} == {
        (each.id, str(each.voter), each.left, each.right, vote, said, ()) for each in shown
    }
    assert [int(row.voter) for row in rows] == sorted(each.voter for each in shown)
    for voter in range(n_voters):
        own = [int(row.comparison.removeprefix("3-")) for row in rows if int(row.voter) == voter]
        assert own == sorted(own)  # each voter's in the order of the ballot


def test_a_file_of_votes_is_a_ballot(write):
    file = read_vote_file(write("winner,right,left\nleft,b,a\ntie,a,c\n,c,b\nright,b,a\n"), needed=NEEDED)
    ballot, answers = file.as_ballot()
    assert ballot.items == ("a", "b", "c")
    counts = tally(ballot, answers)
    table = [counts.wins, counts.ties, counts.losses, counts.unanswered]
    assert np.array(table).T.tolist() == [[1, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1]]


def test_columns_that_are_not_there_are_none(write):
    (row,) = read_vote_file(write("comparison,winner\n1-0,tie\n"), needed=["comparison", "winner"]).rows
    assert row == VoteRow(2, "1-0", None, None, None, Vote.TIE, "tie")
    (row,) = read_vote_file(write("left,right,note\na,b,x\n"), needed=["left", "right"]).rows
    assert row == VoteRow(2, None, None, "a", "b", Vote.UNANSWERED, extra=(("note", "x"),))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("left,right\na,b\n", TableError, r'table\.csv:1: no column "winner"; the columns left, right, winner are'),
        ("a\nb\n", TableError, r'table\.csv:1: no column "left"'),
        ("left,right,winner,winner\n", TableError, r'table\.csv:1: column "winner": more than one column'),
        ("left_1,left_2,right,winner\n", TableError, r"table\.csv:1: as many columns .* got 2 and 1"),
        ("left,right,winner\na,b,Left\n", VoteError, r"""table\.csv:2: column "winner": a vote is .* got 'Left'"""),
        (
            "left,right,winner\na,b,a\n",
            VoteError,
            r"""column "winner": .* got 'a'; an empty cell is no vote""",
        ),
        ("left,right,winner\na,b\n", TableError, r'table\.csv:2: 3 cells .* got 2, none for "winner"'),
        ("left,right,winner,comparison\na,b\n", TableError, r'got 2, none for "winner", "comparison"'),
        ("left, right,winner\na,b,tie\n", TableError, r'column " right": did you mean "right"\? Capitals and spaces'),
        ("left,right,winner\na,,tie\n", TableError, r'table\.csv:2: column "right": empty cell; .* needs its right'),
        ("left,right,winner\na,b ,tie\n", TableError, r"""table\.csv:2: column "right": 'b ' begins or ends"""),
        ("comparison,left,right,winner\n,a,b,tie\n", TableError, r'table\.csv:2: column "comparison": empty cell'),
        ("left,right,winner\n", TableError, r"table\.csv:1: no votes, only the names of the columns"),
    ],
)
def test_refused_votes(write, text, error, message):
    with pytest.raises(error, match=message):
        read_vote_file(write(text), needed=NEEDED)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([VoteRow(2, None, None, "a", "a", Vote.TIE)], r"votes\.csv:2: 'a' is compared with itself"),
        ([VoteRow(2, "1-0", None, None, None, Vote.TIE)], r"votes\.csv:2: the items of a comparison are wanted"),
        (
            [VoteRow(line, "1-0", None, "a", "b", Vote.TIE) for line in (2, 3)],
            r"votes\.csv:3: comparison '1-0' is also on line 2",
        ),
    ],
)
def test_votes_that_are_no_ballot(rows, message):
    with pytest.raises(VoteError, match=message):
        VoteFile("votes.csv", tuple(rows)).as_ballot()


def test_items_of_several_lengths_are_no_table():
    with pytest.raises(TableError, match=r"all of one length; got \[0, 2\]"):
        comparisons_csv([Comparison("1-0", 0, "a", ("b", "c"))])


def test_voters_with_names_come_in_the_order_of_the_ballot():
    shown = [Comparison(f"1-{n}", voter, "a", "b") for n, voter in enumerate(["Zoe", "Ann", "Zoe"])]
    assert [line.split(",")[:2] for line in comparisons_csv(shown).splitlines()[1:]] == [
        ["1-0", "Zoe"],
        ["1-2", "Zoe"],
        ["1-1", "Ann"],
    ]
