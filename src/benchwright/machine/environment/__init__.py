"""The machine and its state, read from files in milliseconds. What cannot be read is a fact that says why.

`machine` and `accelerators` hold only what stays the same from run to run, because a series is keyed by them; what a
person can change is in `knobs`, and what is true for a moment is in `knobs["at_start"]`. Standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchwright.machine.environment import accelerators, hardware, instances, knobs, portable, software
from benchwright.machine.environment.packages import installed_packages
from benchwright.records import Environment, Value

__all__ = ["Difference", "collect", "difference", "installed_packages"]

Difference = tuple[str, Value, Value]


def collect(
    *,
    packages: Mapping[str, str] | None = None,
    runtimes: Mapping[str, str] | None = None,
    root: Path = Path("/"),
) -> Environment:
    """This machine as it is now. `packages` and `runtimes` are those of the interpreter that measures."""
    on_linux = sys.platform.startswith("linux")
    gpus = accelerators.collect(root)
    return Environment(
        machine=hardware.collect(root) if on_linux else portable.machine(),
        system={**software.collect(root), "drivers": gpus.drivers, **_instance(root, on_linux)},
        accelerators=gpus.devices,
        runtimes=dict(runtimes or {}),
        packages=dict(packages or {}),
        knobs={**(knobs.collect(root) if on_linux else portable.knobs()), "accelerators": gpus.state},
        collected_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _instance(root: Path, on_linux: bool) -> dict[str, Value]:
    """Which cloud instance it is. Not among the facts of `machine`: hosts of one shape share their series."""
    found = instances.collect(root) if on_linux else {}
    return {"instance": found} if found else {}


def difference(a: Environment, b: Environment) -> list[Difference]:
    """Every place where two environments differ, with both values; None where one has no such fact."""
    left, right = dict(_places(a)), dict(_places(b))
    return [
        (place, left.get(place), right.get(place))
        for place in dict.fromkeys([*left, *right])
        if left.get(place) != right.get(place)
    ]


def _places(environment: Environment) -> Iterator[tuple[str, Value]]:
    """Every fact with its place, such as `machine.caches.L2`; the moment of collection is not a fact."""
    sections: dict[str, Mapping[str, Value] | Mapping[str, str]] = {
        "machine": environment.machine,
        "system": environment.system,
        "accelerators": {str(i): dict(gpu) for i, gpu in enumerate(environment.accelerators)},
        "knobs": environment.knobs,
        "runtimes": environment.runtimes,
        "packages": environment.packages,
    }
    for name, section in sections.items():
        yield from _leaves(name, dict(section))


def _leaves(place: str, value: Value | dict[str, Value] | dict[str, str]) -> Iterator[tuple[str, Value]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{place}.{key}", item)
    else:
        yield place, value
