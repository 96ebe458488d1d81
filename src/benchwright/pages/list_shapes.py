"""The records of lists, and of series. The dashboard's types are generated from here too (`make types`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchwright.pages.parts import (
    CauseLine,
    FindingLine,
    Linked,
    Mark,
    Note,
    Page,
    QuarantineLine,
    RunLine,
    SeriesLine,
)

# ---- lists ----


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """One of the values that a list can be narrowed to."""

    value: str
    label: str
    count: int  # how many it would leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """What a list can be narrowed by."""

    name: str  # "machine", "metric", "branch", "tag", "state", ..., or "param." and the name of a parameter
    values: Sequence[FacetValue]  # the most frequent, and those that are chosen
    more: int  # values that are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage(Page):
    """GET runs"""

    runs: Sequence[RunLine]
    facets: Sequence[Facet] = ()  # of the first page, where they were asked for
    total: int = 0  # of the first page, where facets were asked for: at most 2,000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPage(Page):
    """GET series"""

    series: Sequence[SeriesLine]
    cases: Sequence[str]  # for the filters: the first 1,000 in order of the alphabet
    metrics: Sequence[str]
    machines: Mapping[str, str]  # key -> name
    facets: Sequence[Facet] = ()  # of the first page, where they were asked for
    total: int = 0  # series that were chosen; of the first page, where facets were asked for
    sortable: bool = True  # whether they are few enough to be ordered by their newest points


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsPage(Page):
    """GET findings"""

    findings: Sequence[FindingLine]
    counts: Mapping[str, int]  # by state
    total: int = 0  # in these states, and of what else was chosen: at most 20,000
    facets: Sequence[Facet] = ()  # of the first page, where they were asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class CausesPage(Page):
    """GET causes"""

    causes: Sequence[CauseLine]
    total: int  # causes in these states
    findings: int  # the findings that they have
    counts: Mapping[str, int]  # findings by state
    facets: Sequence[Facet] = ()  # of the first page, where they were asked for: causes


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewLine:
    """A page with everything that was chosen on it, under a name."""

    id: int
    name: str
    address: str  # what follows `#/`
    who: str
    made_at: int
    is_home: bool  # what opens first


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewsPage:
    """GET views"""

    views: Sequence[ViewLine]  # by name


# ---- series ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A name on the axis: a tag of the repository, or what somebody wrote there."""

    name: str
    at: int
    revision: str  # "" where it is only an instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceMark:
    """From which run on the costs of a series rest on a price."""

    at: int
    run: str
    price: str  # shape, market, day, amount and source
    factor: float | None  # against the price before; None for the first, and for another currency


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView(Linked):
    """GET series/KEY: columns of equal length, oldest first.

    `run`, `revision` and `branch` index `runs`, `revisions` and `branches`.
    """

    line: SeriesLine
    at: Sequence[int]
    point: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]
    run: Sequence[int]
    revision: Sequence[int]
    result: Sequence[int]
    runs: Sequence[str]
    revisions: Sequence[str]
    subjects: Mapping[str, str]  # of the revisions that are known, by id
    marks: Sequence[Mark]
    notes: Sequence[Note]
    related: Sequence[SeriesLine]  # other metrics of the case, and other machines and params
    rounds: Sequence[int]  # of how many each point is made
    branch: Sequence[int]
    branches: Sequence[str]  # "" where nobody knows: taken as the main line
    main: str  # the branch that stands in front
    committed: Sequence[int]  # of each of `revisions`: when it was committed, else first measured
    releases: Sequence[Release]
    quarantines: Sequence[QuarantineLine] = ()  # of its machine: points in them are not judged
    repository: Sequence[int] = ()  # of each of the newest revisions, as many as there are: indexes `repositories`
    repositories: Sequence[str] = ()
    prices: Sequence[PriceMark] = ()  # of a series of costs, the oldest first
