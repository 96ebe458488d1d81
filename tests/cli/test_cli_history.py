"""`benchwright history`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Metric,
    Result,
    Revision,
    Run,
    Status,
    Target,
)
from benchwright.store import open_store

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
VALUES = (0.010, 0.010, None, 0.015)  # seconds, by run; None is a run that failed


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.db"
    store = open_store(path)
    for i, value in enumerate(VALUES):
        rounds = tuple(_result(i, number, value) for number in range(3))
        revision = Revision(vcs="git", id=f"{i}abcdef0123456789")
        store.add_run(
            Run(id=f"run-{i}", started_at=rounds[0].started_at, harness="1", results=rounds, revision=revision)
        )
    store.close()
    return path


def _result(i: int, number: int, value: float | None) -> Result:
    metrics: tuple[Metric, ...] = ()
    if value is not None:
        point = value * (1 + number / 1000)
        metrics = (
            Metric(
                name="latency_p50",
                unit="s",
                better=Better.LOWER,
                estimate=Estimate(point=point, low=point * 0.999, high=point * 1.001),
            ),
        )
    return Result(
        id=f"r{i}-{number}",
        case=Case(name="model.onnx", target=Target(runtime="fake", uri="m"), params={"batch_size": 8}),
        round=number,
        status=Status.OK if metrics else Status.TIMEOUT,
        environment=Environment(machine={"cpu": "x"}, system={"os": "Linux"}),
        started_at=f"2026-03-0{i + 1}T12:30:00+00:00",
        duration=1.0,
        metrics=metrics,
        error=None if metrics else Failure(kind="timeout", message="no answer in 60 s\nsecond line"),
    )


def test_a_table_in_plain_text(benchwright: Benchwright, results: Path) -> None:
    ended = benchwright("history", "models/model.onnx", "--store", str(results))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\x1b" not in ended.stdout
    heading, titles, *rows, line, empty, missing, miss, _, _ = ended.stdout.splitlines()
    assert heading == "model.onnx batch_size=8 latency_p50 (lower is better)"
    assert titles.split() == ["started", "(UTC)", "run", "revision", "rounds", "latency_p50", "(ms)", "change"]
    assert [row.split()[:5] for row in rows] == [
        ["2026-03-01", "12:30", "run-0", "0abcdef012", "3"],
        ["2026-03-02", "12:30", "run-1", "1abcdef012", "3"],
        ["2026-03-04", "12:30", "run-3", "3abcdef012", "3"],
    ]
    assert [row.split()[-1] for row in rows] == ["-", "+0.0%", "worse"]
    assert rows[2].split()[-2] == "+50.0%"
    assert (line.strip(), empty, missing) == ("▁▁█", "", "Not measured")
    assert miss == "  2026-03-03 12:30  run-2  2abcdef012  batch_size=8  round 1  timeout: no answer in 60 s"


def test_json_is_complete(benchwright: Benchwright, results: Path) -> None:
    document = json.loads(benchwright("history", "model.onnx", "--json", "--store", str(results)).stdout)["data"]
    (series,) = document["series"]
    assert (series["case"], series["params"], series["unit"]) == ("model.onnx", {"batch_size": 8}, "s")
    assert [run["run"] for run in series["runs"]] == ["run-0", "run-1", "run-3"]
    assert [run["verdict"] for run in series["runs"]] == ["unclear", "same", "worse"]
    last = series["runs"][-1]
    assert last["estimate"]["point"] == pytest.approx(0.015015)
    assert last["estimate"]["low"] < last["estimate"]["point"] < last["estimate"]["high"]
    assert last["change"] == pytest.approx(0.5)
    assert [miss["round"] for miss in document["misses"]] == [0, 1, 2]


def test_the_limit_counts_runs_and_the_change_still_looks_back(benchwright: Benchwright, results: Path) -> None:
    ended = benchwright("history", "model.onnx", "--limit", "1", "--json", "--store", str(results))
    (series,) = json.loads(ended.stdout)["data"]["series"]
    assert [(run["run"], run["verdict"]) for run in series["runs"]] == [("run-3", "worse")]


def test_a_run_that_the_instrument_does_not_trust_is_unclear(benchwright: Benchwright, results: Path) -> None:
    store = open_store(results)
    doubted = tuple(
        replace(_result(4, number, 0.018), instrument={"verdict": "unreliable: steal 20 %"}) for number in range(3)
    )
    store.add_run(Run(id="run-4", started_at=doubted[0].started_at, harness="1", results=doubted))
    store.close()
    (series,) = json.loads(benchwright("history", "model.onnx", "--json", "--store", str(results)).stdout)["data"][
        "series"
    ]
    last = series["runs"][-1]
    assert (last["verdict"], last["why"]) == ("unclear", "the instrument calls the later run unreliable")
    assert last["change"] == pytest.approx(0.2)


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_on_a_terminal(results: Path, no_color: str, coloured: bool) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "benchwright", "history", "model.onnx", "--store", str(results)],
        stdout=theirs,
        env={**os.environ, "NO_COLOR": no_color, "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # how Linux says that the other side is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    assert b"worse" in shown
    assert (b"\x1b[31mworse" in shown) is coloured
    assert (b"\x1b[" in shown) is coloured


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["modle.onnx"], "no results for 'modle.onnx' in this store\n  did you mean 'model.onnx'?"),
        (["model.onnx", "--metric", "latency_50"], "has no metric 'latency_50'\n  did you mean 'latency_p50'?"),
        (["model.onnx", "--limit", "0"], "0 is not in the range x>=1"),
        ([], "Missing argument"),
    ],
)
def test_a_wrong_request_is_code_2(benchwright: Benchwright, results: Path, arguments: list[str], says: str) -> None:
    ended = benchwright("history", *arguments, "--store", str(results))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_ascii_terminal_gets_ascii(results: Path) -> None:
    command = [sys.executable, "-m", "benchwright", "history", "model.onnx", "--store", str(results)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"+-" in done.stdout and b"\\u" not in done.stdout
