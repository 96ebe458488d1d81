"""The lab for people: files and submissions, what is cancelled or urgent, machines that are drained or reserved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benchwright.errors import DecodeError
from benchwright.execution.hosts.adb import parse_wishes
from benchwright.lab import delays, parcels
from benchwright.records import CONTROL
from benchwright.records.lab import ANY, DRAIN, EACH, PLAN, RESERVATION, LabHold, LabMachine, LabState, LabSubmission
from benchwright.records.machines import Quarantine, Quarantines
from benchwright.server import bodies
from benchwright.server.access import Triages, Visitor, Writes
from benchwright.server.answers import Kept
from benchwright.server.bodies import Small
from benchwright.server.context import answer, context_of, record
from benchwright.server.documents import LONGEST_ID, check_names, check_run, check_text, record_of
from benchwright.server.errors import refusal
from benchwright.server.lab_answers import (
    CancelWish,
    HoldWish,
    LabChange,
    MissingFiles,
    NewSubmission,
    PriorityWish,
    Submitted,
    WantedFiles,
)
from benchwright.server.lab_desk import microseconds
from benchwright.server.openapi import answers_with, takes, takes_bytes
from benchwright.server.remarks import now, sign
from benchwright.server.routes.lab_agents import Digest, desk_of
from benchwright.store.sql.lab_queue import NewJob
from benchwright.units.selectors import Selector, nearest

router = APIRouter(tags=["lab"])
RunId = Annotated[str, Path(min_length=1, max_length=LONGEST_ID)]
Machine = Annotated[str, Path(min_length=1, max_length=100)]
MOST_DIGESTS, MOST_CASES, MOST_ROUNDS, MOST_PRIORITY = 100_000, 20_000, 10_000, 100
MOST_RESULTS = 100_000  # of one run: all of them are written at once when it is cancelled
LONGEST_RUN = 120  # characters of a run's id: those of its results begin with it
_LONGEST_REASON = 500
_INSTANTS = range(253_402_300_800_000)  # milliseconds since 1970, until the year 9999


@router.post(
    "/lab/missing",
    responses=answers_with(MissingFiles),
    openapi_extra=takes(WantedFiles),
    summary="Which files are not here",
)
def missing(request: Request, visitor: Writes, body: bodies.Document) -> Response:
    """Of the digests those of which the server has no file, or none from you. The others stay for a day at least."""
    wish = record_of(WantedFiles, body, context_of(request).settings.limits)
    if len(wish.digests) > MOST_DIGESTS:
        raise DecodeError(f"body.digests: more than {MOST_DIGESTS:,}", remedy="ask for some of them at a time")
    return answer(request, MissingFiles(missing=desk_of(request).files.missing(wish.digests, visitor.name)))


@router.put(
    "/lab/files/{sha256}",
    responses=answers_with(Kept) | answers_with(Kept, status=201),
    openapi_extra=takes_bytes("The file, byte for byte."),
    summary="Send a file for jobs",
)
async def send(request: Request, visitor: Writes, sha256: Digest) -> Response:
    """A file of that SHA-256. Sending it again does no harm. A job can name what its submitter has sent, no more."""
    files = desk_of(request).files
    files.path(sha256)
    declared = bodies.declared_size(request)
    added = await files.receive(sha256, bodies.read_pieces(request, files.largest), declared, visitor.name)
    if added:
        await run_in_threadpool(record, request, visitor, "send lab file", sha256)
    return await run_in_threadpool(answer, request, Kept(id=sha256, added=added), status=201 if added else 200)


@router.post(
    "/lab/submissions", responses=answers_with(Submitted), openapi_extra=takes(NewSubmission), summary="Submit cases"
)
async def submit(request: Request, visitor: Writes) -> Response:
    """Puts cases into the queue, all or none. Their files must be here; the same submission again changes nothing."""
    body = await bodies.read_whole(request, context_of(request).settings.limits.run)
    return await run_in_threadpool(_submit, request, visitor, body)


@router.post(
    "/lab/submissions/{run_id}/cancel",
    responses=answers_with(LabChange),
    openapi_extra=takes(CancelWish),
    summary="Cancel a run",
)
def cancel(request: Request, visitor: Writes, run_id: RunId, body: Small) -> Response:
    """Ends what waits and what is measured of it. For whoever submitted it, and for administrators."""
    wish = record_of(CancelWish, body, context_of(request).settings.limits)
    check_text(wish.reason, "body.reason", _LONGEST_REASON)
    desk = desk_of(request)
    _require_own(visitor, desk.store.lab.submission(run_id), "cancel")
    count = desk.store.lab.cancel(run_id, who=sign(visitor), now=microseconds(), reason=wish.reason)
    record(request, visitor, "cancel lab run", f"{run_id}: {count} jobs {wish.reason}")
    desk.tell_end(run_id)
    desk.ring()
    return answer(request, LabChange(name=run_id, count=count))


@router.post(
    "/lab/submissions/{run_id}/priority",
    responses=answers_with(LabChange),
    openapi_extra=takes(PriorityWish),
    summary="Make a run more or less urgent",
)
def set_priority(request: Request, visitor: Writes, run_id: RunId, body: Small) -> Response:
    """Of what waits, higher priorities come first. For whoever submitted it, and for administrators."""
    wish = record_of(PriorityWish, body, context_of(request).settings.limits)
    check_priority(wish.priority)
    desk = desk_of(request)
    _require_own(visitor, desk.store.lab.submission(run_id), "change")
    count = desk.store.lab.set_priority(run_id, wish.priority)
    record(request, visitor, "set lab priority", f"{run_id}: {wish.priority}")
    desk.ring()
    return answer(request, LabChange(name=run_id, count=count))


@router.post(
    "/lab/machines/{name}/drain",
    responses=answers_with(LabChange),
    openapi_extra=takes(HoldWish),
    summary="Drain a machine",
)
def drain(request: Request, visitor: Triages, name: Machine, body: Small) -> Response:
    """It finishes what it measures and takes nothing more."""
    wish = _hold_wish(request, body)
    _hold(
        request, visitor, LabHold(machine=name, kind=DRAIN, who=sign(visitor), reason=wish.reason, until=_until(wish))
    )
    return answer(request, LabChange(name=name))


@router.post(
    "/lab/machines/{name}/quarantine",
    responses=answers_with(LabChange),
    openapi_extra=takes(HoldWish),
    summary="Put a machine into quarantine",
)
def quarantine(request: Request, visitor: Triages, name: Machine, body: Small) -> Response:
    """It takes nothing more, and what it measured from now on is kept and marked, but not judged."""
    wish = _hold_wish(request, body)
    if not wish.reason.strip():
        raise DecodeError("body.reason: a quarantine needs a reason", remedy="say what is wrong with the machine")
    store, here = desk_of(request).store, microseconds()
    key = _keyed(store.lab.machine(name)).key
    if lasting := Quarantines(store.quarantines(key)).covering(key, here):
        raise refusal(409, f"the machine is in quarantine: {lasting.reason}", "resume it first")
    held = Quarantine(
        machine=key, since=here, until=_until(wish), reason=wish.reason.strip(), who=sign(visitor), made_at=now()
    )
    store.quarantine(held)
    record(request, visitor, "quarantine machine", f"{name}: {held.reason}")
    return answer(request, LabChange(name=name))


@router.post("/lab/machines/{name}/resume", responses=answers_with(LabChange), summary="Let a machine work again")
def resume(request: Request, visitor: Triages, name: Machine) -> Response:
    """Ends its drain and its quarantine."""
    desk = desk_of(request)
    machine = desk.store.lab.machine(name)
    ended = int(desk.store.lab.unhold(name, DRAIN))
    if machine.key:
        ended += desk.store.release(machine.key, microseconds(), sign(visitor))
    if not ended:
        raise refusal(404, f"{name} is neither drained nor in quarantine", "somebody may have resumed it already")
    record(request, visitor, "resume machine", name)
    desk.ring()
    return answer(request, LabChange(name=name, count=ended))


@router.post(
    "/lab/machines/{name}/reserve",
    responses=answers_with(LabChange),
    openapi_extra=takes(HoldWish),
    summary="Reserve a machine",
)
def reserve(request: Request, visitor: Writes, name: Machine, body: Small) -> Response:
    """Until then it measures for one person alone; an administrator may name another."""
    wish = _hold_wish(request, body)
    owner = visitor.name
    if wish.who and wish.who != owner:
        if "admin" not in visitor.scopes:
            raise refusal(403, "a machine can be reserved for oneself only", "ask an administrator of this server")
        owner = wish.who
    desk = desk_of(request)
    state = desk.store.lab.state(now=microseconds(), limit=0)
    other = next((one for one in state.holds if (one.machine, one.kind) == (name, RESERVATION)), None)
    if other is not None and other.who != owner and "admin" not in visitor.scopes:
        raise refusal(409, f"{name} is reserved by {other.who}", "wait until then, or talk to them")
    _hold(request, visitor, LabHold(machine=name, kind=RESERVATION, who=owner, reason=wish.reason, until=_until(wish)))
    desk.ring()
    return answer(request, LabChange(name=name))


@router.post("/lab/machines/{name}/release", responses=answers_with(LabChange), summary="End a reservation")
def release(request: Request, visitor: Writes, name: Machine) -> Response:
    """The machine measures for everybody again. For whoever reserved it, and for administrators."""
    desk = desk_of(request)
    state = desk.store.lab.state(now=microseconds(), limit=0)
    held = next((one for one in state.holds if (one.machine, one.kind) == (name, RESERVATION)), None)
    if held is None:
        raise refusal(404, f"{name} is not reserved", "somebody may have released it already")
    if held.who != visitor.name and "admin" not in visitor.scopes:
        raise refusal(403, f"{name} is reserved by {held.who}", "only they and administrators can end that")
    desk.store.lab.unhold(name, RESERVATION)
    record(request, visitor, "release machine", name)
    desk.ring()
    return answer(request, LabChange(name=name))


@router.delete("/lab/machines/{name}", status_code=204, summary="Forget a machine")
def forget(request: Request, visitor: Triages, name: Machine) -> Response:
    """Removes it from the list. An agent that still offers it brings it back when it begins again."""
    desk = desk_of(request)
    desk.store.lab.machine(name)
    if not desk.store.lab.forget(name):
        raise refusal(409, f"{name} measures something just now", "drain it first, and wait until it has finished")
    record(request, visitor, "forget machine", name)
    return Response(status_code=204)


# ---- submissions ----


def _submit(request: Request, visitor: Visitor, body: bytes) -> Response:
    wish = record_of(NewSubmission, body, context_of(request).settings.limits)
    _check(wish)
    desk = desk_of(request)
    selector = Selector.parse(wish.selector)
    state = desk.store.lab.state(now=microseconds(), limit=0)
    fitting = [machine for machine in state.machines if selector.matches(machine.described)]
    if not fitting:
        raise refusal(409, no_machine(selector, state), "benchwright lab lists the machines and what is known of them")
    machines = [""] if wish.where == ANY else _machines_for_each(fitting, state, visitor)
    packed = [parcels.pack(parcel) for parcel in wish.parcels]
    if absent := desk.files.missing(parcels.digests_of(wish.parcels), visitor.name):
        raise refusal(409, f"{len(absent)} files of the jobs are not here: {absent[0]}", "PUT lab/files/SHA256 first")
    jobs = [
        NewJob(work=job.work, parcel=packed[job.parcel][0], machine=machine)
        for machine in machines
        for job in wish.jobs
    ]
    submission = LabSubmission(
        run=wish.run.id,
        who=visitor.name,
        at=microseconds(),
        selector=selector.text,
        where=wish.where,
        priority=wish.priority,
    )
    planned = sum(job.work.rounds for job in jobs)
    if planned > MOST_RESULTS:
        raise DecodeError(
            f"body.jobs: {planned:,} results in all, and a run has at most {MOST_RESULTS:,}",
            remedy="submit several runs, or ask for fewer rounds",
        )
    numbers = desk.store.lab.submit(
        replace(wish.run, planned=planned), submission, jobs, dict(packed), now=submission.at
    )
    record(request, visitor, "submit to lab", f"{wish.run.id}: {len(numbers)} jobs for {selector.text}")
    desk.ring()
    names = machines if wish.where == EACH else [machine.name for machine in fitting]
    return answer(request, Submitted(run=wish.run.id, jobs=len(numbers), machines=names))


def _check(wish: NewSubmission) -> None:
    check_run(wish.run, "body")
    check_text(wish.run.id, "body.run.id", LONGEST_RUN)
    if wish.run.id.startswith(PLAN) or any(job.work.planning for job in wish.jobs):
        raise DecodeError("body: this is a plan, and no run", remedy="POST lab/plans")
    if wish.run.results:
        raise DecodeError("body.run: a run is submitted without results")
    if wish.where not in (ANY, EACH):
        raise DecodeError(f"body.where: {wish.where[:60]!r}", remedy=f"{ANY} or {EACH}")
    check_priority(wish.priority)
    if not 0 < len(wish.jobs) <= MOST_CASES:
        raise DecodeError(f"body.jobs: 1 to {MOST_CASES:,} jobs", remedy="submit several runs")
    for number, parcel in enumerate(wish.parcels):
        parcels.check(parcel, f"body.parcels[{number}]")
    for number, job in enumerate(wish.jobs):
        where = f"body.jobs[{number}]"
        if not 0 <= job.parcel < len(wish.parcels):
            raise DecodeError(f"{where}.parcel: there is no parcel {job.parcel}")
        if not 0 < job.work.rounds <= MOST_ROUNDS or not 0 <= job.work.retries <= MOST_ROUNDS:
            raise DecodeError(f"{where}.work: rounds are 1 to {MOST_ROUNDS:,}, retries at most as many")
        check_names({"work.case.name": [job.work.case.name]}, where)
        if job.work.phone:
            check_text(job.work.phone, f"{where}.work.phone", _LONGEST_REASON)
            parse_wishes(job.work.phone, f"*?{job.work.phone[:60]}")
        if job.work.case.name.strip().lower().startswith(CONTROL.strip()):  # its series says how a machine is
            raise DecodeError(f"{where}.work.case.name: only this server asks for controls", remedy="name it otherwise")


def check_priority(priority: int) -> None:
    """Refuses a priority that no lab knows."""
    if abs(priority) > MOST_PRIORITY:
        raise DecodeError(f"body.priority: {priority}", remedy=f"between -{MOST_PRIORITY} and {MOST_PRIORITY}")


def _machines_for_each(fitting: Sequence[LabMachine], state: LabState, visitor: Visitor) -> list[str]:
    """The machines that each measure every case: those that could begin now, or after what they do."""
    here = microseconds()
    hindered = {one.name: delays.hindrances(state, one, now=here, who=visitor.name) for one in fitting}
    able = [name for name, told in hindered.items() if not told]
    if not able:
        told = "; ".join(text for texts in hindered.values() for text in texts)
        raise refusal(409, f"no machine that fits can work: {told}"[:900], "wait, or ask for others")
    return able


def no_machine(selector: Selector, state: LabState) -> str:
    """Why no machine fits, with those that come nearest."""
    if not state.machines:
        return "there is no machine in this lab: benchwright agent offers one"
    near = nearest(selector, [(one.name, one.described) for one in state.machines])
    return f"no machine matches {selector.text}; nearest: {near}"


def _require_own(visitor: Visitor, submission: LabSubmission, what: str) -> None:
    if submission.who != visitor.name and "admin" not in visitor.scopes:
        raise refusal(
            403, f"{submission.run} was submitted by {submission.who}", f"only they and administrators can {what} it"
        )


# ---- holds ----


def _hold_wish(request: Request, body: bytes) -> HoldWish:
    wish = record_of(HoldWish, body, context_of(request).settings.limits)
    check_text(wish.reason, "body.reason", _LONGEST_REASON)
    check_text(wish.who, "body.who", 200)
    if wish.until is not None and (wish.until not in _INSTANTS or wish.until <= time.time() * 1000):
        raise DecodeError(f"body.until: {wish.until}", remedy="milliseconds since 1970, later than now")
    return wish


def _until(wish: HoldWish) -> int | None:
    return None if wish.until is None else wish.until * 1000


def _hold(request: Request, visitor: Visitor, hold: LabHold) -> None:
    desk_of(request).store.lab.hold(replace(hold, since=microseconds()))
    done = "drain machine" if hold.kind == DRAIN else "reserve machine"
    record(request, visitor, done, f"{hold.machine}: {hold.who} {hold.reason}")


def _keyed(machine: LabMachine) -> LabMachine:
    if not machine.key:
        raise refusal(409, f"{machine.name} has not said what it measures on", "drain it instead")
    return machine
