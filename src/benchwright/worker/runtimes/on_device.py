"""A command on a device: the program and the files it is given go there once, and each call runs it there."""

from __future__ import annotations

import os
import shlex
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchwright.errors import LoadError, LostDeviceError, MeasureError
from benchwright.machine.devices import Device, ProgramEnd, open_device
from benchwright.records import Case, ResultWarning, Value
from benchwright.units import format_value
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import describe_exit
from benchwright.worker.runtimes.options import boolean, choice

ROUND_TRIPS = 5  # of a program that does nothing
_SINKS = ("null", "log")


def load_command(case: Case, argv: list[str]) -> Loaded:
    """The command on the case's device.

    A program with a slash in its name goes there; one without is the device's own. Arguments that are files here, or
    end in `=` and a file, go there too, and the program is told where they lie.
    """
    if case.target.options.get("stdin"):
        raise LoadError("option stdin: a program on a device has no input", remedy="give it a file as an argument")
    device = open_device(case.target.device)
    try:
        return _push_and_load(case, argv, device)
    except BaseException:
        device.close()
        raise


def _push_and_load(case: Case, argv: list[str], device: Device) -> Loaded:
    pushed: dict[str, str] = {}
    words = [_program(argv[0], device, pushed), *(_argument(word, device, pushed) for word in argv[1:])]
    trip = _round_trip(device)
    about = device.about
    details: dict[str, Value] = {
        "argv": [*words],
        "pushed": [*sorted(pushed)],
        "device_name": about.name,
        "device_facts": dict(about.facts),
        "round_trip": trip,
    }
    return Loaded(
        call=_make_call(case, words, device),
        device=case.target.device,
        items_per_call=case.inputs.batch_size,
        details=details,
        warnings=[
            ResultWarning(
                code="round-trip",
                seen=f"each call includes the way to {about.serial} and back, {format_value(trip, 's')}",
                remedy="compare runs on the same connection; what the program times itself does not include it",
            )
        ],
        close=device.close,
    )


def _program(name: str, device: Device, pushed: dict[str, str]) -> str:
    if "/" not in name:
        return name
    path = Path(name)
    if not path.is_file():
        raise LoadError(f"there is no program {name!r}", remedy="check the path")
    return _push(path, device, pushed, executable=True)


def _argument(word: str, device: Device, pushed: dict[str, str]) -> str:
    flag, equals, value = word.rpartition("=")
    if len(value) < 4096 and "\0" not in value and value and Path(value).is_file():
        return f"{flag}{equals}{_push(Path(value), device, pushed)}"
    return word


def _push(path: Path, device: Device, pushed: dict[str, str], *, executable: bool = False) -> str:
    """Where a file lies on the device; two of the same name get folders of their own."""
    key = str(path.absolute())
    if key not in pushed:
        taken = any(Path(other).name == path.name for other in pushed)
        name = f"{len(pushed)}/{path.name}" if taken else path.name
        pushed[key] = device.push(path, name, executable=executable or os.access(path, os.X_OK))
    return pushed[key]


def _round_trip(device: Device) -> float:
    """Seconds that a call takes whose program does nothing: the median of a few."""
    took = []
    for _ in range(ROUND_TRIPS):
        begin = time.perf_counter()
        ended = device.run(["true"])
        took.append(time.perf_counter() - begin)
        if ended.lost:
            raise LostDeviceError(ended.lost)
        if not ended.ok:
            raise MeasureError(_describe_end(["true"], ended))
    return statistics.median(took)


def _make_call(case: Case, words: list[str], device: Device) -> Callable[[], None]:
    options = case.target.options
    ignore_failure = boolean(options, "ignore_failure", False)
    sinks = [choice(options, stream, usual, _SINKS) for stream, usual in (("stdout", "null"), ("stderr", "log"))]
    keep = "log" in sinks  # on a device both are one stream

    def hear(data: bytes) -> None:
        if keep:
            os.write(2, data)

    def call() -> None:
        ended = device.run(words, output=hear)
        if ended.lost:
            raise LostDeviceError(ended.lost, remedy="see `adb devices`; --resume goes on when it is back")
        if not ended.ok and not ignore_failure:
            raise MeasureError(_describe_end(words, ended), remedy="--option ignore_failure=true measures it anyway")

    return call


def _describe_end(words: list[str], ended: ProgramEnd) -> str:
    return describe_exit(shlex.join(words), ended.status)
