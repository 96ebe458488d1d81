"""Short names: machines, no two alike, and suites of cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from benchwright.analysis.geomeans import suite_of as suite_of
from benchwright.records import Environment, Value
from benchwright.store.archive import Archive

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
            if (said := more(environments[key])) and said != found[key]:
                found[key] = f"{found[key]}, {said}"
    counts = Counter(found.values())
    return {key: name if counts[name] == 1 else f"{name} #{key[:_DIGITS]}" for key, name in found.items()}


def machine_name(environment: Environment) -> str:
    """What is measured on: the device or the image, else the CPU with its cores, and what accelerates it.

    Imported results may not know the CPU: then the host's name.
    """
    system, machine = environment.system, environment.machine
    device, image = system.get("device"), system.get("image")
    parts = [_text(device.get("name")) or _text(device.get("serial"))] if isinstance(device, dict) else []
    if not any(parts):
        cores = machine.get("cores")
        cpu = " ".join(_text(machine.get("cpu")).split()) or _host(environment)
        cpu = cpu or _text(system.get("architecture")) or "unknown machine"
        parts = [f"{cpu}, {cores} cores" if isinstance(cores, int) else cpu]
    parts += [name for one in environment.accelerators[:1] if (name := _text(one.get("name")))]
    if isinstance(image, dict) and (name := _text(image.get("name"))):
        parts.append(f"in {name}")
    return ", ".join(parts)


def _host(environment: Environment) -> str:
    """The host's name; of a machine that `--host` reached, the name that was given there."""
    host = environment.system.get("host")
    return _text(host.get("name")) if isinstance(host, dict) else _text(host)


def _memory(environment: Environment) -> str:
    size = environment.machine.get("memory")
    return f"{size / 2**30:.0f} GiB" if isinstance(size, int | float) else ""


def _text(value: Value) -> str:
    return value if isinstance(value, str) and not value.startswith(_UNKNOWN) else ""
