"""A race for the best case of a space under noise. `race` decides what to measure next; see there for the method."""

from benchwright.stats.race.judgement import RACED
from benchwright.stats.race.race import Race
from benchwright.stats.race.records import (
    BOUND,
    DECIDED,
    FAILED,
    FAILURES,
    INFEASIBLE,
    MEASUREMENTS,
    NOT_PROMISING,
    WORSE,
    Bound,
    Cell,
    Dimension,
    Exit,
    Goal,
    NearMiss,
    RaceOutcome,
    RaceRules,
    RaceStanding,
)

__all__ = [
    "BOUND",
    "DECIDED",
    "FAILED",
    "FAILURES",
    "INFEASIBLE",
    "MEASUREMENTS",
    "NOT_PROMISING",
    "RACED",
    "WORSE",
    "Bound",
    "Cell",
    "Dimension",
    "Exit",
    "Goal",
    "NearMiss",
    "Race",
    "RaceOutcome",
    "RaceRules",
    "RaceStanding",
]
