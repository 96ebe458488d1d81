"""Levels of cells from processes that ran in blocks, without a model of the space.

`conditions` says what a process is made of. First what processes scatter by and which of them are disturbed is found
from cells with two and more of them, whose levels are free. Scales of cells differ; each one's own is drawn towards
that of all (Smyth, "Linear models and empirical Bayes methods", 2004), as two processes say little about it.

Then levels are drawn towards the middle of all by as much as the cells are alike (empirical Bayes: Efron and Morris,
"Data analysis using Stein's estimator and its generalizations", JASA 1975). Where cells differ by more than noise, that
is nothing; where they are all alike, the one that seems the best was mostly lucky, and this takes the luck away. A
cell that lies far from all others is not drawn: a few are taken to be of another kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchwright.stats.race.conditions import TAILS, WALK, Array, Course, Indices, Measured, Reduced, estimate_walk

_STEPS = 8
_ANYWHERE = 10.0  # standard deviation that a level may have around all others, where nothing else tells
_SMALLEST = 0.005  # scale of the rest that is thought of first; a deterministic metric has none
_PRIOR = 1.0  # processes that this thought is worth: of a few noisy cells more would state what nobody knows
_RIDGE = 1e-6
_OWN = 6.0  # processes that a cell's scale is worth before its own count
_LOOSE = 1e-6  # how much two blocks have to do with each other at first
_LEAST_SPARE = 0.25  # of a process's rest that its own level leaves
_WIDENING_OF_SCALE = (TAILS + 3.0) / TAILS  # and so is its scale
_WIDENING = (TAILS + 3.0) / (TAILS + 1.0)  # a location is known less well from Student's t than from the weights
_FREEDOM = 6.0  # degrees of freedom of a level for each process
_LIKENESSES = np.geomspace(1e-4, 3.0, 48)  # standard deviations of cells around their middle that are weighed up
_STRANGE = 0.01  # share of cells of another kind
_STRANGER = 10.0  # times as far from the middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What is known of the measured cells, in the order of `cells`."""

    cells: Indices
    counts: Array
    means: Array
    covariance: Array
    absolute: Array  # the variance of each level in the machine's usual condition, but for what that is
    freedom: Array  # degrees of freedom of each level
    scale: float
    walk: float  # the variance of a step of the machine's condition, of that of a process's rest
    free: float  # degrees of freedom of the scale: processes that repeat a cell
    conditions: Array  # of blocks, around a median of zero
    likeness: float  # the standard deviation of cells around their middle
    ties: Array  # how much the machine's condition at one process tells of that at the next, by the course

    def least_scale(self) -> float:
        """A scale of the rest that is more likely too small than too large: one standard error below its variance."""
        return self.scale / math.sqrt(1.0 + math.sqrt(2.0 * _WIDENING_OF_SCALE / (self.free + _PRIOR)))

    def place(self, cell: int) -> int:
        """Where a cell stands in the arrays."""
        return int(np.searchsorted(self.cells, cell))

    def variances_beside(self, cell: int) -> Array:
        """The variance of each level less that of one cell."""
        at, own = self.place(cell), np.diag(self.covariance)
        return np.asarray(np.maximum(own + own[at] - 2.0 * self.covariance[at], 0.0))


