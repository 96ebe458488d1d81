"""From recorded calls to operators: pure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchwright.records import Case, Expected, Load, Mode, Target
from benchwright.worker.profilers import operator_pass
from benchwright.worker.profilers.per_call import Spent, own_times, typical
from benchwright.worker.runtimes import Loaded, Report


def test_times_are_those_of_one_call_and_the_longest_come_first() -> None:
    call = [_spent("fc", "Gemm", 3.0), _spent("act", "Relu", 1.0), _spent("act", "Relu", 1.0)]
    gemm, relu = typical([call] * 10)
    assert (gemm.name, gemm.seconds, gemm.share, gemm.calls) == ("fc", 3.0, pytest.approx(0.6), 1.0)
    assert (relu.name, relu.seconds, relu.share, relu.calls) == ("act", 2.0, pytest.approx(0.4), 2.0)


def test_a_stalled_call_does_not_move_an_operator() -> None:
    calls = [[_spent("fc", "Gemm", 1.0)] for _ in range(9)] + [[_spent("fc", "Gemm", 1000.0)]]
    assert typical(calls)[0].seconds == 1.0


def test_a_clock_of_whole_microseconds_does_not_make_a_short_operator_vanish() -> None:
    calls = [[_spent("flat", "Reshape", float(i % 2))] for i in range(100)]
    assert typical(calls)[0].seconds == pytest.approx(0.5, abs=0.05)


def test_what_only_some_calls_execute_counts_as_much_as_they_are_many() -> None:
    calls = [[_spent("always", "Conv", 1.0)] + [_spent("branch", "Conv", 4.0)] * (i < 3) for i in range(10)]
    found = {operator.name: operator for operator in typical(calls)}
    assert (found["branch"].seconds, found["branch"].calls) == (pytest.approx(1.2), 0.3)


def test_the_same_node_with_other_shapes_is_another_operator() -> None:
    calls = [[_spent("fc", "Gemm", 1.0, shapes=f"[{i % 2}]")] for i in range(4)]
    assert sorted(operator.shapes for operator in typical(calls)) == ["[0]", "[1]"]


def test_nothing_recorded_is_no_operator_and_no_division_by_zero() -> None:
    assert typical([]) == []
    assert typical([[_spent("free", "Identity", 0.0)]])[0].share == 0.0


def test_time_of_nodes_within_a_loop_is_not_the_loops_own() -> None:
    events = [_event("Loop", 0, 100), _event("Add", 10, 30), _event("Mul", 50, 20), _event("Add", 5, 60, thread=2)]
    assert [(event["name"], own) for event, own in own_times(events)] == [
        ("Loop", 50.0),
        ("Add", 60.0),
        ("Add", 30.0),
        ("Mul", 20.0),
    ]


def test_the_pass_is_one_copy_and_one_worker_whatever_was_measured() -> None:
    load = Load(mode=Mode.OPEN, workers=4, copies=2, rate=100.0, duration=30.0, timeout=7.0, seed=3)
    case = Case(name="m", target=Target(runtime="onnxruntime", uri="m.onnx"), load=load, expected=Expected())
    of_pass = operator_pass.case_of(case)
    assert (of_pass.load.mode, of_pass.load.workers, of_pass.load.copies) == (Mode.CLOSED, 1, 1)
    assert (of_pass.load.samples, of_pass.load.timeout, of_pass.load.seed, of_pass.expected) == (1, 7.0, 3, None)


@pytest.mark.parametrize(
    ("runtime", "remedy"),
    [
        ("litert", "benchmark_model --enable_op_profiling"),
        ("tensorflow", "--profiler tensorflow"),
        ("fake", "openvino"),
    ],
)
def test_a_runtime_that_tells_no_times_is_refused_with_what_to_do_instead(runtime: str, remedy: str) -> None:
    refused = operator_pass.refusal(_case(runtime))
    assert refused is not None and refused.code == "operators"
    assert runtime in refused.seen and remedy in refused.remedy


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino", "torch", "jax", "python"])
def test_the_others_are_not_refused(runtime: str) -> None:
    assert operator_pass.refusal(_case(runtime)) is None


def test_recording_that_fails_is_a_note_beside_what_the_report_had(tmp_path: Path) -> None:
    def broken(*given: Any) -> None:
        raise RuntimeError("the device went away")

    session = operator_pass.Recording(_case("torch"), tmp_path)
    report = session.add_to(Report(details={"kept": 1}), Loaded(call=broken))
    assert (report.operators, report.details) == ((), {"kept": 1})
    assert [(w.code, w.seen) for w in report.warnings] == [("operators", "recording failed: the device went away")]


def test_calls_go_through_the_inputs_in_turn_and_are_counted() -> None:
    seen: list[int] = []
    calls = operator_pass.RecordedCalls(Loaded(call=seen.append, arguments=[(1,), (2,)]), most=7, seconds=60.0)
    for call in calls:
        call()
    assert (seen, len(calls.latencies)) == ([1, 2, 1, 2, 1, 2, 1], 7)


def test_slow_calls_end_early_but_not_before_there_are_a_few() -> None:
    calls = operator_pass.RecordedCalls(Loaded(call=lambda: None), seconds=-1.0)
    assert len(list(calls)) == operator_pass.FEWEST


def _case(runtime: str) -> Case:
    return Case(name="m", target=Target(runtime=runtime, uri="m"))


def _spent(name: str, kind: str, seconds: float, shapes: str = "") -> Spent:
    return Spent(name=name, kind=kind, seconds=seconds, shapes=shapes)


def _event(name: str, begin: float, duration: float, *, thread: int = 1) -> dict[str, Any]:
    return {"name": name, "ts": begin, "dur": duration, "tid": thread}
