"""Results that come from elsewhere. Everything is known by its id, so that sending it again does no harm."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benchwright import schema
from benchwright.errors import BenchwrightError, DecodeError, StoreError
from benchwright.records import Result, Run
from benchwright.schema.quick_results import QuickResult
from benchwright.server import bodies
from benchwright.server.access import Reads, Writes
from benchwright.server.answers import Answered, Kept, TakenResult, TakenResults, Uploaded
from benchwright.server.bodies import Document, Small
from benchwright.server.context import answer, archive, context_of, pack_response, record, record_once
from benchwright.server.documents import LONGEST_ID, quick_result_of, record_of, run_of, run_parts_of
from benchwright.server.errors import explain_error, problem, refusal, status_of
from benchwright.server.openapi import answers_with, answers_with_document, takes, takes_document
from benchwright.store.archive import Progress
from benchwright.store.sql import SqlStore
from benchwright.store.sql.write import Upload, upload_of

router = APIRouter(tags=["uploads"])
Id = Annotated[str, Path(min_length=1, max_length=LONGEST_ID)]
LINES = "application/x-ndjson"
MOST_AT_ONCE = 500  # results of one request


@router.put(
    "/runs/{run_id}",
    responses=answers_with(Kept) | answers_with(Kept, status=201),
    openapi_extra=takes_document("run"),
    summary="Begin a run",
)
def begin(request: Request, visitor: Writes, run_id: Id, body: Document) -> Response:
    """A run without results. The same again is fine; another one under that id is refused with 409."""
    run = run_of(body, context_of(request).settings.limits)
    require_same_id(run.id, run_id)
    if run.results:
        raise refusal(
            400, "a run is begun without results", "PUT each below runs/ID/results, or POST the whole to runs"
        )
    with _refuse_clashes(archive(request), run_id):
        added = archive(request).put_run(run)
    if added:
        record(request, visitor, "upload run", run_id)
    return answer(request, Kept(id=run_id, added=added), status=201 if added else 200)


@router.put(
    "/runs/{run_id}/results/{result_id}",
    responses=answers_with(Kept) | answers_with(Kept, status=201),
    openapi_extra=takes_document("result"),
    summary="Add a result",
)
def add(
    request: Request,
    visitor: Writes,
    run_id: Id,
    result_id: Id,
    body: Document,
    instead_of: Annotated[str, Query(max_length=LONGEST_ID, description="The result that goes for it.")] = "",
) -> Response:
    """A result of a run that was begun, raw samples included. The same again is fine; another one is a 409."""
    result = quick_result_of(body, context_of(request).settings.limits)
    require_same_id(id_of(result), result_id)
    with _refuse_clashes(archive(request), run_id):
        added = archive(request).put(run_id, result, instead_of=instead_of)
    record_once(request, visitor, "upload results", run_id)
    return answer(request, Kept(id=result_id, added=added), status=201 if added else 200)


@router.post(
    "/runs/{run_id}/results",
    responses=answers_with(TakenResults),
    openapi_extra=takes_document("result", LINES, note="One document, or JSON Lines: one document a line."),
    summary="Add several results",
)
def add_several(request: Request, visitor: Writes, run_id: Id, body: Document) -> Response:
    """Results of a run that was begun, up to 500 at once, all of which are kept in one transaction.

    The answer says of each, in the order in which they came, what the answer to it alone would have said: one that is
    refused does not keep the others from being added, and all can be sent again.
    """
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not 0 < len(lines) <= MOST_AT_ONCE:
        raise refusal(400, f"{len(lines):,} results in this body", f"send 1 to {MOST_AT_ONCE}, one a line")
    limits, store = context_of(request).settings.limits, archive(request)
    told: list[TakenResult | None] = [None] * len(lines)
    sound: dict[str, tuple[int, Upload]] = {}
    for place, line in enumerate(lines):
        try:
            result = quick_result_of(line, limits, where=f"line {place + 1}")
            if id_of(result) in sound:
                raise DecodeError(f"line {place + 1}: a second result {id_of(result)!r}", remedy="send each once")
            sound[id_of(result)] = place, upload_of(run_id, result, "")
        except (BenchwrightError, HTTPException) as error:
            told[place] = _refused(request, "", error)
    outcomes = store.put_uploads([upload for _, upload in sound.values()]) if sound else []
    for (name, (place, _)), outcome in zip(sound.items(), outcomes, strict=True):
        if isinstance(outcome, bool):
            told[place] = TakenResult(id=name, added=outcome, status=201 if outcome else 200)
        else:
            told[place] = _refused(request, name, explain_clash(store, run_id, outcome))
    if any(isinstance(outcome, bool) for outcome in outcomes):
        record_once(request, visitor, "upload results", run_id)
    return answer(request, TakenResults(results=[one for one in told if one is not None]))


@router.post(
    "/runs",
    responses=answers_with(Uploaded),
    openapi_extra=takes_document("run", LINES, note="One document, or JSON Lines: one document a line."),
    summary="Add whole runs",
)
async def add_runs(request: Request, visitor: Writes) -> Response:
    """Runs as `benchwright export` writes them; each is kept as soon as it has come, whatever comes after it.

    A run that is there already is left alone, but for results that it did not have. Another run or result under an id
    that is taken is refused with 409.
    """
    limits, store = context_of(request).settings.limits, archive(request)
    as_lines = request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json"
    source = bodies.read_lines(request, limits.stream, limits.run) if as_lines else _read_one(request, limits.run)
    added: list[str] = []
    present: list[str] = []
    number = 0
    try:
        async for body in source:
            number += 1
            where = f"line {number}" if as_lines else "body"
            run, quick = await run_in_threadpool(run_parts_of, body, limits, where=where)
            new = await run_in_threadpool(_keep, store, run, quick)
            (added if new else present).append(run.id)
            if new:
                await run_in_threadpool(record, request, visitor, "upload run", run.id)
    except BenchwrightError as error:
        return problem(*explain_error(request, error), added=added, present=present)
    except HTTPException as error:
        said: Any = error.detail
        return problem(error.status_code, **said, added=added, present=present)
    if not number:
        raise refusal(400, "there is no run in this body", "send what benchwright export writes")
    return await run_in_threadpool(answer, request, Uploaded(added=added, present=present))


@router.put("/runs/{run_id}/progress", status_code=204, openapi_extra=takes(Progress), summary="What a run does now")
def progress(request: Request, visitor: Writes, run_id: Id, body: Small) -> Response:
    """The last word of a run that is under way, for those who watch; the phase `ended` takes it away."""
    word = record_of(Progress, body, context_of(request).settings.limits)
    require_same_id(word.run, run_id)
    archive(request).tell_progress(word)
    return Response(status_code=204)


@router.put("/runs/{run_id}/judged", responses=answers_with(Answered), summary="Somebody else judges a run")
def judged(request: Request, visitor: Writes, run_id: Id) -> Response:
    """Takes the results of a run from the list of those that the server judges: whoever sent them does it.

    The answer is how many of them were on it.
    """
    return answer(request, {"answer": archive(request).mark_judged(run_id)})


@router.get("/runs/{run_id}/document", responses=answers_with_document("run"), summary="A run as a document")
def document(request: Request, visitor: Reads, run_id: Id, samples: bool = False) -> Response:
    """The run with its results, as `benchwright export` writes it; with raw samples when they are asked for."""
    run = archive(request).run(run_id, samples=samples)
    return pack_response(request, schema.dumps(run).encode())


@router.get("/results/{result_id}/samples", responses=answers_with(Answered), summary="Raw samples of a result")
def samples(request: Request, visitor: Reads, result_id: Id) -> Response:
    """Every call that was measured, as packed arrays of nanoseconds."""
    return answer(request, {"answer": schema.encode(archive(request).samples(result_id))})


def _keep(store: SqlStore, run: Run, quick: Sequence[QuickResult]) -> bool:
    """Adds the run, or the results that are missing of it; False when nothing was missing."""
    if store.add_run_parts(run, quick):
        return True
    with _refuse_clashes(store, run.id):
        store.put_run(replace(run, results=()))
        return store.put_results(run.id, [*run.results, *quick]) > 0


def id_of(result: Result | QuickResult) -> str:
    """Returns the id of a result."""
    return result.head.id if isinstance(result, QuickResult) else result.id


def _refused(request: Request, name: str, error: Exception) -> TakenResult:
    """Says of one result of several why it is not kept; what is nobody's fault here is raised."""
    if isinstance(error, HTTPException):
        said: Any = error.detail
        return TakenResult(id=name, added=False, status=error.status_code, **said)
    if not isinstance(error, BenchwrightError):
        raise error
    status, why, remedy = explain_error(request, error)
    return TakenResult(id=name, added=False, status=status, error=why, remedy=remedy)


def explain_clash(store: SqlStore, run_id: str, error: Exception) -> Exception:
    """Returns the refusal with 409 where something else has the id, else the error itself."""
    try:
        with _refuse_clashes(store, run_id):
            raise error
    except Exception as found:  # whatever it is, it is told of this one result
        return found


@contextmanager
def _refuse_clashes(store: SqlStore, run_id: str) -> Iterator[None]:
    """Refuses with 409 what the store rejects although it has the run: something else under the same id."""
    try:
        yield
    except StoreError as error:
        if status_of(error) == 404 and _is_known(store, run_id):
            told = error.message.removeprefix(f"{store.place}: ")
            raise refusal(409, told, error.remedy or "give it another id") from None
        raise


def _is_known(store: SqlStore, run_id: str) -> bool:
    try:
        return store.find(run_id) == run_id
    except StoreError:
        return False


def require_same_id(told_id: str, asked: str) -> None:
    """Refuses a document that was sent to the address of another."""
    if told_id != asked:
        raise DecodeError(
            f"body: its id is {told_id[:60]!r}, the address says {asked!r}", remedy="send it to its own address"
        )


async def _read_one(request: Request, most: int) -> AsyncIterator[bytes]:
    yield await bodies.read_whole(request, most)
