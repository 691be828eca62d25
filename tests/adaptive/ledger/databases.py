"""Ledgers for tests: a file, a running PostgreSQL server, one that tests may kill, and campaigns with votes."""

from __future__ import annotations

import atexit
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import plan_ballots
from adaptive._tables import item_cells
from adaptive.ledger import CampaignSettings, Ledger
from adaptive.ledger._votes.imports import record_file
from tests.adaptive.ledger.campaigns import load_ballot, pair_ids
from tests.processes import guard

SERVER = os.environ.get("RANKCORR_TEST_POSTGRES", "postgresql://postgres@127.0.0.1/postgres")
PATIENCE = 120.0  # seconds for a server to start or to end
# No commit waits for the disk: this server is not killed. Tests that kill one start their own.
SKIP_FLUSHES = "ALTER DATABASE {} SET synchronous_commit = off"


# Disables triggers, which would forbid it, and creates no files for new tables.
EMPTY_TABLES = """
SET session_replication_role = replica;
SET lock_timeout = '120s';
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'ledger_revision'
  LOOP EXECUTE 'DELETE FROM ' || quote_ident(name); END LOOP;
  PERFORM setval(quote_ident(sequencename)::regclass, 1, false) FROM pg_sequences WHERE schemaname = current_schema();
END $$
"""


class PostgreSQL:
    """A database of a running server.

    Dropping a database or a table makes the server write to the disk: one for each test would add minutes.
    """

    def __init__(self, url: str = SERVER) -> None:
        self.server = sa.make_url(url).set(drivername="postgresql+psycopg")
        self.name = f"rankcorr_test_{secrets.token_hex(8)}"
        self._run(self.server, f"CREATE DATABASE {self.name} TEMPLATE template0", SKIP_FLUSHES.format(self.name))
        self._tables = ""

    def run_on_server(self, statement: str) -> None:
        """Run a statement outside the database, such as CREATE DATABASE."""
        self._run(self.server, statement)

    def _run(self, url: sa.URL, *statements: str) -> None:
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 60})
        try:
            with engine.connect() as connection:
                for statement in statements:
                    connection.exec_driver_sql(statement)
        finally:
            engine.dispose()

    def new_schema(self) -> str:
        """URL of an empty schema."""
        schema = f"test_{secrets.token_hex(8)}"
        self._run(self.server.set(database=self.name), f"CREATE SCHEMA {schema}")
        url = self.server.set(drivername="postgresql", database=self.name)
        return url.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)

    def empty_tables(self) -> str:
        """URL of the tables of a ledger without rows, which all tests use; one that changes tables takes a schema."""
        if self._tables:
            self._run(sa.make_url(self._tables).set(drivername="postgresql+psycopg"), EMPTY_TABLES)
        else:
            self._tables = self.new_schema()
            Ledger.create(self._tables).close()
        return self._tables

    def drop(self) -> None:
        self._run(self.server, f"DROP DATABASE {self.name} WITH (FORCE)")


