"""The instrument judges itself: what measuring cost, what the machine did, and what to do about it."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from benchwright.execution import instrument, metrics
from benchwright.execution.attempt import CopyAnswer
from benchwright.machine.monitors import Observation
from benchwright.records import (
    Case,
    Estimate,
    Load,
    Metric,
    Mode,
    Objective,
    ResultWarning,
    Samples,
    Target,
    Value,
)
from benchwright.stats import histogram

MS = 1_000_000


def _case(**load: Any) -> Case:
    return Case(name="c", target=Target(runtime="fake", uri="fake:"), load=Load(**load))


def _answer(latencies: list[int], **changed: Any) -> CopyAnswer:
    columns = {"latency": latencies, **changed.get("columns", {})}
    ends = [sum(latencies[: i + 1]) for i in range(len(latencies))] if len(latencies) < 500 else None
    if "scheduled" in columns:
        ends = [instant + latency for instant, latency in zip(columns["scheduled"], latencies, strict=True)]
    samples = Samples(
        copy=0,
        calls=changed.get("calls", len(latencies)),
        loops=changed.get("loops", 1),
        elapsed=changed.get("elapsed", sum(latencies)),
        columns={
            **{name: array("q", values) for name, values in columns.items()},
            "end": array("q", ends or range(MS, MS * (len(latencies) + 1), MS)),
        },
        histograms=changed.get("histograms", {}),
    )
    ready = {
        "clock": {"read": 50, "loop": changed.get("loop", 60), "resolution": 1},
        "oversleep": 70_000,
        "items_per_call": 1,
        "load_time": 0.1,
        "warnings": changed.get("warnings", []),
        "warmup": {
            "calls": 40,
            "elapsed": 50 * MS,
            "first": 2 * MS,
            "typical": changed.get("typical", float(MS)),
            "steady": changed.get("steady", True),
            "cut": 3,
            "reason": "level from the start",
        },
    }
    measured = {
        "gc_collections": changed.get("gc", 0),
        "probes": changed.get("probes", []),
        "rate": None,
        "packages": {},
        "details": {},
    }
    measured["warnings"] = changed.get("said", [])
    return CopyAnswer(samples=samples, ready=ready, measured=measured)


def _seen(cpu_others: float = 0.0, steal: float = 0.0) -> list[Metric]:
    return [
        Metric(name=name, unit="%", better=None, estimate=Estimate(point=value, low=None, high=None))
        for name, value in (("cpu_others", cpu_others), ("steal", steal))
    ]


def _judged(
    case: Case, answer: CopyAnswer, extra: list[Metric] | None = None
) -> tuple[dict[str, Value], list[ResultWarning]]:
    derived = [*metrics.derive(case, [answer]), *(_seen() if extra is None else extra)]
    told = instrument.facts(case, [answer], derived, Observation(unavailable={"gpu": "unavailable: none here"}))
    return told, instrument.warnings(case, [answer], derived, told)


def _codes(found: list[ResultWarning]) -> set[str]:
    assert all(warning.seen and warning.remedy for warning in found)
    return {warning.code for warning in found}


def test_what_measuring_cost_is_stated() -> None:
    told, found = _judged(_case(), _answer([MS] * 400, loops=4, calls=1600))
    assert told["clock_cost_ns"] == 50
    assert told["cost_per_call_ns"] == 15.0
    assert told["cost_taken_off_ns"] == 15.0
    assert told["wakeup_error_ns"] == 70_000
    assert _judged(_case(mode=Mode.SINGLE), _answer([MS]))[0]["wakeup_error_ns"] is None  # nobody tried to sleep
    assert told["loops"] == 4
    assert (told["recorded_calls"], told["folded_calls"]) == (1600, 0)
    assert told["bytes_per_call"] == 8
    assert told["gpu"] == "unavailable: none here"
    assert told["verdict"] == "trustworthy"
    assert _codes(found) == set()


def test_folded_calls_state_their_error() -> None:
    answer = _answer([MS] * 400, histograms={"latency": histogram.fold([MS] * 1000)}, calls=1000)
    told, _ = _judged(_case(), answer)
    assert told["folded_calls"] == 600
    assert told["histogram_error"] == 2.0**-10


@pytest.mark.parametrize(
    ("others", "steal", "verdict"),
    [
        (9.0, 0.5, "trustworthy"),
        (30.0, 0.0, "noisy: others took 30 % of a core"),
        (0.0, 2.0, "noisy: steal 2.0 %"),
        (90.0, 2.0, "unreliable: others took 90 % of a core, steal 2.0 %"),
        (0.0, 20.0, "unreliable: steal 20.0 %"),
    ],
)
def test_a_busy_machine_lowers_the_verdict(others: float, steal: float, verdict: str) -> None:
    told, found = _judged(_case(), _answer([MS] * 400), _seen(others, steal))
    assert told["verdict"] == verdict
    assert ("busy-machine" in _codes(found)) == (verdict != "trustworthy")


def test_a_machine_that_could_not_be_watched_is_no_noise() -> None:
    told, found = _judged(_case(), _answer([MS] * 400), [])
    assert told["cpu_others_percent"] is None
    assert told["verdict"] == "trustworthy"
    assert _codes(found) == set()


def test_a_step_within_the_measured_calls_is_seen() -> None:
    told, found = _judged(_case(), _answer([MS] * 300 + [2 * MS] * 60))
    assert told["steady"] is False
    assert "not steady" in str(told["verdict"])
    assert "drift" in _codes(found)


def test_calls_too_few_to_tell_are_not_said_to_drift() -> None:
    told, found = _judged(_case(), _answer([MS] * 19))
    assert told["steady"] is None
    assert told["verdict"] == "noisy: too few calls to tell whether it is steady"
    assert _codes(found) == {"few-samples"}


def test_a_warm_up_that_never_ended_is_warned_of_once() -> None:
    _, found = _judged(_case(), _answer([MS] * 300 + [2 * MS] * 60, steady=False))
    assert "never-steady" in _codes(found) and "drift" not in _codes(found)
    (warning,) = [w for w in found if w.code == "never-steady"]
    assert "40 warm-up calls" in warning.seen


def test_a_median_that_is_hardly_known_is_noisy() -> None:
    spread = [MS * (1 + (i * 37) % 30) for i in range(40)]
    told, _ = _judged(_case(), _answer(spread))
    assert "median known to ±" in str(told["verdict"])


def test_too_few_calls_for_a_percentile_are_named() -> None:
    _, found = _judged(_case(), _answer([MS] * 50))
    (warning,) = [w for w in found if w.code == "few-samples"]
    assert "p99 from 50 calls" in warning.seen


def _open(latency: int, service: int, lateness: int, count: int = 400, **changed: Any) -> CopyAnswer:
    columns = {
        "scheduled": [i * 10 * MS for i in range(count)],
        "service": [service] * count,
        "lateness": [lateness] * count,
    }
    return _answer([latency] * count, columns=columns, elapsed=count * 10 * MS, **changed)


def test_a_punctual_open_loop_is_trustworthy() -> None:
    told, found = _judged(_case(mode=Mode.OPEN, rate=100.0), _open(2 * MS, 2 * MS, 1000))
    assert told["intended_rate"] == told["delivered_rate"] == pytest.approx(100)
    assert told["bytes_per_call"] == 32  # latency, scheduled, service and lateness
    assert told["verdict"] == "trustworthy"
    assert _codes(found) == set()


def test_a_late_generator_and_an_overload_are_told_apart() -> None:
    _, late = _judged(_case(mode=Mode.OPEN, rate=100.0), _open(2 * MS, MS, MS))
    assert "late-generator" in _codes(late) and "overload" not in _codes(late)
    _, overload = _judged(_case(mode=Mode.OPEN, rate=100.0), _open(50 * MS, 2 * MS, 1000))
    assert "overload" in _codes(overload) and "late-generator" not in _codes(overload)


def test_a_search_that_finds_no_rate_says_what_it_tried() -> None:
    objectives = (
        Objective(metric="latency_p99", relation="<", bound=0.001),
        Objective(metric="latency_p97", relation="<", bound=0.09),  # which holds, and is not to blame
    )
    probes = [{"rate": rate, "meets": False} for rate in (400.0, 200.0, 100.0)]
    searched = _case(mode=Mode.OPEN, find_rate=True, objectives=objectives)
    _, found = _judged(searched, _open(50 * MS, 2 * MS, 1000, probes=probes))
    assert {"objective-missed", "overload"} == _codes(found)
    (missed,) = [warning for warning in found if warning.code == "objective-missed"]
    assert missed.seen == (
        "no rate meets the objective; tried 400/s, 200/s, 100/s. At the lowest, latency_p99 is 50.0 ms, not < 1.00 ms"
    )
    assert not any("find-rate" in warning.remedy or "--rate" in warning.remedy for warning in found)


def test_a_search_that_found_a_rate_has_missed_nothing() -> None:
    objectives = (Objective(metric="latency_p99", relation="<", bound=0.1),)
    answer = _open(50 * MS, 2 * MS, 1000, probes=[{"rate": 100.0, "meets": True}])
    answer.measured["rate"] = 100.0  # type: ignore[index]
    _, found = _judged(_case(mode=Mode.OPEN, find_rate=True, objectives=objectives), answer)
    assert _codes(found) == {"overload"}
    assert "find-rate" not in found[0].remedy


def test_the_time_it_takes_to_wake_a_worker_is_no_overload() -> None:
    _, found = _judged(_case(mode=Mode.OPEN, rate=100.0), _open(50_000, 2_000, 1000))
    assert _codes(found) == set()


def test_arrivals_that_were_not_delivered_are_unreliable() -> None:
    answer = _open(2 * MS, 2 * MS, 0)
    answer.samples.columns["lateness"][-1] = answer.samples.columns["latency"][-1] = 100 * MS
    answer.samples.columns["end"][-1] += 100 * MS
    told, found = _judged(_case(mode=Mode.OPEN, rate=100.0), answer)
    assert str(told["verdict"]).startswith("unreliable: arrivals were off by 2.4")
    assert "off-rate" in _codes(found)


@pytest.mark.parametrize(
    ("objective", "seen"),
    [
        (Objective(metric="latency_p99", relation="<", bound=0.002), ""),
        (Objective(metric="latency_p99", relation="<=", bound=0.001), ""),
        (Objective(metric="latency_p99", relation="<", bound=0.001), "latency_p99 is 1.00 ms, not < 1.00 ms"),
        (Objective(metric="throughput", relation=">", bound=2000.0), "throughput is 1.00 k/s, not > 2.00 k/s"),
        (Objective(metric="energy", relation="<", bound=1.0), "energy is not measured here"),
    ],
)
def test_an_objective_that_does_not_hold_is_a_warning(objective: Objective, seen: str) -> None:
    _, found = _judged(_case(objectives=(objective,)), _answer([MS] * 400, loop=0))
    assert [w.seen for w in found if w.code == instrument.OBJECTIVE_MISSED] == ([seen] if seen else [])


def test_an_objective_on_what_is_not_measured_names_what_is() -> None:
    misspelt = Objective(metric="latncy_p99", relation="<", bound=1.0)
    _, found = _judged(_case(objectives=(misspelt,)), _answer([MS] * 400, loop=0))
    (warning,) = (w for w in found if w.code == instrument.OBJECTIVE_MISSED)
    assert warning.remedy == "--objective: did you mean 'latency_p99'?"


@pytest.mark.parametrize(
    ("value", "least", "most", "seen"),
    [
        (5.0, 5.0, 5.0, []),  # equality holds
        (0.0, 0.0, None, []),
        (5.0, None, None, []),
        (80.0, 90.0, 99.0, ["acc is 80.0, below 90.0"]),
        (100.0, 90.0, 99.0, ["acc is 100, above 99.0"]),
    ],
)
def test_bounds_that_a_benchmark_set_itself_are_judged(
    value: float, least: float | None, most: float | None, seen: list[str]
) -> None:
    estimate = Estimate(point=value, low=None, high=None, method="reported")
    metric = Metric(name="acc", unit="", better=None, estimate=estimate, least=least, most=most)
    case, answers = _case(), [_answer([MS] * 400)]
    numbers = [*metrics.derive(case, answers), metric, *_seen()]
    found = instrument.warnings(case, answers, numbers, instrument.facts(case, answers, numbers, Observation()))
    assert [w.seen for w in found if w.code == instrument.OBJECTIVE_MISSED] == seen


def test_what_the_runtime_said_after_the_last_call_is_passed_on() -> None:
    told = {"code": "reported-nothing", "seen": "it told no numbers", "remedy": "call report"}
    _, found = _judged(_case(), _answer([MS] * 400, said=[told]))
    assert found == [ResultWarning(**told)]


def test_collections_during_the_measurement_are_warned_of() -> None:
    _, found = _judged(_case(), _answer([MS] * 400, gc=3))
    (warning,) = found
    assert warning.code == "gc-ran" and warning.seen.startswith("3 garbage collections")


def test_what_the_runtime_warned_of_is_passed_on_once() -> None:
    told = {"code": "fallback", "seen": "cuda is not there", "remedy": "install it"}
    _, found = _judged(_case(), _answer([MS] * 400, warnings=[told, told]))
    assert found == [ResultWarning(**told)]


@pytest.mark.parametrize(("slower", "warned"), [(1.0, False), (1.09, False), (1.3, True)])
def test_copies_that_lie_apart_are_warned_of(slower: float, warned: bool) -> None:
    case = _case(copies=2)
    answers = [_answer([MS] * 400), _answer([MS] * 400, elapsed=int(400 * MS * slower))]
    derived = metrics.derive(case, answers)
    told = instrument.facts(case, answers, [*derived, *_seen()], Observation())
    found = instrument.warnings(case, answers, derived, told)
    assert ("imbalance" in _codes(found)) is warned
    if warned:
        (warning,) = [w for w in found if w.code == "imbalance"]
        assert warning.seen == "the throughputs of the 2 copies lie 26 % apart"
        assert "--cpus" in warning.remedy and "--copies" in warning.remedy
