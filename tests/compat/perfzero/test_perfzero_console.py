"""What is shown while a method runs, and what is said when a file cannot be written."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero import attempts, console
from benchwright.compat.perfzero.flags import parse
from benchwright.compat.perfzero.summary import RunFacts
from benchwright.records import Case, Environment, Failure, Result, Status, Target
from benchwright.system import whole_files


def test_a_letter_at_the_edge_of_a_piece_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "x" * (console._PIECE - 1) + "\u00e4" + "y" * 10
    (tmp_path / "log").write_text(text, encoding="utf-8")
    console.LogEcho(os.open(tmp_path / "log", os.O_RDONLY)).stop()
    assert capsys.readouterr().out == f"{text}\n"


def test_a_full_disk_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, *arguments: Any, **keywords: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as write() does: without a name

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(whole_files, "write_text", full)
    monkeypatch.setattr(console.log, "propagate", True)
    attempt = attempts.MethodAttempt(tmp_path / "e")
    attempt.finish(RunFacts(flags=parse([])), _result(Failure(kind="exit", message="it ended")))
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    for name in ("process_info.log", "perfzero_summary.json"):
        assert f"{tmp_path}/e/{name}: cannot be written: No space left on device" in told
    assert attempt.lost


def _result(error: Failure) -> Result:
    return Result(
        id="r-0",
        case=Case(name="m", target=Target(runtime="class", uri="m:A.b")),
        round=0,
        status=Status.FAILED,
        environment=Environment(machine={}, system={}),
        started_at="2026-11-16T00:00:00+00:00",
        duration=1.0,
        error=error,
    )
