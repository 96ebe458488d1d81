"""What a race is asked, what it is told, and what it answers. Plain records; `racing.Race` fills them.

A *cell* is one case of the space: one value for each dimension. A *block* is a handful of fresh processes that ran one
after another; what the machine does, it does to all of them, so differences are taken inside of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchwright.records import Estimate

Cell = tuple[float | str, ...]

WORSE, BOUND, FAILED, NOT_PROMISING = "worse", "bound", "failed", "not promising"  # why a cell left
DECIDED, MEASUREMENTS, INFEASIBLE, FAILURES = "decided", "measurements", "no feasible cell", "no cell works"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One axis of the space. Numbers are ordered and act smoothly; words are choices without an order."""

    name: str
    values: tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A metric that is to be as high, or as low, as can be."""

    metric: str
    higher: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """An objective: the metric must not be above (`upper`), or not be below, the limit."""

    metric: str
    limit: float
    upper: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceRules:
    """What is sought, and how sure it must be. Two or more goals give a front, never a sum."""

    goals: tuple[Goal, ...]
    bounds: tuple[Bound, ...] = ()
    within: float = 0.02  # a cell this close to the best is as good as the best
    error: float = 0.01  # the error budget of the whole race, over all looks and cells
    most: int | None = None  # processes; None: the full matrix at `rounds`, of 200 cells and more a fifth of it
    rounds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.goals:
            raise ValueError("a race needs a goal: a metric to maximize or to minimize")
        if not 0.0 < self.within < 1.0:
            raise ValueError(f"within must lie between 0 and 1, as a share; it is {self.within}")
        if not 0.0 < self.error < 0.5:
            raise ValueError(f"error must lie between 0 and 0.5, as a probability; it is {self.error}")
        if self.rounds < 1 or (self.most is not None and self.most < 1):
            raise ValueError("a race needs at least one round and one process")
        wrong = [bound.metric for bound in self.bounds if not bound.limit > 0.0]
        if wrong:
            raise ValueError(f"the limit of {wrong[0]} must be above zero: differences are taken as ratios")


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceOutcome:
    """What one fresh process gave, in the metrics' own units."""

    goals: tuple[float, ...]  # in the order of the rules; empty where it failed
    bounds: tuple[float, ...] = ()
    failure: str = ""  # crash, timeout, killed, out of memory: a reason in words
    seconds: float = 0.0  # what it cost
    noise: tuple[float, ...] = ()  # standard errors within the process; kept, never taken for noise between processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """Why a cell left the race."""

    reason: str  # one of WORSE, BOUND, FAILED, NOT_PROMISING
    processes: int  # that it ran until now
    beside: int | None = None  # the cell that it is worse than, or whose failure tells about it
    least: float = 0.0  # worse by at least this share, or this far beyond the limit
    bound: int | None = None  # which of the rules' bounds
    goal: int | None = None  # which of several goals it is worse in, while it is as good at most in the others
    told: str = ""  # a failure's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """In a race without a feasible cell: what one bound rules out, and how far the nearest cell is from it."""

    bound: int
    cells: int  # that it rules out
    nearest: int
    value: Estimate
    beyond: float  # share by which the nearest is beyond the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceStanding:
    """What is known now. Cells are named by their index."""

    leader: int | None = None
    probability: float = 0.0  # that the leader is within `within` of the best of all raced cells; without the model
    beyond: float = 0.0  # the model's chance that a cell with less than two processes is better by more than that
    alike: tuple[int, ...] = ()  # not shown to be worse than the leader, who stands first
    racing: tuple[int, ...] = ()  # measured and not out
    exits: Mapping[int, Exit] = field(default_factory=dict)
    unmeasured: tuple[int, ...] = ()
    measured: tuple[int, ...] = ()  # processes of each cell, failed ones too
    estimates: Mapping[int, tuple[Estimate, ...]] = field(default_factory=dict)  # goals, then bounds
    front: tuple[int, ...] = ()  # of two and more goals: not dominated beyond doubt; of one: the leader
    nearest: tuple[NearMiss, ...] = ()
    processes: int = 0
    most: int = 0
    over: bool = False
    reason: str = ""  # why it is over

    @property
    def overall(self) -> float:
        """The probability that the leader is as good as the best of the whole space: half of it rests on the model."""
        return self.probability * (1.0 - self.beyond)
