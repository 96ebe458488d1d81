"""A race while it is run: blocks of short fresh processes, each result saved and then recorded, until it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benchwright.analysis.races import (
    cell_of,
    explain_exit,
    is_unfinished,
    make_race,
    outcome_of,
    record_all,
    seconds_of,
)
from benchwright.events import Began, Ended, Event, Listener, Planned, Raced
from benchwright.execution.hosts import AnyHost
from benchwright.execution.lanes import LOCAL, host_name
from benchwright.execution.saver import ResultSink
from benchwright.execution.session import Measuring, Plan, Setting
from benchwright.records import Result, Run, Status
from benchwright.records.races import CELL, SPENT, RaceTerms
from benchwright.stats.race import RaceStanding
from benchwright.system.interrupts import Interrupt
from benchwright.system.linear_algebra import one_thread
from benchwright.units import format_value
from benchwright.workflows.tune.goals import check_metrics
from benchwright.workflows.tune.space import TuneCell


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRace:
    """A race that has ended, for whatever reason."""

    run: Run
    standing: RaceStanding
    is_out_of_time: bool = False


class RaceRunner:
    """Measures what the race proposes, on one machine or on several in turn, until it is over.

    It also ends when its time is over, between two processes, and when somebody presses Ctrl-C. What a run from before
    holds is recorded first, and not measured again.
    """

    def __init__(
        self,
        plan: Plan,
        terms: RaceTerms,
        cells: Sequence[TuneCell],
        open_store: Callable[[], ResultSink] | None,
        listener: Listener,
        *,
        looks_ready: Callable[[], bool] = lambda: False,
    ) -> None:
        self._plan, self._terms, self._cells = plan, terms, cells
        self._listener = listener
        self._interrupt = Interrupt()
        self._keeper = Measuring(plan, open_store, listener, looks_ready=looks_ready, interrupt=self._interrupt)
        self._race = make_race(terms)
        self._standing = RaceStanding()  # before the block that is measured now
        self._last: Result | None = None  # knows the units of its metrics
        self._is_known = False  # whether a result has shown that there are such metrics
        self._spent = 0.0  # seconds of measuring, those of an earlier part of the race among them
        self._began = 0.0

    def run(self) -> FinishedRace:
        """Runs the race to its end."""
        earlier = self._plan.resumed.results if self._plan.resumed else ()
        record_all(self._race, self._terms, earlier)
        self._spent = seconds_of(earlier)
        self._began = time.monotonic()
        self._listener(Planned(total=self._race.most, done=self._race.processes))
        is_out_of_time = False
        with ExitStack() as opened:
            opened.enter_context(self._keeper)
            machines = self._open_machines(opened)
            finished = self._finish_blocks([one for one in earlier if is_unfinished(one)], machines)
            while finished and not is_out_of_time and (block := self._propose()):
                finished, is_out_of_time = self._run_block(block, machines)
        with one_thread():
            standing = self._race.standing()
        return FinishedRace(
            run=self._keeper.run,
            standing=standing,
            is_out_of_time=is_out_of_time or (finished and self._is_out_of_time()),
        )

    def _propose(self) -> Sequence[int]:
        """The next block, and how the race stands before it: judged once for all its processes, as that takes time."""
        with one_thread():
            block = self._race.propose()
            self._standing = self._race.standing()
        if self._last is not None:
            self._tell(self._last)
        return block

    def _run_block(self, block: Sequence[int], machines: Mapping[str, Measuring]) -> tuple[bool, bool]:
        """Measures one block; whether it was not interrupted, and whether the time ended in it."""
        number = self._race.block
        for cell in block:
            if self._is_out_of_time():
                return True, True
            if not self._measure(cell, number, machines):
                return False, False
        return True, False

    def _finish_blocks(self, unfinished: Sequence[Result], machines: Mapping[str, Measuring]) -> bool:
        """Measures anew what somebody ended, in the block where it belongs, so that no gap stays in the run."""
        for result in unfinished:
            cell = cell_of(result)
            if cell is not None and not self._measure(cell, result.round, machines):
                return False
        return True

    def _measure(self, number: int, block: int, machines: Mapping[str, Measuring]) -> bool:
        """Measures one process of a cell and records it; whether nobody has pressed Ctrl-C."""
        cell = self._cells[number]
        notes = {CELL: number, SPENT: round(self._seconds_spent(), 3)}
        result = machines[cell.host].measure(cell.case, block, Setting(notes=notes))
        if self._interrupt.seen or is_unfinished(result):
            return False
        if result.status is Status.OK and not self._is_known:
            check_metrics(self._terms.goals, self._terms.bounds, result)
            self._is_known = True
        self._race.record(number, outcome_of(result, self._terms), block=block)
        self._last = result
        self._tell(result)
        return True

    # ---- time ----

    def _is_out_of_time(self) -> bool:
        left = self._seconds_left()
        return left is not None and left <= 0

    def _seconds_left(self) -> float | None:
        if self._terms.budget is None:
            return None
        return self._terms.budget - self._seconds_spent()

    def _seconds_spent(self) -> float:
        return self._spent + time.monotonic() - self._began

    def _tell(self, result: Result) -> None:
        standing = self._standing
        leader = ""
        if standing.leader is not None:
            goal = self._terms.goals[0].metric
            metric = result.metric(goal)
            value = format_value(standing.estimates[standing.leader][0].point, metric.unit) if metric else ""
            leader = f"{self._terms.label(standing.leader)} {value}".strip()
        gone = [cell for cell in standing.exits if standing.measured[cell]]
        why = f"{self._terms.label(gone[-1])}: {explain_exit(standing.exits[gone[-1]], self._terms)}" if gone else ""
        self._listener(
            Raced(
                leader=leader,
                probability=standing.overall,
                racing=len(standing.racing),
                left=len(standing.exits),
                last=why,
                seconds=self._seconds_left(),
            )
        )

    # ---- machines ----

    def _open_machines(self, opened: ExitStack) -> dict[str, Measuring]:
        """What measures on each machine, by its name; of one machine it is the keeper of the run itself."""
        if not self._plan.hosts:
            return {"": self._keeper}
        self._keeper.get_ready()
        return {
            getattr(host, "name", ""): opened.enter_context(self._measuring_on(host, number))
            for number, host in enumerate(self._plan.hosts)
        }

    def _measuring_on(self, host: AnyHost, number: int) -> Measuring:
        resumed = self._plan.resumed
        if resumed is not None:
            name = getattr(host, "name", "")
            own = tuple(result for result in resumed.results if (host_name(result) or LOCAL) == name)
            resumed = replace(resumed, results=own)
        return Measuring(
            replace(self._plan, host=host, hosts=(), resumed=resumed),
            None,
            self._hear,
            interrupt=self._interrupt,
            record=replace(self._keeper.run, id=f"{self._keeper.id}-h{number}", results=()),
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, Ended):
            self._keeper.take(event)
        else:
            self._keeper.tell(replace(event, run=self._keeper.run) if isinstance(event, Began) else event)
