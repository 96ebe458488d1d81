"""A program of this machine from its start to its end: heard as it prints, and nothing that it started is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.errors import MeasureError
from benchwright.machine.devices import Output, ProgramEnd
from benchwright.system import process, program_output

PROGRAM_VARIABLE = "BENCHWRIGHT_DEVICE"  # every descendant of a program carries it, also one that left its session


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProgram:
    """What is started: in `folder`, with `env` in addition, on `cpus` where they are. `token` marks all it starts."""

    argv: Sequence[str]
    folder: Path
    token: str
    env: Mapping[str, str] = field(default_factory=dict)
    cpus: Sequence[int] = ()


def follow(program: DeviceProgram, output: Output, timeout: float | None) -> ProgramEnd:
    """Runs a program to its end, in a session of its own; a `MeasureError` when it cannot be started.

    At the timeout it is asked to end, then made to. Then everything that carries its token goes.
    """
    child = _start(program)
    try:
        silence = program_output.hear_out(
            child, lambda data, _: output(data), timeout=timeout, end_more=lambda: sweep(program.token)
        )
    finally:
        process.signal_group(child.pid, signal.SIGKILL)  # before its number can be another's
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
        sweep(program.token)
    return ProgramEnd(status=child.returncode, timed_out=silence.timed_out)


def sweep(token: str) -> None:
    """Kills every process that carries the token, looking until a look finds none."""
    process.end_carriers(PROGRAM_VARIABLE, token)


def usable_cpus() -> tuple[int, ...]:
    """The CPUs that programs can be kept on; none where the system cannot do that."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def describe_refusal(error: Exception) -> str:
    """Why the system refused, in its own words."""
    if isinstance(error, shutil.Error):  # a list of what could not be copied
        return str(error.args[0][0][2]) if error.args and error.args[0] else "it could not be copied"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _start(program: DeviceProgram) -> subprocess.Popen[bytes]:
    try:
        with _confine_to(program.cpus):
            return subprocess.Popen(
                list(program.argv),
                cwd=program.folder,
                env={**os.environ, **program.env, PROGRAM_VARIABLE: program.token},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        remedy = "check the path, its mode, and the first line of a script"
        raise MeasureError(
            f"{program.argv[0]!r} could not be started: {describe_refusal(error)}", remedy=remedy
        ) from None


@contextlib.contextmanager
def _confine_to(cpus: Sequence[int]) -> Iterator[None]:
    """What this thread starts meanwhile runs on these CPUs from its first instruction on."""
    before = usable_cpus()
    wanted = set(cpus) & set(before)
    if not wanted:
        yield
        return
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
