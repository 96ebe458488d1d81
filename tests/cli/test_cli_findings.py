"""`benchwright findings` and `benchwright check`: one life of a finding, and what each of a gate's readers gets."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.cli import main
from benchwright.store import open_store

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
Call = Callable[..., str]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A series that became 12 % slower."""
    path = tmp_path / "results.db"
    store = open_store(path)
    made.fill(store, made.levels((0.010, 20), (0.0112, 15)))
    store.close()
    return path


@pytest.fixture
def call(results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("findings", "show", "3f", code=2)`: the command line on `results`, in this process; what it printed."""
    monkeypatch.setenv("BENCHWRIGHT_STORE", str(results))
    monkeypatch.setenv("BENCHWRIGHT_USER", "ada")

    def run(*words: str, code: int = 0) -> str:
        found = main(words)
        printed = capsys.readouterr()
        assert found == code, printed.err
        return printed.err if code == 2 else printed.out

    return run


def test_the_life_of_a_finding(call: Call) -> None:
    assert call("findings") == "no findings; benchwright findings judge looks for some\n"
    (found,) = json.loads(call("findings", "judge", "--json", code=1))["data"]["findings"]
    name = found["id"]
    assert call("findings").startswith(f"{name}  worse  bench.py::encode batch_size=8  latency_p50 ")
    assert call("findings", "acknowledge", name[:6], "--comment", "looking") == f"{name}: acknowledged\n"
    assert call("findings", "assign", name, "bob") == f"{name}: assigned to bob\n"
    shown = call("findings", "show", name)
    assert "^ run run-0020" in shown and "acknowledged: looking" in shown and "assigned: to bob" in shown
    call("findings", "resolve", name)
    assert call("findings").startswith("no findings")
    (kept,) = json.loads(call("findings", "--state", "resolved", "--json"))["data"]["findings"]
    assert (kept["assignee"], [remark["who"] for remark in kept["remarks"]]) == ("bob", ["benchwright", *["ada"] * 3])


def test_rules_are_kept_and_obeyed(call: Call) -> None:
    call("findings", "threshold", "bench.py::*", "20%")
    call("findings", "mute", "other", "--reason", "noisy")
    assert call("findings", "judge") == "nothing new\n"
    told = json.loads(call("findings", "rules", "--json"))["data"]
    assert told["thresholds"] == [{"case": "bench.py::*", "smallest": 0.2, "metric": ""}]
    assert [(mute["what"], mute["who"], mute["reason"]) for mute in told["mutes"]] == [("other", "ada", "noisy")]
    assert "muted  other  ada" in call("findings", "rules")
    assert "there was no threshold" in call("findings", "threshold", "x", "none")
    assert call("findings", "mute", "other", "--off") == "other: no longer muted\n"


def test_a_gate_tells_every_reader_in_its_own_way(inside: Benchwright, results: Path, tmp_path: Path) -> None:
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    ended = inside(
        *("check", "last", "--against", "run-0010", "--fail-on", "worse>2%", "--fail-on", "failed"),
        *("--markdown", "--github", "--junit", str(junit), "--store", str(results)),
        env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.startswith("**failed: 3 problems; run run-0034 against run-0010")
    assert "\n::error title=benchwright%3A bench.py%3A%3Aencode" in ended.stdout
    assert summary.read_text().startswith("**failed: 3 problems")
    assert ElementTree.parse(junit).getroot().get("failures") == "3"
    passed = inside("check", "--against", "history", "--json", "--store", str(results))
    assert passed.returncode == 0, passed.stderr
    assert json.loads(passed.stdout)["data"]["ok"] is True


def test_two_files_need_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("old", 0.01), ("new", 0.02)):
        run = made.run_of(1 if name == "old" else 2, seconds)
        (tmp_path / f"{name}.json").write_text(schema.dumps(run))
    assert main(["check", "new.json", "--against", "old.json", "--fail-on", "worse"]) == 1
    assert "latency_p50 worse: 2 times as long  [worse]" in capsys.readouterr().out
    assert not (tmp_path / ".benchwright").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check"], "Missing option '--against'"),
        (["check", "--against", "run-0001", "--fail-on", "wrose"], "did you mean 'worse'?"),
        (["check", "--against", "nothing"], "'nothing' is not a run, tag or commit of this store"),
        (["findings", "show", "nothing"], "no finding 'nothing' in this store"),
        (["findings", "threshold", "x", "5ms"], "is not a percentage"),
    ],
)
def test_a_wrong_request_is_code_2(call: Call, words: list[str], says: str) -> None:
    assert says in call(*words, code=2)
