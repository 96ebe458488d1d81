"""One thread a profiler: it waits for each window, starts, waits, stops. Whatever fails becomes a note."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.errors import BenchwrightError
from benchwright.records import ResultWarning

if TYPE_CHECKING:
    from benchwright.worker.profilers import Profiler

LATE = 0.25  # seconds after which a window that opens late, or closes early, is told
FOREVER = 365 * 86400.0  # seconds: the end of a window that was given none

Window = tuple[float, float]


class WindowOpener(threading.Thread):
    """Opens and closes the windows of one profiler until `over` is set."""

    def __init__(
        self,
        profiler: Profiler,
        *,
        windows: Sequence[Window],
        folder: Path,
        zero: int,
        now: Callable[[], int],
        over: threading.Event,
    ) -> None:
        super().__init__(name=f"benchwright-{profiler.name}", daemon=True)
        self._profiler, self._windows, self._folder = profiler, windows, folder
        self._zero, self._now, self._over = zero, now, over
        self._free_at = 0.0
        self._notes: list[ResultWarning] = []

    def run(self) -> None:
        for window in self._windows:
            if self._free_at < window[1] and self._wait_until(window[0]):
                self._profile(window)
            else:
                why = self._reason_not_free(window) or f"the timed phase ended after {self._seconds_since_zero():.3g} s"
                self._tell(window, f"never opened: {why}")
        self._try_step(self._profiler.finish)

    def failures(self) -> list[ResultWarning]:
        """The failures of the profiler and of its windows. Call it after `join`."""
        if self.is_alive():
            seen = f"{self._profiler.name} did not finish in the time that it may take"
            return [*self._notes, ResultWarning(code="profile-failed", seen=seen, remedy="profile a shorter window")]
        return list(self._notes)

    def _profile(self, window: Window) -> None:
        begin, end = window
        if (late := self._seconds_since_zero() - begin) > LATE:
            why = self._reason_not_free(window) or "the measured code held the interpreter"
            self._tell(window, f"opened {late:.2g} s late: {why}")
        stem = self._folder / f"{self._profiler.name}.{label(window)}"
        if not self._try_step(self._profiler.start, stem):
            return
        if not self._wait_until(end) and end < FOREVER and end - self._seconds_since_zero() > LATE:
            self._tell(window, f"closed early: the timed phase ended after {self._seconds_since_zero():.3g} s")
        self._try_step(self._profiler.stop)
        self._free_at = self._seconds_since_zero()

    def _reason_not_free(self, window: Window) -> str:
        """Why the window could not open while the one before it was still being closed; "" where that is not so."""
        return f"closing the one before took until {self._free_at:.3g} s" if window[0] < self._free_at else ""

    def _wait_until(self, seconds: float) -> bool:
        """Whether that instant came before the end of the timed phase."""
        while not self._over.is_set():
            left = seconds - self._seconds_since_zero()
            if left <= 0:
                return True
            self._over.wait(left)
        return False

    def _seconds_since_zero(self) -> float:
        return (self._now() - self._zero) / 1e9

    def _try_step(self, step: Callable[..., None], *arguments: Path) -> bool:
        try:
            step(*arguments)
        except Exception as error:  # the border of this thread: profilers call libraries of every kind
            if not isinstance(error, BenchwrightError):
                traceback.print_exc()
            self._notes.append(failure(self._profiler.name, error))
            return False
        return True

    def _tell(self, window: Window, what: str) -> None:
        seen = f"{self._profiler.name}: the window {label(window)} {what}"
        remedy = "choose a window within the timed phase, or measure for longer"
        self._notes.append(ResultWarning(code="profile-window", seen=seen, remedy=remedy))


def label(window: Window) -> str:
    """A window in file names and messages: `10-20s`, or `10s-end`."""
    begin, end = window
    return f"{begin:g}-{end:g}s" if end < FOREVER else f"{begin:g}s-end"


def failure(name: str, error: Exception) -> ResultWarning:
    """What an error of a profiler says in a result."""
    if isinstance(error, BenchwrightError):
        return ResultWarning(code="profile-failed", seen=f"{name}: {error.message}", remedy=error.remedy)
    text = str(error).strip() or type(error).__name__
    return ResultWarning(code="profile-failed", seen=f"{name}: {text}", remedy="see the worker's log")
