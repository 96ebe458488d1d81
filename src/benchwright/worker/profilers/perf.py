"""Linux perf: samples native code. `perf.data`, and as text what other viewers open, for each window."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path
from typing import ClassVar

from benchwright.errors import MeasureError, OptionError
from benchwright.records import Case
from benchwright.worker.profilers import Profiler
from benchwright.worker.profilers.sidecar import Sidecar, program, reason

EVENT = "cpu-clock"  # counted by the kernel, so it is there on machines without hardware counters too
RATE = 499  # samples a second and core; not a divisor of anything periodic
SCRIPT_LIMIT = 100  # seconds for turning samples into text


class Perf(Profiler):
    """Sees the kernels and threads of frameworks, and the children that the worker starts in the window."""

    name: ClassVar[str] = "perf"
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    def __init__(self) -> None:
        self._sidecar: Sidecar | None = None
        self._pipes: tuple[int, ...] = ()
        self._stems: list[Path] = []

    @classmethod
    def check(cls, case: Case) -> None:
        if program("perf") is None:
            raise OptionError("profiler perf is not installed", remedy="apt install linux-perf, or linux-tools-generic")

    def start(self, stem: Path) -> None:
        """Returns when perf says that it counts, which takes it a moment."""
        control, ack = os.pipe(), os.pipe()
        self._pipes = (*control, *ack)
        command = [_perf(), "record", "-e", EVENT, "-F", str(RATE), "-g", "-p", str(os.getpid()), "-o", _data(stem)]
        command += ["--no-buildid", "--no-buildid-cache"]  # whose writing takes a second, and fills ~/.debug
        command += ["--delay=-1", f"--control=fd:{control[0]},{ack[1]}"]
        self._sidecar = Sidecar(command, passing=(control[0], ack[1]))
        os.write(control[1], b"enable\n")
        if not self._sidecar.wait_until(lambda: bool(select.select([ack[0]], [], [], 0)[0])):
            raise _unavailable_error(self._stop_sidecar())
        self._stems.append(stem)

    def stop(self) -> None:
        printed = self._stop_sidecar()
        if not Path(_data(self._stems[-1])).exists():
            raise _unavailable_error(printed)

    def finish(self) -> None:
        for stem in self._stems:
            _write_text(stem)

    def _stop_sidecar(self) -> str:
        """Ends perf and returns what it printed. Its exit status says nothing: it is that of the interrupt."""
        assert self._sidecar is not None
        _, printed = self._sidecar.interrupt()
        for fd in self._pipes:  # not before: it takes a control pipe that closes for an error
            os.close(fd)
        return printed


def _write_text(stem: Path) -> None:
    text = Path(f"{stem}.perf-script.txt")
    with text.open("wb") as file:
        command = [_perf(), "script", "--no-inline", "-i", _data(stem)]
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            timeout=SCRIPT_LIMIT,
            check=False,
        )
    if not text.stat().st_size:
        text.unlink()
        said = reason(ended.stderr.decode("utf-8", "replace"))
        raise MeasureError(f"unavailable: perf has no samples of {stem.name}: {said}", remedy="choose a longer window")


def _unavailable_error(printed: str) -> MeasureError:
    return MeasureError(
        f"unavailable: perf recorded nothing: {reason(printed)}",
        remedy="sudo sysctl kernel.perf_event_paranoid=1; in a container --cap-add PERFMON",
    )


def _data(stem: Path) -> str:
    return f"{stem}.perf.data"


def _perf() -> str:
    return program("perf") or "perf"
