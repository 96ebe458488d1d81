"""What axes and views need: branches of runs, dates and tags of commits, releases, views. Never changed afterwards."""

import json
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AT_ONCE = 1000  # runs
_EMPTY = sa.text("''")


def upgrade() -> None:
    """Adds the columns and tables, and fills them from the documents of runs."""
    op.add_column("runs", sa.Column("branch", sa.Text, nullable=False, server_default=_EMPTY))
    op.create_index("ix_runs_branch", "runs", ["branch"])
    op.create_table(
        "revisions",
        sa.Column("revision", sa.Text, primary_key=True),
        sa.Column("committed_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "revision_tags",
        sa.Column("revision", sa.Text, primary_key=True),
        sa.Column("tag", sa.Text, primary_key=True),
    )
    op.add_column("series_notes", sa.Column("kind", sa.Text, nullable=False, server_default=_EMPTY))
    op.create_table(
        "views",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
        sa.Column("is_home", sa.SmallInteger, nullable=False),
        sa.UniqueConstraint("name"),
    )
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    """Takes branches and dates from the documents: a part at a time, as there may be a million runs."""
    page = sa.text("SELECT id, revision, document FROM runs WHERE id > :last ORDER BY id LIMIT :most")
    named = sa.text("UPDATE runs SET branch = :branch WHERE id = :id")
    dated = sa.text(
        "INSERT INTO revisions (revision, committed_at) VALUES (:revision, :at) ON CONFLICT (revision) DO NOTHING"
    )
    last = 0
    while rows := connection.execute(page, {"last": last, "most": _AT_ONCE}).all():
        last = rows[-1].id
        branches, dates = [], {}
        for row in rows:
            told = _revision_of(row.document)
            if isinstance(branch := told.get("branch"), str) and branch and branch.isprintable():
                branches.append({"id": row.id, "branch": branch})
            if row.revision and (at := _microseconds(told.get("committed_at"))):
                dates[row.revision] = at
        if branches:
            connection.execute(named, branches)
        if dates:
            connection.execute(dated, [{"revision": revision, "at": at} for revision, at in dates.items()])


def _revision_of(document: str) -> dict[str, object]:
    """The revision in a run's document; nothing where the document is damaged."""
    try:
        found = json.loads(document).get("revision")
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _microseconds(instant: object) -> int:
    try:
        moment = datetime.fromisoformat(str(instant))
    except ValueError:
        return 0
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
