"""Calls within a budget of time and count, for who wants a figure now: tests and notebooks.

`prepare_within` times a callable for a while, and a slow one a few times at least. `prepare_rounds` times rounds that
each have a setup and a teardown, which are not timed.
"""

from __future__ import annotations

import gc
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat, starmap
from typing import Any

from benchwright.records import Samples
from benchwright.worker.engine.clock import Clock, SystemClock, calibrate, learn_margin
from benchwright.worker.engine.closed_loop import StopRule, run_worker
from benchwright.worker.engine.engine import (
    FEW_SLEEPS,
    Finish,
    MeasuredLoad,
    PreparedLoad,
    hold_off_collector,
    samples_of,
)
from benchwright.worker.engine.recorder import LatencyRecorder
from benchwright.worker.engine.subject import Subject, calibrate_loops
from benchwright.worker.engine.warmup import Warmup, first_call, warm_up

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBudget:
    """How long a callable is called and timed, and how often at least."""

    seconds: float = 1.0
    least: int = 5  # samples, however long they take
    warmup: float | None = None  # seconds at most; None: half of the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRounds:
    """Rounds that are timed one by one: how many there are, and what happens around each."""

    rounds: int = 1
    iterations: int = 1  # calls in each
    warmups: int = 0  # rounds before, whose times are not kept
    setup: Callable[[], Arguments | None] | None = None  # before each round; may give the arguments
    teardown: Callable[..., object] | None = None  # after each round, with the arguments
    keep: Callable[[Any], object] = lambda result: None  # given what the call of a round of one call returned


def prepare_within(subject: Subject, budget: CallBudget, *, clock: Clock | None = None) -> PreparedLoad:
    """Warms up, then waits for time zero to issue calls within the budget.

    A callable of which one call takes the whole budget is called once before, and as often as it must be.
    """
    clock = clock or SystemClock()
    facts = calibrate(clock)
    first = first_call(subject, clock)
    limit = budget.seconds / 2 if budget.warmup is None else budget.warmup
    if first >= budget.seconds * 1e9:
        limit = 0.0
    else:
        subject = replace(subject, loops=calibrate_loops(subject, clock, facts))
    warmup = warm_up(subject, clock, limit=limit, first=first)

    def time_calls(zero: int) -> Finish:
        recorder = LatencyRecorder()
        end = zero + int(budget.seconds * 1e9)
        rule = StopRule(typical=max(1.0, warmup.typical), now=clock.now, deadline=end, least=budget.least)
        with hold_off_collector() as collector:
            clock.wait_until(zero)
            run_worker(subject, recorder, rule, clock, once=False)
        samples = samples_of([recorder], copy=0, loops=subject.loops, zero=zero)
        return lambda: MeasuredLoad(samples=samples, gc_collections=collector.collections)

    gc.collect()  # now: while calls are timed nobody does
    return PreparedLoad(
        clock=clock, facts=facts, warmup=warmup, loops=subject.loops, oversleep=_oversleep(clock), time=time_calls
    )


def prepare_rounds(
    call: Callable[..., Any], given: Arguments, plan: CallRounds, *, clock: Clock | None = None
) -> PreparedLoad:
    """Makes the rounds that are not timed, then waits for time zero to make the others."""
    clock = clock or SystemClock()
    facts = calibrate(clock)
    took = [_time_round(call, given, plan, clock)[0] for _ in range(plan.warmups)]
    warmup = Warmup(
        calls=plan.warmups * plan.iterations,
        elapsed=sum(took),
        first=took[0] if took else 0,
        typical=float(sorted(took)[len(took) // 2]) if took else 0.0,
        steady=True,  # whoever says how many rounds there are says when it is warm
        cut=0,
        reason=f"{plan.warmups} rounds were asked for",
    )

    def time_rounds(zero: int) -> Finish:
        clock.wait_until(zero)
        collections, latency, end, spent = 0, array("q"), array("q"), 0
        for _ in range(plan.rounds):
            took, collected = _time_round(call, given, plan, clock)
            collections += collected
            spent += took
            latency.append(took)
            end.append(spent)  # as if rounds followed each other: what lies between them is nobody's throughput
        samples = Samples(
            copy=0,
            calls=plan.rounds * plan.iterations,
            loops=plan.iterations,
            elapsed=spent,
            columns={"latency": latency, "end": end},
        )
        return lambda: MeasuredLoad(samples=samples, gc_collections=collections)

    # A round is one read, the calls, and another read: what is taken off again is a read.
    looped = replace(facts, loop=facts.read)
    return PreparedLoad(
        clock=clock, facts=looped, warmup=warmup, loops=plan.iterations, oversleep=_oversleep(clock), time=time_rounds
    )


def _time_round(call: Callable[..., Any], given: Arguments, plan: CallRounds, clock: Clock) -> tuple[int, int]:
    """One round between its setup and its teardown; returns what it took, in ns, and the garbage collections in it."""
    args, kwargs = given
    if plan.setup is not None:
        args, kwargs = plan.setup() or given
    now, bound = clock.now, _bind(call, kwargs) if plan.iterations > 1 else call
    calls = starmap(bound, repeat(args, plan.iterations))
    with hold_off_collector() as collector:
        if plan.iterations == 1:
            begin = now()
            result = call(*args, **kwargs)
            end = now()
            plan.keep(result)
        else:
            begin = now()
            deque(calls, maxlen=0)
            end = now()
    if plan.teardown is not None:
        plan.teardown(*args, **kwargs)
    return end - begin, collector.collections


def _bind(call: Callable[..., Any], kwargs: Mapping[str, Any]) -> Callable[..., Any]:
    if not kwargs:
        return call
    from functools import partial

    return partial(call, **kwargs)


def _oversleep(clock: Clock) -> int:
    return learn_margin(clock, sleeps=FEW_SLEEPS) if isinstance(clock, SystemClock) else 0
