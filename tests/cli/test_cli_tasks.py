"""`benchwright tasks` and `benchwright run` of task files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.records import Run
from benchwright.targets.tasks.definition import MEASURED

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]

TEXT = r"""
[tasks.train]
command = ["sh", "-c", "echo speed {speed}; echo 'loss 0.5'; echo speed 6"]
patterns = ['speed (?P<speed>\S+)']

[tasks.train.parameters]
speed = 2

[tasks.train.metrics]
speed = { compute = "mean", unit = "samples/s", better = "higher", least = 3 }
speed_max = { series = "speed", compute = "max" }
loss = { pattern = 'loss (\S+)', better = "lower" }
"""


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_file_and_its_patterns_are_tried_on_a_saved_log(benchwright: Benchwright, file: Path) -> None:
    (file.parent / "saved.log").write_bytes(b"speed 1\nspeed 3\n\xff loss 0.25")
    ended = benchwright("tasks", "check", "tasks.toml", "--log", "saved.log")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "speed: 2 hits, first 1, last 3, mean 2.00000 samples/s" in ended.stdout
    assert "loss: 1 hit, first 0.25, last 0.25, last 0.25" in ended.stdout
    asked = benchwright("tasks", "check", "tasks.toml::train", "--log", "saved.log", "--json")
    (told,) = json.loads(asked.stdout)["data"]
    assert [(m["metric"], m["hits"], m["value"]) for m in told["metrics"]] == [
        ("speed", 2, 2.0),
        ("speed_max", 2, 3.0),
        ("loss", 1, 0.25),
    ]
    assert told["missing"] == []


def test_a_metric_that_never_matches_is_named(benchwright: Benchwright, file: Path) -> None:
    (file.parent / "saved.log").write_text("loss 1\n", encoding="utf-8")
    ended = benchwright("tasks", "check", "tasks.toml", "--log", "saved.log")
    assert ended.returncode == 1
    assert "no value: speed, speed_max" in ended.stdout


def test_a_file_without_a_log_is_only_checked(benchwright: Benchwright, file: Path) -> None:
    ended = benchwright("tasks", "check", "tasks.toml")
    assert ended.returncode == 0 and ended.stdout.startswith("tasks.toml::train: 3 metrics, 2 patterns\n")
    assert "no log was given to try them on" in ended.stdout
    file.write_text(TEXT.replace("unit", "units"), encoding="utf-8")
    ended = benchwright("tasks", "check", "tasks.toml")
    assert ended.returncode == 2
    assert "tasks.toml: tasks.train.metrics.speed: unknown key 'units'\n  did you mean 'unit'?" in ended.stderr


@pytest.mark.parametrize("arguments", [("absent.toml",), ("tasks.txt",), ("tasks.toml", "--log", "absent.log")])
def test_what_is_not_there_is_a_wrong_request(benchwright: Benchwright, file: Path, arguments: tuple[str, ...]) -> None:
    ended = benchwright("tasks", "check", *arguments)
    assert ended.returncode == 2 and "Traceback" not in ended.stderr


def test_a_run_has_the_metrics_with_their_bounds_for_every_parameter(benchwright: Benchwright, file: Path) -> None:
    flags = ("--rounds", "1", "--no-save", "--json", "--param", "speed=2,4")
    ended = benchwright("run", "tasks.toml::train", *flags)
    assert ended.returncode == 0, ended.stderr
    results = schema.loads(ended.stdout, Run).results
    points = [[result.metric(name).estimate.point for name in ("speed", "speed_max", "loss")] for result in results]  # type: ignore[union-attr]
    assert points == [[4, 6, 0.5], [5, 6, 0.5]]
    assert {metric.name for result in results for metric in result.metrics} <= MEASURED | {"speed", "speed_max", "loss"}
    assert results[0].log_tail == "speed 2\nloss 0.5\nspeed 6\n"


def test_a_bound_that_does_not_hold_is_told_by_the_exit_code(benchwright: Benchwright, file: Path) -> None:
    ended = benchwright("run", "tasks.toml", "--rounds", "1", "--no-save", "--param", "speed=-2")
    assert ended.returncode == 1
    assert "objective-missed" in ended.stdout and "speed" in ended.stdout


def test_list_tells_what_could_be_run(benchwright: Benchwright, file: Path) -> None:
    ended = benchwright("list", "tasks.toml")
    assert ended.returncode == 0 and "tasks.toml::train" in ended.stdout
