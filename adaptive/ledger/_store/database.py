"""A database and its transactions: SQLite in a file or in memory, or PostgreSQL by URL.

`Database.write` is the only way to change anything. It runs a function in a transaction and retries it if the database
requires that, so the function must have no effect except through its connection.

A ledger may be on a read-only disk, or in another user's folder. SQLite keeps the locks of readers in a file next to
the ledger. If SQLite cannot create that file and no other process has created it, nobody can be writing, and the ledger
can be read without locks. After reading, it is checked that the ledger was not changed nevertheless.
"""

from __future__ import annotations

import math
import os
import random
import re
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
from rankcorr._io.source import new_file

T = TypeVar("T")
Connection = sa.Connection
PATIENCE_SECONDS: Final = 20.0
_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5
_POLL_SECONDS: Final = (0.0005, 0.0015)  # polling interval for SQLite's lock, for the first thread in a process's queue
_MOST_CLASHES: Final = 8
_LOCK_SECONDS: Final = 5.0
_FORK_SECONDS: Final = 5.0  # longest time that a fork waits for a writing thread
SERVER_CLOCK: Final = sa.cast(1_000_000 * sa.extract("epoch", sa.func.clock_timestamp()), sa.BigInteger)
# Read when a statement runs, so that a statement can be built once.
PROCESS_CLOCK: Final = sa.bindparam("process_clock", type_=sa.BigInteger, callable_=now)
# The time since which a server counts its writes changes with each crash. A server that has crashed, or a standby that
# has taken over, gives the ids of transactions that it has lost to others.
_TRANSACTION_ID: Final = sa.text(
    "SELECT CAST(pg_current_xact_id_if_assigned() AS text) AS id, pg_stat_get_bgwriter_stat_reset_time() AS since"
)
_TRANSACTION_STATUS: Final = sa.text(
    "SELECT CASE WHEN sent < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(sent) END AS status, "
    "pg_stat_get_bgwriter_stat_reset_time() IS NOT DISTINCT FROM :since AS is_same_server "
    "FROM CAST(CAST(:id AS text) AS xid8) AS sent"
)
# A report on many votes is fitted within its transaction, which holds no lock that others wait for.
_READS_AS_LONG_AS_IT_TAKES: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"
# A process that hangs in a transaction holds the lock of a ballot. Transactions that wait for the lock are retried, and
# the server ends the hanging one.
_LIMITS: Final = (
    "SELECT pg_backend_pid(), set_config('lock_timeout', %(lock)s, %(local)s), "
    "set_config('idle_in_transaction_session_timeout', '60s', %(local)s)"
)
_READ_ONLY: Final = sa.text(
    "SELECT pg_is_in_recovery() OR CAST(current_setting('default_transaction_read_only') AS bool)"
)
_IDENTITIES: Final = "rankcorr files"  # keys in the `info` of a connection
_IS_POOLED: Final = "rankcorr is pooled"
# Numbers that other programs are unlikely to use for advisory locks: "rcl" in ASCII, and the next one.
BALLOT_LOCKS: Final = 0x72636C
EVENT_LOCKS: Final = 0x72636D
HALF_A_PAIR: Final = "a text must be whole characters, without half of a surrogate pair"
_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")
_SEVERAL_HOSTS: Final = re.compile(r"([^:/]+://(?:[^/?]*@)?)([^/?@]*,[^/?@]*)([^@]*)")


