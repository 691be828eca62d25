"""Columns of comparisons from a data frame of pandas, polars or pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adaptive.errors import ComparisonError
from adaptive.model.columns import Columns, columns_of_labels
from adaptive.model.labels import listed_column
from adaptive.model.layouts import LAYOUTS, answers_in, layout_of, side_columns
from adaptive.protocol import Items
from rankcorr.checks import shown
from rankcorr.frames import columns_of
from rankcorr.io.records import listed


def columns_of_frame(
    frame: object,
    left: str | Sequence[str] | None,
    right: str | Sequence[str] | None,
    winner: str | None,
    voter: str | None,
    items: Items | None,
) -> Columns:
    """Number the labels of `Comparisons.from_frame`."""
    columns = columns_of(frame)
    if columns is None:
        raise ComparisonError(f"a data frame of pandas, polars or pyarrow is wanted; got {shown(frame)}")
    named = left is not None and right is not None and winner is not None
    layout = LAYOUTS["evalica"] if named else layout_of(columns, "auto")
    if layout.winner is None:
        raise ComparisonError("pairs of winner and loser are numbers: Comparisons.from_pairs takes them")
    left_columns, right_columns = _names(columns, layout.left, left), _names(columns, layout.right, right)
    if len(left_columns) != len(right_columns):
        raise ComparisonError(
            f"as many columns are wanted for left as for right; got {len(left_columns)} and {len(right_columns)}"
        )
    in_parts = not (isinstance(left, str) or (left is None and layout.left in left_columns))
    winner = layout.winner if winner is None else winner
    if voter is None and not named and layout.voter in columns:
        voter = layout.voter
    names = {"left": left_columns[0], "right": right_columns[0], "winner": winner, "voter": voter}
    winners, words = answers_in(layout, _column(columns, winner))
    return columns_of_labels(
        _labels(columns, left_columns, in_parts=in_parts),
        _labels(columns, right_columns, in_parts=in_parts),
        winners,
        voter=None if voter is None else _column(columns, voter),
        items=items,
        words=words,
        where=lambda column, row: f"{names[column]}[{row}]",
    )


def _names(columns: Mapping[Any, Any], stem: str, given: str | Sequence[str] | None) -> list[str]:
    """Names of the columns of a side; those given, or those of the layout."""
    if given is None:
        return side_columns(columns, stem) or [stem]
    names = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    if not names:
        raise ComparisonError("a side needs a column or a list of columns; got an empty list")
    return names


def _labels(columns: Mapping[Any, Any], names: Sequence[str], *, in_parts: bool) -> list[Any]:
    parts = [_column(columns, name) for name in names]
    return list(zip(*parts, strict=True)) if in_parts else parts[0]


def _column(columns: Mapping[Any, Any], name: str) -> list[Any]:
    if name not in columns:
        raise ComparisonError(f"no column {shown(name)}; the columns are {listed([str(other) for other in columns])}")
    return listed_column(columns[name], str(name))
