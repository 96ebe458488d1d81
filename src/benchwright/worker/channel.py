"""The private line between the parent and a worker: framed messages that stray output cannot imitate.

A frame is a magic word, the job's secret token, the length of a JSON header, the header, and the raw int64 arrays it
announces. Anything else on the line is a `ChannelError`. Standard library only.
"""

from __future__ import annotations

import json
import os
import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchwright import schema
from benchwright.errors import ChannelError
from benchwright.records import Case, Int64s, Profile, Samples, join_columns, split_columns
from benchwright.system.orphans import TOKEN_BYTES

PROTOCOL = 4
MOST_HEADER = 512 << 20  # bytes; many millions of values
MOST_ARRAYS = 4 << 30  # bytes of all arrays behind one header
_PIECE = 1 << 20  # bytes that are asked for at once
_PREFIX = struct.Struct(f"<4s{TOKEN_BYTES}sI")
_MAGIC = b"BWF\x01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is told: one case, and which of its copies it is."""

    protocol: int
    case: Case
    copy: int = 0
    paths: tuple[str, ...] = ()  # folders put in front of sys.path
    cpus: tuple[int, ...] = ()  # CPUs it may use; none named: any
    memory: int | None = None  # bytes of address space at most
    last_paths: tuple[str, ...] = ()  # folders put behind sys.path
    folder: str = ""  # where it may leave files; "" when nobody asks for any
    profile: Profile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame: `loading`, `warming`, `ready`, `live`, `done`, `measured`, `failed` of a worker; `job`, `go` to it."""

    kind: str
    data: dict[str, Any]
    arrays: Mapping[str, Int64s] = field(default_factory=dict)


def write_message(fd: int, token: bytes, message: Frame) -> None:
    """Writes the whole frame, however large."""
    lengths = {name: len(values) for name, values in message.arrays.items()}
    header = json.dumps({"kind": message.kind, "data": message.data, "arrays": lengths}, allow_nan=False).encode()
    _write_all(fd, _PREFIX.pack(_MAGIC, token, len(header)) + header)
    for values in message.arrays.values():
        _write_all(fd, memoryview(values).cast("B"))


def read_message(fd: int, token: bytes) -> Frame | None:
    """Blocks for the next frame; None at the end of the line."""
    reader = FrameReader(token)
    while True:
        found = reader.next()
        if found is not None:
            return found
        data = os.read(fd, min(reader.missing_size, _PIECE))
        if not data:
            return None
        reader.feed(data)


class FrameReader:
    """Puts frames together from whatever pieces arrive."""

    def __init__(self, token: bytes) -> None:
        self._token = token
        self._buffer = bytearray()
        self._parsed: tuple[dict[str, Any], int] | None = None  # the present frame's header, and where it ends

    @property
    def missing_size(self) -> int:
        """How many bytes complete what has been announced so far; at least one."""
        return max(1, self._announced_size() - len(self._buffer))

    def feed(self, data: bytes) -> None:
        """Takes what arrived; a frame that is not ours raises at once."""
        self._buffer += data
        self._announced_size()

    def next(self) -> Frame | None:
        """The next whole frame, or None until there is one."""
        size = self._announced_size()
        if len(self._buffer) < size or not self._header_is_here():
            return None
        header, start = self._header()
        arrays: dict[str, Int64s] = {}
        for name, length in header["arrays"].items():
            arrays[name] = array("q")
            arrays[name].frombytes(bytes(self._buffer[start : start + 8 * length]))
            start += 8 * length
        del self._buffer[:start]
        self._parsed = None
        return Frame(kind=header["kind"], data=header["data"], arrays=arrays)

    def _announced_size(self) -> int:
        """Bytes of the present frame as far as it is known."""
        if len(self._buffer) < _PREFIX.size:
            if not _MAGIC.startswith(bytes(self._buffer[: len(_MAGIC)])):
                raise _rubbish(self._buffer)
            return _PREFIX.size
        magic, token, length = _PREFIX.unpack_from(self._buffer)
        if magic != _MAGIC or token != self._token:
            raise _rubbish(self._buffer)
        if length > MOST_HEADER:  # it is ours all the same
            raise _too_large(length, MOST_HEADER)
        if not self._header_is_here():
            return int(_PREFIX.size + length)
        header, start = self._header()
        return start + 8 * sum(map(int, header["arrays"].values()))

    def _header_is_here(self) -> bool:
        if len(self._buffer) < _PREFIX.size:
            return False
        return len(self._buffer) >= _PREFIX.size + int(_PREFIX.unpack_from(self._buffer)[2])

    def _header(self) -> tuple[dict[str, Any], int]:
        if self._parsed is None:  # once a frame, however many pieces it comes in
            end = _PREFIX.size + int(_PREFIX.unpack_from(self._buffer)[2])
            try:
                header = json.loads(self._buffer[_PREFIX.size : end], parse_constant=_refuse_constant)
            except (ValueError, RecursionError):
                header = None
            if not _is_header(header):
                raise _rubbish(self._buffer[_PREFIX.size :])
            if (size := 8 * sum(header["arrays"].values())) > MOST_ARRAYS:
                raise _too_large(size, MOST_ARRAYS)
            self._parsed = header, end
        return self._parsed


def _refuse_constant(name: str) -> None:
    """NaN and the infinities are no JSON, and nobody could keep them."""
    raise ValueError(name)


def _is_header(header: Any) -> bool:
    return (
        isinstance(header, dict)
        and isinstance(header.get("kind"), str)
        and isinstance(header.get("data"), dict)
        and isinstance(header.get("arrays"), dict)
        and all(type(length) is int and length >= 0 for length in header["arrays"].values())
    )


def _rubbish(data: bytearray) -> ChannelError:
    return ChannelError(
        f"the answer channel carried something else: {bytes(data[:40])!r}",
        remedy="the measured code writes to file descriptors it did not open",
    )


def _too_large(length: int, most: int) -> ChannelError:
    return ChannelError(
        f"the answer of {length / 1e6:.0f} MB is too large: at most {most / 1e6:.0f} MB are read",
        remedy="let the measured code report less: fewer entries, shorter texts",
    )


def _write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


# ---- samples on the line: their arrays travel raw ----


def pack_samples(samples: Samples) -> tuple[dict[str, Any], dict[str, Int64s]]:
    """The samples without their columns as JSON values, and the columns."""
    whole = schema.encode(Samples(**{**_as_dict(samples), "columns": {}, "chunks": {}}))
    return whole, join_columns(samples)


def unpack_samples(data: dict[str, Any], columns: Mapping[str, Int64s]) -> Samples:
    """The inverse of `pack_samples`."""
    bare = schema.decode(Samples, data, where="answer.samples")
    calls, chunks = split_columns(columns)
    return Samples(**{**_as_dict(bare), "columns": calls, "chunks": chunks})


def _as_dict(samples: Samples) -> dict[str, Any]:
    return {name: getattr(samples, name) for name in Samples.__slots__}
