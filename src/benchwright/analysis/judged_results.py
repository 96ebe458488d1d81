"""Which results are judged: those of the main line, but not what a machine measured while it was in quarantine.

A series has points of every branch that was measured. What became of the project over time, its main line tells; what a
topic branch does to it, a comparison of the two (`compare --against main`, `ab`). A machine's control benchmark is
judged in quarantine as well: it is what tells that the machine is slow, and when it is well again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from benchwright import schema
from benchwright.errors import UserError
from benchwright.records import CONTROL, Run
from benchwright.records.branches import USUAL, is_on_line, main_line
from benchwright.records.machines import Quarantines
from benchwright.store import Point, Series, Store
from benchwright.store.archive import Valued

_POINTS = 10_000  # of a series, the newest


def read_held(opened: Callable[[], Store], runs: Sequence[Run]) -> frozenset[str]:
    """The ids of the results of these runs that are not judged, by a store that is opened for it.

    None where there is no such store.
    """
    try:
        with closing(opened()) as store:
            return JudgedResults(store).held_of(*runs)
    except UserError:
        return frozenset()


class JudgedResults:
    """The quarantines of a store, as whoever judges asks for them."""

    def __init__(self, store: Store) -> None:
        self._held = Quarantines(store.quarantines())

    def of_run(self, run: Run) -> Run:
        """The run without the results that are not judged."""
        if not self._held:
            return run
        is_judged = self._held.is_judged_result
        kept = [r for r in run.results if is_judged(schema.environment_key(r.environment), r.started_at)]
        return replace(run, results=tuple(kept))

    def is_held(self, machine: str, started_at: str) -> bool:
        """Whether what a machine measured then is not judged; the instant is as records write it."""
        return not self._held.is_judged_result(machine, started_at)

    def is_held_value(self, value: Valued) -> bool:
        """The same of a value, as pages ask for them."""
        return bool(self._held) and not self._held.is_judged(value.machine, value.at)

    def held_of(self, *runs: Run) -> frozenset[str]:
        """The ids of the results of these runs that are not judged."""
        if not self._held:
            return frozenset()
        keys = ((r, schema.environment_key(r.environment)) for run in runs for r in run.results)
        return frozenset(r.id for r, machine in keys if self.is_held(machine, r.started_at))

    def is_run_held(self, series: Series, run: str) -> bool:
        """Whether the run has points in the series, and none of them is judged."""
        there = [point for point in series.points if point.run == run and not series.case.startswith(CONTROL)]
        return bool(there) and all(self.is_held(series.machine, point.started_at) for point in there)

    def of_series(self, series: Series, *, branch: str = "") -> list[Point]:
        """The points of the series that are judged: those of a branch, where one is named, else of its main line."""
        is_judged = self._held.is_judged_result
        line = points_of_line(series.points, branch=branch)
        if series.case.startswith(CONTROL):
            return line
        return [point for point in line if is_judged(series.machine, point.started_at)]


def points_of_line(points: Sequence[Point], *, branch: str = "") -> list[Point]:
    """The points of a branch, where one is named, else of the main line; those without a branch count as part of it.

    A run that measured a commit of another branch against one of this has no place in the line with either.
    """
    line = branch or main_line(Counter(point.branch for point in points))
    beside = {point.run for point in points if not is_on_line(point.branch, line)}
    return [point for point in points if point.run not in beside]


def points_around(points: Sequence[Point], run: str) -> list[Point]:
    """The points of the line that a run is part of: of its own branch, where it is not on the main line."""
    return points_of_line(points, branch=next((point.branch for point in points if point.run == run), ""))


def is_in_line(points: Sequence[Point], run: str, *, branch: str = "") -> bool:
    """Whether a run is part of the line, or none of these points is of it."""
    mine = [point for point in points if point.run == run]
    line = branch or (main_line(Counter(point.branch for point in points)) if mine else "")
    return all(is_on_line(point.branch, line) for point in mine)


def branch_beside(store: Store, run_id: str) -> str:
    """The branch of a run whose first case has another main line, so that it is not judged; "" for any other run."""
    run = store.run(run_id, samples=False)
    branch = run.revision.branch if run.revision else ""
    if not branch or branch == USUAL[0] or not run.results:
        return ""
    known = store.history(run.results[0].case.name, limit=_POINTS)
    return "" if all(is_in_line(series.points, run_id) for series in known) else branch
