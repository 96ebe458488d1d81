"""Protobuf's wire format: the fields of a message, read without protobuf and without knowing its kind.

It does not change between versions, which cannot be said of the libraries that read it. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchwright.errors import DecodeError

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
_LONGEST_VARINT = 10  # bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a message, which is not copied, and where in the file it begins."""

    data: memoryview
    start: int = 0

    @classmethod
    def of_message(cls, message: bytes) -> Piece:
        """The piece that is a whole message."""
        return cls(memoryview(message))

    def text(self) -> str:
        """Its bytes as text; what is no UTF-8 is replaced."""
        return str(self.data, "utf-8", "replace")


def fields(piece: Piece) -> Iterator[tuple[int, int, Piece]]:
    """Field number, wire type and content of everything in a message, groups left out.

    A `DecodeError` says at which byte it makes no sense.
    """
    at = 0
    while at < len(piece.data):
        begin = at
        key, at = varint(piece, at)
        number, wire = key >> 3, key & 7
        if number == 0 or wire not in (VARINT, FIXED64, BYTES, GROUP, FIXED32):
            raise _broken(piece, begin, f"a field cannot be number {number} of wire type {wire}")
        begin, at = _content(piece, at, number, wire)
        if wire != GROUP:
            yield number, wire, Piece(piece.data[begin:at], piece.start + begin)


def varint(piece: Piece, at: int = 0) -> tuple[int, int]:
    """The number at a byte, and the byte behind it."""
    number = 0
    for i, byte in enumerate(piece.data[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return number, at + i + 1
    raise _broken(piece, at, "a number has no end")


def _content(piece: Piece, at: int, number: int, wire: int) -> tuple[int, int]:
    """Where a field's content begins and ends."""
    begin = at
    if wire == VARINT:
        return begin, varint(piece, at)[1]
    if wire == GROUP:
        return begin, _end_of_group(piece, at, number)
    if wire == BYTES:
        length, begin = varint(piece, at)
    else:
        length = 8 if wire == FIXED64 else 4
    if begin + length > len(piece.data):
        raise _broken(piece, at, f"{length} bytes are announced and {len(piece.data) - begin} are there")
    return begin, begin + length


def _end_of_group(piece: Piece, at: int, number: int) -> int:
    """The byte behind the end of a group; groups are an old form that no field we read uses."""
    inside = [number]
    while inside:
        begin = at
        key, at = varint(piece, at)
        if key & 7 == GROUP_END:
            if inside.pop() != key >> 3:
                raise _broken(piece, begin, "a group ends that did not begin")
        elif key & 7 == GROUP:
            inside.append(key >> 3)
        elif key & 7 <= FIXED32:
            at = _content(piece, at, key >> 3, key & 7)[1]
        else:
            raise _broken(piece, begin, f"there is no wire type {key & 7}")
    return at


def _broken(piece: Piece, at: int, what: str) -> DecodeError:
    return DecodeError(f"byte {piece.start + at}: {what}", remedy="the file was cut short, or is of another kind")
