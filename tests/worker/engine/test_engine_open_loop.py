"""The open loop: latency counts from the scheduled instant, so a stall shows in every call it delayed."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest

from benchwright.errors import MeasureError
from benchwright.records import Arrivals, Int64s, Load, Mode
from benchwright.worker.engine.clock import FakeClock, SystemClock
from benchwright.worker.engine.engine import MeasuredLoad, prepare
from benchwright.worker.engine.open_loop import OpenCalls
from benchwright.worker.engine.subject import Subject

MS = 1_000_000
Scripted = Callable[..., Subject]


def _run(subject: Subject, clock: FakeClock, **fields: object) -> MeasuredLoad:
    load = Load(mode=Mode.OPEN, warmup=0, **fields)  # type: ignore[arg-type]
    prepared = prepare(subject, load, clock=clock)
    return prepared.run(clock.now())


def _quantile(values: Int64s, q: float) -> int:
    return sorted(values)[ceil(q * len(values)) - 1]


def test_an_idle_server_answers_in_its_service_time(clock: FakeClock, scripted: Scripted) -> None:
    measured = _run(scripted(2 * MS), clock, arrivals=Arrivals.CONSTANT, rate=100, duration=1.0)
    columns = measured.samples.columns
    assert set(columns["latency"]) == set(columns["service"]) == {2 * MS}
    assert set(columns["lateness"]) == {0}
    assert list(columns["scheduled"]) == [i * 10 * MS for i in range(100)]
    assert list(columns["end"]) == [i * 10 * MS + 2 * MS for i in range(100)]
    assert measured.samples.elapsed == 1000 * MS  # the empty time after the last call belongs to it
    assert measured.rate == 100


def test_a_stall_shows_in_every_call_it_delayed(clock: FakeClock, scripted: Scripted) -> None:
    """Coordinated omission: 1 ms calls arrive every 10 ms, and the 501st takes 1000 ms.

    By hand: the call after it waits 990 ms and takes 1 ms: 991. Each further one arrives 10 ms later and is begun 1 ms
    later, so it takes 9 ms less: 982, 973, ... The 110th, with 1000 - 990 = 10 ms, is the last that waits. So 111 of
    1000 calls are slow. p99 is the call of rank 990, the eleventh largest: 1000 - 10 x 9 ms.
    """
    script = [MS] * 501 + [1000 * MS] + [MS] * 10_000  # one call is made before the clock starts
    samples = _run(scripted(*script), clock, arrivals=Arrivals.CONSTANT, rate=100, samples=1000).samples
    latency = samples.columns["latency"]
    assert list(latency[500:611]) == [1000 * MS - 9 * MS * i for i in range(111)]
    assert set(latency[:500]) == set(latency[611:]) == {MS}
    assert _quantile(latency, 0.99) == 910 * MS
    assert _quantile(latency, 0.5) == MS
    assert max(samples.columns["lateness"]) == 0  # none of it is the generator's


def test_a_closed_loop_sees_the_same_stall_once(clock: FakeClock, scripted: Scripted) -> None:
    """It does not fake what it cannot know: nobody waited, so one call in a thousand is slow and p99 is not."""
    prepared = prepare(scripted(*[MS] * 501, 1000 * MS, *[MS] * 10_000), Load(samples=1000, warmup=0), clock=clock)
    latency = prepared.run(clock.now()).samples.columns["latency"]
    assert sum(value > MS for value in latency) == 1
    assert _quantile(latency, 0.99) == MS
    assert max(latency) == 1000 * MS


def test_waiting_for_a_busy_worker_is_not_the_generators_lateness(clock: FakeClock, scripted: Scripted) -> None:
    columns = _run(scripted(15 * MS), clock, arrivals=Arrivals.CONSTANT, rate=100, samples=50).samples.columns
    assert set(columns["lateness"]) == {0}
    assert list(columns["latency"]) == [15 * MS + 5 * MS * i for i in range(50)]
    assert set(columns["service"]) == {15 * MS}


def test_overload_shows_in_the_elapsed_time(clock: FakeClock, scripted: Scripted) -> None:
    samples = _run(scripted(20 * MS), clock, arrivals=Arrivals.CONSTANT, rate=100, duration=1.0).samples
    assert samples.elapsed == 100 * 20 * MS


def test_poisson_and_trace_keep_their_schedule(clock: FakeClock, scripted: Scripted, tmp_path: Path) -> None:
    poisson = _run(scripted(1000), clock, rate=500, samples=400, seed=7).samples.columns
    gaps = {b - a for a, b in pairwise(poisson["scheduled"])}
    assert len(gaps) > 390
    assert list(poisson["end"]) == [s + lat for s, lat in zip(poisson["scheduled"], poisson["latency"], strict=True)]
    trace = tmp_path / "trace"
    trace.write_text("0.001\n0.002\n0.5\n", encoding="utf-8")
    traced = _run(scripted(3 * MS), clock, arrivals=Arrivals.TRACE, trace=str(trace)).samples
    assert list(traced.columns["scheduled"]) == [1 * MS, 2 * MS, 500 * MS]
    assert list(traced.columns["latency"]) == [3 * MS, 5 * MS, 3 * MS]


def test_a_clock_that_goes_back_is_an_error_and_no_number(clock: FakeClock, scripted: Scripted) -> None:
    with pytest.raises(MeasureError, match="the clock went back by 9 ns"):
        _run(scripted(1000, 1000, -9), clock, arrivals=Arrivals.CONSTANT, rate=1000, samples=10)


def test_what_the_last_arrival_missed_counts_as_elapsed() -> None:
    """With several workers the call that ends last need not be the one that arrived last."""
    calls = iter(range(100))

    def call() -> None:
        if next(calls) == 1:  # the first arrival; call 0 was the warm-up
            time.sleep(0.3)

    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=100, samples=5, workers=2, warmup=0)
    prepared = prepare(Subject(call=call), load)
    samples = prepared.run(prepared.clock.now() + 20 * MS).samples
    assert samples.elapsed >= 300 * MS
    assert max(samples.columns["end"]) == samples.elapsed


def test_several_workers_are_fed_every_arrival_once() -> None:
    lock, seen, threads = threading.Lock(), [], set()

    def call(number: int) -> None:
        with lock:
            seen.append(number)
            threads.add(threading.current_thread().name)
        time.sleep(0.002)

    subject = Subject(call=call, arguments=[(i,) for i in range(300)])
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=1000, samples=300, workers=3, warmup=0)
    prepared = prepare(subject, load)
    seen.clear()
    samples = prepared.run(prepared.clock.now() + 50 * MS).samples
    assert sorted(seen) == list(range(300))
    assert samples.calls == 300
    assert len(threads - {threading.current_thread().name}) > 1
    assert min(samples.columns["lateness"]) >= 0
    assert min(samples.columns["latency"]) > 0
    assert list(samples.columns["scheduled"]) == [i * MS for i in range(300)]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_call_raises_comes_out(workers: int) -> None:
    calls = iter(range(1000))

    def call() -> None:
        if next(calls) > 30:
            raise LookupError("call 30")

    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=2000, samples=200, workers=workers, warmup=0)
    prepared = prepare(Subject(call=call), load)
    with pytest.raises(LookupError, match="call 30"):
        prepared.run(prepared.clock.now() + 5 * MS)


@pytest.mark.serial
@pytest.mark.parametrize("workers", [1, 2])
def test_arrivals_are_punctual_on_the_real_clock(workers: int) -> None:
    load = Load(mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, rate=200, duration=0.5, workers=workers, warmup=0)
    prepared = prepare(Subject(call=tuple), load, clock=SystemClock())
    lateness = prepared.run(prepared.clock.now() + 20 * MS).samples.columns["lateness"]
    assert min(lateness) >= 0
    assert sorted(lateness)[len(lateness) // 4] < MS  # the rest is what other processes did to this one
    assert sorted(lateness[50:])[12] < MS  # nor does it grow: an interval sleeper would lose some at every wake-up


def test_columns_of_no_calls_are_empty() -> None:
    nothing = array("q")
    columns = OpenCalls(scheduled=nothing, issued=nothing, started=nothing, done=nothing).columns()
    assert all(len(column) == 0 for column in columns.values())
