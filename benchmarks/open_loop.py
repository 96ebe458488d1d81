"""Punctuality of an open loop: how late arrivals are issued, and whether the rate that was asked for is delivered.

    python benchmarks/open_loop.py [--quick]

Every contender runs in a fresh process, in turn. Lateness is the instant of issuing less the scheduled instant. Ours
is in the samples. LoadGen's is its own latency, which it counts from the scheduled instant, of queries that complete
at once; it offers Poisson arrivals only. The sleepers keep constant gaps.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import sub
from typing import Any

from benchwright.execution.metrics import delivered_rate, intended_rate
from benchwright.records import Arrivals, Load, Mode
from benchwright.worker.engine.engine import prepare
from benchwright.worker.engine.subject import Subject
from harness import Claim, Settings, at_most, children, interleaved, loadgen, ratios, report, settings, spread, subjects

RATES = (100, 1000, 5000)
HELD = 0.005  # seconds for which the stubborn target keeps the interpreter lock
HELD_RATE = 100  # arrivals/s at that target: it is busy half of the time
OFF_BY = 0.01  # percent that the delivered rate may differ


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    if children.answered(CONTENDERS, arguments):
        return 0
    asked = settings(__doc__, arguments, rounds=6, quick_rounds=1)
    claims = [claim for rate in ((1000,) if asked.quick else RATES) for claim in at_rate(rate, asked)]
    if loadgen.is_installed():
        claims += with_lock_held(asked)
    else:
        print("not installed, left out: LoadGen Server; bars that name it are not judged")
    return report(claims, judged=not asked.quick)


def at_rate(rate: int, asked: Settings) -> list[Claim]:
    """Lateness against LoadGen's, and everybody's delivered rate."""
    seconds = asked.pick(max(2.0, 400 / rate), 0.5)
    peer = LOADGEN if loadgen.is_installed() else ASYNCIO
    names = [OURS, CONSTANT, peer, *(name for name in (ASYNCIO, INTERVALS) if name != peer)]
    found = interleaved({n: partial(_measured, n, rate=rate, seconds=seconds) for n in names}, asked.rounds)
    late = partial(_late, found, peer)
    claims = [
        late(OURS, "p50", f"{rate:,}/s, median lateness", bar=0.1),
        late(OURS, "p99", f"{rate:,}/s, p99 lateness", bar=1.0),
        *(late(n, "p50", f"{rate:,}/s, median lateness: {n}") for n in names if n not in (OURS, peer)),
    ]
    for name in names:
        off = spread([100 * abs(o["delivered"] / o["intended"] - 1) for o in found[name]])
        bar = at_most(OFF_BY) if name in (OURS, CONSTANT) else None
        claims.append(Claim(what=f"{rate:,}/s, delivered rate off by: {name}", figure=off, unit="%", bar=bar))
    return claims


def with_lock_held(asked: Settings) -> list[Claim]:
    """The same with a target that keeps the interpreter lock, on two workers."""
    given = {"rate": HELD_RATE, "seconds": asked.pick(6.0, 1.0), "loops": _loops_for(HELD)}
    found = interleaved({n: partial(_measured, n, **given) for n in (OURS, LOADGEN)}, asked.rounds)
    what = f"{HELD_RATE}/s, lock held {HELD * 1e3:.0f} ms a call, p99 lateness"
    return [_late(found, LOADGEN, OURS, "p99", what, bar=1 / 3)]


# ---- contenders: each in a process of its own ----


@dataclass(frozen=True, slots=True)
class Punctuality:
    """Lateness in ns, rates in arrivals/s."""

    p50: float
    p99: float
    intended: float
    delivered: float


def ours(rate: float, seconds: float, arrivals: str = "poisson", loops: int = 0) -> dict[str, float]:
    """Our open loop: one worker, or two when the target keeps the lock."""
    call = partial(_keep_lock, loops) if loops else subjects.no_op
    load = Load(
        mode=Mode.OPEN,
        rate=rate,
        arrivals=Arrivals(arrivals),
        samples=int(rate * seconds),
        workers=2 if loops else 1,
        warmup=0.1,
    )
    prepared = prepare(Subject(call=call), load)
    samples = prepared.run(prepared.clock.now() + 5_000_000).samples
    late = samples.columns["lateness"]
    return asdict(Punctuality(*_quantiles(late), intended_rate(samples, load), delivered_rate(samples, load)))


def by_loadgen(rate: float, seconds: float, loops: int = 0) -> dict[str, float]:
    """LoadGen's Server scenario; with `loops`, two threads take calls of the stubborn target from a queue."""
    waiting: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def work() -> None:
        while waiting.get():
            _keep_lock(loops)

    threads = [threading.Thread(target=work) for _ in range(2 if loops else 0)]
    for thread in threads:
        thread.start()
    arrived = partial(waiting.put, True) if loops else subjects.no_op
    try:
        told = loadgen.server(rate, seconds, arrived)
    finally:
        for _ in threads:
            waiting.put(False)
    for thread in threads:
        thread.join()
    return asdict(Punctuality(told.lateness_p50, told.lateness_p99, told.scheduled_rate, told.delivered_rate))


