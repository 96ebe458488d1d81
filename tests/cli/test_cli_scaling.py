"""`benchwright scaling` on a run that was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store holds one run of two cases of one model, timed by a clock that no load disturbs."""
    where = tmp_path_factory.mktemp("scaling")
    command = ["run", "fake:constant?ms=1&clock=virtual", "--batch-size", "1,8", "--rounds", "2"]
    subprocess.run([sys.executable, "-m", "benchwright", *command], check=True, capture_output=True, cwd=where)
    return where


@pytest.fixture
def benchwright(folder: Path, inside: Benchwright) -> Benchwright:
    return partial(inside, cwd=folder)


def test_it_draws_and_recommends(folder: Path, benchwright: Benchwright) -> None:
    done = benchwright("scaling", "--objective", "p99<2ms", "-o", "picture.png")
    assert done.returncode == 0, done.stderr
    assert "throughput against median latency" in done.stdout
    assert "Lowest latency: one of 2 that cannot be told apart by median latency: " in done.stdout
    assert "Highest throughput: batch_size=8 (median latency 1.00 ms, throughput 8.00 k/s)" in done.stdout
    assert "Highest throughput with p99 < 2.00 ms: batch_size=8" in done.stdout
    assert "wrote picture.png" in done.stdout
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_as_json(benchwright: Benchwright) -> None:
    done = benchwright("scaling", "last", "--json")
    told = json.loads(done.stdout)["data"]
    assert [entry["for"] for entry in told["advice"]] == ["Lowest latency", "Highest throughput"]
    assert [entry["told_apart"] for entry in told["advice"]] == [False, True]
    assert told["advice"][1]["case"] == "fake:constant?ms=1&clock=virtual batch_size=8"


@pytest.mark.parametrize("given", [["-o", "x.txt"], ["--objective", "p99"], ["no-such-run"]])
def test_a_wrong_request_ends_with_two(benchwright: Benchwright, given: list[str]) -> None:
    done = benchwright("scaling", *given)
    assert done.returncode == 2
    assert done.stderr


@pytest.mark.parametrize("given", [[], ["last", "--objective", "p99<2ms"], ["--json"]])
def test_it_is_a_view_of_show(benchwright: Benchwright, given: list[str]) -> None:
    shown, told = benchwright("show", *given, "--scaling"), benchwright("scaling", *given)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, told.stdout, "")
