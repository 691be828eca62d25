"""Open a ledger that cannot be written: on a disk mounted read-only, or in another user's folder.

SQLite keeps the locks of readers in a file next to the ledger. If SQLite cannot create that file and no other process
has created it, there is no writer either, and the ledger can be read without locks. After reading, the ledger is
checked for changes, in case it was written anyway.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path


def is_read_only(path: Path) -> bool:
    """Return whether the ledger exists and its folder allows no new file."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def file_state(path: Path) -> tuple[int, int] | None:
    """Return a state that changes when a file read without locks is written; None for one read with locks."""
    if not is_read_only(path) or _has_locks(path):
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def address(path: Path) -> str:
    """Return the URI for opening a ledger read-only."""
    how = "immutable=1" if is_read_only(path) and not _has_locks(path) else "mode=ro"
    return f"{path.absolute().as_uri()}?{how}"


def connected(path: Path) -> sqlite3.Connection:
    """Return a connection to a ledger of `is_read_only`."""
    return sqlite3.connect(address(path), uri=True, timeout=0, check_same_thread=False)


def _has_locks(path: Path) -> bool:
    """Return whether a process has the ledger open, or has left votes that are not in the file yet."""
    ahead = path.with_name(f"{path.name}-wal")
    return path.with_name(f"{path.name}-shm").exists() or (ahead.exists() and ahead.stat().st_size > 0)
