"""`benchwright cache`: list, verify, prune, as a user types them."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.fetch.cache import Cache

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def benchwright(inside: Call) -> Call:
    return inside


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    cache = Cache(tmp_path / "cache")
    (tmp_path / "net.onnx").write_bytes(b"m" * 2048)
    cache.obtain(str(tmp_path / "net.onnx"))
    return cache


def test_list_verify_and_prune(benchwright: Call, cache: Cache, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"m" * 2048).hexdigest()
    listed = benchwright("cache", "list")
    assert listed.returncode == 0 and "net.onnx" in listed.stdout
    assert listed.stdout.splitlines()[-1] == f"1 entry, 2.00 KiB in {cache.root}"
    [entry] = json.loads(benchwright("cache", "list", "--json").stdout)["data"]["entries"]
    assert (entry["sha256"], entry["size"], entry["names"]) == (digest, 2048, ["net.onnx"])
    path = cache.root / "sha256" / digest[:2] / digest / "net.onnx"
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    verified = benchwright("cache", "verify")
    assert verified.returncode == 1 and f"damaged: {path}: its content has sha256" in verified.stdout
    repaired = benchwright("cache", "verify", "--repair", "--json")
    assert repaired.returncode == 1 and json.loads(repaired.stdout)["data"]["damaged"][0]["path"] == str(path)
    assert benchwright("cache", "verify").stdout == "0 checked, all sound\n"
    cache.obtain(str(tmp_path / "net.onnx"))
    assert "1 entry, 2.00 KiB would be removed" in benchwright("cache", "prune", "--all", "--dry-run").stdout
    assert "0 entries" in benchwright("cache", "prune", "--older-than", "30d", "--keep", "10GB").stdout
    assert "1 entry, 2.00 KiB removed" in benchwright("cache", "prune", "--keep", "1kB").stdout
    assert cache.entries() == []


def test_wrong_requests(benchwright: Call, cache: Cache) -> None:
    for words, said in (
        ((), "say what may be removed"),
        (("--older-than", "a while"), "not a quantity"),
        (("--keep", "-1GB"), "below zero"),
        (("--all", "--cache", ""), "--cache is empty"),
    ):
        ended = benchwright("cache", "prune", *words)
        assert ended.returncode == 2 and said in ended.stderr
    assert len(cache.entries()) == 1
