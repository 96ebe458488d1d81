"""Points without references in PostgreSQL, where looking them up took most of the time to add one. Never changed."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drops the constraints. In SQLite they cost little, and to drop one would be to write the whole table anew."""
    if op.get_bind().dialect.name == "postgresql":
        for column in ("series_id", "result_id", "method_id"):
            op.execute(f"ALTER TABLE points DROP CONSTRAINT IF EXISTS fk_points_{column}")
