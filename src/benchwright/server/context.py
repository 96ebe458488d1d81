"""What every route needs: the database, an answer in the right form, a line in the audit log."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import Request
from starlette.responses import Response

from benchwright.analysis.rule_preview import RecentFindingsReader
from benchwright.pages import view_json
from benchwright.pages.code import add_code_links
from benchwright.server.joint_work import JointWork
from benchwright.server.settings import ServerSettings
from benchwright.server.traffic import Buckets, Traffic
from benchwright.store.archive import Token

if TYPE_CHECKING:
    from benchwright.server.access import Visitor
    from benchwright.server.lab_desk import LabDesk
    from benchwright.server.openid import OpenIdProvider
    from benchwright.server.shared_state import SharedState
    from benchwright.store.sql import SqlStore

SCOPES_KEY = "benchwright.scopes"  # in a request's scope: what the visitor may do
WORTH_PACKING = 2048  # bytes: a smaller answer fits a packet or two anyway
REVALIDATE = "private, no-cache"  # keep it, and ask each time whether it is still the same
MINUTES = 600.0  # seconds in which the same line is written to the audit log once
_STRANGERS = 4  # bodies at once that must be read to know who sends them: together they could fill the memory


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """What one server's requests share."""

    settings: ServerSettings
    store: SqlStore
    lab: LabDesk
    asked: Buckets  # by token or address
    tokens: JointWork[str, Token]  # what a token may do
    failed: Buckets  # wrong tokens, by address
    refused: Buckets  # lines of the audit log about refusals, by address
    told: Buckets  # lines that repeat
    signing_in: Buckets  # by address
    provider: OpenIdProvider | None = None  # at which people sign in
    shared: SharedState | None = None  # with the other processes of this server
    recent: RecentFindingsReader = field(default_factory=RecentFindingsReader)  # for previews of rules
    traffic: Traffic = field(default_factory=Traffic)
    strangers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_STRANGERS))
    stopping: asyncio.Event = field(default_factory=asyncio.Event)  # set when streams should end


def context_of(request: Request) -> RequestContext:
    """Returns what the requests of this server share."""
    found = request.app.state.context
    assert isinstance(found, RequestContext)
    return found


def archive(request: Request) -> SqlStore:
    """Returns the server's database."""
    return context_of(request).store


def stop_event(request: Request) -> asyncio.Event:
    """Returns the event that is set when the server is about to end, so that endless streams end too."""
    return context_of(request).stopping


def answer(request: Request, view: Any, *, status: int = 200, is_own: bool = False) -> Response:
    """Answers with a record of `pages.shapes`, or plain values, as JSON; 304 when the client has the same already.

    E-mail addresses of people are for those who may triage; `is_own` says that the answer is about the visitor alone.
    """
    page = view_json.dumps(add_code_links(view, context_of(request).settings.projects))
    sees_mail = is_own or "triage" in request.scope.get(SCOPES_KEY, ())
    return pack_response(request, page if sees_mail else view_json.hide_mail(page), status=status)


def pack_response(
    request: Request,
    body: bytes,
    *,
    media_type: str = "application/json",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answers with bytes: with an ETag for GET, compressed when they are many. Call it from a thread."""
    told = {"Cache-Control": "no-store", **(headers or {})}
    if request.method == "GET" and status == 200:
        tag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'  # weak: the same content may be sent packed or not
        told |= {"ETag": tag, "Cache-Control": REVALIDATE, "Vary": "Accept-Encoding, Authorization, Cookie"}
        if _holds(request, tag):
            return Response(status_code=304, headers=told)
    if len(body) >= WORTH_PACKING and _takes_gzip(request):
        body = gzip.compress(body, 1, mtime=0)
        told["Content-Encoding"] = "gzip"
    return Response(body, status_code=status, headers=told, media_type=media_type)


def record(request: Request, visitor: Visitor, action: str, what: str = "") -> None:
    """Writes a line to the audit log. Call it from a thread."""
    archive(request).audit_add(who=visitor.name, address=visitor.address, action=action, what=what[:500])


def record_once(request: Request, visitor: Visitor, action: str, what: str = "") -> None:
    """Writes a line to the audit log, but the same line only once in ten minutes: results come in hundreds."""
    if not context_of(request).told.take("\0".join((visitor.name, visitor.address, action, what))):
        record(request, visitor, action, what)


def _holds(request: Request, tag: str) -> bool:
    held = request.headers.get("if-none-match", "")
    return held.strip() == "*" or tag.removeprefix("W/") in {
        part.strip().removeprefix("W/") for part in held.split(",")
    }


def _takes_gzip(request: Request) -> bool:
    for part in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
