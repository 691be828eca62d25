"""Create the tables of the first release. This file stays as it is: later revisions have separate files.

Revision ID: 0003
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, ForeignKeyConstraint, Index, Integer, Text

from adaptive.ledger._store import schema
from adaptive.ledger._store.migrations import triggers

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None

metadata = sa.MetaData(naming_convention=schema.metadata.naming_convention)
# SQLite increments a column automatically only if its type is INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")
HISTORY = ("item", "comparison", "vote_event", "late_vote", "audit_event", "voting_pages")
KEPT = (*HISTORY, "campaign", "ballot", "sheet", "voter", "lease", "token")
FIXED = {
    "campaign": ("key", "mode", "plan", "slots", "seed", "hash_key", "created_at"),
    "ballot": ("campaign_id", "number", "kind", "places", "presentations", "n_comparisons", "draw_digest", "opened_at"),
    "sheet": ("ballot_id", "number", "slot", "n_comparisons", "n_checks"),
    "voter": ("campaign_id", "key", "source", "joined_at"),
    "lease": ("ballot_id", "sheet", "voter_id", "fence", "given_at"),
    "token": ("hash", "campaign_id", "kind", "voter_id", "made_at"),
}


def upgrade() -> None:
    """Make the tables, their indices and the triggers that keep history."""
    metadata.create_all(op.get_bind(), checkfirst=False)
    dialect = op.get_bind().dialect.name
    for statement in triggers(dialect, never_changed=HISTORY, never_deleted=KEPT, fixed=FIXED):
        op.execute(statement)


def wanted(kind: Any, *names: str) -> list[Column[Any]]:
    """Make columns of one type that are never NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def optional(kind: Any, *names: str) -> list[Column[Any]]:
    """Make columns of one type that may be NULL."""
    return [Column(name, kind) for name in names]


def reference(table: str, **options: Any) -> Column[Any]:
    """Make a column with the id of a row in another table."""
    return Column(f"{table}_id", Id, ForeignKey(f"{table}.id"), **options)


def number_in_key(name: str) -> Column[int]:
    """Make a column of the primary key that the database does not count."""
    return Column(name, Integer, primary_key=True, autoincrement=False)


def event_columns() -> list[Column[Any]]:
    """Make the columns that all answers have: votes and late votes."""
    return [
        Column("id", Id, primary_key=True),
        Column("event_id", Text, nullable=False, unique=True),
        *wanted(Id, "ballot_id"),
        *wanted(Integer, "place"),
        reference("voter", nullable=False),
        *optional(sa.SmallInteger, "answer"),
        *optional(Integer, "response_ms"),
        *optional(Text, "given_by", "layout", "extra"),
        *wanted(BigInteger, "received_at"),
        *wanted(Text, "payload_hash"),
        *wanted(Integer, "revision"),
    ]


def of_sheet() -> ForeignKeyConstraint:
    """Refer to a sheet."""
    return ForeignKeyConstraint(["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"])


def of_pair() -> ForeignKeyConstraint:
    """Refer to a comparison."""
    return ForeignKeyConstraint(["ballot_id", "place"], ["comparison.ballot_id", "comparison.place"])


