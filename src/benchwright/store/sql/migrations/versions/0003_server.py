"""What a team's server keeps: annotations, progress, tokens, an audit log. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Adds the tables of a server."""
    op.create_index("ix_points_result", "points", ["result_id"])
    op.create_index("ix_results_revision", "results", ["revision"])
    op.create_table(
        "series_notes",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
    )
    op.create_index("ix_series_notes_series", "series_notes", ["series"])
    op.create_table(
        "progress",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.Column("used_at", sa.Text, nullable=False),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "audit",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
