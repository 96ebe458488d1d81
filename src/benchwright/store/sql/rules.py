"""What people decided about findings to come: muted series, and thresholds. Inside the connection's transaction."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from benchwright.records.findings import Mute, Threshold
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import lock_findings


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


def drop_threshold(connection: Connection, case: str, metric: str) -> bool:
    """Takes a threshold away; False when there was none."""
    lock_findings(connection)
    table = tables.thresholds
    gone = delete(table).where(table.c.case_name == plain(case), table.c.metric == plain(metric))
    return connection.execute(gone).rowcount > 0
