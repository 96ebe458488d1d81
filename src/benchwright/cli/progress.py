"""One line on a terminal that says what is being measured and how long it will take. A pipe gets notes and stages."""

from __future__ import annotations

import os
import shutil
import time
from types import TracebackType
from typing import TextIO

from benchwright.events import (
    Began,
    Counted,
    Ended,
    Event,
    ExpectedTime,
    Fetching,
    Followed,
    Noted,
    Planned,
    Raced,
    Reached,
    Staged,
)
from benchwright.units import format_probability, format_value

QUIET = 60.0  # seconds after which a pipe is told how far a stage is


class ProgressLine:
    """A listener of the runner. Redraws only between measurements and at phases, so it costs nothing while timing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._shown = stream, stream.isatty() and os.environ.get("TERM") != "dumb"
        self._total = self._done = 0
        self._begin = time.monotonic()
        self._ended = 0  # processes since then
        self._pace, self._last = 0.0, self._begin  # seconds of one process, and when the last one ended
        self._label, self._doubt = "", ""
        self._ends: float | None = None  # the instant at which a precision is expected to be reached
        self._race: Raced | None = None
        self._said: float | None = None  # when the last stage, or word of it, was told to a pipe

    def __call__(self, event: Event) -> None:
        match event:
            case Fetching(name=name, here=here, whole=whole):
                of = f" of {format_value(whole, 'B')}" if whole else ""
                self._write(f"fetching {name}: {format_value(here, 'B')}{of}")
            case Counted(what=what, done=done, whole=whole):
                self._write(f"{done:,} of {whole:,} {what}")
            case Followed(text=text):
                self._write(text)
            case Noted(text=text):
                self._write("")
                self._stream.write(f"benchwright: {text}\n")
            case Staged(text=text):
                self._stage(text)
            case Planned(total=total, done=done):
                self._total, self._done = total, done
                if not done:
                    self._begin, self._ended = time.monotonic(), 0
            case ExpectedTime(processes=total, seconds=seconds, reached=reached, guessed=guessed):
                self._total = max(total, self._done)
                self._ends = time.monotonic() + seconds
                self._doubt = "" if reached else " at most, and perhaps not as precise as asked"
                if guessed:
                    self._doubt = ", a guess until the first process has ended"
            case Raced():
                self._race = event
            case Began(case=case, round=number):
                chosen = " ".join(f"{k}={v}" for k, v in case.params.items())
                self._label = f"{case.name} {chosen} round {number + 1}"
                self._draw("starting")
            case Reached(phase=phase):
                self._draw(phase)
            case Ended():
                self._done, self._ended, self._last = self._done + 1, self._ended + 1, time.monotonic()
                self._pace = (self._last - self._begin) / self._ended
                if self._said is not None and time.monotonic() - self._said > QUIET:
                    self._stage(f"{self._done} of {self._total} measured{self._left()}")

    def clear(self) -> None:
        """Takes the line away, for something to be printed in its place."""
        self._write("")

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")

    def _stage(self, text: str) -> None:
        self._write(f"{text} ...")
        if not self._shown:
            self._said = time.monotonic()
            self._stream.write(f"benchwright: {text}\n")
            self._stream.flush()

    def _draw(self, phase: str) -> None:
        if self._race is not None:
            self._write(f"[{self._done + 1} of at most {self._total}] {phase}{_describe_race(self._race)}")
            return
        # On a narrow terminal the end is cut off: what a person waits for comes before names that they know.
        self._write(f"[{self._done + 1}/{self._total}] {phase}{self._left()}: {self._label}")

    def _left(self) -> str:
        if self._ends is not None:  # a plan that changes with what was seen knows better than what is past
            return f", about {format_value(max(0.1, self._ends - time.monotonic()), 's', 2)} left{self._doubt}"
        if not self._ended:
            return ""
        # What goes on now may take longer than those before it, and never less than nothing.
        after, going = self._total - self._done - 1, self._pace - (time.monotonic() - self._last)
        seconds = max(0.1, self._pace * max(0, after) + max(0.0, going))
        return f", about {format_value(seconds, 's', 2)} left"

    def _write(self, text: str) -> None:
        if self._shown:
            width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be cleared
            self._stream.write(f"\r\033[K{text if len(text) <= width else text[: width - 1] + '…'}")
            self._stream.flush()


def _describe_race(race: Raced) -> str:
    """Who leads and how surely, how many are in the race, who left last, in the order in which it is looked for."""
    left = f", {format_value(max(0.1, race.seconds), 's', 2)} left" if race.seconds is not None else ""
    leads = f": {race.leader} leads ({format_probability(race.probability)})" if race.leader else ": nobody leads yet"
    last = f"; last {race.last}" if race.last else ""
    return f"{left}{leads}; {race.racing} in the race, {race.left} out{last}"
