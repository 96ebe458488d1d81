"""What a database complains about, as an error that says what to do next. Standard library only."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchwright.errors import StoreError, StoreFullError, StoreLostError

_BACKUP = "restore a backup, or choose another place with --store"
_FULL_BELOW = 1 << 20  # bytes free
_DISK_FULL = "53100"  # PostgreSQL's code
_MISSING = ("3F000", "42P01", "42703")  # of a schema, a table, a column


@contextmanager
def explain_sqlite_errors(place: str, file: Path | None) -> Iterator[None]:
    """Turns errors of the standard library's SQLite at `place` (its `file`, if it is one) into a `StoreError`."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise taken_id_error(place) from error
    except UnicodeDecodeError as error:  # names of tables, or what SQLite says of them
        raise StoreError(f"{place}: the database is damaged: a text in it cannot be decoded", remedy=_BACKUP) from error
    except sqlite3.Error as error:
        raise sqlite_fault(file or Path(place), error) from error


def taken_id_error(place: str) -> StoreError:
    """The error for an id that is given twice; the database would name its columns."""
    told = "the store holds another record with the same id"
    return StoreError(f"{place}: {told}", remedy="is the record in the store already? If not, give it an id of its own")


def sqlite_fault(file: Path, error: Exception) -> StoreError:
    """The error for what SQLite reported about `file`."""
    cause = _cause(error)
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the primary code
    if code == sqlite3.SQLITE_FULL or (code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_full(file)):
        return StoreFullError(
            f"{file}: the disk is full; what was saved before is safe",
            remedy="free space, or choose another place with --store",
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damage_error(file, code)
    message, remedy = _SIMPLE.get(code, (_first_line(error), ""))
    if code == sqlite3.SQLITE_ERROR and message.startswith("no such "):
        return _lost_tables_error(str(file), message)
    # A file that was cut, moved or removed under SQLite shows so as well: nobody knows what is left of it.
    is_moved = getattr(cause, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED
    kind = StoreLostError if code == sqlite3.SQLITE_IOERR or is_moved else StoreError
    return kind(f"{file}: {message}", remedy=remedy)


_SIMPLE = {
    sqlite3.SQLITE_READONLY: ("the store is read-only", "choose another place with --store, or make it writable"),
    sqlite3.SQLITE_CANTOPEN: (
        "the store cannot be opened",
        "SQLite must be able to write to the file and its folder; copy it elsewhere to read it there",
    ),
    sqlite3.SQLITE_PERM: ("access is not permitted", "choose another place with --store"),
    sqlite3.SQLITE_BUSY: (
        "another process holds the store and did not let go in time",
        "wait for it, or end it; is a backup or a debugger holding a transaction open?",
    ),
    sqlite3.SQLITE_LOCKED: ("another connection holds the store", "try again"),
    sqlite3.SQLITE_IOERR: (
        "the disk reports an error",
        "look at the system's log (dmesg) and copy the file while you can",
    ),
}


def _lost_tables_error(place: str, message: str) -> StoreError:
    """Tables were there when the store was opened; without one of them nobody knows what is left of the others."""
    return StoreLostError(
        f"{place}: the store has lost some of its tables ({message})",
        remedy=_BACKUP,
    )


def _damage_error(file: Path, code: int) -> StoreError:
    """Says what a check of the file finds. The check opens it read-only, so nothing in it changes."""
    if code == sqlite3.SQLITE_NOTADB:
        return StoreLostError(
            f"{file}: not a database",
            remedy="nothing was changed; give another file with --store, or restore this one from a backup",
        )
    return StoreLostError(
        f"{file}: the database is damaged: {_quick_check(file)}",
        remedy=f"nothing was changed; restore a backup, or save what is readable: "
        f"sqlite3 '{file}' .recover | sqlite3 recovered.db",
    )


def _quick_check(file: Path) -> str:
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            lines = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    except sqlite3.Error as error:
        return str(error)
    return "; ".join(" ".join(line.split()) for line in lines if line != "ok") or "a page could not be read"


def _is_full(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.parent).free < _FULL_BELOW
    except OSError:
        return False


def server_error(place: str, error: Exception) -> StoreError:
    """The error for what a database's server reported."""
    cause = _cause(error)
    if getattr(cause, "sqlstate", None) == _DISK_FULL:
        return StoreFullError(
            f"{place}: the database's disk is full; what was saved before is safe", remedy="free space there"
        )
    if getattr(cause, "sqlstate", None) in _MISSING:
        return _lost_tables_error(place, _first_line(error))
    return StoreError(f"{place}: {_first_line(error)}", remedy="is the server up, and are user and database right?")


def _first_line(error: Exception) -> str:
    cause = _cause(error)
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _cause(error: Exception) -> BaseException:
    """What the database's own library raised, which SQLAlchemy keeps as `orig`."""
    return getattr(error, "orig", None) or error
