"""What a caller may do to a process before it starts: closed streams, a folder that is gone, little address space."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.store import open_store

RUN = "run 'fake:constant?ms=1&clock=virtual' --rounds 1 --samples 20 --warmup 0 --store results.db"


def _shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "bw": f"{sys.executable} -m benchwright", "TMPDIR": str(folder)}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&- <&-"])
def test_closed_streams_cost_no_measurement(closed: str, tmp_path: Path) -> None:
    ended = _shell(f"$bw {RUN} {closed}", tmp_path)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    assert ("median latency" in ended.stdout) == (closed == "2>&-")
    assert ("standard output is closed" in ended.stderr) == (closed == ">&-")
    with closing(open_store(tmp_path / "results.db")) as store:
        assert [run.results for run in store.runs()] == [1]


@pytest.mark.parametrize("lost", ["2>/dev/full", ">/dev/full 2>/dev/full", "2>&1 >/dev/null | true"])
def test_errors_that_cannot_be_said_cost_no_measurement_and_no_exit_code(lost: str, tmp_path: Path) -> None:
    bad = "run 'fake:constant?ms=1&clock=virtual' --rounds 1 --samples 20 --warmup 0 --store results.db --cpus 99999"
    ended = _shell(f"{{ $bw {bad} ; echo $? > code; }} {lost}", tmp_path)
    assert (tmp_path / "code").read_text().strip() == "2", ended.stderr
    _shell(f"{{ $bw {RUN}; echo $? > code; }} {lost}", tmp_path)
    assert (tmp_path / "code").read_text().strip() == ("1" if lost.startswith(">") else "0")
    with closing(open_store(tmp_path / "results.db")) as store:
        assert [run.results for run in store.runs()] == [1]


def test_a_present_folder_that_was_deleted_is_said(tmp_path: Path) -> None:
    ended = _shell(f"mkdir gone && cd gone && rmdir ../gone && $bw {RUN}", tmp_path)
    assert ended.returncode == 2
    assert ended.stderr == "benchwright: the present folder was deleted\n  change to a folder that exists\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the limit is not kept")
@pytest.mark.parametrize("kilobytes", [160_000, 190_000, 230_000, 270_000, 300_000])
def test_too_little_address_space_is_said(kilobytes: int, tmp_path: Path) -> None:
    """What fails first for want of it depends on the machine; a library that ends the process itself says so itself."""
    ended = _shell(f"ulimit -v {kilobytes}; $bw {RUN}", tmp_path)
    assert ended.returncode in (0, 1)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0 or ended.stderr or "memory" in ended.stdout
