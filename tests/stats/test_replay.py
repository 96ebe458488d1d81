"""Recorded times of equal work, judged again as the gates judge."""

from __future__ import annotations

import random

import pytest

from benchwright.records import Estimate
from benchwright.stats.replay import CHANGES, GateDefaults, Rate, pairs_called, rounds_called, smallest_found

USUAL = GateDefaults(pairs=20)


def _times(count: int, spread: float, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [1 + draw.gauss(0, spread) for _ in range(count)]


def _rounds(times: list[float]) -> list[Estimate]:
    return [Estimate(point=t, low=0.999 * t, high=1.001 * t) for t in times]


@pytest.mark.parametrize(("count", "of"), [(0, 25), (1, 60), (25, 25)])
def test_a_rate_has_an_interval_that_is_never_a_point(count: int, of: int) -> None:
    low, high = Rate(count=count, of=of).interval
    assert 0 <= low <= count / of <= high <= 1
    assert high - low > 0.05


def test_equal_work_is_seldom_called_and_a_large_change_always() -> None:
    times = _times(120, 0.01)
    assert pairs_called(times, 0.0, USUAL, replays=40).count <= 1
    assert pairs_called(times, 0.2, USUAL, replays=20).share == 1.0
    assert rounds_called(_rounds(times), 0.0, USUAL).share < 0.2
    assert rounds_called(_rounds(times), 0.2, USUAL).share == 1.0


def test_a_machine_that_slows_down_halfway_gives_false_alarms_between_runs_but_not_in_pairs() -> None:
    times = [t * (1.1 if i >= 60 else 1.0) for i, t in enumerate(_times(120, 0.005))]
    called = rounds_called(_rounds(times), 0.0, USUAL)
    assert called.count >= 12  # every comparison of runs that lie half of the record apart
    assert pairs_called(times, 0.0, USUAL, replays=40).count <= 1


def test_each_run_is_used_once_beside_its_neighbour_and_once_far_away() -> None:
    assert rounds_called(_rounds(_times(50, 0.01)), 0.0, GateDefaults(rounds=5)).of == 5 + 5
    assert rounds_called(_rounds(_times(49, 0.01)), 0.0, GateDefaults(rounds=5)).of == 4 + 4


def test_more_noise_hides_larger_changes() -> None:
    quiet, restless = (
        smallest_found(lambda change, s=s: rounds_called(_rounds(_times(200, s)), change, GateDefaults()))  # type: ignore[misc]
        for s in (0.002, 0.03)
    )
    assert quiet is not None and restless is not None
    assert quiet <= 0.015 < restless


def test_nothing_is_claimed_that_was_not_found() -> None:
    assert smallest_found(lambda change: Rate(count=3, of=20)) is None
    assert smallest_found(lambda change: Rate(count=3, of=3)) is None  # too few to say so
    assert smallest_found(lambda change: Rate(count=20 if change >= 0.1 else 0, of=20)) == 0.1
    assert smallest_found(lambda change: Rate(count=20, of=20)) == CHANGES[0]


def test_replaying_ends_when_the_rest_cannot_matter() -> None:
    assert pairs_called(_times(60, 0.05), 0.001, USUAL, replays=50, misses=2).of == 3
