"""What others took from the measurement: CPU, time stolen by the hypervisor, waiting."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.system_cpu import CpuTimes, Pressure, SystemCpu
from benchwright.machine.monitors.trace import Trace, metric
from benchwright.machine.monitors.tree import Tree, open_tree
from benchwright.records import Better, Metric

WINDOW = 1.0  # seconds; both counters move in ticks of 10 ms for each CPU
_RESOURCES = ("cpu", "memory", "io")

CORES = os.cpu_count() or 1


class PressureMonitor:
    """Watches the machine around the workers' trees.

    `cpu_others` is busy time less the trees' own, 100 being one core; `steal` is a share of the whole machine's time,
    as `top` shows it; `psi_*` is the share of time in which some task of the machine waited for that resource.
    """

    name: ClassVar[str] = "pressure"

    def __init__(
        self,
        *,
        root: Path = Path("/"),
        open_tree: Callable[[list[int]], Tree] = open_tree,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._root, self._open_tree, self._now = root, open_tree, now

    def start(self, pids: list[int]) -> None:
        self._tree = self._open_tree(pids)
        self._system = SystemCpu(self._root)
        self._pressure, self._unavailable = _pressures(self._root)
        self._others = Trace("cpu_others", "%")
        self._steal = Trace("steal", "%")
        self._psi = Trace("psi_cpu", "%")
        self._first = self._last = self._look()

    def sample(self) -> None:
        if self._now() - self._last.at < WINDOW:
            return
        self._tree.refresh()
        self._record(self._look())

    def stop(self) -> Observation:
        last = self._look()
        if last.at - self._last.at >= WINDOW / 2:
            self._record(last)
        metrics = self._metrics(last)
        self._tree.close()
        self._system.close()
        for pressure in self._pressure.values():
            pressure.close()
        traces = (self._others, self._steal, self._psi)
        return Observation(
            metrics=tuple(metrics),
            timelines=tuple(trace.timeline() for trace in traces if trace.count),
            unavailable=self._unavailable,
        )

    def _look(self) -> _CounterReading:
        own = self._tree.use().cpu
        times = self._system.times()
        waited = {name: pressure.read_waited() for name, pressure in self._pressure.items()}
        return _CounterReading(self._now(), own, times, waited)

    def _record(self, look: _CounterReading) -> None:
        at, since = look.at - self._first.at, self._last
        self._others.add(at, look.others(since))
        if (steal := look.steal(since)) is not None:
            self._steal.add(at, steal)
        if "cpu" in look.waited:
            self._psi.add(at, look.psi(since, "cpu"))
        self._last = look

    def _metrics(self, last: _CounterReading) -> list[Metric]:
        if last.at <= self._first.at:
            return []
        found = [metric("cpu_others", "%", last.others(self._first), better=Better.LOWER)]
        if (steal := last.steal(self._first)) is not None:
            found.append(metric("steal", "%", steal, better=Better.LOWER))
        else:
            self._unavailable["steal"] = "unavailable: this system does not count it"
        waiting = ((f"psi_{name}", last.psi(self._first, name)) for name in last.waited)
        return found + [metric(name, "%", share, better=Better.LOWER) for name, share in waiting]


class _CounterReading:
    """Counters at an instant, and what they grew by since another."""

    def __init__(self, at: float, own: float, times: CpuTimes, waited: dict[str, float]) -> None:
        self.at, self.own, self.times, self.waited = at, own, times, waited

    def others(self, since: _CounterReading) -> float:
        taken = (self.times.busy - since.times.busy) - (self.own - since.own)
        # Busy time comes in ticks of 10 ms and ours does not: over a short stretch more than there is would be left.
        return min(100 * max(0.0, taken) / (self.at - since.at), 100.0 * CORES)

    def steal(self, since: _CounterReading) -> float | None:
        total = self.times.total - since.times.total
        if self.times.steal is None or since.times.steal is None:
            return None
        return 100 * max(0.0, self.times.steal - since.times.steal) / total if total > 0 else 0.0

    def psi(self, since: _CounterReading, name: str) -> float:
        return min(100.0, 100 * max(0.0, self.waited[name] - since.waited[name]) / (self.at - since.at))


def _pressures(root: Path) -> tuple[dict[str, Pressure], dict[str, str]]:
    found: dict[str, Pressure] = {}
    reasons: dict[str, str] = {}
    for name in _RESOURCES:
        try:
            pressure = Pressure(name, root)
            pressure.read_waited()  # a kernel started with psi=0 has the files, but refuses to read them
        except OSError as error:
            reasons[f"psi_{name}"] = f"unavailable: {root / 'proc/pressure' / name}: {error.strerror}"
        else:
            found[name] = pressure
    return found, reasons
