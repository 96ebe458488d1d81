"""Pairs in which a side never reaches the goal that is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from benchwright.records import Case, Environment, Result, Status, Target, Value, Verdict
from benchwright.records.goals import GoalOutcome, encode_goals
from benchwright.records.trials import AbRules, Stage, StageResult
from benchwright.worker.tasks.goals import metrics_of
from benchwright.workflows.ab.pairs import PairedCase, PairedTest

CASE = Case(name="train", target=Target(runtime="task", uri="tasks.toml::train"))
METRIC = "time_to_good"


@dataclass
class _ScriptedSide:
    """A side whose rounds take these seconds until the goal; below zero: it was looked for so long, in vain."""

    name: str
    seconds: Iterator[float]
    status: Status = Status.OK
    measuring: Any = field(default_factory=lambda: SimpleNamespace(interrupted=False))

    def measure(self, case: Case, number: int, notes: Mapping[str, Value] | None = None) -> Result:
        at = next(self.seconds)
        outcome = GoalOutcome(when="accuracy >= 0.9", reached=at > 0, seconds=abs(at))
        return Result(
            id=f"{self.name}{number}",
            case=case,
            round=number,
            status=Status.OK if at > 0 else self.status,
            environment=Environment(machine={}, system={}),
            started_at="",
            duration=1.0,
            metrics=tuple(metrics_of("good", outcome)),
            details={"goals": encode_goals({"good": outcome})},
        )


def _decide(control: list[float], treatment: list[float], status: Status = Status.OK) -> StageResult:
    sides = [
        _ScriptedSide(name=name, seconds=iter(values), status=status)
        for name, values in (("control", control), ("treatment", treatment))
    ]
    paired = PairedCase(sides[0], sides[1], CASE, metric=METRIC, seed="1")  # type: ignore[arg-type]
    test = PairedTest(paired, AbRules(metric=METRIC, pairs=len(control)))
    while test.goes_on:
        test.step()
    return test.stage_result(Stage.BENCHMARK)


@pytest.mark.parametrize("status", [Status.OK, Status.TIMEOUT])
def test_a_side_that_never_gets_there_is_worse_by_at_least_as_much_as_was_seen(status: Status) -> None:
    fast = [10.0 + 0.1 * (n % 3) for n in range(20)]
    found = _decide(fast, [-60.0] * 20, status)
    assert found.verdict is Verdict.WORSE and found.counted >= 5
    assert all(pair.limit == "treatment" and pair.treatment == 60.0 for pair in found.pairs)
    assert "a side never got there, and counts with what it took at least" in found.why
    assert _decide([-60.0] * 20, fast, status).verdict is Verdict.BETTER


def test_pairs_that_do_not_tell_who_is_faster_do_not_count() -> None:
    neither = _decide([-60.0] * 5, [-60.0] * 5)
    assert (neither.verdict, neither.counted) == (Verdict.UNCLEAR, 0)
    assert "neither side reached the goal" in neither.why
    short = _decide([50.0] * 5, [-20.0] * 5)  # ended before the other side got there: it might have been faster
    assert (short.verdict, short.counted) == (Verdict.UNCLEAR, 0)


def test_a_side_that_never_gets_there_is_never_called_the_same() -> None:
    """Just beyond the other's time is all that is known: the true time may be any longer one."""
    close = _decide([10.0] * 40, [-10.0001] * 40)
    assert close.verdict is Verdict.UNCLEAR and close.counted > 0
