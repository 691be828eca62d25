"""Files of pairs whose answer is known."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable

from adaptive.errors import TableError
from adaptive.formats.votes import VoteFile, VoteRow, read_votes
from adaptive.ledger.checks.probing import KINDS, KnownPair
from adaptive.ledger.errors import LedgerError
from rankcorr.checks import shown

__all__ = ["read_known_pairs"]


def read_known_pairs(
    path: str | os.PathLike[str], items: Collection[Hashable], *, data: bytes | None = None
) -> tuple[KnownPair, ...]:
    r"""Read pairs whose answer is known from a CSV or TSV file in UTF-8.

    Its columns are left and right (or left_1, left_2, ...), winner (the answer that is expected: left, right or tie)
    and kind (practice, attention or gold). Other columns are not read.

    Parameters
    ----------
    path : str or path-like
    items : collection of hashable
        Labels of the campaign.
    data : bytes, optional
        What the file holds, where it was read already; `path` is its name then.

    Raises
    ------
    TableError
        With file and line: a column that is missing, an item that the campaign does not have, a pair that comes twice
        or is one item, no answer, an unknown kind. Also when the file cannot be read.
    VoteError
        With file and line: an unknown winner.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "probes.csv")
    ...     _ = file.write_text("left,right,winner,kind\napple,stone,left,attention\n")
    ...     read_known_pairs(file, ["apple", "pear", "stone"])
    (KnownPair(kind='attention', left='apple', right='stone', expected='left'),)
    """
    file = read_votes(path, format="csv", data=data).file()
    known, lines = set(items), dict[frozenset[Hashable], int]()
    found = []
    for row in file.rows:
        pair = _pair(file, row)
        for label in (pair.left, pair.right):
            if label not in known:
                raise TableError(f"{file.name}:{row.line}: {shown(label)} is no item of the campaign")
        both = frozenset([pair.left, pair.right])
        if both in lines:
            raise TableError(f"{file.name}:{row.line}: this pair is also on line {lines[both]}")
        lines[both] = row.line
        found.append(pair)
    return tuple(found)


def _pair(file: VoteFile, row: VoteRow) -> KnownPair:
    kind = dict(row.extra).get("kind", "")
    if kind not in KINDS:
        raise TableError(
            f'{file.name}:{row.line}: column "kind": practice, attention or gold is wanted; got {shown(kind)}'
        )
    if row.answer is None:
        raise TableError(f'{file.name}:{row.line}: column "winner": the expected answer is wanted: left, right or tie')
    try:
        return KnownPair(kind, row.left, row.right, row.answer)  # type: ignore[arg-type]
    except LedgerError as error:
        raise TableError(f"{file.name}:{row.line}: {error}") from None
