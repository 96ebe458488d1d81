"""Ctrl-C while something is sent. The runner lets it wait until a result is kept; an upload need not be waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def run_unless_stopped(step: Callable[[], T]) -> T | None:
    """What the step returns; None when Ctrl-C, SIGTERM or SIGHUP ended it.

    Whoever handles these otherwise hears of it then.
    """
    if threading.current_thread() is not threading.main_thread():
        return step()
    numbers = [
        n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) not in (signal.SIG_IGN, None)
    ]
    before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        return step()
    except _StoppedError as stopped:
        number = stopped.number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    signal.raise_signal(number)
    return None


class _StoppedError(KeyboardInterrupt):
    """Like Ctrl-C to everything it passes on its way."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _stop(number: int, frame: FrameType | None) -> None:
    raise _StoppedError(number)
