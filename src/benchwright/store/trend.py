"""A series as people read it: one value per run, and what changed since the run before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import OptionError, TargetError, did_you_mean
from benchwright.records import Estimate, Status, Verdict
from benchwright.stats.summary import combine
from benchwright.store import Miss, Point, Series, Store

USUAL = ("latency_p50", "throughput")
_ROUNDS = 50  # as many as a run is expected to have at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A run's rounds as one value, against the run before it."""

    run: str
    started_at: str
    revision: str
    rounds: int
    estimate: Estimate
    change: float | None  # 0.02 is two per cent more; None for the first, and after zero
    verdict: Verdict  # of the change: UNCLEAR while the two intervals overlap, or one is missing


def steps(series: Series) -> list[Step]:
    """Every run that has ok points in the series, oldest first."""
    by_run: dict[str, list[Point]] = {}
    for point in series.points:
        if point.status is Status.OK:
            by_run.setdefault(point.run, []).append(point)
    found: list[Step] = []
    for run, points in by_run.items():
        estimate = combine([point.estimate for point in points])
        before = found[-1].estimate if found else None
        found.append(
            Step(
                run=run,
                started_at=points[0].started_at,
                revision=points[0].revision,
                rounds=len(points),
                estimate=estimate,
                change=estimate.point / before.point - 1 if before and before.point else None,
                verdict=_verdict(before, estimate, series.better),
            )
        )
    return found


def _verdict(before: Estimate | None, after: Estimate, better: str) -> Verdict:
    """A change counts when the intervals lie apart, which is stricter than a test at their own level."""
    if before is None or not better or None in (before.low, before.high, after.low, after.high):
        return Verdict.UNCLEAR
    assert before.low is not None and before.high is not None and after.low is not None and after.high is not None
    if after.low <= before.high and before.low <= after.high:
        return Verdict.UNCLEAR
    return Verdict.WORSE if (after.point > before.point) == (better == "lower") else Verdict.BETTER


def look_up(store: Store, target: str, *, metrics: Sequence[str], runs: int) -> tuple[list[Series], list[Miss]]:
    """The series that a person means by `target`, with points enough for `runs` runs, and their gaps.

    A target is a case's name, a pattern, a path that ends in a name, or a file of callables. Without `metrics`, the
    usual ones; when there are none of those, all.
    """
    for name in _names(target):
        if series := store.history(name, limit=(runs + 1) * _ROUNDS):
            return _chosen(series, target, metrics), store.misses(name)
        if misses := store.misses(name):
            return [], misses
    known = store.case_names()
    raise TargetError(
        f"no results for {target!r} in this store",
        remedy=did_you_mean(Path(target).name, known) or "benchwright run TARGET makes some",
    )


def _names(target: str) -> list[str]:
    last = Path(target).name
    return list(dict.fromkeys([target, last, f"{last}::*"]))


def _chosen(series: list[Series], target: str, metrics: Sequence[str]) -> list[Series]:
    there = {one.metric for one in series}
    if unknown := [metric for metric in metrics if metric not in there]:
        raise OptionError(f"{target!r} has no metric {unknown[0]!r}", remedy=did_you_mean(unknown[0], there))
    wanted = list(metrics) or [metric for metric in USUAL if metric in there] or sorted(there)
    return sorted((one for one in series if one.metric in wanted), key=lambda one: _order(one, wanted))


def _order(series: Series, metrics: Sequence[str]) -> tuple[Any, ...]:
    """By case, then by params with numbers as numbers, then by metric as asked for."""
    values = json.loads(series.params).values()
    params = [(0, value, "") if isinstance(value, int | float) else (1, 0, str(value)) for value in values]
    return series.case, params, series.machine, metrics.index(series.metric)


_LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """The values as a row of bars between their least and their greatest; of equal ones, the middle bar."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high == low:
        return _LEVELS[3] * len(values)
    return "".join(_LEVELS[round((value - low) / (high - low) * (len(_LEVELS) - 1))] for value in values)
