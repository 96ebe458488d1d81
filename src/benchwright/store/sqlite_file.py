"""An SQLite store's file, read and written without opening the store: that costs milliseconds, opening it a third of a
second. Standard library only.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import urllib.parse
from contextlib import closing
from pathlib import Path

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.store.live import ENDED, Progress

VERSION_TABLE = "benchwright_schema"
VERSION = "0015"  # the newest migration; numbers of four digits, so that a later one compares as greater
_PATIENCE = 0.2  # seconds to wait for a writer: what is told now is soon told again


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
    """Whether a file can be made there: tried, as permissions say little for root or on a read-only file system."""
    folder = next(parent for parent in file.parents if parent.exists())
    trial = folder / f".benchwright-{os.getpid()}"
    try:
        os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        trial.unlink()
    except OSError:
        return False
    return True


class SqliteProgress:
    """Tells the file what `Archive.tell_progress` would tell the store. Used by one thread.

    A file that is not there yet, is of another version or has a busy writer is told nothing.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None

    def tell_progress(self, progress: Progress) -> None:
        """Replaces the last word of that run; "ended" removes it. Other failures are an `sqlite3.Error`."""
        if self._connection is None and not self._open():
            return
        assert self._connection is not None
        try:
            if progress.phase == ENDED:
                self._connection.execute("DELETE FROM progress WHERE run = ?", (progress.run,))
                return
            row = (progress.run, time.time_ns() // 1000, json.dumps(schema.encode(progress)))
            self._connection.execute("INSERT OR REPLACE INTO progress (run, at, document) VALUES (?, ?, ?)", row)
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise

    def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> bool:
        if not self._file.exists():
            return False
        address = f"file:{urllib.parse.quote(str(self._file))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            if not _has_tables(connection):
                connection.close()
                return False
            # A word need not outlive a power cut, so nothing waits for the disk: neither it nor a checkpoint after it.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection
        return True


def _has_tables(connection: sqlite3.Connection) -> bool:
    """Whether the store is made, and by this version."""
    try:
        row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608
    except sqlite3.OperationalError:
        return False  # no such table yet, or somebody makes it just now
    return bool(row and row[0] == VERSION)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
