"""Goals of a task: the first instant at which a value that it prints is as good as it must be.

A goal that was not reached before the command ended is no failure: how long it was looked for is kept, and whoever
compares runs knows that it takes longer than that (`stats.survival`).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from benchwright.records import Better, Estimate, Metric, ResultWarning, Value
from benchwright.records.goals import EPOCHS, GOALS, REACHED, STEPS, TIME, GoalOutcome, encode_goals, metric_name
from benchwright.targets.tasks.definition import OWN_VALUES, TaskGoal
from benchwright.units import format_value
from benchwright.worker.tasks.numbers import NotANumberError, NotFiniteError, parse_number
from benchwright.worker.tasks.scanner import Column

NOT_REACHED = "goal-not-reached"
_RELATIONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


class GoalWatch:
    """Looks at the values of one goal as they come. Everything that it needs of a line is in one hit of one pattern."""

    def __init__(self, goal: TaskGoal) -> None:
        self.goal = goal
        self.values = 0  # seen so far
        self.best: float | None = None
        self._holds = _RELATIONS[goal.relation]
        self._in_row = 0
        self._counts: dict[str, float] = {}  # steps and epochs at the last value that was looked at
        self._reached: float | None = None  # the second

    def take(self, columns: Sequence[Column], groups: Mapping[str, int], at: float) -> None:
        """Looks at the hits of the goal's pattern in one block of lines, which came at that second."""
        if self._reached is not None:
            return
        wanted = {STEPS: self.goal.steps, EPOCHS: self.goal.epochs}
        own = _column(columns, groups, self.goal.series)
        others = {kind: _column(columns, groups, name) for kind, name in wanted.items() if name in groups}
        for place, text in enumerate(own):
            value = _number(text)
            if value is None:
                continue
            self.values += 1
            counts = {kind: _number(column[place]) for kind, column in others.items()}
            self._counts |= {kind: count for kind, count in counts.items() if count is not None}
            self._counts |= {kind: float(self.values) for kind, name in wanted.items() if name == OWN_VALUES}
            if self._look(value):
                self._reached = at
                return

    def _look(self, value: float) -> bool:
        """Whether the goal is reached with this value."""
        chosen = max if self.goal.relation.startswith(">") else min
        self.best = value if self.best is None else chosen(self.best, value)
        self._in_row = self._in_row + 1 if self._holds(value, self.goal.bound) else 0
        return self._in_row >= self.goal.hold

    def outcome(self, end: float) -> GoalOutcome:
        """What became of the goal in a command that ended at that second."""
        return GoalOutcome(
            when=self.goal.when,
            reached=self._reached is not None,
            seconds=end if self._reached is None else self._reached,
            steps=self._counts.get(STEPS),
            epochs=self._counts.get(EPOCHS),
            best=self.best,
        )


def metrics_of(name: str, outcome: GoalOutcome) -> list[Metric]:
    """The metrics of one goal: whether it was reached, and if so after how long, how many steps and epochs."""
    share = Estimate(point=100.0 * outcome.reached, low=None, high=None, method=f"whether {outcome.when}")
    found = [Metric(name=metric_name(REACHED, name), unit="%", better=Better.HIGHER, estimate=share)]
    amounts = {TIME: ("s", outcome.seconds), STEPS: ("", outcome.steps), EPOCHS: ("", outcome.epochs)}
    for kind, (unit, amount) in amounts.items():
        if outcome.reached and amount is not None:
            estimate = Estimate(point=amount, low=None, high=None, method=f"until {outcome.when}")
            found.append(Metric(name=metric_name(kind, name), unit=unit, better=Better.LOWER, estimate=estimate))
    return found


def details_of(outcomes: Mapping[str, GoalOutcome]) -> dict[str, Value]:
    """The outcomes as a result keeps them; nothing where there is no goal."""
    return {GOALS: encode_goals(outcomes)} if outcomes else {}


def warn_if_missed(outcome: GoalOutcome) -> ResultWarning | None:
    """The warning of a goal that was not reached."""
    if outcome.reached:
        return None
    best = "" if outcome.best is None else f"; the best value was {outcome.best:g}"
    return ResultWarning(
        code=NOT_REACHED,
        seen=f"{outcome.when} was not reached within {format_value(outcome.seconds, 's')}{best}",
        remedy="the round counts as one that takes longer than this; let it run longer to know how long",
    )


def _column(columns: Sequence[Column], groups: Mapping[str, int], name: str) -> Column:
    return columns[max(0, groups[name] - 1)]


def _number(text: str | bytes) -> float | None:
    try:
        return parse_number(text.decode("ascii", "replace") if isinstance(text, bytes) else text) if text else None
    except (NotANumberError, NotFiniteError):
        return None
