"""The records that several pages show. The dashboard's types are generated from here too (`make types`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchwright.records import Estimate, Failure, Metric, ResultWarning, Revision, Scalar, Value, Verdict
from benchwright.records.code import CodeLinks
from benchwright.records.findings import Drift, Remark, State, Suspect


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
    cases: Sequence[str]  # the first 50 names
    results: int
    failed: int
    planned: int
    revision: Revision | None
    tags: Sequence[str]
    case_count: int = 0  # names in all
    held: int = 0  # results that were measured in quarantine: they are not judged
    is_race: bool = False  # whether `benchwright tune` made it


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
    cause: str = ""  # id of the cause that it shares with others
    revisions: Sequence[str] = ()  # the last that was as before, and the newest that may have changed it
    repository: str = ""  # of its revisions


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseLine:
    """A cause in a list: what its findings are in all, and the largest of them."""

    id: str
    lead: FindingLine  # the largest change for the worse; where nothing is worse, the largest one
    culprit: Suspect | None  # the commit that most of them point to
    findings: int
    series: int
    cases: int
    worse: int
    better: int
    largest: float  # by which factor the lead changed, whatever its direction
    median: float  # the same of the findings that have the lead's verdict
    metrics: Sequence[str]
    machines: Mapping[str, str]  # key -> name
    suites: Sequence[str]
    state: State  # the most urgent one of its findings
    states: Mapping[str, int]
    assignees: Sequence[str]
    found_at: int  # the first of them
    newest_at: int  # the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A page that shows commits: where each repository that it names shows its code.

    "" stands for what names no repository. `pages.code` fills it in, from what is configured.
    """

    code: Mapping[str, CodeLinks] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Linked):
    """Where a list goes on; "" at its end."""

    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseView(Page):
    """GET causes/ID: a cause with its findings, the largest change first"""

    line: CauseLine
    findings: Sequence[FindingLine]
    remarks: Sequence[Remark]  # what people said and did, of the findings that are listed
    commands: Sequence[str]  # what to do next


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
    machine: str = ""  # of a run that several machines measured: the one that measured this


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCell:
    """What one machine says of a case: a number, or how its attempts ended."""

    estimate: Estimate | None
    status: str
    result: str  # of its first round


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCase:
    """One case of a run on every machine."""

    label: str
    metric: str  # its chief one; "" where no machine has a number
    unit: str
    cells: Sequence[MachineCell | None]  # one for each machine; null where it did not measure the case


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTable:
    """A run that several machines measured: the first 200 cases, with a column for each machine."""

    machines: Sequence[tuple[str, str]]  # the key and the name of each
    cases: Sequence[MachineCase]
    total: int  # cases in all


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLine:
    """A machine of a cloud that was leased for a run, until its last result."""

    machine: str  # aws/c7i.large@eu-central-1
    instance: str
    zone: str
    seconds: float
    cost: float | None  # null: its price is not known
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WarnedCases:
    """A warning, and the cases of a run that it was seen in."""

    warning: ResultWarning
    cases: Sequence[str]  # labels of the first 20
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCase:
    """A case of a run that failed, and why."""

    label: str
    result: str
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """GET about"""

    version: str
    store: str  # shown without secrets
    who: str  # the name of the token or of the person, or ""
    scopes: Sequence[str]  # read, write, triage, admin: what this visitor may do
    static: bool  # a published site: nothing can be changed
    generated_at: int
    home: str = ""  # the address of the page that opens first; "" for the overview
    person: bool = False  # somebody who signed in, not a token
    sign_in: str = ""  # what the button says that leads to the provider; "" where there is none


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
    release: bool = False  # it stands on the axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How far everything is judged that the store holds."""

    until: str  # the run up to which everything is; "" when no run is
    waiting: int  # results
    since: int  # when the one that waits longest arrived; 0 when none waits
    older: int  # results that were kept before a store noted what is judged: nobody knows of these
    failing: str  # why nothing is judged at present; "" when all is well
    failing_since: int
    troubles: int  # series that could not be judged
    trouble: str  # why, of the last of them


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineLine:
    """A stretch of time in which the results of a machine are kept and marked, but not judged."""

    since: int
    until: int | None  # None: until somebody releases the machine
    reason: str
    who: str
    made_at: str
    released_by: str  # "" where it ended by itself, or lasts
    finding: str = ""  # of the control benchmark, where that is the reason


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
    trouble: str = ""  # what is out of its usual in the newest runs; "" when nothing is
    quarantine: QuarantineLine | None = None  # the one that lasts now


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesPage:
    """GET machines"""

    machines: Sequence[MachineLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLine:
    """One signal of a machine's health over its runs, in per cent; more is worse."""

    name: str  # "noise", or a metric
    title: str
    at: Sequence[int]
    values: Sequence[float]
    limits: Sequence[float | None]  # above which a value is out of the usual; None while too little is known
    runs: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlLine:
    """One part of a machine's control benchmark over its runs: the time of a call in per cent of the usual."""

    name: str  # "integer", "memory", "matrix"
    series: str
    python: str  # its version
    version: int  # of the control benchmark
    usual: float  # seconds: the median of what was measured outside of quarantines
    at: Sequence[int]
    values: Sequence[float]
    runs: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """GET machines/KEY"""

    line: MachineLine
    health: Sequence[HealthLine]
    quarantines: Sequence[QuarantineLine]  # past, present and to come, the latest first
    control: Sequence[ControlLine] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineNotice:
    """A machine that somebody should look at: it is in quarantine, or out of its usual."""

    key: str
    name: str
    trouble: str  # what is out of its usual in the newest runs; "" when nothing is
    quarantine: QuarantineLine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineNotices:
    """GET machines/notices"""

    notices: Sequence[MachineNotice]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDraft:
    """GET findings/ID/issue: what an issue about it says, and whether there is one."""

    title: str
    text: str  # Markdown
    form: str  # the address of the forge's form, filled in; "" where the forge has none
    shortened: bool  # the form holds less than the text: addresses are bounded
    can_send: bool  # the server has a token, and can open it by itself
    opened: str = ""  # the address of the one that was opened, as the story tells
    request: int = 0  # the pull request that the probable culprit came with; 0 when nobody knows
    commented: str = ""  # the address of the comment there, as the story tells
