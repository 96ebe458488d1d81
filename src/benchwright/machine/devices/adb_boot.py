"""Waits for a device, and restarts one on request. Every wait has an end."""

from __future__ import annotations

import contextlib
import time

from benchwright.errors import DeviceError
from benchwright.machine.devices.adb_client import ask, run_script

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
    """What differs between two starts of the same device."""
    code, said = run_script(serial, "cat /proc/sys/kernel/random/boot_id", seconds=_LOOK)
    if code != 0:
        raise DeviceError(f"{serial}: its boot cannot be told from the one before")
    return said
