"""The tags of a run are found by the run, too. Never changed afterwards."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the index: lists of runs ask for the tags of a page of them."""
    op.create_index("ix_run_tags_run_id", "run_tags", ["run_id"])
