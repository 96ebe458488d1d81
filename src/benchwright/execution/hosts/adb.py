"""An Android device: a worker on this machine runs programs over there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from benchwright.errors import DeviceError, OptionError
from benchwright.records import Value

if TYPE_CHECKING:
    from benchwright.execution.hosts.local import LocalWorker
    from benchwright.worker.channel import Job

RUNTIMES = ("command", "binary")
_PASSING = ("battery",)  # facts of a moment, which make no other device


class AdbHost:
    """Runs programs on the device of `SERIAL`, or `SERIAL,/folder/on/it`. One that cannot be used is refused here."""

    watched = False  # what works is not on this machine, so there is nothing here for monitors to watch

    def __init__(self, text: str) -> None:
        from benchwright.machine.devices.adb_facts import about

        self._text, serial = text, text.partition(",")[0]
        try:
            found = about(serial)
        except DeviceError as error:
            raise OptionError(f"adb:{text}: {error.message}", remedy=error.remedy) from None
        lasting = {name: fact for name, fact in found.facts.items() if name not in _PASSING}
        self.system: Mapping[str, Value] = {
            "os": found.os,
            "architecture": found.abi,
            "device": {"name": found.name, "serial": found.serial, **lasting},
        }

    @classmethod
    def from_text(cls, text: str) -> AdbHost:
        """The host of `adb:TEXT`."""
        return cls(text)

    def launch(self, job: Job) -> LocalWorker:
        """Starts a worker here whose program runs there. What must run inside a worker cannot."""
        from benchwright.execution.hosts.local import LocalHost

        case = job.case
        if case.target.runtime not in RUNTIMES:
            raise DeviceError(
                f"runtime {case.target.runtime} cannot run on an Android device",
                remedy="give a program for it after --: benchwright run --host adb:SERIAL -- ./program",
            )
        if job.cpus:
            raise DeviceError(
                "--cpus names CPUs of this machine", remedy="let the device's taskset start it: -- taskset f0 ./program"
            )
        there = replace(case, target=replace(case.target, device=f"adb:{self._text}"))
        return LocalHost().launch(replace(job, case=there))
