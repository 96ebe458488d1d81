"""The engine's front: prepares a load, then runs it from an instant that every copy shares.

prepared = prepare(subject, load)      # calibrates the clock, warms up, draws the schedule
...                                    # the barrier: wait until every copy got here
measured = prepared.run(zero)          # times calls from `zero` on
"""

from __future__ import annotations

import gc
import math
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchwright.errors import OptionError
from benchwright.records import Arrivals, Int64s, Load, Mode, Samples
from benchwright.stats import histogram
from benchwright.worker.engine.clock import (
    SLEEPS,
    Clock,
    ClockFacts,
    FakeClock,
    SystemClock,
    calibrate,
    learn_margin,
    tighten_timer_slack,
)
from benchwright.worker.engine.closed_loop import run_closed
from benchwright.worker.engine.recorder import LIMIT, LatencyRecorder, zeros
from benchwright.worker.engine.subject import Subject, calibrate_loops
from benchwright.worker.engine.warmup import Warmup, first_call, warm_up

if TYPE_CHECKING:
    from benchwright.records.probes import RateProbe
    from benchwright.worker.engine.open_loop import OpenCalls

DEFAULT_DURATION = 1.0
FEW_SLEEPS = 5  # enough to state how late this machine wakes sleepers, where nothing depends on it


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLoad:
    """The result of the timed phase."""

    samples: Samples
    gc_collections: int
    probes: tuple[RateProbe, ...] = ()  # rates tried, with find_rate
    rate: float | None = None  # the rate that was asked of this copy
    began: float = 0.0  # seconds from time zero to the load that these are of, where a search issued others before it


Finish = Callable[[], MeasuredLoad]  # works out what was timed; called when nothing is timed any more
Timed = Callable[[int], Finish]  # issues every call from an instant on


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedLoad:
    """A load that is warm and waits for time zero."""

    clock: Clock
    facts: ClockFacts
    warmup: Warmup
    loops: int
    oversleep: int  # ns, how late this machine wakes sleepers
    time: Timed

    def run(self, zero: int) -> MeasuredLoad:
        """Issues every call from the instant `zero` on, and works out what was timed."""
        return self.time(zero)()


def prepare(subject: Subject, load: Load, *, clock: Clock | None = None, copy: int = 0) -> PreparedLoad:
    """Calibrates, warms up until steady, draws the schedule; everything that must not be inside the timed phase."""
    subject, load = _share_of_copy(subject, load, copy)
    clock = clock or SystemClock()
    if isinstance(clock, FakeClock) and (load.workers > 1 or load.mode is Mode.MULTISTREAM):
        raise OptionError("virtual time works with one worker only", remedy="use --workers 1, or the option clock=real")
    if load.mode is Mode.SINGLE:
        return _prepare_single_call(subject, clock, copy)
    facts = calibrate(clock)
    if subject.event_loop is not None:
        facts = replace(facts, loop=facts.read)  # its loop reads the clock twice a call, and one read is inside
    first = first_call(subject, clock)  # before anything else calls it: only the very first is cold
    if load.mode is Mode.CLOSED and not load.once and subject.event_loop is None:
        subject = replace(subject, loops=load.loops or calibrate_loops(subject, clock, facts))
    warmup = warm_up(subject, clock, limit=load.warmup, first=first)
    if load.mode is Mode.OPEN:
        tighten_timer_slack()  # only where sleeps decide: it loads ctypes
    oversleep = _oversleep(clock, SLEEPS if load.mode is Mode.OPEN else FEW_SLEEPS)
    timed = _MODES[load.mode](subject, load, clock, warmup, copy)
    gc.collect()  # now, because it may take longer than there is between the parent's word and time zero
    return PreparedLoad(clock=clock, facts=facts, warmup=warmup, loops=subject.loops, oversleep=oversleep, time=timed)


def _oversleep(clock: Clock, sleeps: int) -> int:
    return learn_margin(clock, sleeps=sleeps) if isinstance(clock, SystemClock) else 0


