"""The records that pages are made of. The dashboard's types are generated from here (`make types`).

Instants are milliseconds since 1970, as browsers count. Values are in base units. Nothing here is text to be parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchwright.pages.parts import About as About
from benchwright.pages.parts import CaseLine as CaseLine
from benchwright.pages.parts import FindingLine as FindingLine
from benchwright.pages.parts import Mark as Mark
from benchwright.pages.parts import Note as Note
from benchwright.pages.parts import Page as Page
from benchwright.pages.parts import RunLine as RunLine
from benchwright.pages.parts import SeriesLine as SeriesLine
from benchwright.records import (
    Artifact,
    Estimate,
    Failure,
    Metric,
    Operator,
    ResultWarning,
    Revision,
    Scalar,
    Status,
    Timeline,
    Value,
    Verdict,
)
from benchwright.records.findings import Remark, Suspect

# ---- lists ----


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage(Page):
    """GET runs"""

    runs: Sequence[RunLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPage(Page):
    """GET series"""

    series: Sequence[SeriesLine]
    cases: Sequence[str]  # every case, for the filters
    metrics: Sequence[str]
    machines: Mapping[str, str]  # key -> name


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsPage(Page):
    """GET findings"""

    findings: Sequence[FindingLine]
    counts: Mapping[str, int]  # by state


# ---- overview ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A case that does not give numbers any more on a machine."""

    case: str
    machine: str
    machine_name: str
    run: str
    status: Status
    count: int
    at: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteLine:
    """The cases whose names begin alike, on one machine."""

    suite: str  # what the cases' names begin with: a folder, a file without its ending, a package
    machine: str
    machine_name: str
    series: int
    worse: int  # open findings
    better: int
    failing: int
    last_at: int
    sparks: Sequence[SeriesLine]  # a few: the changed first


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """GET overview"""

    runs: Sequence[RunLine]  # the newest
    worse: Sequence[FindingLine]  # open, the largest effect first
    better: Sequence[FindingLine]
    failing: Sequence[Failing]
    suites: Sequence[SuiteLine]
    counts: Mapping[str, int]  # runs, series, points, machines, findings


# ---- series ----


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    """GET series/KEY: columns of equal length, oldest first. `run` and `revision` index `runs` and `revisions`."""

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


# ---- compare ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: `run:ID`, `revision:ID`, `machine:KEY` or `runtime:NAME`."""

    given: str
    label: str
    runs: Sequence[str]
    at: int
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLine:
    """One metric of one case on both sides; None where a side has none."""

    case: str
    params: Mapping[str, Scalar]
    metric: str
    unit: str
    better: str
    before: Estimate | None
    after: Estimate | None
    ratio: Estimate | None
    verdict: Verdict
    sentence: str
    before_result: str  # id of one result, for the distributions; "" where there is none
    after_result: str
    series: Sequence[str]  # keys
    machine: str = ""  # its name, where a side has several


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact that differs between the sides."""

    what: str  # packages.numpy, knobs.governor, ...
    before: Value
    after: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """GET compare?a=SIDE&b=SIDE"""

    a: Side
    b: Side
    lines: Sequence[ComparedLine]  # the largest effect first
    differences: Sequence[Difference]
    metrics: Sequence[str]  # that there are
    counts: Mapping[str, int]  # by verdict
    notes: Sequence[str]


# ---- matrix ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One place of a matrix."""

    row: int
    column: int
    estimate: Estimate
    relative: float | None  # to the baseline's value of the same row
    series: str
    result: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A place of a matrix whose newest try gave no number; a cell may still show an older one."""

    row: int
    column: int
    status: Status
    reason: str
    run: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """GET matrix?metric=&rows=&columns=&baseline=: newest values by two dimensions."""

    metric: str
    unit: str
    better: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Cell]
    baseline: str  # the column others are relative to, or ""
    metrics: Sequence[str]  # what else could be shown
    dimensions: Sequence[str]  # model, runtime, device, machine, batch_size, ...
    row_dimension: str
    column_dimension: str
    # what is fixed: dimension -> chosen, and what could be chosen
    chosen: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    missing: Sequence[Missing] = ()


# ---- run and result ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveLine:
    """An objective as it was read, and whether every round of every case keeps it."""

    objective: str
    met: bool
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """GET runs/RUN"""

    line: RunLine
    harness: str
    command: Sequence[str]  # that repeats it
    reason: str
    baseline: str
    previous: str  # the run before it that measured the same, "" when there is none
    cases: Sequence[CaseLine]
    machines: Mapping[str, str]
    objectives: Sequence[ObjectiveLine]
    rates: Sequence[str]  # of open loops: what was asked for, drawn and delivered


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Calls of one column, folded: `edges` has one more than `counts`. `quantiles` for a cumulative plot."""

    column: str  # latency, service, lateness
    unit: str
    count: int
    edges: Sequence[float]
    counts: Sequence[int]
    quantiles: Sequence[tuple[float, float]]  # (share, value)
    over_time: Sequence[tuple[float, float]]  # (seconds, value): every call, or the least and largest of stretches


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """GET results/RESULT"""

    id: str
    run: str
    case: str
    params: Mapping[str, Scalar]
    runtime: str
    device: str
    precision: str
    uri: str
    load: Mapping[str, Value]
    inputs: Mapping[str, Value]
    round: int
    status: Status
    started_at: int
    duration: float
    revision: Revision | None
    metrics: Sequence[Metric]
    series: Mapping[str, str]  # metric -> key
    distributions: Sequence[Distribution]
    note: str  # why there are no calls to show: they aged out; "" when nothing is missing
    timelines: Sequence[Timeline]
    operators: Sequence[Operator]
    warnings: Sequence[ResultWarning]
    error: Failure | None
    log_tail: str
    artifacts: Sequence[Artifact]
    details: Mapping[str, Value]
    instrument: Mapping[str, Value]
    environment: Mapping[str, Value]
    command: Sequence[str]
    rounds: Sequence[str]  # the other results of the same case in the run, by round


# ---- findings ----


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """GET findings/ID"""

    line: FindingLine
    method: str
    revisions: Sequence[str]
    runs: Sequence[str]
    suspects: Sequence[Suspect]
    why: Mapping[str, Value]
    remarks: Sequence[Remark]
    commands: Sequence[str]  # what to do next: bisect, ab, show
    view: SeriesView | None  # its picture
    calibration: str = ""  # how often the machine gives false alarms; "" where nobody knows


# ---- machines ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How much the rounds of runs differ on a machine: one point a run, the median over its cases."""

    at: Sequence[int]
    spread: Sequence[float]  # relative half-width of the intervals, a share
    runs: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLine:
    """Who measured what."""

    key: str
    name: str
    facts: Mapping[str, Value]
    results: int
    failed: int
    cases: int
    first_at: int
    last_at: int
    noise: Noise
    calibration: Mapping[str, str] = field(default_factory=dict)  # how often it gives false alarms; empty: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesPage:
    """GET machines"""

    machines: Sequence[MachineLine]


# ---- live ----


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A run that is under way."""

    run: str
    started_at: int
    spoke_at: int
    planned: int
    done: int
    failed: int
    case: str
    params: Mapping[str, str]
    round: int
    phase: str
    host: str
    results: Sequence[CaseLine]  # what it measured so far, the newest last


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """GET live (server-sent events named `live`, the whole of it each time)"""

    runs: Sequence[LiveRun]
    newest: int
