"""Finding eight patterns in a log of 1 GB while it is read: ours against a loop over its lines with `re`.

    python benchmarks/extraction.py [--quick]

Both read the same file in fresh processes and must find the same numbers. Ours gets it in the pieces in which a
task's output is read.
"""

from __future__ import annotations

import math
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchwright.targets.tasks.definition import Pattern, Task, TaskMetric
from benchwright.worker.tasks.extraction import Extractor
from harness import Claim, at_least, at_most, children, interleaved, ratios, report, settings, spread

MEGABYTE = 1_000_000
PIECE = 1 << 18  # bytes that are read at once of what a task prints
BLOCK = 8 * MEGABYTE  # of lines that the log repeats
PATTERNS = {
    "speed": r"Speed: ([\d.]+) samples/sec",
    "accuracy": r"train-accuracy=([\d.]+)",
    "loss": r"cross-entropy=([\d.]+)",
    "validation": r"Validation-accuracy=([\d.]+)",
    "epoch_time": r"Epoch\[\d+\] Time cost=([\d.]+)",
    "rate": r"learning rate is now ([\d.e-]+)",
    "memory": r"gpu memory in use: (\d+) MiB",
    "warnings": r"^WARNING: queue of (\d+) batches",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    if children.answered(CONTENDERS, arguments):
        return 0
    asked = settings(__doc__, arguments, rounds=3, quick_rounds=1)
    size = asked.count(1000 * MEGABYTE, 20 * MEGABYTE)
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        usual = _found(_log(Path(folder), size, every=20), asked.rounds)
        dense = _found(_log(Path(folder), size // 5, every=2), asked.rounds)
    return report([*_claims(usual, size), _dense(dense)], judged=not asked.quick)


def ours(log: str) -> dict[str, Any]:
    """A task's patterns, as `benchwright run tasks.toml` looks for them."""
    patterns = [Pattern(text=text, series={name: 1}) for name, text in PATTERNS.items()]
    metrics = [TaskMetric(name=name, series=name, compute="mean") for name in PATTERNS]
    task = Task(name="train", file=Path("tasks.toml"), patterns=tuple(patterns), metrics=tuple(metrics))
    begin = perf_counter()
    extractor = Extractor(task)
    with Path(log).open("rb", buffering=0) as stream:
        while data := stream.read(PIECE):
            extractor.feed(data)
    extractor.finish()
    found = extractor.result()
    seconds = perf_counter() - begin
    counts = {metric.name: metric.count for metric in found.metrics}
    return _answer(seconds, counts, {metric.name: metric.estimate.point for metric in found.metrics})


def line_by_line(log: str) -> dict[str, Any]:
    """Every line, every pattern."""
    begin = perf_counter()
    searches = [(name, re.compile(text).search) for name, text in PATTERNS.items()]
    counts, sums = dict.fromkeys(PATTERNS, 0), dict.fromkeys(PATTERNS, 0.0)
    with Path(log).open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            for name, search in searches:
                if found := search(line):
                    counts[name] += 1
                    sums[name] += float(found[1])
    seconds = perf_counter() - begin
    return _answer(seconds, counts, {name: sums[name] / counts[name] for name in PATTERNS})


CONTENDERS: dict[str, Callable[..., Any]] = {"ours": ours, "re": line_by_line}


def _answer(seconds: float, counts: dict[str, int], means: dict[str, float]) -> dict[str, Any]:
    return {"seconds": seconds, "counts": counts, "means": means, "peak": _peak()}


def _found(log: Path, rounds: int) -> dict[str, list[dict[str, Any]]]:
    found = interleaved({name: partial(children.measured, __file__, name, log=str(log)) for name in CONTENDERS}, rounds)
    mine, theirs = found["ours"][0], found["re"][0]
    if mine["counts"] != theirs["counts"] or not all(
        math.isclose(mine["means"][name], theirs["means"][name], rel_tol=1e-9) for name in PATTERNS
    ):
        raise RuntimeError(f"they found different numbers:\n{mine}\n{theirs}")
    log.unlink()
    return found


def _claims(found: dict[str, list[dict[str, Any]]], size: int) -> list[Claim]:
    seconds = {name: [answer["seconds"] for answer in answers] for name, answers in found.items()}
    peaks = [answer["peak"] / MEGABYTE for answer in found["ours"]]
    speed = {name: size / MEGABYTE / spread(taken).point for name, taken in seconds.items()}
    return [
        Claim(
            what=f"speed of {len(PATTERNS)} patterns over a log of {size // MEGABYTE:,} MB",
            ours=f"{speed['ours']:,.0f} MB/s",
            against=f"re, line by line {speed['re']:,.0f} MB/s",
            figure=ratios(seconds["re"], seconds["ours"]),
            bar=at_least(3.0),
        ),
        Claim(what="peak memory of the whole process", figure=spread(peaks), unit="MB", bar=at_most(100.0)),
    ]


def _dense(found: dict[str, list[dict[str, Any]]]) -> Claim:
    seconds = {name: [answer["seconds"] for answer in answers] for name, answers in found.items()}
    return Claim(
        what="the same, every second line a hit",
        ours=f"{spread(seconds['ours']).point:.1f} s",
        against=f"re, line by line {spread(seconds['re']).point:.1f} s",
        figure=ratios(seconds["re"], seconds["ours"]),
    )


def _log(folder: Path, size: int, *, every: int) -> Path:
    """A training log; one line in `every` holds something that is looked for."""
    chance, file = random.Random(0), folder / "train.log"
    lines: list[str] = []
    length = 0
    while length < min(BLOCK, size):
        line = _hit(chance) if chance.randrange(every) == 0 else _chatter(chance)
        lines.append(line)
        length += len(line)
    block = "".join(lines).encode()
    with file.open("wb") as stream:
        for _ in range(max(1, size // len(block))):
            stream.write(block)
    return file


def _hit(chance: random.Random) -> str:
    epoch, batch, value = chance.randrange(90), chance.randrange(5000), chance.random()
    return chance.choice(
        [
            f"INFO:root:Epoch[{epoch}] Batch [{batch}]\tSpeed: {3000 * value:.2f} samples/sec\t"
            f"train-accuracy={value:.6f}\tcross-entropy={1 / (value + 0.1):.6f}\n",
            f"INFO:root:Epoch[{epoch}] Validation-accuracy={value:.6f}\n",
            f"INFO:root:Epoch[{epoch}] Time cost={300 * value:.3f}\n",
            f"INFO:root:learning rate is now {value / 1e4:.3e}\n",
            f"gpu memory in use: {int(16000 * value)} MiB\n",
            f"WARNING: queue of {batch} batches is empty\n",
        ]
    )


def _chatter(chance: random.Random) -> str:
    number, value = chance.randrange(100_000), 100 * chance.random()
    return chance.choice(
        [
            f"2026-03-01 10:{number % 60:02}:05,{number % 1000:03} INFO loader: shard {number} in {value:.1f} ms\n",
            f"[worker {number % 64}] step {number}: forward {value:.3f} ms, backward {2 * value:.3f} ms\n",
            f"{number % 100}%|{'#' * (number % 40):<40}| {number}/100000 [{value:.0f}:12<01:10, {value:.2f}it/s]\n",
            f"D checkpoint: kept /data/run/model-{number:06}.params ({value:.1f} MB)\n",
        ]
    )


def _peak() -> int:
    """The most memory that this process itself had; what its parent had before it does not count."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status tells no peak")


if __name__ == "__main__":
    sys.exit(main())
