"""Ctrl-C and SIGTERM: end the measurement in flight, and wait while a result is being worked out or saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Whether the user pressed Ctrl-C. Inside `watched`, the first press raises only inside `allowed`.

    A second press raises wherever it comes: whoever presses twice does not want to wait.
    """

    def __init__(self) -> None:
        self.seen = False
        self._allowed = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Handles the signal inside; not where somebody else does already, or outside the main thread."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        before = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGINT, self._pressed)
        if before is signal.SIG_DFL:  # a scheduler or `timeout` means the same
            signal.signal(signal.SIGTERM, self._pressed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, before)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A stretch that Ctrl-C may end."""
        self._allowed = True
        try:
            yield
        finally:
            self._allowed = False

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        again, self.seen = self.seen, True
        if again or self._allowed:
            raise KeyboardInterrupt
