"""py-spy: samples Python's stacks from outside the process. A speedscope file and a flame graph for each window."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import ClassVar

from benchwright.errors import MeasureError, NotInstalledError
from benchwright.records import Case
from benchwright.worker.profilers import Profiler
from benchwright.worker.profilers.flamegraph import from_speedscope
from benchwright.worker.profilers.sidecar import Sidecar, let_children_look, program, reason

RATE = 200  # samples a second
_BEGUN = "Sampling process"
_OWN_THREAD = '"benchwright-'  # how the names of an opener's threads begin
_REFUSED = ("permission denied", "operation not permitted", "requires root")
_ALLOW = "sudo sysctl kernel.yama.ptrace_scope=0; in a container --cap-add SYS_PTRACE; on macOS run with sudo"


class PySpy(Profiler):
    """Knows Python's functions whatever the framework; where Python waits for native code it shows who waits."""

    name: ClassVar[str] = "py-spy"
    requires: ClassVar[str] = "py-spy"
    module: ClassVar[str] = ""

    def __init__(self) -> None:
        self._children = False
        self._sidecar: Sidecar | None = None
        self._stems: list[Path] = []

    @classmethod
    def check(cls, case: Case) -> None:
        if program("py-spy") is None:
            raise NotInstalledError("profiler py-spy", cls.requires)

    def prepare(self, case: Case, folder: Path) -> Case:
        self._children = case.target.runtime in ("command", "task")  # what is measured is not this process
        return case

    def start(self, stem: Path) -> None:
        let_children_look()
        command = [program("py-spy") or "py-spy", "record", "--pid", str(os.getpid()), "--rate", str(RATE)]
        command += ["--format", "speedscope", "--output", str(_file(stem)), *(["--subprocesses"] * self._children)]
        sidecar = self._sidecar = Sidecar(command)
        if not sidecar.wait_until(lambda: _BEGUN in sidecar.read_output()):
            raise _sampling_error(sidecar.interrupt()[1])
        self._stems.append(stem)

    def stop(self) -> None:
        sidecar, self._sidecar = self._sidecar, None
        assert sidecar is not None
        status, printed = sidecar.interrupt()
        if status != 0:
            raise _sampling_error(printed)

    def finish(self) -> None:
        for stem in self._stems:
            if _file(stem).exists():  # if not, that was told when the window closed
                _complete(stem)


def _complete(stem: Path) -> None:
    """Takes out the threads that profile, and draws the flame graph."""
    profile = json.loads(_file(stem).read_bytes())
    profile["profiles"] = [each for each in profile["profiles"] if _OWN_THREAD not in each["name"]]
    _file(stem).write_text(json.dumps(profile), encoding="utf-8")
    if not any(each["samples"] for each in profile["profiles"]):
        raise MeasureError(f"{_file(stem).name} has no samples", remedy="choose a longer window")
    graph = from_speedscope(profile, f"{stem.name}: share of samples, {RATE} a second")
    Path(f"{stem}.flame.svg").write_text(graph, encoding="utf-8")


def _file(stem: Path) -> Path:
    return Path(f"{stem}.speedscope.json")


def _sampling_error(printed: str) -> MeasureError:
    if any(words in printed.lower() for words in _REFUSED):
        return MeasureError("py-spy may not look into the process", remedy=_ALLOW)
    return MeasureError(f"py-spy could not sample the process: {reason(printed)}", remedy="choose another --profiler")
