"""Digests of files: read, checked and compared."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import OptionError

LENGTHS = {"sha256": 64, "md5": 32}


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a file's content must come to; `kind` is `sha256` or `md5`."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


def parse_digests(*, sha256: str = "", md5: str = "") -> tuple[Digest, ...]:
    """The digests that were given, in small letters. One that cannot be a digest is an `OptionError`."""
    given = [Digest(kind=kind, value=text.strip().lower()) for kind, text in (("sha256", sha256), ("md5", md5)) if text]
    for digest in given:
        if not re.fullmatch(f"[0-9a-f]{{{LENGTHS[digest.kind]}}}", digest.value):
            raise OptionError(f"{digest} is not one: {digest.kind} has {LENGTHS[digest.kind]} digits of 0-9 and a-f")
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
