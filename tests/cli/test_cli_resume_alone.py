"""`benchwright run --resume RUN` without a target repeats the command line that began the run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.store import open_store

Call = Callable[..., "subprocess.CompletedProcess[str]"]

BENCH = """
from pathlib import Path

def half(size: int = 1) -> None:
    if size == 2 and not Path("ready").exists():
        raise RuntimeError("not yet")
"""


@pytest.fixture
def begun(inside: Call, tmp_path: Path) -> str:
    """A run of two cases, one of which failed; its id."""
    (tmp_path / "bench.py").write_text(BENCH)
    asked = ["bench.py::half", "--param", "size=1,2", "--samples", "3", "--warmup", "0", "--rounds", "2"]
    assert inside("run", *asked, "--tag", "nightly").returncode == 1
    return _run(inside)["id"]


def _run(inside: Call) -> Any:
    return json.loads(inside("show", "--json").stdout)["data"]


def test_the_run_goes_on_with_its_targets_and_options(inside: Call, begun: str, tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    ended = inside("run", "--resume", begun)
    assert ended.returncode == 0, ended.stderr
    again = _run(inside)
    assert again["id"] == begun and [one["status"] for one in again["results"]] == ["ok"] * 4
    assert again["tags"] == ["nightly"] and again["command"][1:3] == ["run", "bench.py::half"]
    assert inside("run", "--resume", "last").returncode == 0  # nothing is left to do, and it can be said again


def test_what_is_typed_beside_it_counts(inside: Call, begun: str) -> None:
    ended = inside("run", "--resume", begun, "--json", "--retries", "1")
    assert ended.returncode == 1 and json.loads(ended.stdout)["data"]["id"] == begun
    ended = inside("run", "--resume", begun, "--rounds", "3")
    assert ended.returncode == 2 and "planned 4 results" in ended.stderr


def test_a_command_after_two_dashes_is_repeated(inside: Call, tmp_path: Path) -> None:
    words = ["--samples", "1", "--rounds", "1", "--", "sh", "-c", "test -e ready"]
    assert inside("run", *words).returncode == 1
    (tmp_path / "ready").touch()
    assert inside("run", "--resume", "last").returncode == 0
    assert _run(inside)["results"][0]["case"]["name"] == "sh -c 'test -e ready'"


def test_another_folder_and_a_moved_file_are_named(inside: Call, begun: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store = str(tmp_path / ".benchwright" / "results.db")
    ended = inside("run", "--resume", begun, "--store", store, cwd=elsewhere)
    assert ended.returncode == 2 and "cannot be repeated here" in ended.stderr
    assert "benchwright run bench.py::half" in ended.stderr and str(tmp_path / "bench.py") in ended.stderr
    shutil.move(tmp_path / "bench.py", tmp_path / "moved.py")
    ended = inside("run", "--resume", begun)
    assert ended.returncode == 2 and "there is no file bench.py" in ended.stderr


def test_what_changed_since_is_not_told_to_repeat_what_was_repeated(inside: Call, begun: str, tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(f"{BENCH}\nCHANGED = 1\n")
    ended = inside("run", "--resume", begun)
    assert ended.returncode == 2 and "its content has changed" in ended.stderr
    assert "measure a new run, without --resume" in ended.stderr and "repeat the command line" not in ended.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), "keeps no command line"),
        (("benchwright", "watch", "bench.py::half"), "begun by `benchwright watch`"),
        (("benchwright", "run", "https://***@host/v1"), "held a secret"),
        (("benchwright", "run", "a.onnx", "--no-such-flag"), "is not understood now"),
    ],
)
def test_a_run_whose_command_line_is_of_no_use_is_refused(
    inside: Call, begun: str, tmp_path: Path, command: tuple[str, ...], words: str
) -> None:
    store = open_store(str(tmp_path / ".benchwright" / "results.db"))
    store.begin(replace(store.run(begun), id="20200101T000000000-aaaaaa", command=command, results=()))
    store.close()
    ended = inside("run", "--resume", "20200101T000000000-aaaaaa")
    assert ended.returncode == 2 and words in ended.stderr, ended.stderr
    assert "20200101T000000000-aaaaaa" in ended.stderr


def test_a_run_that_is_not_there_and_python(inside: Call, begun: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert inside("run", "--resume", "nowhere").returncode == 2
    import benchwright as bw

    with pytest.raises(bw.UserError, match="needs the targets of that run"):
        bw.run(resume=begun)