def _share_of_copy(subject: Subject, load: Load, copy: int) -> tuple[Subject, Load]:
    """What one copy does: its part of the inputs or of the count; without any stop rule, a second."""
    if load.once and load.copies > 1:
        subject = replace(subject, arguments=subject.arguments[copy :: load.copies])
        if not subject.arguments:
            raise OptionError("--once: there are fewer inputs than copies", remedy="use fewer --copies")
    if load.once and load.mode is Mode.MULTISTREAM:
        return subject, replace(load, once=False, samples=math.ceil(len(subject.arguments) / load.streams))
    if load.samples is not None and load.mode is not Mode.OPEN:
        return subject, replace(load, samples=max(1, (load.samples + load.copies - 1 - copy) // load.copies))
    if load.duration is None and load.samples is None and not load.once:
        return subject, replace(load, duration=60.0 if load.precision else DEFAULT_DURATION)
    return subject, load


def _prepare_single_call(subject: Subject, clock: Clock, copy: int) -> PreparedLoad:
    """One call in all, the cold one, as its author would make it: nothing is tried before, no collector held off."""
    call, arguments = subject.make_synchronous().call, next(subject.argument_stream())

    def time_call(zero: int) -> Finish:
        clock.wait_until(zero)
        collections, begin = _count_collections(), clock.now()
        call(*arguments)
        end = clock.now()
        collections = _count_collections() - collections
        columns = {"latency": array("q", [end - begin]), "end": array("q", [end - zero])}
        samples = Samples(copy=copy, calls=1, loops=1, elapsed=end - begin, columns=columns)
        return lambda: MeasuredLoad(samples=samples, gc_collections=collections)

    nothing = Warmup(calls=0, elapsed=0, first=0, typical=0.0, steady=False, cut=0, reason="called once")
    return PreparedLoad(clock=clock, facts=calibrate(clock), warmup=nothing, loops=1, oversleep=0, time=time_call)


# ---- one function a mode: everything ready, then a function of time zero ----


def _prepare_closed_loop(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Timed:
    def time_calls(zero: int) -> Finish:
        with hold_off_collector() as collector:
            if subject.event_loop is not None:
                from benchwright.worker.engine.coroutines import run_closed_async

                recorders = run_closed_async(subject, load, clock, typical=warmup.typical, zero=zero)
            else:
                recorders = run_closed(subject, load, clock, typical=warmup.typical, zero=zero)

        def finish() -> MeasuredLoad:
            samples = samples_of(recorders, copy=copy, loops=subject.loops, zero=zero)
            return MeasuredLoad(samples=samples, gc_collections=collector.collections)

        return finish

    return time_calls


def _prepare_multistream(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Timed:
    from benchwright.worker.engine.streams import FanOut, gather_streams

    one_loop = replace(load, workers=1)
    if subject.event_loop is not None:
        return _prepare_closed_loop(gather_streams(subject, load.streams), one_loop, clock, warmup, copy)

    def time_calls(zero: int) -> Finish:
        with FanOut(subject, load.streams) as fan:
            return _prepare_closed_loop(fan.subject, one_loop, clock, warmup, copy)(zero)

    return time_calls


def _prepare_open_loop(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Timed:
    if load.find_rate:
        from benchwright.worker.engine.rate_search import search_rate

        def search(zero: int) -> Finish:
            def measure(at_rate: Load) -> MeasuredLoad:
                begin = clock.now() + 5_000_000
                measured = _prepare_open_loop(subject, at_rate, clock, warmup, copy)(begin)()
                return replace(measured, began=max(0, begin - zero) / 1e9)

            return search_rate(load, measure, typical=warmup.typical)

        return search
    from benchwright.worker.engine.arrivals import arrivals

    schedule = arrivals(load, copy=copy)
    rate = None if load.rate is None else load.rate / load.copies
    return _time_schedule(
        _choose_open_loop(subject, schedule, load.workers, clock), copy, span=_span(load, schedule), rate=rate
    )


def _prepare_offline(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Timed:
    """Every call is due at time zero; latency counts from there, and the last to end tells how long the lot takes."""
    from benchwright.worker.engine import open_loop

    if subject.event_loop is not None:
        raise OptionError("--offline needs a callable that is not asynchronous", remedy="use --samples instead")
    count = load.samples or len(subject.arguments)
    return _time_schedule(open_loop.prepare_backlog(subject, count, load.workers, clock), copy, span=0, rate=None)


def _time_schedule(run: Callable[[int], OpenCalls], copy: int, *, span: int, rate: float | None) -> Timed:
    def time_calls(zero: int) -> Finish:
        with hold_off_collector() as collector:
            calls = run(zero)

        def finish() -> MeasuredLoad:
            elapsed = max(max(calls.done), span)  # the last to arrive need not be the last to finish
            samples = _from_columns(calls.columns(), copy=copy, elapsed=elapsed)
            return MeasuredLoad(samples=samples, gc_collections=collector.collections, rate=rate)

        return finish

    return time_calls


def _choose_open_loop(subject: Subject, schedule: Int64s, workers: int, clock: Clock) -> Callable[[int], OpenCalls]:
    if subject.event_loop is not None:
        from benchwright.worker.engine.coroutines import prepare_open_async

        return prepare_open_async(subject, schedule, clock)
    from benchwright.worker.engine import open_loop

    if workers == 1:
        return open_loop.prepare_self_timed(subject, schedule, clock)
    return open_loop.prepare_generated(subject, schedule, clock, workers)


def _span(load: Load, schedule: Int64s) -> int:
    """ns that the schedule covers; the gap after the last arrival belongs to it, where there is a rate."""
    if load.arrivals is Arrivals.TRACE:
        return schedule[-1]
    if load.duration is not None and load.samples is None:
        return int(load.duration * 1e9)
    return schedule[-1] if load.rate is None else int(len(schedule) * load.copies / load.rate * 1e9)


_MODES: dict[Mode, Callable[[Subject, Load, Clock, Warmup, int], Timed]] = {
    Mode.CLOSED: _prepare_closed_loop,
    Mode.OFFLINE: _prepare_offline,
    Mode.MULTISTREAM: _prepare_multistream,
    Mode.OPEN: _prepare_open_loop,
}


# ---- what was timed, as records ----


def samples_of(recorders: list[LatencyRecorder], *, copy: int, loops: int, zero: int) -> Samples:
    """What the workers of one copy recorded since time zero, as one record."""
    kept, at = sum(recorder.raw_count for recorder in recorders), 0
    latency, end = zeros(kept), zeros(kept)
    for recorder in recorders:
        recorder.fill(latency, end, at, zero)
        at += recorder.raw_count
    folded = [h for recorder in recorders if (h := recorder.histogram()) is not None]
    histograms = {}
    if folded:
        whole = folded[0]
        for other in folded[1:]:
            whole = histogram.merge(whole, other)
        for recorder in recorders:
            if recorder.calls <= recorder.limit:  # a worker that stayed below the limit counts too
                whole = histogram.fold(recorder.latencies, whole)
        histograms["latency"] = whole
    return Samples(
        copy=copy,
        calls=sum(r.calls for r in recorders) * loops,
        loops=loops,
        elapsed=max((r.last - zero - r.paused for r in recorders if r.calls), default=0),
        columns={"latency": latency, "end": end},
        histograms=histograms,
    )


def _from_columns(columns: dict[str, Int64s], *, copy: int, elapsed: int) -> Samples:
    calls = len(columns["latency"])
    histograms = {}
    if calls > LIMIT:
        histograms = {name: histogram.fold(columns[name]) for name in ("latency", "lateness", "service")}
        columns = {name: values[:LIMIT] for name, values in columns.items()}
    return Samples(copy=copy, calls=calls, loops=1, elapsed=elapsed, columns=columns, histograms=histograms)


@dataclass(slots=True)
class CollectorWatch:
    """What the garbage collector did although it was held off."""

    collections: int = 0


@contextmanager
def hold_off_collector() -> Iterator[CollectorWatch]:
    """No garbage collection inside, unless the measured code asks for it; that is counted.

    What somebody else froze stays frozen: nobody can say any more which of it was theirs.
    """
    seen, was_enabled, was_frozen = CollectorWatch(), gc.isenabled(), gc.get_freeze_count() > 0
    gc.freeze()
    gc.disable()
    before = _count_collections()
    try:
        yield seen
    finally:
        seen.collections = _count_collections() - before
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()


def _count_collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())
