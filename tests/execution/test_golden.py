"""Whose answers count: a runtime asked first, or files; and what the cases are told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchwright as bw
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.events import Ended, Event
from benchwright.execution import rounds
from benchwright.execution.golden import apply, is_runtime, outputs_at
from benchwright.execution.resume import EarlierResults
from benchwright.execution.rounds import Plan
from benchwright.records import Case, Environment, Expected, Load, Mode, Result, Run, Status, Target, Tolerance
from benchwright.report.columns import columns
from benchwright.targets import sources
from benchwright.targets.sources import GoldenRequest, Request
from benchwright.worker.runtimes.inputs.array_files import write

Y = np.zeros((1, 3), np.float32)
QUICK = Load(samples=3, warmup=0.0)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """x[batch, 4] -> exp(x) as `grown` and its sum over each row as `sum`: backends differ in the last digits."""
    return _grown(tmp_path / "model.onnx")


def _grown(path: Path, *, plus: float = 0.0) -> Path:
    import onnx
    from onnx import TensorProto, helper

    rows = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 4]) for n in ("x", "grown")]
    total = helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["batch", 1])
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    more = helper.make_tensor("more", TensorProto.FLOAT, [], [plus])
    nodes = [
        helper.make_node("Exp", ["x"], ["exp"]),
        helper.make_node("Add", ["exp", "more"], ["grown"]),
        helper.make_node("ReduceSum", ["exp", "axes"], ["sum"]),
    ]
    graph = helper.make_graph(nodes, "g", rows[:1], [rows[1], total], [axes, more])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, path)
    return path


def _case(expected: Expected | None = None, runtime: str = "openvino") -> Case:
    return Case(name="m", target=Target(runtime=runtime, uri="m.onnx"), params={"runtime": runtime}, expected=expected)


def _cases(*cases: Case, wanted: GoldenRequest) -> list[Case]:
    return list(apply(Plan(cases=cases), Request(targets=["m.onnx"]), wanted).cases)


# ---- where golden outputs lie ----


@pytest.mark.parametrize(
    ("text", "runtime"), [("torch", True), ("./torch", False), ("out.npz", False), ("outputs", False)]
)
def test_a_runtime_is_told_from_a_path(text: str, runtime: bool) -> None:
    Path("outputs").mkdir()
    Path("torch").mkdir()
    assert is_runtime(text) is runtime


def test_what_is_neither_names_the_runtime_that_may_be_meant() -> None:
    with pytest.raises(OptionError, match="did you mean 'onnxruntime'"):
        is_runtime("onnxruntme")


def test_outputs_are_found_in_archives_files_and_folders(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", {"p": Y, "q/r:0": Y})
    assert outputs_at(Path("a.npz")) == {"p": f"{tmp_path}/a.npz::p", "q/r:0": f"{tmp_path}/a.npz::q/r:0"}
    np.save("b.npy", Y)
    assert outputs_at(Path("b.npy")) == {"": f"{tmp_path}/b.npy"}
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(folder / "y.npy", Y)
    (folder / "z.txt").write_text("1\n")
    assert outputs_at(folder) == {"y": f"{folder}/y.npy", "z": f"{folder}/z.txt"}
    write(folder / "outputs.npz", {"p": Y})
    assert outputs_at(folder) == {"p": f"{folder}/outputs.npz::p"}


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_bytes(b"no archive")])
def test_outputs_that_are_not_there_are_refused_before_anything_runs(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "x.npz")
    with pytest.raises(OptionError, match="--golden"):
        _cases(_case(), wanted=GoldenRequest(source="x.npz"))


# ---- what cases are told ----


def test_files_replace_what_a_spec_expects_and_keep_its_names(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", {"p": Y})
    before = Expected(outputs={"p": "old.npy"}, names={"p": "own"}, tolerances={"p": Tolerance(cosine=0.9)})
    (case,) = _cases(_case(before), wanted=GoldenRequest(source="a.npz"))
    assert case.expected == Expected(
        outputs={"p": f"{tmp_path}/a.npz::p"}, names={"p": "own"}, tolerances={"p": Tolerance(cosine=0.9)}
    )
    (case,) = _cases(_case(before), wanted=GoldenRequest(tolerance=Tolerance(relative=0.1), keep=True))
    assert case.expected is not None and case.expected.keep and case.expected.outputs == {"p": "old.npy"}
    assert case.expected.tolerances == {"": Tolerance(relative=0.1)}


def test_a_tolerance_for_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match="nothing is compared"):
        _cases(_case(), wanted=GoldenRequest(tolerance=Tolerance(relative=0.1)))


def test_a_runtime_that_loads_nothing_of_it_is_refused(model: Path) -> None:
    with pytest.raises(OptionError, match="--golden litert: litert does not load model"):
        bw.run(model, runtime="openvino", golden="litert", load=QUICK, rounds=1, save=False)


def test_a_run_goes_on_whichever_outputs_it_is_compared_with() -> None:
    begun = Result(
        id="r-0",
        case=_case(Expected(outputs={"y": "old/outputs.npz::y"})),
        round=0,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at="",
        duration=0.0,
    )
    before = EarlierResults(Run(id="r", started_at="", harness="", results=(begun,)))
    assert before.has_numbers(_case(Expected(outputs={"y": "new/outputs.npz::y"})), 0)
    assert not before.has_numbers(_case(runtime="onnxruntime"), 0)


# ---- end to end ----


def test_one_backend_is_checked_against_another(model: Path) -> None:
    events: list[Event] = []
    run = bw.run(
        model,
        runtime=["onnxruntime", "openvino"],
        batch_size=3,
        workers=2,
        golden="onnxruntime",
        keep_outputs=True,
        load=QUICK,
        rounds=1,
        save=False,
        listener=events.append,
    )
    assert run.ok and sum(isinstance(event, Ended) for event in events) == 2
    reference, checked = run.results
    assert "answers" not in reference.details and [kept.name for kept in reference.artifacts] == ["outputs.npz"]
    told = checked.details["answers"]
    assert isinstance(told, dict) and list(told) == ["grown", "sum"]
    assert [told[name]["shape"] for name in told] == [[3, 4], [3, 1]]  # type: ignore[call-overload, index]
    assert checked.metric("out_of_tolerance.grown") is not None
    assert not any(warning.code == "objective-missed" for warning in checked.warnings)
    assert checked.case.expected is not None
    for file in checked.case.expected.outputs.values():
        assert ".benchwright/artifacts" in file and "golden-onnxruntime" in file
    assert "Answers of runtime=openvino: 2 outputs within tolerance; largest error " in str(run)
    assert [column.metric for column in columns(rows(run.record)) if "error" in column.metric] == []


def test_a_wrong_answer_is_caught_by_asking_another_runtime(tmp_path: Path, model: Path) -> None:
    _grown(tmp_path / "wrong.onnx", plus=0.125)
    spec = {
        "benchwright": 1,
        "model": {
            "name": "net",
            "files": {"right": "model.onnx", "wrong": "wrong.onnx"},
            "inputs": {"x": {"shape": [2, 4], "type": "float32"}},
        },
        "runtimes": {"onnxruntime": {"file": "right"}, "openvino": {"file": "wrong"}},
    }
    Path("net.json").write_text(json.dumps(spec), encoding="utf-8")
    run = bw.run("net.json", runtime="openvino", golden="onnxruntime", load=QUICK, rounds=1, save=False)
    told: Any = run.results[0].details["answers"]
    assert (told["grown"]["within"], told["grown"]["off"], told["sum"]["within"]) == (False, 8, True)
    apart = np.array(told["grown"]["values"]) - np.array(told["grown"]["golden"])
    assert apart == pytest.approx(np.full(8, 0.125), abs=1e-5) and told["grown"]["max_abs"] == pytest.approx(
        0.125, 1e-4
    )
    assert sum(told["grown"]["golden"]) == pytest.approx(sum(told["sum"]["golden"]), rel=1e-5)  # of the right model
    assert [w.code for w in run.results[0].warnings if "8 of its 8 elements are too far off" in w.seen] == [
        "objective-missed"
    ]
    assert "grown out of tolerance; largest error 0.125" in str(run)


def test_a_runtime_without_answers_says_so_before_anything_is_measured() -> None:
    with pytest.raises(OptionError, match="--golden fake: fake cannot ask this model for its answers"):
        bw.run("fake:constant?ms=1&clock=virtual", golden="fake", load=QUICK, rounds=1, save=False)


def test_a_backend_that_cannot_answer_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(OptionError, match="--golden onnxruntime: this runtime gave no answer for model"):
        bw.run("model.onnx", runtime="openvino", golden="onnxruntime", load=QUICK, rounds=1, save=False)


def test_the_reference_is_asked_once_for_each_thing_that_is_measured(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Case] = []

    def execute(plan: Plan, *rest: Any) -> Run:
        asked.extend(plan.cases)
        for case in plan.cases:
            assert plan.folder is not None
            folder = plan.folder(case, 0)
            folder.mkdir(parents=True)
            write(folder / "outputs.npz", {"grown": Y})
        return Run(id="", started_at="", harness="")

    monkeypatch.setattr(rounds, "execute", execute)
    request = Request(
        targets=[str(model)],
        runtimes=("openvino",),
        precisions=("fp16", "fp32"),
        batch_sizes=(1, 2),
        workers=(1, 4),
        rates=(None, 100.0),
    )
    plan = apply(Plan(cases=sources.plan(request)), request, GoldenRequest(source="openvino"))
    assert [(c.inputs.batch_size, c.target.precision, c.load.mode) for c in asked] == [
        (1, "", Mode.SINGLE),
        (2, "", Mode.SINGLE),
    ]
    assert len(plan.cases) == 16 and all(case.expected and case.expected.outputs for case in plan.cases)
    files = {(c.inputs.batch_size, c.expected.outputs["grown"]) for c in plan.cases if c.expected}
    assert len(files) == 2 and len({file for _, file in files}) == 2
