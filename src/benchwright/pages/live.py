"""What is being measured now, and what came of it so far."""

from __future__ import annotations

import time

from benchwright.errors import StoreError
from benchwright.pages.lines import milliseconds
from benchwright.pages.runs import case_lines
from benchwright.pages.shapes import CaseLine, Live, LiveRun
from benchwright.store.archive import Archive, Progress
from benchwright.store.live import STALE_AFTER

MOST = 50  # cases of a run: those with the newest results
_SHARE = 0.05  # of the time at most, for reading the results of a run


class Looking:
    """One look after another at the same store. Used by one thread at a time.

    The results of a run are read when it has new ones, and of a run with thousands of them less often.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._read: dict[str, _Read] = {}

    def look(self) -> Live:
        """The runs that are under way, the latest first; those that were silent for too long were killed."""
        since = time.time_ns() // 1000 - round(STALE_AFTER * 1e6)
        spoke = sorted(self._archive.progress(since=since), key=lambda one: (one.started_at, one.run), reverse=True)
        self._read = {one.run: self._read.get(one.run) or _Read() for one in spoke}
        return Live(runs=[self._run(one) for one in spoke], newest=self._archive.newest())

    def _run(self, told: Progress) -> LiveRun:
        read = self._read[told.run]
        read.renew(self._archive, told)
        return LiveRun(
            run=told.run,
            started_at=milliseconds(told.started_at),
            spoke_at=told.spoke_at // 1000,
            planned=told.planned,
            done=told.done,
            failed=told.failed,
            case=told.case,
            params=told.params,
            round=told.round,
            phase=told.phase,
            host=told.host,
            results=read.lines,
        )


class _Read:
    """What was read of a run's results."""

    def __init__(self) -> None:
        self.lines: list[CaseLine] = []
        self._done = -1
        self._due = 0.0

    def renew(self, archive: Archive, told: Progress) -> None:
        begin = time.monotonic()
        if told.done == self._done or begin < self._due:
            return
        try:
            run = archive.run(told.run, samples=False)
        except StoreError:
            return  # its first result is still to come
        order = {result.id: number for number, result in enumerate(run.results)}
        self.lines = sorted(case_lines(run), key=lambda line: max(order[name] for name in line.results))[-MOST:]
        self._done = told.done
        now = time.monotonic()
        self._due = now + (now - begin) / _SHARE
