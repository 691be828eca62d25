"""Tables of a voting: items and votes come in, items and comparisons go out.

An item is named by one column, ``item``, or by one for each of its parts, ``item_1``, ``item_2``, ...; it is then a
tuple. The sides of a comparison are named alike: ``left`` and ``right``, or ``left_1``, ``left_2``, ...
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from adaptive.columns import Label, check_width, label_columns, label_in, named_column, open_table, text_in
from adaptive.draw import Ballot
from adaptive.errors import TableError, VoteError
from adaptive.pairing import Pairing
from adaptive.votes import Comparison, Vote, parse_vote
from rankcorr.checks import shown
from rankcorr.io.records import Record, listed

__all__ = [
    "VoteFile",
    "VoteRow",
    "comparisons_csv",
    "csv_text",
    "item_cells",
    "item_columns",
    "pairing_csv",
    "read_items",
    "read_vote_file",
]


class VoteRow(NamedTuple):
    """One row of a file of votes; what the file has no column for is None.

    Attributes
    ----------
    line : int
        Line of its first character.
    comparison, voter : str or None
    left, right : str, tuple of str, or None
    vote : Vote
        UNANSWERED for an empty cell, and where the voter cannot say.
    answer : str or None
        The winner's cell; None if it is empty.
    extra : tuple of (str, str)
        Name and cell of the other columns, as far as they are filled.
    """

    line: int
    comparison: str | None
    voter: str | None
    left: Label | None
    right: Label | None
    vote: Vote
    answer: str | None = None
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class VoteFile:
    """The rows of a file of votes.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    rows : tuple of VoteRow
    """

    name: str
    rows: tuple[VoteRow, ...]

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise a `VoteError` with its place."""
        raise VoteError(f"{self.name}{'' if line is None else f':{line}'}: {message}")

    def as_ballot(self) -> tuple[Ballot, NDArray[np.int8]]:
        """Return the comparisons as a ballot for one voter, and its answers; items are in the order of the file.

        Raises
        ------
        VoteError
            With file and line: an item against itself, or a comparison that appears twice.
        """
        index: dict[Label, int] = {}
        lines: dict[str, int] = {}
        pairs = []
        for row in self.rows:
            if row.left is None or row.right is None:
                self.fail("the items of a comparison are wanted, left and right", row.line)
            if row.left == row.right:
                self.fail(f"{shown(row.left)} is compared with itself", row.line)
            if row.comparison is not None and lines.setdefault(row.comparison, row.line) != row.line:
                self.fail(f"comparison {shown(row.comparison)} is also on line {lines[row.comparison]}", row.line)
            pairs.append([index.setdefault(item, len(index)) for item in (row.left, row.right)])
        left, right = np.array(pairs, np.int32).T
        most = int(np.bincount(left).max())
        ballot = Ballot(tuple(index), most, range(1), left, right, np.zeros(len(pairs), np.int32))
        return ballot, np.array([row.vote for row in self.rows], np.int8)


