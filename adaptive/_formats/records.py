"""Read rows by the names of their columns: CSV, TSV, JSON, Parquet, tasks of annotation tools, and data frames."""

from __future__ import annotations

import codecs
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Final, NoReturn

import numpy as np

from adaptive._formats.annotation_tools import GAMES, json_rows, votes_of_object
from adaptive._record import has_half_a_pair, label_from_json
from adaptive._tables import check_spelling, check_text, guarded, header_and_records, label_columns
from adaptive.errors import ComparisonError
from rankcorr._checks import shown
from rankcorr._input.frames import columns_of, python_values, with_levels
from rankcorr._input.identifiers import plain_identifier
from rankcorr._io.columnar import ARROW_FILES, ArrowFile, CodedColumn, coded_column, distinct
from rankcorr._io.source import path_text, printable
from rankcorr._io.table import Record, TextTable, plain_bytes, read_plain, unguarded
from rankcorr.errors import OptionError, TableError

EXPORT_COLUMNS: Final = ("seconds", "received_at")  # the last columns of a campaign's export
WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_NO_ROW: Final = -1  # the line of the names of a data frame


def records_of_file(
    path: str | os.PathLike[str],
    *,
    data: bytes | None = None,
    encoding: str = "utf-8",
    instances: Mapping[str, tuple[str, str]] | None = None,
    guard: bool | None = None,
) -> Cells | Objects | ColumnFile:
    """Read the rows of a file, which is Parquet, Arrow, JSON, CSV or TSV by its beginning.

    Parameters
    ----------
    path, data, encoding
        See `adaptive._formats.votes.read_votes`.
    instances : mapping of str to (str, str), optional
        The two items of each instance of potato, for a user_state.json, which has only their ids.
    guard : bool, optional
        Whether apostrophes before formulas are removed; by default if a campaign exported the file.

    Raises
    ------
    OptionError
        An unknown encoding.
    TableError
        With file and line: a file that cannot be read or has no row.
    MissingArrowError
        A Parquet or Arrow file, without pyarrow.
    """
    try:
        "a".encode(encoding)
    except (LookupError, TypeError):
        raise OptionError(
            f"encoding must be one that Python knows, as 'utf-16' or 'latin-1'; got {shown(encoding)}"
        ) from None
    table = TextTable(path_text(path), data=data, encoding=encoding)
    table.data = table.read_bytes()
    if table.data.startswith(ARROW_FILES):
        return ColumnFile(table)
    cells = Cells.of_plain(table, guard)
    if cells is not None:
        return cells
    text = table.text()
    table.data = b""  # the text holds it
    return Objects.of(table, text, instances) if text.lstrip()[0] in "{[" else Cells.of(table, text, guard)


