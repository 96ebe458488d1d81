"""A program that prints result rows, and everything around it, on this machine or a phone: one pass of a spec."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from benchwright.errors import DecodeError, LoadError
from benchwright.machine.devices import Device, open_device
from benchwright.machine.devices.local import LocalDevice
from benchwright.records import Case, Value
from benchwright.system.scratch import OUTPUT_VARIABLE
from benchwright.targets.specs import passes
from benchwright.targets.specs.passes import Pass
from benchwright.targets.specs.rows import converters, figures
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.binary.log import ProgramLog
from benchwright.worker.runtimes.binary.pass_runner import PassRunner
from benchwright.worker.runtimes.options import refuse_unknown

LOG_NAME = "binary.log"
OUTPUTS = "outputs"  # the folder of what the program wrote, in the attempt's
LONGEST = 7200.0  # seconds for a pass of which nobody says how long it may take
BACKSTOP = 15.0  # seconds at most that are kept back for telling what there is, before the worker is given up


class Binary:
    """The target's work is a `specs.passes.Pass`; its device is `host` or `adb:SERIAL`."""

    name: ClassVar[str] = "binary"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    def load(self, case: Case) -> Loaded:
        refuse_unknown(case.target.options, (), "binary")
        one = _decode_pass(case)
        device = open_device(case.target.device)
        try:
            execution = _Execution(one, device, case.load.timeout)
        except BaseException:
            device.close()
            raise
        loaded = Loaded(
            call=execution.run,
            device=case.target.device,
            details=execution.device_facts,
            report=execution.report,
            close=execution.close,
        )
        execution.tell = lambda text: loaded.tell(text)
        return loaded


def _decode_pass(case: Case) -> Pass:
    if not case.target.work:
        raise LoadError(
            "the runtime binary runs one test of a spec, and the target holds none", remedy="run the spec file itself"
        )
    try:
        one = passes.from_text(case.target.work)
    except (ValueError, DecodeError) as error:
        raise LoadError(f"the test of {case.target.uri} cannot be read: {error}") from None
    for name in (one.converter, *(file.converter for file in one.output_files)):
        converters.check(name)
    if one.metric == "power":
        raise LoadError(
            "the metric power needs a power monitor, and Benchwright drives none", remedy="measure delay instead"
        )
    return one


class _Execution:
    """The one call of a pass, and what there is to tell about it."""

    def __init__(self, one: Pass, device: Device, timeout: float | None) -> None:
        self.tell: Callable[[str], None] = lambda text: None
        self._pass, self._device = one, device
        self._limit = LONGEST if timeout is None else timeout - min(BACKSTOP, timeout / 4)
        self._deadline = math.inf
        self._host = LocalDevice()
        self._log: ProgramLog | None = None
        folder = os.environ.get(OUTPUT_VARIABLE)
        kept = Path(folder or self._host.folder, OUTPUTS)
        self._runner = PassRunner(
            one,
            device,
            self._host,
            kept=kept,
            deadline=lambda: self._deadline - time.monotonic(),
            hear=self._hear,
            tell=lambda text: self.tell(text),
        )
        try:
            self._runner.prepare()
            if folder:
                self._log = ProgramLog(Path(folder, LOG_NAME))
        except BaseException:
            self._host.close()
            raise

    @property
    def device_facts(self) -> dict[str, Value]:
        """What is known before the call: the device."""
        about = self._device.about
        return {
            "about": {
                "kind": about.kind,
                "serial": about.serial,
                "name": about.name,
                "abi": about.abi,
                "os": about.os,
                "facts": dict(about.facts),
            }
        }

    def run(self) -> None:
        self._deadline = time.monotonic() + self._limit
        self._runner.run()

    def report(self) -> Report:
        done = self._runner
        entries: dict[str, Value] = {entry.key: entry.as_details() for entry in done.entries}
        entries |= {name: compared.as_details() for name, compared in done.compared.items()}
        details: dict[str, Value] = {
            "entries": entries,
            "commands": [list[Value](argv) for argv in done.commands],
            "executions": done.executions,
        }
        if done.host_commands:
            details["host_commands"] = [list[Value](argv) for argv in done.host_commands]
        if done.entries.custom:
            details["custom_output"] = dict(done.entries.custom)
        return Report(
            metrics=[*figures.metrics(done.entries), *(m for each in done.compared.values() for m in each.metrics())],
            operators=figures.operators(done.entries),
            warnings=[*done.warnings, *(self._log.warnings if self._log else ())],
            details=details,
            failure=done.failure,
        )

    def close(self) -> None:
        try:
            if self._log is not None:
                self._log.close()
            self._host.close()
        finally:
            self._device.close()

    def _hear(self, data: bytes) -> None:
        """All that is printed goes to the worker's log, whose end a failure shows, and to a file that is kept."""
        if self._log is not None:
            self._log.write(data)
        with contextlib.suppress(OSError):  # a disk that is full fails no measurement
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
