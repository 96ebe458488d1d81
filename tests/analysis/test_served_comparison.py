"""Runs of served models are compared by what their users wait for, and by what failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import served_runs
from benchwright.analysis.comparison import ComparedMetric, compare_runs
from benchwright.analysis.gate import ComparedSides, check, parse_condition
from benchwright.records import Run, Verdict
from benchwright.records.findings import FindingRules
from scripted.client import ScriptedServer


def _metrics(before: Run, after: Run) -> dict[str, ComparedMetric]:
    (row,) = compare_runs(before, after)
    return {metric.name: metric for metric in row.metrics}


@pytest.fixture(scope="module")
def first_tokens(_scripted_process: ScriptedServer) -> tuple[Run, Run]:
    """Two runs of one server, whose answers begin many times as late in the second, whatever else the machine does."""
    good = served_runs.answer()
    stage = _scripted_process.play(good)
    before = served_runs.measure(stage.url + served_runs.CHAT, workers=[1], rounds=4, seconds=0.3)
    _scripted_process.play(replace(good, wait=400.0), name=stage.name)
    after = served_runs.measure(stage.url + served_runs.CHAT, workers=[1], rounds=4, seconds=0.9)
    _scripted_process.reset()
    return before, after


@pytest.mark.serial
def test_a_later_first_token_is_found_and_the_gaps_are_not_blamed(first_tokens: tuple[Run, Run]) -> None:
    found = _metrics(*first_tokens)
    assert [*found] == [
        *("latency_p50", "latency_p99", "throughput", "ttft_p50", "itl_p50", "output_tokens_rate", "errors"),
        *("ttft_p99", "itl_p99"),
    ]
    assert found["ttft_p50"].verdict is Verdict.WORSE
    assert found["itl_p50"].verdict is not Verdict.WORSE
    assert found["errors"].verdict is Verdict.SAME and found["errors"].sentence == "same: 0 % on both sides"


def test_failures_that_were_not_there_before_are_worse(served_failures: Run) -> None:
    (result,) = served_failures.results
    errors = result.metric("errors")
    assert errors is not None
    none = replace(errors, estimate=replace(errors.estimate, point=0.0, low=0.0, high=0.1))
    metrics = tuple(none if metric.name == "errors" else metric for metric in result.metrics)
    before = replace(served_failures, id="before", results=(replace(result, metrics=metrics),))
    found = _metrics(before, served_failures)["errors"]
    assert found.verdict is Verdict.WORSE and "points more" in found.sentence
    assert found.ratio is None and found.ratio_text == "-"


def test_a_gate_counts_points_of_failed_requests(served_failures: Run) -> None:
    (result,) = served_failures.results
    errors = result.metric("errors")
    assert errors is not None
    none = replace(errors, estimate=replace(errors.estimate, point=0.0, low=0.0, high=0.1))
    metrics = tuple(none if metric.name == "errors" else metric for metric in result.metrics)
    before = replace(served_failures, id="before", results=(replace(result, metrics=metrics),))
    sides = ComparedSides(before=before, after=served_failures, measured=served_failures, against="before")

    def breached(condition: str) -> list[str]:
        found = check(sides, [parse_condition(condition)], smallest=0.01, rules=FindingRules())
        return [breach.metric for breach in found.breaches]

    assert breached("errors>1%") == ["errors"] and breached("worse") == ["errors"]
    assert breached("errors>50%") == []
