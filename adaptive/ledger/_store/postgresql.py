"""Sessions of PostgreSQL: their limits, the status of a transaction whose response was lost, and advisory locks."""

from __future__ import annotations

import math
from typing import Any, Final

import sqlalchemy as sa

from adaptive.ledger.errors import UnreachableError

# The time since which a server counts its writes changes with each crash. A server that has crashed, or a standby that
# has taken over, gives the ids of transactions that it has lost to others.
TRANSACTION_ID: Final = sa.text(
    "SELECT CAST(pg_current_xact_id_if_assigned() AS text) AS id, pg_stat_get_bgwriter_stat_reset_time() AS since"
)
TRANSACTION_STATUS: Final = sa.text(
    "SELECT CASE WHEN sent < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(sent) END AS status, "
    "pg_stat_get_bgwriter_stat_reset_time() IS NOT DISTINCT FROM :since AS is_same_server "
    "FROM CAST(CAST(:id AS text) AS xid8) AS sent"
)
# A report on many votes is fitted within its transaction, which holds no lock that others wait for.
UNLIMITED_READ: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"
# A process that hangs in a transaction holds the lock of a ballot. Transactions that wait for the lock are retried, and
# the server ends the hanging one.
_LIMITS: Final = (
    "SELECT pg_backend_pid(), set_config('lock_timeout', %(lock)s, %(local)s), "
    "set_config('idle_in_transaction_session_timeout', '60s', %(local)s)"
)
_READ_ONLY: Final = sa.text(
    "SELECT pg_is_in_recovery() OR CAST(current_setting('default_transaction_read_only') AS bool)"
)
_IS_POOLED: Final = "rankcorr is pooled"  # key in the `info` of a connection
# Numbers that other programs are unlikely to use for advisory locks: "rcl" in ASCII, and the next one.
BALLOT_LOCKS: Final = 0x72636C
EVENT_LOCKS: Final = 0x72636D
_LOCK_SECONDS: Final = 5.0


def set_up(connection: Any, record: Any, *, patience: float) -> None:
    """Set the limits of a session, unless a pooler may give each transaction to another session.

    The session would also serve other clients then, with these limits and with statements that they prepared under the
    same names. A pooler shows itself by another number of the session than the session itself has.
    """
    limits = {"lock": _lock_timeout(patience), "local": False}
    number, *_ = connection.execute(_LIMITS, limits).fetchone()
    record.info[_IS_POOLED] = number != connection.info.backend_pid
    if record.info[_IS_POOLED]:
        connection.rollback()
        connection.prepare_threshold = None
    else:
        connection.commit()


def limit_transaction(connection: sa.Connection, patience: float) -> None:
    """Set the limits of this transaction if a pooler may give the next one to another session."""
    if connection.info.get(_IS_POOLED):
        connection.exec_driver_sql(_LIMITS, {"lock": _lock_timeout(patience), "local": True})


def _lock_timeout(patience: float) -> str:
    return f"{math.ceil(1e3 * min(_LOCK_SECONDS, patience))}ms"


def lock_ballot(connection: sa.Connection, ballot_id: int, *, exclusive: bool) -> None:
    """Lock a ballot until the transaction ends; SQLite has a single writer anyway."""
    if connection.dialect.name == "postgresql":
        name = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        connection.execute(sa.text(f"SELECT {name}(:space, :ballot)"), {"space": BALLOT_LOCKS, "ballot": ballot_id})


def check_writable(connection: sa.Connection, name: str) -> None:
    """Raise UnreachableError if a PostgreSQL server takes no changes: a standby, or one that was made read-only."""
    if connection.dialect.name == "postgresql" and connection.execute(_READ_ONLY).scalar():
        raise UnreachableError(
            f"{name}: is read-only: the server is a standby, or default_transaction_read_only is on; with several "
            "hosts, add target_session_attrs=read-write to the URL"
        )
