"""What somebody wants to import: a file, a folder or standard input, read once and looked at by each importer."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright.errors import TargetError

STANDARD = "-"
MOST = 512 << 20  # bytes of a file, after unpacking
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A file with its content, or a folder without."""

    name: str  # as it was named
    path: Path | None  # None for standard input
    body: bytes = b""
    data: Any = None  # the content as JSON; None when it is none
    modified_at: str = ""  # when the file was last written, UTC

    @property
    def is_folder(self) -> bool:
        """Whether a folder was named."""
        return self.path is not None and self.path.is_dir()

    @property
    def text(self) -> str:
        """The content as text."""
        return self.body.decode(errors="replace")


def given(path: str) -> Given:
    """Reads what was named. Compressed files are unpacked, whatever they are called."""
    if path == STANDARD:
        return _of("standard input", None, sys.stdin.buffer.read(MOST + 1), datetime.now(UTC))
    place = Path(path)
    try:
        changed = datetime.fromtimestamp(place.stat().st_mtime, UTC)
        if place.is_dir():
            return Given(name=path, path=place, modified_at=_instant(changed))
        with place.open("rb") as file:
            return _of(path, place, file.read(MOST + 1), changed)
    except FileNotFoundError:
        raise TargetError(f"{path}: no such file or folder") from None
    except OSError as error:
        raise TargetError(f"{path}: cannot be read: {error.strerror or error}") from None


def _of(name: str, path: Path | None, body: bytes, changed: datetime) -> Given:
    body = _unpacked(name, body) if body.startswith(_GZIP) else body
    if len(body) > MOST:
        raise TargetError(f"{name}: larger than {MOST >> 20} MiB")
    return Given(name=name, path=path, body=body, data=_json(body), modified_at=_instant(changed))


def _unpacked(name: str, body: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
            return packed.read(MOST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TargetError(f"{name}: the compressed file is damaged: {error}") from None


def _json(body: bytes) -> Any:
    """The content, if it is JSON of any kind: some tools write NaN, which JSON does not know."""
    if body.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
