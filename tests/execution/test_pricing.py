"""What work costs, in money and energy, and by which metric."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.execution import pricing
from benchwright.records import Better, Estimate, Metric
from benchwright.records.prices import Price
from priced_runs import ON_DEMAND, price_run
from sample_runs import make_run

BENCHMARKS = """
class Train:
    def benchmark_speed(self, report):
        report("loss", 0.25, better="lower")
        report("images_per_second", 1000.0, better="higher")

    def benchmark_loss(self, report):
        report("loss", 0.25, better="lower")
"""


def _metric(name: str, unit: str = "", better: Better | None = None) -> Metric:
    return Metric(name=name, unit=unit, better=better, estimate=Estimate(point=10.0, low=None, high=None))


@pytest.mark.parametrize(
    ("metrics", "name"),
    [
        ([_metric("speed", "images/s"), _metric("throughput", "/s")], "throughput"),
        ([_metric("wall_time", "s"), _metric("speed", "samples/sec", Better.HIGHER)], "speed"),
        ([_metric("exp_per_second")], "exp_per_second"),  # PerfZero's, without a unit
        ([_metric("reported_throughput", "/s", Better.HIGHER)], "reported_throughput"),
        ([_metric("tokens", "tokens per second"), _metric("tokens_p10", "tokens per second")], "tokens"),
        ([_metric("io", "MB/s"), _metric("flops", "GFLOP/s"), _metric("stalls", "/s", Better.LOWER)], ""),
        ([_metric("rate", "/s"), _metric("latency_p50", "s"), _metric("accuracy")], ""),
        ([], ""),
    ],
)
def test_the_metric_that_counts_items_is_found(metrics: list[Metric], name: str) -> None:
    found = pricing.rate_of(metrics)
    assert (found.name if found else "") == name
    priced = pricing.costs_of(metrics, Price.bare(3.6))
    methods = [metric.estimate.method for metric in priced if metric.name == "cost_per_million"]
    assert methods == ([f"price over {name}: "] if name else [])


def test_a_class_that_reports_a_rate_has_a_cost_and_one_that_does_not_says_why(
    inside: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "bench.py").write_text(BENCHMARKS)
    done = inside("run", "bench.py", "--no-save", "--cost-per-hour", "3.6")
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "cost per million by images_per_second" in shown
    assert "Warning no-cost" in shown and "none of the case's metrics counts items per second" in shown
    assert shown.count("no-cost") == 1  # of the method without a rate alone
    assert "cost per run" in shown and "Costs rest on 3.6 an hour, as given" in shown


def test_a_million_items_cost_their_share_of_the_hours() -> None:
    """The worked example of NeuronPerf's reports."""
    throughput = Metric(
        name="throughput", unit="/s", better=Better.HIGHER, estimate=Estimate(point=329.667, low=300.0, high=360.0)
    )
    (cost,) = pricing.costs_of([throughput], Price.bare(1.18))
    assert (cost.name, cost.unit, cost.better) == ("cost_per_million", "", Better.LOWER)
    assert cost.estimate.point == pytest.approx(0.994, abs=0.0005)
    assert cost.estimate.low == pytest.approx(1.18e6 / (3600 * 360))
    assert cost.estimate.high == pytest.approx(1.18e6 / (3600 * 300))


@pytest.mark.parametrize(("low", "high"), [(None, None), (0.0, 2.0)])
def test_a_cost_without_an_end_has_no_interval(low: float | None, high: float | None) -> None:
    estimate = Estimate(point=1.0, low=low, high=high)
    (cost,) = pricing.costs_of(
        [Metric(name="throughput", unit="/s", better=None, estimate=estimate)], Price.bare(3600.0)
    )
    assert (cost.estimate.point, cost.estimate.low, cost.estimate.high) == (1e6, None, None)


def test_what_did_nothing_has_no_cost() -> None:
    nothing = Metric(name="throughput", unit="/s", better=None, estimate=Estimate(point=0.0, low=None, high=None))
    assert pricing.costs_of([nothing], Price.bare(1.0)) == pricing.costs_of([], Price.bare(1.0)) == []


