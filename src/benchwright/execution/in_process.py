"""Measures in the process that asks: what a test or a cell of a notebook calls exists nowhere else.

One process is one round: how much processes differ it cannot tell, and whatever ran before is around it. Its results
say so (`IN_PROCESS`), and are series of their own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.execution.attempt import HEAD_START, AttemptOutcome, CopyAnswer
from benchwright.execution.new_runs import now
from benchwright.records import Case, Environment, Failure, Result, Revision, Scalar, Status
from benchwright.worker.answers import measured_frame, ready_facts
from benchwright.worker.engine.clock import SystemClock
from benchwright.worker.engine.engine import PreparedLoad
from benchwright.worker.runtimes import Loaded

IN_PROCESS: Mapping[str, Scalar] = {"process": "shared"}  # options of a target that was measured so
_UNSEEN = "load_time"  # nothing is loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrounding:
    """The machine and the revision that results of this process have in common."""

    environment: Environment
    revision: Revision | None

    @classmethod
    def collect(cls, directory: Path) -> Surrounding:
        """Looks at the machine and at the repository of a folder."""
        from benchwright import vcs
        from benchwright.machine import environment

        return cls(environment=environment.collect(), revision=vcs.revision(directory))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedHere:
    """What was timed in this process, and when."""

    outcome: AttemptOutcome
    started_at: str
    duration: float


def time_here(loaded: Loaded, prepared: PreparedLoad, *, started_at: str, began: float) -> TimedHere:
    """Issues the calls that were prepared since `began`, now and here. What they raise is raised."""
    from benchwright.machine.monitors.watch import Watch

    ready = {"load_time": 0.0, **ready_facts(loaded, prepared)}
    watch = Watch(names=["pressure"], interval=3600.0)  # looks before and after: in between it would disturb
    watch.start([os.getpid()])
    try:
        ahead = HEAD_START if isinstance(prepared.clock, SystemClock) else 0
        measured = prepared.run(prepared.clock.now() + ahead)
    finally:
        seen = watch.stop()
    report = loaded.report()
    frame = measured_frame(measured, {**loaded.details, **report.details}, report)
    answer = CopyAnswer(samples=measured.samples, ready=ready, measured=frame.data)
    outcome = AttemptOutcome(status=Status.OK, answers=(answer,), observation=replace(seen, timelines=()))
    return TimedHere(outcome=outcome, started_at=started_at, duration=time.monotonic() - began)


def make_result(
    id: str, case: Case, timed: TimedHere, around: Surrounding, remedies: Mapping[str, str] | None = None
) -> Result:
    """The result of what was timed here. `remedies` say what to do about warnings, by their codes, at this door."""
    from benchwright.execution.results import with_numbers

    bare = _bare_result(id, case, around, timed.started_at, timed.duration)
    result = with_numbers(bare, timed.outcome)
    metrics = tuple(metric for metric in result.metrics if metric.name != _UNSEEN)
    return with_remedies(replace(result, metrics=metrics), remedies or {})


def with_remedies(result: Result, remedies: Mapping[str, str]) -> Result:
    """The result whose warnings say what to do at the door that people came by, where that is known."""
    told = (replace(one, remedy=remedies.get(one.code, one.remedy)) for one in result.warnings)
    return replace(result, warnings=tuple(told))


def make_failed_result(id: str, case: Case, failure: Failure, around: Surrounding) -> Result:
    """The result of a call that raised an error."""
    return replace(_bare_result(id, case, around, now(), 0.0), status=Status.FAILED, error=failure)


def _bare_result(id: str, case: Case, around: Surrounding, started_at: str, duration: float) -> Result:
    return Result(
        id=id,
        case=case,
        round=0,
        status=Status.OK,
        environment=around.environment,
        started_at=started_at,
        duration=duration,
        revision=around.revision,
    )
