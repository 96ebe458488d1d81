"""What importing a target's file will take, told before it is spent: each process that measures imports it anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchwright.events import Event, Imported, Listener, Noted
from benchwright.records import Case
from benchwright.worker.runtimes import user_objects


class ImportTimes:
    """Keeps how long imports took while targets were planned, and passes everything else on to the listener."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._seconds: dict[str, float] = {}  # by the name of the file or module
        self._told: set[str] = set()

    def hear(self, event: Event) -> None:
        """Takes an event, as a listener does."""
        if isinstance(event, Imported):
            self._seconds[_name(event.module)] = event.seconds
        else:
            self._listener(event)

    def tell(self, cases: Sequence[Case], each: int, remedy: str, *, whose: str = "", most: bool = False) -> None:
        """Tells once of each slow module what importing it will take where every case has `each` processes.

        `whose` says what they belong to when there will be more, `most` that there may be fewer. `remedy` may hold
        {once}: what `each` imports would take.
        """
        for name, seconds in self._seconds.items():
            times = each * sum(_name(user_objects.split(case.target.uri)[0]) == name for case in cases)
            if times and name not in self._told:
                self._told.add(name)
                upto = "at most " if most else ""
                text = f"importing {name} takes {_long(seconds)}, and {upto}{times} processes{whose} will do it"
                once = _long(each * seconds)
                self._listener(Noted(text=f"{text}: {_long(times * seconds)}; {remedy.format(once=once)}"))


def _name(module: str) -> str:
    return Path(module).name if module.endswith(".py") else module


def _long(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
