"""Has the warm-up ended? A change-point test on latencies. Standard library only.

Programs that warm up do not all settle, and those that do settle at different times (Barrett et al., Virtual Machine
Warmup Blows Hot and Cold, OOPSLA 2017; Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013). So the
end of the warm-up is looked for in the latencies themselves, and "it has not ended" is one of the answers.

Latencies have heavy tails; everything here works on medians of blocks and on their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

FEWEST = 20  # values; with fewer, a change in the last quarter could not be told from chance
TOLERANCE = 0.01  # a change of level smaller than this share does not matter
_BLOCKS = 100  # medians that the test looks at; more cost time, fewer blur the cut
_EDGE = 3  # blocks a level must last to count as one
_LARGEST_CORRELATION = 0.5  # between neighbouring blocks; beyond it, a trend and not noise
_SHORTEST = 0.25  # share of the values that must be steady at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """Where the steady part begins, whether there is one, and why."""

    cut: int
    steady: bool
    reason: str


def detect(values: Sequence[float], *, tolerance: float = TOLERANCE) -> Steady:
    """Looks for the last change of level in `values` and says whether what follows is steady.

    Splits at the most significant change of level (Pettitt 1979: the largest rank-sum statistic over all splits, here
    standardised so that early and late changes count alike), then does the same with what follows, until nothing is
    left to split: the steady part. There is none when less than a quarter remains, or when a straight line through
    everything fits as well as one that ends in a level: a drift. Changes below `tolerance` of the level are let pass.
    """
    if len(values) < FEWEST:
        return Steady(cut=0, steady=False, reason=f"{len(values)} values are too few to tell; {FEWEST} are needed")
    size = max(1, len(values) // _BLOCKS)
    blocks = [_median(values[i : i + size]) for i in range(0, len(values) - size + 1, size)]
    cuts = _changes(blocks, tolerance)
    last = cuts[-1]
    if len(blocks) - last < max(_SHORTEST * len(blocks), 2 * _EDGE):
        return Steady(cut=last * size, steady=False, reason=f"the level still changed at value {last * size}")
    if last and _drifts(blocks, last):
        return Steady(cut=last * size, steady=False, reason="drifts: one straight line fits all of it")
    cut = max(last * size, _count_opening(values))
    return Steady(cut=cut, steady=True, reason=f"level since value {cut}" if cut else "level from the start")


def _changes(blocks: Sequence[float], tolerance: float) -> list[int]:
    """0 and the start of each later level, in order, following the right-hand part after every split."""
    cuts = [0]
    while len(blocks) - cuts[-1] >= 2 * _EDGE:
        tail = blocks[cuts[-1] :]
        split = _find_split(tail)
        if split is None:
            break
        before, after = _median(tail[:split]), _median(tail[split:])
        if abs(before - after) <= tolerance * abs(after):
            break
        cuts.append(cuts[-1] + split)
    return cuts


def _find_split(blocks: Sequence[float]) -> int | None:
    """Where the level changes most significantly, or None when no split is significant."""
    count = len(blocks)
    ranks = _centred_ranks(blocks)
    squares = _squares(ranks)
    if squares == 0.0:
        return None
    sums = list(accumulate(ranks))
    best = max(range(_EDGE, count - _EDGE + 1), key=lambda k: sums[k - 1] ** 2 / (k * (count - k)))
    variance = squares / (count - 1) * best * (count - best) / count
    inflation = _neighbour_inflation(ranks, best)
    return best if sums[best - 1] ** 2 > _critical(count) ** 2 * variance * inflation else None


def _critical(count: int) -> float:
    """What the largest z over all splits exceeds in 1 % of steady series: a fit to 40 000 simulated ones of each
    length from 16 to 150."""
    return 2.05 + 0.3 * math.log(count)


def _neighbour_inflation(ranks: Sequence[float], split: int) -> float:
    """Variance inflation by correlation between neighbouring blocks, about the levels or about a line.

    The smaller of the two: what a level leaves of a drift, and a line of a step, looks correlated but is not noise.
    """
    levels = _residuals(ranks[:split]) + _residuals(ranks[split:])
    correlation = min(max(min(_correlation(levels), _correlation(_detrend(ranks))), 0.0), _LARGEST_CORRELATION)
    return (1.0 + correlation) / (1.0 - correlation)


def _drifts(blocks: Sequence[float], cut: int) -> bool:
    """Whether one line explains all blocks no worse than a line that ends at the cut with a level after it.

    The second has two parameters more and must earn them (Schwarz 1978).
    """
    pulled = _winsorise(blocks)
    count = len(pulled)
    settled = _squares(_detrend(pulled[:cut])) + _squares(_residuals(pulled[cut:]))
    return _squares(_detrend(pulled)) < settled * math.pow(count, 2 / count)


def _count_opening(values: Sequence[float]) -> int:
    """How many values at the very start are all above the rest's outer decile (or all below the lower one).

    Warm-ups of a few calls are too short for the blocks to show. Three such values in a row are a chance of 1 in 500.
    """
    ordered = sorted(values)
    tenth = len(ordered) // 10
    low, high = ordered[tenth], ordered[-1 - tenth]
    above = next((i for i, value in enumerate(values) if value <= high), 0)
    below = next((i for i, value in enumerate(values) if value >= low), 0)
    return run if (run := max(above, below)) >= 3 else 0


def _winsorise(values: Sequence[float]) -> list[float]:
    """Values with those far from the median pulled in to six times the median deviation."""
    middle = _median(values)
    reach = 6.0 * _median([abs(v - middle) for v in values]) or math.inf
    return [min(max(v, middle - reach), middle + reach) for v in values]


def _residuals(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [v - mean for v in values]


def _detrend(values: Sequence[float]) -> list[float]:
    slope = _slope(values)
    return _residuals([v - slope * i for i, v in enumerate(values)])


def _slope(values: Sequence[float]) -> float:
    count = len(values)
    centre = (count - 1) / 2
    return math.fsum((i - centre) * v for i, v in enumerate(values)) / (count * (count * count - 1) / 12)


def _squares(residuals: Sequence[float]) -> float:
    return math.fsum(r * r for r in residuals)


def _correlation(residuals: Sequence[float]) -> float:
    squares = _squares(residuals)
    if squares == 0.0:
        return 0.0
    return math.fsum(r * s for r, s in pairwise(residuals)) / squares


def _centred_ranks(values: Sequence[float]) -> list[float]:
    """Ranks with their mean taken out; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            ranks[i] = (start + end - 1) / 2 - (len(values) - 1) / 2
        start = end
    return ranks


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
