"""The values that a task printed while it ran, over all its rounds: what curves with a band are drawn of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchwright.analysis.calls import Floats
from benchwright.analysis.goals import goal_rounds
from benchwright.analysis.rows import Row
from benchwright.records import Result, Status, Timeline
from benchwright.records.goals import TIME

TASK = "task"  # the runtime of tasks
FEWEST = 2  # values of a round that make a curve
FOR_A_BAND = 3  # rounds
_SEEN = (Status.OK, Status.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveValues:
    """One value over time: a curve for each round, what its metric leaves out, and the goal that it has."""

    name: str
    unit: str
    rounds: tuple[tuple[int, Timeline], ...]
    left_out_until: float = 0.0  # seconds, the latest of all rounds; 0: nothing is left out
    goal: str = ""  # "accuracy >= 0.95"
    bound: float | None = None
    reached: str = ""  # "4 of 5 rounds"

    @property
    def begin(self) -> float:
        """The first second at which a value came."""
        return min(line.seconds[0] for _, line in self.rounds)

    @property
    def end(self) -> float:
        """The last second at which a value came."""
        return max(line.seconds[-1] for _, line in self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBand:
    """The rounds of a value together at equal steps of time: the lowest, the middle and the highest of them."""

    seconds: Floats
    low: Floats
    middle: Floats
    high: Floats


def live_values(row: Row) -> list[LiveValues]:
    """What a task printed over time, in the order of its metrics; nothing for what is no task."""
    if row.case.target.runtime != TASK:
        return []
    found: dict[str, list[tuple[int, Timeline]]] = {}
    for result in row.results:
        if result.status in _SEEN:
            for line in result.timelines:
                if _is_printed(line.name, result) and len(line.seconds) >= FEWEST:
                    found.setdefault(line.name, []).append((result.round, line))
    return [_with_marks(row, name, rounds) for name, rounds in found.items()]


def _is_printed(name: str, result: Result) -> bool:
    """Whether a timeline is of values that the command printed, not of what monitors saw of it."""
    log = result.details.get("log")
    return (isinstance(log, dict) and name in log) or name in _goals_by_value([result])


def _goals_by_value(results: Sequence[Result]) -> dict[str, tuple[str, str]]:
    """By the name of a value the goal that it has, and how many rounds reached it."""
    found = goal_rounds(results).values()
    return {goal.when.split()[0]: (goal.when, goal.counted) for goal in found if goal.kind == TIME and goal.when}


def _with_marks(row: Row, name: str, rounds: Sequence[tuple[int, Timeline]]) -> LiveValues:
    when, counted = _goals_by_value(row.results).get(name, ("", ""))
    untils = [_left_out_until(result, name) for result in row.results if result.status in _SEEN]
    return LiveValues(
        name=name,
        unit=rounds[0][1].unit,
        rounds=tuple(rounds),
        left_out_until=max(untils, default=0.0),
        goal=when,
        bound=_bound(when),
        reached=counted,
    )


def _left_out_until(result: Result, name: str) -> float:
    log = result.details.get("log")
    told = log.get(name) if isinstance(log, dict) else None
    until = told.get("left_out_until") if isinstance(told, dict) else None
    return float(until) if isinstance(until, int | float) else 0.0


def _bound(when: str) -> float | None:
    try:
        return float(when.split()[-1]) if when else None
    except ValueError:
        return None


def round_band(found: LiveValues, slots: int) -> RoundBand | None:
    """The band of the rounds, from the first second that all have to the last that half of them have.

    A round counts at each step with what it had printed last. None for fewer rounds than make a band.
    """
    if len(found.rounds) < FOR_A_BAND:
        return None
    begin = max(line.seconds[0] for _, line in found.rounds)
    ends = sorted(line.seconds[-1] for _, line in found.rounds)
    end = ends[len(ends) // 2]
    if end <= begin:
        return None
    grid = np.linspace(begin, end, slots)
    table = np.full((len(found.rounds), slots), np.nan)
    for place, (_, line) in enumerate(found.rounds):
        seconds = np.array(line.seconds)
        latest = np.searchsorted(seconds, grid, side="right") - 1
        table[place] = np.where(grid <= seconds[-1], np.array(line.values)[latest], np.nan)
    low, middle, high = (np.nanmin(table, 0), np.nanmedian(table, 0), np.nanmax(table, 0))
    return RoundBand(seconds=grid, low=low, middle=middle, high=high)
