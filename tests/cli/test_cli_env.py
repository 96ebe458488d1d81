from __future__ import annotations

import json
import os
import pty
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchwright import schema
from benchwright.execution.noise import calibration
from benchwright.machine import environment
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.store import open_store

Cli = Callable[..., subprocess.CompletedProcess[str]]


def test_the_quick_page_has_every_section(inside: Cli) -> None:
    done = inside("env", "--quick")
    assert (done.returncode, done.stderr) == (0, "")
    headings = [line for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert headings == ["Machine", "System", "Accelerators", "Knobs", "At the start", "What to change"]
    assert "\033" not in done.stdout


def test_json_holds_the_environment(inside: Cli) -> None:
    page = json.loads(inside("env", "--quick", "--json").stdout)["data"]
    assert set(page) == {"environment", "noise", "self_test", "advice", "calibration"}
    assert (page["noise"], page["self_test"], page["calibration"]) == (None, None, None)
    found = schema.decode(Environment, page["environment"])
    assert found.machine == environment.collect().machine


def test_the_noise_floor_is_measured_by_default(benchwright: Cli) -> None:
    done = benchwright("env", "--json", "--seconds", "1")
    assert (done.returncode, done.stderr) == (0, "")  # no progress without a terminal
    page = json.loads(done.stdout)["data"]
    assert page["noise"]["smallest_change"] > 0
    assert set(page["noise"]["workloads"]) == {"interpreter", "memory", "matmul"}


def test_the_self_test_states_a_verdict(benchwright: Cli) -> None:
    page = benchwright("env", "--self-test").stdout
    assert "Self-test\n  verdict  " in page
    assert "Noise floor" not in page


@pytest.mark.soak  # the self-test once more
def test_the_self_test_and_the_noise_floor_are_told_together(benchwright: Cli) -> None:
    asked = json.loads(benchwright("env", "--self-test", "--noise", "--seconds", "1", "--json").stdout)["data"]
    assert asked["self_test"]["verdict"] and asked["noise"]


@pytest.mark.soak
def test_progress_goes_to_a_terminal(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "benchwright", "env", "--seconds", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=inside, check=True, timeout=60)
    os.close(inside)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "measuring noise" in shown and "100%" in shown
    json.loads(done.stdout)


def test_quick_and_noise_exclude_each_other(inside: Cli) -> None:
    done = inside("env", "--quick", "--noise")
    assert done.returncode == 2
    assert "--quick and --noise exclude each other" in done.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
def test_a_time_that_never_ends_or_begins_is_refused(inside: Cli, seconds: str) -> None:
    done = inside("env", "--seconds", seconds)
    assert done.returncode == 2
    assert "--seconds" in done.stderr and "Traceback" not in done.stderr


def kept(store: Path, number: int, **changed: object) -> str:
    """A run in the store whose environment is this machine's with some facts changed."""
    here = environment.collect(packages={"numpy": "2.1"})
    found = replace(here, knobs={**here.knobs, "at_start": {}}, **changed)  # type: ignore[arg-type]
    moment = f"2026-01-0{number}T00:00:00+00:00"
    case = Case(name="case", target=Target(runtime="fake", uri=""))
    result = Result(
        id=f"r{number}", case=case, round=0, status=Status.OK, environment=found, started_at=moment, duration=1.0
    )
    run = Run(id=f"0{number}", started_at=moment, harness="1", results=(result,), tags=(f"tag{number}",))
    opened = open_store(store)
    opened.add_run(run)
    opened.close()
    return f"tag{number}"


def test_diff_shows_what_differs_between_two_runs(inside: Cli, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    a, b = kept(store, 1), kept(store, 2, packages={"numpy": "2.2"})
    done = inside("env", "diff", a, b, "--store", str(store))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [["tag1", "tag2"], ["packages.numpy", "2.1", "2.2"]]
    told = json.loads(inside("env", "diff", a, b, "--store", str(store), "--json").stdout)["data"]
    assert told == [{"place": "packages.numpy", "a": "2.1", "b": "2.2"}]
    assert inside("env", "diff", a, a, "--store", str(store)).stdout == "no difference\n"


def test_diff_of_an_unknown_run_is_a_wrong_request(inside: Cli, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    done = inside("env", "diff", kept(store, 1), "nowhere", "--store", str(store))
    assert done.returncode == 2
    assert "nowhere" in done.stderr and "Traceback" not in done.stderr


def test_too_little_to_say_anything_is_refused(inside: Cli, few_processes: None) -> None:
    done = inside("env", "--calibrate", "--seconds", "1")
    assert done.returncode == 2
    assert "say nothing of how often a gate is wrong" in done.stderr and "give --seconds" in done.stderr
    assert " 0 %" not in done.stdout
    assert inside("list", "--all").stdout == ""


def test_a_calibration_is_kept_shown_again_and_no_run(inside: Cli, equal_work: None) -> None:
    done = inside("env", "--calibrate", "--seconds", "1")
    assert (done.returncode, done.stderr) == (0, "")  # no progress without a terminal
    assert "equal work was called different in" in done.stdout and "is found in nine of ten" in done.stdout
    assert "False alarms on this machine" in inside("env", "--quick").stdout
    page = json.loads(inside("env", "--quick", "--json").stdout)["data"]
    assert page["calibration"]["rounds"]["alarms"]["of"] > 20
    assert inside("list").stdout == ""
    assert "benchwright-calibration" in inside("list", "--all").stdout
    assert inside("show", "last").returncode == 2


def test_an_interrupt_keeps_what_was_measured(inside: Cli, interrupted_work: None) -> None:
    done = inside("env", "--calibrate", "--seconds", "600")
    assert done.returncode == 130
    assert "cut off early: 90 processes" in done.stdout
    assert "cut off early: 90 processes" in inside("env", "--quick").stdout


@pytest.mark.soak
def test_check_compare_and_ab_quote_the_calibration(inside: Cli, equal_work: None, tmp_path: Path) -> None:
    (tmp_path / "bench_it.py").write_text("def work():\n    return sum(range(1000))\n")
    for _ in range(2):
        assert inside("run", "bench_it:work", "--rounds", "2", "--duration", "0.02").returncode == 0
    done = inside("check", "--against", "last~1", "--fail-on", "failed")
    assert "false alarm is not known: benchwright env --calibrate measures it" in done.stdout
    assert inside("env", "--calibrate", "--seconds", "1").returncode == 0
    for arguments in (
        ("check", "--against", "last~1", "--fail-on", "failed"),
        ("check", "--against", "last~1", "--fail-on", "failed", "--markdown"),
        ("compare", "last~1", "last"),
        ("compare", "last~1", "last", "--markdown"),
    ):
        said = " ".join(inside(*arguments).stdout.replace("\\", "").split())
        assert "equal work was called different in 0 of" in said and "comparisons of runs (0 % [0 %, " in said, said
    told = json.loads(inside("check", "--against", "last~1", "--fail-on", "failed", "--json").stdout)["data"]
    assert told["calibration"]["rounds"]["alarms"]["count"] == 0
    sides = ("--control-dir", ".", "--treatment-dir", ".", "--pairs", "1", "--duration", "0.02")
    done = inside("ab", "bench_it:work", *sides)
    assert "replayed trials (0 % [0 %, " in " ".join(done.stdout.split()), done.stdout + done.stderr


@pytest.fixture
def equal_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that take no time and hardly differ; their clock ends the measuring after 240 of them."""
    _stand_in(monkeypatch, most=240)


@pytest.fixture
def few_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(monkeypatch, most=20)


@pytest.fixture
def interrupted_work(monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(monkeypatch, most=90, interrupted=True)


def _stand_in(monkeypatch: pytest.MonkeyPatch, *, most: int, interrupted: bool = False) -> None:
    draw, done = random.Random(0), 0

    def run(kind: str, *, budget: float) -> list[float]:
        nonlocal done
        if interrupted and done == most:
            raise KeyboardInterrupt
        done += 1
        speed = 1 + draw.gauss(0, 0.003)
        return [0.001 * speed * (1 + draw.gauss(0, 0.001)) for _ in range(9)]

    monkeypatch.setattr(calibration.record, "__kwdefaults__", {"run": run})
    over = lambda: 3600.0 * (not interrupted and done >= most)  # noqa: E731
    monkeypatch.setattr(calibration, "time", SimpleNamespace(monotonic=over))
    # Few replays: what they say is tested where they are made.
    monkeypatch.setattr(calibration.calibration, "__kwdefaults__", {"usual": None, "replays": 12})
    monkeypatch.setattr(calibration, "_FEWER", 10)
