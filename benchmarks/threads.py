"""Two workers on two cores, on a model of about 18 µs a call: processes against threads.

    python benchmarks/threads.py [--quick]

The whole of `benchwright run`, rounds interleaved over the cases, each in fresh processes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import benchwright
from benchwright.records import Result
from benchwright.workflows.arguments import available_cpus
from harness import Claim, at_least, command, interleaved, ratios, report, settings, spread, subjects


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=9, quick_rounds=1)
    seconds = asked.pick(1.0, 0.3)
    cases = {"one worker": (1, 1), "two processes": (2, 1), "two threads": (1, 2)}
    found = interleaved({name: _measuring(*case, seconds) for name, case in cases.items()}, asked.rounds)
    rates = {name: [command.point(result, "throughput") for result in found[name]] for name in cases}
    tails = {name: [command.point(result, "latency_p99") for result in found[name]] for name in cases}
    bar = at_least(1.6) if available_cpus() >= 2 else None
    claims = [
        Claim(
            what=f"throughput of {name} over one worker's",
            ours=f"{spread(rates[name]).point:,.0f} /s",
            against=f"one {spread(rates['one worker']).point:,.0f} /s",
            figure=ratios(rates[name], rates["one worker"]),
            bar=bar if name == "two processes" else None,
        )
        for name in ("two processes", "two threads")
    ]
    tail = [
        Claim(
            what=f"p99 of {name} over one worker's",
            ours=f"{spread(tails[name]).point * 1e6:.1f} µs",
            against=f"one {spread(tails['one worker']).point * 1e6:.1f} µs",
            figure=ratios(tails[name], tails["one worker"]),
        )
        for name in ("two processes", "two threads")
    ]
    return report([*claims, *tail], judged=not asked.quick)


def _measuring(copies: int, workers: int, seconds: float) -> Callable[[], Result]:
    def measure() -> Result:
        run = benchwright.run(
            str(subjects.model()),
            runtime="onnxruntime",
            options={"intra_op_num_threads": 1},
            copies=copies,
            workers=workers,
            duration=seconds,
            rounds=1,
            save=False,
        )
        if not run.ok:
            raise RuntimeError(f"not measured: {run.results[0].error}")
        return run.results[0]

    return measure


if __name__ == "__main__":
    sys.exit(main())
