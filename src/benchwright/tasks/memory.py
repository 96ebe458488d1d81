"""The resident memory of a command and all it starts, without that of the process that listens to it."""

from __future__ import annotations

import resource
import time

from benchwright.monitors.process import ProcessMonitor
from benchwright.records import Value

EVERY = 0.1  # seconds between two looks
_KIB = 1024  # what ru_maxrss counts in on Linux


class TreeMemory:
    """Looks at a tree of processes: at once, and then whenever it is asked to, but not too often."""

    def __init__(self) -> None:
        self._monitor: ProcessMonitor | None = None
        self._next = 0.0

    def look(self, pid: int) -> None:
        """The first look at that process and its descendants, or one more."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        if self._monitor is None:
            self._monitor = ProcessMonitor()
            self._monitor.start([pid])
        else:
            self._monitor.sample()

    def told(self) -> dict[str, Value]:
        """Mean and peak in bytes, once the command has ended and been collected.

        Of a command that was gone before the first look, the kernel knows the peak.
        """
        seen = {} if self._monitor is None else {m.name: m for m in self._monitor.stop().metrics}
        if "rss_mean" in seen and "rss_peak" in seen:
            mean, peak = seen["rss_mean"], seen["rss_peak"]
            return {"mean": mean.estimate.point, "peak": peak.estimate.point, "samples": mean.count}
        known = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _KIB
        return {"mean": float(known), "peak": float(known), "samples": 0}
