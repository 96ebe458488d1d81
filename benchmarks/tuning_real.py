"""The winner of a race against the full matrix, on two real models in ONNX Runtime and OpenVINO.

    python benchmarks/tuning_real.py [--quick]

Each space has 12 configurations: two runtimes, three batch sizes, one or two threads. First the race, as `benchwright
tune` runs it; then every configuration in ten rounds, interleaved. The figure is the winner's throughput over that of
whichever the matrix has in front, round by round: 1 where both are the same.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import benchwright
from benchwright.records import Load, Result
from benchwright.records.races import RaceTerms, show_setting
from harness import Claim, at_least, ratios, report, settings, subjects

RUNTIMES = ("onnxruntime", "openvino")
THREADS = {"onnxruntime": "intra_op_num_threads", "openvino": "INFERENCE_NUM_THREADS"}
COUNTS = (1, 2)
WITHIN = 0.02
LOAD = Load(duration=0.3, warmup=0.5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a winner is clearly worse than the best of the matrix."""
    asked = settings(__doc__, arguments, rounds=10, quick_rounds=1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _tell(f"load average at the beginning: {os.getloadavg()[0]:.1f}")
        claims = [_compare(*space, asked.rounds, 2 if asked.quick else 5) for space in _spaces(quick=asked.quick)]
        _tell(f"load average at the end: {os.getloadavg()[0]:.1f}")
    return report(claims, judged=not asked.quick)


def _tell(text: str) -> None:
    """What goes on meanwhile; the standard output is the table's."""
    print(text, file=sys.stderr, flush=True)


def _spaces(*, quick: bool) -> list[tuple[str, Path, list[int]]]:
    """A name, a model and its batch sizes: the convolutional network of the examples, and basic-pitch."""
    small = subjects.model("small", batch="batch")  # type: ignore[arg-type]
    found = [("small.onnx", small, [1] if quick else [1, 4, 16])]
    package = importlib.util.find_spec("basic_pitch")
    if package is not None and package.origin is not None and not quick:
        file = Path(package.origin).parent / "saved_models" / "icassp_2022" / "nmp.onnx"
        found.append(("basic-pitch", file, [1, 2, 4]))
    return found


def _compare(name: str, model: Path, batch_sizes: list[int], rounds: int, most: int) -> Claim:
    """The race, with no more processes than all configurations `most` times, against a matrix of so many rounds."""
    options = {f"{runtime}.{option}": list(COUNTS) for runtime, option in THREADS.items()}
    race = benchwright.tune(
        str(model),
        runtime=RUNTIMES,
        batch_size=batch_sizes,
        options=options,
        load=LOAD,
        within=WITHIN,
        rounds=most,
        save=False,
    )
    _tell(f"{name}\n{race}\n")
    if race.winner is None:
        raise RuntimeError(f"{name} has no winner")
    rates: dict[str, list[float]] = {}
    for _ in range(rounds):
        for label, rate in _measure_all(model, batch_sizes, race.story.terms):
            rates.setdefault(label, []).append(rate)
    best = max(rates, key=lambda label: median(rates[label]))
    _tell(f"{name}: {best} has the best median of the matrix, load average {os.getloadavg()[0]:.1f}\n")
    chosen, measured = race.winner.label, sum(map(len, rates.values()))
    return Claim(
        what=f"throughput of the winner on {name} over the best of the matrix, "
        f"{len(race.run.results)} processes against {measured}",
        ours=f"{chosen} ({median(rates[chosen]):,.0f} /s, {race.probability:.1%})",
        against=f"{best} ({median(rates[best]):,.0f} /s)",
        figure=ratios(rates[chosen], rates[best]),
        bar=at_least(1.0 - WITHIN),
    )


def _measure_all(model: Path, batch_sizes: list[int], terms: RaceTerms) -> list[tuple[str, float]]:
    """The throughput of every configuration in one process each, under the name that the race gives it."""
    found = []
    for count in COUNTS:
        options: Mapping[str, Any] = {f"{runtime}.{option}": count for runtime, option in THREADS.items()}
        one = benchwright.run(
            str(model), runtime=RUNTIMES, batch_size=batch_sizes, options=options, load=LOAD, rounds=1, save=False
        )
        for result in one.results:
            metric = result.metric("throughput")
            if metric is None:
                raise RuntimeError(f"{_label(result, terms)} was not measured: {result.error}")
            found.append((_label(result, terms), metric.estimate.point))
    return found


def _label(result: Result, terms: RaceTerms) -> str:
    """The configuration of a result as the race writes it."""
    own = {f"{result.case.target.runtime}.{name}": value for name, value in result.case.target.options.items()}
    known = {**result.case.params, **own}
    return " ".join(f"{axis.name}={show_setting(known[axis.name])}" for axis in terms.axes if axis.name in known)


if __name__ == "__main__":
    sys.exit(main())
