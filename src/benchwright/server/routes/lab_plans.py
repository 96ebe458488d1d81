"""Planning in the lab: Python code is read by the machine that will measure it, so nothing of it need be elsewhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benchwright.errors import DecodeError
from benchwright.lab import parcels
from benchwright.records import Case, Target
from benchwright.records.lab import PLAN, LabSubmission, LabWork
from benchwright.schema import quick_json
from benchwright.server import bodies
from benchwright.server.access import Agents, Visitor, Writes
from benchwright.server.answers import Answered
from benchwright.server.context import answer, context_of, pack_response, record, record_once
from benchwright.server.documents import LONGEST_ID, check_text, record_of
from benchwright.server.errors import refusal
from benchwright.server.lab_answers import NewPlan, PlanAnswer, PlannedCode, Submitted
from benchwright.server.lab_desk import microseconds
from benchwright.server.openapi import answers_with, takes
from benchwright.server.routes.lab import check_priority, no_machine
from benchwright.server.routes.lab_agents import Fence, desk_of
from benchwright.store.sql.lab_queue import NewJob
from benchwright.units.selectors import Selector

router = APIRouter(tags=["lab"])
MOST_TARGETS = 10_000
PlanId = Annotated[str, Path(min_length=len(PLAN) + 1, max_length=LONGEST_ID)]


@router.post("/lab/plans", responses=answers_with(Submitted), openapi_extra=takes(NewPlan), summary="Have code planned")
async def submit_plan(request: Request, visitor: Writes) -> Response:
    """Puts a request for the cases of code into the queue; the same again changes nothing."""
    body = await bodies.read_whole(request, context_of(request).settings.limits.run)
    return await run_in_threadpool(_submit, request, visitor, body)


@router.get("/lab/plans/{plan_id}", responses=answers_with(PlanAnswer), summary="The cases of code that was planned")
def fetch_plan(request: Request, visitor: Writes, plan_id: PlanId) -> Response:
    """What the machine answered; 409 while it has not."""
    queue = desk_of(request).store.lab
    found = queue.submission(plan_id)
    if found.who != visitor.name and "admin" not in visitor.scopes:
        raise refusal(403, f"{plan_id} was submitted by {found.who}", "only they and administrators can read it")
    document = queue.answer_of(plan_id)
    if not document:
        raise refusal(409, f"{plan_id} has no answer yet", "look at lab/submissions/ID")
    return pack_response(request, b'{"plan":' + document.encode() + b"}")


@router.post(
    "/lab/leases/{fence}/answer",
    responses=answers_with(Answered),
    openapi_extra=takes(PlannedCode),
    summary="Answer with the cases of code",
)
async def answer_plan(request: Request, visitor: Agents, fence: Fence) -> Response:
    """Keeps the answer and ends the lease. The same again is fine; a lease that is over is a 409."""
    body = await bodies.read_whole(request, context_of(request).settings.limits.run)
    return await run_in_threadpool(_answer, request, visitor, fence, body)


def _submit(request: Request, visitor: Visitor, body: bytes) -> Response:
    wish = record_of(NewPlan, body, context_of(request).settings.limits)
    targets = wish.request.get("targets")
    if not isinstance(targets, list) or not 0 < len(targets) <= MOST_TARGETS:
        raise DecodeError(f"body.request.targets: 1 to {MOST_TARGETS:,} targets")
    check_text(wish.id, "body.id", LONGEST_ID)
    if not wish.id.startswith(PLAN):
        raise DecodeError(f"body.id: {wish.id[:60]!r}", remedy=f"the id of a plan begins with {PLAN}")
    check_priority(wish.priority)
    parcels.check(wish.parcel, "body.parcel")
    desk, selector = desk_of(request), Selector.parse(wish.selector)
    state = desk.store.lab.state(now=microseconds(), limit=0)
    fitting = [machine.name for machine in state.machines if selector.matches(machine.described)]
    if not fitting:
        raise refusal(409, no_machine(selector, state), "benchwright lab lists the machines and what is known of them")
    if absent := desk.files.missing(parcels.digests_of([wish.parcel]), visitor.name):
        raise refusal(409, f"{len(absent)} files of the plan are not here: {absent[0]}", "PUT lab/files/SHA256 first")
    digest, document = parcels.pack(wish.parcel)
    case = Case(name=f"plan {str(targets[0])[:200]}", target=Target(runtime="python", uri=str(targets[0])[:1000]))
    work = LabWork(case=case, rounds=1, paths=wish.paths, planning=wish.request)
    submission = LabSubmission(
        run=wish.id, who=visitor.name, at=microseconds(), selector=selector.text, priority=wish.priority
    )
    desk.store.lab.submit_plan(submission, NewJob(work=work, parcel=digest), {digest: document}, now=submission.at)
    record(request, visitor, "submit plan to lab", f"{wish.id} for {selector.text}")
    desk.ring()
    return answer(request, Submitted(run=wish.id, jobs=1, machines=fitting))


def _answer(request: Request, visitor: Visitor, fence: str, body: bytes) -> Response:
    told = record_of(PlannedCode, body, context_of(request).settings.limits)
    document = quick_json.dumps(dict(told.answer)).decode()
    job = desk_of(request).store.lab.answer(fence, document, who=visitor.name, now=microseconds())
    record_once(request, visitor, "answer lab plans", f"{job.leased_to}: {job.run}")
    return answer(request, {"answer": job.state.value})
