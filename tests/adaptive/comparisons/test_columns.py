"""The columns of votes and the counts derived from them; impossible values are refused."""

import gzip
import io
import json
import sys
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import (
    ComparisonError,
    Comparisons,
    NumberedItemsWarning,
    TableError,
    VoteError,
    borda,
    read_choices,
    read_comparisons,
)
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED
from adaptive.comparisons._columns import ShownPairs
from rankcorr import OptionError
from tests.adaptive import naive
from tests.adaptive.strategies import CELLS, comparisons, items_and_triples, rows_of, small_comparisons

ANN, BOB = "Ann", "Bob"


def test_the_columns_are_small_and_read_only():
    votes = small_comparisons()
    columns = {"left": np.int32, "right": np.int32, "winner": np.int8, "voter": np.int32}
    for name, dtype in columns.items():
        column = getattr(votes, name)
        assert column.dtype == dtype
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    assert votes.items == ("a", "b", "c")
    assert small_comparisons(items=3, voters=2).items == range(3)
    assert small_comparisons(items=3, voters=2).voters == range(2)
    assert (votes.n_items, votes.n_comparisons, votes.n_voters, votes.n_ties) == (3, 2, 2, 1)
    assert replace(votes, voters=None, voter=None).n_voters == 0


def test_arguments_are_copied():
    left = np.array([0, 1], np.int32)
    votes = small_comparisons(left=left)
    left[0] = 2
    assert votes.left.tolist() == [0, 1]


def test_columns_may_be_empty():
    votes = Comparisons(3, [], [], [])
    assert (votes.n_comparisons, votes.n_ties, votes.parts) == (0, 0, 3)
    assert votes.never_compared == (0, 1, 2)
    assert votes.presentations.tolist() == [0, 0, 0]
    nothing = Comparisons.from_labels([], [], [])
    assert (nothing.items, nothing.parts, nothing.never_compared) == ((), 0, ())
    assert nothing.to_csv() == "comparison,left,right,winner\n"


@given(comparisons())
def test_counts_are_those_of_the_comparisons(votes):
    items, triples = items_and_triples(votes)
    for name in ("wins", "ties", "losses"):
        assert getattr(votes, name).tolist() == [naive.count(item, triples)[name] for item in items]
    assert_array_equal(votes.presentations, votes.wins + votes.ties + votes.losses)
    assert votes.presentations.sum() == 2 * votes.n_comparisons
    assert votes.n_ties == sum(winner == "tie" for *_, winner in triples)
    assert votes.never_compared == tuple(item for item in items if not any(item in triple[:2] for triple in triples))


@given(comparisons())
def test_parts_are_the_connected_components(votes):
    items, triples = items_and_triples(votes)
    parts = naive.parts(items, triples)
    assert votes.parts == len(parts)
    numbers = dict(zip(items, votes.part.tolist(), strict=True))
    assert {frozenset(part) for part in parts} == {
        frozenset(item for item in items if numbers[item] == number) for number in range(votes.parts)
    }


def test_repr_shows_the_counts():
    assert repr(small_comparisons()) == "<Comparisons of 3 items: 2 comparisons, 1 tie, 2 voters>"
    votes = Comparisons(1000, [0], [1], [LEFT], 1, [0], n_unanswered=2)
    assert repr(votes) == "<Comparisons of 1,000 items: 1 comparison, 0 ties, 1 voter, 2 unanswered>"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"left": [0, 3]}, ComparisonError, r"left\[1\] is 3; the 3 items have the indices from 0 to 2"),
        ({"right": [-1, 2]}, ComparisonError, r"right\[0\] is -1; the 3 items"),
        ({"voter": [0, 2]}, ComparisonError, r"voter\[1\] is 2; the 2 voters have the indices from 0 to 1"),
        ({"right": [0, 2]}, ComparisonError, r"comparison 0: item 'a' is compared with itself"),
        ({"winner": [LEFT, 2]}, VoteError, r"winner\[1\] is 2; it must be 1 \(left\), 0 \(tie\) or -1 \(right\)$"),
        ({"winner": [UNANSWERED, LEFT]}, VoteError, r"winner\[0\] is -2; .* comparison is counted, not kept"),
        ({"winner": ["left", "tie"]}, ComparisonError, r"winner must be whole numbers in one dimension; got <U4 of"),
        ({"left": [0.0, 1.0]}, ComparisonError, r"left must be whole numbers .* got float64"),
        ({"left": [[0], [1, 2]]}, ComparisonError, r"left must be a list of whole numbers; got \[\[0\], \[1, 2\]\]"),
        ({"left": [0]}, ComparisonError, "left has 1, right has 2, winner has 2, voter has 2"),
        ({"voter": None}, ComparisonError, "by name and by comparison, or not at all; got voters without voter"),
        ({"items": ("a", "b", "a")}, ComparisonError, "items must be unique; more than once: 'a'"),
        ({"items": "abc"}, ComparisonError, "items must be a number or a list of labels; got 'abc'"),
        ({"n_unanswered": -1}, ComparisonError, "n_unanswered must be a whole number, not negative; got -1"),
        ({"n_unanswered": 1, "unanswered": [(0, 1)]}, ComparisonError, r"unanswered must be ShownPairs .* got"),
        ({"voters": (ANN, ANN)}, ComparisonError, "voters must be unique; more than once: 'Ann'"),
    ],
)
def test_impossible_values_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        small_comparisons(**changes)


