"""Saves results one by one, so that none is lost: to the store, or to a rescue file when the store fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from benchwright import schema
from benchwright.errors import StoreError, StoreLostError
from benchwright.records import Result, Run
from benchwright.system.texts import describe_error


class ResultSink(Protocol):
    """What a run is saved in; every store is one."""

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        ...

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result, durably; the result of the id `instead_of` goes in the same breath."""
        ...

    def close(self) -> None:
        """Ends the connection; a `StoreLostError` when what was kept is no longer there."""
        ...


class Saver:
    """Opens the store when it must: before anything is measured, unless a glance shows that it will do.

    Opening one may cost a third of a second (SQLAlchemy, a server), which the first measurement need not wait for when
    the store looks ready. A run that is `resumed` is in the store already. A store that has lost what it held costs
    nothing either: all that was measured in this run is still here, and goes into the rescue file.
    """

    def __init__(
        self,
        open_store: Callable[[], ResultSink] | None,
        looks_ready: Callable[[], bool],
        *,
        resumed: Run | None = None,
    ) -> None:
        self._open_store, self._looks_ready, self._resumed = open_store, looks_ready, resumed
        self._store: ResultSink | None = None
        self._failure: StoreError | None = None
        self._saved: dict[str, Result] = {result.id: result for result in resumed.results} if resumed else {}
        self._unsaved: list[Result] = []
        self._rescue: Path | None = None
        self._run: Run | None = None

    def check(self, run: Run, *, early: bool = False) -> None:
        """Raises a `StoreError` for a store that cannot be used, before anything is measured.

        One that looks ready is opened with the first result, or with `early` at once.
        """
        if self._open_store is not None and self._store is None and (early or not self._looks_ready()):
            self._open(run)

    def save(self, run: Run, result: Result, *, instead_of: str = "") -> None:
        """Keeps the result; the first failure of the store turns to the rescue file for good."""
        self._save(run, [result], lambda store: store.add(run.id, result, instead_of=instead_of))
        self._saved.pop(instead_of, None)

    def save_all(self, run: Run, results: Sequence[Result]) -> None:
        """Keeps several results at once, in one transaction where the store can do that."""
        self._save(run, results, lambda store: add_all(store, run.id, results))

    def close(self) -> None:
        """Ends the connection to the store; what turns out to be lost then is rescued."""
        if self._store is None:
            return
        try:
            self._store.close()
        except StoreLostError as failure:
            if self._failure is None:
                self._fail(failure)

    def report(self, run: Run) -> None:
        """Raises the store's failure, if there was one, with the place of what was rescued and the whole run."""
        if self._failure is not None:
            count = len(self._unsaved)
            kept = "1 result was" if count == 1 else f"{count} results were"
            if not count:  # it broke before there was anything to keep
                raise self._failure
            failure = StoreError(
                f"{self._failure.message}; {kept} kept in {self._rescue}",
                remedy=f"repair the store, then: benchwright import {self._rescue}",
            )
            failure.measured = run
            raise failure

    def _save(self, run: Run, results: Sequence[Result], keep: Callable[[ResultSink], None]) -> None:
        if self._open_store is None or not results:
            return
        self._run = run
        if self._failure is None:
            try:
                keep(self._open(run))
                self._saved.update((result.id, result) for result in results)
                return
            except StoreError as failure:
                self._fail(failure, results)
                return
        self._unsaved += results
        self._write_rescue()

    def _fail(self, failure: StoreError, results: Sequence[Result] = ()) -> None:
        """Turns to the rescue file from now on; a store that has lost what it held is not counted on for anything."""
        self._failure = failure
        if isinstance(failure, StoreLostError):
            self._unsaved += self._saved.values()
        self._unsaved += results
        if self._unsaved:
            self._write_rescue()

    def _open(self, run: Run) -> ResultSink:
        if self._store is None:
            assert self._open_store is not None
            try:
                self._store = self._open_store()
            except (ImportError, MemoryError, SystemError, OSError) as error:  # no room for the libraries that it needs
                raise StoreError(f"the store cannot be opened: {describe_error(error, 400)}") from error
            if self._resumed is None:
                self._store.begin(run)
        return self._store

    def _write_rescue(self) -> None:
        import tempfile

        run = self._run
        assert run is not None
        self._rescue = Path(tempfile.gettempdir()) / f"benchwright-{run.id}.jsonl"
        # Ids of their own: the store may hold the beginning of this run, and import adds whole runs only.
        own = tuple(replace(result, id=f"{result.id}-rescued") for result in self._unsaved)
        rescued = replace(run, id=f"{run.id}-rescued", results=own, planned=len(own))
        try:
            self._rescue.write_text(schema.dumps(rescued) + "\n", encoding="utf-8")
        except OSError as error:
            assert self._failure is not None
            raise StoreError(
                f"{self._failure.message}; {self._rescue} cannot be written either: {error.strerror}",
                remedy="free space, or choose other places with --store and TMPDIR",
            ) from None


def add_all(store: ResultSink, run_id: str, results: Sequence[Result]) -> None:
    """Keeps several results of a run: in one transaction where the store can do that, else one by one."""
    if at_once := getattr(store, "add_all", None):
        at_once(run_id, results)
        return
    for result in results:
        store.add(run_id, result)
