"""How long it takes to know a median within ±1 % at 95 %, on a model of about 18 µs a call: against pyperf's default.

    python benchmarks/precision.py [--quick]

Both as whole commands, from the start of the process to its end, on the same ONNX Runtime session.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from harness import Claim, at_most, command, interleaved, ratios, report, settings, spread, subjects

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
    model = subjects.model()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contenders = {
            "ours": partial(_ours, model, folder, 1),
            "pyperf": partial(_pyperf, model, folder, quick=asked.quick),
            "ours, five processes": partial(_ours, model, folder, 5),
        }
        found = interleaved(contenders, asked.rounds)
    took = {name: [seconds for seconds, _ in values] for name, values in found.items()}
    widths = {name: [100 * width for _, width in values] for name, values in found.items()}
    against = f"pyperf {spread(took['pyperf']).point:.1f} s"
    claims = [
        Claim(
            what=f"time to a median within ±1 %: {name}",
            ours=f"{spread(took[name]).point:.2f} s",
            against=against,
            figure=ratios(took[name], took["pyperf"]),
            bar=at_most(1 / 20) if name == "ours" else None,
        )
        for name in ("ours", "ours, five processes")
    ]
    for name in ("ours", "pyperf"):
        figure = spread(widths[name])
        bar = at_most(1.0) if name == "ours" else None
        claims.append(Claim(what=f"half-width of the interval: {name}", figure=figure, unit="%", bar=bar))
    return report(claims, judged=not asked.quick)


def _ours(model: Path, folder: Path, rounds: int) -> tuple[float, float]:
    """Seconds taken, and the relative half-width of the median's interval that the run states."""
    began = perf_counter()
    run = command.run(str(model), *command.ONE_THREAD, "--precision", "1%", "--rounds", str(rounds), folder=folder)
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
    fewer = ["--processes", "2"] if quick else []
    began = perf_counter()
    command.outcome([sys.executable, str(script), "--quiet", "-o", str(answer), *fewer], folder)
    took = perf_counter() - began
    bench = pyperf.Benchmark.load(str(answer))
    by_process = [sum(run.values) / len(run.values) for run in bench.get_runs() if run.values]
    interval = spread(by_process)
    return took, (interval.high - interval.low) / 2 / interval.point


if __name__ == "__main__":
    sys.exit(main())
