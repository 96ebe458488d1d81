from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.worker.runtimes.binary import log as binary_log
from benchwright.worker.runtimes.binary.log import ProgramLog


def _logged(path: Path, *pieces: bytes) -> bytes:
    log = ProgramLog(path)
    for piece in pieces:
        log.write(piece)
    log.close()
    assert not log.warnings
    return path.read_bytes()


def test_a_log_keeps_its_beginning_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_log, "HEAD", 4)
    monkeypatch.setattr(binary_log, "TAIL", 3)
    whole = b"0123456789abcdef"
    cut = b"0123\n... 9 bytes are left out here ...\ndef"
    assert _logged(tmp_path / "log", whole) == cut
    assert _logged(tmp_path / "log", *(whole[place : place + 1] for place in range(16))) == cut
    assert _logged(tmp_path / "log", b"012", b"3456") == b"0123456"  # as long as it fits, nothing is missing
    assert 2 * (binary_log.MOST // 2 - 64) + 64 < binary_log.MOST


def test_what_came_is_in_the_file_at_once(tmp_path: Path) -> None:
    log = ProgramLog(tmp_path / "log")
    log.write(b"before a crash")
    assert (tmp_path / "log").read_bytes() == b"before a crash"
    log.close()


def test_a_full_disk_ends_the_log_and_is_told() -> None:
    log = ProgramLog(Path("/dev/full"))
    log.write(b"first")
    log.write(b"second")
    (warning,) = log.warnings
    assert (warning.code, warning.seen) == ("log-cut", "/dev/full ends early: No space left on device")
    log.close()
