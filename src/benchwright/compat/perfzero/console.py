"""What PerfZero shows: log records, once each, and titled blocks of JSON."""

from __future__ import annotations

import codecs
import json
import logging
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from benchwright.report.ascii import emit_text

LOGGER = "benchwright.perfzero"
FORMAT = "%(asctime)s %(levelname)s: %(message)s"
LOOK = 0.25  # seconds between two looks at a log that grows
_PIECE = 1 << 16

log = logging.getLogger(LOGGER)


def start_logging(level: int) -> None:
    """Records go to stdout, errors to stderr; each is shown once."""
    handler = _ConsoleHandler()
    handler.setFormatter(logging.Formatter(FORMAT))
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(level)


def say(line: str) -> None:
    """Prints a line on stdout."""
    _write(sys.stdout, f"{line}\n")


def block(title: str, content: Mapping[str, Any]) -> None:
    """Prints a title and JSON below it."""
    say(f"{title}\n{json.dumps(content, indent=2)}")


def append_record(path: Path, *, level: int, message: str) -> None:
    """Adds a record to a method's own log, in the form that the method's process writes."""
    record = logging.LogRecord(LOGGER, level, "", 0, message, None, None)
    with path.open("a", encoding="utf-8") as file:
        file.write(logging.Formatter(FORMAT).format(record) + "\n")


class _ConsoleHandler(logging.Handler):
    """Shows log records. The streams are looked up for each record, so that a caller may replace them."""

    def emit(self, record: logging.LogRecord) -> None:
        file = sys.stderr if record.levelno >= logging.ERROR else sys.stdout
        _write(file, f"{self.format(record)}\n")


class LogEcho:
    """Shows on stdout what a process prints, while it prints it into a log file; `file` is closed at the end.

    A quarter of a second passes between two looks: the process that is measured writes to its file and never waits for
    whoever reads here.
    """

    def __init__(self, file: int) -> None:
        self._file, self._read = file, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a piece may end within a letter
        self._last = "\n"
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="benchwright-echo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Shows the rest, ends the last line, and lets go of the file."""
        self._done.set()
        self._thread.join()
        self._show()
        self._put(self._decoder.decode(b"", final=True))
        if self._last != "\n":
            self._put("\n")  # what comes next begins a line of its own
        os.close(self._file)

    def _follow(self) -> None:
        while not self._done.wait(LOOK):
            self._show()

    def _show(self) -> None:
        if os.fstat(self._file).st_size < self._read:
            self._read = 0  # a flood was cut: the log begins anew
        while piece := os.pread(self._file, _PIECE, self._read):
            self._read += len(piece)
            self._put(self._decoder.decode(piece))

    def _put(self, text: str) -> None:
        if text:
            self._last = text[-1]
            _write(sys.stdout, text)


def _write(file: TextIO, text: str) -> None:
    """Shows text now. A reader that has gone is no reason to stop: what is measured is not yet written down."""
    try:
        emit_text(file, text)
        file.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    except OSError:
        return  # a full disk behind a pipe
