"""Files that grow line by line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchwright.system import line_files


@pytest.mark.parametrize("cut", [b"", b"x", b"y" * 200_000])
@pytest.mark.parametrize("whole", [b"", b"one\n", b"one\ntwo\n"])
def test_of_a_line_that_was_cut_off_nothing_stays(tmp_path: Path, whole: bytes, cut: bytes) -> None:
    file = tmp_path / "lines"
    file.write_bytes(whole + cut)
    handle = line_files.open_lines(file)
    try:
        assert file.read_bytes() == whole
        line_files.append(handle, b"more")
    finally:
        os.close(handle)
    assert file.read_bytes() == whole + b"more\n"


def test_a_disk_that_takes_little_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:3]))
    handle = line_files.open_lines(tmp_path / "lines")
    try:
        line_files.append(handle, b"a long line")
    finally:
        os.close(handle)
    assert (tmp_path / "lines").read_bytes() == b"a long line\n"
