"""Names that a store holds, runs, tags and cases, read from an SQLite file without opening the store.

A shell that completes a command line asks for them: that must take milliseconds, so a store that only a driver or a
server reaches is not asked. Standard library only.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright import config

_PATIENCE = 0.2  # seconds to wait for a writer


def run_names(store: str, beginning: str, limit: int) -> Iterator[tuple[str, str]]:
    """Yields runs whose ids begin so, the newest first, each with its instant and tags."""
    rows = _ask(
        store,
        "SELECT run, at, (SELECT group_concat(tag, ', ') FROM run_tags WHERE run_id = runs.id) FROM runs"
        " WHERE substr(run, 1, length(?)) = ? ORDER BY at DESC LIMIT ?",
        beginning,
        limit,
    )
    for run, at, tags in rows:
        instant = datetime.fromtimestamp(int(at) / 1e6, UTC).strftime("%Y-%m-%d %H:%M")
        yield str(run), f"{instant} [{tags}]" if tags else instant


def tag_names(store: str, beginning: str, limit: int) -> list[str]:
    """The tags of runs that begin so, in order."""
    text = "SELECT DISTINCT tag FROM run_tags WHERE substr(tag, 1, length(?)) = ? ORDER BY tag LIMIT ?"
    return [str(tag) for (tag,) in _ask(store, text, beginning, limit)]


def case_names(store: str, beginning: str, limit: int) -> list[str]:
    """The names of cases that begin so, in order."""
    text = "SELECT DISTINCT case_name FROM series WHERE substr(case_name, 1, length(?)) = ? ORDER BY 1 LIMIT ?"
    return [str(name) for (name,) in _ask(store, text, beginning, limit)]


def _ask(store: str, text: str, beginning: str, limit: int) -> list[tuple[Any, ...]]:
    """The rows of a question about names that begin so; none where there is no such file, or where it is no store."""
    file = _store_file(store)
    if file is None or not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as connection:
            return connection.execute(text, (beginning, beginning, limit)).fetchall()
    except sqlite3.Error:
        return []


def _store_file(stated: str) -> Path | None:
    """The file of the store that a command here would use; None where it is not a file."""
    url = stated or os.environ.get("BENCHWRIGHT_STORE") or _store_of_settings() or config.DEFAULT_STORE
    scheme, separator, path = url.partition("://")
    if separator and not scheme.startswith("sqlite"):
        return None
    return Path(path.removeprefix("/") if separator else url).expanduser().absolute()


def _store_of_settings() -> str:
    """`store` of the nearest `benchwright.toml`; the rest of it is not looked at, as that takes longer."""
    path = config.nearest_file()
    if path is None:
        return ""
    import tomllib

    with path.open("rb") as file:
        store = tomllib.load(file).get("store", "")
    if not isinstance(store, str) or not store:
        return ""
    return store if "://" in store else str(path.parent / store)
