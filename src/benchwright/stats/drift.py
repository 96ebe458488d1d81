"""Drifts: where the level of a series slopes, by how much and how surely, beside the steps in it.

Thirty commits of 1 % each are thirty changes that nobody sees, and 35 % in all. A slope is told from what looks like
one by weighing explanations against each other (`drift_model`): steps alone, however many, and slopes with steps,
each under many kinds of noise, among them modes that take turns and levels that wander (`drift_noise`). What steps or a
wandering level explain as well is no drift.

Where there is one, steps are looked for with the slope taken out, and their sizes are those of steps and slopes
together. Everything is deterministic. `docs/statistics.md` says how often it is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from benchwright.stats.changepoint import Change
from benchwright.stats.changepoint_noise import local_noise, winsorise
from benchwright.stats.drift_model import NONE, RampExplanations, RampModel
from benchwright.stats.drift_noise import Array
from benchwright.stats.drift_sizes import BINS, Joint, Slope, SlopeSize, allow_for_slopes, step_at

Detect = Callable[..., list[Change]]

FEWEST = 30  # values; fewer show a step, or nothing
SHORTEST = 16  # points that a slope takes at least; a shorter one is a step
LEAST = 5.0  # times the smallest change that matters: what a drift must be in all
_SHORTEST_BINS = 10
_RECENT = 320  # points that are looked at more closely where there are more
_MOST = 3  # drifts of a series
_MARGIN = 0.5  # logarithm of the evidence by which a drift explains more than steps do
_HOPELESS = -4.0  # of the first explanations, below which no better ones are looked for
_SHARED = 0.5  # of the shorter of two slopes that the other may share
_CLEARLY = 4.0  # squared noises by which a slope that ends within the series must be better than one that does not
_FLOOR = 0.01  # of the smallest change: noise below makes no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """What happened to the level of a series: steps, with slopes taken out, and slopes."""

    changes: tuple[Change, ...] = ()
    drifts: tuple[SlopeSize, ...] = ()


def examine(values: Sequence[float], *, smallest: float = 0.01, detect: Detect) -> Trend:
    """The steps and the drifts of a series of positive numbers; `detect` finds steps where there are no slopes."""
    changes = tuple(detect(values, smallest=smallest))
    given = np.asarray(values, np.float64)
    if len(given) < FEWEST or given.min() <= 0.0:
        return Trend(changes=changes)
    shares = np.log(given)
    noise = local_noise(shares, _FLOOR * smallest)
    cut = winsorise(shares, noise)
    least = LEAST * math.log1p(smallest)
    slopes = _sharpen_ends(cut, _slopes(cut, least))
    if not slopes:
        return Trend(changes=allow_for_slopes(cut, changes))
    ramps = [slope.ramp(len(cut)) for slope in slopes]
    flat = given / np.exp(sum(ramp * slope.size for ramp, slope in zip(ramps, slopes, strict=True)))
    changes = tuple(detect(flat.tolist(), smallest=smallest))
    joint = Joint(cut, slopes, [change.index for change in changes])
    drifts = tuple(joint.drift(number, slope) for number, slope in enumerate(slopes))
    steps = tuple(joint.step(number, change) for number, change in enumerate(changes))
    return Trend(changes=steps, drifts=tuple(d for d in drifts if abs(math.log(d.effect)) >= least))


# ---- whether there are slopes ----


def _slopes(cut: Array, least: float) -> list[Slope]:
    """The slopes of the whole series; of a long one, also those that only a closer look at its newest points shows."""
    found = _find_slopes_from(cut, 0, least)
    if len(cut) <= _RECENT * 1.25:
        return found
    begin = len(cut) - _RECENT
    near = [slope for slope in _find_slopes_from(cut[begin:], begin, least) if slope.start > begin]
    apart = [one for one in near if not any(one.start < other.end and other.start < one.end for other in found)]
    return sorted([*found, *apart], key=lambda slope: slope.start)


def _find_slopes_from(cut: Array, begin: int, least: float) -> list[Slope]:
    width = -(-len(cut) // BINS)
    left_out = len(cut) % width
    means = cut[left_out:].reshape(-1, width).mean(axis=1)
    if _reach(means) < least:
        return []
    explaining = RampModel(means, shortest=max(_SHORTEST_BINS, -(-SHORTEST // width)))
    known, gains = explaining.explain(), []
    for count in range(1, _MOST + 1):
        better = _better(explaining, known, count)
        if better is None or _overlap(explaining, better[0]):
            break
        gains.append(better[1])
        known = better[0]
    places = _Places(explaining=explaining, width=width, offset=begin + left_out)
    found = [places.slope(known, number, gains[0]) for number in range(len(known.ramps))]
    return sorted((slope for slope in found if abs(slope.size) >= least), key=lambda slope: slope.start)


def _overlap(explaining: RampModel, known: RampExplanations) -> bool:
    """Whether two slopes share half of the shorter one: together they are a step or a bend, and have no size each."""
    knees = [explaining.ramp(int(ramp[known.kind])) for ramp in known.ramps]
    return any(
        min(one[1], other[1]) - max(one[0], other[0]) > _SHARED * min(one[1] - one[0], other[1] - other[0])
        for one, other in combinations(knees, 2)
    )


def _reach(means: Array) -> float:
    """How far the level moves at most: between medians over a few neighbours."""
    parts = np.array_split(means, max(2, len(means) // 5))
    middles = [float(np.median(part)) for part in parts]
    return max(middles) - min(middles)


def _better(explaining: RampModel, known: RampExplanations, count: int) -> tuple[RampExplanations, float] | None:
    """The explanation with so many slopes, if it is better by the margin than every one with steps in their place."""
    sloping = explaining.with_ramp_beside(known)
    if sloping.evidence - known.evidence < _HOPELESS:
        return None
    sloping, known = explaining.settle(sloping), explaining.settle(known)
    if sloping.evidence - known.evidence < _MARGIN:
        return None
    others = [explaining.with_steps_for(sloping, number).evidence for number in range(count)]
    gain = sloping.evidence - max(known.evidence, *others)
    return (sloping, gain) if gain >= _MARGIN else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Translates places among bins to places among points."""

    explaining: RampModel
    width: int
    offset: int

    def point(self, bin_: float) -> int:
        return self.offset + round((bin_ + 0.5) * self.width - 0.5)

    def slope(self, known: RampExplanations, number: int, gain: float) -> Slope:
        """A slope as the most probable noise has it, with where it may begin and end."""
        of, kind = self.explaining, known.kind
        first, last = of.ramp(int(known.ramps[number][kind]))
        share = of.near(known, number, kind)
        starts = of.knees[of.first]
        order = np.argsort(starts, kind="stable")
        sums = np.cumsum(share[order])
        early, late = (float(starts[order][min(int(np.searchsorted(sums, q)), len(sums) - 1)]) for q in (0.05, 0.95))
        end = self.point(last)
        return Slope(
            start=self.point(first) if first else self.offset,
            end=end if last < of.count - 1 else self.offset + of.count * self.width - 1,
            earliest=self.point(early) if early else self.offset,
            latest=self.point(late),
            size=float(of.sizes(known, number, kind)[int(known.ramps[number][kind])]),
            steps=tuple(
                self.offset + int(of.places[step[kind]]) * self.width for step in known.steps if step[kind] != NONE
            ),
            gain=gain,
        )


