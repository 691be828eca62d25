"""Sheets in people's hands: who has which, until when, and who takes over.

A lease ends when its sheet is done, given to somebody else, or its voter leaves. One that has expired goes on until
somebody else claims the sheet, so that a slow voter loses nothing. `fence` counts the leases of a sheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from adaptive.ledger.ballots.draws import stored_ballots
from adaptive.ledger.ballots.known_pairs import (
    KnownPairs,
    Sheet,
    has_begun,
    known_pairs,
    unused_practice,
    without_known_pairs,
)
from adaptive.ledger.campaign.info import CampaignInfo, audit
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store import schema
from adaptive.ledger.store.database import clock
from adaptive.ledger.store.encoding import now
from adaptive.ledger.store.locks import lock_ballot
from adaptive.ledger.voters.identity import file_name, register, voter_named
from adaptive.ledger.voters.newcomers import MINUTE, Origin, first_end, forget_addresses, lease_end

_FIRST_SHEETS: Final = 8  # read at first, of which the voter mostly gets one


@dataclass(frozen=True)
class Lease:
    """A sheet in somebody's hands.

    Attributes
    ----------
    id, ballot_id, number, sheet, fence : int
        `number` is that of the ballot.
    expires_at : int or None
    is_closed : bool
        Whether the ballot is.
    """

    id: int
    ballot_id: int
    number: int
    sheet: int
    fence: int
    expires_at: int | None
    is_closed: bool


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
        Where the ballot is not open or has no such sheet, all of it is answered, or the voter has withdrawn, has it
        already, or was asked one of its pairs.
    """
    lock_ballot(connection, ballot_id, exclusive=False)  # not while a file of votes is read against its leases
    row = _sheet_row(connection, ballot_id, sheet, locked=True)
    if row is None:
        raise LedgerError(f"the ballot has no sheet {sheet + 1}")
    state = connection.execute(sa.select(schema.ballot.c.state).where(schema.ballot.c.id == ballot_id)).scalar_one()
    if state == "closed":
        raise LedgerError("the ballot is closed: its sheets stay with whoever has them")
    _check_present(connection, voter_id)
    if row.n_answered == row.n_comparisons and row.n_checked == row.n_checks:
        raise LedgerError(f"sheet {sheet + 1} is answered already: there is nothing left to give away")
    held = _held(connection, ballot_id, sheet)
    if held is not None and held.voter_id == voter_id:
        raise LedgerError(f"sheet {sheet + 1} is that voter's already")
    known = known_pairs(connection, voter_id)
    if not without_known_pairs(connection, info, [(ballot_id, sheet)], known, of_ballot=True):
        raise LedgerError(f"sheet {sheet + 1} has a pair that this voter was asked before in this ballot")
    if held is not None:
        _end(connection, held.id, "reassigned")
    made = _leased(connection, ballot_id, sheet, voter_id, exclusive=False)
    audit(connection, info.id, "assigned", {"sheet": sheet}, ballot_id=ballot_id, voter_id=voter_id)
    return made


def give_sheets(
    connection: sa.Connection, info: CampaignInfo, name: str, *, giver: str | None = None, sheets: Sequence[int] = ()
) -> int:
    """Give sheets of the open ballot to a voter, who is made if nobody is called so yet; how many is returned.

    Parameters
    ----------
    giver : str or None
        All unfinished sheets of this voter; None: those of `sheets`, counted from 1.

    Raises
    ------
    LedgerError
        When no ballot is open, the giver has no unfinished sheet, or as `give_sheet`.
    """
    open_ones = [each for each in stored_ballots(connection, info.id) if each.state == "open"]
    if not open_ones:
        raise LedgerError("no ballot is open: there is no sheet to give")
    taker = register(connection, info, name)
    wanted = [(open_ones[-1].id, sheet - 1) for sheet in sheets]
    if giver is not None:
        wanted = unfinished_sheets(connection, voter_named(connection, info, giver))
        if not wanted:
            raise LedgerError(f"voter {giver!r} has no unfinished sheet")
    for ballot_id, sheet in wanted:
        give_sheet(connection, info, ballot_id, sheet, taker)
    return len(wanted)


