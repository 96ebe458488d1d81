"""A run's last word in an SQLite store, in a millisecond and without opening it. Standard library only."""

from __future__ import annotations

import json
import sqlite3
import time
import urllib.parse
from pathlib import Path

from benchwright import schema
from benchwright.store.live import ENDED, Progress
from benchwright.store.probe import VERSION, VERSION_TABLE

_PATIENCE = 0.2  # seconds to wait for a writer: what is told now is soon told again


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
