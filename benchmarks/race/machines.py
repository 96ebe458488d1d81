"""A simulated machine that runs one process after another for a search, and what the search comes to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from detection.pairs_simulator import Array, Profile, processes
from race.surfaces import CELLS, Make, Truth

from benchwright.stats.race import RaceOutcome

FULL = 5 * len(CELLS)  # processes of the full matrix at five rounds
MOST = FULL + 64
WITHIN = 0.02
_TOGETHER = 50  # series of noise that are made at once
_BOUNDED = 0.008  # what a bounded metric scatters by beside the time of its process, times Student's t


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a search came to."""

    cell: int | None
    processes: int
    loss: float  # against the best case
    stated: float = math.nan  # the probability that it names itself
    raced: float = math.nan  # the part of it that rests on no model
    is_best_raced: bool = False  # within what does not matter of the best case with two processes and more

    @property
    def is_right(self) -> bool:
        """Whether the case is as good as the best."""
        return self.loss <= WITHIN


class Machine:
    """Runs processes of the cases of one surface, in order, on a machine with a profile of noise."""

    def __init__(self, truth: Truth, off: Array, beside: Array) -> None:
        self.truth, self.count = truth, 0
        self._off, self._beside = off, beside  # of processes in order, as logarithms; of their bounded metric besides

    def run(self, cell: int) -> RaceOutcome:
        """One fresh process."""
        at = self.count
        self.count += 1
        if self.truth.fails[cell]:
            return RaceOutcome(goals=(), failure="out of memory")
        bounds: tuple[float, ...] = ()
        if self.truth.bounded is not None:
            bounds = (math.exp(self.truth.bounded[cell] + self._off[at] + self._beside[at]),)
        return RaceOutcome(goals=(math.exp(self.truth.goal[cell] - self._off[at]),), bounds=bounds)

    def again(self) -> Machine:
        """The same machine before its first process, for another search."""
        return Machine(self.truth, self._off, self._beside)

    def chosen(self, cell: int | None) -> Chosen:
        """A choice without a stated probability."""
        return Chosen(cell=cell, processes=self.count, loss=self.truth.loss(cell, WITHIN))


def machines(make: Make, profile: Profile, count: int, seed: int) -> Iterator[Machine]:
    """Seeded machines, each with a surface of its own, in an order that does not depend on how many are asked for."""
    for begin in range(0, count, _TOGETHER):
        rng = np.random.default_rng((seed, begin))
        off = processes(profile, rng, _TOGETHER, MOST)
        beside = _BOUNDED * rng.standard_t(5, size=off.shape)
        for at in range(min(_TOGETHER, count - begin)):
            yield Machine(make(np.random.default_rng((seed, begin, at))), off[at], beside[at])
