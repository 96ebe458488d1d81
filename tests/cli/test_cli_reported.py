"""What a target reports of itself, from the comparison to the badge: judged everywhere by one rule."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.pages.compare import compare as compared_page
from benchwright.pages.overview import overview
from benchwright.records import Better, Case, Environment, Estimate, Load, Metric, Mode, Result, Run, Status, Target
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

Call = Callable[..., "subprocess.CompletedProcess[str]"]
HERE = Environment(machine={"cpu": "one"}, system={})


def _metric(name: str, unit: str, better: Better | None, value: float) -> Metric:
    estimate = Estimate(point=value, low=None, high=None, method="reported")
    return Metric(name=name, unit=unit, better=better, estimate=estimate)


def _run(number: int, speeds: list[float], *, wall: float = 60.0, memory: float = 2e9) -> Run:
    """A training, each round with a speed that its task told."""
    case = Case(
        name="tasks.toml::train",
        target=Target(runtime="task", uri="tasks.toml::train"),
        load=Load(mode=Mode.SINGLE),
    )
    results = tuple(
        Result(
            id=f"r{number}-{i}",
            case=case,
            round=i,
            status=Status.OK,
            environment=HERE,
            started_at=f"2026-01-{number + 1:02d}T00:00:{i:02d}Z",
            duration=1.0,
            metrics=(
                _metric("wall_time", "s", Better.LOWER, wall * (1 + i / 1000)),
                _metric("speed", "images/s", Better.HIGHER, speed),
                _metric("accuracy", "", Better.HIGHER, 0.92),
                _metric("epochs", "", None, 2.0),
                _metric("rss_peak", "B", Better.LOWER, memory),
            ),
        )
        for i, speed in enumerate(speeds)
    )
    return Run(id=f"run-{number}", started_at=results[0].started_at, harness="1", results=results)


def _keep(folder: Path, *runs: Run) -> SqlStore:
    store = open_store(folder / "results.db")
    for run in runs:
        store.add_run(run)
    assert isinstance(store, SqlStore)
    return store


def _breached(text: str) -> list[str]:
    return [breach["metric"] for case in json.loads(text)["data"]["cases"] for breach in case["breaches"]]


@pytest.fixture
def call(inside: Call, tmp_path: Path) -> Call:
    return lambda *words: inside(*words, "--store", "results.db", cwd=tmp_path)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_training_speed_that_fell_closes_the_gate(tmp_path: Path, call: Call, rounds: int) -> None:
    """2,000 images a second became 800."""
    archive = _keep(
        tmp_path,
        _run(0, [2000.0, 2010.0, 1990.0][:rounds]),
        _run(1, [800.0, 804.0, 796.0][:rounds]),
    )
    compared = call("compare", "last~1", "last")
    assert compared.returncode == 1 and "worse: 60 % lower" in compared.stdout
    gate = call("check", "--against", "last~1", "--json")
    assert gate.returncode == 1 and _breached(gate.stdout) == ["speed"]
    history = json.loads(call("history", "tasks.toml", "--json").stdout)["data"]
    assert [s["metric"] for s in history["series"]] == ["wall_time", "speed", "accuracy"]
    (told,) = [s["runs"][-1]["verdict"] for s in history["series"] if s["metric"] == "speed"]
    assert told == "worse"
    lines = compared_page(archive, "run:run-0", "run:run-1").lines
    assert (lines[0].metric, lines[0].verdict) == ("speed", "worse")
    assert {one.metric for one in lines} == {"wall_time", "speed", "accuracy", "rss_peak"}
    assert {spark.metric for suite in overview(archive).suites for spark in suite.sparks} <= {
        *("wall_time", "speed", "accuracy")
    }
    archive.close()


def test_what_was_seen_once_is_judged_by_a_factor_of_two_and_says_so(tmp_path: Path, call: Call) -> None:
    _keep(tmp_path, _run(0, [2000.0]), _run(1, [1100.0], wall=119.0, memory=5e9)).close()
    done = call("compare", "last~1", "last")
    assert done.returncode == 0, done.stdout
    assert "unclear: 45 % lower, without an interval" in done.stdout and "3 rounds or more" in done.stdout
    assert "same: equal in every round" in done.stdout  # the accuracy


def test_wall_time_of_what_is_called_once_is_judged(tmp_path: Path, call: Call) -> None:
    speeds = [2000.0, 2001.0, 1999.0]
    _keep(tmp_path, _run(0, speeds), _run(1, speeds, wall=90.0)).close()
    done = call("check", "--against", "last~1", "--json")
    assert done.returncode == 1 and _breached(done.stdout) == ["wall_time"]


def test_another_tools_bytes_are_judged_and_not_a_traceback(tmp_path: Path, call: Call) -> None:
    """pyperf measured memory with --track-memory: its unit is the byte."""
    metadata = {"name": "startup", "unit": "byte", "loops": 1}
    for number, size in enumerate((1_000_000, 3_000_000)):
        runs = [
            {"metadata": {"date": f"2026-01-0{number + 1} 00:00:0{i}.000000"}, "values": [size + i]} for i in range(5)
        ]
        document = {"benchmarks": [{"runs": runs}], "metadata": metadata, "version": "1.0"}
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
        assert call("import", f"{number}.json").returncode == 0
    judged = call("findings", "judge")
    assert judged.returncode == 0 and "Traceback" not in judged.stderr, judged.stderr
    compared = call("compare", "last~1", "last")
    assert compared.returncode == 1 and "memory" in compared.stdout and "worse" in compared.stdout


def test_the_report_of_two_runs_judges_what_was_reported(tmp_path: Path, call: Call) -> None:
    _keep(tmp_path, _run(0, [2000.0, 2010.0, 1990.0]), _run(1, [800.0, 804.0, 796.0])).close()
    assert call("report", "last~1", "last", "-o", "both.html").returncode == 0
    text = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "worse: 60 % lower" in text and "accuracy" in text
