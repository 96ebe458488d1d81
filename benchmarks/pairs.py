"""Two revisions on a noisy machine: how often we are wrong when nothing changed, and what we find when something did.

    python benchmarks/pairs.py [--quick]

Simulated, seeded, 6,000 comparisons for each figure, against rules that run all of A before all of B, in the same run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from detection.pairs_simulator import CLOUD, QUIET, Array, Profile, in_turn, paired
from detection.shares import share

from benchwright.records import Verdict
from benchwright.stats.pairs import judge, stop
from harness import Claim, Settings, Spread, at_least, at_most, report, settings

EACH = 20  # pairs, or processes of either side
DIFFERENT = (Verdict.WORSE, Verdict.BETTER)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=6000, quick_rounds=10)
    return report(
        [*_twenty_pairs(asked), *_orders(asked), *_sequential(asked), *_others(asked)], judged=not asked.quick
    )


# ---- twenty pairs: the stated size, and no change ----


def _twenty_pairs(asked: Settings) -> Iterator[Claim]:
    for name, profile, change, smallest in (("cloud", CLOUD, 0.02, 0.01), ("quiet", QUIET, 0.005, 0.0025)):
        for what, decide in (("looked at after every pair", _stopped), ("judged at the end", _judged)):
            rng = np.random.default_rng(1)
            clean = [decide(c, smallest) in DIFFERENT for c in _comparisons(profile, rng, asked.rounds, EACH, 0.0)]
            slower = _comparisons(profile, rng, asked.rounds, EACH, change)
            found = [decide(c, smallest) is Verdict.WORSE for c in slower]
            yield _claim(f"{name}, 20 pairs {what}: called different when nothing changed", clean, at_most(1.0))
            yield _claim(f"the same: {100 * change:g} % slower, called worse", found, at_least(95.0))


def _stopped(comparison: _Comparison, smallest: float) -> Verdict | None:
    return stop(comparison.pairs, control_first=comparison.orders, smallest=smallest, most=EACH)[1]


def _judged(comparison: _Comparison, smallest: float) -> Verdict | None:
    return judge(comparison.pairs, control_first=comparison.orders, smallest=smallest).verdict


# ---- a second process that is slower because it is the second ----


def _orders(asked: Settings) -> Iterator[Claim]:
    for second in (0.03, 0.1):
        rng = np.random.default_rng(4)
        compared = _comparisons(QUIET, rng, asked.rounds, 40, 0.0, second=second)
        called = [stop(c.pairs, control_first=c.orders)[1] in DIFFERENT for c in compared]
        what = f"quiet, the second process {100 * second:g} % slower: called different when nothing changed"
        yield _claim(what, called, at_most(1.0))


# ---- up to forty pairs: when it ends ----


def _sequential(asked: Settings) -> Iterator[Claim]:
    for name, profile in (("cloud", CLOUD), ("quiet", QUIET)):
        rng = np.random.default_rng(2)
        compared = _comparisons(profile, rng, asked.rounds, 40, 0.10)
        slower = [stop(c.pairs, control_first=c.orders) for c in compared]
        soon = [used <= 7 and verdict is Verdict.WORSE for used, verdict in slower]
        yield _claim(f"{name}: 10 % slower, called worse within 7 pairs", soon, at_least(90.0))
        compared = _comparisons(profile, rng, asked.rounds, 40, 0.0)
        clean = [stop(c.pairs, control_first=c.orders, smallest=0.02) for c in compared]
        ended = [used < 40 and verdict is Verdict.SAME for used, verdict in clean]
        bar = at_least(99.0) if profile is QUIET else None
        yield _claim(f"{name}: no change, called the same within ±2 % before 40 pairs", ended, bar)
        middle = float(median(used for used, _ in clean))
        quartiles = np.quantile([used for used, _ in clean], (0.25, 0.75))
        yield Claim(
            what="the same: pairs until then, the middle half",
            figure=Spread(point=middle, low=float(quartiles[0]), high=float(quartiles[1])),
            unit="pairs",
        )


# ---- what others say ----


def _others(asked: Settings) -> Iterator[Claim]:
    try:
        from detection import rules
    except ImportError as error:
        print(f"not installed: {error.name}, which the rules of others need")
        return
    rng = np.random.default_rng(3)
    a, b = in_turn(CLOUD, rng, asked.rounds, EACH, 0.0)
    in_turns: dict[str, Callable[[Array, Array], Array]] = {
        "Welch's t": rules.welch,
        "Mann-Whitney, as google-benchmark": rules.google_benchmark,
        "pyperf's rule": rules.pyperf,
        "Criterion's rule": lambda a, b: rules.criterion(a, b, rng),
        "the older history rule": rules.history,
    }
    for name, rule in in_turns.items():
        yield _claim(f"cloud, 20 of A then 20 of B, nothing changed: {name} calls a change", rule(a, b))
    for change in (0.10, 0.21):
        found = rules.history(*in_turn(CLOUD, rng, asked.rounds, EACH, change))
        yield _claim(f"the same: {100 * change:g} % slower, found by the older history rule", found)
    for name, profile, change in (("cloud", CLOUD, 0.02), ("quiet", QUIET, 0.005)):
        control, treatment, _ = paired(profile, rng, asked.rounds, EACH, change)
        found = rules.signed_ranks(control, treatment)
        yield _claim(f"{name}, 20 pairs: {100 * change:g} %, found by Wilcoxon's signed ranks at 1 %", found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """The pairs of a comparison, and whether the control of each ran first."""

    pairs: list[tuple[float, float]]
    orders: list[bool]


def _comparisons(
    profile: Profile, rng: np.random.Generator, series: int, count: int, change: float, *, second: float = 0.0
) -> Iterator[_Comparison]:
    control, treatment, orders = paired(profile, rng, series, count, change, second=second)
    for one, other, order in zip(np.exp(control), np.exp(treatment), orders, strict=True):
        yield _Comparison(pairs=list(zip(one.tolist(), other.tolist(), strict=True)), orders=order.tolist())


def _claim(what: str, truths: Sequence[bool] | Array, bar: object = None) -> Claim:
    return Claim(what=what, figure=share([bool(t) for t in truths]), unit="%", bar=bar)


if __name__ == "__main__":
    sys.exit(main())