def by_asyncio(rate: float, seconds: float) -> dict[str, float]:
    """An event loop that sleeps until each instant of a constant schedule."""
    schedule, issued = _constant(rate, seconds)

    async def everyone() -> None:
        loop = asyncio.get_running_loop()
        zero, began = time.perf_counter_ns(), loop.time()
        for index, instant in enumerate(schedule):
            await asyncio.sleep(began + instant / 1e9 - loop.time())
            issued[index] = time.perf_counter_ns() - zero
            subjects.no_op()

    asyncio.run(everyone())
    return _outcome(schedule, issued, rate)


def by_intervals(rate: float, seconds: float) -> dict[str, float]:
    """A loop that sleeps the gap after every call."""
    schedule, issued = _constant(rate, seconds)
    zero, gap = time.perf_counter_ns(), 1 / rate
    for index in range(len(schedule)):
        issued[index] = time.perf_counter_ns() - zero
        subjects.no_op()
        time.sleep(gap)
    return _outcome(schedule, issued, rate)


OURS, CONSTANT = "benchwright", "benchwright, constant gaps"
LOADGEN, ASYNCIO, INTERVALS = "LoadGen Server", "asyncio sleeper", "interval sleeper"
CONTENDERS: dict[str, Callable[..., Any]] = {
    OURS: ours,
    CONSTANT: partial(ours, arrivals="constant"),
    LOADGEN: by_loadgen,
    ASYNCIO: by_asyncio,
    INTERVALS: by_intervals,
}


def _measured(name: str, **given: Any) -> Any:
    return children.measured(__file__, name, **given)


def _late(
    found: Mapping[str, list[dict[str, float]]], peer: str, name: str, key: str, what: str, bar: float | None = None
) -> Claim:
    """One contender's lateness over the peer's; a bar counts against LoadGen alone."""
    ours, theirs = ([outcome[key] for outcome in found[n]] for n in (name, peer))
    texts = [f"{spread(values).point / 1e3:,.1f} µs" for values in (ours, theirs)]
    return Claim(
        what=what,
        ours=texts[0],
        against=f"{peer} {texts[1]}",
        figure=ratios(ours, theirs),
        bar=at_most(bar) if bar is not None and peer == LOADGEN else None,
    )


def _keep_lock(loops: int) -> None:
    """Work inside one built-in function, which never offers the lock to others."""
    sum(range(loops))


def _loops_for(seconds: float) -> int:
    """How much of that work takes so long here; the fastest try counts."""
    tries = []
    for _ in range(10):
        began = time.perf_counter()
        _keep_lock(100_000)
        tries.append(time.perf_counter() - began)
    return int(100_000 * seconds / min(tries))


def _constant(rate: float, seconds: float) -> tuple[array[int], array[int]]:
    count = int(rate * seconds)
    return array("q", (int(i * 1e9 / rate) for i in range(count))), array("q", bytes(8 * count))


def _outcome(schedule: array[int], issued: array[int], rate: float) -> dict[str, float]:
    late = array("q", map(sub, issued, schedule))
    return asdict(Punctuality(*_quantiles(late), rate, (len(issued) - 1) * 1e9 / (issued[-1] - issued[0])))


def _quantiles(late: Sequence[int]) -> tuple[float, float]:
    ordered = sorted(late)
    return float(ordered[len(ordered) // 2]), float(ordered[len(ordered) * 99 // 100])


if __name__ == "__main__":
    sys.exit(main())
