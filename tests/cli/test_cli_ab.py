"""`benchwright ab` as a process, on a repository made here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.store import open_store

Call = Callable[..., subprocess.CompletedProcess[str]]

BENCH = """
from pathlib import Path

class Cost:
    def benchmark_it(self, report):
        report("cost", float(Path("cost.txt").read_text()), better="lower")
"""


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two revisions, `before` and `after`; what is measured is read from a file of theirs."""
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Ada")
        monkeypatch.setenv(f"{name}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    git(tmp_path, "init", "-q", "-b", "main")
    for name, cost in (("before", "1.0"), ("after", "1.1")):
        (tmp_path / "bench.py").write_text(BENCH)
        (tmp_path / "source.txt").write_text(cost)
        git(tmp_path, "add", "bench.py", "source.txt")
        git(tmp_path, "commit", "-q", "-m", name)
        git(tmp_path, "tag", name)
    return tmp_path


def test_a_slower_revision_is_named_and_everything_is_kept(repository: Path, inside: Call) -> None:
    done = inside(
        "ab", "bench.py::Cost", "--control", "before", "--treatment", "after", "--build", "cp source.txt cost.txt",
        "--metric", "cost", "--no-verify", "--seed", "3", "--json", "--output", "trial.png", "--tag", "mine",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["kind"] == "trial"
    told = document["data"]
    (row,) = told["rows"]
    assert (row["verdict"], row["metric"]) == ("worse", "cost") and row["pairs"] <= 8
    assert row["effect"]["point"] == pytest.approx(1.1)
    assert not (repository / "cost.txt").exists(), "the user's own copy is left alone"
    assert (repository / "trial.png").read_bytes().startswith(b"\x89PNG")
    with closing(open_store(str(repository / ".benchwright" / "results.db"), create=False)) as store:
        control, treatment = (store.run(run) for run in told["runs"]["benchmark"])
    assert control.tags == ("mine", "ab", f"ab-{told['id']}", "control")
    assert (treatment.baseline, treatment.reason) == (control.id, "benchmark")
    assert [run.revision.id for run in (control, treatment) if run.revision] == [
        told[side]["revision"]["id"] for side in ("control", "treatment")
    ]
    orders = [[result.details["order"] for result in run.results] for run in (control, treatment)]
    assert orders[0] == orders[1] == [pair["order"] for pair in row["heats"][0]["pairs"]]
    for number, order in enumerate(orders[0]):
        began = [run.results[number].started_at for run in (control, treatment)]
        assert (began[0] < began[1]) == (order == "AB")


def test_a_build_that_fails_exits_with_1_and_its_words(repository: Path, inside: Call) -> None:
    done = inside("ab", "bench.py::Cost", "--control", "before", "--build", "echo no such header; exit 3")
    assert done.returncode == 1
    assert "the control was not built" in done.stdout and "no such header" in done.stdout
    assert not (repository / ".benchwright").exists()


def test_a_wrong_request_exits_with_2_before_anything_is_measured(repository: Path, inside: Call) -> None:
    done = inside("ab", "bench.py::Cost", "--control", "no-such-revision")
    assert done.returncode == 2 and "no-such-revision" in done.stderr
    done = inside("ab", "bench.py::Cost", "--output", "trial.txt")
    assert done.returncode == 2 and "is not a picture file" in done.stderr
