"""When people are told of a change: not by a machine's moods, soon after a step, and for good."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats import confirmation

ROOT = Path(__file__).resolve().parents[2]


def _noisy(levels: Sequence[float], noise: float = 0.02, seed: int = 1) -> list[float]:
    draw = random.Random(seed)
    return [level * math.exp(draw.gauss(0, noise)) for level in levels]


def _first(values: Sequence[float], *, confirmed: bool) -> int:
    """With how many values a change is first seen, or confirmed; 0: never."""
    for count in range(12, len(values) + 1):
        shift = confirmation.newest(values[:count], smallest=0.01)
        if shift is not None and (shift.confirmed or not confirmed):
            return count
    return 0


@pytest.mark.parametrize("size", [0.9, 1.1, 1.3])
def test_a_step_is_suspected_with_two_values_and_confirmed_with_five(size: float) -> None:
    values = _noisy([1.0] * 30 + [size] * 10)
    assert _first(values, confirmed=False) in (32, 33)
    assert _first(values, confirmed=True) == 35
    shift = confirmation.newest(values[:35], smallest=0.01)
    assert shift is not None and shift.index == 30
    assert math.exp(shift.size) == pytest.approx(size, abs=0.03)


def test_the_real_series_of_twenty_commits_is_confirmed() -> None:
    before = [3.6, 3.3, 2.79, 2.81, 3.1, 3.5, 2.92, 3.4, 2.97, 3.7]
    after = [3.76, 4.7, 5.1, 5.7, 4.6, 4.4, 4.6, 3.78, 4.2, 4.03, 3.82]
    assert 0 < _first([*before, *after], confirmed=False) <= len(before) + 5
    assert 0 < _first([*before, *after], confirmed=True) <= len(before) + 10


def test_what_a_machine_may_do_by_itself_needs_long_steady_sides() -> None:
    short, long = _noisy([1.0] * 40 + [1.05] * 30, 0.01), _noisy([1.0] * 85 + [1.05] * 25, 0.01)
    assert _first(short, confirmed=False) and not _first(short, confirmed=True)
    assert _first(long, confirmed=True) >= 85 + confirmation.SETTLED
    shift = confirmation.judge(short, 40, smallest=0.01, steady=True)  # a memory has no moods
    assert shift is not None and shift.confirmed


def test_a_level_that_the_past_shows_is_not_new() -> None:
    burst = [1.0] * 20 + [1.2] * 5 + [1.0] * 20
    assert _first(_noisy(burst + [1.2] * 8)[25:], confirmed=True)  # without the burst it is
    values = _noisy(burst + [1.2] * 6)
    shift = confirmation.newest(values, smallest=0.01)
    assert shift is None or not shift.confirmed
    shift = confirmation.judge(values, 45, smallest=0.01, since=25, seen=0)
    assert shift is None or not shift.confirmed


def test_one_outlier_is_no_suspicion() -> None:
    values = [*_noisy([1.0] * 30), 1.5]
    assert confirmation.newest(values, smallest=0.01) is None


@pytest.mark.parametrize(("latest", "back"), [(1.0, True), (1.02, True), (1.1, False), (1.2, False)])
def test_a_level_is_back_when_the_newest_values_are_as_before(latest: float, back: bool) -> None:
    values = _noisy([1.2] * 10 + [latest] * 5, 0.005)
    assert confirmation.is_back(values, before=1.0, after=1.2) is back
    assert not confirmation.is_back(values[:-1], before=1.0, after=1.2)  # four are too few


@given(st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=60), st.floats(0.001, 0.5))
def test_any_positive_series_gets_an_answer(values: list[float], smallest: float) -> None:
    shift = confirmation.newest(values, smallest=smallest)
    if shift is not None:
        change = confirmation.as_change(values, shift)
        assert 0 < shift.index < len(values) and change.low <= change.effect <= change.high
        assert sum(share for _, share in change.position) == pytest.approx(1)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from detection import online_simulator

    yield online_simulator
    for name in [each for each in sys.modules if each.split(".")[0] == "detection"]:
        del sys.modules[name]


def test_moods_are_told_to_hardly_anybody_and_steps_soon(simulator: object) -> None:
    from detection.online_simulator import COMMITS, FAMILIES, follow, measured_again

    told = 0
    for number, name in enumerate(("day and night, 3 %", "random walk, 0.2 % a commit", "AR 0.5")):
        rng = np.random.default_rng((5, number))
        values = np.exp(FAMILIES[name](rng, COMMITS, 0.02)).tolist()
        told += len(follow(values).told)
    assert told == 0
    rng = np.random.default_rng(7)
    truth = np.where(np.arange(60) >= 40, np.log(1.1), 0.0)
    values = np.exp(truth + 0.015 * rng.standard_normal(60)).tolist()
    (alone,), (paired,) = follow(values).told, follow(values, measured_again(truth, 0.015, rng)).told
    assert (alone.told_at, paired.told_at <= 43, alone.is_over) == (45, True, False)
