"""Geometric means of ratios: how all cases of a suite changed in one metric, and how many of them that tells of.

The cases of one round run on the same machine at nearly the same time, so what disturbs one disturbs the next: their
ratios are not independent, and the spread over cases says nothing of how sure their mean is. Rounds are what is
repeated. So each round gives one mean over all cases, and the rounds of both sides are compared as those of one case
are (`stats.compare`). Of one round on each side nothing is known of that spread: then there is no interval.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from benchwright import plugins
from benchwright.analysis.judged_metrics import TOTALS, in_order
from benchwright.records import Better, Estimate, Verdict
from benchwright.records.goals import is_reached_share
from benchwright.records.request_metrics import is_share_of_failures
from benchwright.stats.compare import compare

EVERY_SUITE = ""
_DIVIDER = re.compile(r"/|::")
_LARGEST = 700.0  # of a logarithm whose exponential is still a number
Points = Sequence[tuple[int, float]]  # number of the round, value


class RatioMember(NamedTuple):
    """What one metric of one case gives to a mean; a side that lacks it has no points."""

    suite: str
    metric: str
    better: Better | None
    before: Points
    after: Points
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricMean:
    """The mean ratio of one metric over the cases of one suite, or of every suite."""

    suite: str  # EVERY_SUITE: over all
    metric: str
    better: Better
    ratio: Estimate | None  # None: no case has a ratio
    cases: int  # that went into it
    left_out: int  # on one side alone, measured in quarantine, or with a value that is not positive
    counts: Mapping[str, int]  # of the verdicts, those left out included


def is_averaged(metric: str, unit: str) -> bool:
    """Whether ratios of a metric have a mean: a share, which may be zero, is compared by its difference."""
    return not is_share_of_failures(metric, unit) and not is_reached_share(metric, unit)


def geometric_means(members: Iterable[RatioMember]) -> list[GeometricMean]:
    """One mean for each metric over everything, then one for each suite and metric where there are several suites.

    Only metrics that say which direction is better have one, and none that grows with how long was measured.
    """
    groups: dict[tuple[str, str], list[RatioMember]] = {}
    for one in members:
        if one.better is not None and one.metric not in TOTALS:
            groups.setdefault((one.suite, one.metric), []).append(one)
    metrics = in_order(dict.fromkeys(metric for _, metric in groups))
    suites = sorted({suite for suite, _ in groups})
    found = [_mean(EVERY_SUITE, m, [one for s in suites for one in groups.get((s, m), ())]) for m in metrics]
    if len(suites) > 1:
        found += [_mean(suite, m, groups[suite, m]) for suite in suites for m in metrics if (suite, m) in groups]
    return found


def _mean(suite: str, metric: str, members: Sequence[RatioMember]) -> GeometricMean:
    both = [one for one in members if _has_ratio(one)]
    better = members[0].better
    assert better is not None
    return GeometricMean(
        suite=suite,
        metric=metric,
        better=better,
        ratio=_mean_ratio(both) if both else None,
        cases=len(both),
        left_out=len(members) - len(both),
        counts=Counter(one.verdict.value for one in members),
    )


def _has_ratio(one: RatioMember) -> bool:
    return bool(one.before and one.after) and not [1 for _, value in (*one.before, *one.after) if not value > 0.0]


def _mean_ratio(both: Sequence[RatioMember]) -> Estimate:
    before, after = _SideRounds([one.before for one in both]), _SideRounds([one.after for one in both])
    centre = after.mean - before.mean
    rounds = [before.means_of_rounds(), after.means_of_rounds()]
    said = f"geometric mean of {len(both)} cases"
    point = math.exp(max(-_LARGEST, min(_LARGEST, centre)))
    judged = compare(rounds[0], rounds[1], better=None).ratio if all(rounds) else None
    if judged is None or judged.high is None:
        return Estimate(point=point, low=None, high=None, method=f"{said}, one round on each side")
    half = math.log(judged.high / judged.point)
    return Estimate(
        point=point,
        low=math.exp(max(centre - half, -_LARGEST)),
        high=math.exp(min(centre + half, _LARGEST)),
        confidence=judged.confidence,
        method=f"{said}, t on logarithms over {len(rounds[0])} and {len(rounds[1])} rounds",
    )


class _SideRounds:
    """The logarithms of one side: their mean over the cases, and how far each round lies from it."""

    def __init__(self, cases: Sequence[Points]) -> None:
        self._cases = len(cases)
        self._off: dict[int, list[float]] = {}
        means = []
        for points in cases:
            if len(points) == 1:  # it is its own mean
                ((number, value),) = points
                means.append(math.log(value))
                self._off.setdefault(number, []).append(0.0)
                continue
            logs = [(number, math.log(value)) for number, value in points]
            own = math.fsum(log for _, log in logs) / len(logs)
            means.append(own)
            for number, log in logs:
                self._off.setdefault(number, []).append(log - own)
        self.mean = math.fsum(means) / len(means)

    def means_of_rounds(self) -> list[Estimate]:
        """The geometric mean of each round that at least half of the cases have.

        A case that lacks a round must not move it by how large its own values are: what counts is how far each case
        lies from its own mean in that round.
        """
        kept = (off for off in self._off.values() if 2 * len(off) >= self._cases)
        logs = (self.mean + math.fsum(off) / len(off) for off in kept)
        return [Estimate(point=math.exp(max(-_LARGEST, min(_LARGEST, log))), low=None, high=None) for log in logs]


# ---- suites ----


@lru_cache(maxsize=50_000)  # the overview asks it of every finding that is open
def suite_of(case: str) -> str:
    """The suite of a case: what its name begins with, up to the first `/` or `::`.

    A file is called without its ending, where that is one of a benchmark or a model: `alexa_v0.1.onnx` is `alexa_v0.1`.
    Of a dotted Python name the first part counts: `models.resnet.Train.benchmark_1` is of `models`.
    """
    name = _DIVIDER.split(case, maxsplit=1)[0]
    if not name:
        return case
    stem, dot, ending = name.rpartition(".")
    if stem and f".{ending}" in _endings():
        return stem
    parts = name.split(".")
    return parts[0] if dot and all(part.isidentifier() for part in parts) else name


@cache
def _endings() -> frozenset[str]:
    """What the files that hold benchmarks, tasks, specs and models end in."""
    loaded = (plugins.load("runtimes", name).extensions for name in plugins.BUILTIN["runtimes"])
    return frozenset([".py", ".toml", ".cfg", ".json", ".yaml", ".yml", *chain.from_iterable(loaded)])
