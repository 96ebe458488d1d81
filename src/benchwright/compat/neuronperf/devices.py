"""What a copy can have for itself: CPUs, or GPUs."""

from __future__ import annotations

import os

from benchwright.errors import DeviceError, OptionError, did_you_mean

_NAMES = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}


def device_of(device_type: str) -> str:
    """The device's name in the runtimes."""
    if device_type not in _NAMES:
        raise OptionError(f"device_type: unknown {device_type!r}", remedy=did_you_mean(device_type, _NAMES))
    return _NAMES[device_type]


def count_devices(device_type: str) -> int:
    """How many there are; an absent device is an error."""
    if device_of(device_type) == "cpu":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    from benchwright import environment

    count = len(environment.collect().accelerators)
    if not count:
        raise DeviceError(f"device_type {device_type}: this machine has none", remedy="use device_type='cpu'")
    return count
