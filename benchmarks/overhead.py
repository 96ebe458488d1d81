"""What recording every latency costs per call, against a bare loop and other tools; and how true a no-op's time is.

    python benchmarks/overhead.py [--quick]

Cost per call is wall time over calls, recording between the timed stretches included. The model's cost is the model
and the tool together: 1.03 means that the tool adds what a bare loop adds, and 3 % of a call.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat, starmap
from time import perf_counter_ns
from typing import Any

from benchwright.execution import metrics
from benchwright.execution.attempt import CopyAnswer
from benchwright.records import Load
from benchwright.worker.engine.clock import SystemClock
from benchwright.worker.engine.closed_loop import run_closed
from benchwright.worker.engine.engine import prepare
from benchwright.worker.engine.subject import Subject
from harness import Bar, Claim, Settings, at_most, interleaved, peers, ratios, report, settings, spread, subjects

OURS, BARE, THREADS = "benchwright", "bare", "benchwright, two threads"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=15, quick_rounds=2)
    model = subjects.session_call(subjects.model())
    tools = peers.installed(quick=asked.quick)
    claims = [
        *costs("no-op", subjects.no_op, tools, asked, calls=8192, bar=at_most(1.0)),
        *costs("model", model, tools, asked, calls=1024, bar=at_most(1.03)),
        *truth(asked),
    ]
    return report(claims, judged=not asked.quick)


def ours(call: Callable[[], Any], count: int, *, workers: int = 1) -> float:
    """The closed loop with one call a sample."""
    clock = SystemClock()
    began = clock.now()
    run_closed(Subject(call=call), Load(samples=count, workers=workers), clock, typical=100.0, zero=began)
    return (clock.now() - began) / count


def costs(
    what: str, call: Callable[[], Any], tools: dict[str, peers.Loop], asked: Settings, *, calls: int, bar: Bar
) -> list[Claim]:
    """A row for ours and for each peer: its cost over the bare loop's in the same round.

    Ours is judged over many short rounds, most of which nothing interrupts; peers that take long to set up get fewer.
    """
    close: dict[str, peers.Loop] = {BARE: peers.bare, OURS: ours}
    short = _interleaved(close, call, calls, rounds=asked.count(40, 5) * asked.rounds)
    wide: dict[str, peers.Loop] = {BARE: peers.bare, THREADS: partial(ours, workers=2), **tools}
    long = _interleaved(wide, call, asked.count(4, 1) * calls, rounds=asked.rounds)
    rows = [_row(f"cost per call, {what}: {OURS}", short[OURS], short[BARE], bar)]
    return rows + [_row(f"cost per call, {what}: {name}", long[name], long[BARE]) for name in wide if name != BARE]


def _interleaved(
    loops: dict[str, peers.Loop], call: Callable[[], Any], calls: int, *, rounds: int
) -> dict[str, list[float]]:
    for loop in loops.values():
        loop(call, calls)  # imports and caches are nobody's cost per call
    return interleaved({name: partial(loop, call, calls) for name, loop in loops.items()}, rounds)


def _row(what: str, took: Sequence[float], bare: Sequence[float], bar: Bar | None = None) -> Claim:
    return Claim(what=what, ours=_ns(took), against=f"bare {_ns(bare)}", figure=ratios(took, bare), bar=bar)


def truth(asked: Settings) -> list[Claim]:
    """What we report for a no-op beyond what it really takes, call by call and looped."""
    calls = asked.count(50_000, 10_000)
    contenders = {
        "truth": lambda: _true_cost(calls),
        "every call": lambda: _reported(loops=1, samples=calls),
        "looped": lambda: _reported(loops=0, samples=calls // 100),
    }
    found = interleaved(contenders, asked.rounds)
    return [
        Claim(
            what=f"reported for a no-op, {name}",
            ours=_ns(found[name]),
            against=f"truth {_ns(found['truth'])}",
            figure=spread([told - true for told, true in zip(found[name], found["truth"], strict=True)]),
            unit="ns",
            bar=at_most(45),
        )
        for name in ("every call", "looped")
    ]


def _true_cost(calls: int) -> float:
    """ns of one no-op: a loop that calls it, less the same loop without. The fastest of ten: interference only adds."""
    now, best = perf_counter_ns, float("inf")
    for _ in range(10):
        begin = now()
        for _ in starmap(subjects.no_op, repeat((), calls // 10)):
            pass
        middle = now()
        for _ in repeat((), calls // 10):
            pass
        best = min(best, (middle - begin) - (now() - middle))
    return best / (calls // 10)


def _reported(*, loops: int, samples: int) -> float:
    """The median in ns that a run of the engine would report, its own cost taken off."""
    prepared = prepare(Subject(call=subjects.no_op), Load(loops=loops, samples=samples, warmup=0.05))
    measured = prepared.run(prepared.clock.now())
    answer = CopyAnswer(samples=measured.samples, ready={"clock": {"loop": prepared.facts.loop}}, measured={})
    return statistics.median(metrics.pool_columns([answer], "latency").tolist()) * 1e9


def _ns(values: Sequence[float]) -> str:
    point = spread(values).point
    return f"{point:.0f} ns" if point < 10_000 else f"{point / 1000:.2f} µs"


if __name__ == "__main__":
    sys.exit(main())
