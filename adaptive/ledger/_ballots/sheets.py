"""Lease sheets to voters: record who holds which sheet and until when, and let others take sheets over.

A lease ends when the sheet is done, when the sheet is given to another voter, or when its voter leaves. An expired
lease remains valid until another voter claims the sheet, so a slow voter loses nothing. `fence` counts the leases of a
sheet.

A voter gets no pair twice, and practice first. If no whole sheet is left for a voter, the sheet with the most pairs
that this voter may be asked is leased for those pairs, and its others wait for somebody else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from adaptive.ledger._ballots.open_pairs import OpenPairs, Sheet, dropped_sheets, has_asked_pair, open_pairs
from adaptive.ledger._ballots.stored import stored_ballots
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import clock
from adaptive.ledger._store.encoding import now
from adaptive.ledger._store.locks import lock_ballot
from adaptive.ledger._store.rows import audit
from adaptive.ledger._voters.identity import file_name, register, voter_named
from adaptive.ledger._voters.newcomers import (
    MINUTE,
    Origin,
    first_end,
    forget_addresses,
    held_unanswered,
    is_in_time,
    lease_end,
)
from adaptive.ledger.errors import LedgerError

_FIRST_SHEETS: Final = 8  # read first; the voter usually gets one of them


@dataclass(frozen=True)
class Lease:
    """A sheet that a voter holds.

    Attributes
    ----------
    id, ballot_id, number, sheet, fence : int
        `number` is the ballot's number.
    expires_at : int or None
    is_closed : bool
        Whether the ballot is closed.
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

    If another voter took over the last sheet of a slot, that voter keeps the slot.
    """
    heirs = _holders_of_slots(connection, info)
    table = schema.sheet
    of_ballot = sa.select(table.c.number, table.c.slot).where(table.c.ballot_id == ballot_id)
    rows = connection.execute(of_ballot.order_by(table.c.number)).all()
    known: dict[int, int] = {}
    at = now()
    leases = []
    for number, slot in rows:
        if slot not in known:
            known[slot] = heirs.get(slot) or register(connection, info, file_name(info.slots[slot]))
        leases.append({"ballot_id": ballot_id, "sheet": number, "voter_id": known[slot], "given_at": at})
    connection.execute(sa.insert(schema.lease), [{**lease, "fence": 1, "exclusive": False} for lease in leases])


def give_sheet(connection: sa.Connection, info: CampaignInfo, ballot_id: int, sheet: int, voter_id: int) -> int:
    """Give a sheet to a voter, late or in place of another voter, and return the id of the lease.

    Raises
    ------
    LedgerError
        If the ballot is not open or does not have the sheet, if the whole sheet is answered, or if the voter has
        withdrawn, already holds the sheet, or was already asked one of its pairs.
    """
    lock_ballot(connection, ballot_id, exclusive=False)  # waits while a file of votes is checked against its leases
    row = _sheet_row(connection, ballot_id, sheet, locked=True)
    if row is None:
        raise LedgerError(f"the ballot has no sheet {sheet + 1}")
    state = connection.execute(sa.select(schema.ballot.c.state).where(schema.ballot.c.id == ballot_id)).scalar_one()
    if state == "closed":
        raise LedgerError("the ballot is closed: its sheets cannot be given to another voter")
    _check_present(connection, voter_id)
    if row.n_answered == row.n_comparisons and row.n_checked == row.n_checks:
        raise LedgerError(f"sheet {sheet + 1} is already answered, so it cannot be given away")
    held = _held(connection, info, ballot_id, sheet)
    if held is not None and held.voter_id == voter_id:
        raise LedgerError(f"sheet {sheet + 1} is already that voter's")
    if has_asked_pair(connection, (ballot_id, sheet), voter_id):
        raise LedgerError(f"sheet {sheet + 1} has a pair that this voter was asked before in this ballot")
    if held is not None:
        _end(connection, held.id, "reassigned")
    made = _leased(connection, ballot_id, sheet, voter_id, exclusive=False)
    audit(connection, info.id, "assigned", {"sheet": sheet}, ballot_id=ballot_id, voter_id=voter_id)
    return made


def give_sheets(
    connection: sa.Connection, info: CampaignInfo, name: str, *, giver: str | None = None, sheets: Sequence[int] = ()
) -> int:
    """Give sheets of the open ballot to a voter, adding the voter if the name is new, and return how many.

    Parameters
    ----------
    giver : str or None
        Take all unfinished sheets of this voter. None: take those in `sheets`, counted from 1.

    Raises
    ------
    LedgerError
        If no ballot is open, if the giver has no unfinished sheet, or for the reasons given in `give_sheet`.
    """
    open_ones = [each for each in stored_ballots(connection, info) if each.state == "open"]
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
    connection: sa.Connection,
    info: CampaignInfo,
    voter_id: int,
    origin: Origin | None = None,
    *,
    only_whole: bool = False,
) -> Lease | None:
    """Lease the next sheet to a voter who asks for one, or return None if nothing is left for that voter.

    A voter gets the sheet in hand again until it is done. The next sheet is one that is free or whose lease has
    expired. It has no pair that the voter was already asked in the same ballot or, in a continuous campaign, in any
    batch; if there is no such sheet, it is one of whose pairs this voter may be asked some. Sheets with answers on them
    are given first. New voters get a sheet with practice while any is left. A sheet has no practice if its comparisons
    are the practice pairs, or if a voter did its practice and then left.

    A sheet without an answer is held only for the first minutes. Asking for it again does not extend that time.

    Parameters
    ----------
    only_whole : bool
        Whether to pass over sheets with a pair that the voter was asked, because a batch is due instead.

    Raises
    ------
    LedgerError
        If the voter has withdrawn.
    """
    _check_present(connection, voter_id)  # two simultaneous requests of a voter get one sheet: the second waits here
    current = lease_of_voter(connection, voter_id)
    if current is not None:
        sheet = current.ballot_id, current.sheet
        is_done = not open_pairs(connection, info, [sheet], voter_id)[sheet].places
        if not is_done and not current.is_closed:
            return renew_lease(connection, info, voter_id)
        _end(connection, current.id, "done" if is_done else "closed")
    practice = unused_practice(info)
    if practice is not None and has_begun(connection, voter_id):
        practice = None
    # Try sheets that no other transaction has locked first; if all are locked, wait for one to be released.
    partial: dict[Sheet, int] = {}
    for waits in (False, True):
        for sheet, pairs in _sheets_for(connection, info, voter_id, practice):
            if pairs.hidden:
                partial[sheet] = len(pairs.places)
            elif _lease_free(connection, info, sheet, voter_id, origin, waits=waits):
                return lease_of_voter(connection, voter_id)
    if only_whole:
        return None
    for sheet, lease_id in _answered_parts(connection, info, voter_id).items():
        if _locked(connection, sheet, waits=True):
            _end(connection, lease_id, "done")
            partial[sheet] = len(open_pairs(connection, info, [sheet], voter_id)[sheet].places)
    for waits in (False, True):
        for sheet in sorted(partial, key=lambda sheet: -partial[sheet]):
            if _lease_free(connection, info, sheet, voter_id, origin, waits=waits):
                return lease_of_voter(connection, voter_id)
    return None


def _answered_parts(connection: sa.Connection, info: CampaignInfo, voter_id: int | None) -> dict[Sheet, int]:
    """Return sheets whose holder has answered all that this voter may be asked there, with their leases.

    The holder may be asked no other pair of the sheet, and has not asked for the next sheet yet.
    """
    sheet, lease, ballot = schema.sheet, schema.lease, schema.ballot
    of_sheet = (lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number)
    is_open = (ballot.c.campaign_id == info.id, ballot.c.state == "open", lease.c.ended_at.is_(None), lease.c.exclusive)
    held = sa.select(lease.c.id, lease.c.ballot_id, lease.c.sheet, lease.c.voter_id).where(*is_open)
    joined = held.join(ballot, ballot.c.id == lease.c.ballot_id).join(sheet, sa.and_(*of_sheet))
    rows = connection.execute(joined.where(_is_unfinished(), ~lease.c.unanswered)).all()
    open_to_voter = open_pairs(connection, info, [(row.ballot_id, row.sheet) for row in rows], voter_id)
    parts = {}
    for row in rows:
        at = row.ballot_id, row.sheet
        if open_to_voter[at].places and not open_pairs(connection, info, [at], row.voter_id)[at].places:
            parts[at] = row.id
    return parts


def _lease_free(
    connection: sa.Connection, info: CampaignInfo, sheet: Sheet, voter_id: int, origin: Origin | None, *, waits: bool
) -> bool:
    """Lease a sheet to a voter unless another transaction locks or leases it."""
    if not _locked(connection, sheet, waits=waits):
        return False
    held = _held(connection, info, *sheet)  # another request may have leased it before the lock was taken
    if held is not None and not held.expired:
        return False
    if info.mode == "continuous" and sheet in dropped_sheets(connection, info):
        return False
    if held is not None:
        _end(connection, held.id, "expired")
    address = None if origin is None else origin.hashed(info)
    ends = first_end(connection, info)
    _leased(connection, *sheet, voter_id, exclusive=True, expires_at=ends, unanswered=True, address=address)
    forget_addresses(connection, info)  # after the sheet's lock, as a vote does, to avoid a deadlock
    return True


def renew_lease(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> Lease | None:
    """Restart the lease of a voter's sheet if an answer came within it; asking alone does not extend it.

    Raises
    ------
    LedgerError
        If the voter has withdrawn.
    """
    _check_present(connection, voter_id)
    table, event, asked = schema.lease, schema.vote_event, schema.comparison
    minutes = info.settings.lease_minutes or info.settings.first_minutes
    since = clock(connection) - sa.literal(int(minutes * MINUTE), sa.BigInteger)
    answered = (
        sa.select(sa.literal(1))
        .select_from(event.join(asked))
        .where(asked.c.ballot_id == table.c.ballot_id, asked.c.sheet == table.c.sheet)
        .where(event.c.voter_id == voter_id, event.c.kind == "cast", event.c.received_at >= since)
        .correlate(table)
        .exists()
    )
    own = (table.c.voter_id == voter_id, table.c.ended_at.is_(None), table.c.exclusive, ~table.c.unanswered)
    ends = lease_end(connection, info, voter_id)
    connection.execute(sa.update(table).where(*own, answered).values(expires_at=ends))
    return lease_of_voter(connection, voter_id)


def lease_of_voter(connection: sa.Connection, voter_id: int) -> Lease | None:
    """Return the sheet that a voter has claimed and not finished."""
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
    """Return whether this voter, or a new one, could claim a sheet, without locking or changing anything."""
    if any(True for _ in _sheets_for(connection, info, voter_id)):
        return True
    return bool(_answered_parts(connection, info, voter_id))


def n_unanswered_for(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> int:
    """Return the number of unanswered pairs, checks included, on free sheets that this voter may get whole."""
    sheets = [(row.ballot_id, row.number) for row in connection.execute(_free_sheets(connection, info))]
    return sum(
        len(pairs.places) for pairs in open_pairs(connection, info, sheets, voter_id).values() if not pairs.hidden
    )


def free_remainders(connection: sa.Connection, info: CampaignInfo) -> dict[Sheet, int]:
    """Return the number of unanswered comparisons on each free sheet that has some, without checks."""
    sheet = schema.sheet
    left = (sheet.c.n_comparisons - sheet.c.n_answered).label("n_left")
    rows = connection.execute(_free_sheets(connection, info).add_columns(left))
    return {(row.ballot_id, row.number): int(row.n_left) for row in rows if row.n_left}


def lock_remainders(connection: sa.Connection, info: CampaignInfo, remainders: Mapping[Sheet, int]) -> bool:
    """Lock free sheets and end their expired leases; return whether they still have as many unanswered comparisons."""
    for sheet in sorted(remainders):
        _locked(connection, sheet, waits=True)
    now_left = free_remainders(connection, info) if remainders else {}
    if any(now_left.get(sheet) != number for sheet, number in remainders.items()):
        return False
    for sheet in remainders:
        held = _held(connection, info, *sheet)
        if held is not None:
            _end(connection, held.id, "expired")
    return True


def _check_present(connection: sa.Connection, voter_id: int) -> None:
    """Lock the voter and refuse one who has withdrawn."""
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


def _held(connection: sa.Connection, info: CampaignInfo, ballot_id: int, sheet: int) -> Any:
    """Return the open lease of a sheet, and whether it has expired."""
    table = schema.lease
    expired = (~is_in_time(connection, info)).label("expired")
    is_open = (table.c.ballot_id == ballot_id, table.c.sheet == sheet, table.c.ended_at.is_(None))
    return connection.execute(sa.select(table.c.id, table.c.voter_id, expired).where(*is_open)).first()


def _end(connection: sa.Connection, lease_id: int, reason: str) -> None:
    table = schema.lease
    connection.execute(sa.update(table).where(table.c.id == lease_id).values(ended_at=now(), end_reason=reason))


def _leased(connection: sa.Connection, ballot_id: int, sheet: int, voter_id: int, **columns: Any) -> int:
    table = schema.lease
    of_sheet = (table.c.ballot_id == ballot_id, table.c.sheet == sheet)
    last = connection.execute(sa.select(sa.func.max(table.c.fence)).where(*of_sheet)).scalar()
    values = {"ballot_id": ballot_id, "sheet": sheet, "voter_id": voter_id, "fence": (last or 0) + 1}
    lease = sa.insert(table).values(**values, **columns, given_at=now())
    return int(connection.execute(lease.returning(table.c.id)).scalar_one())


def _sheets_for(
    connection: sa.Connection, info: CampaignInfo, voter_id: int | None, practice: sa.Subquery | None = None
) -> Iterator[tuple[Sheet, OpenPairs]]:
    """Yield the sheets with a pair that a voter may be asked, the next one first, reading more rows as needed.

    If the voter needs practice, sheets with the most unused practice precede the others.
    """
    wanted = _free_sheets(connection, info, practice)
    looked_at: set[Sheet] = set()
    most = _FIRST_SHEETS
    while True:
        rows = [(row.ballot_id, row.number) for row in connection.execute(wanted.limit(most))]
        fresh = [sheet for sheet in rows if sheet not in looked_at]
        for sheet, pairs in open_pairs(connection, info, fresh, voter_id).items():
            if pairs.places:
                yield sheet, pairs
        if len(rows) < most:
            return
        looked_at.update(fresh)
        most *= 8


def _locked(connection: sa.Connection, sheet: Sheet, *, waits: bool) -> bool:
    """Lock a sheet that is not done; skip it, or wait for it, if another transaction holds the lock."""
    table = schema.sheet
    is_it = (table.c.ballot_id == sheet[0], table.c.number == sheet[1])
    wanted = sa.select(table.c.number).where(*is_it, _is_unfinished())
    return connection.execute(wanted.with_for_update(key_share=True, skip_locked=not waits)).first() is not None


def _free_sheets(connection: sa.Connection, info: CampaignInfo, practice: sa.Subquery | None = None) -> sa.Select[Any]:
    """Return free, unfinished sheets by ballot id and number, those with answers first.

    If practice is given, sheets with the most unused practice come before all others.
    """
    sheet, ballot = schema.sheet, schema.ballot
    free = (
        sa.select(sheet.c.ballot_id, sheet.c.number)
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open", _is_unfinished(), ~is_taken(connection, info))
    )
    if info.mode == "continuous" and (dropped := dropped_sheets(connection, info)):
        free = free.where(sa.tuple_(sheet.c.ballot_id, sheet.c.number).not_in(list(dropped)))
    if practice is not None:
        of_sheet = sa.and_(practice.c.ballot_id == sheet.c.ballot_id, practice.c.sheet == sheet.c.number)
        free = free.outerjoin(practice, of_sheet).order_by(sa.func.coalesce(practice.c.number, 0).desc())
    return free.order_by(ballot.c.number, (sheet.c.n_answered + sheet.c.n_checked == 0), sheet.c.number)


def is_taken(connection: sa.Connection, info: CampaignInfo) -> sa.ColumnElement[bool]:
    """Return the condition that a sheet has a lease that has not expired."""
    lease, sheet = schema.lease, schema.sheet
    of_sheet = (lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number)
    return sa.exists().where(*of_sheet, lease.c.ended_at.is_(None), is_in_time(connection, info))


def _is_unfinished() -> sa.ColumnElement[bool]:
    sheet = schema.sheet
    return sa.or_(sheet.c.n_answered < sheet.c.n_comparisons, sheet.c.n_checked < sheet.c.n_checks)


def _holders_of_slots(connection: sa.Connection, info: CampaignInfo) -> dict[int, int]:
    """Return the voter of each slot, according to the latest ballot that uses the slot."""
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
    """Return ballot and number of each sheet in open ballots that the voter holds and has not finished."""
    sheet, lease, ballot = schema.sheet, schema.lease, schema.ballot
    rows = connection.execute(
        sa.select(sheet.c.ballot_id, sheet.c.number)
        .join(lease, sa.and_(lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number))
        .join(ballot, ballot.c.id == sheet.c.ballot_id)
        .where(lease.c.voter_id == voter_id, lease.c.ended_at.is_(None), ballot.c.state == "open", _is_unfinished())
        .order_by(sheet.c.ballot_id, sheet.c.number)
    )
    return [(row.ballot_id, row.number) for row in rows]


def seconds_left(connection: sa.Connection, info: CampaignInfo, voter_id: int | None = None) -> int | None:
    """Return the seconds until a sheet that others hold unanswered becomes free for this voter, or for a new one.

    The result is None if no sheet becomes free.
    """
    lease = schema.lease
    left = (lease.c.expires_at - clock(connection)).label("left")
    rows = connection.execute(
        sa.select(lease.c.ballot_id, lease.c.sheet, left)
        .join(schema.ballot, schema.ballot.c.id == lease.c.ballot_id)
        .where(*held_unanswered(connection, info), lease.c.voter_id.is_distinct_from(voter_id))
    ).all()
    times = {(row.ballot_id, row.sheet): int(row.left) for row in rows}
    some = [sheet for sheet, pairs in open_pairs(connection, info, times, voter_id).items() if pairs.places]
    return max(1, -(-min(times[sheet] for sheet in some) // 1_000_000)) if some else None


def has_begun(connection: sa.Connection, voter_id: int, *, besides: tuple[int, int] | None = None) -> bool:
    """Return whether a voter has practised or voted before, so that later practice is useless.

    Later practice might even reveal the answer to a pair that the voter was asked as a real comparison.

    Parameters
    ----------
    besides : (int, int) or None
        A ballot's id and a sheet in it whose answers are ignored.
    """
    event, asked = schema.vote_event, schema.comparison
    wanted = sa.select(sa.literal(1)).select_from(event.join(asked)).where(event.c.voter_id == voter_id)
    if besides is not None:
        wanted = wanted.where(sa.or_(asked.c.ballot_id != besides[0], asked.c.sheet != besides[1]))
    return connection.execute(wanted.limit(1)).first() is not None


def unused_practice(info: CampaignInfo) -> sa.Subquery | None:
    """Count the unanswered practice pairs by ballot id and sheet; None if the campaign has no practice.

    A voter who takes over a started sheet finds its practice done.
    """
    probing, probe, event, ballot = info.settings.probing, schema.comparison, schema.vote_event, schema.ballot
    if probing is None or not probing.of_kind("practice"):
        return None
    answered = sa.exists().where(event.c.ballot_id == probe.c.ballot_id, event.c.place == probe.c.place)
    return (
        sa.select(probe.c.ballot_id, probe.c.sheet, sa.func.count().label("number"))
        .join(ballot, ballot.c.id == probe.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open", probe.c.probe == "practice", ~answered)
        .group_by(probe.c.ballot_id, probe.c.sheet)
        .subquery()
    )
