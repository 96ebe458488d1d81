"""What an Android device tells of itself."""

from __future__ import annotations

import re

from benchwright.machine.devices import DeviceFacts
from benchwright.machine.devices.adb_client import run_script
from benchwright.records import Value

_PROPERTY = re.compile(r"^\[(?P<name>[^]]+)\]: \[(?P<value>.*)\]$", re.M)
_LEVEL = re.compile(r"^\s*level: (\d+)$", re.M)
_MEMORY = re.compile(r"^MemTotal:\s+(\d+) kB$", re.M)
_CPU = re.compile(r"^processor\s*: (\d+)$", re.M)
# A question that a device cannot answer leaves its place empty.
_SCRIPT = "getprop; cat /proc/meminfo; cat /proc/cpuinfo; dumpsys battery 2>/dev/null; true"
_FACTS = {
    "model": "ro.product.model",
    "manufacturer": "ro.product.manufacturer",
    "soc": "ro.soc.model",
    "board": "ro.board.platform",
    "build": "ro.build.version.incremental",
    "sdk": "ro.build.version.sdk",
}


def about(serial: str) -> DeviceFacts:
    """Asks the device `serial` once; a `DeviceError` when it cannot be reached."""
    _, said = run_script(serial, _SCRIPT)
    return from_text(serial, said.decode(errors="replace"))


def from_text(serial: str, said: str) -> DeviceFacts:
    """What a device's answer means. Facts that it did not tell are absent; its name is never empty."""
    told = {match["name"]: match["value"].strip() for match in _PROPERTY.finditer(said)}
    release, sdk = told.get("ro.build.version.release", ""), told.get("ro.build.version.sdk", "")
    facts: dict[str, Value] = {name: told[key] for name, key in _FACTS.items() if told.get(key)}
    if memory := _MEMORY.search(said):
        facts["memory"] = int(memory[1]) * 1024
    if cpus := _CPU.findall(said):
        facts["cpus"] = [int(cpu) for cpu in cpus]
    if level := _LEVEL.search(said):
        facts["battery"] = int(level[1])
    return DeviceFacts(
        kind="android",
        serial=serial,
        name="-".join(part for part in (told.get("ro.product.model", ""), release, sdk) if part) or serial,
        abi=told.get("ro.product.cpu.abi", ""),
        os=f"Android {release}".strip(),
        facts=facts,
    )