def unique_where(where: str, name: str, *columns: Column[Any]) -> None:
    """Make an index that is unique among the rows that fit a condition."""
    Index(name, *columns, unique=True, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


sa.Table(
    "campaign",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    *wanted(Text, "name", "mode", "plan", "slots", "seed", "settings", "hash_key"),
    *wanted(BigInteger, "created_at"),
    CheckConstraint("mode IN ('ballots', 'continuous')", name="mode"),
)
ballot = sa.Table(
    "ballot",
    metadata,
    Column("id", Id, primary_key=True),
    reference("campaign", nullable=False),
    *wanted(Integer, "number"),
    *wanted(Text, "kind", "state", "places"),
    *wanted(Integer, "presentations", "n_comparisons"),
    *wanted(Text, "draw_digest"),
    *wanted(BigInteger, "opened_at"),
    *optional(Text, "closer"),
    *optional(BigInteger, "closer_until", "closed_at"),
    *optional(Text, "record", "votes_digest", "chain_digest"),
    CheckConstraint("kind IN ('ballot', 'batch')", name="kind"),
    CheckConstraint("state IN ('open', 'closing', 'closed')", name="state"),
    sa.UniqueConstraint("campaign_id", "number"),
)
unique_where("state <> 'closed' AND kind = 'ballot'", "uq_ballot_not_closed", ballot.c.campaign_id)
sa.Table(
    "item",
    metadata,
    reference("campaign", primary_key=True),
    number_in_key("place"),
    *wanted(Text, "label"),
    Column("kind", Text, server_default="text", nullable=False),
    *optional(Text, "content", "alt_text"),
    CheckConstraint("kind IN ('text', 'markdown', 'image', 'audio')", name="kind"),
    sa.UniqueConstraint("campaign_id", "label"),
)
sa.Table(
    "voter",
    metadata,
    Column("id", Id, primary_key=True),
    reference("campaign", nullable=False),
    Column("key", Text, nullable=False, unique=True),
    *wanted(Text, "source"),
    *optional(Text, "external_hash", "consent_version"),
    *wanted(BigInteger, "joined_at"),
    *optional(BigInteger, "withdrawn_at"),
    sa.UniqueConstraint("campaign_id", "source", "external_hash"),
)
sa.Table(
    "voting_pages",
    metadata,
    reference("campaign", primary_key=True),
    number_in_key("version"),
    *wanted(Text, "pages"),
    *wanted(BigInteger, "at"),
)
sa.Table(
    "audit_event",
    metadata,
    Column("id", Id, primary_key=True),
    reference("campaign", nullable=False, index=True),
    *wanted(BigInteger, "at"),
    *wanted(Text, "kind"),
    reference("ballot"),
    reference("voter"),
    *wanted(Text, "details"),
)
sa.Table(
    "sheet",
    metadata,
    reference("ballot", primary_key=True),
    number_in_key("number"),
    *wanted(Integer, "slot", "n_comparisons"),
    *[
        Column(name, Integer, server_default=sa.text("0"), nullable=False)
        for name in ("n_answered", "n_checks", "n_checked")
    ],
    CheckConstraint("n_answered BETWEEN 0 AND n_comparisons", name="answered"),
    CheckConstraint("n_checked BETWEEN 0 AND n_checks", name="checked"),
)
sa.Table(
    "token",
    metadata,
    Column("id", Id, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),
    reference("campaign", nullable=False, index=True),
    *wanted(Text, "kind"),
    reference("voter", index=True),
    *wanted(BigInteger, "made_at"),
    *optional(BigInteger, "ends_at", "revoked_at"),
    CheckConstraint("kind IN ('organiser', 'organiser session', 'invitation', 'session', 'study')", name="kind"),
)
sa.Table(
    "voter_identity",
    metadata,
    reference("voter", primary_key=True, autoincrement=False),
    *optional(Text, "external_id", "email"),
)
sa.Table(
    "comparison",
    metadata,
    Column("ballot_id", Id, primary_key=True),
    number_in_key("place"),
    *wanted(Integer, "sheet", "position", "left_item", "right_item"),
    *optional(Text, "probe"),
    *optional(sa.SmallInteger, "expected"),
    *optional(Integer, "repeats"),
    CheckConstraint("left_item <> right_item", name="items"),
    CheckConstraint("probe IN ('practice', 'attention', 'gold', 'repeat', 'overlap')", name="probe"),
    of_sheet(),
    sa.UniqueConstraint("ballot_id", "sheet", "position"),
)
lease = sa.Table(
    "lease",
    metadata,
    Column("id", Id, primary_key=True),
    *wanted(Id, "ballot_id"),
    *wanted(Integer, "sheet"),
    reference("voter", nullable=False, index=True),
    *wanted(Integer, "fence"),
    *wanted(sa.Boolean, "exclusive"),
    *wanted(BigInteger, "given_at"),
    *optional(BigInteger, "expires_at", "ended_at"),
    *optional(Text, "end_reason"),
    Column("unanswered", sa.Boolean, server_default=sa.false(), nullable=False),
    Column("address", Text, index=True),
    CheckConstraint("(ended_at IS NULL) = (end_reason IS NULL)", name="end"),
    of_sheet(),
    sa.UniqueConstraint("ballot_id", "sheet", "fence"),
)
unique_where("ended_at IS NULL", "uq_lease_of_sheet", lease.c.ballot_id, lease.c.sheet)
unique_where("ended_at IS NULL AND exclusive", "uq_lease_of_voter", lease.c.voter_id)
late_vote = sa.Table(
    "late_vote",
    metadata,
    *event_columns(),
    *wanted(Text, "why"),
    CheckConstraint("why IN ('closed', 'reassigned', 'conflict')", name="why"),
    of_pair(),
)
Index("ix_late_vote_ballot_id", late_vote.c.ballot_id)
vote_event = sa.Table(
    "vote_event",
    metadata,
    *event_columns(),
    *wanted(Text, "kind"),
    reference("lease"),
    *optional(Text, "reason"),
    CheckConstraint("(kind = 'cast') = (answer IS NOT NULL)", name="answer"),
    CheckConstraint("kind IN ('cast', 'retract', 'void')", name="kind"),
    of_pair(),
    sa.UniqueConstraint("ballot_id", "place", "revision"),
)
Index("ix_vote_event_voter_id", vote_event.c.voter_id)
