"""The lab's page and one submission, made of the state of the lab: pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchwright.lab.delays import explain
from benchwright.pages.lab_shapes import LabJobLine, LabMachineLine, LabPage, LabSubmissionView
from benchwright.records.lab import (
    ABSENT,
    DRAIN,
    RESERVATION,
    SECOND,
    JobState,
    LabHold,
    LabJob,
    LabMachine,
    LabState,
    LabSubmission,
    Waiting,
)
from benchwright.records.machines import Quarantine

MOST = 100  # jobs of the queue that are shown


def lab_page(state: LabState, *, now: int) -> LabPage:
    """The machines, the first of what waits for them, and why nothing is running; `now` in microseconds."""
    waiting = explain(state, now=now)
    queued = [job for job in state.jobs if job.state is JobState.QUEUED]
    leased = {job.leased_to: job for job in state.jobs if job.state is JobState.LEASED}
    first = [_job_line(job, waiting) for job in queued[:MOST]]
    return LabPage(
        machines=tuple(_machine_line(one, state, leased.get(one.name), now) for one in state.machines),
        queue=tuple(first),
        queued=max(state.waiting, len(queued)),
        why=_why(first) if not leased else "",
    )


def _why(queue: Sequence[LabJobLine]) -> str:
    """Why nothing is running: of the first job that some machine could take, or of the first of all."""
    able = [job for job in queue if job.wait is not None]
    return next((job.reason for job in (*able, *queue)), "")


def machine_line(state: LabState, name: str, *, now: int) -> LabMachineLine:
    """One machine of the lab, which must be there."""
    machine = next(one for one in state.machines if one.name == name)
    job = next((one for one in state.jobs if one.state is JobState.LEASED and one.leased_to == name), None)
    return _machine_line(machine, state, job, now)


def submission_view(
    submission: LabSubmission, jobs: Sequence[LabJob], state: LabState, *, now: int
) -> LabSubmissionView:
    """How far a submission is."""
    waiting = explain(state, now=now) if any(job.state is JobState.QUEUED for job in jobs) else {}
    return LabSubmissionView(
        run=submission.run,
        who=submission.who,
        submitted_at=submission.at // 1000,
        where=submission.where,
        selector=submission.selector,
        priority=submission.priority,
        state=_whole_state(jobs),
        jobs=tuple(_job_line(job, waiting) for job in jobs),
    )


def _whole_state(jobs: Sequence[LabJob]) -> str:
    """Of all jobs together: what is still to come counts first, then what went wrong."""
    states = {job.state for job in jobs}
    if states == {JobState.QUEUED}:
        return "queued"
    if any(state.is_open for state in states):
        return "running"
    for state in (JobState.CANCELLED, JobState.FAILED):
        if state in states:
            return state.value
    return JobState.DONE.value


def _job_line(job: LabJob, waiting: Mapping[int, Waiting]) -> LabJobLine:
    stands = waiting.get(job.id)
    is_leased = job.state is JobState.LEASED
    return LabJobLine(
        id=str(job.id),
        run=job.run,
        case=job.case,
        state=job.state.value,
        who=job.who,
        selector=job.selector,
        priority=job.priority,
        submitted_at=job.queued_at // 1000,
        machine=job.machine if job.state is JobState.QUEUED else job.leased_to or job.machine,
        attempt=job.attempt + job.losses,
        leased_at=job.since // 1000 if is_leased else 0,
        ended_at=job.ended_at // 1000,
        phase=job.phase if is_leased else "",
        position=stands.position if stands else 0,
        wait=stands.seconds if stands else None,
        reason=_reason(job, stands),
    )


def _reason(job: LabJob, stands: Waiting | None) -> str:
    """Why it waits, and what went wrong before; of one that has ended, what ended it."""
    before = job.reasons[-1] if job.reasons else ""
    if job.state is JobState.QUEUED:
        return "; ".join(filter(None, [stands.why if stands else "", before and f"before: {before}"]))
    return before


def _machine_line(machine: LabMachine, state: LabState, job: LabJob | None, now: int) -> LabMachineLine:
    holds = {hold.kind: hold for hold in state.holds if hold.machine == machine.name and hold.lasts(now)}
    held = next((one for one in state.quarantines if machine.key and one.machine == machine.key), None)
    named = _machine_state(machine, holds, held, job, now)
    why: Quarantine | LabHold | None = held or holds.get(DRAIN)
    reserved = holds.get(RESERVATION)
    return LabMachineLine(
        name=machine.name,
        agent=machine.agent,
        kind=machine.kind,
        state=named,
        facts=machine.facts,
        labels=machine.labels,
        seen_at=machine.seen_at // 1000,
        reason=why.reason if why else "",
        who=why.who if why else "",
        until=why.until // 1000 if why and why.until is not None else None,
        reserved_for=reserved.who if reserved else "",
        reserved_until=reserved.until // 1000 if reserved and reserved.until is not None else None,
        health=machine.trouble,
        key=machine.key,
        version=machine.version,
        job=_job_line(job, {}) if job else None,
    )


def _machine_state(
    machine: LabMachine, holds: Mapping[str, LabHold], held: Quarantine | None, job: LabJob | None, now: int
) -> str:
    """One word: what keeps it from work comes before what it does."""
    if job is None and (not machine.is_offered or now - machine.seen_at >= ABSENT * SECOND):
        return "away"
    if held is not None:
        return "quarantined"
    if DRAIN in holds:
        return "draining" if job else "drained"
    if job is not None:
        return "busy"
    if machine.trouble:
        return "troubled"
    return "reserved" if RESERVATION in holds else "free"
