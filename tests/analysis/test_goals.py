"""Goals over rounds and on two sides, where some rounds never got there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchwright.analysis import goals
from benchwright.analysis.comparison import ComparedMetric, compare_runs, notes_of
from benchwright.analysis.judged_metrics import headline_metrics
from benchwright.analysis.live_values import live_values, round_band
from benchwright.analysis.rows import rows
from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Metric,
    Result,
    Run,
    Status,
    Target,
    Timeline,
    Value,
    Verdict,
)
from benchwright.records.goals import GoalOutcome, encode_goals, goals_of
from benchwright.worker.tasks.goals import metrics_of

NAME = "accuracy_95"
TIME, STEPS = f"time_to_{NAME}", f"steps_to_{NAME}"


def _result(number: int, seconds: float, *, reached: bool = True, status: Status = Status.OK) -> Result:
    outcome = GoalOutcome(when="accuracy >= 0.95", reached=reached, seconds=seconds, steps=10 * seconds, best=0.9)
    line = Timeline(name="accuracy", unit="", seconds=(1.0, 2.0, seconds), values=(0.5, 0.8, 0.95 if reached else 0.9))
    speed = Estimate(point=3000.0 + number, low=None, high=None, method="reported: mean")
    return Result(
        id=f"r{number}-{seconds}",
        case=Case(name="train", target=Target(runtime="task", uri="tasks.toml::train")),
        round=number,
        status=status,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01T00:00:00Z",
        duration=seconds,
        metrics=(
            Metric(name="speed", unit="images/s", better=Better.HIGHER, estimate=speed),
            *metrics_of(NAME, outcome),
        ),
        timelines=(line,),
        details={"goals": encode_goals({NAME: outcome}), "log": {"accuracy": {"hits": 3, "left_out_until": 1.0}}},
        error=Failure(kind=str(status), message="no") if status is not Status.OK else None,
    )


def _run(name: str, results: Sequence[Result]) -> Run:
    return Run(id=name, started_at="2026-01-01T00:00:00Z", harness="test", results=tuple(results))


def _rounds(times: Sequence[float], never: int = 0, limit: float = 60.0, status: Status = Status.OK) -> list[Result]:
    reached = [_result(number, at) for number, at in enumerate(times)]
    late = [_result(len(times) + n, limit, reached=False, status=status) for n in range(never)]
    return [*reached, *late]


def _compared(before: list[Result], after: list[Result], name: str = TIME) -> ComparedMetric:
    (row,) = compare_runs(_run("a", before), _run("b", after))
    return next(metric for metric in row.metrics if metric.name == name)


def test_rounds_that_all_got_there_are_combined_as_any_other() -> None:
    (row,) = rows(_run("a", _rounds([10.0, 12.0, 14.0])))
    assert row.metrics[TIME].estimate.point == pytest.approx(12.0)
    assert row.metrics[TIME].estimate.low is not None
    assert goals.describe_goals([row]) == []


@pytest.mark.parametrize("status", [Status.OK, Status.TIMEOUT])
def test_rounds_that_never_got_there_count_in_the_median_and_not_as_numbers(status: Status) -> None:
    (row,) = rows(_run("a", _rounds([10.0, 12.0, 14.0], never=2, status=status)))
    assert row.metrics[TIME].estimate.point == 14.0  # the third of five
    assert (row.metrics[TIME].estimate.low, row.metrics[TIME].estimate.high) == (None, None)
    assert "3 got there; too few got there for an upper end" in row.metrics[TIME].estimate.method
    (said,) = goals.describe_goals([row])
    assert "accuracy >= 0.95 was reached in 3 of 5 rounds; half of them get there after 14.0 s [10.0 s, open]" in said


def test_a_crash_is_a_failure_and_not_a_round_that_takes_long() -> None:
    crashed = _result(9, 3.0, reached=False, status=Status.FAILED)
    assert goals_of(crashed) == {}
    (row,) = rows(_run("a", [*_rounds([10.0, 12.0], never=1), crashed]))
    (said,) = goals.describe_goals([row])
    assert "reached in 2 of 3 rounds (1 more failed, which says nothing of the goal)" in said


def test_without_half_of_the_rounds_there_is_no_number_at_all() -> None:
    (row,) = rows(_run("a", _rounds([10.0], never=4)))
    assert TIME not in row.metrics
    (said,) = goals.describe_goals([row])
    assert "less than half get there within 60.0 s" in said
    (never,) = rows(_run("a", _rounds([], never=3)))
    assert goals.describe_goals([never]) == [
        "train: accuracy >= 0.95 was reached in 0 of 3 rounds, and in none within 60.0 s"
    ]


def test_a_side_that_never_gets_there_is_worse_and_by_a_test_for_such_times() -> None:
    fast, never = _rounds([10.0, 11.0, 12.0, 13.0, 14.0]), _rounds([], never=5)
    found = _compared(fast, never)
    assert (found.verdict, found.p_value) == (Verdict.WORSE, pytest.approx(2 / 252))
    assert "5 of 5 and 0 of 5 rounds got there" in found.sentence
    assert (found.before.point, found.after.point) == (
        12.0,
        60.0,
    )  # means within the longest time that is known of both
    assert _compared(never, fast).verdict is Verdict.BETTER
    (row,) = compare_runs(_run("a", fast), _run("b", never))
    assert any("judged by a log-rank test" in note for note in notes_of([row]))
    assert f"reached_{NAME}" not in [metric.name for metric in row.metrics]  # the time counts every round


def test_too_few_rounds_are_unclear_and_say_so() -> None:
    found = _compared(_rounds([10.0, 11.0, 12.0]), _rounds([], never=3))
    assert found.verdict is Verdict.UNCLEAR and "so few rounds cannot give less than 0.1" in found.why


def test_rounds_that_never_got_there_never_show_that_nothing_changed() -> None:
    same = _rounds([10.0, 11.0, 12.0, 13.0], never=1)
    found = _compared(same, [replace(one, id=f"{one.id}b") for one in same])
    assert found.verdict is Verdict.UNCLEAR and found.ratio is not None and found.ratio.point == 1.0


def test_a_timeout_that_a_goal_was_looked_for_until_makes_no_row_worse_by_itself() -> None:
    before, after = _rounds([10.0, 11.0, 12.0]), _rounds([10.0, 11.0], never=1, status=Status.TIMEOUT)
    (row,) = compare_runs(_run("a", before), _run("b", after), metrics=[STEPS])
    assert row.verdict is Verdict.UNCLEAR
    crashed = [*_rounds([10.0, 11.0]), _result(2, 3.0, reached=False, status=Status.FAILED)]
    (failed,) = compare_runs(_run("a", before), _run("b", crashed), metrics=[STEPS])
    assert failed.verdict is Verdict.WORSE


def test_the_share_that_got_there_is_judged_by_an_exact_test_where_it_is_asked_for() -> None:
    before, after = _rounds([10.0] * 6), _rounds([], never=6)
    (row,) = compare_runs(_run("a", before), _run("b", after), metrics=[f"reached_{NAME}"])
    (found,) = row.metrics
    assert found.verdict is Verdict.WORSE and "0 of 6 rounds got there, before 6 of 6" in found.sentence
    (same,) = compare_runs(_run("a", before), _run("b", before), metrics=[f"reached_{NAME}"])
    assert same.verdict is Verdict.SAME


def test_a_short_view_shows_the_time_and_not_the_share() -> None:
    assert headline_metrics({f"reached_{NAME}": "higher", TIME: "lower"}) == [TIME]
    assert headline_metrics({f"reached_{NAME}": "higher"}) == [f"reached_{NAME}"]


def test_values_over_time_have_a_band_over_rounds_and_their_marks() -> None:
    (row,) = rows(_run("a", _rounds([10.0, 12.0, 14.0], never=1)))
    (found,) = live_values(row)
    assert (found.name, found.goal, found.bound, found.reached) == (
        "accuracy",
        "accuracy >= 0.95",
        0.95,
        "3 of 4 rounds",
    )
    assert found.left_out_until == 1.0 and len(found.rounds) == 4
    band = round_band(found, 30)
    assert band is not None and (band.low <= band.middle).all() and (band.middle <= band.high).all()
    assert band.seconds[0] == 1.0 and band.low[0] == band.high[0] == 0.5
    assert band.seconds[-1] == 14.0  # which half of the rounds have reached
    (two,) = rows(_run("a", _rounds([10.0, 12.0])))
    assert round_band(live_values(two)[0], 30) is None


def test_what_is_said_of_a_left_out_part_is_what_the_round_says_that_leaves_out_the_most() -> None:
    """One round may be steady from the start while another is not."""
    parts: list[dict[str, Value]] = [
        {"left_out": 0, "hits": 90, "left_out_until": 0.0, "left_out_why": "steady from the start"},
        {"left_out": 48, "hits": 90, "left_out_until": 8.2, "left_out_why": "steady from there on"},
    ]
    run = [replace(_result(n, 3.0), details={"log": {"speed": part}}) for n, part in enumerate(parts)]
    (said,) = goals.describe_left_out(rows(_run("a", run)))
    assert said.endswith("the first 0 to 48 of 90 values (0 s to 8.20 s) left out: steady from there on")
