"""Asynchronous callables: concurrent tasks of one event loop instead of threads."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable
from itertools import islice

from benchwright.records import Int64s, Load
from benchwright.worker.engine.clock import Clock, SystemClock
from benchwright.worker.engine.closed_loop import StopRule, StopVerdict
from benchwright.worker.engine.open_loop import OpenCalls
from benchwright.worker.engine.recorder import LatencyRecorder
from benchwright.worker.engine.subject import Subject

LEAST_SLEEP = 2_000_000  # ns; the event loop's own timer is no finer than a millisecond


def run_closed_async(subject: Subject, load: Load, clock: Clock, *, typical: float, zero: int) -> list[LatencyRecorder]:
    """`load.workers` tasks, each awaiting one call after another; one recorder each."""
    recorders, verdict = [LatencyRecorder() for _ in range(load.workers)], StopVerdict()

    async def work(index: int) -> None:
        rule = StopRule.for_worker(load, index, typical=typical, zero=zero, verdict=verdict, now=clock.now)
        now, recorder, call = clock.now, recorders[index], subject.call
        stream = subject.share(index, load).argument_stream(once=load.once)
        while wanted := rule.next_chunk(recorder, now()):
            starts: list[int] = []
            ticks: list[int] = []
            for arguments in islice(stream, wanted):
                starts.append(now())
                await call(*arguments)
                ticks.append(now())
            if ticks:
                recorder.add_each(starts, ticks, starts[0])
            if len(ticks) < wanted:  # the data set ended
                return

    async def everyone() -> None:
        clock.wait_until(zero)
        await asyncio.gather(*(work(i) for i in range(load.workers)))

    subject.event_loop.run_until_complete(everyone())
    return recorders


def prepare_open_async(subject: Subject, schedule: Int64s, clock: Clock) -> Callable[[int], OpenCalls]:
    """A task for each arrival, begun at its instant. Call the answer with the instant of time zero."""

    def run(zero: int) -> OpenCalls:
        started, done = array("q", bytes(8 * len(schedule))), array("q", bytes(8 * len(schedule)))
        stream = subject.argument_stream()

        async def serve(index: int) -> None:
            started[index] = clock.now() - zero
            await subject.call(*next(stream))
            done[index] = clock.now() - zero

        async def everyone() -> None:
            tasks = []
            for index, instant in enumerate(schedule):
                await _wait_until(clock, zero + instant)
                tasks.append(asyncio.ensure_future(serve(index)))
                await asyncio.sleep(0)
            await asyncio.gather(*tasks)

        clock.wait_until(zero)
        subject.event_loop.run_until_complete(everyone())
        return OpenCalls(scheduled=schedule, issued=started[:], started=started, done=done)

    return run


async def _wait_until(clock: Clock, instant: int) -> None:
    """Lets other tasks run until `instant`."""
    if not isinstance(clock, SystemClock):
        clock.wait_until(instant)
        return
    while (left := instant - clock.now()) > 0:
        await asyncio.sleep((left - LEAST_SLEEP) / 1e9 if left > 2 * LEAST_SLEEP else 0)
