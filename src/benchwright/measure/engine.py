"""The engine's front: prepares a load, then runs it from an instant that every copy shares.

prepared = prepare(subject, load)      # calibrates the clock, warms up, draws the schedule
...                                    # the barrier: wait until every copy got here
measured = prepared.run(zero)          # times calls from `zero` on
"""

from __future__ import annotations

import gc
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchwright.errors import OptionError
from benchwright.measure import search
from benchwright.measure.clock import (
    Clock,
    ClockFacts,
    FakeClock,
    SystemClock,
    calibrate,
    learn_margin,
    tighten_timer_slack,
)
from benchwright.measure.closed import run_closed
from benchwright.measure.recorder import LIMIT, Recorder
from benchwright.measure.subject import Subject, calibrated_loops
from benchwright.measure.warmup import Warmup, first_call, warm_up
from benchwright.records import Int64s, Load, Mode, Objective, Samples
from benchwright.stats import histogram, ranks

if TYPE_CHECKING:
    from benchwright.measure.open import OpenCalls

DEFAULT_DURATION = 1.0
PROBE_DURATION = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the timed phase gave."""

    samples: Samples
    gc_collections: int
    probes: tuple[search.Probe[None], ...] = ()  # rates tried, with find_rate
    rate: float | None = None  # the rate that was asked of this copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A load that is warm and waits for time zero."""

    clock: Clock
    facts: ClockFacts
    warmup: Warmup
    loops: int
    oversleep: int  # ns, how late this machine wakes sleepers
    run: Callable[[int], Measured]


def prepare(subject: Subject, load: Load, *, clock: Clock | None = None, copy: int = 0) -> Prepared:
    """Calibrates, warms up until steady, draws the schedule; everything that must not be inside the timed phase."""
    load = _completed(load, copy)
    clock = clock or SystemClock()
    if isinstance(clock, FakeClock) and (load.workers > 1 or load.mode is Mode.MULTISTREAM):
        raise OptionError("virtual time knows one worker", remedy="use --workers 1, or the option clock=real")
    facts = calibrate(clock)
    first = first_call(subject, clock)  # before anything else calls it: only the very first is cold
    if load.mode is Mode.CLOSED and not load.once and subject.event_loop is None:
        subject = replace(subject, loops=load.loops or calibrated_loops(subject, clock, facts))
    warmup = warm_up(subject, clock, limit=load.warmup, first=first)
    if load.mode is Mode.OPEN:
        tighten_timer_slack()  # only where sleeps decide: it loads ctypes
    oversleep = learn_margin(clock) if isinstance(clock, SystemClock) else 0
    run = _RUNS[load.mode](subject, load, clock, warmup, copy)
    gc.collect()  # now, because it may take longer than there is between the parent's word and time zero
    return Prepared(clock=clock, facts=facts, warmup=warmup, loops=subject.loops, oversleep=oversleep, run=run)


