"""The whole stack against a runtime whose truth is known: exact in virtual time, close in real time."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from benchwright.execution import rounds
from benchwright.records import Arrivals, Case, Load, Mode, Result, Scalar, Status, Target
from benchwright.worker.runtimes.fake import cycle, options_of, truth

pytestmark = pytest.mark.fresh  # as users measure

PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")

DISTRIBUTIONS: dict[str, dict[str, Scalar]] = {
    "constant": {"latency": "3ms"},
    "uniform": {"latency": "2ms", "sigma": 0.4, "period": 500},
    "lognormal": {"latency": "1ms", "sigma": 0.7, "period": 1000, "seed": 5},
    "bimodal": {"latency": "1ms", "slow": "25ms", "slow_share": 0.02, "period": 1000},
    "script": {"script": "1ms,2ms,3ms,4ms,50ms"},
    "stalls": {"distribution": "uniform", "latency": "1ms", "period": 500, "stall_every": 100, "stall": "80ms"},
}


def _case(name: str, options: dict[str, Scalar], load: Load) -> Case:
    whole: dict[str, Scalar] = {"distribution": name, "clock": "virtual", **options}
    return Case(name=name, target=Target(runtime="fake", uri="fake:", options=whole), load=load)


def _execute(*cases: Case, directory: Path) -> list[Result]:
    run = rounds.execute(rounds.Plan(cases=cases, rounds=1, monitors=(), directory=directory))
    assert [result.status for result in run.results] == [Status.OK] * len(cases), [r.error for r in run.results]
    return list(run.results)


def _point(result: Result, name: str) -> float:
    metric = result.metric(name)
    assert metric is not None, name
    return metric.estimate.point


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Two whole cycles of each distribution, measured by a real worker in virtual time."""
    cases = []
    for name, options in DISTRIBUTIONS.items():
        load = Load(samples=2 * len(cycle(options_of(f"fake:{name if name != 'stalls' else ''}", options))), warmup=0)
        cases.append(_case(name, options, load))
    return {result.case.name: result for result in _execute(*cases, directory=tmp_path_factory.mktemp("here"))}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_number_equals_the_truth_in_virtual_time(name: str, results: dict[str, Result]) -> None:
    result = results[name]
    true = truth(options_of("fake:", dict(result.case.target.options)))
    for percentile in PERCENTILES:
        assert _point(result, f"latency_{percentile}") == true[percentile] / 1e9
    assert _point(result, "latency_min") == true["min"] / 1e9
    assert _point(result, "latency_max") == true["max"] / 1e9
    assert _point(result, "latency") == pytest.approx(true["mean"] / 1e9, rel=1e-12)
    assert _point(result, "throughput") == pytest.approx(1e9 / true["mean"], rel=1e-12)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_interval_holds_its_point(name: str, results: dict[str, Result]) -> None:
    for metric in results[name].metrics:
        low, high = metric.estimate.low, metric.estimate.high
        assert (low is None) == (high is None)
        if low is not None and high is not None:
            assert low <= metric.estimate.point <= high, metric
            assert 0 < metric.estimate.confidence < 1


def test_the_interval_of_what_never_varies_has_no_width(results: dict[str, Result]) -> None:
    for name in ("latency", "latency_p50", "latency_p99"):
        metric = results["constant"].metric(name)
        assert metric is not None
        assert metric.estimate.low == metric.estimate.point == metric.estimate.high == 0.003


def test_raw_calls_arrive_as_they_were(results: dict[str, Result]) -> None:
    for result in results.values():
        values = cycle(options_of("fake:", dict(result.case.target.options)))
        (samples,) = result.samples
        expected = [values[(i + 1) % len(values)] for i in range(2 * len(values))]  # one call went before
        assert list(samples.columns["latency"]) == expected
        assert samples.columns["end"][-1] == samples.elapsed == sum(expected)


def test_a_long_run_keeps_its_error_below_the_stated_one(tmp_path: Path) -> None:
    """1.1 million calls: more than are kept raw, so percentiles come from a histogram that says how wrong it may be."""
    options: dict[str, Scalar] = {"latency": "1ms", "sigma": 0.7, "period": 10_000}
    (result,) = _execute(_case("lognormal", options, Load(samples=1_100_000, warmup=0)), directory=tmp_path)
    true = truth(options_of("fake:lognormal", options))
    error = result.instrument["histogram_error"]
    assert isinstance(error, float)
    assert error <= 0.001
    for percentile in PERCENTILES:
        assert _point(result, f"latency_{percentile}") == pytest.approx(true[percentile] / 1e9, rel=error)
    assert _point(result, "latency") == pytest.approx(true["mean"] / 1e9, rel=1e-12)  # sums are exact
    assert _point(result, "latency_min") == true["min"] / 1e9
    assert _point(result, "latency_max") == true["max"] / 1e9
    assert _point(result, "throughput") == pytest.approx(1e9 / true["mean"], rel=1e-12)
    assert result.instrument["recorded_calls"] == 1_000_000
    assert result.instrument["folded_calls"] == 100_000
    assert result.instrument["bytes_per_call"] == 8


