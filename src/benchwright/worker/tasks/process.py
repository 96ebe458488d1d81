"""A command from its start to its end: what it prints is heard at once, and nothing that it started is left."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchwright.system import program_output
from benchwright.system.process import signal_group
from benchwright.targets.tasks.definition import Ready

Hear = Callable[[bytes, float, int], None]  # data, seconds since the start, stream


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended: its exit code, below zero a signal; whether it had to be ended; what it left running."""

    code: int
    timed_out: bool = False
    left_behind: bool = False


def follow(ready: Ready, hear: Hear, *, timeout: float, look: Callable[[int], None] = lambda pid: None) -> CommandEnd:
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
def _start(ready: Ready) -> Iterator[subprocess.Popen[bytes]]:
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