class Records(ABC):
    """Rows by the names of their columns.

    Attributes
    ----------
    table : TextTable
        Source of the errors raised.
    header : Record
        Names of the columns.
    lines : sequence of int
        Line of each row.
    tool : {"label_studio", "potato"} or None
        The tool that wrote the rows as tasks.
    schemes : dict of str to str
        Columns of the answers of this tool, and the type of each.
    are_texts : bool
        Whether items are texts of any kind rather than names that fit in one line.
    columns_of_games : sequence of str
        The columns of the file, if its rows were both games of a judge of MT-bench, and are now a vote each.
    """

    def __init__(self, table: TextTable, header: Record, lines: Sequence[int]) -> None:
        self.table = table
        self.header = header
        self.lines = lines
        self.tool: str | None = None
        self.schemes: dict[str, str] = {}
        self.are_texts = False
        self.columns_of_games: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self.header.cells

    @abstractmethod
    def _entries(self, place: int) -> Sequence[Any]:
        """Return the entries of a column unchanged; None where a vote in JSON lacks one."""

    def _labels(self, place: int) -> Sequence[Any]:
        """Return the entries of a column of names."""
        return self._entries(place)

    def _check_entries(self, place: int) -> None:  # noqa: B027 - only votes in JSON may lack one
        """Refuse a column that some votes lack, as JSON allows."""

    def place(self, row: int, column: str | None) -> str:
        """Describe the place of an entry, or of a row, for messages."""
        return self.table.place_of(self.lines[row], column)

    def column(self, name: object, *, optional: bool = False) -> Sequence[Any]:
        """Return the entries of a column unchanged; None where a vote in JSON lacks an optional one."""
        place = self._place(name)
        if not optional:
            self._check_entries(place)
        return self._entries(place)

    def labels(self, name: object) -> Sequence[Hashable]:
        """Return the labels in a column; None where a vote in JSON has none."""
        return self._labels(self._place(name))

    def sides(self, left: object, right: object) -> tuple[dict[str, list[str]], dict[str, Sequence[Hashable]]]:
        """Return the names of the columns, and labels of the items, on the left and on the right.

        A name means the column itself or those of its parts; a list of names makes tuples.
        """
        places = {"left": self._places(left), "right": self._places(right)}
        n_left, n_right = (len(positions) for positions in places.values())
        if n_left != n_right:
            message = f"left and right must have equally many columns; got {n_left} and {n_right}"
            self.table.fail(message, self.header.line)
        names = {side: [self.names[place] for place in positions] for side, positions in places.items()}
        labels: dict[str, Sequence[Hashable]] = {}
        for side, name in (("left", left), ("right", right)):
            for place in places[side]:
                self._check_entries(place)
            parts = [self._labels(place) for place in places[side]]
            labels[side] = parts[0] if names[side] == [str(name)] else list(zip(*parts, strict=True))
        return names, labels

    def has_side(self, stem: str) -> bool:
        """Tell whether there is a column of this name, or its first part."""
        return stem in self.names or f"{stem}_1" in self.names

    def _place(self, name: object) -> int:
        check_spelling(self.table, self.header, [str(name)])
        return self.table.place(self.header, str(name))

    def _places(self, name: object) -> list[int]:
        if isinstance(name, Sequence) and not isinstance(name, str):
            if not name:
                self.table.fail("a side needs a column or a list of columns; got an empty list")
            return [self._place(part) for part in name]
        return label_columns(self.table, self.header, str(name)) or [self._place(name)]


