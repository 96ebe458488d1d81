"""Control against treatment: stages, turns, orders, failures. A script says what is measured, not a process."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from benchwright.errors import StoreError, TargetError
from benchwright.execution.builds import BuiltRevision
from benchwright.execution.session import Plan, Setting
from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Load,
    Metric,
    Result,
    Revision,
    Status,
    Target,
    Verdict,
)
from benchwright.records.trials import Pair, Stage, StageResult, Trial
from benchwright.system.interrupts import Interrupt
from benchwright.targets.sources import Request
from benchwright.workflows.ab import trial as duel
from benchwright.workflows.ab.pairs import later_length
from benchwright.workflows.ab.trial import AbRules, MatchedCases, TrialDestination

# The stage, the side, the case's name and the pair's number become a value; None is a failure.
Script = Callable[[str, str, str, int], float | None]


class Scripted:
    """Stands in for `Measuring`."""

    made: list[Scripted]
    script: Script

    def __init__(self, plan: Plan, *_: Any, interrupt: Interrupt, **__: Any) -> None:
        self.plan, self._interrupt = plan, interrupt
        self.results: list[Result] = []
        self.id = f"run{len(self.made)}"
        self.made.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    @property
    def interrupted(self) -> bool:
        return self._interrupt.seen

    def measure(self, case: Case, number: int, setting: Setting) -> Result:
        value = type(self).script(self.plan.reason, str(setting.notes["side"]), case.name, number)
        estimate = Estimate(point=value or 0.0, low=None, high=None)
        result = Result(
            id=f"{self.id}-{len(self.results)}",
            case=case,
            round=number,
            status=Status.FAILED if value is None else Status.OK,
            environment=Environment(machine={}, system={}),
            started_at="",
            duration=0.0,
            details=setting.notes,
            error=Failure(kind="exit", message="it fell over") if value is None else None,
            metrics=()
            if value is None
            else (Metric(name="latency_p50", unit="s", better=Better.LOWER, estimate=estimate),),
        )
        self.results.append(result)
        return result


def _case(name: str, **params: int) -> Case:
    return Case(name=name, target=Target(runtime="fake", uri="fake:"), params=params)


def _built(name: str, **known: Any) -> BuiltRevision:
    revision = Revision(vcs="git", id=name)
    return BuiltRevision(
        revision=revision, folder=Path("/nowhere"), python=sys.executable, log=Path("/nowhere/log"), **known
    )


_CASE = _case
OLD, NEW = _built("old"), _built("new")


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trial]:
    """Runs a trial over the named cases as the script says."""
    monkeypatch.setattr(Scripted, "made", [], raising=False)
    monkeypatch.setattr(duel, "Measuring", Scripted)

    def run(script: Script, *names: str, keeping: TrialDestination | None = None, **rules: Any) -> Trial:
        monkeypatch.setattr(Scripted, "script", staticmethod(script), raising=False)
        cases = tuple((_case(name), _case(name)) for name in names)
        return duel.trial(OLD, NEW, MatchedCases(cases=cases), AbRules(**rules), keeping, Plan(tags=("mine",)))

    return run


def _slower(by: float) -> Script:
    return lambda stage, side, name, number: (1 + by if side == "treatment" else 1.0) * (1 + 1e-4 * (number % 3))


def _wild(side: str, number: int) -> float:
    return 1.0 + 0.3 * ((number * 7 + (side == "control") * 4) % 5)


def test_worse_is_seen_looked_at_again_and_recorded(hold: Callable[..., Trial]) -> None:
    trial = hold(_slower(0.10), "a")
    (row,) = trial.rows
    assert row.verdict is Verdict.WORSE and trial.worse and not trial.ok
    assert [heat.stage for heat in row.heats] == [Stage.BENCHMARK, Stage.VERIFY, Stage.REGRESS]
    assert row.effect is not None and row.effect.point == pytest.approx(1.10)
    assert [heat.counted for heat in row.heats] == [6, 6, 1]  # the fewest: both orders of the pairs are known
    assert {pair.order for pair in row.heats[0].pairs} == {"AB", "BA"}
    assert row.pairs == sum(heat.counted for heat in row.heats)
    assert row.p_value <= 0.01**2
    assert [run.plan.reason for run in Scripted.made] == [s for s in Stage for _ in range(2)]
    assert [run.plan.baseline for run in Scripted.made] == ["", "run0", "", "run2", "", "run4"]
    assert trial.runs == {"benchmark": ("run0", "run1"), "verify": ("run2", "run3"), "regress": ("run4", "run5")}
    assert Scripted.made[1].plan.tags == ("mine", "ab", f"ab-{trial.id}", "treatment")


def test_a_clear_change_is_measured_in_shorter_processes(hold: Callable[..., Trial]) -> None:
    (row,) = hold(_slower(0.20), "a").rows
    assert [heat.length for heat in row.heats[:2]] == [0.2, 0.2] and row.verdict is Verdict.WORSE
    lengths = {run.plan.reason: {result.case.load.duration for result in run.results} for run in Scripted.made}
    assert lengths["benchmark"] == {None, 0.2} and lengths["verify"] == {0.2}
    assert [result.case.load.duration for result in Scripted.made[0].results] == [None] * 2 + [0.2] * 4


def test_pairs_that_differ_much_make_longer_processes_and_end_early_where_more_would_not_help(
    hold: Callable[..., Trial],
) -> None:
    noise = random.Random(4)
    (row,) = hold(lambda *_: 1.0 + noise.random(), "a").rows
    (heat,) = row.heats
    assert row.verdict is Verdict.UNCLEAR and 20 <= heat.counted < 40 and heat.length == 4.0
    assert "40 tell changes from about" in row.why and "what helps is a quieter machine" in row.why
    durations = [result.case.load.duration for result in Scripted.made[0].results]
    assert durations[:13] == [None] * 8 + [2.0] * 4 + [4.0]


@pytest.mark.parametrize(("change", "verdict"), [(0.2, Verdict.WORSE), (-0.2, Verdict.BETTER)])
def test_a_change_that_shows_through_the_scatter_makes_no_process_longer(
    hold: Callable[..., Trial], change: float, verdict: Verdict
) -> None:
    """Differences of 20 % that scatter by 5 % are no reason to measure longer, whichever their direction."""
    noise = random.Random(5)
    (row,) = hold(lambda _, side, *__: 1.0 + change * (side == "treatment") + noise.gauss(0, 0.05), "a").rows
    assert row.verdict is verdict
    assert max(heat.length for heat in row.heats) <= 1.0


@pytest.mark.parametrize(("count", "length"), [(9, 1.0), (30, 4.0)])
def test_the_second_look_is_as_long_as_usual_where_the_first_needed_few_pairs(count: int, length: float) -> None:
    noise = random.Random(6)
    pairs = [Pair(number=i, order="AB", control=1.0, treatment=1.25 + noise.gauss(0, 0.1)) for i in range(count)]
    effect = Estimate(point=1.25, low=1.1, high=1.4)
    first = StageResult(
        stage=Stage.BENCHMARK, verdict=Verdict.WORSE, why="", pairs=tuple(pairs), effect=effect, length=4.0
    )
    assert later_length([first], 40) == length
    assert later_length([replace(first, verdict=Verdict.UNCLEAR)], 40) == 4.0


def test_a_length_that_was_asked_for_stays(hold: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "_case", lambda name: replace(_CASE(name), load=Load(duration=0.1)))
    noise = random.Random(4)
    (row,) = hold(lambda *_: 1.0 + noise.random(), "a").rows
    assert {result.case.load.duration for result in Scripted.made[0].results} == {0.1}
    assert row.heats[0].length == 1.0 and "a longer --duration" in row.why


def test_better_is_looked_at_again_and_is_no_regression(hold: Callable[..., Trial]) -> None:
    trial = hold(_slower(-0.10), "a")
    assert trial.rows[0].verdict is Verdict.BETTER and trial.ok
    assert list(trial.runs) == ["benchmark", "verify"]


def test_a_case_that_did_not_change_is_bounded_and_ends_early(hold: Callable[..., Trial]) -> None:
    def noisy(stage: str, side: str, name: str, number: int) -> float:
        return 1 + 1e-4 * ((7 * number + 3 * (side == "control")) % 5)

    trial = hold(noisy, "a")
    assert trial.rows[0].verdict is Verdict.SAME and trial.ok
    assert trial.rows[0].pairs < 40 and list(trial.runs) == ["benchmark"]


def test_a_change_that_the_second_look_does_not_see_is_unclear(hold: Callable[..., Trial]) -> None:
    def once(stage: str, side: str, name: str, number: int) -> float:
        return _slower(0.10 if stage == "benchmark" else 0.0)(stage, side, name, number) or 0.0

    row = hold(once, "a").rows[0]
    assert row.verdict is Verdict.UNCLEAR and row.stage is Stage.VERIFY
    assert row.why.startswith("worse at the first look, same at the second")
    assert row.p_value == row.adjusted == 1.0


def test_without_a_second_look_many_cases_make_each_look_stricter(hold: Callable[..., Trial]) -> None:
    alone = hold(_slower(0.10), "a", verify=False)
    several = hold(_slower(0.10), "a", "b", "c", verify=False)
    assert {row.verdict for row in (*alone.rows, *several.rows)} == {Verdict.WORSE}
    assert several.rows[0].heats[0].counted > alone.rows[0].heats[0].counted
    assert all(row.p_value <= row.adjusted <= 0.01 for row in several.rows)


def test_of_many_noisy_cases_only_those_that_changed_are_named(hold: Callable[..., Trial]) -> None:
    slow = {"case3", "case6"}
    chance = random.Random(6)

    def noisy(stage: str, side: str, name: str, number: int) -> float:
        return (1.08 if name in slow and side == "treatment" else 1.0) * math.exp(chance.gauss(0.0, 0.01))

    trial = hold(noisy, *(f"case{i}" for i in range(8)), pairs=14)
    assert {row.name for row in trial.rows if row.verdict is Verdict.WORSE} == slow
    assert not [row for row in trial.rows if row.verdict is Verdict.BETTER]
    assert all(row.p_value <= row.adjusted <= 0.01 for row in trial.rows if row.name in slow)


def test_cases_take_turns_and_one_that_is_decided_drops_out(hold: Callable[..., Trial]) -> None:
    def mixed(stage: str, side: str, name: str, number: int) -> float:
        if name == "wild":
            return _wild(side, number)
        return _slower(0.10)(stage, side, name, number) or 0.0

    trial = hold(mixed, "clear", "wild", pairs=12)
    names = [result.case.name for result in Scripted.made[0].results]
    assert names[:4] == ["clear", "wild", "clear", "wild"]
    assert names[-1] == "wild" and names.count("wild") == 12
    assert [row.verdict for row in trial.rows] == [Verdict.WORSE, Verdict.UNCLEAR]


def test_the_order_in_each_pair_is_drawn_from_the_seed_and_recorded(hold: Callable[..., Trial]) -> None:
    def orders(seed: int) -> list[str]:
        row = hold(_slower(0.0), "a", seed=seed, pairs=5).rows[0]
        return [pair.order for pair in row.heats[0].pairs]

    drawn = [orders(seed) for seed in range(12)]
    assert drawn[0] == orders(0)
    assert len({tuple(each) for each in drawn}) > 6
    assert {order for each in drawn for order in each} == {"AB", "BA"}
    recorded = [result.details["order"] for result in Scripted.made[0].results]
    assert recorded == drawn[0]


def test_a_failure_now_and_then_does_not_count_and_does_not_stop(hold: Callable[..., Trial]) -> None:
    def shaky(stage: str, side: str, name: str, number: int) -> float | None:
        return None if (number, side) == (1, "treatment") else _slower(0.10)(stage, side, name, number)

    row = hold(shaky, "a").rows[0]
    assert row.verdict is Verdict.WORSE and not row.failed
    assert row.heats[0].pairs[1].why == "treatment: it fell over"
    assert row.heats[0].counted == len(row.heats[0].pairs) - 1


def test_a_side_that_keeps_failing_is_given_up_and_the_others_go_on(hold: Callable[..., Trial]) -> None:
    def broken(stage: str, side: str, name: str, number: int) -> float | None:
        return None if name == "bad" and side == "treatment" else _slower(0.0)(stage, side, name, number)

    trial = hold(broken, "bad", "good")
    bad, good = trial.rows
    assert bad.failed and len(bad.heats[0].pairs) == 3 and bad.effect is None
    assert bad.why == "treatment: it fell over" and not trial.ok and not trial.worse
    assert good.verdict is Verdict.SAME


@pytest.mark.parametrize("interrupted", [False, True])
def test_when_no_pair_counts_the_case_has_failed_however_few_there_may_be(
    hold: Callable[..., Trial], interrupted: bool
) -> None:
    keeping = TrialDestination()

    def broken(stage: str, side: str, name: str, number: int) -> float | None:
        keeping.interrupt.seen = interrupted
        return None if side == "treatment" else 1.0

    trial = hold(broken, "a", keeping=keeping, pairs=1)
    (row,) = trial.rows
    assert not trial.ok and row.failed is not interrupted
    assert row.why == ("1 pair could not tell" if interrupted else "treatment: it fell over")


@pytest.mark.parametrize(
    ("metric", "value", "why"),
    [
        ("latency_p5O", 1.0, "there is no metric 'latency_p5O' on both sides; did you mean 'latency_p50'?"),
        ("", 0.0, "latency_p50 is not above zero on both sides, so there is no ratio"),
    ],
)
def test_what_cannot_be_judged_says_so(hold: Callable[..., Trial], metric: str, value: float, why: str) -> None:
    row = hold(lambda *_: value, "a", metric=metric).rows[0]
    assert row.failed and row.why == why and row.verdict is Verdict.UNCLEAR


def test_an_interrupt_ends_it_with_what_is_known(hold: Callable[..., Trial]) -> None:
    keeping = TrialDestination()

    def press(stage: str, side: str, name: str, number: int) -> float:
        keeping.interrupt.seen = keeping.interrupt.seen or number == 2
        return 1.0

    trial = hold(press, "a", "b", keeping=keeping)
    assert trial.interrupted and not trial.ok
    assert [row.why for row in trial.rows] == ["cut off after 3 pairs", "cut off after 2 pairs"]


def test_an_interrupt_before_the_second_look_names_no_change(hold: Callable[..., Trial]) -> None:
    keeping = TrialDestination()

    def press(stage: str, side: str, name: str, number: int) -> float:
        keeping.interrupt.seen = keeping.interrupt.seen or (name == "b" and number == 8)
        return _slower(0.10)(stage, side, name, number) or 0.0 if name == "a" else _wild(side, number)

    trial = hold(press, "a", "b", keeping=keeping)
    assert trial.rows[0].verdict is Verdict.UNCLEAR
    assert trial.rows[0].why == "worse at the first look; cut off before the second"


def test_an_interrupt_from_before_measures_nothing(hold: Callable[..., Trial]) -> None:
    keeping = TrialDestination()
    keeping.interrupt.seen = True
    trial = hold(_slower(0.10), "a", keeping=keeping)
    assert trial.interrupted and trial.rows[0].why == "cut off after 0 pairs" and not Scripted.made[0].results


def test_a_store_that_fails_later_loses_neither_the_verdicts_nor_the_results(
    hold: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(self: Scripted, kind: object, error: BaseException | None, at: object) -> None:
        failure = StoreError(f"the disk is full; kept in {self.id}.jsonl", remedy=f"import {self.id}.jsonl")
        failure.measured = self.results
        raise failure

    monkeypatch.setattr(Scripted, "__exit__", leave)
    trial = hold(_slower(0.10), "a", verify=False)
    assert trial.rows[0].verdict is Verdict.WORSE
    assert trial.unsaved[:2] == tuple(  # each in one line
        f"the disk is full; kept in run{i}.jsonl (import run{i}.jsonl)" for i in (1, 0)
    )


def test_cases_are_matched_by_name_and_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = {
        "old": [_case("a", n=1), _case("a", n=2), _case("gone")],
        "new": [_case("fresh"), _case("a", n=2), _case("a", n=3)],
    }
    monkeypatch.setattr(duel, "plan_in", lambda built, request: planned[built.revision.id])
    matched = duel.match(OLD, NEW, Request(targets=["x"]))
    assert [(a.params, b.params) for a, b in matched.cases] == [({"n": 2}, {"n": 2})]
    assert matched.only_control == ("a n=1", "gone")
    assert matched.only_treatment == ("fresh", "a n=3")
    planned["new"] = [_case("fresh")]
    with pytest.raises(TargetError, match="no case in common: control has a, gone, treatment has fresh"):
        duel.match(OLD, NEW, Request(targets=["x"]))


def test_a_side_that_was_not_built_makes_a_trial_without_rows() -> None:
    failure = Failure(kind="build", message="the build ended with exit code 3")
    trial = duel.ab(OLD, _built("new", failure=failure), Request(targets=["x"]))
    assert not trial.ok and not trial.built and trial.rows == ()
    assert trial.treatment.failure == failure and trial.control.revision == OLD.revision
