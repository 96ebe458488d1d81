from __future__ import annotations

import sys
import types
from types import SimpleNamespace
from typing import Any

import pytest

from benchwright.machine.monitors.gpu import GpuMonitor
from benchwright.machine.monitors.tree import Totals, TreeUse

GIB = 2**30


class NvmlError(Exception):
    pass


class Nvml(types.ModuleType):
    """Two made-up devices; handles are their numbers."""

    NVMLError = NvmlError

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.processes: list[list[Any]] = [[], []]
        self.busy = [0, 0]
        self.energy: list[int | None] = [1_000_000, 5_000_000]  # mJ
        self.open = False
        self.refuses = False
        vars(self).update(
            nvmlInit=self.init,
            nvmlShutdown=self.shutdown,
            nvmlDeviceGetCount=lambda: 2,
            nvmlDeviceGetHandleByIndex=lambda index: index,
            nvmlDeviceGetComputeRunningProcesses=lambda handle: self.processes[handle],
            nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=self.busy[handle], memory=0),
            nvmlDeviceGetTotalEnergyConsumption=self.total_energy,
        )

    def init(self) -> None:
        if self.refuses:
            raise NvmlError("Driver Not Loaded")
        self.open = True

    def shutdown(self) -> None:
        self.open = False

    def total_energy(self, handle: int) -> int:
        energy = self.energy[handle]
        if energy is None:
            raise NvmlError("Not Supported")
        return energy


class Family:
    def refresh(self) -> None: ...

    def use(self) -> TreeUse:
        return TreeUse(1, 1, 0.0, 0, 0)

    def totals(self) -> Totals:
        return Totals()

    def pids(self) -> list[int]:
        return [10, 11]

    def close(self) -> None: ...


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    fake = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def used(pid: int, memory: int | None) -> Any:
    return SimpleNamespace(pid=pid, usedGpuMemory=memory)


def test_memory_is_the_workers_own_and_idle_devices_do_not_dilute(nvml: Nvml) -> None:
    now = [0.0]
    monitor = GpuMonitor(open_tree=lambda pids: Family(), now=lambda: now[0])
    nvml.processes[0] = [used(10, 2 * GIB), used(99, 7 * GIB)]
    nvml.busy = [50, 90]
    monitor.start([10])
    now[0] = 1.0
    nvml.processes[0] = [used(10, 2 * GIB), used(11, GIB), used(99, 7 * GIB)]
    nvml.busy = [100, 90]
    nvml.energy = [1_250_000, 9_000_000]
    monitor.sample()
    now[0] = 1.2
    monitor.sample()  # too soon
    now[0] = 2.0
    nvml.processes[0] = []
    nvml.busy = [0, 90]
    seen = monitor.stop()
    points = {metric.name: metric.estimate.point for metric in seen.metrics}
    assert points == {"gpu_memory_peak": 3 * GIB, "gpu_utilisation": 50.0, "gpu_energy": 250.0, "gpu_power": 125.0}
    lines = {line.name: (line.seconds, line.values) for line in seen.timelines}
    assert lines["gpu_memory"] == ((0.0, 1.0, 2.0), (2.0 * GIB, 3.0 * GIB, 0.0))
    assert not nvml.open


def test_a_device_without_an_energy_counter_gives_the_rest(nvml: Nvml) -> None:
    nvml.energy[0] = None
    nvml.processes[0] = [used(10, None)]  # a driver that does not tell the memory
    monitor = GpuMonitor(open_tree=lambda pids: Family())
    monitor.start([10])
    assert {metric.name for metric in monitor.stop().metrics} == {"gpu_memory_peak", "gpu_utilisation"}


def test_a_worker_that_uses_no_device(nvml: Nvml) -> None:
    nvml.processes[1] = [used(99, GIB)]
    monitor = GpuMonitor(open_tree=lambda pids: Family())
    monitor.start([10])
    seen = monitor.stop()
    assert (seen.metrics, seen.timelines) == ((), ())
    assert seen.unavailable["gpu"].startswith("unavailable: no device holds memory of the worker")


def test_a_driver_that_is_not_loaded(nvml: Nvml) -> None:
    nvml.refuses = True
    monitor = GpuMonitor()
    monitor.start([10])
    monitor.sample()
    assert monitor.stop().unavailable == {"gpu": "unavailable: NVML: Driver Not Loaded"}


def test_no_binding_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # import finds nothing
    monitor = GpuMonitor()
    monitor.start([10])
    monitor.sample()
    assert "pip install 'benchwright[gpu]'" in monitor.stop().unavailable["gpu"]
