"""A database and its transactions: SQLite in a file or in memory, or PostgreSQL by URL.

`Database.write` is the only way to change anything. It runs a function in one transaction and, where the database
asks for it, runs the function again: it must do nothing but use its connection.
"""

from __future__ import annotations

import math
import os
import random
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from adaptive.ledger.errors import LedgerBusyError, LedgerError, UnreachableError
from adaptive.ledger.store.encoding import now
from adaptive.ledger.store.failures import is_clash, is_damaged, is_transient, reason
from adaptive.ledger.store.read_only import connected, file_state, is_read_only
from rankcorr.checks import shown

T = TypeVar("T")
Connection = sa.Connection

PATIENCE_SECONDS: Final = 20.0
_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5
_POLL_SECONDS: Final = (0.0005, 0.0015)  # of the first in line of a process, for SQLite's lock
_MOST_CLASHES: Final = 8
_LOCK_SECONDS: Final = 5.0
_FORK_SECONDS: Final = 5.0  # how long a fork waits for a thread that writes
SERVER_CLOCK: Final = sa.cast(1_000_000 * sa.extract("epoch", sa.func.clock_timestamp()), sa.BigInteger)
_TRANSACTION_ID: Final = sa.text("SELECT CAST(pg_current_xact_id_if_assigned() AS text)")
_TRANSACTION_STATUS: Final = sa.text("SELECT pg_xact_status(CAST(CAST(:id AS text) AS xid8))")
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
    except (sa.exc.ArgumentError, ValueError):
        raise LedgerError("not a URL of a database; one is like postgresql://user@host:5432/database") from None
    if url.drivername not in _SCHEMES:
        raise LedgerError(
            f"a ledger is kept in a file, by its path, or in PostgreSQL, by a URL like postgresql://host/database; "
            f"got the scheme {shown(url.drivername)}"
        )
    return url.set(drivername="postgresql+psycopg")


@dataclass(frozen=True, eq=False)
class _Connections:
    """What a process has of its own: it is made anew after a fork."""

    process: int
    engine: sa.Engine
    turns: FairLock


