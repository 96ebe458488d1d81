"""Stores keep runs. `open_store(url)` picks one by the URL's scheme; a bare path is SQLite."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Unpack

from benchwright import config, plugins
from benchwright.records import Estimate, Result, Revision, Run, Samples, Status
from benchwright.records.causes import Cause
from benchwright.records.findings import Finding, FindingChanges, Mute, Remark, State, Threshold, Triage
from benchwright.records.machines import Machine, Quarantine
from benchwright.system.masking import mask_url

if TYPE_CHECKING:
    from benchwright.execution.saver import ResultSink


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a list of runs: its id, its time, and counts of its results."""

    id: str
    started_at: str
    cases: tuple[str, ...]
    results: int
    failed: int
    revision: Revision | None
    tags: tuple[str, ...]
    planned: int = 0  # results the run was to have at least; 0 when nobody said
    damaged: str = ""  # why its record cannot be read: then only id, beginning, cases and counts are known
    is_race: bool = False  # whether it was a race of configurations


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One result's value in a series: one round of one run."""

    run: str
    result: str
    round: int
    started_at: str
    status: Status
    revision: str  # commit id or ""
    estimate: Estimate
    branch: str = ""  # that the run was on; "" where nobody knows


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What may be compared over time, with its points in order of time."""

    key: str
    case: str
    params: str  # compact JSON of what tells this case from others of the same name
    metric: str
    unit: str
    better: str  # "lower", "higher" or ""
    points: tuple[Point, ...]
    machine: str = ""  # schema.environment_key: what tells the machines apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A result that is not ok, so that its case has no value there."""

    run: str
    result: str
    round: int
    case: str
    params: str  # as in `Series`
    started_at: str
    status: Status
    revision: str  # commit id or ""
    reason: str


class Store(Protocol):
    """What every store offers. Every method that writes is one transaction, durable on return."""

    def begin(self, run: Run) -> None:
        """Records the run without results; called before anything is measured, so that an unusable store shows."""
        ...

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result with its points and raw samples.

        When a run is resumed, the result of the id `instead_of` goes in the same transaction.
        """
        ...

    def add_run(self, run: Run) -> bool:
        """Keeps a whole run in one transaction; False if a run of that id was there already (nothing changes)."""
        ...

    def find(self, reference: str) -> str:
        """The id of a run named by `last`, `last~N`, an id, a tag, a commit, or the beginning of a commit or an id.

        `last` is the run that was added last, whatever its clock said; `last:TARGET` and `last~N:TARGET` count only the
        runs that measured that target. A tag or commit with several runs means the newest, also by the order in which
        they were added; a beginning that fits more than one is a `StoreError`.
        """
        ...

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """A run with its results; without raw samples when they are not wanted."""
        ...

    def samples(self, result_id: str) -> tuple[Samples, ...]:
        """The raw samples of one result."""
        ...

    def runs(self, *, limit: int = 20, tag: str = "", tries: bool = False, before: str = "") -> list[RunSummary]:
        """The runs that were added last, the newest first. One whose record is damaged says so in its summary.

        With `tries`, also what was refused before anything was measured; of the runs that were added before the run
        `before` where one is named.
        """
        ...

    def run_ids(self, *, after: str = "", limit: int = 0) -> Iterator[str]:
        """Every run's id, in the order in which they were added; where asked, after a run, and at most so many."""
        ...

    def history(
        self, case: str, *, metrics: Sequence[str] = (), limit: int = 1000, skip: int = 0, most: int = 0
    ) -> list[Series]:
        """The series of cases whose name matches (`*` is a wildcard), each with its newest `limit` points.

        Without the first `skip` series; where `most` is given, only as many series as have so many points together
        (each counts as one point more), at most 1,000 and at least one.
        """
        ...

    def misses(self, case: str, *, limit: int = 20) -> list[Miss]:
        """The newest results of the same cases that are not ok, oldest first: the gaps in their history."""
        ...

    def case_names(self) -> list[str]:
        """Every name that has a history, in alphabetical order."""
        ...

    def findings(
        self,
        *,
        states: Sequence[State] = (),
        series: Sequence[str] = (),
        limit: int = 1000,
        cause: str = "",
        skip: int = 0,
        ids: Sequence[str] = (),
        before: str = "",
    ) -> list[Finding]:
        """The newest findings first: those in one of the states, of one of the series, of the cause and of these ids,
        where any are named; those that come after the finding `before`, without as many as are to be skipped.
        """
        ...

    def finding(self, reference: str) -> Finding:
        """The finding of that id, or of the only id that begins so."""
        ...

    def keep_finding(self, finding: Finding) -> Finding:
        """Keeps a finding and returns it; or the one that tells of the same change, which is then left as it is.

        Changes are the same when they are in one series, of one verdict, and have one of `Finding.runs` in common.
        """
        ...

    def update_finding(
        self, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
    ) -> Finding:
        """Changes fields of a finding and adds a line to its story; returns it as it is now.

        What `why` is given is added to what is there; other fields are replaced.
        """
        ...

    def causes(self, *, states: Sequence[State] = (), limit: int = 100, skip: int = 0, before: str = "") -> list[Cause]:
        """The causes of the findings in one of the states, and of these alone; the one that was last joined first.

        `before` is a place in that list, a `records.causes.CausePlace` as text: those that come after it.
        """
        ...

    def triage_findings(self, references: Sequence[str], wish: Triage, *, who: str = "", at: str = "") -> list[Finding]:
        """Does with findings what somebody wishes, all of it or nothing, and returns those that it changed.

        A reference is a finding's, or a cause's: then the findings of it are meant that `Triage.meant` names.
        """
        ...

    def split_findings(
        self, references: Sequence[str], *, who: str = "", at: str = "", comment: str = ""
    ) -> list[Finding]:
        """Takes findings out of their cause, into one of their own that nothing joins by itself; returns them."""
        ...

    def join_findings(
        self, references: Sequence[str], *, who: str = "", at: str = "", comment: str = ""
    ) -> list[Finding]:
        """Gives findings, or all of a cause, the cause of the first one named; returns those that had another."""
        ...

    def mutes(self) -> list[Mute]:
        """Returns every mute, in order of the alphabet."""
        ...

    def mute(self, mute: Mute) -> None:
        """Adds a mute: no change is reported any more in the series that it names."""
        ...

    def unmute(self, what: str) -> bool:
        """Removes a mute, so that changes are reported again; False when there was none."""
        ...

    def thresholds(self) -> list[Threshold]:
        """Every threshold, in order of the alphabet."""
        ...

    def set_threshold(self, threshold: Threshold) -> None:
        """Sets a threshold, in the place of one for the same cases and metric."""
        ...

    def drop_threshold(self, case: str, metric: str = "") -> bool:
        """Takes a threshold away; False when there was none."""
        ...

    def machines(self) -> list[Machine]:
        """Every machine, the one that measured last first."""
        ...

    def quarantines(self, machine: str = "") -> list[Quarantine]:
        """The quarantines of a machine, or of all: past, present and to come, the latest first."""
        ...

    def quarantine(self, quarantine: Quarantine) -> None:
        """Keeps a quarantine, in the place of one of the same machine that begins at the same instant."""
        ...

    def release(self, machine: str, at: int, who: str = "") -> int:
        """Ends every quarantine of the machine that lasts at an instant, there; returns how many there were."""
        ...

    def close(self) -> None:
        """Ends the connection."""
        ...


