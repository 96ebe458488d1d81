"""Bytes of files and streams, within bounds: as a whole, in pieces, line by line, unpacked."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from benchwright.errors import DecodeError
from benchwright.schema.parsing import MIB, VARIABLE, TextError, largest, too_large

PIECE = MIB // 4  # bytes that are read or unpacked at once
RATIO = 500  # of what is packed to what it unpacks to, once that is more than INNOCENT
INNOCENT = 8 * MIB
GZIP = b"\x1f\x8b"


class TooLargeError(TextError):
    """More than a bound on bytes allows."""


class BombError(TooLargeError):
    """Packed bytes that unpack to an absurd size."""


class DamagedError(TextError):
    """Packed bytes that are cut off, or are not what they say."""


class ByteStream(Protocol):
    """What bytes come from: an open file, standard input."""

    def read(self, size: int, /) -> bytes:
        """Returns at most so many bytes; none at the end."""
        ...


def read_file(path: Path, *, most: int | None = None) -> bytes:
    """The whole file; a `TooLargeError` when it is more than `most` bytes, `parsing.largest()` by default."""
    with path.open("rb") as file:
        return read_all(file, most=most)


def read_text(path: Path, *, most: int | None = None) -> str:
    """The whole file as UTF-8; a `TextError` when it is not UTF-8, or too large."""
    try:
        return read_file(path, most=most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TextError(f"not UTF-8 text: {error.reason} at byte {error.start}") from None


def read_all(stream: ByteStream, *, most: int | None = None) -> bytes:
    """What a stream still holds. No more than `most` bytes are ever held in memory."""
    return join_pieces(pieces(stream), most=most)


def join_pieces(parts: Iterable[bytes], *, most: int | None = None) -> bytes:
    """Pieces as one; a `TooLargeError` as soon as they are more than `most` bytes."""
    bound, body = largest() if most is None else most, bytearray()
    for part in parts:
        body += part
        if len(body) > bound:
            raise TooLargeError(too_large(bound))
    return bytes(body)


def pieces(stream: ByteStream) -> Iterator[bytes]:
    """The bytes of a stream as they come."""
    while piece := stream.read(PIECE):
        yield piece


def gunzip(parts: Iterable[bytes]) -> Iterator[bytes]:
    """What gzip packed, a piece at a time. A `TextError` when it is damaged, or unpacks to an absurd size."""
    unpack = Gunzip()
    for part in parts:
        yield from unpack(part)
    unpack.end()


def split_lines(parts: Iterable[bytes], *, longest: int | None = None) -> Iterator[bytes]:
    """The lines in pieces of bytes, without their ends; a `TooLargeError` when one is more than `longest` bytes."""
    bound, begun = largest() if longest is None else longest, bytearray()
    for part in parts:
        *ended, rest = part.split(b"\n")
        for line in ended:
            begun += line
            yield bytes(begun)
            begun.clear()
        begun += rest
        if len(begun) > bound:
            raise TooLargeError(f"a line of {too_large(bound)}")
    if begun:
        yield bytes(begun)


class Gunzip:
    """Unpacks one or more gzip members, a step at a time."""

    def __init__(self, ratio: int = RATIO) -> None:
        self._ratio = ratio
        self._stream = zlib.decompressobj(31)
        self._packed = self._unpacked = 0

    def __call__(self, piece: bytes) -> Iterator[bytes]:
        """Yields the bytes that a piece unpacks to."""
        self._packed += len(piece)
        full = False
        while piece or full:
            if self._stream.eof:
                piece = piece.lstrip(b"\0")  # padding may stand between and behind members
                if not piece:
                    return
                self._stream = zlib.decompressobj(31)
            try:
                part = self._stream.decompress(piece, PIECE)
            except zlib.error as error:
                raise DamagedError(f"the compressed file is damaged: {error}") from None
            full = len(part) == PIECE
            piece = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            self._unpacked += len(part)
            if self._unpacked > max(INNOCENT, self._ratio * self._packed):
                raise BombError(f"it unpacks to more than {self._ratio} times its size")
            yield part

    def end(self) -> None:
        """A `DamagedError` when the last member is not whole."""
        if self._packed and not self._stream.eof:
            raise DamagedError("the compressed file is damaged: it is cut off")


def refusal_of(error: TextError, where: str, remedy: str) -> DecodeError:
    """The error for people: where, which bound, and what to do."""
    if isinstance(error, BombError):
        remedy = "do not trust this file; or unpack it by hand"
    elif isinstance(error, TooLargeError):
        remedy = f"is it what it should be? if so, {VARIABLE}=MIB raises what is read as a whole"
    return DecodeError(f"{where}: {error}", remedy=remedy)
