from __future__ import annotations

import statistics
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Better
from benchwright.targets.tasks.definition import Pattern, Task, TaskMetric
from benchwright.worker.tasks import scanner
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor

PATTERN = Pattern(text=r"v=(\S+)", series={"v": 1})


def _task(*metrics: TaskMetric, patterns: tuple[Pattern, ...] = (PATTERN,), older: bool = False) -> Task:
    return Task(name="demo", file=Path("tasks.toml"), patterns=patterns, metrics=metrics, older=older)


def _extract(data: bytes, *metrics: TaskMetric, patterns: tuple[Pattern, ...] = (PATTERN,)) -> ExtractedValues:
    extractor = Extractor(_task(*(metrics or (TaskMetric(name="v", series="v"),)), patterns=patterns))
    extractor.feed(data)
    extractor.finish()
    return extractor.result()


def _point(data: bytes) -> float:
    return _extract(data).metrics[0].estimate.point


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"v=-0.5", -0.5),
        (b"v=1e-5\n", 1e-5),
        (b"v=.5\n", 0.5),
        (b"v=007\n", 7),
        (b"v=1,234.5\n", 1234.5),
        (b"v=12%\n", 12),
        (b"x\xff v=0.5\n", 0.5),
        ("größe v=3 µs\n".encode(), 3),
        (b"\r 1% v=1\r 2% v=2\r\n", 2),
    ],
)
def test_numbers_as_programs_print_them(data: bytes, value: float) -> None:
    assert _point(data) == value


@given(st.lists(st.integers(-999, 999), min_size=1, max_size=40), st.integers(1, 17))
def test_however_the_stream_is_cut_the_values_are_the_same(values: list[int], size: int) -> None:
    data = "".join(f"step {i} v={value}\n" for i, value in enumerate(values)).encode()
    names = ("first", "last", "min", "max", "sum", "count", "p90")
    task = _task(*(TaskMetric(name=name, series="v", compute=name) for name in names))
    whole, pieces = Extractor(task), Extractor(task)
    whole.feed(data)
    for i in range(0, len(data), size):
        pieces.feed(data[i : i + size])
    assert whole.result().metrics == pieces.result().metrics
    assert {m.name: m.estimate.point for m in whole.result().metrics}["sum"] == sum(values)


def test_several_metrics_come_from_one_pattern_with_named_groups() -> None:
    pattern = Pattern(text=r"Speed: (?P<speed>\S+).*acc=(?P<acc>\S+)", series={"speed": 1, "acc": 2})
    speed = TaskMetric(name="speed", series="speed", compute="mean", unit="samples/s", better=Better.HIGHER, least=1.0)
    found = _extract(
        b"Speed: 3 acc=0.1\nSpeed: 5 acc=0.2\n", speed, TaskMetric(name="acc", series="acc"), patterns=(pattern,)
    )
    assert [(m.name, m.estimate.point, m.unit, m.least) for m in found.metrics] == [
        ("speed", 4.0, "samples/s", 1.0),
        ("acc", 0.2, "", None),
    ]
    assert [(line.name, line.values) for line in found.timelines] == [("speed", (3.0, 5.0)), ("acc", (0.1, 0.2))]


def test_values_become_base_units() -> None:
    found = _extract(b"v=20\nv=40\n", TaskMetric(name="v", series="v", compute="mean", unit="s", factor=1e-3))
    assert found.metrics[0].estimate.point == pytest.approx(0.03)
    assert found.timelines[0].values == pytest.approx((0.02, 0.04))


def test_lines_of_two_streams_do_not_mix() -> None:
    extractor = Extractor(_task(TaskMetric(name="v", series="v", compute="sum")), streams=2)
    for data, stream in ((b"v=", 0), (b"v=1", 1), (b"5\n", 0), (b"0\n", 1)):
        extractor.feed(data, 0.0, stream)
    assert extractor.result().metrics[0].estimate.point == 15


def test_a_pattern_that_matches_nothing_is_missing_unless_it_is_optional() -> None:
    found = _extract(b"nothing\n", TaskMetric(name="v", series="v"), TaskMetric(name="w", series="v", optional=True))
    assert found.missing == {"v": "its pattern matched no line"}
    assert found.absent.keys() == {"v", "w"}


def test_no_hit_is_a_count_of_zero() -> None:
    errors = Pattern(text="ERROR", series={"errors": 0})
    wanted = TaskMetric(name="errors", series="errors", compute="count", most=0.0)
    assert _extract(b"fine\n", wanted, patterns=(errors,)).metrics[0].estimate.point == 0
    assert _extract(b"ERROR a\nERROR b\n", wanted, patterns=(errors,)).metrics[0].estimate.point == 2


