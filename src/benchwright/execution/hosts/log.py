"""What a worker prints: a file without a name, of which the end is kept."""

from __future__ import annotations

import fcntl
import os
import tempfile

TAIL = 8192  # bytes of the log that are kept
MOST_LOG = 256 << 20  # bytes a log may grow to before it is cut


class WorkerLog:
    """Takes a worker's stdout and stderr. Every write goes to its end, whoever writes."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(mode="ab+", buffering=0)  # noqa: SIM115 - closed in close()
        fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)  # which the mode alone does not set for a nameless file
        self._tail = ""  # once the file is closed

    def fileno(self) -> int:
        """The descriptor that a worker inherits."""
        return self._file.fileno()

    def duplicate(self) -> int:
        """A descriptor of the caller's own, to read the log with; it is whole for as long as that is open."""
        return os.dup(self._file.fileno())

    def write(self, text: str) -> None:
        """Adds a line of our own."""
        if not self._file.closed:
            self._file.write(text.encode())

    def tail(self, most: int = TAIL) -> str:
        """The last `most` bytes of what was printed, also after closing."""
        if self._file.closed:
            return self._tail
        size = os.fstat(self._file.fileno()).st_size
        self._file.seek(max(0, size - most))
        return self._file.read(most).decode("utf-8", errors="replace")

    def bound(self, most: int = MOST_LOG) -> None:
        """Cuts a log that has grown beyond `most` bytes; a flood must not fill the disk."""
        if not self._file.closed and os.fstat(self._file.fileno()).st_size > most:
            self._file.truncate(0)

    def close(self) -> None:
        """Keeps the tail and drops the rest."""
        if not self._file.closed:
            self._tail = self.tail()
            self._file.close()
