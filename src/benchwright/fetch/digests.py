"""Digests of files and folders: read, checked and compared; and a stamp that tells cheaply whether one was touched."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import OptionError

LENGTHS = {"sha256": 64, "md5": 32}
PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The digest that a file's content must have; `kind` is `sha256` or `md5`."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


def parse_digests(*, sha256: str = "", md5: str = "") -> tuple[Digest, ...]:
    """The digests that were given, in small letters. A text that cannot be a digest is an `OptionError`."""
    given = [Digest(kind=kind, value=text.strip().lower()) for kind, text in (("sha256", sha256), ("md5", md5)) if text]
    for digest in given:
        if not re.fullmatch(f"[0-9a-f]{{{LENGTHS[digest.kind]}}}", digest.value):
            raise OptionError(
                f"{digest} is not a digest: {digest.kind} has {LENGTHS[digest.kind]} digits of 0-9 and a-f"
            )
    return tuple(given)


def digest_of(path: Path, kind: str = "sha256") -> Digest:
    """The digest of a file, read in pieces."""
    with path.open("rb") as file:
        return Digest(kind=kind, value=hashlib.file_digest(file, lambda: _hash(kind)).hexdigest())


def mismatch(path: Path, digests: tuple[Digest, ...]) -> tuple[Digest, Digest] | None:
    """The first pair of (expected, found) that differs, or None when the file is what it should be."""
    for wanted in digests:
        found = digest_of(path, wanted.kind)
        if found != wanted:
            return wanted, found
    return None


def _hash(kind: str) -> hashlib._Hash:
    # Published checksums are often md5; it finds damage, and nobody is told that it stops an attacker.
    return hashlib.new(kind, usedforsecurity=kind != "md5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Digests and size of a file or a folder.

    A folder's sha256 covers names and bytes: it is of the lines `<sha256>  <path>`, by path. Its md5 is that of its
    files' md5 texts joined, as older specs state it; they took files in the order that their disk gave, so besides the
    order by name (`md5`) the one of this disk counts too (`other_md5`).
    """

    sha256: str
    md5: str
    size: int
    other_md5: str = ""

    def mismatch(self, wanted: tuple[Digest, ...]) -> tuple[Digest, Digest] | None:
        """The first pair of (wanted, found) that differs, or None."""
        for digest in wanted:
            found = self.sha256 if digest.kind == "sha256" else self.md5
            if digest.value != found and not (digest.kind == "md5" and digest.value == self.other_md5):
                return digest, Digest(kind=digest.kind, value=found)
        return None


def content_of(path: Path) -> Content:
    """The content of a file or folder, every byte read once."""
    return _hash_folder(path) if path.is_dir() else _hash_file(path)


def stamp_of(path: Path) -> str:
    """Sizes and times of change: what differs as soon as somebody writes to it. "" when it is not there."""
    try:
        if not path.is_dir():
            return _stamp_file(path)
        lines = [f"{file.relative_to(path).as_posix()} {_stamp_file(file)}" for file in _files(path)]
    except OSError:
        return ""
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def protect(path: Path) -> None:
    """Takes the right to write from a file, or from every file of a folder."""
    for file in _files(path) if path.is_dir() else (path,):
        file.chmod(file.stat().st_mode & ~0o222)


def _stamp_file(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}:{status.st_mtime_ns}"


def _hash_file(path: Path) -> Content:
    sha256, md5, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            sha256.update(piece)
            md5.update(piece)
            size += len(piece)
    return Content(sha256=sha256.hexdigest(), md5=md5.hexdigest(), size=size)


def _hash_folder(path: Path) -> Content:
    found = {file: _hash_file(file) for file in _files(path)}  # in the order of the disk
    named = {file.relative_to(path).as_posix(): content for file, content in found.items()}
    lines = "".join(f"{named[name].sha256}  {name}\n" for name in sorted(named))
    by_name = [found[file] for file in sorted(found, key=lambda file: (file.parent.parts, file.name))]
    return Content(
        sha256=hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest(),
        md5=_join_hashes(by_name),
        other_md5=_join_hashes(list(found.values())),
        size=sum(content.size for content in found.values()),
    )


def _files(path: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _join_hashes(contents: list[Content]) -> str:
    return hashlib.md5("".join(content.md5 for content in contents).encode(), usedforsecurity=False).hexdigest()
