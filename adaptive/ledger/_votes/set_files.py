"""Files of votes on sets: a row for each set, with its items and cells for the best and the worst of them."""

import os
from collections.abc import Sequence
from typing import Any, Final

from adaptive._formats.records import records_of_file
from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._tables import csv_text, guarded, set_columns
from adaptive._votes import Comparison, SetComparison
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store.schema import file_id, set_cells

_NO_CHOICE: Final = "cannot say"


def set_file(comparisons: Sequence[Comparison], info: CampaignInfo) -> str:
    """Return sets as CSV, voter by voter, with empty cells for the best and the worst item of each."""
    by_voter: dict[Any, list[Comparison]] = {}
    for comparison in comparisons:
        by_voter.setdefault(comparison.voter, []).append(comparison)
    rows = []
    for voter, sets in by_voter.items():
        for row in sets:
            others = row.other_items if isinstance(row, SetComparison) else ()
            items = set_cells([row.left, row.right, *others], None, guarded)
            rows.append([file_id(row.id), guarded(str(voter)), *items])
    return csv_text(["comparison", "voter", *set_columns(info.set_size)], rows)


def read_set_file(
    info: CampaignInfo, path: str | os.PathLike[str], *, encoding: str = "utf-8", guard: bool | None = None
) -> VoteFile:
    """Read the file of `set_file` with its answers, or an export of votes.

    Rows without best and worst have no answer. Best may be "cannot say" if worst is empty or the same.

    Raises
    ------
    TableError
        If the file cannot be read, or lacks a column.
    VoteError
        With file and line: the best or worst item is not one of the set, both are the same, or one of them is
        missing.
    """
    records = records_of_file(path, encoding=encoding, guard=guard)
    names = set_columns(info.set_size)
    columns = {
        name: ["" if entry is None else str(entry) for entry in records.column(name)]
        for name in ("comparison", *names, *(name for name in records.names if name not in names))
    }
    extra_names = [name for name in columns if name not in ("comparison", "voter", "received_at", *names)]
    file = VoteFile(records.table.name, ())
    rows = []
    for at, line in enumerate(records.lines):
        items = [columns[name][at] for name in names[:-2]]
        answer = _answer_of(file, line, items, columns["best"][at], columns["worst"][at])
        extra = tuple((name, columns[name][at]) for name in extra_names if columns[name][at])
        voter = columns["voter"][at] or None if "voter" in columns else None
        comparison = columns["comparison"][at]
        rows.append(VoteRow(line, comparison, voter, tuple(items), None, answer, extra))
    return VoteFile(records.table.name, tuple(rows))


def _answer_of(file: VoteFile, line: int, items: Sequence[str], best: str, worst: str) -> str | None:
    if not best and not worst:
        return None
    if best == _NO_CHOICE and worst in ("", _NO_CHOICE):
        return _NO_CHOICE
    places = []
    for kind, cell in (("best", best), ("worst", worst)):
        if cell not in items:
            file.fail(f"the {kind} item must be one of {', '.join(map(repr, items))}; got {cell!r}", line)
        places.append(items.index(cell) + 1)
    if places[0] == places[1]:
        file.fail(f"{best!r} is the best and the worst", line)
    return f"best {places[0]} worst {places[1]}"
