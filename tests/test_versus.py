"""The Python door of A/B."""

from __future__ import annotations

import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import benchwright as bw
from benchwright.errors import OptionError
from benchwright.records import Verdict


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
        ({"control": ""}, "neither a revision nor a folder nor an interpreter"),
        ({"tags": [" "]}, "tag"),
    ],
)
def test_a_wrong_request_is_refused(folders: dict[str, Path], wrong: dict[str, Any], words: str) -> None:
    given = {**({} if wrong == {"control": ""} else folders), **wrong}
    with pytest.raises(OptionError, match=words):
        bw.ab("bench.py::look", **given)