def _queue(services: list[int], gap: int) -> list[int]:
    """Latencies at one server with evenly spaced arrivals, by the definition of a queue."""
    free, latencies = 0, []
    for i, service in enumerate(services):
        free = max(free, i * gap) + service
        latencies.append(free - i * gap)
    return latencies


def test_a_stall_shows_in_p99_of_an_open_loop_and_not_of_a_closed_one(tmp_path: Path) -> None:
    """100 calls a second of 1 ms each, of which one stalls for 500 ms: coordinated omission.

    By hand: after the stall the queue shrinks by 9 ms a call, 500, 491, ..., 5; so 56 of 900 calls wait. p99 is the
    call of rank 891, the tenth largest: 500 - 9 x 9 = 419 ms. In a closed loop one call is slow, and p99 is 1 ms.
    """
    options: dict[str, Scalar] = {"latency": "1ms", "stall_every": 500, "stall": "500ms"}
    load = Load(samples=900, warmup=0)
    at_rate = replace(load, mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=100.0)
    closed, opened = _execute(_case("constant", options, load), _case("constant", options, at_rate), directory=tmp_path)
    assert _point(closed, "latency_p99") == 0.001
    assert _point(closed, "latency_p99.9") == _point(closed, "latency_max") == 0.5
    assert _point(opened, "latency_p99") == 0.419
    assert _point(opened, "latency_p50") == 0.001
    assert _point(opened, "service_p99") == 0.001  # the server itself was slow once only
    assert _point(opened, "lateness_p99") == 0.0  # and none of it is the generator's
    services = [cycle(options_of("fake:", options))[(i + 1) % 500] for i in range(900)]
    waits = sorted(_queue(services, 10_000_000))
    assert sum(wait > 1_000_000 for wait in waits) == 56
    for percentile, q in (("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)):
        assert _point(opened, f"latency_{percentile}") == waits[ceil(q * 900) - 1] / 1e9


def test_an_open_loop_delivers_what_was_asked_in_virtual_time(tmp_path: Path) -> None:
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=250.0, duration=2.0, warmup=0)
    (result,) = _execute(_case("constant", {"latency": "2ms"}, load), directory=tmp_path)
    assert _point(result, "rate") == pytest.approx(250, rel=1e-9)
    assert _point(result, "throughput") == pytest.approx(250, rel=1e-9)
    assert _point(result, "service") == pytest.approx(0.002, rel=1e-12)
    assert result.instrument["intended_rate"] == result.instrument["delivered_rate"]


def test_items_count_in_the_throughput_and_not_in_the_latency(tmp_path: Path) -> None:
    case = _case("constant", {"latency": "4ms"}, Load(samples=100, warmup=0))
    (result,) = _execute(replace(case, inputs=replace(case.inputs, batch_size=8)), directory=tmp_path)
    assert _point(result, "latency_p50") == 0.004
    assert _point(result, "throughput") == pytest.approx(2000, rel=1e-12)


def test_the_highest_rate_is_found_to_within_three_percent(tmp_path: Path) -> None:
    from benchwright.workflows.arguments import objective

    load = Load(
        mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, find_rate=True, warmup=0, objectives=(objective("p99<20ms"),)
    )
    (result,) = _execute(_case("constant", {"latency": "4ms"}, load), directory=tmp_path)
    assert 250 * 0.97 <= _point(result, "max_rate") <= 251
    assert not [warning for warning in result.warnings if warning.code == "objective-missed"]


@pytest.mark.serial
@pytest.mark.parametrize("wait", ["spin", "sleep"])
def test_real_time_agrees_within_the_machines_noise(wait: str, tmp_path: Path) -> None:
    """A call never takes less than it says; what it takes more is small where the machine left it alone."""
    options: dict[str, Scalar] = {"latency": "2ms", "sigma": 0.5, "period": 100, "clock": "real", "wait": wait}
    case = _case("uniform", options, Load(samples=300, warmup=0))
    true = truth(options_of("fake:uniform", options))
    (result,) = _execute(case, directory=tmp_path)
    for name in PERCENTILES[:4]:
        assert _point(result, f"latency_{name}") >= true[name] / 1e9 * 0.999
    measured = sorted(result.samples[0].columns["latency"])
    undisturbed = sorted(3 * cycle(options_of("fake:uniform", options)))
    assert measured[0] == pytest.approx(undisturbed[0], rel=0.1)
    assert measured[30] == pytest.approx(undisturbed[30], rel=0.2)  # above that, other processes have their say
    assert _point(result, "throughput") == pytest.approx(1 / _point(result, "latency"), rel=0.02)


@pytest.mark.serial
def test_what_is_reported_for_nothing_at_all_is_next_to_nothing(tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("def nothing():\n    pass\n", encoding="utf-8")
    case = Case(
        name="nothing", target=Target(runtime="python", uri=f"{file}::nothing"), load=Load(samples=2000, warmup=0.1)
    )
    (result,) = _execute(case, directory=tmp_path)
    assert 0 <= _point(result, "latency_min") < 300e-9  # a Python call of nothing takes some 30 ns
    cost = result.instrument["cost_per_call_ns"]
    assert isinstance(cost, float)
    assert 0 < cost < 45
    loops = result.instrument["loops"]
    assert isinstance(loops, int)
    assert loops > 1
