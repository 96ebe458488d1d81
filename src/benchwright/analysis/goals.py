"""Goals of tasks over rounds: how long it took to get there, with the rounds that never did.

A round that ended without reaching a goal says that it takes longer than that, and nothing else: it gets no number. So
where such rounds are, all rounds together give the median of Kaplan and Meier's curve (`stats.survival`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchwright.records import Better, Estimate, Metric, Result, Status
from benchwright.records.goals import AMOUNTS, TIME, GoalOutcome, goals_of, metric_name
from benchwright.stats.survival import TimeToGoal, common_horizon, median_time, restricted_mean
from benchwright.units import format_value

if TYPE_CHECKING:
    from benchwright.analysis.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRounds:
    """One amount of one goal, such as the time until it: what each round that was seen to its end says."""

    metric: str  # time_to_accuracy_95
    goal: str
    kind: str
    unit: str
    when: str
    rounds: tuple[TimeToGoal, ...]

    @property
    def reached(self) -> int:
        """How many rounds got there."""
        return sum(one.reached for one in self.rounds)

    @property
    def is_censored(self) -> bool:
        """Whether a round never got there."""
        return self.reached < len(self.rounds)

    @property
    def counted(self) -> str:
        """How many rounds got there, in words: `3 of 5 rounds`."""
        return f"{self.reached} of {len(self.rounds)} rounds"


def goal_rounds(results: Iterable[Result]) -> dict[str, GoalRounds]:
    """What the rounds of a case say of each amount of each goal, by the name of the metric."""
    found: dict[tuple[str, str], list[GoalOutcome]] = {}
    for result in results:
        for name, outcome in goals_of(result).items():
            for kind in AMOUNTS:
                if outcome.amount(kind) is not None:
                    found.setdefault((name, kind), []).append(outcome)
    return {metric_name(kind, name): _rounds(name, kind, outcomes) for (name, kind), outcomes in found.items()}


def _rounds(name: str, kind: str, outcomes: Sequence[GoalOutcome]) -> GoalRounds:
    return GoalRounds(
        metric=metric_name(kind, name),
        goal=name,
        kind=kind,
        unit=outcomes[0].unit(kind),
        when=outcomes[0].when,
        rounds=tuple(TimeToGoal(at=one.amount(kind) or 0.0, reached=one.reached) for one in outcomes),
    )


def combine_goals(results: Iterable[Result]) -> dict[str, Metric | None]:
    """Of each metric of a goal that some round never reached, what all rounds say together; None: nothing yet.

    Where every round got there, its values are combined as those of any other metric.
    """
    return {name: _combine(found) for name, found in goal_rounds(results).items() if found.is_censored}


def _combine(found: GoalRounds) -> Metric | None:
    median = median_time(found.rounds)
    if median.point is None:
        return None
    ends = median if median.low is not None and median.high is not None else replace(median, low=None, high=None)
    open_end = "" if ends.high is not None else "; too few got there for an upper end"
    method = f"median of {len(found.rounds)} rounds (Kaplan and Meier), {found.reached} got there{open_end}"
    estimate = Estimate(point=median.point, low=ends.low, high=ends.high, method=method)
    return Metric(name=found.metric, unit=found.unit, better=Better.LOWER, estimate=estimate, count=len(found.rounds))


def limit_of(result: Result, metric: str) -> float | None:
    """What a round that never got there took at least; None where it did, or where the metric is not of a goal."""
    found = goal_rounds([result]).get(metric)
    return found.rounds[0].at if found is not None and found.is_censored else None


def goal_metric(result: Result, metric: str) -> Metric | None:
    """The metric of a goal as a round without a number would have it: unit and direction; its point is a limit."""
    found = goal_rounds([result]).get(metric)
    if found is None:
        return None
    estimate = Estimate(point=found.rounds[0].at, low=None, high=None, method="at least" * found.is_censored)
    return Metric(name=metric, unit=found.unit, better=Better.LOWER, estimate=estimate)


# ---- in words ----


def training_lines(table: Sequence[Row]) -> list[str]:
    """What a reader must know of the numbers of tasks: goals that rounds never reached, what is left out as warm-up."""
    goals = [f"Goal of {said}" for said in describe_goals(table)]
    return goals + [f"Warm-up of {said}" for said in describe_left_out(table)]


def describe_goals(table: Iterable[Row]) -> list[str]:
    """A sentence for each goal that some round of a case never reached."""
    return [
        f"{row.label}: {_describe(found, row.results)}"
        for row in table
        for found in goal_rounds(row.results).values()
        if found.kind == TIME and found.is_censored
    ]


def _describe(found: GoalRounds, results: Sequence[Result]) -> str:
    failed = sum(result.status not in (Status.OK, Status.TIMEOUT, Status.SKIPPED) for result in results)
    beside = f" ({failed} more failed, which says nothing of the goal)" if failed else ""
    begin = f"{found.when} was reached in {found.counted}{beside}"
    horizon = common_horizon(found.rounds)
    if not found.reached:
        return f"{begin}, and in none within {format_value(horizon, found.unit)}"
    median, mean = median_time(found.rounds), restricted_mean(found.rounds, horizon)
    low = "" if median.low is None else format_value(median.low, found.unit)
    high = "open" if median.high is None else format_value(median.high, found.unit)
    half = (
        f"half of them get there after {format_value(median.point, found.unit)} [{low}, {high}]"
        if median.point is not None
        else f"less than half get there within {format_value(horizon, found.unit)}"
    )
    return f"{begin}; {half}, mean within {format_value(horizon, found.unit)}: {format_value(mean.point, found.unit)}"


def describe_left_out(table: Iterable[Row]) -> list[str]:
    """What metrics of tasks leave out as warm-up, a sentence for each metric of each case."""
    return [
        f"{row.label}, {name}: {said}"
        for row in table
        for name in row.metrics
        if (said := _describe_part([log[name] for r in row.ok if isinstance(log := r.details.get("log"), dict)
                                    and isinstance(log.get(name), dict)]))
    ]  # fmt: skip


def _describe_part(parts: Sequence[object]) -> str:
    told = [part for part in parts if isinstance(part, dict) and isinstance(part.get("left_out"), int)]
    if not told:
        return ""
    counts, hits = ([part[key] for part in told if isinstance(part.get(key), int)] for key in ("left_out", "hits"))
    untils = [u for part in told if isinstance(u := part.get("left_out_until"), int | float)]
    most = max(told, key=lambda part: part["left_out"])  # a round that leaves out nothing may be steady from the start
    why = str(most.get("left_out_why", ""))
    until = f" ({_span([format_value(u, 's') for u in (min(untils), max(untils))])})" if untils else ""
    if not max(counts):
        return f"none of {_span([f'{n:,}' for n in (min(hits), max(hits))])} values left out: {why}"
    of = f" of {_span([f'{n:,}' for n in (min(hits), max(hits))])}" if hits else ""
    return f"the first {_span([f'{n:,}' for n in (min(counts), max(counts))])}{of} values{until} left out: {why}"


def _span(ends: Sequence[str]) -> str:
    return ends[0] if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"
