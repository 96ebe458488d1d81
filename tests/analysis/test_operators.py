"""Operators of a run, and what changed between two."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sample_runs as samples
from benchwright.analysis.operator_changes import became_worse, check_in_common, compare_operators, match_operators
from benchwright.analysis.operators import OUTSIDE, by_family, by_kind, family, recorded_operators
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.records import Operator, Result, ResultWarning, Run, Status, Verdict
from benchwright.report import operator_picture
from benchwright.report.html import html_page
from benchwright.report.operator_text import cases_of, changes_json, run_json, show_cases, show_changes
from benchwright.report.table import emit, run_text

CASE = "runtime=onnxruntime batch_size=1"
LATENCY = 1.8e-3  # of that case, about
CONV, FC, RELU = 1.2e-3, 0.3e-3, 0.1e-3


def operators(conv: float = CONV, fc: float = FC, relu: float = RELU) -> tuple[Operator, ...]:
    """Three operators with their shares."""
    times = {("conv1", "Conv", "[1x3x8x8]"): conv, ("fc", "Gemm", "[1x64]"): fc, ("act", "Relu", "[1x64]"): relu}
    whole = sum(times.values())
    found = [Operator(name=n, kind=k, shapes=s, seconds=t, share=t / whole) for (n, k, s), t in times.items()]
    return tuple(sorted(found, key=lambda o: -o.seconds))


def with_operators(run: Run, found: Sequence[Operator], *, runtime: str = "onnxruntime", round: int = 0) -> Run:
    """The run whose case of one runtime and batch size 1 tells its operators in a round."""

    def told(result: Result) -> Result:
        wanted = result.case.target.runtime == runtime and result.case.inputs.batch_size == 1 and result.round == round
        about: dict[str, Any] = {"operator_pass": {"calls": 100, "latency": LATENCY}}
        return replace(result, operators=tuple(found), details=about) if wanted else result

    return replace(run, results=tuple(map(told, run.results)))


@pytest.fixture(scope="module")
def before(run: Run) -> Run:
    return with_operators(run, operators())


def after(found: Sequence[Operator], *, slower: float = 1.0) -> Run:
    return with_operators(samples.make_run("after", slower=slower, seed=8), found)


# ---- one run ----


def test_what_a_call_takes_beyond_its_operators_is_told(before: Run) -> None:
    (found,) = cases_of(before)
    assert found.total == pytest.approx(1.6e-3)
    assert found.latency is not None and found.outside == pytest.approx(found.latency - 1.6e-3)
    text = shown(lambda console: show_cases(console, [found]))
    assert "operators take 1.60 ms, from 100 recorded calls; median latency 1.8" in text
    assert f"{OUTSIDE} 199 µs (11 %)" in text and "conv1" in text and "75.0 %" in text


def test_operators_that_overlap_are_not_told_as_negative_time(run: Run) -> None:
    (found,) = cases_of(with_operators(run, operators(conv=5e-3)))
    text = shown(lambda console: show_cases(console, [found]))
    assert "beside each other" in text and "-" not in text.splitlines()[-1]


def test_a_recording_that_slowed_the_calls_says_so(run: Run) -> None:
    told = with_operators(run, operators())
    slow = [replace(r, details={"operator_pass": {"calls": 9, "latency": 2 * LATENCY}}) for r in told.results]
    assert "times as long as a measured one" in shown(
        lambda c: show_cases(c, cases_of(replace(told, results=tuple(slow))))
    )


def test_calls_that_were_measured_beside_others_say_so(run: Run) -> None:
    crowded = [replace(r, case=replace(r.case, load=replace(r.case.load, workers=2))) for r in run.results]
    text = shown(lambda c: show_cases(c, cases_of(with_operators(replace(run, results=tuple(crowded)), operators()))))
    assert "measured beside others and recorded alone" in text


def test_by_kind_adds_nodes_up_and_top_adds_the_rest_up(run: Run) -> None:
    twice = [*operators(), Operator(name="conv2", kind="Conv", seconds=0.4e-3, share=0.2, calls=2.0)]
    assert next((o.kind, round(o.seconds, 6), o.calls) for o in by_kind(twice)) == ("Conv", 1.6e-3, 3.0)
    (found,) = cases_of(with_operators(run, twice))
    kinds = shown(lambda console: show_cases(console, [found], by="kind")).splitlines()
    assert kinds[3].split()[:3] == ["Conv", "2", "1,600"]
    short = shown(lambda console: show_cases(console, [found], top=1))
    assert "3 more" in short and "fc" not in short
    both = shown(lambda console: show_cases(console, [found]))
    assert both.index("nodes") < both.index("operator ")  # the kinds come first
    assert "nodes" not in shown(lambda console: show_cases(console, [found], by="node"))
    (told,) = json.loads(run_json(with_operators(run, twice), [found]))["data"]["cases"]
    assert told["kinds"][0]["kind"] == "Conv" and len(told["operators"]) == len(twice)
    assert "3 more" not in shown(lambda console: show_cases(console, [found], top=0))


def test_json_has_every_number_in_seconds(before: Run) -> None:
    (case,) = json.loads(run_json(before, cases_of(before)))["data"]["cases"]
    assert case["runtime"] == "onnxruntime" and case["total"] == pytest.approx(1.6e-3)
    assert case["outside"] == pytest.approx(case["latency"] - case["total"])
    assert case["operators"][0]["name"] == "conv1" and case["recorded_calls"] == 100
    assert [
        o["kind"]
        for o in json.loads(run_json(before, cases_of(before), by="kind", top=1))["data"]["cases"][0]["operators"]
    ]


def test_several_rounds_give_the_middle_one_of_each_time(run: Run) -> None:
    told = run
    for number, conv in enumerate((1e-3, 9e-3, 2e-3)):
        told = with_operators(told, operators(conv=conv), round=number)
    found = recorded_operators(rows(told)[0])
    assert found is not None and found.operators[0].seconds == pytest.approx(2e-3)
    assert sum(o.share for o in found.operators) == pytest.approx(1.0)


def test_a_run_without_operators_is_refused_with_the_command_that_records_them(run: Run) -> None:
    with pytest.raises(OptionError, match=r"not recorded\n  record them: benchwright run model\.onnx .* --operators$"):
        cases_of(run)
    measured = replace(run, command=("benchwright", "run", "--", "./program", "-x"))
    with pytest.raises(OptionError, match=r"benchwright run --operators -- \./program -x$"):
        cases_of(measured)
    with pytest.raises(OptionError, match=r"set run_individual to true in the test$"):  # harness has no such flag
        cases_of(replace(run, command=("benchwright", "harness", "-b", "spec.json")))


def test_a_run_that_could_not_record_them_says_why(run: Run) -> None:
    told = ResultWarning(code="operators", seen="runtime litert does not tell", remedy="use openvino")
    warned = replace(run, results=tuple(replace(r, warnings=(told,)) for r in run.results))
    with pytest.raises(OptionError, match=r"runtime litert does not tell\n  use openvino"):
        cases_of(warned)


def test_a_case_that_is_not_there_is_refused_with_those_that_are(before: Run) -> None:
    with pytest.raises(OptionError, match=r"'tflite' in its name\n  its cases: model\.onnx runtime=onnxruntime"):
        cases_of(before, "tflite")


# ---- two runs ----


def test_operators_match_by_name_before_shapes() -> None:
    a = [_op("x", "Conv", "[1]"), _op("y", "Conv", "[1]"), _op("gone", "Relu")]
    b = [_op("y", "Conv", "[2]"), _op("x", "Conv", "[1]"), _op("new", "Tanh")]
    named = [(x and x.name, y and y.name) for x, y in match_operators(a, b)]
    assert named == [("x", "x"), ("y", "y"), ("gone", None), (None, "new")]


def test_operators_of_other_names_match_by_kind_and_shapes() -> None:
    pairs = match_operators([_op("conv_1", "Conv", "[1]"), _op("conv_2", "Conv", "[2]")], [_op("a", "Conv", "[2]")])
    assert [(x and x.name, y and y.name) for x, y in pairs] == [("conv_1", None), ("conv_2", "a")]


_OPERATORS = st.lists(
    st.builds(
        Operator,
        name=st.sampled_from("abc"),
        kind=st.sampled_from(["Conv", "Gemm"]),
        shapes=st.sampled_from(["[1]", "[2]"]),
        seconds=st.floats(0, 1),
        share=st.just(0.0),
    ),
    max_size=8,
)


@given(a=_OPERATORS, b=_OPERATORS)
def test_matching_loses_and_doubles_nothing(a: list[Operator], b: list[Operator]) -> None:
    pairs = match_operators(a, b)
    assert sorted(id(x) for x, _ in pairs if x) == sorted(map(id, a))
    assert sorted(id(y) for _, y in pairs if y) == sorted(map(id, b))
    assert all(x or y for x, y in pairs)
    alone = [x for x, y in pairs if y is None], [y for x, y in pairs if x is None]
    assert not {o.name for o in alone[0] if o} & {o.name for o in alone[1] if o}


def test_the_operator_behind_a_real_slowdown_is_named(before: Run) -> None:
    slower = after(operators(conv=CONV + 0.5e-3), slower=1.3)
    (case,) = compare_operators(before, slower)
    assert case.latency is not None and case.latency.verdict is Verdict.WORSE
    assert case.sentence.endswith("more: conv1 (Conv) +500 µs.") and became_worse([case])
    assert case.changes[0].name == "conv1" and case.changes[0].share == pytest.approx(0.5 / 0.54, rel=0.1)
    assert case.changes[-1].name == OUTSIDE
    assert sum(change.share or 0.0 for change in case.changes) == pytest.approx(1.0)


def test_a_real_improvement_names_what_was_removed(before: Run) -> None:
    kept = [o for o in operators() if o.name != "fc"]
    (case,) = compare_operators(before, after(kept, slower=0.83))
    assert "less: fc (Gemm) -300 µs (removed)." in case.sentence and not became_worse([case])
    assert next(change for change in case.changes if change.name == "fc").state == "removed"


def test_a_change_that_operators_do_not_explain_says_so(before: Run) -> None:
    (case,) = compare_operators(before, after(operators(conv=CONV + 2e-5), slower=1.3))
    assert "operators do not explain it: together they take +20.0 µs" in case.sentence
    assert "conv1" not in case.sentence


def test_a_latency_that_did_not_change_names_nobody(before: Run) -> None:
    (case,) = compare_operators(before, after(operators(conv=2 * CONV)), smallest=0.05)
    assert case.latency is not None and case.latency.verdict is Verdict.SAME
    assert "conv1" not in case.sentence and "mean nothing" in case.sentence
    assert all(change.share is None for change in case.changes)


def test_an_unclear_change_names_nobody(before: Run) -> None:
    one = after(operators(conv=2 * CONV), slower=1.05)
    alone = replace(one, results=tuple(r for r in one.results if r.round == 0))
    (case,) = compare_operators(replace(before, results=tuple(r for r in before.results if r.round == 0)), alone)
    assert case.latency is not None and case.latency.verdict is Verdict.UNCLEAR
    assert case.sentence.endswith("so no operator is named.")


def test_many_small_changes_are_counted_not_listed(before: Run) -> None:
    a = [_op(f"n{i}", "Conv", seconds=1e-4) for i in range(10)]
    b = [_op(f"n{i}", "Conv", seconds=1.5e-4) for i in range(10)]
    (case,) = compare_operators(with_operators(before, a), after(b, slower=1.3))
    assert case.sentence.count("+50.0 µs") == 3 and ", and 7 more, each with less." in case.sentence


def test_another_runtime_is_matched_by_what_operators_do(before: Run) -> None:
    openvino = [_op("c", "Convolution", seconds=2e-3), _op("r", "Reorder", seconds=1e-4), _op("y", "FullyConnected")]
    other = with_operators(samples.make_run("after", seed=8), openvino, runtime="openvino")
    (case,) = compare_operators(before, other)
    assert case.families
    states = {change.kind: change.state for change in case.changes if change.kind}
    assert states == {"convolution": "", "matrix product": "", "layout": "added", "activation": "removed"}
    assert "matched by what they do" in shown(lambda console: show_changes(console, [case]))


@pytest.mark.parametrize(
    ("kinds", "word"),
    [
        (("Conv", "Convolution", "aten::mkldnn_convolution", "CONV_2D"), "convolution"),
        (("Gemm", "FusedGemm", "MatMul", "aten::addmm", "FullyConnected", "FULLY_CONNECTED"), "matrix product"),
        (("Relu", "aten::clamp_min"), "activation"),
        (("LSTM",), "LSTM"),
        (("aten::batch_norm", "BatchNormalization"), "normalisation"),
    ],
)
def test_libraries_call_the_same_work_differently(kinds: tuple[str, ...], word: str) -> None:
    assert {family(kind) for kind in kinds} == {word}
    assert [o.kind for o in by_family([_op("x", kind) for kind in kinds])] == [word]


def test_runs_without_a_common_case_are_refused(before: Run) -> None:
    other = with_operators(samples.rename(samples.make_run("after"), ["other.onnx"]), operators())
    with pytest.raises(OptionError, match="nothing to compare"):
        check_in_common(compare_operators(before, other))


def test_the_table_of_changes_has_every_side(before: Run) -> None:
    slower = after([*operators(conv=CONV + 0.5e-3)[:2], _op("new", "Tanh", seconds=5e-5)], slower=1.3)
    cases = compare_operators(before, slower)
    text = shown(lambda console: show_changes(console, cases))
    assert "worse: " in text and "+500" in text and "added" in text and "removed" in text and OUTSIDE in text
    (case,) = json.loads(changes_json(before, slower, cases, smallest=0.01))["data"]["cases"]
    assert {o["name"]: o["state"] for o in case["operators"]}["new"] == "added"
    assert case["operators"][0]["difference"] == pytest.approx(0.5e-3)
    assert case["sentence"] == cases[0].sentence and case["latency"]["verdict"] == "worse"


def test_a_failed_side_has_no_latency_to_judge(before: Run) -> None:
    broken = after(operators())
    failed = tuple(replace(r, status=Status.FAILED) if r.round else r for r in broken.results)
    (case,) = compare_operators(before, replace(broken, results=failed))
    assert case.latency is not None  # one round is left
    none = tuple(replace(r, metrics=()) for r in broken.results)
    (case,) = compare_operators(before, replace(broken, results=none))
    assert case.latency is None and "no operator is named" in case.sentence and not became_worse([case])


# ---- pictures and reports ----


def test_the_picture_is_well_formed_and_as_wide_as_time(before: Run, tmp_path: Path) -> None:
    (found,) = cases_of(before)
    path = operator_picture.write_operators([found], tmp_path / "operators.svg")
    svg = ElementTree.fromstring(path.read_text())
    space = {"s": "http://www.w3.org/2000/svg"}
    tips = [t.text or "" for t in svg.iterfind(".//s:g/s:title", space)]
    assert any(tip.startswith("conv1\nConv\n[1x3x8x8]\n1.20 ms") for tip in tips)
    assert any(tip.startswith(OUTSIDE) for tip in tips)
    assert "prefers-color-scheme: dark" in path.read_text()
    boxes = list(operator_picture.boxes(found, {}))
    assert [box.level for box in boxes] == [0, 1, 2, 1, 2, 1, 2, 1]
    for level in (0, 1):
        assert sum(box.seconds for box in boxes if box.level == level) == pytest.approx(boxes[0].seconds)


def test_names_cannot_break_out_of_the_picture_or_the_page(run: Run, tmp_path: Path) -> None:
    bad = "</title><script>alert(1)</script>\x1b[31m"
    told = with_operators(run, [_op(bad, bad, bad, seconds=1e-3)])
    page = html_page([told])
    assert "<script>alert" not in page and "\x1b" not in page
    path = operator_picture.write_operators(cases_of(told), tmp_path / "operators.html")
    assert "<script" not in path.read_text()
    assert "\x1b" not in shown(lambda console: show_cases(console, cases_of(told)))


@pytest.mark.parametrize("ending", operator_picture.ENDINGS)
def test_every_ending_is_written(ending: str, before: Run, tmp_path: Path) -> None:
    path = tmp_path / f"operators{ending}"
    operator_picture.check_output(path, force=False)
    operator_picture.write_operators(cases_of(before), path)
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<svg ", b"<!doc")


def test_a_file_that_is_not_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.svg").write_text("<svg/>")
    with pytest.raises(OptionError, match="exists, and Benchwright did not write it"):
        operator_picture.check_output(tmp_path / "mine.svg", force=False)
    with pytest.raises(OptionError, match="is not a picture file"):
        operator_picture.check_output(tmp_path / "mine.gif", force=True)


def test_the_report_and_the_table_of_a_run_have_the_longest_ones(before: Run, run: Run) -> None:
    page = html_page([before])
    assert "The 3 slowest operators" in page and "conv1 (Conv) [1x3x8x8]" in page and "operators-0" in page
    assert "slowest operators" not in html_page([run])
    assert "operators take 1.60 ms" in run_text(before) and "operators take" not in run_text(run)


def _op(name: str, kind: str, shapes: str = "", *, seconds: float = 1e-4) -> Operator:
    return Operator(name=name, kind=kind, shapes=shapes, seconds=seconds, share=0.1)


def shown(show: object) -> str:
    out = io.StringIO()
    emit(out, show)  # type: ignore[arg-type]
    return out.getvalue()
