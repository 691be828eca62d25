"""Back up a ledger while votes arrive; the copy shows one moment and is itself a ledger."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from adaptive.ledger.errors import LedgerError, UnreachableError
from adaptive.ledger.store.database import Database
from adaptive.ledger.store.read_only import address
from rankcorr.io.files import put_new

_PAGES: Final = 4_096  # 16 MB in one step; votes continue between two steps


def back_up(
    database: Database, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy an SQLite ledger to a new file with SQLite's online backup.

    The copy is complete or absent: it is written next to its destination, checked, and moved there. For PostgreSQL, use
    pg_dump.

    Parameters
    ----------
    database : Database
    path : str or path-like
    progress : callable, optional
        Called with the pages copied and all pages.

    Raises
    ------
    LedgerError
        If the database is not an SQLite file, or the target exists.
    UnreachableError
        If the copy cannot be written, or is damaged.
    """
    if not database.is_file:
        how = "has no file to copy" if database.is_sqlite else "a PostgreSQL database is backed up with pg_dump"
        raise LedgerError(f"{database.name}: {how}")
    target = Path(path)
    if os.path.lexists(target):
        raise LedgerError(f"{target}: exists already; a backup replaces nothing")
    part = target.with_name(f".{target.name}.{os.getpid()}.tmp")

    def report(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    try:
        with (
            closing(sqlite3.connect(address(database.path), uri=True)) as source,
            closing(sqlite3.connect(part)) as copy,
        ):
            source.backup(copy, pages=_PAGES, progress=report)
            copy.execute("PRAGMA journal_mode = DELETE")  # the copy needs no second file
            found = copy.execute("PRAGMA quick_check").fetchone()[0]
        if found != "ok":
            raise UnreachableError(f"{database.name}: its copy is damaged: {found}")
        with part.open("rb") as file:
            os.fsync(file.fileno())
        put_new(part, target)
    except (OSError, sqlite3.Error) as error:
        raise UnreachableError(f"{target}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
    finally:
        part.unlink(missing_ok=True)
