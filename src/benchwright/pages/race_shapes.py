"""The records of a race on the page of its run. The dashboard's types are generated from here too (`make types`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchwright.records import Better, Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceMetric:
    """A metric that the cells of a race are shown by."""

    name: str
    title: str
    unit: str
    better: Better | None
    is_goal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceBreach:
    """An objective that a cell does not keep."""

    objective: str
    is_sure: bool  # beyond doubt; else by its value alone


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceCellLine:
    """A configuration that was measured in a race."""

    number: int
    label: str
    brief: str  # its settings without the names of the axes, for pictures
    settings: Mapping[str, str]  # by the names of the axes; without what it does not have
    state: str  # leads, alike, front, racing, left
    reason: str  # why it left, in a word: worse, bound, failed, not promising
    why: str  # the same in a sentence; "" for those that did not leave
    processes: int
    first: int  # the blocks of its first and last process, from 0
    last: int
    values: Mapping[str, Estimate]  # by metric
    breaches: Sequence[RaceBreach]
    command: Sequence[str]  # that measures it again
    result: str  # its first


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceView:
    """A run that was a race: its question, its answer, and every cell that was measured."""

    question: str
    effort: str  # what was searched, and at what expense
    surety: str  # how sure the winner is; "" where there is none, and of a front
    no_winner: Sequence[str]  # why there is none
    unsettled: str  # why it ended before it was decided, and what that leaves open; "" where it was decided
    winner: int | None  # the number of its cell; None of a front, too
    front: Sequence[int]  # of several goals: the cells that nothing beats in all of them
    alike: Sequence[int]  # cells that were not shown to be worse than the winner
    axes: Sequence[str]
    metrics: Sequence[RaceMetric]  # goals first
    blocks: int  # of processes, in all
    cells: Sequence[RaceCellLine]  # that were measured: those in the race first, the best first; then who left
    unmeasured: Sequence[str]  # what is said of the others
