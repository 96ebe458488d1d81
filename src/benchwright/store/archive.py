"""What a database can tell beyond a `Store`: what pages, a server and a published site are made of.

Only databases are archives; a store that is reached over HTTP is asked through its server's pages instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benchwright.records import Environment, Estimate, Result, Status
from benchwright.store import RunSummary, Series, Store

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which series are meant; what is empty does not choose. Names may hold `*`."""

    case: str = ""
    metric: str = ""
    machine: str = ""  # schema.environment_key
    words: str = ""  # each must occur in the case's name, its params or the metric, whatever the case of letters
    keys: tuple[str, ...] = ()  # these series alone
    after: int = 0  # those whose number is larger: the next page
    limit: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A series without its points, and how many there are."""

    number: int  # of its row: pages go on after it
    series: Series  # `points` is empty
    count: int
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """One value of one result, with what names it: a row of a comparison or of a matrix."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What somebody wrote beside a series."""

    id: int
    series: str  # "" for every series
    at: int  # the instant it is about
    text: str
    who: str
    made_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a run that is under way does now."""

    run: str
    started_at: str
    planned: int  # 0: nobody said
    done: int
    failed: int = 0
    case: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    round: int = 0
    phase: str = ""  # loading, warming, measuring, ...; "ended" is the last word
    host: str = ""


class Archive(Store, Protocol):
    """A store with indexes. Reading never waits for writers."""

    def series(self, chosen: Chosen) -> list[Listed]:
        """The series that were chosen, in the order of their numbers."""
        ...

    def columns(self, key: str, unit: str, *, limit: int = 100_000) -> Columns:
        """The newest points of a series that are ok. An unknown series is a `StoreError`."""
        ...

    def tails(self, keys: Sequence[str], *, points: int = 30) -> Mapping[str, Sequence[float]]:
        """The newest points of each of these series, oldest first: for sparklines."""
        ...

    def result_ids(self, numbers: Sequence[int]) -> Mapping[int, str]:
        """The ids that people see, by the numbers of rows."""
        ...

    def values_of_runs(self, runs: Sequence[str], *, metrics: Sequence[str] = ()) -> list[Valued]:
        """Every value of these runs, without reading a document."""
        ...

    def newest_values(
        self, *, metrics: Sequence[str] = (), case: str = "", machine: str = "", revision: str = "", tag: str = ""
    ) -> list[Valued]:
        """Of each series the values of the newest run that has any, for whatever was chosen."""
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
        """(case, machine, newest run, status, count, newest at) of results since an instant: what is failing."""
        ...

    def machines(self) -> list[Machine]:
        """Every machine, the one that measured last first."""
        ...

    def environment_of(self, result_id: str) -> Environment:
        """The environment of one result, knobs included."""
        ...

    def annotations(self, series: str) -> list[Annotation]:
        """What was written beside a series, or beside all."""
        ...

    def annotate(self, annotation: Annotation) -> Annotation:
        """Keeps it, under a number of its own."""
        ...

    def drop_annotation(self, number: int) -> bool:
        """Takes it away; False when there was none."""
        ...

    def tell_progress(self, progress: Progress) -> None:
        """Replaces the last word of that run; "ended" removes it."""
        ...

    def progress(self, *, since: int = 0) -> list[Progress]:
        """What runs do that spoke since an instant, the newest first."""
        ...

    def newest(self) -> int:
        """A number that grows with every result that is kept: tells whether anything is new."""
        ...
