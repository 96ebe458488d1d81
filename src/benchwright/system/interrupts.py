"""Ctrl-C, SIGTERM and SIGHUP: end the measurement in flight, and wait while a result is being worked out or saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_OTHERS = (signal.SIGTERM, signal.SIGHUP)  # `timeout` sends the first; `nohup` has the second ignored


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def end_as_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP end what is inside as Ctrl-C does, so that whatever was begun is put back on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _OTHERS if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _raise_interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


class Interrupt:
    """Whether the user pressed Ctrl-C, or somebody sent SIGTERM, or SIGHUP as a terminal does that is closed.

    Inside `watched`, the first press raises only inside `allowed`; a second one raises wherever it comes: whoever
    presses twice does not want to wait. What is raised names the signal, unless it came from the keyboard.
    """

    def __init__(self) -> None:
        self.seen = False
        self._allowed = False

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Handles the signal inside; not where somebody else does already, or outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        usual = {
            signal.SIGINT: (signal.default_int_handler,),
            **dict.fromkeys(_OTHERS, (signal.SIG_DFL, _raise_interrupt)),
        }
        ours = {number: now for number, known in usual.items() if (now := signal.getsignal(number)) in known}
        for number in ours:
            signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in ours.items():
                signal.signal(number, handler)

    @contextmanager
    def allow(self) -> Iterator[None]:
        """A stretch that Ctrl-C may end."""
        self._allowed = True
        try:
            yield
        finally:
            self._allowed = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again, self.seen = self.seen, True
        if not (again or self._allowed):
            return
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise KeyboardInterrupt(signal.Signals(number).name)
