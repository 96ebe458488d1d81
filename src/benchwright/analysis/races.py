"""What a run that was a race says: who leads and how surely, who left and why, and the front.

All of it follows from the head of the run (`records.races`) and its results, so it is the same while the race goes on,
at its end, from a file, and on a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from benchwright.analysis.rows import Row, rows
from benchwright.execution.attempt import INTERRUPTED
from benchwright.records import Estimate, Result, Run, Status
from benchwright.records.costs import PER_MILLION
from benchwright.records.goals import missed_goal
from benchwright.records.races import CELL, SPENT, RaceBound, RaceTerms, show_setting
from benchwright.stats.race import (
    BOUND,
    DECIDED,
    FAILED,
    MEASUREMENTS,
    WORSE,
    Bound,
    Dimension,
    Exit,
    Goal,
    Race,
    RaceOutcome,
    RaceRules,
    RaceStanding,
)
from benchwright.system.linear_algebra import one_thread
from benchwright.units import format_value, whole_number

SHOWN = ("throughput", "latency_p99", "rss_peak", PER_MILLION)  # what a choice is usually about
_Z = 1.96  # standard errors of a 95 % interval


class CellState(StrEnum):
    """How a cell stands in its race."""

    LEADS = "leads"
    ALIKE = "alike"  # was raced, and is not shown to be worse than the leader
    FRONT = "front"  # of several goals: nothing is better in all of them
    RACING = "racing"
    LEFT = "left"
    UNMEASURED = "not measured"


class RaceEnding(StrEnum):
    """Why a race goes on no more, as far as its run tells."""

    SETTLED = "settled"  # there is a winner, or it is known that there is none
    INTERRUPTED = "interrupted"
    TIME = "time"  # its budget was over
    PROCESSES = "processes"  # it had as many as it may have
    UNKNOWN = "unknown"  # it was stopped by something that could not say so, or it goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class RacedCell:
    """One configuration: what was measured of it, how it stands, and why it left."""

    number: int
    label: str
    settings: Mapping[str, str | int | float | bool | None]
    state: CellState
    why: str  # it left, or was not measured; "" for those in the race
    processes: int
    first: int | None  # the blocks of its first and last process; None: none
    last: int | None
    row: Row | None = field(
        repr=False
    )  # what its processes say together, every call of them; None: nothing was measured
    estimates: tuple[Estimate, ...] = ()  # of the goals, then of the bounds, as the race judges them
    leave_reason: str = ""  # worse, bound, failed, not promising

    @property
    def brief(self) -> str:
        """Its values without the names of the axes, for pictures, which have no room for them."""
        return " · ".join(show_setting(value) for value in self.settings.values()) or self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceStory:
    """A race as it stands: all its cells, the winner, and what its end leaves open."""

    run: Run
    terms: RaceTerms
    standing: RaceStanding
    cells: tuple[RacedCell, ...]  # in the order of their numbers
    units: Mapping[str, str]  # of the metrics that the cells have
    seconds: float  # that measuring took
    is_interrupted: bool = False
    is_out_of_time: bool = False

    @property
    def winner(self) -> RacedCell | None:
        """The cell that leads; None where none is feasible, or nothing was measured."""
        return None if self.standing.leader is None else self.cells[self.standing.leader]

    @property
    def front(self) -> tuple[RacedCell, ...]:
        """The cells that nothing beats in all goals; of one goal the winner."""
        return tuple(self.cells[number] for number in self.standing.front)

    @property
    def alike(self) -> tuple[RacedCell, ...]:
        """The winner, and those that were raced and are not shown to be worse."""
        return tuple(self.cells[number] for number in self.standing.alike)

    @property
    def is_decided(self) -> bool:
        """Whether the race came to its end; False where time, a person or the count of processes ended it."""
        return self.standing.over and self.standing.reason == DECIDED

    @property
    def ending(self) -> RaceEnding:
        """Why the race goes on no more."""
        if self.is_interrupted:
            return RaceEnding.INTERRUPTED
        if self.standing.over:
            is_cut = self.standing.reason == MEASUREMENTS
            return RaceEnding.PROCESSES if is_cut else RaceEnding.SETTLED
        return RaceEnding.TIME if self.is_out_of_time else RaceEnding.UNKNOWN

    @property
    def metrics(self) -> list[str]:
        """The metrics to show: those of the goals and bounds, then what a choice is usually about."""
        named = [*(goal.metric for goal in self.terms.goals), *(bound.metric for bound in self.terms.bounds)]
        return [name for name in dict.fromkeys((*named, *SHOWN)) if name in self.units]


# ---- from terms and results to a race ----


def make_race(terms: RaceTerms) -> Race:
    """The race that the terms describe, with nothing recorded."""
    is_number = [_is_number(axis.values) for axis in terms.axes]
    dimensions = [
        Dimension(name=axis.name, values=tuple(_value(value, number) for value in axis.values))  # type: ignore[arg-type]
        for axis, number in zip(terms.axes, is_number, strict=True)
    ]
    cells = [
        tuple(_value(axis.values[at], number) for axis, at, number in zip(terms.axes, places, is_number, strict=True))
        for places in terms.cells
    ]
    return Race(dimensions, cells, rules_of(terms))


def rules_of(terms: RaceTerms) -> RaceRules:
    """The rules of the race, for the mathematics."""
    return RaceRules(
        goals=tuple(Goal(metric=goal.metric, higher=goal.higher) for goal in terms.goals),
        bounds=tuple(
            Bound(metric=bound.metric, limit=bound.limit, upper=bound.relation.startswith("<"))
            for bound in terms.bounds
        ),
        within=terms.within,
        error=1.0 - terms.confidence,
        rounds=terms.rounds,
        seed=terms.seed,
    )


def outcome_of(result: Result, terms: RaceTerms) -> RaceOutcome:
    """What one result says in the race: its values, or the reason why there are none."""
    if result.status is not Status.OK:
        told = result.error.message if result.error else ""
        return RaceOutcome(goals=(), failure=_first_line(told) or str(result.status), seconds=result.duration)
    names = [*(goal.metric for goal in terms.goals), *(bound.metric for bound in terms.bounds)]
    found = [result.metric(name) for name in names]
    values = [metric.estimate for metric in found if metric is not None]
    if len(values) < len(names):
        absent = next(name for name, metric in zip(names, found, strict=True) if metric is None)
        return RaceOutcome(goals=(), failure=_why_absent(absent, result), seconds=result.duration)
    points, goals = [one.point for one in values], len(terms.goals)
    return RaceOutcome(
        goals=tuple(points[:goals]),
        bounds=tuple(points[goals:]),
        seconds=result.duration,
        noise=tuple(_standard_error(one) for one in values[:goals]),
    )


def _why_absent(metric: str, result: Result) -> str:
    """Why a result has no such metric: a training did not get where it was to get, or there is no such thing."""
    goal = missed_goal(result, metric)
    return f"{goal.when} was not reached" if goal else f"it has no {metric}"


def cell_of(result: Result) -> int | None:
    """The number of the cell that a result is of; None where it is of none."""
    return whole_number(str(result.details.get(CELL, "")))


def is_unfinished(result: Result) -> bool:
    """Whether a result says nothing of its cell, since somebody ended the run."""
    return result.error is not None and result.error.kind == INTERRUPTED


def record_all(race: Race, terms: RaceTerms, results: Sequence[Result]) -> None:
    """Records what was measured already, each result in its block."""
    for result in results:
        cell = cell_of(result)
        if cell is not None and cell < len(race.cells) and not is_unfinished(result):
            race.record(cell, outcome_of(result, terms), block=result.round)


def tell_race(run: Run) -> RaceStory | None:
    """The story of a race; None of a run that was none, and of one whose question no race can answer."""
    if run.race is None or not run.race.is_sound:
        return None
    try:
        race = make_race(run.race)
    except ValueError:  # without a goal, with a limit of zero: it came from elsewhere, and its results are still a run
        return None
    record_all(race, run.race, run.results)
    with one_thread():
        standing = race.standing()
    return tell_standing(run, run.race, standing)


def seconds_of(results: Sequence[Result]) -> float:
    """How long a race with these results had gone on when the last of them was there, pauses of a resumed one apart."""
    ends = [spent + result.duration for result in results if (spent := _spent_before(result)) is not None]
    return max(ends, default=sum(result.duration for result in results))


def tell_standing(
    run: Run, terms: RaceTerms, standing: RaceStanding, *, is_out_of_time: bool | None = None
) -> RaceStory:
    """The story of a race whose standing is known; whether its time was over, its results tell where nobody says it."""
    by_cell: dict[int, list[Result]] = {}
    for result in run.results:
        if (cell := cell_of(result)) is not None:
            by_cell.setdefault(cell, []).append(result)
    known = {cell: row for row in rows(run) if (cell := cell_of(row.results[0])) is not None}
    units = {metric.name: metric.unit for row in known.values() for metric in row.metrics.values()}
    return RaceStory(
        run=run,
        terms=terms,
        standing=standing,
        cells=tuple(
            _tell_cell(number, terms, standing, by_cell.get(number, ()), known.get(number))
            for number in range(terms.count)
        ),
        units=units,
        seconds=sum(result.duration for result in run.results),
        is_interrupted=any(is_unfinished(result) for result in run.results),
        is_out_of_time=_looks_out_of_time(run.results, terms) if is_out_of_time is None else is_out_of_time,
    )


def _looks_out_of_time(results: Sequence[Result], terms: RaceTerms) -> bool:
    """Whether no time was left after the last process, once the race was judged as long as it ever was before."""
    if terms.budget is None or not results:
        return False
    told = sorted((spent, result.duration) for result in results if (spent := _spent_before(result)) is not None)
    pauses = [later - (spent + seconds) for (spent, seconds), (later, _) in pairwise(told)]
    return seconds_of(results) + max(pauses, default=0.0) >= terms.budget


def _spent_before(result: Result) -> float | None:
    """Seconds of the race before the process of this result; None where it does not say so."""
    spent = result.details.get(SPENT)
    return float(spent) if isinstance(spent, int | float) else None


# ---- words ----


def _tell_cell(
    number: int, terms: RaceTerms, standing: RaceStanding, results: Sequence[Result], row: Row | None
) -> RacedCell:
    blocks = [result.round for result in results if not is_unfinished(result)]
    gone = standing.exits.get(number)
    return RacedCell(
        number=number,
        label=terms.label(number),
        settings=terms.settings(number),
        state=_state(number, standing),
        why=explain_exit(gone, terms, standing.leader) if gone else "",
        processes=standing.measured[number] if standing.measured else 0,
        first=min(blocks, default=None),
        last=max(blocks, default=None),
        row=row,
        estimates=tuple(standing.estimates.get(number, ())),
        leave_reason=gone.reason if gone else "",
    )


def _state(number: int, standing: RaceStanding) -> CellState:
    if number == standing.leader and len(standing.front) <= 1:
        return CellState.LEADS
    if number in standing.front:
        return CellState.FRONT
    if number in standing.exits:
        return CellState.LEFT
    if number in standing.alike:
        return CellState.ALIKE
    return CellState.UNMEASURED if number in standing.unmeasured else CellState.RACING


def explain_exit(gone: Exit, terms: RaceTerms, leader: int | None = None) -> str:
    """Why a cell left the race, in a few words; of the one that leads without its settings."""
    if gone.reason == FAILED:
        return gone.told or "it failed"
    after = f"after {gone.processes} process{'es' * (gone.processes != 1)}"
    if gone.reason == BOUND and gone.bound is not None:
        bound = describe_bound(terms.bounds[gone.bound])
        return f"breaks {bound} by {show_excess(gone.least)} at least, {after}"
    if gone.reason == WORSE:
        beside = f" than {terms.label(gone.beside)}" if gone.beside is not None else ""
        beside = " than the winner" if gone.beside is not None and gone.beside == leader else beside
        of = f" in {terms.goals[gone.goal].metric}" if gone.goal is not None else ""
        return f"{show_excess(gone.least)} worse at least{of}{beside}, {after}"
    seen = after if gone.processes else "never measured"
    return f"not promising by what was measured around it, {seen}"


def describe_bound(bound: RaceBound, unit: str = "") -> str:
    """A bound as people read it: `latency_p99 < 20.0 ms`."""
    from benchwright.units.objectives import unit_of

    return f"{bound.metric} {bound.relation} {format_value(bound.limit, bound.unit or unit or unit_of(bound.metric))}"


def show_excess(share: float) -> str:
    """By how much something lies beyond something else: `12 %`, and from twice as much on `2.5 times`."""
    return f"{100 * share:.2g} %" if share < 1 else f"{1 + share:.2g} times"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _standard_error(estimate: Estimate) -> float:
    if estimate.low is None or estimate.high is None:
        return 0.0
    return (estimate.high - estimate.low) / (2 * _Z)


def _is_number(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _value(value: str | int | float | bool | None, is_number: bool) -> float | str:
    return float(value) if is_number and value is not None else show_setting(value)
