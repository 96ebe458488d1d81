"""What a benchmark tells of itself becomes metrics, bounds and warnings."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchwright.errors import DecodeError
from benchwright.execution.instrument import OBJECTIVE_MISSED
from benchwright.records import Better
from benchwright.worker.runtimes.classes import reports
from benchwright.worker.runtimes.classes.entries import EntryMetric, ReportEntry
from benchwright.worker.runtimes.classes.reports import ReportedNumber, Reporter

NAN, INF = math.nan, math.inf


def _report(*arguments: object, **keywords: object) -> list[ReportedNumber]:
    reporter = Reporter()
    reporter(*arguments, **keywords)  # type: ignore[arg-type]
    return reporter.numbers


def test_what_is_reported_is_a_metric_with_its_bounds() -> None:
    told = _report("recall", np.float32(0.5), unit="1", better="higher", least=0.25, most=None)
    (metric,), warnings = reports.metrics(told)
    assert (metric.name, metric.unit, metric.better, metric.least, metric.most) == (
        "recall",
        "1",
        Better.HIGHER,
        0.25,
        None,
    )
    assert (metric.estimate.point, metric.estimate.method, warnings) == (0.5, "reported", [])


def test_a_bound_of_zero_is_a_bound() -> None:
    (metric,), _ = reports.metrics(_report("loss", 0, least=0, most=0))
    assert (metric.least, metric.most) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error"),
    [
        (("x", "much"), {}, TypeError),
        (("x", None), {}, TypeError),
        ((5, 5), {}, TypeError),
        (("", 5), {}, TypeError),
        (("x", 5), {"least": "low"}, TypeError),
        (("x", 5), {"better": "more"}, ValueError),
    ],
)
def test_what_cannot_be_reported(arguments: tuple[object, ...], keywords: dict[str, object], error: type) -> None:
    with pytest.raises(error):
        _report(*arguments, **keywords)


def test_a_direction_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="report: x: better is 'up', and can be 'lower' or 'higher'") as caught:
        Reporter()("x", 1, better="up")
    assert caught.value.__context__ is None


def test_a_name_is_reported_once() -> None:
    reporter = Reporter()
    reporter("x", 1)
    with pytest.raises(ValueError, match="'x' was reported before"):
        reporter("x", 2)


@pytest.mark.parametrize("name", ["wall_time", "latency", "latency_p99", "rss_peak", "gpu_energy", "throughput"])
def test_our_own_names_are_not_taken(name: str) -> None:
    (metric,), _ = reports.metrics([ReportedNumber(name=name, value=1.0)])
    assert metric.name == f"reported_{name}"


def test_names_are_unique_in_the_end() -> None:
    told = [ReportedNumber(name=name, value=1.0) for name in ("a", "a", "a_2", "wall_time", "reported_wall_time")]
    names = [metric.name for metric in reports.metrics(told)[0]]
    assert names == ["a", "a_2", "a_2_2", "reported_wall_time", "reported_wall_time_2"]


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_what_is_not_finite_is_a_warning_and_its_bound_missed(value: float) -> None:
    found, warnings = reports.metrics([ReportedNumber(name="x", value=value)])
    assert (found, [w.code for w in warnings]) == ([], ["not-finite"])
    found, warnings = reports.metrics([ReportedNumber(name="x", value=value, most=3.0)])
    assert (found, [w.code for w in warnings]) == ([], ["not-finite", OBJECTIVE_MISSED])


@pytest.mark.parametrize(
    ("least", "most", "missed"),
    [(-INF, INF, 0), (INF, None, 1), (None, -INF, 1), (NAN, None, 1)],
)
def test_bounds_that_are_not_finite(least: float | None, most: float | None, missed: int) -> None:
    (metric,), warnings = reports.metrics([ReportedNumber(name="x", value=1.0, least=least, most=most)])
    assert (metric.least, metric.most) == (None, None)
    assert [w.code for w in warnings] == [OBJECTIVE_MISSED] * missed


def test_an_entry_as_metrics() -> None:
    entry = ReportEntry(
        name="Demo.b",
        iters=3,
        wall_time=2.5,
        metrics=(EntryMetric(name="acc", value=1.0, least=0.5), EntryMetric(name="", value=2.0)),
    )
    told = reports.numbers_of_entry(entry)
    assert [(t.name, t.value, t.unit) for t in told] == [
        ("acc", 1.0, ""),
        ("metric", 2.0, ""),
        ("reported_wall_time", 2.5, "s"),
        ("reported_iters", 3.0, ""),
    ]
    assert [t.name for t in reports.numbers_of_entry(entry, within="Demo.b.")][:3:2] == [
        "Demo.b.acc",
        "Demo.b.reported_wall_time",
    ]


def test_details_keep_what_was_told_in_words_json_knows() -> None:
    entry = ReportEntry(
        name="n",
        wall_time=INF,
        extras=(("note", "abc"), ("speed", NAN)),
        metrics=(EntryMetric(name="b", value=-INF, least=0.0), EntryMetric(name="a", value=1.0, most=2.0)),
    )
    details = reports.as_details(entry)
    assert json.loads(json.dumps(details, allow_nan=False)) == {
        "name": "n",
        "iters": 0,
        "cpu_time": 0.0,
        "wall_time": "Infinity",
        "throughput": 0.0,
        "extras": [{"name": "note", "value": "abc"}, {"name": "speed", "value": "NaN"}],
        "metrics": [
            {"name": "b", "value": "-Infinity", "min_value": 0.0},
            {"name": "a", "value": 1.0, "max_value": 2.0},
        ],
    }


def test_a_file_that_is_no_report_is_named(tmp_path: Path) -> None:
    file = tmp_path / "proto_Demo.b"
    file.write_bytes(b"\x0a\x10cut")
    with pytest.raises(DecodeError, match=r"^proto_Demo\.b: byte 1: "):
        reports.read_entries([file])
