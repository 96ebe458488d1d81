"""Journals of JSON lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchwright.schema.parsing import VARIABLE
from benchwright.system import json_lines


@pytest.mark.parametrize("cut", [b"", b"x", b"y" * 200_000])
@pytest.mark.parametrize("whole", [b"", b"one\n", b"one\ntwo\n"])
def test_of_a_line_that_was_cut_off_nothing_stays(tmp_path: Path, whole: bytes, cut: bytes) -> None:
    file = tmp_path / "lines"
    file.write_bytes(whole + cut)
    handle = json_lines.open_lines(file)
    try:
        assert file.read_bytes() == whole
        json_lines.append(handle, "more")
    finally:
        os.close(handle)
    assert file.read_bytes() == whole + b'"more"\n'


def test_a_disk_that_takes_little_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:3]))
    handle = json_lines.open_lines(tmp_path / "lines")
    try:
        json_lines.append(handle, "a long line")
    finally:
        os.close(handle)
    assert (tmp_path / "lines").read_bytes() == b'"a long line"\n'


def test_lines_are_read_with_their_numbers_and_bad_ones_told(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    handle = json_lines.open_lines(file, 0o600)
    try:
        for value in ({"what": "began"}, ["\N{SNOWMAN}", 1.5]):
            json_lines.append(handle, value)
        os.write(handle, b"rubbish\n\xff\n7\n")
    finally:
        os.close(handle)
    (one, first), (two, second), (_, third), (_, fourth), (five, last) = json_lines.read_lines(file)
    assert (one, first, two, second) == (1, {"what": "began"}, 2, ["\N{SNOWMAN}", 1.5])
    assert isinstance(third, ValueError) and isinstance(fourth, ValueError) and (five, last) == (5, 7)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, file = os.write, tmp_path / "lines"
    handle = json_lines.open_lines(file)
    try:
        json_lines.append(handle, 1)

        def refuse(handle: int, content: bytes) -> int:
            if len(content) < 5:
                raise OSError(28, "No space left on device")
            return write(handle, content[:3])

        monkeypatch.setattr(os, "write", refuse)
        with pytest.raises(OSError, match="No space left"):
            json_lines.append(handle, "longer")
    finally:
        os.close(handle)
    assert file.read_bytes() == b"1\n"


def test_a_line_that_is_too_long_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    file = tmp_path / "lines"
    file.write_bytes(b"1\n" + b" " * (2 << 20) + b"2\n3\n")
    (first, value), (second, error) = json_lines.read_lines(file)
    assert (first, value, second) == (1, 1, 2) and isinstance(error, ValueError)
