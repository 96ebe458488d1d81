"""What a copy can have for itself: CPUs, or GPUs."""

from __future__ import annotations

import os

from benchwright.errors import DeviceError, OptionError, did_you_mean

_NAMES = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
NEURON = "neuron"
INSTEAD_VARIABLE = "BENCHWRIGHT_NEURON"  # what is used where a script asks for a Neuron device: cpu or gpu


def usable_type(device_type: str) -> str:
    """The device type as it will be used and reported. One that cannot be had is an error that says why."""
    if device_type != NEURON:
        device_of(device_type)
        return device_type
    if instead := os.environ.get(INSTEAD_VARIABLE, ""):
        return usable_type(instead)
    raise DeviceError(f"device_type {NEURON!r}: {_WHY}", remedy=_REMEDY)


def refuse_target(compiler_target: str | None) -> None:
    """Refuses to compile for a Neuron instance, unless something else is to be used where a script asks for one."""
    if compiler_target is None or compiler_target == "cpu" or os.environ.get(INSTEAD_VARIABLE):
        return
    raise DeviceError(
        f"compiler_target {compiler_target!r}: only Neuron's own compiler prepares models for it",
        remedy=f"leave compiler_target out to prepare the model for this machine, or set {INSTEAD_VARIABLE}=cpu",
    )


_WHY = "Benchwright has no runtime for Neuron devices, whose libraries run on their own instances only"
_REMEDY = f"use device_type='cpu' or 'gpu'; {INSTEAD_VARIABLE}=cpu does so for a script that cannot be changed"


def device_of(device_type: str) -> str:
    """The device's name in the runtimes."""
    if device_type not in _NAMES:
        raise OptionError(f"device_type: unknown {device_type!r}", remedy=did_you_mean(device_type, _NAMES))
    return _NAMES[device_type]


def count_devices(device_type: str) -> int:
    """How many there are; an absent device is an error."""
    if device_of(device_type) == "cpu":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    from benchwright.machine import environment

    count = len(environment.collect().accelerators)
    if not count:
        raise DeviceError(f"device_type {device_type}: this machine has none", remedy="use device_type='cpu'")
    return count
