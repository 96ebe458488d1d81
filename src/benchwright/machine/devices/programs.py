"""A program of this machine from its start to its end: heard as it prints, and nothing that it started is left."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from benchwright.errors import MeasureError
from benchwright.machine.devices import Ended, Output

PROGRAM_VARIABLE = "BENCHWRIGHT_DEVICE"  # every descendant of a program carries it, also one that left its session
GRACE = 1.0  # seconds between asking a program to end and ending it
DRAIN = 1.0  # seconds that what a program left behind may go on printing
LOOK, LONG_LOOK = 0.05, 5.0  # seconds between two looks at a silent program; where the kernel tells of its end
MOST_LOOKS = 100
_READ, _PIPE = 1 << 18, 1 << 20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is started: in `folder`, with `env` in addition, on `cpus` where they are. `token` marks all it starts."""

    argv: Sequence[str]
    folder: Path
    token: str
    env: Mapping[str, str] = field(default_factory=dict)
    cpus: Sequence[int] = ()


def follow(program: Program, output: Output, timeout: float | None) -> Ended:
    """Runs a program to its end, in a session of its own; a `MeasureError` when it cannot be started.

    At the timeout it is asked to end, then made to. Then everything that carries its token goes.
    """
    child = _started(program)
    try:
        timed_out = _heard_out(child, program.token, output, timeout)
    finally:
        _signal_group(child.pid, signal.SIGKILL)  # before its number can be another's
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
        sweep(program.token)
    return Ended(status=child.returncode, timed_out=timed_out)


def sweep(token: str) -> None:
    """Kills every process that carries the token, looking until a look finds none."""
    for _ in range(MOST_LOOKS):
        found = _carriers(token)
        for pid in found:
            with contextlib.suppress(OSError):  # gone meanwhile
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.002)


def _carriers(token: str) -> list[int]:
    """The processes whose environment holds the token; none where there is no /proc."""
    wanted, found = f"{PROGRAM_VARIABLE}={token}".encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or not ours to read
            if wanted in (place / "environ").read_bytes():
                found.append(int(place.name))
    return found


def usable_cpus() -> tuple[int, ...]:
    """The CPUs that programs can be kept on; none where the system cannot do that."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def reason(error: Exception) -> str:
    """Why the system refused, in its own words."""
    if isinstance(error, shutil.Error):  # a list of what could not be copied
        return str(error.args[0][0][2]) if error.args and error.args[0] else "it could not be copied"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _started(program: Program) -> subprocess.Popen[bytes]:
    try:
        with _confined(program.cpus):
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
        raise MeasureError(f"{program.argv[0]!r} could not be started: {reason(error)}", remedy=remedy) from None


@contextlib.contextmanager
def _confined(cpus: Sequence[int]) -> Iterator[None]:
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


def _heard_out(child: subprocess.Popen[bytes], token: str, output: Output, timeout: float | None) -> bool:
    """Passes on what a program prints until it has ended; whether it had to be ended."""
    with contextlib.closing(_Reader(child, output)) as reader:
        timed_out = not reader.until_end(None if timeout is None else time.monotonic() + timeout)
        if timed_out:
            _signal_group(child.pid, signal.SIGTERM)
            reader.until_end(time.monotonic() + GRACE)
            _signal_group(child.pid, signal.SIGKILL)
            sweep(token)
        reader.until_silent(time.monotonic() + DRAIN)
    return timed_out


class _Reader:
    """One program's output, and whether the program still runs. It sleeps while neither changes."""

    def __init__(self, child: subprocess.Popen[bytes], output: Output) -> None:
        self._child, self._output, self._open = child, output, True
        assert child.stdout is not None
        _widen(child.stdout)
        self._selector = selectors.DefaultSelector()
        self._selector.register(child.stdout, selectors.EVENT_READ)
        self._notice = _end_of(child.pid)
        if self._notice is not None:
            self._selector.register(self._notice, selectors.EVENT_READ)
        self._look = LOOK if self._notice is None else LONG_LOOK

    def until_end(self, deadline: float | None) -> bool:
        """Whether the program ended before the deadline. It is not collected: its number stays its own."""
        while os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            left = self._look if deadline is None else min(self._look, deadline - time.monotonic())
            if left <= 0:
                return False
            self._read(left)
        return True

    def until_silent(self, deadline: float) -> None:
        """Hears what is still on the line; a child of the program may hold it open."""
        while self._open and (left := deadline - time.monotonic()) > 0:
            self._read(min(self._look, left))

    def close(self) -> None:
        """Ends the watching."""
        self._selector.close()
        if self._notice is not None:
            os.close(self._notice)

    def _read(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.fd == self._notice:
                self._selector.unregister(key.fileobj)  # it has ended: told once
                continue
            data = os.read(key.fd, _READ)
            if data:
                self._output(data)
            else:
                self._selector.unregister(key.fileobj)
                self._open = False


def _end_of(pid: int) -> int | None:
    """A descriptor that wakes whoever waits when the process ends, where the kernel has such."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, or a guarded one
        return None


def _widen(pipe: IO[bytes]) -> None:
    """Lets a program print more before it has to wait for us."""
    import fcntl

    with contextlib.suppress(OSError, AttributeError):  # where pipes cannot grow
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