def pairs_of(shown_pairs):
    """Rows of `ShownPairs` as tuples of voter and the two items."""
    voter = [None] * len(shown_pairs) if shown_pairs.voter is None else shown_pairs.voter.tolist()
    return list(zip(voter, shown_pairs.left.tolist(), shown_pairs.right.tolist(), strict=True))


def test_unanswered_rows_are_kept_separately():
    labels = {"left": ["a", "c", "b"], "right": ["b", "a", "c"], "winner": ["left", None, "tie"]}
    votes = Comparisons.from_labels(**labels, voter=[ANN, BOB, BOB])
    assert (votes.n_comparisons, votes.n_unanswered, len(votes.unanswered)) == (2, 1, 1)
    assert pairs_of(votes.unanswered) == [(1, 2, 0)]
    assert pairs_of(votes.shown_pairs) == [(0, 0, 1), (1, 1, 2), (1, 2, 0)]
    assert pairs_of(Comparisons.from_labels(**labels).unanswered) == [(None, 2, 0)]
    assert votes.presentations.tolist() == [1, 2, 1]
    assert repr(votes.unanswered) == "<ShownPairs: 1>"
    with pytest.raises(ValueError, match="read-only"):
        votes.unanswered.left[0] = 1
    assert json.loads(votes.to_json())["unanswered"] == {"voter": [BOB], "left": ["c"], "right": ["a"]}
    assert votes.select([0]).unanswered is None


def test_joining_matches_unanswered_rows_by_label():
    first = Comparisons.from_labels(["a", "b"], ["b", "c"], [None, "left"], voter=[ANN, BOB], items=list("abc"))
    then = Comparisons.from_labels(["c"], ["b"], [None], voter=[BOB], items=list("abc"))
    assert pairs_of(first.joined(then).unanswered) == [(0, 0, 1), (1, 2, 1)]
    assert pairs_of(then.joined(first).unanswered) == [(0, 2, 1), (1, 0, 1)]
    assert pairs_of(small_comparisons().joined(then).unanswered) == [(1, 2, 1)]
    assert small_comparisons().joined(small_comparisons()).unanswered is None


@pytest.mark.parametrize(
    ("left", "voter", "n_unanswered", "message"),
    [
        ([0], [0], 0, "n_unanswered is 0, less than the 1 rows of unanswered"),
        ([3], [0], 1, r"unanswered.left\[0\] is 3; the 3 items have the indices from 0 to 2"),
        ([0], [2], 1, r"unanswered.voter\[0\] is 2; the 2 voters"),
        ([0, 0], [0], 2, "every comparison needs one entry in each column; unanswered.left has 2, unanswered.right"),
        ([0], None, 1, "unanswered must be ShownPairs with voters, as the comparisons are; got <ShownPairs: 1>"),
    ],
)
def test_invalid_unanswered_rows_are_refused(left, voter, n_unanswered, message):
    pairs = ShownPairs(np.array(left), np.array([1]), None if voter is None else np.array(voter))
    with pytest.raises(ComparisonError, match=message):
        small_comparisons(n_unanswered=n_unanswered, unanswered=pairs)


