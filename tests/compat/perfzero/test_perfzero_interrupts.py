"""Ctrl-C and SIGTERM: while a method runs, and while its results are sent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero.uploads import run_unless_stopped

HOOK = """
import os, pathlib, time

def wait(summary):
    pathlib.Path(os.environ["STARTED"]).write_text("")
    time.sleep(50)
"""


def _interrupted(project: Any, marker: Path, number: int, *arguments: str) -> tuple[int, str, str]:
    """Exit code and output of a run that got the signal once the marker was there."""
    environment = {**os.environ, "PYTHONPATH": str(project.site), "STARTED": str(marker), "SEEN": str(marker)}
    command = [sys.executable, "-m", "benchwright", "perfzero", "--python_path=demo", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=project.folder, env=environment, text=True, **pipes) as door:
        deadline = time.monotonic() + 60
        while not marker.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        door.send_signal(number)
        out, err = door.communicate(timeout=40)  # the hook alone would take longer
    return door.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_upload_is_ended_and_nothing_more_is_run(project: Any, tmp_path: Path, number: int) -> None:
    project.add("demo", "hooks.py", HOOK)
    methods = "--benchmark_methods=demo_bench.Demo.benchmark_silent,demo_bench.Demo.benchmark_ok"
    flags = ["--result_upload_methods=hooks.wait", "--execution_id=e"]
    code, out, err = _interrupted(project, tmp_path / "started", number, methods, *flags)
    assert code == 130, err
    assert "the upload was interrupted" in err and "to repeat: benchwright upload " in err
    results = json.JSONDecoder().raw_decode(out.partition("Benchmark success results:\n")[2])[0]
    assert list(results["trial_1"]) == ["demo_bench.Demo.benchmark_silent"]
    assert (project.workspace / "output" / "e" / "perfzero_summary.json").is_file()


def test_what_was_interrupted_is_not_sent(project: Any, tmp_path: Path) -> None:
    away = tmp_path / "away"
    methods = "--benchmark_methods=demo_bench.Demo.benchmark_hang"
    flags = [f"--output_gcs_url=file://{away}", "--execution_id=e"]
    code, out, err = _interrupted(project, tmp_path / "seen", signal.SIGTERM, methods, *flags)
    assert code == 130, out
    assert not away.exists()
    assert "not uploaded: the run was interrupted" in err
    log = (project.workspace / "output" / "e" / "perfzero.log").read_text()
    assert "interrupted by SIGTERM" in log and "keyboard" not in log


def test_whoever_handles_a_signal_hears_of_it_afterwards() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        assert run_unless_stopped(lambda: 7) == 7
        assert run_unless_stopped(lambda: signal.raise_signal(signal.SIGTERM) or heard.append(0)) is None
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
