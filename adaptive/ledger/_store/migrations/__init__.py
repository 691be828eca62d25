"""Create the tables of a ledger, and upgrade those of an earlier release.

A new ledger gets the tables of the schema. A ledger of another version is rejected, and changed only by `bring_up`,
which upgrades an older ledger by the steps in versions/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from adaptive.ledger._store.database import check_writable, lock_ballot
from adaptive.ledger._store.schema import FIXED, HISTORY, NEVER_DELETED, metadata
from adaptive.ledger.errors import LedgerError, RevisionError

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

__all__ = ["HEAD", "bring_up", "check_revision", "create_tables", "make_tables", "revision_of", "triggers"]

# Not read from versions/, because alembic, which only upgrades need, takes a third of a second to import. A test
# compares both.
HEAD: Final = "0004"
_REVISION: Final = sa.Table(
    "ledger_revision",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="ledger_revision_pkc"),
)
_ENCODINGS: Final = ("UTF8", "SQL_ASCII")  # the second stores any bytes
MESSAGE = "the ledger keeps its history: rows of {} are never {}"


def revision_of(connection: sa.Connection) -> str | None:
    """Return the revision of the tables, or None if there are no tables."""
    if not sa.inspect(connection).has_table(_REVISION.name):
        return None
    revision: str | None = connection.execute(sa.select(_REVISION.c.version_num)).scalar()
    return revision


def check_revision(connection: sa.Connection, name: str) -> None:
    """Raise RevisionError if the tables are older or newer than this release, or do not exist."""
    revision = revision_of(connection)
    if revision == HEAD:
        return
    if revision is None:
        raise RevisionError(f"{name}: is not a ledger")
    advice = "if it is older, make a backup and run `ballots run migrate`; if it is newer, upgrade rankcorr-adaptive"
    raise RevisionError(f"{name}: has tables of revision {revision}, but this release reads {HEAD}; {advice}")


def make_tables(connection: sa.Connection, name: str) -> None:
    """Create the tables of this release in an empty database; do nothing if they exist.

    Raises
    ------
    RevisionError
        The tables belong to another release or to other software. PostgreSQL may have further tables of other names.
    LedgerError
        The encoding of a PostgreSQL database lacks some letters.
    """
    check_writable(connection, name)
    lock_ballot(connection, 0, exclusive=True)  # two servers may start at the same time on an empty database
    if revision_of(connection) is not None:
        check_revision(connection, name)
        return
    others = sa.inspect(connection).get_table_names()
    if others and (connection.dialect.name == "sqlite" or set(others) & set(metadata.tables)):
        raise RevisionError(f"{name}: has tables of other software: {', '.join(sorted(others)[:5])}")
    if connection.dialect.name == "postgresql":
        encoding = connection.execute(sa.text("SHOW server_encoding")).scalar()
        if encoding not in _ENCODINGS:
            raise LedgerError(
                f"{name}: has the encoding {encoding}, which lacks some letters; create the database with the encoding "
                "UTF8"
            )
    create_tables(connection)


def create_tables(connection: sa.Connection) -> None:
    """Create the tables of this release, their indices, and the triggers that protect history."""
    metadata.create_all(connection, checkfirst=False)
    dialect = connection.dialect.name
    for statement in triggers(dialect, never_changed=HISTORY, never_deleted=NEVER_DELETED, fixed=FIXED):
        connection.execute(sa.text(statement))
    _REVISION.create(connection)
    connection.execute(sa.insert(_REVISION).values(version_num=HEAD))


def bring_up(connection: sa.Connection, name: str) -> str | None:
    """Upgrade the tables to this release, and return their previous revision, or None if it was this one.

    Raises
    ------
    RevisionError
        There is no ledger, it belongs to a newer release, or its revision is unknown.
    """
    before = revision_of(connection)
    if before is not None and before < HEAD:
        from alembic.migration import MigrationContext
        from alembic.operations import Operations
        from alembic.util import CommandError

        scripts = _scripts()
        try:
            scripts.get_revision(before)
        except CommandError as error:
            raise RevisionError(f"{name}: its tables cannot be upgraded: {error}") from error
        with Operations.context(MigrationContext.configure(connection)):
            for step in reversed([*scripts.iterate_revisions(HEAD, before)]):
                step.module.upgrade()
        connection.execute(sa.update(_REVISION).values(version_num=HEAD))
    check_revision(connection, name)
    return None if before == HEAD else before


def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(Path(__file__).parent))


def triggers(
    dialect: str, *, never_changed: Sequence[str], never_deleted: Sequence[str], fixed: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield the statements that create the triggers which protect history against changes and deletion.

    Parameters
    ----------
    dialect : {"sqlite", "postgresql"}
    never_changed, never_deleted : sequence of str
        Names of tables.
    fixed : mapping of str to sequence of str
        Columns that are never changed, for tables whose other columns may change.
    """
    events = [(table, "UPDATE", "changed") for table in never_changed]
    events += [(table, f"UPDATE OF {', '.join(columns)}", "changed") for table, columns in fixed.items()]
    events += [(table, "DELETE", "deleted") for table in never_deleted]
    if dialect == "postgresql":
        events += [(table, "TRUNCATE", "deleted") for table in never_deleted]
        yield (
            "CREATE OR REPLACE FUNCTION ledger_history() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'restrict_violation'; END $$"
        )
    for table, event, change in events:
        message = MESSAGE.format(table, change)
        verb = event.split()[0].lower()
        name = f"tr_{table}_{verb}"
        if dialect == "sqlite":
            yield f"CREATE TRIGGER {name} BEFORE {event} ON {table} BEGIN SELECT RAISE(ABORT, '{message}'); END"
        else:
            rows = "STATEMENT" if verb == "truncate" else "ROW"
            yield (
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH {rows} "
                f"EXECUTE FUNCTION ledger_history('{message}')"
            )