def claim_sheet(
    connection: sa.Connection, info: CampaignInfo, voter_id: int, origin: Origin | None = None
) -> Lease | None:
    """Lease the next sheet to a voter who comes for one; None where nothing is left for that voter.

    The sheet in hand is given again until it is done. Then comes a sheet that nobody has, or whose lease has expired,
    without a pair that the voter was asked before in its ballot, or in any batch of a continuous campaign; sheets that
    were begun come first. Whoever is new gets one with practice, as long as there is any: a sheet has none where its
    comparisons are the practice pairs, or where somebody else did it and left.

    A sheet without an answer is held for the first minutes alone, and asking for it again prolongs nothing.

    Raises
    ------
    LedgerError
        When the voter has withdrawn.
    """
    _check_present(connection, voter_id)  # whoever asks twice at once gets one sheet: the second waits here
    current = lease_of_voter(connection, voter_id)
    if current is not None:
        row = _sheet_row(connection, current.ballot_id, current.sheet)
        is_done = row.n_answered == row.n_comparisons and row.n_checked == row.n_checks
        if not is_done and not current.is_closed:
            return renew_lease(connection, info, voter_id)
        _end(connection, current.id, "done" if is_done else "closed")
    known = known_pairs(connection, voter_id)
    practice = unused_practice(info)
    if practice is not None and has_begun(connection, voter_id):
        practice = None
    # First a sheet that nobody else looks at; then, where there is none, one that another looked at and let go.
    for waits in (False, True):
        for free in _sheets_for(connection, info, known, practice):
            if not _locked(connection, free, waits=waits):
                continue
            held = _held(connection, *free)  # it may have been given out before the lock was taken
            if held is not None and not held.expired:
                continue
            if held is not None:
                _end(connection, held.id, "expired")
            address = None if origin is None else origin.hashed(info)
            ends = first_end(connection, info)
            _leased(connection, *free, voter_id, exclusive=True, expires_at=ends, unanswered=True, address=address)
            forget_addresses(connection, info)  # after the sheet's lock, as a vote does: neither waits for the other
            return lease_of_voter(connection, voter_id)
    return None


def renew_lease(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> Lease | None:
    """Give the voter of a sheet its whole time again, if an answer came within it; asking alone prolongs nothing.

    Raises
    ------
    LedgerError
        When the voter has withdrawn.
    """
    _check_present(connection, voter_id)
    table, event, asked = schema.lease, schema.vote_event, schema.comparison
    minutes = info.settings.lease_minutes or info.settings.first_minutes
    since = clock(connection) - sa.literal(int(minutes * MINUTE), sa.BigInteger)
    of_pair = sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place)
    answered = (
        sa.select(sa.literal(1))
        .select_from(event.join(asked, of_pair))
        .where(asked.c.ballot_id == table.c.ballot_id, asked.c.sheet == table.c.sheet)
        .where(event.c.voter_id == voter_id, event.c.kind == "cast", event.c.received_at >= since)
        .correlate(table)
        .exists()
    )
    connection.execute(
        sa.update(table)
        .where(table.c.voter_id == voter_id, table.c.ended_at.is_(None), table.c.exclusive, ~table.c.unanswered)
        .where(answered)
        .values(expires_at=lease_end(connection, info, voter_id))
    )
    return lease_of_voter(connection, voter_id)


def lease_of_voter(connection: sa.Connection, voter_id: int) -> Lease | None:
    """The sheet that a voter has claimed and not finished."""
    row = connection.execute(_lease_statement(), {"voter": voter_id}).first()
    return None if row is None else Lease(*row)


@cache
def _lease_statement() -> sa.Select[Any]:
    table, ballot = schema.lease, schema.ballot
    of_lease = (table.c.id, table.c.ballot_id, ballot.c.number, table.c.sheet, table.c.fence, table.c.expires_at)
    return (
        sa.select(*of_lease, ballot.c.state == "closed")
        .join(ballot, ballot.c.id == table.c.ballot_id)
        .where(table.c.voter_id == sa.bindparam("voter"), table.c.ended_at.is_(None), table.c.exclusive)
    )


def is_sheet_left(connection: sa.Connection, info: CampaignInfo, voter_id: int | None = None) -> bool:
    """Whether there is a sheet to claim, for this voter or for one who comes new; nothing is locked or changed."""
    known = {} if voter_id is None else known_pairs(connection, voter_id)
    return next(_sheets_for(connection, info, known), None) is not None


