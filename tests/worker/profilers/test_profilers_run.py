"""`--profile` from the command line: files in the result, a pass of its own, and bad windows refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CommandLine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.serial
def test_a_run_lists_what_its_profilers_wrote(benchwright: CommandLine, tiny_model: Path) -> None:
    ended = benchwright(
        *("run", str(tiny_model), "--runtime", "onnxruntime", "--rounds", "1", "--duration", "0.1", "--json"),
        *("--profile", "0.1:0.3", "--profiler", "onnxruntime,py-spy"),
    )
    assert ended.returncode == 0, ended.stderr
    (result,) = json.loads(ended.stdout)["data"]["results"]
    kinds = {artifact["name"]: artifact["kind"] for artifact in result["artifacts"]}
    assert kinds["onnxruntime.0.1-0.3s.trace.json"] == "chrome trace"
    assert not any(warning["code"].startswith("profile") for warning in result["warnings"] if "onnx" in warning["seen"])
    trace = next(a["path"] for a in result["artifacts"] if a["name"].startswith("onnxruntime") and "trace" in a["name"])
    assert "Gemm" in Path(trace).read_text()
    assert "enable_profiling" not in result["case"]["target"].get("options", {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--profile", "10:5"), "'10:5' ends before it has begun"),
        (("--profile", "1:2", "--profiler", "torsh"), "did you mean 'torch'?"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_runs(
    options: tuple[str, ...], message: str, benchwright: CommandLine, tiny_model: Path, tmp_path: Path
) -> None:
    ended = benchwright("run", str(tiny_model), *options)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not (tmp_path / ".benchwright").exists()
