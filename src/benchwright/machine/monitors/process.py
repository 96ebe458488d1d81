"""Memory, CPU, switches, faults and I/O of the workers and all they start.

The resident memory of a tree counts pages that its processes share once for each of them.
"""

from __future__ import annotations

from typing import ClassVar

from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.trace import Trace, metric
from benchwright.machine.monitors.tree import Totals, TreeMonitor, TreeUse
from benchwright.records import Better, Metric

COUNTERS = 5.0  # seconds between looks at the dear counters: what a process does after the last one ends with it
CPU_WINDOW = 0.5  # seconds: the kernel counts CPU time in ticks of 10 ms, so a shorter window shows steps


class ProcessMonitor(TreeMonitor):
    """Watches the process tree below each worker."""

    name: ClassVar[str] = "process"

    def start(self, pids: list[int]) -> None:
        self._open(pids)
        self._counted = 0.0
        self._first_totals = self._tree.totals()
        self._first = self._last = self._windowed = self._tree.use()
        self._window_began = 0.0
        self._rss = Trace("rss", "B")
        self._cpu = Trace("cpu", "%")
        self._threads = 0
        self._record(0.0, self._first)

    def sample(self) -> None:
        at = self._elapsed()
        if at - self._counted >= COUNTERS:
            self._counted = at
            self._tree.totals()
        self._record(at, self._tree.use())

    def stop(self) -> Observation:
        self._tree.refresh()
        self._record(self._now() - self._zero, self._tree.use())
        elapsed = self._now() - self._zero
        totals = self._tree.totals()
        self._tree.close()
        metrics = [*self._memory(totals), *self._processor(elapsed), *self._counts(totals)]
        return Observation(
            metrics=tuple(metrics),
            timelines=tuple(trace.timeline() for trace in (self._rss, self._cpu) if trace.count),
            unavailable={what: f"unavailable: {reason}" for what, reason in totals.reasons.items()},
        )

    def _record(self, at: float, use: TreeUse) -> None:
        if use.rss:  # a process that has ended uses nothing: no reason to pull the mean down
            self._rss.add(at, use.rss)
        self._threads = max(self._threads, use.threads)
        self._last = use
        if at - self._window_began >= CPU_WINDOW:
            self._cpu.add(at, 100 * max(0.0, use.cpu - self._windowed.cpu) / (at - self._window_began))
            self._windowed, self._window_began = use, at

    def _memory(self, totals: Totals) -> list[Metric]:
        if not self._rss.count:
            return []
        # Between samples the kernel's own mark of a single process may be higher than any sum that was seen.
        peak = max(self._rss.maximum, totals.peak or 0)
        return [
            metric("rss_peak", "B", peak, better=Better.LOWER),
            metric("rss_mean", "B", self._rss.mean(), better=Better.LOWER, count=self._rss.count),
            metric("threads", "1", self._threads),
        ]

    def _processor(self, elapsed: float) -> list[Metric]:
        used = max(0.0, self._last.cpu - self._first.cpu)
        return [metric("cpu", "%", 100 * used / elapsed)] if elapsed > 0 else []

    def _counts(self, totals: Totals) -> list[Metric]:
        before, found = self._first_totals, []
        switches = _growth(before.voluntary, totals.voluntary), _growth(before.involuntary, totals.involuntary)
        if switches[0] is not None and switches[1] is not None:
            found.append(metric("context_switches", "1", switches[0] + switches[1]))
            found.append(metric("context_switches_involuntary", "1", switches[1]))
        if "page_faults" not in totals.reasons:
            found.append(metric("page_faults", "1", max(0, self._last.faults - self._first.faults)))
            found.append(metric("page_faults_major", "1", max(0, self._last.major_faults - self._first.major_faults)))
        for name, grown in (
            ("io_read", _growth(before.read, totals.read)),
            ("io_write", _growth(before.written, totals.written)),
        ):
            if grown is not None:
                found.append(metric(name, "B", grown))
        return found


def _growth(before: int | None, after: int | None) -> int | None:
    return None if after is None else max(0, after - (before or 0))
