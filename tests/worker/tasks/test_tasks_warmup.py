"""What a metric leaves out at the beginning of its values."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchwright.targets.tasks.definition import Pattern, Skip, Task, TaskMetric
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor
from benchwright.worker.tasks.warmup import NOT_STEADY, KeptValues, count_part

PATTERN = Pattern(text=r"speed (\S+)", series={"speed": 1})


def _extract(values: list[float], **asked: object) -> ExtractedValues:
    """What becomes of values that are printed one each second, from the first second on."""
    metric = TaskMetric(name="speed", series="speed", compute="mean", **asked)  # type: ignore[arg-type]
    extractor = Extractor(Task(name="demo", file=Path("tasks.toml"), patterns=(PATTERN,), metrics=(metric,)))
    for second, value in enumerate(values, start=1):
        extractor.feed(f"speed {value}\n".encode(), float(second))
    extractor.finish(float(len(values)))
    return extractor.result()


def _training(warm: int = 10, count: int = 60) -> list[float]:
    draw = random.Random(3)
    return [(600 if place < warm else 3000) * draw.uniform(0.98, 1.02) for place in range(count)]


def test_a_mean_counts_the_steady_part_alone() -> None:
    """2,600 with the warm-up in it; 3,000 is how fast the training is."""
    values = _training()
    assert _extract(values).metrics[0].estimate.point == pytest.approx(2600, rel=0.01)
    found = _extract(values, steady=True)
    speed, warmup = found.metrics
    assert speed.estimate.point == pytest.approx(3000, rel=0.005)
    assert speed.estimate.low is not None and speed.estimate.high is not None
    assert "the first 10 of 60 values left out: steady from there on" in speed.estimate.method
    assert (warmup.name, warmup.unit, warmup.estimate.point, warmup.better) == ("speed_warmup", "s", 10.0, None)
    assert found.details["log"]["speed"]["left_out"] == 10  # type: ignore[index, call-overload]
    assert found.details["log"]["speed"]["left_out_until"] == 10.0  # type: ignore[index, call-overload]
    assert len(found.timelines[0].values) == 60  # values over time are kept whole
    assert not found.warnings


@pytest.mark.parametrize(
    "skip",
    [
        Skip(amount=10, unit="", text="10"),
        Skip(amount=10.5, unit="s", text="'10.5s'"),
        Skip(amount=1 / 6, unit="%", text="'17%'"),
    ],
)
def test_values_seconds_or_a_share_are_skipped(skip: Skip) -> None:
    found = _extract(_training(), skip=skip)
    assert found.metrics[0].estimate.point == pytest.approx(3000, rel=0.005)
    assert f"the first 10 of 60 values left out: skip = {skip.text}" in found.metrics[0].estimate.method


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([float(100 * place) for place in range(1, 61)], "drifts|changed"),
        ([600.0, 600.0, 3000.0, 3000.0, 3000.0, 3000.0], "too few"),
    ],
)
def test_where_nothing_is_steady_the_later_half_counts_and_it_is_said(values: list[float], why: str) -> None:
    found = _extract(values, steady=True)
    half = values[len(values) // 2 :]
    assert found.metrics[0].estimate.point == pytest.approx(sum(half) / len(half))
    (warning,) = found.warnings
    assert warning.code == NOT_STEADY and "no steady part was found" in warning.seen
    assert any(word in warning.seen for word in why.split("|"))
    assert found.details["log"]["speed"]["steady"] is False  # type: ignore[index, call-overload]


def test_a_skip_that_leaves_nothing_is_a_missing_metric() -> None:
    found = _extract([1.0, 2.0], skip=Skip(amount=5, unit="", text="5"))
    assert found.missing == {"speed": "all 2 values were left out: skip = 5"} and not found.metrics


def test_a_series_of_any_length_is_kept_in_bounded_memory() -> None:
    kept = KeptValues(most=100)
    for place in range(10_000):
        kept.add([600.0 if place < 2000 else 3000.0], float(place))
    assert len(kept.values) <= 100 and kept.count == 10_000
    metric = TaskMetric(name="speed", series="speed", compute="mean", steady=True)
    part = count_part(kept, metric, "mean")
    assert part.left_out == pytest.approx(2000, abs=2 * kept.stride)
    assert part.series.mean().point == 3000.0 and f"every {kept.stride}th of the rest counts" in part.method