class Cells(Records):
    """Rows of CSV or TSV."""

    def __init__(
        self,
        table: TextTable,
        header: Record,
        columns: Sequence[Sequence[str]],
        lines: Sequence[int],
        guard: bool | None = None,
    ) -> None:
        self.columns = columns
        super().__init__(table, header, lines)
        self.is_guarded = self._is_export() if guard is None else guard and self.has_side("left")
        if self.is_guarded:
            self.header = Record(header.line, list(map(unguarded, header.cells)))
        self._check_one_header(header.cells)

    def _check_one_header(self, names: list[str]) -> None:
        """Refuse a row of the names of the columns, as two files that were put together have."""
        if not all(map(WHOLE_NUMBER.fullmatch, names)) and all(
            name in distinct(column) for name, column in zip(names, self.columns, strict=True)
        ):
            rows = enumerate(zip(*self.columns, strict=True))
            row = next((row for row, cells in rows if cells == tuple(names)), None)
            if row is not None:
                message = "this row repeats the names of the columns; remove it, or read the files one by one"
                self.table.fail(message, self.lines[row])

    def _is_export(self) -> bool:
        """Tell whether a campaign exported the rows, with an apostrophe before each cell that begins like a formula."""
        names = self.header.cells
        if names[:1] != ["comparison"] or names[-2:] != list(EXPORT_COLUMNS):
            return False
        cells = chain.from_iterable(map(distinct, self.columns))
        return all(guarded(cell) == cell or cell.startswith("'") for cell in cells)

    @classmethod
    def of(cls, table: TextTable, text: str, guard: bool | None = None) -> Cells:
        """Read the rows of a text; if the first row has two whole numbers, it is already a pair of winner and loser."""
        header, records = header_and_records(table, text, "winner")
        if len(header.cells) == 2 and all(map(WHOLE_NUMBER.fullmatch, header.cells)):
            records, header, guard = chain([header], records), Record(header.line, ["winner", "loser"]), False
        cells: dict[str, str] = {}  # equal cells are one object
        columns: list[list[str]] = [[] for _ in header.cells]
        lines: list[int] = []
        for record in records:
            if len(record.cells) != len(header.cells):
                table.check_width(header, record)
            for column, cell in zip(columns, record.cells, strict=True):
                column.append(cells.setdefault(cell, cell))
            lines.append(record.line)
        return cls(table, header, columns, lines, guard)

    @classmethod
    def of_plain(cls, table: TextTable, guard: bool | None) -> Cells | None:
        """Read the rows of a large plain file by pyarrow; None for any other file, which `of` reads."""
        data = plain_bytes(table.data or b"")
        line = data[: data.find(b"\n") + 1]
        # A second byte order mark is left to `of`, which removes it too.
        is_table = (
            line[:1] not in b"<{[\xef"
            and line.strip(b' \t\r\n",;|')
            and not line.lstrip(b'"').lower().startswith(b"sep=")
        )
        is_utf_8 = codecs.lookup(table.encoding or "utf-8").name in ("utf-8", "utf-8-sig")
        if not is_table or not is_utf_8 or line.count(b'"') % 2:
            return None
        try:
            text = line.decode()
            delimiter = table.delimiter(text, ["winner"])
            header = next(table.records(text, delimiter))
        except (TableError, UnicodeDecodeError):
            return None
        names, start = header.cells, len(line)
        if len(names) == 2 and all(map(WHOLE_NUMBER.fullmatch, names)):
            header, guard, start = Record(1, ["winner", "loser"]), False, 0
        columns = read_plain(data, delimiter, len(names), dict.fromkeys(range(len(names)), "codes"), start=start)
        if columns is None:
            return None
        coded = [coded_column(columns[place]) for place in range(len(names))]
        return cls(table, header, coded, range(1 + (start > 0), 1 + (start > 0) + len(coded[0])), guard)

    def _entries(self, place: int) -> Sequence[str]:
        entries = self.columns[place]
        if not self.is_guarded:
            return entries
        return map_column(unguarded, entries)

    def _labels(self, place: int) -> Sequence[str]:
        """Return a column of names; each distinct cell is checked once, as it is in the file."""
        entries = self.columns[place]
        for entry in distinct(entries):
            is_odd = entry != entry.strip() or "\n" in entry or "\r" in entry
            if not entry.strip() or (is_odd and not self.are_texts):
                check_text(self.table, entry, self.lines[entries.index(entry)], self.names[place])
        return self._entries(place)


