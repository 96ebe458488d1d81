"""Files by their digest, kept on the machine that measures: what was sent once is not sent again.

A file is on the shelf when its whole content was seen to have its digest. Whether it still has is told by size and
time of change, which are kept in its name's companion; a file that something wrote to is dropped and asked for anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Collection
from pathlib import Path

from benchwright.errors import DecodeError
from benchwright.execution.outposts.bundles import SentFile, below

COPIED = 1 << 20  # bytes up to which a file is copied; larger ones are linked, and cannot be written
KEPT_DAYS = 30.0
TIDIED = 86400.0  # seconds between two looks for what is old
IN_USE = 3600.0  # seconds after its last use in which a file is not dropped to make room: it may be about to be read
_DIGEST = re.compile(r"[0-9a-f]{64}")


class FileShelf:
    """Files below `folder`, each under its SHA-256."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._incoming: dict[str, tuple[Path, hashlib._Hash]] = {}
        self._tidied_at = 0.0
        self._forget_old()

    @property
    def free(self) -> int:
        """Bytes that are free where the shelf is."""
        return shutil.disk_usage(self._folder).free

    def make_room(self, size: int, *, keep: Collection[str] = ()) -> None:
        """Drops files that nobody has used for long, the oldest first, until so many bytes are free or none is left.

        Also drops what nobody asked for in a month, now and then: whoever has a shelf may live long.
        """
        if time.time() - self._tidied_at > TIDIED:
            self._forget_old()
        if self.free >= size:
            return
        limit, marks = time.time() - IN_USE, list[tuple[float, Path]]()
        for path in self._folder.glob("*.mark"):
            with contextlib.suppress(OSError):
                marks.append((path.stat().st_mtime, path))
        for used_at, path in sorted(marks):
            if used_at > limit or self.free >= size:
                return
            if path.stem not in keep:
                self._drop(path.with_suffix(""))

    def holds(self, sha256: str, size: int) -> bool:
        """Whether the file is here, as it was when it was put here."""
        place = self._place(sha256)
        try:
            found = place.stat()
        except OSError:
            return False
        if found.st_size != size or self._mark(place) != self._read_mark(place):
            self._drop(place)
            return False
        with contextlib.suppress(OSError):
            os.utime(self._mark_file(place))  # it is in use
        return True

    def add(self, sha256: str, piece: bytes, *, last: bool) -> bool:
        """Adds a piece to a file that is being sent; the last one puts it on the shelf.

        False: what was sent is another file, because it changed while it was read; it is dropped.
        """
        if sha256 not in self._incoming:
            unfinished = self._folder / f"{sha256}.{os.getpid()}.part"
            unfinished.unlink(missing_ok=True)
            self._incoming[sha256] = self._checked(sha256, unfinished), hashlib.sha256()
        unfinished, state = self._incoming[sha256]
        try:
            with unfinished.open("ab") as file:
                file.write(piece)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        state.update(piece)
        if not last:
            return True
        del self._incoming[sha256]
        if state.hexdigest() != sha256:
            unfinished.unlink(missing_ok=True)
            return False
        unfinished.chmod(stat.S_IRUSR | stat.S_IXUSR)
        place = self._place(sha256)
        unfinished.replace(place)
        self._mark_file(place).write_text(self._mark(place), encoding="ascii")
        return True

    def abandon(self, sha256: str) -> None:
        """Drops what has come of a file that does not come to its end."""
        if found := self._incoming.pop(sha256, None):
            found[0].unlink(missing_ok=True)

    def lay_out(self, one: SentFile, root: Path) -> None:
        """Puts the file at its path below the root: a copy of a small one, a link to a large one."""
        source, target = self._place(one.sha256), below(root, one.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        if one.size > COPIED:
            try:
                os.link(source, target)
                return
            except OSError:  # another file system
                pass
        shutil.copyfile(source, target)
        target.chmod(0o755 if one.executable else 0o644)

    def _place(self, sha256: str) -> Path:
        return self._checked(sha256, self._folder / sha256)

    @staticmethod
    def _checked(sha256: str, place: Path) -> Path:
        if not _DIGEST.fullmatch(sha256):
            raise DecodeError(f"{sha256[:80]!r} is not a SHA-256")
        return place

    @staticmethod
    def _mark_file(place: Path) -> Path:
        return place.with_suffix(".mark")

    @staticmethod
    def _mark(place: Path) -> str:
        found = place.stat()
        return f"{found.st_size} {found.st_mtime_ns}"

    def _read_mark(self, place: Path) -> str:
        with contextlib.suppress(OSError):
            return self._mark_file(place).read_text(encoding="ascii")
        return ""

    def _drop(self, place: Path) -> None:
        for path in (place, self._mark_file(place)):
            path.unlink(missing_ok=True)

    def _forget_old(self) -> None:
        """Drops what nobody asked for in a month, and what a broken line left unfinished."""
        self._tidied_at = time.time()
        limit = self._tidied_at - KEPT_DAYS * 86400
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                if path.suffix == ".mark" and path.stat().st_mtime < limit:
                    self._drop(path.with_suffix(""))
                elif path.suffix == ".part" and path.stat().st_mtime < time.time() - 3600:
                    path.unlink()
