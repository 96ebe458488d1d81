"""A training as a task, from the command line: warm-up, goals, curves; with a script that prints what trainings do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Inside = Callable[..., "subprocess.CompletedProcess[str]"]

SCRIPT = """\
import sys, time
seed, epochs, rate, crash = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "true"
for step in range(1, 6 * epochs + 1):
    speed = 1000 if step <= 6 else 3000 + step % 3
    print(f"step {step} speed {speed} images/s", flush=True)
    if step % 6 == 0:
        print(f"epoch {step // 6} step {step} accuracy {1 - rate / step - (seed % 7) / 1000:.4f}", flush=True)
print("seed", seed)
if crash:
    sys.exit(3)
time.sleep(float(sys.argv[5]))
"""
TASKS = r"""
[tasks.train]
command = ["PYTHON", "train.py", "{seed}", "{epochs}", "{rate}", "{crash}", "{rest}"]
patterns = [
  'step \d+ speed (?P<speed>\S+)',
  'epoch (?P<epoch>\d+) step (?P<step>\d+) accuracy (?P<accuracy>\S+)',
]
parameters = { epochs = 12, rate = 1.0, crash = false, rest = 0.0 }
[tasks.train.metrics]
speed = { compute = "mean", unit = "images/s", better = "higher", steady = true }
startup = { series = "speed", compute = "time_to_first" }
accuracy = { better = "higher" }
[tasks.train.goals]
good = { when = "accuracy >= 0.95", steps = "step", epochs = "epoch" }
"""


@pytest.fixture
def training(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "tasks.toml").write_text(TASKS.replace("PYTHON", sys.executable), encoding="utf-8")
    return tmp_path


def _document(inside: Inside, *arguments: str) -> dict:  # type: ignore[type-arg]
    return json.loads(inside("show", "last", "--json", *arguments).stdout)["data"]  # type: ignore[no-any-return]


def test_a_training_is_measured_without_its_warm_up_until_its_goal(inside: Inside, training: Path) -> None:
    done = inside("run", "tasks.toml::train", "--rounds", "3", "--cost-per-hour", "3600")
    assert done.returncode == 0, done.stderr
    assert "3,001" in done.stdout and "the first 6 of 72 values" in done.stdout
    run = _document(inside)
    results = run["results"]
    assert len({result["details"]["argv"][2] for result in results}) == 3  # each round has a seed of its own
    for result in results:
        points = {metric["name"]: metric["estimate"]["point"] for metric in result["metrics"]}
        assert points["steps_to_good"] == 24 and points["epochs_to_good"] == 4 and points["reached_good"] == 100
        assert 0 <= points["startup"] <= points["time_to_good"] <= result["duration"]
        assert points["cost_to_good"] == pytest.approx(points["time_to_good"])
        assert 0 <= points["speed_warmup"] <= result["duration"]
    drawn = inside("show", "--plot").stdout
    assert "accuracy over time" in drawn and "accuracy >= 0.95, reached in 3 of 3 rounds" in drawn
    assert "left out as warm-up" in drawn and " calls, " not in drawn
    assert inside("report", "-o", "report.html").returncode == 0
    page = (training / "report.html").read_text(encoding="utf-8")
    assert "Rounds that reached accuracy &gt;= 0.95" in page and "left-out" in page
    listed = inside("history", "tasks.toml::train", "--metric", "time_to_good")
    assert listed.returncode == 0 and "time_to_good" in listed.stdout


def test_rounds_that_never_get_there_are_told_from_rounds_that_crash(inside: Inside, training: Path) -> None:
    good = inside("run", "tasks.toml::train", "--rounds", "5")
    slow = inside("run", "tasks.toml::train", "--rounds", "5", "--param", "rate=9", "--tag", "slow")
    assert (good.returncode, slow.returncode) == (0, 0)
    assert "accuracy >= 0.95 was reached in 0 of 5 rounds" in slow.stdout
    crash = inside("run", "tasks.toml::train", "--rounds", "1", "--param", "crash=true,rate=9")
    assert crash.returncode != 0
    timeout = inside(
        "run", "tasks.toml::train", "--rounds", "1", "--param", "rate=9", "--param", "rest=60", "--timeout", "1"
    )
    assert timeout.returncode == 1
    (result,) = _document(inside)["results"]
    assert (result["status"], result["details"]["goals"]["good"]["reached"]) == ("timeout", False)


def test_two_runs_are_compared_by_steps_where_one_never_gets_there(inside: Inside, training: Path) -> None:
    assert inside("run", "tasks.toml::train", "--rounds", "5").returncode == 0
    script = (training / "train.py").read_text(encoding="utf-8")
    (training / "train.py").write_text(script.replace("1 - rate", "0.9 - rate"), encoding="utf-8")
    assert inside("run", "tasks.toml::train", "--rounds", "5").returncode == 0
    told = inside("compare", "last~1", "last", "--metric", "steps_to_good")
    assert "worse: 3" in told.stdout and "5 of 5 and 0 of 5 rounds got there" in told.stdout
    assert "log-rank test" in told.stdout
    gate = inside("compare", "last~1", "last", "--fail-on", "steps_to_good>5%")
    assert gate.returncode == 1


def test_goals_are_tried_on_a_saved_log(inside: Inside, training: Path) -> None:
    log = subprocess.run(
        [sys.executable, "train.py", "0", "3", "1.0", "false", "0"], cwd=training, capture_output=True, check=True
    )
    (training / "saved.log").write_bytes(log.stdout)
    told = inside("tasks", "check", "tasks.toml", "--log", "saved.log")
    assert told.returncode == 0
    assert "goal good: accuracy >= 0.95 was not reached in 3 values, the best was 0.9444" in told.stdout
    assert "startup: 18 hits, no value (optional): a saved log has no times; a run has" in told.stdout
    told = inside("tasks", "check", "tasks.toml", "--log", "saved.log", "--json")
    (row,) = json.loads(told.stdout)["data"]
    assert row["goals"][0]["reached"] is False and row["goals"][0]["values"] == 3
