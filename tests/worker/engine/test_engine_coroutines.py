"""Asynchronous callables: tasks of one event loop, in virtual and in real time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from benchwright.records import Arrivals, Load, Mode
from benchwright.worker.engine.clock import FakeClock
from benchwright.worker.engine.engine import prepare
from benchwright.worker.engine.subject import Subject

MS = 1_000_000


@pytest.fixture
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def advancing(clock: FakeClock, event_loop: asyncio.AbstractEventLoop) -> Callable[[int], Subject]:
    """A coroutine that lets virtual time pass."""

    def make(latency: int) -> Subject:
        async def call() -> None:
            await asyncio.sleep(0)
            clock.advance(latency)

        return Subject(call=call, event_loop=event_loop)

    return make


def test_a_closed_loop_awaits_one_call_after_another(clock: FakeClock, advancing: Callable[[int], Subject]) -> None:
    samples = prepare(advancing(3 * MS), Load(samples=50, warmup=0), clock=clock).run(clock.now()).samples
    assert list(samples.columns["latency"]) == [3 * MS] * 50
    assert list(samples.columns["end"]) == [3 * MS * (i + 1) for i in range(50)]
    assert samples.elapsed == 150 * MS


def test_a_duration_ends_it(clock: FakeClock, advancing: Callable[[int], Subject]) -> None:
    samples = prepare(advancing(4 * MS), Load(duration=0.1, warmup=0), clock=clock).run(clock.now()).samples
    assert samples.calls == 25


def test_loops_do_not_divide_what_is_never_looped(clock: FakeClock, advancing: Callable[[int], Subject]) -> None:
    samples = prepare(advancing(MS), Load(samples=5, loops=10, warmup=0), clock=clock).run(clock.now()).samples
    assert (samples.loops, samples.calls) == (1, 5)
    assert list(samples.columns["latency"]) == [MS] * 5


def test_an_open_loop_counts_from_the_scheduled_instant(clock: FakeClock, advancing: Callable[[int], Subject]) -> None:
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=100, samples=20, warmup=0)
    samples = prepare(advancing(2 * MS), load, clock=clock).run(clock.now()).samples
    assert list(samples.columns["scheduled"]) == [i * 10 * MS for i in range(20)]
    assert all(latency >= 2 * MS for latency in samples.columns["latency"])
    assert samples.calls == 20


class Overlap:
    """A coroutine that sleeps and knows how many of it were inside at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._inside, self.most = seconds, 0, 0

    async def __call__(self, *given: object) -> None:
        self._inside += 1
        self.most = max(self.most, self._inside)
        await asyncio.sleep(self._seconds)
        self._inside -= 1


def test_workers_overlap_in_one_thread(event_loop: asyncio.AbstractEventLoop) -> None:
    call = Overlap(0.001)
    prepared = prepare(Subject(call=call, event_loop=event_loop), Load(samples=40, workers=4, warmup=0))
    assert prepared.run(prepared.clock.now()).samples.calls == 40
    assert call.most == 4


def test_arrivals_do_not_wait_for_each_other(event_loop: asyncio.AbstractEventLoop) -> None:
    """Ten arrivals within 9 ms, each of which takes 300 ms."""
    call = Overlap(0.3)
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=1000, samples=10, warmup=0)
    prepared = prepare(Subject(call=call, event_loop=event_loop), load)
    samples = prepared.run(prepared.clock.now() + 5 * MS).samples
    assert min(samples.columns["latency"]) >= 299 * MS
    assert call.most > 5


def test_once_uses_every_input_once(event_loop: asyncio.AbstractEventLoop) -> None:
    seen: list[int] = []

    async def call(value: int) -> None:
        seen.append(value)

    subject = Subject(call=call, arguments=[(i,) for i in range(9)], event_loop=event_loop)
    prepared = prepare(subject, Load(once=True, workers=2, warmup=0))
    seen.clear()
    assert prepared.run(prepared.clock.now()).samples.calls == 9
    assert sorted(seen) == list(range(9))


@pytest.mark.parametrize("mode", [Mode.CLOSED, Mode.OPEN])
def test_what_a_call_raises_comes_out(mode: Mode, event_loop: asyncio.AbstractEventLoop) -> None:
    calls = iter(range(100))

    async def call() -> None:
        if next(calls) == 7:
            raise LookupError("call 7")

    load = Load(mode=mode, arrivals=Arrivals.CONSTANT, rate=1000, samples=20, warmup=0)
    prepared = prepare(Subject(call=call, event_loop=event_loop), load)
    with pytest.raises(LookupError, match="call 7"):
        prepared.run(prepared.clock.now() + MS)


def test_a_query_of_several_streams_awaits_them_together(event_loop: asyncio.AbstractEventLoop) -> None:
    call = Overlap(0.02)
    subject = Subject(call=call, arguments=[(i,) for i in range(3)], event_loop=event_loop)
    prepared = prepare(subject, Load(mode=Mode.MULTISTREAM, streams=3, samples=4, warmup=0))
    samples = prepared.run(prepared.clock.now()).samples
    assert samples.calls == 4
    assert call.most == 3
    assert min(samples.columns["latency"]) >= 19 * MS
