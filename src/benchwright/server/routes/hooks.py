"""What the older systems send by themselves: FAI-PEP's remote reporter, PerfZero's summaries."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benchwright.errors import DecodeError
from benchwright.exchange.importers import fai_pep, perfzero
from benchwright.records import Run
from benchwright.server import bodies
from benchwright.server.access import Anyone, Visitor, Writes, find_token_owner, refuse_wrong_token, require
from benchwright.server.answers import Kept, Taken
from benchwright.server.bodies import Document
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import check_run, parse_json
from benchwright.server.openapi import answers_with, takes_object
from benchwright.server.settings import MIB

router = APIRouter(tags=["hooks"])
MOST = 16 * MIB  # bytes that are read before it is known who sends them
_FORM = "application/x-www-form-urlencoded"


@router.post(
    "/hooks/fai-pep",
    responses=answers_with(Taken),
    openapi_extra=takes_object(),
    name="reported",  # the operation's name in the OpenAPI document
    summary="What FAI-PEP's remote reporter sends",
)
async def receive_reports(request: Request, visitor: Anyone) -> Response:
    """`{"access_token": TOKEN, "logs": "[...]"}`, as JSON or as a form; the token needs the scope write.

    All logs of one request are one run. It is answered with how many logs there were, also when they were sent before.
    """
    async with contextlib.nullcontext() if "write" in visitor.scopes else context_of(request).strangers:
        sent = await run_in_threadpool(_read_fields, request, await bodies.read_whole(request, MOST))
        token = sent.get("access_token")
        someone = await find_token_owner(request, token) if isinstance(token, str) and token else visitor
    if someone is None:
        raise await refuse_wrong_token(request)
    require(someone, "write")
    return await run_in_threadpool(_keep_logs, request, someone, sent.get("logs"))


@router.post(
    "/hooks/perfzero",
    responses=answers_with(Kept) | answers_with(Kept, status=201),
    openapi_extra=takes_object(),
    name="summarised",
    summary="A summary of PerfZero's",
)
def receive_summary(request: Request, visitor: Writes, body: Document) -> Response:
    """`perfzero_summary.json` as PerfZero writes it, which becomes a run. The same again is fine."""
    summary = parse_json(body, context_of(request).settings.limits)
    run = perfzero.run_of(summary, received_at=_now(), where="body")
    added = _keep(request, visitor, run)
    return answer(request, Kept(id=run.id, added=added), status=201 if added else 200)


def _read_fields(request: Request, body: bytes) -> dict[str, Any]:
    """The fields that were sent, in either form."""
    limits = context_of(request).settings.limits
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        try:
            fields = parse_qs(body.decode(), max_num_fields=20)
        except ValueError:
            raise DecodeError("body: not a form", remedy="send access_token and logs") from None
        return {name: values[-1] for name, values in fields.items()}
    data = parse_json(body, limits)
    if not isinstance(data, dict):
        raise DecodeError("body: not a mapping", remedy='send {"access_token": ..., "logs": ...}')
    return data


def _keep_logs(request: Request, visitor: Visitor, logs: Any) -> Response:
    limits = context_of(request).settings.limits

    def loads(text: str, where: str) -> Any:
        # JSON in a text, and in a text within that, is held to the same bounds as a body.
        return parse_json(text.encode(errors="surrogatepass"), limits, where=where)

    messages = fai_pep.logs_of(logs, loads)
    _keep(request, visitor, fai_pep.run_of(messages, received_at=_now()))
    return answer(request, Taken(count=len(messages)))


def _keep(request: Request, visitor: Visitor, run: Run) -> bool:
    check_run(run, "body")
    added = archive(request).add_run(run)
    if added:
        record(request, visitor, "upload run", run.id)
    return added


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
