"""torch.profiler: a Chrome trace and a table of operators for each window."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from benchwright.errors import MeasureError
from benchwright.profilers import Profiler
from benchwright.profilers.operators import from_chrome_trace, table

MOST_TABULATED = 512 << 20  # bytes of a trace; a larger one takes too much memory to read


class TorchProfiler(Profiler):
    """Records the operators of every thread, because windows open on a thread that computes nothing itself."""

    name: ClassVar[str] = "torch"
    requires: ClassVar[str] = "torch"
    module: ClassVar[str] = "torch"

    def __init__(self) -> None:
        self._recordings: list[tuple[Path, Any]] = []

    def ready(self) -> None:
        """The first recording in a process takes a second, and the library wants it on the thread that loaded it."""
        first = _recording()
        first.start()
        first.stop()

    def start(self, stem: Path) -> None:
        self._recordings.append((stem, _recording()))
        self._recordings[-1][1].start()

    def stop(self) -> None:
        self._recordings[-1][1].stop()

    def finish(self) -> None:
        """Writing takes longer than a window may have to wait, so it is done at the end."""
        traces = [(stem, _exported(stem, recording)) for stem, recording in self._recordings]
        for stem, trace in traces:
            _tabulate(stem, trace)


def _exported(stem: Path, recording: Any) -> Path:
    trace = Path(f"{stem}.trace.json")
    recording.export_chrome_trace(str(trace))
    return trace


def _tabulate(stem: Path, trace: Path) -> None:
    if trace.stat().st_size > MOST_TABULATED:
        raise MeasureError(f"{trace.name} is too large for a table of its operators", remedy="profile a shorter window")
    operators = from_chrome_trace(trace, category="cpu_op")
    if not operators:
        raise MeasureError(
            f"{trace.name} has no operators: nothing in this process called torch in that window",
            remedy="choose a window in which calls are made, or another --profiler",
        )
    Path(f"{stem}.operators.txt").write_text(table(operators), encoding="utf-8")


def _recording() -> Any:
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import profile, supported_activities

    try:
        every_thread = _ExperimentalConfig(profile_all_threads=True)
    except TypeError:
        raise MeasureError(
            "this torch records only the thread that starts its profiler", remedy="install torch 2.6 or newer"
        ) from None
    return profile(activities=supported_activities(), experimental_config=every_thread)
