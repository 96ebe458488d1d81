"""Do we say what others say? Mean latency of one model in OpenVINO: ours, its own benchmark_app's, a bare loop's.

    python benchmarks/crosscheck.py [--quick]

The model takes about 2 ms a call, since benchmark_app states no more than hundredths of a millisecond. One thread, one
stream, one request, single precision, synchronous calls, the same file; rounds in turn, each in a fresh process.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from harness import Agreement, Claim, children, command, interleaved, ratios, report, settings, spread, subjects

PROPERTIES = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when the tools disagree by more than they scatter."""
    if children.answered(CONTENDERS, arguments):
        return 0
    asked = settings(__doc__, arguments, rounds=11, quick_rounds=1)
    model, seconds = subjects.model("small"), asked.pick(3, 1)
    with tempfile.TemporaryDirectory() as name:
        given: dict[str, Any] = {"model": str(model), "seconds": seconds}
        contenders: dict[str, Callable[[], float]] = {
            "ours": partial(ours, folder=Path(name), **given),
            "benchmark_app": partial(benchmark_app, folder=Path(name), **given),
            "bare loop": partial(children.measured, __file__, "bare loop", **given),
        }
        found = interleaved(contenders, asked.rounds)
    claims = [
        Claim(
            what=f"mean latency of one model: ours over {peer}'s",
            ours=f"{spread(found['ours']).point * 1e3:.3f} ms",
            against=f"{peer} {spread(found[peer]).point * 1e3:.3f} ms",
            figure=ratios(found["ours"], found[peer]),
            bar=Agreement(scatter=scatter(found["ours"], found[peer])),
        )
        for peer in ("benchmark_app", "bare loop")
    ]
    return report(claims, judged=not asked.quick)


def scatter(*contenders: Sequence[float]) -> float:
    """Half the distance between the quartiles of the rounds, relative to the median, of the steadier contender."""
    return min(_quartile_deviation(rounds) for rounds in contenders)


def ours(model: str, seconds: float, folder: Path) -> float:
    """`benchwright run` on OpenVINO."""
    options = [text for name, value in PROPERTIES.items() for text in ("--option", f"{name}={value}")]
    given = ["--runtime", "openvino", *options, "--duration", str(seconds), "--rounds", "1"]
    return command.point(command.run(model, *given, folder=folder).results[0], "latency")


def benchmark_app(model: str, seconds: float, folder: Path) -> float:
    """OpenVINO's own tool: its whole time over its iterations, which is finer than the mean it prints."""
    script = Path(sys.executable).parent / "benchmark_app"
    given = ["-m", model, "-d", "CPU", "-hint", "none", "-nthreads", "1", "-nstreams", "1", "-nireq", "1"]
    given += ["-api", "sync", "-infer_precision", "f32", "-inference_only", "true", "-t", str(int(seconds))]
    given += ["-report_type", "no_counters", "-report_folder", str(folder), "-json_stats"]
    command.outcome([str(script), *given], folder)
    told = json.loads((folder / "benchmark_report.json").read_text(encoding="utf-8"))["execution_results"]
    return float(told["total execution time (ms)"]) / 1e3 / int(told["total number of iterations"])


def bare_loop(model: str, seconds: float) -> float:
    """Two reads of the clock around each call, into a preallocated array."""
    import numpy as np
    import openvino

    compiled = openvino.Core().compile_model(model, "CPU", PROPERTIES)
    request = compiled.create_infer_request()
    data = np.random.default_rng(0).standard_normal(tuple(compiled.inputs[0].shape), np.float32)
    request.set_input_tensor(0, openvino.Tensor(data, shared_memory=True))
    infer, now = request.infer, perf_counter_ns
    warm = now() + 200_000_000
    while now() < warm:
        infer()
    kept, calls, end = array("q", bytes(8 * 1_000_000)), 0, now() + int(seconds * 1e9)
    while now() < end:
        start = now()
        infer()
        kept[calls] = now() - start
        calls += 1
    return sum(kept[:calls]) / calls / 1e9


CONTENDERS: dict[str, Callable[..., Any]] = {"bare loop": bare_loop}


def _quartile_deviation(rounds: Sequence[float]) -> float:
    if len(rounds) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(rounds, n=4)
    return (high - low) / 2 / middle


if __name__ == "__main__":
    sys.exit(main())
