"""What a model answers against what it must: matched, compared, judged, told and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright import plugins
from benchwright.records import Case, Expected, Failure, Inputs, Target, Tolerance
from benchwright.stats.errors import compare
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.inputs import array_files
from benchwright.worker.runtimes.outputs import answers, comparison, tensors
from benchwright.worker.runtimes.outputs.answers import KEPT, compare_answers

MakeCase = Callable[..., Case]
Y = np.array([[0.1, 0.25, 0.65]], np.float32)


def _case(expected: Expected | None, *, precision: str = "") -> Case:
    return Case(name="m", target=Target(runtime="mine", uri="m", precision=precision), expected=expected)


def _loaded(answer: Any, names: tuple[str, ...] = (), **more: Any) -> Loaded:
    given: dict[str, Any] = {"call": print, "infer": lambda *arrays: answer, "feed": {"x": np.ones(2, np.float32)}}
    return Loaded(**{**given, "details": {"outputs": dict.fromkeys(names, "")}, **more})


def _saved(folder: Path, name: str = "y.npy", array: Any = Y) -> str:
    np.save(folder / name, array)
    return str(folder / name)


def _told(report: Report, name: str) -> dict[str, Any]:
    whole: Any = report.details["answers"]
    json.dumps(whole, allow_nan=False)  # whatever it holds must go through the channel
    assert isinstance(whole[name], dict)
    return dict(whole[name])


def _points(report: Report) -> dict[str, float]:
    return {metric.name: metric.estimate.point for metric in report.metrics}


# ---- what is told ----


def test_one_output_within_tolerance(tmp_path: Path) -> None:
    found = Y + np.float32(1e-6)
    report = compare_answers(Report(), _loaded([found], ("y",)), _case(Expected(outputs={"y": _saved(tmp_path)})), "")
    assert report.failure is None and list(report.warnings) == []
    points = _points(report)
    assert points["error_max_abs"] == pytest.approx(1e-6, rel=0.1) and points["out_of_tolerance"] == 0
    assert points["top1"] == 1 and points["cosine"] == pytest.approx(1)
    told = _told(report, "y")
    assert (told["within"], told["shape"], told["dtype"], told["size"]) == (True, [1, 3], "float32", 3)
    assert told["values"] == pytest.approx(found.ravel().tolist()) and told["golden"] == pytest.approx(
        Y.ravel().tolist()
    )
    assert all(metric.estimate.method == comparison.COMPARED for metric in report.metrics)


def test_an_output_out_of_tolerance_is_a_missed_objective_that_names_the_worst_element(tmp_path: Path) -> None:
    found = np.array([[0.1, 0.2, 0.7]], np.float32)
    report = compare_answers(Report(), _loaded([found], ("y",)), _case(Expected(outputs={"y": _saved(tmp_path)})), "")
    (warning,) = report.warnings
    assert warning.code == answers.MISSED and warning.remedy
    assert (
        warning.seen
        == "output 'y': 2 of its 3 elements are too far off; the worst at [0, 1] is 0.2000000, expected 0.2500000"
    )
    told = _told(report, "y")
    assert (told["within"], told["off"], told["worst"]) == (False, 2, [0, 1])
    assert [told["worst_found"], told["worst_expected"]] == pytest.approx([0.2, 0.25])
    assert report.failure is None


def test_several_outputs_have_metrics_of_their_own(tmp_path: Path) -> None:
    files = {"a": _saved(tmp_path, "a.npy"), "b": _saved(tmp_path, "b.npy", Y * 2)}
    report = compare_answers(Report(), _loaded([Y, Y * 2 + 1], ("a", "b")), _case(Expected(outputs=files)), "")
    points = _points(report)
    assert points["error_max_abs.a"] == 0 and points["error_max_abs.b"] == pytest.approx(1)
    assert [_told(report, name)["within"] for name in "ab"] == [True, False]


def test_elements_are_told_one_by_one_while_there_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_LISTED", 4)
    files = {"a": _saved(tmp_path, "a.npy"), "b": _saved(tmp_path, "b.npy")}
    report = compare_answers(Report(), _loaded([Y, Y], ("a", "b")), _case(Expected(outputs=files)), "")
    assert "values" in _told(report, "a") and "values" not in _told(report, "b")


@pytest.mark.parametrize(
    ("tolerance", "within", "words"),
    [
        (Tolerance(absolute=0.06), True, ""),
        (Tolerance(absolute=0.04), False, "2 of its 3"),
        (Tolerance(relative=0.21), True, ""),
        (Tolerance(relative=0.1), False, "1 of its 3"),
        (Tolerance(absolute=0.06, cosine=0.9999), False, "cosine is 0.99"),
        (Tolerance(cosine=0.9), True, ""),
        (Tolerance(top=1), True, ""),
        (Tolerance(top=2), True, ""),
        (Tolerance(), None, ""),
    ],
)
def test_a_tolerance_judges_what_it_names(
    tmp_path: Path, tolerance: Tolerance, within: bool | None, words: str
) -> None:
    expected = Expected(outputs={"y": _saved(tmp_path)}, tolerances={"": Tolerance(absolute=0.0), "y": tolerance})
    report = compare_answers(Report(), _loaded([np.array([[0.1, 0.2, 0.7]], np.float32)]), _case(expected), "")
    assert _told(report, "y")["within"] is within
    assert [words in warning.seen for warning in report.warnings] == ([True] if words else [])


def test_other_largest_elements_are_told(tmp_path: Path) -> None:
    expected = Expected(outputs={"y": _saved(tmp_path)}, tolerances={"": Tolerance(top=2)})
    report = compare_answers(Report(), _loaded([np.array([[0.3, 0.1, 0.6]], np.float32)]), _case(expected), "")
    assert "2 largest elements are others" in report.warnings[0].seen and _points(report)["top2"] == 0


def test_a_nan_where_a_number_is_expected_is_out_of_any_tolerance(tmp_path: Path) -> None:
    expected = Expected(outputs={"y": _saved(tmp_path)}, tolerances={"": Tolerance(cosine=0.5)})
    report = compare_answers(Report(), _loaded([np.array([[0.1, np.nan, 0.65]], np.float32)]), _case(expected), "")
    told = _told(report, "y")
    assert (told["within"], told["off"], told["unlike"], told["worst_found"]) == (False, 1, 1, "nan")
    assert "1 of them no finite numbers" in report.warnings[0].seen


def test_answers_without_any_number_have_no_cosine(tmp_path: Path) -> None:
    expected = Expected(outputs={"y": _saved(tmp_path)}, tolerances={"": Tolerance(cosine=0.5)})
    report = compare_answers(Report(), _loaded([np.full((1, 3), np.nan, np.float32)]), _case(expected), "")
    told = _told(report, "y")
    assert (told["within"], told["unlike"], told["cosine"]) == (False, 3, None) and "cosine" not in _points(report)
    assert "it has no cosine" in report.warnings[0].seen


@pytest.mark.parametrize(
    ("dtype", "other", "precision", "off", "within"),
    [
        ("float32", "float32", "", 1e-4, True),
        ("float32", "float32", "", 1e-2, False),
        ("float64", "float32", "", 1e-4, True),
        ("float16", "float32", "", 1e-2, True),
        ("float16", "float32", "", 1e-1, False),
        ("float32", "float32", "fp16", 1e-2, True),
        ("float32", "float32", "bf16", 8e-2, True),
        ("int64", "int64", "", 1, False),
        ("uint8", "uint8", "", 1, True),
        ("uint8", "uint8", "", 2, False),
    ],
)
def test_the_usual_tolerance_goes_by_the_coarser_type(
    dtype: str, other: str, precision: str, off: float, within: bool
) -> None:
    expected = (np.ones(4) if "float" in other else np.full(4, 100)).astype(other)
    found = (expected + np.array(off, expected.dtype)).astype(dtype)
    usual = comparison.usual_tolerance(found, expected, precision)
    apart = compare(found, expected, absolute=usual.absolute or 0.0, relative=usual.relative or 0.0)
    assert (apart.off == 0) is within


def test_small_elements_may_have_the_error_of_large_ones() -> None:
    expected = np.array([1000.0, 1e-6], np.float32)
    usual = comparison.usual_tolerance(expected, expected)
    assert usual.absolute == pytest.approx(1e-4 * np.sqrt(1e6 / 2), rel=1e-6)
    assert comparison.usual_tolerance(np.zeros(2, np.float32), np.zeros(2, np.float32)).absolute == pytest.approx(1e-4)


# ---- which output is which ----


@pytest.mark.parametrize(
    ("wanted", "names", "own", "pairs"),
    [
        ({"a", "b"}, {}, ("b", "a"), {"a": "b.npy", "b": "a.npy"}),
        ({"a", "b"}, {"a": "x:1", "b": "x:0"}, ("x:0", "x:1"), {"a": "x:1", "b": "x:0"}),
        ({"a"}, {}, ("Identity",), {"a": "Identity"}),
        ({"a", "b"}, {}, ("p", "q"), {"a": "p", "b": "q"}),
        ({"a", "b"}, {}, ("b", "q"), {"a": "q", "b": "b"}),
        ({"b"}, {}, ("a", "b", "c"), {"b": "b"}),
        ({""}, {}, ("only",), {"only": "only"}),
    ],
)
def test_outputs_are_matched_by_mapping_then_name_then_place(
    tmp_path: Path, wanted: set[str], names: Mapping[str, str], own: tuple[str, ...], pairs: Mapping[str, str]
) -> None:
    files = {name: _saved(tmp_path) for name in sorted(wanted)}
    report = compare_answers(Report(), _loaded([Y] * len(own), own), _case(Expected(outputs=files, names=names)), "")
    assert report.failure is None
    for name, place in pairs.items():
        assert _told(report, name)["output"] == (place if not place.endswith(".npy") else name)


@pytest.mark.parametrize(
    ("expected", "own", "message"),
    [
        ({"outputs": ("a",), "names": {"a": "z"}}, ("y", "x"), "no output 'z' for 'a'"),
        ({"outputs": ("a",)}, ("y", "x"), "none is called 'a'"),
        ({"outputs": ("",)}, ("y", "x"), "is for one"),
        ({"outputs": ("y",), "inputs": {"nope": "n.npy"}}, ("y",), "no input 'nope'"),
        ({"outputs": ("y",), "file": "none.npy"}, ("y",), "No such file"),
    ],
)
def test_what_cannot_be_matched_or_read_is_a_failure(
    tmp_path: Path, expected: dict[str, Any], own: tuple[str, ...], message: str
) -> None:
    _saved(tmp_path)
    file = str(tmp_path / expected.pop("file", "y.npy"))
    asked = Expected(**{**expected, "outputs": dict.fromkeys(expected["outputs"], file)})
    report = compare_answers(Report(), _loaded([Y] * len(own), own), _case(asked), "")
    assert report.failure is not None and message in report.failure.message and report.failure.remedy


def test_another_shape_is_a_failure_and_the_other_outputs_are_compared_all_the_same(tmp_path: Path) -> None:
    files = {"a": _saved(tmp_path, "a.npy"), "b": _saved(tmp_path, "b.npy", Y[0])}
    report = compare_answers(Report(), _loaded([Y, Y], ("a", "b")), _case(Expected(outputs=files)), "")
    assert report.failure is not None and "output 'b' is 1x3, expected 3" in report.failure.message
    assert _told(report, "a")["within"] is True


def test_a_text_of_another_length_is_a_failure_and_not_a_shorter_comparison(tmp_path: Path) -> None:
    (tmp_path / "y.txt").write_text("0.1\n0.25\n0.65\n")
    asked = _case(Expected(outputs={"y": str(tmp_path / "y.txt")}))
    assert _told(compare_answers(Report(), _loaded([Y]), asked, ""), "y")["within"] is True
    report = compare_answers(Report(), _loaded([Y[:, :2]]), asked, "")
    assert report.failure is not None and "3 numbers; 1x2 takes 2" in report.failure.message
    assert "answers" not in report.details


# ---- asking ----


def test_inputs_come_from_files_in_the_shape_and_type_of_those_they_replace(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("3\n\n4\n")
    seen: list[Any] = []

    def infer(*arrays: Any) -> Any:
        seen.extend(arrays)
        return Y

    asked = Expected(outputs={"y": _saved(tmp_path)}, inputs={"b": str(tmp_path / "x.txt")})
    feed = {"a": np.zeros(1, np.int64), "b": np.zeros((2, 1), np.float32)}
    report = compare_answers(Report(), _loaded(None, ("y",), infer=infer, feed=feed), _case(asked), "")
    assert report.failure is None
    assert [(a.dtype, a.shape) for a in seen] == [(np.int64, (1,)), (np.float32, (2, 1))]
    assert seen[1].ravel().tolist() == [3, 4]


def test_a_model_that_fails_when_it_is_asked_is_a_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def infer(*arrays: Any) -> Any:
        raise RuntimeError("no such operator")

    report = compare_answers(Report(), _loaded(None, infer=infer), _case(Expected(outputs={"y": _saved(tmp_path)})), "")
    assert report.failure is not None and "no such operator" in report.failure.message
    assert "no such operator" in capfd.readouterr().err


def test_a_runtime_that_cannot_be_asked_says_so(tmp_path: Path) -> None:
    asked = _case(Expected(outputs={"y": _saved(tmp_path)}))
    for loaded in (_loaded(Y, infer=None), _loaded(Y, feed=None), _loaded(Y, is_async=True)):
        report = compare_answers(Report(), loaded, asked, "")
        assert [w.code for w in report.warnings] == ["answers"] and "mine cannot ask this model" in report.warnings[
            0
        ].seen


def test_nothing_is_asked_where_nothing_is_expected_or_all_is_lost() -> None:
    def infer(*arrays: Any) -> Any:
        raise AssertionError("asked")

    failed = Report(failure=Failure(kind="x", message="y"))
    assert compare_answers(Report(), _loaded(Y, infer=infer), _case(None), "") == Report()
    assert compare_answers(Report(), _loaded(Y, infer=infer), _case(Expected(names={"a": "b"})), "") == Report()
    assert compare_answers(failed, _loaded(Y, infer=infer), _case(Expected(keep=True)), "") is failed


def test_what_a_runtime_does_not_tell_of_its_outputs_is_told_from_the_answer(tmp_path: Path) -> None:
    report = compare_answers(Report(), _loaded({"logits": Y}), _case(Expected(keep=True)), str(tmp_path))
    assert report.details["outputs"] == {"logits": "float32[1x3]"}


# ---- keeping ----


def test_outputs_are_kept_under_the_names_that_are_expected(tmp_path: Path) -> None:
    own = ("model/dense:0", "file", "z")
    arrays = [Y, np.array(True), np.zeros((0, 2), np.int8)]
    asked = Expected(keep=True, names={"scores": "model/dense:0"})
    assert compare_answers(Report(), _loaded(arrays, own), _case(asked), str(tmp_path)).failure is None
    kept = tmp_path / KEPT
    assert array_files.names(kept) == ["scores", "file", "z"]
    with np.load(kept, allow_pickle=False) as content:
        assert content["scores"].tolist() == Y.tolist() and content["z"].shape == (0, 2)
    again = Expected(outputs={name: f"{kept}::{name}" for name in array_files.names(kept)}, names=asked.names)
    assert _told(compare_answers(Report(), _loaded(arrays, own), _case(again), ""), "scores")["max_abs"] == 0


def test_outputs_are_not_kept_without_bound_or_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = compare_answers(Report(), _loaded([Y], ("y",)), _case(Expected(keep=True)), "")
    assert "no folder" in nowhere.warnings[0].seen
    monkeypatch.setattr(answers, "MOST_KEPT", 8)
    large = compare_answers(Report(), _loaded([Y], ("y",)), _case(Expected(keep=True)), str(tmp_path))
    assert "more than the" in large.warnings[0].seen and not (tmp_path / KEPT).exists()


# ---- the runtimes themselves ----


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_runtime_gives_the_outputs_of_its_first_inputs_by_name(
    runtime: str, tiny: Path, make_case: MakeCase, tmp_path: Path
) -> None:
    case = make_case(runtime, tiny, inputs=Inputs(batch_size=2, count=2))
    _asked_twice(case, ["y"], tmp_path)


def test_torch_gives_tensors_of_any_precision(tmp_path: Path, make_case: MakeCase) -> None:
    source = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        return {"logits": self.layer(x), "hidden": (x, x + 1)}
"""
    (tmp_path / "net.py").write_text(source)
    shapes = Inputs(shapes={"x": (1, 4)})
    case = make_case("torch", f"{tmp_path}/net.py::Net", inputs=shapes, precision="bf16")
    _asked_twice(case, ["logits", "hidden.0", "hidden.1"], tmp_path)


