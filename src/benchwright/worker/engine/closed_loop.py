"""The closed loop: each worker issues its next call as soon as the last one is done.

The end of one call is the beginning of the next, so one clock read a call is enough, and the loop around it is a list
comprehension over C iterators. Calls go in chunks of about ten milliseconds; recording and the decision to stop happen
between chunks, outside the timed stretches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, starmap

from benchwright.records import Load
from benchwright.stats import ranks
from benchwright.worker.engine.clock import Clock
from benchwright.worker.engine.recorder import LatencyRecorder
from benchwright.worker.engine.subject import Subject

CHUNK = 10_000_000  # ns a chunk of calls should last
MOST_CALLS = 4096  # in one chunk
FIRST_LOOK = 100  # samples before the precision is first judged


@dataclass(slots=True, kw_only=True)
class StopVerdict:
    """Stops all workers of a load together: once one has measured enough, the others would run with less load."""

    enough: bool = False


@dataclass(slots=True, kw_only=True)
class StopRule:
    """When one worker has measured enough: a count, a deadline, or an interval narrow enough."""

    typical: float  # ns, the expected time of a sample
    now: Callable[[], int]  # the clock that calls are timed by; judging takes time off it
    deadline: int | None = None
    samples: int | None = None
    least: int = 1  # samples, however late it is
    precision: float | None = None
    quantile: float = 0.5
    verdict: StopVerdict = field(default_factory=StopVerdict)
    next_look: int = FIRST_LOOK

    @classmethod
    def for_worker(
        cls, load: Load, index: int, *, typical: float, zero: int, verdict: StopVerdict, now: Callable[[], int]
    ) -> StopRule:
        """The rule of worker `index`. Precision is judged by the first worker alone, for all."""
        return cls(
            typical=typical,
            deadline=None if load.duration is None else zero + int(load.duration * 1e9),
            samples=None if load.samples is None else (load.samples + load.workers - 1 - index) // load.workers,
            precision=load.precision if index == 0 else None,
            quantile=load.precision_of / 100,
            verdict=verdict,
            now=now,
        )

    def next_chunk(self, recorder: LatencyRecorder, now: int) -> int:
        """How many calls to issue before asking again; 0 ends the loop."""
        if self.verdict.enough:
            return 0
        if recorder.calls:
            self.typical = max(1.0, recorder.active / recorder.calls)
        room = MOST_CALLS
        if self.samples is not None:
            room = min(room, self.samples - recorder.calls)
        if self.deadline is not None:
            if now >= self.deadline and recorder.calls >= self.least:  # a duration too short for any is good for one
                return 0
            room = min(room, max(1, int((self.deadline - now) / self.typical)))
        if room <= 0 or self._precise(recorder):
            return 0
        return max(1, min(room, int(CHUNK / self.typical)))

    def _precise(self, recorder: LatencyRecorder) -> bool:
        if self.precision is None or recorder.calls < self.next_look:
            return False
        begin = self.now()
        self.next_look = int(recorder.calls * 1.25) + 1
        width = ranks.relative_half_width(recorder.latencies, self.quantile)
        self.verdict.enough = width is not None and width <= self.precision
        recorder.paused += self.now() - begin
        return self.verdict.enough


def run_worker(subject: Subject, recorder: LatencyRecorder, rule: StopRule, clock: Clock, *, once: bool) -> None:
    """One worker's calls, from now until the rule says stop or the inputs end."""
    now = clock.now
    call, stream = subject.sample_call(subject.argument_stream(once=once))
    while wanted := rule.next_chunk(recorder, now()):
        start = now()
        ticks = [now() for _ in starmap(call, islice(stream, wanted))]
        recorder.add(start, ticks)
        if len(ticks) < wanted:  # the data set ended
            return


def run_closed(subject: Subject, load: Load, clock: Clock, *, typical: float, zero: int) -> list[LatencyRecorder]:
    """`load.workers` threads from the instant `zero` on; one recorder each."""
    recorders, verdict = [LatencyRecorder() for _ in range(load.workers)], StopVerdict()

    def work(index: int) -> None:
        rule = StopRule.for_worker(load, index, typical=typical, zero=zero, verdict=verdict, now=clock.now)
        run_worker(subject.share(index, load), recorders[index], rule, clock, once=load.once)

    in_threads(work, load.workers, clock, zero)
    return recorders


def in_threads(work: object, count: int, clock: Clock, zero: int) -> None:
    """Runs `work(i)` for each i at the instant `zero`: here when it is one, else in threads that start together."""
    assert callable(work)
    if count == 1:
        clock.wait_until(zero)
        work(0)
        return
    failures: list[BaseException] = []
    barrier = threading.Barrier(count)

    def body(index: int) -> None:
        barrier.wait()
        clock.wait_until(zero)
        try:
            work(index)
        except BaseException as failure:  # a thread is a border: the main one raises it again
            failures.append(failure)

    threads = [threading.Thread(target=body, args=(i,), name=f"worker-{i}", daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
