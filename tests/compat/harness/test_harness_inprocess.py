"""Frameworks that are libraries: the same entries as programs give."""

from __future__ import annotations

import contextlib
import json
from array import array
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from benchwright.compat.harness import inprocess
from benchwright.compat.harness.door import main
from benchwright.compat.harness.entries import entries
from benchwright.compat.harness.outcome import document
from benchwright.compat.harness.specs.plans import FileEntry, PlannedTest, Role
from benchwright.errors import TargetError
from benchwright.events import nobody
from benchwright.records import (
    Case,
    Environment,
    Estimate,
    Metric,
    Operator,
    Result,
    Run,
    Samples,
    Status,
    Target,
)


def _model(path: Path) -> None:
    """y = x + x, for any number of rows of four."""
    shape: list[str | int] = ["rows", 4]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"], name="twice")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def _lines(path: Path, *numbers: float) -> str:
    path.write_text("".join(f"{number}\n" for number in numbers), encoding="utf-8")
    return path.name


def test_delay_operators_and_error_in_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _model(tmp_path / "model.onnx")
    shapes = {"x": {"shapes": [[2, 4]], "type": "float"}}
    error = {
        "input_files": {"x": _lines(tmp_path / "x.txt", 1, 2, 3, 4)},
        "output_files": {"y": _lines(tmp_path / "y.txt", 2, 4, 6, 8.5)},
        "inputs": {"x": {"shapes": [[1, 4]], "type": "float"}},
    }
    common = {"identifier": "{ID}", "iter": 7, "warmup": 0}
    spec = {
        "model": {
            "name": "twice",
            "format": "onnx",
            "files": {"model": {"filename": "model.onnx", "location": "model.onnx"}},
        },
        "tests": [
            {**common, "metric": "delay", "inputs": shapes, "commands": {"onnxruntime": {"run_individual": "true"}}},
            {**common, "metric": "error", **error},
        ],
    }
    Path("spec.json").write_text(json.dumps(spec), encoding="utf-8")
    words = ["-b", "spec.json", "--framework", "onnxruntime", "--platform", "host", "--model_cache", "cache"]
    info = '{"treatment": {"commit": "abc", "commit_time": 0}, "control": {"commit": "base"}}'
    more = ["--info", info, "--simple_local_reporter", "out", "--cooldown=0"]

    assert main([*words, *more], lambda: contextlib.nullcontext(nobody)) == 0

    assert "--info.control is not run" in capsys.readouterr().err

    delay, compared = (json.loads(Path("out", name, "data.txt").read_text(encoding="utf-8")) for name in "01")
    latency = delay["NET latency"]
    assert (latency["type"], latency["metric"], latency["unit"], latency["num_runs"]) == ("NET", "latency", "us", 7)
    assert len(latency["values"]) == 7 and latency["summary"]["p50"] == sorted(latency["values"])[3]
    operator = delay["twice latency"]
    assert operator["unit"] == "us" and operator["values"][0] > 0 and "Add" in operator["info_string"]
    assert sorted(compared) == ["meta", "y"]  # the seed's error tests had no delay either
    assert compared["y"]["values"] == [2, 4, 6, 8] and compared["y"]["control_values"] == [2, 4, 6, 8.5]
    assert compared["y"]["diff_summary"]["p0"] == -0.5 and compared["y"]["diff_summary"]["p100"] == 0


def _test(tmp_path: Path, **more: Any) -> PlannedTest:
    given: dict[str, Any] = {
        "file": tmp_path / "spec.json",
        "place": "spec.json:3:5",
        "net": "n",
        "format": "onnx",
        "identifier": "0",
        "metric": "delay",
        "framework": "onnxruntime",
        "commands": (),
        "model": {},
        "test": {},
        "files": (FileEntry(key="files.model", filename="m.onnx", location="m.onnx", role=Role.MODEL),),
    }
    return PlannedTest(**{**given, **more})


def _placed(tmp_path: Path, name: str = "m.onnx") -> dict[str, Path]:
    path = tmp_path / name
    path.write_bytes(b"model")
    return {"files.model": path}


