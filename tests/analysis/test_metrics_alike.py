"""Metrics of one case that moved alike at one place are one finding; others are findings of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright.analysis import detection, step_findings
from benchwright.analysis.judged_metrics import move_alike
from benchwright.stats.changepoint import Change
from benchwright.store import Store, open_store

STEP = made.levels((0.010, 20), (0.0112, 15))  # slower by 12 % since run 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def _fill_with_cpu_time(store: Store, factor: float, *, since: int = 20, unit: str = "s") -> str:
    """A case that is slower by 12 % since run 20, whose CPU time is larger by `factor` since another run."""
    draws = made.levels((0.008, since), (0.008 * factor, 35 - since), seed=5)
    for number, (seconds, busy) in enumerate(zip(STEP, draws, strict=True)):
        store.add_run(made.with_metric(made.run_of(number, seconds), "cpu_time", busy, unit=unit))
    return "run-0034"


def test_cpu_time_that_moved_as_the_latency_did_is_the_same_finding(store: Store) -> None:
    (finding,) = detection.judge(store, _fill_with_cpu_time(store, 1.1))
    assert finding.metric == "latency_p50" and len(store.findings()) == 1
    also = finding.why["also"]
    assert isinstance(also, dict) and set(also) == {"latency_p99", "throughput", "cpu_time"}
    assert also["cpu_time"] == pytest.approx(1.1, abs=0.01)
    assert finding.remarks[0].text == "also in latency_p99, throughput, cpu_time"
    assert detection.judge(store, "run-0034") == [] and len(store.findings()) == 1


@pytest.mark.parametrize(
    ("factor", "since", "unit"),
    [(1.5, 20, "s"), (0.9, 20, "s"), (1.1, 10, "s"), (1.1, 20, "")],
    ids=["much more", "the other way", "elsewhere", "no time"],
)
def test_what_did_not_move_alike_is_a_finding_of_its_own(store: Store, factor: float, since: int, unit: str) -> None:
    found = detection.judge(store, _fill_with_cpu_time(store, factor, since=since, unit=unit))
    assert sorted(one.metric for one in found) == ["cpu_time", "latency_p50"]
    assert all("cpu_time" not in one.why.get("also", {}) for one in found)  # type: ignore[operator]
    assert (len({one.cause for one in found}) == 1) is (since == 20)  # and yet it has the same cause


def test_a_metric_that_shows_it_later_is_added_to_the_finding(store: Store) -> None:
    _fill_with_cpu_time(store, 1.1)

    def see_from(least: float) -> step_findings.Detect:
        """A detector that sees the change in times from this one on: the latency is 10 ms, the CPU time 8 ms."""

        def detect(values: Sequence[float], *, smallest: float) -> list[Change]:
            return [_change()] if least < values[0] < 0.015 else []

        return detect

    detection.judge(store, "run-0034", detect=see_from(0.009), policy=_Nothing())
    (finding,) = store.findings()
    assert (finding.metric, finding.why.get("also")) == ("latency_p50", None)
    assert detection.judge(store, "run-0034", detect=see_from(0.007), policy=_Nothing()) == []
    (finding,) = store.findings()
    assert finding.why["also"] == {"cpu_time": pytest.approx(1.12, abs=0.01)}


class _Nothing:
    """Tells people of nothing, and sees no shift in the newest values."""

    def newest(self, *_: object, **__: object) -> None:
        return None

    def judge(self, *_: object, **__: object) -> None:
        return None

    def as_change(self, *_: object, **__: object) -> Change:
        raise AssertionError("there is no newest shift")

    def is_back(self, *_: object, **__: object) -> bool:
        return False


def _change() -> Change:
    return Change(
        index=20, before=0.01, after=0.0112, effect=1.12, low=1.11, high=1.13, confidence=0.9999, position=((20, 1.0),)
    )


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (("latency_p50", 1.1), ("latency_p99", 3.0), True),  # of the same calls
        (("latency_p50", 1.1), ("throughput", 0.91), True),
        (("latency_p50", 1.1), ("cpu_time", 1.06), True),
        (("latency_p50", 1.1), ("cpu_time", 1.04), False),
        (("cpu_time", 1.1), ("tokens_per_second", 1 / 1.1), True),
        (("cpu_time", 1.1), ("decode_time", 0.0), False),
    ],
)
def test_which_changes_are_alike(one: tuple[str, float], other: tuple[str, float], alike: bool) -> None:
    assert move_alike(one, other) is move_alike(other, one) is alike
