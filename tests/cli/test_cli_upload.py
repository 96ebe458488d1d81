"""`benchwright upload`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.execution.artifacts import collect
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.store import open_store

Benchwright = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "artifacts" / "0"
    folder.mkdir(parents=True)
    (folder / "trace.json").write_text("[]")
    (folder / "a.log").write_text("line\n")
    return folder


@pytest.fixture
def run(files: Path) -> Run:
    result = Result(
        id="r0",
        case=Case(name="model.onnx", target=Target(runtime="fake", uri="model.onnx")),
        round=0,
        status=Status.OK,
        environment=Environment(machine={"cpu": "x"}, system={"os": "Linux"}),
        started_at="2026-03-01T00:00:00Z",
        duration=1.0,
        artifacts=collect(files),
    )
    command = ("benchwright", "run", "model.onnx")
    return Run(id="run-0", started_at=result.started_at, harness="1", command=command, results=(result,))


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, run: Run) -> None:
    _keep(tmp_path, run)


def _keep(folder: Path, run: Run) -> None:
    store = open_store(folder / ".benchwright" / "results.db")
    store.add_run(run)
    store.close()


def test_a_run_and_its_files_are_sent_to_every_place(benchwright: Benchwright, run: Run, tmp_path: Path) -> None:
    ended = benchwright("upload", "last", "--to", f"file://{tmp_path}/a", "--to", "b")
    sent = [f"file://{tmp_path}/a/run-0/", f"file://{tmp_path}/a/run-0/r0/", "b/run-0/", "b/run-0/r0/"]
    assert (ended.returncode, ended.stdout.splitlines(), ended.stderr) == (0, sent, "")
    for place in ("a", "b"):
        assert (tmp_path / place / "run-0" / "r0" / "a.log").read_text() == "line\n"
        assert schema.loads((tmp_path / place / "run-0" / "run.json").read_bytes(), Run) == run


def test_what_was_sent_can_be_shown(benchwright: Benchwright, tmp_path: Path) -> None:
    benchwright("upload", "last", "--to", "a")
    shown = benchwright("show", "a/run-0/run.json", "--json")
    assert json.loads(shown.stdout)["data"]["id"] == "run-0"
    ended = benchwright("upload", "a/run-0/run.json", "--to", "b")  # a file is a run too, wherever it came from
    assert (ended.returncode, ended.stdout) == (0, "b/run-0/\nb/run-0/r0/\n")


def test_as_json(benchwright: Benchwright) -> None:
    ended = benchwright("upload", "run-0", "--to", "a", "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["data"] == {
        "run": "run-0",
        "sent": ["a/run-0/", "a/run-0/r0/"],
        "failures": [],
        "repeat": "",
    }


def test_what_is_gone_is_named_and_the_rest_is_sent(benchwright: Benchwright, files: Path, tmp_path: Path) -> None:
    (files / "trace.json").unlink()
    ended = benchwright("upload", "last", "--to", "a", "--store", ".benchwright/results.db")
    assert ended.returncode == 1
    assert ended.stdout == "a/run-0/\na/run-0/r0/\n"
    assert ended.stderr == (
        f"benchwright: {files}/trace.json: no longer there\n"
        "to repeat it: benchwright upload last --to a --store .benchwright/results.db\n"
    )
    assert (tmp_path / "a" / "run-0" / "r0" / "a.log").is_file()


def test_a_place_that_fails_does_not_hold_the_others_back(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    ended = benchwright("upload", "last", "--to", "file", "--to", "b", "--json")
    told = json.loads(ended.stdout)["data"]
    assert ended.returncode == 1
    assert told["sent"] == ["b/run-0/", "b/run-0/r0/"]
    assert len(told["failures"]) == 2 and all("file/run-0/" in failure for failure in told["failures"])
    assert told["repeat"] == "benchwright upload last --to file"


def test_a_login_is_not_shown(benchwright: Benchwright) -> None:
    ended = benchwright("upload", "last", "--to", "ftp://me:geheim@127.0.0.1:1/x y")
    assert ended.returncode == 1
    assert "geheim" not in ended.stderr + ended.stdout
    assert "to repeat it: benchwright upload last --to 'ftp://***@127.0.0.1:1/x y'" in ended.stderr


def test_on_a_terminal_it_says_how_far_it_is(tmp_path: Path) -> None:
    mine, theirs = os.openpty()
    command = [sys.executable, "-m", "benchwright", "upload", "last", "--to", "a"]
    ended = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, timeout=100, check=False)
    os.close(theirs)
    shown = os.read(mine, 10_000).decode()
    os.close(mine)
    assert (ended.returncode, ended.stdout) == (0, b"a/run-0/\na/run-0/r0/\n")
    assert "[1/2] a.log" in shown and "[2/2] trace.json" in shown
    assert shown.endswith("\r\033[K")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["last"], "run run-0 does not say where it goes\n  benchwright upload last --to URL"),
        (["nothing", "--to", "a"], "no run, tag or commit 'nothing'"),
        (["last", "--to", "a", "--to", "s4://bucket"], "did you mean 's3'?"),
        ([], "Missing argument"),
    ],
)
def test_a_wrong_request_is_code_2_and_sends_nothing(
    benchwright: Benchwright, tmp_path: Path, arguments: list[str], says: str
) -> None:
    ended = benchwright("upload", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "a").exists()


@pytest.fixture
def perfzero(run: Run, tmp_path: Path) -> Run:
    """A run whose command says where its output goes."""
    output = tmp_path / "workspace" / "output" / "at1"
    output.mkdir(parents=True)
    (output / "perfzero_summary.json").write_text("{}")
    command = ("benchwright", "perfzero", "--benchmark_methods=a.B.c", f"--output_gcs_url=file://{tmp_path}/far")
    result = replace(run.results[0], id="p0", artifacts=collect(output))
    made = replace(run, id="run-1", started_at="2026-03-02T00:00:00Z", command=command, results=(result,))
    _keep(tmp_path, made)
    return made


def test_a_run_of_the_perfzero_door_goes_where_its_flags_said(
    benchwright: Benchwright, perfzero: Run, tmp_path: Path
) -> None:
    ended = benchwright("upload", perfzero.id)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "far" / "at1" / "perfzero_summary.json").read_text() == "{}"


def test_where_that_fails_the_command_that_repeats_it_is_told(
    benchwright: Benchwright, perfzero: Run, tmp_path: Path
) -> None:
    (tmp_path / "far").write_text("no folder")
    ended = benchwright("upload", perfzero.id)
    assert ended.returncode == 1
    assert "far/at1/perfzero_summary.json" in ended.stderr
    assert ended.stderr.endswith("to repeat it: benchwright upload run-1\n")


def test_with_a_place_it_is_a_run_like_any_other(benchwright: Benchwright, perfzero: Run, tmp_path: Path) -> None:
    ended = benchwright("upload", perfzero.id, "--to", "a")
    assert (ended.returncode, ended.stdout) == (0, "a/run-1/\na/run-1/p0/\n")
    assert not (tmp_path / "far").exists()
