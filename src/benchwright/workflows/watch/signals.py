"""Ctrl-C, SIGTERM and SIGHUP while watching: the first stops after the present commit, the second at once."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

_SLICE = 0.2  # seconds between looks at whether to stop


class Draining:
    """Whether somebody asked to stop; a context manager. Outside the main thread nobody can ask."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.asked = False
        self._say = say
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Draining:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue  # under `nohup` it shall go on
                self._before[number] = signal.signal(number, self._told)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> bool:
        """Waits so long; False as soon as somebody asks to stop."""
        end = time.monotonic() + seconds
        while not (self.asked or stop()):
            left = end - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, _SLICE))
        return False

    def _told(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        with contextlib.suppress(RuntimeError):  # the stream may be in the middle of a line
            self._say("stopping after the present commit; once more stops at once")
