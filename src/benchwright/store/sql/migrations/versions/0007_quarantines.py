"""Stretches of time in which what a machine measured is not judged. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table of quarantines."""
    op.create_table(
        "quarantines",
        sa.Column("machine", sa.Text, primary_key=True),
        sa.Column("since", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("until", sa.BigInteger),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
        sa.Column("released_by", sa.Text, nullable=False),
    )
