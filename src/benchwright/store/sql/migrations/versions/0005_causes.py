"""Findings that belong together: their heads, and the places of their causes. Never changed afterwards."""

import hashlib
import json
import math
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_AT_ONCE = 500  # findings


def upgrade() -> None:
    """Adds the tables, and gives every finding that is there its cause, the oldest first."""
    heads = op.create_table(
        "finding_heads",
        sa.Column("finding_id", _ID, sa.ForeignKey("findings.id"), primary_key=True, autoincrement=False),
        sa.Column("finding", sa.Text, nullable=False),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("size", sa.Double, nullable=False),
        sa.Column("case_name", sa.Text, nullable=False),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("assignee", sa.Text, nullable=False),
        sa.Column("suspect", sa.Text, nullable=False),
        sa.Column("sure", sa.Double, nullable=False),
    )
    op.create_index("ix_finding_heads_state", "finding_heads", ["state", "at"])
    op.create_index("ix_finding_heads_cause", "finding_heads", ["cause"])
    op.create_index("ix_finding_heads_finding", "finding_heads", ["finding"])
    places = op.create_table(
        "cause_places",
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("cause", sa.Text, primary_key=True),
        sa.Column("weight", sa.Double, nullable=False),
    )
    op.create_index("ix_cause_places_cause", "cause_places", ["cause"])
    _give_causes(heads, places)


def _give_causes(heads: Any, places: Any) -> None:
    connection = op.get_bind()
    findings = sa.table("findings", *map(sa.column, ("id", "finding", "series", "state", "at", "document")))
    causes: dict[str, str] = {}  # of each place
    last = None
    while True:
        query = sa.select(findings).order_by(findings.c.at, findings.c.id).limit(_AT_ONCE)
        if last is not None:
            query = query.where(sa.tuple_(findings.c.at, findings.c.id) > sa.tuple_(*map(sa.literal, last)))
        rows = connection.execute(query).all()
        for row in rows:
            _give_cause(connection, row, causes, findings, heads, places)
        if len(rows) < _AT_ONCE:
            return
        last = (rows[-1].at, rows[-1].id)


def _give_cause(connection: Any, row: Any, causes: dict[str, str], findings: Any, heads: Any, places: Any) -> None:
    try:
        data = json.loads(row.document)
        effect = float(data["effect"]["point"])
        known = _places(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # damaged: whoever reads it says so
        data, effect, known = {}, 1.0, {}
    cause = next((causes[place] for place in sorted(known, key=lambda place: -known[place]) if place in causes), "")
    if not cause:
        first = max(known, key=lambda place: (known[place], place), default=row.finding)
        cause = "cause-" + hashlib.sha256(first.encode()).hexdigest()[:10]
        causes.update(dict.fromkeys(known, cause))
        if known:
            connection.execute(
                places.insert(), [{"place": place, "cause": cause, "weight": weight} for place, weight in known.items()]
            )
    suspects = [] if data.get("drift") else data.get("suspects") or []
    head = {
        "finding_id": row.id,
        "finding": row.finding,
        "series": row.series,
        "cause": cause,
        "state": row.state,
        "verdict": str(data.get("verdict", "")),
        "size": min(100.0, abs(math.log(effect))) if effect > 0 else 100.0,
        "case_name": _plain(data.get("case")),
        "params": _plain(data.get("params")),
        "metric": _plain(data.get("metric")),
        "machine": _plain(data.get("machine")),
        "at": row.at,
        "assignee": _plain(data.get("assignee")),
        "suspect": _plain(suspects[0]["revision"]) if suspects else "",
        "sure": float(suspects[0]["probability"]) if suspects else 0.0,
    }
    connection.execute(heads.insert(), head)
    if data:
        document = json.dumps(data | {"cause": cause}, separators=(",", ":"))
        connection.execute(findings.update().where(findings.c.id == row.id).values(document=document))


def _places(data: dict[str, Any]) -> dict[str, float]:
    """The commits that may be behind a finding; where none is known, the run that it began at."""
    run = _plain(data.get("run"))
    if data.get("drift"):
        return {f"drift {run}": 1.0} if run else {}
    suspects = data.get("suspects") or []
    likely = [one for one in suspects if one["probability"] >= 0.1 * suspects[0]["probability"]]
    found = {f"commit {_plain(one['revision'])}": float(one["probability"]) for one in likely[:100]}
    return found or ({f"run {run}": 1.0} if run else {})


def _plain(text: Any) -> str:
    """The text as a column can hold it."""
    return str(text or "").replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
