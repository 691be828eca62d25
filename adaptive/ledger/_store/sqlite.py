"""Connections to SQLite files: how they are opened, how a transaction begins, and whether the file is still there.

A ledger may be on a read-only disk, or in another user's folder. SQLite keeps the locks of readers in a file next to
the ledger. If SQLite cannot create that file and no other process has created it, nobody can be writing, and the ledger
can be read without locks. `Database` checks after reading that the ledger has not changed.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

_POLL_SECONDS: Final = (0.0005, 0.0015)  # polling interval for SQLite's lock, for the first thread in a process's queue
IDENTITIES: Final = "rankcorr files"  # key in the `info` of a connection


def set_up(connection: sqlite3.Connection, _: object) -> None:
    """Set what SQLite does not remember between connections."""
    connection.isolation_level = None  # the module must not begin transactions: `begin` does
    cursor = connection.cursor()
    # NORMAL could lose the last commits in a power failure.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # Otherwise INSERT OR REPLACE deletes rows without running the triggers that protect history.
    cursor.execute("PRAGMA recursive_triggers = ON")
    cursor.close()


def begin(connection: sa.Connection) -> None:
    """Begin a transaction; one that writes takes the lock first, and waits for it until its deadline."""
    deadline = connection.get_execution_options().get("ledger_deadline")
    if deadline is None:
        connection.exec_driver_sql("BEGIN")
        return
    # A transaction that reads first fails at its first write, whatever the timeout, if another one has written in
    # between. Writing transactions therefore begin with a lock. SQLite itself would wait in steps of up to 100 ms.
    raw = connection.connection.dbapi_connection
    while True:
        try:
            raw.execute("BEGIN IMMEDIATE")  # type: ignore[union-attr]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise OperationalError("BEGIN IMMEDIATE", None, error) from error
        else:
            return
        time.sleep(random.uniform(*_POLL_SECONDS))


def note_identity(_: sqlite3.Connection, record: Any, *, path: Path) -> None:
    """Record the file that a connection has opened; the first transaction opens the log."""
    record.info[IDENTITIES] = {**dict.fromkeys(identities(path)), path.name: identities(path)[path.name]}


def identities(path: Path) -> dict[str, tuple[int, int] | None]:
    """Return the device and inode of a ledger, its write-ahead log and the log's index; None for missing files."""
    by_name: dict[str, tuple[int, int] | None] = {}
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        try:
            status = file.stat()
        except OSError:
            by_name[file.name] = None
        else:
            by_name[file.name] = status.st_dev, status.st_ino
    return by_name


def is_read_only(path: Path) -> bool:
    """Return whether the ledger exists in a folder that cannot be written."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def file_state(path: Path) -> tuple[int, int] | None:
    """Return a value that changes when a file that is read without locks is written; None if it is read with locks."""
    if not is_read_only(path) or _has_locks(path):
        return None
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def address(path: Path, mode: str = "mode=ro") -> str:
    """Return the URI for opening an existing ledger, immutable if it is read without locks."""
    how = "immutable=1" if is_read_only(path) and not _has_locks(path) else mode
    return f"{path.absolute().as_uri()}?{how}"


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to an existing ledger."""
    mode = "mode=ro" if is_read_only(path) else "mode=rw"
    return sqlite3.connect(address(path, mode), uri=True, timeout=0, check_same_thread=False)


def _has_locks(path: Path) -> bool:
    """Return whether a process has the ledger open, or left votes in the log that are not in the file yet."""
    ahead = Path(f"{path}-wal")  # not with_name, which raises for /
    return Path(f"{path}-shm").exists() or (ahead.exists() and ahead.stat().st_size > 0)
