"""Who changed what, and who was refused: the newest lines are kept. Inside the connection's transaction."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, insert, select

from benchwright.store.archive import AuditEntry
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain

MOST = 100_000  # lines
_LONGEST = 500  # characters of a word: who asks must not be able to fill the disk


def add(connection: Connection, *, who: str, address: str, action: str, what: str) -> None:
    """Adds a line; the oldest go when there are too many."""
    table = tables.audit
    words = {"who": who, "address": address, "action": action, "what": what}
    row = {"at": time.time_ns() // 1000, **{name: plain(word)[:_LONGEST] for name, word in words.items()}}
    number = connection.execute(insert(table).returning(table.c.id), row).scalar_one()
    connection.execute(delete(table).where(table.c.id <= number - MOST))


def newest(connection: Connection, *, limit: int, before: int) -> list[AuditEntry]:
    """The newest lines first; those before the line of a number, when one is given."""
    table = tables.audit
    query = select(table).order_by(table.c.id.desc()).limit(limit)
    if before:
        query = query.where(table.c.id < before)
    return [
        AuditEntry(id=row.id, at=row.at, who=row.who, address=row.address, action=row.action, what=row.what)
        for row in connection.execute(query)
    ]
