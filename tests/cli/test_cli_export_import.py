"""`benchwright export` and `benchwright import`."""

from __future__ import annotations

import json
import subprocess
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.records import Case, Environment, Estimate, Metric, Result, Run, Samples, Status, Target
from benchwright.store import open_store

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
SAMPLES = Samples(
    copy=0, calls=3, loops=1, elapsed=60, columns={"latency": array("q", [5, 6, 7]), "end": array("q", [5, 11, 18])}
)


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.db"
    store = open_store(path)
    for i in range(3):
        store.add_run(_run(i))
    store.close()
    return path


def _run(i: int) -> Run:
    result = Result(
        id=f"r{i}",
        case=Case(name="model.onnx", target=Target(runtime="fake", uri="model.onnx")),
        round=0,
        status=Status.OK,
        environment=Environment(machine={"cpu": "x"}, system={"os": "Linux"}),
        started_at=f"2026-03-0{i + 1}T00:00:00+00:00",
        duration=1.0,
        metrics=(Metric(name="latency", unit="s", better=None, estimate=Estimate(point=i + 0.5, low=0.1, high=9.0)),),
        samples=(SAMPLES,),
    )
    return Run(id=f"run-{i}", started_at=result.started_at, harness="1", results=(result,), tags=("t",) * (i == 0))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_there_and_back(benchwright: Benchwright, results: Path, tmp_path: Path, name: str) -> None:
    ended = benchwright("export", "--all", name, "--store", str(results))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", f"{name}: 3 runs written\n")
    ended = benchwright("import", name, "--store", "folder/copy.db")
    assert (ended.returncode, ended.stdout) == (0, f"{name}: 3 added, 0 there already\n")
    ended = benchwright("import", name, name, "--store", "folder/copy.db", "--json")
    present = ["run-0", "run-1", "run-2"]
    assert json.loads(ended.stdout)["data"] == [{"file": name, "added": [], "present": present}] * 2
    copy = open_store(tmp_path / "folder" / "copy.db", create=False)
    assert [copy.run(run_id) for run_id in copy.run_ids()] == [_run(i) for i in range(3)]
    copy.close()


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ([], ["run-2"]),
        (["last~1", "t"], ["run-1", "run-0"]),
        (["run-1", "last~1"], ["run-1"]),
    ],
)
def test_runs_are_named_as_everywhere(
    benchwright: Benchwright, results: Path, arguments: list[str], runs: list[str]
) -> None:
    ended = benchwright("export", *arguments, "-", "--store", str(results))
    assert ended.returncode == 0
    assert [json.loads(line)["data"]["id"] for line in ended.stdout.splitlines()] == runs


def test_through_a_pipe_and_without_samples(benchwright: Benchwright, results: Path, tmp_path: Path) -> None:
    ended = benchwright("export", "--all", "--no-samples", "-", "--store", str(results))
    assert '"samples": []' in ended.stdout
    ended = benchwright("import", "-", "--store", "copy.db", input=ended.stdout)
    assert (ended.returncode, ended.stdout) == (0, "-: 3 added, 0 there already\n")
    copy = open_store(tmp_path / "copy.db", create=False)
    assert copy.samples("r0") == ()
    copy.close()


def test_a_file_is_replaced_only_by_force(benchwright: Benchwright, results: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("dear")
    ended = benchwright("export", "a.jsonl", "--store", str(results))
    assert ended.returncode == 2
    assert (
        ended.stderr == "benchwright: a.jsonl: is there already\n  add --force to replace it, or choose another name\n"
    )
    assert (tmp_path / "a.jsonl").read_text() == "dear"
    assert benchwright("export", "--force", "a.jsonl", "--store", str(results)).returncode == 0
    assert (tmp_path / "a.jsonl").read_text().count("\n") == 1


def test_a_bad_line_stops_the_import_at_its_place(benchwright: Benchwright, results: Path, tmp_path: Path) -> None:
    benchwright("export", "--all", "a.jsonl", "--store", str(results))
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "a.jsonl").write_text("\n".join([lines[0], lines[1][:-40], lines[2]]))
    ended = benchwright("import", "a.jsonl", "--store", "copy.db")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("benchwright: a.jsonl:2: not JSON")
    copy = open_store(tmp_path / "copy.db", create=False)
    assert list(copy.run_ids()) == ["run-0"]
    copy.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", "--all", "last", "a.jsonl"], "exclude each other"),
        (["export", "nothing", "a.jsonl"], "no run, tag or commit 'nothing'"),
        (["export", "a.csv"], "use .jsonl, .jsonl.gz or .parquet"),
        (["export"], "Missing argument"),
        (["import", "none.jsonl"], "none.jsonl: no such file"),
        (["import"], "Missing argument"),
    ],
)
def test_a_wrong_request_is_code_2_and_no_traceback(
    benchwright: Benchwright, results: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    ended = benchwright(*arguments, "--store", str(results))
    assert ended.returncode == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("*a.*"))


def test_exporting_makes_no_store(benchwright: Benchwright, tmp_path: Path) -> None:
    ended = benchwright("export", "--all", "a.jsonl")
    assert ended.returncode == 2
    assert "results.db: no such store" in ended.stderr
    assert list(tmp_path.iterdir()) == []
