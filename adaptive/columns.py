"""Columns of a file: which is which, and checks of names that are spelled almost as wanted, of rows and of cells."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from adaptive.errors import TableError
from rankcorr.checks import shown
from rankcorr.io.records import Record, TextTable, delimiters_of, listed

Label: TypeAlias = str | tuple[str, ...]


def check_spelling(table: TextTable, header: Record, wanted: Iterable[str]) -> None:
    """Refuse a column that differs from a wanted one, which is missing, in capitals or outer spaces alone.

    Raises
    ------
    Exception
        The table's error, with file, line and column.
    """
    missing = {name.casefold(): name for name in wanted if name not in header.cells}
    for cell in header.cells:
        near = missing.get(cell.strip().casefold())
        if near is not None:
            table.fail(f'did you mean "{near}"? Capitals and spaces count in the names of columns', header.line, cell)


def check_width(table: TextTable, header: Record, record: Record) -> None:
    """Refuse a row that has not one cell for each column; a short one lacks those of the last columns.

    Raises
    ------
    Exception
        The table's error, with file and line.
    """
    wanted, got = len(header.cells), len(record.cells)
    if got != wanted:
        lacking = f", none for {listed(header.cells[got:])}" if got < wanted else ""
        table.fail(f"{wanted} cells are wanted, as in the first row; got {got}{lacking}", record.line)


def open_table(
    path: str | os.PathLike[str], asked: str, *, data: bytes | None = None
) -> tuple[TextTable, Record, Iterator[Record]]:
    """Open a table whose first line names the columns, and return what follows that line; `data` is what it holds."""
    table = TextTable(os.fspath(path), error=TableError, data=data)
    text = table.text()
    if _is_json(text):
        table.fail(
            f'is JSON; a table like CSV is wanted, whose first line names the columns, with "{asked}" among them'
        )
    return table, *header_and_records(table, text, asked)


def _is_json(text: str) -> bool:
    """Whether a text begins with an object or a list of JSON: a whole document, or the first of JSON Lines."""
    start = text.lstrip()
    if start[:1] not in ("{", "["):
        return False
    try:
        json.JSONDecoder().raw_decode(start)
    except RecursionError:
        return True  # nothing else is nested so deep
    except ValueError:
        return False
    return True


def header_and_records(table: TextTable, text: str, asked: str) -> tuple[Record, Iterator[Record]]:
    """First row of a table's text, and the rows after it; a column of the name asked for decides on the delimiter."""
    # A table of one column has no delimiter; an error about missing columns says more.
    delimiter = table.delimiter(text, [asked]) if delimiters_of(text)[1] else ","
    records = table.records(text, delimiter)
    return next(records), records


def named_column(table: TextTable, header: Record, name: str) -> list[int]:
    """Position of a column, in a list that is empty if the column is missing."""
    check_spelling(table, header, [name])
    places = [place for place, other in enumerate(header.cells) if other == name]
    if len(places) > 1:
        table.fail("more than one column has this name", header.line, name)
    return places


def label_columns(table: TextTable, header: Record, stem: str) -> list[int]:
    """Positions of the columns that name an item; a single one for `stem` itself, else one for each part."""
    check_spelling(table, header, [f"{stem}_{part}" for part in range(1, len(header.cells) + 1)])
    numbers = sorted(int(cell[len(stem) + 1 :]) for cell in header.cells if re.fullmatch(f"{stem}_[0-9]{{1,4}}", cell))
    single = [] if numbers and stem not in header.cells else named_column(table, header, stem)
    if single and numbers:
        table.fail(f'columns "{stem}" and "{stem}_{numbers[0]}" exclude each other', header.line)
    parts = [named_column(table, header, f"{stem}_{number}") for number in range(1, len(numbers) + 1)]
    if not all(parts):
        missing = next(number for number, part in enumerate(parts, start=1) if not part)
        table.fail(f'no column "{stem}_{missing}"; parts are numbered from 1', header.line)
    return single or [part[0] for part in parts]


def label_in(table: TextTable, header: Record, record: Record, columns: Sequence[int]) -> Label:
    """Item that a row names in these columns; a tuple if its columns are numbered."""
    check_width(table, header, record)
    cells = tuple(text_in(table, header, record, column) for column in columns)
    return cells if header.cells[columns[0]][-1].isdigit() else cells[0]


def text_in(table: TextTable, header: Record, record: Record, column: int) -> str:
    """Cell of a row that names something."""
    cell = record.cells[column]
    check_text(table, cell, record.line, header.cells[column])
    return cell


def check_text(table: TextTable, cell: str, line: int, column: str) -> None:
    """Refuse a cell that cannot be a name: one that is empty, begins or ends with a space, or has several lines."""
    if not cell.strip():
        wanted = "an item" if column[-1].isdigit() else f"its {column}"
        table.fail(f"empty cell; every row needs {wanted}", line, column)
    if cell != cell.strip():
        table.fail(f"{shown(cell)} begins or ends with a space", line, column)
    if "\n" in cell or "\r" in cell:
        table.fail(f"{shown(cell)} has several lines", line, column)
