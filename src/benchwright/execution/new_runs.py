"""The record of a run that is about to begin: its id, when that is, and what is planned."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from benchwright._version import VERSION
from benchwright.execution.plans import Plan, group_hosts, in_rounds
from benchwright.records import Run


def new_run(plan: Plan) -> Run:
    """The record of a run that is about to begin, without results."""
    return Run(
        id=plan.run or new_run_id(),
        started_at=now(),
        harness=VERSION,
        command=tuple(plan.command),
        reason=plan.reason,
        baseline=plan.baseline,
        tags=tuple(plan.tags),
        planned=sum(1 for _ in in_rounds(plan)) * max(1, len(group_hosts(plan.hosts, spread=plan.spread))),
        race=plan.race,
    )


def new_run_id() -> str:
    """An id that sorts by time, to the millisecond."""
    present = datetime.now(UTC)
    return f"{present:%Y%m%dT%H%M%S}{present.microsecond // 1000:03d}-{os.urandom(3).hex()}"


def now() -> str:
    """The present instant, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