@pytest.mark.parametrize(
    ("items", "message"),
    [(1, r"left\[0\] is 2; the only item has the index 0"), (0, r"left\[0\] is 2; there are no items")],
)
def test_messages_use_singular_and_plural(items, message):
    with pytest.raises(ComparisonError, match=message):
        Comparisons(items, [2], [1], [LEFT])


LABEL_KIND = st.sampled_from([CELLS, st.tuples(CELLS), st.tuples(CELLS, CELLS)])
ARENA = (
    "model_a,model_b,winner,judge\na,b,model_a,j1\nb,c,model_b,j1\nc,a,tie,j2\na,c,tie (bothbad),j2\na,b,both_bad,j2\n"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("comparisons") / "votes.csv"


def lines_of(votes):
    """Each comparison as a line of JSON."""
    columns = votes._columns()
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)


@given(comparisons(labels=LABEL_KIND, min_size=1), st.booleans())
def test_written_comparisons_are_read_unchanged(file, votes, as_json):
    file.write_text(lines_of(votes) if as_json else votes.to_csv(), encoding="utf-8")
    for kind in ("auto", "csv"):
        again = read_comparisons(file, items=votes.items, format=kind)
        assert rows_of(again) == rows_of(votes)
        assert again.items == votes.items
    assert (again.voters is None) == (votes.voters is None)
    result = read_comparisons(file)
    assert rows_of(result) == rows_of(votes)
    assert set(result.items) == set(votes.items) - set(votes.never_compared)
    assert result.n_unanswered == 0


@given(comparisons(min_size=1))
def test_written_pairs_are_read_unchanged(file, votes):
    won = votes.select(votes.winner == LEFT)
    if not won.n_comparisons:
        return
    pairs = list(zip(won.left.tolist(), won.right.tolist(), strict=True))
    expected = Comparisons.from_pairs(pairs, votes.n_items)
    plain = "".join(f"{winner},{loser}\n" for winner, loser in pairs)
    lists = "".join(f"[{winner}, {loser}]\n" for winner, loser in pairs)
    objects = "".join(json.dumps({"loser": loser, "winner": winner}) + "\n" for winner, loser in pairs)
    for text in (plain, "winner,loser\n" + plain, plain.replace(",", "\t"), lists, objects):
        file.write_text(text)
        assert read_comparisons(file, items=votes.n_items) == expected
        assert read_comparisons(file, format="choix", items=votes.n_items) == expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumberedItemsWarning)
            assert read_comparisons(file).items == range(1 + max(map(max, pairs)))


@pytest.mark.parametrize("kind", ["auto", "arena"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_of_an_arena_is_read(write, kind, as_json):
    if as_json:
        text = "\n\n".join(map(json.dumps, pd.read_csv(io.StringIO(ARENA)).assign(turn=1).to_dict("records")))
        path = write(text, "battles.jsonl")
    else:
        path = write(ARENA)
    votes = read_comparisons(path, format=kind)
    assert votes.winner.tolist() == [LEFT, RIGHT, TIE, TIE, TIE]
    assert (votes.items, votes.voters, votes.voter.tolist()) == (("a", "b", "c"), ("j1", "j2"), [0, 0, 1, 1, 1])
    with pytest.raises(TableError, match='no column "left"'):
        read_comparisons(path, format="csv")


def test_columns_of_evalica_and_the_voter_by_name(write):
    path = write("id\twinner\tright\tleft\tworker\n1\tleft\tb\ta\t7\n2\tright\ta\tc\t8\n", "votes.tsv")
    votes = read_comparisons(path)
    assert rows_of(votes) == [(None, "a", "b", "left"), (None, "c", "a", "right")]
    assert read_comparisons(path, voter="worker").voters == ("7", "8")
    with pytest.raises(TableError, match=r'votes\.tsv:1: no column "judge"; the columns are "id", "winner"'):
        read_comparisons(path, voter="judge")


def test_an_empty_winner_is_no_answer(write):
    text = "left,right,winner{}\na,b,{}\nb,c,tie{}\nc,a,cannot say{}\n"
    votes = read_comparisons(write(text.format(",voter", ",Ann", ",Bob", ",Bob")))
    assert (votes.n_comparisons, votes.n_unanswered) == (1, 2)
    assert (votes.items, votes.voters) == (("a", "b", "c"), ("Ann", "Bob"))
    assert read_comparisons(write(text.format("", " ", "", ""))).n_unanswered == 2
    assert read_comparisons(write("model_a,model_b,winner\na,b,\nb,a,tie\n")).n_unanswered == 1
    lines = write('{"left": "a", "right": "b", "winner": null, "voter": 3}\n', "v.jsonl")
    assert read_comparisons(lines).n_unanswered == 1


def test_compressed_and_from_standard_input(write, monkeypatch):
    path = write(gzip.compress(ARENA.encode()), "battles.csv.gz")
    votes = read_comparisons(path)
    assert votes.n_ties == 3
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ARENA.encode())))
    assert read_comparisons("-") == votes
    text = ARENA.replace("model_a,m", "left,m").replace("model_b,w", "right,w")
    with pytest.raises(VoteError, match=r'battles\.csv\.gz:2: column "winner": the winner must be .* got \'model_a\''):
        read_comparisons(write(gzip.compress(text.encode()), "battles.csv.gz"))


