"""`benchwright list`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright.records import Case, Environment, Failure, Result, Revision, Run, Status, Target
from benchwright.store import open_store

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def benchwright(inside: Command) -> Command:
    return inside


def test_the_cases_of_a_target(benchwright: Command, tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(
        "from benchwright.decorator import benchmark\n@benchmark(params={'size': [1, 2]})\ndef f(size): pass\n"
    )
    (tmp_path / "m.onnx").write_bytes(b"x")
    ended = benchwright("list", "bench.py", "m.onnx")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "bench.py::f  runtime=python size=1 workers=1 copies=1",
        "bench.py::f  runtime=python size=2 workers=1 copies=1",
        "m.onnx  runtime=onnxruntime batch_size=1 workers=1 copies=1",
    ]


def test_cases_as_json_for_the_runtimes_asked_for(benchwright: Command, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"x")
    ended = benchwright("list", "m.onnx", "--runtime", "openvino,onnxruntime", "--json")
    rows = json.loads(ended.stdout)["data"]
    assert [row["params"]["runtime"] for row in rows] == ["openvino", "onnxruntime"]
    assert set(rows[0]) == {"name", "params", "version"} and len(rows[0]["version"]) == 64


def test_a_wrong_target_is_a_wrong_request(benchwright: Command) -> None:
    ended = benchwright("list", "nothing.onnx")
    assert ended.returncode == 2
    assert ended.stderr == "benchwright: there is no file nothing.onnx\n"
    assert ended.stdout == ""


def _stored(tmp_path: Path) -> str:
    """A store with a run of two results and a younger one of a single failed result."""
    store = str(tmp_path / "results.db")
    with contextlib.closing(open_store(store)) as kept:
        for number, statuses in enumerate(((Status.OK, Status.OK), (Status.FAILED,))):
            results = tuple(_result(f"{number}{i}", i, status) for i, status in enumerate(statuses))
            run = Run(
                id=f"2026010{number + 1}T000000000-aaaaaa",
                started_at=f"2026-01-0{number + 1}T00:00:00+00:00",
                harness="0",
                results=results,
                tags=("nightly",) if number else (),
                revision=Revision(vcs="git", id="0123456789abcdef") if number else None,
            )
            assert kept.add_run(run)
    return store


def _result(name: str, number: int, status: Status) -> Result:
    return Result(
        id=f"result-{name}",
        case=Case(name="m.onnx", target=Target(runtime="fake", uri="fake:constant")),
        round=number,
        status=status,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01T00:00:00+00:00",
        duration=1.0,
        error=Failure(kind="exit", message="ended") if status is Status.FAILED else None,
    )


def test_the_runs_in_the_store_newest_first(benchwright: Command, tmp_path: Path) -> None:
    ended = benchwright("list", "--store", _stored(tmp_path))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "20260102T000000000-aaaaaa  2026-01-02T00:00:00  1 result  1 failed  0123456789  [nightly]  m.onnx",
        "20260101T000000000-aaaaaa  2026-01-01T00:00:00  2 results  m.onnx",
    ]


def test_what_others_called_their_runs_and_cases_drives_no_terminal(benchwright: Command, tmp_path: Path) -> None:
    store, evil = _stored(tmp_path), "\x1b[31m\u202egnp\n"
    result = replace(_result("evil", 0, Status.OK), case=Case(name=f"a{evil}", target=Target(runtime="r", uri="u")))
    run = Run(id="run-evil", started_at="2026-01-03T00:00:00+00:00", harness="0", results=(result,), tags=(f"t{evil}",))
    with contextlib.closing(open_store(store)) as kept:
        assert kept.add_run(run)
    shown = benchwright("list", "--store", store, "--limit", "1").stdout
    assert shown.count("\n") == 1 and not {"\x1b", "\u202e"} & {*shown}
    assert r"[t\x1b[31m\u202egnp\n]  a\x1b[31m\u202egnp\n" in shown


def test_runs_as_json_and_no_more_than_asked_for(benchwright: Command, tmp_path: Path) -> None:
    (row,) = json.loads(benchwright("list", "--store", _stored(tmp_path), "--limit", "1", "--json").stdout)["data"]
    assert (row["id"], row["failed"], row["cases"]) == ("20260102T000000000-aaaaaa", 1, ["m.onnx"])


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path, form: list[str]) -> None:
    command = [sys.executable, "-m", "benchwright", "list", "--store", _stored(tmp_path), *form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_an_empty_store_says_what_fills_it(benchwright: Command) -> None:
    ended = benchwright("list")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == "no runs yet: benchwright run TARGET makes one\n"
    assert json.loads(benchwright("list", "--json").stdout)["data"] == []


def test_what_a_package_has_to_run(benchwright: Command, tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "__init__.py").touch()
    (tmp_path / "suite" / "broken.py").write_text("import nowhere_to_be_found  # a benchmark\n")
    (tmp_path / "suite" / "speed.py").write_text(
        '"""Speed."""\n'
        "class Sort:\n"
        '    """How fast lists are sorted."""\n'
        "    params = {'n': [1, 2]}\n"
        "    def time_sort(self, n):\n"
        '        """In place."""\n'
        "    def benchmark_all(self): pass\n"
    )
    ended = benchwright("list", "suite")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "suite.speed.Sort: How fast lists are sorted.",
        "  suite.speed.Sort.time_sort  runtime=class n=1 workers=1 copies=1  # In place.",
        "  suite.speed.Sort.time_sort  runtime=class n=2 workers=1 copies=1  # In place.",
        "  suite.speed.Sort.benchmark_all  runtime=class",
    ]
    assert ended.stderr.startswith("benchwright: suite.broken is left out: ")
    rows = json.loads(benchwright("list", "suite.speed", "--json").stdout)["data"]
    assert (rows[0]["summary"], rows[0]["class"], rows[0]["class_summary"]) == (
        "In place.",
        "suite.speed.Sort",
        "How fast lists are sorted.",
    )
    assert "summary" not in rows[2] and rows[2]["params"] == {"runtime": "class"}


def test_a_package_of_which_nothing_can_be_imported(benchwright: Command, tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "broken.py").write_text("import nowhere_to_be_found  # a benchmark\n")
    ended = benchwright("list", "suite")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "suite.broken: importing suite.broken failed: ModuleNotFoundError" in ended.stderr
