from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.machine import environment
from benchwright.machine.environment import accelerators

Tree = Callable[..., Path]

NVIDIA_FILES = {
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar\nGCC version: 12",
    "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 100",
}


class NvmlError(Exception):
    pass


def fake_nvml(*, broken: bool = False) -> types.ModuleType:
    nvml = types.ModuleType("pynvml")

    def init() -> None:
        if broken:
            raise NvmlError("Driver Not Loaded")

    def unsupported(*_: object) -> int:
        raise NvmlError("Not Supported")

    vars(nvml).update(
        NVMLError=NvmlError,
        NVML_CLOCK_SM=1,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=init,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: b"NVIDIA A100-SXM4-40GB",
        nvmlSystemGetDriverVersion=lambda: "550.54.15",
        nvmlSystemGetCudaDriverVersion=lambda: 12040,
        nvmlDeviceGetMemoryInfo=lambda handle: types.SimpleNamespace(total=40 * 2**30),
        nvmlDeviceGetEnforcedPowerLimit=lambda handle: 400_000,
        nvmlDeviceGetClockInfo=lambda handle, kind: 1410,
        nvmlDeviceGetTemperature=lambda handle, kind: 35,
        nvmlDeviceGetPersistenceMode=unsupported,
    )
    return nvml


def test_nvml_tells_devices_drivers_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    found = environment.collect()
    assert found.accelerators == ({"vendor": "NVIDIA", "name": "NVIDIA A100-SXM4-40GB"},)
    assert found.system["drivers"] == {"nvidia": "550.54.15", "cuda": "12.4"}
    assert found.knobs["accelerators"] == [
        {
            "memory": 40 * 2**30,
            "power_limit_w": 400.0,
            "sm_clock_mhz": 1410,
            "temperature": 35,
            "persistence": "unavailable: Not Supported",
        }
    ]


def test_a_device_is_the_same_with_and_without_nvml(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    asked = accelerators.collect(Path("/"))
    read = accelerators.collect(tree(NVIDIA_FILES))
    assert read.devices == asked.devices
    assert read.drivers["nvidia"] == asked.drivers["nvidia"]


def test_nvml_that_does_not_work_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(broken=True))
    found = accelerators.collect(Path("/"))
    assert found.devices == ()
    assert "Driver Not Loaded" in str(found.state)


def test_amd_devices_are_read_from_the_kernel(tree: Tree) -> None:
    nodes = "sys/class/kfd/kfd/topology/nodes"
    files = {
        f"{nodes}/0/properties": "cpu_cores_count 64\nsimd_count 0",
        f"{nodes}/0/name": "",
        f"{nodes}/1/properties": "cpu_cores_count 0\nsimd_count 440",
        f"{nodes}/1/name": "gfx90a",
        f"{nodes}/1/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 68702699520",
        "sys/module/amdgpu/version": "6.7.0",
    }
    found = accelerators.collect(tree(files))
    assert found.devices == ({"vendor": "AMD", "name": "gfx90a"},)
    assert found.drivers == {"amdgpu": "6.7.0"}
    assert found.state == [{"memory": 68702699520}]
