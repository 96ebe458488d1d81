"""Devices run programs that cannot be a worker themselves: this machine, and phones behind `adb`.

A worker on this machine opens a device, pushes what the program needs into a folder of its own there, runs it, pulls
what it left, and closes the device again. A device removes only what it made, and leaves nothing running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchwright.records import Value

# Why nothing is measured on an iPhone, and what to do instead.
NO_IOS = "programs on iOS devices cannot be started from here"
NO_IOS_REMEDY = "measure on host or android; Apple's tools alone install and start an app on an iPhone"

Output = Callable[[bytes], None]  # hears what a program prints, standard output and error alike, as it comes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """What is known of a device without using it."""

    kind: str  # "host", "android"
    serial: str  # the host's name, or what adb calls it; the older system's `hash`
    name: str  # `<model>-<release>-<sdk>`, or the system and CPU of a host
    abi: str = ""
    os: str = ""
    facts: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program ended."""

    status: int  # its exit code; below zero, a signal
    timed_out: bool = False
    lost: str = ""  # the device went away meanwhile: why

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself and well."""
        return self.status == 0 and not self.timed_out and not self.lost


class Device(Protocol):
    """What every device offers. A `MeasureError` says what a device refused, or that it is gone."""

    @property
    def about(self) -> DeviceFacts:
        """Returns what is known of the device."""
        ...

    @property
    def folder(self) -> str:
        """The absolute path of its own folder for this user, made when it was opened; without a trailing slash."""
        ...

    def push(self, source: Path, name: str = "", *, executable: bool = False) -> str:
        """Copies a file or folder into `folder` as `name` (default: its own) and returns its path there.

        A name may have folders in front (`a/b.bin`) and never leads out of `folder`.
        """
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        output: Output = lambda data: None,
        cpus: Sequence[int] = (),
    ) -> ProgramEnd:
        """Runs a program in `folder` to its end, without a shell that could misread an argument.

        `env` is added to what there is. At the timeout it is ended there, with all that it started. `cpus`: only those.
        """
        ...

    def pull(self, path: str, target: Path) -> None:
        """Copies a file or folder from the device; a relative path is below `folder`."""
        ...

    def remove(self, path: str) -> None:
        """Deletes a file or folder below `folder`; nothing there is fine."""
        ...

    def logged(self) -> str:
        """What the device's own log got since this was last asked, or since it was opened; "" where there is none."""
        ...

    def close(self) -> None:
        """Ends what still runs and removes `folder`."""
        ...


def open_device(text: str) -> Device:
    """The device of `host` (also `cpu` and ""), or of `adb:SERIAL`; a `MeasureError` when it cannot be used."""
    if text.startswith("adb:"):
        from benchwright.machine.devices.adb import AdbDevice

        return AdbDevice.connect(text.removeprefix("adb:"))
    from benchwright.machine.devices.local import LocalDevice

    return LocalDevice()
