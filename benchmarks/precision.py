"""How long it takes to know a median within ±1 % at 95 %, on a model of about 18 µs a call: against pyperf's default.

    python benchmarks/precision.py [--quick]

Both as whole commands, from the start of the process to its end, on the same ONNX Runtime session.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from harness import Claim, at_most, command, interleaved, ratios, report, settings, spread, subjects

OURS, FIVE, PEER = "benchwright", "benchwright, five processes", "pyperf"
PYPERF = """
import sys
sys.path.insert(0, {here!r})
import pyperf
from harness import subjects
pyperf.Runner().bench_func("model", subjects.session_call({model!r}))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=3, quick_rounds=1)
    model, there = subjects.model(), importlib.util.find_spec("pyperf") is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contenders = {OURS: partial(_ours, model, folder, 1, width="25%" if asked.quick else "1%")}
        if there:
            contenders[PEER] = partial(_pyperf, model, folder, quick=asked.quick)
        if not asked.quick:
            contenders[FIVE] = partial(_ours, model, folder, 5)
        found = interleaved(contenders, asked.rounds)
    if not there:
        print("not installed, left out: pyperf; the bar that names it is not judged")
    claims = [claim for name in found for claim in rows(name, found)]
    return report(claims, judged=not asked.quick)


def rows(name: str, found: Mapping[str, list[tuple[float, float]]]) -> list[Claim]:
    """The time a contender took, over pyperf's, and how well it then knows what it measured."""
    took = {n: [seconds for seconds, _ in values] for n, values in found.items()}
    text = f"{spread(took[name]).point:.2f} s"
    widths = spread([100 * width for _, width in found[name]])
    bar = at_most(1.0) if name == OURS else None
    claims = [Claim(what=f"half-width of the interval: {name}", ours=text, figure=widths, unit="%", bar=bar)]
    if name != PEER and PEER in found:
        ratio = Claim(
            what=f"time to a median within ±1 %: {name}",
            ours=text,
            against=f"{PEER} {spread(took[PEER]).point:.1f} s",
            figure=ratios(took[name], took[PEER]),
            bar=at_most(1 / 20) if name == OURS else None,
        )
        claims.insert(0, ratio)
    return claims


def _ours(model: Path, folder: Path, rounds: int, width: str = "1%") -> tuple[float, float]:
    """Seconds taken, and the relative half-width of the median's interval that the run states."""
    began = perf_counter()
    run = command.run(str(model), *command.ONE_THREAD, "--precision", width, "--rounds", str(rounds), folder=folder)
    took = perf_counter() - began
    median = run.results[0].metric("latency_p50")
    assert median is not None and median.estimate.low is not None and median.estimate.high is not None
    return took, (median.estimate.high - median.estimate.low) / 2 / median.estimate.point


def _pyperf(model: Path, folder: Path, *, quick: bool) -> tuple[float, float]:
    """Seconds taken, and the relative half-width of a 95 % interval of the mean of its processes."""
    import pyperf

    script, answer = folder / "bench.py", folder / "pyperf.json"
    script.write_text(PYPERF.format(here=str(Path(__file__).parent), model=str(model)), encoding="utf-8")
    answer.unlink(missing_ok=True)
    fewer = ["--processes", "2", "--values", "1"] if quick else []
    began = perf_counter()
    command.outcome([sys.executable, str(script), "--quiet", "-o", str(answer), *fewer], folder)
    took = perf_counter() - began
    bench = pyperf.Benchmark.load(str(answer))
    by_process = [sum(run.values) / len(run.values) for run in bench.get_runs() if run.values]
    interval = spread(by_process)
    return took, (interval.high - interval.low) / 2 / interval.point


if __name__ == "__main__":
    sys.exit(main())
