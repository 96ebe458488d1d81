"""What a race is about: its space, its goals and its bounds. The head of a run keeps it (`Run.race`).

Together with the results it is all that is needed to say who leads, who left and why (`analysis.races`): nothing else
of a race is kept, so what a page shows of it can never contradict what was measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

TARGET, HOST = "target", "host"  # dimensions that are neither a parameter nor an option
MOST_CELLS = 4096  # of one race
CELL = "race_cell"  # where a result keeps the number of its cell, among its details
SPENT = "race_seconds"  # and there, how long the race had gone on when its process began
IN_RACE = "in_race"  # what tells the series of raced results from those of the same cases in other runs


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceAxis:
    """One dimension of the space: its values in order, and how `benchwright run` is told one of them."""

    name: str
    values: tuple[str | int | float | bool | None, ...]  # None: some of the cells have no such setting
    arguments: tuple[str, ...] = ()  # {} stands for the value; none: the value is an argument itself


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceGoal:
    """A metric that is to be as high, or as low, as it can be."""

    metric: str
    higher: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceBound:
    """A bound that must hold, in the metric's base unit; of money with its currency."""

    metric: str
    relation: str  # "<", "<=", ">", ">="
    limit: float
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceTerms:
    """The question that a race answers."""

    axes: tuple[RaceAxis, ...]
    goals: tuple[RaceGoal, ...]  # two or more: a front
    bounds: tuple[RaceBound, ...] = ()
    # Of each cell the place of its value on each axis; none: every combination, the first axis varying slowest.
    places: tuple[tuple[int, ...], ...] = ()
    within: float = 0.02  # of the best: as good as the best
    confidence: float = 0.99
    rounds: int = 5  # no more is measured than all cells so many times
    budget: float | None = None  # seconds
    seed: int = 0
    command: tuple[str, ...] = ()  # of `benchwright run`: what all cells have in common

    @property
    def cells(self) -> Sequence[tuple[int, ...]]:
        """The places of every cell, in order of their numbers."""
        return self.places or _combinations(tuple(len(axis.values) for axis in self.axes))

    @property
    def count(self) -> int:
        """How many cells there are, without making them."""
        return len(self.places) or math.prod(len(axis.values) for axis in self.axes)

    @property
    def is_sound(self) -> bool:
        """Whether its space can be made: what a file or another machine says may be anything."""
        sizes = [len(axis.values) for axis in self.axes]
        return 0 < self.count <= MOST_CELLS and all(
            len(places) == len(sizes) and all(0 <= at < size for at, size in zip(places, sizes, strict=True))
            for places in self.places
        )

    def places_of(self, cell: int) -> tuple[int, ...]:
        """The place of a cell's value on each axis, without making the other cells."""
        if self.places:
            return self.places[cell]
        found = []
        for axis in reversed(self.axes):
            cell, place = divmod(cell, len(axis.values))
            found.append(place)
        return tuple(reversed(found))

    def settings(self, cell: int) -> dict[str, str | int | float | bool | None]:
        """What a cell sets, by the names of the axes; without what it does not have."""
        places = self.places_of(cell)
        chosen = {axis.name: axis.values[place] for axis, place in zip(self.axes, places, strict=True)}
        return {name: value for name, value in chosen.items() if value is not None}

    def label(self, cell: int) -> str:
        """The settings of a cell in one line."""
        return (
            " ".join(f"{name}={show_setting(value)}" for name, value in self.settings(cell).items()) or "the only one"
        )

    def repeat(self, cell: int) -> tuple[str, ...]:
        """The command line that measures a cell again."""
        first, rest = list[str](), list[str]()
        for axis, place in zip(self.axes, self.places_of(cell), strict=True):
            value = axis.values[place]
            if value is None:
                continue
            if axis.name == TARGET:
                first.append(str(value))
            rest += [word.replace("{}", show_setting(value)) for word in axis.arguments]
        end = self.command.index("--") if "--" in self.command else len(self.command)  # then a command to measure
        return ("benchwright", "run", *first, *self.command[:end], *rest, *self.command[end:])


@lru_cache(maxsize=8)  # asked for once for each of thousands of cells
def _combinations(counts: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    return list(itertools.product(*map(range, counts)))


def show_setting(value: str | int | float | bool | None) -> str:
    """A value as people type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