def test_jax_gives_its_arrays(tmp_path: Path, make_case: MakeCase) -> None:
    (tmp_path / "fun.py").write_text("def both(x):\n    return x * 2, x + 1\n")
    case = make_case("jax", f"{tmp_path}/fun.py::both", inputs=Inputs(shapes={"x": (1, 4)}), precision="bf16")
    _asked_twice(case, ["0", "1"], tmp_path)


def _asked_twice(case: Case, names: list[str], folder: Path) -> None:
    """Keeps what a model answers, then expects just that, with its own first inputs given as files."""
    loaded = plugins.load("runtimes", case.target.runtime)().load(case)
    try:
        kept = compare_answers(Report(), loaded, replace(case, expected=Expected(keep=True)), str(folder))
        assert kept.failure is None and list(kept.warnings) == []
        assert array_files.names(folder / KEPT) == names
        first = {name: np.asarray(tensors.name_arrays(value, [])["output"]) for name, value in loaded.feed.items()}
        array_files.write(folder / "inputs.npz", {name: tensors.storable(array) for name, array in first.items()})
        expected = Expected(
            outputs={name: f"{folder / KEPT}::{name}" for name in names},
            inputs={name: f"{folder / 'inputs.npz'}::{name}" for name in first},
        )
        report = compare_answers(Report(), loaded, replace(case, expected=expected), "")
        assert report.failure is None
        assert [_told(report, name)["max_abs"] for name in names] == [0.0] * len(names)
    finally:
        loaded.close()
