"""Protobuf's wire format: the fields of a message, read without protobuf and without knowing its kind.

It does not change between versions, which cannot be said of the libraries that read it. Standard library only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from benchwright.errors import DecodeError

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
MOST_FIELDS = 4_000_000  # of one file: beyond, it is no model that anybody made


class ProtobufMessage:
    """A part of a file, which is not copied. A `DecodeError` says at which byte of the file it makes no sense."""

    __slots__ = ("_budget", "_data", "_end", "_start")

    def __init__(self, data: memoryview, start: int, end: int, budget: list[int]) -> None:
        self._data, self._start, self._end, self._budget = data, start, end, budget

    @classmethod
    def of_file(cls, data: memoryview) -> ProtobufMessage:
        """The message that a whole file is."""
        return cls(data, 0, len(data), [MOST_FIELDS])

    def fields(self) -> Iterator[tuple[int, int, int | ProtobufMessage]]:
        """Number, wire type and content of each field, groups left out: an int for a varint, else a part."""
        at, end, data = self._start, self._end, self._data
        while at < end:
            self._budget[0] -= 1
            if self._budget[0] < 0:
                raise self._error(at, "there are more fields than a model has")
            begin = at
            key, at = (data[at], at + 1) if data[at] < 0x80 else self._varint(at)  # most are one byte long
            number, wire = key >> 3, key & 7
            if number == 0 or wire not in (VARINT, FIXED64, BYTES, GROUP, FIXED32):
                raise self._error(begin, f"a field cannot be number {number} of wire type {wire}")
            if wire == VARINT:
                value, at = self._varint(at)
                yield number, wire, value
            elif wire == GROUP:
                at = self._end_of_group(at, number)
            else:
                begin, at = self._content(at, wire)
                yield number, wire, ProtobufMessage(data, begin, at, self._budget)

    def parts(self, number: int, wire: int = BYTES) -> Iterator[ProtobufMessage]:
        """The contents of the fields of that number and wire type, in order."""
        found = (value for which, kind, value in self.fields() if which == number and kind == wire)
        return (value for value in found if isinstance(value, ProtobufMessage))

    def number(self, number: int, default: int = 0) -> int:
        """The last whole number in a field of that number."""
        for which, _, value in self.fields():
            if which == number and isinstance(value, int):
                default = value
        return default

    def numbers(self, number: int) -> list[int]:
        """All whole numbers in fields of that number, packed or not."""
        gathered: list[int] = []
        for which, wire, value in self.fields():
            if which == number and isinstance(value, int):
                gathered.append(value)
            elif which == number and wire == BYTES and isinstance(value, ProtobufMessage):
                gathered.extend(value._packed_numbers())
        return gathered

    def text(self, number: int) -> str:
        """The text in a field of that number, "" when there is none."""
        return next(map(str, self.parts(number)), "")

    def doubles(self, number: int) -> list[float]:
        """All floating-point numbers of 64 bits in fields of that number."""
        return [struct.unpack("<d", bytes(part))[0] for part in self.parts(number, FIXED64)]

    def __bytes__(self) -> bytes:
        return bytes(self._data[self._start : self._end])

    def __str__(self) -> str:
        return bytes(self).decode(errors="replace")

    def __len__(self) -> int:
        return self._end - self._start

    def _packed_numbers(self) -> Iterator[int]:
        at = self._start
        while at < self._end:
            value, at = self._varint(at)
            yield value

    def _varint(self, at: int) -> tuple[int, int]:
        """The number at a byte, and the byte behind it."""
        begin, value, shift = at, 0, 0
        while at < self._end and shift < 70:
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at
        raise self._error(begin, "a number has no end")

    def _content(self, at: int, wire: int) -> tuple[int, int]:
        """Where the content of a field that is no varint begins and ends."""
        length, begin = self._varint(at) if wire == BYTES else (8 if wire == FIXED64 else 4, at)
        if length > self._end - begin:
            raise self._error(at, f"{length} bytes are announced and {self._end - begin} are there")
        return begin, begin + length

    def _end_of_group(self, at: int, number: int) -> int:
        """The byte behind the end of a group; groups are an old form that no field we read uses."""
        inside = [number]
        while inside:
            begin = at
            key, at = self._varint(at)
            if key & 7 == GROUP_END:
                if inside.pop() != key >> 3:
                    raise self._error(begin, "a group ends that did not begin")
            elif key & 7 == GROUP:
                inside.append(key >> 3)
            elif key & 7 <= FIXED32:
                at = self._varint(at)[1] if key & 7 == VARINT else self._content(at, key & 7)[1]
            else:
                raise self._error(begin, f"there is no wire type {key & 7}")
        return at

    def _error(self, at: int, what: str) -> DecodeError:
        return DecodeError(f"byte {at}: {what}", remedy="the file was cut short, or is of another kind")


def signed_number(value: int) -> int:
    """A 64-bit number that may be negative: such numbers come as two's complement."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= 1 << 63 else value
