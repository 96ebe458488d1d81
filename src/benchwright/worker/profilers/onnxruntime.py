"""ONNX Runtime's own profile of every node: cut to the windows, or call by call.

A session records from the moment it is loaded until its profile is ended, and cannot be told to pause. So it records
throughout; when the timed phase is over, what lies outside the windows is dropped.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchwright.errors import MeasureError, OptionError
from benchwright.records import Case
from benchwright.worker.profilers import Profiler
from benchwright.worker.profilers.operator_pass import RecordedCalls
from benchwright.worker.profilers.operators import sum_by_name, table
from benchwright.worker.profilers.per_call import Spent, own_times
from benchwright.worker.runtimes import Loaded

MOST_EVENTS = 1_000_000  # a session keeps no more
_CLOCKS: tuple[Callable[[], int], ...] = (time.time_ns, time.perf_counter_ns)  # which one it reads: the platform says
_Instant = tuple[int, ...]  # one reading of each clock
_Event = dict[str, Any]


class OnnxRuntimeProfiler(Profiler):
    """A Chrome trace and a table of operators for each window."""

    name: ClassVar[str] = "onnxruntime"
    requires: ClassVar[str] = "onnxruntime"
    module: ClassVar[str] = "onnxruntime"

    def __init__(self) -> None:
        self._stems: list[Path] = []
        self._opened: list[_Instant] = []
        self._closed: list[_Instant] = []

    @classmethod
    def check(cls, case: Case) -> None:
        super().check(case)
        if case.target.runtime != "onnxruntime":
            raise OptionError(
                f"profiler onnxruntime sees what runtime onnxruntime does, not {case.target.runtime}",
                remedy="leave --profiler out, or choose py-spy",
            )

    def prepare(self, case: Case, folder: Path) -> Case:
        return _with_profiling(case, folder)

    def start(self, stem: Path) -> None:
        self._stems.append(stem)
        self._opened.append(_instant())

    def stop(self) -> None:
        self._closed.append(_instant())

    def finish(self) -> None:
        from benchwright.worker.runtimes.onnxruntime import recording_sessions

        for session in recording_sessions():
            origin = int(session.get_profiling_start_time_ns())
            uncut = Path(session.end_profiling())
            try:
                self._write_windows(uncut, origin)
            finally:
                uncut.unlink(missing_ok=True)

    def _write_windows(self, uncut: Path, origin: int) -> None:
        """Writes each window's events to a file of its own."""
        clock = _clock_of(origin)
        count, last = 0, 0.0
        with contextlib.ExitStack() as stack:
            spans = zip(self._stems, self._opened, self._closed, strict=True)
            cuts = [
                stack.enter_context(_ProfileWindow(stem, a[clock] - origin, b[clock] - origin)) for stem, a, b in spans
            ]
            for line in _lines(uncut):
                event = json.loads(line)
                count, last = count + 1, max(last, float(event["ts"]))
                for cut in cuts:
                    cut.offer(event, line)
        if count >= MOST_EVENTS and cuts and last < cuts[-1].end:
            raise MeasureError(
                f"a session keeps {MOST_EVENTS:,} events, and had them {last / 1e6:.1f} s after it was loaded",
                remedy="choose an earlier window, or make fewer calls: --rate 1000",
            )
        for cut in cuts:
            if not cut.kernels:
                raise MeasureError(f"{cut.stem.name} has no events", remedy="choose a window in which calls are made")


