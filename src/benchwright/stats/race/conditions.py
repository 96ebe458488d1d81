"""What the machine does while processes run: a condition that walks from process to process.

The logarithm of a process is its cell's level, the condition of the machine then, and a rest that is the process's own:

    y[t] = level[cell[t]] + condition[t] + rest[t],   condition[t] = condition[t - 1] + step[t].

So a process is held most against those that ran just before and after it. After every 32 processes the condition begins
anew, anywhere, which costs little and keeps the equations small. Rests and steps follow Student's t with 4 degrees of
freedom, fitted by weights (Lange, Little and Taylor, "Robust statistical modeling using the t distribution", JASA
1989): a disturbed process moves its cell by little, and a neighbour who comes or goes is a step that the processes
around it do not share. This module takes the conditions out of the equations of weighted least squares, of all
stretches at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.intp]

TAILS = 4.0  # degrees of freedom of rests and steps
LEAST_WALK, LARGEST_WALK = 1e-3, 10.0  # the variance of a step, of that of a rest
_STRETCH = 32  # processes
_RIDGE = 1e-9  # where no process of a stretch has weight
WALK = 0.1  # what is thought of it first
_WALK_PRIOR = 4.0  # steps that this thought is worth


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The processes of a race that gave a value, in the order in which they ran: cell, block and logarithm of each."""

    cells: Indices
    blocks: Indices
    values: Array
    better: float = 1.0  # the direction in which a value is better
    aim: float | None = None  # the value that matters: a limit, or infinity for the largest; None: all do


class Course:
    """Processes in stretches: stretches × places, the last one padded, with the numbers of their cells."""

    def __init__(self, measured: Measured) -> None:
        self.cells, cell = np.unique(measured.cells, return_inverse=True)
        _, self._block = np.unique(measured.blocks, return_inverse=True)
        self._order = np.argsort(self._block, kind="stable")
        self.counts = np.bincount(cell).astype(float)
        self.middle = float(np.median(measured.values))
        count = len(cell)
        length = min(count, _STRETCH)
        self.is_real = np.arange(-(-count // length) * length).reshape(-1, length) < count
        self.has_step = self.is_real[:, 1:]
        self.is_seam = np.diff(self._spread(self._block), axis=1) != 0  # a block ends, and time may pass
        self.cell_at = self._spread(cell)
        self.values = self._spread(measured.values - self.middle)
        self._pairs = (self.cell_at[:, :, None] * len(self.cells) + self.cell_at[:, None, :]).ravel()

    def _spread(self, each: npt.NDArray[Any]) -> npt.NDArray[Any]:
        table = np.zeros(self.is_real.shape, dtype=each.dtype)
        table[self.is_real] = each[self._order]
        return table

    def means_of_blocks(self, each: Array) -> Array:
        """The mean of each block of what is known at each place."""
        block = self._block[self._order]
        return np.asarray(np.bincount(block, each[self.is_real]) / np.bincount(block))

    def reduce(self, weights: Array, ties: Array) -> Reduced:
        """Takes the conditions out. `weights` of processes are over the variance of a rest, `ties` between neighbours
        over that of a step; both are stretches × places."""
        length = weights.shape[1]
        at = np.arange(length)
        table = np.zeros((*weights.shape, length))
        table[:, at, at] = weights + ~self.is_real + _RIDGE * weights.max()
        table[:, at[1:], at[1:]] += ties
        table[:, at[:-1], at[:-1]] += ties
        table[:, at[1:], at[:-1]] -= ties
        table[:, at[:-1], at[1:]] -= ties
        spread = np.linalg.inv(table)
        follow = spread * weights[:, None, :]
        told = weights[:, :, None] * (np.eye(length) - follow)
        count = len(self.cells)
        pull = np.bincount(self.cell_at.ravel(), (told @ self.values[:, :, None]).ravel(), count)
        return Reduced(
            course=self,
            told=np.bincount(self._pairs, told.ravel(), count * count).astype(float).reshape(count, count),
            pull=np.asarray(pull),
            follow=follow,
            spread=spread,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """The equations for the levels alone, and what the conditions are once levels are known."""

    course: Course
    told: Array  # the information about levels, cells × cells
    pull: Array  # what pulls each level
    follow: Array  # how the condition at each place follows the values of its stretch
    spread: Array  # the covariance of conditions, levels given

    def conditions(self, levels: Array) -> Array:
        """The condition at each place."""
        off = self.course.values - np.where(self.course.is_real, levels[self.course.cell_at], 0.0)
        return np.asarray((self.follow @ off[:, :, None])[:, :, 0])

    def usual(self) -> Array:
        """How much each cell weighs in the mean of all conditions."""
        course = self.course
        parts = np.sum(self.follow, axis=1) / np.sum(course.is_real)
        return np.bincount(course.cell_at.ravel(), parts.ravel(), len(course.cells)).astype(float)

    def doubts(self, covariance: Array) -> tuple[Array, Array]:
        """Variances of each process's level and condition together, which lean against each other; and of steps."""
        at = self.course.cell_at
        shared = covariance[at[:, :, None], at[:, None, :]]
        left = np.eye(at.shape[1]) - self.follow
        own = np.diagonal(self.spread, axis1=1, axis2=2)
        sums = np.sum((left @ shared) * left, axis=2) + own
        between = np.diff(self.follow, axis=1)
        beside = np.diagonal(self.spread[:, 1:, :-1], axis1=1, axis2=2)
        steps = np.sum((between @ shared) * between, axis=2) + own[:, 1:] + own[:, :-1] - 2.0 * beside
        return np.asarray(np.maximum(sums, 0.0)), np.asarray(np.maximum(steps, 0.0))


def estimate_walk(before: float, weights: Array, squares: Array, doubts: Array) -> float:
    """The variance of a step from its value `before`, all in units of a rest's: squares over what is left of freedom
    (MacKay, "Bayesian interpolation", 1992)."""
    free = float(np.sum(np.clip(1.0 - weights * doubts / before, 0.0, 1.0) * (weights > 0.0)))
    found = (float(np.sum(weights * squares)) + _WALK_PRIOR * WALK) / (free + _WALK_PRIOR)
    return float(np.clip(found, LEAST_WALK, LARGEST_WALK))


def level_doubt(conditions: Array) -> float:
    """The variance of a machine's usual condition, from those of blocks in order, which resemble their neighbours."""
    if len(conditions) < 3:
        return max(float(np.var(conditions)), 1e-4)
    spread = float(np.var(conditions, ddof=1))
    around = conditions - conditions.mean()
    alike = float(np.sum(around[1:] * around[:-1]) / max(np.sum(around**2), 1e-300))
    alike = min(max(alike, 0.0), 0.9)
    return spread * min((1.0 + alike) / (1.0 - alike) / len(conditions), 1.0)
