"""Steps and slopes as an explanation of a series, and how probable each explanation makes it.

An explanation is a level, steps, and ramps: the level is flat, slopes from one knee to another, and is flat again. Its
evidence is that of a Bayesian regression, once for each kind of noise (`drift_noise`): sizes are integrated out, and
every place that could have been chosen costs, so a ladder of steps must pay for each of its rungs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchwright.stats.drift_noise import BELIEFS, KINDS, Array, log_determinants, log_mean, products, weights, whiten

Whole = npt.NDArray[np.intp]

_SIZES = 6.0  # standard deviation of sizes, in noises
_STEP_COST = 2.0  # beyond the logarithm of the number of places: what a step must be worth
_MOST_STEPS = 10
_KNEES = 26
_REFITS = 2
_TRIED = 8  # steps beside which a ramp is looked for
_LADDERS = (1, 2, 3)  # steps that are tried in place of a ramp
_WORTH = 0.01  # logarithm of evidence that is worth looking on
NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RampExplanations:
    """What each kind of noise takes for the best explanation, with so many ramps: kinds, and ramps or steps of each."""

    ramps: tuple[Whole, ...]  # numbers of pairs of knees, one array (of kinds) for each ramp
    steps: tuple[Whole, ...]  # places, or NONE
    scores: Array  # logarithm of the evidence under each kind

    @property
    def evidence(self) -> float:
        """The logarithm of the evidence, whatever the noise."""
        return log_mean(self.scores)

    @property
    def kind(self) -> int:
        """The kind of noise that fits best."""
        return int(np.argmax(self.scores))


class RampModel:
    """A series, seen through every kind of noise; explains it with as many ramps as are asked for."""

    def __init__(self, values: Array, *, shortest: int) -> None:
        self.count = len(values)
        self.knees = np.unique(np.linspace(0, self.count - 1, min(_KNEES, self.count)).round().astype(np.intp))
        first, last = np.triu_indices(len(self.knees), 1)
        long_enough = self.knees[last] - self.knees[first] >= shortest
        self.first, self.last = first[long_enough], last[long_enough]  # of each ramp: numbers of knees
        self.lengths = (self.knees[self.last] - self.knees[self.first]).astype(np.float64)
        self.places = np.arange(2, self.count - 1)  # a step has two points on either side at least
        time = np.arange(self.count)[:, None]
        steps = (time >= self.places[None, :]).astype(np.float64)
        hinges = np.maximum(time - self.knees[None, :], 0.0)
        columns = np.column_stack((steps, hinges, np.ones(self.count), values - values.mean()))
        found = products(whiten(columns))
        level = found[:, -2, :]  # the level is free
        found = found - level[:, :, None] * level[:, None, :] / level[:, -2, None, None]
        self._products = found[:, :-2, :-2]
        self._along = found[:, :-2, -1]
        self._squares = np.maximum(found[:, -1, -1], 1e-300)
        self._fixed = BELIEFS - 0.5 * (log_determinants(self.count) + np.log(level[:, -2]))
        self._hinge = len(self.places)

    def explain(self) -> RampExplanations:
        """A good explanation with steps alone, under each kind of noise."""
        return self._score((), self._add_steps(()))

    def with_ramp_beside(self, known: RampExplanations) -> RampExplanations:
        """A good explanation with one ramp more: beside its ramps, with none of its steps at first, or with one."""
        found = []
        for steps in ((), *((step,) for step in _firm(known))):
            ramps = (*known.ramps, self._fit(known.ramps, steps).best_ramp())
            found.append(self._score(ramps, self._add_steps(ramps, steps)))
        return max(found, key=lambda one: one.evidence)

    def with_steps_for(self, explained: RampExplanations, number: int) -> RampExplanations:
        """The best explanation that has steps in place of a ramp: one in its middle, or several along it."""
        others = explained.ramps[:number] + explained.ramps[number + 1 :]
        ramp = explained.ramps[number]
        first, last = self.knees[self.first[ramp]], self.knees[self.last[ramp]]
        found: list[RampExplanations] = []
        for parts in _LADDERS:
            along = (first + (last - first) * (2 * part + 1) / (2 * parts) for part in range(parts))
            places = (np.clip(place.round().astype(np.intp) - 2, 0, self._hinge - 1) for place in along)
            found.append(self.settle(self._score(others, (*places, *explained.steps))))
        return max(found, key=lambda one: one.evidence)

    def settle(self, best: RampExplanations) -> RampExplanations:
        """A better explanation, as long as one is found by moving its ramps and steps."""
        for _ in range(_REFITS):
            again = self._score(*self._refit(best.ramps, best.steps))
            if again.evidence <= best.evidence + _WORTH:
                break
            best = again
        return best

    def _refit(self, ramps: tuple[Whole, ...], steps: tuple[Whole, ...]) -> tuple[tuple[Whole, ...], tuple[Whole, ...]]:
        """Each ramp and each step chosen anew, the others being as they are; then further steps."""
        for number in range(len(ramps)):
            others = ramps[:number] + ramps[number + 1 :]
            ramps = (*ramps[:number], self._fit(others, steps).best_ramp(), *ramps[number + 1 :])
        for number in range(len(steps)):
            others = steps[:number] + steps[number + 1 :]
            steps = (*steps[:number], self._fit(ramps, others).best_step(), *steps[number + 1 :])
        return ramps, self._add_steps(ramps, steps)

    def ramp(self, number: int) -> tuple[int, int]:
        """The knees of a ramp, as points."""
        return int(self.knees[self.first[number]]), int(self.knees[self.last[number]])

    def near(self, explained: RampExplanations, number: int, kind: int) -> Array:
        """How probable each ramp is under a kind of noise, the rest being as explained."""
        others = explained.ramps[:number] + explained.ramps[number + 1 :]
        fit = self._fit(others, explained.steps)
        return weights(fit.gains(*fit.ramps())[kind])

    def sizes(self, explained: RampExplanations, number: int, kind: int) -> Array:
        """The size that each ramp would have, the same."""
        others = explained.ramps[:number] + explained.ramps[number + 1 :]
        squares, along = self._fit(others, explained.steps).ramps()
        size: Array = along[kind] / (squares[kind] + _SIZES**-2.0)
        return size

    def _add_steps(self, ramps: tuple[Whole, ...], steps: tuple[Whole, ...] = ()) -> tuple[Whole, ...]:
        """Adds steps to these beside the ramps, the best first, while one more helps under any kind of noise."""
        fit = self._fit(ramps, steps)
        found = list(steps)
        while len(found) < _MOST_STEPS:
            step = fit.best_step()
            if (step == NONE).all():
                break
            fit.take_step(step)
            found.append(step)
        return tuple(found)

    def _score(self, ramps: tuple[Whole, ...], steps: tuple[Whole, ...]) -> RampExplanations:
        fit = self._fit(ramps, steps)
        return RampExplanations(ramps=ramps, steps=steps, scores=fit.scores())

    def _fit(self, ramps: tuple[Whole, ...], steps: tuple[Whole, ...]) -> _Fit:
        fit = _Fit(self)
        for ramp in ramps:
            fit.take_ramp(ramp)
        for step in steps:
            fit.take_step(step)
        return fit

    def start(self) -> tuple[Array, Array, Array, Array, int]:
        """Columns times each other and with the values, squares of these, what is fixed, where hinges begin."""
        return self._products, self._along, self._squares, self._fixed, self._hinge


def _firm(known: RampExplanations) -> list[Whole]:
    """The steps of an explanation as the best kind of noise has them, and as independent noise has them."""
    places = {int(step[kind]) for step in known.steps for kind in (known.kind, 0)} - {NONE}
    return [np.full(len(KINDS), place) for place in sorted(places)[:_TRIED]]


class _Fit:
    """A regression under each kind of noise, to which columns are added: what is in it is swept out of the rest."""

    def __init__(self, of: RampModel) -> None:
        self._of = of
        self._products, self.along, self.squares, self._fixed, self._hinge = of.start()
        self.own = np.diagonal(self._products, axis1=1, axis2=2)  # of each column with itself, what is in swept out
        self._hinges = self._products[:, self._hinge :, self._hinge :]
        self._swept: list[Array] = []  # columns, over the roots of their pivots
        self._kinds = np.arange(len(KINDS))

    def scores(self) -> Array:
        """The logarithm of the evidence under each kind of noise."""
        freedom = self._of.count - 1
        found: Array = self._fixed - 0.5 * freedom * np.log(self.squares)
        return found

    def gains(self, squares: Array, along: Array) -> Array:
        """By how much a column would raise the evidence."""
        share = along**2 / (squares + _SIZES**-2.0) / self.squares[:, None]
        freedom = self._of.count - 1
        gain: Array = -0.5 * (freedom * np.log(np.maximum(1.0 - share, 1e-12)) + np.log1p(_SIZES**2 * squares))
        return gain

    def best_step(self) -> Whole:
        """The place of the best step under each kind of noise; NONE where it is not worth its cost."""
        squares = np.maximum(self.own[:, : self._hinge], 0.0)
        gains = self.gains(squares, self.along[:, : self._hinge])
        best = gains.argmax(axis=1)
        enough = gains[self._kinds, best] > self._step_cost()
        return np.where(enough, best, NONE)

    def take_step(self, step: Whole) -> None:
        """Adds a step; nothing under kinds that have NONE."""
        taken = step != NONE
        column = self._sweep_out(step) * taken[:, None]
        along = np.where(taken, self.along[self._kinds, step], 0.0)
        squares = np.where(taken, np.maximum(self.own[self._kinds, step], 0.0), 0.0)
        self._sweep(column, along, squares)
        self._fixed = self._fixed - taken * self._step_cost()

    def ramps(self) -> tuple[Array, Array]:
        """Squares of all ramps and their products with the values."""
        of = self._of
        own = np.diagonal(self._hinges, axis1=1, axis2=2)
        squares = own[:, of.first] + own[:, of.last] - 2.0 * self._hinges[:, of.first, of.last]
        along = self.along[:, self._hinge :]
        along = along[:, of.first] - along[:, of.last]
        return np.maximum(squares, 0.0) / of.lengths**2, along / of.lengths

    def best_ramp(self) -> Whole:
        """The best ramp under each kind of noise."""
        best: Whole = self.gains(*self.ramps()).argmax(axis=1)
        return best

    def take_ramp(self, ramp: Whole) -> None:
        """Adds a ramp."""
        of, hinge = self._of, self._hinge
        squares, along = (column[self._kinds, ramp] for column in self.ramps())
        column = self._sweep_out(hinge + of.first[ramp]) - self._sweep_out(hinge + of.last[ramp])
        self._sweep(column / of.lengths[ramp][:, None], along, squares)
        self._fixed = self._fixed - math.log(len(of.lengths)) - _STEP_COST

    def _sweep_out(self, place: Whole) -> Array:
        """The products of a column with all others, what is in swept out."""
        column: Array = self._products[self._kinds, :, place]
        for swept in self._swept:
            column = column - swept * swept[self._kinds, place][:, None]
        return column

    def _sweep(self, column: Array, along: Array, squares: Array) -> None:
        pivot = squares + _SIZES**-2.0
        swept = column / np.sqrt(pivot)[:, None]
        self._swept.append(swept)
        self.own = self.own - swept**2
        hinges = swept[:, self._hinge :]
        self._hinges = self._hinges - hinges[:, :, None] * hinges[:, None, :]
        self.along = self.along - column * (along / pivot)[:, None]
        self.squares = np.maximum(self.squares - along**2 / pivot, 1e-300)
        self._fixed = self._fixed - 0.5 * np.log1p(_SIZES**2 * squares)

    def _step_cost(self) -> float:
        return math.log(self._of.count) + _STEP_COST
