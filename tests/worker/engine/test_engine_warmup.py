"""Warm-up in virtual time: until steady, and no longer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from benchwright.records import Load
from benchwright.worker.engine.clock import FakeClock
from benchwright.worker.engine.engine import prepare
from benchwright.worker.engine.subject import Subject
from benchwright.worker.engine.warmup import BLOCKS, Warmup, blocks, first_call, warm_up

MS = 1_000_000
Scripted = Callable[..., Subject]


def _following(clock: FakeClock, latencies: Iterator[int]) -> Subject:
    return Subject(call=lambda: clock.advance(next(latencies)))


def _warmed(clock: FakeClock, latencies: Iterator[int], limit: float | None = None) -> Warmup:
    subject = _following(clock, latencies)
    return warm_up(subject, clock, limit=limit, first=first_call(subject, clock))


def test_what_is_steady_from_the_start_is_soon_measured(clock: FakeClock) -> None:
    warmup = _warmed(clock, itertools.repeat(100_000))
    assert warmup.steady
    assert warmup.cut == 1  # the first call is never part of the steady ones
    assert warmup.typical == 100_000
    assert warmup.elapsed < 100 * MS


@pytest.mark.parametrize("slow", [10, 25, 40, 48])
def test_a_step_is_waited_out_and_the_cut_reported(slow: int, clock: FakeClock) -> None:
    """The last of these falls just before the first look, which therefore cannot be the last."""
    warmup = _warmed(clock, itertools.chain([300_000] * slow, itertools.repeat(100_000)))
    assert warmup.steady
    assert warmup.typical == 100_000
    assert slow <= warmup.cut <= slow + 5
    assert warmup.elapsed >= 15 * MS


def test_what_never_settles_is_given_up_at_the_limit(clock: FakeClock) -> None:
    warmup = _warmed(clock, (100_000 + 50 * i for i in itertools.count()), limit=2.0)
    assert not warmup.steady
    assert warmup.reason
    assert 2.0 <= warmup.elapsed / 1e9 < 2.5


def test_the_limit_is_five_seconds_unless_said(clock: FakeClock) -> None:
    warmup = _warmed(clock, (MS + 2000 * i for i in itertools.count()))
    assert 5.0 <= warmup.elapsed / 1e9 < 6.5


def test_calls_too_slow_to_judge_are_said_to_be_that(clock: FakeClock) -> None:
    warmup = _warmed(clock, itertools.repeat(2000 * MS))
    assert not warmup.steady
    assert warmup.calls == 4  # the first, and three more to fill five seconds
    assert "too few" in warmup.reason


def test_a_first_call_that_compiles_does_not_use_up_the_warm_up(clock: FakeClock) -> None:
    warmup = _warmed(clock, itertools.chain([6000 * MS], [2 * MS] * 5, itertools.repeat(MS // 5)))
    assert warmup.first == 6000 * MS
    assert warmup.steady
    assert warmup.typical == MS // 5


def test_no_warm_up_is_one_call(clock: FakeClock) -> None:
    warmup = _warmed(clock, itertools.repeat(7), limit=0)
    assert (warmup.calls, warmup.elapsed, warmup.first, warmup.typical) == (1, 7, 7, 7.0)
    assert not warmup.steady


def test_the_first_call_is_told_apart(clock: FakeClock) -> None:
    warmup = _warmed(clock, itertools.chain([40 * MS], itertools.repeat(50_000)))
    assert warmup.first == 40 * MS
    assert warmup.typical == 50_000


def test_the_first_call_is_the_very_first_also_where_calls_are_looped() -> None:
    """Calibrating must not use up the cold call: it is what compiling models are asked about."""
    calls = itertools.count()

    def call() -> None:
        if next(calls) == 0:
            sum(range(300_000))

    prepared = prepare(Subject(call=call), Load(warmup=0.02, samples=1))
    assert prepared.warmup.first > 1 * MS
    assert prepared.loops > 1  # and a slow first call does not make it look slow
    assert prepared.warmup.typical < prepared.warmup.first


@pytest.mark.parametrize("count", [1, 19, 400, 401, 12_345, 200_000])
def test_judging_costs_the_same_however_long_the_warm_up(count: int) -> None:
    values = list(range(count))
    medians = blocks(values)
    assert len(medians) <= 2 * BLOCKS
    assert medians == sorted(medians)
    assert min(count, BLOCKS) <= len(medians)
