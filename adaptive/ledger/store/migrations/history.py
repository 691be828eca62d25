"""Make triggers that protect history: past rows can be neither changed nor deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

MESSAGE = "the ledger keeps its history: rows of {} are never {}"


def triggers(
    dialect: str, *, never_changed: Sequence[str], never_deleted: Sequence[str], fixed: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield the statements that make the triggers.

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
    for table, event, done in events:
        message = MESSAGE.format(table, done)
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
