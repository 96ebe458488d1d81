"""This machine's own rate of false alarms: equal work against equal work, judged as the gates judge.

Fixed work is repeated in short fresh processes, two kinds taking turns, for as long as is asked. What was recorded is
then replayed (`stats.replay`). It is kept as a run of its own, with a result that has no metrics, so that any store
takes it and no series comes of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import DecodeError, MeasureError
from benchwright.execution.noise.probes import run_process
from benchwright.records import CALIBRATION, CALIBRATION_TAG, Case, Environment, Estimate, Result, Run, Status, Target
from benchwright.stats import ranks
from benchwright.stats.replay import SHARE, GateDefaults, Rate, pairs_called, rounds_called, smallest_found

KINDS = ("interpreter", "memory")
LEAST = 40  # processes of each kind, below which nothing is said
REPLAYS = 400
_FEWER = 50  # replays to find out what is found
_BUDGETS = (0.1, 1.0)  # seconds that a process repeats its work, at least and at most
_SHARES = 600  # a process takes about this share of the whole time
_KEY = "calibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRate:
    """What one gate did: `alarms` of so many judgements of equal work, and the smallest change found in nine of ten."""

    alarms: Rate
    smallest: float | None  # None: none that was tried, or too little was recorded to tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the gates do on one machine at their usual settings."""

    at: str  # when it began, UTC
    seconds: float
    processes: int
    repeated: float  # seconds that each process repeated its work
    load: float | None  # average over its time
    harness: str
    python: str
    pairs: GateRate  # `ab`
    rounds: GateRate  # `compare` and `check`
    usual: GateDefaults = field(default_factory=GateDefaults)
    interrupted: bool = False


@dataclass(slots=True)
class CalibrationTimes:
    """The times of processes, kind by kind, in the order in which they were measured."""

    repeated: float
    rounds: dict[str, list[Estimate]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    at: str = ""
    seconds: float = 0.0
    loads: list[float] = field(default_factory=list)
    interrupted: bool = False

    @property
    def processes(self) -> int:
        """Returns how many processes were measured of the kind of work that has the fewest."""
        return min(map(len, self.rounds.values()))


def record(
    seconds: float,
    told: Callable[[float, int], None] = lambda share, processes: None,
    *,
    run: Callable[..., Sequence[float]] = run_process,
) -> CalibrationTimes:
    """Measures for so many seconds; `told` hears the share done and the processes so far. Ctrl-C ends it early."""
    least, most = _BUDGETS
    kept = CalibrationTimes(min(most, max(least, seconds / _SHARES)))
    kept.at = datetime.now(UTC).isoformat(timespec="milliseconds")
    began = time.monotonic()
    try:
        while (spent := time.monotonic() - began) < seconds:
            for kind, rounds in kept.rounds.items():
                taken = run(kind, budget=kept.repeated)
                rounds.append(ranks.quantile_estimate(taken, 0.5))
            if hasattr(os, "getloadavg"):
                kept.loads.append(os.getloadavg()[0])
            told(min(1.0, spent / seconds), sum(map(len, kept.rounds.values())))
    except KeyboardInterrupt:
        kept.interrupted = True
    kept.seconds = time.monotonic() - began
    return kept


def calibration(
    recorded: CalibrationTimes, *, usual: GateDefaults | None = None, replays: int = REPLAYS
) -> Calibration:
    """What the record says. A `MeasureError` where it holds too little to say anything."""
    if recorded.processes < LEAST:
        pace = recorded.seconds / max(1, recorded.processes)
        raise MeasureError(
            f"{recorded.processes} processes of each kind were measured in {recorded.seconds:.0f} s; "
            f"fewer than {LEAST} say nothing of how often a gate is wrong",
            remedy=f"give --seconds {max(60, 1.5 * LEAST * pace):.0f}",
        )
    import platform

    by = usual or GateDefaults()
    by = replace(by, pairs=min(by.pairs, recorded.processes // 2))
    streams = list(recorded.rounds.values())
    points = [[each.point for each in rounds] for rounds in streams]
    loads = recorded.loads
    return Calibration(
        at=recorded.at,
        seconds=recorded.seconds,
        processes=sum(map(len, streams)),
        repeated=recorded.repeated,
        load=sum(loads) / len(loads) if loads else None,
        harness=VERSION,
        python=platform.python_version(),
        pairs=GateRate(
            alarms=_sum(pairs_called(times, 0.0, by, replays=replays // len(points)) for times in points),
            smallest=_worst(
                smallest_found(lambda change, times=times: _detection_rate(times, change, by))  # type: ignore[misc]
                for times in points
            ),
        ),
        rounds=GateRate(
            alarms=_sum(rounds_called(rounds, 0.0, by) for rounds in streams),
            smallest=smallest_found(lambda change: _sum(rounds_called(rounds, change, by) for rounds in streams)),
        ),
        usual=by,
        interrupted=recorded.interrupted,
    )


def _detection_rate(times: Sequence[float], change: float, by: GateDefaults) -> Rate:
    return pairs_called(times, change, by, replays=_FEWER, misses=int(_FEWER * (1 - SHARE)))


def _sum(rates: Any) -> Rate:
    seen = list(rates)
    return Rate(count=sum(rate.count for rate in seen), of=sum(rate.of for rate in seen))


def _worst(found: Any) -> float | None:
    """Returns the largest rate; None where one kind of work has none."""
    seen = list(found)
    return None if None in seen else max(seen)


# ---- as a run ----


def as_run(found: Calibration, environment: Environment, run_id: str, command: Sequence[str] = ()) -> Run:
    """Returns the calibration as a run, of the machine of this environment."""
    result = Result(
        id=f"{run_id}-0",
        case=Case(name=CALIBRATION, target=Target(runtime="fake", uri="fake:constant")),
        status=Status.OK,
        round=0,
        environment=environment,
        started_at=found.at,
        duration=found.seconds,
        details={_KEY: schema.encode(found)},
    )
    return Run(
        id=run_id,
        started_at=found.at,
        harness=found.harness,
        command=tuple(command),
        reason=_KEY,
        tags=(CALIBRATION_TAG,),
        results=(result,),
        planned=1,
    )


def calibration_of_run(run: Run) -> tuple[str, Calibration] | None:
    """The machine (`schema.environment_key`) and its calibration; None where the run holds none that can be read."""
    for result in run.results:
        told: Mapping[str, Any] | Any = result.details.get(_KEY)
        if isinstance(told, Mapping):
            try:
                found = schema.decode(Calibration, dict(told), where=f"run {run.id}")
            except DecodeError:  # of another version of ours
                return None
            return schema.environment_key(result.environment), found
    return None
