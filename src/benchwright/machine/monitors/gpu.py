"""Memory, use and energy of NVIDIA devices, through NVML.

Memory is that of the workers' own processes. Utilisation and energy are the devices' that those processes use: NVML
does not split them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from benchwright.machine import nvml
from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.trace import Trace, metric
from benchwright.machine.monitors.tree import TreeMonitor
from benchwright.records import Better, Estimate, Metric

PERIOD = 0.5  # seconds; NVML takes milliseconds for an answer
_NOT_OURS = "no device holds memory of the worker (in a container, NVML may know it under another process id)"


class GpuMonitor(TreeMonitor):
    """Watches the devices that the workers' trees use."""

    name: ClassVar[str] = "gpu"

    def start(self, pids: list[int]) -> None:
        self._devices: list[_Device] = []
        self._nvml, self._reason = nvml.open_nvml()
        if self._nvml is None:
            return
        try:
            count = self._nvml.nvmlDeviceGetCount()
            self._devices = [_Device(self._nvml, i) for i in range(count)]
        except self._nvml.NVMLError as error:
            self._reason = f"NVML: {error}"
        self._open(pids)
        self._memory = Trace("gpu_memory", "B")
        self._busy = Trace("gpu_utilisation", "%")
        self._look()

    def sample(self) -> None:
        if self._devices and self._now() - self._looked >= PERIOD:
            self._look()

    def stop(self) -> Observation:
        if self._nvml is None:
            return Observation(unavailable={"gpu": f"unavailable: {self._reason}"})
        self._look()
        used = [device for device in self._devices if device.used]
        unavailable = {} if used else {"gpu": f"unavailable: {self._reason or _NOT_OURS}"}
        self._tree.close()
        self._nvml.nvmlShutdown()
        traces = (self._memory, self._busy) if used else ()
        return Observation(
            metrics=tuple(self._metrics(used)),
            timelines=tuple(trace.timeline() for trace in traces),
            unavailable=unavailable,
        )

    def _look(self) -> None:
        self._looked = self._now()
        at = self._elapsed()
        pids = set(self._tree.pids())
        for device in self._devices:
            device.look(pids)
        self._memory.add(at, sum(device.memory for device in self._devices))
        self._busy.add(at, sum(device.busy for device in self._devices if device.used))

    def _metrics(self, used: list[_Device]) -> list[Metric]:
        if not used:
            return []
        found = [
            metric("gpu_memory_peak", "B", self._memory.maximum, better=Better.LOWER),
            metric("gpu_utilisation", "%", self._busy.mean(), count=self._busy.count),
        ]
        joules = [device.joules() for device in used]
        known = [value for value in joules if value is not None]
        if len(known) == len(used):
            estimate = Estimate(point=sum(known), low=None, high=None, method="measured: NVML energy counter")
            found.append(metric("gpu_energy", "J", estimate, better=Better.LOWER))
            if (seconds := self._elapsed()) > 0:
                found.append(metric("gpu_power", "W", replace(estimate, point=estimate.point / seconds)))
        return found


class _Device:
    """One device at the last look."""

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        self._first_energy = self._energy()
        self.memory = 0  # bytes, of the watched processes
        self.busy = 0.0  # percent, of the device
        self.used = False  # whether a watched process ever held memory here

    def look(self, pids: set[int]) -> None:
        try:
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
            self.busy = float(self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu)
        except self._nvml.NVMLError:
            return  # a device that is being reset; the last look stands
        ours = [process for process in running if process.pid in pids]
        self.memory = sum(process.usedGpuMemory or 0 for process in ours)  # None under Windows' display driver
        self.used = self.used or bool(ours)

    def joules(self) -> float | None:
        """Returns the energy since the device was first seen; None before the Volta generation: no counter."""
        now = self._energy()
        return None if now is None or self._first_energy is None else (now - self._first_energy) / 1000

    def _energy(self) -> int | None:
        try:
            return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))
        except self._nvml.NVMLError:
            return None
