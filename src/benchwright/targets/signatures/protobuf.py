"""The wire format of Protocol Buffers, as far as a reader needs it that skips most of a message."""

from __future__ import annotations

from collections.abc import Iterator

from benchwright.targets.signatures import MalformedError

Buffer = memoryview
MOST_FIELDS = 4_000_000  # of one file: beyond, it is no model that anybody made
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class ProtobufMessage:
    """A part of a file. `fields` gives each field's number and content: an int, or a part for what has a length."""

    __slots__ = ("_budget", "_data", "_end", "_start")

    def __init__(self, data: Buffer, start: int, end: int, budget: list[int]) -> None:
        self._data, self._start, self._end, self._budget = data, start, end, budget

    @classmethod
    def of_file(cls, data: Buffer) -> ProtobufMessage:
        """The message that a whole file is."""
        return cls(data, 0, len(data), [MOST_FIELDS])

    def fields(self) -> Iterator[tuple[int, int | ProtobufMessage]]:
        at, end, data = self._start, self._end, self._data
        while at < end:
            self._budget[0] -= 1
            if self._budget[0] < 0:
                raise MalformedError("more fields than a model has")
            key, at = (data[at], at + 1) if data[at] < 0x80 else self._varint(at)  # most are one byte long
            number, kind = key >> 3, key & 7
            if kind == _VARINT:
                value, at = self._varint(at)
                yield number, value
            elif kind == _BYTES:
                length, at = self._varint(at)
                if length > end - at:
                    raise MalformedError("a field is longer than its message")
                yield number, ProtobufMessage(self._data, at, at + length, self._budget)
                at += length
            elif kind in (_EIGHT, _FOUR):
                at += 8 if kind == _EIGHT else 4
            else:
                raise MalformedError(f"wire type {kind}")

    def parts(self, number: int) -> Iterator[ProtobufMessage]:
        """The fields of that number that have a length."""
        return (value for found, value in self.fields() if found == number and isinstance(value, ProtobufMessage))

    def number(self, number: int, default: int = 0) -> int:
        """The last whole number in a field of that number."""
        for found, value in self.fields():
            if found == number and isinstance(value, int):
                default = value
        return default

    def numbers(self, number: int) -> list[int]:
        """All whole numbers in fields of that number, packed or not."""
        gathered: list[int] = []
        for found, value in self.fields():
            if found == number:
                gathered.extend([value] if isinstance(value, int) else value._packed_numbers())
        return gathered

    def text(self, number: int) -> str:
        """The text in a field of that number, "" when there is none."""
        return next((bytes(part).decode(errors="replace") for part in self.parts(number)), "")

    def __bytes__(self) -> bytes:
        return bytes(self._data[self._start : self._end])

    def __len__(self) -> int:
        return self._end - self._start

    def _packed_numbers(self) -> Iterator[int]:
        at = self._start
        while at < self._end:
            value, at = self._varint(at)
            yield value

    def _varint(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while at < self._end and shift < 70:
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at
        raise MalformedError("a number without end")


def signed_number(value: int) -> int:
    """A 64-bit number that may be negative."""
    return value - (1 << 64) if value >= 1 << 63 else value