def checked_target(target: str | os.PathLike[str]) -> sa.URL:
    """Return the URL of a database: that of a file for a path, or the URL of a PostgreSQL database.

    Raises
    ------
    LedgerError
        If the URL is of another kind, or no file can have the name.
    """
    text = os.fspath(target)
    if not isinstance(text, str):
        raise LedgerError(f"a ledger must be a path or a URL of PostgreSQL; got {shown(target)}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise LedgerError(f"{HALF_A_PAIR}; got the ledger {shown(text)}") from None
    if "://" not in text:
        return sa.URL.create("sqlite", database=os.path.abspath(text))
    hosts: list[str] = []
    if several := _SEVERAL_HOSTS.fullmatch(text):  # as libpq writes them; SQLAlchemy takes them from the query
        text, hosts = several[1] + several[3], several[2].split(",")
    try:
        url = sa.make_url(text).update_query_pairs([("host", host) for host in hosts])
    except (sa.exc.ArgumentError, ValueError):
        raise LedgerError("not a URL of a database, such as postgresql://user@host:5432/database") from None
    if url.drivername not in _SCHEMES:
        raise LedgerError(
            f"a ledger must be the path of a file, or a URL like postgresql://host/database; got the scheme "
            f"{shown(url.drivername)}"
        )
    return url.set(drivername="postgresql+psycopg")


@dataclass(frozen=True, eq=False)
class _Connections:
    """The connections of one process; a forked process makes new ones."""

    process: int
    engine: sa.Engine
    turns: FairLock


class Database:
    """A database, with connections that belong to the process that uses them.

    A forked process makes new connections, because two processes that share a connection corrupt its data.

    Parameters
    ----------
    target : str, path-like, or None
        Path of a file, or URL of a PostgreSQL database. None for SQLite in memory, which only this object in this
        process can see, and which is lost when it is closed. It has a single connection, so a nested transaction would
        wait for itself.
    patience : float
        Longest time to retry a transaction, in seconds. Recording a file of votes may wait long, but a visitor of a
        page should learn soon that the database is busy.
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
        """Whether the database is an SQLite file."""
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
        if not host:
            hosts = self.url.query.get("host", ())
            host = hosts if isinstance(hosts, str) else ",".join(hosts)
        return f"postgresql://{host}{port}/{self.url.database or ''}"

    @property
    def engine(self) -> sa.Engine:
        """The engine of this process."""
        return self._connections().engine

    def exists(self) -> bool:
        """Whether the database exists; for PostgreSQL always true, since any use fails if it does not."""
        return not self.is_file or os.path.lexists(self.path)

    def write_ahead(self) -> None:
        """Switch a file to write-ahead logging, which lets readers work during a write; the setting is permanent."""
        if not self.is_file:
            return
        # The error is suppressed for a read-only file, and for one whose folder does not exist.
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

        If another transaction interferes or inserts the same key, or if the server disconnects, `work` is retried for
        up to `patience` seconds, with growing, randomised pauses. If the server disconnects between a commit and its
        response, the status of the transaction is queried afterwards, so that nothing is done twice.

        Parameters
        ----------
        work : callable
            Takes the connection.
        knows_itself : bool
            Whether `work` detects by itself that it was already done, as a vote does by its event id. This saves a
            round trip to the server.

        Raises
        ------
        LedgerBusyError
            Other transactions interfered the whole time; nothing was changed.
        UnreachableError
            The database cannot be reached, or its disk is full.
        LedgerMovedError
            The file of the ledger was moved, deleted or replaced.
        """
        return self._run(work, writes=True, asks=not knows_itself)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that sees a consistent state of the database and changes nothing."""
        return self._run(work, writes=False, asks=False)

    def draws(self, campaign_id: int) -> FairLock:
        """Return the lock for drawing a campaign's next batch, so that waiting threads need only one fit."""
        return self._draws.setdefault(campaign_id, FairLock())

    def look_up(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which reads with a single statement, so that PostgreSQL needs one round trip instead of three."""
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
            except UnicodeEncodeError as error:  # raised by a driver, or by a digest of the text
                part = error.object[max(0, error.start - 20) : error.end]
                raise LedgerError(f"{HALF_A_PAIR}; got {shown(part)}") from None
            except DBAPIError as error:
                if is_clash(error) and n_clashes < _MOST_CLASHES:
                    n_clashes += 1  # another transaction inserted the same key, and the retry will find it
                elif not is_transient(error):
                    if getattr(error.orig, "sqlstate", None) == _WRITES_NOTHING:
                        self.engine.dispose()  # another host of the URL may have taken over
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
                # None leaves it to the server whether a transaction may write.
                readonly = None if writes else True
                options |= {"isolation_level": "READ COMMITTED" if writes else level, "postgresql_readonly": readonly}
            sent = None
            try:
                with connection.execution_options(**options).begin():
                    if not (writes or self.is_sqlite or level == "AUTOCOMMIT"):
                        connection.exec_driver_sql(_READS_AS_LONG_AS_IT_TAKES)
                    if writes and connection.info.get(_IS_POOLED):
                        connection.exec_driver_sql(_LIMITS, {"lock": _lock_timeout(self.patience), "local": True})
                    result = work(connection)
                    if self.is_file:
                        self._check_is_in_place(connection)
                    if asks and not self.is_sqlite:
                        sent = connection.execute(_TRANSACTION_ID).one()
            except DBAPIError as error:
                is_unknown = sent is not None and sent.id is not None and is_transient(error)
                if not (is_unknown and self._is_committed(sent, deadline)):
                    raise
            if writes and self.is_file:
                self._check_is_in_place(connection)  # again after the commit, before the change is acknowledged
            if before is not None and file_state(self.path) != before:
                raise UnreachableError(f"{self.name}: was written while it was read without locks; read it again")
            return result

    def _check_is_in_place(self, connection: Connection) -> None:
        """Raise LedgerMovedError if the ledger or its log was moved, deleted or replaced since the connection opened.

        Connections to such a file stay open, but their commits are lost, as are those to a write-ahead log that was
        deleted: SQLite continues to write to it.
        """
        opened, there = connection.info[_IDENTITIES], _identities(self.path)
        # The log is created by the first transaction, and exists as long as any connection is open.
        opened |= {name: there[name] for name, identity in opened.items() if identity is None}
        if opened == there:
            return
        name = next(name for name, identity in opened.items() if there[name] != identity)
        change = "moved or deleted" if there[name] is None else "replaced"
        mine, self._mine = self._mine, None
        if mine is not None:  # leave the connections open: closing them could delete the log of the new file
            self._inherited.append(mine)
        raise LedgerMovedError(
            f"{self.name}: {name} was {change} while the ledger was in use, so the change is not acknowledged; put the "
            "file back, or stop all servers before you replace it"
        )

    def _turn(self, writes: bool, deadline: float) -> AbstractContextManager[None]:
        # In memory, readers and writers share one connection.
        waits = writes if self.is_file else self.is_sqlite
        return self._connections().turns.turn(deadline) if waits else nullcontext()

    def _is_committed(self, sent: Any, deadline: float) -> bool:
        """Return whether a transaction was committed, if the response to its commit was lost.

        Parameters
        ----------
        sent : row
            The transaction, as in `_TRANSACTION_ID`.
        """
        pause = _FIRST_PAUSE
        while True:
            try:
                with self.engine.connect() as connection:
                    status, is_same_server = connection.execute(_TRANSACTION_STATUS, sent._asdict()).one()
                if not is_same_server and status == "committed":  # perhaps another transaction with this id
                    deadline = -math.inf
                elif not is_same_server or status in ("committed", "aborted"):
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
        """Block writing threads until `pause` ends, and close unused connections."""
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
        # A violated constraint or trigger is a bug, or an attempt to change history, and is raised unchanged.
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
                # Keep them open: closing an SQLite connection would drop the parent's locks, and closing one to
                # PostgreSQL would end the parent's session.
                self._inherited.append(mine)
            self._mine = mine = _Connections(os.getpid(), self._make_engine(), FairLock())
        return mine

    def _make_engine(self) -> sa.Engine:
        if self.is_sqlite:
            if not self.is_file:
                pool: dict[str, Any] = {"poolclass": sa.StaticPool, "connect_args": {"check_same_thread": False}}
            elif is_read_only(self.path):
                # A new connection for each reader, because a connection without locks does not notice changes.
                pool = {"creator": lambda: connect(self.path), "poolclass": sa.NullPool}
            else:
                # A writer waits in `_begin_sqlite`; any other thread that finds the database locked waits in `_run`.
                pool = {"connect_args": {"timeout": 0}, "max_overflow": -1}
                if self._was_reached:  # do not recreate a file that was deleted, without its tables
                    pool = {"creator": lambda: connect(self.path), "max_overflow": -1}
            engine = sa.create_engine(self.url, **pool)
            sa.event.listen(engine, "connect", _set_up_sqlite)
            if self.is_file:
                sa.event.listen(engine, "connect", partial(_note_identity, path=self.path))
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        # Without keepalives, TCP reports a dead server only after two hours.
        connecting = max(2, min(10, math.ceil(self.patience)))  # libpq treats 1 as 2
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


# SQLite records in each process the locks that its connections hold, and a child process inherits this record. A child
# that is forked while a thread writes could never write.
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
    # Not after_in_child: the child gets a new queue, because another thread may have been using the parent's.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)


def _note_identity(_: sqlite3.Connection, record: Any, *, path: Path) -> None:
    """Record the file that a connection has opened; the first transaction opens the log."""
    record.info[_IDENTITIES] = {**dict.fromkeys(_identities(path)), path.name: _identities(path)[path.name]}


def _identities(path: Path) -> dict[str, tuple[int, int] | None]:
    """Return the device and inode of a ledger, its write-ahead log and the log's index; None for missing files."""
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
    """Lock a ballot until the transaction ends; SQLite has a single writer anyway."""
    if connection.dialect.name == "postgresql":
        name = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        connection.execute(sa.text(f"SELECT {name}(:space, :ballot)"), {"space": BALLOT_LOCKS, "ballot": ballot_id})


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the module must not begin transactions: `_begin_sqlite` does
    cursor = connection.cursor()
    # NORMAL could lose the last commits in a power failure.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # Otherwise INSERT OR REPLACE deletes rows without running the triggers that protect history.
    cursor.execute("PRAGMA recursive_triggers = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
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


def _set_up_postgresql(connection: Any, record: Any, *, patience: float) -> None:
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


def _lock_timeout(patience: float) -> str:
    return f"{math.ceil(1e3 * min(_LOCK_SECONDS, patience))}ms"


def check_writable(connection: sa.Connection, name: str) -> None:
    """Raise UnreachableError if a PostgreSQL server takes no changes: a standby, or one that was made read-only."""
    if connection.dialect.name == "postgresql" and connection.execute(_READ_ONLY).scalar():
        raise UnreachableError(
            f"{name}: is read-only: the server is a standby, or default_transaction_read_only is on; with several "
            "hosts, add target_session_attrs=read-write to the URL"
        )


class FairLock:
    """A lock that goes to the thread that has waited longest, which `threading.Lock` does not guarantee.

    SQLite has one writer at a time, and waiting writers sleep for increasing times: with 24 writers, one in a hundred
    waited for more than 5 seconds. With this lock, the threads of a process queue, and only the first one polls the
    database.
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
            Time to stop waiting, on the clock of `time.monotonic`.

        Raises
        ------
        TimeoutError
            The lock was not free by the deadline.
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
        try:
            if mine.acquire(timeout=max(0.0, deadline - time.monotonic())):
                return
        except BaseException:  # Ctrl-C
            if not self._leave(mine):
                self._next()
            raise
        if self._leave(mine):
            raise TimeoutError

    def _leave(self, mine: threading.Lock) -> bool:
        """Leave the queue, and return False if the lock was handed over at the last moment."""
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return True
            return False

    def _next(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


# States of PostgreSQL: serialization failure, deadlock, timeouts of locks, transactions, statements and idle sessions,
# and a server that stops, starts or has no free connections. PgBouncer uses 08P01 for most of its errors.
_TRANSIENT: Final = (
    *("40001", "40P01", "55P03", "25P03", "25P04", "57014", "57P05"),
    *("57P01", "57P02", "57P03", "53300", "08000", "08001", "08003", "08004", "08006", "08P01"),
)
_DISK_FULL: Final = "53100"
_WRITES_NOTHING: Final = "25006"
# Missing rights, missing tables, a transaction that must not write, and damaged tables.
_UNUSABLE: Final = ("42501", "42P01", _WRITES_NOTHING, "0A000", "XX000", "XX001", "XX002")
_NOT_IN_ENCODING: Final = "22P05"
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


_PAGES: Final = 4_096  # 16 MB in a step; votes can be written between steps


def back_up(database: Database, path: str | os.PathLike[str]) -> None:
    """Copy an SQLite ledger to a new file with SQLite's online backup.

    A copy is never partial: it is written next to its destination, checked, and renamed. For PostgreSQL, use pg_dump.

    Raises
    ------
    LedgerError
        The database is not an SQLite file, or the target exists.
    UnreachableError
        The copy cannot be written, or is damaged.
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
    except (OSError, UnicodeEncodeError, sqlite3.Error) as error:
        raise UnreachableError(f"{target}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
