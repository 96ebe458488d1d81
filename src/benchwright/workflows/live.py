"""Tells a store what a run does now, for those who watch. Never disturbs what is measured, never fails a run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, Self, cast

from benchwright.events import Began, Ended, Event, Listener, Noted, Planned, Reached, nobody
from benchwright.execution.saver import ResultSink, add_all
from benchwright.records import Result, Run, Status
from benchwright.store.live import ENDED, REPEAT_AFTER, Progress
from benchwright.store.sqlite_file import SqliteProgress, database_file

PAUSE = 0.5  # seconds between two reports of progress
_RETRY_AFTER = 30.0  # seconds until the next report after one that could not be sent
_LAST_WAIT = 2.0  # seconds that the last report may take: it is the only one that anybody waits for


class ProgressSink(Protocol):
    """Who takes reports of progress: a database, a server."""

    def tell_progress(self, progress: Progress) -> None:
        """Replaces the last report of that run; the phase "ended" removes it."""
        ...


class LiveProgress:
    """A listener that passes events on and reports them to the store at `url`, in a thread of its own.

    An SQLite file gets reports directly, as soon as there is one; any other store once `follow_store` opened it.
    """

    def __init__(self, url: str, listener: Listener = nobody) -> None:
        self._listener = listener
        self._sqlite = SqliteProgress(database_file(url)) if "://" not in url or url.startswith("sqlite") else None
        self._publisher = Publisher(self._sqlite)
        self._stores: list[ResultSink] = []  # that are open and can be told
        self._total = 0
        self._now: dict[str, Progress] = {}
        self._present = ""  # the run that is being measured

    def __call__(self, event: Event) -> None:
        self._listener(event)
        if self._publisher.note:
            note, self._publisher.note = self._publisher.note, ""
            self._listener(Noted(text=note))
        match event:
            case Planned(total=total):
                self._total = total
            case Began(run=Run() as run):
                self._begin(event, run)
            case Reached(phase=phase):
                self._say(phase=phase)
            case Ended(result=result):
                self._end(result)

    def follow_store(self, open_store: Callable[[], ResultSink]) -> Callable[[], ResultSink]:
        """Opens the same store, and reports to it; when it is closed, the runs that were kept in it have ended."""

        def open_and_watch() -> ResultSink:
            store = open_store()
            if self._sqlite is None and hasattr(store, "tell_progress"):
                self._stores.append(store)
                self._choose()
            return _WatchedStore(store, self)

        return open_and_watch

    def close(self, store: ResultSink) -> None:
        """Reports nothing more to a store that was opened through `follow_store`."""
        if store in self._stores:
            self._stores.remove(store)
            self._choose()

    def finish(self, *runs: str) -> None:
        """Reports that these runs have ended; without any name, all of them."""
        for run in runs or tuple(self._now):
            if progress := self._now.pop(run, None):
                self._publisher.publish_last(replace(progress, phase=ENDED))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.finish()

    def _choose(self) -> None:
        self._publisher.sink = cast(ProgressSink, self._stores[-1]) if self._stores else None

    def _begin(self, event: Began, run: Run) -> None:
        self._present = run.id
        before = self._now.get(run.id) or Progress(
            run=run.id, started_at=run.started_at, planned=run.planned, done=0, host=_host()
        )
        self._now[run.id] = before
        params = {name: str(value) for name, value in event.case.params.items()}
        self._say(case=event.case.name, params=params, round=event.round, done=event.done, phase="starting")

    def _end(self, result: Result) -> None:
        if progress := self._now.get(self._present):
            bad = result.status is not Status.OK
            self._say(done=progress.done + 1, failed=progress.failed + bad, phase="kept")

    def _say(self, **changes: Any) -> None:
        if (progress := self._now.get(self._present)) is None:
            return
        progress = self._now[self._present] = replace(progress, **changes)
        # Who measures runs in turns announces the sum.
        planned = progress.planned or -(-self._total // len(self._now))
        self._publisher.publish(replace(progress, planned=max(planned, progress.done)))


def _host() -> str:
    """This machine's name, without importing what looks it up elsewhere."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


class _WatchedStore:
    """A store that runs are kept in, which notes when they have ended."""

    def __init__(self, store: ResultSink, teller: LiveProgress) -> None:
        self._store, self._teller = store, teller
        self._runs: set[str] = set()

    def begin(self, run: Run) -> None:
        self._runs.add(run.id)
        self._store.begin(run)

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        self._runs.add(run_id)
        self._store.add(run_id, result, instead_of=instead_of)

    def add_all(self, run_id: str, results: Sequence[Result]) -> None:
        self._runs.add(run_id)
        add_all(self._store, run_id, results)

    def close(self) -> None:
        try:
            for run in self._runs:
                self._teller.finish(run)
            self._teller.close(self._store)
        finally:
            self._store.close()


class Publisher:
    """Sends the newest report of each run in a thread, which lives as long as there is something to send."""

    def __init__(self, sink: ProgressSink | None) -> None:
        self.sink = sink
        self.note = ""  # why nothing can be sent: once
        self._noted = False
        self._changed = threading.Condition()
        self._pending: dict[str, Progress] = {}  # not yet sent
        self._alive: dict[str, Progress] = {}  # sent last
        self._thread: threading.Thread | None = None

    def publish(self, progress: Progress) -> None:
        """Sends a report soon, unless a newer one of the same run comes first. Returns at once."""
        with self._changed:
            self._pending[progress.run] = progress
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._publish_all, name="benchwright-live", daemon=True)
                self._thread.start()

    def publish_last(self, progress: Progress) -> None:
        """Sends a report now, and waits for that a moment."""
        self.publish(progress)
        with self._changed:
            self._changed.wait_for(lambda: self._is_done_with(progress.run), _LAST_WAIT)

    def _is_done_with(self, run: str) -> bool:
        others = self._alive.keys() - {run}
        return self._thread is None or bool(others and run not in self._alive and run not in self._pending)

    def _publish_all(self) -> None:
        while pending := self._next():
            refused = sum(not self._tell(progress) for progress in pending)
            with self._changed:
                for progress in pending:
                    if progress.phase == ENDED:
                        self._alive.pop(progress.run, None)
                self._changed.notify_all()
                self._changed.wait_for(self._is_urgent, _RETRY_AFTER if refused else PAUSE)

    def _next(self) -> list[Progress]:
        """The reports to send now; none when no run is left."""
        with self._changed:
            if self._alive:
                self._changed.wait_for(lambda: self._pending, REPEAT_AFTER)
            pending, self._pending = self._pending, {}
            self._alive.update(pending)
            if not self._alive:
                if isinstance(self.sink, SqliteProgress):
                    self.sink.close()  # here: a connection belongs to its thread
                self._thread = None
                self._changed.notify_all()
            return [*(pending or self._alive).values()]

    def _is_urgent(self) -> bool:
        return not self._alive or any(progress.phase == ENDED for progress in self._pending.values())

    def _tell(self, progress: Progress) -> bool:
        if self.sink is None:
            return True
        try:
            self.sink.tell_progress(progress)
        except Exception as error:  # the border of this thread: nobody's run may end because of it
            if not self._noted:
                self._noted, self.note = True, f"the progress of this run is not shown live: {error}"
            return False
        return True
