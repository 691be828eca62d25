"""Classify the errors of SQLite and PostgreSQL, and state their cause in one line."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError, OperationalError

# States of PostgreSQL: serialization failure, deadlock, timeouts of locks, transactions, statements and idle sessions,
# and a server that stops, starts or has no free connections. PgBouncer uses 08P01 for most of its errors.
_TRANSIENT: Final = (
    *("40001", "40P01", "55P03", "25P03", "25P04", "57014", "57P05"),
    *("57P01", "57P02", "57P03", "53300", "08000", "08001", "08003", "08004", "08006", "08P01"),
)
_DISK_FULL: Final = "53100"
WRITES_NOTHING: Final = "25006"
# Missing rights, missing tables, a transaction that must not write, and damaged tables.
UNUSABLE: Final = ("42501", "42P01", WRITES_NOTHING, "0A000", "XX000", "XX001", "XX002")
NOT_IN_ENCODING: Final = "22P05"
_LITTLE: Final = 64 * 1024  # bytes: SQLite needs 32 kB for the locks of readers, and more for writes


def is_transient(error: DBAPIError) -> bool:
    """Return whether the same transaction may succeed in a moment."""
    if isinstance(error.orig, sqlite3.OperationalError):
        return error.orig.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    state = getattr(error.orig, "sqlstate", None)
    # A broken connection has no state.
    return state in _TRANSIENT or (state is None and isinstance(error, OperationalError))


def is_clash(error: DBAPIError) -> bool:
    """Return whether a row was rejected because another row has its key."""
    if isinstance(error.orig, sqlite3.IntegrityError):
        return error.orig.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
    return getattr(error.orig, "sqlstate", None) == "23505"


def is_damaged(error: DBAPIError) -> bool:
    """Return whether a file is not a database, or is damaged."""
    if not isinstance(error.orig, sqlite3.DatabaseError):
        return False
    return error.orig.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def reason(error: DBAPIError, path: Path | None) -> str:
    """Return the cause of an error in one line; `path` is the SQLite file."""
    if isinstance(error.orig, sqlite3.Error) and path is not None:
        code = error.orig.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_room(path)):
            return "the disk is full"
        if code == sqlite3.SQLITE_READONLY:
            return "cannot be written: the file or its folder is read-only"
        if code == sqlite3.SQLITE_CANTOPEN and path.is_dir():
            return "is a folder, not a file"
        if code == sqlite3.SQLITE_CANTOPEN and Path(f"{path}-wal").exists():
            return (
                f"cannot be read: {path.name}-wal has votes that are not in the file yet, and the folder is read-only; "
                f"copy both files to a folder that can be written"
            )
    lines = str(error.orig).strip().splitlines()
    line = lines[0] if lines else type(error.orig).__name__
    return f"the disk of the server is full: {line}" if getattr(error.orig, "sqlstate", None) == _DISK_FULL else line


def _has_no_room(path: Path) -> bool:
    """Return whether the disk is full; SQLite reports an I/O error if it cannot write the file of locks."""
    if not hasattr(os, "statvfs"):
        return False
    try:
        status = os.statvfs(path.parent)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < _LITTLE