def fit_levels(measured: Measured) -> Levels:
    """The levels of all cells that were measured, cells sorted."""
    course = Course(measured)
    rest = _fit_rest(course)
    variance = _WIDENING * rest.scale**2
    told, pull = rest.reduced.told / variance, rest.reduced.pull / variance
    usual = rest.reduced.usual()
    alone = np.linalg.inv(told + np.eye(len(pull)) / _ANYWHERE**2)
    middle, likeness, ties = _find_likeness(alone @ pull, _absolute(alone, usual))
    covariance = np.linalg.inv(told + np.diag(ties))
    levels = covariance @ (pull + ties * middle)
    conditions = course.means_of_blocks(rest.reduced.conditions(levels))
    zero = float(np.median(conditions))
    absolute = _absolute(covariance, usual)
    base = np.minimum(_FREEDOM * course.counts, rest.free + _PRIOR)
    drawn = np.minimum(absolute * ties, 0.99)  # what is known from the others' likeness has their tails
    return Levels(
        cells=course.cells,
        counts=course.counts,
        means=levels + zero + course.middle,
        covariance=covariance,
        absolute=absolute,
        freedom=np.maximum(base, np.minimum(base / (1.0 - drawn), len(pull) - 1.0)),
        scale=rest.scale,
        walk=rest.walk,
        free=rest.free,
        conditions=conditions - zero,
        likeness=likeness,
        ties=rest.ties,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rest:
    """What processes scatter by, and the equations for the levels, in units of that scale."""

    reduced: Reduced
    scale: float
    walk: float
    free: float
    ties: Array


def _fit_rest(course: Course) -> _Rest:
    """Weights and scales from the cells with two and more processes; of one, a level takes the whole rest."""
    again = np.flatnonzero(course.counts > 1.0)
    is_told = course.is_real & (course.counts[course.cell_at] > 1.0)
    weights, ties = is_told.astype(float), np.where(course.is_seam, _LOOSE, 1.0) * course.has_step
    factors, scale, walk, free = np.ones(len(course.cells)), _SMALLEST, WALK, 1.0
    for step in range(_STEPS if len(again) else 0):
        used = weights / factors[course.cell_at]
        reduced = course.reduce(used, ties / walk)
        covariance, levels = np.zeros_like(reduced.told), np.zeros(len(course.cells))
        covariance[np.ix_(again, again)] = np.linalg.inv(
            reduced.told[np.ix_(again, again)] + _RIDGE * np.eye(len(again))
        )
        levels[again] = covariance[np.ix_(again, again)] @ reduced.pull[again]
        conditions = reduced.conditions(levels)
        squares = np.where(is_told, course.values - levels[course.cell_at] - conditions, 0.0) ** 2
        doubts, doubts_of_steps = reduced.doubts(covariance)
        spare = np.clip(1.0 - used * doubts, 0.0, 1.0)
        free = max(1.0, float(np.sum(spare[is_told])))
        scale = math.sqrt((float(np.sum(used * squares)) + _PRIOR * _SMALLEST**2) / (free + _PRIOR))
        squares = squares / (np.maximum(spare, _LEAST_SPARE) * scale**2)
        sums = np.bincount(course.cell_at.ravel(), (weights * squares).ravel(), len(factors))
        factors = np.clip((_OWN + sums) / (_OWN + course.counts - 1.0), 0.7, 10.0)
        squares_of_steps = np.diff(conditions, axis=1) ** 2 / scale**2
        if step < _STEPS - 1:
            walk = estimate_walk(walk, ties, squares_of_steps, doubts_of_steps)
            weights = is_told * (TAILS + 1.0) / (TAILS + squares / factors[course.cell_at])
            seen = np.where(course.is_seam & (step == 0), 0.0, doubts_of_steps)  # a seam is loose until it is looked at
            ties = course.has_step * (TAILS + 1.0) / (TAILS + (squares_of_steps + seen) / walk)
    used = np.where(is_told, weights, course.is_real) / factors[course.cell_at]
    return _Rest(reduced=course.reduce(used, ties / walk), scale=scale, walk=walk, free=free, ties=ties)


def _find_likeness(levels: Array, variances: Array) -> tuple[float, float, Array]:
    """The middle of cells, their standard deviation around it, and how strongly each is tied to it.

    That deviation is averaged over what the levels say of it, as few cells say little.
    """
    middle = float(np.median(levels))
    off = (levels - middle) ** 2
    usual, strange = (
        _density(off, wide**2 + variances) for wide in (_LIKENESSES[:, None], _STRANGER * _LIKENESSES[:, None])
    )
    evidence = np.sum(np.log((1.0 - _STRANGE) * usual + _STRANGE * strange + 1e-300), axis=1)
    believed = np.exp(evidence - evidence.max())
    variance = float(np.sum(believed * _LIKENESSES**2) / np.sum(believed))
    usual, strange = (_density(off, wide * variance + variances) for wide in (1.0, _STRANGER**2))
    odd = _STRANGE * strange / ((1.0 - _STRANGE) * usual + _STRANGE * strange + 1e-300)
    return middle, math.sqrt(variance), np.asarray((1.0 - odd + odd / _STRANGER**2) / variance)


def _density(squares: Array, variances: Array) -> Array:
    return np.asarray(np.exp(-squares / (2.0 * variances)) / np.sqrt(variances))


def _absolute(covariance: Array, usual: Array) -> Array:
    """Variances of levels beside the mean of all blocks: what all levels share is not known, and not asked for."""
    shared = covariance @ usual
    return np.asarray(np.maximum(np.diag(covariance) - 2.0 * shared + usual @ shared, 0.0))
