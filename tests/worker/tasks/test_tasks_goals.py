"""Goals: the first value that keeps a bound, and what is told of a command that never printed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.records import Better
from benchwright.records.goals import GoalOutcome, decode_goal
from benchwright.targets.tasks.definition import OWN_VALUES, Pattern, Task, TaskGoal
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor
from benchwright.worker.tasks.goals import NOT_REACHED

PATTERN = Pattern(text=r"epoch (\S+) step (\S+) accuracy (\S+)", series={"epoch": 1, "step": 2, "accuracy": 3})
GOAL = TaskGoal(
    name="accuracy_95",
    when="accuracy >= 0.95",
    series="accuracy",
    relation=">=",
    bound=0.95,
    steps="step",
    epochs="epoch",
)


def _extract(values: list[float | str], goal: TaskGoal = GOAL, *, at_once: bool = False) -> ExtractedValues:
    """What is found where an epoch takes two seconds and 100 steps; `at_once`: all lines come in one piece."""
    extractor = Extractor(Task(name="demo", file=Path("tasks.toml"), patterns=(PATTERN,), goals=(goal,)))
    lines = [f"epoch {n} step {100 * n} accuracy {value}\n" for n, value in enumerate(values, start=1)]
    if at_once:
        extractor.feed("".join(lines).encode(), 2.0 * len(lines))
    else:
        for number, line in enumerate(lines, start=1):
            extractor.feed(line.encode(), 2.0 * number)
    extractor.finish(2.0 * len(values) + 1.0)
    return extractor.result()


def _points(found: ExtractedValues) -> dict[str, float]:
    return {metric.name: metric.estimate.point for metric in found.metrics}


@pytest.mark.parametrize("at_once", [False, True])
def test_a_goal_is_the_first_value_that_keeps_it(at_once: bool) -> None:
    found = _extract([0.5, 0.9, "n/a", 0.96, 0.94, 0.97], at_once=at_once)
    assert _points(found) == {
        "reached_accuracy_95": 100.0,
        "time_to_accuracy_95": 12.0 if at_once else 8.0,
        "steps_to_accuracy_95": 400.0,
        "epochs_to_accuracy_95": 4.0,
    }
    directions = {metric.name: metric.better for metric in found.metrics}
    assert directions["time_to_accuracy_95"] is Better.LOWER and directions["reached_accuracy_95"] is Better.HIGHER
    assert not [warning for warning in found.warnings if warning.code == NOT_REACHED]
    assert found.timelines[0].values == (0.5, 0.9, 0.96, 0.94, 0.97)


def test_a_goal_that_was_not_reached_has_no_time_and_is_no_failure() -> None:
    found = _extract([0.5, 0.94, 0.9])
    assert _points(found) == {"reached_accuracy_95": 0.0} and not found.missing
    (warning,) = found.warnings
    assert warning.code == NOT_REACHED
    assert warning.seen == "accuracy >= 0.95 was not reached within 7.00 s; the best value was 0.94"
    told = found.details["goals"]["accuracy_95"]  # type: ignore[index, call-overload]
    assert decode_goal(told) == GoalOutcome(
        when="accuracy >= 0.95", reached=False, seconds=7.0, steps=300, epochs=3, best=0.94
    )


def test_a_value_that_was_never_printed_is_a_failure_and_not_a_goal_that_takes_long() -> None:
    found = _extract(["n/a", "n/a"])
    assert found.missing == {"the goal accuracy_95": "no value was printed that it is about"}
    assert "goals" not in found.details


def test_a_goal_may_have_to_hold_and_may_count_its_own_values() -> None:
    goal = TaskGoal(
        name="loss", when="accuracy < 0.2", series="accuracy", relation="<", bound=0.2, hold=2, epochs=OWN_VALUES
    )
    found = _extract([0.9, 0.1, 0.3, 0.15, 0.05, 0.4], goal)
    assert _points(found) == {"reached_loss": 100.0, "time_to_loss": 10.0, "epochs_to_loss": 5.0}


@pytest.mark.parametrize("told", [None, 3, {}, {"reached": "yes"}, {"reached": True}, {"reached": True, "seconds": -1}])
def test_what_is_no_goal_in_a_result_is_left_out(told: object) -> None:
    assert decode_goal(told) is None  # type: ignore[arg-type]
