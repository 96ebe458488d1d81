"""What a million items cost, and by which metric."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.execution import pricing
from benchwright.records import Better, Estimate, Metric

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
    priced = pricing.cost_per_million(metrics, 3.6)
    assert [metric.estimate.method for metric in priced] == ([f"price over {name}: "] if name else [])


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


def test_a_million_items_cost_their_share_of_the_hours() -> None:
    """The worked example of NeuronPerf's reports."""
    throughput = Metric(
        name="throughput", unit="/s", better=Better.HIGHER, estimate=Estimate(point=329.667, low=300.0, high=360.0)
    )
    (cost,) = pricing.cost_per_million([throughput], 1.18)
    assert (cost.name, cost.unit, cost.better) == ("cost_per_million", "", Better.LOWER)
    assert cost.estimate.point == pytest.approx(0.994, abs=0.0005)
    assert cost.estimate.low == pytest.approx(1.18e6 / (3600 * 360))
    assert cost.estimate.high == pytest.approx(1.18e6 / (3600 * 300))


@pytest.mark.parametrize(("low", "high"), [(None, None), (0.0, 2.0)])
def test_a_cost_without_an_end_has_no_interval(low: float | None, high: float | None) -> None:
    estimate = Estimate(point=1.0, low=low, high=high)
    (cost,) = pricing.cost_per_million([Metric(name="throughput", unit="/s", better=None, estimate=estimate)], 3600.0)
    assert (cost.estimate.point, cost.estimate.low, cost.estimate.high) == (1e6, None, None)


def test_what_did_nothing_has_no_cost() -> None:
    nothing = Metric(name="throughput", unit="/s", better=None, estimate=Estimate(point=0.0, low=None, high=None))
    assert pricing.cost_per_million([nothing], 1.0) == pricing.cost_per_million([], 1.0) == []
