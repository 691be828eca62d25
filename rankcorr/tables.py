"""Read a ranking from a CSV or TSV file; whatever is doubtful is an error that names file, line and column.

bytes -> text -> records -> columns -> Ranking. Nothing is dropped, repaired or guessed.
"""

import csv
import io
import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn, TypeAlias

from rankcorr.errors import OptionError, TableError
from rankcorr.ranking import Ranking

__all__ = ["read_ranking"]

_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe"}
_BREAK = re.compile(r"\r\n|\r|\n")
_BREAK_BYTES = re.compile(rb"\r\n|\r|\n")
# float() alone would take 1_000 and digits of other scripts. No digit can match in two ways here, so that a
# long cell costs linear time.
_NUMBER = re.compile(r"[+-]?(?:(?P<mantissa>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.I)
_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_NAN = re.compile(r"[+-]?nan", re.I)
_MISSING = frozenset({"na", "n/a", "null", "none", "-", "?"})
_Label: TypeAlias = str | tuple[str, ...]
_SHOWN_COLUMNS = 20
_SHOWN_CHARACTERS = 60


def read_ranking(
    path: str | os.PathLike[str],
    *,
    id_columns: Sequence[str] | None = None,
    score_column: str | None = None,
    ranks: bool = False,
    header: bool = True,
) -> Ranking:
    r"""Read a ranking, labelled by id, from a CSV or TSV file in UTF-8.

    The delimiter is the one of comma, tab, semicolon and pipe that the first line has outside quotes. If it
    has several, the one by which the columns asked for exist, and else the tab; any other doubt is an error.
    Blank lines hold no item. A record that spans lines is reported by its first line.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.
    id_columns : sequence of str, optional
        Columns that name the item. One gives labels of type str, several give tuples of str.
    score_column : str, optional
        Column of the numbers. A column may be left out when only one is left for it: both, when the file has
        two columns, of which the first is the id.
    ranks : bool
        The numbers are ranks (smaller is better), not scores.
    header : bool
        The first line names the columns. Without it columns are named "1", "2", ...

    Returns
    -------
    Ranking

    Raises
    ------
    TableError
        With file, line and column, when the file does not hold a ranking: every row needs an id of its own
        and a number (``inf`` is one, ``nan`` is not). Also when the file cannot be read.
    OptionError
        When ``id_columns`` is a str or empty.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "gold.tsv")
    ...     _ = file.write_text("word1\tword2\tgold\ngem\tjewel\t3.9\ncock\trooster\t3.7\n")
    ...     gold = read_ranking(file, id_columns=["word1", "word2"], score_column="gold")
    >>> gold.labels
    (('gem', 'jewel'), ('cock', 'rooster'))
    >>> gold.ranks
    array([1., 2.])
    """
    if isinstance(id_columns, str) or (id_columns is not None and len(id_columns) == 0):
        raise OptionError(f"id_columns is {id_columns!r}; it must be a list of one or more column names")
    table = _Table(os.fspath(path))
    text = table.text()
    asked = [*(id_columns or ()), *(() if score_column is None else (score_column,))] if header else []
    records = table.records(text, table.delimiter(text, asked))
    first = next(records)
    columns = table.columns(first, id_columns, score_column, header=header)
    labels, numbers = table.items(records if header else chain([first], records), columns)
    return Ranking.from_ranks(numbers, labels) if ranks else Ranking.from_scores(numbers, labels)


def printable(text: str, limit: int | None = _SHOWN_CHARACTERS) -> str:
    """Return text fit for one line of a terminal: control characters escaped, a long end cut off."""
    cut = text if limit is None or len(text) <= limit else text[:limit] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN_COLUMNS
    listed = ", ".join(f'"{printable(name)}"' for name in names[:_SHOWN_COLUMNS])
    return listed if rest <= 0 else f"{listed} and {rest} more"


@dataclass(frozen=True)
class _Record:
    line: int  # of its first character
    cells: list[str]


@dataclass(frozen=True)
class _Columns:
    names: list[str]
    ids: tuple[int, ...]
    score: int


class _Table:
    """One file; its name is part of every error."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "<stdin>" if path == "-" else printable(path, limit=None)

    def fail(self, message: str, line: int | None = None, column: str | None = None) -> NoReturn:
        place = self.name if line is None else f"{self.name}:{line}"
        if column is not None:
            place += f': column "{printable(column)}"'
        raise TableError(f"{place}: {message}")

    def text(self) -> str:
        data = self._bytes()
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = error.object[: error.start]  # without the byte order mark, which ends no line
            line = 1 + len(_BREAK_BYTES.findall(before))
            self.fail(f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8", line)
        if "\0" in text:
            line = 1 + len(_BREAK.findall(text, 0, text.index("\0")))
            self.fail("a null byte; this is not a text file", line)
        if not text.strip():
            self.fail("the file is empty")
        return text

    def _bytes(self) -> bytes:
        if self.path == "-":
            if sys.stdin is None:
                self.fail("standard input is closed")
            return sys.stdin.buffer.read()
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except OSError as error:
            self.fail(f"cannot be read: {error.strerror or error}")
        except ValueError as error:  # a null byte in the path
            self.fail(f"cannot be read: {error}")

    def delimiter(self, text: str, asked: Sequence[str]) -> str:
        line, found = _delimiters(text)
        if not found:
            next(self.records(text, ","), None)  # a quote left open is the better error
            self.fail("one column; an id and a score are wanted, separated by comma, tab, semicolon or pipe", line)
        if len(found) > 1:
            fitting = [d for d in found if asked and set(asked) <= self._first_cells(text, d)]
            found = fitting or found
        if len(found) > 1 and "\t" not in found:
            names = " and ".join(_DELIMITERS[d] for d in found)
            self.fail(f"{names} could both separate the columns; put cells that contain one into quotes", line)
        return found[0]  # the tab comes first

    def _first_cells(self, text: str, delimiter: str) -> set[str]:
        try:
            return set(next(self.records(text, delimiter)).cells)
        except TableError:  # the quotes do not fit this delimiter
            return set()

    def records(self, text: str, delimiter: str) -> Iterator[_Record]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                self.fail(_explained(str(error), delimiter), line)
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                yield _Record(line, cells)

    def columns(
        self, first: _Record, id_columns: Sequence[str] | None, score_column: str | None, *, header: bool
    ) -> _Columns:
        names = first.cells if header else [str(number) for number in range(1, len(first.cells) + 1)]
        numeric = header and any(_is_float(cell) for cell in first.cells)
        hint = "; if this line holds data, use --no-header" if numeric else ""

        def position(name: str) -> int:
            places = [i for i, other in enumerate(names) if other == name]
            if not places:
                self.fail(f'no column "{printable(name)}"; the columns are {_listed(names)}{hint}', first.line)
            if len(places) > 1:
                self.fail(f"{len(places)} columns have this name", first.line, name)
            return places[0]

        ids = None if id_columns is None else tuple(position(name) for name in id_columns)
        score = None if score_column is None else position(score_column)
        used = [*(ids or ()), *(() if score is None else (score,))]
        for i in used:
            if used.count(i) > 1:
                self.fail("chosen twice; every id and the score need a column of their own", first.line, names[i])
        left = [i for i in range(len(names)) if i not in used]
        if len(left) == (ids is None) + (score is None):
            ids = (left.pop(0),) if ids is None else ids
            score = left.pop() if score is None else score
        if ids is None or score is None:
            parts = ["the ids (--id)"] * (ids is None) + ["the numbers (--score)"] * (score is None)
            wanted = " and ".join(parts)
            self.fail(f"say which column holds {wanted}; the columns are {_listed(names)}{hint}", first.line)
        if header:
            self._check_header(names[score], first.line)
        return _Columns(names, ids, score)

    def _check_header(self, name: str, line: int) -> None:
        if not name.strip():
            self.fail("the score column has no name; if this line holds data, use --no-header", line)
        if _is_float(name) or name.strip().lower() in _MISSING:
            self.fail(
                "this line looks like data; use --no-header, or give the column another name",
                line,
                name,
            )

    def items(self, records: Iterator[_Record], columns: _Columns) -> tuple[list[_Label], list[float]]:
        names, width = columns.names, len(columns.names)
        lines: dict[_Label, int] = {}
        numbers: list[float] = []
        for record in records:
            cells, line = record.cells, record.line
            if len(cells) != width:
                self.fail(f"{width} cells are wanted, as in the first row; got {len(cells)}", line)
            for i in columns.ids:
                if not cells[i] or cells[i].isspace():
                    self.fail("empty cell; every item needs an id", line, names[i])
            ids = tuple(cells[i] for i in columns.ids)
            label = ids[0] if len(ids) == 1 else ids
            if label in lines:
                column = ", ".join(names[i] for i in columns.ids)
                self.fail(f"{_listed(ids)} is also on line {lines[label]}; ids must be unique", line, column)
            lines[label] = line
            numbers.append(self._number(cells[columns.score], line, names[columns.score]))
        if len(numbers) < 2:
            self.fail(f"a ranking needs at least two items; got {len(numbers)}")
        return list(lines), numbers

    def _number(self, cell: str, line: int, column: str) -> float:
        digits = cell.strip()
        match = _NUMBER.fullmatch(digits)
        if match is None:
            if not digits:
                self.fail("empty cell; every item needs a number", line, column)
            if _NAN.fullmatch(digits):
                self.fail(f'"{digits}" is not a value; every item needs a number', line, column)
            self.fail(f'"{printable(cell)}" is not a number', line, column)
        if _INTEGER.fullmatch(digits):
            return int(digits)  # a float would tie integers beyond 2^53
        number, mantissa = float(digits), match["mantissa"]
        if mantissa and (math.isinf(number) or (number == 0 and mantissa.strip("0."))):
            self.fail(f'"{printable(cell)}" is beyond the range of a 64-bit float', line, column)
        return number


def _delimiters(text: str) -> tuple[int, list[str]]:
    """Line number of the first line that is not blank, and the delimiters that it has outside quotes."""
    start = next(match.start() for match in re.finditer(r"\S", text))
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    line = 1 + len(_BREAK.findall(text, 0, begin))
    found, state = set(), "start"  # of a cell; then "plain", or "quoted" and "closed"
    for character in text[begin:]:
        if state == "quoted":
            state = "closed" if character == '"' else state
        elif character == '"' and state in {"start", "closed"}:  # a doubled quote closes and opens again
            state = "quoted"
        elif character in "\r\n":
            break
        else:
            state = "start" if character in _DELIMITERS else "plain"
            found.update({character} & _DELIMITERS.keys())
    return line, [d for d in _DELIMITERS if d in found]


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _explained(message: str, delimiter: str) -> str:
    if "field larger" in message:
        return f"a cell of more than {csv.field_size_limit()} characters; is a quote left open?"
    if "unexpected end" in message:
        return "a quote is opened here and never closed"
    if "expected after" in message:
        return f"no {_DELIMITERS[delimiter]} after a closing quote; quotes inside a cell must be doubled"
    return message
