"""Read and write tables as text: find columns, check rows and cells, read items, and write CSV.

One column names an item, ``item``, or one for each of its parts, ``item_1``, ``item_2``, ..., which make a tuple. The
sides of a comparison follow the same pattern: ``left`` and ``right``, or ``left_1``, ``left_2``, ...
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Final, TypeAlias

from rankcorr._checks import real_number, shown
from rankcorr._io.source import path_text
from rankcorr._io.table import Record, TextTable, delimiters_of, is_formula, list_names, parse_number
from rankcorr.errors import TableError

Label: TypeAlias = str | tuple[str, ...]
_WITH_DECIMALS: Final = re.compile(r"(-?[0-9]+)\.0+")


def cell_number(entry: object) -> float:
    """Return the real number in a cell, as text or as a number, which a database may have made a Decimal; or nan.

    Examples
    --------
    >>> [cell_number(entry) for entry in (" 1.5", 2, Decimal("sNaN"), "1_0", "1e999", True, None)]
    [1.5, 2.0, nan, nan, nan, nan, nan]
    """
    if isinstance(entry, str):
        try:
            number = parse_number(entry.strip())
        except OverflowError:
            number = None
        return math.nan if number is None else float(number)
    if isinstance(entry, Decimal):
        return math.nan if entry.is_nan() else float(entry)  # float() refuses a signaling nan
    return real_number(entry)


def check_decimals(
    names: Iterable[Hashable], noun: str, error: type[Exception], place: Callable[[str], str] | None = None
) -> None:
    """Refuse a whole number that is also written with decimals, as pandas does if a column has empty cells.

    The message begins with the place of the name with decimals, if `place` returns one.

    Examples
    --------
    >>> check_decimals(["1", "2.0"], "prompt", ValueError)
    >>> check_decimals(["1", "2", "2.0"], "prompt", ValueError)
    Traceback (most recent call last):
        ...
    ValueError: the prompt '2' is also written '2.0', and names are compared as text: write all in one way
    """
    texts = dict.fromkeys(map(str, names))
    for text in texts:
        if (match := _WITH_DECIMALS.fullmatch(text)) and match[1] in texts:
            where = place(text) if place is not None else ""
            raise error(
                f"{where and f'{where}: '}the {noun} {shown(match[1])} is also written {shown(text)}, and names are "
                "compared as text: write all in one way"
            )


def check_spelling(table: TextTable, header: Record, columns: Iterable[str]) -> None:
    """Refuse a column that differs from a missing one only in capitals or outer spaces.

    Raises
    ------
    Exception
        The table's error, with file, line and column.
    """
    missing = {name.casefold(): name for name in columns if name not in header.cells}
    for cell in header.cells:
        near = missing.get(cell.strip().casefold())
        if near is not None:
            table.fail(f'did you mean "{near}"? Capitals and spaces count in the names of columns', header.line, cell)


def open_table(path: str | os.PathLike[str]) -> tuple[TextTable, Record, Iterator[Record]]:
    """Open a table whose first line names the columns, `item` among them, and return the rows after it."""
    table = TextTable(path_text(path))
    text = table.text()
    if text.lstrip()[0] in "{[":
        table.fail('is JSON; a table like CSV is expected, whose first line names the columns, with "item" among them')
    return table, *header_and_records(table, text, "item")


def header_and_records(table: TextTable, text: str, *columns: str) -> tuple[Record, Iterator[Record]]:
    """Return the first row of a table's text, and the rows after it; `columns` decide on the delimiter."""
    # A table of one column has no delimiter; an error about missing columns is more helpful.
    delimiter = table.delimiter(text, columns) if delimiters_of(text)[1] else ","
    records = table.records(text, delimiter)
    return next(records), records


def named_column(table: TextTable, header: Record, name: str) -> list[int]:
    """Return the position of a column in a list, which is empty if the column is missing."""
    check_spelling(table, header, [name])
    return table.places(header, name)


def label_columns(table: TextTable, header: Record, stem: str) -> list[int]:
    """Return the positions of the columns that name an item: one for `stem` itself, or one for each part."""
    check_spelling(table, header, [f"{stem}_{part}" for part in range(1, len(header.cells) + 1)])
    numbers = sorted(int(cell[len(stem) + 1 :]) for cell in header.cells if re.fullmatch(f"{stem}_[0-9]{{1,4}}", cell))
    single = [] if numbers and stem not in header.cells else named_column(table, header, stem)
    if single and numbers:
        table.fail(f'columns "{stem}" and "{stem}_{numbers[0]}" cannot be combined', header.line)
    parts = [named_column(table, header, f"{stem}_{number}") for number in range(1, len(numbers) + 1)]
    if not all(parts):
        missing = next(number for number, part in enumerate(parts, start=1) if not part)
        table.fail(f'no column "{stem}_{missing}"; parts are numbered from 1', header.line)
    return single or [part[0] for part in parts]


def item_label_columns(table: TextTable, header: Record) -> list[int]:
    """Return the positions of "item" or of "item_1", "item_2", ..., which a table of items must have."""
    columns = label_columns(table, header, "item")
    if not columns:
        table.fail(
            f'add a first line "item", or name a column "item" (or "item_1", "item_2", ...); the first line has '
            f"{list_names(header.cells)}",
            header.line,
        )
    return columns


