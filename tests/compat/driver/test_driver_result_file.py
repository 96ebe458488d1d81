from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.driver import remove_result_file, result_file
from benchwright.compat.driver.run import log_name
from benchwright.records import Case, Environment, Estimate, Metric, Result, Status, Target

MIB = 2**20


def _metric(name: str, point: float, method: str = "reported: last of 3") -> Metric:
    estimate = Estimate(point=point, low=None, high=None, method=method)
    return Metric(name=name, unit="", better=None, estimate=estimate)


def _result(*metrics: Metric, whole: bool = False, status: Status = Status.OK, **details: Any) -> Result:
    told = {"log": {metric.name: {"hits": 1, "whole": whole} for metric in metrics}, **details}
    return Result(
        id="r",
        case=Case(name="demo", target=Target(runtime="task", uri="a.cfg::demo")),
        round=0,
        status=status,
        environment=Environment(machine={}, system={}),
        started_at="",
        duration=0.0,
        metrics=(*metrics, _metric("rss_mean", 4096.0)),
        details=told,
    )


def test_keys_are_put_together_from_framework_task_metric_and_suffix() -> None:
    seen = {"mean": 4096.0, "peak": 8192.0, "samples": 2}
    keys = result_file.keys(_result(_metric("speed", 2.5), memory=seen), "demo", framework="mxnet", suffix="daily")
    assert keys["mxnet.demo.speed.daily"] == 2.5
    assert keys["mxnet.demo.cpu_memory_usage.daily"] == 4.0  # KiB
    assert keys["mxnet.demo.uptime_in_seconds.daily"] > 0
    assert result_file.keys(_result(), "demo").keys() == {"demo.uptime_in_seconds"}


def test_memory_is_that_of_the_command_alone_and_left_out_when_it_is_unknown() -> None:
    keys = result_file.keys(_result(memory={"mean": 2048.0, "peak": 1.0, "samples": 1}), "demo")
    assert keys["demo.cpu_memory_usage"] == 2.0
    unseen = result_file.keys(_result(memory={"mean": None, "peak": None, "samples": 0}), "demo")
    assert "demo.cpu_memory_usage" not in unseen


@pytest.mark.parametrize(
    ("method", "number"),
    [("reported: last of 3", 4), ("reported: sum of 3", 4), ("reported: p50 of 3", 4.0), ("reported: mean of 3", 4.0)],
)
def test_whole_numbers_stay_whole_where_nothing_is_divided(method: str, number: float) -> None:
    value = result_file.keys(_result(_metric("x", 4.0, method), whole=True), "demo")["demo.x"]
    assert (value, type(value)) == (number, type(number))


def test_a_metric_of_the_user_wins_over_the_profiler_and_loses_against_the_uptime() -> None:
    result = _result(_metric("cpu_memory_usage", 7.5), _metric("uptime_in_seconds", -1.0), _metric("log.cpu", 3.5))
    keys = result_file.keys(result, "demo")
    assert keys["demo.cpu_memory_usage"] == 7.5
    assert keys["demo.uptime_in_seconds"] > 0
    assert keys["demo.cpu"] == 3.5


def test_gpus_are_averaged_as_ever() -> None:
    gpus = [
        {"index": 0, "mean": 150.0 * MIB, "std": 70.71067811865476 * MIB, "peak": 200.0 * MIB, "samples": 2},
        {"index": 1, "mean": 400.0 * MIB, "std": 141.4213562373095 * MIB, "peak": 500.0 * MIB, "samples": 2},
    ]
    keys = result_file.keys(_result(gpus=gpus), "demo")
    assert keys["demo.gpu_memory_usage_mean"] == 275.0
    assert keys["demo.gpu_memory_usage_std"] == pytest.approx(106.06601717798213, abs=1e-12)
    assert keys["demo.gpu_memory_usage_max"] == 350.0


def test_a_failed_task_is_marked() -> None:
    assert result_file.keys(_result(status=Status.FAILED), "demo")["demo.failed"] == 1


def test_the_file_is_one_line_of_json_and_replaced_as_a_whole(tmp_path: Path) -> None:
    for value in (1.5, 2):
        result_file.write(tmp_path, {"demo.x": value})
    assert (tmp_path / "dlbenchmark_result.json").read_text(encoding="utf-8") == '{"demo.x": 2}'
    assert [path.name for path in tmp_path.iterdir()] == ["dlbenchmark_result.json"]
    with pytest.raises(ValueError, match="JSON"):
        result_file.write(tmp_path, {"demo.x": float("nan")})
    assert json.loads((tmp_path / "dlbenchmark_result.json").read_text(encoding="utf-8")) == {"demo.x": 2}
    assert len(list(tmp_path.iterdir())) == 1
    remove_result_file(tmp_path)
    remove_result_file(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_task_name_is_never_a_path() -> None:
    assert log_name("a/../b") == "a_.._b.log"
