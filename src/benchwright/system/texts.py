"""Texts of unknown length, as they are kept: their beginning and their end, with how much was left out between.

An exception's message, a log or a build's output may be of any size, or not even exist: `str(error)` runs code of
whoever wrote the exception. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

MOST_MESSAGE = 4000  # characters of a message that are kept
MOST_LOG = 8 << 20  # bytes that a log which is kept may take
_NOTE_ROOM = 80  # characters for what says how much was left out


def shorten(text: str, most: int = MOST_MESSAGE) -> str:
    """The text; of one that is longer than `most` characters the beginning and the end, and how much is left out."""
    if len(text) <= most:
        return text
    each = max(1, (most - _NOTE_ROOM) // 2)
    return f"{text[:each]} ... [{len(text) - 2 * each:,} characters are left out here] ... {text[-each:]}"


def words_of(error: BaseException, most: int = MOST_MESSAGE) -> str:
    """What an exception says of itself, never more than `most` characters; "" when it says nothing.

    One that fails even at that is described by what it is.
    """
    try:
        text = str(error)
    except BaseException as second:  # the exception's own code runs here, and may do anything
        return f"{type(error).__name__}, whose own text cannot be had: its __str__ raised {type(second).__name__}"
    return shorten(text.strip(), most)


def describe_error(error: BaseException, most: int = MOST_MESSAGE) -> str:
    """The kind of an exception and what it says of itself."""
    words = words_of(error, most)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class BoundedLog:
    """A file that others append to, kept from filling the disk: its beginning and its end stay.

    What is written must be appended (`O_APPEND`), so that it goes to the end after the middle was taken out.
    """

    def __init__(self, path: Path, most: int = MOST_LOG) -> None:
        self._path, self._most = path, most

    def trim(self) -> None:
        """Takes the middle out of a file that is larger than it may be. Cheap while it is not: call it often."""
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_size > self._most:
                self._cut_middle()

    def _cut_middle(self) -> None:
        kept = self._most // 4  # at either end
        with self._path.open("r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(kept)
            earlier = _NOTE.match(file.read(len(_note(0))))  # it stands where the middle was taken out before
            left_out = size - 2 * kept + (int(earlier[1]) - len(_note(0)) if earlier else 0)
            file.seek(size - kept)
            end = file.read(kept)
            file.truncate(kept)
            file.seek(kept)
            file.write(_note(left_out) + end)


def _note(left_out: int) -> bytes:
    return b"\n... [%15d bytes are left out here] ...\n" % left_out


_NOTE = re.compile(rb"\n\.\.\. \[ *(\d+) bytes are left out here\] \.\.\.\n")
