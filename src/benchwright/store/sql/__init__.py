"""Runs in an SQL database: a file of SQLite's by default, PostgreSQL by another URL.

`SqlStore` loads on first use, and SQLAlchemy with it: a run that is only kept needs neither (`run_writer`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchwright.store.sql.store import SqlStore as SqlStore


def __getattr__(name: str) -> Any:
    if name != "SqlStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from benchwright.store.sql.store import SqlStore

    return SqlStore
