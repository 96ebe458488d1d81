"""What a database can tell beyond a `Store`: what pages, a server and a published site are made of.

Only databases are archives; a store that is reached over HTTP is asked through its server's pages instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchwright.records import Environment, Estimate, Failure, Result, Run, Status
from benchwright.store import RunSummary, Series, Store
from benchwright.store.live import ENDED as ENDED
from benchwright.store.live import Progress as Progress

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFilter:
    """Which series are meant; what is empty does not choose. Names may hold `*`."""

    case: str = ""
    metric: str = ""
    machine: str = ""  # schema.environment_key
    words: str = ""  # each must occur in the case's name, its params or the metric, whatever the case of letters
    keys: tuple[str, ...] = ()  # these series alone
    after: int = 0  # those whose number is larger: the next page
    limit: int = 1000


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
    """The points of a series in order of time, as arrays of equal length. `run` and `revision` index the names."""

    at: NDArray[int64]  # microseconds since 1970
    point: NDArray[float64]
    low: NDArray[float64]  # NaN where there is no interval
    high: NDArray[float64]
    run: NDArray[int64]
    revision: NDArray[int64]
    result: NDArray[int64]  # number of the result's row; `Archive.result_ids` gives the id
    runs: tuple[str, ...]
    revisions: tuple[str, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine, as series tell them apart, and what it did."""

    key: str  # schema.environment_key
    environment: Environment  # the newest, without knobs
    results: int
    failed: int
    cases: int
    first_at: int
    last_at: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What somebody wrote beside a series."""

    id: int
    series: str  # "" for every series
    at: int  # the instant it is about
    text: str
    who: str
    made_at: str


SCOPES = ("read", "triage", "write", "admin")  # of a token: each with those before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Who may do what at a server. The token itself is kept nowhere."""

    name: str
    scope: str  # one of SCOPES
    made_at: str
    expires_at: str = ""  # "" for never
    used_at: str = ""  # to the minute; "" for never


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A line of the audit log."""

    id: int
    at: int  # microseconds since 1970
    who: str  # a token's name, or "" without one
    address: str
    action: str
    what: str


class Archive(Store, Protocol):
    """A store with indexes. Reading never waits for writers."""

    def at_once(self) -> AbstractContextManager[None]:
        """What this thread reads within, it reads over one connection: many questions for the price of one hello."""
        ...

    def series(self, chosen: SeriesFilter) -> list[ListedSeries]:
        """The series that were chosen, in the order of their numbers; without points only those that keys name."""
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

    def result_ids(self, numbers: Sequence[int]) -> Mapping[int, str]:
        """The ids that people see, by the numbers of rows."""
        ...

    def values_of_runs(self, runs: Sequence[str], *, metrics: Sequence[str] = ()) -> list[Valued]:
        """Every value of these runs that is ok, without reading a document, in the order they were kept."""
        ...

    def newest_values(
        self, *, metrics: Sequence[str] = (), case: str = "", machine: str = "", revision: str = "", tag: str = ""
    ) -> list[Valued]:
        """Of each series the values of the newest run that has any, for whatever was chosen.

        Of a tag or a revision, the newest 50 runs are looked at.
        """
        ...

    def runs_page(
        self, *, before: str = "", limit: int = 50, tag: str = "", case: str = "", revision: str = "", machine: str = ""
    ) -> list[RunSummary]:
        """The newest runs older than the run `before`."""
        ...

    def result(self, result_id: str) -> tuple[str, Result]:
        """One result without its samples, and its run's id. An unknown one is a `StoreError`."""
        ...

    def statuses(self, *, since: int = 0) -> list[tuple[str, str, str, Status, int, int]]:
        """(case, machine, newest run, status, count, newest at) of results: what is failing.

        Those of runs that began since an instant.
        """
        ...

    def machines(self) -> list[Machine]:
        """Every machine, the one that measured last first."""
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

    def tell_progress(self, progress: Progress) -> None:
        """Replaces the progress that the run told before; the phase "ended" removes it."""
        ...

    def progress(self, *, since: int = 0) -> list[Progress]:
        """What runs do that spoke since an instant, the newest first."""
        ...

    def header(self, run_id: str) -> Run:
        """A run without its results."""
        ...

    def outcomes(self, runs: Sequence[str]) -> list[ResultOutcome]:
        """How every result of these runs ended, in the order they were kept."""
        ...

    def metric_names(self) -> list[str]:
        """Every metric that has a series, in alphabetical order."""
        ...

    def environments(self) -> Mapping[str, Environment]:
        """The newest environment of every machine without its knobs, by `schema.environment_key`."""
        ...

    def subjects(self, revisions: Sequence[str]) -> Mapping[str, str]:
        """The subjects of the revisions that runs tell of."""
        ...

    def totals(self) -> Mapping[str, int]:
        """How many runs, results, series, points and machines there are, and findings in each state."""
        ...

    def newest(self) -> int:
        """A number that grows with every result that is kept: tells whether anything is new."""
        ...
