"""Data frames of three libraries hold the same comparisons, with the columns of others or one's own."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import ComparisonError, Comparisons, VoteError
from adaptive.votes import LEFT, RIGHT, TIE
from rankcorr import DimensionError
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
    named = Comparisons.from_frame(
        renamed, left="LEFT", right="RIGHT", winner="WINNER", voter="VOTER", items=votes.items
    )
    assert named == again
    silent = Comparisons.from_frame(renamed, left="LEFT", right="RIGHT", winner="WINNER", items=votes.items)
    assert silent.voters is None


@every_library
def test_an_arena_is_recognised(make):
    winners = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad"]
    frame = make({"model_a": list("abcab"), "model_b": list("bcaca"), "winner": winners, "judge": [1, 1, 2, 2, 2]})
    votes = Comparisons.from_frame(frame)
    assert votes.winner.tolist() == [LEFT, RIGHT, TIE, TIE, TIE]
    assert (votes.items, votes.voters) == (("a", "b", "c"), (1, 2))
    assert Comparisons.from_frame(frame, voter="winner").voters == tuple(winners)


@every_library
def test_columns_of_evalica_have_no_voter(make):
    frame = make({"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"], "worker": [7, 8]})
    assert Comparisons.from_frame(frame).voters is None
    assert Comparisons.from_frame(frame, voter="worker").voters == (7, 8)


@every_library
def test_empty_winners_of_our_own_columns_are_unanswered(make):
    columns = {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["left", None, ""]}
    votes = Comparisons.from_frame(make({**columns, "voter": ["x", "y", "z"]}))
    assert (votes.n_comparisons, votes.n_unanswered, votes.voters) == (1, 2, ("x", "y", "z"))
    with pytest.raises(VoteError, match=r"winner\[1\]: a winner is 'left', 'right', 'tie' or a code"):
        Comparisons.from_frame(make(columns))


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
    votes = Comparisons.from_frame(pd.DataFrame(columns).astype(dtype))
    assert votes == Comparisons.from_labels(**columns)
    assert (
        Comparisons.from_labels(*(pd.Series(column, dtype=dtype) for column in list(columns.values())[:3])).n_items == 3
    )
    unanswered = pd.DataFrame({**columns, "winner": ["left", None]}).astype(dtype)
    assert Comparisons.from_frame(unanswered).n_unanswered == 1
    missing = pd.DataFrame({**columns, "left": ["a", None]}).astype(dtype)
    with pytest.raises(ComparisonError, match=r"left\[1\]: .* is missing"):
        Comparisons.from_frame(missing)


def test_codes_and_numbers_of_a_frame():
    frame = pd.DataFrame({"left": [4, 0], "right": [0, 2], "winner": np.array([1, -1], np.int8)})
    votes = Comparisons.from_frame(frame, items=5)
    assert (votes.items, votes.left.tolist(), votes.winner.tolist()) == (range(5), [4, 0], [LEFT, RIGHT])


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        ({"a": [1]}, {}, ComparisonError, 'model_a, model_b and winner, or winner and loser are wanted; got "a"'),
        ({"left": ["a"], "right": ["b"]}, {}, ComparisonError, 'no column \'winner\'; the columns are "left", "right"'),
        ({"left": ["a"], "right": ["b"]}, {"winner": "vote"}, ComparisonError, "no column 'vote'"),
        ({"winner": [0], "loser": [1]}, {}, ComparisonError, "Comparisons.from_pairs takes them"),
        (
            {"left": ["a"], "right": ["b"], "model_a": ["a"], "model_b": ["b"], "winner": ["tie"]},
            {},
            ComparisonError,
            "fit the formats evalica and arena",
        ),
        ({"l_1": ["a"], "r": ["b"], "w": ["tie"]}, {"left": ["l_1", "r"]}, ComparisonError, "are wanted; got"),
        (
            {"a": ["a"], "b": ["b"], "w": ["tie"]},
            {"left": ["a", "b"], "right": "b", "winner": "w"},
            ComparisonError,
            "as many columns are wanted for left as for right; got 2 and 1",
        ),
        ({"left": ["a"], "right": ["b"], "winner": ["tie"]}, {"left": []}, ComparisonError, "got an empty list"),
        ({"left": ["a"], "right": ["b"], "winner": ["Tie"]}, {}, VoteError, r"winner\[0\]: .* got 'Tie'"),
        ({"model_a": ["a"], "model_b": ["a"], "winner": ["tie"]}, {}, ComparisonError, r"model_b\[0\]: item 'a' is"),
        (
            {"model_a": ["a"], "model_b": ["b"], "winner": ["left"]},
            {},
            VoteError,
            r"winner\[0\]: a winner is 'model_a'",
        ),
        (
            {"left": ["a"], "right": ["b"], "winner": ["tie"]},
            {"items": ["a"]},
            ComparisonError,
            r"right\[0\]: 'b' is not",
        ),
    ],
)
def test_refused_frames(frame, options, error, message):
    with pytest.raises(error, match=message):
        Comparisons.from_frame(pd.DataFrame(frame), **options)


@pytest.mark.parametrize("frame", [[("a", "b", "left")], {"left": ["a"]}, pd.Series(["a"]), None])
def test_what_is_no_frame(frame):
    with pytest.raises(ComparisonError, match="a data frame of pandas, polars or pyarrow is wanted; got"):
        Comparisons.from_frame(frame)


def test_a_lazy_frame_holds_no_data():
    with pytest.raises(DimensionError, match="collect it first"):
        Comparisons.from_frame(pl.DataFrame({"left": ["a"]}).lazy())
