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

from benchwright import environment, schema
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.store import open_store

Cli = Callable[..., subprocess.CompletedProcess[str]]


def test_the_quick_page_has_every_section(benchwright: Cli) -> None:
    done = benchwright("env", "--quick")
    assert (done.returncode, done.stderr) == (0, "")
    headings = [line for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert headings == ["Machine", "System", "Accelerators", "Knobs", "At the start", "What to change"]
    assert "\033" not in done.stdout


def test_json_holds_the_environment(benchwright: Cli) -> None:
    page = json.loads(benchwright("env", "--quick", "--json").stdout)
    assert set(page) == {"environment", "noise", "self_test", "advice"}
    assert (page["noise"], page["self_test"]) == (None, None)
    found = schema.decode(Environment, page["environment"])
    assert found.machine == environment.collect().machine


def test_the_noise_floor_is_measured_by_default(benchwright: Cli) -> None:
    done = benchwright("env", "--json", "--seconds", "1")
    assert (done.returncode, done.stderr) == (0, "")  # no progress without a terminal
    page = json.loads(done.stdout)
    assert page["noise"]["smallest_change"] > 0
    assert set(page["noise"]["workloads"]) == {"interpreter", "memory", "matmul"}


def test_the_self_test_states_a_verdict(benchwright: Cli) -> None:
    page = benchwright("env", "--self-test").stdout
    assert "Self-test\n  verdict  " in page
    assert "Noise floor" not in page
    asked = json.loads(benchwright("env", "--self-test", "--noise", "--seconds", "1", "--json").stdout)
    assert asked["self_test"]["verdict"] and asked["noise"]


def test_progress_goes_to_a_terminal(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "benchwright", "env", "--seconds", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=inside, check=True, timeout=60)
    os.close(inside)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "measuring noise" in shown and "100%" in shown
    json.loads(done.stdout)


def test_quick_and_noise_exclude_each_other(benchwright: Cli) -> None:
    done = benchwright("env", "--quick", "--noise")
    assert done.returncode == 2
    assert "--quick and --noise exclude each other" in done.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
def test_a_time_that_never_ends_or_begins_is_refused(benchwright: Cli, seconds: str) -> None:
    done = benchwright("env", "--seconds", seconds)
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


def test_diff_shows_what_differs_between_two_runs(benchwright: Cli, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    a, b = kept(store, 1), kept(store, 2, packages={"numpy": "2.2"})
    done = benchwright("env", "diff", a, b, "--store", str(store))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [["tag1", "tag2"], ["packages.numpy", "2.1", "2.2"]]
    told = json.loads(benchwright("env", "diff", a, b, "--store", str(store), "--json").stdout)
    assert told == [{"place": "packages.numpy", "a": "2.1", "b": "2.2"}]
    assert benchwright("env", "diff", a, a, "--store", str(store)).stdout == "no difference\n"


def test_diff_of_an_unknown_run_is_a_wrong_request(benchwright: Cli, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    done = benchwright("env", "diff", kept(store, 1), "nowhere", "--store", str(store))
    assert done.returncode == 2
    assert "nowhere" in done.stderr and "Traceback" not in done.stderr
