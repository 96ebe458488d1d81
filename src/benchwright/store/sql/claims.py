"""Claims: who is about to do something elsewhere that must be done once, however many servers a database has.

A claim that nobody gives back ends by itself: who made it may have been killed. Inside the connection's transaction.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite

from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain

_table = tables.claims


def claim(connection: Connection, what: str, holder: str, *, seconds: float) -> bool:
    """Claims something for so many seconds; False while another holds it."""
    now = time.time_ns() // 1000
    connection.execute(delete(_table).where(_table.c.what == plain(what), _table.c.until <= now))
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = {"what": plain(what), "holder": plain(holder), "until": now + round(seconds * 1_000_000)}
    added = insert(_table).values(row).on_conflict_do_nothing().returning(_table.c.what)  # drivers do not count alike
    return connection.execute(added).first() is not None


def give_back(connection: Connection, what: str, holder: str) -> None:
    """Ends a claim, unless it ended by itself and another holds it by now."""
    connection.execute(delete(_table).where(_table.c.what == plain(what), _table.c.holder == plain(holder)))
