"""All that a race was told, and what follows from it: levels, the model of the space, failures and where they begin.

Everything is a function of the processes and their blocks. A fit of the model begins where the one at the end of the
block before ended, so a race that is replayed block by block comes to the same numbers.
"""

from __future__ import annotations

import math

import numpy as np

from benchwright.stats.race.conditions import Array, Measured
from benchwright.stats.race.failures import find_chances
from benchwright.stats.race.judgement import RACED, Knowledge
from benchwright.stats.race.levels import fit_levels
from benchwright.stats.race.records import RaceOutcome, RaceRules
from benchwright.stats.race.space import Parts, Space
from benchwright.stats.race.surface import SurfaceFit, begin

_BEGIN = 12  # cells that work before the model speaks, and four more for each dimension, or a third of all
_BEGIN_MOST = 120
LIKELY = 0.3  # the chance of working that a cell needs to be tried for the model's sake
SMALL = 24  # cells of a space that are all raced
_EXPECTED = 0.25  # the chance of working below which one failure is enough
_HOPELESS = 16  # cells that all failed
_CONFIRMED = 2  # failures of a cell after which it is out
_GROWN = 1.15  # by so much more processes the parts of the model are fitted again

Row = tuple[int, int, tuple[float, ...]]  # block, cell, logarithms of goals and bounds


