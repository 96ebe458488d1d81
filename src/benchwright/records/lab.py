"""The lab: machines that agents offer, jobs that wait for one, and what each of them is about.

Instants are microseconds since 1970, by the server's clock: no clock of an agent meets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchwright.records import Case, Profile, Value
from benchwright.records.machines import Quarantine
from benchwright.records.prices import Price

DRAIN = "drain"  # kinds of holds
RESERVATION = "reservation"
ANY, EACH = "any", "each"  # where the cases of a submission are measured
SECOND = 1_000_000  # instants are in microseconds
ABSENT = 90.0  # seconds without a word after which a machine counts as away, and is not waited for
CONTROLLER = "benchwright"  # who submits the control benchmarks of machines: the server itself
PLAN = "plan-"  # begins the id of what is planned by a machine: it is no run, and has no results
PREFIX = "lab:"  # before a machine's name, where results name the machine that measured them


class JobState(StrEnum):
    """How far a job is."""

    QUEUED = "queued"
    LEASED = "leased"  # an agent has it
    DONE = "done"  # its results are kept, whatever they say
    FAILED = "failed"  # it was given back too often
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether something is still to come of it."""
        return self in (JobState.QUEUED, JobState.LEASED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMachine:
    """A machine that an agent offers: the one it runs on, or a phone on its cable."""

    name: str
    agent: str
    kind: str = "host"  # or "phone"
    key: str = ""  # schema.environment_key of what it measures
    version: str = ""  # of the agent
    facts: Mapping[str, str] = field(default_factory=dict)  # cpu, cores, memory, gpu, os, arch, python, device, ...
    labels: Mapping[str, str] = field(default_factory=dict)  # what its owner says of it
    trouble: str = ""  # why it takes no work just now, as its agent says; "" when nothing is wrong
    who: str = ""  # the token of its agent
    registered_at: int = 0
    seen_at: int = 0
    is_offered: bool = True  # False: its agent has ended
    control_at: int = 0  # when its control benchmark was last put into the queue; 0: never

    @property
    def described(self) -> Mapping[str, str]:
        """Everything that a selector may ask for, by name. An owner's label does not hide a fact."""
        own = {"machine": self.name, "agent": self.agent, "kind": self.kind}
        return {**self.labels, **self.facts, **own}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHold:
    """Why a machine does not work for everybody: it is drained, or somebody has reserved it."""

    machine: str
    kind: str  # DRAIN or RESERVATION
    who: str
    reason: str = ""
    since: int = 0
    until: int | None = None  # None: until somebody ends it

    def lasts(self, at: int) -> bool:
        """Whether it holds at an instant."""
        return self.until is None or at < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class LabWork:
    """What a job is about: one case with all its rounds, as `execution.plans.Plan` has it."""

    case: Case
    rounds: int = 5
    retries: int = 0
    monitors: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # as they read where it was submitted
    last_paths: tuple[str, ...] = ()
    profile: Profile | None = None
    profile_inline: bool = False
    operators: bool = False
    cpus: tuple[int, ...] = ()
    memory: int | None = None
    price: Price | None = None
    by_hand: bool = False
    phone: str = ""  # how a phone is to be when a case begins: `cool=35C&screen=off`
    notes: Mapping[str, Value] = field(default_factory=dict)  # kept with each result, among its details
    planning: Mapping[str, Value] = field(
        default_factory=dict
    )  # a request whose cases are wanted; then it is not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class LabJob:
    """One case, on its way to a machine and back."""

    id: int
    run: str
    case: str  # its name, with its parameters
    selector: str
    state: JobState
    who: str  # submitted it
    priority: int = 0
    machine: str = ""  # the one it is meant for; "" for any that fits
    prefers: str = ""  # the one that measured this case last
    avoid: tuple[str, ...] = ()  # machines that refused it
    attempt: int = 0  # how often it was given to a machine, but for those times
    losses: int = 0  # how often its agent was killed for reasons of its own
    fence: str = ""  # of its present or last lease
    leased_to: str = ""  # the machine that has it, or had it last
    since: int = 0  # of the lease
    until: int = 0  # while it waits: before which the machine that had it last does not get it again
    phase: str = ""  # what it does just now
    reasons: tuple[str, ...] = ()  # why it was given back, each time
    queued_at: int = 0
    ended_at: int = 0
    parcel: str = ""  # the digest of the list of its files
    rounds: int = 0
    expected: float = 0.0  # seconds that it may take, from what is known of its case; 0: nothing is


@dataclass(frozen=True, slots=True, kw_only=True)
class LabLease:
    """A job that a machine may measure until an instant; the fence is what tells it from any other lease."""

    job: LabJob
    work: LabWork
    fence: str
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSubmission:
    """What somebody put into the queue at once; its results are one run."""

    run: str
    who: str
    at: int
    selector: str
    where: str = ANY
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabState:
    """Everything that decides who works on what, at one instant."""

    machines: tuple[LabMachine, ...]
    holds: tuple[LabHold, ...] = ()
    quarantines: tuple[Quarantine, ...] = ()
    jobs: tuple[
        LabJob, ...
    ] = ()  # those that are measured, then those that wait, in the order in which they are given out
    waiting: int = 0  # how many wait, also where `jobs` holds only the first of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Where a job stands that waits, and why it does."""

    position: int  # 1: the next
    seconds: float | None  # until it begins, as far as can be told
    why: str
