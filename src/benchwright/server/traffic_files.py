"""Requests of all processes of a server, counted together: each leaves its counts in a file that the others read."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchwright.server.traffic import RouteTimes, Traffic
from benchwright.system import whole_files

PERIOD = 1.0  # seconds between two files
_ENDING = ".json"


class SharedTraffic(Traffic):
    """Counts of this process, and of those that left their files in the folder; what a process that has gone counted
    stays, so that counts only grow. What others counted in the last second may be lacking.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._file = folder / f"{os.getpid()}{_ENDING}"
        self._written: Any = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="traffic", daemon=True)

    def start(self) -> None:
        """Begins to write the file."""
        self._thread.start()

    def end(self) -> None:
        """Writes the file for the last time."""
        self._ended.set()
        self._thread.join(PERIOD)
        self._write()

    def counts(self) -> Mapping[tuple[str, str, int], int]:
        """Returns how many requests there were at all processes, by method, route and status."""
        found = dict(super().counts())
        for told in self._others():
            for method, route, status, count in told["counts"]:
                found[method, route, status] = found.get((method, route, status), 0) + count
        return found

    def times(self) -> Mapping[str, RouteTimes]:
        """Returns how long requests took at all processes, by route."""
        found = dict(super().times())
        for told in self._others():
            for route, buckets, seconds in told["times"]:
                known = found.setdefault(route, RouteTimes())
                known.buckets = [one + other for one, other in zip(known.buckets, buckets, strict=True)]
                known.seconds += seconds
        return found

    def _go_on(self) -> None:
        while not self._ended.wait(PERIOD):
            self._write()

    def _write(self) -> None:
        told = {
            "counts": [[*name, count] for name, count in super().counts().items()],
            "times": [[route, one.buckets, one.seconds] for route, one in super().times().items()],
        }
        if told != self._written:
            with suppress(OSError):  # a full disk costs the others these counts, and nobody an answer
                whole_files.write_text(self._file, json.dumps(told))
                self._written = told

    def _others(self) -> Iterator[Any]:
        for file in sorted(self._file.parent.glob(f"*{_ENDING}")):
            if file != self._file:
                with suppress(OSError, ValueError):
                    yield json.loads(file.read_text())