class RaceLog:
    """The processes of a race in the order in which they were recorded."""

    def __init__(self, space: Space, rules: RaceRules) -> None:
        self.space, self.rules = space, rules
        self.works, self.fails = np.zeros(space.count, dtype=int), np.zeros(space.count, dtype=int)
        least = max(_BEGIN + 4 * space.index.shape[1], min(space.count // 3, _BEGIN_MOST))
        self.begin = space.count if space.count <= SMALL else least  # cells to measure before the model speaks
        self.reasons: dict[int, str] = {}  # the last failure of each cell
        self._rows: list[Row] = []
        self._members: dict[int, set[int]] = {}  # block -> cells
        self._chances: tuple[int, Array] | None = None
        self._chain: dict[int, tuple[int, list[Parts]]] = {}  # block -> rows until its end, and the fits then

    def __len__(self) -> int:
        return int(self.works.sum() + self.fails.sum())

    def members(self, block: int) -> set[int]:
        """The cells of a block."""
        return self._members.get(block, set())

    def add(self, cell: int, outcome: RaceOutcome, block: int) -> None:
        """Takes a process. Values that no logarithm can be taken of count as a failure."""
        self._members.setdefault(block, set()).add(cell)
        failure = outcome.failure or _what_is_wrong(outcome, self.rules)
        if failure:
            self.fails[cell] += 1
            self.reasons[cell] = failure
            return
        self.works[cell] += 1
        signs = [1.0 if goal.higher else -1.0 for goal in self.rules.goals]
        values = [sign * math.log(value) for sign, value in zip(signs, outcome.goals, strict=True)]
        for bound, value in zip(self.rules.bounds, outcome.bounds, strict=True):
            values.append((1.0 if bound.upper else -1.0) * math.log(value / bound.limit))
        self._rows.append((block, cell, tuple(values)))

    def due(self) -> list[int]:
        """Cells of a small space that are measured whatever the model says: all that work, until they are raced."""
        if self.space.count > SMALL:
            return []
        return np.flatnonzero((self.works < RACED) & (self.chances() >= _EXPECTED)).tolist()

    def is_young(self) -> bool:
        """Whether too few cells were measured for the model to speak, and others could be."""
        untried = (self.works + self.fails == 0) & (self.chances() > LIKELY)
        return bool(np.sum(self.works > 0) < self.begin and untried.any())

    def is_hopeless(self) -> bool:
        """Whether nothing has worked in as many tries as it takes to believe it."""
        return not self.works.any() and (self.fails > 0).sum() >= min(self.space.count, _HOPELESS)

    # ---- failures ----

    def out(self) -> list[int]:
        """Cells that failed more often than they worked: twice, or once where that was to be expected."""
        often = (self.fails >= _CONFIRMED) & (self.fails > self.works)
        expected = (self.fails == 1) & (self.works == 0) & (self._expected() < _EXPECTED)
        return np.flatnonzero(often | expected).tolist()

    def unconfirmed(self) -> list[int]:
        """Cells that failed once, never worked, and were expected to."""
        once = (self.fails == 1) & (self.works == 0) & (self._expected() >= _EXPECTED)
        return np.flatnonzero(once).tolist()

    def chances(self) -> Array:
        """The chance that a process of each cell works."""
        chances = self._expected().copy()
        chances[self.out()] = 0.0
        return chances

    def _expected(self) -> Array:
        if self._chances is None or self._chances[0] != len(self):
            self._chances = (len(self), find_chances(self.space, self.works, self.fails))
        return self._chances[1]

    # ---- what worked ----

    def knowledge(self) -> list[Knowledge]:
        """What is known of each metric; empty when no process worked."""
        if not self._rows:
            return []
        rows = sorted(self._rows, key=lambda row: row[0])
        blocks = np.array([row[0] for row in rows], dtype=np.intp)
        ends = (np.flatnonzero(np.append(np.diff(blocks) > 0, True)) + 1).tolist()
        fits, fitted = [begin(self.space)] * len(rows[0][2]), 0
        for end in ends[:-1]:
            if end >= _GROWN * fitted:
                fits, fitted = self._improve(rows[:end], fits), end
        known = []
        for column, before in zip(self._columns(rows), fits, strict=True):
            levels = fit_levels(column)
            fit = SurfaceFit(self.space, column, before, levels)
            if len(rows) >= _GROWN * fitted:
                fit.improve()
            known.append(Knowledge(levels=levels, surface=fit.draw()))
        if len(rows) >= _GROWN * fitted:
            self._keep(rows, [one.surface.parts for one in known])
        return known

    def _improve(self, rows: list[Row], fits: list[Parts]) -> list[Parts]:
        """The variances after these rows, from the ones before; kept, as a race asks for them again and again."""
        end, kept = self._chain.get(rows[-1][0], (0, []))
        if end == len(rows):
            return kept
        found = [
            SurfaceFit(self.space, column, before, fit_levels(column)).improve()
            for column, before in zip(self._columns(rows), fits, strict=True)
        ]
        self._keep(rows, found)
        return found

    def _keep(self, rows: list[Row], fits: list[Parts]) -> None:
        """Keeps variances, and forgets those of later blocks: they began from others."""
        block = rows[-1][0]
        self._chain = {earlier: fit for earlier, fit in self._chain.items() if earlier < block}
        self._chain[block] = (len(rows), fits)

    def _columns(self, rows: list[Row]) -> list[Measured]:
        """The processes of each metric."""
        blocks, cells = (np.array([row[at] for row in rows], dtype=np.intp) for at in (0, 1))
        goals = len(self.rules.goals)
        found = []
        for at, column in enumerate(np.array([row[2] for row in rows]).T):
            aim = (math.inf if goals == 1 else None) if at < goals else 0.0
            better = 1.0 if at < goals else -1.0
            found.append(Measured(cells=cells, blocks=blocks, values=column, better=better, aim=aim))
        return found


def _what_is_wrong(outcome: RaceOutcome, rules: RaceRules) -> str:
    """Why a process's values cannot be raced; empty when they can."""
    named = [*(goal.metric for goal in rules.goals), *(bound.metric for bound in rules.bounds)]
    values = (*outcome.goals, *outcome.bounds)
    if len(outcome.goals) != len(rules.goals) or len(outcome.bounds) != len(rules.bounds):
        return f"it gave {len(values)} values instead of {len(named)}"
    for name, value in zip(named, values, strict=True):
        if not (math.isfinite(value) and value > 0.0):
            return f"{name} is {value}, and must be above zero"
    return ""
