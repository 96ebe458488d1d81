"""What a store that notes which of its results are judged tells of them: every database of ours does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from benchwright.store.archive import Archive


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedRun:
    """A run with results that are not judged yet, and the series that are to be looked at for it."""

    run: str
    series: frozenset[str]  # keys of those in which no newer run waits
    is_control: bool = False  # of a machine's control benchmark


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedBatch:
    """Results that are judged together: once `runs` were looked at, every series has been that they have values in."""

    results: tuple[int, ...]  # the numbers of their rows
    latest: int  # when the last of them arrived: microseconds since 1970
    of_runs: int  # how many runs they belong to
    cases: int  # and how many cases, by their names
    runs: tuple[ArrivedRun, ...]  # that are to be looked at, the oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingTrouble:
    """A series that could not be looked at, and why."""

    series: str
    run: str
    why: str
    at: int = 0  # microseconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingState:
    """How far everything that a store holds is judged."""

    waiting: int  # results
    since: int = 0  # when the one that waits longest arrived: microseconds since 1970; 0 when none waits
    until: str = ""  # the run up to which everything is judged, in the order in which runs were added
    judged: int = 0  # results, so far
    older: int = 0  # results from before a store noted what is judged: nobody knows of these
    failing: str = ""  # why nothing is judged at present
    failing_since: int = 0  # microseconds since 1970
    troubles: tuple[JudgingTrouble, ...] = ()  # the newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class UntoldFinding:
    """A finding that people are to be told of, and the run that decided that."""

    finding: str
    run: str
    at: int  # since when: microseconds since 1970


class JudgedArchive(Archive, Protocol):
    """An archive that keeps a list of what has arrived and is not judged yet. Each method is one transaction."""

    def arrived(self, *, limit: int = 20_000, quiet: float = 0.0) -> ArrivedBatch | None:
        """Results that wait to be judged; about `limit` where more do. None when none is ready.

        Runs that are being measured are left for later, and those that got a result less than `quiet` seconds ago.
        """
        ...

    def settle_arrivals(self, batch: ArrivedBatch, troubles: Sequence[JudgingTrouble] = ()) -> int:
        """Notes that a batch is judged, apart from the series that could not be looked at; returns how many it were."""
        ...

    def mark_judged(self, run_id: str) -> int:
        """Notes that somebody judges this run, or has judged it; returns how many results of it waited."""
        ...

    def list_again(self) -> int:
        """Has everything that is kept judged once more; returns how many results wait now."""
        ...

    def judging(self) -> JudgingState:
        """How far everything that is kept is judged."""
        ...

    def note_judge_failure(self, why: str) -> None:
        """Notes why nothing is judged at present; "" when that is over."""
        ...

    def begin_look(self, run_id: str) -> int:
        """Notes that a run is about to be looked at; returns how many such looks came to no end, this one counted."""
        ...

    def end_look(self, run_id: str) -> None:
        """Notes that the look at a run has come to its end."""
        ...

    def note_untold(self, finding: str, run: str) -> None:
        """Notes that people are to be told of a finding, which may not be kept yet; `run` is the run that shows it."""
        ...

    def untold(self) -> list[UntoldFinding]:
        """The findings that people are to be told of."""
        ...

    def drop_untold(self, findings: Sequence[str]) -> None:
        """Notes that people need not be told of these any more."""
        ...

    def hold_judging(self) -> AbstractContextManager[Callable[[], bool] | None]:
        """Holds off other processes that would judge what arrives here. None where another one does it already.

        What is given says whether it is still held: a database that was restarted has forgotten it.
        """
        ...
