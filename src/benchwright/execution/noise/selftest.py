"""The engine measured on this machine: what it adds to a call, how late it wakes, whether it keeps a schedule."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from benchwright.execution.instrument import OFF_RATE, OTHERS_BAD, OTHERS_NOISY, STEAL_BAD, STEAL_NOISY
from benchwright.execution.noise.probes import Interference, quantile
from benchwright.records import Arrivals, Load, Mode, Value
from benchwright.worker.engine.clock import SystemClock
from benchwright.worker.engine.engine import PreparedLoad, prepare
from benchwright.worker.engine.subject import Subject

RATE = 1000.0  # arrivals a second

LATE_NOISY, LATE_BAD = 50e3, 1e6  # ns, one arrival in a hundred


def self_test(seconds: float = 5) -> Mapping[str, Value]:
    """Drives the engine for about `seconds` against a call that does nothing. Keys mean what they mean in
    `Result.instrument`."""
    with Interference() as interference:
        nothing = Subject(call=_nothing)
        closed = prepare(nothing, Load(mode=Mode.CLOSED, loops=1, duration=seconds * 0.2, warmup=0.2))
        calls = closed.run(closed.clock.now()).samples
        opened = _open_loop(nothing, seconds * 0.5)
        delivered = opened.run(opened.clock.now() + 5_000_000).samples
    late = sorted(delivered.columns["lateness"])
    told: dict[str, Value] = {
        "clock_cost_ns": closed.facts.read,
        "clock_resolution_ns": closed.facts.resolution,
        "cost_per_call_ns": closed.facts.loop,
        "nothing_p50_ns": statistics.median(calls.columns["latency"]),
        "wakeup_error_ns": opened.oversleep,
        "lateness_p50_ns": quantile(late, 0.50),
        "lateness_p99_ns": quantile(late, 0.99),
        "intended_rate": RATE,
        "delivered_rate": delivered.calls / (delivered.elapsed / 1e9),
        "cpu_others_percent": interference.cpu_others,
        "steal_percent": interference.steal,
    }
    return {**told, "verdict": verdict(told)}


def verdict(told: Mapping[str, Value]) -> str:
    """`trustworthy`, or what spoils the figures, the worst first."""
    rate = abs(_number(told["delivered_rate"]) / _number(told["intended_rate"]) - 1)
    others, steal, late = (_number(told[name]) for name in ("cpu_others_percent", "steal_percent", "lateness_p99_ns"))
    judged = [
        (others, (OTHERS_NOISY, OTHERS_BAD), f"others took {others:.0f} % of a core"),
        (steal, (STEAL_NOISY, STEAL_BAD), f"steal {steal:.1f} %"),
        (late, (LATE_NOISY, LATE_BAD), f"1 % of arrivals later than {late / 1e3:,.0f} µs"),
        (rate, (OFF_RATE, OFF_RATE), f"arrivals off by {rate:.2%}"),
    ]
    bad = [text for value, (_, limit), text in judged if value > limit]
    noisy = [text for value, (low, high), text in judged if low < value <= high]
    if bad:
        return "unreliable: " + ", ".join(bad + noisy)
    return "noisy: " + ", ".join(noisy) if noisy else "trustworthy"


def _open_loop(subject: Subject, duration: float) -> PreparedLoad:
    load = Load(mode=Mode.OPEN, rate=RATE, arrivals=Arrivals.CONSTANT, duration=duration, warmup=0.1)
    return prepare(subject, load, clock=SystemClock())


def _nothing() -> None:
    pass


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
