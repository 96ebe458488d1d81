"""The records of the lab's page, and of one submission to it. The dashboard's types are generated from here too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class LabJobLine:
    """One case with all its rounds, for one machine of the lab."""

    id: str
    run: str
    case: str  # its name and its params
    state: str  # queued, leased, done, failed, cancelled
    who: str = ""  # submitted it
    selector: str = ""  # which machines may measure it
    priority: int = 0
    submitted_at: int  # milliseconds since 1970
    machine: str = ""  # that has it, had it, or is the only one meant
    attempt: int = 0  # how many machines have begun it
    leased_at: int = 0  # since when the machine has it; 0: nobody has
    ended_at: int = 0
    phase: str = ""  # what the machine does with it: the round, and how far that is
    position: int = 0  # in the queue, from 1; 0: it does not wait
    wait: float | None = None  # seconds until it begins, as far as that can be told
    reason: str = ""  # why it waits, failed or was cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMachineLine:
    """A machine or a phone that an agent offers."""

    name: str
    agent: str
    kind: str  # host, phone
    state: str  # free, busy, reserved, draining, drained, quarantined, troubled, away
    facts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    seen_at: int = 0  # when its agent last spoke, milliseconds since 1970
    reason: str = ""  # of the state: why it is drained, in quarantine or takes no work
    who: str = ""  # decided so
    until: int | None = None  # when that ends by itself
    reserved_for: str = ""
    reserved_until: int | None = None
    health: str = ""  # what its last check of itself found; "" for nothing
    key: str = ""  # of its page among machines; "" until it has measured
    version: str = ""  # of its agent
    job: LabJobLine | None = None  # what it measures now


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPage:
    """GET lab: the machines of the lab, what waits for them, and why nothing is running."""

    machines: tuple[LabMachineLine, ...]
    queue: tuple[LabJobLine, ...]  # the first of those that wait, in their order
    queued: int  # in all
    why: str = ""  # why nothing is running, although something waits


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSubmissionView:
    """GET lab/submissions/RUN: how far what was put into the queue is."""

    run: str
    who: str = ""
    submitted_at: int
    where: str  # any, each
    selector: str = ""
    priority: int = 0
    state: str  # queued, running, done, failed, cancelled: of all its jobs together
    jobs: tuple[LabJobLine, ...]
