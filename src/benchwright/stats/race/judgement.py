"""Who leads a race, how sure that is, and who is out: from levels without a model, and from the model for the rest.

The probability of a good selection is that of Branke, Chick and Schmidt, "Selecting a selection procedure" (Management
Science 2007), after Slepian's inequality: the product over all others of the probability that none is better than the
leader by more than what does not matter. Feasibility follows Andradóttir and Kim, "Fully sequential procedures for
comparing constrained systems via simulation" (2010): a limit is known no better than the same share, either way.
A cell is out when it is worse beyond doubt: successive elimination of Even-Dar, Mannor and Mansour (JMLR 2006), whose
error budget is split over cells and, as 6 / (π k)², over the processes k of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchwright.stats.distributions import student_quantile
from benchwright.stats.race.conditions import Array, level_doubt
from benchwright.stats.race.levels import Levels
from benchwright.stats.race.records import BOUND, WORSE, Exit, RaceRules
from benchwright.stats.race.surface import Surface

Truths = npt.NDArray[np.bool_]

RACED = 2  # processes from which on a cell is judged without the model
# Degrees of freedom that are granted to what is beyond doubt: its quantiles lie so far out that with two of a cell even
# one that is ten times slower would stay. What is stated of the leader does not rest on who has left.
_KNOWN = 3.0
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What was measured of one metric: higher is better for a goal; for a bound it is the share beyond the limit."""

    levels: Levels
    surface: Surface

    @property
    def usual(self) -> float:
        """The variance of the machine's usual condition, which an absolute level shares with all others."""
        return level_doubt(self.levels.conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is known of every cell of the space."""

    leaders: tuple[int, ...]  # one, or for two and more goals the front of the points; empty: no feasible one is known
    doubts: Array  # that a cell is better than the leaders by more than does not matter, and feasible
    feasible: Array  # the probability that a cell keeps all bounds, or nearly
    is_raced: Truths
    is_repeated: bool = True  # whether any cell has two processes: else nobody knows what processes differ by

    @property
    def probability(self) -> float:
        """That the leaders are as good as the best of all raced cells; nothing is stated of one process each."""
        if not self.leaders or not self.is_repeated:
            return 0.0
        sure = float(np.prod(1.0 - self.doubts[self.is_raced]))
        return sure * float(np.min(self.feasible[list(self.leaders)]))

    @property
    def beyond(self) -> float:
        """That one of the others is better."""
        if not self.is_repeated:
            return 1.0
        return 1.0 - float(np.prod(1.0 - self.doubts[~self.is_raced]))


def judge_cells(rules: RaceRules, known: Sequence[Knowledge], chances: Array, failed: Sequence[int]) -> Judgement:
    """Judges all cells. `chances` are those that a process of a cell works at all; `failed` cells are out."""
    goals, bounds = known[: len(rules.goals)], known[len(rules.goals) :]
    counts = np.zeros(len(chances))
    counts[goals[0].levels.cells] = goals[0].levels.counts
    counts[list(failed)] = 0.0
    is_raced = counts >= min(RACED, counts.max())
    margin = math.log1p(rules.within)
    feasible, desirable = (_chance_of_keeping(bounds, is_raced, slack) for slack in (margin, -margin))
    feasible[list(failed)] = 0.0
    leaders = _leaders(goals, np.flatnonzero(is_raced & (feasible >= 0.5)), margin)
    if not leaders:
        return Judgement(leaders=(), doubts=feasible * chances, feasible=feasible, is_raced=is_raced)
    doubts = np.ones(len(chances))
    for leader in leaders:
        adds = 1.0 - np.prod([1.0 - _better(goal, leader, is_raced, rules.within) for goal in goals], axis=0)
        doubts = np.minimum(doubts, adds)
    return Judgement(
        leaders=leaders,
        doubts=doubts * desirable * chances,
        feasible=feasible,
        is_raced=is_raced,
        is_repeated=bool(counts.max() >= RACED),
    )


def _leaders(goals: Sequence[Knowledge], able: npt.NDArray[np.intp], margin: float) -> tuple[int, ...]:
    """The cell whose level is the highest less two standard errors, so that luck with few processes does not lead; of
    several goals all cells whose levels no other surpasses: in each, or in one by more than does not matter while it
    is as good in the rest."""
    if not len(able):
        return ()
    at = [np.searchsorted(goal.levels.cells, able) for goal in goals]
    if len(goals) == 1:
        levels = goals[0].levels
        return (int(able[np.argmax(levels.means[at[0]] - 2.0 * np.sqrt(levels.absolute[at[0]]))]),)
    levels_of = np.stack([goal.levels.means[place] for goal, place in zip(goals, at, strict=True)], axis=1)
    ahead = levels_of[None, :, :] - levels_of[:, None, :]  # of each cell, how far each other is ahead in each goal
    in_each = np.all(ahead > 0.0, axis=2).any(axis=1)
    in_one = (np.any(ahead > margin, axis=2) & np.all(ahead > -margin, axis=2)).any(axis=1)
    surpassed = in_each | in_one
    return tuple(int(cell) for cell in able[~(in_each if surpassed.all() else surpassed)])


def _better(goal: Knowledge, leader: int, is_raced: Truths, within: float) -> Array:
    """The probability that each cell is better than the leader by more than `within`."""
    surface, levels, least = goal.surface, goal.levels, -math.log1p(-within)
    variances = surface.variances
    beside = surface.stretch * np.maximum(variances + variances[leader] - 2.0 * surface.column(leader), 1e-18)
    chances = tail((least - surface.means + surface.means[leader]) / np.sqrt(beside), surface.freedom)
    raced = is_raced[levels.cells]
    at = levels.place(leader)
    spread = np.sqrt(np.maximum(levels.variances_beside(leader), 1e-18))
    freedom = np.minimum(levels.freedom, levels.freedom[at])
    alone = tail((least - levels.means + levels.means[at]) / spread, freedom)
    chances[levels.cells[raced]] = alone[raced]
    chances[leader] = 0.0
    return chances


def _chance_of_keeping(bounds: Sequence[Knowledge], is_raced: Truths, slack: float) -> Array:
    """The probability that each cell keeps all bounds when each limit is moved by `slack`."""
    chances = np.ones(len(is_raced))
    for bound in bounds:
        surface, levels = bound.surface, bound.levels
        spread = np.sqrt(surface.stretch * surface.absolute() + bound.usual)
        keeps = tail((surface.means - slack) / spread, surface.freedom)
        raced = is_raced[levels.cells]
        spread = np.sqrt(levels.absolute + bound.usual)
        keeps[levels.cells[raced]] = tail((levels.means - slack) / spread, levels.freedom)[raced]
        chances *= keeps
    return chances


def find_exits(rules: RaceRules, known: Sequence[Knowledge], leaders: Sequence[int]) -> dict[int, Exit]:
    """The cells that are worse than a leader, or break a bound, beyond doubt."""
    goals, bounds = known[: len(rules.goals)], known[len(rules.goals) :]
    levels, margin = goals[0].levels, math.log1p(rules.within)
    reach = np.array(
        [
            _reach(rules.error, len(goals[0].surface.means), *of)
            for of in zip(levels.counts, levels.freedom + _KNOWN, strict=True)
        ]
    )
    exits: dict[int, Exit] = {}
    for leader in leaders:
        worse = np.array([_worse_by(goal.levels, leader, reach) for goal in goals])
        least, most = np.min(worse, axis=0), np.max(worse, axis=0)
        # Of two goals and more: worse in each, or in one by more than does not matter and as good at most in the rest.
        is_worse = (least > 0.0) | ((most > margin) & (least > -margin))
        for at in np.flatnonzero(is_worse & (levels.counts >= RACED)):
            cell, share = int(levels.cells[at]), -math.expm1(-float(least[at] if least[at] > 0.0 else most[at]))
            if cell not in leaders and (cell not in exits or exits[cell].least < share):
                goal = None if least[at] > 0.0 else int(np.argmax(worse[:, at]))
                exits[cell] = Exit(
                    reason=WORSE, processes=int(levels.counts[at]), beside=leader, least=share, goal=goal
                )
    for number, bound in enumerate(bounds):
        beyond = bound.levels.means - reach * np.sqrt(bound.levels.absolute + bound.usual)
        for at in np.flatnonzero(beyond > 0.0):
            share = math.expm1(float(beyond[at]))
            exits[int(levels.cells[at])] = Exit(
                reason=BOUND, processes=int(levels.counts[at]), least=share, bound=number
            )
    return exits


def _worse_by(levels: Levels, leader: int, reach: Array) -> Array:
    at = levels.place(leader)
    return np.asarray(levels.means[at] - levels.means - reach * np.sqrt(levels.variances_beside(leader)) - 1e-9)


def _reach(error: float, cells: int, processes: float, freedom: float) -> float:
    """How many standard errors are beyond doubt for a cell with so many processes, at this and all other looks."""
    wrong = error / 2.0 / cells * 6.0 / (math.pi * processes) ** 2
    return student_quantile(1.0 - wrong, float(freedom))


def tail(ratios: Array, freedom: Array | float) -> Array:
    """P(T > ratio) for Student's t, by Wallace's transformation to the normal (1959)."""
    shrink = (8.0 * np.asarray(freedom) + 1.0) / (8.0 * np.asarray(freedom) + 3.0)
    normal = np.sign(ratios) * shrink * np.sqrt(freedom * np.log1p(np.square(ratios) / freedom))
    return np.asarray(_erfc(normal / math.sqrt(2.0)), dtype=float) / 2.0
