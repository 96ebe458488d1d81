"""All that a program prints, in a file that is kept: its beginning and its end, however much it prints."""

from __future__ import annotations

from pathlib import Path

from benchwright.errors import LoadError
from benchwright.records import ResultWarning

MOST = 16 << 20  # bytes of a log
HEAD = TAIL = MOST // 2 - 64  # bytes; the rest is for the line between them


class ProgramLog:
    """What is written arrives at once up to `HEAD` bytes, the last `TAIL` bytes after them on closing.

    A disk that takes no more ends the log and not the measurement: `warnings` says so.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise LoadError(f"the log cannot be written: {error}") from None
        self._path, self._size, self._tail, self._lost = path, 0, bytearray(), ""

    @property
    def warnings(self) -> list[ResultWarning]:
        """Why the log is not complete, when a disk is to blame."""
        if not self._lost:
            return []
        seen = f"{self._path} ends early: {self._lost}"
        return [ResultWarning(code="log-cut", seen=seen, remedy="make room where results are kept")]

    def write(self, data: bytes) -> None:
        """Adds the next piece of the output."""
        room = HEAD - self._size
        self._size += len(data)
        if room > 0:
            self._put(data[:room])
        if len(data) > room:
            self._tail += data[max(0, room) :]
            if len(self._tail) > 2 * TAIL:  # cutting seldom keeps a long stream linear
                del self._tail[:-TAIL]

    def close(self) -> None:
        """Writes the end, and between it and the beginning how much is missing."""
        del self._tail[:-TAIL]
        missing = self._size - HEAD - len(self._tail)
        if missing > 0:
            self._put(f"\n... {missing} bytes are left out here ...\n".encode())
        self._put(bytes(self._tail))
        self._file.close()

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self._lost:
            try:
                view = view[self._file.write(view) :]
            except OSError as error:
                self._lost = error.strerror or str(error)
