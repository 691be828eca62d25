"""Read records from a CSV or TSV file; anything doubtful is an error that names file, line and column.

bytes -> text -> records -> numbers. The caller decides what the columns mean.
"""

import codecs
import csv
import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, NoReturn

from rankcorr.errors import TableError

_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe"}
_BREAK = re.compile(r"\r\n|\r|\n")
_GZIP = b"\x1f\x8b"  # no text in UTF-8 begins with these
_OTHER_FILES = {  # first bytes of a format, and what to do with it
    b"PK\x03\x04": "a zip, as a workbook is (.xlsx, .ods): save its sheet as {form}",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls): save its sheet as {form}",
    b"SQLite format 3\0": "a database of SQLite, and no table in text",
    b"%PDF-": "a PDF, and no table in text",
    b"PAR1": "a Parquet file: save it as {form}",
    b"ARROW1": "an Arrow file: save it as {form}",
    b"FEA1": "a file of Feather's first version: save it as {form}",
    b"\xff\xfe": "text in UTF-16; save the file as UTF-8",
    b"\xfe\xff": "text in UTF-16; save the file as UTF-8",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# float() alone would take 1_000 and digits of other scripts. No digit can match in two ways here, so a long
# cell takes linear time.
_NUMBER = re.compile(r"[+-]?(?:(?P<mantissa>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.I)
_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_NAN = re.compile(r"[+-]?nan", re.I)
_SHOWN_COLUMNS = 20
_SHOWN_CHARACTERS = 60


def printable(text: str, limit: int | None = _SHOWN_CHARACTERS) -> str:
    """Return text fit for one line of a terminal: control characters escaped, a long end cut off."""
    cut = text if limit is None or len(text) <= limit else text[:limit] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def listed(names: Sequence[str]) -> str:
    """Names in quotes, at most the first 20."""
    rest = len(names) - _SHOWN_COLUMNS
    listed = ", ".join(f'"{printable(name)}"' for name in names[:_SHOWN_COLUMNS])
    return listed if rest <= 0 else f"{listed} and {rest} more"


def is_rank_column(name: object) -> bool:
    """Whether the name of a column says that it holds ranks, of which the smallest is the best.

    Examples
    --------
    >>> [is_rank_column(name) for name in ("rank", " Ranks", "page_rank", 3)]
    [True, True, False, False]
    """
    return isinstance(name, str) and name.strip().lower() in ("rank", "ranks")


class Record(NamedTuple):
    """Cells of one row."""

    line: int  # of its first character
    cells: list[str]


@dataclass(eq=False)
class TextTable:
    """One file, or standard input for the path "-"; its name is part of every error.

    Parameters
    ----------
    path : str
    error : type of exception
        What `fail` raises.
    wanted : str
        Text that the message asks for when a table has only one column.
    data : bytes, optional
        Content of the file, if it was read already; `path` is its name then.
    encoding : str, optional
        Encoding that the caller asked for. None: UTF-8, and the caller offers no other.
    form : str
        Format that messages recommend for a file in another one.
    """

    path: str
    _: KW_ONLY
    error: type[Exception] = TableError
    wanted: str = "an id and a score are wanted"
    data: bytes | None = None
    encoding: str | None = None
    form: str = "CSV"

    @property
    def name(self) -> str:
        """Name in messages."""
        return "<stdin>" if self.path == "-" else printable(self.path, limit=None)

    def fail(self, message: str, line: int | None = None, column: str | None = None) -> NoReturn:
        """Raise the error, with the place where it occurred."""
        place = self.name if line is None else f"{self.name}:{line}"
        if column is not None:
            place += f': column "{printable(column)}"'
        raise self.error(f"{place}: {message}")

    def unpacked(self) -> bytes:
        """Whole content of the file, unpacked if compressed by gzip."""
        data = self._bytes()
        if data.startswith(_GZIP):
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error) as error:
                self.fail(f"cannot be decompressed: {error}")
        return data

    def text(self) -> str:
        """Whole text of the file, decoded, unpacked if compressed by gzip, and not empty."""
        codec = codecs.lookup(self.encoding or "utf-8").name
        is_utf_8 = codec in ("utf-8", "utf-8-sig")
        data = self.unpacked()
        for start, what in _OTHER_FILES.items():
            if data.startswith(start) and (is_utf_8 or start not in _UTF_16):
                self.fail(f"is {what.format(form=self.form)}{self._or_encoding() if start in _UTF_16 else ''}")
        try:
            text = data.decode("utf-8-sig" if is_utf_8 else codec).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            name = "UTF-8" if is_utf_8 else codec
            if is_utf_8 and b"\0" in data:
                self.fail("is not a text file: it has null bytes, and is not UTF-8")
            before = error.object[: error.start].decode(codec, errors="ignore")
            line = 1 + len(_BREAK.findall(before))
            advice = f"save the file as UTF-8{self._or_encoding()}"
            self.fail(f"byte 0x{error.object[error.start]:02x} is not {name}; {advice}", line)
        if "\0" in text:
            line = 1 + len(_BREAK.findall(text, 0, text.index("\0")))
            self.fail("a null byte; this is not a text file", line)
        if not text.strip():
            self.fail("the file is empty")
        return text

    def _or_encoding(self) -> str:
        return "" if self.encoding is None else ", or name its encoding, as utf-16 or latin-1"

    def _bytes(self) -> bytes:
        if self.data is not None:
            return self.data
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
        """Delimiter of the first line; if it has several, the one that yields the requested columns."""
        line, found = delimiters_of(text)
        if not found:
            next(self.records(text, ","), None)  # an open quote gives the better error
            self.fail(f"one column; {self.wanted}, separated by comma, tab, semicolon or pipe", line)
        if len(found) > 1:
            fitting = [d for d in found if asked and set(asked) <= self._first_cells(text, d)]
            found = fitting or found
        if len(found) > 1 and "\t" not in found:
            names = " and ".join(_DELIMITERS[d] for d in found)
            self.fail(f"{names} could both separate the columns; put cells that contain one into quotes", line)
        return found[0]  # tabs take precedence

    def _first_cells(self, text: str, delimiter: str) -> set[str]:
        try:
            return set(next(self.records(text, delimiter)).cells)
        except self.error:  # the quotes do not fit this delimiter
            return set()

    def records(self, text: str, delimiter: str) -> Iterator[Record]:
        """Rows that are not blank, one after the other."""
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
                yield Record(line, cells)

    def number(self, cell: str, line: int, column: str) -> float:
        """Number in a cell; an integer stays exact."""
        digits = cell.strip()
        match = _NUMBER.fullmatch(digits)
        if match is None:
            if not digits:
                self.fail("empty cell; every row needs a number", line, column)
            if _NAN.fullmatch(digits):
                self.fail(f'"{digits}" is not a value; every row needs a number', line, column)
            self.fail(f'"{printable(cell)}" is not a number', line, column)
        if _INTEGER.fullmatch(digits):
            return int(digits)  # a float would tie integers beyond 2^53
        number, mantissa = float(digits), match["mantissa"]
        if mantissa and (math.isinf(number) or (number == 0 and mantissa.strip("0."))):
            self.fail(f'"{printable(cell)}" is beyond the range of a 64-bit float', line, column)
        return number


def delimiters_of(text: str) -> tuple[int, list[str]]:
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


def _explained(message: str, delimiter: str) -> str:
    if "field larger" in message:
        return f"a cell of more than {csv.field_size_limit()} characters; is a quote left open?"
    if "unexpected end" in message:
        return "a quote is opened here and never closed"
    if "expected after" in message:
        return f"no {_DELIMITERS.get(delimiter, 'space')} after a closing quote; quotes inside a cell must be doubled"
    return message
