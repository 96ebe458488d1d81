"""TensorFlow's profiler in a window around real operators, in an environment of TensorFlow's own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchwright.worker.profilers.tensorflow import events_in

SCRIPT = """
import json, sys, time
from pathlib import Path

from benchwright.worker.profilers import Session, windows
from benchwright.records import Case, Profile, Target


def profiled(folder, times, seconds, call):
    case = Case(name="measured", target=Target(runtime="class", uri="package.module.Class.method"))
    session = Session(Profile(windows=windows(times)), case, folder)
    import tensorflow  # as loading the class does, after the session was made

    session.ready()
    zero = time.perf_counter_ns()
    with session.during(zero, time.perf_counter_ns):
        while time.perf_counter_ns() < zero + seconds * 1e9:
            call(tensorflow)
    return [note.seen for note in session.notes]


def multiply(tensorflow):
    square = tensorflow.ones((64, 64))
    tensorflow.nn.softplus(tensorflow.linalg.matmul(square, square))


folder = Path(sys.argv[1])
notes = {
    "busy": profiled(folder / "busy", "0.2:0.4,0.5:0.6", 1.0, multiply),
    "idle": profiled(folder / "idle", "0.1:0.2", 0.4, lambda tensorflow: time.sleep(0.01)),
}
print(json.dumps(notes))
"""


@pytest.fixture(scope="module")
def python(root: Path) -> str:
    """The interpreter that has TensorFlow."""
    found = os.environ.get("BENCHWRIGHT_TENSORFLOW_PYTHON") or str(root / ".venv-tensorflow" / "bin" / "python")
    assert Path(found).exists(), "TensorFlow has an environment of its own: make .venv-tensorflow/.ready"
    return found


@pytest.fixture(scope="module")
def done(python: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder with the traces, and the notes of a busy and of an idle phase."""
    folder = tmp_path_factory.mktemp("tensorflow")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run(
        [python, "-c", SCRIPT, str(folder)], capture_output=True, text=True, timeout=110, env=environment, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return folder, json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.serial
def test_each_window_is_a_run_that_tensorboard_lists_with_operators_in_it(done: tuple[Path, dict[str, Any]]) -> None:
    folder, notes = done
    assert notes["busy"] == []
    runs = sorted((folder / "busy" / "profiler_data" / "plugins" / "profile").iterdir())
    assert [run.name.split(".", 1)[1] for run in runs] == ["0.2-0.4s", "0.5-0.6s"]
    for run in runs:
        (trace,) = run.glob("*.xplane.pb")
        data = trace.read_bytes()
        assert events_in(data) > 0
        assert b"MatMul" in data and b"Softplus" in data


@pytest.mark.serial
def test_a_window_in_which_nothing_was_computed_is_told(done: tuple[Path, dict[str, Any]]) -> None:
    _, notes = done
    assert ["the trace of 0.1-0.2s has no events" in note for note in notes["idle"]] == [True]
