"""Who is signed in with a browser. Inside the connection's transaction.

What the browser holds is 256 random bits. Only its SHA-256 is kept, as of tokens: whoever reads the database cannot
pose as anybody.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from benchwright.store.archive import PersonSession
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain

PREFIX = "bws_"  # so that programs that look for leaked secrets know one when they see it
MOST_EACH = 20  # sessions of one person: with one more, the one seen longest ago ends
NAMED_BY = 16  # letters of the hash by which people name a session: too few to find it, enough to tell it from others
_SECOND = 1_000_000
_STEP = 300 * _SECOND  # between two notes that a session was used


def add_session(
    connection: Connection, *, subject: str, who: str, groups: Sequence[str], idle: float, longest: float
) -> str:
    """Begins a session that ends `longest` seconds from now, and returns what the browser is to hold."""
    table, now = tables.sessions, _now()
    connection.execute(delete(table).where(_is_over(now, idle)))
    mine = select(table.c.hash).where(table.c.subject == plain(subject)).order_by(table.c.seen_at.desc())
    if dropped := connection.scalars(mine.offset(MOST_EACH - 1)).all():
        connection.execute(delete(table).where(table.c.hash.in_(dropped)))
    held = PREFIX + secrets.token_urlsafe(32)
    row = {
        "hash": _hash(held),
        "subject": plain(subject),
        "who": plain(who),
        "group_names": json.dumps([plain(group) for group in groups]),
        "made_at": now,
        "seen_at": now,
        "ends_at": now + int(longest * _SECOND),
    }
    connection.execute(insert(table), row)
    return held


def find_session(connection: Connection, held: str, *, idle: float) -> PersonSession | None:
    """Returns whose session a browser holds; None when it is unknown, over, or was not used for `idle` seconds."""
    table = tables.sessions
    row = connection.execute(select(table).where(table.c.hash == _hash(held), ~_is_over(_now(), idle))).one_or_none()
    return None if row is None else _session(row)


def is_visit_recorded(session: PersonSession) -> bool:
    """Whether it is on record that the session was used a moment ago."""
    return 0 <= _now() - session.seen_at < _STEP


def record_visit(connection: Connection, held: str) -> None:
    """Records that a session is used now."""
    table = tables.sessions
    connection.execute(update(table).where(table.c.hash == _hash(held)).values(seen_at=_now()))


def drop_session(connection: Connection, held: str) -> bool:
    """Ends the session that a browser holds; False when there was none."""
    return connection.execute(delete(tables.sessions).where(tables.sessions.c.hash == _hash(held))).rowcount > 0


def end_session(connection: Connection, name: str) -> bool:
    """Ends the session that `sessions` names so; False when there was none."""
    table = tables.sessions
    if len(name) != NAMED_BY:
        return False
    gone = delete(table).where(table.c.hash.startswith(name, autoescape=True))
    return connection.execute(gone).rowcount > 0


def sessions(connection: Connection, *, idle: float, limit: int = 1000) -> list[PersonSession]:
    """Every session that goes on, the one that was used last first."""
    table = tables.sessions
    query = select(table).where(~_is_over(_now(), idle)).order_by(table.c.seen_at.desc(), table.c.hash).limit(limit)
    return [_session(row) for row in connection.execute(query)]


def _is_over(now: int, idle: float) -> Any:
    table = tables.sessions
    return or_(table.c.ends_at <= now, table.c.seen_at <= now - int(idle * _SECOND))


def _session(row: Any) -> PersonSession:
    return PersonSession(
        name=row.hash[:NAMED_BY],
        subject=row.subject,
        who=row.who,
        groups=tuple(json.loads(row.group_names)),
        made_at=row.made_at,
        seen_at=row.seen_at,
        ends_at=row.ends_at,
    )


def _hash(held: str) -> str:
    return hashlib.sha256(held.encode("utf-8", "backslashreplace")).hexdigest()


def _now() -> int:
    return time.time_ns() // 1000
