"""What differs between two sides, and what it points to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import series_of_runs as made
from benchwright.analysis import causes
from benchwright.records import Environment, Estimate, Operator, Result, Revision
from benchwright.records.findings import FindingRules, Mute, Threshold


def _side(i: int, environment: Environment = made.ENVIRONMENT, **about: Any) -> list[Result]:
    run = made.run_of(i, 0.01, environment=environment, **about)
    return [replace(result, revision=run.revision) for result in run.results]


def test_nothing_that_lasts_differs() -> None:
    moment = replace(
        made.ENVIRONMENT,
        system={**made.ENVIRONMENT.system, "host": "b2"},
        knobs={"governor": "performance", "at_start": {"load": [7.0]}},
    )
    assert causes.differences(_side(1), _side(1, moment)) == {"cause": "unknown", "memory": [1e8, 1e8]}


def test_each_kind_of_difference_is_named() -> None:
    other = replace(
        made.ENVIRONMENT,
        system={**made.ENVIRONMENT.system, "kernel": "6.2", "cgroup": {"cpu_quota": 1}},
        packages={"torch": "2.9"},
        runtimes={"onnxruntime": "1.24"},
    )
    found = causes.differences(_side(1), _side(2, other, memory=2e8))
    assert found["cause"] == "either"
    assert found["revision"] == [made.commit(1), made.commit(2)]
    assert found["packages"] == {"numpy": ["2.3.1", None], "torch": [None, "2.9"]}
    assert found["system"] == {"kernel": ["6.1", "6.2"], "cgroup.cpu_quota": [None, 1]}
    assert found["runtimes"] == {"onnxruntime": [None, "1.24"]}
    assert found["memory"] == [1e8, 2e8]
    assert "knobs" not in found


def test_a_definition_and_uncommitted_changes_are_code() -> None:
    changed = _side(1, case=replace(made.CASE, version="b2"))
    assert causes.differences(_side(1), changed)["cause"] == "code"
    dirty = [replace(result, revision=Revision(vcs="git", id=made.commit(1), dirty=True)) for result in _side(1)]
    found = causes.differences(_side(1), dirty)
    assert (found["cause"], found["uncommitted"]) == ("code", [False, True])


def test_the_operators_that_changed_most_come_first() -> None:
    def operators(*seconds: float) -> list[Operator]:
        return [Operator(name=f"op{i}", kind="MatMul", seconds=s, share=0.1) for i, s in enumerate(seconds)]

    found = causes.differences(
        _side(1, operators=operators(1.0, 2.0, 3.0)), _side(2, operators=operators(1.0, 2.5, 1.0, 0.1))
    )
    assert found["operators"] == [
        {"name": "op2", "kind": "MatMul", "seconds": [3.0, 1.0]},
        {"name": "op1", "kind": "MatMul", "seconds": [2.0, 2.5]},
        {"name": "op3", "kind": "MatMul", "seconds": [None, 0.1]},
    ]
    assert "operators" not in causes.differences(_side(1), _side(2, operators=operators(1.0)))


def test_a_side_without_results_says_nothing() -> None:
    assert causes.differences([], _side(1)) == {"cause": "unknown"}


@pytest.mark.parametrize(
    ("again", "cause"),
    [
        ((1.00, 0.99, 1.01), "code"),
        ((1.21, 1.20, 1.22), "environment"),
        ((1.10, 1.09, 1.11), "either"),  # half of each
        ((1.00, 0.80, 1.25), "either"),  # too wide to tell
        ((1.00, None, None), "code"),
        ((1.00, 0.0, 1.1), "unknown"),
    ],
)
def test_the_old_revision_measured_again(again: tuple[float, float | None, float | None], cause: str) -> None:
    point, low, high = again
    assert causes.cause_after_remeasuring(1.0, 1.2, Estimate(point=point, low=low, high=high)) == cause
    inverse = Estimate(point=1 / point, low=high and 1 / high, high=1 / low if low else None)
    if low != 0.0:  # an improvement is told apart the same way
        assert causes.cause_after_remeasuring(1.0, 1 / 1.2, inverse) == cause


def test_no_change_has_no_cause() -> None:
    assert causes.cause_after_remeasuring(1.0, 1.0, Estimate(point=1.0, low=None, high=None)) == "unknown"


def test_names_in_a_command_are_quoted() -> None:
    assert causes.remeasure_command("a", "b", "x y.py").endswith("--control a --treatment b 'x y.py'")


def test_the_threshold_that_fits_best_counts() -> None:
    rules = FindingRules(
        mutes=[Mute(what="noisy*"), Mute(what="5e81e5")],
        thresholds=[
            Threshold(case="*", smallest=0.02),
            Threshold(case="bench.py::*", smallest=0.03),
            Threshold(case="bench.py::encode", smallest=0.04),
            Threshold(case="bench.py::encode", smallest=0.05, metric="rss_peak"),
        ],
    )
    assert rules.smallest("bench.py::encode", "rss_peak", 0.01) == 0.05
    assert rules.smallest("bench.py::encode", "throughput", 0.01) == 0.04
    assert rules.smallest("bench.py::decode", "rss_peak", 0.01) == 0.03
    assert rules.smallest("model.onnx", "rss_peak", 0.01) == 0.02
    assert FindingRules().smallest("model.onnx", "rss_peak", 0.01) == 0.01
    assert (rules.is_muted("noisy.py"), rules.is_muted("a", "5e81e5"), rules.is_muted("a", "other")) == (
        True,
        True,
        False,
    )
