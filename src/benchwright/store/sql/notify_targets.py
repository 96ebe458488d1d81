"""Targets of messages that people keep at a server, beside those of a file. Inside the connection's transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from benchwright.errors import StoreError
from benchwright.store.archive import NotifyTarget
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain

MOST = 200  # targets: each of them is told of each finding


def notify_targets(connection: Connection) -> list[NotifyTarget]:
    """Every target, the oldest first."""
    return [
        _target(row) for row in connection.execute(select(tables.notify_targets).order_by(tables.notify_targets.c.id))
    ]


def put_notify_target(connection: Connection, target: NotifyTarget) -> NotifyTarget:
    """Keeps a target under a number of its own (`id` 0), or in the place of the one of its number."""
    table = tables.notify_targets
    known = notify_targets(connection)
    if any(one.address == plain(target.address) and one.id != target.id for one in known):
        raise StoreError("there is a target of this address already", remedy="change that one, or remove it")
    if target.id:
        changed = connection.execute(update(table).where(table.c.id == target.id).values(**_row(target))).rowcount
        if not changed:
            raise StoreError(f"no target {target.id}", remedy="somebody may have removed it")
        return target
    if len(known) >= MOST:
        raise StoreError(f"there are {MOST} targets already", remedy="remove one that nobody needs")
    number = connection.execute(insert(table).returning(table.c.id), _row(target)).scalar_one()
    return replace(target, id=number)


def drop_notify_target(connection: Connection, number: int) -> NotifyTarget | None:
    """Removes a target and returns it; None when there was none of that number."""
    table = tables.notify_targets
    row = connection.execute(select(table).where(table.c.id == number)).one_or_none()
    connection.execute(delete(table).where(table.c.id == number))
    return None if row is None else _target(row)


def _row(target: NotifyTarget) -> dict[str, Any]:
    return {
        "address": plain(target.address),
        "verdicts": " ".join(target.verdicts),
        "cases": plain(target.cases),
        "smallest": target.smallest,
        "who": plain(target.who),
        "made_at": plain(target.made_at),
    }


def _target(row: Any) -> NotifyTarget:
    return NotifyTarget(
        id=row.id,
        address=row.address,
        verdicts=tuple(row.verdicts.split()),
        cases=row.cases,
        smallest=row.smallest,
        who=row.who,
        made_at=row.made_at,
    )
