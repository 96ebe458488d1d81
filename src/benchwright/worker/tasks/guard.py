"""A bound on the time that one search may take.

A regular expression can need longer than the age of the universe. Python's own matcher looks for signals while it
works, so a timer of CPU time can end it. Only the main thread gets signals; elsewhere the bound on the length of lines
is all there is.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 2.0  # seconds of CPU time for one expression on one block of lines


class TooSlowError(Exception):
    """The time was up."""


@contextmanager
def limit_cpu_time(seconds: float = MOST) -> Iterator[None]:
    """Raises `TooSlowError` in what it surrounds once that took so much CPU time."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_too_slow(number: int, frame: object) -> None:
    raise TooSlowError
