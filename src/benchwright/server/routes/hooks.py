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
from benchwright.server.access import Anyone, Visitor, Writes, known, require, wrong_token
from benchwright.server.answers import Kept, Taken
from benchwright.server.bodies import Document
from benchwright.server.context import answer, archive, frame, record
from benchwright.server.documents import check_run, parsed
from benchwright.server.openapi import takes_object, told
from benchwright.server.settings import MIB

router = APIRouter(tags=["hooks"])
MOST = 16 * MIB  # bytes that are read before it is known who sends them
_FORM = "application/x-www-form-urlencoded"


@router.post(
    "/hooks/fai-pep",
    responses=told(Taken),
    openapi_extra=takes_object(),
    summary="What FAI-PEP's remote reporter sends",
)
async def reported(request: Request, visitor: Anyone) -> Response:
    """`{"access_token": TOKEN, "logs": "[...]"}`, as JSON or as a form; the token needs the scope write.

    All logs of one request are one run. It is answered with how many logs there were, also when they were sent before.
    """
    async with contextlib.nullcontext() if "write" in visitor.scopes else frame(request).strangers:
        sent = await run_in_threadpool(_sent, request, await bodies.whole(request, MOST))
        token = sent.get("access_token")
        someone = await known(request, token) if isinstance(token, str) and token else visitor
    if someone is None:
        raise await wrong_token(request)
    require(someone, "write")
    return await run_in_threadpool(_keep_logs, request, someone, sent.get("logs"))


@router.post(
    "/hooks/perfzero",
    responses=told(Kept) | told(Kept, status=201),
    openapi_extra=takes_object(),
    summary="A summary of PerfZero's",
)
def summarised(request: Request, visitor: Writes, body: Document) -> Response:
    """`perfzero_summary.json` as PerfZero writes it, which becomes a run. The same again is fine."""
    summary = parsed(body, frame(request).settings.limits)
    run = perfzero.run_of(summary, received_at=_now(), where="body")
    added = _keep(request, visitor, run)
    return answer(request, Kept(id=run.id, added=added), status=201 if added else 200)


def _sent(request: Request, body: bytes) -> dict[str, Any]:
    """The fields that were sent, in either form."""
    limits = frame(request).settings.limits
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        try:
            fields = parse_qs(body.decode(), max_num_fields=20)
        except ValueError:
            raise DecodeError("body: not a form", remedy="send access_token and logs") from None
        return {name: values[-1] for name, values in fields.items()}
    data = parsed(body, limits)
    if not isinstance(data, dict):
        raise DecodeError("body: not a mapping", remedy='send {"access_token": ..., "logs": ...}')
    return data


def _keep_logs(request: Request, visitor: Visitor, logs: Any) -> Response:
    limits = frame(request).settings.limits

    def loads(text: str, where: str) -> Any:
        # JSON in a text, and in a text within that, is held to the same bounds as a body.
        return parsed(text.encode(errors="surrogatepass"), limits, where=where)

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
