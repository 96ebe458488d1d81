"""Model files become cases; what cannot be measured is told before anything runs."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import NotInstalledError, OptionError, TargetError
from benchwright.records import Inputs, Load, Mode
from benchwright.targets.sources import Request, plan


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"weights" * 1000)  # a source never looks inside
    return path


def test_defaults(model: Path) -> None:
    (case,) = plan(Request(targets=["model.onnx"], tags=["nightly"]))
    assert case.name == "model.onnx"
    assert case.target.runtime == "onnxruntime" and case.target.uri == str(model) and case.target.device == "cpu"
    assert case.params == {"runtime": "onnxruntime", "batch_size": 1, "workers": 1, "copies": 1}
    assert case.version == hashlib.sha256(model.read_bytes()).hexdigest()
    assert case.tags == ("nightly",)


def test_the_matrix_is_nested_in_the_documented_order(model: Path) -> None:
    request = Request(
        targets=["model.onnx"],
        runtimes=("onnxruntime", "openvino"),
        devices=("cpu", "cuda"),
        precisions=("", "fp16"),
        batch_sizes=(1, 8),
        workers=(1, 2),
        copies=(1, 4),
        rates=(None, 200.0),
        inputs=Inputs(seed=5),
        load=Load(duration=3.0),
    )
    cases = plan(request)
    assert len(cases) == 2**7
    rows = [
        (
            c.target.runtime,
            c.target.device,
            c.target.precision,
            c.inputs.batch_size,
            c.load.workers,
            c.load.copies,
            c.load.rate is not None,
        )
        for c in cases
    ]
    orders: list[list[Any]] = [
        ["onnxruntime", "openvino"],
        ["cpu", "cuda"],
        ["", "fp16"],
        [1, 8],
        [1, 2],
        [1, 4],
        [False, True],
    ]
    assert rows == sorted(rows, key=lambda row: [order.index(v) for order, v in zip(orders, row, strict=True)])
    last = cases[-1]
    assert last.params == {
        "runtime": "openvino",
        "device": "cuda",
        "precision": "fp16",
        "batch_size": 8,
        "workers": 2,
        "copies": 4,
        "rate": 200.0,
    }
    assert last.load.mode is Mode.OPEN and cases[0].load.mode is Mode.CLOSED
    assert last.load.duration == 3.0 and last.inputs.seed == 5


def test_duplicates_are_dropped(model: Path) -> None:
    request = Request(targets=["model.onnx", "./model.onnx"], batch_sizes=(1, 8, 1))
    assert [case.inputs.batch_size for case in plan(request)] == [1, 8]


def test_a_link_keeps_its_own_name(model: Path) -> None:
    blob = model.rename(model.with_name("blob"))
    model.symlink_to(blob)
    (case,) = plan(Request(targets=["model.onnx"]))
    assert case.name == "model.onnx" and case.target.uri == str(model)


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a/x", "b/x", "b/y"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "model.onnx").write_bytes(folder.encode())
    targets = [str(tmp_path / folder / "model.onnx") for folder in ("a/x", "b/x", "b/y")]
    names = [case.name for case in plan(Request(targets=targets, batch_sizes=(1, 2)))]
    assert names == ["a/x/model.onnx"] * 2 + ["b/x/model.onnx"] * 2 + ["y/model.onnx"] * 2


def test_options_with_a_runtime_in_front_are_for_it_alone(model: Path) -> None:
    options: dict[str, Any] = {"onnxruntime.intra_op_num_threads": 1, "openvino.NUM_STREAMS": 2, "session.x": "y"}
    first, second = plan(Request(targets=["model.onnx"], runtimes=("onnxruntime", "openvino"), options=options))
    assert first.target.options == {"intra_op_num_threads": 1, "session.x": "y"}
    assert second.target.options == {"NUM_STREAMS": 2, "session.x": "y"}


def test_the_version_covers_openvino_weights(model: Path) -> None:
    xml, weights = model.with_suffix(".xml"), model.with_suffix(".bin")
    xml.write_text("<net/>")
    weights.write_bytes(b"1")
    before = plan(Request(targets=["model.xml"]))[0]
    weights.write_bytes(b"2")
    assert before.target.runtime == "openvino"
    assert plan(Request(targets=["model.xml"]))[0].version != before.version


def test_the_default_runtime_is_the_first_that_is_installed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    gone = {"onnxruntime"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in gone else real(name))
    assert plan(Request(targets=["model.onnx"]))[0].target.runtime == "openvino"
    gone.add("openvino")
    with pytest.raises(NotInstalledError, match="pip install onnxruntime"):
        plan(Request(targets=["model.onnx"]))


def test_fake_targets() -> None:
    first, second = plan(Request(targets=["fake:constant?ms=5", "fake:uniform"], workers=(1,)))
    assert (first.name, first.target.runtime, first.target.uri) == ("fake:constant?ms=5", "fake", "fake:constant?ms=5")
    assert second.name == "fake:uniform"


@pytest.mark.parametrize(
    ("target", "runtimes", "message"),
    [
        ("modle.onnx", (), r"there is no file modle.onnx\n  did you mean 'model.onnx'\?"),
        ("far/model.onnx", (), "there is no folder .*far either"),
        ("model.bin", (), "no runtime loads model.bin: unknown ending '.bin'\n  known endings: .*onnx"),
        (
            "model.safetensors",
            (),
            "model.safetensors holds weights, .*\n  measure your code .* file.py::name",
        ),
        ("model.onnx", ("torch",), "torch does not load model.onnx\n  it loads .*pt2"),
        ("model.onnx", ("fake",), "fake does not load model.onnx\n  it loads no files"),
        ("fake:constant", ("torch",), "is for the runtime fake, not torch"),
        ("something", (), "'something' is not a target that is known here"),
        ("folder.d", (), "folder.d is a folder"),
    ],
)
def test_wrong_targets(target: str, runtimes: tuple[str, ...], message: str, model: Path) -> None:
    model.with_name("model.bin").write_bytes(b"")
    model.with_name("model.safetensors").write_bytes(b"")
    model.with_name("folder.d").mkdir()
    with pytest.raises(TargetError, match=message):
        plan(Request(targets=[target], runtimes=runtimes))


def test_an_unknown_runtime(model: Path) -> None:
    with pytest.raises(OptionError, match="did you mean 'openvino'"):
        plan(Request(targets=["model.onnx"], runtimes=("openvin",)))


def test_a_model_has_no_parameters(model: Path) -> None:
    with pytest.raises(TargetError, match=r"model\.onnx is a model and takes no parameter 'size'"):
        plan(Request(targets=["model.onnx"], params={"size": [1]}))


def test_nothing_to_measure() -> None:
    with pytest.raises(TargetError, match="nothing to measure"):
        plan(Request(targets=[]))
