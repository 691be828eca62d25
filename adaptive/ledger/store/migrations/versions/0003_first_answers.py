"""Record which leases wait for a first answer, and the hashed address that holds them.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the two columns; existing leases count as answered, so that they keep their duration."""
    op.add_column("lease", sa.Column("unanswered", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("lease", sa.Column("address", sa.Text(), nullable=True))
    op.create_index("ix_lease_address", "lease", ["address"], unique=False)
