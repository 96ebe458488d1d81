"""A browser's token, in a cookie that its scripts cannot read."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benchwright.pages.shapes import About
from benchwright.server.access import COOKIE, Anyone, describe_visitor, find_token_owner, refuse_wrong_token
from benchwright.server.answers import Login
from benchwright.server.bodies import Small
from benchwright.server.context import answer, context_of, record_once
from benchwright.server.documents import record_of
from benchwright.server.openapi import answers_with, takes

router = APIRouter(tags=["server"])
DAYS = 30


@router.post(
    "/session", responses=answers_with(About), openapi_extra=takes(Login), summary="Keep a token in the browser"
)
async def log_in(request: Request, someone: Anyone, body: Small) -> Response:
    """The token is from then on sent by the browser itself, until it is revoked or the browser forgets it."""
    login = await run_in_threadpool(record_of, Login, body, context_of(request).settings.limits)
    token = login.token.strip()
    visitor = await find_token_owner(request, token)
    if visitor is None:
        raise await refuse_wrong_token(request)
    await run_in_threadpool(record_once, request, visitor, "log in")
    response = answer(request, describe_visitor(request, visitor))
    response.set_cookie(
        COOKIE, token, max_age=DAYS * 86400, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return response


@router.delete("/session", status_code=204, summary="Forget the token")
async def log_out(request: Request) -> Response:
    """Takes the cookie away."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response
