"""Saves results one by one, so that none is lost: to the store, or to a rescue file when the store fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Result, Run


class Keeper(Protocol):
    """What a run is saved in; every store is one."""

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        ...

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result, durably; the result of the id `instead_of` goes in the same breath."""
        ...

    def close(self) -> None:
        """Ends the connection."""
        ...


class Saver:
    """Opens the store when it must: before anything is measured, unless a glance shows that it will do.

    Opening costs a third of a second, which the first measurement need not wait for when the store looks ready. A run
    that is `resumed` is in the store already.
    """

    def __init__(
        self, open_store: Callable[[], Keeper] | None, looks_ready: Callable[[], bool], *, resumed: bool = False
    ) -> None:
        self._open_store, self._looks_ready, self._resumed = open_store, looks_ready, resumed
        self._store: Keeper | None = None
        self._failure: StoreError | None = None
        self._unsaved: list[Result] = []
        self._rescue: Path | None = None

    def check(self, run: Run) -> None:
        """Raises a `StoreError` for a store that cannot be used, before anything is measured."""
        if self._open_store is not None and self._store is None and not self._looks_ready():
            self._open(run)

    def save(self, run: Run, result: Result, *, instead_of: str = "") -> None:
        """Keeps the result; the first failure of the store turns to the rescue file for good."""
        if self._open_store is None:
            return
        if self._failure is None:
            try:
                self._open(run).add(run.id, result, instead_of=instead_of)
                return
            except StoreError as failure:
                self._failure = failure
        self._unsaved.append(result)
        self._write_rescue(run)

    def close(self) -> None:
        """Ends the connection to the store."""
        if self._store is not None:
            self._store.close()

    def report(self, run: Run) -> None:
        """Raises the store's failure, if there was one, with the place of what was rescued and the whole run."""
        if self._failure is not None:
            failure = StoreError(
                f"{self._failure.message}; {len(self._unsaved)} results were kept in {self._rescue}",
                remedy=f"mend the store, then: benchwright import {self._rescue}",
            )
            failure.measured = run
            raise failure

    def _open(self, run: Run) -> Keeper:
        if self._store is None:
            assert self._open_store is not None
            self._store = self._open_store()
            if not self._resumed:
                self._store.begin(run)
        return self._store

    def _write_rescue(self, run: Run) -> None:
        import tempfile

        self._rescue = Path(tempfile.gettempdir()) / f"benchwright-{run.id}.jsonl"
        # An id of its own: the store may hold the beginning of this run, and import adds whole runs only.
        rescued = replace(run, id=f"{run.id}-rescued", results=tuple(self._unsaved), planned=len(self._unsaved))
        try:
            self._rescue.write_text(schema.dumps(rescued) + "\n", encoding="utf-8")
        except OSError as error:
            assert self._failure is not None
            raise StoreError(
                f"{self._failure.message}; {self._rescue} cannot be written either: {error.strerror}",
                remedy="free space, or choose other places with --store and TMPDIR",
            ) from None
