"""What a race is to find: metrics as high or as low as can be, under bounds, how sure, and at what expense."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Better, Objective, Result
from benchwright.records.costs import MONEY, PER_MILLION
from benchwright.records.goals import missed_goal
from benchwright.records.races import RaceBound, RaceGoal
from benchwright.units import parse_percent
from benchwright.workflows import arguments, validation

SHORTEST_BUDGET = 1.0  # seconds
_PERCENTILE = re.compile(r"p\d+(?:\.\d+)?")
_OTHER_NAMES = {"peak_memory": "rss_peak", "memory": "rss_peak", "mean": "latency", "cost": PER_MILLION}
_DIRECTIONS = {"throughput": Better.HIGHER, PER_MILLION: Better.LOWER, "rss_peak": Better.LOWER}


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRequest:
    """A race as somebody asked for it, beside what is measured."""

    maximize: Sequence[str] = ()
    minimize: Sequence[str] = ()
    objectives: Sequence[Objective] = ()
    within: float = 0.02
    confidence: float = 0.99
    rounds: int = 5
    budget: float | None = None  # seconds; None: no more than all cells so many rounds
    seed: int = 0

    @property
    def goals(self) -> tuple[RaceGoal, ...]:
        """The metrics that decide; the throughput where none is named."""
        higher = [RaceGoal(metric=_metric_name(name), higher=True) for name in self.maximize]
        lower = [RaceGoal(metric=_metric_name(name), higher=False) for name in self.minimize]
        return (*higher, *lower) or (RaceGoal(metric="throughput", higher=True),)

    @property
    def bounds(self) -> tuple[RaceBound, ...]:
        """The objectives, in the form that a race is kept in."""
        return tuple(
            RaceBound(metric=one.metric, relation=one.relation, limit=one.bound, unit=one.unit)
            for one in self.objectives
        )

    def check(self, *, is_priced: bool) -> None:
        """Refuses what contradicts itself, and costs of a machine that has no price."""
        goals = self.goals
        names = [goal.metric for goal in goals]
        for name in names:
            if names.count(name) > 1:
                raise OptionError(f"{name} is a goal twice", remedy="name each goal once")
            if name in MONEY and not is_priced:
                raise OptionError(f"{name} is known where the machine has a price", remedy="add --price 0.34USD/h")
        for goal in goals:
            _check_direction(goal, _DIRECTIONS.get(goal.metric) or _direction_by_name(goal.metric))
        for bound in self.bounds:
            if not bound.limit > 0:
                raise OptionError(
                    f"--objective: a race takes {bound.metric} as a ratio to its bound, which must be above zero",
                    remedy="bound it above zero",
                )
        if not 0 < self.within < 1:
            raise OptionError(f"--within: {self.within} is not a share between 0 and 1", remedy="write --within 2%")
        if not 0.5 < self.confidence < 1:
            raise OptionError(
                f"--confidence: {100 * self.confidence:g}% is not above 50 % and below 100 %",
                remedy="write --confidence 99%",
            )
        validation.check_count("rounds", self.rounds, most=validation.MOST_ROUNDS)
        if self.budget is not None and not SHORTEST_BUDGET <= self.budget < 10**9:
            raise OptionError(f"--budget: {self.budget:g} s are no time for a race", remedy="write --budget 10m")


def check_metrics(goals: Sequence[RaceGoal], bounds: Sequence[RaceBound], result: Result) -> None:
    """Refuses goals and bounds that the first result with numbers does not have, or that point the wrong way.

    A training that did not get where it was to get has no time to that: there is such a metric all the same.
    """
    known = [metric.name for metric in result.metrics]
    for what, name in [*(("goal", g.metric) for g in goals), *(("--objective", b.metric) for b in bounds)]:
        if result.metric(name) is None and missed_goal(result, name) is None:
            remedy = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise OptionError(f"{what}: {result.case.name} has no metric {name!r}", remedy=remedy)
    for goal in goals:
        metric = result.metric(goal.metric)
        _check_direction(goal, metric.better if metric else None)


def parse_budget(text: str) -> tuple[float | None, str]:
    """`'10m'`, `'5USD'` or `'10m,5USD'`: the seconds of a race, and the money for machines of clouds; "" for none."""
    seconds, money = None, ""
    for item in (item.strip() for item in text.split(",")):
        if re.search(r"[A-Z]{3}", item):
            money = item
        else:
            seconds = arguments.positive(item, "s", "--budget")
    return seconds, money


def parse_share(given: str | float, what: str) -> float:
    """A share of 1, which from Python may be a number: `'2%'` or 0.02."""
    return parse_percent(given, what, zero=False) if isinstance(given, str) else float(given)


def _metric_name(name: str) -> str:
    name = name.strip()
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        raise OptionError(f"{name!r} is not the name of a metric", remedy="for example --maximize throughput")
    return f"latency_{name}" if _PERCENTILE.fullmatch(name) else _OTHER_NAMES.get(name, name)


def _direction_by_name(name: str) -> Better | None:
    return Better.LOWER if name.startswith("latency") else None


def _check_direction(goal: RaceGoal, better: Better | None) -> None:
    if better is not None and goal.higher is not (better is Better.HIGHER):
        asked, meant = ("--maximize", "--minimize") if goal.higher else ("--minimize", "--maximize")
        raise OptionError(
            f"{asked} {goal.metric}: {'higher' if better is Better.HIGHER else 'lower'} is better",
            remedy=f"write {meant} {goal.metric}",
        )
