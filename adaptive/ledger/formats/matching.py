"""Which comparison of the ledger a row is about: the one whose id it has, or the voter's comparison of its pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from adaptive.columns import Label
from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.draws import drawn_columns
from adaptive.ledger.voters import voters_named
from adaptive.tables import VoteFile, VoteRow, item_cells
from adaptive.votes import Vote
from rankcorr.checks import shown

__all__ = ["matched"]

_FLIPPED: Final = {"left": "right", "right": "left"}
Pair = tuple[str, str]


def matched(connection: sa.Connection, info: CampaignInfo, file: VoteFile) -> VoteFile:
    """Give each row the id of its comparison.

    A row without an id is about the comparison of its two items, on either side, on a sheet of its voter; the second
    row of a pair and a voter is about the second such comparison. Without a voter the pair must have been drawn once.

    Raises
    ------
    VoteError
        With file and line: a pair that the voter does not have, or that several have.
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
    """Id and item on the left of each comparison in open ballots, by voter and pair; the voter None has them all."""
    ballot, lease = schema.ballot, schema.lease
    texts = [_text(item_cells(item)) for item in info.items]
    asked: dict[tuple[int | None, Pair], list[tuple[str, str]]] = defaultdict(list)
    opened = connection.execute(
        sa.select(ballot.c.id, ballot.c.number)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
        .order_by(ballot.c.number)
    ).all()
    for ballot_id, number in opened:
        rows = connection.execute(
            sa.select(lease.c.sheet, lease.c.voter_id).where(lease.c.ballot_id == ballot_id, lease.c.ended_at.is_(None))
        )
        holder = {row.sheet: row.voter_id for row in rows}
        drawn = drawn_columns(connection, ballot_id)
        columns = zip(drawn.sheet.tolist(), drawn.left.tolist(), drawn.right.tolist(), strict=True)
        for place, (sheet, left, right) in enumerate(columns):
            pair = _sorted(texts[left], texts[right])
            entry = (f"{number}-{place}", texts[left])
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
    """The row as an answer to a comparison, which may have its items on the other sides."""
    row = row._replace(comparison=comparison)
    if row.left is None or _text(row.left) == left:
        return row
    answer = None if row.answer is None else _FLIPPED.get(row.answer, row.answer)
    vote = row.vote if row.vote is Vote.UNANSWERED else Vote(-row.vote)
    return row._replace(left=row.right, right=row.left, answer=answer, vote=vote)


def _pair(file: VoteFile, row: VoteRow) -> Pair:
    if row.left is None or row.right is None:
        file.fail("a row needs a comparison, or the two items of one", row.line)
    return _sorted(_text(row.left), _text(row.right))


def _sorted(one: str, other: str) -> Pair:
    return (one, other) if one <= other else (other, one)


def _text(label: Label) -> str:
    return " ".join(label) if isinstance(label, tuple) else label