def test_shapes_and_types_become_inputs(tmp_path: Path) -> None:
    test = _test(
        tmp_path,
        shapes={"a": (64, 3), "b": (64, 2)},
        dtypes={"a": "float", "b": "int64_t"},
        iterations=50,
        warmup=1,
        timeout=20.0,
    )
    case = inprocess.case(test, _placed(tmp_path), {"test": "0"})
    assert case.inputs.batch_size == 64 and case.inputs.shapes == {"a": (64, 3), "b": (64, 2)}
    assert case.inputs.dtypes == {"a": "float32", "b": "int64"}
    assert (case.load.samples, case.load.warmup, case.load.timeout) == (50, None, 20.0)
    assert case.target.uri == str(tmp_path / "m.onnx") and case.version
    assert case.expected is None
    uneven = inprocess.case(_test(tmp_path, shapes={"a": (64, 3), "b": (1, 2)}), _placed(tmp_path), {})
    assert uneven.inputs.batch_size == 1 and uneven.load.samples == inprocess.USUAL_ITERATIONS


def test_a_model_that_the_library_does_not_load(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as caught:
        inprocess.case(_test(tmp_path), _placed(tmp_path, "predict_net.pb"), {})
    assert "predict_net.pb" in caught.value.message and ".onnx" in caught.value.remedy


@pytest.mark.parametrize("metric", ["accuracy", "power"])
def test_what_only_a_program_can_tell(tmp_path: Path, metric: str) -> None:
    with pytest.raises(TargetError, match=f"spec.json:3:5: metric {metric}"):
        inprocess.case(_test(tmp_path, metric=metric), _placed(tmp_path), {})


def test_error_needs_golden_files(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="output_files"):
        inprocess.case(_test(tmp_path, metric="error"), _placed(tmp_path), {})


def _result(**more: Any) -> Result:
    case = Case(name="m", target=Target(runtime="onnxruntime", uri="m.onnx"), params={"batch_size": 8})
    environment = Environment(machine={"cpu": "C"}, system={"os": "Linux", "host": "h"})
    usual: dict[str, Any] = {
        "id": "r-0",
        "case": case,
        "round": 0,
        "status": Status.OK,
        "environment": environment,
        "started_at": "2026-01-01T00:00:00+00:00",
        "duration": 1.0,
    }
    return Result(**{**usual, **more})


def _metric(name: str, point: float, unit: str = "s", **more: Any) -> Metric:
    return Metric(name=name, unit=unit, better=None, estimate=Estimate(point=point, low=None, high=None), **more)


class TestAnyResult:
    """`show --format harness` says what any of our results holds."""

    def test_calls_come_in_order_and_microseconds(self) -> None:
        columns = {"latency": array("q", [4000, 2000, 6000]), "end": array("q", [4000, 6000, 12000])}
        samples = Samples(copy=0, calls=6, loops=2, elapsed=12000, columns=columns)
        metrics = (_metric("latency_p50", 2e-6), _metric("throughput", 500.0, "/s"))
        found = entries(_result(samples=(samples,), metrics=metrics))
        assert found["NET latency"]["values"] == [2.0, 1.0, 3.0]
        assert found["NET throughput"] == {"type": "NET", "metric": "throughput", "unit": "/s", "values": [500.0]}
        assert list(found) == ["NET latency", "NET throughput"]

    def test_a_distribution_alone_gives_its_summary(self) -> None:
        metrics = (_metric("latency", 2e-3, count=10), _metric("latency_p90", 3e-3))
        found = entries(_result(metrics=metrics))["NET latency"]
        assert found["values"] == [] and found["num_runs"] == 10
        assert found["summary"] == pytest.approx({"mean": 2000, "p90": 3000})

    def test_large_outputs_give_their_errors_alone(self) -> None:
        answers = {"y": {"max_abs": 0.5, "mean_abs": 0.1}}
        found = entries(_result(details={"answers": answers}), metric="error")
        assert found["y max_abs_error"]["values"] == [0.5]

    def test_a_document_for_each_result_that_went_well(self) -> None:
        operators = (Operator(name="conv1", kind="Conv", seconds=7e-4, share=1.0),)
        told = {"NET latency": {"type": "NET", "metric": "latency", "unit": "us", "values": [3.0, 1.0]}}
        run = Run(
            id="r",
            started_at="2026-01-01T00:00:00+00:00",
            harness="1",
            command=("benchwright", "run", "m.onnx"),
            results=(_result(operators=operators), _result(details={"entries": told}), _result(status=Status.FAILED)),
        )
        first, second = json.loads(document(run))
        assert first["data"]["conv1 latency"]["values"] == [pytest.approx(700.0)]
        assert first["meta"]["platform"] == "Linux C" and first["meta"]["framework"] == "onnxruntime"
        assert first["meta"]["identifier"] == "batch_size=8" and first["meta"]["time"] == 1767225600.0
        assert second["data"]["NET latency"]["summary"]["p50"] == 2.0
