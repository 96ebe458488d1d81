"""How far the interval of a quantile reaches when calls resemble each other. Standard library only.

The textbook interval asks how precisely the share of calls below *the quantile that was seen* is known. Where a program
has two speeds that take turns, that question misleads: the quantile seen lies within one of the speeds, where calls
scatter as if they were independent, while the truth may lie at the other. So each of some thresholds around the
quantile is asked by itself: given how the calls at or below *this* threshold hang together, could the true share be q?
The interval reaches as far as the answer is yes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchwright.stats import correlation
from benchwright.stats.distributions import normal_quantile, student_quantile

if TYPE_CHECKING:
    from benchwright.stats.ranks import Bounds

_STEPS = (0.0, 0.4, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0)  # from the quantile outwards, in logarithms of odds
_NEAR = 3.0  # a threshold with three times as many calls beyond it, or a third of them, tells about this one
_FEW = 5  # calls beyond a threshold, below which how they hang together is not asked
_TELLING = 20  # calls beyond a threshold that are enough to say how they hang together
_PLENTY = 100  # calls beyond a threshold from which it is asked whether they lean
_MOST_LEANING = 1.4  # times as far as without; Hall's transformation knows no bound
_MORE = 1.5  # a neighbour counts when it is inflated by so many times more


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """How many calls of each batch are at or below each threshold, and each threshold's rank among all calls."""

    ranks: Sequence[int]
    batches: Sequence[Sequence[int]]
    length: int  # of a batch
    total: int  # calls that were ranked


def thresholds(count: int, q: float) -> list[int]:
    """The ranks of the thresholds that are asked, smallest first; that of the quantile is among them."""
    odds = math.log(q / (1.0 - q))
    shares = [1.0 / (1.0 + math.exp(-odds - step)) for step in {s * sign for s in _STEPS for sign in (1, -1)}]
    return sorted({min(max(math.ceil(share * count - 1e-9), 1), count) for share in shares})


def widest(
    counts: BatchCounts, q: float, confidence: float, among: int, bounds_of: Callable[[float], Bounds]
) -> Bounds:
    """The interval of the q-quantile as ranks among `among` calls, of which those in `counts` tell the order.

    `bounds_of` gives the interval of calls that are inflated by so much; where no threshold shows that calls resemble
    each other, it is the one at the quantile. The confidence is lower than asked where even
    the outermost calls may not hold the quantile.
    """
    places = [rank / counts.total for rank in counts.ranks]
    at = _nearest(places, q)
    telling = [j for j, place in enumerate(places) if min(place, 1.0 - place) * counts.total >= _TELLING]
    seen = _resemblance(counts, at)
    if not (at in telling and seen.is_evident) and not any(_resemblance(counts, j).is_evident for j in telling[::3]):
        return bounds_of(seen.inflation)
    inflations = _settle_inflations(
        [_resemblance(counts, j).inflation for j in range(len(places))], places, counts.total
    )
    each = [
        _lean_bounds(
            counts, j, confidence, _stretch_inflation(inflations[j], places[j], counts.total, confidence), bounds_of
        )
        for j in range(len(places))
    ]
    found, plain = each[at], bounds_of(inflations[at])
    low, high = min(found.low, plain.low), max(found.high, plain.high)  # the bounds of very few values lie inwards
    edges = [0.0, *places, 1.0]
    for j, bounds in enumerate(each):
        if bounds.low <= places[j] * among <= bounds.high:
            low = min(low, max(bounds.low, edges[j] * among))
            high = max(high, min(bounds.high, edges[j + 2] * among))
    worth = max(1, round(among / inflations[at]))
    reached = confidence if found.confidence >= confidence else min(confidence, _chance_of_reaching(q, worth))
    return replace(found, low=max(1.0, low), high=min(high, float(among)), confidence=reached, effective=worth)


def _resemblance(counts: BatchCounts, j: int) -> correlation.Resemblance:
    means = [batch[j] / counts.length for batch in counts.batches]
    share = math.fsum(means) / len(means)
    return correlation.resemblance(means, counts.length, share * (1.0 - share))


def _lean_bounds(
    counts: BatchCounts, j: int, confidence: float, inflation: float, bounds_of: Callable[[float], Bounds]
) -> Bounds:
    """The interval at one threshold, longer on the side that the calls beyond it lean to.

    Slow calls in bursts are few events. Where few bursts were seen, the true share of calls beyond the threshold may be
    far larger than the share that was seen, and hardly smaller; see `correlation.lean`. How a handful of calls leans is
    chance, and in the ranks already.
    """
    if min(counts.ranks[j], counts.total - counts.ranks[j]) < _PLENTY:
        return bounds_of(inflation)
    z = normal_quantile((1.0 + confidence) / 2)
    lean = correlation.lean([batch[j] / counts.length for batch in counts.batches])
    below, above = (min(max(1.0, abs(correlation.invert_hall(side, lean)) / z), _MOST_LEANING) ** 2 for side in (-z, z))
    return replace(bounds_of(inflation), low=bounds_of(inflation * below).low, high=bounds_of(inflation * above).high)


def _settle_inflations(inflations: Sequence[float], places: Sequence[float], total: int) -> list[float]:
    """Each threshold's inflation, raised where its neighbours show more.

    What happens in bursts is diluted at a threshold that ordinary calls exceed as well, and undiluted further out; two
    speeds show best between them. And where only a handful of calls lie beyond a threshold, hardly anything can be
    read from them alone.
    """
    settled = []
    for inflation, place in zip(inflations, places, strict=True):
        beyond = min(place, 1.0 - place)
        raised = inflation
        for share, weight in ((min(0.5, beyond * _NEAR), 0.5), (beyond / _NEAR, 1.0)):
            for other in (inflations[_nearest(places, at)] for at in _sides(share, place)):
                if share * total >= _FEW and other > _MORE * inflation:
                    raised = max(raised, math.pow(inflation, 1.0 - weight) * math.pow(other, weight))
        if beyond * total < _TELLING:
            share = min(0.5, _TELLING / total)
            raised = max(raised, inflations[_nearest(places, share if place < 0.5 else 1.0 - share)])
        settled.append(raised)
    return settled


def _sides(share: float, place: float) -> tuple[float, ...]:
    """Where so large a share lies beyond, on the side of `place`; on both of one in the middle, as the rarer of two
    speeds may be either."""
    if 0.25 <= place <= 0.75:
        return share, 1.0 - share
    return (share,) if place < 0.5 else (1.0 - share,)


def _nearest(places: Sequence[float], share: float) -> int:
    return min(range(len(places)), key=lambda j: abs(places[j] - share))


def _stretch_inflation(inflation: float, place: float, total: int, confidence: float) -> float:
    """The inflation enlarged for being an estimate itself, as Student's t is wider than the normal distribution."""
    if inflation <= 1.0:
        return 1.0
    beyond = max(0.1, min(place, 1.0 - place))
    df = max(2, round(total / inflation * beyond - 1.0))
    ratio = student_quantile((1.0 + confidence) / 2, df) / normal_quantile((1.0 + confidence) / 2)
    return 1.0 + (correlation.enlarge_inflation(inflation, total) - 1.0) * ratio * ratio


def _chance_of_reaching(q: float, effective: int) -> float:
    """The chance that the outermost of so many independent values hold the q-quantile; two hold a median in half."""
    worth = max(2 if 0.25 <= q <= 0.75 else 1, effective)
    return float(max(0.0, 1.0 - q**worth - (1.0 - q) ** worth))
