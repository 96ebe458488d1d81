"""Views: pages of the dashboard that people keep under a name. Inside the connection's transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from benchwright.errors import OptionError, StoreError
from benchwright.store.archive import NamedView
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain

MOST = 1_000  # views
LONGEST_NAME = 100  # characters
LONGEST_ADDRESS = 4_000


def list_views(connection: Connection) -> list[NamedView]:
    """The views that people keep, by name."""
    table = tables.views
    rows = connection.execute(select(table).order_by(func.lower(table.c.name), table.c.id).limit(MOST))
    return [_view(row) for row in rows]


def keep(connection: Connection, view: NamedView) -> NamedView:
    """Keeps a view under a number of its own, with the moment it was made unless it says one."""
    _check_name(connection, view.name, besides=0)
    _check_address(view.address)
    if (connection.scalar(select(func.count()).select_from(tables.views)) or 0) >= MOST:
        raise OptionError(f"there are {MOST:,} views already", remedy="remove some that nobody opens")
    if view.is_home:
        _leave_home(connection)
    made_at = view.made_at or datetime.now(UTC).isoformat(timespec="seconds")
    kept = replace(view, name=plain(view.name.strip()), made_at=made_at)
    row = {
        "name": kept.name,
        "address": plain(view.address),
        "who": plain(view.who),
        "made_at": plain(made_at),
        "is_home": int(view.is_home),
    }
    number = connection.execute(insert(tables.views).returning(tables.views.c.id), row).scalar_one()
    return replace(kept, id=number)


def change(
    connection: Connection,
    number: int,
    *,
    name: str | None = None,
    address: str | None = None,
    is_home: bool | None = None,
) -> NamedView:
    """Changes what is not None of a view; being the home page ends for the one that was."""
    table = tables.views
    changes: dict[str, Any] = {}
    if name is not None:
        _check_name(connection, name, besides=number)
        changes["name"] = plain(name.strip())
    if address is not None:
        _check_address(address)
        changes["address"] = plain(address)
    if is_home is not None:
        changes["is_home"] = int(is_home)
    if is_home:
        _leave_home(connection)
    if changes:
        connection.execute(update(table).where(table.c.id == number).values(**changes))
    row = connection.execute(select(table).where(table.c.id == number)).one_or_none()
    if row is None:
        raise StoreError(f"no view {number} in this store", remedy="somebody may have removed it")
    return _view(row)


def drop(connection: Connection, number: int) -> bool:
    """Deletes a view; False when there was none of that number."""
    return connection.execute(delete(tables.views).where(tables.views.c.id == number)).rowcount > 0


def _leave_home(connection: Connection) -> None:
    connection.execute(update(tables.views).where(tables.views.c.is_home == 1).values(is_home=0))


def _check_name(connection: Connection, name: str, *, besides: int) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise OptionError(f"a view's name has 1 to {LONGEST_NAME} characters on one line", remedy="choose a short name")
    table = tables.views
    if connection.scalar(select(table.c.id).where(table.c.name == plain(name.strip()), table.c.id != besides)):
        raise OptionError(f"another view is called {name.strip()!r}", remedy="choose another name, or remove that view")


def _check_address(address: str) -> None:
    if not address.strip() or len(address) > LONGEST_ADDRESS or not address.isprintable():
        raise OptionError(
            f"a view's address has 1 to {LONGEST_ADDRESS:,} characters on one line",
            remedy="give what follows #/ in the browser, such as series?metric=latency_p50",
        )


def _view(row: Row[Any]) -> NamedView:
    return NamedView(
        id=row.id, name=row.name, address=row.address, who=row.who, made_at=row.made_at, is_home=bool(row.is_home)
    )
