"""Lease sheets to voters: record who holds which sheet and until when, and let others take sheets over.

A lease ends when the sheet is done, when the sheet is given to another voter, or when its voter leaves. An expired
lease remains valid until another voter claims the sheet, so a slow voter loses nothing. `fence` counts the leases of a
sheet.

A voter gets no sheet with a pair already asked on another sheet, and practice first. Pairs are compared here and not in
the database, which would compare the voter's pairs with those of every free sheet. That takes seconds in a campaign of
a thousand sheets.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from adaptive.ledger._ballots.stored import stored_ballots
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import clock
from adaptive.ledger._store.encoding import now
from adaptive.ledger._store.locks import lock_ballot
from adaptive.ledger._store.rows import audit
from adaptive.ledger._voters.identity import file_name, register, voter_named
from adaptive.ledger._voters.newcomers import MINUTE, Origin, first_end, forget_addresses, held_unanswered, lease_end
from adaptive.ledger.errors import LedgerError

Sheet: TypeAlias = tuple[int, int]  # ballot's id, and number in it
Pair: TypeAlias = tuple[int, int]
KnownPairs: TypeAlias = Mapping[Pair, Collection[Sheet]]
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
    held = _held(connection, ballot_id, sheet)
    if held is not None and held.voter_id == voter_id:
        raise LedgerError(f"sheet {sheet + 1} is already that voter's")
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
    connection: sa.Connection, info: CampaignInfo, voter_id: int, origin: Origin | None = None
) -> Lease | None:
    """Lease the next sheet to a voter who asks for one, or return None if nothing is left for that voter.

    A voter gets the sheet in hand again until it is done. The next sheet is one that is free or whose lease has
    expired. It has no pair that the voter was already asked in the same ballot or, in a continuous campaign, in any
    batch. Sheets with answers on them are given first. New voters get a sheet with practice while any is left. A sheet
    has no practice if its comparisons are the practice pairs, or if a voter did its practice and then left.

    A sheet without an answer is held only for the first minutes. Asking for it again does not extend that time.

    Raises
    ------
    LedgerError
        If the voter has withdrawn.
    """
    _check_present(connection, voter_id)  # two simultaneous requests of a voter get one sheet: the second waits here
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
    # Try sheets that no other transaction has locked first; if all are locked, wait for one to be released.
    for waits in (False, True):
        for free in _sheets_for(connection, info, known, practice):
            if not _locked(connection, free, waits=waits):
                continue
            held = _held(connection, *free)  # another request may have leased one before the lock was taken
            if held is not None and not held.expired:
                continue
            if held is not None:
                _end(connection, held.id, "expired")
            address = None if origin is None else origin.hashed(info)
            ends = first_end(connection, info)
            _leased(connection, *free, voter_id, exclusive=True, expires_at=ends, unanswered=True, address=address)
            forget_addresses(connection, info)  # after the sheet's lock, as a vote does, to avoid a deadlock
            return lease_of_voter(connection, voter_id)
    return None


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
    known = {} if voter_id is None else known_pairs(connection, voter_id)
    return next(_sheets_for(connection, info, known), None) is not None


def n_unanswered_for(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> int:
    """Return the number of unanswered pairs, checks included, on free sheets that this voter may get."""
    known, table = known_pairs(connection, voter_id), schema.sheet
    left = (table.c.n_comparisons + table.c.n_checks - table.c.n_answered - table.c.n_checked).label("n_left")
    rows = connection.execute(_free_sheets(connection, info).add_columns(left))
    n_left = {(row.ballot_id, row.number): int(row.n_left) for row in rows}
    return sum(n_left[sheet] for sheet in without_known_pairs(connection, info, list(n_left), known))


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


def _held(connection: sa.Connection, ballot_id: int, sheet: int) -> Any:
    """Return the open lease of a sheet, and whether it has expired."""
    table = schema.lease
    expired = sa.func.coalesce(table.c.expires_at < clock(connection), sa.false()).label("expired")
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
    connection: sa.Connection, info: CampaignInfo, known: KnownPairs, practice: sa.Subquery | None = None
) -> Iterator[Sheet]:
    """Yield the sheets that a voter may get, the next one first, reading more rows as needed.

    If the voter needs practice, sheets with the most unused practice precede the others.
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
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open", _is_unfinished(), ~is_taken(connection))
    )
    if practice is not None:
        of_sheet = sa.and_(practice.c.ballot_id == sheet.c.ballot_id, practice.c.sheet == sheet.c.number)
        free = free.outerjoin(practice, of_sheet).order_by(sa.func.coalesce(practice.c.number, 0).desc())
    return free.order_by(ballot.c.number, (sheet.c.n_answered + sheet.c.n_checked == 0), sheet.c.number)


