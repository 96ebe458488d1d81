"""`benchwright run --golden`: outputs out of tolerance are exit code 1, a request that cannot be met is 2."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchwright.errors import OptionError
from benchwright.records import Tolerance
from benchwright.workflows import arguments

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
QUICK = ("--samples", "3", "--warmup", "0", "--rounds", "1")


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


def _model(path: Path) -> None:
    """y = -x."""
    import onnx
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def test_outputs_are_kept_and_then_expected(benchwright: Benchwright, tmp_path: Path) -> None:
    _model(tmp_path / "m.onnx")
    kept = benchwright("run", "m.onnx", "--runtime", "onnxruntime", "--keep-outputs", *QUICK, "--json")
    assert kept.returncode == 0, kept.stderr
    (artifact,) = json.loads(kept.stdout)["data"]["results"][0]["artifacts"]
    assert (artifact["name"], artifact["kind"]) == ("outputs.npz", "arrays")

    golden = str(Path(artifact["path"]).parent)
    same = benchwright("run", "m.onnx", "--runtime", "openvino", "--golden", golden, *QUICK)
    assert same.returncode == 0, same.stderr
    assert "Answers of m.onnx: y within tolerance; largest error 0, relative 0; cosine 1" in same.stdout

    np.save(tmp_path / "off.npy", np.load(artifact["path"])["y"] * 1.01)
    wrong = benchwright(
        "run", "m.onnx", "--runtime", "onnxruntime", "--golden", "off.npy", *QUICK, "--report", "r.html"
    )
    assert wrong.returncode == 1
    assert "Warning objective-missed: output 'y': 4 of its 4 elements are too far off" in wrong.stdout
    assert "y out of tolerance; largest error" in wrong.stdout
    assert "out of tolerance: 4 of 4 elements" in (tmp_path / "r.html").read_text()


def test_a_request_that_cannot_be_met_is_refused(benchwright: Benchwright, tmp_path: Path) -> None:
    _model(tmp_path / "m.onnx")
    answer = benchwright("run", "m.onnx", "--golden", "nowhere.npz", *QUICK)
    assert answer.returncode == 2 and "--golden: there is no file nowhere.npz here" in answer.stderr
    assert not (tmp_path / ".benchwright").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3", Tolerance(relative=1e-3)),
        ("0.1, absolute=1e-5", Tolerance(relative=0.1, absolute=1e-5)),
        ("cosine=0.999,top=5", Tolerance(cosine=0.999, top=5)),
    ],
)
def test_a_tolerance_is_read(text: str, expected: Tolerance) -> None:
    assert arguments.tolerance(text) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "top=0", "top=1.5", "cosine=2", "absolut=1", "1,,2"])
def test_a_tolerance_that_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--tolerance"):
        arguments.tolerance(text)
