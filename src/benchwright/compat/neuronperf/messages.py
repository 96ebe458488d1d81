"""What a benchmark says while it runs, on stderr: 0 nothing, 1 what happens, 2 also what helps when it fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SILENT, INFO, DEBUG = 0, 1, 2


class _DefaultVerbosity(int):
    """The verbosity of a call that names none: the documented 1, unless `set_verbosity` was called."""


USUAL = _DefaultVerbosity(INFO)


class Verbosity:
    """The verbosity, and the one place that writes messages."""

    verbosity = INFO

    def tell(self, text: str, level: int = INFO) -> None:
        """Writes a message to standard error, if the verbosity is at least `level`."""
        if self.verbosity >= level:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    @contextmanager
    def at(self, verbosity: int) -> Iterator[None]:
        """Sets the verbosity for the time of one call."""
        before = self.verbosity
        self.verbosity = before if verbosity is USUAL else int(verbosity)
        try:
            yield
        finally:
            self.verbosity = before


VOICE = Verbosity()


def set_verbosity(verbosity: int) -> None:
    """How much every later call says, unless it is told otherwise itself."""
    VOICE.verbosity = int(verbosity)
