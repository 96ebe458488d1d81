"""What a running program prints: heard as it comes, until the program has ended and its output, too.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchwright.system.process import signal_group

STDOUT, STDERR = 0, 1  # the streams, as they are told
GRACE = 1.0  # seconds between asking a program to end and ending it
DRAIN = 1.0  # seconds that what it left behind may go on printing
LOOK, LONG_LOOK = 0.1, 5.0  # seconds between two looks at a silent program; where the kernel tells of its end
_READ = 1 << 18
_PIPE = 1 << 20  # bytes that it may print before it has to wait for us

Hear = Callable[[bytes, int], None]  # data, stream


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEnd:
    """How a program fell silent: whether it had to be ended, and whether something it started went on printing."""

    timed_out: bool
    left_behind: bool


def hear_out(
    child: subprocess.Popen[bytes],
    hear: Hear,
    *,
    timeout: float | None,
    look: Callable[[], None] | None = None,
    end_more: Callable[[], None] = lambda: None,
) -> OutputEnd:
    """Passes on what a child, the leader of its group, prints until it has ended; it is not collected.

    `look` is called at once and then several times a second. At the timeout the group is asked to end, then made to,
    and `end_more` called for what is not in the group.
    """
    with contextlib.closing(_Reader(child, hear, look)) as reader:
        timed_out = not reader.wait_for_end(None if timeout is None else time.monotonic() + timeout)
        if timed_out:
            signal_group(child.pid, signal.SIGTERM)
            reader.wait_for_end(time.monotonic() + GRACE)
            signal_group(child.pid, signal.SIGKILL)
            end_more()
        is_silent = reader.wait_for_silence(time.monotonic() + DRAIN)
    return OutputEnd(timed_out=timed_out, left_behind=not is_silent)


class _Reader:
    """One program's output, and whether the program still runs. It sleeps while neither changes."""

    def __init__(self, child: subprocess.Popen[bytes], hear: Hear, look: Callable[[], None] | None) -> None:
        self._pid, self._hear, self._look, self._open = child.pid, hear, look, 0
        self._selector = selectors.DefaultSelector()
        for stream, pipe in ((STDOUT, child.stdout), (STDERR, child.stderr)):
            if pipe is not None:
                _widen(pipe.fileno())
                self._selector.register(pipe, selectors.EVENT_READ, stream)
                self._open += 1
        self._notice = _notice_of_end(child.pid)
        if self._notice is not None:
            self._selector.register(self._notice, selectors.EVENT_READ)
        self._pause = LOOK if self._notice is None or look is not None else LONG_LOOK
        if look is not None:
            look()

    def wait_for_end(self, deadline: float | None) -> bool:
        """Whether the program ended before the deadline. It is not collected: its number stays its own."""
        while os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            left = self._pause if deadline is None else min(self._pause, deadline - time.monotonic())
            if left <= 0:
                return False
            self._read(left)
        return True

    def wait_for_silence(self, deadline: float) -> bool:
        """Whether the program's output ended before the deadline; a child of the program may hold it open."""
        while self._open:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._read(min(self._pause, left))
        return True

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
                self._hear(data, key.data)
            else:
                self._selector.unregister(key.fileobj)
                self._open -= 1
        if self._look is not None:
            self._look()


def _notice_of_end(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the kernel has no such thing."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, or a guarded one
        return None


def _widen(pipe: int) -> None:
    """Lets a program print more before it has to wait for us."""
    import fcntl

    with contextlib.suppress(OSError, AttributeError):  # where pipes cannot grow
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
