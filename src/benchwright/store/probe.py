"""A look at a store that costs milliseconds, where opening it costs a third of a second. Standard library only."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from benchwright.errors import StoreError

VERSION_TABLE = "benchwright_schema"
VERSION = "0003"  # the newest migration; numbers of four digits, so that a later one compares as greater


def looks_ready(url: str) -> bool:
    """Whether the store is an SQLite file of this version that can be written, or could be made where it is named.

    False says nothing is wrong yet, only that it takes more than a glance: open the store to find out.
    """
    if "://" in url and not url.startswith("sqlite"):
        return False
    file = database_file(url)
    if not file.exists():
        return _can_be_made(file)
    try:
        with closing(sqlite3.connect(file, timeout=1.0, isolation_level=None)) as connection:
            (version,) = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608
            connection.execute("BEGIN IMMEDIATE")  # takes the write lock, so a file that cannot be written shows
            connection.execute("ROLLBACK")
    except (sqlite3.Error, TypeError):
        return False
    return bool(version == VERSION)


def database_file(url: str) -> Path:
    """The file of an SQLite URL, all that follows `sqlite:///`; or of a bare path."""
    path = url.partition("://")[2].removeprefix("/") if "://" in url else url
    if not path:
        raise StoreError(f"{url}: names no file", remedy="write sqlite:///path/to/results.db, or just the path")
    return Path(path).expanduser().absolute()


def _can_be_made(file: Path) -> bool:
    """Tries it: what the permissions say is not the whole truth for root, nor on a file system that is read only."""
    folder = next(parent for parent in file.parents if parent.exists())
    trial = folder / f".benchwright-{os.getpid()}"
    try:
        os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        trial.unlink()
    except OSError:
        return False
    return True
