"""Classify database errors (temporary, duplicate key, damaged file) and describe them."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError, OperationalError

# PostgreSQL: serialization failure, deadlock, lock timeout, a transaction that was idle too long, and a server that
# stops, starts or has no free connections.
_TRANSIENT: Final = (
    *("40001", "40P01", "55P03", "25P03"),
    *("57P01", "57P02", "57P03", "53300", "08000", "08001", "08003", "08006"),
)
_DISK_FULL: Final = "53100"
_LITTLE: Final = 64 * 1024  # bytes: SQLite takes 32 kB for the locks of readers, and more for what is written


def is_transient(error: DBAPIError) -> bool:
    """Return whether the same transaction may succeed in a moment."""
    if isinstance(error.orig, sqlite3.OperationalError):
        return error.orig.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    state = getattr(error.orig, "sqlstate", None)
    # A connection that breaks has no state at all.
    return state in _TRANSIENT or (state is None and isinstance(error, OperationalError))


def is_clash(error: DBAPIError) -> bool:
    """Return whether a row was refused because another row has its key."""
    if isinstance(error.orig, sqlite3.IntegrityError):
        return error.orig.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
    return getattr(error.orig, "sqlstate", None) == "23505"


def is_damaged(error: DBAPIError) -> bool:
    """Return whether a file is not a database, or a damaged one."""
    if not isinstance(error.orig, sqlite3.DatabaseError):
        return False
    return error.orig.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def reason(error: DBAPIError, path: Path | None) -> str:
    """Return the description of an error in one line; `path` is the SQLite file."""
    if isinstance(error.orig, sqlite3.Error) and path is not None:
        code = error.orig.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_room(path)):
            return "the disk is full"
        if code == sqlite3.SQLITE_READONLY:
            return "cannot be written: the file or its folder is read-only"
        if code == sqlite3.SQLITE_CANTOPEN and path.with_name(f"{path.name}-wal").exists():
            return (
                f"cannot be read: {path.name}-wal has votes that are not in the file yet, and the folder cannot be "
                f"written; copy both to one that can"
            )
    said = str(error.orig).strip().splitlines()
    line = said[0] if said else type(error.orig).__name__
    return f"the disk of the server is full: {line}" if getattr(error.orig, "sqlstate", None) == _DISK_FULL else line


def _has_no_room(path: Path) -> bool:
    """Return whether the file's disk is full; SQLite reports damage if it cannot write the file of locks."""
    if not hasattr(os, "statvfs"):
        return False
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _LITTLE
