"""Who may do what at a server, and who did what: tokens, kept as hashes, and the audit log.

Every function works inside the transaction of the connection it is given. A token is 256 random bits, so one SHA-256
without salt is enough: there is nothing to guess and nothing to look up.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from benchwright.errors import OptionError, StoreError, did_you_mean
from benchwright.store.archive import AGENT, SCOPES, AuditEntry, Token
from benchwright.store.sql import codec, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import find, insert_missing, parts

PREFIX = "bw_"  # so that people, and programs that look for leaked secrets, know one when they see it
MOST_LINES = 100_000  # of the audit log
_MOST_WORDS = 10
_LONGEST_NAME = 200  # characters
_LONGEST_WORD = 500  # characters in a line of the audit log: who asks must not be able to fill the disk


def add_token(connection: Connection, name: str, scope: str, *, expires_at: str = "") -> str:
    """Makes a token with one of `archive.SCOPES`, or for an agent; it is shown this once, and only its hash is kept."""
    if scope not in (*SCOPES, AGENT):
        raise OptionError(f"unknown scope {scope!r}", remedy=did_you_mean(scope, (*SCOPES, AGENT)))
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise OptionError(
            f"a token's name has 1 to {_LONGEST_NAME} printable characters", remedy="name it after its user"
        )
    if expires_at:
        codec.microseconds(expires_at, where=f"token {name}: expires_at")
    token = PREFIX + secrets.token_urlsafe(32)
    row = {
        "name": plain(name),
        "hash": _hash(token),
        "scope": scope,
        "made_at": _now(),
        "expires_at": expires_at,
        "used_at": "",
    }
    table = tables.tokens
    if connection.scalar(insert_missing(connection.dialect, table).returning(table.c.name), row) is None:
        raise StoreError(f"there is a token {name!r} already", remedy="revoke it first, or choose another name")
    return token


def is_token(connection: Connection, name: str) -> bool:
    """Whether there is a token of that name that has not expired."""
    table = tables.tokens
    found = connection.scalar(select(table.c.expires_at).where(table.c.name == plain(name)))
    return found is not None and (not found or _moment(found) > _moment(_now()))


def find_tokens(connection: Connection, tokens: Sequence[str]) -> dict[str, Token]:
    """What each token may do; those that are unknown, revoked or expired are left out."""
    hashes = {_hash(token): token for token in tokens}
    now, found = _moment(_now()), dict[str, Token]()
    for part in parts([*hashes]):
        for row in find(connection, tables.tokens, ("hash", *_TOKEN), part):  # asked for with every request
            known = Token(**dict(zip(_TOKEN, row[1:], strict=True)))
            if row[0] in hashes and (not known.expires_at or _moment(known.expires_at) > now):
                found[hashes[row[0]]] = known
    return found


_TOKEN = ("name", "scope", "made_at", "expires_at", "used_at")


def is_use_recorded(token: Token) -> bool:
    """Whether the token's last use is on record to the minute."""
    return token.used_at == _minute()


def record_use(connection: Connection, name: str) -> None:
    """Records that a token was used now."""
    table = tables.tokens
    connection.execute(update(table).where(table.c.name == plain(name)).values(used_at=_minute()))


def tokens(connection: Connection) -> list[Token]:
    """Every token, by name."""
    return sorted(map(_token, connection.execute(select(tables.tokens)).all()), key=lambda token: token.name)


def drop_token(connection: Connection, name: str) -> bool:
    """Revokes a token; False when there was none."""
    return connection.execute(delete(tables.tokens).where(tables.tokens.c.name == plain(name))).rowcount > 0


def _token(row: Any) -> Token:
    return Token(name=row.name, scope=row.scope, made_at=row.made_at, expires_at=row.expires_at, used_at=row.used_at)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "backslashreplace")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _minute() -> str:
    return datetime.now(UTC).replace(second=0).isoformat(timespec="seconds")


def _moment(instant: str) -> int:
    return codec.microseconds(instant, where="expires_at")


# ---- the audit log ----


def add_line(connection: Connection, *, who: str, address: str, action: str, what: str) -> None:
    """Adds a line to the audit log, which keeps the newest `MOST_LINES`."""
    table = tables.audit
    words = {"who": who, "address": address, "action": action, "what": what}
    row = {"at": time.time_ns() // 1000, **{name: plain(word)[:_LONGEST_WORD] for name, word in words.items()}}
    number = connection.execute(insert(table).returning(table.c.id), row).scalar_one()
    connection.execute(delete(table).where(table.c.id <= number - MOST_LINES))


def lines(
    connection: Connection, *, limit: int = 100, before: int = 0, who: str = "", action: str = "", words: str = ""
) -> list[AuditEntry]:
    """The newest lines of the audit log first; those before the line of a number, when one is given.

    `who` and `action` are parts of what a line says there; each of the `words` stands anywhere in it.
    """
    table = tables.audit
    query = select(table).order_by(table.c.id.desc()).limit(limit)
    if before:
        query = query.where(table.c.id < before)
    for column, part in ((table.c.who, who), (table.c.action, action)):
        if part:
            query = query.where(column.icontains(plain(part), autoescape=True))
    for word in words.split()[:_MOST_WORDS]:
        columns = (table.c.who, table.c.address, table.c.action, table.c.what)
        query = query.where(or_(*(column.icontains(plain(word), autoescape=True) for column in columns)))
    return [
        AuditEntry(id=row.id, at=row.at, who=row.who, address=row.address, action=row.action, what=row.what)
        for row in connection.execute(query)
    ]
