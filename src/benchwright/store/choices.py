"""What lists of series, runs and findings are narrowed to, their orders, and what else they could be narrowed by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchwright.errors import OptionError
from benchwright.records.causes import CausePlace

SHOWN = 20  # values of a facet, besides those that are chosen
_DIGITS = re.compile(r"(\d+)")
_FURTHEST = 2**62  # what a database takes as a number
_LONGEST_NUMBER = 100  # digits that are ordered as a number; of some thousands Python makes none


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFilter:
    """Which series are meant; what is empty does not choose. Names may hold `*`."""

    case: str = ""
    metric: str = ""
    machine: str = ""  # schema.environment_key
    words: str = ""  # each must occur in the case's name, its params or the metric, whatever the case of letters
    keys: tuple[str, ...] = ()  # these series alone
    numbers: tuple[int, ...] = ()  # those of these rows
    metrics: tuple[str, ...] = ()  # one of them
    machines: tuple[str, ...] = ()
    params: tuple[str, ...] = ()  # `name=value`: of each name one of its values
    branches: tuple[str, ...] = ()  # measured by one of the newest runs, on one of them
    tags: tuple[str, ...] = ()
    machine_order: tuple[str, ...] = ()  # keys, as an order by machine has them
    sort: str = ""  # one of SERIES_ORDERS, "-" before it for the largest first; "": as they were added
    after: int = 0  # those whose number is larger: the next page
    limit: int = 1000


MOST_SORTED = 5_000  # series that can be ordered by "at" and "last", which only their points tell
SERIES_ORDERS = ("case", "metric", "machine", "count", "findings", "at", "last")
RUN_ORDERS = ("run", "results", "failed", "revision")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoice:
    """What a list of runs is narrowed to: of each that names any, one must fit. And the order of the list."""

    branches: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()  # schema.environment_key
    sort: str = ""  # one of RUN_ORDERS, "-" before it for the largest first; "": the newest first


EVERY_RUN = RunChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChoice:
    """What a list of findings is narrowed to: of each that names any, one must fit."""

    states: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()  # schema.environment_key
    metrics: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()  # of the run that shows it first
    tags: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()  # NOBODY: those that nobody is assigned to


NOBODY = "-"
EVERY_FINDING = FindingChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValues:
    """What a list can be narrowed by, and how much each choice would leave."""

    name: str  # "machine", "metric", "branch", "tag", ..., or "param." and the name of a parameter
    values: tuple[tuple[str, int], ...]  # with how many: the most frequent, and those that are chosen
    more: int = 0  # values that are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCounts:
    """How many there are of what was chosen, and what else it can be narrowed by."""

    total: int
    facets: tuple[FacetValues, ...]


def read_place(text: str) -> CausePlace:
    """A place in a list of causes, as `CausePlace` writes it; an `OptionError` where a text is none."""
    try:
        place = CausePlace.read(text)
    except ValueError:
        place = None
    if place is None or max(abs(place.until), abs(place.at)) > _FURTHEST:
        raise OptionError(f"{text[:100]!r} is no place in the list of causes", remedy="begin with the newest again")
    return place


def facet_of(name: str, counted: Iterable[tuple[str, int]], chosen: Sequence[str]) -> FacetValues:
    """The most frequent values, and those that are chosen however few they are."""
    there = {value: count for value, count in counted if count}
    frequent = sorted(there, key=lambda value: (-there[value], natural_key(value), value))
    shown = dict.fromkeys([*frequent[:SHOWN], *chosen])
    values = tuple((value, there.get(value, 0)) for value in shown)
    return FacetValues(name=name, values=values, more=len([value for value in there if value not in shown]))


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by, in which numbers go by their size."""
    return [
        (1, int(part), "") if part.isdecimal() and len(part) <= _LONGEST_NUMBER else (0, 0, part)
        for part in _DIGITS.split(name.casefold())
        if part
    ]
