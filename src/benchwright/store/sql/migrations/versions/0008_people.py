"""Who is signed in, and the targets of messages that people keep at a server. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Adds the tables of people and of targets."""
    op.create_table(
        "sessions",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("group_names", sa.Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_sessions_subject", "sessions", ["subject"])
    op.create_table(
        "notify_targets",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("verdicts", sa.Text, nullable=False),
        sa.Column("cases", sa.Text, nullable=False),
        sa.Column("smallest", sa.Double, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
        sa.UniqueConstraint("address"),
    )
