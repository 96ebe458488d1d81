"""The Python door of A/B."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import benchwright as bw
import repositories
from benchwright.errors import OptionError, TargetError, UserError
from benchwright.records import Verdict

plain = repositories.plain


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two folders that are no repositories."""
    monkeypatch.chdir(tmp_path)
    found = {f"{side}_dir": tmp_path / side for side in ("control", "treatment")}
    for folder in found.values():
        folder.mkdir()
        seen = str(folder / "seen")
        code = f"import sys\n\ndef look():\n    with open({seen!r}, 'w') as file:\n        file.write(sys.prefix)\n"
        (folder / "bench.py").write_text(code)
    return found


def test_folders_and_interpreters_are_compared_as_they_are(folders: dict[str, Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)  # in which nothing is installed, not even this package
    python = tmp_path / "env" / "bin" / "python"
    load = bw.Load(samples=3, warmup=0.0)
    trial = bw.ab("bench.py::look", load=load, pairs=1, save=False, control_python=python, **folders)  # type: ignore[arg-type]
    assert isinstance(trial, bw.MeasuredTrial) and trial.ok
    (row,) = trial.rows
    assert (row.name, row.verdict, row.pairs, row.metric) == ("bench.py::look", Verdict.UNCLEAR, 1, "latency_p50")
    prefixes = [(folder / "seen").read_text() for folder in folders.values()]
    assert prefixes == [str(tmp_path / "env"), sys.prefix]
    assert trial.record.control.revision is None
    text = str(trial)
    assert f"{folders['treatment_dir']} against {folders['control_dir']} with {python}: 1 unclear" in text
    assert not (Path.cwd() / ".benchwright").exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"smallest": 0.0}, "smallest: 0.0 is not between 0 and 1"),
        ({"false_alarms": 1.0}, "false_alarms: 1.0 is not between 0 and 1"),
        ({"pairs": 0}, "0"),
        ({"control_dir": "nowhere"}, "there is no folder nowhere"),
        ({"treatment_python": "no-such-python"}, "there is no interpreter no-such-python"),
        ({"control_dir": ""}, "is not in a git or hg repository"),
        ({"tags": [" "]}, "tag"),
    ],
)
def test_a_wrong_request_is_refused(folders: dict[str, Path], wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        bw.ab("bench.py::look", **{**folders, **wrong})


# ---- the usual sides, and what may not be meant ----


class _EnoughError(Exception):
    """Ends a trial before anything is built."""


def _told(**given: Any) -> list[str]:
    """What is said until the first side is built."""
    told: list[str] = []

    def listen(event: Any) -> None:
        told.append(event.text)
        if event.text.startswith("building"):
            raise _EnoughError

    with pytest.raises(_EnoughError):
        bw.ab("bench.py::look", listener=listen, build="true", targets_from="revision", **given)
    return told


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repository(plain: None) -> None:
    """One commit, without anything to measure, on `master`."""
    for command in ("init -q -b master", "commit -q --allow-empty -m first"):
        _do("git", *command.split())


@pytest.mark.usefixtures("repository")
def test_one_commit_against_itself_and_changes_that_are_not_committed_are_told() -> None:
    same, building = _told()
    assert same.startswith("master and HEAD are the same commit, ")
    assert same.endswith("; --treatment-dir . measures a working copy as it is")
    first = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    assert building == f"building {first}: true"
    Path("source.txt").write_text("1")
    _do("git", "add", "source.txt")
    _do("git", "commit", "-q", "-m", "second")
    assert _told(control="HEAD~1") == [building]
    Path("source.txt").write_text("2")
    dirty = "changes that are not committed are not measured; --treatment-dir . measures a working copy as it is"
    assert _told(control="HEAD~1")[0] == dirty
    assert len(_told(treatment="HEAD~1")) == 1  # which has nothing to do with the changes


@pytest.mark.usefixtures("repository")
def test_without_a_usual_branch_the_control_must_be_named() -> None:
    _do("git", "branch", "-m", "trunk")
    with pytest.raises(OptionError, match="no control is named, and there is no main or master"):
        bw.ab("bench.py::look")
    with pytest.raises(TargetError, match="there is no revision 'nowhere'"):
        bw.ab("bench.py::look", control="trunk", treatment="nowhere")


@pytest.mark.soak
@pytest.mark.usefixtures("plain")
def test_mercurial_has_names_of_its_own() -> None:
    for command in ("init", "commit -q --config ui.allowemptycommit=1 -m first"):
        _do("hg", *command.split())
    assert _told()[0].startswith("default and . are the same commit, ")
