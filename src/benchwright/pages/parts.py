"""The records that several pages show. The dashboard's types are generated from here too (`make types`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchwright.records import Estimate, Failure, Metric, ResultWarning, Revision, Scalar, Verdict
from benchwright.records.findings import Drift, State, Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLine:
    """A series in a list."""

    key: str
    unit: str
    case: str
    params: Mapping[str, Scalar]
    metric: str
    better: str  # "lower", "higher" or ""
    machine: str
    machine_name: str
    count: int
    last_at: int
    last: float | None
    spark: Sequence[float]  # the newest values, oldest first
    findings: Sequence[str] = ()  # ids of open ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run in a list."""

    id: str
    started_at: int
    cases: Sequence[str]
    results: int
    failed: int
    planned: int
    revision: Revision | None
    tags: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLine:
    """A finding in a list."""

    id: str
    series: str
    unit: str
    case: str
    suite: str
    params: Mapping[str, Scalar]
    metric: str
    machine: str
    machine_name: str
    verdict: Verdict
    state: State
    before: Estimate
    after: Estimate
    effect: Estimate
    confidence: float | None
    found_at: int
    run: str
    assignee: str
    culprit: Suspect | None  # the most probable
    spark: Sequence[float]  # the values on both sides of the change, oldest first
    drift: Drift | None  # None: the value changed at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Where a list goes on; "" at its end."""

    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLine:
    """One case of a run: its rounds together."""

    case: str
    params: Mapping[str, Scalar]
    label: str
    runtime: str
    device: str
    statuses: Mapping[str, int]
    metrics: Sequence[Metric]  # combined, without values
    results: Sequence[str]  # ids, by round
    warnings: Sequence[ResultWarning]
    reason: str  # why it has no numbers; ""
    failures: Sequence[Failure] = ()  # of the rounds that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """GET about"""

    version: str
    store: str  # shown without secrets
    who: str  # the token's name, or ""
    scopes: Sequence[str]  # read, write, triage, admin: what this visitor may do
    static: bool  # a published site: nothing can be changed
    generated_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A change point of a series: where a finding lies."""

    at: int
    finding: str
    verdict: Verdict
    state: State
    effect: Estimate
    before: Estimate
    after: Estimate
    run: str
    until: int  # of a drift: when it ended, or the newest point; of a step, when it came


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An annotation."""

    id: int
    at: int
    text: str
    who: str
    everywhere: bool
