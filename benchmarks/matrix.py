"""What two copies of a model of 5 ms a call reach: our figure against a bare loop in each of two processes.

    python benchmarks/matrix.py [--quick]

The model keeps a core busy with the same work in every call. Ours is the whole of `benchwright run`, monitors included.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter, perf_counter_ns, sleep
from typing import Any

import benchwright
from benchwright.records import Load
from harness import Claim, at_least, at_most, children, command, interleaved, ratios, report, settings, spread

COPIES = 2
CALL = 0.005  # seconds
WITHIN = 0.02
READY = 1.5  # seconds after which both bare loops have started up
WARM = 0.3  # seconds of calls before the timed ones

MODEL = """
def busy():
    total = 0
    for number in range({steps}):
        total += number
    return total
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    if children.answered(CONTENDERS, arguments):
        return 0
    asked = settings(__doc__, arguments, rounds=21, quick_rounds=1)
    seconds = asked.pick(1.5, 0.5)
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        model = Path(folder) / "model.py"
        model.write_text(MODEL.format(steps=_steps()), encoding="utf-8")
        found = interleaved(
            {"ours": partial(_ours, model, seconds), "bare": partial(_bare, model, seconds)}, asked.rounds
        )
    ours, bare = ({name: [answer[name] for answer in found[who]] for name in found[who][0]} for who in ("ours", "bare"))
    claim = Claim(
        what="throughput of two copies of a 5 ms model",
        ours=f"{spread(ours['throughput']).point:,.1f} /s",
        against=f"two bare loops {spread(bare['throughput']).point:,.1f} /s",
        figure=ratios(ours["throughput"], bare["throughput"]),
        bar=at_least(1 - WITHIN),
    )
    above = Claim(what="the same, from above", figure=claim.figure, bar=at_most(1 + WITHIN))
    apart = Claim(
        what="how far apart the copies are",
        against=f"two bare loops {spread(bare['imbalance']).point:.2f} %",
        figure=spread(ours["imbalance"]),
        unit="%",
    )
    return report([claim, above, apart], judged=not asked.quick)


def loop(model: str, seconds: float, zero: int) -> float:
    """Calls per second of a bare loop that begins at the instant `zero` of the machine's clock."""
    scope: dict[str, Any] = {}
    exec(compile(Path(model).read_text(encoding="utf-8"), model, "exec"), scope)
    busy: Callable[[], int] = scope["busy"]
    while perf_counter_ns() < zero - int(WARM * 1e9):
        sleep(0.001)
    while perf_counter_ns() < zero:
        busy()
    calls, begin = 0, perf_counter_ns()
    end = begin + int(seconds * 1e9)
    while perf_counter_ns() < end:
        busy()
        calls += 1
    return calls * 1e9 / (perf_counter_ns() - begin)


CONTENDERS: dict[str, Callable[..., Any]] = {"loop": loop}


def _bare(model: Path, seconds: float) -> dict[str, float]:
    zero = perf_counter_ns() + int(READY * 1e9)
    measure = partial(children.measured, __file__, "loop", model=str(model), seconds=seconds, zero=zero)
    with ThreadPoolExecutor(COPIES) as pool:
        rates = [future.result() for future in [pool.submit(measure) for _ in range(COPIES)]]
    return {"throughput": sum(rates), "imbalance": 100 * (max(rates) - min(rates)) / (sum(rates) / COPIES)}


def _ours(model: Path, seconds: float) -> dict[str, float]:
    load = Load(duration=seconds, warmup=WARM)
    run = benchwright.run(f"{model}::busy", copies=COPIES, load=load, rounds=1, save=False)
    if not run.ok:
        raise RuntimeError(f"not measured: {run.results[0].error}")
    return {name: command.point(run.results[0], name) for name in ("throughput", "imbalance")}


def _steps() -> int:
    """How much work takes `CALL` here; both sides do the same."""
    scope: dict[str, Any] = {}
    exec(MODEL.format(steps=100_000), scope)
    taken = []
    for _ in range(20):
        begin = perf_counter()
        scope["busy"]()
        taken.append(perf_counter() - begin)
    return max(1, round(100_000 * CALL / min(taken)))


if __name__ == "__main__":
    sys.exit(main())