def binaries() -> Path | None:
    """Folder of PostgreSQL's programs."""
    result = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if result:
        return result[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class TemporaryServer:
    """A PostgreSQL server in a new folder, on loopback, which stops with the test."""

    def __init__(self, folder: Path) -> None:
        programs = binaries()
        if programs is None:
            pytest.skip("the programs of PostgreSQL are not installed")
        self.programs, self.folder = programs, folder
        self._as = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
        self.data = folder / "data"
        subprocess.run(
            [programs / "initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **self._as,
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        # Only processes are killed, not the machine: nothing has to wait for the disk.
        options = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "fsync=off")
        arguments = [part for option in options for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            command = [self.programs / "postgres", "-D", self.data, "-p", str(self.port), *arguments]
            options: Any = {"stdout": log, "stderr": log, "cwd": self.folder, **self._as}
            self.process = self._stack.enter_context(guard(command, **options))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT stops at once, with recovery at the next start; SIGINT ends sessions and writes everything."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
            self.process = None
            self._stack.close()


@contextmanager
def run_server() -> Iterator[TemporaryServer]:
    folder = Path(tempfile.mkdtemp(prefix="rankcorr-postgresql-"))
    try:
        server = TemporaryServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Points:
    """Counts the points that a ledger operation passes, and kills the process at one of them.

    A commit to PostgreSQL has one point more than one to SQLite: after sending it, before the answer.
    """

    def __init__(self, ledger: Ledger, fatal: int | None = None, *, of_statements: bool = False) -> None:
        self.n_passed, self.fatal = 0, fatal
        engine = ledger.database.engine
        if of_statements:
            sa.event.listen(engine, "before_cursor_execute", self._pass)
            sa.event.listen(engine, "after_cursor_execute", self._pass)
        commit = engine.dialect.do_commit

        def do_commit(connection):
            self._pass()
            if not ledger.database.is_sqlite and self._is_next():
                connection.pgconn.send_query(b"COMMIT")
                connection.pgconn.flush()
                self._pass()
            commit(connection)
            self._pass()

        engine.dialect.do_commit = do_commit

    def _pass(self, *_: object) -> None:
        if self._is_next():
            os.kill(os.getpid(), signal.SIGKILL)
        self.n_passed += 1

    def _is_next(self) -> bool:
        return self.n_passed == self.fatal


@dataclass(eq=False)
class Child:
    """A forked process that runs a function and reports by a pipe."""

    pid: int
    pipe: int

    def has_reported(self, seconds: float = 60.0) -> bool:
        """Whether it reports something or ends within this time; `lines` still returns the report."""
        polled = select.poll()
        polled.register(self.pipe, select.POLLIN)
        return bool(polled.poll(1_000 * max(0.0, seconds)))

    def lines(self, seconds: float = 300.0) -> list[str]:
        """All that it reports until it ends; a child that hangs is killed."""
        data, deadline = b"", time.monotonic() + seconds
        while True:
            if not self.has_reported(deadline - time.monotonic()):
                self.kill()
                raise TimeoutError(f"a child did not end within {seconds:.0f} s")
            block = os.read(self.pipe, 65_536)
            if not block:
                return data.decode().splitlines()
            data += block

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Exit code, or minus the signal that ended it."""
        os.close(self.pipe)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start(work: Callable[[Callable[[str], None]], object]) -> Child:
    """Fork a child that calls `work` with a function that reports a line."""
    reading, writing = os.pipe()
    # Python warns of a fork because pytest's plugins have threads.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    status = 1
    try:
        os.close(reading)
        work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def run(work: Callable[[Callable[[str], None]], object]) -> list[str]:
    """Run `work` in a child to its end, and return its reports."""
    child = start(work)
    lines = child.lines()
    assert child.wait() == 0
    return lines


def run_to_end(work: Callable[[], object]) -> bool:
    """Run `work` in a child, and return whether it finished; otherwise it was killed."""

    def report_end(report: Callable[[str], None]) -> None:
        work()
        report("done")

    child = start(report_end)
    lines = child.lines()
    status = child.wait()
    assert (status, lines) in ((-signal.SIGKILL, []), (0, ["done"]))
    return status == 0


def die() -> None:
    """Kill this process, as a power cut or an administrator does."""
    os.kill(os.getpid(), signal.SIGKILL)


PLAN = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=5)
ITEMS = ["plum", "=1+1", "-3", "'@fig", 'Ж, "quoted"', "a\tb", "+pear", "kiwi"]
PAIRS = [("a", "b"), ("a", "=c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("e", "Ж")]
VOTERS = ["Ann", "Bob", "@Eve"]
WORDS = ["left", "right", "tie", "cannot say"]


_LEDGERS = []


def ledger_at(target):
    """A ledger that is closed after the test."""
    if "://" not in target and not os.path.exists(target):
        shutil.copy(empty_file(), target)
    _LEDGERS.append(Ledger.create(target))
    return _LEDGERS[-1]


@cache
def empty_file():
    """A file with the tables of a ledger, because creating them takes a fifth of a second."""
    path = os.path.join(tempfile.mkdtemp(), "empty.db")
    ledger = Ledger.create(path)
    ledger.close()
    atexit.register(shutil.rmtree, os.path.dirname(path))
    return path


def _close_all():
    while _LEDGERS:
        _LEDGERS.pop().close()


@pytest.fixture
def sqlite(tmp_path):
    """Path for a ledger that does not exist yet."""
    yield str(tmp_path / "ledger.db")
    _close_all()


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL database that campaigns of several tests share; None without a server."""
    name = f"rankcorr_{secrets.token_hex(6)}"
    try:
        server = psycopg.connect(SERVER, autocommit=True, connect_timeout=60)
    except psycopg.OperationalError:
        yield None
        return
    with server:
        server.execute(f"CREATE DATABASE {name}")
        server.execute(SKIP_FLUSHES.format(name))
        yield f"{SERVER.rsplit('/', 1)[0]}/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    """Where a campaign can be created: a new file, or a PostgreSQL database."""
    if request.param == "sqlite":
        yield str(tmp_path / "other.db")
    else:
        url = request.getfixturevalue("postgres")
        if url is None:
            pytest.skip("no PostgreSQL answers")
        yield url
    _close_all()


def rows_of(campaign, number, seed=0, *, words=WORDS, silent=0.1):
    """A row for most comparisons of a ballot, as in a file of votes."""
    rng = np.random.default_rng(seed)
    stored = campaign.ballots()[number - 1]
    ballot = campaign.read(load_ballot, stored)
    rows, ids = [], pair_ids(campaign, number)
    for place in range(ballot.n_comparisons):
        if rng.random() < silent:
            continue
        word = words[rng.choice(len(words), p=[0.4, 0.3, 0.2, 0.1][: len(words)] if len(words) == 4 else None)]
        left, right = (ballot.items[side[place]] for side in (ballot.left, ballot.right))
        cells = [item_cells(label) if isinstance(label, tuple) else str(label) for label in (left, right)]
        extra = (("seconds", f"{rng.random():.3f}"), ("device", "=phone")) if rng.random() < 0.5 else ()
        voter = str(campaign.info.slots[ballot.voter[place]])
        rows.append(VoteRow(place + 2, ids[place], voter, *cells, word, extra))
    return rows


def record(campaign, rows):
    return record_file(campaign, VoteFile("votes.csv", tuple(rows)))


def campaign_with_votes(
    target, n_closed=1, *, n_opened=None, items=ITEMS, voters=VOTERS, seed=1, plan=PLAN, **settings
):
    """A campaign with some closed ballots, and votes on the open one."""
    campaign = ledger_at(target).new_campaign(
        plan, items, voters, seed, name="Fruit", settings=CampaignSettings(least_answered=0.5, **settings)
    )
    for number in range(1, (min(n_closed + 1, plan.n_ballots) if n_opened is None else n_opened) + 1):
        campaign.open_next()
        record(campaign, rows_of(campaign, number, seed + number))
        if number <= n_closed:
            campaign.close(number)
    return campaign
