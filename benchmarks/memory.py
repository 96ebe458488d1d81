"""Memory per recorded call: how the process grows between 100,000 and 900,000 calls, and beyond the limit.

    python benchmarks/memory.py [--quick]

Every figure is the difference of two fresh processes' peak resident sizes over the difference of their calls.
"""

from __future__ import annotations

import importlib.util
import resource
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any

from benchwright.records import Load
from benchwright.worker.engine.clock import SystemClock
from benchwright.worker.engine.closed_loop import run_closed
from benchwright.worker.engine.recorder import LIMIT
from benchwright.worker.engine.subject import Subject
from harness import Claim, at_most, children, interleaved, loadgen, peers, report, settings, spread, subjects

ROUNDING = 0.5  # bytes a call that pages, the recorded instants and the allocator may add


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    if children.answered(CONTENDERS, arguments):
        return 0
    asked = settings(__doc__, arguments, rounds=3, quick_rounds=1)
    few, many, beyond = (100_000, 900_000, 3 * LIMIT) if not asked.quick else (20_000, 220_000, LIMIT + LIMIT // 5)
    tools = [name for name in CONTENDERS if name in _present(asked.quick)]
    kept = interleaved({name: partial(_per_call, name, few, many) for name in tools}, asked.rounds)
    past = interleaved({"ours": partial(_per_call, OURS, LIMIT, beyond)}, asked.rounds)["ours"]
    claims = [
        Claim(
            what=f"memory per recorded call: {name}",
            figure=spread(kept[name]),
            against="8 B, one int64",
            unit="B",
            bar=at_most(8 + ROUNDING) if name == OURS else None,
        )
        for name in tools
    ]
    limit = Claim(
        what=f"memory per call beyond {LIMIT:,} calls",
        figure=spread(past),
        against="nothing",
        unit="B",
        bar=at_most(ROUNDING),
    )
    return report([claims[0], limit, *claims[1:]], judged=not asked.quick)


def ours(calls: int) -> int:
    """The closed loop's recorder. The calls take different times, so that a histogram has something to hold."""
    clock = SystemClock()
    run_closed(Subject(call=subjects.no_op), Load(samples=1000), clock, typical=100.0, zero=clock.now())
    before = _peak()
    kept = run_closed(Subject(call=subjects.no_op), Load(samples=calls), clock, typical=100.0, zero=clock.now())
    assert kept[0].calls == calls
    return _peak() - before


def bare(calls: int) -> int:
    """Two reads of the clock into a preallocated array."""
    before = _peak()
    kept, now = array("q", bytes(8 * calls)), perf_counter_ns
    for i in range(calls):
        start = now()
        subjects.no_op()
        kept[i] = now() - start
    return _peak() - before


def appended(calls: int) -> int:
    """A list of floats, as most tools keep them."""
    before = _peak()
    kept = []
    for _ in range(calls):
        start = perf_counter_ns()
        subjects.no_op()
        kept.append((perf_counter_ns() - start) / 1e9)
    return _peak() - before


def by_loop(loop: Callable[[Callable[[], Any], int], float], calls: int) -> int:
    """Another tool's loop; a short one first, so that what it imports is not counted."""
    loop(subjects.no_op, 100)
    before = _peak()
    loop(subjects.no_op, calls)
    return _peak() - before


OURS = "benchwright"
CONTENDERS: dict[str, Callable[..., Any]] = {
    OURS: ours,
    "bare": bare,
    "a list of floats": appended,
    "pytest-benchmark": partial(by_loop, peers.by_pytest_benchmark),
    "optimum-benchmark": partial(by_loop, peers.by_optimum),
    "LoadGen SingleStream": partial(by_loop, loadgen.single_stream),
}
_MODULES = {
    "pytest-benchmark": "pytest_benchmark",
    "optimum-benchmark": "optimum_benchmark",
    "LoadGen SingleStream": "mlperf_loadgen",
}


def _present(quick: bool) -> list[str]:
    """Contenders that are installed; a quick look leaves out those that take long to import or to run."""
    own = [name for name in CONTENDERS if name not in _MODULES]
    return own if quick else [*own, *(n for n, module in _MODULES.items() if importlib.util.find_spec(module))]


def _per_call(name: str, few: int, many: int) -> float:
    small, large = (children.measured(__file__, name, calls=calls) for calls in (few, many))
    return float(large - small) / (many - few)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
