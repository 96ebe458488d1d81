"""Whether a store's SQLite file is still the one in place: a file that was removed goes on taking what is written.

SQLite holds the file open. One that somebody removed, replaced or cut meanwhile accepts every transaction all the same,
and everything in it is gone when the last process lets go of it. So whoever writes looks after each commit.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import urllib.parse
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchwright.errors import StoreLostError

_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # how a write-ahead log begins, in either order of bytes
_PAUSE = 10  # times as long as a check took, until the next
_CHECKED = 16 << 20  # bytes: a file up to this size is checked whole whenever it has changed
# Two files mixed can be sound as a database, and still no store.
_WITHOUT_DOCUMENT = "SELECT id FROM results EXCEPT SELECT result_id FROM documents LIMIT 1"
_REMEDY = "nothing more is written there; who removes or replaces a store must wait until nobody measures"


class _FileIdentity(NamedTuple):
    """The facts that tell one file from another, and whether it was changed."""

    device: int
    inode: int
    size: int
    changed: int  # ns


class Presence:
    """The file of a store as it was when it was opened, and its write-ahead log where it has one.

    The file itself is never opened here: closing it would drop the locks that SQLite holds on it in this process.
    Where commits follow each other closely, not every one is followed by a check of the whole file: that would take
    longer than they do. The last one is, when the store is closed.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._log = file, file.with_name(f"{file.name}-wal")
        self._lock = threading.Lock()
        self._seen, self._log_seen = _identify(file), _identify(self._log)
        self._is_unchecked = False  # the file has changed since it was checked
        self._next_check = 0.0  # time.monotonic

    def confirm(self, *, is_last: bool = False) -> None:
        """Raises a `StoreLostError` unless what was committed can be found where the store's path points."""
        with self._lock:
            before, now = self._seen, _identify(self._file)
            if now is None:
                raise self._loss_error("was removed")
            if before is not None and now[:2] != before[:2]:
                raise self._loss_error("was replaced by another file")
            if now.size == 0:
                raise self._loss_error("was cut to nothing")
            self._confirm_log()
            shrunk = before is not None and now.size < before.size
            self._is_unchecked |= now != before
            is_due = is_last or shrunk or time.monotonic() >= self._next_check
            if self._is_unchecked and (shrunk or now.size <= _CHECKED) and is_due:
                began = time.monotonic()
                if fault := _fault(self._file):
                    raise self._loss_error(f"was {'cut' if shrunk else 'changed'} by something else ({fault})")
                self._is_unchecked = False
                self._next_check = time.monotonic() + _PAUSE * (time.monotonic() - began)
            self._seen = now

    def _confirm_log(self) -> None:
        """The newest transactions are in the log alone. While anybody has the store open, SQLite never replaces it."""
        if self._log_seen is None:  # a file system on which SQLite keeps no such log
            return
        now = _identify(self._log)
        if now is None or now[:2] != self._log_seen[:2]:
            raise self._loss_error(f"has lost its write-ahead log ({self._log.name} was removed)")
        if now.size:
            with self._log.open("rb", buffering=0) as log:  # SQLite holds no lock on this one
                if log.read(4) not in _LOG_MAGIC:
                    raise self._loss_error(f"has lost its write-ahead log ({self._log.name} was cut)")

    def _loss_error(self, how: str) -> StoreLostError:
        return StoreLostError(f"{self._file}: the store {how} while it was in use", remedy=_REMEDY)


def _identify(file: Path) -> _FileIdentity | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - once for every result
    except OSError:
        return None
    return _FileIdentity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _fault(file: Path) -> str:
    """What a check by somebody who opens the file now finds wrong; "" when all is well or nobody can tell."""
    try:
        address = f"file:{urllib.parse.quote(str(file))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5.0)) as connection:
            (line,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if line == "ok" and connection.execute(_WITHOUT_DOCUMENT).fetchone():
                line = "results without their documents"
    except sqlite3.DatabaseError as error:
        busy = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        return "" if getattr(error, "sqlite_errorcode", 0) & 0xFF in busy else str(error)
    return "" if line == "ok" else " ".join(str(line).split())