def is_taken(connection: sa.Connection) -> sa.ColumnElement[bool]:
    """Return the condition that a sheet has a lease that has not expired."""
    lease, sheet = schema.lease, schema.sheet
    of_sheet = (lease.c.ballot_id == sheet.c.ballot_id, lease.c.sheet == sheet.c.number)
    is_in_time = sa.or_(lease.c.expires_at.is_(None), lease.c.expires_at >= clock(connection))
    return sa.exists().where(*of_sheet, lease.c.ended_at.is_(None), is_in_time)


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
    lease, known = schema.lease, {} if voter_id is None else known_pairs(connection, voter_id)
    left = (lease.c.expires_at - clock(connection)).label("left")
    rows = connection.execute(
        sa.select(lease.c.ballot_id, lease.c.sheet, left)
        .join(schema.ballot, schema.ballot.c.id == lease.c.ballot_id)
        .where(*held_unanswered(connection, info), lease.c.voter_id.is_distinct_from(voter_id))
    ).all()
    times = {(row.ballot_id, row.sheet): int(row.left) for row in rows}
    some = without_known_pairs(connection, info, list(times), known)
    return max(1, -(-min(times[sheet] for sheet in some) // 1_000_000)) if some else None


def known_pairs(connection: sa.Connection, voter_id: int) -> KnownPairs:
    """Return the pairs on all sheets that a voter has had, each with its sheets.

    The pair of an overlap is included; pairs whose answer is known are not, because they may be asked again.
    """
    lease, found = schema.lease, defaultdict(set)
    table = schema.comparison
    wanted = _pairs().join(lease, sa.and_(lease.c.ballot_id == table.c.ballot_id, lease.c.sheet == table.c.sheet))
    for ballot_id, sheet, pair in _read(connection, wanted.where(lease.c.voter_id == voter_id)):
        found[pair].add((ballot_id, sheet))
    return found


def without_known_pairs(
    connection: sa.Connection,
    info: CampaignInfo,
    sheets: Sequence[Sheet],
    known: KnownPairs,
    *,
    of_ballot: bool = False,
) -> list[Sheet]:
    """Return those sheets that share no pair with another sheet of the voter, in the same ballot or in any batch.

    With `of_ballot`, only sheets of the same ballot or batch are compared. Different ballots are separate rounds of
    voting: the selected items meet again.
    """
    is_anywhere = info.mode == "continuous" and not of_ballot
    by_ballot: dict[int, list[int]] = defaultdict(list)
    for ballot_id, number in sheets if known else ():
        by_ballot[ballot_id].append(number)
    repeated = set()
    table = schema.comparison
    for ballot_id, numbers in by_ballot.items():
        wanted = _pairs().where(table.c.ballot_id == ballot_id, table.c.sheet.in_(numbers))
        for of_ballot_id, number, pair in _read(connection, wanted):
            sheet = of_ballot_id, number
            others = known.get(pair, ())
            if any(other != sheet and (is_anywhere or other[0] == ballot_id) for other in others):
                repeated.add(sheet)
    return [sheet for sheet in sheets if sheet not in repeated]


def _pairs() -> sa.Select[Any]:
    table = schema.comparison
    wanted = sa.select(table.c.ballot_id, table.c.sheet, table.c.left_item, table.c.right_item)
    return wanted.where(sa.or_(table.c.probe.is_(None), table.c.probe == "overlap"))


def _read(connection: sa.Connection, wanted: sa.Select[Any]) -> Iterator[tuple[int, int, Pair]]:
    for ballot_id, sheet, left, right in connection.execute(wanted):
        yield ballot_id, sheet, (left, right) if left < right else (right, left)


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
