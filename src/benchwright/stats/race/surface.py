"""A model of the response over the whole space: what a race expects of cells that it has not measured, or only once.

`space` says what cells have in common, `conditions` what the machine does meanwhile. How large the parts are is found
by the steps of Zhou, Hu, Zhou and Lange, "MM algorithms for variance components models" (2019), which need one inverse
each and never make the likelihood smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchwright.stats.race.conditions import TAILS, Array, Course, Indices, Measured
from benchwright.stats.race.levels import Levels
from benchwright.stats.race.space import Parts, Space

_STEPS = 6
_WEIGHINGS = 3
_LEAST, _LEAST_ALONE, _LARGEST = 1e-7, 1.2e-5, 9.0
_SMALLEST = 1e-4  # scale of the rest
_BELIEVED = 0.5  # the least weight of a process that is better than expected: no disturbance makes one faster
_EDGE, _USUAL_AT_EDGE = 6.0, 0.974  # the largest square of a standard normal that counts, and their mean then
_FAR, _FARTHEST = 0.1, 10.0  # from where it matters: there a cell has twice as much alone; and at most
_TRUSTED = 0.3  # weight of a cell's processes below which they were disturbed
_LEAST_WEIGHT = 0.01  # a process that nobody expected is doubted, not ignored: the model may be wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The response as far as it is known: means of all cells, and how they hang together."""

    space: Space
    parts: Parts
    scale: float
    means: Array
    variances: Array  # of each cell's level
    cells: Indices  # measured
    known: Array  # what was measured takes from the covariance: K - K[:, cells] known K[cells, :]
    beside: Array  # covariance before of all cells with the measured ones
    usual: Array  # how much each measured cell weighs in the machine's usual condition
    stretch: float  # by how much measured cells lie further from what the others tell of them than the model thinks
    freedom: float  # degrees of freedom of what the model says, as its variances are estimates

    def column(self, cell: int) -> Array:
        """The covariance of all cells with one, after what was measured."""
        before = self.space.common(self.parts, np.arange(self.space.count), np.array([cell]))[:, 0]
        return np.asarray(before - self.beside @ (self.known @ before[self.cells]))

    def absolute(self) -> Array:
        """The variance of each cell's level in the machine's usual condition, but for what that is."""
        shared = self.beside @ (self.usual - self.known @ (self.beside[self.cells] @ self.usual))
        return np.asarray(np.maximum(self.variances - 2.0 * shared + self.usual @ shared[self.cells], 1e-12))


def begin(space: Space) -> Parts:
    """What is thought before anything was measured."""
    return Parts(sizes=space.start, alone=np.ones(space.count))


