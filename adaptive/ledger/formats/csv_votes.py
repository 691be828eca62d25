"""Our own CSV: comparison, voter, left, right, winner, what came with the votes, seconds and received_at.

Without the first two columns it is what evalica reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from typing import cast

from adaptive.columns import Label
from adaptive.ledger.encoding import time_text
from adaptive.ledger.formats.gathered import Answered
from adaptive.ledger.formats.guard import guarded, unguarded
from adaptive.tables import VoteFile, VoteRow, csv_text, item_cells, item_columns, read_vote_file

__all__ = ["guarded_label", "read", "unguarded_label", "write"]


def write(votes: Sequence[Answered], *, guard: bool) -> str:
    """Return the CSV; an extra column whose name is one of ours has file_ before it."""
    items = {label for vote in votes for label in (vote.left, vote.right)}
    ours = ["comparison", "voter", *item_columns("left", items), *item_columns("right", items), "winner"]
    last = ["seconds", "received_at"]
    extra = list(dict.fromkeys(name for vote in votes for name in vote.extra))
    named = [f"file_{name}" if name in {*ours, *last} else name for name in extra]
    safe = guarded if guard else str
    cells = {label: [safe(cell) for cell in item_cells(label)] for label in items}
    rows = (
        [
            vote.comparison,
            safe(vote.voter or ""),
            *cells[vote.left],
            *cells[vote.right],
            vote.answer or "",
            *(safe(vote.extra.get(name, "")) for name in extra),
            "" if vote.response_ms is None else f"{vote.response_ms / 1000:.3f}",
            "" if vote.received_at is None else time_text(vote.received_at),
        ]
        for vote in votes
    )
    return csv_text([*ours, *map(safe, named), *last], rows)


def read(path: str | os.PathLike[str], *, guard: bool) -> VoteFile:
    """Read the rows of a file, comparison, voter, left and right as far as it has these columns.

    Raises
    ------
    TableError, VoteError
        As `read_vote_file`.
    """
    file = read_vote_file(path, needed=["winner"], cannot_say=True)
    if not guard:
        return file
    return VoteFile(file.name, tuple(_without_guard(row) for row in file.rows))


def guarded_label(label: Hashable) -> Hashable:
    """Label of cells that are guarded; one that is no text is no cell, and stays."""
    return _each(label, guarded)


def unguarded_label(label: Hashable) -> Hashable:
    """Label of cells that were guarded."""
    return _each(label, unguarded)


def _each(label: Hashable, change: Callable[[str], str]) -> Hashable:
    if isinstance(label, tuple):
        return tuple(_each(part, change) for part in label)
    return change(label) if isinstance(label, str) else label


def _without_guard(row: VoteRow) -> VoteRow:
    return row._replace(
        voter=None if row.voter is None else unguarded(row.voter),
        left=cast(Label | None, unguarded_label(row.left)),
        right=cast(Label | None, unguarded_label(row.right)),
        extra=tuple((unguarded(name), unguarded(cell)) for name, cell in row.extra),
    )
