"""The open loop: calls arrive on a schedule whatever became of the calls before.

Latency counts from the scheduled instant, so a slow call cannot hide the ones it delayed. Lateness is what the
generator itself added: with one worker, which waits for its own arrivals, from the instant the worker could have
issued the call; with several, which a generator in a process of its own feeds, from the scheduled instant.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, islice
from operator import sub

from benchwright.errors import MeasureError
from benchwright.records import Int64s
from benchwright.worker.engine.clock import Clock
from benchwright.worker.engine.closed_loop import in_threads
from benchwright.worker.engine.generator import Generator
from benchwright.worker.engine.subject import Subject


@dataclass(slots=True, kw_only=True)
class OpenCalls:
    """Instants in ns since time zero, one entry an arrival, in the schedule's order."""

    scheduled: Int64s
    issued: Int64s  # when the generator let the call go
    started: Int64s  # when a worker began it
    done: Int64s

    def columns(self) -> dict[str, Int64s]:
        """The columns of `records.Samples`."""
        service = array("q", map(sub, self.done, self.started))
        if min(service, default=0) < 0:
            raise MeasureError(
                f"the clock went back by {-min(service)} ns", remedy="this machine's clock cannot be used"
            )
        return {
            "latency": array("q", map(sub, self.done, self.scheduled)),
            "end": self.done,
            "scheduled": self.scheduled,
            "lateness": array("q", map(sub, self.issued, self.scheduled)),
            "service": service,
        }


def prepare_self_timed(subject: Subject, schedule: Int64s, clock: Clock) -> Callable[[int], OpenCalls]:
    """One worker that waits for its own arrivals. Call the answer with the instant of time zero."""

    def run(zero: int) -> OpenCalls:
        now, wait_until, call = clock.now, clock.wait_until, subject.call
        started, done = _blank(schedule), _blank(schedule)
        arguments = islice(subject.argument_stream(), len(schedule))
        wait_until(zero)
        for index, (instant, given) in enumerate(zip(schedule, arguments, strict=True)):
            wait_until(zero + instant)
            started[index] = now() - zero
            call(*given)
            done[index] = now() - zero
        return OpenCalls(scheduled=schedule, issued=_when_possible(schedule, started, done), started=started, done=done)

    return run


def prepare_generated(subject: Subject, schedule: Int64s, clock: Clock, workers: int) -> Callable[[int], OpenCalls]:
    """Several workers, fed by a generator in a process of its own. Call the answer with the instant of time zero."""
    generator = Generator(schedule)

    def run(zero: int) -> OpenCalls:
        started, done = _blank(schedule), _blank(schedule)
        now, call, tokens, stream, ticket = (
            clock.now,
            subject.call,
            generator.tokens,
            subject.argument_stream(),
            count(),
        )

        def work(_: int) -> None:
            while os.read(tokens, 1):  # b"" when the schedule has ended
                begin = now()
                index = next(ticket)
                started[index] = begin - zero
                call(*next(stream))
                done[index] = now() - zero

        with generator:
            generator.start(zero)
            in_threads(work, workers, clock, zero)
            issued = array("q", (instant - zero for instant in generator.issue_times()))
            if (served := next(ticket)) != len(schedule):
                raise MeasureError(f"{served} of {len(schedule)} arrivals reached a worker")
        return OpenCalls(scheduled=schedule, issued=issued, started=started, done=done)

    return run


def prepare_backlog(subject: Subject, calls: int, workers: int, clock: Clock) -> Callable[[int], OpenCalls]:
    """Calls that are all due at time zero; workers take the next as soon as they are free."""
    schedule = array("q", bytes(8 * calls))

    def run(zero: int) -> OpenCalls:
        started, done = _blank(schedule), _blank(schedule)
        now, call, stream, ticket = clock.now, subject.call, subject.argument_stream(), count()

        def work(_: int) -> None:
            while (index := next(ticket)) < calls:
                arguments = next(stream)
                started[index] = now() - zero
                call(*arguments)
                done[index] = now() - zero

        in_threads(work, workers, clock, zero)
        return OpenCalls(scheduled=schedule, issued=schedule[:], started=started, done=done)

    return run


def _when_possible(schedule: Int64s, started: Int64s, done: Int64s) -> Int64s:
    """`scheduled` plus what the generator added: the wait for a busy worker is not the generator's."""
    issued, free = array("q"), 0
    for instant, start, end in zip(schedule, started, done, strict=True):
        issued.append(instant + start - max(instant, free))
        free = end
    return issued


def _blank(schedule: Int64s) -> Int64s:
    return array("q", bytes(8 * len(schedule)))
