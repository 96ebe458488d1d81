"""What has arrived and is not judged yet, and of which findings people are to be told. Never changed afterwards."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Adds the lists. Nobody knows which of the older results were judged: they are counted, and judged when asked."""
    op.create_table(
        "arrivals",
        sa.Column("result_id", _ID, sa.ForeignKey("results.id"), primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    judging = op.create_table(
        "judging",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_table(
        "untold",
        sa.Column("finding", sa.Text, primary_key=True),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    results = sa.table("results", sa.column("status"))
    older = op.get_bind().scalar(sa.select(sa.func.count()).select_from(results).where(results.c.status == "ok"))
    if older:
        now = time.time_ns() // 1000
        op.bulk_insert(judging, [{"name": "older", "number": older, "at": now, "document": ""}])
