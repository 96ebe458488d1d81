"""How a watch talks with its surroundings: signals, a status file, the file of the last commit, the machine's lock."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from benchwright import config
from benchwright.errors import OptionError
from benchwright.system import whole_files
from benchwright.system.locks import hold_lock

STOP = "0"
_LONGEST = 200  # characters of a commit file that are looked at


def is_told_to_stop(status_file: Path | None) -> bool:
    """Whether the status file tells the watch to stop; one that is not there, or cannot be read, does not."""
    if status_file is None:
        return False
    try:
        return status_file.read_text(encoding="utf-8").strip() == STOP
    except (OSError, ValueError):
        return False


def read_commit(commit_file: Path | None) -> str:
    """The commit that the commit file names; "" for none."""
    if commit_file is None:
        return ""
    try:
        return commit_file.read_text(encoding="utf-8", errors="replace").strip()[:_LONGEST]
    except OSError:
        return ""


def write_commit(commit_file: Path | None, commit: str) -> None:
    """Puts the commit into the file, whole or not at all; an `OptionError` when it cannot be written."""
    if commit_file is None:
        return
    try:
        commit_file.parent.mkdir(parents=True, exist_ok=True)
        whole_files.write_text(commit_file, f"{commit}\n", durable=True)
    except OSError as error:
        raise OptionError(f"{commit_file} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def hold_machine() -> Iterator[None]:
    """Holds the lock of this machine: no other watch that asks for it builds or measures meanwhile."""
    folder = config.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / "this-machine.lock"):
        yield


_SLICE = 0.2  # seconds between looks at whether to stop


# ---- Ctrl-C, SIGTERM and SIGHUP: the first stops after the present commit, the second at once ----


class DrainRequest:
    """Notes that a signal asked the watch to stop; a context manager. Outside the main thread no signal arrives."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.asked = False
        self._say = say
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> DrainRequest:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue  # under `nohup` it shall go on
                self._before[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> bool:
        """Waits for `seconds`; False as soon as a signal, or `stop`, asks to stop."""
        end = time.monotonic() + seconds
        while not (self.asked or stop()):
            left = end - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, _SLICE))
        return False

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        with contextlib.suppress(RuntimeError):  # the stream may be in the middle of a line
            self._say("stopping after the present commit; a second signal stops at once")