def _completed(load: Load, copy: int) -> Load:
    """The load with a stop rule of this copy: its share of a count; else a second; with a precision alone, a minute."""
    if load.samples is not None and load.mode is not Mode.OPEN:
        return replace(load, samples=max(1, (load.samples + load.copies - 1 - copy) // load.copies))
    if load.duration is None and load.samples is None and not load.once:
        return replace(load, duration=60.0 if load.precision else DEFAULT_DURATION)
    return load


# ---- one function a mode: everything ready, then a function of time zero ----


def _closed(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Callable[[int], Measured]:
    def run(zero: int) -> Measured:
        with collector_held_off() as collector:
            if subject.event_loop is not None:
                from benchwright.measure.coroutines import run_closed_async

                recorders = run_closed_async(subject, load, clock, typical=warmup.typical, zero=zero)
            else:
                recorders = run_closed(subject, load, clock, typical=warmup.typical, zero=zero)
        samples = _from_recorders(recorders, copy=copy, loops=subject.loops, zero=zero)
        return Measured(samples=samples, gc_collections=collector.collections)

    return run


def _multistream(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Callable[[int], Measured]:
    from benchwright.measure.streams import FanOut, gathered

    if subject.event_loop is not None:
        return _closed(gathered(subject, load.streams), replace(load, workers=1), clock, warmup, copy)
    one_loop = replace(load, workers=1)

    def run(zero: int) -> Measured:
        with FanOut(subject, load.streams) as fan:
            return _closed(fan.subject, one_loop, clock, warmup, copy)(zero)

    return run


def _open(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Callable[[int], Measured]:
    if load.find_rate:
        return lambda zero: _searched(subject, load, clock, warmup, copy)
    from benchwright.measure.load import arrivals

    schedule = arrivals(load, copy=copy)
    timed = _open_loop(subject, schedule, load.workers, clock)

    def run(zero: int) -> Measured:
        with collector_held_off() as collector:
            calls = timed(zero)
        columns = calls.columns()
        elapsed = max(max(calls.done), _span(load, schedule))  # the last to arrive need not be the last to finish
        samples = _from_columns(columns, copy=copy, elapsed=elapsed)
        rate = None if load.rate is None else load.rate / load.copies
        return Measured(samples=samples, gc_collections=collector.collections, rate=rate)

    return run


def _open_loop(subject: Subject, schedule: Int64s, workers: int, clock: Clock) -> Callable[[int], OpenCalls]:
    if subject.event_loop is not None:
        from benchwright.measure.coroutines import arriving

        return arriving(subject, schedule, clock)
    from benchwright.measure import open as open_loop

    if workers == 1:
        return open_loop.self_timed(subject, schedule, clock)
    return open_loop.fed(subject, schedule, clock, workers)


def _span(load: Load, schedule: Int64s) -> int:
    """ns that the schedule covers; the gap after the last arrival belongs to it."""
    if load.duration is not None and load.samples is None:
        return int(load.duration * 1e9)
    return schedule[-1] if load.rate is None else int(len(schedule) * load.copies / load.rate * 1e9)


def _searched(subject: Subject, load: Load, clock: Clock, warmup: Warmup, copy: int) -> Measured:
    """Open loops at rates that a search chooses; the samples are those of the best rate, or of the lowest tried."""
    if load.copies > 1 or not load.objectives:
        raise OptionError("--find-rate needs an --objective and one copy", remedy="for example --objective 'p99<20ms'")

    def probe(rate: float) -> tuple[bool, Measured]:
        at_rate = replace(load, rate=rate, find_rate=False, duration=None, samples=_enough(load, rate))
        measured = _open(subject, at_rate, clock, warmup, copy)(clock.now() + 5_000_000)
        return _meets(measured.samples.columns["latency"], load.objectives), measured

    def hopeless(measured: Measured) -> bool:
        return not _meets(measured.samples.columns["service"], load.objectives)

    ceiling = load.workers * 1e9 / max(1.0, warmup.typical)
    probes = search.find_rate(probe, ceiling=ceiling, hopeless=hopeless)
    chosen = search.best(probes) or min(probes, key=lambda p: p.rate)
    tried = tuple(search.Probe(rate=p.rate, meets=p.meets, outcome=None) for p in probes)
    return replace(chosen.outcome, probes=tried, rate=chosen.rate if chosen.meets else 0.0)


def _enough(load: Load, rate: float) -> int:
    """Arrivals of one probe: what was asked for, and at least twice what bounding the percentiles takes."""
    asked = load.samples or math.ceil(rate * max(load.duration or 0.0, PROBE_DURATION))
    return max(asked, *(2 * ranks.samples_for_quantile(_quantile(o), sides=1) for o in load.objectives))


def _meets(times: Int64s, objectives: Sequence[Objective]) -> bool:
    """Whether bounds on percentiles hold with 95 % confidence: the upper end of each interval is inside."""
    ordered = sorted(times)
    for objective in objectives:
        between = ranks.quantile_ranks(len(ordered), _quantile(objective), 0.9)  # two-sided 90 % = one-sided 95 %
        if between is None or ordered[between[1] - 1] / 1e9 > objective.bound:
            return False
    return True


def _quantile(objective: Objective) -> float:
    return float(objective.metric.removeprefix("latency_p")) / 100


_RUNS: dict[Mode, Callable[[Subject, Load, Clock, Warmup, int], Callable[[int], Measured]]] = {
    Mode.CLOSED: _closed,
    Mode.OFFLINE: _closed,
    Mode.MULTISTREAM: _multistream,
    Mode.OPEN: _open,
}


# ---- what was timed, as records ----


def _from_recorders(recorders: list[Recorder], *, copy: int, loops: int, zero: int) -> Samples:
    latency, end = array("q"), array("q")
    for recorder in recorders:
        latency.extend(recorder.latencies)
        end.extend(recorder.ends(zero))
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
        elapsed=max((r.active for r in recorders), default=0),
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
class Collector:
    """What the garbage collector did although it was held off."""

    collections: int = 0


@contextmanager
def collector_held_off() -> Iterator[Collector]:
    """No garbage collection inside, unless the measured code asks for it; that is counted."""
    seen, was_enabled = Collector(), gc.isenabled()
    gc.freeze()
    gc.disable()
    before = _collections()
    try:
        yield seen
    finally:
        seen.collections = _collections() - before
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())
