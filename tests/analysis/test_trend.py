"""One value per run, and changes that are called changes only when they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sample_runs as samples
from benchwright.analysis.comparison import compare_runs
from benchwright.analysis.trend import JudgedSeries, JudgementContext, TrendStep, sparkline, trend_steps
from benchwright.records import Better, Estimate, Run, Status, Verdict
from benchwright.report.history_text import series_columns
from benchwright.stats.summary import combine


@dataclass(frozen=True, kw_only=True)
class Round:
    run: str
    estimate: Estimate
    result: str = ""
    started_at: str = "2026-01-01T00:00:00Z"
    status: Status = Status.OK
    revision: str = ""


def _rounds(*values: tuple[str, float], half: float = 0.01) -> list[Round]:
    return [
        Round(run=run, estimate=Estimate(point=v, low=v - half, high=v + half), revision=f"commit-{run}")
        for run, v in values
    ]


def _steps(
    rounds: list[Round], better: Better | None = Better.LOWER, metric: str = "latency", runs: Sequence[Run] = ()
) -> list[TrendStep]:
    results = {run.id: run.results for run in runs}
    judging = JudgementContext(metric=metric, better=better, results=lambda run: results.get(run, ()))
    return trend_steps(rounds, judging, most=20)


def test_a_run_that_set_revisions_against_each_other_has_no_value_of_its_own() -> None:
    rounds = _rounds(("a", 1.0), ("pairs", 1.0), ("pairs", 2.0), ("b", 2.0))
    rounds[2] = replace(rounds[2], revision="commit-b")
    assert [step.run for step in _steps(rounds)] == ["a", "b"]


def test_rounds_of_a_run_are_one_step() -> None:
    rounds = _rounds(("a", 1.0), ("a", 1.1), ("b", 2.0))
    first, second = _steps(rounds)
    assert (first.run, first.rounds, first.revision) == ("a", 2, "commit-a")
    assert first.estimate == combine([r.estimate for r in rounds[:2]])
    assert (first.change, first.verdict) == (None, Verdict.UNCLEAR)
    assert second.change == pytest.approx(2.0 / 1.05 - 1)  # of the levels that are shown


@pytest.mark.parametrize(
    ("after", "better", "verdict"),
    [
        (2.5, Better.LOWER, Verdict.WORSE),
        (0.4, Better.LOWER, Verdict.BETTER),
        (2.5, Better.HIGHER, Verdict.BETTER),
        (0.4, Better.HIGHER, Verdict.WORSE),
        (1.5, None, Verdict.UNCLEAR),
        (1.5, Better.LOWER, Verdict.UNCLEAR),  # the intervals lie apart, but two processes may differ as much
        (0.95, Better.HIGHER, Verdict.UNCLEAR),
    ],
)
def test_one_process_each_must_differ_by_more_than_processes_do(
    after: float, better: Better | None, verdict: Verdict
) -> None:
    assert _steps(_rounds(("a", 1.0), ("b", after)), better)[1].verdict is verdict


def test_small_steps_over_many_rounds_are_seen_although_intervals_overlap() -> None:
    before = [("a", v) for v in (1.00, 1.01, 0.99, 1.00, 1.01, 0.99)]
    after = [("b", v * 1.017) for _, v in before]
    first, second = _steps(_rounds(*before, *after, half=0.001))
    assert first.estimate.high is not None and second.estimate.low is not None
    assert second.estimate.low < first.estimate.high
    assert second.verdict is Verdict.WORSE


@pytest.mark.parametrize("slower", [0.7, 0.98, 1.0, 1.015, 1.05, 1.4])
@pytest.mark.parametrize("rounds", [1, 2, 3, 6])
def test_a_history_never_contradicts_a_comparison(slower: float, rounds: int) -> None:
    a, b = (
        samples.make_run(name, rounds=rounds, calls=200, slower=factor, seed=seed, failing=False)
        for name, factor, seed in (("a", 1.0, 1), ("b", slower, 2))
    )
    for metric in ("latency_p50", "throughput"):
        one_case = [replace(run, results=run.results[::4]) for run in (a, b)]  # alone, so that chance is not shared
        (row,) = compare_runs(*one_case, metrics=(metric,))
        (judged,) = row.metrics
        (_, step) = _steps(_points(one_case, metric), judged.better, metric, one_case)
        assert (step.verdict, step.why) == (judged.verdict, judged.why)
        assert step.change == pytest.approx(judged.after.point / judged.before.point - 1)


def test_the_change_is_the_one_between_the_levels_shown() -> None:
    """Rounds that scatter: their ratio on logarithms is -6.8 %, and what stands in the table is 4.92 and 4.7."""
    before, after = (("a", 4.92 + d) for d in (-0.3, 0.3)), (("b", 4.7 + d) for d in (-2.0, 2.0))
    first, second = _steps(_rounds(*before, *after))
    assert (
        second.change
        == pytest.approx(second.estimate.point / first.estimate.point - 1)
        == pytest.approx(-0.0447, abs=1e-4)
    )


def _points(runs: list[Run], metric: str) -> list[Round]:
    found = [(run, result, result.metric(metric)) for run in runs for result in run.results]
    return [Round(run=run.id, result=result.id, estimate=m.estimate) for run, result, m in found if m]


@pytest.mark.parametrize(("rounds", "verdict"), [({0, 1}, Verdict.UNCLEAR), ({1}, Verdict.WORSE)])
def test_a_run_that_the_instrument_does_not_trust_supports_no_verdict(rounds: set[int], verdict: Verdict) -> None:
    a, b = (samples.make_run(n, calls=200, slower=s, failing=False) for n, s in (("a", 1.0), ("b", 1.2)))
    doubt = {"verdict": "unreliable: steal 20 %"}
    doubted = tuple(replace(r, instrument=doubt) if r.round in rounds else r for r in b.results[::4])
    one_case = [replace(a, results=a.results[::4]), replace(b, results=doubted)]
    (_, step) = _steps(_points(one_case, "latency_p50"), runs=one_case)
    assert step.verdict is verdict
    assert (step.why == "the instrument calls the later run unreliable") is (verdict is Verdict.UNCLEAR)


def test_a_change_that_noise_cannot_explain_is_judged_all_the_same() -> None:
    a, b = (samples.make_run(n, calls=200, slower=s, failing=False) for n, s in (("a", 1.0), ("b", 5.0)))
    doubted = tuple(replace(r, instrument={"verdict": "unreliable: x"}) for r in b.results[::4])
    one_case = [replace(a, results=a.results[::4]), replace(b, results=doubted)]
    assert _steps(_points(one_case, "latency_p50"), runs=one_case)[1].verdict is Verdict.WORSE


def test_the_newest_runs_are_kept_and_the_first_of_them_still_looks_back() -> None:
    rounds = _rounds(("a", 1.0), ("b", 2.0), ("c", 4.0))
    judging = JudgementContext(metric="latency", better=Better.LOWER, results=lambda run: ())
    assert [s.run for s in trend_steps(rounds, judging, most=2)] == ["b", "c"]
    assert trend_steps(rounds, judging, most=2)[0].change == pytest.approx(1.0)
    assert trend_steps(rounds, judging, most=3) == trend_steps(rounds, judging, most=9)


def test_totals_are_not_judged() -> None:
    assert _steps(_rounds(("a", 1.0), ("b", 9.0)), Better.LOWER, "energy")[1].verdict is Verdict.UNCLEAR


@pytest.mark.parametrize(("value", "verdict"), [(1.9, Verdict.UNCLEAR), (2.0, Verdict.WORSE), (5.0, Verdict.WORSE)])
def test_without_an_interval_only_a_factor_of_two_is_called_a_change(value: float, verdict: Verdict) -> None:
    before, after = _rounds(("a", 1.0), ("b", value))
    once = [replace(one, estimate=replace(one.estimate, low=None, high=None)) for one in (before, after)]
    step = _steps(once)[1]
    assert (step.change, step.verdict) == (pytest.approx(value - 1), verdict)


def test_rounds_that_are_not_ok_do_not_count() -> None:
    first, killed, last = _rounds(("a", 1.0), ("a", 9.0), ("b", 1.0))
    (a, b) = _steps([first, replace(killed, status=Status.KILLED), last])
    assert (a.rounds, a.estimate.point, b.change) == (1, 1.0, 0.0)


def test_after_zero_there_is_no_ratio() -> None:
    assert _steps(_rounds(("a", 0.0), ("b", 5.0)))[1].change is None


def test_shares_of_failures_are_told_in_points() -> None:
    rounds = _rounds(("a", 0.5), ("b", 10.0), ("c", 0.0), ("d", 0.0), half=0.4)
    judging = JudgementContext(metric="errors", unit="%", better=Better.LOWER, results=lambda run: ())
    steps = trend_steps(rounds, judging, most=20)
    assert [step.change for step in steps] == [None, pytest.approx(0.095), pytest.approx(-0.1), 0.0]
    assert [step.verdict for step in steps[1:]] == [Verdict.WORSE, Verdict.BETTER, Verdict.SAME]
    series = JudgedSeries(
        key="k",
        case="served",
        params="{}",
        metric="errors",
        unit="%",
        better="lower",
        machine="m",
        steps=tuple(steps),
        drifts=(),
    )
    assert series_columns(series)[-1] == ["change", "-", "+9.5 points", "-10 points", "+0 points"]


@given(
    st.lists(
        st.floats(allow_subnormal=False, allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
        max_size=50,
    )
)
def test_a_sparkline_keeps_the_order_of_its_values(values: list[float]) -> None:
    bars = sparkline(values)
    assert len(bars) == len(values)
    ordered = [bars[i] for i in sorted(range(len(values)), key=values.__getitem__)]
    assert ordered == sorted(ordered)
    if len(set(values)) > 1:
        assert {ordered[0], ordered[-1]} == {"▁", "█"}
