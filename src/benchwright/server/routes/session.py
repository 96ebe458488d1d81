"""What a browser holds: a token, or the session of a person, in a cookie that its scripts cannot read."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benchwright.pages.shapes import About
from benchwright.server.access import (
    COOKIE,
    Anyone,
    describe_visitor,
    find_person,
    find_token_owner,
    is_encrypted,
    refuse_wrong_token,
    session_cookie,
)
from benchwright.server.answers import Login
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record, record_once
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
    response = answer(request, describe_visitor(request, visitor), is_own=True)
    response.set_cookie(
        COOKIE, token, max_age=DAYS * 86400, httponly=True, samesite="strict", secure=is_encrypted(request)
    )
    return response


@router.delete("/session", status_code=204, summary="Sign out")
async def log_out(request: Request) -> Response:
    """Takes the cookies away, and ends the person's session at the server: a copy of the cookie is worth nothing."""
    person = await find_person(request)
    response = Response(status_code=204)
    if person is not None:
        await run_in_threadpool(archive(request).session_drop, request.cookies[session_cookie(request)])
        await run_in_threadpool(record, request, person, "sign out")
        response.delete_cookie(session_cookie(request), httponly=True, samesite="lax", secure=is_encrypted(request))
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=is_encrypted(request))
    return response
