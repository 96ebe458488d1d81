"""How often 95 % intervals hold the truth, and how often comparisons cry wolf: the tables of docs/statistics.md.

    python benchmarks/intervals.py [--repeats 1000] [--seed 7]

A table entry is a share of simulated measurements; with 1000 repeats it is good to about 0.7 percentage points. The
last lines name the entries that lie more than three points below what is claimed. Where chance does not explain one of
them, the script ends with 1.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from detection.shares import share

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.compare import compare
from benchwright.stats.distributions import normal_quantile
from benchwright.stats.steady import detect
from benchwright.stats.summary import combine, mean_interval, quantile_interval

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]
COUNTS = (30, 100, 300, 1000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How often an interval of one kind held the truth, and how often it says that it does."""

    name: str
    held: Sequence[bool]
    claimed: float
    is_claimed: bool = True

    def __str__(self) -> str:
        held = sum(self.held) / len(self.held)
        if self.claimed > 0.945 or not self.is_claimed:
            return f"{100 * held:.1f}"
        return f"{100 * held:.0f} (claims {100 * self.claimed:.0f})"


def main() -> int:
    """Prints every table; 1 when an interval surely holds the truth less often than it claims less three points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    entries = print_coverage(rng, options.repeats)
    entries += print_sticky(rng, options.repeats)
    entries += print_rounds(rng, options.repeats)
    entries += print_odd_processes(rng, options.repeats)
    entries += print_rounds_of(rng, options.repeats)
    print_comparisons(rng, options.repeats)
    print_steady(rng, options.repeats)
    return print_shortfalls([entry for entry in entries if entry.is_claimed])


def print_shortfalls(entries: Sequence[Entry]) -> int:
    """The entries more than three points below their claim, with 95 % intervals; 1 when chance does not explain one."""
    surely = 0
    short = []
    for entry in entries:
        found, bar = share(list(entry.held)), 100 * entry.claimed - 3.0
        if found.point < bar:
            surely += found.high < bar
            short.append(f"{entry.name}: {found.point:.1f} % [{found.low:.1f}, {found.high:.1f}], bar {bar:.1f} %")
    print(f"\n{len(entries) - len(short)} of {len(entries)} entries hold what they claim, less three points", end="")
    print(f" ({len(entries[0].held)} measurements each); {surely} surely do not")
    print("".join(f"below: {each}\n" for each in short), end="")
    return int(surely > 0)


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 10.0 + rng.normal(size=shape)


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.exponential(size=shape)


def lognormal(sigma: float) -> Draw:
    return lambda rng, shape: rng.lognormal(0.0, sigma, shape)


def autoregressive(rho: float) -> Draw:
    """Normal values of variance 1 whose neighbours correlate by rho."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        values = rng.normal(size=shape)
        for i in range(1, shape[1]):
            values[:, i] = rho * values[:, i - 1] + math.sqrt(1.0 - rho * rho) * values[:, i]
        return values

    return draw


def sticky_speeds(noise: float, stay: int = 50, apart: float = 0.3) -> Draw:
    """Two speeds, equally frequent, each of which lasts for `stay` calls on average."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        switches = np.cumsum(rng.random(shape) < 1 / stay, axis=1)
        slow = (switches + rng.integers(2, size=(shape[0], 1))) % 2
        return (1.0 + apart * slow) * rng.lognormal(0.0, noise, shape)

    return draw


def burst_calls(share: float, length: int = 20, *, seen: bool = False) -> Draw:
    """Calls of which a share takes twice as long, in bursts; `seen` keeps the rows that show a part of one at least."""

    def slow(rng: np.random.Generator, count: int) -> Array:
        found, before = np.zeros(count), 5 * length
        for start in rng.integers(-before, count, rng.poisson((count + before) * share / length)):
            found[max(0, start) : max(0, start + rng.geometric(1 / length))] += 1.0
        return found if found.any() or not seen else slow(rng, count)

    return lambda rng, shape: (
        rng.lognormal(0.0, 0.3, shape) * 2.0 ** np.array([slow(rng, shape[1]) for _ in range(shape[0])])
    )


def pauses(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Every fiftieth call takes five times as long, as with a collector of garbage."""
    values = rng.lognormal(0.0, 0.1, shape)
    for row in values:
        row[rng.integers(50) :: 50] *= 5.0
    return values


