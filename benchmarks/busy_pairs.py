"""Two revisions beside three busy loops: what is found of a change in real processes, and how often none is called one.

    python benchmarks/busy_pairs.py [--quick]

Real processes of one program run one after another while three loops keep the machine busy; each is known by the median
of its calls. A comparison takes 24 pairs in a row and throws a fresh coin for each pair, as `benchwright ab` does; the
treatment's times are then made longer by the change. Comparisons share processes but not coins.
"""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from detection.pairs_simulator import Array
from detection.shares import share

from benchwright.records import Verdict
from benchwright.stats.pairs import judge, stop
from harness import Claim, Settings, at_least, at_most, report, settings

LOOPS = 3
PAIRS = 24
PROGRAMS = {"calls of 1 ms": 20_000, "calls of 10 ms": 200_000}  # what a process calls: a sum of so many squares
_OF_EQUALS = 4  # times as many comparisons of equal programs: a rate below 1 % takes many to tell from one above
DIFFERENT = (Verdict.WORSE, Verdict.BETTER)
_CHILD = """
import statistics, sys, time
size, duration = int(sys.argv[1]), float(sys.argv[2])
taken, begin = [], time.perf_counter()
end = begin + duration
while begin < end or len(taken) < 3:
    sum([i * i for i in range(size)])
    now = time.perf_counter()
    taken.append(now - begin)
    begin = now
print(statistics.median(taken[1:]))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, replays and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=600, quick_rounds=5)
    claims = []
    for name, size in list(PROGRAMS.items())[: asked.count(2, 1)]:
        with _busy(LOOPS):
            values = _measured(size, 2 * asked.count(240, PAIRS + 1), asked.pick(0.1, 0.001))
        claims += list(_claims(name, values, asked))
    return report(claims, judged=not asked.quick)


def _claims(name: str, values: Array, asked: Settings) -> Iterator[Claim]:
    spread = np.quantile(np.exp(values - np.median(values)), (0.1, 0.9))
    what = f"{name}, {len(values)} processes from {spread[0]:.2f} to {spread[1]:.2f} of their median (8 of 10)"
    for change, bar in ((0.0, at_most(1.0)), (0.05, at_least(35.0)), (0.10, at_least(60.0))):
        count = asked.rounds * (_OF_EQUALS if change == 0.0 else 1)
        compared = list(_comparisons(values, np.random.default_rng(1), count, change))
        once = [judge(c.pairs, control_first=c.orders).verdict for c in compared]
        each = [stop(c.pairs, control_first=c.orders, most=PAIRS)[1] for c in compared]
        for how, verdicts in (("judged at the end", once), ("looked at after every pair", each)):
            called = [v in (DIFFERENT if change == 0.0 else (Verdict.WORSE,)) for v in verdicts]
            told = "called different when nothing changed" if change == 0.0 else f"{100 * change:g} % slower, found"
            bar_of = bar if change == 0.0 or verdicts is once else None
            yield Claim(what=f"{what}: {told}, {how}", figure=share(called), unit="%", bar=bar_of)
            what = "the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """The pairs of a comparison, and whether the control of each ran first."""

    pairs: list[tuple[float, float]]
    orders: list[bool]


def _comparisons(values: Array, rng: np.random.Generator, count: int, change: float) -> Iterator[_Comparison]:
    both = np.exp(values).reshape(-1, 2)
    for _ in range(count):
        begin = int(rng.integers(len(both) - PAIRS + 1))
        in_order = rng.random(PAIRS) < 0.5
        early, late = both[begin : begin + PAIRS].T
        control, treatment = np.where(in_order, early, late), np.where(in_order, late, early) * (1.0 + change)
        pairs = list(zip(control.tolist(), treatment.tolist(), strict=True))
        yield _Comparison(pairs=pairs, orders=in_order.tolist())


def _measured(size: int, count: int, duration: float) -> Array:
    """The logarithm of the median call of each of `count` fresh processes."""
    command = [sys.executable, "-S", "-E", "-c", _CHILD, str(size), str(duration)]
    return np.array(
        [
            math.log(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            for _ in range(count)
        ]
    )


@contextlib.contextmanager
def _busy(loops: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


if __name__ == "__main__":
    sys.exit(main())
