"""A database and its transactions: SQLite in a file or in memory, or PostgreSQL by URL.

`Database.write` is the only way to change anything. It runs a function in one transaction and runs it again if the
database asks for that, so the function must have no effect except through its connection.

A ledger may be on a disk mounted read-only, or in another user's folder. SQLite keeps the locks of readers in a file
next to the ledger. If SQLite cannot create that file and no other process has created it, there is no writer either,
and the ledger can be read without locks. After reading, the ledger is checked for changes, in case it was written
anyway.
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
from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError

from adaptive.ledger._store.schema import now
from adaptive.ledger.errors import LedgerBusyError, LedgerError, LedgerMovedError, UnreachableError
from rankcorr._checks import shown
from rankcorr._io.files import new_file

T = TypeVar("T")
Connection = sa.Connection
PATIENCE_SECONDS: Final = 20.0
_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5
_POLL_SECONDS: Final = (0.0005, 0.0015)  # polling interval for SQLite's lock, for the first thread in a process's queue
_MOST_CLASHES: Final = 8
_LOCK_SECONDS: Final = 5.0
_FORK_SECONDS: Final = 5.0  # how long a fork waits for a thread that writes
SERVER_CLOCK: Final = sa.cast(1_000_000 * sa.extract("epoch", sa.func.clock_timestamp()), sa.BigInteger)
# Read when a statement runs, so that a statement can be built once.
PROCESS_CLOCK: Final = sa.bindparam("process_clock", type_=sa.BigInteger, callable_=now)
_TRANSACTION_ID: Final = sa.text("SELECT CAST(pg_current_xact_id_if_assigned() AS text)")
_TRANSACTION_STATUS: Final = sa.text("SELECT pg_xact_status(CAST(CAST(:id AS text) AS xid8))")
# A report on many votes is fitted within its transaction, which holds no lock that others wait for.
_READS_AS_LONG_AS_IT_TAKES: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"
_IDENTITIES: Final = "rankcorr files"  # in the information of a connection
# Numbers that keep clear of the advisory locks of other programs: "rcl" and the one after it.
BALLOT_LOCKS: Final = 0x72636C
EVENT_LOCKS: Final = 0x72636D
_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")


def checked_target(target: str | os.PathLike[str]) -> sa.URL:
    """Return the URL of a database: that of a file for a path, or the URL of a PostgreSQL database.

    Raises
    ------
    LedgerError
        If the URL is of another kind.
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
            f"a ledger must be the path of a file, or a URL like postgresql://host/database; got the scheme "
            f"{shown(url.drivername)}"
        )
    return url.set(drivername="postgresql+psycopg")


@dataclass(frozen=True, eq=False)
class _Connections:
    """The connections of one process, made anew after a fork."""

    process: int
    engine: sa.Engine
    turns: FairLock


