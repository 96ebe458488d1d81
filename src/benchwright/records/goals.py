"""What became of the goals of a task, as results keep it in `details`: reached, or how long that was waited for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchwright.records import Result, Status, Value

GOALS = "goals"  # the key of `Result.details`
TIME, STEPS, EPOCHS, COST, REACHED = "time", "steps", "epochs", "cost", "reached"
AMOUNTS = (TIME, STEPS, EPOCHS, COST)
_OBSERVED = (Status.OK, Status.TIMEOUT)  # of a command that crashed nobody knows whether it would have got there


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOutcome:
    """One goal in one round. Where it was not reached, the amounts are what was seen at least."""

    when: str  # as the task says it: "accuracy >= 0.95"
    reached: bool
    seconds: float
    steps: float | None = None
    epochs: float | None = None
    best: float | None = None  # the best value that was printed until then
    cost: float | None = None  # in the currency of the machine's price
    currency: str = ""

    def amount(self, kind: str) -> float | None:
        """The time, steps, epochs or cost that it took, or that were seen at least."""
        return {TIME: self.seconds, STEPS: self.steps, EPOCHS: self.epochs, COST: self.cost}[kind]

    def unit(self, kind: str) -> str:
        """The unit of such an amount."""
        return {TIME: "s", COST: self.currency}.get(kind, "")


def metric_name(kind: str, goal: str) -> str:
    """The name of a goal's metric: `time_to_accuracy_95`, and `reached_accuracy_95`."""
    return f"{REACHED}_{goal}" if kind == REACHED else f"{kind}_to_{goal}"


def is_reached_share(name: str, unit: str) -> bool:
    """Whether a metric is the share of rounds that reached a goal."""
    return name.startswith(f"{REACHED}_") and unit == "%"


def time_metric_of(name: str) -> str:
    """The metric that tells how long it took, of the share of rounds that got there; "" for any other name."""
    prefix = f"{REACHED}_"
    return metric_name(TIME, name.removeprefix(prefix)) if name.startswith(prefix) else ""


def encode_goals(outcomes: Mapping[str, GoalOutcome]) -> dict[str, Value]:
    """The outcomes as JSON, without what is not known."""
    return {name: _encode(outcome) for name, outcome in outcomes.items()}


def _encode(outcome: GoalOutcome) -> Value:
    told: dict[str, Value] = {"when": outcome.when, "reached": outcome.reached, "seconds": outcome.seconds}
    more = {STEPS: outcome.steps, EPOCHS: outcome.epochs, "best": outcome.best, COST: outcome.cost}
    told |= {key: value for key, value in more.items() if value is not None}
    return {**told, "currency": outcome.currency} if outcome.currency else told


def goals_of(result: Result) -> dict[str, GoalOutcome]:
    """What became of each goal of a round that ended well or at its timeout; nothing of one that failed.

    A result may come from anywhere: what is no goal in it is left out.
    """
    told = result.details.get(GOALS)
    if result.status not in _OBSERVED or not isinstance(told, dict):
        return {}
    return {name: outcome for name, one in told.items() if (outcome := decode_goal(one)) is not None}


def missed_goal(result: Result, metric: str) -> GoalOutcome | None:
    """The goal whose time, steps, epochs or cost the metric is, where this round did not reach it."""
    for name, outcome in goals_of(result).items():
        if not outcome.reached and metric in [metric_name(kind, name) for kind in AMOUNTS]:
            return outcome
    return None


def decode_goal(told: Value) -> GoalOutcome | None:
    """The outcome that a result tells; None where it is none."""
    if not isinstance(told, dict) or not isinstance(told.get("reached"), bool):
        return None
    seconds = _number(told.get("seconds"))
    if seconds is None:
        return None
    return GoalOutcome(
        when=str(told.get("when", "")),
        reached=told["reached"] is True,
        seconds=seconds,
        steps=_number(told.get(STEPS)),
        epochs=_number(told.get(EPOCHS)),
        best=_signed(told.get("best")),
        cost=_number(told.get(COST)),
        currency=str(told.get("currency", "")),
    )


def _signed(value: Value) -> float | None:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else None  # type: ignore[arg-type]


def _number(value: Value) -> float | None:
    number = _signed(value)
    return number if number is not None and number >= 0 else None
