"""Add the items of a set after its first two: voters of a set choose its best and its worst item.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; comparisons so far are pairs and have none."""
    op.add_column("comparison", sa.Column("other_items", sa.Text()))
