"""A command from its start to its end: what it prints is heard at once, and nothing that it started is left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from benchwright.targets.tasks.definition import Ready

STDOUT, STDERR = 0, 1  # the streams, as they are told
GRACE = 1.0  # seconds between asking it to end and ending it
DRAIN = 1.0  # seconds that what it left behind may go on printing
LOOK = 0.1  # seconds between two looks at the clock
_READ = 1 << 18
_PIPE = 1 << 20  # bytes that it may print before it has to wait for us

Hear = Callable[[bytes, float, int], None]  # data, seconds since the start, stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: its exit code, below zero a signal; whether it had to be ended; what it left running."""

    code: int
    timed_out: bool = False
    left_behind: bool = False


def follow(ready: Ready, hear: Hear, *, timeout: float, look: Callable[[int], None] = lambda pid: None) -> Ended:
    """Starts the command without a shell of ours, in a group of its own, and returns when all of it is gone.

    `hear` gets what it prints as it comes. `look` is called with its process id as soon as it runs and then several
    times a second. A command that takes longer than `timeout` seconds is asked to end, then made to.
    """
    with _started(ready) as child:
        return _Following(child, hear, look).until(timeout)


@contextlib.contextmanager
def _started(ready: Ready) -> Iterator[subprocess.Popen[bytes]]:
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


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signals a whole process group; one that has gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


class _Following:
    """Reads what a child prints until it and its output have ended."""

    def __init__(self, child: subprocess.Popen[bytes], hear: Hear, look: Callable[[int], None]) -> None:
        self._child, self._hear, self._look = child, hear, look
        self._zero = time.perf_counter()
        self._selector = selectors.DefaultSelector()
        for stream, pipe in ((STDOUT, child.stdout), (STDERR, child.stderr)):
            assert pipe is not None
            with contextlib.suppress(OSError, AttributeError):  # where pipes cannot grow
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
            self._selector.register(pipe, selectors.EVENT_READ, stream)
        self._open = 2
        look(child.pid)

    def until(self, timeout: float) -> Ended:
        with self._selector, _noticed(self._selector, self._child.pid):
            timed_out = not self._read_until(self._zero + timeout)
            if timed_out:
                signal_group(self._child.pid, signal.SIGTERM)
                self._read_until(time.perf_counter() + GRACE)
                signal_group(self._child.pid, signal.SIGKILL)
            left_behind = not self._read_on(time.perf_counter() + DRAIN)
            signal_group(self._child.pid, signal.SIGKILL)
        return Ended(code=self._child.wait(), timed_out=timed_out, left_behind=left_behind)

    def _read_until(self, deadline: float) -> bool:
        """Whether the child ended before the deadline."""
        while not _has_ended(self._child.pid):
            left = deadline - time.perf_counter()
            if left <= 0:
                return False
            self._read(min(LOOK, left))
        return True

    def _read_on(self, deadline: float) -> bool:
        """Whether its output ended before the deadline."""
        while self._open:
            left = deadline - time.perf_counter()
            if left <= 0:
                return False
            self._read(min(LOOK, left))
        return True

    def _read(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._selector.unregister(key.fileobj)  # the child has ended: told once
                continue
            data = os.read(key.fd, _READ)
            if data:
                self._hear(data, time.perf_counter() - self._zero, cast(int, key.data))
            else:
                self._selector.unregister(key.fileobj)
                self._open -= 1
        self._look(self._child.pid)


@contextlib.contextmanager
def _noticed(selector: selectors.BaseSelector, pid: int) -> Iterator[None]:
    """Wakes the selector when the child ends, where the kernel can; elsewhere the next look finds out."""
    if not hasattr(os, "pidfd_open"):
        yield
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # an old kernel, or a guarded one
        yield
        return
    selector.register(descriptor, selectors.EVENT_READ, None)
    try:
        yield
    finally:
        os.close(descriptor)


def _has_ended(pid: int) -> bool:
    """Whether the child has ended; it is not collected, so its number stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
