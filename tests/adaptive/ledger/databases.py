"""Databases for tests: a file, a database of a running PostgreSQL, and a server of PostgreSQL to be stopped hard."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from adaptive.ledger import Ledger
from adaptive.ledger._store.migrations import migrate
from tests.processes import guarded

SERVER = os.environ.get("RANKCORR_TEST_POSTGRES", "postgresql://postgres@127.0.0.1/postgres")
PATIENCE = 120.0  # seconds for a server to start or to end


class PostgreSQL:
    """A database of a running server, in which each test has a schema of its own.

    To drop a database makes the server write everything to the disk: one for each test would take seconds.
    """

    def __init__(self, url: str = SERVER) -> None:
        self.server = sa.make_url(url).set(drivername="postgresql+psycopg")
        self.name = f"rankcorr_test_{secrets.token_hex(8)}"
        self._run(self.server, f"CREATE DATABASE {self.name} TEMPLATE template0")
        self.tables: list[str] = []

    def _run(self, url: sa.URL, *statements: str) -> None:
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 60})
        try:
            with engine.connect() as connection:
                for statement in statements:
                    connection.exec_driver_sql(statement)
        finally:
            engine.dispose()

    def new_schema(self, *, with_tables: bool = False) -> str:
        """URL of an empty schema, or of one with the tables of a ledger."""
        schema = f"test_{secrets.token_hex(8)}"
        self._run(self.server.set(database=self.name), f"CREATE SCHEMA {schema}")
        url = self.server.set(drivername="postgresql", database=self.name)
        url = url.update_query_dict({"options": f"-csearch_path={schema}"})
        text = url.render_as_string(hide_password=False)
        if with_tables:
            if not self.tables:
                self.tables = migration_of(text)
            else:
                self._run(url.set(drivername="postgresql+psycopg"), ";\n".join(self.tables))
        return text

    def drop(self) -> None:
        self._run(self.server, f"DROP DATABASE {self.name} WITH (FORCE)")


def migration_of(target: str) -> list[str]:
    """Make the tables of a ledger, and return the statements that did it: to run them again is faster."""
    ledger, statements = Ledger(target), []

    def keep(_connection, _cursor, statement, parameters, _context, _many):
        if statement.lstrip().split()[0] not in ("SELECT", "SHOW"):
            statements.append(statement % {name: f"'{value}'" for name, value in (parameters or {}).items()})

    sa.event.listen(ledger.database.engine, "before_cursor_execute", keep)
    ledger.database.write(migrate)
    ledger.close()
    return statements


def binaries() -> Path | None:
    """Folder of PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class OwnServer:
    """A server of PostgreSQL in a folder of its own, on loopback, that ends with the test."""

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
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": "60"}
        given = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            command = [self.programs / "postgres", "-D", self.data, "-p", str(self.port), *given]
            options: Any = {"stdout": log, "stderr": log, "cwd": self.folder, **self._as}
            self.process = self._stack.enter_context(guarded(command, **options))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT: at once, with recovery at the next start; SIGINT: sessions are ended, and all is written."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
            self.process = None
            self._stack.close()


@contextmanager
def own_server() -> Iterator[OwnServer]:
    folder = Path(tempfile.mkdtemp(prefix="rankcorr-postgresql-"))
    try:
        server = OwnServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
