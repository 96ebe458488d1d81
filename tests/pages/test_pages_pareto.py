"""Configurations by two metrics: the front, what it dominates, and what cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from benchwright.errors import OptionError, StoreError
from benchwright.pages.pareto import pareto
from benchwright.records import Run
from benchwright.store.sql import SqlStore

RESNET = "vision/resnet50.onnx"


def test_latency_against_throughput_of_the_case_with_most_configurations(archive: SqlStore) -> None:
    view = pareto(archive)
    assert (view.x, view.y, view.x_better, view.y_better) == ("latency_p50", "throughput", "lower", "higher")
    assert (view.x_unit, view.y_unit, view.chosen) == ("s", "/s", {"case": RESNET})
    assert {point.case for point in view.points} == {RESNET}
    front = [point for point in view.points if point.standing == "front"]
    assert [point.x.point for point in front] == sorted(point.x.point for point in front)
    assert [point.y.point for point in front] == sorted(point.y.point for point in front)
    assert [point.standing == "front" for point in view.points] == sorted(
        (point.standing == "front" for point in view.points), reverse=True
    )
    assert {"runtime", "batch_size", "machine"} <= view.choices.keys()


def test_what_is_beaten_names_what_beats_it(archive: SqlStore) -> None:
    view = pareto(archive, x="latency_p50", y="rss_peak", chosen={"case": RESNET})
    beaten = [point for point in view.points if point.standing != "front"]
    assert beaten
    for point in beaten:
        assert point.beaten_by is not None
        better = view.points[point.beaten_by]
        assert better.standing == "front"
        assert better.x.point <= point.x.point and better.y.point <= point.y.point


def test_dimensions_narrow_and_a_star_does_not(archive: SqlStore) -> None:
    every = pareto(archive, chosen={"case": "*"})
    narrow = pareto(archive, chosen={"case": RESNET, "batch_size": "8"})
    assert len({point.case for point in every.points}) > 1
    assert narrow.points and {point.params["batch_size"] for point in narrow.points} == {8}
    labels = [point.label for point in narrow.points]
    assert len(set(labels)) == len(labels) and not any("batch_size" in label for label in labels)


@pytest.mark.parametrize(
    ("asked", "kind", "trouble"),
    [
        ({"x": "latency_p5"}, StoreError, "did you mean 'latency_p50'"),
        ({"x": "throughput", "y": "throughput"}, OptionError, "both axes are 'throughput'"),
        ({"chosen": {"runtim": "x"}}, StoreError, "did you mean 'runtime'"),
        ({"chosen": {"runtime": "openvin"}}, StoreError, "did you mean 'openvino'"),
    ],
)
def test_a_wrong_word_is_refused(archive: SqlStore, asked: dict[str, Any], kind: type[Exception], trouble: str) -> None:
    with pytest.raises(kind, match=trouble):
        pareto(archive, **asked)


def test_an_empty_store_has_nothing_to_choose_from(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    view = pareto(kept([]))
    assert (view.x, view.y, list(view.points), list(view.metrics)) == ("", "", [], [])


def test_only_metrics_with_a_direction_are_offered(archive: SqlStore) -> None:
    directions = archive.metric_directions()
    assert set(pareto(archive).metrics) == {name for name, better in directions.items() if better}
