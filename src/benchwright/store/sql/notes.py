"""What people wrote beside series, and what runs say while they are under way. Inside the connection's transaction."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Connection, delete, insert, select

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.store.archive import ENDED, Annotation, Progress
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import insert_missing

_SILENT = 24 * 3600 * 1_000_000  # microseconds after which a run that said nothing more is forgotten
_LONGEST = 10_000  # characters of a note


def list_annotations(connection: Connection, series: str | None) -> list[Annotation]:
    """What was written beside a series, or beside all; every annotation for None. In order of what they are about."""
    table = tables.series_notes
    query = select(table).order_by(table.c.at, table.c.id)
    if series is not None:
        query = query.where(table.c.series.in_(["", plain(series)]))
    return [
        Annotation(
            id=row.id,
            series=row.series,
            at=row.at,
            text=row.text,
            who=row.who,
            made_at=row.made_at,
            kind=row.kind,
        )
        for row in connection.execute(query)
    ]


def annotate(connection: Connection, annotation: Annotation) -> Annotation:
    """Keeps an annotation under a number of its own, with the moment it was made unless it says one."""
    if not annotation.text.strip() or len(annotation.text) > _LONGEST:
        raise OptionError(f"an annotation has 1 to {_LONGEST:,} characters", remedy="write a few words")
    made_at = annotation.made_at or datetime.now(UTC).isoformat(timespec="seconds")
    row = {
        "series": plain(annotation.series),
        "at": annotation.at,
        "text": plain(annotation.text),
        "who": plain(annotation.who),
        "made_at": plain(made_at),
        "kind": plain(annotation.kind),
    }
    number = connection.execute(insert(tables.series_notes).returning(tables.series_notes.c.id), row).scalar_one()
    return replace(annotation, id=number, made_at=made_at)


def drop_annotation(connection: Connection, number: int) -> bool:
    """Deletes an annotation; False when there was none of that number."""
    return connection.execute(delete(tables.series_notes).where(tables.series_notes.c.id == number)).rowcount > 0


# ---- runs under way ----


def tell_progress(connection: Connection, progress: Progress) -> None:
    """Replaces the progress that the run told before; the phase "ended" removes it."""
    table, now = tables.progress, time.time_ns() // 1000
    run = plain(progress.run)
    gone = (table.c.run == run) | (table.c.at < now - _SILENT)
    connection.execute(delete(table).where(gone))
    if progress.phase != ENDED:
        row = {"run": run, "at": now, "document": json.dumps(schema.encode(progress))}
        connection.execute(insert_missing(connection.dialect, table), row)  # who was faster just now knows as much


def progress(connection: Connection, *, since: int = 0) -> list[Progress]:
    """What runs do that spoke since an instant, the newest first."""
    table = tables.progress
    rows = connection.execute(select(table).where(table.c.at >= since).order_by(table.c.at.desc(), table.c.run))
    return [
        replace(schema.decode(Progress, json.loads(row.document), where=f"progress of {row.run}"), spoke_at=row.at)
        for row in rows
    ]
