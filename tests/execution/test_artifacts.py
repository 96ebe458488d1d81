"""Files left behind, as records."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchwright.execution import artifacts


def test_every_file_below_the_folder_is_named_sized_and_hashed(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "ops.trace.json").write_text("{}")
    (tmp_path / "a.log").write_bytes(b"abc")
    found = artifacts.collect(tmp_path)
    told = [(kept.name, kept.kind, kept.size) for kept in found]
    assert told == [("a.log", "log", 3), ("deep/ops.trace.json", "chrome trace", 2)]
    assert found[0].sha256 == hashlib.sha256(b"abc").hexdigest()
    assert found[0].path == str(tmp_path / "a.log")


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("x")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    assert artifacts.collect(inside) == ()


def test_a_large_file_is_named_without_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "MOST_HASHED", 2)
    (tmp_path / "big.bin").write_bytes(b"abc")
    (found,) = artifacts.collect(tmp_path)
    assert (found.kind, found.sha256) == ("file", "")


def test_too_many_files_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "MOST_FILES", 2)
    for index in range(3):
        (tmp_path / f"{index}.txt").touch()
    assert [a.name for a in artifacts.collect(tmp_path)] == ["0.txt", "1.txt"]
