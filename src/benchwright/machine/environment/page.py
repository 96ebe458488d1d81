"""An environment as sections of labels and words, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchwright.records import Environment, Value
from benchwright.units import format_value

_BYTES = {"memory", "memory_available", "total", "used", "L1d", "L1i", "L1", "L2", "L3", "L4"}
_UNITS = {"temperature": "°C", "cpu_mhz": "MHz", "power_limit_w": "W", "sm_clock_mhz": "MHz"}


class Section(NamedTuple):
    """A heading, and a label with its words for each line below."""

    title: str
    lines: list[tuple[str, str]]


def sections(environment: Environment) -> list[Section]:
    """Every fact, in the order of reading; sections that would be empty are left out."""
    knobs = dict(environment.knobs)
    moment, gpus = knobs.pop("at_start", None), knobs.pop("accelerators", None)
    devices = [f"{device.get('vendor', '')} {device.get('name', '')}".strip() for device in environment.accelerators]
    states: list[Value] = gpus if isinstance(gpus, list) else [None] * len(devices)
    shown = [
        (name, f"{name}, {words('', state)}" if state else name) for name, state in zip(devices, states, strict=False)
    ]
    accelerators = [(str(i), text) for i, (_, text) in enumerate(shown)] or [("none", words("", gpus))]
    found = [
        Section("Machine", _lines(environment.machine)),
        Section("System", _lines(environment.system)),
        Section("Accelerators", accelerators),
        Section("Knobs", _lines(knobs)),
        Section("At the start", _lines(moment) if isinstance(moment, dict) else []),
        Section("Runtimes", _lines(environment.runtimes)),
        Section("Packages", _lines(environment.packages)),
    ]
    return [section for section in found if section.lines]


def words(key: str, value: Value) -> str:
    """A fact's value in words; the key tells its unit."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {words(name, item)}" for name, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(words(key, item) for item in value) or "none"
    if key in _BYTES and isinstance(value, int):
        return format_value(value, "B")
    if value is None:
        return "-"
    return f"{value} {_UNITS[key]}" if key in _UNITS and isinstance(value, int | float) else str(value)


def _lines(facts: Mapping[str, Value] | Mapping[str, str]) -> list[tuple[str, str]]:
    return [(key.replace("_", " "), words(key, value)) for key, value in facts.items()]
