"""The resident memory of a command and all it starts, without that of the process that listens to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchwright.machine.monitors.process import ProcessMonitor
from benchwright.records import Value

EVERY = 0.1  # seconds between two looks


class TreeMemory:
    """Looks at a tree of processes: at once, and then whenever it is asked to, but not too often."""

    def __init__(self) -> None:
        self._monitor: ProcessMonitor | None = None
        self._next = 0.0
        self._first = 0  # bytes

    def look(self, pid: int) -> None:
        """The first look at that process and its descendants, or one more."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        if self._monitor is None:
            self._first = _resident(pid)  # at once: a short command ends before its tree has been found
            self._monitor = ProcessMonitor()
            self._monitor.start([pid])
        else:
            self._monitor.sample()

    def stop(self) -> dict[str, Value]:
        """Mean and peak in bytes, once the command has ended and been collected.

        Of a command that was gone before the first look nothing is known: the kernel's mark of a child's peak begins
        with the size of the process that started it, which is ours.
        """
        seen = {} if self._monitor is None else {m.name: m for m in self._monitor.stop().metrics}
        if "rss_mean" in seen and "rss_peak" in seen:
            mean, peak = seen["rss_mean"], seen["rss_peak"]
            return {"mean": mean.estimate.point, "peak": peak.estimate.point, "samples": mean.count}
        if self._first:
            return {"mean": float(self._first), "peak": float(self._first), "samples": 1}
        return {"mean": None, "peak": None, "samples": 0, "reason": "the command was gone before the first look"}


def _resident(pid: int) -> int:
    """The bytes of one process; 0 when it has gone, or where there is no such file."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
