"""Read organisers' tables: items and their contents, listing all errors by line, and pairs with known answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

import sqlalchemy as sa

from adaptive._formats.votes import VoteFile, VoteRow, read_votes
from adaptive._tables import Label, header_and_records, item_label_columns, label_in, named_column, open_table
from adaptive.ledger._campaign.info import KINDS, KnownPair
from adaptive.ledger._campaign.pages import ItemContent, content_faults, is_asset
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._store import schema
from adaptive.ledger.errors import LedgerError
from rankcorr._checks import shown
from rankcorr._io.table import Record, TextTable
from rankcorr.errors import TableError

T = TypeVar("T")
_MOST_FAULTS: Final = 100
_CONTENT: Final = ("kind", "content", "alt_text")


@dataclass(frozen=True)
class ItemFault:
    r"""An error in a table of items.

    Attributes
    ----------
    line : int or None
        First line of the row; None for the table as a whole.
    column : str or None
    message : str

    See Also
    --------
    ItemSheet : Lists the faults as `faults`.
    read_item_file : Raises the first fault as an error.

    Examples
    --------
    >>> from adaptive.ledger import read_item_sheet
    >>> fault = read_item_sheet(b"item,kind\nfig,text\nplum,video\n").faults[0]
    >>> fault.line, fault.column
    (3, 'kind')
    >>> print(fault.message)
    the kind of an item is text, markdown, image or audio; got 'video'
    """

    line: int | None
    column: str | None
    message: str

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}: "
        column = "" if self.column is None else f'column "{self.column}": '
        return f"{line}{column}{self.message}"


@dataclass(frozen=True)
class ItemSheet:
    r"""The items of a table.

    Attributes
    ----------
    items : tuple of str, or of tuple of str
        Items of the rows without a fault, in their order.
    contents : tuple of ItemContent
        Content shown for each item.
    faults : tuple of ItemFault
        The first hundred faults.

    See Also
    --------
    read_item_sheet : Returns it.
    ItemFault : The type of its faults.

    Examples
    --------
    >>> from adaptive.ledger import read_item_sheet
    >>> sheet = read_item_sheet(b"item,kind,content\nfig,markdown,**fig**\nplum,,\nfig,,\n")
    >>> sheet.items, sheet.contents[0].content, len(sheet.faults)
    (('fig', 'plum'), '**fig**', 1)
    """

    items: tuple[Label, ...]
    contents: tuple[ItemContent, ...]
    faults: tuple[ItemFault, ...]

    def checked(self) -> ItemSheet:
        """Return the sheet itself if it has no fault.

        Raises
        ------
        TableError
            If there is a fault; the message has the first five.
        """
        if not self.faults:
            return self
        more = len(self.faults) - 5
        text = "; ".join(str(fault) for fault in self.faults[:5])
        raise TableError(text + (f"; and {more} more" if more > 0 else ""))


def read_item_sheet(data: bytes, *, why_no_file: Callable[[str], str | None] | None = None) -> ItemSheet:
    r"""Read items and their contents from CSV or TSV in UTF-8.

    The columns are item (or item_1, item_2, ...) and, optionally, kind (text, markdown, image or audio), content and
    alt_text. If the content is empty, the label is shown. Other columns are ignored.

    Parameters
    ----------
    data : bytes
    why_no_file : callable or None
        Function that is given the path of an image or a recording, and returns why it cannot be shown, or None. None:
        files are not checked.

    See Also
    --------
    read_item_file : The same for a file.
    ItemSheet : The type of the result.

    Examples
    --------
    >>> from adaptive.ledger import read_item_sheet
    >>> rows = b"fig,image,fig.png,A ripe fig\nplum,image,plum.png,\nfig,,,\n"
    >>> sheet = read_item_sheet(b"item,kind,content,alt_text\n" + rows)
    >>> sheet.items
    ('fig',)
    >>> for fault in sheet.faults:
    ...     print(fault)
    line 3: column "alt_text": an item of kind image needs a text that says what it is (alt_text); got none
    line 4: column "item": 'fig' is also on line 2; items must be unique
    """
    reading = _Reading(_Table("items", error=_FaultError, data=data), why_no_file)
    rows = reading.rows()
    return ItemSheet(tuple(item for item, _ in rows), tuple(content for _, content in rows), tuple(reading.faults))


def read_item_file(path: str | os.PathLike[str]) -> tuple[tuple[Label, ...], tuple[ItemContent, ...]]:
    r"""Return the items of a file, as read by `adaptive._tables.read_items`, and their contents.

    Images and recordings are not checked, because another machine may serve them.

    Raises
    ------
    TableError
        For the first error, with file, line and column.

    See Also
    --------
    read_item_sheet : The same for bytes; lists all faults.
    ItemContent : The type of the contents.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import read_item_file
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "items.csv")
    ...     _ = file.write_text("item,kind,content\nfig,markdown,**fig**\nplum,,\n")
    ...     read_item_file(file)[1][0]
    ItemContent(kind='markdown', content='**fig**', alt_text=None)
    """
    table, header, records = open_table(path, "item")
    reading = _Reading(table, None)
    columns, content = reading.columns_of(header)
    rows = [row for record in records if (row := reading.row(header, record, columns, content)) is not None]
    if not rows:
        table.fail("no items, only the names of the columns", header.line)
    return tuple(item for item, _ in rows), tuple(content for _, content in rows)


def contents_of(transaction: Transaction) -> tuple[ItemContent, ...]:
    """Return the content shown for each item of a campaign, by place."""
    table = schema.item
    contents = sa.select(table.c.kind, table.c.content, table.c.alt_text).where(
        table.c.campaign_id == transaction.info.id
    )
    return tuple(ItemContent(*row) for row in transaction.execute(contents.order_by(table.c.place)))


class _FaultError(TableError):
    """A fault before it is added to the list."""

    def __init__(self, message: str, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.fault = ItemFault(line, column, message)


class _Table(TextTable):
    def fail(self, message: str, line: int | None = None, column: str | None = None) -> NoReturn:
        """Raise a fault whose location is not part of the message."""
        raise _FaultError(message, line, column)


class _Reading:
    """A single pass through a table, which continues after a row with a fault."""

    def __init__(self, table: TextTable, why_no_file: Callable[[str], str | None] | None) -> None:
        self.table = table
        self.why_no_file = why_no_file
        self.faults: list[ItemFault] = []
        self._lines: dict[Label, int] = {}

    def rows(self) -> list[tuple[Label, ItemContent]]:
        """Return items and contents of the rows without a fault."""
        opened = self._collect_fault(self._open)
        if opened is None:
            return []
        header, records, columns, content = opened
        rows = []
        while (record := self._collect_fault(lambda: next(records, None))) is not None and len(
            self.faults
        ) < _MOST_FAULTS:
            row = self.row(header, record, columns, content)
            if row is not None:
                rows.append(row)
        del self.faults[_MOST_FAULTS:]  # a row may have several
        if len(rows) < 2 and not self.faults:
            got = "no items, only the names of the columns" if not rows else "a single item"
            self.faults.append(ItemFault(None, None, f"{got}; two are needed to compare"))
        return rows

    def _open(self) -> Any:
        text = self.table.text()
        header, records = header_and_records(self.table, text, "item")
        return header, records, *self.columns_of(header)

    def columns_of(self, header: Record) -> tuple[Sequence[int], dict[str, int]]:
        """Return the positions of the label columns and of the content columns."""
        columns = item_label_columns(self.table, header)
        return columns, {name: places[0] for name in _CONTENT if (places := named_column(self.table, header, name))}

    def row(
        self, header: Record, record: Record, columns: Sequence[int], places: dict[str, int]
    ) -> tuple[Label, ItemContent] | None:
        """Return item and content of a row; if it has errors, add all of them to the faults and return None."""
        n_faults = len(self.faults)
        item = self._collect_fault(lambda: self._item(header, record, columns))
        if len(record.cells) != len(header.cells):
            return None  # the fault of the item is already listed
        cells = {name: record.cells[place].strip() or None for name, place in places.items()}
        kind: Any = cells.get("kind") or "text"
        content, alt_text = cells.get("content"), cells.get("alt_text")
        for name, message in content_faults(kind, content, alt_text):
            self._complain(message, record.line, name)
        if self.why_no_file is not None and kind in ("image", "audio") and content is not None and is_asset(content):
            why = self.why_no_file(content)
            if why is not None:
                self._complain(why, record.line, "content")
        if item is None or len(self.faults) > n_faults:
            return None
        return item, ItemContent(kind, content, alt_text)

    def _item(self, header: Record, record: Record, columns: Sequence[int]) -> Label:
        item = label_in(self.table, header, record, columns)
        if item in self._lines:
            message = f"{shown(item)} is also on line {self._lines[item]}; items must be unique"
            self.table.fail(message, record.line, header.cells[columns[0]])
        self._lines[item] = record.line
        return item

    def _complain(self, message: str, line: int, column: str) -> None:
        self._collect_fault(lambda: self.table.fail(message, line, column))

    def _collect_fault(self, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except _FaultError as error:
            self.faults.append(error.fault)
            return None


def read_known_pairs(
    path: str | os.PathLike[str], items: Collection[Hashable], *, data: bytes | None = None
) -> tuple[KnownPair, ...]:
    r"""Read pairs whose answer is known from a CSV or TSV file in UTF-8.

    Its columns are left and right (or left_1, left_2, ...), winner (the expected answer: left, right or tie) and kind
    (practice, attention or gold). Other columns are ignored.

    Parameters
    ----------
    path : str or path-like
    items : collection of hashable
        Labels of the campaign.
    data : bytes, optional
        Contents of the file if it was already read; `path` is then its name.

    Raises
    ------
    TableError
        If a column is missing, an item is not in the campaign, a pair is repeated or is a single item, an answer is
        missing, or a kind is unknown; the message gives file and line. Also if the file cannot be read.
    VoteError
        If the winner is unknown; the message gives file and line.

    See Also
    --------
    KnownPair : The type of a pair.
    Probing : Takes them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import read_known_pairs
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "checks.csv")
    ...     _ = file.write_text("left,right,winner,kind\napple,stone,left,attention\n")
    ...     read_known_pairs(file, ["apple", "pear", "stone"])
    (KnownPair(kind='attention', left='apple', right='stone', expected='left'),)
    """
    file = read_votes(path, format="csv", data=data).file()
    known, lines = set(items), dict[frozenset[Hashable], int]()
    known_pairs = []
    for row in file.rows:
        pair = _known_pair(file, row)
        for label in (pair.left, pair.right):
            if label not in known:
                raise TableError(f"{file.name}:{row.line}: {shown(label)} is not an item of the campaign")
        both = frozenset([pair.left, pair.right])
        if both in lines:
            raise TableError(f"{file.name}:{row.line}: this pair is also on line {lines[both]}")
        lines[both] = row.line
        known_pairs.append(pair)
    return tuple(known_pairs)


def _known_pair(file: VoteFile, row: VoteRow) -> KnownPair:
    kind = dict(row.extra).get("kind", "")
    if kind not in KINDS:
        raise TableError(
            f'{file.name}:{row.line}: column "kind" must be practice, attention or gold; got {shown(kind)}'
        )
    if row.answer is None:
        raise TableError(f'{file.name}:{row.line}: column "winner" must hold the expected answer: left, right or tie')
    try:
        return KnownPair(kind, row.left, row.right, row.answer)  # type: ignore[arg-type]
    except LedgerError as error:
        raise TableError(f"{file.name}:{row.line}: {error}") from None
