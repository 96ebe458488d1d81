"""A series as people read it: one value per run, and what changed since the run before.

Two neighbouring runs are judged as `benchwright compare` judges one metric of two runs: by their rounds, and where the
instrument does not trust both, only as far as noise cannot explain it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis import notes
from benchwright.analysis.comparison import A_TOTAL, SMALLEST
from benchwright.analysis.doubt import is_equal, judge_by_size, withstands_noise
from benchwright.analysis.judged_metrics import TOTALS
from benchwright.analysis.price_changes import find_price_change, price_bases
from benchwright.analysis.rows import combine_estimates
from benchwright.analysis.timeline import RoundPoint, combine_rounds, rounds_by_run
from benchwright.records import Better, Estimate, Result, Verdict
from benchwright.records.costs import is_cost, is_money
from benchwright.records.findings import Finding
from benchwright.records.request_metrics import is_share_of_failures
from benchwright.stats.compare import RatioComparison, compare
from benchwright.stats.shares import compare_shares
from benchwright.units import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendStep:
    """A run's rounds as one value, against the run before it."""

    run: str
    started_at: str
    revision: str
    rounds: int
    estimate: Estimate
    change: float | None  # 0.02 is two per cent more, of shares two points; None for the first, and without a ratio
    verdict: Verdict  # of the change; UNCLEAR for the first
    why: str
    is_held: bool = False  # measured in quarantine: neither it nor the run after it is judged
    price: str = ""  # of a cost: what it rests on
    price_change: float | None = None  # of a cost: 1.0 is twice the price of the run before; None where it is the same
    change_at_one_price: float | None = None  # and by how much the cost changed beside that


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
class JudgementContext:
    """What a verdict depends on beside the values. `results` is called only where a verdict needs it."""

    metric: str
    better: Better | None
    results: Callable[[str], Sequence[Result]]  # of the run of that id
    unit: str = ""
    is_held: Callable[[RoundPoint], bool] = lambda point: False  # measured in quarantine


def trend_steps(points: Iterable[RoundPoint], judging: JudgementContext, *, most: int) -> list[TrendStep]:
    """The newest `most` runs that have ok points in a series, oldest first.

    A run that measured several revisions against each other (`ab`, `bisect`) has no value of its own, and no place.
    """
    told = rounds_by_run(points).values()
    runs = [run for run in told if len({point.revision for point in run}) == 1][-most - 1 :]
    changes = [_compare_neighbours(before, after, judging) for before, after in itertools.pairwise(runs)]
    made = [_step(run, change, judging) for run, change in zip(runs, [None, *changes], strict=False)]
    by_difference = is_share_of_failures(judging.metric, judging.unit)
    add_change = _with_difference if by_difference else _with_change
    steps = [add_change(step, before) for step, before in zip(made, [None, *made], strict=False)]
    if is_money(judging.metric):
        results = [_results_of(run, judging) for run in runs]
        steps = [_with_price(*each) for each in zip(steps, results, [[], *results], strict=False)]
    return steps[-most:]


def _with_price(step: TrendStep, results: Sequence[Result], before: Sequence[Result]) -> TrendStep:
    """The step of a cost with its price; where that is another than before, the change is not judged."""
    step = replace(step, price=" and ".join(price_bases(results)))
    change = find_price_change(before, results)
    if change is None or change.factor == 1.0:
        return step
    step = replace(step, verdict=Verdict.UNCLEAR, why=change.words)
    if change.factor is None or step.change is None:
        return step
    beside = (1 + step.change) / change.factor - 1
    return replace(step, price_change=change.factor - 1, change_at_one_price=beside)


def _with_difference(step: TrendStep, before: TrendStep | None) -> TrendStep:
    """The step of a share, which may be zero: its change is the difference, 0.02 for two points more."""
    return step if before is None else replace(step, change=(step.estimate.point - before.estimate.point) / 100)


def _with_change(step: TrendStep, before: TrendStep | None) -> TrendStep:
    """The step with its change from the level shown before to the level shown; the verdict is of the rounds."""
    if before is None or min(before.estimate.point, step.estimate.point) <= 0.0:
        return step
    change = step.estimate.point / before.estimate.point - 1
    if step.change is not None and change * step.change < 0.0 and step.verdict in (Verdict.BETTER, Verdict.WORSE):
        return replace(
            step, change=change, verdict=Verdict.UNCLEAR, why="the mean of the rounds and their ratio disagree"
        )
    return replace(step, change=change)


def _compare_neighbours(
    before: Sequence[RoundPoint], after: Sequence[RoundPoint], judging: JudgementContext
) -> RatioComparison:
    first, second = ([p.estimate for p in run] for run in (before, after))
    if is_share_of_failures(judging.metric, judging.unit):
        shares = (_combine(run, judging) for run in (before, after))
        seen = found = compare_shares(*shares, better=judging.better, smallest=SMALLEST)
    else:
        seen = compare(first, second, better=judging.better, smallest=SMALLEST)
        found = judge_by_size(seen, judging.metric, judging.better, first, second)
    if held := notes.describe_held(_held_sides(before, after, judging)):
        return found._replace(verdict=Verdict.UNCLEAR, why=held)
    if judging.metric in TOTALS:
        return found._replace(verdict=Verdict.UNCLEAR, why=A_TOTAL)
    if found.verdict is not seen.verdict or is_equal(first, second) or found.verdict is Verdict.UNCLEAR:
        return found
    if withstands_noise(judging.metric, found.verdict, found.ratio):
        return found
    doubt = notes.describe_distrust({"earlier": _results_of(before, judging), "later": _results_of(after, judging)})
    return found._replace(verdict=Verdict.UNCLEAR, why=doubt) if doubt else found


def _held_sides(before: Sequence[RoundPoint], after: Sequence[RoundPoint], judging: JudgementContext) -> list[str]:
    return [name for name, side in (("earlier", before), ("later", after)) if any(map(judging.is_held, side))]


def _results_of(points: Sequence[RoundPoint], judging: JudgementContext) -> list[Result]:
    wanted = {point.result for point in points}
    return [result for result in judging.results(points[0].run) if result.id in wanted]


def _step(points: Sequence[RoundPoint], change: RatioComparison | None, judging: JudgementContext) -> TrendStep:
    return TrendStep(
        run=points[0].run,
        started_at=points[0].started_at,
        revision=points[0].revision,
        rounds=len(points),
        estimate=_combine(points, judging),
        change=change.ratio.point - 1 if change and change.ratio else None,
        verdict=change.verdict if change else Verdict.UNCLEAR,
        why=change.why if change else "nothing before it to compare with",
        is_held=any(map(judging.is_held, points)),
    )


def _combine(points: Sequence[RoundPoint], judging: JudgementContext) -> Estimate:
    if is_cost(judging.metric):
        return combine_estimates(judging.metric, judging.unit, [point.estimate for point in points])
    return combine_rounds(points, limits(judging.metric, judging.unit))


_LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """The values as a row of bars between their least and their greatest; of equal ones, the middle bar."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high == low:
        return _LEVELS[3] * len(values)
    return "".join(_LEVELS[round((value - low) / (high - low) * (len(_LEVELS) - 1))] for value in values)
