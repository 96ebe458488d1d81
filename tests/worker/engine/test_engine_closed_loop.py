"""The closed loop in virtual time: every stop rule, to the nanosecond; and in real threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from benchwright.errors import MeasureError, OptionError
from benchwright.records import Load, Mode
from benchwright.worker.engine.clock import FakeClock, SystemClock
from benchwright.worker.engine.engine import MeasuredLoad, prepare
from benchwright.worker.engine.subject import Subject

MS = 1_000_000
Scripted = Callable[..., Subject]


def _run(subject: Subject, load: Load, clock: FakeClock) -> MeasuredLoad:
    prepared = prepare(subject, load, clock=clock)
    return prepared.run(clock.now())


def test_a_count_is_met_exactly(clock: FakeClock, scripted: Scripted) -> None:
    samples = _run(scripted(1 * MS, 2 * MS), Load(samples=501, warmup=0), clock).samples
    # one call before the clock starts, so the second of the script is the first that is timed
    assert list(samples.columns["latency"]) == [2 * MS, 1 * MS] * 250 + [2 * MS]
    assert samples.calls == 501 and samples.loops == 1
    assert samples.elapsed == 250 * 3 * MS + 2 * MS


def test_ends_add_up_from_time_zero(clock: FakeClock, scripted: Scripted) -> None:
    samples = _run(scripted(3, 5, 11), Load(samples=1000, warmup=0), clock).samples
    total, ends = 0, []
    for latency in samples.columns["latency"]:
        total += latency
        ends.append(total)
    assert list(samples.columns["end"]) == ends


def test_a_duration_ends_with_the_call_that_reaches_it(clock: FakeClock, scripted: Scripted) -> None:
    samples = _run(scripted(3 * MS), Load(duration=0.1, warmup=0), clock).samples
    assert samples.calls == 34  # 33 calls reach 99 ms; one more is begun
    assert samples.elapsed == 102 * MS


def test_without_any_rule_a_second_is_measured(clock: FakeClock, scripted: Scripted) -> None:
    assert _run(scripted(10 * MS), Load(warmup=0), clock).samples.calls == 100


def test_a_duration_too_short_for_one_call_is_good_for_one(clock: FakeClock, scripted: Scripted) -> None:
    subject = scripted(5 * MS)
    prepared = prepare(subject, Load(duration=1e-9, warmup=0), clock=clock)
    zero = clock.now()
    clock.advance(MS)  # this copy heard of time zero late
    assert prepared.run(zero).samples.calls == 1


def test_whichever_rule_comes_first_ends_it(clock: FakeClock, scripted: Scripted) -> None:
    assert _run(scripted(MS), Load(samples=10, duration=100.0, warmup=0), clock).samples.calls == 10
    assert _run(scripted(MS), Load(samples=10_000, duration=0.02, warmup=0), clock).samples.calls == 20


def test_once_uses_every_input_once_and_in_order(clock: FakeClock) -> None:
    seen: list[int] = []

    def call(value: int) -> None:
        seen.append(value)
        clock.advance(10)

    subject = Subject(call=call, arguments=[(i,) for i in range(700)])
    samples = _run(subject, Load(once=True, warmup=0), clock).samples
    assert seen[1:] == list(range(700))  # after the one call before the clock starts
    assert samples.calls == 700


def test_once_is_never_looped() -> None:
    seen: list[int] = []
    subject = Subject(call=seen.append, arguments=[(i,) for i in range(50)])
    samples = prepare(subject, Load(once=True, warmup=0)).run(0).samples
    assert (samples.calls, samples.loops) == (50, 1)
    assert seen[-50:] == list(range(50))


def test_once_with_several_workers_uses_every_input_once() -> None:
    lock, seen = threading.Lock(), []

    def call(value: int) -> None:
        with lock:
            seen.append(value)

    subject = Subject(call=call, arguments=[(i,) for i in range(21)])
    prepared = prepare(subject, Load(once=True, warmup=0, workers=4))
    seen.clear()
    assert prepared.run(0).samples.calls == 21
    assert sorted(seen) == list(range(21))


def test_precision_ends_when_the_median_is_known_well_enough(clock: FakeClock, scripted: Scripted) -> None:
    steady = _run(scripted(MS), Load(precision=0.01, warmup=0), clock).samples
    assert steady.calls == 100  # the first look is enough when all calls are alike
    spread = [MS + 997 * (i * 7919 % 1009) for i in range(1009)]  # ± 40 % about 1.5 ms
    loose = _run(scripted(*spread), Load(precision=0.05, warmup=0), clock).samples
    tight = _run(scripted(*spread), Load(precision=0.01, warmup=0), clock).samples
    assert 100 <= loose.calls < tight.calls < 60_000


def test_a_precision_that_is_never_reached_ends_after_a_minute(clock: FakeClock, scripted: Scripted) -> None:
    subject = scripted(*[MS * (1 + i) for i in range(40)])  # so few of them that the median stays unknown
    samples = _run(subject, Load(precision=0.0001, warmup=0), clock).samples
    assert 60.0 <= samples.elapsed / 1e9 < 60.1


def test_very_fast_callables_are_looped_and_counted() -> None:
    prepared = prepare(Subject(call=tuple), Load(samples=200, warmup=0.05))
    samples = prepared.run(prepared.clock.now()).samples
    assert samples.loops == prepared.loops >= 64
    assert len(samples.columns["latency"]) == 200
    assert samples.calls == 200 * samples.loops


def test_loops_can_be_asked_for(clock: FakeClock, scripted: Scripted) -> None:
    subject = scripted(7)
    samples = _run(subject, Load(samples=10, loops=5, warmup=0), clock).samples
    assert list(samples.columns["latency"]) == [35] * 10
    assert (samples.calls, samples.loops) == (50, 5)


def test_offline_is_one_batch_as_fast_as_it_goes(clock: FakeClock, scripted: Scripted) -> None:
    samples = _run(scripted(2), Load(mode=Mode.OFFLINE, samples=10_000, warmup=0), clock).samples
    assert (samples.calls, samples.elapsed, samples.loops) == (10_000, 20_000, 1)


def test_workers_share_the_count_and_do_it_in_threads() -> None:
    names: set[str] = set()
    subject = Subject(call=lambda: names.add(threading.current_thread().name))
    prepared = prepare(subject, Load(samples=100, workers=3, loops=1, warmup=0))
    names.clear()
    samples = prepared.run(prepared.clock.now()).samples
    assert samples.calls == 100 and len(samples.columns["end"]) == 100
    assert names == {"worker-0", "worker-1", "worker-2"}


def test_workers_call_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=20)  # breaks, and so fails the run, unless two calls overlap
    warm = threading.Event()

    def call() -> None:
        if warm.is_set():
            meeting.wait()

    prepared = prepare(Subject(call=call), Load(samples=20, workers=2, loops=1, warmup=0))
    warm.set()
    assert prepared.run(prepared.clock.now()).samples.calls == 20


def test_virtual_time_knows_one_worker(clock: FakeClock, scripted: Scripted) -> None:
    for load in (Load(workers=2), Load(mode=Mode.MULTISTREAM, streams=2)):
        with pytest.raises(OptionError, match="virtual time") as caught:
            prepare(scripted(1), load, clock=clock)
        assert "clock=real" in caught.value.remedy


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_call_raises_comes_out(workers: int) -> None:
    calls = iter(range(1000))

    def call() -> None:
        if next(calls) > 300:
            raise LookupError("the 300th call")

    prepared = prepare(Subject(call=call), Load(samples=5000, workers=workers, loops=1, warmup=0))
    with pytest.raises(LookupError, match="300th"):
        prepared.run(prepared.clock.now())


def test_a_clock_that_goes_back_is_an_error_and_no_number(clock: FakeClock, scripted: Scripted) -> None:
    subject = scripted(5, 5, 5, -3)
    prepared = prepare(subject, Load(samples=50, warmup=0), clock=clock)
    with pytest.raises(MeasureError, match="the clock went back by 3 ns") as caught:
        prepared.run(clock.now())
    assert caught.value.remedy


def test_time_zero_is_waited_for(clock: FakeClock, scripted: Scripted) -> None:
    prepared = prepare(scripted(10), Load(samples=3, warmup=0), clock=clock)
    zero = clock.now() + 1000
    assert list(prepared.run(zero).samples.columns["end"]) == [10, 20, 30]
    real = SystemClock()
    waiting = prepare(Subject(call=tuple), Load(samples=3, warmup=0), clock=real)
    zero = real.now() + 30 * MS
    assert min(waiting.run(zero).samples.columns["end"]) >= 0
