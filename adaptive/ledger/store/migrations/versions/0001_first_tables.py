"""The first tables.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

from adaptive.ledger.store.migrations import triggers

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# SQLite increments a column automatically only if its type is INTEGER.
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
HISTORY = ("item", "comparison", "probe", "vote_event", "late_vote", "probe_event", "audit_event", "voting_pages")
KEPT = (*HISTORY, "campaign", "ballot", "sheet", "voter", "lease", "token")
FIXED = {
    "campaign": ("key", "mode", "plan", "slots", "seed", "hash_key", "created_at"),
    "ballot": ("campaign_id", "number", "kind", "places", "presentations", "n_comparisons", "draw_digest", "opened_at"),
    "sheet": ("ballot_id", "number", "slot", "n_comparisons"),
    "voter": ("campaign_id", "key", "source", "joined_at"),
    "lease": ("ballot_id", "sheet", "voter_id", "fence", "given_at"),
    "token": ("hash", "campaign_id", "kind", "voter_id", "made_at"),
}


def upgrade() -> None:
    """Make the tables, their indices and the triggers that keep history."""
    op.create_table(
        "campaign",
        sa.Column("id", ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("slots", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("hash_key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("mode IN ('ballots', 'continuous')", name=op.f("ck_campaign_mode")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
        sa.UniqueConstraint("key", name=op.f("uq_campaign_key")),
    )
    op.create_table(
        "ballot",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("presentations", sa.Integer(), nullable=False),
        sa.Column("n_comparisons", sa.Integer(), nullable=False),
        sa.Column("draw_digest", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("closer", sa.Text(), nullable=True),
        sa.Column("closer_until", sa.BigInteger(), nullable=True),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("record", sa.Text(), nullable=True),
        sa.Column("votes_digest", sa.Text(), nullable=True),
        sa.Column("chain_digest", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('ballot', 'batch')", name=op.f("ck_ballot_kind")),
        sa.CheckConstraint("state IN ('open', 'closing', 'closed')", name=op.f("ck_ballot_state")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_ballot_campaign_id_campaign")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ballot")),
        sa.UniqueConstraint("campaign_id", "number", name=op.f("uq_ballot_campaign_id_number")),
    )
    op.create_index(
        "uq_ballot_not_closed",
        "ballot",
        ["campaign_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'closed' AND kind = 'ballot'"),
        postgresql_where=sa.text("state <> 'closed' AND kind = 'ballot'"),
    )
    op.create_table(
        "item",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), server_default="text", nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("alt_text", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('text', 'markdown', 'image', 'audio')", name=op.f("ck_item_kind")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_item_campaign_id_campaign")),
        sa.PrimaryKeyConstraint("campaign_id", "place", name=op.f("pk_item")),
        sa.UniqueConstraint("campaign_id", "label", name=op.f("uq_item_campaign_id_label")),
    )
    op.create_table(
        "voter",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("external_hash", sa.Text(), nullable=True),
        sa.Column("consent_version", sa.Text(), nullable=True),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_voter_campaign_id_campaign")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_voter")),
        sa.UniqueConstraint(
            "campaign_id", "source", "external_hash", name=op.f("uq_voter_campaign_id_source_external_hash")
        ),
        sa.UniqueConstraint("key", name=op.f("uq_voter_key")),
    )
    op.create_table(
        "voting_pages",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pages", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_voting_pages_campaign_id_campaign")),
        sa.PrimaryKeyConstraint("campaign_id", "version", name=op.f("pk_voting_pages")),
    )
    op.create_table(
        "audit_event",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ballot_id", ID, nullable=True),
        sa.Column("voter_id", ID, nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["ballot_id"], ["ballot.id"], name=op.f("fk_audit_event_ballot_id_ballot")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_audit_event_campaign_id_campaign")),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_audit_event_voter_id_voter")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_event")),
    )
    op.create_index("ix_audit_event_campaign_id", "audit_event", ["campaign_id"], unique=False)
    op.create_table(
        "sheet",
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("n_comparisons", sa.Integer(), nullable=False),
        sa.Column("n_answered", sa.Integer(), server_default="0", nullable=False),
        sa.CheckConstraint("n_answered BETWEEN 0 AND n_comparisons", name=op.f("ck_sheet_answered")),
        sa.ForeignKeyConstraint(["ballot_id"], ["ballot.id"], name=op.f("fk_sheet_ballot_id_ballot")),
        sa.PrimaryKeyConstraint("ballot_id", "number", name=op.f("pk_sheet")),
    )
    op.create_table(
        "token",
        sa.Column("id", ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("voter_id", ID, nullable=True),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('organiser', 'organiser session', 'invitation', 'session', 'study')", name=op.f("ck_token_kind")
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_token_campaign_id_campaign")),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_token_voter_id_voter")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_token_hash")),
    )
    op.create_index("ix_token_campaign_id", "token", ["campaign_id"], unique=False)
    op.create_index("ix_token_voter_id", "token", ["voter_id"], unique=False)
    op.create_table(
        "voter_identity",
        sa.Column("voter_id", ID, autoincrement=False, nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_voter_identity_voter_id_voter")),
        sa.PrimaryKeyConstraint("voter_id", name=op.f("pk_voter_identity")),
    )
    op.create_table(
        "comparison",
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sheet", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("left_item", sa.Integer(), nullable=False),
        sa.Column("right_item", sa.Integer(), nullable=False),
        sa.CheckConstraint("left_item <> right_item", name=op.f("ck_comparison_items")),
        sa.ForeignKeyConstraint(
            ["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"], name=op.f("fk_comparison_ballot_id_sheet")
        ),
        sa.PrimaryKeyConstraint("ballot_id", "place", name=op.f("pk_comparison")),
        sa.UniqueConstraint("ballot_id", "sheet", "position", name=op.f("uq_comparison_ballot_id_sheet_position")),
    )
    op.create_table(
        "lease",
        sa.Column("id", ID, nullable=False),
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("sheet", sa.Integer(), nullable=False),
        sa.Column("voter_id", ID, nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("exclusive", sa.Boolean(), nullable=False),
        sa.Column("given_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("end_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("(ended_at IS NULL) = (end_reason IS NULL)", name=op.f("ck_lease_end")),
        sa.ForeignKeyConstraint(
            ["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"], name=op.f("fk_lease_ballot_id_sheet")
        ),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_lease_voter_id_voter")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
        sa.UniqueConstraint("ballot_id", "sheet", "fence", name=op.f("uq_lease_ballot_id_sheet_fence")),
    )
    op.create_index("ix_lease_voter_id", "lease", ["voter_id"], unique=False)
    op.create_index(
        "uq_lease_of_sheet",
        "lease",
        ["ballot_id", "sheet"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "uq_lease_of_voter",
        "lease",
        ["voter_id"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL AND exclusive"),
        postgresql_where=sa.text("ended_at IS NULL AND exclusive"),
    )
    op.create_table(
        "probe",
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sheet", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("left_item", sa.Integer(), nullable=False),
        sa.Column("right_item", sa.Integer(), nullable=False),
        sa.Column("expected", sa.SmallInteger(), nullable=True),
        sa.Column("repeats", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('practice', 'attention', 'gold', 'repeat', 'overlap')", name=op.f("ck_probe_kind")
        ),
        sa.ForeignKeyConstraint(
            ["ballot_id", "sheet"], ["sheet.ballot_id", "sheet.number"], name=op.f("fk_probe_ballot_id_sheet")
        ),
        sa.PrimaryKeyConstraint("ballot_id", "place", name=op.f("pk_probe")),
    )
    op.create_table(
        "late_vote",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("voter_id", ID, nullable=False),
        sa.Column("answer", sa.SmallInteger(), nullable=True),
        sa.Column("response_ms", sa.Integer(), nullable=True),
        sa.Column("given_by", sa.Text(), nullable=True),
        sa.Column("layout", sa.Text(), nullable=True),
        sa.Column("extra", sa.Text(), nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("payload_hash", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.CheckConstraint("why IN ('closed', 'reassigned', 'conflict')", name=op.f("ck_late_vote_why")),
        sa.ForeignKeyConstraint(
            ["ballot_id", "place"],
            ["comparison.ballot_id", "comparison.place"],
            name=op.f("fk_late_vote_ballot_id_comparison"),
        ),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_late_vote_voter_id_voter")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_late_vote")),
        sa.UniqueConstraint("event_id", name=op.f("uq_late_vote_event_id")),
    )
    op.create_index("ix_late_vote_ballot_id", "late_vote", ["ballot_id"], unique=False)
    op.create_table(
        "probe_event",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("voter_id", ID, nullable=False),
        sa.Column("answer", sa.SmallInteger(), nullable=True),
        sa.Column("response_ms", sa.Integer(), nullable=True),
        sa.Column("given_by", sa.Text(), nullable=True),
        sa.Column("layout", sa.Text(), nullable=True),
        sa.Column("extra", sa.Text(), nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("payload_hash", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('cast', 'retract', 'void')", name=op.f("ck_probe_event_kind")),
        sa.CheckConstraint("why IN ('closed', 'reassigned', 'conflict')", name=op.f("ck_probe_event_why")),
        sa.ForeignKeyConstraint(
            ["ballot_id", "place"], ["probe.ballot_id", "probe.place"], name=op.f("fk_probe_event_ballot_id_probe")
        ),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_probe_event_voter_id_voter")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_probe_event")),
        sa.UniqueConstraint("ballot_id", "place", "revision", name=op.f("uq_probe_event_ballot_id_place_revision")),
        sa.UniqueConstraint("event_id", name=op.f("uq_probe_event_event_id")),
    )
    op.create_index("ix_probe_event_voter_id", "probe_event", ["voter_id"], unique=False)
    op.create_table(
        "vote_event",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("ballot_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("voter_id", ID, nullable=False),
        sa.Column("answer", sa.SmallInteger(), nullable=True),
        sa.Column("response_ms", sa.Integer(), nullable=True),
        sa.Column("given_by", sa.Text(), nullable=True),
        sa.Column("layout", sa.Text(), nullable=True),
        sa.Column("extra", sa.Text(), nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("payload_hash", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("lease_id", ID, nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("(kind = 'cast') = (answer IS NOT NULL)", name=op.f("ck_vote_event_answer")),
        sa.CheckConstraint("kind IN ('cast', 'retract', 'void')", name=op.f("ck_vote_event_kind")),
        sa.ForeignKeyConstraint(
            ["ballot_id", "place"],
            ["comparison.ballot_id", "comparison.place"],
            name=op.f("fk_vote_event_ballot_id_comparison"),
        ),
        sa.ForeignKeyConstraint(["lease_id"], ["lease.id"], name=op.f("fk_vote_event_lease_id_lease")),
        sa.ForeignKeyConstraint(["voter_id"], ["voter.id"], name=op.f("fk_vote_event_voter_id_voter")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vote_event")),
        sa.UniqueConstraint("ballot_id", "place", "revision", name=op.f("uq_vote_event_ballot_id_place_revision")),
        sa.UniqueConstraint("event_id", name=op.f("uq_vote_event_event_id")),
    )
    op.create_index("ix_vote_event_voter_id", "vote_event", ["voter_id"], unique=False)

    dialect = op.get_bind().dialect.name
    for statement in triggers(dialect, never_changed=HISTORY, never_deleted=KEPT, fixed=FIXED):
        op.execute(statement)
