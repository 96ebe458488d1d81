"""Small results on a short way: past the framework, and several of them together from the token to the transaction.

They are most of what a busy server is asked, and what the framework does for a request takes longer than keeping a
result does. The answers are those of `routes.uploads.add`, which takes what is not for here: large bodies, results in
the place of others, people at a browser.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from fastapi import HTTPException, Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from benchwright.errors import BenchwrightError
from benchwright.pages import view_json
from benchwright.server import bodies
from benchwright.server.access import Visitor, admit, find_stranger, refuse_wrong_token, require, visitor_of
from benchwright.server.answers import Kept
from benchwright.server.context import RequestContext, record_once
from benchwright.server.documents import is_id, quick_result_of
from benchwright.server.errors import answer_error, refusal
from benchwright.server.joint_work import JointWork
from benchwright.server.routes.uploads import explain_clash, id_of, require_same_id
from benchwright.store.archive import Token
from benchwright.store.sql.write import Upload, upload_of
from benchwright.units import whole_number

_PATH = re.compile(r"/api/v1/runs/([^/]+)/results/([^/]+)")
_ROUTE = SimpleNamespace(path="/api/v1/runs/{run_id}/results/{result_id}")  # as the framework names it, for `/metrics`
_LARGEST = 128 << 10  # bytes of a body: those of all connections fit into memory before anybody is known
_TOGETHER = 64  # results in one transaction
_BY_HAND = ("cookie", "origin", "sec-fetch-site", "transfer-encoding", "expect")  # headers that take a closer look


@dataclass(frozen=True, slots=True, eq=False)
class _SentResult:
    """A result that somebody sent. Each is a thing of its own, whatever it holds."""

    request: Request
    run_id: str
    result_id: str
    token: str
    packing: str
    body: bytes


class Intake:
    """Keeps small results as they come, and hands everything else on."""

    def __init__(self, app: ASGIApp, here: RequestContext) -> None:
        self._app, self._here = app, here
        self._keep = JointWork(self._keep_all, most=_TOGETHER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        if path is None or scope["query_string"] or not all(map(is_id, path.groups())):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        token = _token_in(headers)
        if token is None or not 0 < (whole_number(headers.get("content-length", "0")) or 0) <= _LARGEST:
            await self._app(scope, receive, send)
            return
        scope["route"] = _ROUTE
        request = Request(scope)
        try:
            body = await _read_body(receive, self._here.settings.limits.patience)
            if body is None:
                return
            run_id, result_id = path.groups()
            packing = headers.get("content-encoding", "")
            answer = await self._keep(_SentResult(request, run_id, result_id, token, packing, body))
            if answer is None:
                answer = await refuse_wrong_token(request)
        except (BenchwrightError, HTTPException) as error:
            answer = error
        if isinstance(answer, Exception):
            answer = answer_error(request, answer)
        await answer(scope, receive, send)

    def _keep_all(self, sent: Sequence[_SentResult]) -> dict[_SentResult, Response | Exception]:
        """What each is answered with; those are left out whose tokens nobody has."""
        known = self._here.store.tokens_find([*{one.token for one in sent if one.token}])
        answers: dict[_SentResult, Response | Exception] = {}
        read: list[tuple[_SentResult, Visitor, Upload]] = []
        for one in sent:
            try:
                visitor = self._admit(one, known)
                if visitor is not None:
                    read.append((one, visitor, self._read(one)))
            except (BenchwrightError, HTTPException, ValueError, OverflowError) as error:
                answers[one] = error
        while read:
            first = {upload.name: (one, visitor, upload) for one, visitor, upload in reversed(read)}  # one of each id
            outcomes = self._here.store.put_uploads([upload for _, _, upload in first.values()])
            for (one, visitor, _), outcome in zip(first.values(), outcomes, strict=True):
                answers[one] = self._answer(one, visitor, outcome)
            read = [job for job in read if job[0] not in answers]
        return answers

    def _admit(self, one: _SentResult, known: dict[str, Token]) -> Visitor | None:
        """Returns who sent a result, who may do so; None for a token that nobody has."""
        if one.token and one.token not in known:
            return None
        found = visitor_of(one.request, known[one.token]) if one.token else find_stranger(one.request)
        return require(admit(one.request, found), "write")

    def _read(self, one: _SentResult) -> Upload:
        limits = self._here.settings.limits
        result = quick_result_of(bodies.unpack_whole(one.body, one.packing, limits), limits)
        require_same_id(id_of(result), one.result_id)
        return upload_of(one.run_id, result, "")

    def _answer(self, one: _SentResult, visitor: Visitor, outcome: bool | Exception) -> Response | Exception:
        if isinstance(outcome, Exception):
            return explain_clash(self._here.store, one.run_id, outcome)
        record_once(one.request, visitor, "upload results", one.run_id)
        told = view_json.dumps(Kept(id=one.result_id, added=outcome))
        return Response(told, 201 if outcome else 200, {"Cache-Control": "no-store"}, "application/json")


def _token_in(headers: Headers) -> str | None:
    """Returns the token that a program shows, "" where it shows none; None where somebody else may be asking."""
    if any(name in headers for name in _BY_HAND):
        return None
    scheme, _, token = headers.get("authorization", "bearer").partition(" ")
    return token if scheme.lower() == "bearer" and bool(token) == ("authorization" in headers) else None


async def _read_body(receive: Receive, patience: float) -> bytes | None:
    """Returns the body; None where its sender has gone. It is as long as its head says."""
    parts = []
    while True:
        try:
            async with asyncio.timeout(patience):
                message = await receive()
        except TimeoutError:
            raise refusal(408, "the body comes too slowly", "send it again", {"Connection": "close"}) from None
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