def _sharpen_ends(cut: Array, slopes: list[Slope]) -> list[Slope]:
    """The slopes with their ends where they fit best, point by point; the knees they were found with are coarse."""
    count = len(cut)
    for _ in range(2):
        for number, slope in enumerate(slopes):
            rest = [other.ramp(count) for i, other in enumerate(slopes) if i != number]
            steps = [step_at(step, count) for step in slope.steps]
            basis, _ = np.linalg.qr(np.column_stack([np.ones(count), *rest, *steps]))
            better = _best(cut, basis, _try_other_starts(slope, count))
            slopes[number] = _best(cut, basis, _try_other_ends(better, count))
    return slopes


def _try_other_starts(slope: Slope, count: int) -> list[Slope]:
    """The slope with every beginning around its own; first the series' beginning, where that may be it."""
    reach = max(4, count // 20)
    if slope.start == 0:
        return [slope]
    places = range(max(1, slope.start - reach), min(slope.start + reach, slope.end - SHORTEST) + 1)
    edge = [0] if min(slope.earliest, slope.start - reach) <= 0 else []
    return [replace(slope, start=place) for place in (*edge, *places)] or [slope]


def _try_other_ends(slope: Slope, count: int) -> list[Slope]:
    """The slope with every end around its own; first the series' end, where that may be it."""
    reach = max(4, count // 20)
    if slope.end == count - 1:
        return [slope]
    places = range(max(slope.end - reach, slope.start + SHORTEST), min(slope.end + reach, count - 2) + 1)
    edge = [count - 1] if slope.end + reach >= count - 1 else []
    return [replace(slope, end=place) for place in (*edge, *places)] or [slope]


def _best(cut: Array, basis: Array, tried: list[Slope]) -> Slope:
    """The slope that leaves least beside what the basis explains; at an edge unless another is clearly better."""
    ramps = np.column_stack([one.ramp(len(cut)) for one in tried])
    ramps -= basis @ (basis.T @ ramps)
    squares = np.maximum((ramps * ramps).sum(axis=0), 1e-12)
    along = ramps.T @ cut
    explained = along**2 / squares
    best = int(np.argmax(explained))
    left = cut - basis @ (basis.T @ cut)
    noise = (float(left @ left) - float(explained[best])) / max(1, len(cut) - basis.shape[1] - 1)
    first, other, last = tried[0], tried[-1], len(cut) - 1
    at_edge = (first.start == 0 and other.start > 0) or (first.end == last and other.end < last)
    if at_edge and explained[0] >= explained[best] - _CLEARLY * noise:
        best = 0
    return replace(tried[best], size=float(along[best] / squares[best]))
