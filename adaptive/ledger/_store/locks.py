"""Lock a ballot, and read the state of a comparison under the lock.

Votes share the lock of their ballot, and the closer takes it exclusively. A vote also locks its sheet, so that the
sheet cannot be given away between the check of its lease and the commit. It locks its event id too, which a vote and a
late vote must not share.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from adaptive.errors import VoteError
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import SERVER_CLOCK, clock
from adaptive.ledger._store.encoding import now
from rankcorr._checks import shown

_CLOSER_TIME: Final = 60_000_000  # microseconds
_CLOSER_TIME_EACH: Final = 200  # more for each comparison: three times the measured time with 400,000 on a busy machine
_LIMIT: Final = 2**31
_LOCK_SPACE: Final = 0x72636C  # "rcl": keeps clear of the advisory locks of other programs
_EVENT_SPACE: Final = 0x72636D
_ADDRESS_SPACE: Final = 0x72636E


def lock_ballot(connection: sa.Connection, ballot_id: int, *, exclusive: bool) -> None:
    """Lock a ballot until the transaction ends: votes share the lock, the closer holds it exclusively.

    On SQLite the single writer holds it in any case.
    """
    if connection.dialect.name == "postgresql":
        name = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        connection.execute(sa.text(f"SELECT {name}(:space, :ballot)"), {"space": _LOCK_SPACE, "ballot": ballot_id})


def lock_address(connection: sa.Connection, campaign_id: int, address: str) -> None:
    """Lock the sheets that an address may hold, so that a second claim from there counts the sheet of the first."""
    if connection.dialect.name == "postgresql":
        statement = sa.text("SELECT pg_advisory_xact_lock(:space, hashtext(:address))")
        connection.execute(statement, {"space": _ADDRESS_SPACE, "address": f"{campaign_id} {address}"})


def lock_tables(connection: sa.Connection) -> None:
    """Take the lock for creating or changing the tables: two servers may start at once on an empty database."""
    lock_ballot(connection, 0, exclusive=True)


def locked_state(connection: sa.Connection, campaign_id: int, number: int, place: int, event_id: str) -> Any:
    """Lock the ballot, sheet and event id of a vote, and return the current state of its comparison in one row.

    Columns of the ballot and the pair: ``ballot_id``, ``state``, whether its closer is ``overdue``, ``sheet``,
    ``position``, and whether the comparison is ``scored`` (1 or 0) or ``checked``, a check other than practice. Columns
    of the lease: ``lease_id``, ``holder``, ``remaining`` microseconds, and whether it is ``unanswered``. Columns of the
    last event: ``revision``, ``kind``, ``answer`` and ``voter_id``. The last column says whether the event id is
    ``known``.

    Raises
    ------
    VoteError
        If the ballot or the comparison does not exist.
    """
    for value in (number, place):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LIMIT:
            raise _unknown(number, place)
    wanted = {"campaign": campaign_id, "number": number, "comparison": place, "event": event_id}
    postgresql = connection.dialect.name == "postgresql"
    # A separate statement reads the state: one that waits for a lock sees the data from before the wait.
    if not postgresql or connection.execute(_lock_statement(), wanted).first() is not None:
        given = wanted if postgresql else {**wanted, "at": now()}
        row = connection.execute(_state_statement(postgresql), given).first()
        if row is not None:
            return row
    ballot_numbered(connection, campaign_id, number)
    raise _unknown(number, place)


def _unknown(number: object, place: object) -> VoteError:
    return VoteError(f"ballot {shown(number)} has no comparison {shown(place)}")


def closer_time() -> sa.ColumnElement[int]:
    """Return how many microseconds the closer of a ballot has until it is considered dead."""
    each = sa.cast(schema.ballot.c.n_comparisons, sa.BigInteger) * _CLOSER_TIME_EACH
    return sa.literal(_CLOSER_TIME, sa.BigInteger) + each


def is_overdue(at: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Return whether a closer's time is up, or its deadline is impossibly late because a clock was changed."""
    until = schema.ballot.c.closer_until
    return sa.and_(schema.ballot.c.state == "closing", sa.or_(until < at, until > at + 2 * closer_time()))


def open_overdue(connection: sa.Connection, ballot_id: int) -> None:
    """Reopen a ballot whose closer died: voting continues, and a closer that is only slow writes nothing."""
    lock_ballot(connection, ballot_id, exclusive=True)
    is_it = (schema.ballot.c.id == ballot_id, is_overdue(clock(connection)))
    connection.execute(sa.update(schema.ballot).where(*is_it).values(state="open", closer=None, closer_until=None))


def open_if_overdue(connection: sa.Connection, campaign_id: int, number: int) -> None:
    """Reopen a ballot if its closer died; do nothing if the ballot does not exist."""
    table = schema.ballot
    is_it = (table.c.campaign_id == campaign_id, table.c.number == number, is_overdue(clock(connection)))
    found = connection.execute(sa.select(table.c.id).where(*is_it)).scalar()
    if found is not None:
        open_overdue(connection, found)


