"""A timed phase with real profilers, in this process; and a profiler that only notes how it is called."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from benchwright import plugins
from benchwright.records import Case, Profile, ResultWarning, Target
from benchwright.worker.profilers import Profiler, Session, windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """What a timed phase left: the files by name, the notes, and when it lasted by the clock on the wall."""

    files: dict[str, Path]
    notes: list[ResultWarning]
    began: int
    ended: int


@pytest.fixture
def profiled(tmp_path: Path) -> Callable[..., Profiled]:
    """`profiled("torch", "net.py::Net", ("torch",), "0.1:0.3", 1.0)` loads, calls for so many seconds, and profiles."""

    def run(runtime: str, uri: str, tools: tuple[str, ...], times: str, seconds: float) -> Profiled:
        case = Case(name="measured", target=Target(runtime=runtime, uri=uri))
        folder = tmp_path / "profiles"
        session = Session(Profile(windows=windows(times), tools=tools), case, folder)
        loaded = plugins.load("runtimes", runtime)().load(session.case)
        session.ready()
        began, zero = time.time_ns(), time.perf_counter_ns()
        try:
            with session.during(zero, time.perf_counter_ns):
                while time.perf_counter_ns() < zero + seconds * 1e9:
                    loaded.call(*loaded.arguments[0])
                    time.sleep(0.001)  # traces stay small
                ended = time.time_ns()
        finally:
            loaded.close()
        files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return Profiled(files=files, notes=session.notes, began=began, ended=ended)

    return run


class Noting(Profiler):
    """Notes every call; raises where `failing` names the step."""

    name: ClassVar[str] = "noting"
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""
    calls: ClassVar[list[str]] = []
    failing: ClassVar[set[str]] = set()
    started: ClassVar[threading.Event] = threading.Event()
    stopped: ClassVar[threading.Event] = threading.Event()

    def ready(self) -> None:
        self._note("ready")

    def start(self, stem: Path) -> None:
        self._note("start", stem.name)
        self.started.set()

    def stop(self) -> None:
        self._note("stop")
        self.stopped.set()

    def finish(self) -> None:
        self._note("finish")

    def _note(self, step: str, more: str = "") -> None:
        self.calls.append(f"{step} {more}".strip())
        if step in self.failing:
            raise RuntimeError(f"{step} went wrong")


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch) -> type[Noting]:
    """The profiler `noting`, registered, with nothing noted yet."""
    monkeypatch.setitem(plugins.BUILTIN["profilers"], "noting", f"{Noting.__module__}:Noting")
    Noting.calls.clear()
    Noting.failing.clear()
    Noting.started.clear()
    Noting.stopped.clear()
    return Noting


@pytest.fixture(scope="session")
def tiny_model(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small ONNX model."""
    path = tmp_path_factory.mktemp("models") / "model.onnx"
    subprocess.run([sys.executable, root / "examples" / "make_model.py", "tiny", path], check=True)
    return path
