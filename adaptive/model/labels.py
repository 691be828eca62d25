"""Labels and winners become small whole numbers; what cannot is an error that names its row and column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set, Sized
from itertools import count, repeat
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ComparisonError, VoteError
from adaptive.votes import LEFT, UNANSWERED, WORDS
from rankcorr.checks import shown
from rankcorr.frames import python_values

Where: TypeAlias = Callable[[str, int], str]
"""Place of a cell for messages, by column and row: "left[3]", or file, line and column."""

_UNKNOWN: Final = -1
_NO_CODE: Final = 99


def in_arrays(column: str, row: int) -> str:
    """Place of an entry of an array.

    Examples
    --------
    >>> in_arrays("left", 3)
    'left[3]'
    """
    return f"{column}[{row}]"


def listed_column(values: Iterable[Any], column: str) -> list[Any]:
    """Entries of a column as Python's own values, from a list, an array or a series of any library.

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
    # Arrays and pandas have tolist, polars has to_list; to iterate over a column of pandas takes ten times longer.
    to_list = getattr(values, "tolist", None) or getattr(values, "to_list", None)
    if to_list is not None:
        entries: list[Any] = to_list()
        return entries
    return list(python_values(values))


def check_lengths(columns: Mapping[str, Sized]) -> None:
    """Refuse columns that differ in length.

    Raises
    ------
    ComparisonError
        The message has the length of each.
    """
    lengths = {column: len(entries) for column, entries in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{column} has {length}" for column, length in lengths.items())
        raise ComparisonError(f"every comparison needs one entry in each column; {found}")


def coded_labels(
    columns: Mapping[str, list[Any]], names: Sequence[Hashable] | None, kind: str, where: Where
) -> tuple[Sequence[Hashable], list[NDArray[np.int32]]]:
    """Number the labels in columns of one length, one hash of each label and no sorting.

    Parameters
    ----------
    columns : mapping of str to list
    names : sequence of hashable, or None
        What the labels may be; None for all that come, in the order of first appearance, row by row.
    kind : str
        "item" or "voter", for messages.
    where : callable

    Returns
    -------
    names : sequence of hashable
    codes : list of ndarray of int32
        Index into `names` of each label, by column.

    Raises
    ------
    ComparisonError
        A label that is not among the names, is missing (None or nan), or cannot be hashed.

    Examples
    --------
    >>> coded_labels({"left": ["b", "a"], "right": ["c", "b"]}, None, "item", in_arrays)
    (('b', 'c', 'a'), [array([0, 2], dtype=int32), array([1, 0], dtype=int32)])
    """
    n_labels = sum(map(len, columns.values()))
    row_by_row: list[Any] = [None] * n_labels
    for place, column in enumerate(columns.values()):
        row_by_row[place :: len(columns)] = column  # numbered in two thirds of the time that a zip takes
    try:
        if names is None:
            index: dict[Hashable, int] = defaultdict(count().__next__)  # numbers a label when it is first asked for
            codes = np.fromiter(map(index.__getitem__, row_by_row), np.int32, n_labels)
            names = tuple(index)
            if any(map(is_missing, names)):
                _refuse(columns, is_missing, f"is missing; every comparison needs its {kind} by label", where)
        else:
            index = dict(zip(names, range(len(names)), strict=True))
            codes = np.fromiter(map(index.get, row_by_row, repeat(_UNKNOWN)), np.int32, n_labels)
    except TypeError:
        _refuse(columns, _is_unhashable, "is no label: labels are hashable, as strings and tuples are", where)
    if (codes < 0).any():
        among = f"one of the {len(names)} {kind}s" if len(names) != 1 else f"{shown(names[0])}, the only {kind}"
        _refuse(columns, lambda label: label not in index, f"is not {among}", where)
    by_column = codes.reshape(-1, len(columns)).T
    return names, [np.ascontiguousarray(column) for column in by_column]


def coded_winners(
    winners: Iterable[Any], where: Where, words: Mapping[str, int] = WORDS, *, codes: bool = True
) -> NDArray[np.int8]:
    """Codes of winners that are words or, if `codes` may come, codes already; UNANSWERED is a code, but no word.

    Raises
    ------
    VoteError
        Any other winner.

    Examples
    --------
    >>> coded_winners(["left", "tie", "right"], in_arrays)
    array([ 1,  0, -1], dtype=int8)
    """
    wanted = " or ".join(filter(None, [", ".join(map(repr, words)), "a code from -2 to 1" if codes else ""]))
    if codes and isinstance(winners, np.ndarray) and winners.ndim == 1 and winners.dtype.kind in "iu":
        wrong = np.flatnonzero((winners < UNANSWERED) | (winners > LEFT))
        if wrong.size:
            _refuse_winner(int(winners[wrong[0]]), int(wrong[0]), wanted, where)
        return winners.astype(np.int8)
    entries = listed_column(winners, "winner")
    # True and 1.0 would be found in the table as 1.
    kinds = {kind for kind in set(map(type, entries)) if issubclass(kind, (str, int, np.integer) if codes else str)}
    if strange := set(map(type, entries)) - (kinds - {bool}):
        row = next(place for place, entry in enumerate(entries) if type(entry) in strange)
        _refuse_winner(entries[row], row, wanted, where)
    table: dict[Any, int] = {**words, **{code: code for code in range(UNANSWERED, LEFT + 1)}}
    found = np.fromiter(map(table.get, entries, repeat(_NO_CODE)), np.int8, len(entries))
    wrong = np.flatnonzero(found == _NO_CODE)
    if wrong.size:
        _refuse_winner(entries[wrong[0]], int(wrong[0]), wanted, where)
    return found


def is_missing(label: object) -> bool:
    """Whether a value is None or nan, of any library, or a tuple with such a part."""
    if isinstance(label, tuple):
        return any(map(is_missing, label))
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - nan of any type
    except TypeError:  # pandas.NA, which equals nothing and differs from nothing
        return True


def _is_unhashable(label: object) -> bool:
    try:
        hash(label)
    except TypeError:
        return True
    return False


def _refuse(columns: Mapping[str, list[Any]], is_wrong: Callable[[Any], bool], message: str, where: Where) -> NoReturn:
    """Raise an error about the first label, row by row, that is wrong; the caller knows that there is one."""
    rows = enumerate(zip(*columns.values(), strict=True))
    cells = ((row, cell) for row, labels in rows for cell in zip(columns, labels, strict=True))
    row, (column, label) = next(cell for cell in cells if is_wrong(cell[1][1]))
    raise ComparisonError(f"{where(column, row)}: {shown(label)} {message}")


def _refuse_winner(winner: object, row: int, wanted: str, where: Where) -> NoReturn:
    raise VoteError(f"{where('winner', row)}: a winner is {wanted}; got {shown(winner)}")
