"""A database and its transactions: SQLite in a file, or PostgreSQL by URL.

`Database.write` is the only way to change anything. It runs a function in one transaction and, where the database
asks for it, runs the function again: it must do nothing but use its connection.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError

from adaptive.ledger.errors import LedgerBusyError, LedgerError, UnreachableError
from rankcorr.checks import shown

__all__ = ["Database", "checked_target"]

T = TypeVar("T")
Connection = sa.Connection

# How long a writer of SQLite waits for the others, and how long a transaction is tried again in all.
_BUSY_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 20.0
_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5
# PostgreSQL: serialization failure, deadlock, and a server that stops, starts or has no connection left.
_TRANSIENT: Final = ("40001", "40P01", "57P01", "57P02", "57P03", "53300", "08000", "08001", "08003", "08006")
_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")


def checked_target(target: str | os.PathLike[str]) -> sa.URL:
    """Return the URL of a database: that of a file for a path, or the URL of a PostgreSQL database.

    Raises
    ------
    LedgerError
        Another kind of URL.
    """
    text = os.fspath(target)
    if not isinstance(text, str):
        raise LedgerError(f"a ledger is a path or a URL of PostgreSQL; got {shown(target)}")
    if "://" not in text:
        return sa.URL.create("sqlite", database=os.path.abspath(text))
    try:
        url = sa.make_url(text)
    except sa.exc.ArgumentError:
        raise LedgerError(f"not a URL of a database: {shown(text)}") from None
    if url.drivername not in _SCHEMES:
        raise LedgerError(
            f"a ledger is kept in a file, by its path, or in PostgreSQL, by a URL like postgresql://host/database; "
            f"got the scheme {shown(url.drivername)}"
        )
    return url.set(drivername="postgresql+psycopg")


class Database:
    """One database, whose connections belong to the process that uses them.

    A process that was forked makes its own: a connection that two processes share garbles both.

    Parameters
    ----------
    target : str or path-like
        Path of a file, or URL of a PostgreSQL database.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.url = checked_target(target)
        self._engine: sa.Engine | None = None
        self._process = 0

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path:
        """The file of SQLite."""
        return Path(self.url.database or "")

    @property
    def name(self) -> str:
        """What messages call it: the path, or the URL without its password."""
        return str(self.path) if self.is_sqlite else self.url.render_as_string(hide_password=True)

    @property
    def engine(self) -> sa.Engine:
        """The engine of this process."""
        if self._engine is None or self._process != os.getpid():
            if self._engine is not None:
                self._engine.dispose(close=False)  # the connections are the parent's
            self._engine, self._process = self._made(), os.getpid()
        return self._engine

    def exists(self) -> bool:
        """Whether there is anything at the place; a database of PostgreSQL is there, or every use fails."""
        return not self.is_sqlite or os.path.lexists(self.path)

    def close(self) -> None:
        """Close the connections of this process."""
        if self._engine is not None:
            self._engine.dispose(close=self._process == os.getpid())
            self._engine = None

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction; what it returns is returned once the transaction is on the disk.

        Where another transaction was in the way or the server went away, it is run again, with pauses that grow and
        differ by chance, for 20 seconds. A connection may break after the commit and before its answer: `work` must
        find out for itself whether it has been done, as a vote does by its event id.

        Raises
        ------
        LedgerBusyError
            When others were in the way all the time.
        UnreachableError
            When the database cannot be reached, or its disk is full.
        """
        return self._run(work, writes=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction that sees a single state of the database, and changes nothing."""
        return self._run(work, writes=False)

    def _run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        pause = _FIRST_PAUSE
        while True:
            try:
                with self._transaction(writes) as connection:
                    return work(connection)
            except DBAPIError as error:
                if not _is_transient(error):
                    raise self._named(error) from error
                if time.monotonic() + pause > deadline:
                    raise LedgerBusyError(
                        f"{self.name}: busy for {_PATIENCE_SECONDS:.0f} s, or out of reach; nothing was changed: "
                        f"{_reason(error)}"
                    ) from error
                if error.connection_invalidated:
                    self.engine.dispose()
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            level = "READ COMMITTED" if writes else "REPEATABLE READ"
            options: dict[str, Any] = {"ledger_writes": writes}
            if not self.is_sqlite:
                options |= {"isolation_level": level, "postgresql_readonly": not writes}
            with connection.execution_options(**options).begin():
                yield connection

    def _named(self, error: DBAPIError) -> Exception:
        # What a constraint or a trigger refuses is a bug of ours, or an attempt at history: it is raised as it is.
        if isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError:
            return UnreachableError(f"{self.name}: {_reason(error)}")
        return error

    def _made(self) -> sa.Engine:
        if not self.is_sqlite:
            try:
                return sa.create_engine(self.url, pool_pre_ping=True, pool_size=4, max_overflow=28)
            except ModuleNotFoundError as error:
                raise LedgerError("PostgreSQL needs psycopg: pip install 'rankcorr-adaptive[postgres]'") from error
        engine = sa.create_engine(self.url, connect_args={"timeout": _BUSY_SECONDS})
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the module begins no transaction by itself; `_begin_sqlite` does
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    # NORMAL may lose the last commits when power fails.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that reads first and then writes fails at once when another has written meanwhile, whatever the
    # timeout: one that will write says so from the start.
    writes = connection.get_execution_options().get("ledger_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_transient(error: DBAPIError) -> bool:
    if isinstance(error.orig, sqlite3.OperationalError):
        return error.orig.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    state = getattr(error.orig, "sqlstate", None)
    # A connection that breaks has no state at all.
    return state in _TRANSIENT or (state is None and isinstance(error, OperationalError))


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