class Objects(Records):
    """Rows of JSON: objects in a list, or one after the other."""

    def __init__(self, table: TextTable, objects: list[dict[str, Any]], lines: list[int]) -> None:
        self.objects = objects
        super().__init__(table, Record(lines[0], list(dict.fromkeys(chain.from_iterable(objects)))), lines)

    @classmethod
    def of(cls, table: TextTable, text: str, instances: Mapping[str, tuple[str, str]] | None = None) -> Objects:
        """Read the rows of a text; a list of two is a pair of winner and loser, and tasks of other tools are rows."""
        numbered_rows, tool, schemes = json_rows(table, text, instances)
        lines, objects = zip(*numbered_rows, strict=True)
        rows = cls(table, list(objects), list(lines))
        rows.tool, rows.schemes = tool, schemes
        return rows

    def _entries(self, place: int) -> list[Any]:
        name = self.names[place]
        return [entry.get(name) for entry in self.objects]

    def _check_entries(self, place: int) -> None:
        name = self.names[place]
        row = next((row for row, entry in enumerate(self.objects) if name not in entry), None)
        if row is not None:
            self.table.fail(f'no key "{printable(name)}", which other votes have', self.lines[row])

    def labels(self, name: object) -> Sequence[Hashable]:
        """Return the labels in a column; None where a vote has none."""
        place = self._place(name)
        values = enumerate(self._entries(place))
        return [None if value in (None, "") else self._label(value, row, place) for row, value in values]

    def _labels(self, place: int) -> list[Any]:
        """Return a column of names; a list becomes a tuple."""
        values = self._entries(place)
        if set(map(type, values)) <= {str, int} and not any(map(_is_no_text, dict.fromkeys(values))):
            return values
        return [self._label(value, row, place) for row, value in enumerate(values)]

    def _label(self, value: Any, row: int, place: int) -> Hashable:
        parts, where = value if isinstance(value, list) else [value], (self.lines[row], self.names[place])
        if not parts or not all(type(part) in (str, int) and str(part).strip() for part in parts):
            self.table.fail(f"a label is text, a whole number or a list of those; got {shown(value)}", *where)
        for part in filter(_is_no_text, parts):
            self.table.fail(f"{shown(part)} has half of a surrogate pair, which is no text", *where)
        return label_from_json(value)


class Frame(Records):
    """Rows of a data frame of pandas, polars or pyarrow."""

    def __init__(self, frame: object) -> None:
        columns = columns_of(with_levels(frame))
        if columns is None:
            raise ComparisonError(f"a data frame of pandas, polars or pyarrow is expected; got {shown(frame)}")
        self.columns = list(columns.values())
        n_rows = len(self.columns[0]) if self.columns else 0
        header = Record(_NO_ROW, list(map(str, columns)))
        super().__init__(_FrameTable("", error=ComparisonError), header, range(n_rows))

    def _entries(self, place: int) -> Sequence[Any]:
        return listed_column(self.columns[place], self.names[place])


class ColumnFile(Records):
    """Rows of a Parquet or Arrow file; only the columns in use are read, and lines are rows, counted from 1."""

    def __init__(self, table: TextTable) -> None:
        self._file = ArrowFile(table, table.data or b"")
        super().__init__(table, Record(0, self._file.names), range(1, 1 + self._file.n_rows))

    def _entries(self, place: int) -> Sequence[Any]:
        return self._file.column(self.names[place])


class _FrameTable(TextTable):
    """Errors about a data frame, which has no file: its lines are rows, counted from 0."""

    def fail(self, message: str, line: int | None = None, column: str | None = None) -> NoReturn:
        """Raise the error."""
        place = self.place_of(line, column)
        raise self.error(f"{place}: {message}" if place else message)

    def place_of(self, line: int | None, column: str | None) -> str:
        """Describe a place, for messages."""
        if line is None or line == _NO_ROW:
            return "" if column is None else f'column "{printable(column)}"'
        return f"row {line}" if column is None else f"{printable(column)}[{line}]"


def map_column(function: Callable[[Any], Any], column: Sequence[Any]) -> Sequence[Any]:
    """Apply a function to the entries of a column; to each distinct one once, if they have codes or one plain type."""
    if isinstance(column, CodedColumn):
        return column.map(function)
    kinds = set(map(type, column))
    if len(kinds) != 1 or not kinds <= {str, bool, int}:  # 1, 1.0 and True are one key of a dict
        return list(map(function, column))
    results = {entry: function(entry) for entry in dict.fromkeys(column)}
    return [results[entry] for entry in column]


