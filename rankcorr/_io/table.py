"""Read tables of text: bytes -> text -> records, or values of JSON, and numbers in their cells.

Anything doubtful is an error that names file, line and column.

If pyarrow is there, it reads the columns of a plain table, in a tenth of the time and with a third of the memory. A
table is plain if each line has its cells between single separators: no quotes, no empty rows, no lone carriage
returns, no cells that begin with a space. Any other text, a row of another length, and a cell that is no number are
left to the exact readers, which say what is wrong and where. Numbers that arithmetic could change are compared with
`parse_number`.
"""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._io.source import HEAD_BYTES, Source, printable

_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe"}
_ENTRY = re.compile(r'[^\s",;|]')
_BREAK = re.compile(r"\r\n|\r|\n")
# float() alone would take 1_000 and digits of other scripts. No digit can match in two ways here, so a long
# cell takes linear time.
_NUMBER = re.compile(r"[+-]?(?:(?P<mantissa>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.I)
_INTEGER = re.compile(r"([+-]?[0-9]{1,309})(\.0*)?")  # the largest float has 309 digits
_NAN = re.compile(r"[+-]?nan", re.I)
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
_BELOW_A_THOUSAND = re.compile(r"[+-]?[0-9]{1,3}")
_TOTAL = re.compile(r"(grand )?(total|sum|average|avg|mean|all)|gesamt|summe|mittelwert|durchschnitt|moyenne", re.I)
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
# Excel's line, as it is, or saved again as a cell of the table.
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?[,;\t|]*(?=[\r\n]|\Z)', re.IGNORECASE)
# An object or an array of JSON. A line of TREC may begin with a bracket too, but not go on like this.
_JSON = re.compile(r'\s*(?:\{\s*(?:["}]|\Z)|\[\s*(?:[{\[\]]|\Z))')
_ROOT = re.compile(r"\s*<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_SHOWN_COLUMNS = 20
_SPACE = re.compile(r"[ \t\r\n]*")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_SIGNED_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def list_names(names: Sequence[str]) -> str:
    """Names in quotes, at most the first 20."""
    n_more = len(names) - _SHOWN_COLUMNS
    text = ", ".join(f'"{printable(name)}"' for name in names[:_SHOWN_COLUMNS])
    return text if n_more <= 0 else f"{text} and {n_more} more"


def is_formula(cell: str) -> bool:
    """Return whether a spreadsheet may run a cell as a formula, or would without the apostrophes before it."""
    return _FORMULA.match(cell) is not None and _SIGNED_NUMBER.fullmatch(cell) is None


def unguarded(cell: str) -> str:
    """Return a cell without the apostrophe that an export put before a formula.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("''=1+1"), unguarded("'plum'")
    ('=1+1', "'=1+1", "'plum'")
    """
    return cell[1:] if cell.startswith("'") and is_formula(cell[1:]) else cell


class Record(NamedTuple):
    """Cells of one row."""

    line: int  # of its first character
    cells: list[str]


@dataclass(eq=False)
class TextTable(Source):
    """A file of text, as a `Source`.

    Parameters
    ----------
    path, error, data, form
        As in `Source`.
    content : str
        Text that the message asks for when a table has only one column.
    encoding : str, optional
        Encoding that the caller asked for. None: UTF-8, and the caller offers no other.
    """

    content: str = "an id and a score are expected"
    encoding: str | None = None

    def __post_init__(self) -> None:
        self._named_delimiter: str | None = None

    def text(self) -> str:
        """Whole text of the file, decoded, unpacked if compressed by gzip, and not empty."""
        codec = codecs.lookup(self.encoding or "utf-8").name
        is_utf_8 = codec in ("utf-8", "utf-8-sig")
        data = self.read_bytes()
        self.check_format(data[:HEAD_BYTES], refuse_utf_16=is_utf_8, advice=self._or_encoding())
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
        if not _ENTRY.search(text):
            self.fail("the file is empty")
        if is_markup(text):
            self.fail(f"is XML or HTML: save its content as {self.form}")
        return self._without_named_delimiter(text)

    def columns_text(self) -> str:
        """Whole text, as `text`, of a table with columns, which JSON is not."""
        text = self.text()
        if is_json(text):
            self.fail(f"is JSON: save it as {self.form}")
        return text

    def first_line(self) -> str:
        """First line with an entry, after one that names the delimiter; "" if none begins the text."""
        head = self.read_bytes()[:HEAD_BYTES].decode(errors="replace").removeprefix("\ufeff")
        named = _NAMED_DELIMITER.match(head)
        return next(filter(_ENTRY.search, _BREAK.split(head if named is None else head[named.end() :])), "")

    def _without_named_delimiter(self, text: str) -> str:
        """Leave the first line empty if it names the delimiter, as Excel writes and reads it: ``sep=;``."""
        line = _NAMED_DELIMITER.match(text)
        if line is None:
            return text
        self._named_delimiter = line[1]
        if self._named_delimiter not in _DELIMITERS:
            self.fail(f'"{printable(line[1])}" separates the columns; use comma, tab, semicolon or pipe', 1)
        if not _ENTRY.search(text, line.end()):
            self.fail("there is no line after the one that names the delimiter")
        return text[line.end() :]

    def _or_encoding(self) -> str:
        return "" if self.encoding is None else ", or name its encoding, as utf-16 or latin-1"

    def delimiter(self, text: str, columns: Sequence[str]) -> str:
        """Delimiter of the first line; if it has several, the one that yields the requested columns."""
        line, delimiters = delimiters_of(text)
        if not delimiters:
            next(self.records(text, ","), None)  # an open quote gives the better error
            self.fail(f"only one column; {self.content}, separated by comma, tab, semicolon or pipe", line)
        if self._named_delimiter is not None:
            if self._named_delimiter not in delimiters:
                self.fail(f"no {_DELIMITERS[self._named_delimiter]}, which should separate columns by line 1", line)
            return self._named_delimiter
        if len(delimiters) > 1:
            fitting = [d for d in delimiters if columns and set(columns) <= self._first_cells(text, d)]
            delimiters = fitting or delimiters
        if len(delimiters) > 1 and "\t" not in delimiters:
            names = " and ".join(_DELIMITERS[d] for d in delimiters)
            self.fail(f"{names} could both be the separator; quote the cells that contain one of them", line)
        return delimiters[0]  # tabs take precedence

    def _first_cells(self, text: str, delimiter: str) -> set[str]:
        try:
            return set(next(self.records(text, delimiter)).cells)
        except self.error:  # the quotes do not fit this delimiter
            return set()

    def records(self, text: str, delimiter: str) -> Iterator[Record]:
        """Rows with an entry, one after the other; spreadsheets end files with rows of empty cells.

        Spaces after separators are no part of cells if the first line has one after each of its separators.
        """
        first = next(re.finditer(r"[^\r\n]+", text))[0]
        is_spaced = 0 < first.count(delimiter) == first.count(f"{delimiter} ")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=is_spaced)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                self.fail(_describe_csv_fault(str(error), delimiter), line)
            if any(map(str.strip, cells)):
                yield Record(line, cells)

    def places(self, header: Record, name: str) -> list[int]:
        """Position of the column of a name in a list, which is empty if there is none; two columns are an error."""
        places = [place for place, other in enumerate(header.cells) if other == name]
        if len(places) > 1:
            self.fail("more than one column has this name", header.line, name)
        return places

    def place(self, header: Record, name: str, role: str = "", hint: str = "") -> int:
        """Position of the column of a name, which must be there; `role` says in a message what the column holds."""
        places = self.places(header, name)
        if not places:
            columns = list_names(header.cells)
            self.fail(
                f'no column "{printable(name)}"{role and f" for {role}"}; the columns are {columns}{hint}', header.line
            )
        return places[0]

    def check_width(self, header: Record, record: Record) -> None:
        """Refuse a row that does not have one cell for each column; a short row lacks the last ones."""
        n_expected, n_cells = len(header.cells), len(record.cells)
        if n_cells != n_expected:
            lacking = f" (none for {list_names(header.cells[n_cells:])})" if n_cells < n_expected else ""
            message = f"expected {n_expected} cells, as in the first row; got {n_cells}{lacking}"
            self.fail(message, record.line)

    def check_thousands(self, column: str, cells: Iterable[tuple[int, str]]) -> None:
        """Refuse 1.250 in a column with 980, where it may mean 1250; `cells` are lines and their text.

        Spreadsheets in German and other languages write both. Numbers with a decimal point rarely all have three
        decimals or none. Reading ends at the first cell that shows that the point is a decimal one.
        """
        dotted, has_hundreds = None, False
        for line, cell in cells:
            number = cell.strip()
            if _THOUSANDS.fullmatch(number):
                dotted = dotted or (line, number)
            elif _BELOW_A_THOUSAND.fullmatch(number):
                has_hundreds |= len(number.lstrip("+-")) == 3
            elif number:
                return
        if dotted and has_hundreds:
            line, number = dotted
            self.fail(
                f'"{number}" may mean {number.replace(".", "")}, as other cells are whole: write numbers without '
                "separators of thousands, or all with decimals",
                line,
                column,
            )

    def number(self, cell: str, line: int, column: str) -> float:
        """Number in a cell; an integer stays exact."""
        digits = cell.strip()
        try:
            number = parse_number(digits)
        except OverflowError:
            self.fail(f'"{printable(cell)}" is beyond the range of a 64-bit float', line, column)
        if number is None:
            if not digits:
                self.fail("empty cell; every row needs a number (leave out rows without one)", line, column)
            if _NAN.fullmatch(digits):
                self.fail(f'"{digits}" is not a number; leave out rows without one', line, column)
            hint = "; use a decimal point, not a comma" if DECIMAL_COMMA.fullmatch(digits) else ""
            self.fail(f'"{printable(cell)}" is not a number{hint}', line, column)
        return number


def parse_number(text: str) -> float | None:
    """Return the number that a text writes in decimal, exactly if it is whole; None for any other text.

    Raises
    ------
    OverflowError
        A 64-bit float cannot hold the number, or would make it 0.

    Examples
    --------
    >>> [parse_number(text) for text in ("9007199254740993.0", "2.0", "-1e-3", "inf", "nan", "1_000")]
    [9007199254740993, 2.0, -0.001, inf, None, None]
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if integer := _INTEGER.fullmatch(text):
        whole_number = int(integer[1])  # a float would tie integers beyond 2^53
        number = float(whole_number)
        return whole_number if integer[2] is None or number != whole_number else number
    number, mantissa = float(text), match["mantissa"]
    if mantissa and (math.isinf(number) or (number == 0 and mantissa.strip("0."))):
        raise OverflowError(text)
    return number


def names_total(label: object) -> bool:
    """Whether the label of a row or column is a word for a total or a mean; pandas calls margins of a pivot table All.

    >>> names_total("Grand total"), names_total("Mittelwert"), names_total("all of them"), names_total(3)
    (True, True, False, False)
    """
    return isinstance(label, str) and _TOTAL.fullmatch(label.strip()) is not None


def end_with_total(columns: Sequence[Sequence[float]]) -> bool:
    """Whether the last number of every column is the total or mean of others, rounded to its decimals.

    There must be three others in all. Those that are nan do not count, nor do columns of one repeated number: an item
    with that number is no mean.

    Examples
    --------
    >>> end_with_total([[1, 2, 3, 6]]), end_with_total([[1, 1, 2, 1.33]]), end_with_total([[1, 2, 3, 5]])
    (True, True, False)
    >>> end_with_total([[1, 1, 1, 1]]), end_with_total([[1, 1, 1, 1], [1, 2, 3, 6]])
    (False, True)
    >>> end_with_total([[1, 2, 3]]), end_with_total([[1, 2, 3], [2, math.nan, 2]])
    (False, True)
    """
    others = [[number for number in column[:-1] if not math.isnan(number)] for column in columns]
    return (
        sum(map(len, others)) >= 3
        and all(_is_total(column[-1], rest) for column, rest in zip(columns, others, strict=True))
        and any(min(column) < max(column) for column in columns)
    )


def _is_total(number: float, others: Sequence[float]) -> bool:
    if not others or not all(map(math.isfinite, (number, *others))):
        return False
    decimals = str(number).partition(".")[2]
    rounding = max(0.5 * 10.0 ** -len(decimals) if decimals else 0, 1e-9 * abs(number))
    total = math.fsum(others)
    return any(abs(number - value) <= rounding for value in (total, total / len(others)))


def json_values(table: TextTable, text: str, decoder: json.JSONDecoder) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON Lines, or of one list of objects or lists, each with its first line number."""
    place = _past_space(text, 0)
    is_list = text.startswith("[", place) and text.startswith(("{", "[", "]"), _past_space(text, place + 1))
    place = _past_space(text, place + is_list)
    line, n_read = 1, 0
    while place < len(text) and not (is_list and text[place] == "]"):
        line, n_read = line + text.count("\n", n_read, place), place
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            began = f", in the value that begins in line {line}" if error.lineno > line else ""
            table.fail(f"is not JSON: {error.msg}, column {error.colno}{began}", error.lineno)
        except RecursionError:
            table.fail("cannot be read as JSON: it is nested too deeply", line)
        except ValueError as error:
            table.fail(f"cannot be read as JSON: {error}", line)
        yield line, value
        place = _past_space(text, place)
        if is_list and text.startswith(",", place):
            place = _past_space(text, place + 1)
        elif is_list and not text.startswith("]", place):
            n_breaks = text.count("\n", n_read, place)
            table.fail("is not valid JSON: expected a comma or the end of the list", line + n_breaks)
    rest = _past_space(text, place + 1)
    if is_list and rest < len(text):
        table.fail("is not JSON: something follows the end of the list", line + text.count("\n", n_read, rest))


def _past_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()


def is_json(text: str) -> bool:
    r"""Whether a text begins as an object of JSON or an array of objects does.

    Examples
    --------
    >>> [is_json(text) for text in ('{ "q1": {', '[\n  {"query_id"', '{q1} 0 d1 2', '[1] Q0 d1 1 0.5 bm25')]
    [True, True, False, False]
    """
    return _JSON.match(text) is not None


def is_markup(text: str) -> bool:
    """Whether a text is one element of XML or HTML, from a tag at its beginning to the same at its end.

    Examples
    --------
    >>> is_markup("<pairs><pair>gem, jewel, 3.94</pair></pairs>"), is_markup("<unk>,<s>,3.94")
    (True, False)
    """
    root = _ROOT.match(text)
    return root is not None and re.search(rf"</{re.escape(root[1])}\s*>\s*\Z", text[-1_000:]) is not None


def delimiters_of(text: str) -> tuple[int, list[str]]:
    """Line number of the first line that is not blank, and the delimiters that it has outside quotes."""
    start = next(match.start() for match in re.finditer(r"\S", text))
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    line = 1 + len(_BREAK.findall(text, 0, begin))
    delimiters, state = set(), "start"  # of a cell; then "plain", or "quoted" and "closed"
    for character in text[begin:]:
        if state == "quoted":
            state = "closed" if character == '"' else state
        elif character == '"' and state in {"start", "closed"}:  # a doubled quote closes and opens again
            state = "quoted"
        elif character in "\r\n":
            break
        else:
            state = "start" if character in _DELIMITERS else "plain"
            delimiters.update({character} & _DELIMITERS.keys())
    return line, [d for d in _DELIMITERS if d in delimiters]


def _describe_csv_fault(message: str, delimiter: str) -> str:
    if "field larger" in message:
        return f"a cell of more than {csv.field_size_limit()} characters; is a quote left open?"
    if "unexpected end" in message:
        return "a quote is opened here and never closed"
    if "expected after" in message:
        return f"no {_DELIMITERS.get(delimiter, 'space')} after a closing quote; quotes inside a cell must be doubled"
    return message


Kind: TypeAlias = Literal["codes", "text", "numbers"]

LEAST_BYTES: Final = 1 << 20  # the exact reader takes .2 s for them, as long as importing pyarrow
_BLOCK_BYTES: Final = 1 << 22
_THREADED_BYTES: Final = 1 << 27  # smaller files are read by one thread in about a second, and with 60 MB less
_EXACT: Final = 2.0**53


def read_plain(
    data: bytes, separator: str, n_columns: int, kinds: Mapping[int, Kind], *, start: int = 0
) -> dict[int, Any] | None:
    r"""Return columns of a plain table by their positions; None if it is small or not plain, or without pyarrow.

    Parameters
    ----------
    data : bytes
        Lines in UTF-8.
    separator : str
    n_columns : int
        Number of cells in each line, at least 2.
    kinds : mapping of int to {"codes", "text", "numbers"}
        The columns to read: as a dictionary column of Arrow, where most cells repeat, as one of text, or as an array of
        float64.
    start : int
        Where the first line after the header begins.

    Examples
    --------
    >>> columns = read_plain(b"a 1\nb 2.5\n" * 500_000, " ", 2, {0: "codes", 1: "numbers"})
    >>> columns is None or columns[1][:2].tolist()
    [1.0, 2.5]
    >>> read_plain(b'"a" 1\n' * 500_000, " ", 2, {0: "text"}) is None
    True
    """
    if len(data) < LEAST_BYTES or n_columns < 2 or not is_plain(data, separator, n_columns, start):
        return None
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    codes = pa.dictionary(pa.int32(), pa.string())
    types = {str(column): codes if kind == "codes" else pa.string() for column, kind in kinds.items()}
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(data).slice(start),
            arrow_csv.ReadOptions(
                column_names=list(map(str, range(n_columns))),
                block_size=_BLOCK_BYTES,
                use_threads=len(data) >= _THREADED_BYTES,
            ),
            arrow_csv.ParseOptions(delimiter=separator, quote_char=False),
            arrow_csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
        columns: dict[int, Any] = {}
        for column, kind in kinds.items():
            cells = table[str(column)].unify_dictionaries()
            columns[column] = _numbers(cells) if kind == "numbers" else cells
            if columns[column] is None or (kind == "codes" and _has_long_cells(cells)):
                return None
    except pa.ArrowException:
        return None
    return columns


def is_plain(data: bytes, separator: str, n_columns: int, start: int = 0) -> bool:
    """Whether lines have no quotes, null bytes or lone carriage returns, no cell begins with a space, none is empty."""
    between = separator.encode()
    empty = b"\n" + between * (n_columns - 1)
    odd = (b'"', b"\0", b"\r", b"\n\n", between + b" ", empty + b"\n")
    is_odd = any(data.find(sign, max(start - 1, 0)) >= 0 for sign in odd)
    return not is_odd and not data.startswith(b"\n", start) and not data.endswith(empty)


def plain_bytes(data: bytes) -> bytes:
    r"""Return a text without its byte order mark, and with lines that end by \n where they ended by \r\n."""
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def _numbers(cells: Any) -> NDArray[np.float64] | None:
    """Numbers of a column of text; None if the exact reader would read one differently, or refuse it."""
    import pyarrow as pa

    numbers: NDArray[np.float64] = cells.cast(pa.float64()).to_numpy() + 0.0  # no negative zero
    is_odd = ~np.isfinite(numbers) | (numbers == 0) | (np.abs(numbers) >= _EXACT)
    for text in cells.filter(pa.array(is_odd)).unique().to_pylist():
        try:
            number = parse_number(text)
        except OverflowError:
            return None
        if number is None or abs(number) == math.inf or abs(number) >= _EXACT or math.copysign(1, number) < 0:
            return None
    return numbers


def _has_long_cells(column: Any) -> bool:
    """Whether a cell is too long for the exact reader."""
    from pyarrow import compute

    most = compute.max(compute.utf8_length(column.chunk(0).dictionary)).as_py() if column.num_chunks else 0
    return (most or 0) > csv.field_size_limit()