def test_labels_of_json_may_be_numbers_and_lists(write):
    rows = [{"left": 1, "right": [1, "x"], "winner": "left"}, {"left": 2, "right": 1, "winner": "tie"}]
    votes = read_comparisons(write("\r\n".join(map(json.dumps, rows)), "v.jsonl"))
    assert votes.items == (1, (1, "x"), 2)
    rows = [{"left": "several\nlines ", "right": "1", "winner": "left"}]
    assert read_comparisons(write(json.dumps(rows), "v.jsonl")).items == ("several\nlines ", "1")
    parts = [{"left_1": "a", "left_2": "b", "right_1": "a", "right_2": "c", "winner": "tie"}]
    assert read_comparisons(write(json.dumps(parts[0]), "v.jsonl")).items == (("a", "b"), ("a", "c"))


def test_items_of_pairs_may_have_labels_and_voters(write):
    path = write("winner,loser,who\n2,0,Ann\n1,0,Bob\n")
    votes = read_comparisons(path, items=["a", "b", "c", "d"], voter="who")
    assert rows_of(votes) == [("Ann", "c", "a", "left"), ("Bob", "b", "a", "left")]
    assert votes.never_compared == ("d",)


HEAD = "comparison,voter,left,right,winner\n"
SHORT_HEAD = "left,right,winner\n"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", TableError, r"votes\.csv: the file is empty"),
        ("a,b\nc,d\n", TableError, r'votes\.csv:1: got the columns "a", "b"; expected left, right, winner'),
        ("item_1,item_2,best,worst\na,b,a,b\n", TableError, r"for `ballots fit` \(in Python, read_choices\)"),
        ("Left,Right,Winner\na,b,left\n", TableError, r'votes\.csv:1: column "Left": did you mean "left"\?'),
        ("left, right,winner\na,b,tie\n", TableError, r'column " right": did you mean "right"\? Capitals and spaces'),
        ("left,right,winner,model_a,model_b\na,b,tie,a,b\n", TableError, r"\(csv and arena\); choose one with format="),
        (SHORT_HEAD, TableError, r"votes\.csv:1: no votes, only the names"),
        (SHORT_HEAD + "a,b\n", TableError, r'votes\.csv:2: expected 3 cells.*got 2 \(none for "winner"\)'),
        (SHORT_HEAD + "a,b,left\n,c,left\n", TableError, r'votes\.csv:3: column "left": empty cell'),
        (SHORT_HEAD + "a, b,left\n", TableError, r'votes\.csv:2: column "right": \' b\' begins or ends with a space'),
        (SHORT_HEAD + 'a,"b\nc",left\n', TableError, r'votes\.csv:2: column "right": .* has several lines'),
        (SHORT_HEAD + "a,b,left\n\na,b,Even\n", VoteError, r'votes\.csv:4: column "winner": .* got \'Even\''),
        ("left,right,winner\na,b,draw\n", VoteError, r"the winner must be 'left', 'right', 'tie' or 'cannot say'"),
        (HEAD + "1,x,a,b,?\n", VoteError, r"votes\.csv:2: column \"winner\": the winner must be .*'cannot say'; got"),
        ("model_a,model_b,winner\na,b,left\n", VoteError, r"the winner must be 'model_a', .* 'tie \(inconsistent\)'"),
        (SHORT_HEAD + "a,b,left\nc,c,left\n", ComparisonError, r'votes\.csv:3: column "right": item \'c\' is compared'),
        (HEAD + "1,x,a,b,tie\n2,x,b,b,\n", ComparisonError, r'votes\.csv:3: column "right": item \'b\' is compared'),
        (HEAD + "1,x,a,b,tie\n1,y,a,b,tie\n", ComparisonError, r"votes\.csv:3: column \"comparison\": comparison '1'"),
        (HEAD + "1,,a,b,tie\n", TableError, r'votes\.csv:2: column "voter": empty cell; every row needs its voter'),
        (HEAD + ",x,a,b,tie\n", TableError, 'column "comparison": empty cell'),
        ("left_1,right_1,right_2,winner\na,b,c,tie\n", TableError, "left and right must have equally many columns"),
        ("left_1,left_3,right_1,winner\na,b,c,tie\n", TableError, 'no column "left_2"; parts are numbered from 1'),
        ("0,1\n1,1\n", ComparisonError, r'votes\.csv:2: column "loser": item 1 is compared with itself'),
        ("winner,loser\nfig,\n", TableError, r'votes\.csv:2: column "loser": empty cell; every row needs its loser'),
        (b"left,right,winner\n\xff,b,tie\n", TableError, r"votes\.csv:2: byte 0xff is not UTF-8"),
    ],
)
def test_invalid_tables_are_refused(write, text, error, message):
    with pytest.raises(error, match=message):
        read_comparisons(write(text))


