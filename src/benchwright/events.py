"""What the runner reports to its listener: a progress line, a live table, a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchwright.records import Case, Result, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Before anything starts, and again where the plan changes on the way: how many measurements there will be."""

    total: int
    done: int = 0  # of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """Before anything starts: a file of a target is on its way."""

    name: str
    here: int  # bytes
    whole: int | None  # None: nobody said


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Before anything starts: something that the user should know, since it may not be what they expect."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Before anything starts: importing a target's file or module took long, and will again."""

    module: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """Something that may take minutes begins: a build, a look at a commit. Worth a line where no progress is shown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A worker was started for this case and round."""

    index: int
    case: Case
    round: int
    run: Run | None = None  # that it belongs to, without results
    done: int = 0  # results of the run that stand already


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The running worker came to a phase: loading, warming, ready, measuring."""

    index: int
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A result, already saved."""

    index: int
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTime:
    """Where a precision was asked for, before the first process and after each: what it still takes to reach it."""

    seconds: float
    processes: int  # in all, those that are done included
    length: float  # seconds that the next one measures, the longest of all cases
    reached: bool  # False: not even so many are expected to be enough
    guessed: bool = False  # before any process has shown how long it must be


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Something that is done piece by piece, and how far it is."""

    what: str  # "results judged"
    done: int
    whole: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Raced:
    """How a race stands, after each process of it; who leads and who left is judged after each block."""

    leader: str  # its settings and its value; "" as long as none is feasible
    probability: float  # that it is as good as the best
    racing: int
    left: int
    last: str  # who left last, and why; "" where nobody has
    seconds: float | None  # until the time for the race is over; None: no end was set


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """How far something is that other machines do; worth a look only where a line can be drawn anew."""

    text: str


Event = (
    Counted | ExpectedTime | Fetching | Followed | Noted | Planned | Imported | Raced | Staged | Began | Reached | Ended
)
Listener = Callable[[Event], None]


def nobody(event: Event) -> None:
    """A listener that ignores every event."""
