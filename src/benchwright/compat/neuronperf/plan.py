"""Which configurations are measured, in which order, and on which devices."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchwright.errors import DeviceError, OptionError, did_you_mean

MAX = "max"  # as many copies as there are devices for
_NAMES = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
NEURON = "neuron"
INSTEAD_VARIABLE = "BENCHWRIGHT_NEURON"  # what is used where a script asks for a Neuron device: cpu or gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One prepared model: a file or a class, for one batch size."""

    filename: str
    batch_size: int
    pipeline_size: int = 1
    performance_level: int | None = None
    cast_mode: str | None = None
    input_idx: int | None = None  # the number of the input it was prepared with; None where it is of no index
    error: str = ""  # why it could not be prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One row of the reports."""

    model_filename: str
    model_name: str
    device_type: str
    batch_size: int
    n_models: int
    workers_per_model: int
    pipeline_size: int
    n_devices: int
    performance_level: int | None
    multiprocess: bool
    multiinterpreter: bool
    stats_interval: float
    duration: float
    cast_mode: str | None = None
    input_idx: int | None = None
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the configuration as the user's functions and reports get it."""
        return {name: value for name, value in asdict(self).items() if name not in ("error", "input_idx")}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedDimensions:
    """What is crossed with every model; None is the default that suits its pipeline size."""

    n_models: Sequence[int | str] | None = None
    workers_per_model: Sequence[int] | None = None
    devices: int = 1


def cross_dimensions(models: Iterable[Model], dimensions: CrossedDimensions) -> Iterator[tuple[Model, int, int]]:
    """(model, copies, workers) in order: models outermost, then worker counts, copies innermost."""
    for model in models:
        most = 1 if model.error else count_fitting(model.pipeline_size, dimensions.devices)
        for workers in dimensions.workers_per_model or default_workers(1 if model.error else model.pipeline_size):
            for copies in _count_copies(dimensions.n_models, most):
                yield model, copies, workers


def count_fitting(pipeline_size: Any, devices: int) -> int:
    """How many copies of that many devices each there is room for; an error when it is none."""
    (size,) = read_whole_numbers([pipeline_size], "pipeline_size")
    if size > devices:
        raise OptionError(
            f"a pipeline size of {size} needs as many devices; there are {devices}",
            remedy="give pipeline_sizes that fit this machine",
        )
    return devices // size


def default_workers(pipeline_size: int) -> list[int]:
    """Threads that feed one copy: enough to keep the stages of a pipeline busy."""
    return [1, 2] if pipeline_size == 1 else [max(1, pipeline_size - 1)]


def read_whole_numbers(value: Any, name: str) -> list[int]:
    """One whole number above 0, or several; numbers of NumPy and the like too."""
    given = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    values = [_read_whole_number(each, name) for each in given]
    if not values:
        raise OptionError(f"{name} is empty", remedy="leave it out for the default")
    return list(dict.fromkeys(values))


def _read_whole_number(value: Any, name: str) -> int:
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            if (number := operator.index(value)) > 0:
                return number
    raise OptionError(f"{name}: {value!r} is not a whole number above 0")


def _count_copies(asked: Sequence[int | str] | None, most: int) -> list[int]:
    wanted = [most if each == MAX else int(each) for each in (asked or (1, MAX))]
    return list(dict.fromkeys(wanted))


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
    """Returns the device's name in the runtimes."""
    if device_type not in _NAMES:
        raise OptionError(f"device_type: unknown {device_type!r}", remedy=did_you_mean(device_type, _NAMES))
    return _NAMES[device_type]


def count_devices(device_type: str) -> int:
    """Counts the devices of a type; an absent device is an error."""
    if device_of(device_type) == "cpu":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    from benchwright.machine import environment

    count = len(environment.collect().accelerators)
    if not count:
        raise DeviceError(f"device_type {device_type}: this machine has none", remedy="use device_type='cpu'")
    return count
