"""Digests of large files are kept until somebody touches them, and never when that could not be seen."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from benchwright.fetch import remembered_digests
from benchwright.fetch.remembered_digests import sha256_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(remembered_digests, "LEAST", 10)
    monkeypatch.setattr(remembered_digests, "SETTLED", -60.0)  # a file of this test has settled at once
    return tmp_path / "cache"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    seen: list[object] = []
    read = remembered_digests._read
    monkeypatch.setattr(remembered_digests, "_read", lambda paths: (seen.append(paths), read(paths))[1])
    return seen


def write(path: Path, body: bytes) -> Path:
    path.write_bytes(body)
    return path


def test_a_file_is_read_once(tmp_path: Path, reads: list[object]) -> None:
    model = write(tmp_path / "model", b"weights" * 10)
    assert sha256_of([model]) == sha256_of([model]) == hashlib.sha256(b"weights" * 10).hexdigest()
    assert len(reads) == 1


def test_whoever_writes_to_it_is_seen(tmp_path: Path, reads: list[object]) -> None:
    model = write(tmp_path / "model", b"weights" * 10)
    before = model.stat()
    sha256_of([model])
    with model.open("r+b") as file:  # as long as before, and somebody hides when it was
        file.write(b"WEIGHTS")
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert sha256_of([model]) == hashlib.sha256(model.read_bytes()).hexdigest()
    other = write(tmp_path / "other", b"another" * 10)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(model)
    assert sha256_of([model]) == hashlib.sha256(b"another" * 10).hexdigest()
    assert len(reads) == 3


def test_what_changed_a_moment_ago_is_not_kept(
    tmp_path: Path, reads: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered_digests, "SETTLED", 3600.0)
    model = write(tmp_path / "model", b"weights" * 10)
    sha256_of([model])
    sha256_of([model])
    assert len(reads) == 2


def test_a_cache_that_is_damaged_or_cannot_be_written_costs_time_alone(
    tmp_path: Path, cache: Path, reads: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write(tmp_path / "model", b"weights" * 10)
    digest = sha256_of([model])
    for kept in (cache / "digests").iterdir():
        kept.write_bytes(b"\xff" * 5000)
    assert sha256_of([model]) == digest
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(model / "below"))
    assert sha256_of([model]) == digest
    assert len(reads) == 3


def test_old_ones_are_forgotten(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_digests, "MOST_KEPT", 3)
    for number in range(6):
        sha256_of([write(tmp_path / f"model {number}", b"weights" * 10)])
    assert len(list((cache / "digests").iterdir())) == 3