def ballot_numbered(connection: sa.Connection, campaign_id: int, number: int) -> int:
    """Return the id of a ballot, given its number.

    Raises
    ------
    VoteError
        If it has not been opened.
    """
    table = schema.ballot
    has_number = (table.c.campaign_id == campaign_id, table.c.number == number)
    found = connection.execute(sa.select(table.c.id).where(*has_number)).scalar()
    if found is None:
        raise VoteError(f"ballot {shown(number)} has not been opened")
    return int(found)


def count_answers(
    connection: sa.Connection, ballot_id: int, scored: Mapping[int, int], checked: Mapping[int, int]
) -> None:
    """Update the answer counts of each sheet, in ascending order so that two writers cannot deadlock."""
    for sheet in sorted({*scored, *checked}):
        values = {"scored": scored.get(sheet, 0), "checked": checked.get(sheet, 0)}
        connection.execute(count_statement(), {"ballot": ballot_id, "sheet": sheet, **values})


# Statements are built once, because building and naming one takes longer than SQLite needs to run it.


@cache
def count_statement() -> sa.Update:
    """Return the update of a ``ballot``'s ``sheet`` by changes in its answers; it takes equally long for a check."""
    table = schema.sheet
    wanted = (table.c.ballot_id == sa.bindparam("ballot"), table.c.number == sa.bindparam("sheet"))
    return (
        sa.update(table)
        .where(*wanted)
        .values(
            n_answered=table.c.n_answered + sa.bindparam("scored", type_=sa.Integer),
            n_checked=table.c.n_checked + sa.bindparam("checked", type_=sa.Integer),
        )
    )


@cache
def _lock_statement() -> sa.Select[Any]:
    ballot, asked, sheet = schema.ballot, schema.comparison, schema.sheet
    space, of_events = (sa.literal(each, sa.Integer, literal_execute=True) for each in (_LOCK_SPACE, _EVENT_SPACE))
    return (
        sa.select(
            sa.func.pg_advisory_xact_lock_shared(space, sa.cast(ballot.c.id, sa.Integer)),
            sa.func.pg_advisory_xact_lock(of_events, sa.func.hashtext(sa.bindparam("event", type_=sa.Text))),
        )
        .select_from(ballot)
        .join(asked, asked.c.ballot_id == ballot.c.id)
        .join(sheet, sa.and_(sheet.c.ballot_id == asked.c.ballot_id, sheet.c.number == asked.c.sheet))
        .where(*_is_wanted())
        .with_for_update(of=sheet, key_share=True)
    )


@cache
def _state_statement(postgresql: bool) -> sa.Select[Any]:
    ballot, asked, lease = schema.ballot, schema.comparison, schema.lease
    event, late = schema.vote_event, schema.late_vote
    at = SERVER_CLOCK if postgresql else sa.bindparam("at", type_=sa.BigInteger)
    of_comparison = sa.and_(event.c.ballot_id == asked.c.ballot_id, event.c.place == asked.c.place)
    earlier = event.alias("earlier")
    last = (
        sa.select(sa.func.max(earlier.c.revision))
        .where(earlier.c.ballot_id == asked.c.ballot_id, earlier.c.place == asked.c.place)
        .correlate(asked)
        .scalar_subquery()
    )
    known = [sa.exists().where(table.c.event_id == sa.bindparam("event")) for table in (event.alias(), late)]
    return (
        sa.select(
            ballot.c.id.label("ballot_id"),
            ballot.c.state,
            is_overdue(at).label("overdue"),
            asked.c.sheet,
            asked.c.position,
            sa.case((asked.c.probe.is_(None), 1), else_=0).label("scored"),
            sa.case((asked.c.probe != "practice", 1), else_=0).label("checked"),
            lease.c.id.label("lease_id"),
            lease.c.voter_id.label("holder"),
            (lease.c.expires_at - at).label("remaining"),
            lease.c.unanswered,
            *(event.c.revision, event.c.kind, event.c.answer, event.c.voter_id),
            sa.or_(*known).label("known"),
        )
        .select_from(ballot)
        .join(asked, asked.c.ballot_id == ballot.c.id)
        .outerjoin(
            lease,
            sa.and_(lease.c.ballot_id == asked.c.ballot_id, lease.c.sheet == asked.c.sheet, lease.c.ended_at.is_(None)),
        )
        .outerjoin(event, sa.and_(of_comparison, event.c.revision == last))
        .where(*_is_wanted())
    )


def _is_wanted() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        schema.ballot.c.campaign_id == sa.bindparam("campaign"),
        schema.ballot.c.number == sa.bindparam("number"),
        schema.comparison.c.place == sa.bindparam("comparison"),
    )
