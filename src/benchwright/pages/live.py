"""The runs that are being measured now, with their results so far."""

from __future__ import annotations

import time

from benchwright.errors import StoreError
from benchwright.pages.lines import milliseconds
from benchwright.pages.run_tables import case_lines
from benchwright.pages.shapes import CaseLine, Live, LiveRun
from benchwright.store.archive import Archive, Progress
from benchwright.store.live import STALE_AFTER

MOST = 50  # cases of a run: those with the newest results
_SHARE = 0.05  # of the time at most, for reading the results of a run


class LiveView:
    """Reads the live runs of one store again and again. Used by one thread at a time.

    The results of a run are read when it has new ones, and of a run with thousands of them less often.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._read: dict[str, _ReadResults] = {}

    def look(self) -> Live:
        """The runs that are under way, the latest first; those that were silent for too long were killed."""
        since = time.time_ns() // 1000 - round(STALE_AFTER * 1e6)
        spoke = sorted(self._archive.progress(since=since), key=lambda one: (one.started_at, one.run), reverse=True)
        self._read = {one.run: self._read.get(one.run) or _ReadResults() for one in spoke}
        return Live(runs=[self._run(one) for one in spoke], newest=self._archive.newest())

    def _run(self, progress: Progress) -> LiveRun:
        read = self._read[progress.run]
        read.renew(self._archive, progress)
        return LiveRun(
            run=progress.run,
            started_at=milliseconds(progress.started_at),
            spoke_at=progress.spoke_at // 1000,
            planned=progress.planned,
            done=progress.done,
            failed=progress.failed,
            case=progress.case,
            params=progress.params,
            round=progress.round,
            phase=progress.phase,
            host=progress.host,
            results=read.lines,
        )


class _ReadResults:
    """The results of a live run as they were last read."""

    def __init__(self) -> None:
        self.lines: list[CaseLine] = []
        self._done = -1
        self._due = 0.0

    def renew(self, archive: Archive, progress: Progress) -> None:
        begin = time.monotonic()
        if progress.done == self._done or begin < self._due:
            return
        try:
            run = archive.run(progress.run, samples=False)
        except StoreError:
            return  # its first result is still to come
        order = {result.id: number for number, result in enumerate(run.results)}
        self.lines = sorted(case_lines(run), key=lambda line: max(order[name] for name in line.results))[-MOST:]
        self._done = progress.done
        now = time.monotonic()
        self._due = now + (now - begin) / _SHARE
