"""The tables of the first release; a ledger has had the tables of the schema since it was made, or is upgraded to them.

Revision ID: 0003
"""

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None
