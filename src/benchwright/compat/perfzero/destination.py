"""The store, with PerfZero's files written first: they must exist however the store fares."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from benchwright import config
from benchwright.compat.perfzero.console import log
from benchwright.errors import StoreError, StoreLostError
from benchwright.execution.saver import ResultSink
from benchwright.records import Result, Run
from benchwright.store import open_store
from benchwright.system.masking import mask_url


def store_place(store: str | None, project: Path) -> str:
    """The store that is named, else that of the project, wherever the command is called from."""
    if store or os.environ.get("BENCHWRIGHT_STORE"):
        return config.store_url(store)
    return config.load(project).store or str(project.absolute() / config.DEFAULT_STORE)


class SummaryDestination:
    """Finishes each result, then keeps it. A store that was not asked for by name is no reason not to run."""

    def __init__(self, store: str | None, project: Path, finish: Callable[[Result], Result]) -> None:
        self.run_id = ""
        self.place = store_place(store, project)
        self._wanted, self._finish = bool(store), finish
        self._store: ResultSink | None = None
        self._failure: StoreError | None = None
        try:
            self._store = open_store(self.place)
        except StoreError as error:
            self._give_up(error)

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        if self._store is not None:
            self.run_id = run.id
            try:
                self._store.begin(run)
            except StoreError as error:
                self._give_up(error)

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Writes the method's files, then keeps the result. Never raises: the next method needs its files too."""
        whole = self._finish(result)
        if self._store is not None:
            try:
                self._store.add(run_id, whole, instead_of=instead_of)
            except StoreError as error:
                self._failure = self._failure or error
                log.error("a result is not kept in the store: %s", error)

    def close(self) -> None:
        """Ends the connection. A `StoreLostError` when the store failed on the way: whoever saves rescues all then."""
        try:
            if self._store is not None:
                self._store.close()
        except StoreError as error:
            self._failure = self._failure or error
        if self._failure is not None:
            raise StoreLostError(self._failure.message, remedy=self._failure.remedy)

    @property
    def has_failed(self) -> bool:
        """Whether a store that was asked for by name has lost something."""
        return self._wanted and self._failure is not None

    @property
    def repeat_command(self) -> str:
        """The command that sends this run again; "" when no store has it."""
        if self._store is None or not self.run_id:
            return ""
        return shlex.join(["benchwright", "upload", self.run_id, "--store", mask_url(self.place)])

    def _give_up(self, error: StoreError) -> None:
        """Goes on without a store, unless it was asked for by name: nothing has run yet, so that ends the run here."""
        if self._wanted:
            raise error
        self._store = None
        log.warning("results are not kept in the store: %s", error.message)