@pytest.mark.parametrize("word", ["nan", "inf", "-inf"])
def test_a_value_that_is_not_finite_is_not_silently_left_out(word: str) -> None:
    found = _extract(f"v=1\nv={word}\nv=2\n".encode())
    assert not found.metrics
    assert "not a finite number" in found.missing["v"]


def test_text_without_a_number_is_left_out_with_a_warning() -> None:
    found = _extract(b"v=1\nv=n/a\nv=3\n", TaskMetric(name="v", series="v", compute="sum"))
    assert found.metrics[0].estimate.point == 4
    assert [warning.code for warning in found.warnings] == ["not-a-number"]
    assert "1 of 3 hits" in found.warnings[0].seen and "'n/a'" in found.warnings[0].seen


def test_only_text_without_numbers_is_missing_and_says_what_it_is() -> None:
    assert _extract(b"v=3x4\n").missing == {"v": "2 numbers in '3x4'"}


def test_an_expression_that_takes_forever_costs_its_own_metric_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner.limit_cpu_time.__wrapped__, "__defaults__", (0.05,))  # type: ignore[attr-defined]
    slow = Pattern(text=r"(a+)+b", series={"slow": 1})
    data = b"b" + b"a" * 60 + b"c\nv=3\n"
    found = _extract(
        data, TaskMetric(name="v", series="v"), TaskMetric(name="slow", series="slow"), patterns=(slow, PATTERN)
    )
    assert [m.estimate.point for m in found.metrics] == [3]
    assert "was given up" in found.missing["slow"]


def test_a_line_that_is_too_long_is_cut_and_told() -> None:
    found = _extract(b"v=1 " + b"x" * 100_000 + b" v=2\nv=3\n", TaskMetric(name="v", series="v", compute="sum"))
    assert found.metrics[0].estimate.point == 4
    assert [warning.code for warning in found.warnings] == ["long-lines"]


def test_live_values_are_there_while_the_stream_goes_on() -> None:
    extractor = Extractor(_task(TaskMetric(name="v", series="v")))
    assert extractor.latest() == {}
    extractor.feed(b"v=1\nv=7\n", 0.5)
    assert extractor.latest() == {"v": 7}


def test_the_older_total_is_for_each_worker_when_their_number_is_known() -> None:
    task = _task(TaskMetric(name="v", series="v", compute="total"), older=True)
    for workers, value in ((0, 7.0), (2, 3.5)):
        extractor = Extractor(task, workers=workers)
        extractor.feed(b"v=1\nv=2\nv=4\n")
        assert extractor.result().metrics[0].estimate.point == value


@pytest.mark.soak
def test_a_long_log_needs_no_more_memory_than_a_short_one() -> None:
    patterns = [Pattern(text=rf"word{i}=(\S+)", series={f"word{i}": 1}) for i in range(7)]
    metrics = [TaskMetric(name=f"word{i}", series=f"word{i}", optional=True) for i in range(7)]
    speed = [TaskMetric(name=how, series="v", compute=how) for how in ("mean", "p50", "p99", "std", "max")]
    extractor = Extractor(_task(*metrics, *speed, patterns=(*patterns, PATTERN)))
    block = b"".join(b"chatter about nothing in particular\nv=%d.5 samples/s\n" % (i % 977) for i in range(5000))
    peaks = []
    tracemalloc.start()
    try:
        for i in range(1, 49):
            extractor.feed(block, float(i))
            if i in (16, 48):  # beyond the values that are kept one by one
                peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert peaks[1] < 16 << 20 and peaks[1] < 1.1 * peaks[0]
    values = {m.name: m.estimate for m in extractor.result().metrics}
    assert values["p50"].point == pytest.approx(statistics.median(i % 977 + 0.5 for i in range(5000)), rel=1e-3)
    assert "relative error" in values["p50"].method
    assert values["max"].point == 976.5


@pytest.mark.parametrize("data", [b"v=1e999\nv=1\nw=2\n", b"v=1e308\nv=1e308\nv=1e308\nw=2\n"])
def test_an_absurd_number_costs_its_own_metric_alone(data: bytes) -> None:
    patterns = (PATTERN, Pattern(text=r"w=(\S+)", series={"w": 1}))
    wanted = [TaskMetric(name=name, series=name, compute="mean") for name in ("v", "w")]
    found = _extract(data, *wanted, patterns=patterns)
    assert [(metric.name, metric.estimate.point) for metric in found.metrics] == [("w", 2.0)]
