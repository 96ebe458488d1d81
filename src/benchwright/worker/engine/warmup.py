"""Warm-up until steady: not a fixed count, but until a change-point test sees no more change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, starmap
from operator import sub

from benchwright.stats import steady
from benchwright.worker.engine.clock import Clock
from benchwright.worker.engine.subject import Subject

LIMIT = 5.0  # seconds, unless the load says otherwise
FIRST_LOOK = 15_000_000  # ns of warm-up before steadiness is first judged
FEWEST = 20  # values a judgement needs
BLOCKS = 400  # values a judgement is given at most
MOST_KEPT = 200_000  # latencies kept; a longer warm-up is judged on its latest part


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """What the warm-up showed: how many calls it took, and when the latency was steady."""

    calls: int
    elapsed: int  # ns
    first: int  # ns, the first call of all
    typical: float  # ns, the median of the steady part
    steady: bool
    cut: int  # calls before the steady part
    reason: str


def first_call(subject: Subject, clock: Clock) -> int:
    """Times the first call, in ns: code that compiles, allocates or imports on first use does it now."""
    call, arguments = subject.make_synchronous().call, next(subject.argument_stream())
    begin = clock.now()
    call(*arguments)
    return clock.now() - begin


def warm_up(subject: Subject, clock: Clock, *, limit: float | None, first: int) -> Warmup:
    """Calls the subject, whose first call took `first` ns, until its latency is steady, or for `limit` seconds."""
    end_after = int((LIMIT if limit is None else limit) * 1e9)
    call, stream = subject.make_synchronous().sample_call(subject.argument_stream())
    now = clock.now
    begin, elapsed = now() - first, first
    latencies: list[int] = []
    verdict = steady.Steady(cut=0, steady=False, reason="one call only")
    next_look, calls = FIRST_LOOK, 1
    while elapsed - first < end_after:  # a first call that compiles for minutes is not the warming up
        wanted = max(1, min(4096, next_look // 8 // max(1, latencies[-1] if latencies else first)))
        start = now()
        ticks = [now() for _ in starmap(call, islice(stream, wanted))]
        latencies += map(sub, ticks, [start, *ticks])
        del latencies[:-MOST_KEPT]
        calls += wanted
        elapsed = now() - begin
        if elapsed - first >= next_look and len(latencies) >= FEWEST:
            next_look = (elapsed - first) * 3 // 2
            verdict = steady.detect(blocks(latencies))
            if verdict.steady:
                break
    if not latencies:
        latencies = [first]
    elif len(latencies) < FEWEST:
        verdict = steady.Steady(cut=0, steady=False, reason=f"{calls} calls are too few to judge")
    dropped = calls - len(latencies)
    return Warmup(
        calls=calls,
        elapsed=elapsed,
        first=first,
        typical=_median(latencies[len(latencies) // 2 :]),
        steady=verdict.steady,
        cut=dropped + verdict.cut * max(1, len(latencies) // BLOCKS),
        reason=verdict.reason,
    )


def blocks(latencies: list[int] | list[float]) -> list[float]:
    """At most about `BLOCKS` medians of neighbours, in order."""
    size = max(1, len(latencies) // BLOCKS)
    if size == 1:
        return [float(value) for value in latencies]
    return [_median(latencies[i : i + size]) for i in range(0, len(latencies) - size + 1, size)]


def _median(values: list[int] | list[float]) -> float:
    return float(sorted(values)[len(values) // 2])
