"""The tables of the first release.

Revision ID: 0003
"""

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None
