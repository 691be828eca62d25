"""Record the votes of a file in the open ballots, matching each vote with its comparison."""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from adaptive._formats.answers import Answers
from adaptive._formats.votes import Columns, Format, VoteFile, VoteRow, read_votes
from adaptive._tables import Label, item_cells
from adaptive.ledger._ballots.stored import drawn_columns
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import Database
from adaptive.ledger._store.encoding import pair_id
from adaptive.ledger._voters.identity import file_name, voters_named
from adaptive.ledger._votes.recording import Recorded, record_file
from rankcorr._checks import shown

_FLIPPED: Final = {"left": "right", "right": "left"}
Pair = frozenset[str]


def import_votes(
    database: Database,
    info: CampaignInfo,
    path: str | os.PathLike[str],
    format: Format = "auto",  # noqa: A002 - the name of the option
    *,
    columns: Columns | None = None,
    answers: Answers | None = None,
    encoding: str = "utf-8",
    ignore: Sequence[str] = (),
    instances: str | os.PathLike[str] | None = None,
    guard: bool = True,
) -> Recorded:
    """Record the votes of a file in the open ballots: all of them, or none if one is invalid.

    A vote is matched by the id of its comparison: in the column or key comparison, in data.comparison of Label Studio,
    or as the id of potato. Without an id, it is matched with its voter's comparison of the same pair. A vote that the
    ledger already has changes nothing, and a contradicting vote is kept as a conflict, as described in `record_file`.

    Parameters
    ----------
    path, format, answers, encoding, ignore, instances
        See `adaptive.read_comparisons`; numbers of "choix" count the items of the campaign.
    columns : mapping of {"left", "right", "winner", "voter"} to str or sequence of str, optional
        Names of columns that differ from those of the format.
    guard : bool
        Whether to remove the apostrophes that `export_votes` put before formulas; only our CSV has them.

    Raises
    ------
    OptionError
        If a format, column, meaning or encoding is unknown.
    TableError, VoteError
        If the file cannot be read, or a winner, comparison, pair or voter is unknown. The message gives file and line.
    """
    votes = read_votes(
        path,
        format=format,
        columns=columns,
        answers=answers,
        encoding=encoding,
        ignore=ignore,
        instances=instances,
        needed=["winner"],
        guard=guard,
    )
    if votes.format == "choix":
        votes = votes.of_items(info.items)
    rows = list(votes.file().rows)
    if votes.format in ("label_studio", "potato"):  # these formats write the parts of an item as one text
        parts: dict[Any, Label] = {" ".join(item): item for item in map(item_cells, info.items) if len(item) > 1}
        rows = [row._replace(left=parts.get(row.left, row.left), right=parts.get(row.right, row.right)) for row in rows]
    file = VoteFile(votes.records.table.name, tuple(rows))
    about = database.read(lambda connection: _matched(connection, info, file))
    return record_file(database, info, about)


def _matched(connection: sa.Connection, info: CampaignInfo, file: VoteFile) -> VoteFile:
    """Give each row the id of its comparison.

    A row without an id is matched with a comparison of its two items, on either side, on a sheet of its voter. If a
    voter has several rows for a pair, the second is matched with the second comparison. Without a voter, the pair must
    have been drawn only once.

    Raises
    ------
    VoteError
        If the voter does not have the pair, or several voters have it; the message gives file and line.
    """
    if all(row.comparison is not None for row in file.rows):
        return file
    asked = _asked(connection, info)
    known = voters_named(connection, info, {row.voter for row in file.rows if row.voter is not None})
    used: dict[tuple[int | None, Pair], int] = defaultdict(int)
    rows = []
    for row in file.rows:
        if row.comparison is None:
            pair = _pair(file, row)
            voter = None
            if row.voter is not None:
                voter = known.get(row.voter)
                if voter is None:
                    file.fail(f"no voter is called {shown(row.voter)}", row.line)
            comparison, left = _next(file, row, asked.get((voter, pair), []), used[voter, pair])
            used[voter, pair] += 1
            rows.append(_about(row, comparison, left))
        else:
            rows.append(row)
    return VoteFile(file.name, tuple(rows))


def _asked(connection: sa.Connection, info: CampaignInfo) -> Mapping[tuple[int | None, Pair], list[tuple[str, str]]]:
    """Return id and left item of each comparison in open ballots, by voter and pair; the voter None has them all."""
    ballot, lease = schema.ballot, schema.lease
    texts = [file_name(item) for item in info.items]
    asked: dict[tuple[int | None, Pair], list[tuple[str, str]]] = defaultdict(list)
    opened = sa.select(ballot.c.id, ballot.c.number).where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
    for ballot_id, number in connection.execute(opened.order_by(ballot.c.number)).all():
        held = (lease.c.ballot_id == ballot_id, lease.c.ended_at.is_(None))
        rows = connection.execute(sa.select(lease.c.sheet, lease.c.voter_id).where(*held))
        holder = {row.sheet: row.voter_id for row in rows}
        drawn = drawn_columns(connection, ballot_id)
        places = (drawn.sheet.tolist(), drawn.position.tolist(), drawn.left.tolist(), drawn.right.tolist())
        for sheet, position, left, right in zip(*places, strict=True):
            pair = frozenset((texts[left], texts[right]))
            entry = (pair_id(number, sheet, position), texts[left])
            asked[None, pair].append(entry)
            if sheet in holder:
                asked[holder[sheet], pair].append(entry)
    return asked


def _next(file: VoteFile, row: VoteRow, entries: list[tuple[str, str]], n_used: int) -> tuple[str, str]:
    pair = f"{shown(row.left)} and {shown(row.right)}"
    if not entries:
        whose = "in an open ballot" if row.voter is None else f"on a sheet of voter {shown(row.voter)}"
        file.fail(f"no comparison of {pair} is {whose}", row.line)
    if row.voter is None and len(entries) > 1:
        file.fail(f"{pair} are compared {len(entries)} times: the voter or the comparison must be named", row.line)
    if n_used == len(entries):
        file.fail(f"{pair} come more often than the {len(entries)} times that they are compared", row.line)
    return entries[n_used]


def _about(row: VoteRow, comparison: str, left: str) -> VoteRow:
    """Return the row as an answer to a comparison, which may show its items on the other sides."""
    row = row._replace(comparison=comparison)
    if row.left is None or file_name(row.left) == left:
        return row
    answer = None if row.answer is None else _FLIPPED.get(row.answer, row.answer)
    return row._replace(left=row.right, right=row.left, answer=answer)


def _pair(file: VoteFile, row: VoteRow) -> Pair:
    if row.left is None or row.right is None:
        file.fail("a row needs a comparison, or the two items of one", row.line)
    return frozenset((file_name(row.left), file_name(row.right)))
