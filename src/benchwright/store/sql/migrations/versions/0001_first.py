"""The first tables. Never changed afterwards: a change is a migration of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Makes the first tables."""
    _runs()
    _results()
    _series()
    _samples()


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("format", sa.SmallInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.UniqueConstraint("run"),
    )
    op.create_index("ix_runs_at", "runs", ["at"])
    op.create_index("ix_runs_revision", "runs", ["revision"])
    op.create_table(
        "run_tags",
        sa.Column("tag", sa.Text, primary_key=True),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), primary_key=True),
    )


def _results() -> None:
    op.create_table(
        "environments",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "results",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("environment_id", _ID, sa.ForeignKey("environments.id"), nullable=False),
        sa.Column("case_name", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("round", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("revision", sa.Text, nullable=False),
        sa.UniqueConstraint("result"),
    )
    op.create_index("ix_results_run_id", "results", ["run_id"])
    op.create_index("ix_results_case_name", "results", ["case_name", "at"])
    op.create_table(
        "documents",
        sa.Column("result_id", _ID, sa.ForeignKey("results.id"), primary_key=True, autoincrement=False),
        sa.Column("format", sa.SmallInteger, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
    )


def _series() -> None:
    op.create_table(
        "series",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("case_name", sa.Text, nullable=False),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("better", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.UniqueConstraint("key", "unit"),
    )
    op.create_index("ix_series_case_name", "series", ["case_name"])
    op.create_table(
        "methods",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("method", sa.Text, nullable=False),
        sa.UniqueConstraint("method"),
    )
    op.create_table(
        "points",
        sa.Column("series_id", _ID, sa.ForeignKey("series.id"), primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("result_id", _ID, sa.ForeignKey("results.id"), primary_key=True, autoincrement=False),
        sa.Column("point", sa.Double, nullable=False),
        sa.Column("low", sa.Double),
        sa.Column("high", sa.Double),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("method_id", _ID, sa.ForeignKey("methods.id"), nullable=False),
        sqlite_with_rowid=False,
    )


def _samples() -> None:
    op.create_table(
        "samples",
        sa.Column("result_id", _ID, sa.ForeignKey("results.id"), primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "sample_columns",
        sa.Column("result_id", _ID, sa.ForeignKey("results.id"), primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("predictor", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
