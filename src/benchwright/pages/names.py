"""Short names: machines, no two alike, and suites of cases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import chain

from benchwright import plugins
from benchwright.records import Environment, Value
from benchwright.store.archive import Archive

_DIVIDER = re.compile(r"/|::")
_UNKNOWN = "unavailable"
_DIGITS = 6  # of a machine's key, where nothing else tells two apart


def machine_names(archive: Archive) -> dict[str, str]:
    """Every machine's key with its name, unique in this store."""
    return names_of(archive.environments())


def names_of(environments: Mapping[str, Environment]) -> dict[str, str]:
    """The names of these machines: as short as tells them apart."""
    found = {key: machine_name(environment) for key, environment in environments.items()}
    for more in (_host, _memory):
        counts = Counter(found.values())
        for key in [key for key, name in found.items() if counts[name] > 1]:
            if said := more(environments[key]):
                found[key] = f"{found[key]}, {said}"
    counts = Counter(found.values())
    return {key: name if counts[name] == 1 else f"{name} #{key[:_DIGITS]}" for key, name in found.items()}


def machine_name(environment: Environment) -> str:
    """What is measured on: the device or the image, else the CPU with its cores, and what accelerates it."""
    system, machine = environment.system, environment.machine
    device, image = system.get("device"), system.get("image")
    parts = [_text(device.get("name")) or _text(device.get("serial"))] if isinstance(device, dict) else []
    if not any(parts):
        cores = machine.get("cores")
        cpu = " ".join(_text(machine.get("cpu")).split()) or _text(system.get("architecture")) or "a machine"
        parts = [f"{cpu}, {cores} cores" if isinstance(cores, int) else cpu]
    parts += [name for one in environment.accelerators[:1] if (name := _text(one.get("name")))]
    if isinstance(image, dict) and (name := _text(image.get("name"))):
        parts.append(f"in {name}")
    return ", ".join(parts)


def suite_of(case: str) -> str:
    """The suite of a case: what its name begins with, up to the first `/` or `::`.

    A file is called without its ending, where that is one of a benchmark or a model: `alexa_v0.1.onnx` is `alexa_v0.1`.
    Of a dotted Python name the first part counts: `models.resnet.Train.benchmark_1` is of `models`.
    """
    name = _DIVIDER.split(case, maxsplit=1)[0]
    if not name:
        return case
    stem, dot, ending = name.rpartition(".")
    if stem and f".{ending}" in _endings():
        return stem
    parts = name.split(".")
    return parts[0] if dot and all(part.isidentifier() for part in parts) else name


@cache
def _endings() -> frozenset[str]:
    """What the files that hold benchmarks, tasks, specs and models end in."""
    loaded = (plugins.load("runtimes", name).extensions for name in plugins.BUILTIN["runtimes"])
    return frozenset([".py", ".toml", ".cfg", ".json", ".yaml", ".yml", *chain.from_iterable(loaded)])


def _host(environment: Environment) -> str:
    return _text(environment.system.get("host"))


def _memory(environment: Environment) -> str:
    size = environment.machine.get("memory")
    return f"{size / 2**30:.0f} GiB" if isinstance(size, int | float) else ""


def _text(value: Value) -> str:
    return value if isinstance(value, str) and not value.startswith(_UNKNOWN) else ""
