"""The load generator's own process, for open loops with several workers.

A target that holds the interpreter lock would delay a generator that lives beside it. So the generator is a process
of its own with nothing but this module: it waits for each instant of the schedule, notes when it really was, and
writes one byte that wakes a worker.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path
from types import TracebackType

from benchwright.errors import MeasureError
from benchwright.records import Int64s
from benchwright.worker.engine.clock import SystemClock, learn_margin, tighten_timer_slack

F_SETPIPE_SZ = 1031
PIPE_SIZE = 1 << 20  # arrivals that may wait for a worker before the generator itself would have to


class Generator:
    """A running generator: `start(zero)`, read `tokens` once per arrival; `issue_times()` says when each went out."""

    def __init__(self, schedule: Int64s) -> None:
        self._count = len(schedule)
        self._shared = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the generator
        self._shared.write(schedule.tobytes())
        self._shared.truncate(2 * 8 * self._count)
        self._shared.flush()
        self.tokens, write_end = os.pipe()
        if sys.platform.startswith("linux"):
            with contextlib.suppress(PermissionError):  # this user's share of pipe memory is used up: less will do
                fcntl.fcntl(write_end, F_SETPIPE_SZ, PIPE_SIZE)
        self._child = self._spawn(write_end)
        os.close(write_end)
        assert self._child.stdout is not None
        self._child.stdout.read(1)  # it has learnt its spin margin

    def start(self, zero: int) -> None:
        """Arrivals count from the instant `zero` of this machine's monotonic clock."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # one that has ended: `issued` says how
            os.write(self._child.stdin.fileno(), zero.to_bytes(8, "little"))

    def issue_times(self) -> Int64s:
        """The instants at which the arrivals really went out."""
        if self._child.wait() != 0:
            raise MeasureError(f"the load generator ended with {self._child.returncode} before its schedule did")
        self._shared.seek(8 * self._count)
        instants = array("q")
        instants.frombytes(self._shared.read(8 * self._count))
        return instants

    def __enter__(self) -> Generator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()
        os.close(self.tokens)
        self._shared.close()

    def _spawn(self, write_end: int) -> subprocess.Popen[bytes]:
        root = Path(__file__).resolve().parents[3]  # the folder, or the zip file, that holds the package
        code = (
            f"import sys; sys.path.insert(0, {str(root)!r}); from {__name__} import generate; generate(*sys.argv[1:])"
        )
        shared = self._shared.fileno()
        return subprocess.Popen(
            [sys.executable, "-S", "-c", code, str(shared), str(write_end), str(self._count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(shared, write_end),
        )


def generate(*arguments: str) -> None:
    """The child's whole life: the shared file, the pipe for tokens, and how many there are."""
    shared, tokens, count = map(int, arguments)
    clock = SystemClock()
    tighten_timer_slack()
    learn_margin(clock)
    view = memoryview(mmap.mmap(shared, 16 * count)).cast("q")
    schedule, issued = view[:count].tolist(), view[count:]
    now, wait_until, write = clock.now, clock.wait_until, os.write
    os.write(1, b"r")
    zero = int.from_bytes(sys.stdin.buffer.read(8), "little")
    for index, instant in enumerate(schedule):
        wait_until(zero + instant)
        issued[index] = now()
        write(tokens, b".")
