"""What an Android device tells of itself, and whether it has started up. Every wait has an end."""

from __future__ import annotations

import contextlib
import re
import time

from benchwright.errors import DeviceError
from benchwright.machine.devices import DeviceFacts
from benchwright.machine.devices.adb_client import ask, run_script
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


WAIT = 180.0  # seconds for a device to come up
PAUSE = 1.0  # seconds between two looks
_LOOK = 10.0  # seconds for one look


def wait(serial: str, *, seconds: float = WAIT, pause: float = PAUSE) -> None:
    """Returns once the device has started up and runs commands; a `DeviceError` when it has not after so long."""
    deadline, reason = time.monotonic() + seconds, "not asked yet"
    while True:
        try:
            code, said = run_script(serial, "getprop sys.boot_completed", seconds=_LOOK)
            if code == 0 and said.strip() == b"1":
                return
            reason = "it is still starting up"
        except DeviceError as error:
            reason = error.message
        if time.monotonic() >= deadline:
            raise DeviceError(f"{serial} is not ready after {seconds:g} s: {reason}", remedy="look at its screen")
        time.sleep(pause)


def reboot(serial: str, *, seconds: float = WAIT, pause: float = PAUSE) -> None:
    """Restarts the device and returns once it is ready again."""
    deadline = time.monotonic() + seconds
    before = _boot(serial)
    ask("-s", serial, "reboot")
    while not _is_another(serial, before):
        if time.monotonic() >= deadline:
            raise DeviceError(f"{serial} did not restart within {seconds:g} s", remedy="look at its screen")
        time.sleep(pause)
    wait(serial, seconds=max(0.0, deadline - time.monotonic()), pause=pause)


def _is_another(serial: str, before: bytes) -> bool:
    with contextlib.suppress(DeviceError):  # it is down
        return _boot(serial) != before
    return False


def _boot(serial: str) -> bytes:
    """Returns a text that differs between two starts of the same device."""
    code, said = run_script(serial, "cat /proc/sys/kernel/random/boot_id", seconds=_LOOK)
    if code != 0:
        raise DeviceError(f"{serial}: it does not say which start of the system this is")
    return said
