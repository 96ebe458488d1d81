"""Where a cache keeps things: `sha256/ab/<digest>/<name>`, a note beside, and indexes that lead to a digest.

The note's time of change is when the content was last used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.fetch.digests import LENGTHS, Content
from benchwright.fetch.partials import beside, remove
from benchwright.schema.parsing import json_value
from benchwright.system import streams, whole_files
from benchwright.system.locks import hold_lock


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedContent:
    """One content. `names` says under which names it lies here, and the stamp of each when it was checked."""

    sha256: str
    md5: str
    other_md5: str
    size: int
    folder: bool
    source: str  # as it may be shown
    added: float  # seconds since 1970
    names: Mapping[str, str]

    @property
    def content(self) -> Content:
        return Content(sha256=self.sha256, md5=self.md5, other_md5=self.other_md5, size=self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The folders of one cache. Nothing here checks content."""

    root: Path

    def path(self, sha256: str, name: str) -> Path:
        """Where a content lies under a name."""
        return self._place(sha256) / name

    def read(self, sha256: str) -> CachedContent | None:
        """What is noted about a content; None when nothing is, or nothing that can be read."""
        try:
            entry = schema.decode(CachedContent, json_value(streams.read_file(self._note(sha256))))
        except (OSError, ValueError, DecodeError):
            return None
        return entry if entry.sha256 == sha256 else None

    def write(self, entry: CachedContent) -> None:
        """Notes an entry, in one step."""
        _write(self._note(entry.sha256), json.dumps(schema.encode(entry), sort_keys=True))

    def remove(self, sha256: str) -> None:
        """Forgets a content. The note goes first: what has no note is not there."""
        self._note(sha256).unlink(missing_ok=True)
        remove(self._place(sha256))

    def remove_unused(self, sha256: str, used: float) -> bool:
        """Forgets a content that was last used then; one that is used again meanwhile stays.

        Its note is taken away before its time is looked at: after that nobody can note a use that would go unseen.
        """
        note = self._note(sha256)
        taken = beside(note, "going")
        try:
            note.replace(taken)
        except FileNotFoundError:
            return False
        if taken.stat().st_mtime != used:
            taken.replace(note)
            return False
        taken.unlink()
        remove(self._place(sha256))
        return True

    def touch(self, sha256: str) -> bool:
        """Notes that a content is used now; False when it is gone meanwhile."""
        try:
            os.utime(self._note(sha256))
        except FileNotFoundError:
            return False
        except OSError:  # a cache that cannot be written to is used all the same
            return True
        return True

    def last_used(self, sha256: str) -> float:
        """When a content was last used, in seconds since 1970; 0 when it is not there."""
        try:
            return self._note(sha256).stat().st_mtime
        except OSError:
            return 0.0

    def digests(self) -> Iterator[str]:
        """Every digest of which something is here, noted or not."""
        for shard in sorted(self._shards()):
            found = {path.name.removesuffix(".json") for path in shard.iterdir()}
            yield from sorted(name for name in found if len(name) == LENGTHS["sha256"] and name[:2] == shard.name)

    def lock(self, sha256: str) -> AbstractContextManager[None]:
        """Returns the lock that a process holds while it changes a content or its note."""
        place = self._place(sha256)
        place.parent.mkdir(parents=True, exist_ok=True)
        return hold_lock(beside(place, "lock"))

    def incoming_path(self, key: str) -> Path:
        """Where a content is brought to and checked, before its digest is known; `key` says what is wanted."""
        return self.root / "incoming" / key / "content"

    def find_abandoned(self, before: float) -> list[Path]:
        """Contents that were only half brought here, and that nothing has written to since `before`."""
        folder = self.root / "incoming"
        places = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
        return [place for place in places if _newest(place) < before]

    def find(self, kind: str, key: str) -> str:
        """The sha256 that an index (`md5`, `location`) leads to, or ""."""
        try:
            text = self._index(kind, key).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""
        return text if len(text) == LENGTHS["sha256"] and text.isalnum() else ""

    def lead(self, kind: str, key: str, sha256: str) -> None:
        """Makes an index lead to a content."""
        if self.find(kind, key) != sha256:
            _write(self._index(kind, key), sha256)

    def forget_dead_ends(self) -> None:
        """Removes from the indexes what leads to nothing any more."""
        for kind in ("md5", "location"):
            for path in (self.root / kind).glob("??/[!.]*"):  # what has a dot is being written
                if self.read(self.find(kind, path.name)) is None:
                    path.unlink(missing_ok=True)

    def _shards(self) -> list[Path]:
        folder = self.root / "sha256"
        return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []

    def _place(self, sha256: str) -> Path:
        return self.root / "sha256" / sha256[:2] / sha256

    def _note(self, sha256: str) -> Path:
        return self._place(sha256).with_suffix(".json")

    def _index(self, kind: str, key: str) -> Path:
        return self.root / kind / key[:2] / key


def key_of(location: str) -> str:
    """An address as a key; hashed, for it may hold a secret."""
    return hashlib.sha256(location.encode("utf-8", "surrogateescape")).hexdigest()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_files.write_text(path, text)


def _newest(folder: Path) -> float:
    """When something in a folder last changed; never ago for one that is gone meanwhile."""
    try:
        times = [folder.stat().st_mtime]
        for inner, folders, names in os.walk(folder):
            times += [Path(inner, name).lstat().st_mtime for name in (*folders, *names)]
    except OSError:
        return math.inf
    return max(times)
