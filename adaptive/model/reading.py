"""Read comparisons from CSV, TSV and JSON Lines, of this library and of others; errors name file, line and column.

bytes -> text -> rows -> layout -> columns -> Comparisons. Nothing is dropped, and no unknown winner becomes a tie.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ComparisonError, TableError, VoteError
from adaptive.model.columns import columns_of_labels
from adaptive.model.comparisons import Comparisons
from adaptive.model.labels import Where, coded_labels
from adaptive.model.layouts import FORMATS, LAYOUTS, Format, Layout, answers_in, is_blank
from adaptive.model.rows import WHOLE_NUMBER, Rows, rows_of
from adaptive.protocol import Items, checked_labels
from adaptive.votes import LEFT
from rankcorr.checks import check_choice, shown
from rankcorr.errors import OptionError
from rankcorr.io.records import TextTable

__all__ = ["read_comparisons"]

_SIDES: Final = ("left", "right")
# Numbers of pairs stand for all items below them: ids of another kind would ask for gigabytes.
MAX_SPARSE: Final = 100_000
SPARSENESS: Final = 100


def read_comparisons(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002 - what the option is called elsewhere too
    voter_column: str | None = None,
    items: Items | None = None,
) -> Comparisons:
    r"""Read comparisons from a file in UTF-8, which may be compressed by gzip.

    CSV and TSV name their columns in the first line; JSON Lines has an object with these keys in each line. Other
    columns are not read.

    ========== ============================================= ===================================== =================
    format     items                                         winner                                voter
    ========== ============================================= ===================================== =================
    "ballots"  left, right, or left_1, left_2, ..., right_1  left, right, tie; empty: unanswered   voter, if it is there
    "evalica"  left, right                                   left, right, tie                      none
    "arena"    model_a, model_b                              model_a, model_b, tie, tie (bothbad), judge, if it is
                                                             both_bad                              there
    "choix"    winner, loser: whole numbers from 0           winner                                none
    ========== ============================================= ===================================== =================

    In "ballots", a winner "cannot say" is no answer either.

    The first line of a file of "choix" may be a pair already; in JSON Lines a pair may be a list.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.
    format : {"auto", "ballots", "evalica", "arena", "choix"}
        "auto" finds the format by the names of the columns. Columns left and right are of "ballots" if there is a
        column comparison or voter too, or if items have parts.
    voter_column : str, optional
        Column of the voters, if it is not that of the table above.
    items : int or sequence of hashable, optional
        All items there may be; any other is an error. By default those of the file, in the order of first appearance,
        and for "choix" 0 to the largest number.

    Returns
    -------
    Comparisons

    Raises
    ------
    TableError
        With file, line and column: columns that are of no format or of several, are missing or come twice; a cell that
        is empty or no label; a row that is too short or too long; no row at all. Also when the file cannot be read, and
        when numbers of "choix" ask for over 100,000 items, and 100 for each that is compared.
    VoteError
        With file, line and column: an unknown winner.
    ComparisonError
        With file, line and column: an item that is not among `items`, an item against itself, or a comparison whose id
        came before.
    OptionError
        An unknown format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "battles.csv")
    ...     _ = file.write_text("model_a,model_b,winner,judge\ngnu,yak,model_b,Ann\nyak,emu,tie (bothbad),Bob\n")
    ...     votes = read_comparisons(file)
    >>> votes
    <Comparisons of 3 items: 2 comparisons, 1 tie, 2 voters>
    >>> votes.wins
    array([0, 1, 0])
    """
    return read_numbered(path, format=format, voter_column=voter_column, items=items).votes


@dataclass(frozen=True, eq=False)
class NumberedVotes:
    """Votes of a file, and the ids of its comparisons, in the order of the rows; none where the file has none."""

    votes: Comparisons
    ids: Sequence[Hashable]


def read_numbered(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002
    voter_column: str | None = None,
    items: Items | None = None,
) -> NumberedVotes:
    """Read what `read_comparisons` does, and the ids in the column comparison of the format "ballots"."""
    check_choice("format", format, FORMATS)
    if voter_column is not None and not isinstance(voter_column, str):
        raise OptionError(f"voter_column must be the name of a column; got {shown(voter_column)}")
    if not isinstance(path, str | os.PathLike):
        raise TableError(f"a file of comparisons is wanted, as text or a path; got {shown(path)}")
    table = TextTable(os.fspath(path), error=TableError)
    text = table.text()
    rows = rows_of(table, text)
    layout = rows.layout(format)
    ids = _checked_ids(rows, layout)
    voter_name = layout.voter if voter_column is None and layout.voter in rows.names else voter_column
    places = {"left": layout.left, "right": layout.right, "winner": layout.winner, "voter": voter_name}
    sides = rows.sides(layout.left, layout.right)
    voter = None if voter_name is None else rows.labels(voter_name)

    def where(column: str, row: int) -> str:
        name = places[column]
        return rows.place(row, f"{name}_1" if f"{name}_1" in rows.names and name not in rows.names else str(name))

    if layout.winner is None:
        return NumberedVotes(_from_numbers(sides, voter, items, where), ids)
    winners, words = answers_in(layout, rows.column(layout.winner))
    blank = next((row for row, winner in enumerate(winners) if is_blank(winner)), None)
    if blank is not None and not layout.has_unanswered:
        raise VoteError(
            f'{where("winner", blank)}: no winner; only the format "ballots" has comparisons without an answer'
        )
    columns = columns_of_labels(
        sides["left"], sides["right"], winners, voter=voter, items=items, words=words, where=where, codes=False
    )
    return NumberedVotes(Comparisons(*columns), ids)


def _checked_ids(rows: Rows, layout: Layout) -> list[Hashable]:
    """Ids of the comparisons, if there are any; one that came before is refused, because a vote would count twice."""
    if layout is not LAYOUTS["ballots"] or "comparison" not in rows.names:
        return []
    ids = rows.labels("comparison")
    if len(set(ids)) == len(ids):
        return ids
    lines: dict[Hashable, int] = {}
    for row, each in enumerate(ids):
        if each in lines:
            raise ComparisonError(
                f"{rows.place(row, 'comparison')}: comparison {shown(each)} is also on line {lines[each]}"
            )
        lines[each] = rows.lines[row]
    return ids


def _from_numbers(
    sides: Mapping[str, list[Hashable]], voter: list[Hashable] | None, items: Items | None, where: Where
) -> Comparisons:
    """Make comparisons of pairs of winner and loser, who are numbers from 0."""
    numbers = [np.array([_index(entry, side, row, where) for row, entry in enumerate(sides[side])]) for side in _SIDES]
    names = checked_labels(_n_numbered(numbers, where) if items is None else items, "items", ComparisonError)
    for side, column in zip(_SIDES, numbers, strict=True):
        if (wrong := np.flatnonzero(column >= len(names))).size:
            raise ComparisonError(
                f"{where(side, wrong[0])}: {column[wrong[0]]} is not one of the {len(names)} items, which count from 0"
            )
    if (alike := np.flatnonzero(numbers[0] == numbers[1])).size:
        raise ComparisonError(f"{where('right', alike[0])}: item {numbers[1][alike[0]]} is compared with itself")
    voters, voter_codes = None, None
    if voter is not None:
        voters, (voter_codes,) = coded_labels({"voter": voter}, None, "voter", where)
    winners = np.full(len(numbers[0]), LEFT, np.int8)
    return Comparisons(names, numbers[0], numbers[1], winners, voters, voter_codes)


def _n_numbered(numbers: list[NDArray[Any]], where: Where) -> int:
    """Number of items, of which the largest number is the last; TableError if hardly any of so many is compared."""
    n_items = 1 + int(max(map(np.max, numbers)))
    n_named = np.unique(np.concatenate(numbers)).size
    if n_items > max(MAX_SPARSE, SPARSENESS * n_named):
        side = int(numbers[1].max() > numbers[0].max())
        raise TableError(
            f"{where(_SIDES[side], int(numbers[side].argmax()))}: items are numbered from 0, so that {n_items - 1} is "
            f"one of {n_items:,}, but only {n_named:,} are compared; if there are so many, say so by items="
        )
    return n_items


def _index(entry: object, side: str, row: int, where: Where) -> int:
    if not isinstance(entry, str | int) or not WHOLE_NUMBER.fullmatch(str(entry)):
        raise TableError(f"{where(side, row)}: {shown(entry)} is not a whole number from 0 to 999999999")
    return int(entry)
