"""Server-sent events out of the pieces in which they arrived: each has the instant of the piece that completed it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from benchwright.worker.endpoints.traffic import Pieces

_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a lone CR at the end may be the half of a CRLF


class Event(NamedTuple):
    """One event: when its last byte was there, its type ("" unless one is given) and its data. There are millions."""

    at: int
    kind: str
    data: bytes


def read_events(pieces: Pieces) -> Iterator[Event]:
    """The events of a stream. Comments are skipped; an event that was cut off before its blank line is given too."""
    unfinished: list[bytes] = []  # pieces of a line: joined once, however many they are
    lines: list[bytes] = []
    kind, at = "", 0
    for at, piece in pieces:
        if _is_one_event(piece) and not (lines or kind or (unfinished and unfinished != [b""])):
            yield Event(at, "", piece[6:-2])
            continue
        unfinished.append(piece)
        if b"\n" not in piece and b"\r" not in piece:
            continue
        *whole, rest = _LINE.split(b"".join(unfinished))
        unfinished = [rest]
        for line in whole:
            if line:
                kind = _read_line(line, lines) or kind
            elif lines or kind:
                yield Event(at, kind, b"\n".join(lines))
                kind, lines = "", []
    for line in b"".join(unfinished).split(b"\r"):
        if line:
            kind = _read_line(line, lines) or kind
    if lines:
        yield Event(at, kind, b"\n".join(lines))


def _is_one_event(piece: bytes) -> bool:
    """Whether a piece is a whole event of one line, as most are."""
    return piece.endswith(b"\n\n") and piece.startswith(b"data: ") and piece.count(b"\n") == 2 and b"\r" not in piece


def _read_line(line: bytes, lines: list[bytes]) -> str:
    """Adds the data of a line to `lines`; returns the event's type where the line gives it."""
    name, _, value = line.removeprefix(_BOM).partition(b":")
    value = value.removeprefix(b" ")
    if name == b"data":
        lines.append(value)
    return value.decode(errors="replace") if name == b"event" else ""


def inflate_pieces(pieces: Iterable[tuple[int, bytes]], most: int) -> Pieces:
    """The pieces of a body that was packed with gzip or zlib, with their instants; nothing beyond `most` bytes."""
    unpack = zlib.decompressobj(wbits=47)  # either of the two, told apart by its first bytes
    found: Pieces = []
    size = 0
    for at, piece in pieces:
        try:
            plain = unpack.decompress(piece, most - size)
        except zlib.error:
            return found
        size += len(plain)
        found.append((at, plain))
        if size >= most:
            break
    return found
