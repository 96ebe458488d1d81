"""The run of each finding beside its head, and what somebody is about to do elsewhere. Never changed afterwards."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_AT_ONCE = 1000  # findings
_EMPTY = sa.text("''")


def upgrade() -> None:
    """Adds the column and fills it from the documents of findings; adds the table of claims."""
    op.add_column("finding_heads", sa.Column("run", sa.Text, nullable=False, server_default=_EMPTY))
    op.create_table(
        "claims",
        sa.Column("what", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    page = sa.text("SELECT id, document FROM findings WHERE id > :last ORDER BY id LIMIT :most")
    named = sa.text("UPDATE finding_heads SET run = :run WHERE finding_id = :id")
    last = 0
    while rows := connection.execute(page, {"last": last, "most": _AT_ONCE}).all():
        last = rows[-1].id
        if told := [{"id": row.id, "run": run} for row in rows if (run := _run_of(row.document))]:
            connection.execute(named, told)


def _run_of(document: str) -> str:
    try:
        run = json.loads(document)["run"]
    except (ValueError, TypeError, KeyError, RecursionError):  # damaged: whoever reads it says so
        return ""
    return run.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8") if isinstance(run, str) else ""
