"""Records of the lab's part of the API: what agents and people send, and what they are answered with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchwright.lab.parcels import LabParcel
from benchwright.records import Run, Value
from benchwright.records.lab import ANY, LabWork


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedMachine:
    """A machine that an agent offers."""

    name: str
    kind: str = "host"  # or "phone"
    key: str = ""  # what tells the series that it measures from others
    facts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""  # why it takes no work just now


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """An agent that begins, with the machines that it offers."""

    agent: str
    version: str = ""
    machines: tuple[OfferedMachine, ...] = ()
    holding: tuple[str, ...] = ()  # fences of what it measures, or has measured and not delivered yet
    unharmed: tuple[str, ...] = ()  # machines that were well when the agent before this one was killed


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """What an agent has to keep to. Times are seconds."""

    heartbeat: float  # between two words about a job that is measured
    lease: float  # without a word after which a job is given to another machine
    poll: float  # that a question for work may wait for an answer
    returned: int  # jobs that the machines had before and that went back to the queue
    now: float = 0.0  # the server's clock, in seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingAgent:
    """Machines that are offered no longer."""

    machines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClaim:
    """A machine that asks for work."""

    machine: str
    trouble: str = ""  # why it takes none just now; the server then only hears that it is there
    wait: float = 20.0  # seconds to wait for work, at most as many as the server allows


@dataclass(frozen=True, slots=True, kw_only=True)
class LabClaim:
    """A job for a machine, as `benchwright.records.lab.LabLease` has it; or why there is none."""

    lease: Value
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseWord:
    """What a machine does with its job just now."""

    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """How many more seconds a lease lasts without another word."""

    lease: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedJob:
    """A job that an agent gives back."""

    kind: str  # "returned": the agent ends; "refused": this machine does not run such things; "failed"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFiles:
    """Digests of files: SHA-256."""

    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFiles:
    """Those of the digests that the server has no file of."""

    missing: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedJob:
    """One case to measure, and which of the submission's parcels it needs."""

    work: LabWork
    parcel: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSubmission:
    """Cases for machines of the lab."""

    run: Run  # without results
    parcels: tuple[LabParcel, ...]
    jobs: tuple[SubmittedJob, ...]
    selector: str = "*"
    where: str = ANY  # or "each": on every machine that fits
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPlan:
    """Code whose cases are wanted, as the machine sees them that will measure them."""

    id: str  # begins with "plan-"
    request: Mapping[str, Value]  # as `benchwright.execution.plan_elsewhere.encode` writes it
    parcel: LabParcel
    paths: tuple[str, ...] = ()  # where modules are looked for first
    selector: str = "*"
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCode:
    """What a machine found in code: `cases`, or `error`, `message` and `remedy`."""

    answer: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """What a machine found: `cases`, or `error`, `message` and `remedy`."""

    plan: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What became of a submission."""

    run: str
    jobs: int
    machines: Sequence[str]  # that fit


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelWish:
    """Why a run is cancelled."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityWish:
    """How urgent a run is: more is sooner; 0 unless somebody says."""

    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldWish:
    """Why a machine is held, and how long. Instants are milliseconds since 1970."""

    reason: str = ""
    until: int | None = None  # None: until somebody ends it
    who: str = ""  # for whom it is reserved, where an administrator says so


@dataclass(frozen=True, slots=True, kw_only=True)
class LabChange:
    """What was changed: a run with how many of its jobs, or a machine."""

    name: str
    count: int = 1