ROW = '{"left": "a", "right": "b", "winner": "tie"}\n'


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (ROW + "{'left'}\n", TableError, r"v\.jsonl:2: is not JSON: Expecting property name"),
        ("[\n" + ROW + ROW + "]\n", TableError, r"v\.jsonl:3: is not valid JSON: expected a comma or the end"),
        ("[]", TableError, r"v\.jsonl: no votes"),
        (ROW + '"a"\n', TableError, r"v\.jsonl:2: an object is expected for each vote; got 'a'"),
        ("[" * 100_000 + "\n", TableError, r"v\.jsonl:1: cannot be read as JSON"),
        ('{"left": "a", "left": "b"}\n', TableError, r"v\.jsonl:1: .* the key 'left' is listed twice in one object"),
        (ROW + '\n{"left": "a", "right": "b"}\n', TableError, r'v\.jsonl:3: no key "winner", which other votes have'),
        ('{"left": "a", "right": "b"}', TableError, r'v\.jsonl:1: no column "winner"; the columns are "left", "right"'),
        ('{"a": 1}\n', TableError, r'v\.jsonl:1: got the columns "a"; expected'),
        (ROW + ROW.replace('"a"', "null"), TableError, r'v\.jsonl:2: column "left": a label is text, .* got None'),
        (ROW.replace('"b"', "true"), TableError, 'column "right": a label is text, .* got True'),
        (ROW.replace('"b"', '["b", [1]]'), TableError, "a label is text"),
        (ROW + ROW.replace("tie", "draw"), VoteError, r"v\.jsonl:2: column \"winner\": .* got 'draw'"),
        (ROW.replace('"tie"', '["tie"]'), VoteError, r"got \['tie'\]"),
    ],
)
def test_invalid_lines_of_json_are_refused(write, text, error, message):
    with pytest.raises(error, match=message):
        read_comparisons(write(text, "v.jsonl"))


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        (ARENA, {"items": ["a", "b"]}, ComparisonError, r"votes\.csv:3: .*\"model_b\": 'c' is not one of the 2 items"),
        ("0,1\n2,1\n", {"items": 2}, TableError, r'votes\.csv:2: column "winner": 2 is not one of the 2 items'),
        (ARENA, {"format": "brat"}, OptionError, "format must be one of 'auto', 'csv', 'arena', 'one_hot', 'pairs'"),
        (ARENA, {"format": "choix"}, TableError, 'no column "loser"'),
        (ARENA, {"voter": 3}, TableError, 'no column "3"'),
    ],
)
def test_invalid_options_are_refused(write, text, options, error, message):
    with pytest.raises(error, match=message):
        read_comparisons(write(text), **options)


