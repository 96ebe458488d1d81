"""A race for the best case of a space under noise: which processes to run next, and what is known now.

Pure: no clock, no I/O; everything follows from what was recorded, its blocks, and the seed. `levels` knows the
levels of measured cells without a model, `surface` models the whole space, `judgement` says who leads and
how sure that is. This module decides what to measure: first cells that are spread over the space, then the leader and
those that are most likely to be better than it by more than does not matter, in small blocks, until what is left of
that doubt is below the error budget. That is the allocation of Chick, Branke and Schmidt's sequential procedures
(2010): measure where the doubt about the selection comes from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchwright.stats.race.judgement import Judgement, Knowledge, judge_cells
from benchwright.stats.race.log import LIKELY, RaceLog
from benchwright.stats.race.records import Cell, Dimension, RaceOutcome, RaceRules, RaceStanding
from benchwright.stats.race.space import Space, space_of
from benchwright.stats.race.standing import describe, ending
from benchwright.stats.race.surface import Surface

BLOCK = 8  # processes: a machine's condition hardly changes meanwhile
_FRONT = 3  # of several leaders that a block holds
_CONFIRM = 2  # failures that a block looks at again
_SPREAD = 500  # cells at most that are tried for the model's sake
_LARGE = 200  # cells of a space of which a race takes a fifth of the full matrix at most, if nothing else is said
_LITTLE = 0.02  # of the largest doubt: a cell with less is not worth a process now


class Race:
    """A race between cells. Ask `propose` for a block, run its processes, `record` each; `standing` at any time."""

    def __init__(self, dimensions: Sequence[Dimension], cells: Sequence[Cell], rules: RaceRules) -> None:
        if not cells:
            raise ValueError("a race needs at least one cell")
        if len(set(cells)) < len(cells):
            raise ValueError("a cell of the race is named twice")
        self.cells, self.rules = tuple(cells), rules
        self.most = _most_processes(len(cells), rules)
        self.block = 0  # the number of the last block that was proposed or recorded
        self._log = RaceLog(space_of(tuple(dimensions), tuple(cells)), rules)
        self._spread: list[int] = []
        self._judged: tuple[int, Judgement | None, list[Knowledge]] | None = None

    def propose(self) -> tuple[int, ...]:
        """The next block: one fresh process of each cell, in this order. Empty when the race is over."""
        judged, known = self._judge()
        if ending(self._log, judged, self.most):
            return ()
        self._spread = self._spread or _spread_cells(self._log.space, self.rules.seed)
        block = self._choose(judged, known)[: self.most - len(self._log)]
        if self._log.members(self.block):
            self.block += 1
        order = np.random.default_rng((self.rules.seed, len(self._log))).permutation(len(block))
        return tuple(block[at] for at in order)

    def record(self, cell: int, outcome: RaceOutcome, block: int | None = None) -> None:
        """Takes what a process of a cell gave, in the block that it ran in: by default the last one proposed."""
        if not 0 <= cell < len(self.cells):
            raise ValueError(f"the race has cells 0 to {len(self.cells) - 1}, not {cell}")
        if block is None and cell in self._log.members(self.block):
            self.block += 1
        number = self.block if block is None else block
        self.block = max(self.block, number)
        self._log.add(cell, outcome, number)

    @property
    def processes(self) -> int:
        """How many processes were recorded."""
        return len(self._log)

    def standing(self) -> RaceStanding:
        """What is known now."""
        judged, known = self._judge()
        return describe(self._log, judged, known, self.most)

    def _judge(self) -> tuple[Judgement | None, list[Knowledge]]:
        if self._judged is None or self._judged[0] != len(self._log):
            known = self._log.knowledge()
            judged = judge_cells(self.rules, known, self._log.chances(), self._log.out()) if known else None
            self._judged = (len(self._log), judged, known)
        return self._judged[1:]

    def _choose(self, judged: Judgement | None, known: Sequence[Knowledge]) -> list[int]:
        """The cells of the next block: leaders, failures to look at again, the design, then where doubt comes from."""
        log = self._log
        tried, chances = log.works + log.fails, log.chances()
        block = sorted(judged.leaders, key=lambda cell: int(tried[cell]))[:_FRONT] if judged else []
        block += log.unconfirmed()[:_CONFIRM]
        wanted = log.begin - int(np.sum(log.works > 0)) if log.works.any() else BLOCK
        fresh = [cell for cell in self._spread if not tried[cell] and (chances[cell] > LIKELY or judged is None)]
        if log.is_young():  # what processes of one cell differ by, before anything is made of what cells differ by
            block += self._again(block)
        block += [cell for cell in fresh if cell not in block][: max(0, wanted)]
        block += [cell for cell in log.due() if cell not in block]
        if len(block) < BLOCK and judged is not None:
            fresh = [cell for cell in fresh if cell not in block]
            rng = np.random.default_rng((self.rules.seed, len(log), 1))
            block += [fresh[int(rng.integers(len(fresh)))]] if fresh else []
            block += _doubtful(judged, known[0].surface, block, BLOCK - len(block))
        return block[:BLOCK]

    def _again(self, taken: Sequence[int]) -> list[int]:
        """A cell at random of those with one process: chosen by its value, it would seem to scatter by more."""
        once = [int(cell) for cell in np.flatnonzero(self._log.works == 1) if cell not in taken]
        rng = np.random.default_rng((self.rules.seed, len(self._log), 2))
        return [once[int(rng.integers(len(once)))]] if once else []


def _most_processes(cells: int, rules: RaceRules) -> int:
    """How many processes a race may take: as many as it was told, never more than the full matrix."""
    full = cells * rules.rounds
    share = full if cells < _LARGE else max(cells, full // 5)
    return share if rules.most is None else min(rules.most, full)


def _doubtful(judged: Judgement, surface: Surface, taken: Sequence[int], count: int) -> list[int]:
    """The cells that the doubt comes from. Those that resemble one already chosen wait: it tells about them too."""
    found: list[int] = []
    doubts = judged.doubts.copy()
    doubts[list(taken)] = 0.0
    variances, largest = surface.variances, float(doubts.max())
    while len(found) < count and doubts.max() > _LITTLE * largest:
        cell = int(np.argmax(doubts))
        found.append(cell)
        together = surface.column(cell)
        alike = together**2 / (variances * variances[cell])
        doubts *= np.where(judged.is_raced, 1.0, 1.0 - np.minimum(alike, 1.0))
        doubts[cell] = 0.0
    return found


def _spread_cells(space: Space, seed: int) -> list[int]:
    """Cells that each lie as far as can be from those before."""
    chosen = [int(np.random.default_rng((seed, 0)).integers(space.count))]
    far = space.distances(chosen[0])
    while len(chosen) < min(space.count, _SPREAD):
        far[chosen[-1]] = -1.0
        chosen.append(int(np.argmax(far)))
        far = np.minimum(far, space.distances(chosen[-1]))
    return chosen
