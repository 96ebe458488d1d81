"""Specs become cases: one for each test, shape and runtime, with what was asked for before what is written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import DecodeError, FetchError, TargetError
from benchwright.events import Event, Noted
from benchwright.records import Case, Inputs, Load, Mode, Objective, Tolerance
from benchwright.targets.sources import Request, list_cases, plan
from benchwright.targets.specs import passes
from benchwright.targets.specs.places import to_yaml

SPEC: dict[str, Any] = {
    "benchwright": 1,
    "model": {
        "name": "net",
        "files": {
            "onnx": {"path": "net.onnx", "inputs": {"data": "data:0"}, "outputs": {"out": "out:0"}},
            "tflite": "net.tflite",
        },
        "inputs": {"data": {"shape": [1, 3, 8, 8], "type": "float32", "range": [-1, 1]}},
        "outputs": {"out": {"golden": "out.npy", "absolute": 0.01}},
    },
    "runtimes": {
        "onnxruntime": {"options": {"intra_op_num_threads": 1}},
        "openvino": {"inputs": {"data": "d"}},
        "litert": {},
    },
    "tests": [
        {"name": "delay", "shapes": {"data": [[1, 3, 8, 8], [4, 3, 16, 16]]}, "iterations": 50, "objective": "p99<1s"},
        {"name": "batches", "batch_sizes": [1, 8], "duration": "2s", "runtimes": ["litert"], "tags": ["big"]},
    ],
    "tags": ["vision"],
}


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("net.onnx", "net.tflite", "out.npy"):
        (tmp_path / name).write_bytes(name.encode())  # a source never looks inside
    return _write(tmp_path / "net.yaml", SPEC)


def test_the_matrix_of_tests_shapes_and_runtimes(spec: Path) -> None:
    cases = plan(Request(targets=["net.yaml"], tags=["nightly"]))
    rows = [(c.target.runtime, c.params.get("test"), c.params.get("shape"), c.inputs.batch_size) for c in cases]
    runtimes = ("onnxruntime", "openvino", "litert")
    assert rows == [
        *((runtime, "delay", "1x3x8x8", 1) for runtime in runtimes),
        *((runtime, "delay", "4x3x16x16", 4) for runtime in runtimes),
        ("litert", "batches", None, 1),
        ("litert", "batches", None, 8),
    ]
    assert {case.name for case in cases} == {"net"}, "files of other names are still the same model"
    first, last = cases[0], cases[-1]
    assert first.version == hashlib.sha256(b"net.onnx").hexdigest() and first.target.uri == str(
        spec.parent / "net.onnx"
    )
    assert first.target.options == {"intra_op_num_threads": 1} and cases[1].target.options == {}
    assert (first.load.samples, first.load.duration) == (50, None)
    assert first.load.objectives == (Objective(metric="latency_p99", relation="<", bound=1.0),)
    assert (last.load.samples, last.load.duration) == (None, 2.0)
    assert first.tags == ("vision", "nightly") and last.tags == ("vision", "big", "nightly")


def test_inputs_and_outputs_bear_the_names_that_each_runtime_knows(spec: Path) -> None:
    onnx, openvino, litert = plan(Request(targets=["net.yaml::delay"]))[:3]
    assert onnx.inputs.shapes == {"data:0": (1, 3, 8, 8)} and onnx.inputs.dtypes == {"data:0": "float32"}
    assert onnx.inputs.ranges == {"data:0": (-1.0, 1.0)} and onnx.inputs.names == {"data:0": "data"}
    assert openvino.inputs.names == {"d": "data"}, "the runtime's own name comes before the file's"
    assert litert.inputs.names == {} and list(litert.inputs.shapes) == ["data"]
    assert onnx.expected is not None and litert.expected is not None
    assert onnx.expected.names == {"out": "out:0"} and litert.expected.names == {}
    assert onnx.expected.tolerances == {"out": Tolerance(absolute=0.01)}
    assert onnx.expected.outputs == {"out": str(spec.parent / "out.npy")}


def test_golden_files_belong_to_the_models_own_shapes(spec: Path) -> None:
    compared = {_key(c): bool(c.expected and c.expected.outputs) for c in plan(Request(targets=["net.yaml"]))}
    assert [key for key, golden in compared.items() if not golden] == [
        *((runtime, "4x3x16x16", 4) for runtime in ("onnxruntime", "openvino", "litert")),
        ("litert", None, 8),
    ]
    assert [case.expected for case in plan(_with(spec, tests=[{"golden": False}]))] == [None, None, None]


def test_what_was_asked_for_comes_before_what_is_written(spec: Path) -> None:
    request = Request(
        targets=["net.yaml::delay"],
        runtimes=("openvino",),
        batch_sizes=(2, 16),
        workers=(1, 2),
        options={"reshape": False},
        inputs=Inputs(shapes={"data": (1, 3, 4, 4)}, seed=3, count=2),
        load=Load(duration=0.5, objectives=(Objective(metric="latency", relation="<", bound=2.0),)),
    )
    cases = plan(request)
    assert [(c.inputs.batch_size, c.load.workers) for c in cases] == [(2, 1), (2, 2), (16, 1), (16, 2)] * 2
    assert {(c.load.samples, c.load.duration) for c in cases} == {(None, 0.5)}
    assert cases[0].inputs.shapes == {"d": (1, 3, 4, 4)} and (cases[0].inputs.seed, cases[0].inputs.count) == (3, 2)
    assert cases[0].load.objectives[0].bound == 2.0 and cases[0].target.options == {"reshape": False}
    rated = plan(Request(targets=["net.yaml::delay"], runtimes=("litert",), rates=(5.0,)))
    assert {case.load.mode for case in rated} == {Mode.OPEN}


def test_a_batch_size_takes_the_place_of_the_shapes_leading_dimension(spec: Path) -> None:
    cases = plan(Request(targets=["net.yaml::delay"], runtimes=("litert",), batch_sizes=(2,)))
    assert [case.inputs.shapes["data"] for case in cases] == [(1, 3, 8, 8), (1, 3, 16, 16)]


def test_another_input_keeps_names_and_drops_ranges(spec: Path) -> None:
    (case, *_) = plan(Request(targets=["net.yaml"], inputs=Inputs(source="x.npz")))
    assert case.inputs.source == "x.npz" and not case.inputs.ranges and case.inputs.names == {"data:0": "data"}


def test_without_runtimes_each_file_is_measured_in_the_first_that_loads_it(spec: Path) -> None:
    cases = plan(_with(spec, runtimes={}, tests=[{}]))
    assert [case.target.runtime for case in cases] == ["onnxruntime", "litert"]
    assert "test" not in cases[0].params and "shape" not in cases[0].params


def test_a_runtime_that_is_not_named_takes_the_first_file_that_it_loads(spec: Path) -> None:
    cases = plan(_with(spec, runtimes={"litert": {}}, runtime=("openvino",), tests=[{}]))
    assert [case.target.uri for case in cases] == [str(spec.parent / "net.onnx")]
    assert cases[0].inputs.names == {"data:0": "data"}, "names belong to the file"


def test_a_runtime_without_a_file_is_an_error_of_one_spec_and_a_note_of_a_folder(spec: Path) -> None:
    with pytest.raises(TargetError, match="no file for torch"):
        plan(Request(targets=["net.yaml"], runtimes=("litert", "torch")))
    with pytest.raises(TargetError, match="no test is for onnxruntime"):
        plan(Request(targets=["net.yaml::batches"], runtimes=("onnxruntime",)))
    heard: list[Event] = []
    cases = plan(Request(targets=["./"], runtimes=("litert", "torch"), listener=heard.append))
    assert {case.target.runtime for case in cases} == {"litert"}
    (note,) = [event.text for event in heard if isinstance(event, Noted)]
    assert note.startswith("left out: net: no file for torch")
    with pytest.raises(TargetError, match="no spec in it can be measured"):
        plan(Request(targets=["./"], runtimes=("torch",)))


def test_a_folder_stands_for_every_spec_in_it(spec: Path) -> None:
    model = {"name": "other", "files": {"onnx": "../net.onnx"}}
    _write(spec.parent / "deep" / "b.json", {"benchwright": 1, "model": model})
    for name, text in (("x.yaml", "services: {}"), ("y.json", "{broken"), ("z.yml", "benchwrights: [")):
        (spec.parent / name).write_text(text, encoding="utf-8")
    _write(spec.parent / ".hidden" / "c.yaml", {"benchwright": 2})
    names = [case.name for case in plan(Request(targets=[f"{spec.parent}/"], runtimes=("onnxruntime",)))]
    assert names == ["other", "net", "net"], "by their paths, folders in it as well"
    pairs, _ = list_cases(Request(targets=["deep"], fetching=False))
    assert [case.name for case, _ in pairs] == ["other"], "a folder's bare name is no Python package"


def test_two_specs_of_one_model_on_one_command_line_are_refused(spec: Path) -> None:
    other = spec.with_name("other.yaml")
    other.write_text(spec.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DecodeError, match="has a spec already") as caught:
        plan(Request(targets=[str(spec), str(other)], runtimes=("onnxruntime",)))
    assert str(spec) in str(caught.value) and str(other) in str(caught.value)
    twice = [str(spec), f"{spec.parent}/./{spec.name}"]  # one file is no other
    assert plan(Request(targets=twice, runtimes=("onnxruntime",)))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("old.json", '{"model": {"name": "m"}, "tests": []}', "benchwright harness --benchmark_file"),
        ("bad.yaml", "benchwright: 1\nmodel: {name: [\n", "not YAML"),
        ("two.yaml", "benchwright: 1\nmodel: {name: net, files: {onnx: net.onnx}}\n", "has a spec already"),
        ("key.yaml", "benchwright: 1\nmodell: {}\n", "did you mean 'model'?"),
    ],
)
def test_what_is_wrong_in_a_folder_is_told_before_anything_runs(spec: Path, name: str, text: str, said: str) -> None:
    (spec.parent / name).write_text(text, encoding="utf-8")
    with pytest.raises(DecodeError) as caught:
        plan(Request(targets=["./"]))
    assert name in str(caught.value) and said in str(caught.value)


def test_files_are_verified_and_fetched_by_digest(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(spec.parent / "cache"))
    right = hashlib.sha256(b"net.onnx").hexdigest()
    url = (spec.parent / "net.onnx").as_uri()
    (case,) = plan(_with(spec, files={"onnx": {"url": url, "sha256": right}}, runtimes={}, tests=[{}]))
    assert case.version == right and "cache" in case.target.uri and case.target.uri.endswith("/net.onnx")
    wrong = "0" * 64
    with pytest.raises(FetchError) as caught:
        plan(_with(spec, files={"onnx": {"path": "net.onnx", "sha256": wrong}}, runtimes={}, tests=[{}]))
    assert caught.value.message.startswith(f"{spec}:") and right in str(caught.value) and wrong in str(caught.value)
    request = _with(
        spec, files={"onnx": {"url": "https://nobody.invalid/net.onnx", "sha256": wrong}}, runtimes={}, tests=[{}]
    )
    ((listed, _),), _ = list_cases(replace(request, fetching=False))
    assert listed.version == wrong, "a listing fetches nothing"
    with pytest.raises(FetchError, match=r"net\.yaml:\d+:\d+: there is no file .*gone\.onnx"):
        plan(_with(spec, files={"onnx": "gone.onnx"}, runtimes={}, tests=[{}]))


def test_a_program_gets_files_counts_and_shapes_as_words(spec: Path) -> None:
    (spec.parent / "run").write_bytes(b"program")
    command = "{program} --net {files.onnx} --n {iterations} --dims {shapes.data} --x {x}"
    runtimes = {"binary": {"program": "run", "command": command, "env": {"A": "1"}}}
    tests = [{"iterations": 7, "placeholders": {"x": True}, "timeout": 9, "batch_sizes": [2]}]
    (case,) = plan(_with(spec, runtimes=runtimes, tests=tests))
    assert (case.target.runtime, case.target.device, case.load.mode) == ("binary", "host", Mode.SINGLE)
    assert case.version == hashlib.sha256(b"program").hexdigest()
    work = passes.from_text(case.target.work)
    assert work.commands == (command,) and work.program == str(spec.parent / "run") and work.env == {"A": "1"}
    assert (work.files[0].key, work.files[0].path) == ("files.onnx", str(spec.parent / "net.onnx"))
    assert work.tokens["iterations"] == "7" and work.tokens["shapes.data"] == "2,3,8,8" and work.tokens["x"] == "true"
    assert (work.iterations, work.timeout) == (7, 9.0)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("net.yaml::", "names nothing after ::"),
        ("net.yaml::dealy", "did you mean 'delay'?"),
        ("nte.yaml", "did you mean 'net.yaml'?"),
        ("empty/", "a spec is a .yaml or .json file"),
        ("saved/", "name the model in it: benchwright run saved/saved_model.pb"),
    ],
)
def test_targets_that_lead_nowhere(spec: Path, target: str, said: str) -> None:
    (spec.parent / "empty").mkdir()
    (spec.parent / "saved").mkdir()
    (spec.parent / "saved" / "saved_model.pb").write_bytes(b"")
    with pytest.raises(TargetError) as caught:
        plan(Request(targets=[target]))
    assert said in str(caught.value)


def test_a_spec_takes_no_parameters(spec: Path) -> None:
    with pytest.raises(TargetError, match="no parameter 'size'"):
        plan(Request(targets=["net.yaml"], params={"size": [1]}))


def _key(case: Case) -> tuple[Any, ...]:
    return case.target.runtime, case.params.get("shape"), case.inputs.batch_size


def _write(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(to_yaml(value) if path.suffix == ".yaml" else json.dumps(value), encoding="utf-8")
    return path


def _with(spec: Path, *, runtime: tuple[str, ...] = (), files: Any = None, **changes: Any) -> Request:
    """A request for the spec with other sections."""
    model = {**SPEC["model"], **({"files": files} if files else {})}
    _write(spec, {**SPEC, "model": model, **changes})
    return Request(targets=[str(spec)], runtimes=runtime)
