"""Checks of the columns of a file: names that are spelled almost as wanted, and rows that are too short or too long."""

from __future__ import annotations

from collections.abc import Iterable

from rankcorr.io.records import Record, TextTable, listed


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
