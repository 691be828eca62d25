"""Ledgers for tests, on SQLite and, if a server is available, on PostgreSQL."""

import shutil

import pytest
import sqlalchemy as sa

from adaptive.ledger import Ledger
from tests.adaptive.ledger.databases import SERVER, PostgreSQL, empty_file, postgres, run_server, sqlite, target

__all__ = ["postgres", "sqlite", "target"]  # fixtures, for the folders below


@pytest.fixture(scope="session")
def postgresql():
    """A database on a running PostgreSQL server, dropped at the end."""
    try:
        server = PostgreSQL()
    except sa.exc.OperationalError:
        pytest.skip(f"no PostgreSQL answers at {SERVER}; RANKCORR_TEST_POSTGRES names another")
    yield server
    server.drop()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_target(request, tmp_path):
    """Path or URL of a database without tables."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgresql").new_schema()


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request, tmp_path):
    """A ledger without campaigns."""
    if request.param == "sqlite":
        target = str(tmp_path / "ledger.db")
        shutil.copy(empty_file(), target)
    else:
        target = request.getfixturevalue("postgresql").empty_tables()
    new_ledger = Ledger.open(target)
    yield new_ledger
    new_ledger.close()


@pytest.fixture
def server():
    """A PostgreSQL server that the test may stop."""
    with run_server() as postgres_server:
        yield postgres_server


@pytest.fixture
def other_path(tmp_path):
    """Path for another ledger, which does not exist yet."""
    return str(tmp_path / "other.db")