def n_unanswered_for(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> int:
    """Number of unanswered pairs, checks included, on the sheets that nobody has and this voter may get."""
    known, table = known_pairs(connection, voter_id), schema.sheet
    left = (table.c.n_comparisons + table.c.n_checks - table.c.n_answered - table.c.n_checked).label("n_left")
    rows = connection.execute(_free_sheets(connection, info).add_columns(left))
    n_left = {(row.ballot_id, row.number): int(row.n_left) for row in rows}
    return sum(n_left[sheet] for sheet in without_known_pairs(connection, info, list(n_left), known))


def _check_present(connection: sa.Connection, voter_id: int) -> None:
    """Lock the voter, and refuse one who has withdrawn."""
    voter = schema.voter
    wanted = sa.select(voter.c.withdrawn_at).where(voter.c.id == voter_id).with_for_update(key_share=True)
    row = connection.execute(wanted).first()
    if row is None:
        raise LedgerError(f"there is no voter {voter_id}")
    if row.withdrawn_at is not None:
        raise LedgerError("the voter has withdrawn: no sheet is given out")


def _sheet_row(connection: sa.Connection, ballot_id: int, sheet: int, *, locked: bool = False) -> Any:
    table = schema.sheet
    wanted = sa.select(table).where(table.c.ballot_id == ballot_id, table.c.number == sheet)
    return connection.execute(wanted.with_for_update(key_share=True) if locked else wanted).first()


def _held(connection: sa.Connection, ballot_id: int, sheet: int) -> Any:
    """The open lease of a sheet, and whether it has expired."""
    table = schema.lease
    expired = sa.func.coalesce(table.c.expires_at < clock(connection), sa.false()).label("expired")
    return connection.execute(
        sa.select(table.c.id, table.c.voter_id, expired).where(
            table.c.ballot_id == ballot_id, table.c.sheet == sheet, table.c.ended_at.is_(None)
        )
    ).first()


def _end(connection: sa.Connection, lease_id: int, reason: str) -> None:
    table = schema.lease
    connection.execute(sa.update(table).where(table.c.id == lease_id).values(ended_at=now(), end_reason=reason))


def _leased(connection: sa.Connection, ballot_id: int, sheet: int, voter_id: int, **columns: Any) -> int:
    table = schema.lease
    last = connection.execute(
        sa.select(sa.func.max(table.c.fence)).where(table.c.ballot_id == ballot_id, table.c.sheet == sheet)
    ).scalar()
    values = {"ballot_id": ballot_id, "sheet": sheet, "voter_id": voter_id, "fence": (last or 0) + 1}
    made: int = connection.execute(
        sa.insert(table).values(**values, **columns, given_at=now()).returning(table.c.id)
    ).scalar_one()
    return made


def _sheets_for(
    connection: sa.Connection, info: CampaignInfo, known: KnownPairs, practice: sa.Subquery | None = None
) -> Iterator[Sheet]:
    """Sheets that a voter may get, the next one first; more are read as more are looked at.

    With practice, those with the most of it that is unused come first.
    """
    wanted = _free_sheets(connection, info, practice)
    looked_at: set[Sheet] = set()
    most = _FIRST_SHEETS
    while True:
        rows = [(row.ballot_id, row.number) for row in connection.execute(wanted.limit(most))]
        fresh = [sheet for sheet in rows if sheet not in looked_at]
        yield from without_known_pairs(connection, info, fresh, known)
        if len(rows) < most:
            return
        looked_at.update(fresh)
        most *= 8


def _locked(connection: sa.Connection, sheet: Sheet, *, waits: bool) -> bool:
    """Lock a sheet that is not done; one that another holds locked is left out, or waited for."""
    table = schema.sheet
    wanted = sa.select(table.c.number).where(
        table.c.ballot_id == sheet[0], table.c.number == sheet[1], _is_unfinished()
    )
    return connection.execute(wanted.with_for_update(key_share=True, skip_locked=not waits)).first() is not None


def _free_sheets(connection: sa.Connection, info: CampaignInfo, practice: sa.Subquery | None = None) -> sa.Select[Any]:
    """Sheets that nobody has and that are not done, by ballot's id and number; those that were begun come first.

    Before that those with the most unused practice, if it is given.
    """
    sheet, ballot, lease = schema.sheet, schema.ballot, schema.lease
    taken = sa.exists().where(
        lease.c.ballot_id == sheet.c.ballot_id,
        lease.c.sheet == sheet.c.number,
        lease.c.ended_at.is_(None),
        sa.or_(lease.c.expires_at.is_(None), lease.c.expires_at >= clock(connection)),
    )
    free = (
        sa.select(sheet.c.ballot_id, sheet.c.number)
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(
            ballot.c.campaign_id == info.id,
            ballot.c.state == "open",
            _is_unfinished(),
            ~taken,
        )
    )
    if practice is not None:
        of_sheet = sa.and_(practice.c.ballot_id == sheet.c.ballot_id, practice.c.sheet == sheet.c.number)
        free = free.outerjoin(practice, of_sheet).order_by(sa.func.coalesce(practice.c.number, 0).desc())
    return free.order_by(ballot.c.number, (sheet.c.n_answered + sheet.c.n_checked == 0), sheet.c.number)


def _is_unfinished() -> sa.ColumnElement[bool]:
    sheet = schema.sheet
    return sa.or_(sheet.c.n_answered < sheet.c.n_comparisons, sheet.c.n_checked < sheet.c.n_checks)


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
            _is_unfinished(),
        )
        .order_by(sheet.c.ballot_id, sheet.c.number)
    )
    return [(row.ballot_id, row.number) for row in rows]
