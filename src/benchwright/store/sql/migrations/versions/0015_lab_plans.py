"""Jobs of the lab that plan, and what they answer. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column; the jobs that there are measure, and answer nothing."""
    op.add_column("lab_jobs", sa.Column("answer", sa.Text, nullable=False, server_default=sa.text("''")))
