"""`benchwright run --resume`: a run that was killed, interrupted or failed in part is completed in the same place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.records import Run, Status
from benchwright.store import open_store

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]

# What stops it lies outside of the file: a changed file would be another thing to measure.
BENCH = """
import time
from pathlib import Path

def quick():
    time.sleep(0.001)

def slow():
    Path("begun").touch()
    while Path("hold").exists():
        time.sleep(0.01)
    if Path("broken").exists():
        raise LookupError("not yet")
    time.sleep(0.001)
"""
REQUEST = ("run", "bench.py::quick", "bench.py::slow", "--rounds", "2", "--samples", "20", "--warmup", "0")


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


@pytest.fixture(autouse=True)
def bench(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(BENCH, encoding="utf-8")


def _kept(folder: Path) -> Run:
    with closing(open_store(folder / ".benchwright" / "results.db")) as store:
        (summary,) = store.runs()
        return store.run(summary.id)


def _cut_off(folder: Path, number: int) -> int:
    """Begins the request, and sends it a signal when its second case is being measured; its exit code."""
    (folder / "hold").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchwright", *REQUEST], cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (folder / "begun").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, number)
    code = process.wait(60)
    (folder / "hold").unlink()
    return code


@pytest.mark.parametrize(
    ("number", "code", "left"),
    [
        (signal.SIGKILL, -9, [Status.OK]),
        (signal.SIGINT, 130, [Status.OK, Status.KILLED, Status.SKIPPED, Status.SKIPPED]),
    ],
    ids=["kill -9", "Ctrl-C"],
)
def test_a_run_that_was_cut_off_is_completed(
    number: int, code: int, left: list[Status], benchwright: Benchwright, tmp_path: Path
) -> None:
    assert _cut_off(tmp_path, number) == code
    before = _kept(tmp_path)
    assert [result.status for result in before.results] == left
    ended = benchwright(*REQUEST, "--resume", "last")
    assert ended.returncode == 0, ended.stderr
    after = _kept(tmp_path)
    assert after.id == before.id and after.planned == 4
    assert after.results[0] == before.results[0]  # what stands was not measured again
    found = sorted((result.case.name, result.round, result.status) for result in after.results)
    assert found == [(f"bench.py::{name}", round_, Status.OK) for name in ("quick", "slow") for round_ in (0, 1)]
    assert len({result.id for result in after.results}) == 4
    assert all(warning.code != "retried" for result in after.results for warning in result.warnings)
    assert after.id in ended.stdout and "incomplete" not in ended.stdout
    assert "bench.py::quick" in ended.stdout and "bench.py::slow" in ended.stdout  # the table is the whole run's
    again = benchwright(*REQUEST, "--resume", after.id)
    assert again.returncode == 0
    assert _kept(tmp_path) == after


def test_what_failed_is_tried_again_and_says_so(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    assert benchwright(*REQUEST).returncode == 1
    still = benchwright(*REQUEST, "--resume", "last")
    assert still.returncode == 1
    (tmp_path / "broken").unlink()
    ended = benchwright(*REQUEST, "--resume", "last")
    assert ended.returncode == 0, ended.stdout
    run = _kept(tmp_path)
    assert [result.status for result in run.results] == [Status.OK] * 4
    told = [warning.seen for result in run.results for warning in result.warnings if warning.code == "retried"]
    assert told == ["1 attempts failed before this one: not yet"] * 2


def test_what_is_another_run_is_refused(benchwright: Benchwright, tmp_path: Path) -> None:
    assert benchwright(*REQUEST).returncode == 0
    before = _kept(tmp_path)
    for changed, complaint in (
        (
            ("--samples", "30"),
            "bench.py::quick runtime=python workers=1 copies=1: load.samples was 20 and is now 30",
        ),
        (("--rounds", "3"), "planned 4 results; 2 cases in 3 rounds make 6"),
        (("--no-save",), "a resumed run is always saved in its store"),
        (("--resume", "nightly"), "no run, tag or commit 'nightly'"),
        (("--store", "elsewhere.db"), "elsewhere.db: no such store"),
    ):
        ended = benchwright(*REQUEST, "--resume", "last", *changed)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert complaint in ended.stderr
        assert _kept(tmp_path) == before


def test_code_that_changed_meanwhile_is_refused(benchwright: Benchwright, tmp_path: Path) -> None:
    assert benchwright(*REQUEST).returncode == 0
    (tmp_path / "bench.py").write_text(BENCH.replace("0.001", "0.002"), encoding="utf-8")
    ended = benchwright(*REQUEST, "--resume", "last")
    assert ended.returncode == 2
    assert "bench.py::slow runtime=python workers=1 copies=1: its content has changed" in ended.stderr