class _ProfileWindow:
    """The part of a profile that lies in one window, written as it is found: it may be large."""

    def __init__(self, stem: Path, begin: int, end: int) -> None:
        self.stem, self.begin, self.end = stem, begin / 1e3, end / 1e3  # as in the profile: us since its origin
        self.kernels: list[_Event] = []
        self._file = Path(f"{stem}.trace.json").open("w", encoding="utf-8")  # noqa: SIM115 - closed on exit
        self._separator = '{"displayTimeUnit": "ms", "traceEvents": [\n'

    def __enter__(self) -> _ProfileWindow:
        return self

    def offer(self, event: _Event, line: str) -> None:
        """Takes an event that overlaps the window; `line` is how the profile wrote it."""
        begin, duration = float(event["ts"]), float(event.get("dur", 0))
        if begin > self.end or begin + duration < self.begin:
            return
        self._file.write(self._separator + line)
        self._separator = ",\n"
        if operator := event.get("args", {}).get("op_name"):
            self.kernels.append({"name": operator, "ts": begin, "dur": duration, "tid": event.get("tid")})

    def __exit__(self, *failure: object) -> None:
        with self._file:
            self._file.write("\n]}\n" if self.kernels else "")
        if self.kernels:
            Path(f"{self.stem}.operators.txt").write_text(table(sum_by_name(self.kernels)), encoding="utf-8")
        else:
            Path(self._file.name).unlink()


class OnnxRuntimeOperators:
    """The nodes of each call, by the spans of the calls in the session's own profile."""

    name: ClassVar[str] = "onnxruntime"

    def prepare(self, case: Case, folder: Path) -> Case:
        """Has the session record from the start: it cannot begin later."""
        return _with_profiling(case, folder)

    def record(self, loaded: Loaded, calls: RecordedCalls) -> list[list[Spent]]:
        """Makes the calls and reads the end of the profile: what was before them is warm-up."""
        for call in calls:
            call()
        begins, nodes, count = _runs_and_nodes(Path(loaded.model.end_profiling()))
        if count >= MOST_EVENTS:
            raise MeasureError(
                f"a session keeps {MOST_EVENTS:,} events, and so many nodes made more",
                remedy="profile its first second instead: --profile 0:1",
            )
        recorded = begins[-len(calls.latencies) :]
        found: list[list[_Event]] = [[] for _ in recorded]
        for node in nodes:  # runs follow each other, so a node belongs to the last that had begun
            if (index := bisect.bisect_right(recorded, node["ts"]) - 1) >= 0:
                found[index].append(node)
        return [[_spent_in_node(event, own) for event, own in own_times(nodes)] for nodes in found]


def _runs_and_nodes(profile: Path) -> tuple[list[float], list[_Event], int]:
    """When each run of the model began, its nodes with what is needed of them, and how many events there are."""
    begins: list[float] = []
    nodes: list[_Event] = []
    count = 0
    for line in _lines(profile):
        event, count = json.loads(line), count + 1
        arguments = event.get("args", {})
        if event["name"] == "model_run":
            begins.append(float(event["ts"]))
        elif "op_name" in arguments:
            name = str(event["name"]).removesuffix("_kernel_time").strip()
            given = [shape for each in arguments.get("input_type_shape", ()) for shape in each.values()]
            nodes.append(
                {
                    **{key: event[key] for key in ("ts", "dur", "tid")},
                    "name": name or f"{arguments['op_name']}_{arguments.get('node_index', '')}",
                    "kind": arguments["op_name"],
                    "shapes": " ".join(f"[{'x'.join(map(str, shape))}]" for shape in given),
                }
            )
    return sorted(begins), nodes, count


def _spent_in_node(event: Mapping[str, Any], own: float) -> Spent:
    return Spent(name=event["name"], kind=event["kind"], shapes=event["shapes"], seconds=own / 1e6)


def _with_profiling(case: Case, folder: Path) -> Case:
    """The case with a session that records itself into `folder`."""
    prefix = str(folder / "onnxruntime.uncut")
    options = {**case.target.options, "enable_profiling": True, "profile_file_prefix": prefix}
    return replace(case, target=replace(case.target, options=options))


def _lines(path: Path) -> Iterator[str]:
    """The file's events one by one: it has one on each line."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            text = line.strip().rstrip(",")
            if text not in ("[", "]", ""):
                yield text


def _instant() -> _Instant:
    return tuple(clock() for clock in _CLOCKS)


def _clock_of(origin: int) -> int:
    """Which of the clocks an origin in the recent past was read from."""
    distances = [abs(reading - origin) for reading in _instant()]
    return distances.index(min(distances))
