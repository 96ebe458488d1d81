"""Ends a server with all of its processes when the test that started it is gone, however it went."""

from __future__ import annotations

import os
import signal
import threading


def end_with_standard_input() -> threading.Thread:
    """Kills the process group of this program, which has one of its own, when standard input ends."""
    thread = threading.Thread(target=_wait, daemon=True)
    thread.start()
    return thread


def _wait() -> None:
    while os.read(0, 1024):  # not through sys.stdin, whose lock a forked child would wait for forever
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)
