"""Treatment against control: percentiles meet their opposites, and what cannot be compared is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from benchwright.compat.harness.merge import merge_entries
from benchwright.compat.harness.summaries import SummaryRules


def entry(values: Iterable[float], unit: str = "us") -> dict[str, Any]:
    return {"type": "NET", "metric": "latency", "unit": unit, "values": [*values]}


TREATMENT = {"NET latency": entry(range(100, 120, 2))}
CONTROL = {"NET latency": entry(range(90, 100))}


def part(found: dict[str, Any], **expected: float) -> None:
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def test_todays_rules() -> None:
    found = merge_entries(TREATMENT, CONTROL)
    one = found.data["NET latency"]
    assert found.warnings == () and one["control_values"] == [*range(90, 100)] and one["num_runs"] == 10
    part(one["summary"], p10=101.8, p50=109, p90=116.2, mean=109)
    part(one["control_summary"], p10=90.9, p50=94.5, p90=98.1)
    difference = {"p0": 1, "p10": 3.7, "p50": 14.5, "p90": 25.3, "p100": 28, "mean": 14.5}
    part(one["diff_summary"], **difference, stdev=2.8722813233, MAD=2.5)


def test_the_seeds_rules() -> None:
    one = merge_entries(TREATMENT, CONTROL, rules=SummaryRules.SEED).data["NET latency"]
    part(one["summary"], p10=102, p90=116)
    part(one["control_summary"], p10=91, p90=98)
    part(one["diff_summary"], p10=4, p90=25)


def test_a_percentile_whose_opposite_was_not_asked_for() -> None:
    one = merge_entries(TREATMENT, CONTROL, statistics=["p90", "p99.9"]).data["NET latency"]
    part(one["diff_summary"], p90=25.3, p50=14.5)
    assert one["diff_summary"]["p99.9"] == pytest.approx(117.982 - 90.009, abs=1e-9)
    assert [*one["control_summary"]] == ["p90", "p99.9", "p50"]


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ({}, "no such entry"),
        ({"NET latency": entry([])}, "no values"),
        ({"NET latency": entry([0.1], unit="ms")}, "the treatment is in us, the control in ms"),
    ],
)
def test_what_cannot_be_compared_keeps_its_summary_and_is_a_warning(control: dict[str, Any], said: str) -> None:
    found = merge_entries(TREATMENT, control)
    one = found.data["NET latency"]
    assert one["summary"]["p50"] == 109 and not {"diff_summary", "control_summary", "control_values"} & one.keys()
    [warning] = found.warnings
    assert warning.startswith("NET latency: ") and said in warning


def test_without_a_control_there_is_nothing_to_warn_of() -> None:
    found = merge_entries({**TREATMENT, "conv op_args": {"type": "conv", "metric": "op_args", "info_string": "x"}})
    assert found.warnings == () and [*found.data] == ["NET latency", "conv op_args"]
    text = {"conv op_args": {"type": "conv", "metric": "op_args", "info_string": "x"}}
    assert merge_entries(text, {}).warnings == ()
    assert merge_entries({}, CONTROL).data == {}  # what only the control has is not the treatment's


def test_summaries_that_came_ready() -> None:
    one = {"type": "NET", "metric": "latency", "unit": "us", "values": [], "num_runs": 5}
    ready = merge_entries(
        {"x": {**one, "summary": {"p0": 5.0, "p100": 9.0, "mean": 0.3, "cv": None}}},
        {"x": {**one, "summary": {"p0": 1.0, "p100": 2.0, "mean": 0.1, "cv": 0.1}}},
    )
    assert ready.data["x"]["diff_summary"] == {"p0": 3.0, "p100": 8.0, "mean": 0.2}  # to 15 decimals


GOLDEN = {
    "softmaxout": {
        "type": "softmaxout",
        "values": [0.1, 0.2, 0.7],
        "control_values": [0.1, 0.25, 0.65],
        "diff_values": [0.0, 0.2 - 0.25, 0.7 - 0.65],
    }
}


@pytest.mark.parametrize(("rules", "tail"), [(SummaryRules.SEED, 0.05), (SummaryRules.TODAY, 0.04)])
def test_golden_outputs_differ_element_by_element(rules: SummaryRules, tail: float) -> None:
    one = merge_entries(GOLDEN, rules=rules).data["softmaxout"]
    expected = {"p0": -0.05, "p10": -tail, "p50": 0.0, "p90": tail, "p100": 0.05}
    assert {name: one["diff_summary"][name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert one["summary"]["p50"] == 0.2 and one["control_summary"]["p50"] == 0.25 and "diff_values" not in one
