"""Journals: files of one JSON value a line, which nothing confuses: not a full disk, not `kill -9`, not a power cut."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchwright.schema.parsing import json_value
from benchwright.system import streams
from benchwright.system.whole_files import BINARY

_BLOCK = 1 << 16


def open_lines(path: Path, mode: int = 0o666) -> int:
    """Opens a file for `append`, made when absent; of a line that was cut off nothing stays. One process at a time."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | BINARY, mode)
    try:
        _mend(handle)
    except BaseException:
        os.close(handle)
        raise
    return handle


def append(handle: int, value: Any) -> None:
    """Adds a line, whole or not at all; it is on the disk when this returns. An `OSError` says why it cannot be."""
    line = json.dumps(value).encode()
    before = os.fstat(handle).st_size
    try:
        rest = memoryview(line + b"\n")
        while rest:  # a disk that is almost full takes a part, and refuses the next
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, before)
        raise


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yields the number and the value of each line, in order; of a line that is no JSON, the `ValueError` itself.

    A line that is too long to be read is the last.
    """
    number = 0
    with path.open("rb") as file:
        try:
            for line in streams.split_lines(streams.pieces(file)):
                number += 1
                yield number, _value(line)
        except streams.TooLargeError as error:
            yield number + 1, error


def _value(line: bytes) -> Any:
    try:
        return json_value(line)
    except ValueError as error:
        return error


def _mend(handle: int) -> None:
    """Cuts the file after its last newline."""
    end = size = os.fstat(handle).st_size
    while end > 0:
        begin = max(0, end - _BLOCK)
        newline = os.pread(handle, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            end = begin + newline + 1
            break
        end = begin
    if end < size:
        os.ftruncate(handle, end)
