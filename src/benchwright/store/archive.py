"""What a database can tell beyond a `Store`: what pages, a server and a published site are made of.

Only databases are archives; a store that is reached over HTTP is asked through its server's pages instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchwright.records import Environment, Estimate, Failure, Result, Run, Status
from benchwright.records.causes import Cause, FindingHead
from benchwright.records.findings import Finding, State
from benchwright.records.machines import Machine as Machine
from benchwright.records.prices import Price
from benchwright.store import RunSummary, Series, Store
from benchwright.store.choices import EVERY_RUN as EVERY_RUN
from benchwright.store.choices import MOST_SORTED as MOST_SORTED
from benchwright.store.choices import RUN_ORDERS as RUN_ORDERS
from benchwright.store.choices import SERIES_ORDERS as SERIES_ORDERS
from benchwright.store.choices import FacetCounts as FacetCounts
from benchwright.store.choices import FacetValues as FacetValues
from benchwright.store.choices import RunChoice as RunChoice
from benchwright.store.choices import SeriesFilter as SeriesFilter
from benchwright.store.live import ENDED as ENDED
from benchwright.store.live import Progress as Progress
from benchwright.store.visitors import AGENT as AGENT
from benchwright.store.visitors import SCOPES as SCOPES
from benchwright.store.visitors import AuditEntry as AuditEntry
from benchwright.store.visitors import NotifyTarget as NotifyTarget
from benchwright.store.visitors import PersonSession as PersonSession
from benchwright.store.visitors import Token as Token

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray


Chosen = SeriesFilter  # its name before; documented


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSeries:
    """A series without its points, and how many there are."""

    number: int  # of its row: pages go on after it
    series: Series  # `points` is empty
    count: int  # exact, but that another process took old points away may show minutes later
    first_at: int  # microseconds since 1970; 0 when it has no points
    last_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The points of a series in order of time, arrays of equal length. `run`, `revision`, `branch` index the names."""

    at: NDArray[int64]  # microseconds since 1970
    point: NDArray[float64]
    low: NDArray[float64]  # NaN where there is no interval
    high: NDArray[float64]
    run: NDArray[int64]
    revision: NDArray[int64]
    result: NDArray[int64]  # number of the result's row; `Archive.result_ids` gives the id
    runs: tuple[str, ...]
    revisions: tuple[str, ...]
    confidence: NDArray[float64]
    branch: NDArray[int64]
    branches: tuple[str, ...]  # "" where nobody knows


class Valued(NamedTuple):
    """One value of one result, with what names it: a row of a comparison or of a matrix.

    A tuple, as pages ask for thousands at once and a record takes several times as long to make.
    """

    series: str
    case: str
    params: str
    metric: str
    unit: str
    better: str
    machine: str
    run: str
    result: str
    round: int
    at: int
    revision: str
    estimate: Estimate


class CommitFacts(NamedTuple):
    """What runs tell of a revision in one line."""

    subject: str
    repository: str  # its web address, or ""


class RunLabels(NamedTuple):
    """What a run is found by, beside what it measured."""

    branch: str
    tags: tuple[str, ...]