@pytest.mark.parametrize(
    ("name", "unit", "better", "kind", "cost"),  # of 10.0, at 3600 an hour: one a second
    [
        ("tokens_per_second", "", Better.HIGHER, "cost_per_thousand_tokens", 100.0),
        ("output", "tokens/s", Better.HIGHER, "cost_per_thousand_tokens", 100.0),
        ("output_tokens_per_sec", "/s", Better.HIGHER, "cost_per_thousand_tokens", 100.0),
        ("speed", "tok/min", None, "cost_per_thousand_tokens", 6000.0),
        ("samples_per_minute", "", Better.HIGHER, "cost_per_million", 6e6),
        ("speed", "images/h", Better.HIGHER, "cost_per_million", 3.6e8),
        ("epochs_per_hour", "", Better.HIGHER, "cost_per_epoch", 360.0),
        ("epoch_time", "s", Better.LOWER, "cost_per_epoch", 10.0),
        ("avg_epoch_time", "min", None, "cost_per_epoch", 600.0),
        ("seconds_per_epoch", "", None, "cost_per_epoch", 10.0),
        ("time_to_accuracy", "s", Better.LOWER, "cost_per_run", 10.0),
        ("time_to_accuracy_0.75", "h", Better.LOWER, "cost_per_run", 36000.0),
        ("time_to_train_seconds", "", Better.LOWER, "cost_per_run", 10.0),
        ("wall_time", "s", Better.LOWER, "cost_per_run", 10.0),
    ],
)
def test_every_kind_of_work_has_its_cost(name: str, unit: str, better: Better | None, kind: str, cost: float) -> None:
    found = {one.name: one for one in pricing.costs_of([_metric(name, unit, better)], Price.bare(3600.0))}
    assert found[kind].estimate.point == pytest.approx(cost)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("time_to_first_token", "s"),
        ("epoch_time", ""),  # minutes or seconds: nobody says
        ("epoch_time_variance", "s"),
        ("epoch", ""),
        ("tokens", ""),
        ("latency_p50", "s"),
        ("bytes_per_second", ""),
    ],
)
def test_what_is_no_work_has_none(name: str, unit: str) -> None:
    assert pricing.costs_of([_metric(name, unit)], Price.bare(3600.0)) == []


def test_a_time_to_an_accuracy_is_paid_for_and_not_the_whole_run() -> None:
    found = pricing.costs_of([_metric("wall_time", "s"), _metric("time_to_accuracy", "min")], Price.bare(3600.0))
    assert [(one.name, one.estimate.point) for one in found] == [("cost_per_run", 600.0)]


def test_the_highest_rate_counts_calls_and_its_cost_items() -> None:
    metrics = [_metric("max_rate", "/s", Better.HIGHER), _metric("throughput", "/s", Better.HIGHER)]
    found = {one.name: one.estimate.point for one in pricing.costs_of(metrics, Price.bare(3600.0), 8)}
    assert found == {"cost_at_max_rate": pytest.approx(1e6 / 80), "cost_per_million": pytest.approx(1e5)}


DESK = Price(provider="own", shape="desk", amount=0.36, currency="EUR", watts=180.0, kilowatt_hour=0.31)


def test_energy_is_measured_or_what_is_written_on_the_machine_and_says_so() -> None:
    own = [_metric("throughput", "/s", Better.HIGHER), _metric("wall_time", "s", Better.LOWER)]
    assert pricing.energies_of(own, pricing.power_of([], Price.bare(1.0)), Price.bare(1.0)) == []
    written = {one.name: one for one in pricing.energies_of(own, pricing.power_of([], DESK), DESK)}
    assert written["energy_per_item"].estimate.point == pytest.approx(18.0)
    assert written["energy_per_run"].estimate.point == pytest.approx(1800.0)
    cost = written["energy_cost_per_million"]
    assert (cost.unit, cost.estimate.point) == ("EUR", pytest.approx(18e6 / 3.6e6 * 0.31))
    assert written["energy_per_item"].estimate.method.startswith("nameplate of 180 W, not measured; by throughput")
    seen = [_metric("power", "W"), _metric("gpu_power", "W")]
    measured = pricing.energies_of(own, pricing.power_of(seen, DESK), DESK)
    assert measured[0].estimate.point == pytest.approx(2.0) and measured[0].estimate.method.startswith("measured: ")
    alone = pricing.power_of(seen[1:], None)
    assert alone is not None and alone.method.endswith("the accelerators alone")


@pytest.mark.parametrize(
    "wrong",
    [{"per": "fortnight"}, {"amount": 0.0}, {"amount": -1.0}, {"watts": -5.0}, {"market": "black"}, {"colour": "red"}],
)
def test_a_result_whose_price_is_none_has_its_numbers_all_the_same(wrong: dict[str, object]) -> None:
    run = price_run(make_run(rounds=1), ON_DEMAND)
    [result, *_] = [one for one in run.results if "price" in one.details]
    assert pricing.price_of_result(result) == ON_DEMAND
    told = {**schema.encode(ON_DEMAND), **wrong}
    assert pricing.price_of_result(replace(result, details={**result.details, "price": told})) is None


def test_a_price_of_a_day_to_come_is_doubted() -> None:
    price = Price(provider="aws", shape="m", amount=1.0, fetched_at="2026-11-20")
    told = pricing.warn_if_old(price, date(2026, 11, 17))
    assert told is not None and "still to come" in told.seen
    assert pricing.warn_if_old(price, date(2026, 11, 19)) is None, "somewhere it is tomorrow already"
