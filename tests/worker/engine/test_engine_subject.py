"""What one sample is: the arguments calls go through, and how many calls it takes to time a fast one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from benchwright.records import Load
from benchwright.worker.engine.clock import ClockFacts, FakeClock
from benchwright.worker.engine.subject import MOST_LOOPS, TARGET_SAMPLE, Subject, calibrate_loops

FACTS = ClockFacts(read=50, loop=60, resolution=1)
Scripted = Callable[..., Subject]


def test_arguments_go_round_from_the_offset() -> None:
    subject = Subject(call=print, arguments=[(1,), (2,), (3,)])
    assert list(islice(subject.argument_stream(offset=4), 5)) == [(2,), (3,), (1,), (2,), (3,)]
    assert list(subject.argument_stream(offset=1, once=True)) == [(2,), (3,), (1,)]


def test_workers_share_inputs_that_are_used_once() -> None:
    subject = Subject(call=print, arguments=[(i,) for i in range(5)])
    load = Load(workers=2, once=True)
    parts = [list(subject.share(i, load).argument_stream(once=True)) for i in range(2)]
    assert parts == [[(0,), (2,), (4,)], [(1,), (3,)]]


def test_workers_start_at_different_inputs_that_are_used_for_ever() -> None:
    subject = Subject(call=print, arguments=[(0,), (1,)])
    firsts = [next(subject.share(i, Load(workers=3)).argument_stream()) for i in range(3)]
    assert firsts == [(0,), (1,), (0,)]


@pytest.mark.parametrize(
    ("latency", "loops"),
    [(5_000_000, 1), (1300, 1), (1100, 32), (300, 128), (60, 32768)],
    ids=["slow", "just slow enough", "just too fast", "fast", "as fast as nothing"],
)
def test_a_call_is_looped_when_the_clock_would_show(
    latency: int, loops: int, clock: FakeClock, scripted: Scripted
) -> None:
    found = calibrate_loops(scripted(latency), clock, FACTS)
    assert found == loops
    beyond = max(latency - FACTS.loop, 1)
    assert found == 1 or found * beyond >= TARGET_SAMPLE or found == MOST_LOOPS


@pytest.mark.parametrize(("latency", "calls"), [(10**10, 1), (60_000_000, 2), (1_000_000, 3)])
def test_a_slow_callable_is_not_called_often_to_learn_that(
    latency: int, calls: int, clock: FakeClock, scripted: Scripted
) -> None:
    subject = scripted(latency)
    assert calibrate_loops(subject, clock, FACTS) == 1
    assert subject.call.calls == calls  # type: ignore[attr-defined]


def test_one_call_that_was_interrupted_does_not_make_a_callable_slow(clock: FakeClock, scripted: Scripted) -> None:
    assert calibrate_loops(scripted(8_000_000, *[300] * 99), clock, FACTS) == 128


def test_a_sample_of_several_calls_keeps_the_order_of_arguments() -> None:
    seen: list[int] = []
    subject = Subject(call=seen.append, arguments=[(1,), (2,), (3,)], loops=4)
    call, stream = subject.sample_call(subject.argument_stream())
    call(*next(stream))
    call(*next(stream))
    assert seen == [1, 2, 3, 1, 2, 3, 1, 2]
