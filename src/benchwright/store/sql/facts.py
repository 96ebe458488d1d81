"""How much a database holds. Inside the connection's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from benchwright.store.sql import tables
from benchwright.store.sql.engine import size


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """What `benchwright store info` tells."""

    kind: str  # sqlite or postgresql
    place: str  # without secrets
    version: str  # of the tables
    server: str  # the database's own version
    counts: Mapping[str, int]  # rows of what people know by name
    bytes: int  # of the whole database
    sample_bytes: int  # of raw samples, compressed: what can age out


def info(connection: Connection, place: str) -> StoreInfo:
    """What kind of database this is, and how much it holds."""
    named = (
        tables.runs,
        tables.results,
        tables.series,
        tables.points,
        tables.environments,
        tables.findings,
        tables.mutes,
        tables.thresholds,
        tables.series_notes,
        tables.tokens,
    )
    data = tables.sample_columns.c.data
    return StoreInfo(
        kind=connection.dialect.name,
        place=place,
        version=tables.VERSION,
        server=".".join(map(str, connection.dialect.server_version_info or ())),
        counts={table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in named},
        bytes=size(connection),
        sample_bytes=int(connection.scalar(select(func.sum(func.length(data)))) or 0),
    )
