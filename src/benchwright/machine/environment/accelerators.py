"""Graphics processors with their drivers: NVML when it works, else what `/proc` and `/sys` say.

A device's record holds only vendor and name, which every way of asking agrees on, because a series is keyed by it.
Memory, power limit and clocks are in `state`, driver versions in `drivers`: both may change without a new series.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.machine import nvml
from benchwright.machine.environment.proc_files import list_numbered, read_text, unavailable
from benchwright.records import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerators:
    """What was found; `state` is a reason where nothing was."""

    devices: tuple[Mapping[str, Value], ...] = ()
    drivers: dict[str, Value] = field(default_factory=dict)
    state: Value = None


def collect(root: Path) -> Accelerators:
    """Every accelerator that the drivers show."""
    nvidia, reason = _nvml() if root == Path("/") else (None, "NVML not asked")
    found = [kind for kind in (nvidia or _nvidia_files(root), _amd(root)) if kind.devices]
    if not found:
        return Accelerators(state=unavailable(f"no accelerator found ({reason}; no NVIDIA or AMD driver loaded)"))
    states: list[Value] = []
    for kind in found:
        states += kind.state if isinstance(kind.state, list) else []
    return Accelerators(
        devices=tuple(device for kind in found for device in kind.devices),
        drivers={name: version for kind in found for name, version in kind.drivers.items()},
        state=states,
    )


def _nvml() -> tuple[Accelerators | None, str]:
    pynvml, reason = nvml.open_nvml()
    if pynvml is None:
        return None, reason
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        found = Accelerators(
            devices=tuple({"vendor": "NVIDIA", "name": _words(pynvml.nvmlDeviceGetName(h))} for h in handles),
            drivers={"nvidia": _words(pynvml.nvmlSystemGetDriverVersion()), "cuda": _cuda(pynvml)},
            state=[_nvml_state(pynvml, handle) for handle in handles],
        )
    except pynvml.NVMLError as error:
        return None, f"NVML: {error}"
    finally:
        pynvml.nvmlShutdown()
    return found, "NVML shows no device"


def _nvml_state(pynvml: Any, handle: Any) -> Value:
    questions: dict[str, Callable[[], Value]] = {
        "memory": lambda: int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        "power_limit_w": lambda: pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "sm_clock_mhz": lambda: int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        "temperature": lambda: int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
        "persistence": lambda: "on" if pynvml.nvmlDeviceGetPersistenceMode(handle) else "off",
    }
    state: dict[str, Value] = {}
    for name, ask in questions.items():
        try:
            state[name] = ask()
        except pynvml.NVMLError as error:  # not every device answers every question
            state[name] = unavailable(str(error))
    return state


def _cuda(pynvml: Any) -> str:
    version = int(pynvml.nvmlSystemGetCudaDriverVersion())
    return f"{version // 1000}.{version % 1000 // 10}"


def _words(answer: str | bytes) -> str:
    return answer.decode() if isinstance(answer, bytes) else answer  # older bindings answer in bytes


def _nvidia_files(root: Path) -> Accelerators:
    """Reads NVIDIA's GPUs from the kernel driver's own files, when there is no NVML to ask."""
    driver = root / "proc/driver/nvidia"
    try:
        information = [read_text(gpu / "information") for gpu in sorted((driver / "gpus").iterdir())]
        version = re.search(r"Kernel Module.*?\s(\d+\.\d[\d.]*)", read_text(driver / "version"))
    except OSError:
        return Accelerators()
    names = [match[1].strip() for page in information if (match := re.search(r"Model:\s*(.+)", page))]
    why = unavailable("pip install nvidia-ml-py")
    return Accelerators(
        devices=tuple({"vendor": "NVIDIA", "name": name} for name in names),
        drivers={"nvidia": version[1] if version else unavailable("the driver does not tell its version")},
        state=[{"memory": why} for _ in names],
    )


def _amd(root: Path) -> Accelerators:
    """Reads AMD's GPUs from the sysfs tree that ROCm reads."""
    try:
        nodes = list_numbered(root / "sys/class/kfd/kfd/topology/nodes", "")
        gpus = [
            node for node in nodes if not re.search(r"^simd_count 0$", read_text(node / "properties"), re.MULTILINE)
        ]
        names = [read_text(node / "name") for node in gpus]
        memory = [_amd_memory(node) for node in gpus]
    except OSError:
        return Accelerators()
    try:
        version: Value = read_text(root / "sys/module/amdgpu/version")
    except OSError:
        version = unavailable("part of the kernel")
    return Accelerators(
        devices=tuple({"vendor": "AMD", "name": name} for name in names),
        drivers={"amdgpu": version},
        state=[{"memory": size} for size in memory],
    )


def _amd_memory(node: Path) -> Value:
    banks = list_numbered(node / "mem_banks", "")
    sizes = [re.search(r"^size_in_bytes (\d+)$", read_text(bank / "properties"), re.MULTILINE) for bank in banks]
    return sum(int(size[1]) for size in sizes if size)
