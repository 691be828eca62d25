"""Votes as other programs name them, before anybody knows which comparison each is about; and JSON by line."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple

from adaptive.columns import Label
from adaptive.tables import VoteRow, item_cells
from adaptive.votes import WORDS, Vote
from rankcorr.checks import shown
from rankcorr.io.records import TextTable

__all__ = ["Came", "json_rows", "label_in_json", "name_in", "vote_row"]

_SPACE: Final = re.compile(r"[ \t\r\n]*")


class Came(NamedTuple):
    """One vote of a file.

    Attributes
    ----------
    line : int
    comparison, voter : str or None
    left, right : hashable
    answer : {"left", "right", "tie"} or None
    """

    line: int
    comparison: str | None
    voter: str | None
    left: Hashable
    right: Hashable
    answer: str | None


def vote_row(came: Came) -> VoteRow:
    """The same as a row of a file of votes, with labels as cells."""
    vote = Vote.UNANSWERED if came.answer is None else WORDS[came.answer]
    left, right = _cells(came.left), _cells(came.right)
    return VoteRow(came.line, came.comparison, came.voter, left, right, vote, came.answer)


def name_in(table: TextTable, value: object, line: int, column: str) -> str | None:
    """Name of a comparison or a voter, where there is one; numbers as text."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        table.fail(f"a name is text or a whole number; got {shown(value)}", line, column)
    return str(value)


def label_in_json(table: TextTable, value: object, line: int, column: str) -> Hashable:
    """Label of an item: text, a whole number, or a list of those."""
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(
        isinstance(part, str | int) and not isinstance(part, bool) and part != "" for part in parts
    ):
        table.fail(f"a label is text, a whole number or a list of those; got {shown(value)}", line, column)
    return tuple(value) if isinstance(value, list) else value


def json_rows(table: TextTable, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON list, or of JSON Lines, each with the line that it begins on.

    Raises
    ------
    Exception
        The table's error, with file and line: text that is not JSON, or anything but objects.
    """
    decoder = json.JSONDecoder()
    place = _past_space(text, 0)
    is_list = text.startswith("[", place)
    place = _past_space(text, place + is_list)
    line, counted = 1, 0
    while place < len(text) and not (is_list and text[place] == "]"):
        line, counted = line + text.count("\n", counted, place), place
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            table.fail(f"not JSON: {error.msg}", error.lineno)
        except (ValueError, RecursionError) as error:
            table.fail(f"cannot be read as JSON: {error}", line)
        if not isinstance(value, dict):
            table.fail(f"an object is wanted for each; got {shown(value)}", line)
        yield line, value
        place = _past_space(text, place)
        if is_list and text.startswith(",", place):
            place = _past_space(text, place + 1)
        elif is_list and not text.startswith("]", place):
            table.fail("not JSON: a comma or the end of the list is wanted", line + text.count("\n", counted, place))
    rest = _past_space(text, place + 1)
    if is_list and rest < len(text):
        table.fail("not JSON: something follows the end of the list", line + text.count("\n", counted, rest))


def _past_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()


def _cells(label: Hashable) -> Label:
    cells = item_cells(label)
    return cells if isinstance(label, tuple) else cells[0]
