"""Findings in the tables, and what people decided about findings to come: mutes and thresholds.

Every function works inside the transaction of the connection it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from sqlalchemy import Connection, Select, delete, insert, select
from sqlalchemy import update as update_rows

from benchwright import schema
from benchwright.errors import StoreError, did_you_mean
from benchwright.records.findings import Finding, FindingChanges, Mute, Remark, State, Threshold
from benchwright.store.sql import codec, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import lock_findings

_SHOWN = 5


def newest(
    connection: Connection, *, states: Sequence[State] = (), series: Sequence[str] = (), limit: int = 1000
) -> list[Finding]:
    """The newest findings first, of these states and series where any are named."""
    table = tables.findings
    query = _select_documents()
    if states:
        query = query.where(table.c.state.in_([state.value for state in states]))
    if series:
        query = query.where(table.c.series.in_([plain(key) for key in series]))
    rows = connection.execute(query.order_by(table.c.at.desc(), table.c.id.desc()).limit(limit))
    return [_finding(row) for row in rows]


def find(connection: Connection, reference: str) -> Finding:
    """The finding of that id, or of the only id that begins so."""
    table, word = tables.findings, plain(reference)
    rows = connection.execute(_select_documents().where(table.c.finding.startswith(word, autoescape=True))).all()
    begun = [row for row in rows if word and row.finding.startswith(word)]  # LIKE may have ignored case
    exact = [row for row in begun if row.finding == word]
    if len(exact or begun) == 1:
        return _finding((exact or begun)[0])
    if begun:
        names = ", ".join(row.finding for row in begun[:_SHOWN]) + (" ..." if len(begun) > _SHOWN else "")
        raise StoreError(f"{reference!r} may be any of {len(begun)} findings", remedy=f"write more of one of: {names}")
    known = connection.scalars(select(table.c.finding).order_by(table.c.at.desc()).limit(_SHOWN)).all()
    remedy = did_you_mean(word, known) if known else "there are none; benchwright findings judge looks for some"
    raise StoreError(f"no finding {reference!r} in this store", remedy=remedy)


def keep(connection: Connection, finding: Finding) -> Finding:
    """Keeps a finding, unless the same change is there: then that one is returned."""
    lock_findings(connection)
    known = newest(connection, series=(finding.series,), limit=1_000_000)
    for other in known:
        if other.id == finding.id or _is_same(other, finding):
            return other
    at = codec.microseconds(finding.found_at, where=f"finding {finding.id}: found_at")
    row = {"finding": plain(finding.id), "series": plain(finding.series), "at": at}
    connection.execute(insert(tables.findings), row | _content(finding))
    return finding


def _is_same(known: Finding, new: Finding) -> bool:
    """Whether both are steps, or both drifts, in the same direction and at the same runs."""
    if known.verdict is not new.verdict or (known.drift is None) != (new.drift is None):
        return False
    return known.settles(new.revisions[-1] if new.revisions else "") and bool({*known.runs} & {*new.runs})


def update(
    connection: Connection, /, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
) -> Finding:
    """Changes fields of a finding and adds a line to its story."""
    lock_findings(connection)
    known = find(connection, reference)
    if fixed := {"id", "series", "remarks"} & changes.keys():
        raise ValueError(f"the field {min(fixed)} of a finding cannot be changed")
    remarks = (*known.remarks, remark) if remark else known.remarks
    fields: dict[str, Any] = {**changes}
    if "why" in changes:
        fields["why"] = {**known.why, **changes["why"]}
    changed = replace(known, remarks=remarks, **fields)
    table = tables.findings
    connection.execute(update_rows(table).where(table.c.finding == plain(known.id)).values(**_content(changed)))
    return changed


def _content(finding: Finding) -> dict[str, Any]:
    return {
        "state": finding.state.value,
        "format": schema.FORMAT,
        "document": codec.finding_document(finding),
    }


def _select_documents() -> Select[Any]:
    table = tables.findings
    return select(table.c.finding, table.c.format, table.c.document)


def _finding(row: Any) -> Finding:
    return codec.read_finding(row.document, row.format, where=f"finding {row.finding}")


# ---- mutes and thresholds ----


def mutes(connection: Connection) -> list[Mute]:
    """What is muted, in order of the alphabet."""
    rows = connection.execute(select(tables.mutes)).all()
    return sorted((Mute(what=r.what, who=r.who, at=r.at, reason=r.reason) for r in rows), key=lambda mute: mute.what)


def mute(connection: Connection, mute: Mute) -> None:
    """Adds a mute, in the place of one of the same name."""
    unmute(connection, mute.what)
    row = {"what": plain(mute.what), "who": plain(mute.who), "at": plain(mute.at), "reason": plain(mute.reason)}
    connection.execute(insert(tables.mutes), row)


def unmute(connection: Connection, what: str) -> bool:
    """Takes a mute away; False when there was none."""
    lock_findings(connection)
    return connection.execute(delete(tables.mutes).where(tables.mutes.c.what == plain(what))).rowcount > 0


def thresholds(connection: Connection) -> list[Threshold]:
    """Every threshold, in order of the alphabet."""
    rows = connection.execute(select(tables.thresholds)).all()
    found = (Threshold(case=r.case_name, metric=r.metric, smallest=r.smallest) for r in rows)
    return sorted(found, key=lambda threshold: (threshold.case, threshold.metric))


def set_threshold(connection: Connection, threshold: Threshold) -> None:
    """Adds a threshold, in the place of one for the same cases and metric."""
    drop_threshold(connection, threshold.case, threshold.metric)
    row = {"case_name": plain(threshold.case), "metric": plain(threshold.metric), "smallest": threshold.smallest}
    connection.execute(insert(tables.thresholds), row)


def drop_threshold(connection: Connection, case: str, metric: str = "") -> bool:
    """Takes a threshold away; False when there was none."""
    lock_findings(connection)
    table = tables.thresholds
    gone = delete(table).where(table.c.case_name == plain(case), table.c.metric == plain(metric))
    return connection.execute(gone).rowcount > 0
