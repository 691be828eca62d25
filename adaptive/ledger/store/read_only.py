"""A ledger where nothing can be written: a disk that is mounted read-only, or the folder of somebody else.

SQLite keeps the locks of readers in a file beside the ledger. Where it cannot make that file, and nobody else has made
it, nobody writes either: the ledger can be read without locks. Whether it was written all the same is looked at
afterwards.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path


def is_read_only(path: Path) -> bool:
    """Whether a ledger is there, and no file can be made beside it."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def file_state(path: Path) -> tuple[int, int] | None:
    """What tells whether a file that is read without locks was written; None for one that is read with locks."""
    if not is_read_only(path) or _has_locks(path):
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def address(path: Path) -> str:
    """URI by which a ledger is only read."""
    how = "immutable=1" if is_read_only(path) and not _has_locks(path) else "mode=ro"
    return f"{path.absolute().as_uri()}?{how}"


def connected(path: Path) -> sqlite3.Connection:
    """A connection to a ledger of `is_read_only`."""
    return sqlite3.connect(address(path), uri=True, timeout=0, check_same_thread=False)


def _has_locks(path: Path) -> bool:
    """Whether somebody has the ledger open, or has left votes that are not in the file yet."""
    ahead = path.with_name(f"{path.name}-wal")
    return path.with_name(f"{path.name}-shm").exists() or (ahead.exists() and ahead.stat().st_size > 0)
