"""Rows of a file of comparisons, CSV, TSV or JSON Lines, by the names of their columns."""

from __future__ import annotations

import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any, Final, NoReturn

from adaptive.columns import check_spelling, check_text, check_width, header_and_records, label_columns, named_column
from adaptive.errors import ComparisonError
from adaptive.model.layouts import LAYOUTS, Format, Layout, is_blank, layout_of, side_columns
from adaptive.record import has_half_a_pair
from rankcorr.checks import repeated, shown
from rankcorr.io.records import Record, TextTable, listed, printable

WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}")


def rows_of(table: TextTable, text: str) -> Rows:
    """Rows of a text, which is JSON Lines if it begins like an object or a list."""
    return Objects.of(table, text) if text.lstrip()[0] in "{[" else Cells.of(table, text)


class Rows(ABC):
    """Rows of a file, by the names of their columns."""

    def __init__(self, table: TextTable, names: list[str], first_line: int, lines: list[int]) -> None:
        self.table = table
        self.names = names
        self.first_line = first_line
        self.lines = lines

    @abstractmethod
    def check_names(self, wanted: Iterable[str]) -> None:
        """Refuse names that are almost those wanted."""

    @abstractmethod
    def column(self, name: str) -> list[Any]:
        """Entries of a column as they are."""

    @abstractmethod
    def labels(self, name: str) -> list[Hashable]:
        """Labels in a column."""

    @abstractmethod
    def side_names(self, stem: str) -> list[str]:
        """Names of the columns of the items on one side: `stem`, or one for each part."""

    def sides(self, left: str, right: str) -> dict[str, list[Hashable]]:
        """Items on the left and on the right; tuples if their columns are numbered."""
        names = {"left": self.side_names(left), "right": self.side_names(right)}
        n_left, n_right = map(len, names.values())
        if n_left != n_right:
            self.table.fail(
                f"as many columns are wanted for {left} as for {right}; got {n_left} and {n_right}", self.first_line
            )
        parts = {side: [self.labels(name) for name in columns] for side, columns in names.items()}
        if names["left"] == [left]:
            return {side: columns[0] for side, columns in parts.items()}
        return {side: list(zip(*columns, strict=True)) for side, columns in parts.items()}

    def layout(self, wanted: Format) -> Layout:
        """Layout of the format wanted, or the one that the names of the columns have."""
        try:
            return layout_of(self.names, wanted)
        except ComparisonError as error:
            self.check_names(name for layout in LAYOUTS.values() for name in (layout.left, layout.right))
            self.table.fail(str(error), self.first_line)

    def place(self, row: int, column: str) -> str:
        """File, line and column, for messages."""
        return f'{self.table.name}:{self.lines[row]}: column "{column}"'

    def no_column(self, name: str) -> NoReturn:
        """Raise the error about a column that is missing."""
        self.table.fail(f'no column "{printable(name)}"; the columns are {listed(self.names)}', self.first_line)


class Cells(Rows):
    """Rows of CSV or TSV."""

    def __init__(self, table: TextTable, header: Record, records: Iterable[Record]) -> None:
        self.header = header
        self.rows: list[list[str]] = []
        lines: list[int] = []
        for record in records:
            if len(record.cells) != len(header.cells):
                check_width(table, header, record)
            self.rows.append(record.cells)
            lines.append(record.line)
        super().__init__(table, header.cells, header.line, lines)
        if not lines:
            table.fail("no comparisons, only the names of the columns", header.line)

    @classmethod
    def of(cls, table: TextTable, text: str) -> Cells:
        """Read the rows of a text."""
        header, records = header_and_records(table, text, "winner")
        if len(header.cells) == 2 and all(map(WHOLE_NUMBER.fullmatch, header.cells)):  # pairs without names of columns
            return cls(table, Record(header.line, ["winner", "loser"]), chain([header], records))
        return cls(table, header, records)

    def check_names(self, wanted: Iterable[str]) -> None:
        """Refuse names that are almost those wanted."""
        check_spelling(self.table, self.header, wanted)

    def column(self, name: str) -> list[str]:
        """Cells of a column as they are."""
        place = named_column(self.table, self.header, name)
        if not place:
            self.no_column(name)
        return [row[place[0]] for row in self.rows]

    def side_names(self, stem: str) -> list[str]:
        """Names of the columns of a side, in the order of its parts."""
        places = label_columns(self.table, self.header, stem)
        if not places:
            self.no_column(stem)
        return [self.header.cells[place] for place in places]

    def labels(self, name: str) -> list[Hashable]:
        """Cells of a column that name something; each different one is checked once."""
        entries = self.column(name)
        for entry in dict.fromkeys(entries):
            if not entry or entry != entry.strip() or "\n" in entry or "\r" in entry:
                check_text(self.table, entry, self.lines[entries.index(entry)], name)
        return list(entries)


