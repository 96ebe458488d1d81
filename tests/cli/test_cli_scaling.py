"""`benchwright scaling` as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store holds one run of two cases."""
    where = tmp_path_factory.mktemp("scaling")
    done = _benchwright(
        where, "run", "fake:constant?ms=1&clock=virtual", "fake:constant?ms=5&clock=virtual", "--rounds", "2"
    )
    assert done.returncode == 0, done.stderr
    return where


def _benchwright(folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "benchwright", *given], capture_output=True, text=True, cwd=folder)


def test_it_draws_and_recommends(folder: Path) -> None:
    done = _benchwright(folder, "scaling", "--objective", "p99<2ms", "-o", "picture.png")
    assert done.returncode == 0, done.stderr
    assert "throughput against median latency" in done.stdout
    assert "Lowest latency: fake:constant?ms=1&clock=virtual (median latency 1.00 ms" in done.stdout
    assert "Highest throughput with p99 < 2.00 ms: fake:constant?ms=1" in done.stdout
    assert "wrote picture.png" in done.stdout
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_as_json(folder: Path) -> None:
    done = _benchwright(folder, "scaling", "last", "--json")
    told = json.loads(done.stdout)
    assert [entry["for"] for entry in told["advice"]] == ["Lowest latency", "Highest throughput"]
    assert told["advice"][0]["case"] == "fake:constant?ms=1&clock=virtual"


@pytest.mark.parametrize("given", [["-o", "x.txt"], ["--objective", "p99"], ["no-such-run"]])
def test_a_wrong_request_ends_with_two(folder: Path, given: list[str]) -> None:
    done = _benchwright(folder, "scaling", *given)
    assert done.returncode == 2
    assert done.stderr
