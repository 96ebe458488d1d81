"""One call in all: it happens once, leaves its files, and finds its modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Mode, Status, Target

SINGLE = """
import os
from pathlib import Path

def leave() -> None:
    folder = os.environ.get("BENCHWRIGHT_OUTPUT")
    if folder:
        Path(folder, "calls.txt").open("a").write("called\\n")
"""


def _plan(case: Case, **fields: Any) -> Plan:
    return Plan(**{"cases": [case], "rounds": 1, "monitors": (), **fields})


def _single(tmp_path: Path, source: str = SINGLE) -> Case:
    (tmp_path / "once.py").write_text(source)
    target = Target(runtime="python", uri=f"{tmp_path / 'once.py'}::leave")
    return Case(name="once.py::leave", target=target, load=Load(mode=Mode.SINGLE))


def test_a_single_call_happens_once_and_leaves_its_files(tmp_path: Path) -> None:
    asked = []

    def folder(case: Case, number: int) -> Path:
        asked.append((case.name, number))
        return tmp_path / "out" / str(number)

    run = execute(_plan(_single(tmp_path), rounds=2, folder=folder))
    assert asked == [("once.py::leave", 0), ("once.py::leave", 1)]
    for number, result in enumerate(run.results):
        assert result.status is Status.OK
        assert (tmp_path / "out" / str(number) / "calls.txt").read_text() == "called\n"
        assert [(a.name, a.kind) for a in result.artifacts] == [("calls.txt", "text")]
        assert {m.name for m in result.metrics} == {"wall_time", "load_time"}
        assert not result.warnings


def test_without_a_folder_nothing_says_where_to_leave_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(tmp_path))  # of whoever started us
    run = execute(_plan(_single(tmp_path)))
    assert run.results[0].status is Status.OK
    assert run.results[0].artifacts == ()
    assert not (tmp_path / "calls.txt").exists()


def test_files_of_a_failed_attempt_are_kept(tmp_path: Path) -> None:
    case = _single(tmp_path, SINGLE + "    raise RuntimeError('boom')\n")
    run = execute(_plan(case, folder=lambda case, number: tmp_path / "out"))
    assert run.results[0].status is Status.FAILED
    assert [a.name for a in run.results[0].artifacts] == ["calls.txt"]


def test_last_paths_come_behind_everything_else(tmp_path: Path) -> None:
    for folder in ("first", "last"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "both.py").write_text(f"WHERE = {folder!r}\n")
    (tmp_path / "last" / "only.py").write_text("WHERE = 'last'\n")
    source = "import both, only\ndef leave():\n    assert (both.WHERE, only.WHERE) == ('first', 'last')\n"
    paths = {"paths": [str(tmp_path / "first")], "last_paths": [str(tmp_path / "last")]}
    run = execute(_plan(_single(tmp_path, source), **paths))
    assert run.results[0].error is None
