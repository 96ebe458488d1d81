"""Quarantines that a finding of the control benchmark is the reason of. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column; the quarantines that there are have no such finding."""
    op.add_column("quarantines", sa.Column("finding", sa.Text, nullable=False, server_default=sa.text("''")))
