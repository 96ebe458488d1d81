"""What others took of the machine while we worked: our own use is this process's and that of its ended children."""

from __future__ import annotations

import os
import time
from types import TracebackType

from benchwright.machine.monitors.system_cpu import SystemCpu


class Interference:
    """A context; afterwards `cpu_others` (percent, 100 = one core) and `steal` (percent of the machine) are known."""

    def __init__(self) -> None:
        self.cpu_others: float | None = None
        self.steal: float | None = None

    def __enter__(self) -> Interference:
        self._system = SystemCpu()
        self._began, self._times, self._own = time.perf_counter(), self._system.times(), _own_cpu_seconds()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        times, elapsed = self._system.times(), time.perf_counter() - self._began
        self._system.close()
        busy = times.busy - self._times.busy - (_own_cpu_seconds() - self._own)
        # The kernel counts in ticks of 10 ms: over a short stretch they add up to more than the machine has.
        self.cpu_others = min(100 * max(0.0, busy) / elapsed, 100.0 * (os.cpu_count() or 1))
        total = times.total - self._times.total
        if times.steal is not None and self._times.steal is not None and total > 0:
            self.steal = 100 * max(0.0, times.steal - self._times.steal) / total


def _own_cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
