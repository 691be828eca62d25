"""Data frames of three libraries hold the same comparisons, with the columns of others or one's own."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import ComparisonError, Comparisons, VoteError
from adaptive._votes import LEFT, RIGHT, TIE
from rankcorr import DimensionError, OptionError
from tests.adaptive.model.votes import CELLS, comparisons, rows_of

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


@every_library
@given(comparisons(labels=st.just(CELLS), voters=True, min_size=1))
def test_columns_come_back_from_a_frame(make, votes):
    frame = make(votes._columns())
    again = Comparisons.from_frame(frame, items=votes.items)
    assert rows_of(again) == rows_of(votes)
    assert again.items == votes.items
    renamed = make({name.upper(): column for name, column in votes._columns().items()})
    sides = {"left": "LEFT", "right": "RIGHT", "winner": "WINNER", "items": votes.items}
    assert Comparisons.from_frame(renamed, **sides, voter="VOTER") == again
    assert Comparisons.from_frame(renamed, **sides).voters is None


@every_library
def test_an_arena_is_recognised(make):
    winners = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad"]
    frame = make({"model_a": list("abcab"), "model_b": list("bcaca"), "winner": winners, "judge": [1, 1, 2, 2, 2]})
    votes = Comparisons.from_frame(frame)
    assert votes.winner.tolist() == [LEFT, RIGHT, TIE, TIE, TIE]
    assert (votes.items, votes.voters) == (("a", "b", "c"), (1, 2))
    assert Comparisons.from_frame(frame, voter="winner").voters == tuple(winners)


@every_library
def test_empty_winners_are_unanswered(make):
    columns = {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["left", None, ""]}
    votes = Comparisons.from_frame(make({**columns, "voter": ["x", "y", "z"]}))
    assert (votes.n_comparisons, votes.n_unanswered, votes.voters) == (1, 2, ("x", "y", "z"))
    assert Comparisons.from_frame(make(columns)).n_unanswered == 2
    named = Comparisons.from_frame(make(columns), left="left", right="right", winner="winner")
    assert (named.winner.tolist(), named.n_unanswered) == ([LEFT], 2)


@every_library
def test_items_of_several_columns_are_tuples(make):
    frame = make({"left_1": ["a"], "left_2": ["b"], "right_1": ["a"], "right_2": ["c"], "winner": ["right"]})
    votes = Comparisons.from_frame(frame)
    assert votes.items == (("a", "b"), ("a", "c"))
    named = Comparisons.from_frame(frame, left=["left_1", "left_2"], right=("right_1", "right_2"), winner="winner")
    assert named == votes
    assert Comparisons.from_frame(frame, left="left_1", right="right_2", winner="winner").items == ("a", "c")
    assert Comparisons.from_frame(frame, left=["left_1"], right=["right_2"], winner="winner").items == (("a",), ("c",))
    alone = frame.drop(columns=["left_2", "right_2"]) if make is pd.DataFrame else frame.drop(["left_2", "right_2"])
    with pytest.raises(ComparisonError, match=r"right_1\[0\]: item \('a',\) is compared with itself"):
        Comparisons.from_frame(alone)


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_text_of_any_kind_of_pandas(dtype):
    columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": ["x", "y"]}
    assert Comparisons.from_frame(pd.DataFrame(columns).astype(dtype)) == Comparisons.from_labels(**columns)
    text = [pd.Series(column, dtype=dtype) for column in list(columns.values())[:3]]
    assert Comparisons.from_labels(*text).n_items == 3
    unanswered = pd.DataFrame({**columns, "winner": ["left", None]}).astype(dtype)
    assert Comparisons.from_frame(unanswered).n_unanswered == 1
    missing = pd.DataFrame({**columns, "left": ["a", None]}).astype(dtype)
    with pytest.raises(ComparisonError, match=r"left\[1\]: .* is missing"):
        Comparisons.from_frame(missing)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_what_is_missing_in_a_frame_is_no_answer(nothing):
    frame = pd.DataFrame({"l": ["a", "b"], "r": ["b", "c"], "w": pd.Series(["left", nothing], dtype=object)})
    votes = Comparisons.from_frame(frame, left="l", right="r", winner="w")
    assert (votes.winner.tolist(), votes.n_unanswered, votes.items) == ([LEFT], 1, ("a", "b", "c"))


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("column", ["left", "right", "voter"])
def test_items_and_voters_of_a_frame_are_never_missing(nothing, column):
    columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "voter": ["Ann", "Bob"]}
    frame = pd.DataFrame({**columns, column: pd.Series(["x", nothing], dtype=object)})
    with pytest.raises(ComparisonError, match=rf"{column}\[1\]: .* is missing"):
        Comparisons.from_frame(frame)


@every_library
def test_numbers_are_winners_only_where_it_is_said_what_they_mean(make):
    frame = make({"l": ["a", "b", "c"], "r": ["b", "c", "a"], "w": [1, 0, None]})
    columns = {"left": "l", "right": "r", "winner": "w"}
    with pytest.raises(
        VoteError,
        match=r"^w\[0\]: a winner is 'left', 'right', 'tie', 'cannot say'; got 1(\.0)? \(also 0(\.0)?\)\. The option "
        r'answers says what other answers mean: "left_won" \(1 left, 0 right\), "codes" \(1 left, 0 tie, -1 right;',
    ):
        Comparisons.from_frame(frame, **columns)
    for answers, winners in (
        ("left_won", [LEFT, RIGHT]),
        ("codes", [LEFT, TIE]),
        ({1: "right", 0: "left"}, [RIGHT, LEFT]),
        ({"1": "tie", "0": "cannot say"}, [TIE]),
    ):
        votes = Comparisons.from_frame(frame, **columns, answers=answers)
        assert (votes.winner.tolist(), votes.n_unanswered) == (winners, 3 - len(winners))


@every_library
def test_a_column_of_truth_says_if_the_left_item_won(make):
    frame = make({"left": ["a", "b"], "right": ["b", "c"], "winner": [True, False]})
    assert Comparisons.from_frame(frame, answers="left_won").winner.tolist() == [LEFT, RIGHT]
    with pytest.raises(VoteError, match=r"winner\[0\]: .* got True \(also False\)"):
        Comparisons.from_frame(frame, answers="codes")


def test_numbers_of_a_frame_are_items():
    frame = pd.DataFrame({"left": [4, 0], "right": [0, 2], "winner": np.array([1, -1], np.int8)})
    votes = Comparisons.from_frame(frame, items=5, answers="codes")
    assert (votes.items, votes.left.tolist(), votes.winner.tolist()) == (range(5), [4, 0], [LEFT, RIGHT])


@every_library
def test_pairs_of_winner_and_loser(make):
    names = Comparisons.from_frame(make({"winner": ["fig", "plum"], "loser": ["plum", "kiwi"]}))
    assert (names.items, names.winner.tolist(), names.voters) == (("fig", "plum", "kiwi"), [LEFT, LEFT], None)
    pairs = make({"winner": [2, 1], "loser": [0, 0], "who": ["Ann", "Bob"]})
    assert Comparisons.from_frame(pairs) == Comparisons.from_pairs([(2, 0), (1, 0)], 3)
    assert Comparisons.from_frame(pairs, voter="who").voters == ("Ann", "Bob")
    assert Comparisons.from_frame(pairs, format="pairs").items == (2, 0, 1)
    assert Comparisons.from_frame(make({"winner": ["fig"], "loser": ["plum"]})[:0]).n_items == 0


@every_library
def test_one_hot_columns(make):
    marks = {"winner_model_a": [1, 0, 0], "winner_model_b": [0, 1, 0], "winner_tie": [0, 0, 1]}
    frame = make({"id": [7, 8, 9], "model_a": list("aba"), "model_b": list("bcc"), **marks})
    votes = Comparisons.from_frame(frame)
    assert (votes.winner.tolist(), votes.items) == ([LEFT, RIGHT, TIE], ("a", "b", "c"))


A_TIE = {"left": ["a"], "right": ["b"], "winner": ["tie"]}
A_ONE = A_TIE | {"winner": [1]}
A_PAIR = {"winner": ["a"], "loser": ["b"]}


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        ({"a": [1]}, {}, ComparisonError, 'model_a, model_b and winner or .* are expected; got "a"'),
        ({"left": ["a"], "right": ["b"]}, {}, ComparisonError, 'no column "winner"; the columns are "left", "right"'),
        ({"left": ["a"], "right": ["b"]}, {"winner": "vote"}, ComparisonError, 'no column "vote"'),
        ({"winner": [0], "loser": [0]}, {}, ComparisonError, r"loser\[0\]: item 0 is compared with itself"),
        ({"winner": ["a"], "loser": [None]}, {}, ComparisonError, r"loser\[0\]: None is missing"),
        (A_PAIR, {"answers": "codes"}, OptionError, "cannot be chosen for the format 'pairs'"),
        (A_ONE, {"answers": {1: "left", "1": "right"}}, OptionError, "'1' has two meanings: 'left' and 'right'"),
        (
            {"comparison": [1, 1], "left": ["a", "a"], "right": ["b", "b"], "winner": ["tie", "tie"]},
            {},
            ComparisonError,
            r"comparison\[1\]: comparison 1 is also in row 0",
        ),
        (
            {
                "comparison": pd.Series([1, "1"], dtype=object),
                "left": list("aa"),
                "right": list("bb"),
                "winner": ["tie"] * 2,
            },
            {},
            ComparisonError,
            r"comparison\[1\]: comparison '1' is also in row 0",
        ),
        ({"l_1": ["a"], "r": ["b"], "w": ["tie"]}, {"left": ["l_1", "r"]}, ComparisonError, "are expected; got"),
        (A_TIE, {"left": []}, ComparisonError, "got an empty list"),
        (A_TIE | {"winner": ["Tie"]}, {}, VoteError, r"winner\[0\]: .* got 'Tie'"),
        ({"model_a": ["a"], "model_b": ["a"], "winner": ["tie"]}, {}, ComparisonError, r"model_b\[0\]: item 'a' is"),
        ({"model_a": ["a"], "model_b": ["b"], "winner": ["left"]}, {}, VoteError, r"winner\[0\]: .* is 'model_a'"),
        (A_TIE, {"items": ["a"]}, ComparisonError, r"right\[0\]: 'b' is not"),
    ],
)
def test_refused_frames(frame, options, error, message):
    with pytest.raises(error, match=message):
        Comparisons.from_frame(pd.DataFrame(frame), **options)


@pytest.mark.parametrize("other", [7.0, True, np.float64(7), np.True_, 1.5])
def test_a_label_that_equals_a_whole_number_is_another(other):
    for column in ("left", "voter"):
        labels = {"left": ["a", "b"], "voter": ["u", "v"], column: [int(other), other]}
        with pytest.raises(
            ComparisonError, match=rf"{column}\[1\]: .* is not written as a whole number, as others are"
        ):
            Comparisons.from_labels(right=["x", "y"] if column == "voter" else [8, 9], winner=["left"] * 2, **labels)


@pytest.mark.parametrize("frame", [[("a", "b", "left")], {"left": ["a"]}, pd.Series(["a"]), None])
def test_what_is_no_frame(frame):
    with pytest.raises(ComparisonError, match="a data frame of pandas, polars or pyarrow is expected; got"):
        Comparisons.from_frame(frame)


def test_a_lazy_frame_holds_no_data():
    with pytest.raises(DimensionError, match="collect it first"):
        Comparisons.from_frame(pl.DataFrame({"left": ["a"]}).lazy())
