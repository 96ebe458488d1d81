"""When a machine of the lab was last controlled, and jobs whose agents were killed. Never changed afterwards."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the columns, with the controls that there were, and the index by which selectors of what waits are found."""
    op.add_column("lab_machines", sa.Column("control_at", sa.BigInteger, nullable=False, server_default=sa.text("0")))
    op.execute(
        "UPDATE lab_machines SET control_at = coalesce((SELECT max(queued_at) FROM lab_jobs"
        " WHERE lab_jobs.machine = lab_machines.name AND lab_jobs.title LIKE 'machine control: %'), 0)"
    )
    op.add_column("lab_jobs", sa.Column("losses", sa.BigInteger, nullable=False, server_default=sa.text("0")))
    op.create_index("ix_lab_jobs_selector", "lab_jobs", ["state", "selector"])
