"""Read and write tables as text: find columns, check rows and cells, read items, and write CSV; define rows of results.

The names, types and meanings of these rows are those of tables, JSON and HTTP answers.

One column names an item, ``item``, or one for each of its parts, ``item_1``, ``item_2``, ..., which make a tuple. The
sides of a comparison follow the same pattern: ``left`` and ``right``, or ``left_1``, ``left_2``, ...
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import chain
from typing import Any, Final, TypeAlias

from rankcorr._checks import real_number, shown
from rankcorr._io.source import path_text
from rankcorr._io.table import Record, TextTable, delimiters_of, is_formula, list_names, parse_number
from rankcorr.errors import TableError

Label: TypeAlias = str | tuple[str, ...]
_WITH_DECIMALS: Final = re.compile(r"(-?[0-9]+)\.0+")
# Invisible but needed characters: ZWNJ in Persian, ZWJ in Indic scripts and emoji, soft hyphens, word joiners, and
# marks of direction (left-to-right, right-to-left, Arabic), which affect only their neighbours.
_JOINERS: Final = frozenset("\u200c\u200d\u00ad\u2060\u200e\u200f\u061c")


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


def is_line(text: str) -> bool:
    r"""Return whether a text is a single line with at least one visible character.

    See Also
    --------
    PageTexts : Its `title` and `question` must be lines.

    Examples
    --------
    >>> from adaptive.ledger import is_line
    >>> is_line("Qui va là\u202f?"), is_line("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"), is_line("\u200d")
    (True, True, False)
    >>> is_line("a\nb"), is_line("a\x07"), is_line("user\u202egpj.exe")
    (False, False, False)
    """
    is_seen = any(char.isprintable() and char != " " for char in text)
    return is_seen and all(
        char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs" for char in text
    )


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


def item_name(item: Hashable) -> str:
    """Return an item, or a voter of a plan, as one line of text: the parts of a tuple with spaces between them."""
    return " ".join(item_cells(item))


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


def names_of(row: type[Any]) -> tuple[str, ...]:
    """Return the columns of a table with rows of this kind.

    >>> names_of(OtherParameter)
    ('name', 'estimate', 'standard_error')
    """
    return tuple(field.name for field in fields(row))


@dataclass(frozen=True)
class ItemStrength:
    """An item in the table of fitted strengths.

    Attributes
    ----------
    item : hashable
    rank : float
    strength : float
        Mean 0; larger is better.
    standard_error : float or None
        None if it was not computed.
    presentations, wins, ties, losses : int
    """

    item: Hashable
    rank: float
    strength: float
    standard_error: float | None
    presentations: int
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class FittedVoter:
    """A voter whose parameters were fitted.

    Attributes
    ----------
    voter : hashable
    discrimination : float
        1 is the geometric mean of the voters.
    oversight : float
        Probability of a slip.
    side_bias : float
        Above 0: prefers the left side.
    """

    voter: Hashable
    discrimination: float
    oversight: float
    side_bias: float


class KnownValues:
    """A row whose values may be unknown."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values that are known."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class ChoiceItem(KnownValues):
    """An item in the table of strengths fitted to choices of any kind.

    Attributes
    ----------
    item : hashable
    rank : float
    strength : float
        Mean 0; larger is better.
    standard_error : float
    elo : float or None
        1000 + 400 / ln 10 times the strength; only if it was requested.
    rank_low : int
        First rank of the interval.
    rank_high : int
        Last rank of the interval.
    strength_low, strength_high : float
        Ends of the interval of the strength, by Student's t distribution if there are clusters.
    presentations, wins, ties, losses : float or None
        Of votes on pairs only, with their weights.
    """

    item: Hashable
    rank: float
    strength: float
    standard_error: float
    elo: float | None
    rank_low: int
    rank_high: int
    strength_low: float
    strength_high: float
    presentations: float | None = None
    wins: float | None = None
    ties: float | None = None
    losses: float | None = None


@dataclass(frozen=True)
class OtherParameter:
    """A fitted parameter that is no strength.

    Attributes
    ----------
    name : str
        tie, side, grade 1, tie of 2, or a covariate.
    estimate, standard_error : float
    """

    name: str
    estimate: float
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class CampaignRow(KnownValues):
    """An item in the ranking of a campaign.

    Attributes
    ----------
    item : hashable
    rank : float
    ybar : float or None
        Mean of the paper's rescaled scores; only if they determine the rank, as do the next five.
    presentations, wins, ties, losses : int or None
    last_ballot : int or None
    strength : float
    standard_error : float or None
        Only if the ranking has a cut, as all that follow.
    rank_low, rank_high : float or None
        Ends of the interval of the rank.
    in_top : float or None
        Probability that the item belongs to the top.
    rank_low_anytime, rank_high_anytime : float or None
        Holds for all items at once, however often one looks while votes come in.
    """

    item: Hashable
    rank: float
    ybar: float | None = None
    presentations: int | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    last_ballot: int | None = None
    strength: float
    standard_error: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    in_top: float | None = None
    rank_low_anytime: float | None = None
    rank_high_anytime: float | None = None


@dataclass(frozen=True)
class JudgePower:
    """The part that a program judge has in prediction-powered strengths.

    Attributes
    ----------
    judge : hashable
    weight : float
        Of the judge: 0 for people alone.
    n_prompts : int
        Prompts with votes of people and of the judge.
    """

    judge: Hashable
    weight: float
    n_prompts: int


@dataclass(frozen=True)
class PairRow:
    """An item in the table of a pairing: two tokens.

    Attributes
    ----------
    item_1, item_2 : str
    area : str or None
        The first that both have; None where they share none.
    rare : bool or None
        Whether one of them is rare, where frequencies are given.
    """

    item_1: str
    item_2: str
    area: str | None
    rare: bool | None = None


@dataclass(frozen=True)
class SimulatedCoefficient:
    """A coefficient with the true ranking, over all simulations.

    Attributes
    ----------
    mean : float
    sd : float
        Standard deviation over the simulations; nan for a single one.
    se : float
        Standard error of the mean, sd / sqrt(n_simulations); nan for a single one.
    """

    mean: float
    sd: float
    se: float


@dataclass(frozen=True)
class VoterComparisons:
    """The comparisons of one voter.

    Attributes
    ----------
    voter : hashable
    left : list of hashable
        The item on the left of each comparison.
    right : list of hashable
        The item on the right of each comparison.
    """

    voter: Hashable
    left: list[Hashable]
    right: list[Hashable]


@dataclass(frozen=True)
class NextComparisons:
    """Comparisons to show next, in this order, by their labels.

    Attributes
    ----------
    left : list of hashable
        The item on the left of each comparison.
    right : list of hashable
        The item on the right of each comparison.
    voter : list of hashable
        The voter to ask.
    prompt : list of hashable or None
        The prompt to compare within, if there are prompts.
    """

    left: list[Hashable]
    right: list[Hashable]
    voter: list[Hashable]
    prompt: list[Hashable] | None = None


@dataclass(frozen=True)
class NextBallot:
    """The ballot to draw next.

    Attributes
    ----------
    number : int
    items : tuple of hashable
        Best first.
    presentations : int
    """

    number: int
    items: tuple[Hashable, ...]
    presentations: int
