"""The lab's agents: they offer machines, claim jobs, and deliver results. Their tokens open nothing else."""

from __future__ import annotations

import re
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records.lab import LabLease, LabMachine
from benchwright.schema import quick_json
from benchwright.server import bodies
from benchwright.server.access import Agents, Visitor
from benchwright.server.answers import Answered, Kept
from benchwright.server.bodies import Small
from benchwright.server.context import answer, context_of, pack_response, record, record_once
from benchwright.server.documents import check_text, record_of, run_of
from benchwright.server.errors import refusal
from benchwright.server.lab_answers import (
    AgentTerms,
    LabClaim,
    LeaseTerms,
    LeaseWord,
    LeavingAgent,
    NewAgent,
    NewClaim,
    OfferedMachine,
    ReturnedJob,
)
from benchwright.server.lab_desk import HEARTBEAT, POLL, LabDesk, microseconds
from benchwright.server.openapi import answers_with, takes, takes_bytes, takes_document
from benchwright.server.routes.artifacts import Id, Name, keep_file
from benchwright.store.sql.lab_leases import FAILED, REFUSED, RETURNED

router = APIRouter(tags=["lab agents"])
Fence = Annotated[str, Path(min_length=1, max_length=100)]
Digest = Annotated[str, Path(min_length=64, max_length=64)]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
KINDS = ("host", "phone")
MOST_MACHINES, MOST_WORDS, LONGEST_WORD = 200, 100, 500
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/octet-stream": {}}}
}


@router.post("/lab/agents", responses=answers_with(AgentTerms), openapi_extra=takes(NewAgent), summary="Offer machines")
def register(request: Request, visitor: Agents, body: Small) -> Response:
    """An agent begins. What its machines had before and it knows nothing of any more goes back to the queue."""
    wish = record_of(NewAgent, body, context_of(request).settings.limits)
    if not 0 < len(wish.machines) <= MOST_MACHINES:
        raise DecodeError(f"body.machines: 1 to {MOST_MACHINES} machines")
    check_name(wish.agent, "body.agent")
    machines = [_machine(one, wish, f"body.machines[{number}]") for number, one in enumerate(wish.machines)]
    desk = desk_of(request)
    lost = desk.store.lab.register(
        machines, who=visitor.name, now=microseconds(), holding=wish.holding, unharmed=wish.unharmed
    )
    record(request, visitor, "offer machines", ", ".join(one.name for one in machines))
    if lost:
        desk.ring()
    beat_every = min(HEARTBEAT, desk.lease / 3)
    terms = AgentTerms(heartbeat=beat_every, lease=desk.lease, poll=POLL, returned=len(lost), now=time.time())
    return answer(request, terms)


@router.post("/lab/agents/leave", status_code=204, openapi_extra=takes(LeavingAgent), summary="Offer machines no more")
def leave(request: Request, visitor: Agents, body: Small) -> Response:
    """An agent ends."""
    wish = record_of(LeavingAgent, body, context_of(request).settings.limits)
    desk = desk_of(request)
    if desk.store.lab.leave(wish.machines[:MOST_MACHINES], who=visitor.name):
        record(request, visitor, "withdraw machines", ", ".join(wish.machines))
        desk.ring()
    return Response(status_code=204)


@router.post("/lab/claims", responses=answers_with(LabClaim), openapi_extra=takes(NewClaim), summary="Ask for work")
async def claim(request: Request, visitor: Agents, body: Small) -> Response:
    """Gives the machine a job, or the one that it has already; waits a while where there is none."""
    wish = record_of(NewClaim, body, context_of(request).settings.limits)
    desk, stopping = desk_of(request), context_of(request).stopping
    end = time.monotonic() + min(max(0.0, wish.wait), POLL)
    lease = await run_in_threadpool(_claim, desk, visitor, wish)
    while lease is None and not wish.trouble and (left := end - time.monotonic()) > 0 and not stopping.is_set():
        await desk.wait(left)
        if not await run_in_threadpool(lambda: desk.store.lab.machine(wish.machine).is_offered):
            break  # its agent ends
        if await run_in_threadpool(lambda: desk.store.lab.has_work(wish.machine, now=microseconds())):
            lease = await run_in_threadpool(_claim, desk, visitor, wish)
    if lease is not None:
        return await run_in_threadpool(_hand_out, request, visitor, lease)
    return pack_response(request, quick_json.dumps({"lease": None, "why": wish.trouble}))


@router.post(
    "/lab/leases/{fence}/beat",
    responses=answers_with(LeaseTerms),
    openapi_extra=takes(LeaseWord),
    summary="Say that a job goes on",
)
def beat(request: Request, visitor: Agents, fence: Fence, body: Small) -> Response:
    """409 when the job is no longer this machine's: its time was over, or somebody cancelled it."""
    wish = record_of(LeaseWord, body, context_of(request).settings.limits)
    desk = desk_of(request)
    job = desk.store.lab.beat(fence, who=visitor.name, now=microseconds(), lease=desk.lease, phase=wish.phase)
    desk.tell(job, wish.phase)
    return answer(request, LeaseTerms(lease=desk.lease))


@router.post(
    "/lab/leases/{fence}/deliver",
    responses=answers_with(Kept),
    openapi_extra=takes_document("run", note="The run with the results of this job, and no others."),
    summary="Deliver the results of a job",
)
async def deliver(request: Request, visitor: Agents, fence: Fence) -> Response:
    """Keeps all results and ends the lease, in one step. The same again is fine; a lease that is over is a 409."""
    body = await bodies.read_whole(request, context_of(request).settings.limits.run)
    return await run_in_threadpool(_deliver, request, visitor, fence, body)


