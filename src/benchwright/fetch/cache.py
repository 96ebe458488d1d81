"""Models and other files by content: fetched once, verified, shared by every process and spec that wants them."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright import config
from benchwright.errors import FetchError
from benchwright.fetch.cache_incoming import bring, local_path_of
from benchwright.fetch.cache_shelf import CachedContent, Shelf, key_of
from benchwright.fetch.digests import Content, Digest, content_of, parse_digests, protect, stamp_of
from benchwright.fetch.partials import Progress, beside, remove
from benchwright.system.addresses import name_of
from benchwright.system.locks import hold_lock
from benchwright.system.masking import mask_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file or folder of the cache: not to be written to, and gone only when somebody prunes."""

    path: Path
    sha256: str
    md5: str
    size: int
    name: str


def default_root() -> Path:
    """BENCHWRIGHT_CACHE, else `cache` in `benchwright.toml`, else `benchwright` in the user's cache folder."""
    return config.cache_folder()


class Cache:
    """The cache in one folder, made when the first thing comes. Any number of processes may use it at once."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).absolute()
        self.shelf = Shelf(root=self.root)

    def obtain(
        self, location: str, *, name: str = "", sha256: str = "", md5: str = "", progress: Progress | None = None
    ) -> Held:
        """What is at `location`, an address or an absolute path, from here if it is here.

        A digest that was given decides: what has it is not fetched, and what comes with another one is a `FetchError`
        that names both, with the cache as it was. Without one, an address is fetched once and remembered, a path is
        read each time. The file is called `name`, else as it is called there. What was damaged here is fetched again.
        """
        wanted = parse_digests(sha256=sha256, md5=md5)
        name = _check_name(name or _name_at(location))
        try:
            if held := self._here(location, name, wanted):
                return held
            key = "-".join([wanted[0].kind, wanted[0].value] if wanted else ["location", key_of(location)])
            incoming = self.shelf.incoming_path(key)
            incoming.parent.parent.mkdir(parents=True, exist_ok=True)
            with hold_lock(beside(incoming.parent, "lock")):
                # Whoever held the lock before may have brought it.
                return self._here(location, name, wanted) or self._bring(location, name, wanted, incoming, progress)
        except OSError as error:
            raise FetchError(f"{error.filename or self.root}: {error.strerror or error}") from error

    def entries(self) -> list[CachedContent]:
        """Returns the contents of the cache, the most recently used first."""
        found = [entry for digest in self.shelf.digests() if (entry := self.shelf.read(digest))]
        return sorted(found, key=lambda entry: self.shelf.last_used(entry.sha256), reverse=True)

    def _here(self, location: str, name: str, wanted: tuple[Digest, ...]) -> Held | None:
        sha256 = self._digest(location, wanted)
        entry = self.shelf.read(sha256) if sha256 else None
        if entry is None:
            return None
        if wrong := entry.content.mismatch(wanted):
            if wanted[0].kind == "sha256":
                raise FetchError(
                    f"the content with {wanted[0]} has {wrong[1]}, and {wrong[0]} was asked for",
                    remedy=f"correct one of the digests of {mask_url(location)}",
                )
            return None  # the index was led astray
        if name not in entry.names or entry.names[name] != stamp_of(self.shelf.path(sha256, name)):
            with self.shelf.lock(sha256):
                entry = self._mend(sha256, name)
        if entry is None:
            return None
        # Who prunes may have been faster than the look at the note.
        return self._hold(entry, name) if self.shelf.touch(sha256) else None

    def _digest(self, location: str, wanted: tuple[Digest, ...]) -> str:
        """The sha256 of what is wanted, as far as it is known before it is fetched."""
        if not wanted:
            source = local_path_of(location)
            if source is None:
                return self.shelf.find("location", key_of(location))
            return content_of(source).sha256 if source.is_file() else ""
        first = wanted[0]
        return first.value if first.kind == "sha256" else self.shelf.find("md5", first.value)

    def _mend(self, sha256: str, name: str) -> CachedContent | None:
        """The entry, with what was damaged left out and the name added; None when nothing of it is sound."""
        entry = self.shelf.read(sha256)
        if entry is None:
            return None
        sound: dict[str, str] = {}
        for known, stamp in entry.names.items():
            path = self.shelf.path(sha256, known)
            now = stamp_of(path)
            if now and (now == stamp or content_of(path).sha256 == sha256):
                sound[known] = now
            else:
                remove(path)
        if not sound:
            self.shelf.remove(sha256)
            return None
        if name not in sound:
            path = self.shelf.path(sha256, name)
            _share(self.shelf.path(sha256, next(iter(sound))), path)
            sound[name] = stamp_of(path)
        mended = replace(entry, names=sound)
        self.shelf.write(mended)
        return mended

    def _bring(
        self, location: str, name: str, wanted: tuple[Digest, ...], incoming: Path, progress: Progress | None
    ) -> Held:
        try:
            content = bring(location, incoming, wanted, progress)
            with self.shelf.lock(content.sha256):
                entry = self._mend(content.sha256, name) or self._place(incoming, location, name, content)
            remove(incoming)  # when its content was here already
        finally:
            with suppress(OSError):  # the beginning of a download stays, to be continued
                incoming.parent.rmdir()
        for digest in {content.md5, *(each.value for each in wanted if each.kind == "md5")}:
            self.shelf.lead("md5", digest, content.sha256)
        if not wanted and local_path_of(location) is None:
            self.shelf.lead("location", key_of(location), content.sha256)
        return self._hold(entry, name)

    def _place(self, incoming: Path, location: str, name: str, content: Content) -> CachedContent:
        path = self.shelf.path(content.sha256, name)
        remove(path.parent)  # left by a process that ended before it noted what it had
        path.parent.mkdir(parents=True)
        protect(incoming)
        incoming.replace(path)
        entry = CachedContent(
            sha256=content.sha256,
            md5=content.md5,
            other_md5=content.other_md5,
            size=content.size,
            folder=path.is_dir(),
            source=mask_url(location),
            added=time.time(),
            names={name: stamp_of(path)},
        )
        self.shelf.write(entry)
        return entry

    def _hold(self, entry: CachedContent, name: str) -> Held:
        path = self.shelf.path(entry.sha256, name)
        return Held(path=path, sha256=entry.sha256, md5=entry.md5, size=entry.size, name=name)


def _name_at(location: str) -> str:
    path = local_path_of(location)
    return name_of(location) if path is None else path.name


def _check_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > 200:
        raise FetchError(f"{name!r} cannot be the name of a file", remedy="give a plain one, without folders")
    return name


def _share(known: Path, path: Path) -> None:
    """The same bytes under another name: linked where the disk can, else copied with their times."""
    fresh = beside(path, "new")
    remove(fresh)
    remove(path)
    if known.is_dir():
        shutil.copytree(known, fresh, copy_function=_link)
    else:
        _link(str(known), str(fresh))
    fresh.replace(path)


def _link(known: str, path: str) -> None:
    try:
        os.link(known, path)
    except OSError:
        shutil.copy2(known, path)
