"""A database that holds a store's tables: opened and made ready, read and written. What it means stands elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from benchwright.errors import StoreError, StoreLostError
from benchwright.store.sql import engine as engines
from benchwright.store.sql import faults
from benchwright.store.sql.presence import Presence
from benchwright.store.sql.run_writer import TIMEOUT
from benchwright.store.sql.upgrade import prepare
from benchwright.store.sqlite_file import database_file

P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """The tables at `sqlite:///path` or `postgresql://...`. Opening makes what is missing: folder, file, tables; with
    `create` false, a missing file is an error.

    What was written is on the disk when it is committed. Several processes may write at once. One object serves several
    threads, but not a forked child.
    """

    def __init__(self, url: str, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._file = database_file(url) if url.startswith("sqlite") else None
        self._engine = engines.connect(url, timeout=timeout)
        self._place = str(self._file or self._engine.url.render_as_string(hide_password=True))
        self._reader = engines.reading(self._engine)
        self._one_writer = threading.Lock()
        self._take_turn: Callable[[], AbstractContextManager[None]] = nullcontext
        self._held = threading.local()
        if self._file and not self._file.exists():
            self._make_folder(self._file, create)
        self._presence: Presence | None = None
        self._has_written = False
        try:
            with explain_errors(self._place, self._file):
                prepare(self._engine, self._place)
        except BaseException:
            self.close()
            raise
        if self._file is not None:
            self._presence = Presence(self._file)

    def take_turns(self, turn: Callable[[], AbstractContextManager[None]]) -> None:
        """Has writers to a file wait for each other in `turn`, which other processes hold too; a server has its own."""
        if self._file is not None:
            self._take_turn = turn

    @property
    def place(self) -> str:
        """Where it is, as its errors name it: a file, or an address without the password."""
        return self._place

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process does the work: a database server does, a file is written by this process."""
        return self._file is None

    def confirm(self, *, is_last: bool = False) -> None:
        """Raises a `StoreLostError` when the file that this object wrote to is no longer the one in place."""
        if self._presence is not None and self._has_written:
            self._presence.confirm(is_last=is_last)

    def close(self) -> None:
        """Ends the connection; a `StoreLostError` when what was written is no longer in place."""
        try:
            self.confirm(is_last=True)
        finally:
            self._has_written = False  # told once
            self._engine.dispose()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What this thread reads within, it reads over one connection: many questions for the price of one hello."""
        if getattr(self._held, "connection", None) is not None:
            yield
            return
        with self._reading() as connection:
            self._held.connection = connection
            try:
                yield
            finally:
                self._held.connection = None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        held: Connection | None = getattr(self._held, "connection", None)
        with explain_errors(self._place, self._file):
            if held is not None:
                yield held
                return
            with self._reader.connect() as connection:
                yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._one_writer:
            try:
                with (
                    self._take_turn(),
                    explain_errors(self._place, self._file),
                    self._engine.connect() as connection,
                    engines.writing(connection).begin(),
                ):
                    yield connection
                self._has_written = True
                self.confirm()
            except BaseException as error:
                self._has_written = self._has_written and not isinstance(error, StoreLostError)
                self._after_rollback()
                raise

    def _after_rollback(self) -> None:
        """Forgets what was learnt in a transaction that is undone now."""

    def _make_folder(self, file: Path, create: bool) -> None:
        if not create:
            raise StoreError(f"{file}: no such store", remedy="benchwright run makes one; --store names another")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{file.parent}: cannot make the folder: {error.strerror}", remedy="choose another place with --store"
            ) from None


def reads(function: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Database, P], T]:
    """Makes a method of a database from a function that reads rows over the connection it is given."""

    @wraps(function)
    def method(database: Database, /, *arguments: P.args, **named: P.kwargs) -> T:
        with database._reading() as connection:
            return function(connection, *arguments, **named)

    return method


def writes(function: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Database, P], T]:
    """Makes a method of a database from a function that changes rows: each call is one transaction."""

    @wraps(function)
    def method(database: Database, /, *arguments: P.args, **named: P.kwargs) -> T:
        with database._writing() as connection:
            return function(connection, *arguments, **named)

    return method


@contextmanager
def explain_errors(place: str, file: Path | None) -> Iterator[None]:
    """Turns errors of the database at `place` (its `file`, if it is one) into a `StoreError`."""
    try:
        with faults.explain_sqlite_errors(place, file):  # raised while a connection is set up, before SQLAlchemy has it
            yield
    except IntegrityError as error:
        raise faults.taken_id_error(place) from error
    except SQLAlchemyError as error:
        raise (faults.server_error(place, error) if file is None else faults.sqlite_fault(file, error)) from error
