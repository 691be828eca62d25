"""Pairs of winner and loser as choix takes them: items are whole numbers from 0, in the order of a second file."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence

from adaptive.errors import TableError
from adaptive.ledger.formats.gathered import Answered
from adaptive.ledger.formats.guard import guarded
from adaptive.ledger.formats.rows import Came
from adaptive.model.rows import WHOLE_NUMBER, rows_of
from adaptive.tables import csv_text, item_cells, item_columns
from rankcorr.checks import shown
from rankcorr.io.records import TextTable

__all__ = ["read", "write", "write_items"]


def write(votes: Sequence[Answered], items: Sequence[Hashable]) -> str:
    """Return CSV with the columns winner and loser; all votes must be left or right."""
    place = {item: at for at, item in enumerate(items)}
    pairs = ((place[vote.left], place[vote.right]) for vote in votes)
    sides = (vote.answer == "left" for vote in votes)
    rows = (pair if left_won else pair[::-1] for pair, left_won in zip(pairs, sides, strict=True))
    return csv_text(["winner", "loser"], rows)


def write_items(items: Sequence[Hashable], *, guard: bool) -> str:
    """Return the items as CSV, in the order of their numbers."""
    safe = guarded if guard else str
    return csv_text(item_columns("item", items), ([safe(cell) for cell in item_cells(item)] for item in items))


def read(path: str | os.PathLike[str], items: Sequence[Hashable]) -> list[Came]:
    """Read pairs of numbers as votes on these items; the winner stands on the left.

    Raises
    ------
    TableError
        With file and line: anything but pairs of two different numbers below that of the items.
    """
    table = TextTable(os.fspath(path), error=TableError)
    rows = rows_of(table, table.text())
    columns = {name: rows.labels(name) for name in ("winner", "loser")}
    found = []
    for row, line in enumerate(rows.lines):
        pair = []
        for name, column in columns.items():
            entry = column[row]
            if not isinstance(entry, str | int) or not WHOLE_NUMBER.fullmatch(str(entry)) or int(entry) >= len(items):
                table.fail(f"{shown(entry)} is not a number from 0 to {len(items) - 1}", line, name)
            pair.append(items[int(entry)])
        if pair[0] == pair[1]:
            table.fail(f"item {columns['winner'][row]} is compared with itself", line)
        found.append(Came(line, None, None, pair[0], pair[1], "left"))
    return found
