"""How long it takes to know a median within ±1 % at 95 %, on a model of about 18 µs a call: against pyperf.

    python benchmarks/precision.py [--quick]

Both as whole commands, from the start of the process to its end, on the same ONNX Runtime session. Against the time
that pyperf takes with its defaults, however well it knows the result then; and, over five processes, against the time
that pyperf would take to know it as well as we do, reckoned from how far the processes of its own run lie apart. How
often an interval that ended a run holds the truth is simulated, with processes that lie 0.3 to 3 % apart.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from benchwright.stats.distributions import student_quantile
from benchwright.stats.summary import combine
from harness import Claim, Spread, at_least, at_most, command, interleaved, ratios, report, settings, spread, subjects

OURS, FIVE, PEER = "benchwright", "benchwright, five processes", "pyperf"
APART = (0.003, 0.006, 0.01, 0.015, 0.02, 0.03)
MOST = 20  # processes
_QUANTILES = {n: student_quantile(0.975, n - 1) for n in range(2, MOST + 1)}
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
        contenders[FIVE] = partial(_ours, model, folder, 5, width="25%" if asked.quick else "1%")
        found = interleaved(contenders, asked.rounds)
    if not there:
        print("not installed, left out: pyperf; the bar that names it is not judged")
    claims = [claim for name in found for claim in rows(name, found)]
    claims += [ended_early(apart, 200 if asked.quick else 4000) for apart in APART]
    return report(claims, judged=not asked.quick)


def rows(name: str, found: Mapping[str, list[Taken]]) -> list[Claim]:
    """The time a contender took, over pyperf's, and how well it then knows what it measured."""
    took = {n: [one.seconds for one in values] for n, values in found.items()}
    text = f"{spread(took[name]).point:.2f} s"
    widths = spread([100 * one.width for one in found[name]])
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
    if name == FIVE and PEER in found:
        reckoned = [peer.until(ours.width) for peer, ours in zip(found[PEER], found[FIVE], strict=True)]
        equal = Claim(
            what=f"the same, when both know it equally well: {name}",
            ours=text,
            against=f"{PEER} {spread(reckoned).point:.1f} s, reckoned",
            figure=ratios(took[name], reckoned),
        )
        claims.insert(1, equal)
    return claims


def ended_early(apart: float, count: int) -> Claim:
    """How often the interval over 5 to 20 processes, ended as soon as it is ±1 % wide, holds the truth."""
    rng = np.random.default_rng(0)
    held, reached = [], []
    for _ in range(count):
        points = rng.normal(0.0, apart, MOST)
        for n in range(5, MOST + 1):
            half = _QUANTILES[n] * points[:n].std(ddof=1) / n**0.5
            if half <= 0.01:
                break
        held.append(abs(points[:n].mean()) <= half)
        reached.append(half <= 0.01)
    share, error = 100 * np.mean(held), 196 * (np.mean(held) * (1 - np.mean(held)) / count) ** 0.5
    return Claim(
        what=f"ended at ±1 % over 5 to {MOST} processes that lie {100 * apart:g} % apart: holds the truth",
        ours=f"{count} runs, {100 * np.mean(reached):.0f} % reach it",
        figure=Spread(point=share, low=share - error, high=min(100.0, share + error)),
        unit="%",
        bar=at_least(92.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Seconds that a command took, the relative half-width that it states, and, of pyperf, how far processes differ."""

    seconds: float
    width: float
    processes: int
    apart: float

    def until(self, width: float) -> float:
        """Seconds until so many processes are measured that a 95 % interval of their mean is as narrow as `width`."""
        each = self.seconds / self.processes
        return each * next(n for n in itertools.count(2) if _quantile(n) * self.apart / n**0.5 <= width)


def _ours(model: Path, folder: Path, rounds: int, width: str = "1%") -> Taken:
    """What the run says of the median over all its processes."""
    began = perf_counter()
    run = command.run(str(model), *command.ONE_THREAD, "--precision", width, "--rounds", str(rounds), folder=folder)
    took = perf_counter() - began
    medians = [metric.estimate for result in run.results if (metric := result.metric("latency_p50"))]
    whole = combine(medians)
    assert whole.low is not None and whole.high is not None
    return Taken(seconds=took, width=(whole.high - whole.low) / 2 / whole.point, processes=len(medians), apart=0.0)


def _pyperf(model: Path, folder: Path, *, quick: bool) -> Taken:
    """What a 95 % interval of the mean of its processes says."""
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
    count, apart = len(by_process), statistics.stdev(by_process) / statistics.fmean(by_process)
    return Taken(seconds=took, width=_quantile(count) * apart / count**0.5, processes=count, apart=apart)


def _quantile(count: int) -> float:
    return _QUANTILES[count] if count <= MOST else student_quantile(0.975, count - 1)


if __name__ == "__main__":
    sys.exit(main())
