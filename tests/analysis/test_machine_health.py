"""Whether a machine is out of its usual, and that what it measures in quarantine is not judged."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

import series_of_runs as runs
from benchwright import schema
from benchwright.analysis import baseline, detection, machine_health
from benchwright.analysis.machine_health import RunHealth, describe_trouble, health_series, is_well, unusual_signals
from benchwright.records import Estimate
from benchwright.records.machines import Quarantine
from benchwright.store.archive import Valued
from benchwright.store.sql import SqlStore

MACHINE = schema.environment_key(runs.ENVIRONMENT)
DAY = 86_400_000_000


def _history(values: Sequence[float], name: str = "noise", held: Sequence[int] = ()) -> list[RunHealth]:
    return [
        RunHealth(run=f"r{i}", at=i * DAY, values={name: value}, is_held=i in held) for i, value in enumerate(values)
    ]


def _calm(count: int, level: float = 1.3) -> list[float]:
    draw = random.Random(4)
    return [level * (1 + draw.gauss(0, 0.1)) for _ in range(count)]


@pytest.mark.parametrize(
    ("newest", "trouble"),
    [
        ([1.3, 1.4, 1.2], ""),
        ([1.3, 9.0, 9.0], ""),  # two may be an accident
        ([9.0, 8.0, 9.5], "Noise ± 9 % in the last 3 runs, usually ± 1.3 %"),
        ([1.9, 1.9, 1.9], ""),  # unusual, and still too little to matter
        ([2.5, 2.4, 2.3], ""),  # less than twice as much
    ],
)
def test_three_runs_in_a_row_make_a_machine_unusual(newest: list[float], trouble: str) -> None:
    assert describe_trouble(health_series(_history(_calm(20) + newest))) == trouble


def test_nothing_is_unusual_until_enough_is_known() -> None:
    series = health_series(_history([1.0] * 7 + [90.0] * 1))
    assert [one.is_out[-1] for one in series] == [False]


def test_the_limits_are_those_of_the_runs_before_and_quarantine_does_not_become_usual() -> None:
    values = _calm(20) + [9.0] * 60
    adapted = health_series(_history(values))[0]
    assert adapted.is_out[20] and not adapted.is_out[-1]  # what is always so is usual
    held = health_series(_history(values, held=range(20, 80)))[0]
    assert all(held.is_out[20:])
    assert is_well(health_series(_history(_calm(30)))) and not is_well([held])


def test_what_others_take_counts_by_its_own_limit() -> None:
    values = [0.5] * 20 + [8.0] * 3
    assert not unusual_signals(health_series(_history(values, "cpu_others")))  # below 10 % of a core
    (steal,) = unusual_signals(health_series(_history(values, "steal")))
    assert steal.signal.title == "CPU taken by the hypervisor"


def test_health_is_made_of_what_runs_measured() -> None:
    def value(metric: str, point: float, width: float = 0.0, *, run: str = "a", machine: str = "m") -> Valued:
        estimate = Estimate(point=point, low=point - width, high=point + width)
        return Valued(f"{run}{metric}", "c", "{}", metric, "s", "lower", machine, run, "r", 0, 5, "", estimate)

    told = machine_health.health_of_runs(
        [
            value("latency_p50", 2.0, 0.02),
            value("cpu_others", 12.0),
            value("cpu_others", 3.0, run="b", machine="other"),
            value("rss_peak", 7.0, run="b"),
        ],
        "m",
    )
    assert [(one.run, one.at) for one in told] == [("a", 5)]
    assert told[0].values == {"noise": pytest.approx(1.0), "cpu_others": 12.0}


# ---- quarantine ----


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    opened = SqlStore(f"sqlite:///{tmp_path / 'results.db'}")
    yield opened
    opened.close()


def _at(run: int) -> int:
    started = runs.run_of(run, 1.0).results[0].started_at
    return int(datetime.fromisoformat(started).timestamp()) * 1_000_000


def test_what_a_machine_measures_in_quarantine_is_kept_and_not_judged(store: SqlStore) -> None:
    filled = runs.fill(store, runs.levels((0.01, 30), (0.02, 12)))
    store.quarantine(Quarantine(machine=MACHINE, since=_at(30), reason="fan broken"))
    assert detection.judge(store, filled[-1].id) == [] and store.findings() == []
    assert len(store.history(runs.CASE.name)[0].points) == 84  # kept
    store.release(MACHINE, _at(42), "ada")
    later = [runs.run_of(i, seconds) for i, seconds in enumerate(runs.levels((0.01, 3)), start=42)]
    for run in later:
        store.add_run(run)
        assert detection.judge(store, run.id) == []  # as it was before the quarantine, so nothing has changed
    for i, seconds in enumerate(runs.levels((0.02, 12)), start=45):
        store.add_run(runs.run_of(i, seconds))
        found = detection.judge(store, f"run-{i:04d}")
        if found:
            break
    assert [one.run for one in found] == ["run-0045"]  # judged again, and not the runs of the quarantine


def test_without_the_quarantine_the_same_runs_are_a_finding(store: SqlStore) -> None:
    filled = runs.fill(store, runs.levels((0.01, 30), (0.02, 12)))
    assert [one.run for one in detection.judge(store, filled[-1].id)] == ["run-0030"]


def test_a_gate_leaves_out_what_was_measured_in_quarantine(store: SqlStore) -> None:
    filled = runs.fill(store, runs.levels((0.01, 10), (0.05, 5), (0.01, 1)))
    store.quarantine(Quarantine(machine=MACHINE, since=_at(10), until=_at(15), reason="fan broken"))
    sides = baseline.sides_from_history(store, filled[-1])
    medians = [result.metric("latency_p50") for result in sides.before.results]
    assert len(medians) == 10 and all(one and one.estimate.point < 0.02 for one in medians)