def label_in(table: TextTable, header: Record, record: Record, columns: Sequence[int]) -> Label:
    """Return the item that a row names in these columns; a tuple if the columns are numbered."""
    table.check_width(header, record)
    for column in columns:
        check_text(table, record.cells[column], record.line, header.cells[column])
    cells = tuple(record.cells[column] for column in columns)
    return cells if header.cells[columns[0]][-1].isdigit() else cells[0]


def check_text(table: TextTable, cell: str, line: int, column: str) -> None:
    """Refuse a cell that cannot be a name: it is empty, begins or ends with a space, or has several lines."""
    if not cell.strip():
        entry = "an item" if column[-1].isdigit() else f"its {column}"
        table.fail(f"empty cell; every row needs {entry}", line, column)
    if cell != cell.strip():
        table.fail(f"{shown(cell)} begins or ends with a space", line, column)
    if "\n" in cell or "\r" in cell:
        table.fail(f"{shown(cell)} has several lines", line, column)


def read_items(path: str | os.PathLike[str]) -> tuple[Label, ...]:
    r"""Read the items of a CSV or TSV file in UTF-8, from the column item or the columns item_1, item_2, ...

    Other columns are ignored, and blank lines are skipped.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.

    Returns
    -------
    tuple of str, or of tuple of str
        In the order of the file.

    Raises
    ------
    TableError
        With file, line and column: a missing column, or a cell that is empty, begins or ends with a space or has
        several lines. Also an item that appears twice, no item at all, or a file that cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "items.csv")
    ...     _ = file.write_text("item_1,item_2\nsalary,wage\nsalary,tax\n")
    ...     read_items(file)
    (('salary', 'wage'), ('salary', 'tax'))
    """
    table, header, records = open_table(path)
    columns = item_label_columns(table, header)
    lines: dict[Label, int] = {}
    for record in records:
        item = label_in(table, header, record, columns)
        if item in lines:
            table.fail(f"item {shown(item)} is also on line {lines[item]}; items must be unique", record.line)
        lines[item] = record.line
    if not lines:
        table.fail("no items, only the names of the columns", header.line)
    return tuple(lines)


def item_cells(item: Hashable) -> tuple[str, ...]:
    """Return the cells that name an item, as text.

    Examples
    --------
    >>> item_cells(("salary", "wage")), item_cells(7)
    (('salary', 'wage'), ('7',))
    """
    return tuple(str(part) for part in item) if isinstance(item, tuple) else (str(item),)


def item_columns(stem: str, items: Iterable[Hashable]) -> list[str]:
    """Return the names of the columns that hold items.

    Raises
    ------
    TableError
        When the items are tuples of different lengths, or only some are tuples.

    Examples
    --------
    >>> item_columns("left", [("salary", "wage"), ("salary", "tax")]), item_columns("left", ["salary", "tax"])
    (['left_1', 'left_2'], ['left'])
    """
    lengths = {len(item) if isinstance(item, tuple) else 0 for item in items}
    if len(lengths) > 1:
        raise TableError(f"the items of a table are all single labels or all of one length; got {sorted(lengths)}")
    return [f"{stem}_{part}" for part in range(1, max(lengths, default=0) + 1)] or [stem]


def set_columns(set_size: int) -> list[str]:
    """Return the names of the columns of best-worst answers, as `read_choices` reads them.

    Examples
    --------
    >>> set_columns(3)
    ['item_1', 'item_2', 'item_3', 'best', 'worst']
    """
    return [*(f"item_{number}" for number in range(1, set_size + 1)), "best", "worst"]


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a table as CSV.

    Examples
    --------
    >>> csv_text(["item"], [["a\rb"], ["c,d"]])
    'item\n"a\rb"\n"c,d"\n'
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in chain([header], rows):
        if any(isinstance(cell, str) and "\r" in cell for cell in row):
            # The module quotes a carriage return only where lines end with one, and readers would end the row there.
            row_text = io.StringIO()
            csv.writer(row_text, lineterminator="\r\n").writerow(row)
            file.write(row_text.getvalue()[:-2] + "\n")
        else:
            writer.writerow(row)
    return file.getvalue()


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet runs as a formula.

    A cell that begins with =, +, -, @, a tab or a carriage return and is not a number gets an apostrophe in front,
    which tells spreadsheets that text follows. A cell that already looks guarded gets another apostrophe, so that
    reading back removes exactly what writing added.

    See Also
    --------
    adaptive.ledger.Campaign.export_votes : Writes such cells.

    Examples
    --------
    >>> from adaptive.ledger import guarded
    >>> guarded("=1+1"), guarded("-1.5"), guarded("'=1+1"), guarded("plum")
    ("'=1+1", '-1.5', "''=1+1", 'plum')
    """
    return "'" + cell if is_formula(cell) else cell


def items_csv(rows: Sequence[Mapping[str, Any]], safe: Callable[[str], str] = str) -> str:
    """Return rows of items as CSV: the columns of the labels, made `safe` for spreadsheets, then all others."""
    names = [name for name in rows[0] if name != "item"]
    header = [*item_columns("item", (row["item"] for row in rows)), *names]
    cells = ((*map(safe, item_cells(row["item"])), *(row[name] for name in names)) for row in rows)
    return csv_text(header, cells)
