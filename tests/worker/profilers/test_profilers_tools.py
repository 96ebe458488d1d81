"""Real profilers on real work: their files open, and what ran in the window is in them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import MeasureError
from benchwright.worker.profilers import sidecar
from benchwright.worker.profilers.pyspy import PySpy

WINDOWS = "0.2:0.5,0.8"
SECONDS = 1.2
SLACK = 10_000_000  # ns between two clocks of one machine

WORK = """
def busy():
    return sum(number * number for number in range(20_000))
"""


@pytest.mark.serial
def test_onnxruntime_traces_the_nodes_of_each_window(profiled: Callable[..., Any], tiny_model: Path) -> None:
    done = profiled("onnxruntime", str(tiny_model), (), WINDOWS, SECONDS)
    assert done.notes == []
    assert sorted(done.files) == [
        "onnxruntime.0.2-0.5s.operators.txt",
        "onnxruntime.0.2-0.5s.trace.json",
        "onnxruntime.0.8s-end.operators.txt",
        "onnxruntime.0.8s-end.trace.json",
    ]
    events = json.loads(done.files["onnxruntime.0.2-0.5s.trace.json"].read_bytes())["traceEvents"]
    operators = {event["args"]["op_name"] for event in events if event["cat"] == "Node"}
    assert "Gemm" in operators
    assert not any(event["name"] == "model_loading_uri" for event in events)
    span = max(event["ts"] + event["dur"] for event in events) - min(event["ts"] for event in events)
    later = json.loads(done.files["onnxruntime.0.8s-end.trace.json"].read_bytes())["traceEvents"]
    assert 0 < span < later[0]["ts"] - events[0]["ts"]  # the windows do not touch
    for operator in operators:
        assert operator in done.files["onnxruntime.0.2-0.5s.operators.txt"].read_text()


@pytest.mark.serial
def test_torch_traces_the_operators_of_the_thread_that_calls(profiled: Callable[..., Any], root: Path) -> None:
    model = root / "examples" / "torch_mlp.py"
    done = profiled("torch", f"{model}::Mlp", (), WINDOWS, SECONDS)
    assert done.notes == []
    assert sorted(done.files) == [
        "torch.0.2-0.5s.operators.txt",
        "torch.0.2-0.5s.trace.json",
        "torch.0.8s-end.operators.txt",
        "torch.0.8s-end.trace.json",
    ]
    trace = json.loads(done.files["torch.0.2-0.5s.trace.json"].read_bytes())
    instants = [
        trace["baseTimeNanoseconds"] + event["ts"] * 1000
        for event in trace["traceEvents"]
        if event.get("name") == "aten::linear"
    ]
    assert instants
    assert done.began + 200_000_000 - SLACK <= min(instants) <= max(instants) <= done.ended + SLACK
    assert "aten::addmm" in done.files["torch.0.2-0.5s.operators.txt"].read_text()


@pytest.mark.serial
def test_a_trace_without_operators_is_told(profiled: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(WORK)
    done = profiled("python", f"{tmp_path / 'work.py'}::busy", ("torch",), "0.1:0.2", 0.4)
    assert [note.code for note in done.notes] == ["profile-failed"]
    assert "torch.0.1-0.2s.trace.json has no operators" in done.notes[0].seen


def test_a_profile_without_samples_is_told(tmp_path: Path) -> None:
    own = {"type": "sampled", "name": 'Process 1 Thread 2 "benchwright-py-spy"', "samples": [[0]], "weights": [0.005]}
    written = {"profiles": [own], "shared": {"frames": [{"name": "wait"}]}}
    (tmp_path / "py-spy.1-2s.speedscope.json").write_text(json.dumps(written))
    profiler = PySpy()
    profiler._stems.append(tmp_path / "py-spy.1-2s")
    with pytest.raises(MeasureError, match=r"py-spy\.1-2s\.speedscope\.json has no samples"):
        profiler.finish()


@pytest.mark.serial
def test_py_spy_shows_the_function_that_was_measured(profiled: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(WORK)
    done = profiled("python", f"{tmp_path / 'work.py'}::busy", (), "0.2:2.2", 2.5)
    assert done.notes == []
    assert sorted(done.files) == ["py-spy.0.2-2.2s.flame.svg", "py-spy.0.2-2.2s.speedscope.json"]
    profile = json.loads(done.files["py-spy.0.2-2.2s.speedscope.json"].read_bytes())
    frames = {frame["name"] for frame in profile["shared"]["frames"]}
    assert "busy" in frames
    assert not any("benchwright-" in each["name"] for each in profile["profiles"])
    assert "busy (work.py)" in done.files["py-spy.0.2-2.2s.flame.svg"].read_text()


@pytest.mark.soak
@pytest.mark.serial
def test_py_spy_sees_the_python_program_that_a_command_starts(profiled: Callable[..., Any], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{WORK}\nfor _ in range(300):\n    busy()\n")
    done = profiled("command", f"{sys.executable} {program}", (), "0.1:3.1", 3.4)
    assert done.notes == []
    profile = json.loads(done.files["py-spy.0.1-3.1s.speedscope.json"].read_bytes())
    assert "busy" in {frame["name"] for frame in profile["shared"]["frames"]}


@pytest.mark.serial
def test_perf_samples_native_code_or_says_why_not(profiled: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(WORK)
    done = profiled("python", f"{tmp_path / 'work.py'}::busy", ("perf",), "0.2:1.7", 2.0)
    if done.notes:
        told = "unavailable: " if sidecar.program("perf") else "not installed"
        assert [told in note.seen for note in done.notes] == [True]
        assert done.notes[0].remedy
        return
    assert sorted(done.files) == ["perf.0.2-1.7s.perf-script.txt", "perf.0.2-1.7s.perf.data"]
    assert "cpu-clock" in done.files["perf.0.2-1.7s.perf-script.txt"].read_text()


@pytest.mark.serial
@pytest.mark.parametrize(
    ("tool", "printed", "seen", "remedy"),
    [
        ("py-spy", "Permission Denied: Try running again with elevated permissions", "may not look", "SYS_PTRACE"),
        (
            "py-spy",
            "Error: Failed to find python version\n\nStack backtrace:\n  0: x",
            "find python version",
            "another",
        ),
        ("perf", "Error:\nAccess to performance monitoring is limited.\nMore", "unavailable: .*is limited", "paranoid"),
    ],
)
def test_a_program_that_is_refused_leaves_a_note_with_the_remedy(
    tool: str,
    printed: str,
    seen: str,
    remedy: str,
    profiled: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in = tmp_path / "refused"
    stand_in.write_text(f"#!{sys.executable}\nimport sys\nsys.exit({printed!r})\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(f"benchwright.worker.profilers.{tool.replace('-', '')}.program", lambda name: str(stand_in))
    (tmp_path / "work.py").write_text(WORK)
    done = profiled("python", f"{tmp_path / 'work.py'}::busy", (tool,), "0:0.1", 0.5)
    assert [note.code for note in done.notes] == ["profile-failed"]
    assert re.search(seen, done.notes[0].seen)
    assert remedy in done.notes[0].remedy
    assert not any(path.suffix == ".svg" for path in done.files.values())