@pytest.mark.real_data
def test_votes_of_llmfao_are_read(data_dir):
    path = data_dir / "llmfao.csv"
    with pytest.raises(TableError, match=r'column "prompt": holds several prompts for one item'):
        read_comparisons(path)
    votes = read_comparisons(path, voter="worker", ignore=["prompt"])
    frame = pd.read_csv(path, dtype=str)
    assert rows_of(votes) == list(frame[["worker", "left", "right", "winner"]].itertuples(index=False, name=None))
    assert (votes.n_items, votes.n_voters, votes.parts) == (59, frame["worker"].nunique(), 1)
    assert votes.n_ties == (frame["winner"] == "tie").sum()
    assert Comparisons.from_frame(frame, voter="worker", ignore=["prompt"]) == votes
    assert read_comparisons(path, ignore=["prompt"]).voters is None
    won = frame["left"].where(frame["winner"] == "left", frame["right"])[frame["winner"] != "tie"].value_counts()
    assert dict(zip(votes.items, votes.wins.tolist(), strict=True)) == won.reindex(votes.items, fill_value=0).to_dict()
    assert votes.items[borda(votes).scores.argmax()] == "GPT 4"


@pytest.mark.real_data
def test_votes_of_ukpconvarg1_are_read(data_dir):
    path = data_dir / "ukpconvarg1_votes.csv.gz"
    frame = pd.read_csv(path)
    names = {"left": "item_a", "right": "item_b", "winner": "vote", "voter": "worker"}
    answers = {"a1": "left", "a2": "right", "equal": "tie"}
    votes = read_comparisons(path, **names, answers=answers)
    assert (votes.n_comparisons, votes.n_ties) == (len(frame), (frame["vote"] == "equal").sum())
    assert votes.parts == frame["topic"].nunique() == 16  # no argument meets one of another topic
    assert Comparisons.from_frame(frame, **names, answers=answers) == votes
    assert not votes.never_compared


@pytest.mark.parametrize("path", [None, 3, b"votes.csv"])
def test_objects_that_are_no_paths_are_refused(path):
    with pytest.raises(TableError, match=r"the path of a file must be text or a pathlib\.Path; got "):
        read_comparisons(path)


@pytest.mark.parametrize("key", ["left", "right", "voter", "comparison"])
def test_a_lone_surrogate_is_no_label(write, key):
    """JSON can hold it, UTF-8 cannot, so the ranking could not be written to a file."""
    rows = [{"comparison": n, "voter": "Ann", "left": "a", "right": "b", "winner": "left"} for n in range(2)]
    for label in ("\ud800", ["a", "x\udc00"]):
        faulty = [rows[0], {**rows[1], key: label}]
        path = write("".join(json.dumps(row) + "\n" for row in faulty))
        with pytest.raises(TableError, match=rf'votes.csv:2: column "{key}": .* has half of a surrogate pair'):
            read_comparisons(path)
    valid_rows = [rows[0], {**rows[1], "left": "\U0001f600"}]
    assert "\U0001f600" in read_comparisons(write("".join(json.dumps(row) + "\n" for row in valid_rows))).items


def test_sparse_item_numbers_are_refused(write):
    """Numbers in pairs count items from 0: a large id would create a billion items."""
    message = r"items are numbered from 0, so 999999999 implies 1,000,000,000 items, but only 3"
    with pytest.raises(TableError, match=rf'votes.csv:3: column "loser": {message}'):
        read_comparisons(write("winner,loser\n0,1\n0,999999999\n"))
    with pytest.raises(TableError, match='column "winner": items are numbered from 0'):
        read_comparisons(write("winner,loser\n100000,1\n"))
    with pytest.warns(NumberedItemsWarning, match="99,998 items have no vote"):
        assert read_comparisons(write("winner,loser\n99999,1\n")).n_items == 100_000
    assert read_comparisons(write("winner,loser\n100000,1\n"), items=200_000).n_items == 200_000


class Tensor:
    """The used part of a tensor of one number: equal ones are different labels."""

    def __array__(self, dtype=None, copy=None):
        return np.array(1, dtype=dtype)


def test_arrays_are_no_labels():
    with pytest.raises(ComparisonError, match=r"left\[0\]: .*Tensor .* is not a valid label: use text, whole numbers"):
        Comparisons.from_labels([Tensor(), Tensor()], ["b", "c"], ["left", "left"])


@pytest.mark.parametrize("column", ["left", "right", "voter"])
def test_empty_text_is_no_label(column):
    labels = {"left": ["a", "b"], "right": ["c", "d"], "voter": ["Ann", "Bob"]}
    labels[column][1] = ""
    with pytest.raises(ComparisonError, match=rf"{column}\[1\]: '' is missing; every comparison needs its "):
        Comparisons.from_labels(winner=["left", "tie"], **labels)