class Database:
    """One database, whose connections belong to the process that uses them.

    A process that was forked makes its own: a connection that two processes share garbles both.

    Parameters
    ----------
    target : str, path-like, or None
        Path of a file, or URL of a PostgreSQL database. None: SQLite in memory, which only this object of this process
        has, and which is gone once it is closed. It has one connection: a step inside another would wait for itself.
    patience : float
        Seconds for which a transaction is tried in all. A file with votes may wait for long; whoever looks at a page
        would rather hear soon that others are in the way.
    """

    def __init__(self, target: str | os.PathLike[str] | None, *, patience: float = PATIENCE_SECONDS) -> None:
        self.url = sa.URL.create("sqlite") if target is None else checked_target(target)
        self.patience = patience
        self._mine: _Connections | None = None
        self._inherited: list[_Connections] = []
        self._was_reached = False
        if self.is_file:
            _files.add(self)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is of SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_file(self) -> bool:
        """Whether it is a file of SQLite, and not in memory."""
        return self.is_sqlite and self.url.database is not None

    @property
    def path(self) -> Path:
        """The file of SQLite."""
        return Path(self.url.database or "")

    @property
    def name(self) -> str:
        """What messages call it: the path, or host and database, since a URL may hold a password in several places."""
        if self.is_sqlite:
            return str(self.path) if self.is_file else "the ledger in memory"
        port = "" if self.url.port is None else f":{self.url.port}"
        host = (self.url.host or "").rpartition("@")[2]  # a password with an @ that is not %40 reaches into it
        return f"postgresql://{host}{port}/{self.url.database or ''}"

    @property
    def engine(self) -> sa.Engine:
        """The engine of this process."""
        return self._connections().engine

    def exists(self) -> bool:
        """Whether there is anything at the place; a database of PostgreSQL is there, or every use fails."""
        return not self.is_file or os.path.lexists(self.path)

    def write_ahead(self) -> None:
        """Let readers and the writer of a file go on side by side; the file remembers it."""
        if not self.is_file:
            return
        # A file that can only be read stays as it is, and so does one in a folder that is not there.
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.path, timeout=1.0)) as connection:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Close the connections of this process."""
        mine, self._mine = self._mine, None
        if mine is not None and mine.process == os.getpid():
            mine.engine.dispose()
        elif mine is not None:
            self._inherited.append(mine)

    def write(self, work: Callable[[Connection], T], *, knows_itself: bool = False) -> T:
        """Run `work` in one transaction; what it returns is returned once the transaction is on the disk.

        Where another transaction was in the way, took the same key, or the server went away, `work` is run again, with
        pauses that grow and differ by chance, for as long as `patience` says. Where the server went away between a
        commit and its answer, it is asked afterwards whether the transaction was committed, so that nothing is done
        twice.

        Parameters
        ----------
        work : callable
            Takes the connection.
        knows_itself : bool
            Whether `work` finds out by itself that it was done before, as a vote does by its event id. This saves
            one way to the server and back.

        Raises
        ------
        LedgerBusyError
            When others were in the way all the time; nothing was changed.
        UnreachableError
            When the database cannot be reached, or its disk is full.
        """
        return self._run(work, writes=True, asks=not knows_itself)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction that sees a single state of the database, and changes nothing."""
        return self._run(work, writes=False, asks=False)

    def look_up(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which reads by one statement: PostgreSQL then needs one way there and back instead of three."""
        return self._run(work, writes=False, asks=False, level="AUTOCOMMIT")

    def _run(self, work: Callable[[Connection], T], *, writes: bool, asks: bool, level: str = "REPEATABLE READ") -> T:
        deadline = time.monotonic() + self.patience
        pause, n_clashes = _FIRST_PAUSE, 0
        while True:
            try:
                with self._turn(writes, deadline):
                    return self._tried(work, writes, asks, deadline, level)
            except (TimeoutError, sa.exc.TimeoutError) as error:  # of `turns`, or of the pool of connections
                raise self._busy("others write all the time") from error
            except DBAPIError as error:
                if is_clash(error) and n_clashes < _MOST_CLASHES:
                    n_clashes += 1  # another took the same key at the same moment: `work` will see it
                elif not is_transient(error):
                    raise self._named(error) from error
                elif not (self.is_sqlite or self._was_reached):
                    raise UnreachableError(f"{self.name}: {self._reason(error)}") from error
                if time.monotonic() + pause > deadline:
                    raise self._busy(self._reason(error)) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _tried(self, work: Callable[[Connection], T], writes: bool, asks: bool, deadline: float, level: str) -> T:
        before = file_state(self.path) if self.is_file else None
        with self.engine.connect() as connection:
            self._was_reached = True
            options: dict[str, Any] = {"ledger_deadline": deadline if writes else None}
            if not self.is_sqlite:
                options |= {"isolation_level": "READ COMMITTED" if writes else level, "postgresql_readonly": not writes}
            sent = None
            try:
                with connection.execution_options(**options).begin():
                    found = work(connection)
                    if asks and not self.is_sqlite:
                        sent = connection.execute(_TRANSACTION_ID).scalar()
            except DBAPIError as error:
                if sent is None or not is_transient(error) or not self._is_committed(sent, deadline):
                    raise
            if before is not None and file_state(self.path) != before:
                raise UnreachableError(f"{self.name}: was written while it was read without locks; read it again")
            return found

    def _turn(self, writes: bool, deadline: float) -> AbstractContextManager[None]:
        # In memory there is one connection, which readers and writers use in turns.
        waits = writes if self.is_file else self.is_sqlite
        return self._connections().turns.turn(deadline) if waits else nullcontext()

    def _is_committed(self, transaction: str, deadline: float) -> bool:
        """Ask what became of a transaction whose commit got no answer."""
        pause = _FIRST_PAUSE
        while True:
            try:
                with self.engine.connect() as connection:
                    status = connection.execute(_TRANSACTION_STATUS, {"id": transaction}).scalar()
                if status != "in progress":
                    return bool(status == "committed")
            except DBAPIError as error:
                if not is_transient(error):
                    raise self._named(error) from error
            if time.monotonic() > deadline:
                raise UnreachableError(
                    f"{self.name}: out of reach since a commit was sent: whether it was done is unknown"
                )
            time.sleep(pause)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _stand_still(self, pause: ExitStack) -> None:
        """Let no thread write, and close what is not in use, until `pause` ends."""
        mine = self._mine
        if mine is not None and mine.process == os.getpid():
            with suppress(TimeoutError):
                pause.enter_context(mine.turns.turn(time.monotonic() + _FORK_SECONDS))
            mine.engine.dispose()

    def _busy(self, reason: str) -> LedgerBusyError:
        return LedgerBusyError(
            f"{self.name}: busy for {self.patience:g} s, or out of reach; nothing was changed: {reason}"
        )

    def _named(self, error: DBAPIError) -> Exception:
        # What a constraint or a trigger refuses is a bug of ours, or an attempt at history: it is raised as it is.
        if isinstance(error, OperationalError | InterfaceError) or is_damaged(error):
            return UnreachableError(f"{self.name}: {self._reason(error)}")
        return error

    def _reason(self, error: DBAPIError) -> str:
        return reason(error, self.path if self.is_file else None)

    def _connections(self) -> _Connections:
        mine = self._mine
        if mine is None or mine.process != os.getpid():
            if mine is not None:
                # Kept, and not closed: a connection of SQLite that is closed here would drop the parent's locks, and
                # one of PostgreSQL would end the parent's session.
                self._inherited.append(mine)
            self._mine = mine = _Connections(os.getpid(), self._made(), FairLock())
        return mine

    def _made(self) -> sa.Engine:
        if self.is_sqlite:
            if not self.is_file:
                pool: dict[str, Any] = {"poolclass": sa.StaticPool, "connect_args": {"check_same_thread": False}}
            elif is_read_only(self.path):
                # Each reader has a connection of its own, since one without locks sees what it has read before.
                pool = {"creator": lambda: connected(self.path), "poolclass": sa.NullPool}
            else:
                # A writer waits in `_begin_sqlite`, and whoever finds the database locked elsewhere in `_run`.
                pool = {"connect_args": {"timeout": 0}, "max_overflow": -1}
            engine = sa.create_engine(self.url, **pool)
            sa.event.listen(engine, "connect", _set_up_sqlite)
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        # Of a server that does not answer any more, TCP itself would tell after two hours.
        connecting = max(2, min(10, math.ceil(self.patience)))  # libpq takes 1 for 2
        defaults = {"connect_timeout": connecting, "keepalives_idle": 30, "keepalives_interval": 10}
        defaults["keepalives_count"] = 3
        chosen = {name: value for name, value in defaults.items() if name not in self.url.query}
        try:
            pool = {"pool_size": 4, "max_overflow": 28, "pool_timeout": self.patience}
            engine = sa.create_engine(self.url, connect_args=chosen, **pool)
        except ModuleNotFoundError as error:
            raise LedgerError("PostgreSQL needs psycopg: pip install 'rankcorr-adaptive[postgres]'") from error
        sa.event.listen(engine, "connect", partial(_set_up_postgresql, patience=self.patience))
        return engine


# SQLite remembers in each process which locks of a file its connections have, and a child inherits the memory: one that
# was forked while a thread wrote could never write itself.
_files: weakref.WeakSet[Database] = weakref.WeakSet()
_pauses: list[ExitStack] = []


def _before_fork() -> None:
    pause = ExitStack()
    for database in list(_files):
        database._stand_still(pause)
    _pauses.append(pause)


def _after_fork() -> None:
    _pauses.pop().close()


if hasattr(os, "register_at_fork"):
    # The child has turns of its own, and leaves those of its parent alone: another thread may have been at them.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)


def clock(connection: Connection) -> sa.ColumnElement[int]:
    """Time for whatever runs out, in microseconds since 1970: that of the server, since its clients' clocks differ."""
    return sa.literal(now(), sa.BigInteger) if connection.dialect.name == "sqlite" else SERVER_CLOCK


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the module begins no transaction by itself; `_begin_sqlite` does
    cursor = connection.cursor()
    # NORMAL may lose the last commits when power fails.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # Without it, INSERT OR REPLACE deletes rows behind the back of the triggers that keep history.
    cursor.execute("PRAGMA recursive_triggers = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    deadline = connection.get_execution_options().get("ledger_deadline")
    if deadline is None:
        connection.exec_driver_sql("BEGIN")
        return
    # A transaction that reads first and then writes fails at once when another has written meanwhile, whatever the
    # timeout: one that will write says so from the start. SQLite's own waiting sleeps for up to 100 ms at a time.
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


def _set_up_postgresql(connection: Any, _: object, *, patience: float) -> None:
    # A process that stands still in a transaction holds a lock of its ballot: whoever waits for it tries again, and
    # the server ends the transaction.
    connection.execute(f"SET lock_timeout = {math.ceil(1e3 * min(_LOCK_SECONDS, patience))}")
    connection.execute("SET idle_in_transaction_session_timeout = '60s'")
    connection.commit()


class FairLock:
    """A lock that is given to whoever has waited longest; `threading.Lock` may give it to the latest for ever.

    SQLite has one writer at a time, and lets those who wait sleep for longer and longer: with 24 writers, one of a
    hundred waited for more than 5 seconds. Within a process the threads take turns here instead, and only the first in
    line asks the database.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Hold the lock.

        Parameters
        ----------
        deadline : float
            Of `time.monotonic`.

        Raises
        ------
        TimeoutError
            When the turn has not come by then.
        """
        self._wait(deadline)
        try:
            yield
        finally:
            self._next()

    def _wait(self, deadline: float) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                raise TimeoutError
            # It was handed over at the last moment.

    def _next(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
