"""The process tree through psutil, on systems without `/proc/PID/task/TID/children`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchwright.machine.monitors.tree import Totals, TreeUse

_TELLS_NOT = "psutil does not tell it on this system"


class PsutilTree:
    """Processes and their descendants; see `tree.Tree`."""

    def __init__(self, pids: Iterable[int]) -> None:
        import psutil

        self._psutil = psutil
        self._roots: list[Any] = []
        for pid in pids:
            try:
                self._roots.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue
        self._alive: dict[int, Any] = {}
        self._seen: dict[int, _ProcessReading] = {}  # the last look at each process, ended ones too
        self.refresh()

    def refresh(self) -> None:
        for root in self._roots:
            try:
                family = [root, *root.children(recursive=True)]
            except self._psutil.NoSuchProcess:
                continue
            for process in family:
                self._alive.setdefault(process.pid, process)

    def use(self) -> TreeUse:
        rss = threads = 0
        for process in list(self._alive.values()):
            if seen := self._look(process, dear=False):
                rss += seen.rss
                threads += seen.threads
        cpu = sum(seen.cpu for seen in self._seen.values())
        faults = sum(seen.faults or 0 for seen in self._seen.values())
        major = sum(seen.major or 0 for seen in self._seen.values())
        return TreeUse(rss, threads, cpu, faults, major)

    def totals(self) -> Totals:
        for process in list(self._alive.values()):
            self._look(process, dear=True)
        every = list(self._seen.values())
        totals = Totals(
            peak=max((seen.peak for seen in every if seen.peak is not None), default=None),
            voluntary=_sum(seen.voluntary for seen in every),
            involuntary=_sum(seen.involuntary for seen in every),
            read=_sum(seen.read for seen in every),
            written=_sum(seen.written for seen in every),
        )
        if totals.read is None:
            totals.reasons["io"] = _TELLS_NOT
        if totals.voluntary is None:
            totals.reasons["context_switches"] = _TELLS_NOT
        if _sum(seen.faults for seen in every) is None:
            totals.reasons["page_faults"] = _TELLS_NOT
        return totals

    def pids(self) -> list[int]:
        return list(self._alive)

    def close(self) -> None:
        self._alive.clear()

    def _look(self, process: Any, *, dear: bool) -> _ProcessReading | None:
        seen = self._seen.setdefault(process.pid, _ProcessReading())
        try:
            with process.oneshot():
                seen.now(process)
                if dear:
                    seen.counters(process, self._psutil)
        except self._psutil.NoSuchProcess:
            self._alive.pop(process.pid, None)
            return None
        except self._psutil.AccessDenied:
            return None
        return seen


class _ProcessReading:
    """The counters of one process at the last look. None: this system does not tell."""

    def __init__(self) -> None:
        self.rss = self.threads = 0
        self.cpu = 0.0
        self.faults: int | None = None
        self.major: int | None = None
        self.peak: int | None = None
        self.voluntary: int | None = None
        self.involuntary: int | None = None
        self.read: int | None = None
        self.written: int | None = None

    def now(self, process: Any) -> None:
        memory, times = process.memory_info(), process.cpu_times()
        # One that has ended and waits to be collected has no memory left.
        self.rss, self.threads = memory.rss, process.num_threads() if memory.rss else 0
        self.cpu = times.user + times.system
        self.peak = getattr(memory, "peak_wset", self.peak)  # Windows
        self.faults = getattr(memory, "pfaults", getattr(memory, "num_page_faults", None))  # macOS, Windows
        self.major = getattr(memory, "pageins", None)  # macOS

    def counters(self, process: Any, psutil: Any) -> None:
        switches = process.num_ctx_switches()
        self.voluntary, self.involuntary = switches.voluntary, switches.involuntary
        if not hasattr(process, "io_counters"):  # macOS
            return
        try:
            io = process.io_counters()
        except psutil.AccessDenied:
            return
        self.read, self.written = io.read_bytes, io.write_bytes


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
