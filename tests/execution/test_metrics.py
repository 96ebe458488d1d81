"""From answers to metrics: pooled over copies, the loop's cost taken off, the right items counted."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

import pytest

from benchwright.execution import metrics
from benchwright.execution.attempt import CopyAnswer
from benchwright.records import Better, Case, Histogram, Load, Metric, Mode, Objective, Samples, Target
from benchwright.stats import histogram

MS = 1_000_000


def _case(**load: Any) -> Case:
    return Case(name="c", target=Target(runtime="fake", uri="fake:"), load=Load(**load))


def _answer(
    latencies: list[int],
    *,
    copy: int = 0,
    loops: int = 1,
    loop_cost: int = 0,
    items: int = 1,
    elapsed: int | None = None,
    begin: int = 0,
    histograms: dict[str, Histogram] | None = None,
    calls: int | None = None,
    **columns: list[int],
) -> CopyAnswer:
    """One copy whose calls followed each other from `begin` on."""
    ends, now = [], begin
    for latency in latencies:
        now += latency
        ends.append(now)
    if "scheduled" in columns:
        ends = [instant + latency for instant, latency in zip(columns["scheduled"], latencies, strict=True)]
    samples = Samples(
        copy=copy,
        calls=len(latencies) * loops if calls is None else calls,
        loops=loops,
        elapsed=sum(latencies) if elapsed is None else elapsed,
        columns={
            "latency": array("q", latencies),
            "end": array("q", ends),
            **{k: array("q", v) for k, v in columns.items()},
        },
        histograms=histograms or {},
    )
    ready = {
        "clock": {"read": 50, "loop": loop_cost, "resolution": 1},
        "items_per_call": items,
        "load_time": 0.25 + copy,
        "warmup": {"first": 7 * MS + copy, "elapsed": 90 * MS - copy, "calls": 9},
    }
    return CopyAnswer(samples=samples, ready=ready, measured={"rate": 123.0, "gc_collections": 0, "probes": []})


def _points(case: Case, *answers: CopyAnswer) -> dict[str, float]:
    return {metric.name: metric.estimate.point for metric in metrics.derive(case, answers)}


def test_percentiles_are_nearest_ranks_of_all_copies() -> None:
    points = _points(
        _case(), _answer([i * MS for i in range(1, 51)]), _answer([i * MS for i in range(51, 101)], copy=1)
    )
    assert points["latency_p50"] == 0.050
    assert points["latency_p90"] == 0.090
    assert points["latency_p99"] == 0.099
    assert points["latency_p99.9"] == points["latency_max"] == 0.100
    assert points["latency_min"] == 0.001
    assert points["latency"] == pytest.approx(0.0505)


def test_a_closed_case_has_exactly_these_metrics() -> None:
    derived = metrics.derive(_case(), [_answer([MS] * 10)])
    percentiles = ["latency_p50", "latency_p90", "latency_p95", "latency_p99", "latency_p99.9"]
    once = ["load_time", "first_call", "warmup_time"]
    assert [m.name for m in derived] == ["latency", *percentiles, "latency_min", "latency_max", "throughput", *once]
    assert {m.better for m in derived if m.name != "throughput"} == {Better.LOWER}
    assert {m.unit for m in derived if m.name != "throughput"} == {"s"}
    throughput = next(m for m in derived if m.name == "throughput")
    assert (throughput.unit, throughput.better) == ("/s", Better.HIGHER)


def test_throughput_counts_empty_time_items_and_copies() -> None:
    busy, idle = _answer([MS] * 100, items=8), _answer([MS] * 100, items=8, elapsed=400 * MS)
    assert _points(_case(), busy)["throughput"] == pytest.approx(8000)
    assert _points(_case(), idle)["throughput"] == pytest.approx(2000)
    assert _points(_case(), busy, idle)["throughput"] == pytest.approx(10_000)


def test_a_query_of_several_streams_counts_all_of_its_calls() -> None:
    case = _case(mode=Mode.MULTISTREAM, streams=4)
    points = _points(case, _answer([10 * MS] * 100, items=2))
    assert points["throughput"] == pytest.approx(800)
    assert points["latency_p50"] == 0.010


def test_looped_calls_are_divided_and_the_loops_cost_taken_off() -> None:
    points = _points(_case(), _answer([20_060] * 100, loops=100, loop_cost=60))
    assert points["latency_p50"] == points["latency_min"] == pytest.approx(200e-9)
    assert points["throughput"] == pytest.approx(1e9 / 200.6)  # what really was: nothing taken off


def test_a_call_cheaper_than_the_clock_takes_nothing_and_not_less() -> None:
    assert _points(_case(), _answer([40, 50, 60], loop_cost=55))["latency_min"] == 0.0


def test_a_steady_rate_has_a_narrow_interval_and_a_changing_one_a_wide_one() -> None:
    def relative_width(answer: CopyAnswer) -> float:
        (metric,) = [m for m in metrics.derive(_case(), [answer]) if m.name == "throughput"]
        assert metric.estimate.low is not None and metric.estimate.high is not None
        assert metric.estimate.low <= metric.estimate.point <= metric.estimate.high
        return (metric.estimate.high - metric.estimate.low) / metric.estimate.point

    assert relative_width(_answer([MS] * 2000)) < 0.01
    assert relative_width(_answer([MS] * 1000 + [4 * MS] * 1000)) > 0.2


def test_few_calls_give_a_rate_without_an_interval() -> None:
    (metric,) = [m for m in metrics.derive(_case(), [_answer([MS] * 10)]) if m.name == "throughput"]
    assert metric.estimate.low is None and metric.estimate.high is None


def test_what_happens_once_is_that_of_the_slowest_copy() -> None:
    points = _points(_case(), _answer([MS]), _answer([MS], copy=1))
    assert points["load_time"] == 1.25
    assert points["first_call"] == (7 * MS + 1) / 1e9
    assert points["warmup_time"] == 0.090


def test_an_open_loop_adds_service_lateness_and_rate() -> None:
    scheduled = [i * 10 * MS for i in range(100)]
    answer = _answer(
        [3 * MS] * 99 + [13 * MS],
        scheduled=scheduled,
        service=[2 * MS] * 100,
        lateness=[MS] * 99 + [11 * MS],
        elapsed=1000 * MS,
        loop_cost=500,
    )
    derived = metrics.derive(_case(mode=Mode.OPEN, rate=100.0), [answer])
    points = {m.name: m.estimate.point for m in derived}
    assert points["latency_p50"] == 0.003  # as it was: an open loop has no loop to take off
    assert points["service"] == pytest.approx(0.002)
    assert (points["service_p50"], points["service_p99"]) == (0.002, 0.002)
    assert (points["lateness_p50"], points["lateness_p99"]) == (0.001, 0.001)
    assert points["rate"] == pytest.approx(99 / 1.0)  # the worker began the last 10 ms late: 99 gaps in 1000 ms
    assert "lateness" not in points and "max_rate" not in points
    assert next(m for m in derived if m.name == "rate").better is None


def test_a_search_that_found_none_adds_no_rate() -> None:
    answer = _answer([MS] * 3, scheduled=[0, MS, 2 * MS], service=[MS] * 3, lateness=[0, 0, 0])
    none = replace(answer, measured={**answer.measured, "rate": None})
    assert "max_rate" not in _points(_case(mode=Mode.OPEN, find_rate=True), none)


def test_a_busy_worker_does_not_deliver_what_was_intended() -> None:
    """Arrivals every ms at a worker that takes 5 ms: the generator is punctual, the calls begin every 5 ms."""
    latencies = [5 * MS + 4 * MS * i for i in range(50)]
    answer = _answer(latencies, scheduled=[i * MS for i in range(50)], service=[5 * MS] * 50, lateness=[0] * 50)
    assert metrics.intended_rate(answer.samples, Load(samples=50)) == pytest.approx(1000)
    assert metrics.delivered_rate(answer.samples, Load(samples=50)) == pytest.approx(200)
    assert metrics.delivered_rate(answer.samples, Load(samples=50, workers=2)) == pytest.approx(1000)


def test_asked_drawn_and_delivered_rates_are_of_the_stretch_that_throughput_is_of() -> None:
    """Four arrivals in the first half of a second: the draw holds four a second, not the eight of its first half."""
    scheduled = [125 * MS * i for i in range(4)]
    load = Load(mode=Mode.OPEN, rate=5.0, duration=1.0)
    first_late = _answer([3 * MS, MS, MS, MS], scheduled=scheduled, service=[MS] * 4, lateness=[2 * MS, 0, 0, 0])
    assert metrics.intended_rate(first_late.samples, load) == 4.0
    assert metrics.delivered_rate(first_late.samples, load) == 4.0  # catching up delivers no more than was drawn
    last_late = _answer([MS] * 3 + [251 * MS], scheduled=scheduled, service=[MS] * 4, lateness=[0] * 3 + [250 * MS])
    assert metrics.delivered_rate(last_late.samples, load) == pytest.approx(4 / 1.25)


def test_a_backlog_tells_how_long_it_took() -> None:
    answer = _answer([MS, 2 * MS, 3 * MS], scheduled=[0] * 3, service=[MS] * 3, lateness=[0] * 3, elapsed=3 * MS)
    points = _points(_case(mode=Mode.OFFLINE), answer)
    assert (points["makespan"], points["service_p50"], points["latency_max"]) == (0.003, 0.001, 0.003)
    assert points["throughput"] == pytest.approx(1000)


def test_a_search_adds_the_rate_it_found() -> None:
    answer = _answer([MS] * 3, scheduled=[0, MS, 2 * MS], service=[MS] * 3, lateness=[0, 0, 0])
    assert _points(_case(mode=Mode.OPEN, find_rate=True), answer)["max_rate"] == 123.0


def test_folded_calls_are_read_from_the_histogram_and_raw_copies_join_them() -> None:
    folded = _answer([MS] * 10, histograms={"latency": histogram.fold([MS] * 900)}, calls=900, elapsed=900 * MS)
    raw = _answer([5 * MS] * 100, copy=1)
    derived: list[Metric] = metrics.derive(_case(), [folded, raw])
    points = {m.name: m.estimate.point for m in derived}
    assert points["latency_p90"] == pytest.approx(0.001, rel=0.001)
    assert points["latency_p95"] == pytest.approx(0.005, rel=0.001)
    assert points["latency"] == pytest.approx(0.0014)
    assert (points["latency_min"], points["latency_max"]) == (0.001, 0.005)
    assert next(m for m in derived if m.name == "latency").count == 1000


def test_copies_that_loop_differently_are_folded_into_the_same_unit() -> None:
    """200 ns a call: copies choose their own powers of two, and only calls can be pooled."""
    coarse = _answer(
        [128 * 200] * 10, loops=128, histograms={"latency": histogram.fold([128 * 200] * 600)}, calls=76_800
    )
    fine = _answer([32 * 200] * 600, loops=32, copy=1)
    points = _points(_case(), coarse, fine)
    for name in ("latency", "latency_min", "latency_p50", "latency_p99", "latency_max"):
        assert points[name] == pytest.approx(200e-9, rel=0.001)


def test_intervals_of_folded_calls_allow_for_autocorrelation() -> None:
    """The same values in an order without and with memory: the histogram is the same, what it is worth is not."""
    mixed = [MS + (i * 7919 % 10_007) * 100 for i in range(10_007)]
    grouped = [value for start in range(20) for value in sorted(mixed)[start::20]]

    def width(values: list[int], name: str) -> float:
        answer = _answer(values, histograms={"latency": histogram.fold(values)})
        (metric,) = [m for m in metrics.derive(_case(), [answer]) if m.name == name]
        assert metric.estimate.low is not None and metric.estimate.high is not None
        return metric.estimate.high - metric.estimate.low

    for name in ("latency", "latency_p50"):
        assert width(grouped, name) > 3 * width(mixed, name)


@pytest.mark.parametrize("name", ["service", "lateness"])
def test_a_folded_open_loop_has_the_same_metrics_as_a_raw_one(name: str) -> None:
    columns: dict[str, Any] = {
        "scheduled": [i * 10 * MS for i in range(50)],
        "service": [MS] * 50,
        "lateness": [1000] * 50,
    }
    raw = _answer([MS] * 50, **columns)
    histograms = {k: histogram.fold(v) for k, v in {**columns, "latency": [MS] * 50}.items() if k != "scheduled"}
    folded = _answer([MS] * 50, histograms=histograms, **columns)
    case = _case(mode=Mode.OPEN, rate=100.0)
    assert {n for n in _points(case, folded) if n.startswith(name)} == {
        n for n in _points(case, raw) if n.startswith(name)
    }


def test_one_arrival_has_no_rate() -> None:
    answer = _answer([MS], scheduled=[5], service=[MS], lateness=[0])
    assert _points(_case(mode=Mode.OPEN, rate=1.0), answer)["rate"] == 0.0


# ---- several copies ----


def test_each_copys_own_numbers_are_told_and_their_imbalance() -> None:
    fast, slow = _answer([4 * MS] * 30, items=2), _answer([6 * MS] * 20, items=2, copy=1)
    assert metrics.per_copy(_case(), [fast, slow]) == [
        {"copy": 0, "latency_p50": 0.004, "throughput": pytest.approx(500), "calls": 30},
        {"copy": 1, "latency_p50": 0.006, "throughput": pytest.approx(1000 / 3), "calls": 20},
    ]
    (metric,) = [m for m in metrics.derive(_case(), [fast, slow]) if m.name == "imbalance"]
    assert (metric.unit, metric.better, metric.count) == ("%", Better.LOWER, 2)
    assert metric.estimate.point == pytest.approx(40)  # (500 - 333) of 417


def test_a_copys_median_is_that_of_its_calls_however_they_were_kept() -> None:
    looped = _answer([20_060] * 100, loops=100, loop_cost=60)
    folded = _answer([MS] * 10, histograms={"latency": histogram.fold([MS] * 100 + [3 * MS] * 800)}, calls=900)
    told = metrics.per_copy(_case(), [looped, folded])
    assert [copy["latency_p50"] for copy in told] == [  # type: ignore[index, call-overload]
        pytest.approx(200e-9),
        pytest.approx(0.003, rel=0.001),
    ]


def test_one_copy_has_no_imbalance_and_neither_has_a_schedule() -> None:
    assert "imbalance" not in _points(_case(), _answer([MS] * 10))
    columns: dict[str, Any] = {"scheduled": [0, 9 * MS], "service": [MS] * 2, "lateness": [0, 0]}
    copies = [_answer([MS] * 2, copy=i, elapsed=(i + 1) * 10 * MS, **columns) for i in range(2)]
    assert "imbalance" not in _points(_case(mode=Mode.OPEN, rate=100.0, copies=2), *copies)


def test_a_percentile_that_an_objective_bounds_is_measured_too() -> None:
    case = _case(objectives=(Objective(metric="latency_p97", relation="<", bound=1.0),))
    names = [m.name for m in metrics.derive(case, [_answer([1_000_000] * 400)])]
    assert names.index("latency_p95") < names.index("latency_p97") < names.index("latency_p99")
