"""A series as people read it: one value per run, and what changed since the run before.

Two neighbouring runs are judged as `benchwright compare` judges one metric of two runs: by their rounds, and where the
instrument does not trust both, only as far as noise cannot explain it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from benchwright.analysis import notes
from benchwright.analysis.comparison import A_TOTAL, SMALLEST
from benchwright.analysis.doubt import is_equal, judged_by_size, withstands
from benchwright.analysis.judged_metrics import TOTALS
from benchwright.records import Better, Estimate, Result, Status, Verdict
from benchwright.records.findings import Finding
from benchwright.stats.compare import RatioComparison, compare
from benchwright.stats.summary import combine
from benchwright.units import limits


class RoundPoint(Protocol):
    """One round of one run, as a store hands it out."""

    @property
    def run(self) -> str: ...
    @property
    def result(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def revision(self) -> str: ...
    @property
    def estimate(self) -> Estimate: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendStep:
    """A run's rounds as one value, against the run before it."""

    run: str
    started_at: str
    revision: str
    rounds: int
    estimate: Estimate
    change: float | None  # 0.02 is two per cent more; None for the first, and where a value is not positive
    verdict: Verdict  # of the change; UNCLEAR for the first
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries:
    """A series run by run, each judged against the one before it, and the drifts that no two neighbours show."""

    key: str
    case: str
    params: str  # compact JSON of what tells this case from others of the same name
    metric: str
    unit: str
    better: str  # "lower", "higher" or ""
    machine: str  # schema.environment_key
    steps: tuple[TrendStep, ...]  # the oldest first
    drifts: tuple[Finding, ...]  # as findings that are not kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What a verdict depends on beside the values. `results` is asked only where a verdict hangs on it."""

    metric: str
    better: Better | None
    results: Callable[[str], Sequence[Result]]  # of the run of that id
    unit: str = ""


def steps(points: Iterable[RoundPoint], judging: Judging, *, most: int) -> list[TrendStep]:
    """The newest `most` runs that have ok points in a series, oldest first."""
    by_run: dict[str, list[RoundPoint]] = {}
    for point in points:
        if point.status is Status.OK:
            by_run.setdefault(point.run, []).append(point)
    runs = list(by_run.values())[-most - 1 :]
    changes = [_judged(before, after, judging) for before, after in itertools.pairwise(runs)]
    made = [_step(run, change, judging) for run, change in zip(runs, [None, *changes], strict=False)]
    return [_changed(step, before) for step, before in zip(made, [None, *made], strict=False)][-most:]


def _changed(step: TrendStep, before: TrendStep | None) -> TrendStep:
    """The step with its change from the level shown before to the level shown; the verdict is of the rounds."""
    if before is None or min(before.estimate.point, step.estimate.point) <= 0.0:
        return step
    change = step.estimate.point / before.estimate.point - 1
    if step.change is not None and change * step.change < 0.0 and step.verdict in (Verdict.BETTER, Verdict.WORSE):
        return replace(
            step, change=change, verdict=Verdict.UNCLEAR, why="the mean of the rounds and their ratio disagree"
        )
    return replace(step, change=change)


def _judged(before: Sequence[RoundPoint], after: Sequence[RoundPoint], judging: Judging) -> RatioComparison:
    first, second = ([p.estimate for p in run] for run in (before, after))
    seen = compare(first, second, better=judging.better, smallest=SMALLEST)
    found = judged_by_size(seen, judging.metric, judging.better, first, second)
    if judging.metric in TOTALS:
        return found._replace(verdict=Verdict.UNCLEAR, why=A_TOTAL)
    if found.verdict is not seen.verdict or is_equal(first, second) or found.verdict is Verdict.UNCLEAR:
        return found
    if withstands(judging.metric, found.verdict, found.ratio):
        return found
    doubt = notes.distrust({"earlier": _results(before, judging), "later": _results(after, judging)})
    return found._replace(verdict=Verdict.UNCLEAR, why=doubt) if doubt else found


def _results(points: Sequence[RoundPoint], judging: Judging) -> list[Result]:
    wanted = {point.result for point in points}
    return [result for result in judging.results(points[0].run) if result.id in wanted]


def _step(points: Sequence[RoundPoint], change: RatioComparison | None, judging: Judging) -> TrendStep:
    return TrendStep(
        run=points[0].run,
        started_at=points[0].started_at,
        revision=points[0].revision,
        rounds=len(points),
        estimate=combine([point.estimate for point in points], limits=limits(judging.metric, judging.unit)),
        change=change.ratio.point - 1 if change and change.ratio else None,
        verdict=change.verdict if change else Verdict.UNCLEAR,
        why=change.why if change else "nothing before it to compare with",
    )


_LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """The values as a row of bars between their least and their greatest; of equal ones, the middle bar."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high == low:
        return _LEVELS[3] * len(values)
    return "".join(_LEVELS[round((value - low) / (high - low) * (len(_LEVELS) - 1))] for value in values)
