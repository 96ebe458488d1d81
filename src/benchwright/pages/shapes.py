"""The records that pages are made of. The dashboard's types are generated from here (`make types`).

Instants are milliseconds since 1970, as browsers count. Values are in base units. Nothing here is text to be parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchwright.pages.compared_shapes import Cell as Cell
from benchwright.pages.compared_shapes import ComparedColumn as ComparedColumn
from benchwright.pages.compared_shapes import ComparedLine as ComparedLine
from benchwright.pages.compared_shapes import Comparison as Comparison
from benchwright.pages.compared_shapes import Difference as Difference
from benchwright.pages.compared_shapes import Matrix as Matrix
from benchwright.pages.compared_shapes import MeanColumn as MeanColumn
from benchwright.pages.compared_shapes import MeanRatio as MeanRatio
from benchwright.pages.compared_shapes import Missing as Missing
from benchwright.pages.compared_shapes import Pareto as Pareto
from benchwright.pages.compared_shapes import ParetoPoint as ParetoPoint
from benchwright.pages.compared_shapes import Side as Side
from benchwright.pages.lab_shapes import LabJobLine as LabJobLine
from benchwright.pages.lab_shapes import LabMachineLine as LabMachineLine
from benchwright.pages.lab_shapes import LabPage as LabPage
from benchwright.pages.lab_shapes import LabSubmissionView as LabSubmissionView
from benchwright.pages.list_shapes import CausesPage as CausesPage
from benchwright.pages.list_shapes import Facet as Facet
from benchwright.pages.list_shapes import FacetValue as FacetValue
from benchwright.pages.list_shapes import FindingsPage as FindingsPage
from benchwright.pages.list_shapes import PriceMark as PriceMark
from benchwright.pages.list_shapes import Release as Release
from benchwright.pages.list_shapes import RunsPage as RunsPage
from benchwright.pages.list_shapes import SeriesPage as SeriesPage
from benchwright.pages.list_shapes import SeriesView as SeriesView
from benchwright.pages.list_shapes import ViewLine as ViewLine
from benchwright.pages.list_shapes import ViewsPage as ViewsPage
from benchwright.pages.parts import About as About
from benchwright.pages.parts import CaseLine as CaseLine
from benchwright.pages.parts import CauseLine as CauseLine
from benchwright.pages.parts import CauseView as CauseView
from benchwright.pages.parts import ControlLine as ControlLine
from benchwright.pages.parts import FailedCase as FailedCase
from benchwright.pages.parts import FindingLine as FindingLine
from benchwright.pages.parts import HealthLine as HealthLine
from benchwright.pages.parts import IssueDraft as IssueDraft
from benchwright.pages.parts import Judging as Judging
from benchwright.pages.parts import LeaseLine as LeaseLine
from benchwright.pages.parts import Linked as Linked
from benchwright.pages.parts import MachineCase as MachineCase
from benchwright.pages.parts import MachineCell as MachineCell
from benchwright.pages.parts import MachineLine as MachineLine
from benchwright.pages.parts import MachineNotice as MachineNotice
from benchwright.pages.parts import MachineNotices as MachineNotices
from benchwright.pages.parts import MachinesPage as MachinesPage
from benchwright.pages.parts import MachineTable as MachineTable
from benchwright.pages.parts import MachineView as MachineView
from benchwright.pages.parts import Mark as Mark
from benchwright.pages.parts import Noise as Noise
from benchwright.pages.parts import Note as Note
from benchwright.pages.parts import Page as Page
from benchwright.pages.parts import QuarantineLine as QuarantineLine
from benchwright.pages.parts import RunLine as RunLine
from benchwright.pages.parts import SeriesLine as SeriesLine
from benchwright.pages.parts import WarnedCases as WarnedCases
from benchwright.pages.race_shapes import RaceBreach as RaceBreach
from benchwright.pages.race_shapes import RaceCellLine as RaceCellLine
from benchwright.pages.race_shapes import RaceMetric as RaceMetric
from benchwright.pages.race_shapes import RaceView as RaceView
from benchwright.pages.request_shapes import FailureKind as FailureKind
from benchwright.pages.request_shapes import RequestLine as RequestLine
from benchwright.pages.request_shapes import RequestsView as RequestsView
from benchwright.pages.request_shapes import SweepLine as SweepLine
from benchwright.pages.request_shapes import SweepMark as SweepMark
from benchwright.pages.settings_shapes import AuditLine as AuditLine
from benchwright.pages.settings_shapes import AuditPage as AuditPage
from benchwright.pages.settings_shapes import MuteLine as MuteLine
from benchwright.pages.settings_shapes import PeoplePage as PeoplePage
from benchwright.pages.settings_shapes import PersonLine as PersonLine
from benchwright.pages.settings_shapes import PreviewedFinding as PreviewedFinding
from benchwright.pages.settings_shapes import RulePreview as RulePreview
from benchwright.pages.settings_shapes import RulesPage as RulesPage
from benchwright.pages.settings_shapes import TargetLine as TargetLine
from benchwright.pages.settings_shapes import TargetsPage as TargetsPage
from benchwright.pages.settings_shapes import ThresholdLine as ThresholdLine
from benchwright.pages.settings_shapes import TokenLine as TokenLine
from benchwright.pages.settings_shapes import TokensPage as TokensPage
from benchwright.pages.speedups import SpeedUpLine as SpeedUpLine
from benchwright.pages.speedups import SpeedUpMark as SpeedUpMark
from benchwright.records import (
    Artifact,
    Failure,
    Metric,
    Operator,
    ResultWarning,
    Revision,
    Scalar,
    Status,
    Timeline,
    Value,
)
from benchwright.records.findings import Remark, Suspect

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
class Overview(Linked):
    """GET overview"""

    runs: Sequence[RunLine]  # the newest
    causes: Sequence[CauseLine]  # of open findings: those with something worse first, the largest change first
    worse: Sequence[FindingLine]  # the largest of each cause that made something worse
    better: Sequence[FindingLine]  # the same of the other causes
    failing: Sequence[Failing]
    suites: Sequence[SuiteLine]
    counts: Mapping[str, int]  # runs, series, points, machines, findings; of open findings: open, worse, causes...
    judging: Judging


# ---- run and result ----


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceLine:
    """Which case of a run to choose for an aim, as the HTML report says it."""

    aim: str
    text: str
    case: str  # its label; "" where no case meets the aim
    rivals: Sequence[str]  # labels of those that cannot be told from it


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveLine:
    """An objective as it was read, and whether every round of every case keeps it."""

    objective: str
    met: bool
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView(Linked):
    """GET runs/RUN"""

    line: RunLine
    harness: str
    command: Sequence[str]  # that repeats it
    reason: str
    baseline: str
    previous: str  # the run before it that measured the same, "" when there is none
    cases: Sequence[CaseLine]  # a page of them
    machines: Mapping[str, str]
    objectives: Sequence[ObjectiveLine]
    rates: Sequence[str]  # of open loops: what was asked for, drawn and delivered
    training: Sequence[str] = ()  # of tasks: goals that a round never reached, and what is left out as warm-up
    quarantines: Mapping[str, QuarantineLine] = field(default_factory=dict)  # by machine: those it was measured in
    advice: Sequence[AdviceLine] = ()
    cautions: Sequence[str] = ()  # before choosing by these measurements
    next: str = ""  # `after` of the next page of cases; "" on the last one
    case_count: int = 0  # in all
    found: int = 0  # that have the words which were asked for
    metrics: Sequence[str] = ()  # of all cases, those that are judged first
    warned: Sequence[WarnedCases] = ()  # of all cases
    failing: Sequence[FailedCase] = ()  # the first 50
    by_machine: MachineTable | None = None  # where several machines measured the same cases
    prices: Sequence[str] = ()  # what its costs rest on: shape, market, day, amount and source
    leases: Sequence[LeaseLine] = ()  # the machines of clouds that were leased for it, the first 200
    instances: Sequence[str] = ()  # how much instances of one shape differ, in words, for each case
    speedups: Sequence[SpeedUpLine] = ()  # by numbers of processes that a launcher started
    sweeps: Sequence[SweepLine] = ()  # of served models: users or rates, with the knee
    requests: Sequence[str] = ()  # how many were made of served models, and of each class how many failed
    race: RaceView | None = None  # of a run that `benchwright tune` made; on the first page of its cases alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Calls of one column, folded: `edges` has one more than `counts`. `quantiles` for a cumulative plot."""

    column: str  # latency, service, lateness; of served models also ttft, itl
    unit: str
    count: int
    edges: Sequence[float]
    counts: Sequence[int]
    quantiles: Sequence[tuple[float, float]]  # (share, value)
    over_time: Sequence[tuple[float, float]]  # (seconds, value): every call, or the least and largest of stretches
    of: str = "call"  # what is counted: a call, a request, a gap


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueBand:
    """A value that all rounds of a task printed over time: the lowest, the middle and the highest of them."""

    name: str
    rounds: int
    seconds: Sequence[float]
    low: Sequence[float]
    middle: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView(Linked):
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
    quarantine: QuarantineLine | None = None  # the one it was measured in: it is not judged
    distributed: int = 1  # rounds whose calls the distributions show
    requests: RequestsView | None = None  # of a served model
    bands: Sequence[ValueBand] = ()  # of a task, where enough rounds printed the same values


# ---- findings ----


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView(Linked):
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
    siblings: int = 0  # how many more findings have its cause


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