def open_store(url: str | Path, *, create: bool = True) -> Store:
    """The store at `url`: `sqlite:///file`, `postgresql://...`, `https://server/`, or the path of an SQLite file.

    An SQLite file is made when absent, unless `create` is false: then its absence is a `StoreError`.
    """
    text = str(url)
    kind, adapter = _adapter_of(text)
    text = text if "://" in text else f"sqlite:///{text}"
    # Other stores are given their URL alone: only a file of our own can be absent without being an error elsewhere.
    return adapter(text, create=False) if kind == "sqlite" and not create else adapter(text)


def check_address(url: str) -> None:
    """Refuses the address of a kind of store that nobody knows; nothing is opened."""
    _adapter_of(url)


def find_place(url: str) -> str:
    """Where a run that was just kept in the store at `url` is now, to be shown: a server may have been away."""
    if not url.startswith(("http://", "https://")):
        return mask_url(url)
    from benchwright.store.remote import sender

    return sender.place_of(url)


def open_configured_store(store: str | os.PathLike[str] | None, *, create: bool = False) -> Store:
    """Opens the store that is named, or else the one that the environment or the configuration names."""
    return open_store(config.store_url(None if store is None else os.fspath(store)), create=create)


def open_sink(url: str) -> ResultSink:
    """The store at `url`, only to keep a run in it. One in SQLite's file is there in a hundredth of a second."""
    if "://" not in url or url.startswith("sqlite:"):
        from benchwright.store.sql.run_writer import open_writer

        if (writer := open_writer(url)) is not None:
            return writer
    return open_store(url)


def _adapter_of(text: str) -> tuple[str, Callable[..., Store]]:
    """The kind of store that an address means, and what opens it; a path means a file of SQLite's."""
    scheme, separator, _ = text.partition("://")
    kind = scheme.partition("+")[0] if separator else "sqlite"
    adapter: Callable[..., Store] = plugins.load("stores", kind)
    return kind, adapter
