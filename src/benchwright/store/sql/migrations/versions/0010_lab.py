"""The lab: machines, holds, submissions, lists of files and the queue. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Adds the tables of the lab."""
    op.create_table(
        "lab_machines",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("trouble", sa.Text, nullable=False),
        sa.Column("registered_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("is_offered", sa.SmallInteger, nullable=False),
    )
    op.create_table(
        "lab_holds",
        sa.Column("machine", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
    )
    op.create_table(
        "lab_submissions",
        sa.Column("run", sa.Text, primary_key=True),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("selector", sa.Text, nullable=False),
        sa.Column("spread", sa.Text, nullable=False),
        sa.Column("priority", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "lab_parcels",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "lab_jobs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("case_key", sa.Text, nullable=False),
        sa.Column("selector", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("prefers", sa.Text, nullable=False),
        sa.Column("avoid", sa.Text, nullable=False),
        sa.Column("rank", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("fence", sa.Text, nullable=False),
        sa.Column("leased_to", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("reasons", sa.Text, nullable=False),
        sa.Column("queued_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=False),
        sa.Column("rounds", sa.BigInteger, nullable=False),
        sa.Column("expected", sa.Double, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("parcel", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_index("ix_lab_jobs_fence", "lab_jobs", ["fence"])
    op.create_index("ix_lab_jobs_state", "lab_jobs", ["state", "rank", "id"])
    op.create_index("ix_lab_jobs_run", "lab_jobs", ["run", "state"])
    op.create_index("ix_lab_jobs_case", "lab_jobs", ["case_key", "state", "id"])
    op.create_index("ix_lab_jobs_prefers", "lab_jobs", ["prefers", "state", "rank", "id"])
    op.create_index("ix_lab_jobs_leased", "lab_jobs", ["leased_to", "state"])
