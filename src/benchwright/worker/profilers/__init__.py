"""Profilers record what happens inside a worker during stretches of its timed phase.

session = Session(profile, case, folder)   # before loading
loaded = runtime.load(session.case)        # some profilers need an option of the runtime
session.ready()                            # after loading, before time zero
with session.during(zero, now):            # threads open and close the windows
    ...                                    # the timed phase
session.add_to(report, loaded)             # the report with what failed, and what never opened

A profiler that fails leaves a note; the measurement goes on. Standard library only until a profiler is used.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from benchwright import plugins
from benchwright.errors import BenchwrightError, NotInstalledError, OptionError
from benchwright.records import Case, Profile, ResultWarning
from benchwright.worker.profilers.windows import FOREVER, WindowOpener, failure

if TYPE_CHECKING:
    from benchwright.worker.runtimes import Loaded, Report

STOP_LIMIT = 120.0  # seconds a profiler may take to write its files; the measurement must not be lost to it


class Profiler(Protocol):
    """What every profiler offers; those of other packages derive from this class too.

    One object serves all windows of one worker. `start`, `stop` and `finish` are called on one thread, which is not the
    thread that makes the measured calls. Any of them may raise: the message becomes a note.
    """

    name: ClassVar[str]
    requires: ClassVar[str]  # what pip installs, "" when pip cannot
    module: ClassVar[str]  # what `import` needs, "" when nothing is needed

    @classmethod
    def check(cls, case: Case) -> None:
        """Raises a `UserError` when it is known beforehand that this cannot profile the case here."""
        if cls.module and importlib.util.find_spec(cls.module) is None:
            raise NotInstalledError(f"profiler {cls.name}", cls.requires)

    def prepare(self, case: Case, folder: Path) -> Case:
        """The case to load, before anything is loaded; files may go to `folder`."""
        return case

    def ready(self) -> None:
        """Called where the model was loaded, before time zero: whatever is too slow to be done in a window."""

    def start(self, stem: Path) -> None:
        """A window opens. Its files are named `stem` with an ending that tells what opens them."""
        ...

    def stop(self) -> None:
        """The window closes; called once for each `start` that succeeded."""
        ...

    def finish(self) -> None:
        """The timed phase is over, and every window closed."""


def windows(text: str) -> tuple[tuple[float, float], ...]:
    """`begin[:end][,begin:end...]` in seconds as (begin, end) pairs; without an end a window stays open.

    Raises an `OptionError` that names the window unless each begins after the one before it ended.
    """
    found: list[tuple[float, float]] = []
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        begin = _seconds(first, part)
        end = _seconds(last, part) if colon else FOREVER
        if end <= begin:
            raise _window_error(part, "ends before it has begun")
        if found and begin <= found[-1][1]:
            raise _window_error(part, "begins before the one in front of it has ended")
        found.append((begin, end))
    return tuple(found)


def choose_profilers(profile: Profile, case: Case) -> list[str]:
    """The profilers for a case by name: those asked for, or the one that fits what is measured.

    Raises a `UserError` for one that is unknown, not installed, or cannot profile such a case. In a parent this speaks
    for workers that run on the same machine in the same environment.
    """
    names = list(dict.fromkeys(profile.tools)) or [_fitting_profiler(case)]
    if not profile.tools and case.target.runtime == "class" and importlib.util.find_spec("tensorflow"):
        return names  # only the worker will see whether the class uses it
    for name in names:
        plugins.load("profilers", name).check(case)
    return names


class Session:
    """The profilers of one worker; see the module for the order of calls. Nothing here raises."""

    def __init__(self, profile: Profile, case: Case, folder: Path, *, copy: int = 0) -> None:
        self.case = case  # what to load
        self._profile, self._given = profile, case
        self._folder = folder / f"copy-{copy}" if case.load.copies > 1 else folder
        self._profilers: dict[str, Profiler] = {}
        self._is_ready = False
        self._notes: list[ResultWarning] = []
        self._add_chosen()

    @property
    def notes(self) -> list[ResultWarning]:
        """What went wrong so far, each thing once."""
        return list(dict.fromkeys(self._notes))

    def ready(self) -> None:
        """Does what takes long, before time zero. Leaving it out is allowed; then time zero passes meanwhile."""
        if self._is_ready:
            return
        self._is_ready = True
        if not self._profile.tools and _fitting_profiler(self._given) not in self._profilers:
            self._profilers.clear()  # loading has shown what is in use
            self._notes.clear()
            self._add_chosen()
        for name, profiler in list(self._profilers.items()):
            try:
                profiler.ready()
            except Exception as error:  # a border: profilers call libraries of every kind
                self._notes.append(failure(name, error))
                del self._profilers[name]

    @contextmanager
    def during(self, zero: int, now: Callable[[], int]) -> Iterator[None]:
        """Opens and closes the windows relative to `zero`, in the nanoseconds that `now` gives.

        When the block is left, windows to come are cancelled and an open one is closed.
        """
        self.ready()
        over = threading.Event()
        openers = [
            WindowOpener(profiler, windows=self._profile.windows, folder=self._folder, zero=zero, now=now, over=over)
            for profiler in self._profilers.values()
        ]
        for opener in openers:
            opener.start()
        try:
            yield
        finally:
            over.set()
            for opener in openers:
                opener.join(STOP_LIMIT)
                self._notes += opener.failures()

    def add_to(self, report: Report, loaded: Loaded) -> Report:
        """Adds the notes to the report. Call it when the timed phase is over."""
        return replace(report, warnings=(*report.warnings, *self.notes))

    def _add_chosen(self) -> None:
        for name in dict.fromkeys(self._profile.tools) or [_fitting_profiler(self._given)]:
            try:
                adapter = plugins.load("profilers", name)
                adapter.check(self._given)
                self._folder.mkdir(parents=True, exist_ok=True)
                self._profilers[name] = adapter()
                self.case = self._profilers[name].prepare(self.case, self._folder)
            except (BenchwrightError, OSError) as error:
                self._notes.append(failure(name, error))


def _fitting_profiler(case: Case) -> str:
    """The profiler that knows the operators of what is measured; where none does, one that sees Python's frames."""
    runtime = case.target.runtime
    if runtime in ("onnxruntime", "torch"):
        return runtime
    return "tensorflow" if runtime == "class" and "tensorflow" in sys.modules else "py-spy"


def _seconds(text: str, part: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise _window_error(part, f"has {text!r} where seconds belong") from None
    if not 0 <= seconds < math.inf:
        raise _window_error(part, f"has {text!r} where seconds since the start belong")
    return seconds


def _window_error(part: str, why: str) -> OptionError:
    return OptionError(f"profile window {part.strip()!r} {why}", remedy="for example 10:20, or 10:20,30:40, or 10")