def listed_column(values: Iterable[Any], column: str) -> list[Any]:
    """Return the entries of a column as plain Python values, from a list, an array or a series of any library.

    Raises
    ------
    ComparisonError
        Anything that is not one column.
    """
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise ComparisonError(f"{column} must be a list with an entry for each comparison; got {shown(values)}")
    n_dimensions = getattr(values, "ndim", 1)
    if n_dimensions != 1:
        raise ComparisonError(f"{column} must have one dimension; got {n_dimensions}")
    entries = list(python_values(values))  # iterating over a column of pandas takes ten times longer
    has_objects = getattr(getattr(values, "dtype", None), "kind", "") == "O"
    return list(map(plain_entry, entries)) if has_objects else entries


def plain_entry(entry: Any) -> Any:
    """Return an entry of a data frame as JSON would have it: a list, where pandas has an array, and Python's types."""
    if type(entry) is str:  # as nearly always
        return entry
    plain = entry.tolist() if isinstance(entry, np.ndarray) else plain_identifier(entry)
    return list(map(plain_entry, plain)) if isinstance(plain, list) else plain


def is_missing(value: object) -> bool:
    """Tell whether a value is a None or nan of any library, or a tuple that contains one."""
    if isinstance(value, tuple):
        return any(map(is_missing, value))
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - nan of any type
    except TypeError:  # pandas.NA, which equals nothing and differs from nothing
        return True
    except ValueError:  # an array, whose entries are compared one by one
        return False


def is_empty(value: object) -> bool:
    """Tell whether a value is missing, or text without a character other than a space."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def is_no_label(value: object) -> bool:
    """Tell whether a value is missing or empty text, and so names nothing."""
    return not value if type(value) is str else is_missing(value) or value == ""


def split_games(records: Records) -> Records:
    """Return the votes of a judge of MT-bench, two of each row with both games; other rows stay as they are."""
    if not set(records.names) >= GAMES:
        return records
    if not records.lines:
        records.table.fail("no votes, only the names of the columns", records.header.line)
    rows: Iterable[dict[str, Any]]
    if isinstance(records, Objects):
        rows = records.objects
    else:
        columns = [map(plain_entry, records.column(name, optional=True)) for name in records.names]
        rows = (dict(zip(records.names, row, strict=True)) for row in zip(*columns, strict=True))
    votes = [
        (line, vote)
        for line, row in zip(records.lines, rows, strict=True)
        for vote in votes_of_object(records.table, _without_missing_games(row), line)
    ]
    split = Objects(records.table, [vote for _, vote in votes], [line for line, _ in votes])
    split.header = Record(records.header.line, split.names)
    split.are_texts, split.columns_of_games = records.are_texts, records.names
    return split


def _without_missing_games(row: dict[str, Any]) -> dict[str, Any]:
    return {name: "" if name in GAMES and is_missing(entry) else entry for name, entry in row.items()}


def check_columns(records: Records, columns: Iterable[str], ignore: Sequence[str], roles: Sequence[str]) -> None:
    """Refuse roles of columns other than `roles`, and columns to ignore that the records lack."""
    if unknown := [role for role in columns if role not in roles]:
        raise OptionError(f"columns: unknown role {shown(unknown[0])}; use {', '.join(roles)}")
    if isinstance(ignore, str):
        raise OptionError(f"ignore is a list of columns; got {shown(ignore)}")
    if absent := [name for name in ignore if name not in (*records.names, *records.columns_of_games)]:
        raise OptionError(f"ignore: there is no column {shown(absent[0])}")


def check_games(records: Records, columns: Mapping[str, Any]) -> None:
    """Refuse columns of one game: both are read already."""
    if named := [
        name for name in columns.values() if isinstance(name, str) and name in GAMES and records.columns_of_games
    ]:
        raise OptionError(
            f"each row has two games of a judge of MT-bench, and both are read, the second with exchanged sides; leave "
            f"{printable(named[0])} out of the columns"
        )


def _is_no_text(label: str | int) -> bool:
    r"""Tell whether a label is empty, or has half of a surrogate pair, which JSON can write as \ud800."""
    return isinstance(label, str) and (not label.strip() or has_half_a_pair(label))