def read_items(path: str | os.PathLike[str]) -> tuple[Label, ...]:
    r"""Read the items of a CSV or TSV file in UTF-8, from the column item or the columns item_1, item_2, ...

    Other columns are not read, and blank lines hold no item.

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
        With file, line and column: no such column; a cell that is empty, begins or ends with a space or has several
        lines; an item that appears twice; no item at all. Also when the file cannot be read.

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
    table, header, records = open_table(path, "item")
    columns = label_columns(table, header, "item")
    if not columns:
        table.fail(
            f'a column "item" is wanted, or "item_1", "item_2", ...; the columns are {listed(header.cells)}',
            header.line,
        )
    lines: dict[Label, int] = {}
    for record in records:
        item = label_in(table, header, record, columns)
        if item in lines:
            table.fail(f"item {shown(item)} is also on line {lines[item]}; items must be unique", record.line)
        lines[item] = record.line
    if not lines:
        table.fail("no items, only the names of the columns", header.line)
    return tuple(lines)


def read_vote_file(
    path: str | os.PathLike[str], *, needed: Sequence[str], cannot_say: bool = False, data: bytes | None = None
) -> VoteFile:
    r"""Read votes from a CSV or TSV file in UTF-8.

    The columns are comparison, voter, left (or left_1, left_2, ...), right and winner, in any order. The winner is
    "left", "right" or "tie", or empty where the comparison is not answered. The cells of other columns are kept.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.
    needed : sequence of str
        Columns that must be present; the others of these five may be missing.
    cannot_say : bool
        Whether the winner may be "cannot say" too.
    data : bytes, optional
        What the file holds, where it was read already; `path` is its name then.

    Raises
    ------
    TableError
        With file, line and column: a column that is missing or repeated; a cell that is empty, begins or ends with
        a space or has several lines; no row at all. Also when the file cannot be read.
    VoteError
        With file, line and column: an unknown winner.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "votes.csv")
    ...     _ = file.write_text("left,right,winner\napple,pear,left\npear,plum,\n")
    ...     votes = read_vote_file(file, needed=["left", "right", "winner"])
    >>> votes.rows[0].left, votes.rows[0].vote.name, votes.rows[1].vote.name
    ('apple', 'LEFT', 'UNANSWERED')
    """
    table, header, records = open_table(path, "winner", data=data)
    stems = ("comparison", "voter", "left", "right", "winner")
    columns = {
        stem: label_columns(table, header, stem) if stem in {"left", "right"} else named_column(table, header, stem)
        for stem in stems
    }
    for stem in needed:
        if not columns[stem]:
            names = ", ".join(needed)
            table.fail(
                f'no column "{stem}"; the columns {names} are wanted, and {listed(header.cells)} came', header.line
            )
    if len(columns["left"]) != len(columns["right"]):
        table.fail(
            f"as many columns are wanted for left as for right; got {len(columns['left'])} and {len(columns['right'])}",
            header.line,
        )

    def label(record: Record, stem: str) -> Label | None:
        return label_in(table, header, record, columns[stem]) if columns[stem] else None

    def cell(record: Record, stem: str) -> str | None:
        return text_in(table, header, record, columns[stem][0]) if columns[stem] else None

    known = {place for places in columns.values() for place in places}
    others = [(name, place) for place, name in enumerate(header.cells) if place not in known]
    rows = []
    for record in records:
        check_width(table, header, record)
        winner = record.cells[columns["winner"][0]] if columns["winner"] else ""
        is_open = not winner.strip() or (cannot_say and winner == "cannot say")
        try:
            vote = Vote.UNANSWERED if is_open else parse_vote(winner)
        except VoteError as error:
            also = ", or 'cannot say'" if cannot_say else ""
            raise VoteError(
                f'{table.name}:{record.line}: column "winner": {error}{also}; an empty cell is no vote'
            ) from None
        left, right = label(record, "left"), label(record, "right")
        ids = cell(record, "comparison"), cell(record, "voter")
        extra = tuple((name, record.cells[place]) for name, place in others if record.cells[place].strip())
        rows.append(VoteRow(record.line, *ids, left, right, vote, winner if winner.strip() else None, extra))
    if not rows:
        table.fail("no votes, only the names of the columns", header.line)
    return VoteFile(table.name, tuple(rows))


def item_cells(item: Hashable) -> tuple[str, ...]:
    """Cells that name an item, as text.

    Examples
    --------
    >>> item_cells(("salary", "wage")), item_cells(7)
    (('salary', 'wage'), ('7',))
    """
    return tuple(str(part) for part in item) if isinstance(item, tuple) else (str(item),)


def item_columns(stem: str, items: Iterable[Hashable]) -> list[str]:
    """Names of the columns that hold items.

    Raises
    ------
    TableError
        When the items are tuples of several lengths, or only some are tuples.

    Examples
    --------
    >>> item_columns("left", [("salary", "wage"), ("salary", "tax")]), item_columns("left", ["salary", "tax"])
    (['left_1', 'left_2'], ['left'])
    """
    lengths = {len(item) if isinstance(item, tuple) else 0 for item in items}
    if len(lengths) > 1:
        raise TableError(f"the items of a table are all single labels or all of one length; got {sorted(lengths)}")
    return [f"{stem}_{part}" for part in range(1, max(lengths, default=0) + 1)] or [stem]


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
            own = io.StringIO()
            csv.writer(own, lineterminator="\r\n").writerow(row)
            file.write(own.getvalue()[:-2] + "\n")
        else:
            writer.writerow(row)
    return file.getvalue()


def pairing_csv(pairing: Pairing) -> str:
    """Items of `adaptive.pairing.pair_tokens` as CSV: item_1, item_2, area and, if frequencies are known, rare.

    Examples
    --------
    >>> from adaptive.pairing import pair_tokens
    >>> print(pairing_csv(pair_tokens([("salary", "work"), ("wage", "work")])), end="")
    item_1,item_2,area
    salary,wage,work
    """
    areas = ("" if area is None else area for area in pairing.areas)
    if pairing.rare is None:
        rows = [(*item, area) for item, area in zip(pairing.items, areas, strict=True)]
        return csv_text(["item_1", "item_2", "area"], rows)
    rare = ("yes" if rare else "no" for rare in pairing.rare)
    marked = [(*item, area, mark) for item, area, mark in zip(pairing.items, areas, rare, strict=True)]
    return csv_text(["item_1", "item_2", "area", "rare"], marked)


def comparisons_csv(comparisons: Sequence[Comparison]) -> str:
    """Comparisons as CSV, voter by voter, with an empty column for the winner; each voter's are in ballot order.

    Parameters
    ----------
    comparisons : sequence of Comparison
        In the order of the ballot.

    Raises
    ------
    TableError
        As `item_columns`.

    Examples
    --------
    >>> shown = [Comparison("1-0", "Bob", "apple", "pear"), Comparison("1-1", "Ann", "pear", "plum"),
    ...          Comparison("1-2", "Bob", "plum", "apple")]
    >>> print(comparisons_csv(shown), end="")
    comparison,voter,left,right,winner
    1-0,Bob,apple,pear,
    1-2,Bob,plum,apple,
    1-1,Ann,pear,plum,
    """
    items = {item for comparison in comparisons for item in (comparison.left, comparison.right)}
    header = ["comparison", "voter", *item_columns("left", items), *item_columns("right", items), "winner"]
    by_voter: dict[Hashable, list[Comparison]] = {}
    for comparison in comparisons:
        by_voter.setdefault(comparison.voter, []).append(comparison)
    # Voters that are numbers are sorted; names stay in the order of the ballot.
    if all(isinstance(voter, int) for voter in by_voter):
        by_voter = dict(sorted(by_voter.items()))
    rows = (
        [each.id, " ".join(item_cells(each.voter)), *item_cells(each.left), *item_cells(each.right), ""]
        for own in by_voter.values()
        for each in own
    )
    return csv_text(header, rows)