class Database:
    """One database, whose connections belong to the process that uses them.

    A forked process makes new connections, because two processes that share one garble its data.

    Parameters
    ----------
    target : str, path-like, or None
        Path of a file, or URL of a PostgreSQL database. None: SQLite in memory, visible only through this object in
        this process and lost when it is closed. It has a single connection, so a nested transaction would wait for
        itself.
    patience : float
        How long to retry a transaction, in seconds. Recording a file of votes may wait long; a visitor of a page should
        learn soon that the database is busy.
    """

    def __init__(self, target: str | os.PathLike[str] | None, *, patience: float = PATIENCE_SECONDS) -> None:
        self.url: sa.URL = sa.URL.create("sqlite") if target is None else checked_target(target)
        self.patience = patience
        self._mine: _Connections | None = None
        self._inherited: list[_Connections] = []
        self._was_reached = False
        self._draws: dict[int, FairLock] = {}
        if self.is_file:
            _files.add(self)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_file(self) -> bool:
        """Whether the database is an SQLite file, not SQLite in memory."""
        return self.is_sqlite and self.url.database is not None

    @property
    def path(self) -> Path:
        """Path of the SQLite file."""
        return Path(self.url.database or "")

    @property
    def name(self) -> str:
        """Name for messages: the path, or host and database, because a URL may hold a password in several places."""
        if self.is_sqlite:
            return str(self.path) if self.is_file else "the ledger in memory"
        port = "" if self.url.port is None else f":{self.url.port}"
        host = (self.url.host or "").rpartition("@")[2]  # an unescaped @ in a password makes part of it the host
        return f"postgresql://{host}{port}/{self.url.database or ''}"

    @property
    def engine(self) -> sa.Engine:
        """The engine of this process."""
        return self._connections().engine

    def exists(self) -> bool:
        """Whether the database exists; for PostgreSQL always true, since any use fails if it does not."""
        return not self.is_file or os.path.lexists(self.path)

    def write_ahead(self) -> None:
        """Let readers work while a file is being written; the file remembers the setting."""
        if not self.is_file:
            return
        # Leave a read-only file, and one whose folder does not exist, unchanged.
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
        """Run `work` in one transaction, and return its result once the transaction is on the disk.

        If another transaction interferes or inserts the same key, or if the server disconnects, `work` is run again for
        up to `patience` seconds, with growing, randomised pauses. If the server disconnects between a commit and its
        response, the transaction's status is queried afterwards, so that nothing is done twice.

        Parameters
        ----------
        work : callable
            Takes the connection.
        knows_itself : bool
            Whether `work` itself detects that it has already been done, as a vote does by its event id. This saves one
            round trip to the server.

        Raises
        ------
        LedgerBusyError
            If other transactions interfered the whole time; nothing was changed.
        UnreachableError
            If the database cannot be reached, or its disk is full.
        LedgerMovedError
            If the file of the ledger was moved, deleted or replaced.
        """
        return self._run(work, writes=True, asks=not knows_itself)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction that sees a single state of the database and changes nothing."""
        return self._run(work, writes=False, asks=False)

    def draws(self, campaign_id: int) -> FairLock:
        """Return the lock of a campaign's next batch: its fit is made once for all threads that wait for it."""
        return self._draws.setdefault(campaign_id, FairLock())

    def look_up(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which reads with one statement; PostgreSQL then needs one round trip instead of three."""
        return self._run(work, writes=False, asks=False, level="AUTOCOMMIT")

    def _run(self, work: Callable[[Connection], T], *, writes: bool, asks: bool, level: str = "REPEATABLE READ") -> T:
        deadline = time.monotonic() + self.patience
        pause, n_clashes = _FIRST_PAUSE, 0
        while True:
            try:
                with self._turn(writes, deadline):
                    return self._run_once(work, writes, asks, deadline, level)
            except (TimeoutError, sa.exc.TimeoutError) as error:  # raised by `turns` or by the connection pool
                raise self._busy("others write all the time") from error
            except DBAPIError as error:
                if is_clash(error) and n_clashes < _MOST_CLASHES:
                    n_clashes += 1  # another transaction inserted the same key: `work` will find it
                elif not is_transient(error):
                    raise self._translate(error) from error
                elif not (self.is_sqlite or self._was_reached):
                    raise UnreachableError(f"{self.name}: {self._reason(error)}") from error
                if time.monotonic() + pause > deadline:
                    raise self._busy(self._reason(error)) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _run_once(self, work: Callable[[Connection], T], writes: bool, asks: bool, deadline: float, level: str) -> T:
        before = file_state(self.path) if self.is_file else None
        with self.engine.connect() as connection:
            self._was_reached = True
            options: dict[str, Any] = {"ledger_deadline": deadline if writes else None}
            if not self.is_sqlite:
                options |= {"isolation_level": "READ COMMITTED" if writes else level, "postgresql_readonly": not writes}
            sent = None
            try:
                with connection.execution_options(**options).begin():
                    if not (writes or self.is_sqlite or level == "AUTOCOMMIT"):
                        connection.exec_driver_sql(_READS_AS_LONG_AS_IT_TAKES)
                    result = work(connection)
                    if self.is_file:
                        self._check_is_in_place(connection)
                    if asks and not self.is_sqlite:
                        sent = connection.execute(_TRANSACTION_ID).scalar()
            except DBAPIError as error:
                if sent is None or not is_transient(error) or not self._is_committed(sent, deadline):
                    raise
            if writes and self.is_file:
                self._check_is_in_place(connection)  # also after the commit: only now is the answer sent
            if before is not None and file_state(self.path) != before:
                raise UnreachableError(f"{self.name}: was written while it was read without locks; read it again")
            return result

    def _check_is_in_place(self, connection: Connection) -> None:
        """Refuse to acknowledge what is written to a file that the path no longer names.

        A file that was moved, deleted or replaced keeps its connections, and their commits are lost with it. So are
        those to a write-ahead log that was deleted: SQLite goes on writing to it.

        Raises
        ------
        LedgerMovedError
            If the ledger or its log was moved, deleted or replaced since the connection was opened.
        """
        opened, there = connection.info[_IDENTITIES], _identities(self.path)
        # The log exists from the first transaction on, as long as any connection is open.
        opened |= {name: there[name] for name, identity in opened.items() if identity is None}
        if opened == there:
            return
        name = next(name for name, identity in opened.items() if there[name] != identity)
        change = "moved or deleted" if there[name] is None else "replaced"
        mine, self._mine = self._mine, None
        if mine is not None:  # leave them open: closing them could delete the log of the file that is there now
            self._inherited.append(mine)
        raise LedgerMovedError(
            f"{self.name}: {name} was {change} while the ledger was in use, so the change is not acknowledged; put the "
            "file back, or stop all servers before you replace it"
        )

    def _turn(self, writes: bool, deadline: float) -> AbstractContextManager[None]:
        # In memory, readers and writers take turns on one connection.
        waits = writes if self.is_file else self.is_sqlite
        return self._connections().turns.turn(deadline) if waits else nullcontext()

    def _is_committed(self, transaction: str, deadline: float) -> bool:
        """Ask whether a transaction was committed whose commit got no response."""
        pause = _FIRST_PAUSE
        while True:
            try:
                with self.engine.connect() as connection:
                    status = connection.execute(_TRANSACTION_STATUS, {"id": transaction}).scalar()
                if status != "in progress":
                    return bool(status == "committed")
            except DBAPIError as error:
                if not is_transient(error):
                    raise self._translate(error) from error
            if time.monotonic() > deadline:
                raise UnreachableError(
                    f"{self.name}: connection lost during a commit: it may have been saved; check before you repeat it"
                )
            time.sleep(pause)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _stand_still(self, pause: ExitStack) -> None:
        """Block writing threads and close unused connections until `pause` ends."""
        mine = self._mine
        if mine is not None and mine.process == os.getpid():
            with suppress(TimeoutError):
                pause.enter_context(mine.turns.turn(time.monotonic() + _FORK_SECONDS))
            mine.engine.dispose()

    def _busy(self, reason: str) -> LedgerBusyError:
        return LedgerBusyError(
            f"{self.name}: busy for {self.patience:g} s, or out of reach; nothing was changed: {reason}"
        )

    def _translate(self, error: DBAPIError) -> Exception:
        # A violated constraint or trigger is a bug of ours, or an attempt to change history; raise it unchanged.
        state = getattr(error.orig, "sqlstate", None)
        if isinstance(error, DataError):  # a value that no column can hold, such as text with a null byte
            advice = "; the database needs the encoding UTF8" if state == _NOT_IN_ENCODING else ""
            return LedgerError(f"the database cannot hold this value: {self._reason(error)}{advice}")
        if isinstance(error, OperationalError | InterfaceError) or is_damaged(error) or state in _UNUSABLE:
            return UnreachableError(f"{self.name}: {self._reason(error)}")
        return error

    def _reason(self, error: DBAPIError) -> str:
        return reason(error, self.path if self.is_file else None)

    def _connections(self) -> _Connections:
        mine = self._mine
        if mine is None or mine.process != os.getpid():
            if mine is not None:
                # Keep it open: closing an SQLite connection here would drop the parent's locks, and closing one of
                # PostgreSQL would end the parent's session.
                self._inherited.append(mine)
            self._mine = mine = _Connections(os.getpid(), self._make_engine(), FairLock())
        return mine

    def _make_engine(self) -> sa.Engine:
        if self.is_sqlite:
            if not self.is_file:
                pool: dict[str, Any] = {"poolclass": sa.StaticPool, "connect_args": {"check_same_thread": False}}
            elif is_read_only(self.path):
                # Each reader opens a separate connection, because one without locks sees only the data it has read
                # before.
                pool = {"creator": lambda: connect(self.path), "poolclass": sa.NullPool}
            else:
                # A writer waits in `_begin_sqlite`; any other thread that finds the database locked waits in `_run`.
                pool = {"connect_args": {"timeout": 0}, "max_overflow": -1}
                if self._was_reached:  # a file that was deleted is not made anew, without its tables
                    pool = {"creator": lambda: connect(self.path), "max_overflow": -1}
            engine = sa.create_engine(self.url, **pool)
            sa.event.listen(engine, "connect", _set_up_sqlite)
            if self.is_file:
                sa.event.listen(engine, "connect", partial(_note_identity, path=self.path))
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        # Without keepalives, TCP reports a dead server only after two hours.
        connecting = max(2, min(10, math.ceil(self.patience)))  # libpq takes 1 for 2
        defaults: dict[str, Any] = {"connect_timeout": connecting, "keepalives_idle": 30, "keepalives_interval": 10}
        # A database in SQL_ASCII would return bytes, and PGCLIENTENCODING may name an encoding without some letters.
        defaults |= {"keepalives_count": 3, "client_encoding": "UTF8"}
        options = {name: value for name, value in defaults.items() if name not in self.url.query}
        try:
            pool = {"pool_size": 4, "max_overflow": 28, "pool_timeout": self.patience}
            engine = sa.create_engine(self.url, connect_args=options, **pool)
        except ModuleNotFoundError as error:
            raise LedgerError("PostgreSQL needs psycopg: pip install 'rankcorr-adaptive[postgres]'") from error
        sa.event.listen(engine, "connect", partial(_set_up_postgresql, patience=self.patience))
        return engine


# SQLite remembers in each process which locks of a file its connections hold, and a child process inherits this memory.
# A child forked while a thread wrote could never write.
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
    # The child gets a new queue and leaves the parent's alone, which another thread may have been using.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)


def _note_identity(_: sqlite3.Connection, record: Any, *, path: Path) -> None:
    """Note which file a connection has opened; its log is opened by the first transaction."""
    record.info[_IDENTITIES] = {**dict.fromkeys(_identities(path)), path.name: _identities(path)[path.name]}


def _identities(path: Path) -> dict[str, tuple[int, int] | None]:
    """Return device and inode of a ledger, its write-ahead log and the log's index; None for one that is missing."""
    identities: dict[str, tuple[int, int] | None] = {}
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        try:
            status = file.stat()
        except OSError:
            identities[file.name] = None
        else:
            identities[file.name] = status.st_dev, status.st_ino
    return identities


def lock_ballot(connection: sa.Connection, ballot_id: int, *, exclusive: bool) -> None:
    """Lock a ballot until the transaction ends; on SQLite the single writer holds it in any case."""
    if connection.dialect.name == "postgresql":
        name = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        connection.execute(sa.text(f"SELECT {name}(:space, :ballot)"), {"space": BALLOT_LOCKS, "ballot": ballot_id})


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # stops the module from beginning transactions; `_begin_sqlite` does
    cursor = connection.cursor()
    # NORMAL may lose the last commits in a power failure.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # Without this setting, INSERT OR REPLACE deletes rows without firing the triggers that protect history.
    cursor.execute("PRAGMA recursive_triggers = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    deadline = connection.get_execution_options().get("ledger_deadline")
    if deadline is None:
        connection.exec_driver_sql("BEGIN")
        return
    # A transaction that first reads and then writes fails at once, whatever the timeout, if another has written in
    # between. One that will write therefore declares it at the start. SQLite's own waiting sleeps for up to 100 ms at a
    # time.
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
    # A process that hangs in a transaction holds a lock of its ballot. Transactions that wait for the lock are tried
    # again, and the server ends the hanging one.
    connection.execute(f"SET lock_timeout = {math.ceil(1e3 * min(_LOCK_SECONDS, patience))}")
    connection.execute("SET idle_in_transaction_session_timeout = '60s'")
    connection.commit()


class FairLock:
    """A lock that goes to the thread that has waited longest; `threading.Lock` may always prefer the latest.

    SQLite has one writer at a time, and waiting writers sleep for longer and longer: with 24 writers, one in a hundred
    waited for more than 5 seconds. Here the threads of a process take turns instead, and only the first in the queue
    polls the database.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @property
    def n_waiting(self) -> int:
        """Number of threads in the queue."""
        return len(self._waiting)

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Hold the lock.

        Parameters
        ----------
        deadline : float
            Latest time to wait until, on the clock of `time.monotonic`.

        Raises
        ------
        TimeoutError
            If the lock was not free by the deadline.
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
            # The lock was handed over at the last moment.

    def _next(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


# PostgreSQL: serialization failure, deadlock, lock timeout, a transaction that was idle too long, and a server that
# stops, starts or has no free connections.
_TRANSIENT: Final = (
    *("40001", "40P01", "55P03", "25P03"),
    *("57P01", "57P02", "57P03", "53300", "08000", "08001", "08003", "08006"),
)
_DISK_FULL: Final = "53100"
# Missing rights, tables that are gone, a transaction that must not write, and a server that only follows another one.
_UNUSABLE: Final = ("42501", "42P01", "25006", "0A000")
_NOT_IN_ENCODING: Final = "22P05"
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
        if code == sqlite3.SQLITE_CANTOPEN and path.is_dir():
            return "is a folder, not a file"
        if code == sqlite3.SQLITE_CANTOPEN and Path(f"{path}-wal").exists():
            return (
                f"cannot be read: {path.name}-wal has votes that are not in the file yet, and the folder cannot be "
                f"written; copy both to one that can"
            )
    lines = str(error.orig).strip().splitlines()
    line = lines[0] if lines else type(error.orig).__name__
    return f"the disk of the server is full: {line}" if getattr(error.orig, "sqlstate", None) == _DISK_FULL else line


def _has_no_room(path: Path) -> bool:
    """Return whether the file's disk is full; SQLite reports damage if it cannot write the file of locks."""
    if not hasattr(os, "statvfs"):
        return False
    try:
        status = os.statvfs(path.parent)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < _LITTLE


def is_read_only(path: Path) -> bool:
    """Return whether the ledger exists and its folder allows no new file."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def file_state(path: Path) -> tuple[int, int] | None:
    """Return a state that changes when a file read without locks is written; None for one read with locks."""
    if not is_read_only(path) or _has_locks(path):
        return None
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def address(path: Path, mode: str = "mode=ro") -> str:
    """Return the URI for opening an existing ledger: read-only, if its folder or the caller allows no more."""
    how = "immutable=1" if is_read_only(path) and not _has_locks(path) else mode
    return f"{path.absolute().as_uri()}?{how}"


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to an existing ledger."""
    mode = "mode=ro" if is_read_only(path) else "mode=rw"
    return sqlite3.connect(address(path, mode), uri=True, timeout=0, check_same_thread=False)


def _has_locks(path: Path) -> bool:
    """Return whether a process has the ledger open, or has left votes that are not in the file yet."""
    ahead = Path(f"{path}-wal")  # not with_name, which raises for /
    return Path(f"{path}-shm").exists() or (ahead.exists() and ahead.stat().st_size > 0)


_PAGES: Final = 4_096  # 16 MB in one step; votes continue between two steps


def back_up(database: Database, path: str | os.PathLike[str]) -> None:
    """Copy an SQLite ledger to a new file with SQLite's online backup.

    The copy is complete or absent: it is written next to its destination, checked, and moved there. For PostgreSQL, use
    pg_dump.

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
        raise LedgerError(f"{target}: already exists; a backup never replaces a file")
    try:
        with new_file(target) as part:
            with (
                closing(sqlite3.connect(address(database.path), uri=True)) as source,
                closing(sqlite3.connect(part)) as copy,
            ):
                source.backup(copy, pages=_PAGES)
                copy.execute("PRAGMA journal_mode = DELETE")  # the copy needs no second file
                outcome = copy.execute("PRAGMA quick_check").fetchone()[0]
            if outcome != "ok":
                raise UnreachableError(f"{database.name}: its copy is damaged: {outcome}")
            with part.open("rb") as file:
                os.fsync(file.fileno())
    except (OSError, sqlite3.Error) as error:
        raise UnreachableError(f"{target}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
