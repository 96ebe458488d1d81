"""The engine's front: the collector, memory on long runs, what the clock costs."""

from __future__ import annotations

import asyncio
import gc
from array import array
from collections.abc import Callable

import pytest

from benchwright.records import Arrivals, Load, Mode
from benchwright.stats import histogram
from benchwright.worker.engine import engine, recorder
from benchwright.worker.engine.clock import FakeClock, SystemClock
from benchwright.worker.engine.engine import hold_off_collector, prepare
from benchwright.worker.engine.subject import Subject

Scripted = Callable[..., Subject]


def test_the_collector_is_held_off_and_comes_back() -> None:
    assert gc.isenabled()
    with hold_off_collector() as collector:
        assert not gc.isenabled()
        cycles = [[] for _ in range(100_000)]
        for cycle in cycles:
            cycle.append(cycle)
    assert gc.isenabled()
    assert collector.collections == 0


def test_collecting_is_done_before_time_zero_is_known(clock: FakeClock, scripted: Scripted) -> None:
    """It takes a tenth of a second in a process with a framework, which would make the first arrivals late."""
    collections: list[str] = []
    gc.callbacks.append(lambda phase, info: collections.append(phase))
    try:
        prepared = prepare(scripted(1000), Load(samples=10, warmup=0), clock=clock)
        assert collections[-1:] == ["stop"]
        collections.clear()
        prepared.run(clock.now())
        assert collections == []
    finally:
        gc.callbacks.pop()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with hold_off_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_frozen_before_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with hold_off_collector():
        pass
    assert gc.get_freeze_count() >= before > 0


def test_the_collector_comes_back_after_an_error() -> None:
    with pytest.raises(LookupError), hold_off_collector():
        raise LookupError
    assert gc.isenabled()


def test_collections_that_the_measured_code_asks_for_are_counted(clock: FakeClock) -> None:
    def call() -> None:
        clock.advance(1000)
        gc.collect()

    prepared = prepare(Subject(call=call), Load(samples=7, warmup=0), clock=clock)
    assert prepared.run(clock.now()).gc_collections == 7


def test_beyond_the_limit_calls_live_in_a_histogram_with_a_raw_beginning(
    clock: FakeClock, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder.LatencyRecorder.__init__, "__kwdefaults__", {"limit": 500})
    latencies = [1000 + 3 * i for i in range(101)]
    samples = prepare(scripted(*latencies), Load(samples=10_000, warmup=0), clock=clock).run(clock.now()).samples
    assert samples.calls == 10_000
    true = [latencies[(i + 1) % 101] for i in range(10_000)]
    assert list(samples.columns["latency"]) == true[:500]
    assert len(samples.columns["end"]) == 500
    assert samples.histograms["latency"] == histogram.fold(true)
    assert samples.elapsed == sum(true)


def test_workers_below_the_limit_count_beside_one_beyond_it() -> None:
    beyond, below = recorder.LatencyRecorder(limit=3), recorder.LatencyRecorder(limit=3)
    beyond.add(0, [10, 20, 30, 40])
    below.add(0, [5, 10])
    samples = engine.samples_of([beyond, below], copy=0, loops=1, zero=0)
    assert samples.calls == 6
    assert samples.histograms["latency"] == histogram.fold([10, 10, 10, 10, 5, 5])
    assert samples.elapsed == 40


def test_a_long_open_loop_is_folded_too(clock: FakeClock, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LIMIT", 100)
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=1000, samples=250, warmup=0)
    samples = prepare(scripted(1000), load, clock=clock).run(clock.now()).samples
    assert samples.calls == 250
    assert {len(column) for column in samples.columns.values()} == {100}
    assert samples.histograms.keys() == {"latency", "lateness", "service"}
    assert samples.histograms["latency"] == histogram.fold([1000] * 250)


def test_what_measuring_costs_is_said() -> None:
    prepared = prepare(Subject(call=tuple), Load(samples=10, warmup=0.01))
    assert isinstance(prepared.clock, SystemClock)
    assert prepared.facts.read > 0
    assert prepared.oversleep >= 0


def test_samples_carry_their_copy(clock: FakeClock, scripted: Scripted) -> None:
    samples = prepare(scripted(10), Load(samples=8, copies=4, warmup=0), clock=clock, copy=3).run(clock.now()).samples
    assert samples.copy == 3
    assert samples.columns["latency"] == array("q", [10, 10])


def test_a_single_call_is_the_only_one_and_its_time_is_exact() -> None:
    clock, calls = FakeClock(), []

    def call() -> None:
        calls.append(clock.now())
        clock.advance(7_000)

    prepared = prepare(Subject(call=call), Load(mode=Mode.SINGLE), clock=clock)
    assert calls == []  # nothing is tried before time zero
    measured = prepared.run(1_000)
    assert calls == [1_000]
    assert measured.samples.columns == {"latency": array("q", [7_000]), "end": array("q", [7_000])}
    assert (measured.samples.calls, measured.samples.elapsed) == (1, 7_000)


def test_a_single_call_keeps_the_garbage_collector() -> None:
    seen = []
    prepare(Subject(call=lambda: seen.append(gc.isenabled())), Load(mode=Mode.SINGLE)).run(0)
    assert seen == [True]


def test_a_single_call_may_be_asynchronous() -> None:
    loop, seen = asyncio.new_event_loop(), []

    async def call() -> None:
        await asyncio.sleep(0)
        seen.append(1)

    try:
        prepare(Subject(call=call, event_loop=loop), Load(mode=Mode.SINGLE)).run(0)
    finally:
        loop.close()
    assert seen == [1]
