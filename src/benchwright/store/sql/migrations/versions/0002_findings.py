"""Findings, muted series and thresholds. Never changed afterwards: a change is a migration of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Adds the tables of findings."""
    op.create_table(
        "findings",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("finding", sa.Text, nullable=False),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("format", sa.SmallInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.UniqueConstraint("finding"),
    )
    op.create_index("ix_findings_series", "findings", ["series"])
    op.create_index("ix_findings_state", "findings", ["state"])
    op.create_table(
        "mutes",
        sa.Column("what", sa.Text, primary_key=True),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "thresholds",
        sa.Column("case_name", sa.Text, primary_key=True),
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("smallest", sa.Double, nullable=False),
    )
