"""Sheets in people's hands: who has which, until when, and who takes over.

A lease ends when its sheet is done, given to somebody else, or its voter leaves. One that has expired goes on until
somebody else claims the sheet, so that a slow voter loses nothing. `fence` counts the leases of a sheet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo, audit
from adaptive.ledger.encoding import now
from adaptive.ledger.errors import ConflictError, LedgerError
from adaptive.ledger.voters import file_name, register

__all__ = ["Lease", "assign_slots", "claim_sheet", "give_sheet", "lease_of_voter", "unfinished_sheets"]


@dataclass(frozen=True)
class Lease:
    """A sheet in somebody's hands.

    Attributes
    ----------
    id, ballot_id, number, sheet, fence : int
        `number` is that of the ballot.
    expires_at : int or None
    """

    id: int
    ballot_id: int
    number: int
    sheet: int
    fence: int
    expires_at: int | None


def assign_slots(connection: sa.Connection, info: CampaignInfo, ballot_id: int) -> None:
    """Give each sheet of a ballot to the voter of its slot.

    A slot whose last sheet went to somebody else stays with whoever took it over.
    """
    heirs = _holders_of_slots(connection, info)
    table = schema.sheet
    rows = connection.execute(
        sa.select(table.c.number, table.c.slot).where(table.c.ballot_id == ballot_id).order_by(table.c.number)
    ).all()
    known: dict[int, int] = {}
    at = now()
    leases = []
    for number, slot in rows:
        if slot not in known:
            known[slot] = heirs.get(slot) or register(connection, info, file_name(info.slots[slot]))
        leases.append({"ballot_id": ballot_id, "sheet": number, "voter_id": known[slot], "given_at": at})
    if leases:
        connection.execute(sa.insert(schema.lease), [{**lease, "fence": 1, "exclusive": False} for lease in leases])


def give_sheet(connection: sa.Connection, info: CampaignInfo, ballot_id: int, sheet: int, voter_id: int) -> int:
    """Give a sheet to a voter, late or instead of another; the id of the lease is returned.

    Raises
    ------
    LedgerError
        Where there is no such sheet, all of it is answered, the voter has it already, or was asked one of its pairs.
    """
    row = _sheet_row(connection, ballot_id, sheet)
    if row is None:
        raise LedgerError(f"the ballot has no sheet {sheet + 1}")
    if row.n_answered == row.n_comparisons:
        raise LedgerError(f"sheet {sheet + 1} is answered already: there is nothing left to give away")
    table = schema.lease
    held = connection.execute(
        sa.select(table).where(table.c.ballot_id == ballot_id, table.c.sheet == sheet, table.c.ended_at.is_(None))
    ).first()
    if held is not None and held.voter_id == voter_id:
        raise LedgerError(f"sheet {sheet + 1} is that voter's already")
    if _shares_pairs(connection, ballot_id, sheet, voter_id):
        raise LedgerError(f"sheet {sheet + 1} has a pair that this voter was asked before in this ballot")
    if held is not None:
        connection.execute(
            sa.update(table).where(table.c.id == held.id).values(ended_at=now(), end_reason="reassigned")
        )
    made = _leased(connection, ballot_id, sheet, voter_id, exclusive=False, expires_at=None)
    audit(connection, info.id, "assigned", {"sheet": sheet}, ballot_id=ballot_id, voter_id=voter_id)
    return made


def claim_sheet(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> Lease | None:
    """Lease the next sheet to a voter who comes for one; None where nothing is left for that voter.

    The sheet in hand is given again until it is done. Then comes a sheet that nobody has, or whose lease has expired,
    without a pair that the voter was asked before in its ballot; sheets that were begun come first.
    """
    at = now()
    current = lease_of_voter(connection, voter_id)
    if current is not None:
        row = _sheet_row(connection, current.ballot_id, current.sheet)
        state = connection.execute(
            sa.select(schema.ballot.c.state).where(schema.ballot.c.id == current.ballot_id)
        ).scalar_one()
        if row is not None and row.n_answered < row.n_comparisons and state == "open":
            expires = _expiry(info, at)
            connection.execute(
                sa.update(schema.lease).where(schema.lease.c.id == current.id).values(expires_at=expires)
            )
            return lease_of_voter(connection, voter_id)
        connection.execute(
            sa.update(schema.lease).where(schema.lease.c.id == current.id).values(ended_at=at, end_reason="done")
        )
    for ballot_id, sheet in _free_sheets(connection, info, at):
        if _shares_pairs(connection, ballot_id, sheet, voter_id):
            continue
        connection.execute(
            sa.update(schema.lease)
            .where(
                schema.lease.c.ballot_id == ballot_id, schema.lease.c.sheet == sheet, schema.lease.c.ended_at.is_(None)
            )
            .values(ended_at=at, end_reason="expired")
        )
        _leased(connection, ballot_id, sheet, voter_id, exclusive=True, expires_at=_expiry(info, at))
        return lease_of_voter(connection, voter_id)
    return None


def lease_of_voter(connection: sa.Connection, voter_id: int) -> Lease | None:
    """The sheet that a voter has claimed and not finished."""
    table, ballot = schema.lease, schema.ballot
    row = connection.execute(
        sa.select(table, ballot.c.number)
        .join(ballot, ballot.c.id == table.c.ballot_id)
        .where(table.c.voter_id == voter_id, table.c.ended_at.is_(None), table.c.exclusive)
    ).first()
    return None if row is None else Lease(row.id, row.ballot_id, row.number, row.sheet, row.fence, row.expires_at)


def _expiry(info: CampaignInfo, at: int) -> int | None:
    minutes = info.settings.lease_minutes
    return None if minutes is None else at + int(minutes * 60_000_000)


def _sheet_row(connection: sa.Connection, ballot_id: int, sheet: int) -> Any:
    table = schema.sheet
    return connection.execute(sa.select(table).where(table.c.ballot_id == ballot_id, table.c.number == sheet)).first()


def _leased(
    connection: sa.Connection, ballot_id: int, sheet: int, voter_id: int, *, exclusive: bool, expires_at: int | None
) -> int:
    table = schema.lease
    last = connection.execute(
        sa.select(sa.func.max(table.c.fence)).where(table.c.ballot_id == ballot_id, table.c.sheet == sheet)
    ).scalar()
    values = {"ballot_id": ballot_id, "sheet": sheet, "voter_id": voter_id, "fence": (last or 0) + 1}
    try:
        made: int = connection.execute(
            sa.insert(table)
            .values(**values, exclusive=exclusive, given_at=now(), expires_at=expires_at)
            .returning(table.c.id)
        ).scalar_one()
    except sa.exc.IntegrityError as error:
        raise ConflictError("the sheet, or another one for the voter, was given out at the same moment") from error
    return made


def _free_sheets(connection: sa.Connection, info: CampaignInfo, at: int) -> Any:
    """Sheets of open ballots that may be leased, begun ones first; on PostgreSQL none that another claims now."""
    sheet, ballot, lease = schema.sheet, schema.ballot, schema.lease
    taken = sa.exists().where(
        lease.c.ballot_id == sheet.c.ballot_id,
        lease.c.sheet == sheet.c.number,
        lease.c.ended_at.is_(None),
        sa.or_(lease.c.expires_at.is_(None), lease.c.expires_at > at),
    )
    free = (
        sa.select(sheet.c.ballot_id, sheet.c.number)
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(
            ballot.c.campaign_id == info.id,
            ballot.c.state == "open",
            sheet.c.n_answered < sheet.c.n_comparisons,
            ~taken,
        )
        .order_by(ballot.c.number, (sheet.c.n_answered == 0), sheet.c.number)
    )
    for start in range(0, 10_000, 20):
        some = free.limit(20).offset(start)
        if connection.dialect.name == "postgresql":
            some = some.with_for_update(of=sheet, skip_locked=True)
        rows = connection.execute(some).all()
        yield from ((row.ballot_id, row.number) for row in rows)
        if len(rows) < 20:
            return


def _shares_pairs(connection: sa.Connection, ballot_id: int, sheet: int, voter_id: int) -> bool:
    """Whether the voter was leased a pair of this sheet on another sheet of the ballot."""
    mine, theirs, lease = schema.comparison.alias("mine"), schema.comparison.alias("theirs"), schema.lease
    same = sa.or_(
        sa.and_(mine.c.left_item == theirs.c.left_item, mine.c.right_item == theirs.c.right_item),
        sa.and_(mine.c.left_item == theirs.c.right_item, mine.c.right_item == theirs.c.left_item),
    )
    found = connection.execute(
        sa.select(sa.literal(1))
        .select_from(lease)
        .join(mine, sa.and_(mine.c.ballot_id == lease.c.ballot_id, mine.c.sheet == lease.c.sheet))
        .join(theirs, sa.and_(theirs.c.ballot_id == ballot_id, theirs.c.sheet == sheet, same))
        .where(lease.c.voter_id == voter_id, lease.c.ballot_id == ballot_id, lease.c.sheet != sheet)
        .limit(1)
    ).first()
    return found is not None


def _holders_of_slots(connection: sa.Connection, info: CampaignInfo) -> dict[int, int]:
    """Who has each slot, by the latest ballot that has it."""
    sheet, lease, ballot = schema.sheet, schema.lease, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.slot, lease.c.voter_id)
        .join(lease, sa.and_(lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number))
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .join(schema.voter, schema.voter.c.id == lease.c.voter_id)
        .where(ballot.c.campaign_id == info.id, schema.voter.c.withdrawn_at.is_(None))
        .order_by(ballot.c.number, sheet.c.number, lease.c.fence)
    )
    return {row.slot: row.voter_id for row in rows}


def unfinished_sheets(connection: sa.Connection, voter_id: int) -> list[tuple[int, int]]:
    """Ballot and number of each sheet in a voter's hands that is not answered to the end, in ballots that are open."""
    sheet, lease, ballot = schema.sheet, schema.lease, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.ballot_id, sheet.c.number)
        .join(lease, sa.and_(lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number))
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(
            lease.c.voter_id == voter_id,
            lease.c.ended_at.is_(None),
            ballot.c.state == "open",
            sheet.c.n_answered < sheet.c.n_comparisons,
        )
        .order_by(sheet.c.ballot_id, sheet.c.number)
    )
    return [(row.ballot_id, row.number) for row in rows]