class ResultOutcome(NamedTuple):
    """How one result of a run ended, and what must be known before its numbers are taken at their word."""

    run: str
    result: str
    case: str
    params: str  # as in `Series`
    machine: str
    round: int
    status: Status
    failure: Failure | None  # why it has no numbers, without the log
    version: str  # of what was measured
    verdict: str  # the instrument's
    price: Price | None = None  # of the machine, where it was told


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What somebody wrote beside a series."""

    id: int
    series: str  # "" for every series
    at: int  # the instant it is about
    text: str
    who: str
    made_at: str
    kind: str = ""  # RELEASE: it stands on the axis of charts


RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedView:
    """A page of the dashboard with everything that was chosen on it, under a name that somebody gave it."""

    id: int
    name: str
    address: str  # what follows `#/` in a browser: page, parts and query
    who: str
    made_at: str
    is_home: bool = False  # what opens first; at most one is


class Archive(Store, Protocol):
    """A store with indexes. Reading never waits for writers."""

    def at_once(self) -> AbstractContextManager[None]:
        """What this thread reads within, it reads over one connection: many questions for the price of one hello."""
        ...

    def finding_heads(
        self, *, states: Sequence[State] = (), cause: str = "", limit: int = 20_000, until: int = 0
    ) -> list[FindingHead]:
        """What lists need of the newest findings, of these states and of this cause where any is named.

        With `until`, only those that were found by then, in microseconds since 1970.
        """
        ...

    def causes_joined(self, *, until: int = 0) -> Mapping[str, int]:
        """When a finding in any state joined each cause last: what a list of causes is ordered by, whatever is triaged
        while it is read.
        """
        ...

    def run_labels(self, runs: Sequence[str]) -> Mapping[str, RunLabels]:
        """The branch and the tags of each of these runs; one that is not there is left out."""
        ...

    def findings_of(self, ids: Sequence[str]) -> list[Finding]:
        """The findings of these ids, in their order; one that is not there is left out."""
        ...

    def fill_causes(self, groups: Sequence[Sequence[FindingHead]]) -> list[Cause]:
        """The causes of these groups of findings, as `records.causes.group` makes them."""
        ...

    def find_cause(self, reference: str) -> str:
        """The id of the cause that is named, or of the only one whose id begins so."""
        ...

    def held_results(self, runs: Sequence[str]) -> Mapping[str, int]:
        """How many results of each of these runs were measured in quarantine; runs without any are left out."""
        ...

    def claim(self, what: str, holder: str, *, seconds: float) -> bool:
        """Claims what is to be done once elsewhere, for so many seconds; False while another holds it."""
        ...

    def give_back(self, what: str, holder: str) -> None:
        """Ends a claim, unless another holds it by now."""
        ...

    def series(self, chosen: SeriesFilter) -> list[ListedSeries]:
        """The series that were chosen, in the order of their numbers; without points only those that keys name."""
        ...

    def series_facets(self, chosen: SeriesFilter) -> FacetCounts:
        """How many series were chosen, and how many each value of a facet would leave. What a facet has chosen itself
        does not narrow its own counts. Branches and tags are those of the newest runs, at most half a minute old.
        """
        ...

    def columns(self, key: str, unit: str, *, limit: int = 100_000) -> Columns:
        """The newest points of a series that are ok. An unknown series is a `StoreError`."""
        ...

    def tails(self, keys: Sequence[str], *, points: int = 30) -> Mapping[str, Sequence[float]]:
        """The newest points of each of these series, oldest first: for sparklines."""
        ...

    def around(self, places: Sequence[tuple[str, str]], *, points: int = 30) -> Sequence[Sequence[float]]:
        """Of each (series, run) the points on both sides of the run's beginning, oldest first; none when unknown."""
        ...

    def run_sizes(self, runs: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Of each run how many results it has, and the number of the newest: what changes when the run does."""
        ...

    def result_ids(self, numbers: Sequence[int]) -> Mapping[int, str]:
        """The ids that people see, by the numbers of rows."""
        ...

    def values_of_runs(self, runs: Sequence[str], *, metrics: Sequence[str] = ()) -> list[Valued]:
        """Every value of these runs that is ok, without reading a document, in the order they were kept."""
        ...

    def newest_values(
        self,
        *,
        metrics: Sequence[str] = (),
        case: str = "",
        machine: str = "",
        revision: str = "",
        tag: str = "",
        runtime: str = "",
        most: int = 0,
    ) -> list[Valued]:
        """Of each series the values of the newest run that has any, for whatever was chosen.

        Of a tag or a revision, the newest 50 runs are looked at. Where more than `most` series are meant, nothing is
        read: an `OptionError`.
        """
        ...

    def runs_page(
        self,
        *,
        before: str = "",
        limit: int = 50,
        tag: str = "",
        case: str = "",
        revision: str = "",
        machine: str = "",
        also: RunChoice = EVERY_RUN,
    ) -> list[RunSummary]:
        """The runs that come after the run `before`: the newest first, or in the order that `also` says."""
        ...

    def run_facets(
        self, *, tag: str = "", case: str = "", revision: str = "", machine: str = "", also: RunChoice = EVERY_RUN
    ) -> FacetCounts:
        """What the newest 2,000 of these runs can be narrowed by, as `series_facets` does it."""
        ...

    def result(self, result_id: str) -> tuple[str, Result]:
        """One result without its samples, and its run's id. An unknown one is a `StoreError`."""
        ...

    def statuses(
        self, *, since: int = 0, cases: Sequence[str] = (), only_bad: bool = False
    ) -> list[tuple[str, str, str, Status, int, int]]:
        """(case, machine, newest run, status, count, newest at) of results: what is failing.

        Those of runs that began since an instant, and of these cases where any are named; with `only_bad` those that
        are neither ok nor skipped.
        """
        ...

    def series_by_case(self) -> Mapping[tuple[str, str], Sequence[tuple[str, int]]]:
        """(case, machine) -> (metric, number) of its series; the very same mapping while no series is new."""
        ...

    def last_measured(self) -> Mapping[str, Mapping[str, int]]:
        """Of each machine's cases the instant of the newest result, in microseconds since 1970."""
        ...

    def environment_of(self, result_id: str) -> Environment:
        """The environment of one result, knobs included."""
        ...

    def annotations(self, series: str | None) -> list[Annotation]:
        """What was written beside a series, or beside all; every annotation for None."""
        ...

    def annotate(self, annotation: Annotation) -> Annotation:
        """Keeps an annotation under a number of its own, and returns it with that number."""
        ...

    def drop_annotation(self, number: int) -> bool:
        """Deletes an annotation; False when there was none of that number."""
        ...

    def views(self) -> list[NamedView]:
        """The views that people keep, by name."""
        ...

    def keep_view(self, view: NamedView) -> NamedView:
        """Keeps a view under a number of its own, and returns it with that number. A name that is taken is refused."""
        ...

    def change_view(
        self, number: int, *, name: str | None = None, address: str | None = None, is_home: bool | None = None
    ) -> NamedView:
        """Changes what is not None of a view; being the home page ends for the one that was."""
        ...

    def drop_view(self, number: int) -> bool:
        """Deletes a view; False when there was none of that number."""
        ...

    def commit_dates(self, revisions: Sequence[str]) -> Mapping[str, int]:
        """When these commits were made, in microseconds since 1970; those of which it is known."""
        ...

    def commit_tags(self) -> Mapping[str, Sequence[str]]:
        """The tags that the repository has of commits, by commit: releases."""
        ...

    def tell_progress(self, progress: Progress) -> None:
        """Replaces the progress that the run told before; the phase "ended" removes it."""
        ...

    def progress(self, *, since: int = 0) -> list[Progress]:
        """What runs do that spoke since an instant, the newest first."""
        ...

    def header(self, run_id: str) -> Run:
        """A run without its results."""
        ...

    def run_extent(self, run_id: str) -> tuple[int, int]:
        """How many results a run has, and the number of the newest: the same while nothing came or went."""
        ...

    def outcomes(self, runs: Sequence[str]) -> list[ResultOutcome]:
        """How every result of these runs ended, in the order they were kept."""
        ...

    def metric_names(self) -> list[str]:
        """Every metric that has a series, in alphabetical order."""
        ...

    def metric_directions(self) -> Mapping[str, str]:
        """Which direction of every metric is better, "lower", "higher" or "", as most of its series say."""
        ...

    def environments(self) -> Mapping[str, Environment]:
        """The newest environment of every machine without its knobs, by `schema.environment_key`."""
        ...

    def subjects(self, revisions: Sequence[str]) -> Mapping[str, str]:
        """The subjects of the revisions that runs tell of."""
        ...

    def commits(self, revisions: Sequence[str]) -> Mapping[str, CommitFacts]:
        """The subjects and repositories of the revisions that runs tell of."""
        ...

    def totals(self) -> Mapping[str, int]:
        """How many runs, results, series, points and machines there are, and findings in each state."""
        ...

    def count_findings(self) -> Mapping[str, int]:
        """How many findings are in each state that any is in."""
        ...

    def newest(self) -> int:
        """A number that grows with every result that is kept: tells whether anything is new."""
        ...