class Objects(Rows):
    """Rows of JSON Lines."""

    def __init__(self, table: TextTable, objects: list[dict[str, Any]], lines: list[int]) -> None:
        self.objects = objects
        super().__init__(table, list(dict.fromkeys(chain.from_iterable(objects))), lines[0], lines)

    @classmethod
    def of(cls, table: TextTable, text: str) -> Objects:
        """Read the rows of a text."""
        objects, lines = [], []
        decode = json.JSONDecoder(object_pairs_hook=_unique_keys).decode
        for number, line in enumerate(io.StringIO(text, newline=None), start=1):
            if line.isspace():
                continue
            try:
                value = decode(line)
            except json.JSONDecodeError as error:
                table.fail(f"each line must be JSON of its own: {error.msg} at character {error.pos + 1}", number)
            except (ValueError, RecursionError) as error:
                table.fail(f"cannot be read as JSON: {error}", number)
            if isinstance(value, list) and len(value) == 2:  # a pair of winner and loser
                value = dict(zip(("winner", "loser"), value, strict=True))
            if not isinstance(value, dict):
                table.fail(f"each line must be an object; got {shown(value)}", number)
            objects.append(value)
            lines.append(number)
        return cls(table, objects, lines)

    def check_names(self, wanted: Iterable[str]) -> None:
        """Refuse names that are almost those wanted."""
        check_spelling(self.table, Record(self.first_line, self.names), wanted)

    def column(self, name: str) -> list[Any]:
        """Values of a key as they are."""
        if name not in self.names:
            self.check_names([name])
            self.no_column(name)
        try:
            return [entry[name] for entry in self.objects]
        except KeyError:
            row = next(row for row, entry in enumerate(self.objects) if name not in entry)
            self.table.fail(f'no key "{printable(name)}", which other lines have', self.lines[row])

    def labels(self, name: str) -> list[Hashable]:
        """Values of a key that name something; a list becomes a tuple."""
        values = self.column(name)
        if set(map(type, values)) <= {str, int} and not any(map(_is_no_text, dict.fromkeys(values))):
            return values
        return [self._label(value, row, name) for row, value in enumerate(values)]

    def side_names(self, stem: str) -> list[str]:
        """Keys of a side, in the order of its parts."""
        return side_columns(self.names, stem) or [stem]

    def _label(self, value: Any, row: int, name: str) -> Hashable:
        parts = tuple(value) if isinstance(value, list) else (value,)
        for part in parts:
            if isinstance(part, bool) or not isinstance(part, str | int) or is_blank(part):
                self.table.fail(
                    f"a label is text, a whole number or a list of those; got {shown(value)}", self.lines[row], name
                )
            if _is_no_text(part):
                self.table.fail(f"{shown(part)} has half of a surrogate pair, which is no text", self.lines[row], name)
        if not parts:
            self.table.fail("a label has at least one part; got []", self.lines[row], name)
        return parts if isinstance(value, list) else parts[0]


def _is_no_text(label: str | int) -> bool:
    r"""Whether a label is empty, or has half of a surrogate pair, which JSON can write as \ud800."""
    return is_blank(label) or (isinstance(label, str) and has_half_a_pair(label))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        again = repeated(key for key, _ in pairs)
        raise ValueError(f"the key {shown(again[0])} comes more than once")
    return found
