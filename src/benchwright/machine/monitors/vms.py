"""Virtual memory of the workers and all they start; asked for by name, since few want it."""

from __future__ import annotations

from typing import ClassVar

from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.trace import Trace, metric
from benchwright.machine.monitors.tree import TreeMonitor


class VirtualMemoryMonitor(TreeMonitor):
    """Adds up the address space of the process tree below each worker."""

    name: ClassVar[str] = "vms"

    def start(self, pids: list[int]) -> None:
        self._open(pids)
        self._trace = Trace("vms", "B")
        self.sample()

    def sample(self) -> None:
        at = self._elapsed()
        self._tree.use()  # notices those that have ended: their process ids may become others'
        if size := sum(map(_size, self._tree.pids())):
            self._trace.add(at, size)

    def stop(self) -> Observation:
        self.sample()
        self._tree.close()
        if not self._trace.count:
            return Observation(unavailable={"vms": "unavailable: no process could be seen"})
        peak = metric("vms_peak", "B", self._trace.maximum)
        return Observation(metrics=(peak,), timelines=(self._trace.timeline(),))


def _size(pid: int) -> int:
    """Bytes; 0 for a process that has ended, or that this user may not see."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().vms)
    except psutil.Error:
        return 0
