"""Data sets and accuracy. Nothing here imports a framework: each process that measures imports this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchwright.compat.neuronperf as npf
from benchwright.worker.runtimes.pipeline import examples

BRIEF: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "duration": 0.2}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    npf.set_verbosity(1)


def finished(reports: list[Any]) -> Any:
    (report,) = reports
    assert (report["status"], report["reason"]) == ("finished", "")
    assert report["total_infs"] > 0
    return report


class Signs:
    """(a number, whether it is above zero), of which every fourth is wrong."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> Any:
        number = i - 3.5
        return np.array([[number]], dtype=np.float32), int(number > 0) ^ int(i % 4 == 0)


class Sigmoid:
    def __call__(self, x: Any) -> Any:
        return 1 / (1 + np.exp(-x))


class Largest:
    def __init__(self) -> None:
        self.largest = 0.0

    def process_record(self, output: Any, target: Any) -> None:
        self.largest = max(self.largest, float(output[0, 0]))

    @staticmethod
    def aggregate(metrics: list[Any]) -> float:
        return max(metric.largest for metric in metrics)


def test_accuracy_is_a_pass_of_its_own() -> None:
    npf.register_metric("largest", Largest)
    npf.register_metric_from_existing("Accuracy", "strict", threshold=0.99)
    report = finished(npf.cpu.benchmark(Sigmoid, Signs, eval_metrics=["Accuracy", "largest", "strict", "LR+"], **BRIEF))
    assert report["Accuracy"] == 0.75 and report["eval_records"] == 8
    assert report["largest"] == pytest.approx(1 / (1 + np.exp(-3.5)))
    assert report["strict"] == 0.5 and report["LR+"] == pytest.approx(3.0)
    assert report["total_infs"] == 8  # the data set once
    json.dumps(report, allow_nan=False)


def test_a_data_set_is_looped_when_asked() -> None:
    report = finished(npf.cpu.benchmark(Sigmoid, numbers, loop_dataset=True, max_infers=20, **BRIEF))
    assert report["total_infs"] == 20
    again = finished(npf.cpu.benchmark(Sigmoid, iter([np.ones((2, 1))] * 3), **{**BRIEF, "workers_per_model": 2}))
    assert (again["batch_size"], again["total_infs"]) == (2, 6)


def numbers() -> Any:
    for i in range(6):
        yield np.full((1, 1), float(i))


def test_accuracy_that_fails_leaves_a_partial_report() -> None:
    npf.register_metric("broken", Broken)
    (report,) = npf.cpu.benchmark(Sigmoid, Signs, eval_metrics=["broken"], multiprocess=False, **BRIEF)
    assert report["status"] == "partial" and "ZeroDivisionError" in report["reason"]
    assert report["throughput_avg"] > 0


class Broken(Largest):
    def process_record(self, output: Any, target: Any) -> None:
        raise ZeroDivisionError


@pytest.mark.parametrize("timed", [True, False])
def test_accuracy_of_a_part_of_the_data_set_says_so(timed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "MOST_ITEMS", 5)
    items = iter([(np.ones((1, 1)), 1)] * 9)
    if timed:
        reports = npf.cpu.benchmark(Sigmoid, items, eval_metrics=["accuracy"], multiprocess=False, **BRIEF)
    else:
        reports = npf.cpu.evaluate(Sigmoid, items, multiprocess=False)
    (report,) = reports
    assert report["status"] == "partial" and "first 5 items" in report["reason"]
    assert "first 5 items" in report["notes"]["data set"]
    assert (report["accuracy"], report["eval_records"], report["total_infs"] is not None) == (1.0, 5, timed)
