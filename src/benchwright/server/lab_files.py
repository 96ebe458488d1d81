"""Files that jobs of the lab need: kept by their SHA-256, verified, bounded, removed when no open job needs them.

Whoever names a file in a job must have sent it once: digests of models stand in results, and knowing one must not be
enough to have somebody else's model read by a job of one's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from fastapi import HTTPException
from starlette.concurrency import run_in_threadpool

from benchwright.server.errors import refusal
from benchwright.system import whole_files

GIB = 1 << 30
MOST = 64 * GIB  # bytes of all files together
LARGEST = 16 * GIB
STEP = 64 << 20  # bytes of a file for which room is looked for at once
SPARED = 86400.0  # seconds in which a file that somebody sent or asked for stays, needed or not
DIGEST = re.compile(r"[0-9a-f]{64}")


class LabFiles:
    """The files of a server's lab, below one folder. May be used by several threads."""

    def __init__(self, folder: Path, *, most: int = MOST, largest: int = LARGEST) -> None:
        self._folder, self._most, self.largest = folder, most, largest
        self._lock = threading.Lock()
        self._total: int | None = None  # bytes; None: nobody has looked yet

    def path(self, sha256: str) -> Path:
        """Where a file lies, or would."""
        if not DIGEST.fullmatch(sha256):
            raise refusal(400, "this is not a SHA-256", "64 hexadecimal digits, in small letters")
        return self._folder / sha256[:2] / sha256

    def missing(self, digests: Iterable[str], who: str) -> list[str]:
        """Those that are not here, or that this person has not sent; the others stay for a while from now on."""
        found = []
        for digest in dict.fromkeys(digests):
            try:
                os.utime(self._mark(digest, who))
                os.utime(self.path(digest))
            except OSError:
                found.append(digest)
        return found

    async def receive(self, sha256: str, pieces: AsyncIterator[bytes], declared: int, who: str) -> bool:
        """Keeps a file as it comes, if it is the one that it should be; False when it was here already."""
        path = self.path(sha256)
        if await run_in_threadpool(path.exists):
            shown = hashlib.sha256()
            async for piece in pieces:
                shown.update(piece)
            if shown.hexdigest() != sha256:
                raise _another_file()
            added = False
        else:
            await self._keep(path, pieces, declared)
            added = True
        try:
            await run_in_threadpool(self._mark(sha256, who).touch, 0o600)
        except OSError as error:
            raise _cannot_keep(error) from None
        return added

    async def _keep(self, path: Path, pieces: AsyncIterator[bytes], declared: int) -> None:
        await run_in_threadpool(self._make_room, declared)
        size, room, digest, step = 0, 0, hashlib.sha256(), min(STEP, declared or STEP)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with whole_files.replace_file(path, mode=0o600) as file:
                async for piece in pieces:
                    size += len(piece)
                    if size > room:  # what a sender says of the size may be less, and several may send at once
                        room += await run_in_threadpool(self._take_room, max(step, len(piece)))
                    digest.update(piece)
                    await run_in_threadpool(file.write, piece)
                if digest.hexdigest() != path.name:
                    raise _another_file()
        except OSError as error:
            self._give_room(room)
            raise _cannot_keep(error) from None
        except BaseException:
            self._give_room(room)
            raise
        self._give_room(room - size)

    def prune(self, needed: Iterable[str], *, now: float | None = None) -> int:
        """Removes files that nobody needs and nobody asked for of late; how many bytes."""
        wanted, limit, gone = {*needed}, (now or time.time()) - SPARED, 0
        for path in self._all():
            with contextlib.suppress(OSError):
                found = path.stat()
                if path.name.partition(".")[0] not in wanted and found.st_mtime < limit:
                    path.unlink()
                    gone += found.st_size
        with self._lock:
            self._total = None
        return gone

    def _take_room(self, size: int) -> int:
        """Counts so many bytes among those that are kept, if there is room for them; how many."""
        self._make_room(size)
        self._give_room(-size)
        return size

    def _give_room(self, size: int) -> None:
        """Counts so many bytes no longer among those that are kept."""
        with self._lock:
            self._total = None if self._total is None else self._total - size

    def _make_room(self, size: int) -> None:
        """Refuses a file for which there is no room."""
        with self._lock:
            if self._total is None:
                self._total = sum(_size(path) for path in self._all())
            total = self._total
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(self._folder).free
        if total + size > self._most or size > free - GIB // 4:
            said = f"the lab's files take {total / GIB:.1f} GiB, and {free / GIB:.1f} GiB are free"
            raise refusal(
                507, f"there is no room for another {size / GIB:.1f} GiB: {said}", "wait until jobs have ended"
            )

    def _mark(self, sha256: str, who: str) -> Path:
        """An empty file that says that somebody has sent the file."""
        return self.path(sha256).with_suffix(f".{hashlib.sha256(who.encode()).hexdigest()[:32]}")

    def _all(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return [path for part in self._folder.iterdir() if part.is_dir() for path in part.iterdir()]


def _another_file() -> HTTPException:
    return refusal(400, "this file has another SHA-256", "was it changed since? look at it again")


def _cannot_keep(error: OSError) -> HTTPException:
    return refusal(507, f"the server cannot keep the file: {error.strerror}", "try again later")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
