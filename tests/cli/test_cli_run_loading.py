"""A model or inputs that cannot be loaded: one sentence with the path and what to do, and no traceback of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import make_model
from benchwright import schema
from benchwright.records import Failure, Run, Status

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = ("--rounds", "1", "--samples", "5", "--warmup", "0", "--no-save", "--json")


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


@pytest.fixture
def tiny(root: Path, tmp_path: Path) -> Path:
    import onnx

    path = tmp_path / "tiny.onnx"
    onnx.save(make_model.make("tiny"), str(path))
    return path


def _failure(ended: subprocess.CompletedProcess[str], status: Status = Status.FAILED) -> Failure:
    assert (ended.returncode, ended.stderr) == (1, "")
    (result,) = schema.loads(ended.stdout, Run, where="stdout").results
    assert result.status is status and result.error is not None
    assert "benchwright/" not in result.error.log_tail  # no line of a traceback of ours
    return result.error


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("size", [0, 3000])
def test_a_model_that_is_not_whole(runtime: str, size: int, tiny: Path, benchwright: Benchwright) -> None:
    tiny.write_bytes(tiny.read_bytes()[:size])
    failure = _failure(benchwright("run", "tiny.onnx", "--runtime", runtime, *QUICK))
    assert str(tiny) in failure.message and "\n" not in failure.message
    assert failure.remedy == "the file may be incomplete: copy it or export it again"
    assert bool(failure.log_tail) == bool(size)  # what the library said itself


def test_a_torchscript_file_that_was_cut_off(tmp_path: Path, benchwright: Benchwright) -> None:
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04" + bytes(500))
    failure = _failure(benchwright("run", "model.pt", "--shape", "1x8", *QUICK))
    assert failure.message.startswith(f"torch could not load {tmp_path / 'model.pt'}: ")
    assert failure.remedy == "the file may be incomplete: copy it or export it again"
    assert "RuntimeError" in failure.log_tail


def test_inputs_that_were_cut_off(tiny: Path, tmp_path: Path, benchwright: Benchwright) -> None:
    for name, save in (("x.npz", np.savez), ("x.npy", np.save)):
        path = tmp_path / name
        save(path, np.zeros((1, 256), dtype=np.float32))
        path.write_bytes(path.read_bytes()[:300])
        failure = _failure(benchwright("run", "tiny.onnx", "--input", name, *QUICK), Status.REFUSED)
        assert failure.message.startswith(f"inputs {name}: no arrays can be read from it: ")
        assert "numpy.save" in failure.remedy


@pytest.mark.parametrize("limit", ["60MB", "100MiB"])
def test_too_little_memory_to_load(limit: str, tiny: Path, benchwright: Benchwright) -> None:
    """The library itself cannot be imported then, and says so, or ends the process."""
    failure = _failure(benchwright("run", "tiny.onnx", "--memory-limit", limit, *QUICK))
    assert str(tiny) in failure.message
    assert "--memory-limit more" in failure.remedy
    assert failure.log_tail


def test_a_failing_call_shows_the_users_own_lines_alone(tmp_path: Path, benchwright: Benchwright) -> None:
    (tmp_path / "bench.py").write_text("def f():\n    raise ValueError('no weights')\n", encoding="utf-8")
    failure = _failure(benchwright("run", "bench.py::f", *QUICK))
    assert (failure.kind, failure.message) == ("ValueError", "no weights")
    lines = failure.log_tail.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line for line in lines if "File" in line] == [f'  File "{tmp_path / "bench.py"}", line 2, in f']
