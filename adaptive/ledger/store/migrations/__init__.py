"""Versions of the tables, from the first on, and the steps from each to the next.

A ledger of another version is refused, never changed unasked: `migrate` brings an older one up.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from adaptive.ledger.errors import RevisionError
from adaptive.ledger.store.locks import lock_tables
from adaptive.ledger.store.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["HEAD", "bring_up", "check_revision", "make_tables", "migrate", "revision_of"]

# A test holds it against the files in versions/, whose loading would take a third of a second in each command.
HEAD: Final = "0003"
_VERSION_TABLE: Final = "ledger_revision"


def revision_of(connection: sa.Connection) -> str | None:
    """Revision of the tables; None where there are none."""
    if not sa.inspect(connection).has_table(_VERSION_TABLE):
        return None
    found: str | None = connection.execute(sa.text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()
    return found


def check_revision(connection: sa.Connection, name: str) -> None:
    """Refuse tables of another revision.

    Raises
    ------
    RevisionError
        Where the tables are older or newer than this release, or there are none.
    """
    found = revision_of(connection)
    if found == HEAD:
        return
    if found is None:
        raise RevisionError(f"{name}: holds no ledger")
    advice = "`ballots run migrate` brings an older one up, after a backup; a newer one needs the newer release"
    raise RevisionError(f"{name}: its tables are of revision {found}, and this release reads {HEAD}; {advice}")


def make_tables(connection: sa.Connection, name: str) -> None:
    """Make the tables of this release in an empty database; of two who do it at once, the second finds them.

    Raises
    ------
    RevisionError
        Where the tables are those of another release or of other software; PostgreSQL may have others beside ours.
    """
    lock_tables(connection)
    if revision_of(connection) is not None:
        check_revision(connection, name)
        return
    others = sa.inspect(connection).get_table_names()
    if others and (connection.dialect.name == "sqlite" or set(others) & set(metadata.tables)):
        raise RevisionError(f"{name}: has tables of other software: {', '.join(sorted(others)[:5])}")
    migrate(connection)


def bring_up(connection: sa.Connection, name: str) -> str | None:
    """Bring the tables up to this release; the revision that they had is returned, None if it was this one.

    Raises
    ------
    RevisionError
        Where there is no ledger, or one of a newer release.
    """
    before = revision_of(connection)
    if before is not None and before < HEAD:
        migrate(connection)
    check_revision(connection, name)
    return None if before == HEAD else before


def migrate(connection: sa.Connection) -> None:
    """Make the tables, or bring them up to this release, in the transaction of the connection."""
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("version_table", _VERSION_TABLE)
    return config
