"""What the adapters do with the files of their libraries, where a library need not run for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import DecodeError, MeasureError
from benchwright.records import Case, Target
from benchwright.worker.profilers import onnxruntime
from benchwright.worker.profilers.onnxruntime import OnnxRuntimeProfiler
from benchwright.worker.profilers.sidecar import reason
from benchwright.worker.profilers.tensorflow import events_in


def test_onnxruntime_is_told_to_record_and_the_other_options_stay(tmp_path: Path) -> None:
    case = Case(name="m", target=Target(runtime="onnxruntime", uri="m.onnx", options={"intra_op_num_threads": 1}))
    options = OnnxRuntimeProfiler().prepare(case, tmp_path).target.options
    assert options["intra_op_num_threads"] == 1 and options["enable_profiling"] is True
    assert Path(str(options["profile_file_prefix"])).parent == tmp_path
    assert "enable_profiling" not in case.target.options


@pytest.mark.parametrize("clock", [0, 1])
def test_a_profile_is_cut_to_its_windows_whichever_clock_it_has(clock: int, tmp_path: Path) -> None:
    profiler = OnnxRuntimeProfiler()
    profiler.start(tmp_path / "o.1-2s")
    profiler.stop()
    origin = profiler._opened[0][clock] - 1_000_000
    profiler._closed[0] = tuple(reading + 2_000_000 for reading in profiler._opened[0])
    inside, outside = range(900, 3100, 100), [*range(0, 900, 100), *range(3100, 4000, 100)]
    profiler._write_windows(_uncut(tmp_path, sorted([*inside, *outside])), origin)
    trace = json.loads((tmp_path / "o.1-2s.trace.json").read_text())
    assert [event["ts"] for event in trace["traceEvents"]] == list(inside)


def test_a_window_without_nodes_leaves_no_file_and_is_told(tmp_path: Path) -> None:
    profiler = OnnxRuntimeProfiler()
    profiler.start(tmp_path / "o.1-2s")
    profiler.stop()
    with pytest.raises(MeasureError, match=r"o\.1-2s has no events"):
        profiler._write_windows(_uncut(tmp_path, [0, 100]), profiler._opened[0][0] - 10**9)
    assert not (tmp_path / "o.1-2s.trace.json").exists()


def test_a_session_that_was_full_before_the_window_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "MOST_EVENTS", 3)
    profiler = OnnxRuntimeProfiler()
    profiler.start(tmp_path / "o.1-2s")
    profiler.stop()
    with pytest.raises(MeasureError, match=r"keeps 3 events, and had them 0\.5 s after it was loaded") as caught:
        profiler._write_windows(_uncut(tmp_path, [0, 100, 500_000]), profiler._opened[0][0] - 10**9)
    assert "--rate" in caught.value.remedy


def test_events_are_counted_on_hosts_and_devices_alone() -> None:
    line = _field(4, b"event") + _field(4, b"event") + b"\x08\x07"  # two events, and the line's id
    space = (
        _field(1, b"\x08\x01" + _field(2, b"/host:CPU") + _field(3, line) + _field(3, line))
        + _field(1, _field(2, b"Task Environment") + _field(3, line))
        + _field(1, _field(2, b"/device:GPU:0") + _field(3, _field(4, bytes(300)) + b"\x11" + bytes(8)))
    )
    assert events_in(space) == 5
    assert events_in(b"") == 0
    for cut in (space[:-1], space[:1], space[: len(space) // 2]):
        with pytest.raises(DecodeError, match="byte"):
            events_in(cut)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Sampling\nError: it broke\nStack backtrace:\n 0: x", "it broke"),
        ("Error:\n\nAccess is limited.\nMore", "Access is limited."),
        ("one\ntwo\n", "two"),
        ("", "it said nothing"),
        ("Error:", "Error:"),
    ],
)
def test_the_reason_is_found_in_what_a_program_printed(printed: str, expected: str) -> None:
    assert reason(printed) == expected


def _uncut(folder: Path, instants: list[int]) -> Path:
    """A profile as a session writes it: events of a node, one on each line."""
    events: list[dict[str, Any]] = [
        {"cat": "Node", "ts": instant, "dur": 100, "tid": 1, "name": "n", "args": {"op_name": "Gemm"}}
        for instant in instants
    ]
    path = folder / "uncut.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    return path


def _field(number: int, data: bytes) -> bytes:
    size, encoded = len(data), b""
    while size > 127:
        encoded, size = encoded + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + encoded + bytes([size]) + data