def warm_up_tail(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The first calls are up to half slower, which dies away within some twenty calls."""
    return (1.0 + 0.5 * np.exp(-np.arange(shape[1]) / 7)) * rng.lognormal(0.0, 0.1, shape)


def pareto(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 1.0 + rng.pareto(1.5, shape)


NOT_CLAIMED = "; not claimed"
STICKY: tuple[tuple[str, Draw], ...] = (
    ("AR(1), rho 0.9", autoregressive(0.9)),
    ("two speeds 30 % apart, 50 calls each, noise 3 %", sticky_speeds(0.03)),
    ("the same, noise 10 %", sticky_speeds(0.1)),
    ("two speeds 10 % apart, 20 calls each, noise 3 %", sticky_speeds(0.03, 20, 0.1)),
    ("5 % of the calls twice as long, in bursts of 20, of which one was seen", burst_calls(0.05, seen=True)),
    (f"the same, whether one was seen or not{NOT_CLAIMED}", burst_calls(0.05)),
    ("every 50th call five times as long", pauses),
    ("warm-up that dies away", warm_up_tail),
    ("Pareto tail of index 1.5", pareto),
)
LONG_COUNTS = (300, 2000, 10_000)


def print_sticky(rng: np.random.Generator, repeats: int) -> list[Entry]:
    """The same where calls stay slow for a while: with n, the share that held the truth, and what is claimed."""
    entries = []
    for q in (None, 0.5, 0.9, 0.99):
        title = _head(q, LONG_COUNTS)
        for name, draw in STICKY:
            if q is None and draw is pareto:
                continue  # its variance is infinite
            true = _truth(rng, draw, q)
            row = [_coverage(f"{title} of {n:,}: {name}", draw(rng, (repeats, n)), q, true) for n in LONG_COUNTS]
            entries += _printed(name, row)
    return entries


def _head(q: float | None, counts: Sequence[int]) -> str:
    title = "mean" if q is None else f"p{100 * q:g}"
    print(f"\n| {title} | " + " | ".join(f"n = {n:,}" for n in counts) + " |")
    print("| --- |" + " ---: |" * len(counts))
    return title


def _printed(name: str, row: list[Entry]) -> list[Entry]:
    print(f"| {name} | " + " | ".join(map(str, row)) + " |", flush=True)
    return row


def _truth(rng: np.random.Generator, draw: Draw, q: float | None) -> float:
    """From two million calls, in rows so long that where they begin does not matter."""
    many = draw(rng, (20, 100_000))
    return float(many.mean() if q is None else np.quantile(many, q))


def print_odd_processes(rng: np.random.Generator, repeats: int) -> list[Entry]:
    """One process in five is 10 % slower: how often the typical one is held, and how often the mean over all is."""
    print("\n| one process in five 10 % slower | " + " | ".join(f"{r} processes" for r in ROUNDS) + " |")
    print("| --- |" + " ---: |" * len(ROUNDS))
    kinds = {"the typical process, claimed": 1.0, f"the mean over all processes{NOT_CLAIMED}": 1.02}
    entries = []
    for noise, calls in ((0.1, 50), (0.02, 200)):
        found = {count: [combine(_odd_rounds(rng, count, noise, calls)) for _ in range(repeats)] for count in ROUNDS}
        for kind, true in kinds.items():
            name = f"{kind}; noise {noise:.0%}"
            entries += _printed(name, [_entry(f"{count} processes: {name}", found[count], true) for count in ROUNDS])
    return entries


def _odd_rounds(rng: np.random.Generator, count: int, noise: float, calls: int) -> list[Estimate]:
    levels = np.where(rng.random(count) < 0.2, 1.1, 1.0)
    return [mean_interval(level * rng.lognormal(-(noise**2) / 2, noise, calls)) for level in levels]


# name, how to draw, the true mean, the true quantile
POPULATIONS: tuple[tuple[str, Draw, float, Callable[[float], float]], ...] = (
    ("normal", normal, 10.0, lambda q: 10.0 + normal_quantile(q)),
    ("exponential", exponential, 1.0, lambda q: -math.log(1.0 - q)),
    ("lognormal, sigma 0.5", lognormal(0.5), math.exp(0.125), lambda q: math.exp(0.5 * normal_quantile(q))),
    ("lognormal, sigma 1", lognormal(1.0), math.exp(0.5), lambda q: math.exp(normal_quantile(q))),
    ("AR(1), rho 0.5", autoregressive(0.5), 0.0, normal_quantile),
    ("AR(1), rho 0.8", autoregressive(0.8), 0.0, normal_quantile),
)


def print_coverage(rng: np.random.Generator, repeats: int) -> list[Entry]:
    """How often the intervals of the mean and of quantiles hold the true value."""
    entries = []
    for q in (None, 0.5, 0.9, 0.99):
        title = _head(q, COUNTS)
        for name, draw, mean, quantile in POPULATIONS:
            true = mean if q is None else quantile(q)
            row = [_coverage(f"{title} of {n:,}: {name}", draw(rng, (repeats, n)), q, true) for n in COUNTS]
            entries += _printed(name, row)
    return entries


def _coverage(name: str, rows: Array, q: float | None, true: float) -> Entry:
    return _entry(name, [mean_interval(row) if q is None else quantile_interval(row, q) for row in rows], true)


def _entry(name: str, estimates: Sequence[Estimate], true: float) -> Entry:
    return Entry(
        name=name,
        held=[_holds(e, true) for e in estimates],
        claimed=sum(e.confidence for e in estimates) / len(estimates),
        is_claimed=NOT_CLAIMED not in name,
    )


def _holds(e: Estimate, true: float) -> bool:
    return e.low is not None and e.high is not None and e.low <= true <= e.high


def rounds(rng: np.random.Generator, count: int, spread: str, level: float = 1.0) -> list[Estimate]:
    """Rounds of 50 calls each; processes of one program differ from each other as `spread` says."""
    match spread:
        case "two states, 5 % apart":
            levels = np.where(rng.random(count) < 0.5, 1.0, 1.05)
        case "1 %, one in seven disturbed by 15 %":
            levels = np.exp(
                0.01 * rng.normal(size=count) + 0.15 * rng.exponential(size=count) * (rng.random(count) < 1 / 7)
            )
        case _:
            levels = np.exp(float(spread.split(" ")[0]) / 100 * rng.normal(size=count))
    return [mean_interval(level * shift * rng.lognormal(-0.005, 0.1, 50)) for shift in levels]


SPREADS = ("0 %", "1 %", "3 %", "5 %", "two states, 5 % apart", "1 %, one in seven disturbed by 15 %")
ROUNDS = (2, 3, 5, 10)


def print_rounds(rng: np.random.Generator, repeats: int) -> list[Entry]:
    """How often several processes together hold the true level; beside it, how often one process alone does."""
    print(
        f"\n| processes differ by | one process{NOT_CLAIMED} | " + " | ".join(f"{r} processes" for r in ROUNDS) + " |"
    )
    print("| --- |" + " ---: |" * (1 + len(ROUNDS)))
    entries = []
    for spread in SPREADS[:4]:
        true = math.exp((float(spread.split(" ")[0]) / 100) ** 2 / 2)
        row = []
        for count in (1, *ROUNDS):
            found = [combine(rounds(rng, count, spread)) for _ in range(repeats)]
            name = f"{count} processes that differ by {spread}"
            row.append(_entry(name + (NOT_CLAIMED if count == 1 else ""), found, true))
        entries += _printed(spread, row)
    return entries


def medians(rng: np.random.Generator, count: int) -> list[Estimate]:
    """Medians of 200 calls in processes that differ by 3 %."""
    return [quantile_interval(math.exp(0.03 * rng.normal()) * rng.lognormal(0, 0.3, 200), 0.5) for _ in range(count)]


def tails(rng: np.random.Generator, count: int) -> list[Estimate]:
    """The p99 of 2000 calls in processes that differ by 3 %."""
    return [quantile_interval(math.exp(0.03 * rng.normal()) * rng.lognormal(0, 0.3, 2000), 0.99) for _ in range(count)]


def bursts(share: float) -> Callable[[np.random.Generator, int], list[Estimate]]:
    """The p99 of 5000 calls of which a share is 20 times slower, in bursts of ten; processes differ by 5 %."""

    def draw(rng: np.random.Generator, count: int) -> list[Estimate]:
        return [
            quantile_interval(math.exp(0.05 * rng.normal()) * in_bursts(rng, 5000, share), 0.99) for _ in range(count)
        ]

    return draw


def in_bursts(rng: np.random.Generator, calls: int, share: float, length: int = 10) -> Array:
    """Calls of which a share is 20 times slower, in bursts."""
    values = rng.lognormal(0, 0.3, calls)
    for start in rng.integers(0, calls, rng.poisson(calls * share / length)):
        values[start : start + rng.geometric(1 / length)] *= 20
    return values


def rates(rng: np.random.Generator, count: int) -> list[Estimate]:
    """Throughputs of processes that a neighbour slows by 2 % on average, each known to 1 %."""
    points = np.exp(-0.02 * rng.exponential(size=count)) * (1 + 0.01 * rng.normal(size=count))
    return [Estimate(point=float(p), low=float(p) * 0.9804, high=float(p) * 1.0196) for p in points]


def print_rounds_of(rng: np.random.Generator, repeats: int) -> list[Entry]:
    """The same for what people read most: medians, p99 without and with bursts of slow calls, throughput."""
    apart = (math.exp(0.03**2 / 2), math.exp(0.05**2 / 2))
    p99 = math.exp(0.3 * normal_quantile(0.99))
    slow = {share: apart[1] * float(np.quantile(in_bursts(rng, 2_000_000, share), 0.99)) for share in (0.004, 0.02)}
    kinds = (
        ("median of 200 calls", medians, apart[0]),
        ("p99 of 2000 calls", tails, apart[0] * p99),
        ("p99, 0.4 % of the calls slow, in bursts", bursts(0.004), slow[0.004]),
        ("p99, 2 % of the calls slow, in bursts", bursts(0.02), slow[0.02]),
        ("throughput, processes slowed by 2 %", rates, 1 / 1.02),
    )
    print("\n| rounds together | " + " | ".join(f"{r} processes" for r in ROUNDS) + " |")
    print("| --- |" + " ---: |" * len(ROUNDS))
    entries = []
    for name, draw, true in kinds:
        found = {count: [combine(draw(rng, count)) for _ in range(repeats)] for count in ROUNDS}
        entries += _printed(name, [_entry(f"{count} processes: {name}", found[count], true) for count in ROUNDS])
    return entries


def print_comparisons(rng: np.random.Generator, repeats: int) -> None:
    """How often two equal programs are called different, and how often a slower one is found out."""
    pairs = ((1, 1), *((r, r) for r in ROUNDS))
    for title, level in (("no change", 1.0), ("5 % slower", 1.05), ("20 % slower", 1.2)):
        times = repeats if level == 1.0 else max(1, repeats // 5)  # power is wanted roughly, false alarms exactly
        print(f"\n| {title}: better or worse | " + " | ".join(f"{a} + {b} processes" for a, b in pairs) + " |")
        print("| --- |" + " ---: |" * len(pairs))
        for spread in SPREADS:
            cells = []
            for a, b in pairs:
                verdicts = Counter(
                    compare(rounds(rng, a, spread), rounds(rng, b, spread, level), better=Better.LOWER).verdict
                    for _ in range(times)
                )
                cells.append((verdicts[Verdict.BETTER] + verdicts[Verdict.WORSE]) / times)
            print(f"| {spread} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |")


def print_steady(rng: np.random.Generator, repeats: int) -> None:
    """How often 1000 values are called steady, and where the cut then is."""
    x = np.arange(1000) / 1000
    shapes: tuple[tuple[str, Callable[[], Array]], ...] = (
        ("steady, lognormal", lambda: rng.lognormal(0, 0.3, 1000)),
        ("steady, Pareto tail of index 1.5", lambda: 1.0 + rng.pareto(1.5, 1000)),
        ("steady, AR(1) with rho 0.5", lambda: np.exp(0.1 * autoregressive(0.5)(rng, (1, 1000))[0])),
        ("20 % step down at 100", lambda: np.where(x < 0.1, 1.2, 1.0) * rng.lognormal(0, 0.1, 1000)),
        ("20 % step down at 600", lambda: np.where(x < 0.6, 1.2, 1.0) * rng.lognormal(0, 0.1, 1000)),
        ("20 % step down at 850", lambda: np.where(x < 0.85, 1.2, 1.0) * rng.lognormal(0, 0.1, 1000)),
        ("3 times slower, decays over 50", lambda: (1 + 2 * np.exp(-x / 0.05)) * rng.lognormal(0, 0.1, 1000)),
        ("drifts up by 20 %", lambda: (1 + 0.2 * x) * rng.lognormal(0, 0.1, 1000)),
    )
    print("\n| 1000 values | called steady | cut: median (10 to 90 %) |")
    print("| --- | ---: | ---: |")
    for name, draw in shapes:
        found = [detect(draw().tolist()) for _ in range(repeats)]
        cuts = np.quantile([f.cut for f in found if f.steady] or [math.nan], (0.1, 0.5, 0.9))
        share = sum(f.steady for f in found) / repeats
        shown = f"{cuts[1]:.0f} ({cuts[0]:.0f} to {cuts[2]:.0f})" if share > 0.02 else "none"
        print(f"| {name} | {100 * share:.1f} % | {shown} |")


if __name__ == "__main__":
    sys.exit(main())
