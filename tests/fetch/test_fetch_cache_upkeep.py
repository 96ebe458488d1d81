"""Damage is found, and what is no longer wanted goes: by age, by size, or all of it."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from benchwright.fetch.cache import Cache
from benchwright.fetch.cache_shelf import CachedContent, Shelf
from benchwright.fetch.cache_upkeep import CacheLimits, prune, verify

DAY = 86400.0


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """`a`, `b` and `c` of 1000, 2000 and 3000 bytes, last used 1, 2 and 3 days ago."""
    cache = Cache(tmp_path / "cache")
    for days, name in enumerate("abc", start=1):
        (tmp_path / name).write_bytes(name.encode() * 1000 * days)
        held = cache.obtain(str(tmp_path / name))
        _use(cache, held.sha256, days * DAY)
    return cache


def _use(cache: Cache, sha256: str, ago: float) -> None:
    when = time.time() - ago
    os.utime(cache.root / "sha256" / sha256[:2] / f"{sha256}.json", (when, when))


def names(cache: Cache) -> str:
    return "".join(name for entry in cache.entries() for name in entry.names)


def test_the_order_is_that_of_use(cache: Cache, tmp_path: Path) -> None:
    assert names(cache) == "abc"
    cache.obtain(str(tmp_path / "c"))
    assert names(cache) == "cab"


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (CacheLimits(older_than=2.5 * DAY), "ab"),
        (CacheLimits(larger_than=1000), "a"),
        (CacheLimits(keep=3000), "ab"),
        (CacheLimits(keep=2999), "a"),
        (CacheLimits(keep=999), ""),
        (CacheLimits(larger_than=2500, keep=3000), "ab"),
        (CacheLimits(everything=True), ""),
        (CacheLimits(keep=0), ""),
    ],
)
def test_what_goes(cache: Cache, limits: CacheLimits, left: str) -> None:
    gone = prune(cache, limits, dry_run=True)
    assert names(cache) == "abc"
    assert prune(cache, limits) == gone and names(cache) == left
    assert sorted("".join(entry.names) for entry in gone) == sorted(set("abc") - set(left))
    assert len([*cache.root.glob("md5/*/*")]) == len(left)  # nothing leads to what is gone


def test_what_goes_while_it_is_asked_for_is_fetched_again(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, first = Shelf.read, hashlib.sha256(b"a" * 1000).hexdigest()

    def slowly(shelf: Shelf, sha256: str) -> CachedContent | None:
        entry = read(shelf, sha256)
        monkeypatch.setattr(Shelf, "read", read)
        prune(cache, CacheLimits(everything=True))
        return entry

    monkeypatch.setattr(Shelf, "read", slowly)
    held = cache.obtain(str(tmp_path / "a"))
    assert held.sha256 == first and held.path.read_bytes() == b"a" * 1000 and names(cache) == "a"


def test_what_is_asked_for_while_it_is_to_go_stays(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def late(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        cache.obtain(str(tmp_path / "a"))  # after prune decided, before the note is taken away
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", late)
    gone = prune(cache, CacheLimits(keep=0))
    assert names(cache) == "a" and ["".join(entry.names) for entry in gone] == ["b", "c"]
    assert cache.obtain(str(tmp_path / "a")).path.read_bytes() == b"a" * 1000


def test_what_was_used_longest_ago_goes_first_even_if_it_is_small(cache: Cache, tmp_path: Path) -> None:
    cache.obtain(str(tmp_path / "c"))
    prune(cache, CacheLimits(keep=3500))
    assert names(cache) == "c"


def test_what_broken_off_work_left_goes_and_what_is_under_way_stays(cache: Cache) -> None:
    old, new = cache.shelf.incoming_path("old"), cache.shelf.incoming_path("new")
    for path in (old, new):
        path.parent.mkdir(parents=True)
        path.with_name(".content.partial").write_bytes(b"half")
    for path in (*old.parent.iterdir(), old.parent):
        os.utime(path, (1, 1))
    orphan = cache.root / "sha256" / "ab" / ("ab" * 32)  # moved in, and never noted
    orphan.mkdir(parents=True)
    assert prune(cache, CacheLimits(older_than=9 * DAY)) == []
    assert [path.name for path in (cache.root / "incoming").iterdir()] == ["new"] and not orphan.exists()


def test_obtaining_and_pruning_at_once(cache: Cache, tmp_path: Path) -> None:
    over, seen = threading.Event(), []

    def look_after() -> None:
        while not over.is_set():
            prune(cache, CacheLimits(everything=True))
            seen.extend(damage for _, damage in verify(cache, repair=True) if damage and "sha256" in damage.reason)

    thread = threading.Thread(target=look_after)
    thread.start()
    try:
        for number in range(60):
            name = "abc"[number % 3]
            held = cache.obtain(str(tmp_path / name), name=f"{number % 4}")
            with suppress(FileNotFoundError):  # pruned already
                assert held.path.read_bytes()[:1] == name.encode()
    finally:
        over.set()
        thread.join(60)
    assert seen == [] and cache.obtain(str(tmp_path / "a")).path.stat().st_size == 1000


def test_damage_that_keeps_size_and_time_is_found_by_reading(cache: Cache, tmp_path: Path) -> None:
    assert [damage for _, damage in verify(cache)] == [None] * 3
    path = cache.obtain(str(tmp_path / "a")).path
    status = path.stat()
    path.chmod(0o644)
    path.write_bytes(b"x" * 1000)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    cache.obtain(str(tmp_path / "b")).path.unlink()
    noted = cache.entries()[-1].sha256
    (cache.root / "sha256" / noted[:2] / f"{noted}.json").write_text("rubbish")
    reasons = sorted(damage.reason for _, damage in verify(cache) if damage)
    assert reasons == [
        "No such file or directory",
        f"its content has sha256 {hashlib.sha256(b'x' * 1000).hexdigest()}",
        "what was noted about it cannot be read",
    ]
    assert len([*verify(cache, repair=True)]) == 3
    assert [*verify(cache)] == [] and cache.entries() == []
    assert cache.obtain(str(tmp_path / "a")).path.read_bytes() == b"a" * 1000
