"""The closed loop: each worker issues its next call as soon as the last one is done.

The end of one call is the beginning of the next, so one clock read a call is enough, and the loop around it is a list
comprehension over C iterators. Calls go in chunks of about ten milliseconds; recording and the decision to stop happen
between chunks, outside the timed stretches.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import islice, starmap

from benchwright.measure.clock import Clock
from benchwright.measure.recorder import Recorder
from benchwright.measure.subject import Subject
from benchwright.records import Load
from benchwright.stats import ranks

CHUNK = 10_000_000  # ns a chunk of calls should last
MOST_CALLS = 4096  # in one chunk
FIRST_LOOK = 100  # samples before the precision is first judged


@dataclass(slots=True, kw_only=True)
class StopRule:
    """When one worker has measured enough: a count, a deadline, or an interval narrow enough."""

    typical: float  # ns, the expected time of a sample
    deadline: int | None = None
    samples: int | None = None
    precision: float | None = None
    next_look: int = FIRST_LOOK

    def next_chunk(self, recorder: Recorder, now: int) -> int:
        """How many calls to issue before asking again; 0 ends the loop."""
        if recorder.calls:
            self.typical = max(1.0, recorder.active / recorder.calls)
        room = MOST_CALLS
        if self.samples is not None:
            room = min(room, self.samples - recorder.calls)
        if self.deadline is not None:
            if now >= self.deadline and recorder.calls:  # a duration too short for any call is good for one
                return 0
            room = min(room, max(1, int((self.deadline - now) / self.typical)))
        if room <= 0 or self._precise(recorder):
            return 0
        return max(1, min(room, int(CHUNK / self.typical)))

    def _precise(self, recorder: Recorder) -> bool:
        if self.precision is None or recorder.calls < self.next_look:
            return False
        self.next_look = int(recorder.calls * 1.25) + 1
        width = ranks.relative_half_width(recorder.latencies)
        return width is not None and width <= self.precision


def run_worker(subject: Subject, recorder: Recorder, rule: StopRule, clock: Clock, *, once: bool) -> None:
    """One worker's calls, from now until the rule says stop or the inputs end."""
    now = clock.now
    call, stream = subject.sampled(subject.argument_stream(once=once))
    while wanted := rule.next_chunk(recorder, now()):
        start = now()
        ticks = [now() for _ in starmap(call, islice(stream, wanted))]
        recorder.add(start, ticks)
        if len(ticks) < wanted:  # the data set ended
            return


def run_closed(subject: Subject, load: Load, clock: Clock, *, typical: float, zero: int) -> list[Recorder]:
    """`load.workers` threads from the instant `zero` on; one recorder each."""
    recorders = [Recorder() for _ in range(load.workers)]
    deadline = None if load.duration is None else zero + int(load.duration * 1e9)

    def work(index: int) -> None:
        share = None if load.samples is None else (load.samples + load.workers - 1 - index) // load.workers
        rule = StopRule(typical=typical, deadline=deadline, samples=share, precision=load.precision)
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
