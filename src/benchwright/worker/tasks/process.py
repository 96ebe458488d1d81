"""A command from its start to its end: what it prints is heard at once, and nothing that it started is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.machine.monitors.process import ProcessMonitor
from benchwright.records import Value
from benchwright.system import program_output
from benchwright.system.process import signal_group
from benchwright.targets.tasks.definition import ReadyCommand

EVERY = 0.1  # seconds between two looks

Hear = Callable[[bytes, float, int], None]  # data, seconds since the start, stream


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended: its exit code, below zero a signal; whether it had to be ended; what it left running."""

    code: int
    timed_out: bool = False
    left_behind: bool = False


def follow(
    ready: ReadyCommand, hear: Hear, *, timeout: float, look: Callable[[int], None] = lambda pid: None
) -> CommandEnd:
    """Starts the command without a shell of ours, in a group of its own, and returns when all of it is gone.

    `hear` gets what it prints as it comes. `look` is called with its process id as soon as it runs and then several
    times a second. A command that takes longer than `timeout` seconds is asked to end, then made to.
    """
    with _start(ready) as child:
        zero = time.perf_counter()
        silence = program_output.hear_out(
            child,
            lambda data, stream: hear(data, time.perf_counter() - zero, stream),
            timeout=timeout,
            look=lambda: look(child.pid),
        )
        signal_group(child.pid, signal.SIGKILL)  # before it is collected: until then nobody else can have its number
        return CommandEnd(code=child.wait(), timed_out=silence.timed_out, left_behind=silence.left_behind)


@contextlib.contextmanager
def _start(ready: ReadyCommand) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        ready.argv,
        cwd=ready.directory,
        env=dict(ready.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        process_group=0,
    )
    try:
        yield child
    finally:
        signal_group(child.pid, signal.SIGKILL)  # before it is collected: until then nobody else can have its number
        child.wait()
        for stream in (child.stdout, child.stderr):
            assert stream is not None
            stream.close()


class TreeMemory:
    """The resident memory of a command and all it starts, without that of the process that listens to it.

    It looks at once, and then whenever it is asked to, but not too often.
    """

    def __init__(self) -> None:
        self._monitor: ProcessMonitor | None = None
        self._next = 0.0
        self._first = 0  # bytes

    def look(self, pid: int) -> None:
        """Looks at that process and its descendants, for the first time or once more."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        if self._monitor is None:
            self._first = _resident(pid)  # at once: a short command ends before its tree has been found
            self._monitor = ProcessMonitor()
            self._monitor.start([pid])
        else:
            self._monitor.sample()

    def stop(self) -> dict[str, Value]:
        """Ends looking and returns mean and peak in bytes. Call it once the command has ended and been collected.

        Of a command that was gone before the first look nothing is known: the kernel's mark of a child's peak begins
        with the size of the process that started it, which is ours.
        """
        seen = {} if self._monitor is None else {m.name: m for m in self._monitor.stop().metrics}
        if "rss_mean" in seen and "rss_peak" in seen:
            mean, peak = seen["rss_mean"], seen["rss_peak"]
            return {"mean": mean.estimate.point, "peak": peak.estimate.point, "samples": mean.count}
        if self._first:
            return {"mean": float(self._first), "peak": float(self._first), "samples": 1}
        return {"mean": None, "peak": None, "samples": 0, "reason": "the command was gone before the first look"}


def _resident(pid: int) -> int:
    """The bytes of one process; 0 when it has gone, or where there is no such file."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
