"""Add the other items of sets, from which voters choose the best and the worst item.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, which is NULL for pairs, such as all earlier comparisons."""
    op.add_column("comparison", sa.Column("other_items", sa.Text()))