def test_answers_may_be_booleans_of_numpy():
    votes = Comparisons.from_labels(["a", "b"], ["b", "c"], [np.True_, np.False_], answers="left_won")
    assert votes.winner.tolist() == [LEFT, RIGHT]


def test_counts_may_be_decimals():
    frame = pd.DataFrame({"left": ["a", "b"], "right": ["b", "a"], "winner": ["left", "left"]})
    assert Comparisons.from_frame(frame.assign(n=[Decimal(2), Decimal(3)])).n_comparisons == 5
    with pytest.raises(ComparisonError, match=r"n\[0\]: a count of votes must be a whole number .*; got Decimal"):
        Comparisons.from_frame(frame.assign(n=[Decimal("0.5"), Decimal(3)]))


def test_masked_comparisons_are_no_votes():
    masked = np.ma.array([1, 0], mask=[False, True])
    for columns in ((masked, [2, 2], [1, 1]), ([0, 1], [2, 2], masked)):
        with pytest.raises(ComparisonError, match="has masked entries: leave these comparisons out"):
            Comparisons(["a", "b", "c"], *columns)
    with pytest.raises(ComparisonError, match="pairs have masked entries: leave these comparisons out"):
        Comparisons.from_pairs(np.ma.array([[0, 1], [1, 2]], mask=[[False, False], [False, True]]), 3)


@pytest.mark.parametrize("item", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_every_item_needs_a_label(item):
    with pytest.raises(ComparisonError, match="items must have a label each; got"):
        Comparisons(["a", item], [0], [1], [1])


@pytest.mark.parametrize("items", [[1, True], [1.0, 1], ["a", "a"], [7, "7"]])
def test_equal_items_are_refused(items):
    with pytest.raises(ComparisonError, match=r"items (must be unique; more than once|differ only in their types): "):
        Comparisons(items, [0], [1], [1])


TIE_MARKS = [("tie", [False, False, True]), ("both_equal", [0, 0, 1]), ("isDraw", ["FALSE", "no", "Yes"])]


@pytest.mark.parametrize(("name", "marks"), TIE_MARKS)
@pytest.mark.parametrize("read", [Comparisons.from_frame, read_choices])
@pytest.mark.parametrize(("winner", "fault"), [(None, "has no answer"), ("right", "its answer is right")])
def test_rows_that_are_marked_as_ties_and_have_another_answer_are_refused(read, name, marks, winner, fault):
    frame = pd.DataFrame({"left": ["a", "a", "b"], "right": ["b", "c", "c"], "winner": ["left", "right", winner]})
    message = rf"^{name}\[2\]: this row is marked as a tie, but {fault}: write tie .* ignore=\[\"{name}\"\]"
    with pytest.raises(ComparisonError, match=message):
        read(frame.assign(**{name: marks}))
    read(frame.assign(**{name: marks}), ignore=[name])
    read(frame.assign(**{name: marks, "winner": ["left", "right", "tie"]}))
    read(frame.assign(**{name: [False] * 3}))


@pytest.mark.parametrize("read", [Comparisons.from_frame, read_choices])
def test_a_winner_and_a_loser_that_are_marked_as_a_tie_are_refused(read):
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"], "tie": [0, 1]})
    with pytest.raises(ComparisonError, match=r"^tie\[1\]: this row is marked as a tie, but its answer is left: write"):
        read(frame)


@pytest.mark.parametrize(("grade", "fault"), [(None, "has no answer"), (2, "its answer is 2")])
def test_grades_that_are_marked_as_ties_are_refused(grade, fault):
    frame = pd.DataFrame({"left": ["a", "b"], "right": ["b", "c"], "grade": [-1, grade], "tie": [0, 1]})
    with pytest.raises(ComparisonError, match=rf"this row is marked as a tie, but {fault}: write 0 as the grade\."):
        read_choices(frame)
    assert read_choices(frame.assign(grade=[-1, 0])).rows[1] == ("b", "c", 0)


@pytest.mark.parametrize("column", [{"draw": [3, 1]}, {"equal_length": [True, True]}, {"tie_break": ["", "1"]}])
def test_columns_that_mark_no_ties_are_left_out(column):
    frame = pd.DataFrame({"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", None], **column})
    assert Comparisons.from_frame(frame).winner.tolist() == [LEFT]
