"""Manage the versions of the tables, and the steps from each version to the next.

A ledger of another version is refused and never changed unasked; `migrate` upgrades an older one.
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

# A test compares this value with the files in versions/, because loading them would add a third of a second to each
# command.
HEAD: Final = "0003"
_VERSION_TABLE: Final = "ledger_revision"


def revision_of(connection: sa.Connection) -> str | None:
    """Return the revision of the tables, or None if there are no tables."""
    if not sa.inspect(connection).has_table(_VERSION_TABLE):
        return None
    found: str | None = connection.execute(sa.text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()
    return found


def check_revision(connection: sa.Connection, name: str) -> None:
    """Refuse tables of another revision.

    Raises
    ------
    RevisionError
        If the tables are older or newer than this release, or do not exist.
    """
    found = revision_of(connection)
    if found == HEAD:
        return
    if found is None:
        raise RevisionError(f"{name}: holds no ledger")
    advice = "`ballots run migrate` brings an older one up, after a backup; a newer one needs the newer release"
    raise RevisionError(f"{name}: its tables are of revision {found}, and this release reads {HEAD}; {advice}")


def make_tables(connection: sa.Connection, name: str) -> None:
    """Make the tables of this release in an empty database; of two simultaneous calls, the second finds them made.

    Raises
    ------
    RevisionError
        If the tables belong to another release or to other software. PostgreSQL may have other tables alongside ours.
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
    """Upgrade the tables to this release, and return the revision that they had, or None if it was this one.

    Raises
    ------
    RevisionError
        If there is no ledger, or it is of a newer release.
    """
    before = revision_of(connection)
    if before is not None and before < HEAD:
        migrate(connection)
    check_revision(connection, name)
    return None if before == HEAD else before


def migrate(connection: sa.Connection) -> None:
    """Make the tables, or upgrade them to this release, in the transaction of the connection."""
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
