"""What somebody wants to import: a file, a folder or standard input, read once and looked at by each importer."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright.errors import TargetError
from benchwright.schema.parsing import MIB, TextError, json_value
from benchwright.system import streams

STANDARD = "-"
_FIRST_LINE = 4 * MIB  # at most, to recognise a file of JSON Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A file with its content, or a folder without."""

    name: str  # as it was named
    path: Path | None  # None for standard input
    body: bytes = b""
    data: Any = None  # the content as JSON; None when it is none
    flaw: str = ""  # why it is none, though it begins as JSON does
    modified_at: str = ""  # when the file was last written, UTC

    @property
    def is_folder(self) -> bool:
        """Whether the source is a folder."""
        return self.path is not None and self.path.is_dir()

    @property
    def text(self) -> str:
        """Returns the content of the file as text."""
        return self.body.decode(errors="replace")


def is_of_other_tool(path: str) -> bool:
    """Whether a file of JSON Lines begins with a document that is none of ours: aiperf's records end in .jsonl too.

    What cannot be read, or is no mapping, is left to those who read our own files: they say what is wrong with it.
    """
    try:
        with Path(path).open("rb") as file:
            parts = streams.pieces(file)
            lines = streams.split_lines(streams.gunzip(parts) if path.endswith(".gz") else parts, longest=_FIRST_LINE)
            first = json_value(next(lines, b""), finite=False)
    except (OSError, TextError):
        return False
    return isinstance(first, dict) and not first.keys() & {"format", "kind", "data"}


def read_source(path: str) -> Given:
    """Reads what was named. Compressed files are unpacked, whatever they are called."""
    if path == STANDARD:
        return _read_stream("standard input", None, sys.stdin.buffer, datetime.now(UTC))
    place = Path(path)
    try:
        changed = datetime.fromtimestamp(place.stat().st_mtime, UTC)
        if place.is_dir():
            return Given(name=path, path=place, modified_at=_instant(changed))
        with place.open("rb") as file:
            return _read_stream(path, place, file, changed)
    except FileNotFoundError:
        raise TargetError(f"{path}: no such file or folder") from None
    except OSError as error:
        raise TargetError(f"{path}: cannot be read: {error.strerror or error}") from None


def _read_stream(name: str, path: Path | None, file: streams.ByteStream, changed: datetime) -> Given:
    parts = streams.pieces(file)
    first = next(parts, b"")
    whole = itertools.chain([first], parts)
    try:
        body = streams.join_pieces(streams.gunzip(whole) if first.startswith(streams.GZIP) else whole)
    except TextError as error:
        raise streams.refusal_of(error, name, "was it copied to its end?") from None
    data, flaw = _json(body)
    return Given(name=name, path=path, body=body, data=data, flaw=flaw, modified_at=_instant(changed))


def _json(body: bytes) -> tuple[Any, str]:
    """The content, if it is JSON of any kind: some tools write NaN, which JSON does not know; else why it is none."""
    if body.lstrip()[:1] not in (b"{", b"["):
        return None, ""
    try:
        return json_value(body, finite=False), ""
    except TextError as error:
        return None, str(error)


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
