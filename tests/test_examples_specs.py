"""The example of one real model on three backends, as its page tells it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.records import Run, Status

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]

RUNTIMES = ("onnxruntime", "openvino", "litert")
OUTPUTS = ("contour", "note", "onset")


@pytest.fixture
def folder(tmp_path: Path, root: Path) -> Path:
    folder = shutil.copytree(root / "examples" / "specs", tmp_path / "specs", ignore=shutil.ignore_patterns("models"))
    subprocess.run([sys.executable, str(folder / "prepare.py")], check=True, capture_output=True)
    return folder


@pytest.mark.soak
def test_one_spec_measures_compares_and_explains_a_real_model_on_three_backends(
    folder: Path, inside: Benchwright, tmp_path: Path
) -> None:
    environment = {**os.environ, "BENCHWRIGHT_CACHE": str(tmp_path / "cache")}
    checked = inside("spec", "check", "specs", env=environment)
    assert checked.returncode == 0, checked.stdout
    asked = ("--samples", "3", "--warmup", "0", "--rounds", "1", "--golden", "onnxruntime", "--operators", "--json")
    ended = inside("run", "specs/basic-pitch.yaml", *asked, env=environment)
    assert ended.returncode == 0, ended.stderr
    run = schema.open_document(json.loads(ended.stdout), Run)
    assert [result.case.target.runtime for result in run.results] == list(RUNTIMES)
    assert {(result.case.name, result.status) for result in run.results} == {("basic-pitch", Status.OK)}
    for result in run.results[1:]:
        answers = result.details["answers"]
        assert isinstance(answers, dict) and sorted(answers) == sorted(OUTPUTS)
        for output, width in zip(OUTPUTS, (264, 88, 88), strict=True):
            told = answers[output]
            assert isinstance(told, dict) and told["within"] is True and told["max_abs"] < 1e-4  # type: ignore[operator]
            assert "172" in str(told["shape"]) and str(width) in str(told["shape"])
    operators = {result.case.target.runtime: {each.kind for each in result.operators} for result in run.results}
    assert "Conv" in operators["onnxruntime"] and "Convolution" in operators["openvino"]
    assert any(warning.code == "operators" for warning in run.results[2].warnings), (
        "litert tells no times, and that is said"
    )
    listed = inside("operators", "--top", "3", env=environment)
    assert listed.returncode == 0 and "Conv" in listed.stdout
