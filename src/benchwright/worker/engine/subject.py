"""What the engine calls, and how many calls make one sample."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, repeat, starmap
from operator import sub
from typing import Any

from benchwright.records import Load
from benchwright.worker.engine.clock import Clock, ClockFacts

TARGET_SAMPLE = 20_000  # ns a sample should last at least, when calls are looped
NEGLIGIBLE = 20  # a call this many times the loop's own cost needs no looping
MOST_LOOPS = 1 << 20
TRIES = 3  # calls that must be slow before a callable is; one may just have been interrupted
ENOUGH = 100_000_000  # ns of slow calls after which that is not asked again


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A callable and the argument tuples its calls go through in turn."""

    call: Callable[..., Any]
    arguments: Sequence[tuple[Any, ...]] = ((),)
    loops: int = 1
    event_loop: Any = None  # an asyncio loop when `call` returns awaitables

    def argument_stream(self, *, offset: int = 0, once: bool = False) -> Iterator[tuple[Any, ...]]:
        """The argument tuples from `offset` on: each once, or round and round."""
        start = offset % len(self.arguments) if self.arguments else 0
        turned = [*self.arguments[start:], *self.arguments[:start]]
        return iter(turned) if once else cycle(turned)

    def share(self, index: int, load: Load) -> Subject:
        """What worker `index` of the load calls: its part of the inputs when each is used once, else all in turn."""
        if load.once:
            return replace(self, arguments=self.arguments[index :: load.workers])
        start = index % len(self.arguments)
        return replace(self, arguments=[*self.arguments[start:], *self.arguments[:start]])

    def sample_call(self, stream: Iterator[tuple[Any, ...]]) -> tuple[Callable[..., Any], Iterator[tuple[Any, ...]]]:
        """The callable and arguments of one sample: the call itself, or `loops` of them in one go."""
        if self.loops == 1:
            return self.call, stream
        call, loops = self.call, self.loops

        def many() -> None:
            deque(starmap(call, islice(stream, loops)), maxlen=0)

        return many, repeat(())

    def make_synchronous(self) -> Subject:
        """The subject itself, or one that runs each awaitable to its end."""
        if self.event_loop is None:
            return self
        finish, inner = self.event_loop.run_until_complete, self.call
        return Subject(call=lambda *given: finish(inner(*given)), arguments=self.arguments)


def calibrate_loops(subject: Subject, clock: Clock, facts: ClockFacts, *, calls: int = 64) -> int:
    """1 where the loop's cost is small beside a call; else as many as make a sample long enough to time well."""
    if subject.event_loop is not None or facts.loop == 0:
        return 1
    now = clock.now
    stream = subject.argument_stream()
    spent = 0
    for _ in range(TRIES):
        begin = now()
        subject.call(*next(stream))
        took = now() - begin
        if took <= TARGET_SAMPLE:
            break
        spent += took
        if spent > ENOUGH:
            return 1
    else:  # one call is long enough already: do not spend 64 of them to learn that
        return 1
    ticks = [now() for _ in starmap(subject.call, islice(stream, calls))]
    typical = sorted(map(sub, ticks[1:], ticks))[calls // 2] - facts.loop
    if typical > NEGLIGIBLE * facts.loop:
        return 1
    loops = 1
    while loops * max(typical, 1) < TARGET_SAMPLE and loops < MOST_LOOPS:
        loops *= 2
    return loops
