"""A profiler that is a program beside the worker: started for a window, interrupted at its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

WRITE_LIMIT = 60.0  # seconds it may take to write its file
ATTACH_LIMIT = 10.0  # seconds it may take to say that it has begun
_LOOK = 0.01
_SET_PTRACER = 0x59616D61
_ANYBODY = -1


def program(name: str) -> str | None:
    """The program's path: beside this Python, or on PATH."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return shutil.which(name, path=os.pathsep.join(places))


class Sidecar:
    """Runs `command`, with the file descriptors of `passing`; what it prints is kept for the message when it fails."""

    def __init__(self, command: Sequence[str], *, passing: Sequence[int] = ()) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            pass_fds=passing,
        )

    def wait_until(self, begun: Callable[[], bool]) -> bool:
        """Waits until it has begun; False when it has ended, or takes too long, before."""
        deadline = time.monotonic() + ATTACH_LIMIT
        while not begun():
            if time.monotonic() > deadline or self._process.poll() is not None:
                return begun()
            time.sleep(_LOOK)
        return True

    def read_output(self) -> str:
        """Returns what the profiler's program has printed so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode("utf-8", "replace")

    def interrupt(self) -> tuple[int, str]:
        """Tells it that the window is over; when it has written its file, its exit status and all it printed."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            status = self._process.wait(WRITE_LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        with self._output:
            return status, self.read_output()


def let_children_look() -> None:
    """Lets programs that this process starts look into it, which Linux by default allows only the other way round."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(_ANYBODY), 0, 0, 0)  # fails where it is not needed


def reason(printed: str) -> str:
    """The line of what a program printed that says why it failed: its error, or else the last."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.lower().startswith("error:"):
            return line[len("error:") :].strip() or " ".join(lines[number + 1 : number + 2]) or line
    return lines[-1] if lines else "it said nothing"
