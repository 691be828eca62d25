"""Checks become comparisons, and answers to them votes: one table of pairs shown, one of votes, one of late votes.

A check gets the next place after the comparisons of its ballot, and positions count all pairs of a sheet. Comparisons
keep their places, votes their revisions, and both their digests.

Revision ID: 0002
"""

import hashlib
import json
import uuid

import sqlalchemy as sa
from alembic import op

from adaptive.ledger.store.migrations import triggers

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KINDS = "'practice', 'attention', 'gold', 'repeat', 'overlap'"
ANSWERS = {1: "left", 0: "tie", -1: "right", 2: "cannot say"}
FIXED = {"sheet": ("ballot_id", "number", "slot", "n_comparisons", "n_checks")}
BLOCK = 10_000
COPIED = (
    *("event_id", "ballot_id", "place", "voter_id", "answer", "response_ms", "given_by", "layout", "extra"),
    *("received_at", "payload_hash", "revision"),
)


def upgrade() -> None:
    """Move the rows of probe and probe_event, and drop the two."""
    dialect = op.get_bind().dialect.name
    op.drop_index("ix_probe_event_voter_id", "probe_event")
    on_table = " ON comparison" if dialect == "postgresql" else ""
    op.execute(f"DROP TRIGGER tr_comparison_update{on_table}")
    op.execute(
        f"ALTER TABLE comparison ADD COLUMN probe TEXT CONSTRAINT ck_comparison_probe CHECK (probe IN ({KINDS}))"
    )
    op.add_column("comparison", sa.Column("expected", sa.SmallInteger(), nullable=True))
    op.add_column("comparison", sa.Column("repeats", sa.Integer(), nullable=True))
    op.execute(f"DROP TRIGGER tr_sheet_update{' ON sheet' if on_table else ''}")
    op.execute("ALTER TABLE sheet ADD COLUMN n_checks INTEGER DEFAULT 0 NOT NULL")
    op.execute(
        "ALTER TABLE sheet ADD COLUMN n_checked INTEGER DEFAULT 0 NOT NULL "
        "CONSTRAINT ck_sheet_checked CHECK (n_checked BETWEEN 0 AND n_checks)"
    )
    op.create_index("ix_probe_moved", "probe", ["ballot_id", "sheet"])
    _move_checks()
    _move_answers(op.get_bind())
    _count_checks()
    op.drop_table("probe_event")
    op.drop_table("probe")
    for statement in triggers(dialect, never_changed=["comparison"], never_deleted=[], fixed=FIXED):
        op.execute(statement)


def _move_checks() -> None:
    # Positions are unique at every moment, so use unoccupied ones below 0 first.
    op.execute(
        "UPDATE comparison SET position = -1 - position - ("
        "SELECT count(*) FROM probe p WHERE p.ballot_id = comparison.ballot_id AND p.sheet = comparison.sheet "
        "AND p.position <= comparison.position) "
        "WHERE EXISTS (SELECT 1 FROM probe p WHERE p.ballot_id = comparison.ballot_id AND p.sheet = comparison.sheet)"
    )
    op.execute("UPDATE comparison SET position = -1 - position WHERE position < 0")
    op.execute(
        "INSERT INTO comparison "
        "(ballot_id, place, sheet, position, left_item, right_item, probe, expected, repeats) "
        "SELECT p.ballot_id, b.n_comparisons + p.place, p.sheet, p.position + ("
        "SELECT count(*) FROM probe q WHERE q.ballot_id = p.ballot_id AND q.sheet = p.sheet "
        "AND (q.position < p.position OR (q.position = p.position AND q.place < p.place))), "
        "p.left_item, p.right_item, p.kind, p.expected, p.repeats "
        "FROM probe p JOIN ballot b ON b.id = p.ballot_id"
    )


def _count_checks() -> None:
    of_sheet = "c.ballot_id = sheet.ballot_id AND c.sheet = sheet.number AND c.probe <> 'practice'"
    last = "SELECT max(f.revision) FROM vote_event f WHERE f.ballot_id = e.ballot_id AND f.place = e.place"
    some = f"WHERE EXISTS (SELECT 1 FROM probe c WHERE {of_sheet.replace('c.probe', 'c.kind')})"
    op.execute(f"UPDATE sheet SET n_checks = (SELECT count(*) FROM comparison c WHERE {of_sheet}) {some}")
    op.execute(
        "UPDATE sheet SET n_checked = (SELECT count(*) FROM comparison c JOIN vote_event e "
        "ON e.ballot_id = c.ballot_id AND e.place = c.place "
        f"WHERE {of_sheet} AND e.kind = 'cast' AND e.revision = ({last})) {some}"
    )


def _move_answers(connection: sa.Connection) -> None:
    """Turn answers that count into votes and the others into late votes; revisions number only the former."""
    rows = connection.exec_driver_sql(
        "SELECT e.*, b.number, b.n_comparisons FROM probe_event e JOIN ballot b ON b.id = e.ballot_id ORDER BY e.id"
    ).mappings()
    taken = set(connection.exec_driver_sql("SELECT event_id FROM vote_event").scalars())
    taken |= set(connection.exec_driver_sql("SELECT event_id FROM late_vote").scalars())
    last: dict[tuple[int, int], int] = {}
    votes, late = [], []
    for row in rows:
        place = row["n_comparisons"] + row["place"]
        where = (row["ballot_id"], place)
        last[where] = last.get(where, 0) + (row["why"] is None)
        says = "retract" if row["kind"] == "retract" else ANSWERS.get(row["answer"])
        moved = {
            **{name: row[name] for name in COPIED},
            # A voter could give an answer to a check the id of a vote; the vote keeps it.
            "event_id": _new_id(row["event_id"]) if row["event_id"] in taken else row["event_id"],
            "place": place,
            "payload_hash": _hash([row["number"], place, row["voter_id"], says]),
            "revision": last[where],
        }
        if row["why"] is None:
            votes.append({**moved, "kind": row["kind"]})
        else:
            late.append({**moved, "why": row["why"]})
    for table, further, found in (("vote_event", "kind", votes), ("late_vote", "why", late)):
        columns = (*COPIED, further)
        values = ", ".join(f":{name}" for name in columns)
        statement = sa.text(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})")
        for start in range(0, len(found), BLOCK):
            connection.execute(statement, found[start : start + BLOCK])


def _new_id(event_id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"answer to a check, formerly {event_id}"))


def _hash(says: list[object]) -> str:
    text = json.dumps(says, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
