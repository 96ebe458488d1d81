"""Drifts become findings of their own kind: told once, growing with the series, with no ladder of steps beside them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.analysis import detection
from benchwright.records import Verdict
from benchwright.records.findings import ABSORBED, Finding, State
from benchwright.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def sloping(flat: int, length: int, size: float, *, after: int = 0, noise: float = 0.01, seed: int = 3) -> list[float]:
    """Seconds: level, slope and level again."""
    draw = random.Random(seed)
    ways = [0.0] * flat + [(i + 1) / length for i in range(length)] + [1.0] * after
    return [0.010 * (1 + size) ** way * (1 + draw.gauss(0, noise)) for way in ways]


def test_a_drift_is_one_finding_of_its_own_kind(store: Store) -> None:
    runs = made.fill(store, sloping(30, 60, 0.3))
    (finding,) = detection.judge(store, runs[-1].id)
    drift = finding.drift
    assert drift is not None and drift.ongoing and drift.steps == 0
    assert finding.verdict is Verdict.WORSE and finding.metric == "latency_p50"
    assert finding.effect.low < 1.3 < finding.effect.high
    assert drift.slope.low < 1.3 ** (1 / 60) - 1 < drift.slope.high
    assert finding.before.point == pytest.approx(0.010, rel=0.02)
    assert finding.after.point == pytest.approx(0.013, rel=0.03)
    assert abs(int(drift.first.removeprefix("run-")) - 29) <= 6
    assert drift.last == runs[-1].id
    assert finding.revisions[0] == made.commit(int(drift.first.removeprefix("run-")))
    assert finding.revisions[-1] == made.commit(89)
    assert sum(part.commits for part in drift.parts) <= len(finding.revisions) - 1
    assert "latency_p99" in finding.why["also"] and "throughput" in finding.why["also"]
    assert detection.judge(store, runs[-1].id) == []


def test_a_drift_survives_the_store_and_its_schema(store: Store) -> None:
    runs = made.fill(store, sloping(30, 60, 0.3))
    (finding,) = detection.judge(store, runs[-1].id)
    assert store.finding(finding.id).drift == finding.drift
    assert schema.decode(Finding, json.loads(json.dumps(schema.encode(finding))), where="finding") == finding


@pytest.mark.parametrize("every", [9, pytest.param(3, marks=pytest.mark.soak)])
def test_a_drift_is_told_once_and_grows(store: Store, every: int) -> None:
    values = sloping(30, 60, 0.3, after=10)
    told: list[Finding] = []
    sizes: list[float] = []
    for i, value in enumerate(values):
        store.add_run(made.run_of(i, value))
        if i >= 29 and i % every == 0:
            told += [finding for finding in detection.judge(store, f"run-{i:04d}") if finding.drift]
            sizes += [store.finding(told[0].id).effect.point] if told else []
    assert len(told) == 1
    assert sizes[-1] > sizes[0]
    now = store.finding(told[0].id)
    assert now.state is State.OPEN and now.effect.low < 1.3 < now.effect.high
    standing = store.findings(states=[State.OPEN])
    assert [finding.id for finding in standing] == [now.id], "no ladder of steps beside it"


def test_what_was_taken_for_a_step_becomes_part_of_the_drift(store: Store) -> None:
    values = sloping(30, 60, 0.3)
    runs = made.fill(store, values)
    step = next(iter(made_step(store, runs[60].id)))
    (drift,) = [finding for finding in detection.judge(store, runs[-1].id) if finding.drift]
    known = store.finding(step.id)
    assert known.state is State.RESOLVED
    assert known.remarks[-1].what == ABSORBED and drift.id in known.remarks[-1].text


def made_step(store: Store, run: str) -> list[Finding]:
    """A finding of a step at the run, as an earlier look might have kept it."""
    from benchwright.stats.changepoint import Change

    def detect(values: list[float], *, smallest: float) -> list[Change]:
        if not 0.005 < values[0] < 0.015 or len(values) < 90 or values[-1] / values[0] < 1.1:
            return []
        return [
            Change(
                index=60,
                before=0.011,
                after=0.012,
                effect=1.09,
                low=1.05,
                high=1.12,
                confidence=1.0,
                position=((60, 1.0),),
            )
        ]

    from unittest.mock import patch

    from benchwright.stats.drift import Trend

    def steps_only(values: list[float], *, smallest: float, detect: object) -> Trend:
        return Trend(changes=tuple(detect(values, smallest=smallest)))  # type: ignore[operator]

    with patch("benchwright.stats.drift.examine", steps_only):
        return detection.judge(store, "run-0089", detect=detect)


def test_a_step_on_a_slope_is_a_finding_beside_it(store: Store) -> None:
    values = sloping(0, 120, 0.3)
    runs = made.fill(store, [*values[:60], *(1.1 * value for value in values[60:])])
    found = detection.judge(store, runs[-1].id)
    (drift,) = [finding for finding in found if finding.drift]
    (step,) = [finding for finding in found if not finding.drift]
    assert step.run in {f"run-{i:04d}" for i in range(58, 63)}
    assert step.effect.low < 1.1 < step.effect.high
    assert drift.drift.steps == 1
    made.fill(store, [1.1 * 1.3 * value for value in made.levels((0.010, 15), noise=0.01)], start=len(runs))
    detection.judge(store, f"run-{len(runs) + 14:04d}")
    assert store.finding(step.id).state is State.OPEN, "on the slope it is not as before"
    assert len(store.findings(states=[State.OPEN, State.SUSPECTED])) == 2
    assert drift.effect.low < 1.3 < drift.effect.high


def test_a_drift_that_was_undone_is_resolved(store: Store) -> None:
    values = sloping(30, 60, 0.3, after=15)
    runs = made.fill(store, values)
    (drift,) = [finding for finding in detection.judge(store, runs[-1].id) if finding.drift]
    made.fill(store, made.levels((0.010, 20)), start=len(values))
    detection.judge(store, f"run-{len(values) + 19:04d}")
    known = store.finding(drift.id)
    assert known.state is State.RESOLVED
    assert known.remarks[-1].what == detection.RECOVERED


def test_pages_draw_a_drift_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    from benchwright.pages.findings import finding_view
    from benchwright.pages.series import series_view
    from benchwright.store.sql import SqlStore

    archive = SqlStore(f"sqlite:///{tmp_path / 'pages.db'}")
    try:
        runs = made.fill(archive, sloping(30, 60, 0.3, after=10))
        (finding,) = detection.judge(archive, runs[-1].id)
        assert finding.drift is not None
        (mark,) = series_view(archive, finding.series).marks
        view = finding_view(archive, finding.id)
    finally:
        archive.close()
    hours = (mark.until - mark.at) / 3_600_000
    assert hours == finding.drift.length, "a run an hour"
    assert view.line.drift == finding.drift
    assert view.commands == [
        f"benchwright findings show {finding.id}",
        f"benchwright compare {finding.drift.first} {finding.drift.last}",
    ]


def test_history_names_a_drift_that_no_two_neighbours_show(tmp_path: Path, inside: Callable[..., Any]) -> None:
    store = open_store(tmp_path / "results.db")
    made.fill(store, sloping(30, 60, 0.3))
    store.close()
    asked = ("history", "bench.py::encode", "--metric", "latency_p50", "--store", str(tmp_path / "results.db"))
    text = inside(*asked, "--limit", "5").stdout
    assert "% slower [" in text and "a drift over" in text and "still going on" in text
    (series,) = json.loads(inside(*asked, "--json").stdout)["data"]["series"]
    (drift,) = series["drifts"]
    assert drift["effect"]["low"] < 1.3 < drift["effect"]["high"] and drift["drift"]["ongoing"]