@router.put(
    "/lab/leases/{fence}/artifacts/{result_id}/{name:path}",
    responses=answers_with(Kept) | answers_with(Kept, status=201),
    openapi_extra=takes_bytes("The file, byte for byte as the result tells of it."),
    summary="Send a file of a result that was delivered",
)
async def send_file(request: Request, visitor: Agents, fence: Fence, result_id: Id, name: Name) -> Response:
    """A file that a result of this job names. Sending it again does no harm."""
    job = await run_in_threadpool(desk_of(request).store.lab.delivered, fence, who=visitor.name)
    if not result_id.startswith(f"{job.run}-{job.id}."):
        raise refusal(403, f"{result_id!r} is not a result of this job", "send files of its own results")
    return await keep_file(request, visitor, result_id, name)


@router.post(
    "/lab/leases/{fence}/release",
    responses=answers_with(Answered),
    openapi_extra=takes(ReturnedJob),
    summary="Give a job back",
)
def release(request: Request, visitor: Agents, fence: Fence, body: Small) -> Response:
    """Another machine gets it, or this one another time. The answer is the state that the job has now."""
    wish = record_of(ReturnedJob, body, context_of(request).settings.limits)
    if wish.kind not in (RETURNED, REFUSED, FAILED):
        raise DecodeError(f"body.kind: {wish.kind[:60]!r}", remedy=f"one of {RETURNED}, {REFUSED}, {FAILED}")
    check_text(wish.reason, "body.reason")
    desk = desk_of(request)
    job = desk.store.lab.give_back(fence, who=visitor.name, now=microseconds(), kind=wish.kind, reason=wish.reason)
    record(request, visitor, "give lab job back", f"{job.leased_to}: {job.run} {job.case}: {wish.reason}")
    desk.ring()
    if not job.state.is_open:
        desk.tell_end(job.run)
    return answer(request, {"answer": job.state.value})


@router.get("/lab/parcels/{digest}", responses=answers_with(Answered), summary="The list of a job's files")
def parcel(request: Request, visitor: Agents, digest: Digest) -> Response:
    """As `benchwright.lab.parcels.LabParcel` has it. For the agent that has such a job."""
    _require_need(request, visitor, digest)
    document = desk_of(request).store.lab.parcel(digest)
    return pack_response(request, b'{"answer":' + document.encode() + b"}")


@router.get("/lab/files/{sha256}", responses=_FILE, summary="A file of a job")
def fetch(request: Request, visitor: Agents, sha256: Digest) -> Response:
    """Byte for byte as it was sent. For the agent that has a job which needs it."""
    path = desk_of(request).files.path(sha256)
    _require_need(request, visitor, sha256)
    if not path.is_file():
        raise refusal(404, "this file is not here", "its jobs may have ended")
    return FileResponse(path, media_type="application/octet-stream")


def _require_need(request: Request, visitor: Visitor, digest: str) -> None:
    if not desk_of(request).store.lab.may_fetch(digest, who=visitor.name):
        raise refusal(404, "no job that this agent has just now needs it", "claim a job first")


def desk_of(request: Request) -> LabDesk:
    """Returns the lab of this server."""
    return context_of(request).lab


def check_name(name: str, where: str) -> None:
    """Refuses a name that cannot stand in an address and in a selector."""
    if not NAME.fullmatch(name):
        raise DecodeError(
            f"{where}: {name[:60]!r} cannot be a machine's name", remedy="1 to 100 letters, digits and . _ : -"
        )


def _machine(offered: OfferedMachine, agent: NewAgent, where: str) -> LabMachine:
    check_name(offered.name, f"{where}.name")
    if offered.kind not in KINDS:
        raise DecodeError(f"{where}.kind: {offered.kind[:60]!r}", remedy=f"one of {', '.join(KINDS)}")
    for name, words in (("facts", offered.facts), ("labels", offered.labels)):
        if len(words) > MOST_WORDS or any(len(text) > LONGEST_WORD for pair in words.items() for text in pair):
            raise DecodeError(f"{where}.{name}: more than {MOST_WORDS}, or longer than {LONGEST_WORD} characters")
    for name, text in (("key", offered.key), ("trouble", offered.trouble)):
        check_text(text, f"{where}.{name}", LONGEST_WORD)
    check_text(agent.version, "body.version", LONGEST_WORD)
    return LabMachine(
        name=offered.name,
        agent=agent.agent,
        kind=offered.kind,
        key=offered.key,
        version=agent.version,
        facts=offered.facts,
        labels=offered.labels,
        trouble=offered.trouble,
    )


def _claim(desk: LabDesk, visitor: Visitor, wish: NewClaim) -> LabLease | None:
    return desk.store.lab.claim(
        wish.machine, who=visitor.name, now=microseconds(), lease=desk.lease, trouble=wish.trouble
    )


def _hand_out(request: Request, visitor: Visitor, lease: LabLease) -> Response:
    record_once(request, visitor, "claim lab jobs", f"{lease.job.leased_to}: {lease.job.run}")
    desk_of(request).tell(lease.job, "claimed")
    return pack_response(request, quick_json.dumps({"lease": schema.encode(lease), "why": ""}))


def _deliver(request: Request, visitor: Visitor, fence: str, body: bytes) -> Response:
    desk = desk_of(request)
    run = run_of(body, context_of(request).settings.limits)
    job, added = desk.store.lab.deliver(fence, run.results, who=visitor.name, now=microseconds())
    if added:
        record_once(request, visitor, "deliver lab results", f"{job.leased_to}: {job.run}")
        desk.tell_end(job.run)
    return answer(request, Kept(id=fence, added=added))
