"""Looking after a cache: what in it is damaged, and what can go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchwright.fetch.cache import Cache
from benchwright.fetch.cache_shelf import CachedContent
from benchwright.fetch.digests import content_of
from benchwright.fetch.partials import remove

HALF_AGE = 3600.0  # seconds without a byte, after which a download counts as abandoned


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged file or folder of the cache."""

    sha256: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLimits:
    """How large and how old the cache may become. None is no limit."""

    older_than: float | None = None  # seconds since the last use
    larger_than: float | None = None  # bytes of one content
    keep: float | None = None  # bytes of all together; what was used longest ago goes first
    everything: bool = False


def verify(cache: Cache, *, repair: bool = False) -> Iterator[tuple[CachedContent | None, Damage | None]]:
    """Reads every byte; tells of each content as it is done. With `repair`, what is damaged is removed."""
    for digest in [*cache.shelf.digests()]:
        entry = cache.shelf.read(digest)
        damage = _find_damage(cache, digest, entry)
        if damage and (repair or entry is None):
            with cache.shelf.lock(digest):
                if cache.shelf.read(digest) != entry:
                    continue  # somebody was placing it, or has removed it or fetched it again meanwhile
                if repair:
                    cache.shelf.remove(digest)
        yield entry, damage


def prune(cache: Cache, limits: CacheLimits, *, dry_run: bool = False) -> list[CachedContent]:
    """Removes what is beyond the limits, and what broken-off work left; says which contents those were."""
    now, gone, together = time.time(), [], 0
    for entry in cache.entries():
        used = cache.shelf.last_used(entry.sha256)
        beyond = _is_beyond(entry, now - used, limits)
        together += 0 if beyond else entry.size  # of this and all that were used later
        beyond = beyond or (limits.keep is not None and together > limits.keep)
        if beyond and (dry_run or _remove(cache, entry.sha256, used)):
            gone.append(entry)
    if not dry_run:
        _sweep(cache, now)
    return gone


def _is_beyond(entry: CachedContent, age: float, limits: CacheLimits) -> bool:
    return (
        limits.everything
        or (limits.older_than is not None and age > limits.older_than)
        or (limits.larger_than is not None and entry.size > limits.larger_than)
    )


def _remove(cache: Cache, sha256: str, used: float) -> bool:
    with cache.shelf.lock(sha256):
        return cache.shelf.remove_unused(sha256, used)


def _sweep(cache: Cache, now: float) -> None:
    for folder in cache.shelf.find_abandoned(now - HALF_AGE):
        remove(folder)
    for digest in [*cache.shelf.digests()]:
        with cache.shelf.lock(digest):
            if cache.shelf.read(digest) is None:
                cache.shelf.remove(digest)
    cache.shelf.forget_dead_ends()


def _find_damage(cache: Cache, digest: str, entry: CachedContent | None) -> Damage | None:
    place = str(cache.shelf.path(digest, ""))
    if entry is None:
        return Damage(sha256=digest, path=place, reason="what was noted about it cannot be read")
    for name in entry.names:
        path = cache.shelf.path(digest, name)
        try:
            found = content_of(path).sha256
        except OSError as error:
            return Damage(sha256=digest, path=str(path), reason=error.strerror or str(error))
        if found != digest:
            return Damage(sha256=digest, path=str(path), reason=f"its content has sha256 {found}")
    return None