class SurfaceFit:
    """Fits the model to processes.

    What processes scatter by is that of `levels`: only cells with more than one process tell it, as of one process each
    what a cell has alone looks the same. And no cell differs from what is smooth by more than cells differ at all.
    """

    def __init__(self, space: Space, measured: Measured, before: Parts, levels: Levels) -> None:
        self.space, self.course, self.parts = space, Course(measured), before
        self._better, self._aim = measured.better, measured.aim
        self._scale = max(levels.least_scale(), _SMALLEST)
        self._walk = levels.walk
        self._largest = np.full(len(before.sizes), _LARGEST)
        self._largest[-1] = max(levels.likeness**2, _LEAST_ALONE)
        self._together = space.together(self.course.cells, self.course.cells)
        self._weights = self.course.is_real.astype(float)
        self._ties = levels.ties
        self._is_weighed = False
        self._common = self._find_common()

    def improve(self) -> Parts:
        """Better variances than before: some steps towards the most likely ones."""
        for number in range(_STEPS):
            step = self._step()
            # First who lies far off, or it would be taken for a response.
            self.parts = self._enlarge(step) if number else replace(self.parts, alone=self._find_alone(step))
            self._common = self._find_common()
            self._weigh(step)
        self._is_weighed = True
        return self.parts

    def draw(self) -> Surface:
        """The response by these variances."""
        for _ in range(0 if self._is_weighed else _WEIGHINGS):
            self._weigh(self._step())
        step, space, cells = self._step(), self.space, self.course.cells
        beside = space.common(self.parts, np.arange(space.count), cells)
        trust = np.bincount(self.course.cell_at.ravel(), self._weights.ravel(), len(cells)).astype(float)
        stretch, freedom = _check(step.known, step.drawn, trust)
        taken = np.sum((beside @ step.known) * beside, axis=1)
        zero = float(np.median(self.course.means_of_blocks(step.conditions)))
        return Surface(
            space=space,
            parts=self.parts,
            scale=self._scale,
            means=beside @ step.drawn + zero + self.course.middle,
            variances=np.maximum(space.own(self.parts) - taken, 1e-12),
            cells=cells,
            known=step.known,
            beside=beside,
            stretch=stretch,
            freedom=freedom,
            usual=step.usual,
        )

    def _find_common(self) -> Array:
        cells = self.course.cells
        return self.space.common(self.parts, cells, cells, self._together)

    def _step(self) -> _Step:
        """What the variances and weights of now say of the levels."""
        course, variance = self.course, self._scale**2
        reduced = course.reduce(self._weights / variance, self._ties / (variance * self._walk))
        common = self._common
        right = np.column_stack((reduced.told, reduced.pull))
        solved = np.linalg.solve(np.eye(len(common)) + reduced.told @ common, right)
        known, drawn = solved[:, :-1], solved[:, -1]
        levels = common @ drawn
        conditions = reduced.conditions(levels)
        doubts, doubts_of_steps = reduced.doubts(common - common @ known @ common)
        return _Step(
            known=known,
            drawn=drawn,
            conditions=conditions,
            off=np.where(course.is_real, course.values - levels[course.cell_at] - conditions, 0.0),
            doubts=doubts,
            doubts_of_steps=doubts_of_steps,
            usual=reduced.usual(),
        )

    def _weigh(self, step: _Step) -> None:
        """Processes and steps of the machine that lie far off lose weight."""
        variance = self._scale**2
        least = np.where(self._better * step.off > 0.0, _BELIEVED, _LEAST_WEIGHT)
        squares = (step.off**2 + step.doubts) / variance
        self._weights = self.course.is_real * np.maximum((TAILS + 1.0) / (TAILS + squares), least)
        squares = (np.diff(step.conditions, axis=1) ** 2 + step.doubts_of_steps) / (variance * self._walk)
        self._ties = self.course.has_step * (TAILS + 1.0) / (TAILS + squares)

    def _enlarge(self, step: _Step) -> Parts:
        cells = self.course.cells
        pulled, traces = self.space.weigh_parts(cells, step.drawn, step.known, self._together)
        own, alone = np.maximum(np.diag(step.known), 1e-300), self.parts.alone[cells]
        # A cell that lies far off counts as one at the edge (Huber 1964): one disturbed process does not speak for all.
        pull = float(np.sum(alone * own * np.minimum(step.drawn**2 / own, _EDGE)) / _USUAL_AT_EDGE)
        pulled, traces = np.append(pulled, pull), np.append(traces, np.sum(alone * own))
        least = np.full(len(pulled), _LEAST)
        least[-1] = _LEAST_ALONE
        ratios = np.clip(pulled / np.maximum(traces, 1e-12), 0.01, 100.0)
        return replace(self.parts, sizes=np.clip(self.parts.sizes * np.sqrt(ratios), least, self._largest))

    def _find_alone(self, step: _Step) -> Array:
        """Where cells differ more from what is smooth: far from where it matters, as all that dimensions do is larger
        there, and so is what they do in no simple way."""
        if self._aim is None:
            return np.ones(self.space.count)
        smooth = self.space.smooth(self.parts, self.course.cells, step.drawn)
        aim = float(np.max(smooth[self.course.cells])) if np.isinf(self._aim) else self._aim - self.course.middle
        return np.asarray((1.0 + np.minimum(np.abs(smooth - aim) / _FAR, _FARTHEST)) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What one step of a fit says: of the levels, of the conditions, and of what is left of each process."""

    known: Array
    drawn: Array
    conditions: Array
    off: Array
    doubts: Array
    doubts_of_steps: Array
    usual: Array


def _check(known: Array, drawn: Array, trust: Array) -> tuple[float, float]:
    """How far measured cells lie from what all others tell of them: their variance over what it should be, and the
    degrees of freedom that their tails look like (Rasmussen and Williams, section 5.4.2; the fourth moment).
    Cells of disturbed processes alone say nothing about it."""
    own = np.diag(known)
    told = (own > 1e-9 * max(float(own.max()), 1e-300)) & (trust > _TRUSTED)
    most = float(np.clip((np.sum(told) - 10.0) / 3.0, 3.0, 40.0))
    if not told.any():
        return 1.0, most
    squares = drawn[told] ** 2 / own[told]
    middle = float(np.mean(squares))
    if middle <= 0.0:  # values without any noise, all alike
        return 1.0, most
    excess = float(np.mean(squares**2)) / middle**2 - 3.0 - float(np.sqrt(24.0 / len(squares)))
    return float(np.clip(middle, 1.0, 25.0)), min(most, 4.0 + 6.0 / max(excess, 0.05))
